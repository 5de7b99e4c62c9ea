//! One script: a file with what it imports, and calls into it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use haft_permission::{Access, Grant};
use haft_protocol::SessionId;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::effects::WHILE_LOADED;
use crate::engine::{Incoming, MAX_UNREAD, Running};
use crate::error::{Refusal, ScriptError};
use crate::wire::CANCEL;

/// How long a script may do nothing that haft hears of.
const MAX_SILENCE: Duration = Duration::from_secs(600);

/// What a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// How long it may take. What it waits for that haft does for it is not counted: that has limits of its own, and a
    /// person may take their time for an answer.
    pub time: Duration,
    /// How much it may have done for it.
    pub effects: u32,
}

impl Allowance {
    /// All that a script may take at all.
    pub(crate) const ALL: Self = Self { time: Duration::MAX, effects: u32::MAX };
}

/// What scripts may import. Asked on a thread that may block.
pub trait Sources: Send + Sync {
    /// The file, or the module of ours, that `name` means in the file `from`, which is empty for the first one.
    ///
    /// # Errors
    ///
    /// A text that says what was looked for, and what can be done.
    fn resolve(&self, from: &str, name: &str) -> Result<String, String>;
    /// What a file that was resolved holds.
    ///
    /// # Errors
    ///
    /// A text that names the file.
    fn source(&self, path: &str) -> Result<Source, String>;
}

/// A file of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// `module`, `commonjs`, `json` or `text`.
    pub kind: &'static str,
    /// What it holds.
    pub text: String,
}

pub(crate) fn answer_source(sources: Option<&dyn Sources>, method: &str, params: &Value) -> Result<Value, String> {
    let sources = sources.ok_or("the script was closed")?;
    let text = |name: &str| params.get(name).and_then(Value::as_str).unwrap_or_default();
    match method {
        "module.resolve" => sources.resolve(text("from"), text("name")).map(Value::from),
        "module.source" => {
            sources.source(text("path")).map(|Source { kind, text }| json!({ "kind": kind, "text": text }))
        }
        other => Err(format!("there is no {other}")),
    }
}

/// What haft does for a script while a call runs: each effect under the leave of that call.
pub trait World: Send + Sync {
    /// Does `effect`. Dropping the future stops it.
    fn perform<'a>(&'a self, effect: &'a str, params: Value) -> BoxFuture<'a, Result<Value, Refusal>>;
    /// Hears what a script says without waiting for an answer: `log`, `metadata`.
    fn told(&self, what: &str, params: Value);
    /// Waits for leave. Dropping the future takes the question back.
    fn leave(&self, access: Access) -> BoxFuture<'_, Result<Grant, Refusal>> {
        Box::pin(async move {
            Err(Refusal::coded("EACCES", format!("{} {WHILE_LOADED}; do it in a call", access.permission)))
        })
    }
    /// The session whose call or hook it is done for; `None` where there is none.
    fn session(&self) -> Option<&SessionId> {
        None
    }
    /// Whether the turn of that session waits until it is done.
    fn holds_turn(&self) -> bool {
        false
    }
}

/// Something that a module or an object has.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Name {
    /// Its name.
    pub name: String,
    /// `function`, `object`, `string`, …
    pub kind: String,
}

/// An object that the script keeps for haft: the exports of a file, or what a function gave back.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Loaded {
    /// By which number it is meant in later calls.
    pub handle: u64,
    /// What it is: `object`, `function`, …
    pub kind: String,
    /// What it has of its own.
    pub names: Vec<Name>,
}

/// What a function gave back.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Called {
    /// Its value, as JSON.
    #[serde(default)]
    pub value: Value,
    /// The arguments, as it left them: hooks change theirs in place.
    #[serde(default)]
    pub args: Vec<Value>,
}

/// A script. It ends with this.
///
/// In arguments, some objects stand for what JSON cannot say: `{"$haft": "shell"}` for the function `$`,
/// `{"$haft": "remote", "name": N}` for an object of which every function is the effect `remote` with `{name, path, args}`,
/// `{"$haft": "function", "name": N}` for one such function, `{"$haft": "url", "value": V}` for a `URL`.
pub struct Script {
    process: Arc<Running>,
    realm: u32,
    last: AtomicU64,
}

impl Drop for Script {
    fn drop(&mut self) {
        self.process.close(self.realm);
    }
}

impl Script {
    pub(crate) fn new(process: Arc<Running>, realm: u32) -> Self {
        Self { process, realm, last: AtomicU64::new(0) }
    }

    /// Whether its process still runs. If not, another script has to be made.
    pub fn is_alive(&self) -> bool {
        self.process.is_alive()
    }

    /// Has put back what its host changed of what is protected. Without a host there is nothing.
    pub(crate) async fn settle(&self) {
        self.process.settle().await;
    }

    /// Loads `file`, an absolute path, and what it imports.
    ///
    /// # Errors
    ///
    /// [`ScriptError`].
    pub async fn load(&self, file: &Path, world: &dyn World) -> Result<Loaded, ScriptError> {
        self.load_within(file, world, Allowance::ALL).await
    }

    pub(crate) async fn load_within(
        &self,
        file: &Path,
        world: &dyn World,
        within: Allowance,
    ) -> Result<Loaded, ScriptError> {
        understood(self.run_within("load", json!({ "file": file }), world, None, within).await?)
    }

    /// Loads `text`, a module of ours that imports `"PLUGIN"`, which is `file`: for hosts, which are given it so.
    pub(crate) async fn begin_within(
        &self,
        file: &Path,
        text: &str,
        world: &dyn World,
        within: Allowance,
    ) -> Result<Loaded, ScriptError> {
        understood(self.run_within("begin", json!({ "file": file, "text": text }), world, None, within).await?)
    }

    /// Calls the function at `path` of the object `handle`.
    ///
    /// # Errors
    ///
    /// [`ScriptError`].
    pub async fn call(
        &self,
        handle: u64,
        path: &[&str],
        args: Vec<Value>,
        world: &dyn World,
    ) -> Result<Called, ScriptError> {
        self.call_within(handle, path, args, world, Allowance::ALL).await
    }

    /// The same as far as `within` allows.
    ///
    /// # Errors
    ///
    /// [`ScriptError`].
    pub async fn call_within(
        &self,
        handle: u64,
        path: &[&str],
        args: Vec<Value>,
        world: &dyn World,
        within: Allowance,
    ) -> Result<Called, ScriptError> {
        let params = json!({ "handle": handle, "path": path, "args": args });
        understood(self.run_within("call", params, world, None, within).await?)
    }

    /// The same, and keeps what it gives back.
    ///
    /// # Errors
    ///
    /// [`ScriptError`].
    pub async fn call_keeping(
        &self,
        handle: u64,
        path: &[&str],
        args: Vec<Value>,
        world: &dyn World,
    ) -> Result<Loaded, ScriptError> {
        let params = json!({ "handle": handle, "path": path, "args": args, "keep": true });
        understood(self.run("call", params, world, None).await?)
    }

    /// The value at `path` of the object `handle`, as JSON.
    ///
    /// # Errors
    ///
    /// [`ScriptError`].
    pub async fn get(&self, handle: u64, path: &[&str], world: &dyn World) -> Result<Value, ScriptError> {
        self.run("get", json!({ "handle": handle, "path": path }), world, None).await
    }

    /// Runs a method of the engine, doing meanwhile what the script asks for. Where `cancel` fires the script is told, and
    /// goes on to its end. Dropping the future stops it.
    ///
    /// # Errors
    ///
    /// [`ScriptError`].
    pub async fn run(
        &self,
        method: &str,
        params: Value,
        world: &dyn World,
        cancel: Option<&CancellationToken>,
    ) -> Result<Value, ScriptError> {
        self.run_within(method, params, world, cancel, Allowance::ALL).await
    }

    async fn run_within(
        &self,
        method: &str,
        params: Value,
        world: &dyn World,
        cancel: Option<&CancellationToken>,
        within: Allowance,
    ) -> Result<Value, ScriptError> {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let (to, mut incoming) = mpsc::channel(MAX_UNREAD);
        if !self.process.listen(self.realm, id, to) {
            return Err(self.process.ended());
        }
        let mut open = Open { script: self, id, answered: false };
        self.process.send(self.realm, &json!({ "id": id, "method": method, "params": params }));
        let mut effects = FuturesUnordered::new();
        let cancelled = async {
            match cancel {
                Some(cancel) => cancel.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(cancelled);
        let mut told = false;
        let silence = tokio::time::sleep(MAX_SILENCE);
        tokio::pin!(silence);
        let (mut left, mut wanted, mut done) = (within.time, 0, None);
        let mut since = tokio::time::Instant::now();
        loop {
            // The clock stands still while something is done for it.
            let due = since.checked_add(left).filter(|_| effects.is_empty());
            let overdue = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                message = incoming.recv() => match message {
                    Some(Incoming::Done(answer)) => {
                        open.answered = true;
                        let answer = answer.map_err(ScriptError::from);
                        if effects.is_empty() || within == Allowance::ALL {
                            return answer;
                        }
                        // A hook that waits for nothing has what it began done all the same.
                        done = Some(answer);
                    }
                    Some(Incoming::Wants { id, method, params }) => {
                        if effects.is_empty() {
                            left = left.saturating_sub(since.elapsed());
                        }
                        wanted += 1;
                        if wanted > within.effects {
                            return Err(ScriptError::TooMuch { effects: within.effects });
                        }
                        effects.push(async move { (id, world.perform(&method, params).await) });
                    }
                    Some(Incoming::Says { method, params }) => world.told(&method, params),
                    None => return Err(self.process.ended()),
                },
                Some((effect, outcome)) = effects.next(), if !effects.is_empty() => {
                    let answer = match outcome {
                        Ok(result) => json!({ "id": effect, "result": result }),
                        Err(Refusal { message, code }) => {
                            json!({ "id": effect, "error": { "message": message, "code": code } })
                        }
                    };
                    self.process.send(self.realm, &answer);
                    if effects.is_empty() {
                        if let Some(answer) = done.take() {
                            return answer;
                        }
                        since = tokio::time::Instant::now();
                    }
                }
                () = overdue => return Err(ScriptError::TooLong { time: within.time }),
                () = &mut cancelled, if !told => {
                    told = true;
                    self.process.send(self.realm, &json!({ "id": id, "method": CANCEL }));
                }
                () = &mut silence, if effects.is_empty() => {
                    return Err(ScriptError::TooLong { time: MAX_SILENCE });
                }
            }
            silence.as_mut().reset(tokio::time::Instant::now() + MAX_SILENCE);
        }
    }
}

/// A call that somebody waits for.
struct Open<'a> {
    script: &'a Script,
    id: u64,
    answered: bool,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.script.process.let_go(self.script.realm, self.id, !self.answered);
    }
}

fn understood<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ScriptError> {
    serde_json::from_value(value).map_err(|_| ScriptError::Thrown {
        name: "Error".to_owned(),
        message: "the script's answer is not understood: it changed how objects become JSON".to_owned(),
        places: Vec::new(),
    })
}
