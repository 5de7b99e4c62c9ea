//! OpenCode's own store of sessions, read and never written: its database, which it may have open meanwhile, and the
//! folders of JSON files that older versions wrote.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft_protocol::{Id, MessageId, SessionId};
use serde_json::{Map, Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, SqliteConnection};

use crate::StoreError;

/// How long a question waits for OpenCode to write.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Most sessions that are listed.
const MAX_SESSIONS: i64 = 100_000;
/// Largest JSON file that is read.
const MAX_FILE: u64 = 64 * 1024 * 1024;
/// Most files of one folder that are looked at.
const MAX_FILES: usize = 100_000;

/// OpenCode's sessions. Each is given in the form of its exports, `{"info", "messages": [{"info", "parts"}]}`, with
/// `todos` beside where it has any. What is in it is foreign: nothing about it was checked.
#[derive(Debug)]
pub struct Opencode {
    database: Option<(SqliteConnection, Arc<Path>)>,
    storage: Option<PathBuf>,
}

/// One session in the list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// Its id.
    pub id: SessionId,
    /// Its record.
    pub info: Value,
}

impl Opencode {
    /// Opens what is in OpenCode's data folder `data`. Nothing when there is neither a database nor a folder of files.
    ///
    /// # Errors
    ///
    /// When the database cannot be opened.
    pub async fn open(data: &Path) -> Result<Option<Self>, StoreError> {
        let path = data.join("opencode.db");
        let database = if path.exists() {
            let options = SqliteConnectOptions::new()
                .filename(&path)
                .read_only(true)
                .busy_timeout(BUSY_TIMEOUT)
                .disable_statement_logging();
            let connection = options.connect().await.map_err(|error| StoreError::sql(&path, error))?;
            Some((connection, Arc::from(path.as_path())))
        } else {
            None
        };
        let storage = Some(data.join("storage")).filter(|storage| storage.join("session").is_dir());
        Ok((database.is_some() || storage.is_some()).then_some(Self { database, storage }))
    }

    /// Every session whose id is one, those of the database first. One that is in both places is listed once.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub async fn sessions(&mut self) -> Result<Vec<Listed>, StoreError> {
        let mut all: Vec<Listed> = Vec::new();
        if let Some((connection, path)) = &mut self.database {
            let order = format!("ORDER BY time_created LIMIT {MAX_SESSIONS}");
            let rows = rows(connection, path, "session", &order, None).await?;
            all.extend(rows.iter().filter_map(|row| {
                let id = SessionId::parse(row.get("id")?.as_str()?).ok()?;
                Some(Listed { id, info: record(row) })
            }));
        }
        if let Some(storage) = &self.storage {
            let known: std::collections::HashSet<SessionId> = all.iter().map(|listed| listed.id.clone()).collect();
            for project in entries(&storage.join("session")) {
                for file in entries(&project) {
                    let Some(info) = file_json(&file) else { continue };
                    let id = info.get("id").and_then(Value::as_str).and_then(|id| SessionId::parse(id).ok());
                    if let Some(id) = id.filter(|id| !known.contains(id)) {
                        all.push(Listed { id, info });
                    }
                }
            }
        }
        Ok(all)
    }

    /// All of one session.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub async fn session(&mut self, listed: &Listed) -> Result<Value, StoreError> {
        let id = listed.id.as_str();
        if let Some((connection, path)) = &mut self.database {
            let of_it = "WHERE session_id = ?1 ORDER BY";
            let messages = rows(connection, path, "message", &format!("{of_it} time_created, id"), Some(id)).await?;
            if !messages.is_empty() {
                let parts = rows(connection, path, "part", &format!("{of_it} message_id, id"), Some(id)).await?;
                let todos = rows(connection, path, "todo", &format!("{of_it} position"), Some(id)).await;
                let todos: Vec<Value> = todos.unwrap_or_default().iter().map(todo).collect();
                return Ok(json!({"info": listed.info, "messages": joined(&messages, &parts), "todos": todos}));
            }
        }
        let messages = self.storage.as_deref().map(|storage| from_files(storage, id)).unwrap_or_default();
        let todos =
            self.storage.as_ref().and_then(|storage| file_json(&storage.join("todo").join(format!("{id}.json"))));
        Ok(json!({"info": listed.info, "messages": messages, "todos": todos.unwrap_or_default()}))
    }

    /// Lets go of it.
    pub async fn close(self) {
        if let Some((connection, _)) = self.database {
            // Nothing was written.
            let _ = connection.close().await;
        }
    }
}

/// The rows of a table as objects, whatever columns this version of OpenCode gave it.
async fn rows(
    connection: &mut SqliteConnection,
    path: &Path,
    table: &'static str,
    which: &str,
    id: Option<&str>,
) -> Result<Vec<Value>, StoreError> {
    let failed = |error| StoreError::sql(path, error);
    let columns: Vec<String> = sqlx::query_scalar("SELECT name FROM pragma_table_info(?1)")
        .bind(table)
        .fetch_all(&mut *connection)
        .await
        .map_err(failed)?;
    // Names come from a foreign file, and go into what is run here.
    let plain = |name: &&String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let fields: Vec<String> = columns
        .iter()
        .filter(plain)
        // A value that is no text or number, or broken text, becomes nothing.
        .map(|name| format!("'{name}', CASE typeof(\"{name}\") WHEN 'blob' THEN NULL ELSE \"{name}\" END"))
        .collect();
    if fields.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!("SELECT json_object({}) FROM \"{table}\" {which}", fields.join(", "));
    let query = sqlx::query_scalar::<_, Vec<u8>>(AssertSqlSafe(sql));
    let query = match id {
        Some(id) => query.bind(id.to_owned()),
        None => query,
    };
    let found = query.fetch_all(connection).await.map_err(failed)?;
    Ok(found.iter().filter_map(|row| serde_json::from_str(&String::from_utf8_lossy(row)).ok()).collect())
}

/// A row of its table of sessions as the record that it shows to others.
fn record(row: &Value) -> Value {
    let mut info = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            info.insert(name.to_owned(), value);
        }
    };
    let plain = |column: &str| row.get(column).cloned();
    // JSON within a text; what is broken is left out.
    let within = |column: &str| row.get(column)?.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let number = |column: &str| row.get(column).and_then(Value::as_f64);
    for (name, column) in [
        ("id", "id"),
        ("slug", "slug"),
        ("projectID", "project_id"),
        ("workspaceID", "workspace_id"),
        ("parentID", "parent_id"),
        ("directory", "directory"),
        ("path", "path"),
        ("title", "title"),
        ("version", "version"),
        ("agent", "agent"),
        ("cost", "cost"),
    ] {
        put(name, plain(column));
    }
    for column in ["metadata", "revert", "permission", "model"] {
        put(column, within(column));
    }
    put("share", plain("share_url").filter(Value::is_string).map(|url| json!({ "url": url })));
    if let (Some(additions), Some(deletions), Some(files)) =
        (plain("summary_additions"), plain("summary_deletions"), plain("summary_files"))
        && additions.is_number()
    {
        let mut summary = json!({"additions": additions, "deletions": deletions, "files": files});
        if let Some(diffs) = within("summary_diffs") {
            summary["diffs"] = diffs;
        }
        put("summary", Some(summary));
    }
    let tokens = |name: &str| number(&format!("tokens_{name}")).map_or(0, whole);
    put(
        "tokens",
        Some(json!({
            "input": tokens("input"), "output": tokens("output"), "reasoning": tokens("reasoning"),
            "cache": {"read": tokens("cache_read"), "write": tokens("cache_write")}
        })),
    );
    let mut time = Map::new();
    for (name, column) in [
        ("created", "time_created"),
        ("updated", "time_updated"),
        ("compacting", "time_compacting"),
        ("archived", "time_archived"),
    ] {
        if let Some(at) = number(column) {
            time.insert(name.to_owned(), whole(at).into());
        }
    }
    put("time", Some(Value::Object(time)));
    Value::Object(info)
}

/// A count or a time as a number without a sign or a point.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` keeps to the bounds, as is wanted")]
fn whole(number: f64) -> u64 {
    number as u64
}

fn todo(row: &Value) -> Value {
    let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    json!({"content": text("content"), "status": text("status"), "priority": text("priority")})
}

/// Messages with their parts. Both keep some of their fields in columns, and the rest as JSON.
fn joined(messages: &[Value], parts: &[Value]) -> Vec<Value> {
    let mut of: std::collections::HashMap<&str, Vec<Value>> = std::collections::HashMap::new();
    for part in parts {
        let Some(message) = part.get("message_id").and_then(Value::as_str) else { continue };
        of.entry(message).or_default().extend(with_ids(part, &["id", "session_id", "message_id"]));
    }
    messages
        .iter()
        .filter_map(|message| {
            let parts = of.remove(message.get("id")?.as_str()?).unwrap_or_default();
            Some(json!({"info": with_ids(message, &["id", "session_id"]).unwrap_or_default(), "parts": parts}))
        })
        .collect()
}

fn with_ids(row: &Value, ids: &[&str]) -> Option<Value> {
    let mut data: Value = serde_json::from_str(row.get("data")?.as_str()?).ok()?;
    let fields = data.as_object_mut()?;
    for column in ids {
        let name = match *column {
            "session_id" => "sessionID",
            "message_id" => "messageID",
            name => name,
        };
        fields.insert(name.to_owned(), row.get(*column)?.clone());
    }
    Some(data)
}

/// The messages of a session in the folders of files.
fn from_files(storage: &Path, session: &str) -> Vec<Value> {
    let mut messages: Vec<Value> =
        entries(&storage.join("message").join(session)).iter().filter_map(|file| file_json(file)).collect();
    let created = |info: &Value| info.pointer("/time/created").and_then(Value::as_f64).unwrap_or_default();
    messages.sort_by(|a, b| created(a).total_cmp(&created(b)));
    messages
        .into_iter()
        .map(|info| {
            let id = info.get("id").and_then(Value::as_str).filter(|id| MessageId::parse(id).is_ok());
            let parts = id.map(|id| entries(&storage.join("part").join(id))).unwrap_or_default();
            let parts: Vec<Value> = parts.iter().filter_map(|file| file_json(file)).collect();
            json!({"info": info, "parts": parts})
        })
        .collect()
}

/// What is in a folder, sorted by name, which puts ids in the order of their times.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).take(MAX_FILES).collect();
    paths.sort();
    paths
}

fn file_json(path: &Path) -> Option<Value> {
    let meta = std::fs::metadata(path).ok()?;
    if !meta.is_file() || meta.len() > MAX_FILE || path.extension()? != "json" {
        return None;
    }
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}
