//! One file of tools: what it has, loaded when it is needed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::tool::{At, Described};
use super::{Bounds, Disk, Engines, tool_name};
use crate::effects::NoWorld;
use crate::engine::Engine;
use crate::error::ScriptError;
use crate::host::{Hosts, Right};
use crate::script::{Loaded as Module, Script};

/// A file as it was when it was found.
pub(super) struct ToolFile {
    path: PathBuf,
    stamp: Stamp,
    bounds: Arc<dyn Bounds>,
    described: Mutex<Option<Vec<Described>>>,
    loaded: tokio::sync::Mutex<Instances>,
    /// What it runs in, where that is not the engine.
    hosts: OnceLock<Hosts>,
}

/// What tells a file from what it was: size and time of its last change.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp(Option<(u64, std::time::SystemTime)>);

impl Stamp {
    fn of(path: &Path) -> Self {
        Self(std::fs::metadata(path).ok().and_then(|meta| Some((meta.len(), meta.modified().ok()?))))
    }
}

/// The file as it runs: in the engine once, in hosts once for each right.
#[derive(Default)]
struct Instances {
    reads: Option<Arc<Loaded>>,
    changes: Option<Arc<Loaded>>,
}

/// A file that runs.
struct Loaded {
    at: Arc<At>,
    names: Vec<String>,
    /// All that it was made of, as it was.
    made_of: Vec<(PathBuf, Stamp)>,
}

impl Loaded {
    fn is_fresh(&self) -> bool {
        self.at.script.is_alive() && self.made_of.iter().all(|(path, stamp)| Stamp::of(path) == *stamp)
    }
}

impl Instances {
    fn with(&mut self, right: Right) -> &mut Option<Arc<Loaded>> {
        match right {
            Right::Reads => &mut self.reads,
            Right::Changes => &mut self.changes,
        }
    }
}

impl ToolFile {
    pub(super) fn new(path: PathBuf, bounds: Arc<dyn Bounds>) -> Self {
        let stamp = Stamp::of(&path);
        Self {
            path,
            stamp,
            bounds,
            described: Mutex::default(),
            loaded: tokio::sync::Mutex::default(),
            hosts: OnceLock::new(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file is as it was when it was found.
    pub(super) fn is_fresh(&self) -> bool {
        Stamp::of(&self.path) == self.stamp
    }

    /// Under what its description is kept: it holds for exactly this content.
    pub(super) fn key(&self) -> String {
        let bytes = std::fs::read(&self.path).unwrap_or_default();
        let mut hash = blake3::Hasher::new();
        hash.update(env!("CARGO_PKG_VERSION").as_bytes());
        hash.update(self.path.as_os_str().as_encoded_bytes());
        hash.update(b"\0");
        hash.update(&bytes);
        hash.finalize().to_hex().to_string()
    }

    fn known(&self) -> MutexGuard<'_, Option<Vec<Described>>> {
        self.described.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn described(&self) -> Option<Vec<Described>> {
        self.known().clone()
    }

    pub(super) fn remember(&self, described: Option<Vec<Described>>) {
        *self.known() = described;
    }

    /// Loads the file to see what it has.
    pub(super) async fn describe(&self, engines: &Engines) -> Result<Vec<Described>, ScriptError> {
        let loaded = self.load(engines, Right::Reads).await?;
        let mut tools = Vec::new();
        for export in &loaded.names {
            let name = tool_name(&self.path, export);
            tools.extend(loaded.at.describe(&[export], name, export).await);
        }
        // It is loaded again when it is called: only so many can be at once.
        *self.loaded.lock().await = Instances::default();
        if let Some(hosts) = self.hosts.get() {
            hosts.with(Right::Reads).let_go().await;
        }
        Ok(tools)
    }

    /// The file as it is now, loaded, as its tools are called by who has `right`.
    pub(super) async fn at(&self, engines: &Engines, right: Right) -> Result<Arc<At>, ScriptError> {
        Ok(self.load(engines, right).await?.at.clone())
    }

    /// It in the engine or, where that lacks something and a host is installed, in one of its own.
    async fn loaded_in(
        &self,
        engines: &Engines,
        disk: &Arc<Disk>,
        right: Right,
    ) -> Result<(Script, Module), ScriptError> {
        let load = async |engine: &Engine| {
            let script = engine.script(disk.clone()).await?;
            let module = script.load(&self.path, &NoWorld).await?;
            Ok((script, module))
        };
        if let Some(hosts) = self.hosts.get() {
            return load(hosts.with(hosts.right(right))).await;
        }
        let error = match load(&engines.engine).await {
            Err(error @ ScriptError::Thrown { .. }) if ScriptError::is_lack(&error) => error,
            done => return done,
        };
        let Some(hosting) = &engines.host else { return Err(error) };
        let path = self.path.display();
        match hosting.hosts(&path.to_string(), &self.bounds).await {
            Ok((hosts, program)) => {
                (engines.tell)(&format!("{path} runs in {program}: {}", error.briefly()));
                let done = load(hosts.with(hosts.right(right))).await?;
                let _ = self.hosts.set(hosts);
                Ok(done)
            }
            Err(why) => {
                (engines.tell)(&format!("{path} cannot be run in a host either: {why}"));
                Err(error)
            }
        }
    }

    /// What `right` comes to where it runs.
    fn right(&self, right: Right) -> Right {
        self.hosts.get().map_or(Right::Reads, |hosts| hosts.right(right))
    }

    /// The file as it is now, loaded for who has `right`.
    async fn load(&self, engines: &Engines, right: Right) -> Result<Arc<Loaded>, ScriptError> {
        let mut instances = self.loaded.lock().await;
        if let Some(hosts) = self.hosts.get()
            && self.right(right) == Right::Reads
            && instances.changes.is_some()
            && hosts.narrow().await
        {
            instances.changes = None;
        }
        let loaded = instances.with(self.right(right));
        if let Some(loaded) = loaded.as_ref().filter(|loaded| loaded.is_fresh()) {
            return Ok(loaded.clone());
        }
        *loaded = None;
        let disk = Arc::new(Disk::new(self.bounds.clone()));
        let (script, module) = self.loaded_in(engines, &disk, right).await?;
        // Perhaps it has found out that it needs a host.
        let right = self.right(right);
        let made_of = disk.read().into_iter().map(|path| (path.clone(), Stamp::of(&path))).collect();
        let names = module.names.into_iter().filter(|name| name.kind == "object").map(|name| name.name).collect();
        let at = Arc::new(At { script, handle: module.handle, right });
        let made = Arc::new(Loaded { at, names, made_of });
        *instances.with(right) = Some(made.clone());
        Ok(made)
    }
}
