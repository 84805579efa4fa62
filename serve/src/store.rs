//! Runs and their events, in one SQLite file.
//!
//! An event has its number for ever: it is in the file before anybody sees it. The saved state of a run is written in the same
//! transaction as the events that led to it, and is on the disk before the run goes on. The file is locked as long as it is open,
//! so no second server can carry out the same runs.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, params};
use toolglot::json::Map;

use crate::setup::Keep;
use crate::wanted::Wanted;

/// Marks the file as ours ("tgsv"), in the header field that SQLite has for that.
const APPLICATION: i32 = 0x7467_7376;
/// Version of the tables.
const FORMAT: i32 = 2;
/// Maximum bytes of events that are read at once.
const BATCH: usize = 1 << 20;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    task TEXT NOT NULL,
    agent TEXT NOT NULL,
    dialect TEXT NOT NULL,
    tools TEXT,
    started INTEGER NOT NULL,
    state TEXT NOT NULL,
    outcome TEXT,
    config TEXT,
    -- Milliseconds since 1970, once it is over.
    ended INTEGER,
    -- Of its events and its state.
    bytes INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE IF NOT EXISTS events (
    run INTEGER NOT NULL REFERENCES runs (number),
    n INTEGER NOT NULL,
    message INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;
";

/// Makes a file of format 1 one of format 2. When its runs ended is unknown: they are kept as if it were now.
const UPGRADE: &str = "
ALTER TABLE runs ADD COLUMN config TEXT;
ALTER TABLE runs ADD COLUMN ended INTEGER;
ALTER TABLE runs ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET ended = CAST(unixepoch('subsec') * 1000 AS INTEGER) WHERE outcome IS NOT NULL;
UPDATE runs SET bytes = octet_length(state) +
    (SELECT coalesce(sum(octet_length(data)), 0) FROM events WHERE run = runs.number);
";

/// Why the file of runs cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file cannot be opened or created.
    #[error("{path}: {why}")]
    Open {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// Another process has it open.
    #[error("{0}: another process uses this file; give each server its own")]
    Taken(PathBuf),
    /// It is something else.
    #[error("{0}: this is not a file of runs of `toolglot serve`; it is left as it is")]
    Foreign(PathBuf),
    /// Another version of the program wrote it.
    #[error("{path}: the file has format {found}, this program reads formats 1 and 2")]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: i32,
    },
    /// Its content is not what was written.
    #[error("{path}: the file is damaged: {why}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        why: String,
    },
    /// A read or write failed.
    #[error("the file of runs: {0}")]
    Failed(String),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// A run, without its state and its events.
#[derive(Clone, Debug)]
pub struct Entry {
    pub number: i64,
    pub id: String,
    pub task: String,
    pub agent: String,
    pub dialect: String,
    /// Ids of the tools it may call; `None` for all.
    pub tools: Option<Vec<String>>,
    /// What it changes of its agent's configuration.
    pub config: Option<Map>,
    /// Milliseconds since 1970.
    pub started: i64,
    /// Its outcome as JSON, once it is over.
    pub outcome: Option<String>,
}

impl Entry {
    /// What was asked for.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            task: self.task.clone(),
            agent: Some(self.agent.clone()),
            dialect: Some(self.dialect.clone()),
            tools: self.tools.clone(),
            config: self.config.clone(),
        }
    }
}

/// An event, as the JSON text that subscribers get.
#[derive(Clone, Debug)]
pub struct Line {
    pub n: u64,
    /// Whether it adds a message to the conversation.
    pub message: bool,
    pub data: String,
}

const COLUMNS: &str = "number, id, task, agent, dialect, tools, started, outcome, config";

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let tools: Option<String> = row.get(5)?;
    let config: Option<String> = row.get(8)?;
    Ok(Entry {
        number: row.get(0)?,
        id: row.get(1)?,
        task: row.get(2)?,
        agent: row.get(3)?,
        dialect: row.get(4)?,
        tools: tools.and_then(|text| serde_json::from_str(&text).ok()),
        started: row.get(6)?,
        outcome: row.get(7)?,
        config: config.and_then(|text| serde_json::from_str(&text).ok()),
    })
}

/// The file. Calls block for about as long as the disk takes to confirm a write.
pub struct Store {
    db: Mutex<Connection>,
}

impl Store {
    /// Opens or creates the file; without one, everything is in memory.
    pub fn open(path: Option<&Path>) -> Result<Self, StoreError> {
        let db = match path {
            Some(path) => file(path)?,
            None => Connection::open_in_memory()?,
        };
        db.execute_batch(TABLES)?;
        Ok(Self { db: Mutex::new(db) })
    }

    fn db(&self) -> MutexGuard<'_, Connection> {
        // A transaction that was not committed was rolled back, so the connection is usable even after a panic.
        self.db.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a run, whose number in `entry` does not matter, and returns its number.
    pub fn create(&self, entry: &Entry, state: &str) -> Result<i64, StoreError> {
        let tools = entry.tools.as_ref();
        let tools = tools.map(|tools| serde_json::to_string(tools).unwrap_or_default());
        let db = self.db();
        durable(&db, true)?;
        let config = entry.config.as_ref();
        let config = config.map(|config| serde_json::to_string(config).unwrap_or_default());
        db.execute(
            "INSERT INTO runs (id, task, agent, dialect, tools, config, started, state, bytes) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, octet_length(?8))",
            params![
                entry.id,
                entry.task,
                entry.agent,
                entry.dialect,
                tools,
                config,
                entry.started,
                state
            ],
        )?;
        Ok(db.last_insert_rowid())
    }

    /// Appends events of a run and, if given, replaces its state and its outcome.
    pub fn append(
        &self,
        run: i64,
        lines: &[Line],
        state: Option<&str>,
        outcome: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut db = self.db();
        // Output that is lost with the power is written again; a started call must not be lost.
        durable(&db, state.is_some() || outcome.is_some())?;
        let step = db.transaction()?;
        {
            let insert = "INSERT INTO events (run, n, message, data) VALUES (?, ?, ?, ?)";
            let mut insert = step.prepare_cached(insert)?;
            for line in lines {
                insert.execute(params![run, number(line.n), line.message, line.data])?;
            }
        }
        let size: usize = lines.iter().map(|line| line.data.len()).sum();
        step.execute(
            "UPDATE runs SET bytes = bytes + ? WHERE number = ?",
            params![number(size as u64), run],
        )?;
        if let Some(state) = state {
            step.execute(
                "UPDATE runs SET bytes = bytes - octet_length(state) + octet_length(?1), state = ?1 WHERE number = ?2",
                params![state, run],
            )?;
        }
        if let Some(outcome) = outcome {
            step.execute(
                "UPDATE runs SET outcome = ?, ended = ? WHERE number = ?",
                params![outcome, now(), run],
            )?;
        }
        Ok(step.commit()?)
    }

    /// Returns the run with this id.
    pub fn get(&self, id: &str) -> Result<Option<Entry>, StoreError> {
        let db = self.db();
        let mut found = db.prepare_cached(&format!("SELECT {COLUMNS} FROM runs WHERE id = ?"))?;
        Ok(found.query_row([id], entry).optional()?)
    }

    /// Returns the latest runs that began before this one, newest first.
    pub fn list(&self, before: Option<&Entry>, most: usize) -> Result<Vec<Entry>, StoreError> {
        let before = before.map_or(i64::MAX, |entry| entry.number);
        let db = self.db();
        let text =
            format!("SELECT {COLUMNS} FROM runs WHERE number < ? ORDER BY number DESC LIMIT ?");
        let mut list = db.prepare_cached(&text)?;
        let rows = list.query_map(params![before, number(most as u64)], entry)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the runs without an outcome, with their states, oldest first.
    pub fn unfinished(&self) -> Result<Vec<(Entry, String)>, StoreError> {
        let db = self.db();
        let text =
            format!("SELECT {COLUMNS}, state FROM runs WHERE outcome IS NULL ORDER BY number");
        let mut list = db.prepare(&text)?;
        let rows = list.query_map([], |row| Ok((entry(row)?, row.get(9)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the number of a run's last event, 0 if it has none.
    pub fn last(&self, run: i64) -> Result<u64, StoreError> {
        let db = self.db();
        let mut last = db.prepare_cached("SELECT max(n) FROM events WHERE run = ?")?;
        let last: Option<i64> = last.query_row([run], |row| row.get(0))?;
        Ok(last.and_then(|n| n.try_into().ok()).unwrap_or(0))
    }

    /// Returns the next events after number `after` up to `last`, as many as fit in a batch, but at least one if there is one.
    pub fn events(
        &self,
        run: i64,
        after: u64,
        last: u64,
    ) -> Result<Vec<(u64, String)>, StoreError> {
        let db = self.db();
        let text =
            "SELECT n, data FROM events WHERE run = ? AND n > ? AND n <= ? ORDER BY n LIMIT 512";
        let mut next = db.prepare_cached(text)?;
        let mut rows = next.query(params![run, number(after), number(last)])?;
        let (mut list, mut bytes) = (vec![], 0);
        while let Some(row) = rows.next()? {
            let (n, data): (i64, String) = (row.get(0)?, row.get(1)?);
            bytes += data.len();
            list.push((n.try_into().unwrap_or(0), data));
            if bytes > BATCH {
                break;
            }
        }
        Ok(list)
    }

    /// Returns the events that added messages.
    pub fn messages(&self, run: i64) -> Result<Vec<String>, StoreError> {
        let db = self.db();
        let text = "SELECT data FROM events WHERE run = ? AND message ORDER BY n";
        let mut list = db.prepare_cached(text)?;
        let rows = list.query_map([run], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Deletes runs and their events, and gives their space back.
    pub fn delete(&self, runs: &[i64]) -> Result<(), StoreError> {
        if runs.is_empty() {
            return Ok(());
        }
        let mut db = self.db();
        durable(&db, true)?;
        let step = db.transaction()?;
        for run in runs {
            step.execute("DELETE FROM events WHERE run = ?", [run])?;
            step.execute("DELETE FROM runs WHERE number = ?", [run])?;
        }
        step.commit()?;
        // The content is in the log of writes until that is emptied, too.
        every(&db, "PRAGMA incremental_vacuum")?;
        every(&db, "PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// Deletes the runs that are over and that `keep` does not keep, oldest first. The last one may be of any size.
    pub fn prune(&self, keep: &Keep, now: i64) -> Result<(), StoreError> {
        let since =
            |time: Duration| now.saturating_sub(time.as_millis().try_into().unwrap_or(i64::MAX));
        let oldest = keep.time.map_or(i64::MIN, since);
        let most = keep.runs.map_or(i64::MAX, number);
        let bytes = keep.bytes.map_or(i64::MAX, number);
        let runs = {
            let db = self.db();
            let text = "SELECT number FROM (SELECT number, outcome, ended,
                    count(*) OVER newer AS place, sum(bytes) OVER newer AS size,
                    count(outcome) OVER newer AS last FROM runs
                    WINDOW newer AS (ORDER BY outcome IS NULL DESC, ended DESC, number DESC ROWS UNBOUNDED PRECEDING))
                WHERE outcome IS NOT NULL AND (ended < ? OR place > ? OR size > ? AND last > 1)";
            let mut list = db.prepare_cached(text)?;
            let rows = list.query_map(params![oldest, most, bytes], |row| row.get(0))?;
            rows.collect::<Result<Vec<i64>, _>>()?
        };
        self.delete(&runs)
    }
}

/// Runs a statement to its end, which some need to have their effect.
fn every(db: &Connection, text: &str) -> Result<(), StoreError> {
    let mut statement = db.prepare(text)?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// SQLite's integers are signed.
fn number(n: u64) -> i64 {
    n.try_into().unwrap_or(i64::MAX)
}

/// Sets whether the next transaction is on the disk when it is committed. A process that dies loses nothing either way.
fn durable(db: &Connection, yes: bool) -> Result<(), StoreError> {
    db.pragma_update(None, "synchronous", if yes { "FULL" } else { "NORMAL" })?;
    Ok(())
}

fn file(path: &Path) -> Result<Connection, StoreError> {
    let open = |why: String| StoreError::Open {
        path: path.to_owned(),
        why,
    };
    let new = !ours(path)?;
    if new {
        // Conversations are nobody else's business.
        let mut options = File::options();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options
            .open(path)
            .map_err(|error| open(error.to_string()))?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let told = |error: rusqlite::Error| match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Taken(path.to_owned())
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => StoreError::Damaged {
            path: path.to_owned(),
            why: error.to_string(),
        },
        _ => open(error.to_string()),
    };
    let db = Connection::open_with_flags(path, flags).map_err(told)?;
    prepared(&db, new).map_err(told)?;
    let check = |row: &Row<'_>| row.get::<_, String>(0);
    let found = db.query_row("PRAGMA quick_check(1)", [], check);
    match found.map_err(told)?.as_str() {
        "ok" => {
            upgraded(&db).map_err(told)?;
            Ok(db)
        }
        why => Err(StoreError::Damaged {
            path: path.to_owned(),
            why: why.to_owned(),
        }),
    }
}

fn prepared(db: &Connection, new: bool) -> rusqlite::Result<()> {
    db.busy_timeout(std::time::Duration::ZERO)?;
    db.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    // What is deleted is overwritten, and its space given back.
    db.pragma_update(None, "secure_delete", "ON")?;
    db.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    if new {
        let head =
            format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT};");
        db.execute_batch(&format!("BEGIN EXCLUSIVE; {head} {TABLES} COMMIT;"))?;
    }
    db.pragma_update(None, "journal_mode", "WAL")?;
    // Takes the lock.
    db.execute_batch("BEGIN IMMEDIATE; COMMIT;")
}

/// Brings a file of format 1 to format 2.
fn upgraded(db: &Connection) -> rusqlite::Result<()> {
    let found: i32 = db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if found == FORMAT {
        return Ok(());
    }
    let head = format!("PRAGMA user_version = {FORMAT};");
    db.execute_batch(&format!("BEGIN IMMEDIATE; {UPGRADE} {head} COMMIT;"))?;
    // Files of format 1 cannot give space back before this.
    db.execute_batch("VACUUM")
}

/// Reads the header of an existing file, before SQLite may change anything. `false` if the file is missing or empty.
fn ours(path: &Path) -> Result<bool, StoreError> {
    let open = |error: std::io::Error| StoreError::Open {
        path: path.to_owned(),
        why: error.to_string(),
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(open(error)),
    };
    let mut head = vec![];
    file.take(100).read_to_end(&mut head).map_err(open)?;
    if head.is_empty() {
        return Ok(false);
    }
    let field = |at: usize| Some(i32::from_be_bytes(head.get(at..at + 4)?.try_into().ok()?));
    if !head.starts_with(b"SQLite format 3\0") || field(68) != Some(APPLICATION) {
        return Err(StoreError::Foreign(path.to_owned()));
    }
    match field(60) {
        Some(1 | FORMAT) => Ok(true),
        found => Err(StoreError::Format {
            path: path.to_owned(),
            found: found.unwrap_or(0),
        }),
    }
}

/// Milliseconds since 1970.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let time = since.map_or(0, |time| time.as_millis());
    i64::try_from(time).unwrap_or(i64::MAX)
}
