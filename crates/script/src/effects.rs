//! What a script asks of the world, done for the call that it runs for: each effect with the leave that a tool of ours
//! would need for the same.

mod commands;
mod files;
mod find;
mod web;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use haft_net::Web;
use haft_permission::{Access, Grant};
use haft_project::{Command, Files, Processes, Target};
use haft_protocol::{Object, SessionId};
use haft_tool::{Call, ToolError, foreign};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::Refusal;
use crate::script::World;
use crate::tools::MAX_METADATA;

/// Most bytes that a script reads or writes at once.
pub const MAX_FILE: u64 = 16 * 1024 * 1024;
/// What is said of an effect that only a call can have.
pub(crate) const WHILE_LOADED: &str = "is not there while a file is loaded";
/// Longest line of a script's log that is kept, in bytes.
const MAX_LOG: usize = 16 * 1024;

/// How leave is asked for what several tools do alike. `cli` has the ways of the built-in tools.
pub trait Ways: Send + Sync {
    /// Finds out where `path` leads, with leave for folders outside the project.
    fn reach<'a>(&'a self, call: &'a Call, path: &'a str) -> BoxFuture<'a, Result<Target, ToolError>>;
    /// Leave to run `command` in the folder `dir`, and what to spawn for it.
    fn run<'a>(
        &'a self,
        call: &'a Call,
        command: &'a str,
        dir: &'a str,
    ) -> BoxFuture<'a, Result<(Grant, Command), ToolError>>;
}

/// The doors that effects go through. Cheap to clone.
#[derive(Clone)]
pub struct Doors {
    /// The project's files.
    pub files: Files,
    /// What starts processes.
    pub processes: Processes,
    /// What fetches.
    pub web: Web,
    /// How leave is asked for.
    pub ways: Arc<dyn Ways>,
}

/// The world of one call.
pub struct CallWorld<'a> {
    doors: &'a Doors,
    call: &'a Call,
    /// The permission that the tool asks under, for its own questions.
    permission: &'a str,
    /// The first refusal of leave: where it ends the turn, it does so whatever the script makes of it.
    denied: Mutex<Option<ToolError>>,
}

impl<'a> CallWorld<'a> {
    /// The world for `call` of a tool that asks under `permission`.
    pub fn new(doors: &'a Doors, call: &'a Call, permission: &'a str) -> Self {
        Self { doors, call, permission, denied: Mutex::default() }
    }

    /// What was refused on the way, if it ends the turn.
    pub fn denied(&self) -> Option<ToolError> {
        self.denied.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// `error` for the script; a refusal is remembered.
    fn refuse(&self, error: ToolError) -> Refusal {
        let message = error.to_string();
        let code = match &error {
            ToolError::Denied(denied) => {
                if !denied.may_go_on() {
                    self.denied.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
                Some("EACCES".to_owned())
            }
            ToolError::Cancelled => Some("ABORT_ERR".to_owned()),
            ToolError::BadInput(_) | ToolError::Failed(_) => None,
        };
        Refusal { message, code }
    }

    async fn reach(&self, path: &str) -> Result<Target, Refusal> {
        self.doors.ways.reach(self.call, path).await.map_err(|error| self.refuse(error))
    }

    async fn granted(&self, access: Access) -> Result<Grant, Refusal> {
        self.call.ask(access).await.map_err(|denied| self.refuse(denied.into()))
    }

    /// A question of the script's own.
    async fn ask(&self, params: Value) -> Result<Value, Refusal> {
        #[derive(serde::Deserialize)]
        struct Wish {
            permission: Option<String>,
            #[serde(default)]
            patterns: Vec<String>,
            #[serde(default)]
            always: Vec<String>,
            #[serde(default)]
            metadata: Object,
        }
        let wish: Wish = read(params)?;
        let permission = wish.permission.unwrap_or_else(|| self.permission.to_owned());
        let patterns = if wish.patterns.is_empty() { vec!["*".to_owned()] } else { wish.patterns };
        let access = Access { patterns, always: wish.always, metadata: wish.metadata, ..Access::new(&permission, "") };
        self.granted(access).await.map(|_| Value::Null)
    }

    /// A call of another tool, as the model would make it.
    async fn tool(&self, params: Value) -> Result<Value, Refusal> {
        #[derive(serde::Deserialize)]
        struct Wanted {
            name: String,
            #[serde(default)]
            input: Value,
        }
        let Wanted { name, input } = read(params)?;
        let output = self.call.run_tool(name, input).await.map_err(|error| self.refuse(error))?;
        let structured = output.metadata.get("structuredContent").cloned();
        Ok(structured.unwrap_or_else(|| match (output.text.is_empty(), output.attachments.len()) {
            (false, _) => output.text.into(),
            (true, 0) => Value::Null,
            (true, 1) => "[1 file attached to the result]".into(),
            (true, count) => format!("[{count} files attached to the result]").into(),
        }))
    }
}

impl World for CallWorld<'_> {
    fn perform<'a>(&'a self, effect: &'a str, params: Value) -> BoxFuture<'a, Result<Value, Refusal>> {
        Box::pin(async move {
            match effect {
                "fs.read" => self.read_file(read(params)?).await,
                "fs.write" => self.write_file(read(params)?).await,
                "fs.stat" => self.stat(read(params)?).await,
                "fs.list" => self.list(read(params)?).await,
                "fs.mkdir" => self.make_folder(read(params)?).await,
                "fs.remove" => self.remove(read(params)?).await,
                "fs.rename" => self.rename(read(params)?).await,
                "fs.copy" => self.copy(read(params)?).await,
                "fs.truncate" => self.truncate(read(params)?).await,
                "fs.real" => self.real(read(params)?).await,
                "find.text" => self.find_text(read(params)?).await,
                "find.files" => self.find_files(read(params)?).await,
                "run" => self.run(read(params)?).await,
                "fetch" => self.fetch(read(params)?).await,
                "ask" => self.ask(params).await,
                "tool" => self.tool(params).await,
                other => Err(Refusal::coded("ENOSYS", format!("{other} is not there for scripts"))),
            }
        })
    }

    fn told(&self, what: &str, params: Value) {
        match what {
            "metadata" => {
                let title = params.get("title").and_then(Value::as_str).unwrap_or_default();
                let metadata = params.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
                self.call.progress(title, foreign(metadata, MAX_METADATA));
            }
            "log" => {
                let text: String =
                    params.get("text").and_then(Value::as_str).unwrap_or_default().chars().take(MAX_LOG).collect();
                tracing::info!(tool = self.permission, text, "a script says");
            }
            _ => {}
        }
    }

    fn leave(&self, access: Access) -> BoxFuture<'_, Result<Grant, Refusal>> {
        Box::pin(self.granted(access))
    }

    fn session(&self) -> Option<&SessionId> {
        Some(&self.call.session)
    }

    fn holds_turn(&self) -> bool {
        true
    }
}

/// What a script is given when nothing runs that leave could be asked for: while a file is loaded to see what it has.
pub struct NoWorld;

impl World for NoWorld {
    fn perform<'a>(&'a self, effect: &'a str, _: Value) -> BoxFuture<'a, Result<Value, Refusal>> {
        let message = format!("{effect} {WHILE_LOADED}; do it in a call");
        Box::pin(async { Err(Refusal::coded("EACCES", message)) })
    }

    fn told(&self, what: &str, params: Value) {
        tracing::debug!(what, %params, "a script says");
    }
}

/// Whether `effect` may change files.
pub(crate) fn changes(effect: &str) -> bool {
    let changing = ["fs.write", "fs.mkdir", "fs.remove", "fs.rename", "fs.copy", "fs.truncate", "run"];
    changing.contains(&effect)
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Refusal> {
    serde_json::from_value(params).map_err(|error| Refusal::new(format!("bad arguments: {error}")))
}

/// Bytes of a script, as text or as base64.
#[derive(Debug, Default, serde::Deserialize)]
struct Given {
    text: Option<String>,
    base64: Option<String>,
}

impl Given {
    fn bytes(self) -> Result<Vec<u8>, Refusal> {
        match (self.text, self.base64) {
            (Some(text), _) => Ok(text.into_bytes()),
            (None, Some(text)) => unpack(&text),
            (None, None) => Ok(Vec::new()),
        }
    }
}

fn unpack(text: &str) -> Result<Vec<u8>, Refusal> {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .map_err(|error| Refusal::new(format!("bad arguments: {error}")))
}

fn pack(bytes: &[u8]) -> Value {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes).into()
}

/// Where things are, in a form that all operations on files share.
#[derive(Debug, serde::Deserialize)]
struct At {
    path: PathBuf,
}

impl At {
    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

fn nothing() -> Value {
    json!(null)
}
