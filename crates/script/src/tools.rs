//! Tools in files: `{tool,tools}/*.{ts,js}` of the configuration folders, one tool for each export that is one.

mod cache;
mod disk;
mod file;
mod plugins;
mod tool;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use haft_tool::{AnyTool, Source};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

pub use self::cache::Cache;
pub use self::disk::{Bounds, Disk, Imported, entry_of};
use self::file::ToolFile;
pub use self::plugins::PluginTools;
pub(crate) use self::tool::{At, Described, MAX_METADATA};
use self::tool::{Home, ScriptTool};
use crate::effects::Doors;
use crate::engine::Engine;
use crate::error::ScriptError;
use crate::host::{Hosting, Right};

/// The folders of a configuration folder that hold tools.
const FOLDERS: [&str; 2] = ["tool", "tools"];
/// Most files of tools. Further ones are left out.
pub const MAX_FILES: usize = 200;
/// Most tools of one file.
const MAX_EXPORTS: usize = 64;

/// What the file at a path may import.
pub type BoundsOf = Box<dyn Fn(&Path) -> Arc<dyn Bounds> + Send + Sync>;
/// Who is told what a person should know.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// What runs files of tools.
#[derive(Clone)]
struct Engines {
    engine: Engine,
    /// What runs those that the engine cannot.
    host: Option<Arc<Hosting>>,
    tell: Tell,
}

/// All tools in files, as a source of the registry.
///
/// Nothing is started as long as what is kept of the files is as they are. Files that are new or changed are looked into
/// beside everything else, and a changed file is loaded anew when it is next called.
pub struct ToolFiles {
    inner: Arc<Inner>,
    work: Mutex<Option<AbortOnDropHandle<()>>>,
}

struct Inner {
    folders: Vec<PathBuf>,
    engines: Engines,
    doors: Doors,
    bounds: BoundsOf,
    cache: Cache,
    /// Who hears that a file is left out.
    tell: Tell,
    /// What is shared between the calls of one message.
    extras: Arc<Extras>,
    state: Mutex<State>,
    version: AtomicU64,
    /// Whether files are being looked into.
    busy: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    files: BTreeMap<PathBuf, Arc<ToolFile>>,
    tools: Vec<Arc<dyn AnyTool>>,
}

/// What the calls of one message share as `context.extra`: of the last few messages.
#[derive(Default)]
pub(crate) struct Extras(Mutex<Vec<(String, serde_json::Value)>>);

impl Extras {
    /// Most messages that are remembered.
    const MAX: usize = 8;

    fn all(&self) -> MutexGuard<'_, Vec<(String, serde_json::Value)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, message: &str) -> serde_json::Value {
        let all = self.all();
        all.iter().find(|(known, _)| known == message).map_or_else(|| serde_json::json!({}), |(_, extra)| extra.clone())
    }

    fn keep(&self, message: &str, extra: serde_json::Value) {
        let mut all = self.all();
        all.retain(|(known, _)| known != message);
        if all.len() == Self::MAX {
            all.remove(0);
        }
        all.push((message.to_owned(), extra));
    }
}

impl ToolFiles {
    /// The tools in `folders`, configuration folders in the order in which they count: of two files that give the same
    /// tool, the later one does. What the engine cannot run, `host` does. Needs a Tokio runtime.
    pub fn new(
        folders: Vec<PathBuf>,
        engine: Engine,
        host: Option<Arc<Hosting>>,
        doors: Doors,
        bounds: BoundsOf,
        cache: Cache,
        tell: Tell,
    ) -> Self {
        let inner = Inner {
            folders,
            engines: Engines { engine, host, tell: tell.clone() },
            doors,
            bounds,
            cache,
            tell,
            extras: Arc::default(),
            state: Mutex::default(),
            version: AtomicU64::new(1),
            busy: watch::Sender::new(false),
        };
        let source = Self { inner: Arc::new(inner), work: Mutex::default() };
        source.look();
        source
    }

    /// Whether there is any file of tools in `folders`. Looks at names alone.
    pub fn any(folders: &[PathBuf]) -> bool {
        !found(folders).is_empty()
    }

    /// Looks at the files again, and begins to look into those that are not known.
    fn look(&self) {
        let files = self.inner.refresh();
        if files.iter().any(|file| file.described().is_none()) {
            let inner = self.inner.clone();
            inner.busy.send_replace(true);
            let work = AbortOnDropHandle::new(tokio::spawn(async move { inner.describe(&files).await }));
            *self.work.lock().unwrap_or_else(PoisonError::into_inner) = Some(work);
        }
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        // Whole after each line.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files as they are on the disk now, those that did not change kept.
    fn refresh(&self) -> Vec<Arc<ToolFile>> {
        let mut state = self.state();
        let mut files = BTreeMap::new();
        let mut order = Vec::new();
        for path in found(&self.folders) {
            let known = state.files.get(&path).filter(|file| file.is_fresh()).cloned();
            let file = known.unwrap_or_else(|| {
                let file = ToolFile::new(path.clone(), (self.bounds)(&path));
                file.remember(self.cache.get(&file.key()));
                Arc::new(file)
            });
            order.push(file.clone());
            files.insert(path, file);
        }
        state.files = files;
        self.offer(&mut state, &order);
        order
    }

    /// Loads what is not known yet, one file after the other.
    async fn describe(&self, files: &[Arc<ToolFile>]) {
        for file in files.iter().filter(|file| file.described().is_none()) {
            let described = file.describe(&self.engines).await;
            match &described {
                Ok(tools) => self.cache.put(&file.key(), tools),
                Err(error) => {
                    let why = haft_tool::with_causes(error);
                    (self.tell)(&format!("the tools of {} are left out: {why}", file.path().display()));
                }
            }
            file.remember(Some(described.unwrap_or_default()));
        }
        self.offer(&mut self.state(), files);
        self.busy.send_replace(false);
    }

    /// Makes the list of tools. A later one of the same name stands for an earlier one.
    fn offer(&self, state: &mut State, files: &[Arc<ToolFile>]) {
        let mut tools: Vec<(String, Arc<dyn AnyTool>)> = Vec::new();
        for file in files {
            for described in file.described().unwrap_or_default().into_iter().take(MAX_EXPORTS) {
                let name = described.name.clone();
                if let Some(at) = tools.iter().position(|(known, _)| *known == name) {
                    tracing::warn!(tool.name = name, file = %file.path().display(), "a tool stands for another of its name");
                    tools.remove(at);
                }
                let export = described.export.clone();
                let home = Box::new(InFile { file: file.clone(), engines: self.engines.clone(), export });
                let tool = ScriptTool::new(described, home, self.doors.clone(), self.extras.clone());
                tools.push((name, Arc::new(tool)));
            }
        }
        state.tools = tools.into_iter().map(|(_, tool)| tool).collect();
        self.version.fetch_add(1, Ordering::Relaxed);
    }
}

/// One export of a file.
struct InFile {
    file: Arc<ToolFile>,
    engines: Engines,
    export: String,
}

impl Home for InFile {
    fn loaded(&self, right: Right) -> BoxFuture<'_, Result<Arc<At>, ScriptError>> {
        self.file.at(&self.engines, right).boxed()
    }

    fn path(&self) -> Vec<&str> {
        vec![&self.export]
    }
}

impl Source for ToolFiles {
    fn name(&self) -> &str {
        "tool files"
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        self.inner.state().tools.clone()
    }

    fn version(&self) -> u64 {
        // A few looks at names and times, before a step that takes seconds.
        let known: Vec<PathBuf> = self.inner.state().files.keys().cloned().collect();
        let mut now = found(&self.inner.folders);
        now.sort();
        let fresh = known == now && self.inner.state().files.values().all(|file| file.is_fresh());
        if !fresh {
            self.look();
        }
        self.inner.version.load(Ordering::Relaxed)
    }

    fn ready(&self) -> BoxFuture<'_, ()> {
        let mut busy = self.inner.busy.subscribe();
        async move {
            // It cannot be closed while this source is there.
            let _ = busy.wait_for(|busy| !busy).await;
        }
        .boxed()
    }

    fn replaces(&self) -> bool {
        true
    }
}

/// The files of tools in `folders`, in the order in which they count.
fn found(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = Vec::new();
    for folder in folders.iter().flat_map(|folder| FOLDERS.map(|name| folder.join(name))) {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let mut paths: Vec<PathBuf> =
            entries.flatten().map(|entry| entry.path()).filter(|path| is_tool_file(path)).collect();
        paths.sort();
        all.extend(paths);
    }
    all.truncate(MAX_FILES);
    all
}

fn is_tool_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let ends = [".ts", ".js"].iter().any(|end| name.ends_with(end)) && !name.ends_with(".d.ts");
    ends && path.is_file()
}

/// The names of the tools of a file: its own for the default export, else both.
fn tool_name(path: &Path, export: &str) -> String {
    let base = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    if export == "default" { base.to_owned() } else { format!("{base}_{export}") }
}
