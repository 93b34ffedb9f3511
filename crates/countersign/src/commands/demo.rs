//! `countersign demo`: one command that shows the hotel's main job.

use std::{
    fs::{self, File, OpenOptions, Permissions, TryLockError},
    io::{self, Write},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use govern::credentials::{Credentials, digest};
use hotel::{
    Error,
    app::{
        Hotel, hotels, ingest,
        tokens::{self, TokenStore},
    },
    language::Language,
    mail,
};
use serde_json::{Value, json};

use super::CommandError;
use crate::{
    config::{Config, LISTEN, address, language},
    halves::{
        LOCAL, bind,
        hotel::{self as hotel_half, Server, request},
    },
    print,
};

/// Name of the demo's token and, in the data folder, of the file with its secret.
const TOKEN: &str = "demo";
const TOKEN_FILE: &str = "demo-token";
/// The Message-ID of the first demo mail.
const DEMO_MESSAGE: &str = "2026112309124100001@jiangnan-travel.example";
const DATABASE_FILE: &str = "hotel.db";
/// Locked while a demo runs on the folder.
const LOCK_FILE: &str = "demo.lock";
/// Only the user may read a secret.
const SECRET_MODE: u32 = 0o600;

/// Run the whole hotel server on a folder of its own, with e-mails to try it on
#[derive(Debug, Args)]
#[command(after_help = "Example: countersign demo --data ./countersign-demo --listen 127.0.0.1:8750")]
pub(crate) struct Demo {
    /// Folder for the database and the token; made when it is not there
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
        let (listener, bound) = bind(&self.listen).await?;
        let data = make_folder(&self.data)?;
        let lock = lock(&data)?;
        config.hotel.db = format!("sqlite:{}", data.join(DATABASE_FILE).display());
        let database = config.hotel.db.clone();
        let hotel = hotel_half::open(&config).await?;
        prepare(&hotel).await?;
        let secret = secret(&hotel, &data.join(TOKEN_FILE)).await?;
        let server = Server::start(Arc::clone(&hotel), config)?;
        print::line(&introduction(&database, &reachable(bound), &secret))?;
        server.http(listener, bound).await;
        hotel.db.close().await;
        drop(lock);
        Ok(())
    }
}

/// A hotel, unless there is one, and the mails; those that are there already stay as they are.
async fn prepare(hotel: &Arc<Hotel>) -> Result<(), CommandError> {
    hotels::add_first(hotel, request(hotel, LOCAL), "湖畔演示酒店 Lakeside Demo Hotel").await?;
    for (_, raw) in mail::demo() {
        ingest::mail(hotel, request(hotel, LOCAL), "FILE", raw.to_vec()).await?;
    }
    Ok(())
}

/// The secret of the last start while it is valid, else a new one.
async fn secret(hotel: &Arc<Hotel>, file: &Path) -> Result<String, CommandError> {
    let kept = fs::read_to_string(file).unwrap_or_default().trim().to_owned();
    let known = TokenStore::new(hotel.db.clone()).find(digest(&kept)).await;
    if known.is_ok_and(|caller| caller.is_some()) {
        fs::set_permissions(file, Permissions::from_mode(SECRET_MODE))
            .map_err(|reason| file_error(file, reason))?;
        return Ok(kept);
    }
    match tokens::revoke(hotel, request(hotel, LOCAL), TOKEN).await {
        Ok(()) | Err(Error::TokenNotFound(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let secret = tokens::add(hotel, request(hotel, LOCAL), TOKEN, &["read", "submit", "ingest"]).await?;
    write_secret(file, secret.expose()).map_err(|reason| file_error(file, reason))?;
    Ok(secret.expose().to_owned())
}

/// Only this user may read the file, from its first byte on.
fn write_secret(file: &Path, secret: &str) -> io::Result<()> {
    if file.exists() {
        fs::remove_file(file)?;
    }
    let mut open = OpenOptions::new().write(true).create_new(true).mode(SECRET_MODE).open(file)?;
    writeln!(open, "{secret}")?;
    open.sync_all()
}

fn make_folder(folder: &Path) -> Result<PathBuf, CommandError> {
    fs::create_dir_all(folder)
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

fn introduction(database: &str, address: &SocketAddr, secret: &str) -> String {
    let url = format!("http://{address}/mcp");
    let servers = json!({"mcpServers": {"th-hotel": {
        "type": "http", "url": url, "headers": {"Authorization": format!("Bearer {secret}")},
    }}});
    let program =
        std::env::current_exe().map_or_else(|_| "countersign".to_owned(), |path| path.display().to_string());
    let (program, database) = (quoted(&program), quoted(database));
    format!(
        "MCP: {url}\n\
         Token: {secret}\n\
         \n\
         For an MCP client:\n\
         {servers:#}\n\
         \n\
         Try in another terminal:\n\
         # the e-mails of the demo hotel\n\
         {program} hotel messages list --db {database}\n\
         # submit what an agent reads in the first of them\n\
         curl -s {url} -H 'Authorization: Bearer {secret}' -H 'Content-Type: application/json' -d {call}\n\
         # the task that a person now confirms (`hotel tasks confirm ID --as NAME`)\n\
         {program} hotel tasks list --db {database}\n\
         \n\
         Ctrl-C ends the demo; its data stays.",
        call = quoted(&submission().to_string()),
    )
}

/// What an agent would submit for the first demo mail, a booking of one room.
fn submission() -> Value {
    let field = |field: &str, to: Value| json!({"field": field, "from": null, "to": to});
    let event = json!({
        "source_event_index": "1",
        "event_type": "BOOKING_NEW_FIT",
        "current_or_history": "current",
        "object_type": "FIT",
        "case_keys": {"group_code": null, "confirmation_number": null, "reservation_no": null},
        "proposed_changes": [
            field("guest_name", "王建国 / 刘敏".into()),
            field("arrival", "2027-01-15".into()),
            field("departure", "2027-01-17".into()),
            field("rooms", 1.into()),
            field("room_type", "豪华双床房".into()),
        ],
        "evidence": [{"source_message_id": DEMO_MESSAGE, "quote": "入住：2027年1月15日"}],
        "manual_review": null,
    });
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "th_hotel_submit_task_results", "arguments": {
            "source_message": {
                "source_message_id": DEMO_MESSAGE, "subject": null, "from": null, "cc": [], "received_at": null,
                "source_channel": "Email",
            },
            "message_events": [event],
            "case_candidates": [],
            "unhandled_current_intents": [],
        }},
    })
}

/// As one word of a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_that_is_submitted_is_the_first_one_of_the_demo() {
        let (_, raw) = mail::demo()[0];
        let mail = mail::parse(raw, mail::LinkPolicy::Host);
        assert_eq!(mail.message_id.as_deref(), Some(DEMO_MESSAGE));
        assert!(mail.body.text.contains("2027年1月15日"), "{}", mail.body.text);
    }

    #[test]
    fn a_path_with_blanks_and_quotes_is_one_word_of_the_shell() {
        assert_eq!(quoted("a b'c"), r"'a b'\''c'");
    }
}
