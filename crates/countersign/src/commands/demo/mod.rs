//! `countersign demo`: one command that shows both halves at work.

mod hotel;
mod isphere;

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use govern::language::Language;
use serde_json::json;

use super::CommandError;
use crate::{
    config::{Config, LISTEN, address, language},
    halves::{self, bind},
    print,
};

/// In the data folder, the file with the token.
const TOKEN_FILE: &str = "demo-token";
const DATABASE_FILE: &str = "hotel.db";
/// Locked while a demo runs on the folder.
const LOCK_FILE: &str = "demo.lock";
/// Where the iSphere half is on the demo's port.
const ISPHERE_PATH: &str = "/isphere/mcp";

/// Run both halves on a folder of their own, with e-mails and a generated organisation to try them on
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign demo --data ./countersign-demo --listen 127.0.0.1:8750")]
pub(crate) struct Demo {
    /// Folder for all that the demo keeps; made when it is not there
    #[arg(long, value_name = "DIR", default_value = "./countersign-demo")]
    data: PathBuf,
    /// Address and port to serve on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", value_parser = address, default_value = LISTEN)]
    listen: String,
    /// Language of summaries and error messages: zh-CN or en
    #[arg(long, value_parser = language, env = "COUNTERSIGN_HOTEL__LANGUAGE", default_value = "zh-CN")]
    language: Language,
}

impl Demo {
    pub(crate) fn config(&self) -> Config {
        let mut config = Config::default();
        config.hotel.language = self.language;
        config
    }

    pub(crate) async fn run(self, mut config: Config) -> Result<(), CommandError> {
        // Connections wait in the listener until all is printed and serving begins.
        let (listener, bound) = bind(&self.listen, "--listen").await?;
        let data = make_folder(&self.data)?;
        let lock = lock(&data)?;
        config.hotel.db = format!("sqlite:{}", data.join(DATABASE_FILE).display());
        let database = config.hotel.db.clone();
        let hotel = halves::hotel::open(&config).await?;
        hotel::prepare(&hotel).await?;
        let secret = hotel::secret(&hotel, &data.join(TOKEN_FILE)).await?;
        let password = hotel::password(&hotel).await?;
        config.isphere = isphere::settings(&data, self.language);
        let stdio_config = isphere::prepare(&data, &config.isphere)?;
        let isphere = halves::isphere::Server::start(halves::isphere::open(&config)?, &config)?;
        let server = halves::hotel::Server::start(Arc::clone(&hotel), config);
        let log_in = format!("{} / {}", hotel::PERSON, password.expose());
        print::line(&introduction(&database, &stdio_config, &reachable(bound), &secret, &log_in))?;
        let beside = isphere.router(ISPHERE_PATH, server.bearer());
        tracing::info!("listening on http://{bound}{ISPHERE_PATH}");
        server.http(listener, bound, beside).await;
        isphere.end().await;
        hotel.db.close().await;
        drop(lock);
        Ok(())
    }
}

fn make_folder(folder: &Path) -> Result<PathBuf, CommandError> {
    govern::private::make_folder(folder)
        .and_then(|()| folder.canonicalize())
        .map_err(|reason| file_error(folder, reason))
}

/// Holds the folder until the file is dropped. The system lets go of it when the process ends in whatever way.
fn lock(folder: &Path) -> Result<File, CommandError> {
    let path = folder.join(LOCK_FILE);
    let opened = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
    let file = opened.map_err(|reason| file_error(&path, reason))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(CommandError::DemoRunning(folder.display().to_string())),
        Err(TryLockError::Error(reason)) => Err(file_error(&path, reason)),
    }
}

fn file_error(path: &Path, reason: io::Error) -> CommandError {
    CommandError::File { path: path.display().to_string(), reason }
}

/// The address under which this machine reaches a server that listens on all of its addresses.
fn reachable(bound: SocketAddr) -> SocketAddr {
    if bound.ip().is_unspecified() {
        SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), bound.port())
    } else {
        bound
    }
}

fn introduction(
    database: &str,
    stdio_config: &Path,
    address: &SocketAddr,
    secret: &str,
    log_in: &str,
) -> String {
    let url = format!("http://{address}/mcp");
    let isphere_url = format!("http://{address}{ISPHERE_PATH}");
    let program =
        std::env::current_exe().map_or_else(|_| "countersign".to_owned(), |path| path.display().to_string());
    let headers = json!({"Authorization": format!("Bearer {secret}")});
    let stdio_config = stdio_config.display().to_string();
    let servers = json!({"mcpServers": {
        "th-hotel": {"type": "http", "url": url, "headers": headers},
        "isphere": {"type": "http", "url": isphere_url, "headers": headers},
        "isphere-stdio": {"command": program, "args": ["isphere", "serve", "--config", stdio_config]},
    }});
    let (program, database) = (quoted(&program), quoted(database));
    let curl = |url: &str, call: &serde_json::Value| {
        let call = quoted(&call.to_string());
        format!(
            "curl -s {url} -H 'Authorization: Bearer {secret}' -H 'Content-Type: application/json' -d {call}"
        )
    };
    format!(
        "Console: http://{address}/console/\n\
         Log-in: {log_in}\n\
         MCP: {url}\n\
         MCP of iSphere: {isphere_url}\n\
         Token: {secret}\n\
         \n\
         For an MCP client (isphere over HTTP or over stdio, whichever it speaks):\n\
         {servers:#}\n\
         \n\
         Try in another terminal:\n\
         # the e-mails of the demo hotel\n\
         {program} hotel messages list --db {database}\n\
         # submit what an agent reads in one of them\n\
         {submit}\n\
         # the task that a person now confirms (`hotel tasks confirm ID --as NAME`)\n\
         {program} hotel tasks list --db {database}\n\
         # find people in the generated organisation of the iSphere client\n\
         {search}\n\
         # what is configured there, reachable and missing\n\
         {program} isphere doctor --config {stdio_config}\n\
         \n\
         Ctrl-C ends the demo; its data stays.",
        submit = curl(&url, &hotel::submission()),
        search = curl(&isphere_url, &isphere::search()),
        stdio_config = quoted(&stdio_config),
    )
}

/// As one word of a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_blanks_and_quotes_is_one_word_of_the_shell() {
        assert_eq!(quoted("a b'c"), r"'a b'\''c'");
    }
}
