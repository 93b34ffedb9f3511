//! Taking e-mail in: from files, and from AgentBus (design: E-mail). The same message twice is one message.

mod limits;

use std::sync::Arc;

use govern::hex::hex;
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Hotel, Request};
use crate::error::{Error, Fault};
use crate::mail::{self, Address, Attachment, Body, Mail, MailWarning};
use crate::store::conversations::Origin;
use crate::store::inbox::{InboxIdentity, InboxRow};
use crate::store::{Realm, Transaction, boxed};

/// The operation's name in the audit trail.
pub const OPERATION: &str = "hotel_ingest_message";

/// One message from AgentBus, as `POST /api/integrations/agentbus/messages` takes it.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AgentBusMessage {
    /// Where it comes from.
    pub source: AgentBusSource,
    /// Subject; without it that of the raw message.
    #[serde(default)]
    pub subject: Option<String>,
    /// `Name <address>`.
    #[serde(default)]
    pub from: Option<String>,
    /// `Name <address>` each.
    #[serde(default, deserialize_with = "null_as_default")]
    pub to: Vec<String>,
    /// `Name <address>` each.
    #[serde(default, deserialize_with = "null_as_default")]
    pub cc: Vec<String>,
    /// ISO-8601 with offset.
    pub received_at: String,
    /// Plain text.
    #[serde(default)]
    pub text_body: Option<String>,
    /// HTML as the sender wrote it; sanitised before it is kept.
    #[serde(default)]
    pub html_body: Option<String>,
    /// Names and sizes only.
    #[serde(default, deserialize_with = "null_as_default")]
    pub attachments: Vec<AgentBusAttachment>,
    /// The whole raw message; the body is read from it when text_body and html_body are absent.
    #[serde(default)]
    pub raw_base64: Option<String>,
}

/// Where an AgentBus message comes from.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AgentBusSource {
    /// Such as AGENTBUS.
    pub provider: String,
    /// Such as EMAIL or OUTLOOK.
    pub channel: String,
    /// Unique in (hotel, provider, channel).
    pub external_message_id: String,
    /// The conversation; without it the message is one of its own.
    #[serde(default)]
    pub external_conversation_id: Option<String>,
}

/// An attachment's name and size; never its content or a URL.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AgentBusAttachment {
    /// File name.
    pub name: String,
    /// Bytes.
    #[serde(default, deserialize_with = "null_as_default")]
    pub size: u64,
    /// Media type.
    #[serde(default, rename = "type", deserialize_with = "null_as_default")]
    pub content_type: String,
}

/// What came of a message.
#[derive(Debug, Clone, Serialize)]
pub struct Ingested {
    /// Inbox id, as text.
    pub inbox_id: String,
    /// The id to query and submit with.
    pub external_message_id: String,
    /// Whether it is new; else it was there already.
    pub created: bool,
    /// Why its body is less than what was sent.
    pub html_degraded_reason: Option<String>,
}

/// A message on its way into the inbox.
#[derive(Debug)]
struct Incoming {
    provider: String,
    channel: String,
    /// What the message calls itself.
    external_id: String,
    /// Whether other content under the same id is kept beside it (files) or refused (AgentBus).
    keeps_namesakes: bool,
    conversation: Conversation,
    row: InboxRow,
    raw: Option<Vec<u8>>,
}

#[derive(Debug)]
enum Conversation {
    Named(String),
    Joined { root: String, message_ids: Vec<String> },
}

impl Incoming {
    /// Every id that the message is known by or linked with.
    fn ids(&self) -> Vec<&str> {
        let mut ids = vec![self.external_id.as_str()];
        match &self.conversation {
            Conversation::Named(id) => ids.push(id),
            Conversation::Joined { message_ids, .. } => ids.extend(message_ids.iter().map(String::as_str)),
        }
        ids
    }
}

/// Keeps a raw message from a file; `provider` is FILE or IMAP.
pub async fn mail(
    hotel: &Arc<Hotel>,
    request: Request,
    provider: &str,
    raw: Vec<u8>,
) -> Result<Ingested, Error> {
    let now = hotel.clock.now_ms();
    let links = hotel.links;
    // Decoding a large mail takes a while; the threads that answer requests are not for that.
    let (mail, digest, raw) = tokio::task::spawn_blocking(move || {
        let mail = read_mail(&raw, links);
        let digest = hex(&Sha256::digest(&raw));
        (mail, digest, raw)
    })
    .await
    .map_err(|_| Error::MailReader)?;
    let external_id = mail.message_id.clone().unwrap_or_else(|| format!("sha256:{digest}"));
    let mut message_ids = vec![external_id.clone()];
    message_ids.extend(mail.references.iter().chain(&mail.in_reply_to).cloned());
    let root = mail.references.first().or(mail.in_reply_to.first()).unwrap_or(&external_id).clone();
    let incoming = Incoming {
        provider: provider.to_owned(),
        channel: "EMAIL".to_owned(),
        external_id,
        keeps_namesakes: true,
        conversation: Conversation::Joined { root, message_ids },
        row: row_of_mail(&mail, now, digest)?,
        raw: Some(raw),
    };
    keep(hotel, request, incoming).await
}

/// Keeps a message from AgentBus. The same id with other content is a conflict, never an overwrite.
pub async fn agentbus(
    hotel: &Arc<Hotel>,
    request: Request,
    message: AgentBusMessage,
) -> Result<Ingested, Error> {
    limits::check_agentbus(&message)?;
    let now = hotel.clock.now_ms();
    let digest = hex(&Sha256::digest(serde_json_canonicalizer::to_vec(&message)?));
    let external_id = required(&message.source.external_message_id, "$.source.external_message_id")?;
    let provider = required(&message.source.provider, "$.source.provider")?;
    let channel = required(&message.source.channel, "$.source.channel")?;
    let received_at = govern::time::parse_iso(&message.received_at).ok_or_else(|| {
        invalid("$.received_at", "an ISO-8601 time with offset, such as 2026-11-30T08:00:00+08:00")
    })?;
    let raw = message.raw_base64.as_deref().map(decode_raw).transpose()?;
    let named = message.source.external_conversation_id.as_deref().map(visible);
    let named = named.map(|id| id.trim().to_owned()).filter(|id| !id.is_empty());
    let links = hotel.links;
    let (mut row, parsed, raw) = tokio::task::spawn_blocking(move || {
        let parsed = raw.as_deref().map(|raw| read_mail(raw, links));
        let (body, warnings) = body_of(&message, parsed.as_ref(), links);
        let mut row = row_of_agentbus(&message, &body, &warnings, now, digest);
        if let (None, Some(mail), Ok(row)) = (&message.subject, &parsed, &mut row) {
            row.subject.clone_from(&mail.subject);
        }
        (row, parsed, raw)
    })
    .await
    .map_err(|_| Error::MailReader)?;
    if let Ok(row) = &mut row {
        row.received_at = received_at;
    }
    let conversation = match named {
        Some(id) => Conversation::Named(id),
        None => joined(&external_id, parsed.as_ref()),
    };
    let incoming =
        Incoming { provider, channel, external_id, keeps_namesakes: false, conversation, row: row?, raw };
    keep(hotel, request, incoming).await
}

async fn keep(hotel: &Arc<Hotel>, request: Request, incoming: Incoming) -> Result<Ingested, Error> {
    let shared = Arc::new((Arc::clone(hotel), request, incoming));
    hotel
        .db
        .write(move |tx| {
            let shared = Arc::clone(&shared);
            boxed(async move {
                let (hotel, request, incoming) = &*shared;
                keep_in(tx, hotel, request, incoming).await
            })
        })
        .await
}

async fn keep_in(
    tx: &mut Transaction<'_>,
    hotel: &Hotel,
    request: &Request,
    incoming: &Incoming,
) -> Result<Ingested, Error> {
    let hotel_id = tx.resolve_hotel(None).await?;
    tx.serialise_on(Realm::Mail, hotel_id, &incoming.ids()).await?;
    let (provider, channel) = (Some(incoming.provider.as_str()), Some(incoming.channel.as_str()));
    let known = tx.find_messages(hotel_id, &incoming.external_id, provider, channel).await?;
    let same = known.iter().find(|row| row.content_sha256 == incoming.row.content_sha256);
    let ingested = match (same, known.first()) {
        (Some(same), _) => already_there(same, incoming),
        (None, Some(other)) if !incoming.keeps_namesakes => {
            return Err(Error::IngestConflict { inbox_id: other.inbox_id });
        }
        (None, other) => insert(tx, hotel_id, incoming, other.is_some()).await?,
    };
    let target = format!("message:{}", ingested.inbox_id);
    let record = hotel.record(request, OPERATION, target, Some(incoming.row.content_sha256.clone()));
    tx.append_audit(&hotel.audit_key, &[record]).await?;
    Ok(ingested)
}

fn already_there(known: &InboxIdentity, incoming: &Incoming) -> Ingested {
    Ingested {
        inbox_id: known.inbox_id.to_string(),
        external_message_id: known.external_message_id.clone(),
        created: false,
        html_degraded_reason: incoming.row.html_degraded_reason.clone(),
    }
}

async fn insert(
    tx: &mut Transaction<'_>,
    hotel_id: i64,
    incoming: &Incoming,
    has_namesake: bool,
) -> Result<Ingested, Error> {
    let origin = Origin { hotel_id, provider: &incoming.provider, channel: &incoming.channel };
    let mut row = incoming.row.clone();
    row.inbox_id = tx.take_ids(1).await?;
    row.provider.clone_from(&incoming.provider);
    row.channel.clone_from(&incoming.channel);
    row.bare_message_id.clone_from(&incoming.external_id);
    row.external_message_id = if has_namesake {
        format!("{}#sha256:{}", incoming.external_id, &incoming.row.content_sha256[..8])
    } else {
        incoming.external_id.clone()
    };
    row.conversation_id = match &incoming.conversation {
        Conversation::Named(id) => tx.conversation_named(origin, id).await?,
        Conversation::Joined { root, message_ids } => {
            tx.conversation_joined(origin, root, message_ids).await?
        }
    };
    tx.insert_message(hotel_id, &row, incoming.raw.clone()).await?;
    Ok(Ingested {
        inbox_id: row.inbox_id.to_string(),
        external_message_id: row.external_message_id,
        created: true,
        html_degraded_reason: row.html_degraded_reason,
    })
}

fn read_mail(raw: &[u8], links: mail::LinkPolicy) -> Mail {
    let mut mail = mail::parse(raw, links);
    limits::cut_mail(&mut mail);
    mail
}

fn joined(external_id: &str, parsed: Option<&Mail>) -> Conversation {
    let mut message_ids = vec![external_id.to_owned()];
    if let Some(mail) = parsed {
        message_ids.extend(mail.message_id.iter().chain(&mail.references).chain(&mail.in_reply_to).cloned());
    }
    let root = parsed.and_then(|mail| mail.references.first().or(mail.in_reply_to.first()));
    Conversation::Joined { root: root.cloned().unwrap_or_else(|| external_id.to_owned()), message_ids }
}

fn body_of(
    message: &AgentBusMessage,
    parsed: Option<&Mail>,
    links: mail::LinkPolicy,
) -> (Body, Vec<MailWarning>) {
    match parsed {
        Some(mail) if message.text_body.is_none() && message.html_body.is_none() => {
            (mail.body.clone(), mail.warnings.clone())
        }
        _ => mail::body(message.text_body.as_deref(), message.html_body.as_deref(), links),
    }
}

fn row_of_mail(mail: &Mail, now: i64, digest: String) -> Result<InboxRow, Error> {
    let addresses = |list: &[Address]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut row = empty_row(&mail.body, &mail.warnings, now, digest)?;
    row.subject.clone_from(&mail.subject);
    row.sender = mail.from.as_ref().map(ToString::to_string);
    row.agency = mail.from.as_ref().and_then(|from| organisation(&from.email));
    row.recipients = serde_json::to_string(&addresses(&mail.to))?;
    row.cc = serde_json::to_string(&addresses(&mail.cc))?;
    row.in_reply_to = serde_json::to_string(&mail.in_reply_to)?;
    row.reference_ids = serde_json::to_string(&mail.references)?;
    row.received_at = mail.date_ms.unwrap_or(now);
    row.attachments = attachments(mail.attachments.iter().cloned())?;
    Ok(row)
}

fn row_of_agentbus(
    message: &AgentBusMessage,
    body: &Body,
    warnings: &[MailWarning],
    now: i64,
    digest: String,
) -> Result<InboxRow, Error> {
    let list =
        |items: &[String]| serde_json::to_string(&items.iter().map(|item| visible(item)).collect::<Vec<_>>());
    let mut row = empty_row(body, warnings, now, digest)?;
    row.subject = visible(message.subject.as_deref().unwrap_or(""));
    row.sender = message.from.as_deref().map(visible);
    row.agency = row.sender.as_deref().and_then(organisation);
    row.recipients = list(&message.to)?;
    row.cc = list(&message.cc)?;
    row.attachments = attachments(message.attachments.iter().map(|file| Attachment {
        name: visible(&file.name),
        size: file.size,
        content_type: visible(&file.content_type),
    }))?;
    Ok(row)
}

/// A row with its body; ids, identity and addresses are still to be filled.
fn empty_row(body: &Body, warnings: &[MailWarning], now: i64, digest: String) -> Result<InboxRow, Error> {
    Ok(InboxRow {
        inbox_id: 0,
        provider: String::new(),
        channel: String::new(),
        external_message_id: String::new(),
        bare_message_id: String::new(),
        conversation_id: 0,
        subject: String::new(),
        sender: None,
        agency: None,
        recipients: "[]".to_owned(),
        cc: "[]".to_owned(),
        in_reply_to: "[]".to_owned(),
        reference_ids: "[]".to_owned(),
        received_at: now,
        text_body: body.text.clone(),
        html_body: body.html.clone(),
        html_render_mode: body.render_mode.as_str().to_owned(),
        html_degraded_reason: body.degraded.map(|reason| reason.as_str().to_owned()),
        attachments: "[]".to_owned(),
        warnings: serde_json::to_string(warnings)?,
        content_sha256: digest,
        created_at: now,
    })
}

fn attachments(files: impl Iterator<Item = Attachment>) -> Result<String, Error> {
    let list = files.map(|file| AgentBusAttachment {
        name: file.name,
        size: file.size,
        content_type: file.content_type,
    });
    Ok(serde_json::to_string(&list.collect::<Vec<_>>())?)
}

/// The sender's organisation: the domain of the address.
fn organisation(address: &str) -> Option<String> {
    let domain = address.rsplit_once('@')?.1.trim_end_matches(['>', ' ']).to_lowercase();
    (!domain.is_empty()).then_some(domain)
}

/// Mailers write null for what they do not have.
fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Decodes base64, in lines as in mail (RFC 2045) or in one piece.
fn decode_raw(text: &str) -> Result<Vec<u8>, Error> {
    use base64::Engine as _;
    let text: String = text.split_ascii_whitespace().collect();
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .map_err(|_| invalid("$.raw_base64", "the raw message in base64 (RFC 4648) or null"))
}

fn visible(text: &str) -> String {
    govern::text::visible(text).text.into_owned()
}

fn required(text: &str, path: &str) -> Result<String, Error> {
    let text = visible(text);
    let text = text.trim();
    if text.is_empty() { Err(invalid(path, "a string that is not empty")) } else { Ok(text.to_owned()) }
}

fn invalid(path: &str, expected: &str) -> Error {
    Error::InvalidArgument(Fault {
        path: path.to_owned(),
        code: "INVALID_VALUE",
        expected: expected.to_owned(),
    })
}
