//! A private `PostgreSQL` for the tests: its own folder, a free port on 127.0.0.1, no password, no socket file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::packages::is_root;
use crate::process::{self, Running};
use crate::{paths, steps};

/// A running instance; stopped, and its folder removed, when it is dropped.
pub struct Postgres {
    /// `postgres://…` of the maintenance database. A test makes databases of its own.
    pub url: String,
    server: Option<Running>,
    folder: PathBuf,
}

impl Postgres {
    /// Makes and starts an instance. It keeps fsync on, because the tests are also about durability.
    pub fn start() -> Result<Self, String> {
        let programs = programs().ok_or("PostgreSQL is missing; install the Debian package postgresql")?;
        let port = process::free_port()?;
        let folder = std::env::temp_dir().join(format!("countersign-postgres-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let mut postgres =
            Self { url: format!("postgres://postgres@127.0.0.1:{port}/postgres"), server: None, folder };
        if is_root() {
            let mut command = Command::new("chown");
            process::run(command.arg("postgres").arg(&postgres.folder))?;
        }
        let data = postgres.folder.join("data");
        let mut initdb = unprivileged(&programs.join("initdb"));
        initdb.args([
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "-D",
        ]);
        process::output(initdb.arg(&data).current_dir(&postgres.folder))?;

        fs::create_dir_all(paths::cache())
            .map_err(|error| format!("cannot make the cache folder: {error}"))?;
        let log_path = paths::cache().join("postgres.log");
        let log = fs::File::create(&log_path)
            .map_err(|error| format!("cannot write {}: {error}", log_path.display()))?;
        let mut server = unprivileged(&programs.join("postgres"));
        server.arg("-D").arg(&data).args(["-h", "127.0.0.1", "-k", "", "-c", "max_connections=300", "-p"]);
        server.arg(port.to_string()).current_dir(&postgres.folder);
        server.stdout(Stdio::null()).stderr(log);
        let running = postgres.server.insert(Running::start(&mut server)?);
        let log_hint = |message| format!("PostgreSQL: {message}; its log is {}", log_path.display());
        running.wait_until(Duration::from_mins(1), || answers(&programs, port)).map_err(log_hint)?;
        steps::say(&format!("started a private PostgreSQL on 127.0.0.1:{port}"));
        Ok(postgres)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The folder can go only after the server has.
        self.server.take();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The folder of the server programs. Debian keeps them out of PATH, one folder per major version.
pub fn programs() -> Option<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .filter(|(_, folder)| folder.join("initdb").exists())
        .collect();
    versions.sort();
    versions.pop().map(|(_, folder)| folder)
}

/// Whether the server takes connections; an open port alone would not say that its start is over.
fn answers(programs: &Path, port: u16) -> bool {
    let mut command = Command::new(programs.join("pg_isready"));
    command.args(["-q", "-h", "127.0.0.1", "-p", &port.to_string()]);
    command.status().is_ok_and(|status| status.success())
}

/// A bounded command that runs as the user `postgres` when this process is root.
fn unprivileged(program: &Path) -> Command {
    let program = program.to_string_lossy();
    if !is_root() {
        return process::bounded(process::SERVER_LIMIT, &program);
    }
    let mut command = process::bounded(process::SERVER_LIMIT, "setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]).arg(&*program);
    command
}
