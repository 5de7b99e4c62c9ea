//! Watching the project's files for plug-ins that want to hear of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_project::{Happened, Watcher};
use haft_protocol::hook::Point;
use haft_protocol::{FileChange, FileEvent};
use haft_script::plugin::Plugin;
use haft_tool::Hook;
use tokio::sync::broadcast;

use crate::wire::Ground;

/// What it takes to watch files. Nothing is watched before [`Watch::begin`].
pub(crate) struct Watch {
    /// The patterns of what is left out; `None`: nobody wants anything to be watched.
    patterns: Option<Vec<String>>,
    root: PathBuf,
    home: PathBuf,
    plugins: Vec<Arc<Plugin>>,
    heard: broadcast::Sender<FileEvent>,
}

impl Watch {
    /// As the settings of `ground` want it, for `plugins`.
    pub(crate) fn of(ground: &Ground, plugins: &[Arc<Plugin>]) -> Self {
        let (config, flags) = (&ground.config, &ground.config.flags);
        let is_on = (config.watch_ignore.is_some() || flags.file_watcher) && !flags.no_file_watcher;
        Self {
            patterns: is_on.then(|| config.watch_ignore.clone().unwrap_or_default()),
            root: ground.place.directory.clone(),
            home: ground.folders.home.clone(),
            plugins: plugins.to_vec(),
            heard: ground.heard.clone(),
        }
    }

    /// Begins, if a plug-in that has begun listens. What cannot be watched is named in the log.
    pub(crate) fn begin(self) -> Option<Watcher> {
        let patterns = self.patterns?;
        if !self.plugins.iter().any(|plugin| plugin.listens(Point::Event)) {
            return None;
        }
        let home = self.home.canonicalize().unwrap_or(self.home);
        let heard = self.heard;
        let tell = move |path: &Path, happened| {
            // Without a listener nobody wants it.
            if let Some(event) = event(path, happened) {
                let _ = heard.send(event);
            }
        };
        let watcher = Watcher::start(&self.root, Some(&home), &patterns, tell);
        watcher.inspect_err(|error| tracing::warn!(%error, "files are not watched")).ok()
    }
}

fn event(path: &Path, happened: Happened) -> Option<FileEvent> {
    let event = match happened {
        Happened::Added => FileChange::Add,
        Happened::Changed => FileChange::Change,
        Happened::Removed => FileChange::Unlink,
    };
    Some(FileEvent::Updated { file: path.to_str()?.to_owned(), event })
}
