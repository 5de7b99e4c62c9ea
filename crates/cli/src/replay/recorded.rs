//! A session as it was recorded.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use haft_project::Place;
use haft_protocol::{History, ModelRef, Session as Record, SessionId};
use haft_store::Journal;

use crate::args::Replay;
use crate::folders::Folders;
use crate::wire::place;

/// Most tasks of a session that are replayed with it.
const MAX_TASKS: usize = 200;

/// A session with its tasks, as it was recorded.
pub(crate) struct Recorded {
    pub record: Record,
    pub history: History,
    /// Those of its tasks, oldest first.
    pub tasks: Vec<(Record, History)>,
    /// What stood in files that it changed before it did, where a pack brings that along.
    pub start: Option<Vec<(String, Option<String>)>>,
    /// Where it kept the whole of outputs that were too long.
    pub outputs: PathBuf,
    /// Where work trees of its tasks stood.
    pub trees: Option<PathBuf>,
}

impl Recorded {
    /// The session `id` with its tasks.
    pub(crate) async fn read(journal: &Journal, id: &SessionId, folders: &Folders) -> Result<Self> {
        let unknown = || haft_session::SessionError::Unknown(id.clone());
        let record = journal.session(id).await?.ok_or_else(unknown)?;
        let history = journal.history(id).await?;
        let (mut tasks, mut open) = (Vec::new(), vec![id.clone()]);
        while let Some(id) = open.pop() {
            for child in journal.children(&id, MAX_TASKS).await? {
                if tasks.len() < MAX_TASKS {
                    open.push(child.id.clone());
                    let history = journal.history(&child.id).await?;
                    tasks.push((child, history));
                }
            }
        }
        tasks.sort_by(|one, other| (one.0.time.created, &one.0.id).cmp(&(other.0.time.created, &other.0.id)));
        let place = Place::find(record.directory.as_ref()).ok();
        let trees = place.and_then(|place| place.worktree).map(|top| folders.sandboxes(&top));
        Ok(Self { record, history, tasks, start: None, outputs: folders.outputs(), trees })
    }

    /// The histories of the session and of its tasks.
    pub(crate) fn histories(&self) -> impl Iterator<Item = &History> {
        std::iter::once(&self.history).chain(self.tasks.iter().map(|(_, history)| history))
    }

    /// The session and its tasks.
    pub(crate) fn records(&self) -> impl Iterator<Item = &Record> {
        std::iter::once(&self.record).chain(self.tasks.iter().map(|(record, _)| record))
    }

    /// The project to copy: the one that `args` name, else the session's own; for a pack the one here.
    ///
    /// # Errors
    ///
    /// When it is not there.
    pub(crate) fn place(&self, args: &Replay) -> Result<Place> {
        match &args.dir {
            Some(dir) => place(Some(dir)),
            None if self.start.is_some() => place(None),
            None => {
                let directory = &self.record.directory;
                let gone = || format!("the folder {directory} of the session is gone; name another one with --dir");
                Place::find(Path::new(directory)).with_context(gone)
            }
        }
    }

    /// The model that the session used.
    pub(crate) fn model(&self) -> ModelRef {
        let model = self.record.model.as_ref();
        let of = |pick: fn(&haft_protocol::SessionModel) -> &String| {
            model.map_or_else(|| "replay".to_owned(), |model| pick(model).clone())
        };
        ModelRef { provider_id: of(|model| &model.provider_id), model_id: of(|model| &model.id) }
    }
}
