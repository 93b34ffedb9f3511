//! ISphereWinHelper: one JSON request on stdin, one JSON response on stdout, then it ends.

fn main() -> std::process::ExitCode {
    win_helper::program::run()
}
