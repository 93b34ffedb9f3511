//! Tells the program which target it was built for; `version` answers with it.

fn main() {
    let target = std::env::var("TARGET").unwrap_or_default();
    let mut out = std::io::stdout().lock();
    let _ =
        std::io::Write::write_all(&mut out, format!("cargo::rustc-env=BUILD_TARGET={target}\n").as_bytes());
}
