//! What the helper's own reading costs: .NET metadata of a large assembly, and a tree whose elements cost nothing.
//!
//! usage: reading [ASSEMBLY]
//! The assembly is Mono's mscorlib, as Debian's packages install it, unless another is named.

use std::error::Error;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use win_helper::assembly::{Image, Metadata, Unreadable};
use win_helper::progress::Progress;
use win_helper::tree::{Children, Element, Limits, walk};

const MSCORLIB: &str = "/usr/lib/mono/4.5/mscorlib.dll";
const ROUNDS: usize = 101;

/// The tree: 50 groups of 99 elements, and the root.
const GROUPS: usize = 50;
const GROUP: usize = 99;

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo bench` adds a word of its own.
    let named = std::env::args().skip(1).find(|word| word != "--bench");
    let path = named.unwrap_or_else(|| MSCORLIB.to_owned());
    let file = std::fs::read(&path).map_err(|error| format!("{path}: {error} (Debian's mono-mcs has it)"))?;
    let count = every_name(&file)?;
    report("metadata: open, look for a type that is not there", || {
        let metadata = Metadata::open(Image::open(&file)?)?;
        metadata.find("No.Such+Type").map(|found| usize::from(found.is_some()))
    })?;
    report(&format!("metadata: open, read all {count} names"), || every_name(&file))?;
    report("tree of 5,001 elements: walk and write", || Ok::<_, serde_json::Error>(walk_and_write()?.len()))?;
    Ok(())
}

/// Prints the median and the slowest of some rounds.
fn report<E: Error + 'static>(
    what: &str,
    mut work: impl FnMut() -> Result<usize, E>,
) -> Result<(), Box<dyn Error>> {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        std::hint::black_box(work()?);
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    let (median, slowest) = (milliseconds(times[ROUNDS / 2]), milliseconds(times[ROUNDS - 1]));
    writeln!(io::stdout(), "{what}: {median:.2} ms (slowest {slowest:.2} ms)")?;
    Ok(())
}

fn every_name(file: &[u8]) -> Result<usize, Unreadable> {
    let metadata = Metadata::open(Image::open(file)?)?;
    let mut names = 0;
    for definition in metadata.types() {
        std::hint::black_box((definition.name()?, definition.namespace()?, definition.enclosing()?));
        names += 1;
        for method in definition.methods()? {
            std::hint::black_box(method?);
            names += 1;
        }
    }
    Ok(names)
}

fn walk_and_write() -> Result<String, serde_json::Error> {
    let progress = Progress::default();
    let limits = Limits { max_depth: 8, max_children: 200, max_nodes: 20_000 };
    let element = || Element {
        name: "联系人 张三".to_owned(),
        control_type: "ListItem".to_owned(),
        automation_id: "row17".to_owned(),
        class_name: "WindowsForms10.LISTBOX.app.0.2bf8098_r7_ad1".to_owned(),
        framework_id: "WinForm".to_owned(),
        ..Element::default()
    };
    walk((0, element()), limits, &progress, |depth, most| {
        let width = [GROUPS, GROUP, 0][*depth].min(most);
        Ok(Children { read: (0..width).map(|_| (depth + 1, element())).collect(), more: false })
    });
    let tree = progress.tree().take();
    serde_json::to_string(&tree)
}
