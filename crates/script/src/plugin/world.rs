//! What surrounds a plug-in: the file that begins it, and what it asks of the world.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;
use haft_permission::{Access, Grant};
use haft_protocol::SessionId;
use serde_json::Value;

use super::{NEEDS_LEAVE, Plugin, START};
use crate::effects::{WHILE_LOADED, changes};
use crate::error::Refusal;
use crate::script::{Source, Sources, World};
use crate::tools::Disk;

/// The sources of a plug-in, with the file that begins it.
pub(super) struct Beginning {
    pub(super) file: PathBuf,
    pub(super) inner: Disk,
}

impl Sources for Beginning {
    fn resolve(&self, from: &str, name: &str) -> Result<String, String> {
        match (from, name) {
            (_, START) => Ok(START.to_owned()),
            (START, "PLUGIN") => self.inner.resolve("", &self.file.display().to_string()),
            (from, name) => self.inner.resolve(from, name),
        }
    }

    fn source(&self, path: &str) -> Result<Source, String> {
        match path {
            START => Ok(Source { kind: "module", text: include_str!("start.js").to_owned() }),
            path => self.inner.source(path),
        }
    }
}

/// The world of a plug-in that begins.
pub(super) struct Beginner<'p> {
    pub(super) inner: PluginWorld<'p>,
    pub(super) lacked: &'p AtomicBool,
}

impl World for Beginner<'_> {
    fn perform<'a>(&'a self, effect: &'a str, params: Value) -> BoxFuture<'a, Result<Value, Refusal>> {
        Box::pin(async move {
            let done = self.inner.perform(effect, params).await;
            done.inspect_err(|why| {
                // Not what a rule denies: only what nobody can be asked about yet.
                if why.message.contains(WHILE_LOADED) || why.message.contains(NEEDS_LEAVE) {
                    self.lacked.store(true, Ordering::Relaxed);
                }
            })
        })
    }

    fn told(&self, what: &str, params: Value) {
        self.inner.told(what, params);
    }

    fn leave(&self, access: Access) -> BoxFuture<'_, Result<Grant, Refusal>> {
        self.inner.leave(access)
    }

    fn session(&self) -> Option<&SessionId> {
        self.inner.session()
    }

    fn holds_turn(&self) -> bool {
        self.inner.holds_turn()
    }
}

/// What a plug-in asks of the world: the client's part is answered here.
pub(super) struct PluginWorld<'p> {
    pub(super) plugin: &'p Plugin,
    pub(super) inner: Arc<dyn World>,
    /// Whether nobody is told what it is refused.
    pub(super) is_quiet: bool,
    /// Whether it had something done that may have changed files.
    pub(super) changed: AtomicBool,
}

impl World for PluginWorld<'_> {
    fn perform<'a>(&'a self, effect: &'a str, params: Value) -> BoxFuture<'a, Result<Value, Refusal>> {
        Box::pin(async move {
            self.changed.fetch_or(changes(effect), Ordering::Relaxed);
            let done = match effect {
                "remote" => self.plugin.client(params, &*self.inner).await,
                effect => self.inner.perform(effect, params).await,
            };
            done.inspect_err(|why| {
                if !self.is_quiet {
                    self.plugin.refused(why);
                }
            })
        })
    }

    fn told(&self, what: &str, params: Value) {
        self.inner.told(what, params);
    }

    fn leave(&self, access: Access) -> BoxFuture<'_, Result<Grant, Refusal>> {
        self.inner.leave(access)
    }

    fn session(&self) -> Option<&SessionId> {
        self.inner.session()
    }

    fn holds_turn(&self) -> bool {
        self.inner.holds_turn()
    }
}
