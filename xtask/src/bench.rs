//! `cargo xtask bench`
pub fn run(_options: &[&str]) -> Result<(), String> {
    Err("not yet".to_owned())
}
