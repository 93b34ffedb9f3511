//! Builds the fixture: a C program with a window that stands in for the chat client's.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::cache::Cache;
use super::target;
use crate::{paths, process};

const LIMIT: Duration = Duration::from_mins(2);

/// The program's name is the process name that the helper looks for.
const PROGRAM: &str = "IMPlatformClient.exe";

/// How many bytes of parameters the two functions of UI Automation take that the fixture imports; on 32 bits the
/// linker knows them by that number.
const IMPORTS: [(&str, u8); 2] = [("UiaHostProviderFromHwnd", 8), ("UiaReturnRawElementProvider", 16)];

/// Builds it for 64 and for 32 bits, as `64/IMPlatformClient.exe` and `32/IMPlatformClient.exe` in the folder that is
/// returned.
pub fn build(cache: &Cache) -> Result<PathBuf, String> {
    let folder = target().join("fixture");
    build_for(cache, &folder.join("64"), "x86_64", |(name, _)| format!("{name}\n"))?;
    build_for(cache, &folder.join("32"), "i686", |(name, bytes)| format!("{name}@{bytes}\n"))?;
    Ok(folder)
}

fn build_for(
    cache: &Cache,
    folder: &Path,
    architecture: &str,
    import: impl Fn((&str, u8)) -> String,
) -> Result<(), String> {
    // mingw's list of libraries lacks UI Automation's; a list of the two names makes one.
    let definition = folder.join("uiautomationcore.def");
    let imports: String = IMPORTS.into_iter().map(import).collect();
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&definition, format!("LIBRARY uiautomationcore.dll\nEXPORTS\n{imports}")))
        .map_err(|error| format!("cannot write {}: {error}", definition.display()))?;
    let tool = |name: &str| {
        let program = cache.tool(&format!("{architecture}-w64-mingw32-{name}"));
        let mut command = process::bounded(LIMIT, &program.to_string_lossy());
        cache.enter(&mut command);
        // It leaves empty temporary files.
        command.env("TMPDIR", folder);
        command
    };
    let mut library = tool("dlltool");
    library.arg("-k").arg("-d").arg(&definition).arg("-l").arg(folder.join("libuiautomationcore.a"));
    process::run(&mut library)?;

    let source = paths::workspace().join("crates/win-helper/tests/fixture/chat_window.c");
    let mut compile = tool("gcc-win32");
    compile.args(["-O2", "-Wall", "-Wextra", "-Werror", "-s", "-mwindows", "-municode", "-o"]);
    compile.arg(folder.join(PROGRAM)).arg(source).arg("-L").arg(folder);
    process::run(compile.args(["-luiautomationcore", "-lole32", "-loleaut32", "-luuid"]))
}
