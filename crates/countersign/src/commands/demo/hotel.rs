//! What the demo prepares of the hotel: a hotel, its mails, a token, and a first submission to try.

use std::{
    fs::{self, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
    sync::Arc,
};

use govern::credentials::{Caller, Credentials, digest};
use hotel::{
    Error,
    app::{
        Hotel, hotels, ingest,
        tokens::{self, TokenStore},
        users::{self, Password},
    },
    domain::role::Role,
    mail,
};
use serde_json::{Value, json};

use super::file_error;
use crate::{
    commands::CommandError,
    halves::{LOCAL, hotel::request},
};

/// Name of the demo's token.
const TOKEN: &str = "demo";
/// Name of the demo's person in the console.
pub(super) const PERSON: &str = "demo";
/// What the token may do, in both halves.
const SCOPES: [&str; 4] = ["read", "submit", "ingest", "send"];
/// The Message-ID of the first demo mail.
const DEMO_MESSAGE: &str = "2026112309124100001@jiangnan-travel.example";
/// Only the user may read a secret.
const SECRET_MODE: u32 = 0o600;

/// A hotel, unless there is one, and the mails; those that are there already stay as they are.
pub(super) async fn prepare(hotel: &Arc<Hotel>) -> Result<(), CommandError> {
    hotels::add_first(hotel, request(hotel, LOCAL), "湖畔演示酒店 Lakeside Demo Hotel").await?;
    for (_, raw) in mail::demo() {
        ingest::mail(hotel, request(hotel, LOCAL), "FILE", raw.to_vec()).await?;
    }
    Ok(())
}

/// A password for the demo's person, another one at each start.
pub(super) async fn password(hotel: &Arc<Hotel>) -> Result<Password, CommandError> {
    match users::reset(hotel, request(hotel, LOCAL), PERSON).await {
        Err(Error::UserNotFound(_)) => {
            Ok(users::add(hotel, request(hotel, LOCAL), PERSON, Role::Admin).await?)
        }
        reset => Ok(reset?),
    }
}

/// The secret of the last start while it is valid, else a new one.
pub(super) async fn secret(hotel: &Arc<Hotel>, file: &Path) -> Result<String, CommandError> {
    let kept = fs::read_to_string(file).unwrap_or_default().trim().to_owned();
    let known = TokenStore::new(hotel.db.clone(), hotel.clock.clone()).find(digest(&kept)).await;
    let suffices = |caller: Caller| SCOPES.iter().all(|scope| caller.may(scope));
    if known.is_ok_and(|caller| caller.is_some_and(suffices)) {
        fs::set_permissions(file, Permissions::from_mode(SECRET_MODE))
            .map_err(|reason| file_error(file, reason))?;
        return Ok(kept);
    }
    match tokens::resolve(hotel, TOKEN).await {
        Ok(token_id) => tokens::revoke(hotel, request(hotel, LOCAL), token_id).await?,
        Err(Error::TokenNotFound(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let secret = tokens::add(hotel, request(hotel, LOCAL), TOKEN, &SCOPES).await?;
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

/// What an agent would submit for the first demo mail, a booking of one room.
pub(super) fn submission() -> Value {
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
}
