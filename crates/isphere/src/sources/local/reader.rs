//! Reading rows of the store as contacts, groups, conversations, messages and files.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::tz::Offset;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Row, ToSql};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::error::StoreError;
use super::profile::{Section, SectionFault, Table, hex};
use super::projection::Projection;
use super::store::{FilesFolder, Lease, Store};
use super::time::TimeUnit;
use super::value::{count, filled_text, flag, id, integer, text};
use crate::model::{Attachment, Contact, Conversation, FileEntry, Group, Message};

/// How many message ids go into one query for attachments.
const IDS_PER_QUERY: usize = 200;

/// How many steps of SQLite's machine, well under a millisecond, go by before it is asked whether to stop.
const STEPS_BETWEEN_LOOKS: i32 = 4096;

/// A checked-out connection that sees one state of the store. For a thread that may block; the connection goes back to
/// the store when the reader is dropped. Drop it soon: until then, a client with a rollback journal cannot commit.
pub struct Reader {
    store: Store,
    /// Some until it is dropped.
    lease: Option<Lease>,
    /// Becomes true when nobody waits any more.
    stop: Option<Arc<AtomicBool>>,
}

impl Reader {
    /// A reader whose statements end with an error when `stop` becomes true.
    pub(super) fn new(store: Store, stop: Option<Arc<AtomicBool>>) -> Result<Self, StoreError> {
        let lease = store.lease()?;
        lease.connection.execute_batch("BEGIN")?;
        let reader = Self { store, lease: Some(lease), stop };
        reader.stop_at(None)?;
        Ok(reader)
    }

    /// Does `work`, but no longer than until this time; none when it was not done by then.
    pub(super) fn until<T>(
        &self,
        until: Option<Instant>,
        work: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        self.stop_at(until)?;
        let done = work();
        self.stop_at(None)?;
        match done {
            Err(StoreError::Interrupted) if until.is_some_and(|until| Instant::now() >= until) => Ok(None),
            done => done.map(Some),
        }
    }

    /// From now on, statements end with an error at this time, and when nobody waits any more.
    fn stop_at(&self, until: Option<Instant>) -> Result<(), StoreError> {
        let stop = self.stop.clone();
        let is_over = move || {
            stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
                || until.is_some_and(|until| Instant::now() >= until)
        };
        // Not `sqlite3_interrupt`, which does nothing to a statement that is about to start.
        Ok(self.connection().progress_handler(STEPS_BETWEEN_LOOKS, Some(is_over))?)
    }

    /// Visits all contacts in the order of their ids' letters, until the visitor breaks off.
    pub fn contacts(&mut self, visit: &mut dyn FnMut(Contact) -> ControlFlow<()>) -> Result<(), StoreError> {
        self.visit_by_id(Table::Contacts, Rows::contact, visit)
    }

    /// Visits all groups in the order of their ids' letters, until the visitor breaks off.
    pub fn groups(&mut self, visit: &mut dyn FnMut(Group) -> ControlFlow<()>) -> Result<(), StoreError> {
        self.visit_by_id(Table::Groups, Rows::group, visit)
    }

    /// Visits all conversations in the order of their ids' letters, until the visitor breaks off.
    pub fn conversations(
        &mut self,
        visit: &mut dyn FnMut(Conversation) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.visit_by_id(Table::Conversations, Rows::conversation, visit)
    }

    /// The tables that messages are split into, in the order of their names; one empty name when they are not split.
    pub fn message_parts(&mut self) -> Result<Vec<String>, StoreError> {
        Ok(self.projections(Table::Messages)?.iter().map(|projection| projection.part.clone()).collect())
    }

    /// Visits the messages of a part with a number above `after_seq` and up to `up_to_seq`, in the order of their
    /// numbers, without attachments. Rows whose `seq` is no integer or whose id is of no use are not visited. Ask for slices: while it reads a
    /// store with a rollback journal, the client's writes wait.
    pub fn messages_after(
        &mut self,
        part: &str,
        after_seq: Option<i64>,
        up_to_seq: Option<i64>,
        visit: &mut dyn FnMut(i64, Message) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let Some(projection) = self.numbered(part)? else { return Ok(()) };
        // The first number has no lower bound: `seq > i64::MIN` would lose it.
        let (from, to) =
            (after_seq.map_or(i64::MIN, |seq| seq.saturating_add(1)), up_to_seq.unwrap_or(i64::MAX));
        let sql = format!("{} WHERE seq >= ?1 AND seq <= ?2 ORDER BY seq", projection.sql);
        self.visit(Table::Messages, &sql, &[&from, &to], |rows, row| {
            Ok(match (integer(row.get_ref(SEQ)?), rows.message(row)?) {
                (Some(seq), Some(message)) => visit(seq, message),
                _ => ControlFlow::Continue(()),
            })
        })
    }

    /// The message of this number, without attachments.
    pub fn message(&mut self, part: &str, seq: i64) -> Result<Option<Message>, StoreError> {
        let Some(projection) = self.numbered(part)? else { return Ok(None) };
        let mut found = None;
        self.visit(Table::Messages, &format!("{} WHERE seq = ?1", projection.sql), &[&seq], |rows, row| {
            found = rows.message(row)?;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// The attachments of messages, by the message's id; a message without any is not in it.
    pub fn attachments(
        &mut self,
        message_ids: &[&str],
    ) -> Result<HashMap<String, Vec<Attachment>>, StoreError> {
        let mut attachments: HashMap<String, Vec<Attachment>> = HashMap::new();
        for projection in self.projections(Table::Files)? {
            if !projection.yields("message") {
                continue;
            }
            for ids in message_ids.chunks(IDS_PER_QUERY) {
                let ids: Vec<Value> = ids
                    .iter()
                    .map(|id| self.typed(&projection, "message", id))
                    .collect::<Result<Vec<_>, _>>()?
                    .into_iter()
                    .flatten()
                    .collect();
                let marks = vec!["?"; ids.len()].join(",");
                let sql = format!("{} WHERE message IN ({marks})", projection.sql);
                let ids: Vec<&dyn ToSql> = ids.iter().map(|id| id as &dyn ToSql).collect();
                self.visit(Table::Files, &sql, &ids, |rows, row| {
                    if let Some(StoredFile { entry: file, .. }) = rows.file(row)?
                        && let Some(message_id) = file.message_id
                    {
                        attachments.entry(message_id).or_default().push(Attachment {
                            file_id: file.file_id,
                            file_name: file.file_name,
                            size_bytes: file.size_bytes,
                            download_ref: file.download_ref,
                        });
                    }
                    Ok(ControlFlow::Continue(()))
                })?;
            }
        }
        for files in attachments.values_mut() {
            files.sort_by(|one, other| one.file_id.cmp(&other.file_id));
        }
        Ok(attachments)
    }

    /// The contact of this id.
    pub fn contact(&mut self, id: &str) -> Result<Option<Contact>, StoreError> {
        self.by_id(Table::Contacts, id, Rows::contact)
    }

    /// The group of this id, with the count of its members.
    pub fn group(&mut self, id: &str) -> Result<Option<Group>, StoreError> {
        let Some(mut group) = self.by_id(Table::Groups, id, Rows::group)? else {
            return Ok(None);
        };
        self.count_members(&mut group)?;
        Ok(Some(group))
    }

    /// The conversation of this id.
    pub fn conversation(&mut self, id: &str) -> Result<Option<Conversation>, StoreError> {
        self.by_id(Table::Conversations, id, Rows::conversation)
    }

    /// The message of this id, without attachments. Reads a whole part when the store has no index over the ids.
    pub fn message_by_id(&mut self, id: &str) -> Result<Option<Message>, StoreError> {
        self.by_id(Table::Messages, id, Rows::message)
    }

    /// The file of this id.
    pub(super) fn file(&mut self, id: &str) -> Result<Option<StoredFile>, StoreError> {
        self.by_id(Table::Files, id, Rows::file)
    }

    /// Counts a group's members when its own row does not say how many there are.
    pub fn count_members(&mut self, group: &mut Group) -> Result<(), StoreError> {
        let projections = self.projections(Table::Members)?;
        let (None, Some(members)) = (group.member_count, projections.first()) else { return Ok(()) };
        let fault = |error| self.fault(Table::Members, error);
        let typed = self.typed(members, "\"group\"", &group.group_id).map_err(fault)?;
        let Some(id) = typed else { return Ok(()) };
        let sql = format!("SELECT count(*) FROM ({}) WHERE \"group\" = ?1", members.sql);
        let counted: rusqlite::Result<i64> = self
            .connection()
            .prepare_cached(&sql)
            .and_then(|mut count| count.query_row([id], |row| row.get(0)));
        let members = counted.map_err(|error| fault(error.into()))?;
        group.member_count = u64::try_from(members).ok();
        Ok(())
    }

    /// Whether what was read is what was in the file (see [`super::open`]). Ask after reading, before believing it.
    pub fn unchanged(&self) -> bool {
        self.lease.as_ref().is_none_or(|lease| self.store.unchanged(&lease.plan))
    }

    /// The folder of the client's files.
    pub(super) fn files(&self) -> Option<&FilesFolder> {
        self.store.files()
    }

    /// An error of reading this table, which names the section and the file of the profile when its SELECT is at fault.
    pub(super) fn fault(&self, table: Table, error: StoreError) -> StoreError {
        error.in_select(table).in_profile(self.store.profile().path())
    }

    /// The reason behind an error, with what the folder of the store says now.
    pub(super) fn reason(&self, error: StoreError) -> StoreError {
        match &self.lease {
            Some(lease) => self.store.reason(&lease.plan, error),
            None => error,
        }
    }

    pub(super) fn connection(&self) -> &Connection {
        match &self.lease {
            Some(lease) => &lease.connection,
            None => unreachable!("the lease is given back by drop only"),
        }
    }

    pub(super) fn projections(&self, table: Table) -> Result<Vec<Arc<Projection>>, StoreError> {
        self.store.projections(self.connection(), table)
    }

    /// How the rows of this table are read.
    pub(super) fn rows(&self, table: Table) -> Result<Rows<'_>, StoreError> {
        let section = self.store.profile().section(table).ok_or(StoreError::NoSection(table))?;
        Ok(Rows { store: &self.store, section })
    }

    /// An id as the column holds it: SQLite keeps 5 and '5' apart where a column has no type. None when no row can
    /// hold it.
    pub(super) fn typed(
        &self,
        projection: &Projection,
        column: &str,
        id: &str,
    ) -> Result<Option<Value>, StoreError> {
        let sql = format!("SELECT typeof({column}) FROM ({}) LIMIT 1", projection.sql);
        let mut statement = self.connection().prepare_cached(&sql)?;
        let mut found = statement.query([])?;
        Ok(match found.next()?.map(|row| row.get_ref(0)).transpose()? {
            Some(ValueRef::Text(b"integer")) => id.parse().ok().map(Value::Integer),
            Some(ValueRef::Text(b"blob")) => Some(Value::Blob(id.as_bytes().to_vec())),
            Some(_) => Some(Value::Text(id.to_owned())),
            None => None,
        })
    }

    fn numbered(&self, part: &str) -> Result<Option<Arc<Projection>>, StoreError> {
        let found = self.projections(Table::Messages)?.into_iter().find(|projection| projection.part == part);
        if found.as_ref().is_some_and(|projection| !projection.yields("seq")) {
            return Err(self.store.profile_fault(Table::Messages, SectionFault::NoSeq));
        }
        Ok(found)
    }

    fn by_id<'s, T>(
        &'s self,
        table: Table,
        id: &str,
        read: impl Fn(&Rows<'s>, &Row<'_>) -> Result<Option<T>, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        for projection in self.projections(table)? {
            let typed = self.typed(&projection, "id", id).map_err(|error| self.fault(table, error))?;
            let Some(id) = typed else { continue };
            let mut found = None;
            let sql = format!("{} WHERE id = ?1 LIMIT 1", projection.sql);
            self.visit(table, &sql, &[&id], |rows, row| {
                found = read(rows, row)?;
                Ok(ControlFlow::Break(()))
            })?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Visits what `read` makes of the rows of a table that is not split.
    fn visit_by_id<'s, T>(
        &'s self,
        table: Table,
        read: impl Fn(&Rows<'s>, &Row<'_>) -> Result<Option<T>, StoreError>,
        visit: &mut dyn FnMut(T) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let projections = self.projections(table)?;
        let Some(projection) = projections.first() else { return Ok(()) };
        // By the letters of the id: the order of `str`, whatever type and collation the column has.
        let sql = format!("{} ORDER BY CAST(id AS TEXT) COLLATE BINARY", projection.sql);
        self.visit(table, &sql, &[], |rows, row| {
            Ok(read(rows, row)?.map_or(ControlFlow::Continue(()), &mut *visit))
        })
    }

    fn visit<'s>(
        &'s self,
        table: Table,
        sql: &str,
        values: &[&dyn ToSql],
        mut visit: impl FnMut(&Rows<'s>, &Row<'_>) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        let rows = self.rows(table)?;
        let mut visit_all = || -> Result<(), StoreError> {
            let mut statement = self.connection().prepare_cached(sql)?;
            let mut found = statement.query(values)?;
            while let Some(row) = found.next()? {
                if visit(&rows, row)?.is_break() {
                    break;
                }
            }
            Ok(())
        };
        visit_all().map_err(|error| self.fault(table, error))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let Some(lease) = self.lease.take() else { return };
        let can_be_reused = lease.connection.progress_handler(0, None::<fn() -> bool>).is_ok()
            && lease.connection.execute_batch("COMMIT").is_ok();
        if can_be_reused {
            self.store.give_back(lease);
        }
    }
}

/// The place of `seq` among the columns of messages.
const SEQ: usize = 3;

/// A file as it is listed, and where its bytes are.
pub(super) struct StoredFile {
    pub entry: FileEntry,
    pub path: Option<String>,
}

/// Reads rows of one section. The numbers are the places of the columns: those of [`Table::required`], then those of
/// [`Table::optional`]. A row whose own id is of no use to an agent ([`crate::model::is_usable_id`]) is none; such a
/// reference to another row is left out.
pub(super) struct Rows<'a> {
    store: &'a Store,
    section: &'a Section,
}

impl Rows<'_> {
    pub fn contact(&self, row: &Row<'_>) -> Result<Option<Contact>, StoreError> {
        let Some(contact_id) = self.id(row, 0)? else { return Ok(None) };
        Ok(Some(Contact {
            raw_ref: raw_ref(Table::Contacts, &contact_id),
            display_name: self.text(row, 1)?.unwrap_or_default(),
            account: self.text(row, 2)?,
            department: self.text(row, 3)?,
            title: self.text(row, 4)?,
            active: flag(row.get_ref(5)?).unwrap_or(true),
            contact_id,
        }))
    }

    pub fn group(&self, row: &Row<'_>) -> Result<Option<Group>, StoreError> {
        let Some(group_id) = self.id(row, 0)? else { return Ok(None) };
        Ok(Some(Group {
            raw_ref: raw_ref(Table::Groups, &group_id),
            display_name: self.text(row, 1)?.unwrap_or_default(),
            member_count: count(row.get_ref(2)?),
            owner_ref: self.id(row, 3)?,
            archived: flag(row.get_ref(4)?).unwrap_or(false),
            group_id,
        }))
    }

    pub fn conversation(&self, row: &Row<'_>) -> Result<Option<Conversation>, StoreError> {
        let Some(conversation_id) = self.id(row, 0)? else { return Ok(None) };
        Ok(Some(Conversation {
            display_name: self.text(row, 1)?.unwrap_or_default(),
            conversation_type: self.section.conversation_type(self.text(row, 2)?.as_deref()),
            peer_id: self.id(row, 3)?,
            conversation_id,
        }))
    }

    pub fn message(&self, row: &Row<'_>) -> Result<Option<Message>, StoreError> {
        let Some(message_id) = self.id(row, 0)? else { return Ok(None) };
        Ok(Some(Message {
            raw_ref: raw_ref(Table::Messages, &message_id),
            conversation_id: self.id(row, 1)?.unwrap_or_default(),
            text: text(row.get_ref(2)?, self.section.text).unwrap_or_default(),
            sender_id: self.id(row, 4)?,
            sender_name: self.text(row, 5)?,
            content_type: self.section.content_type(self.text(row, 6)?.as_deref()),
            created_ms: self.time(row, 7, "created")?,
            received_ms: self.time(row, 8, "received")?,
            retracted: flag(row.get_ref(9)?).unwrap_or(false),
            attachments: Vec::new(),
            message_id,
        }))
    }

    pub fn file(&self, row: &Row<'_>) -> Result<Option<StoredFile>, StoreError> {
        let Some(file_id) = self.id(row, 0)? else { return Ok(None) };
        let path = self.text(row, 7)?;
        let there = path.as_deref().zip(self.store.files()).is_some_and(|(path, files)| files.holds(path));
        let name = self.text(row, 1)?.unwrap_or_default();
        let entry = FileEntry {
            // Some clients keep the whole path as the name.
            file_name: name.rsplit(['/', '\\']).next().unwrap_or_default().to_owned(),
            message_id: self.id(row, 2)?,
            conversation_id: self.id(row, 3)?,
            size_bytes: count(row.get_ref(4)?),
            mime_type: self.text(row, 5)?,
            created_ms: self.time(row, 6, "created")?,
            download_ref: there.then(|| raw_ref(Table::Files, &file_id)),
            file_id,
        };
        Ok(Some(StoredFile { entry, path }))
    }

    /// The time that a row is ordered by: [`Message::at_ms`].
    pub fn moment(&self, table: Table, row: &Row<'_>) -> Result<i64, StoreError> {
        let (created, received) = match table {
            Table::Messages => (self.time(row, 7, "created")?, self.time(row, 8, "received")?),
            _ => (self.time(row, 6, "created")?, None),
        };
        Ok(created.or(received).unwrap_or(i64::MIN))
    }

    /// The unit of a time column.
    pub fn unit(&self, column: &str) -> Option<TimeUnit> {
        self.section.time.get(column).copied()
    }

    /// The zone of written times without an offset.
    pub fn zone(&self) -> Offset {
        self.store.profile().zone()
    }

    fn id(&self, row: &Row<'_>, at: usize) -> Result<Option<String>, StoreError> {
        Ok(id(row.get_ref(at)?, self.section.text))
    }

    fn text(&self, row: &Row<'_>, at: usize) -> Result<Option<String>, StoreError> {
        Ok(filled_text(row.get_ref(at)?, self.section.text))
    }

    fn time(&self, row: &Row<'_>, at: usize, column: &str) -> Result<Option<i64>, StoreError> {
        let value = row.get_ref(at)?;
        Ok(self.unit(column).and_then(|unit| unit.milliseconds(value, self.zone())))
    }
}

/// Says where a row was read without giving its id away.
fn raw_ref(table: Table, id: &str) -> String {
    let digest = Sha256::digest(id.as_bytes());
    format!("local_readonly:{}#{}", table.name(), hex(&digest[..6]))
}
