//! What plug-ins are given of this program: a world behind the gate, and what they call `client`.
//!
//! `client` has the forms of OpenCode's library: `{ data }`, or `{ error }` for what is not found. Everything is bounded;
//! what needs leave asks for it like the rest of what the plug-in does.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use haft_config::{Secrets, Trust};
use haft_project::Place;
use haft_protocol::{Id, SessionId};
use haft_script::plugin::{Behind, Client};
use haft_script::{Refusal, World};
use haft_store::{Filter, Journal, StoreError};
use serde_json::{Map, Value, json};

use crate::folders::Folders;
use crate::keys::{self, keys};
use crate::{render, signed_in};

/// Most sessions or messages of one answer.
const MAX_LISTED: usize = 100;
/// Largest answer, in bytes of JSON: older messages are left out before that.
const MAX_ANSWER: usize = 4 * 1024 * 1024;
/// Longest line of a plug-in's log, in characters.
const MAX_LOG: usize = 16 * 1024;
/// Longest toast, in characters, and most of them in one run.
const MAX_TOAST: usize = 500;
const MAX_TOASTS: u32 = 50;

/// What there is, for people and plug-ins that look for something else.
const THERE: &str = "app.log, auth.set, config.get, file.read, find.files, find.text, path.get, project.current, session.children, \
                     session.get, session.list, session.messages, session.todo, tui.showToast";

/// What all plug-ins of a folder are given.
pub(crate) struct Backstage {
    /// Their world. It is opened with the gate.
    pub stage: Arc<Behind>,
    folders: Folders,
    place: Place,
    trusted: bool,
    journal: Mutex<Option<Journal>>,
    toasts: AtomicU32,
}

impl Backstage {
    /// For the plug-ins of `place`, where nothing can be done yet.
    pub(crate) fn new(folders: &Folders, place: &Place, trusted: bool) -> Self {
        let (folders, place) = (folders.clone(), place.clone());
        Self { stage: Arc::default(), folders, place, trusted, journal: Mutex::default(), toasts: AtomicU32::new(0) }
    }

    /// From now on sessions are found in `journal`.
    pub(crate) fn reads(&self, journal: Journal) {
        *self.journal.lock().unwrap_or_else(PoisonError::into_inner) = Some(journal);
    }

    fn journal(&self) -> Result<Journal, Failed> {
        let journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner).clone();
        journal.ok_or_else(|| Failed::Missing("there are no sessions here".to_owned()))
    }

    /// The session that is named, if it is one of this project.
    async fn session(&self, args: &Args) -> Result<(Journal, haft_protocol::Session), Failed> {
        let journal = self.journal()?;
        let id = args.text("id").or_else(|| args.text("sessionID")).unwrap_or_default();
        let missing = || Failed::Missing(format!("there is no session {id:?} in this project"));
        let id = SessionId::parse(&id).map_err(|_| missing())?;
        let record = journal.session(&id).await?.filter(|record| record.project_id == self.place.project_id);
        Ok((journal, record.ok_or_else(missing)?))
    }

    fn settings(&self) -> Result<Value, Failed> {
        let sources = crate::wire::sources(&self.folders, &self.place);
        let trust = if self.trusted { Trust::Given } else { Trust::Withheld };
        let shown = haft_config::show(&sources, Secrets::Hidden, trust);
        shown.map(|shown| shown.config).map_err(|error| Failed::Refused(error.to_string()))
    }

    async fn done(&self, plugin: &str, path: &str, args: &Args, world: &dyn World) -> Result<Value, Failed> {
        match path {
            "app.log" => {
                let text = |key: &str| args.text(key).unwrap_or_default().chars().take(MAX_LOG).collect::<String>();
                let (service, message) = (text("service"), text("message"));
                let extra: String = args.get("extra").map(Value::to_string).unwrap_or_default();
                let extra: String = extra.chars().take(MAX_LOG).collect();
                match text("level").as_str() {
                    "error" | "warn" => tracing::warn!(plugin, service, extra, "{message}"),
                    "debug" => tracing::debug!(plugin, service, extra, "{message}"),
                    _ => tracing::info!(plugin, service, extra, "{message}"),
                }
                Ok(true.into())
            }
            "auth.set" => {
                let vendor = args.text("id").unwrap_or_default();
                let own = keys().by_plugin(&vendor, plugin).is_some();
                let body = args.body().filter(|_| own).and_then(|body| signed_in::entry(body, plugin));
                let refused =
                    || Failed::Refused(format!("client.auth.set: {vendor} was not signed in to with {plugin}"));
                let (entry, vault) = (body.ok_or_else(refused)?, keys::vault(&self.folders));
                let put = vault.and_then(|vault| Ok(vault.put(&vendor, &entry)?));
                put.map(|_| true.into()).map_err(|error| Failed::Refused(format!("{error:#}")))
            }
            "config.get" => self.settings(),
            "path.get" => Ok(json!({
                "home": self.folders.home, "state": self.folders.state, "config": self.folders.config_home.join("haft"),
                "worktree": self.place.worktree.as_ref().unwrap_or(&self.place.directory),
                "directory": self.place.directory,
            })),
            "project.current" => Ok(json!({
                "id": self.place.project_id, "vcs": self.place.worktree.as_ref().map(|_| "git"), "time": { "created": 0 },
                "worktree": self.place.worktree.as_ref().unwrap_or(&self.place.directory),
            })),
            "session.list" => {
                let directory = Some(self.place.directory.display().to_string());
                let filter = Filter { directory, limit: MAX_LISTED, ..Filter::default() };
                Ok(json!(self.journal()?.sessions(&filter).await?))
            }
            "session.get" => Ok(json!(self.session(args).await?.1)),
            "session.children" => {
                let (journal, record) = self.session(args).await?;
                Ok(json!(journal.children(&record.id, MAX_LISTED).await?))
            }
            "session.messages" => {
                let (journal, record) = self.session(args).await?;
                let limit = args.get("limit").and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok());
                let limit = limit.unwrap_or(MAX_LISTED).min(MAX_LISTED);
                Ok(newest(
                    journal.messages(&record.id, None, limit).await?.iter().map(|turned| json!(turned)).collect(),
                ))
            }
            "session.todo" => {
                let (journal, record) = self.session(args).await?;
                Ok(json!(journal.todos(&record.id).await?))
            }
            "file.read" => {
                let read = world.perform("fs.read", json!({ "path": self.absolute(args), "as": "text" })).await?;
                Ok(json!({ "type": "text", "content": read.get("text") }))
            }
            "find.text" => Ok(world.perform("find.text", json!({ "pattern": args.text("pattern") })).await?),
            "find.files" => {
                let query = json!({ "query": args.text("query"), "limit": args.get("limit").and_then(Value::as_u64) });
                Ok(world.perform("find.files", query).await?)
            }
            "tui.showToast" => {
                let text = |key: &str| args.text(key).unwrap_or_default();
                let shown: String = [text("title"), text("message")].join(" ").trim().chars().take(MAX_TOAST).collect();
                if self.toasts.fetch_add(1, Ordering::Relaxed) < MAX_TOASTS {
                    render::complain(&format!("* {}", render::spelled(&shown).replace('\n', " ")));
                }
                Ok(true.into())
            }
            other => Err(Failed::Refused(format!("client.{other} is not there in haft; there are {THERE}"))),
        }
    }

    fn absolute(&self, args: &Args) -> std::path::PathBuf {
        self.place.directory.join(args.text("path").unwrap_or_default())
    }
}

/// As many of `messages` from the end as an answer may have.
fn newest(mut messages: Vec<Value>) -> Value {
    let mut room = MAX_ANSWER;
    let fits = messages.iter().rev().take_while(|message| {
        let size = message.to_string().len();
        let fits = size <= room;
        room = room.saturating_sub(size);
        fits
    });
    let kept = fits.count();
    messages.drain(..messages.len() - kept);
    messages.into()
}

/// Why something was not done.
enum Failed {
    /// It is not there: an `error` of the answer.
    Missing(String),
    /// The function is not there, or it was not allowed: thrown.
    Refused(String),
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Self {
        match refusal.code.as_deref() {
            Some("ENOENT") => Failed::Missing(refusal.message),
            _ => Failed::Refused(refusal.message),
        }
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Failed::Missing(haft_tool::with_causes(&error))
    }
}

/// What a function of `client` is given: `{ path, query, body }`, or all of it in one.
struct Args(Vec<Value>);

impl Args {
    fn get(&self, name: &str) -> Option<&Value> {
        let first: &Map<String, Value> = self.0.first()?.as_object()?;
        let parts = ["path", "query", "body"].into_iter().filter_map(|part| first.get(part)?.as_object());
        parts.chain([first]).find_map(|part| part.get(name).filter(|value| !value.is_object() || name == "extra"))
    }

    fn body(&self) -> Option<&Value> {
        let first = self.0.first()?;
        first.get("body").or_else(|| first.get("auth"))
    }

    fn text(&self, name: &str) -> Option<String> {
        self.get(name)?.as_str().map(str::to_owned)
    }
}

impl Client for Backstage {
    fn call<'a>(
        &'a self,
        plugin: &'a str,
        path: &'a [String],
        args: Vec<Value>,
        world: &'a dyn World,
    ) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(async move {
            match self.done(plugin, &path.join("."), &Args(args), world).await {
                Ok(data) => Ok(json!({ "data": data, "request": {}, "response": { "status": 200, "ok": true } })),
                Err(Failed::Missing(message)) => Ok(json!({
                    "error": { "name": "NotFoundError", "data": { "message": message } },
                    "request": {}, "response": { "status": 404, "ok": false },
                })),
                Err(Failed::Refused(why)) => Err(why),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_two_forms() {
        let row = |args: Value, name: &str, want: Option<&str>| {
            assert_eq!(Args(vec![args.clone()]).text(name).as_deref(), want, "{args}");
        };
        row(json!({ "path": { "id": "a" } }), "id", Some("a"));
        row(json!({ "sessionID": "a" }), "sessionID", Some("a"));
        row(json!({ "query": { "path": "a.txt" } }), "path", Some("a.txt"));
        row(json!({ "path": "a.txt" }), "path", Some("a.txt"));
        row(json!({ "body": { "message": "m" } }), "message", Some("m"));
        row(json!({ "path": {} }), "path", None);
        row(json!(7), "id", None);
        assert_eq!(Args(Vec::new()).text("id"), None);
    }

    #[test]
    fn the_newest_messages_are_kept() {
        let long = |n: usize| json!({ "n": n, "text": "x".repeat(MAX_ANSWER / 2) });
        let got = newest((0..3).map(long).collect());
        let kept: Vec<u64> = got.as_array().unwrap().iter().map(|one| one["n"].as_u64().unwrap()).collect();
        assert_eq!(kept, [2]);
        assert_eq!(newest(vec![json!(1), json!(2)]), json!([1, 2]));
    }
}
