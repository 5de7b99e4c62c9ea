//! What files were before the agent changed them: kept as it happens, handed out call by call.

mod around;
mod cut_off;
pub(crate) mod diffs;
mod edits;
mod known;
mod ledger;
mod passing;
pub(crate) mod past;
mod repositories;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft_permission::Asker;
use haft_project::{Announced, Commanded, Planned, Recorder, Refused, Standing};
use haft_protocol::{AskedBy, MessageId, SessionId};
use haft_snapshot::undo::same;
use haft_snapshot::{Change, Hash, Keep, KeepError, State};

use self::around::Around;
pub use self::around::{Ground, MAX_FILE, Survey};
use self::ledger::{Ledger, Started};

/// Largest old content of a file that is kept when a tool changes it, in bytes: more than any tool writes.
pub const MAX_EDITED: u64 = 64 * 1024 * 1024;

/// Keeps what files were, and knows which call of which session changed them. A handle, cheap to clone.
///
/// What a tool is about to do is on the disk before it does it; what a killed process leaves of that is settled by
/// [`Snapshots::settle`] when its session opens again. Its methods read and write files.
#[derive(Debug, Clone)]
pub struct Snapshots {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    keep: Keep,
    ledger: Ledger,
    around: Option<Around>,
}

/// What one call changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The call, where it was one.
    pub by: Option<AskedBy>,
    /// The list of its changes, for [`Keep::changes`].
    pub hash: Hash,
    /// The paths in it.
    pub files: Vec<PathBuf>,
}

impl Snapshots {
    /// Old contents are kept in `keep`, and what is not handed out yet in `folder`.
    pub fn new(keep: Keep, folder: PathBuf) -> Self {
        Self { inner: Arc::new(Inner { keep, ledger: Ledger::new(folder), around: None }) }
    }

    /// The same, where commands work in `ground`.
    pub fn with_commands(keep: Keep, folder: PathBuf, ground: Ground) -> Self {
        let around = Some(Around::new(keep.clone(), ground));
        Self { inner: Arc::new(Inner { keep, ledger: Ledger::new(folder), around }) }
    }

    /// Looks at the tree that commands may change as before one, and says what is covered. `None` where commands are not
    /// recorded. Blocks.
    ///
    /// # Errors
    ///
    /// [`Refused`]: what commands change there is not recorded.
    pub fn survey(&self) -> Option<Result<Survey, Refused>> {
        self.inner.around.as_ref().map(Around::survey)
    }

    /// Where contents and lists of changes are kept.
    pub fn keep(&self) -> &Keep {
        &self.inner.keep
    }

    /// What the call `call` of `message`, which has ended, changed so far and was not handed out yet. `None` if that is nothing. Until
    /// [`Snapshots::stored`] says that the session remembers it, [`Snapshots::settle`] hands it out again.
    pub fn take(&self, session: &SessionId, message: &MessageId, call: &str) -> Option<Recorded> {
        let wanted = |by: Option<&AskedBy>| by.is_some_and(|by| by.message_id == *message && by.call_id == call);
        self.call_ended(|asker| asker.session == *session && wanted(asker.call.as_ref()));
        self.hand_out(session, wanted).pop()
    }

    /// What commands of a call that has ended change from now on is told apart from what they did until now.
    fn call_ended(&self, is_its: impl Fn(&Asker) -> bool) {
        let Some(around) = &self.inner.around else { return };
        while let Some((asker, changes)) = around.ended(&is_its) {
            self.inner.ledger.note(&asker.session, asker.call.as_ref(), changes);
        }
    }

    /// The same of all calls of the session: what jobs changed after their call had ended is among it.
    pub fn take_all(&self, session: &SessionId) -> Vec<Recorded> {
        self.hand_out(session, |_| true)
    }

    /// The session remembers the list called `hash` now.
    pub fn stored(&self, session: &SessionId, hash: &Hash) {
        self.inner.ledger.forget(session, hash);
    }

    /// What a process that was killed left of the session, to be called by who owns it when it opens: what was announced
    /// and happened, what was handed out and perhaps not stored, and what a command that was cut off may have done. A list
    /// that the session remembers has the same hash; `own` are those lists, in their order. What stands as one of the lists
    /// `beside` says, or as another session announced it, is no doing of such a command either.
    pub fn settle(&self, session: &SessionId, own: &[Hash], beside: &[Hash]) -> Vec<Recorded> {
        let cut_off = |started: &Started, announced: &[Change]| {
            let Some(around) = &self.inner.around else { return Vec::new() };
            let Inner { keep, ledger, .. } = &*self.inner;
            let lists = |hashes: &[Hash]| -> Vec<Change> {
                hashes.iter().filter_map(|hash| keep.changes(hash).ok()).flatten().collect()
            };
            let mut told: HashMap<PathBuf, Vec<State>> = HashMap::new();
            // The last word of its own, and each of others: in which order those came nobody knows.
            for change in lists(own).into_iter().chain(announced.iter().cloned()) {
                told.insert(change.path, vec![change.after]);
            }
            let others = ledger.left().into_iter().filter(|other| other != session);
            let others = others.flat_map(|other| ledger.announced(&other));
            for change in lists(beside).into_iter().chain(others) {
                told.entry(change.path).or_default().push(change.after);
            }
            cut_off::changes(keep, around.ground(), started, &told)
        };
        let announced = RefCell::new(Vec::new());
        let settled = |change: &Change| {
            announced.borrow_mut().push(change.clone());
            self.settled(change)
        };
        let begun = |changes: &[Change]| announced.borrow_mut().extend_from_slice(changes);
        self.inner.ledger.load(session, settled, begun, cut_off);
        passing::sweep(&self.inner.keep, &announced.into_inner(), Duration::ZERO);
        self.take_all(session)
    }

    /// Whether a command of the session was cut off, and nobody has settled it.
    pub fn was_cut_off(&self, session: &SessionId) -> bool {
        self.inner.ledger.was_cut_off(session)
    }

    /// Does `work`, which makes `changes` beside the doors that announce them. A process that is killed meanwhile leaves a word
    /// of it, so that what it had half written is found. Commands that run meanwhile are not blamed for them.
    pub fn rewinding<T>(&self, session: &SessionId, mut changes: Vec<Change>, work: impl FnOnce() -> T) -> T {
        let number = self.inner.ledger.rewinds(session, changes.clone());
        let around = self.inner.around.as_ref();
        around.inspect(|around| around.edits().announced(number, &changes));
        let done = work();
        if let Some(around) = around {
            let is_asked = around.edits().has_commands();
            changes.retain(|change| is_asked && same(&self.state(Standing::at(&change.path)), &change.after));
            around.edits().happened(number, &changes);
        }
        self.inner.ledger.ended(session, number);
        done
    }

    /// Removes what killed processes left half written in the tree that commands work in, of sessions that nobody opened
    /// since. What is younger than `age` somebody may be writing. Blocks.
    pub fn sweep_left(&self, age: Duration) {
        let Some(root) = self.inner.around.as_ref().map(|around| &around.ground().root) else { return };
        for session in self.inner.ledger.left() {
            let mut announced = self.inner.ledger.announced(&session);
            announced.retain(|change| change.path.starts_with(root));
            passing::sweep(&self.inner.keep, &announced, age);
        }
    }

    /// What has become of a change that was announced before the process was killed.
    fn settled(&self, change: &Change) -> Option<State> {
        let now = self.state(Standing::at(&change.path));
        // Where somebody has changed it since, what was to be is what they find that it is not any more.
        if now == change.before { None } else { Some(change.after.clone()) }
    }

    fn hand_out(&self, session: &SessionId, wanted: impl Fn(Option<&AskedBy>) -> bool) -> Vec<Recorded> {
        let keep = &self.inner.keep;
        self.inner.ledger.hand_out(session, wanted, |changes| match keep.put_changes(changes) {
            Ok(hash) => Some(hash),
            Err(error) => {
                tracing::warn!(%error, %session, "the list of changes is not kept; it is tried again later");
                None
            }
        })
    }

    fn state(&self, standing: Standing) -> State {
        match standing {
            Standing::Nothing => State::Absent,
            Standing::File { file, size: _, mode } => match self.inner.keep.put_file(file, MAX_EDITED) {
                Ok((content, size)) => State::File { content, size, mode },
                Err(error) => unkept(&error),
            },
            Standing::Link { to } => match self.inner.keep.put(&to) {
                Ok(to) => State::Link { to },
                Err(error) => unkept(&error),
            },
            Standing::Folder { mode } => State::Folder { mode },
            Standing::Other(why) => State::Unkept { why },
        }
    }

    /// What an announced change left where `now` stands, if it `happened`; `None` where it did nothing.
    fn became(&self, change: &Change, happened: bool, now: Standing) -> Option<State> {
        match (&change.after, now) {
            // Whatever somebody else has made of it by now is theirs.
            (State::File { content, size, .. }, Standing::File { mode, .. }) if happened => {
                Some(State::File { content: *content, size: *size, mode })
            }
            (State::File { .. } | State::Absent, _) if happened => Some(change.after.clone()),
            // It failed, and may have been torn half way: what is as it was to be is its doing, and nothing else.
            (State::File { content, .. }, now @ Standing::File { .. }) => {
                Some(self.state(now)).filter(|now| now.content() == Some(content))
            }
            (State::Absent, Standing::Nothing) => Some(State::Absent),
            (State::Folder { .. }, Standing::Folder { mode }) => Some(State::Folder { mode }),
            // A command has taken it away since, which that tells.
            (State::Folder { .. }, _) if happened => Some(change.after.clone()),
            (State::Unkept { .. }, now) if happened => Some(self.state(now)),
            _ => None,
        }
    }

    fn planned(&self, planned: Planned<'_>) -> Change {
        let before = self.state(planned.before);
        let after = match planned.after {
            None => State::Absent,
            Some(content) => match self.inner.keep.put(content) {
                // A new file's mode is the system's business, and known when it is there.
                Ok(hash) => State::File { content: hash, size: content.len() as u64, mode: mode(&before) },
                Err(error) => unkept(&error),
            },
        };
        Change::new(planned.path.to_owned(), before, after)
    }
}

/// The folders that are made for new files, the topmost first.
fn folders(files: &[Planned<'_>]) -> impl Iterator<Item = Change> + use<> {
    let new = files.iter().filter(|file| file.after.is_some() && matches!(file.before, Standing::Nothing));
    let above = new.flat_map(|file| file.path.ancestors().skip(1).take_while(|path| path.symlink_metadata().is_err()));
    let missing: BTreeSet<PathBuf> = above.map(Path::to_path_buf).collect();
    let made = |path| Change::new(path, State::Absent, State::Folder { mode: 0o755 });
    missing.into_iter().map(made)
}

/// The mode of a file that replaces this.
fn mode(before: &State) -> u32 {
    match before {
        State::File { mode, .. } => mode & 0o1777,
        State::Absent | State::Link { .. } | State::Folder { .. } | State::Unkept { .. } => 0o644,
    }
}

fn unkept(error: &KeepError) -> State {
    State::unkept(error.to_string())
}

impl Recorder for Snapshots {
    fn before_files(&self, asker: &Asker, files: Vec<Planned<'_>>) -> Announced {
        let made = folders(&files);
        let changes: Vec<Change> = made.chain(files.into_iter().map(|planned| self.planned(planned))).collect();
        let number = self.inner.ledger.announce(&asker.session, asker.call.as_ref(), changes.clone());
        if let Some(around) = &self.inner.around {
            around.edits().announced(number, &changes);
        }
        Announced(number)
    }

    fn after_files(&self, announced: Announced, happened: bool, files: Vec<Standing>) {
        let mut files = files.into_iter();
        let changes = self.inner.ledger.happened(announced.0, |change| {
            let now = match change.after {
                State::Folder { .. } => Standing::at(&change.path),
                _ => files.next().unwrap_or(Standing::Nothing),
            };
            self.became(change, happened, now)
        });
        if let Some(around) = &self.inner.around {
            around.edits().happened(announced.0, &changes);
        }
    }

    fn reworked(&self, asker: &Asker, path: &Path, now: Standing) {
        let now = self.state(now);
        self.inner.ledger.reworked(&asker.session, asker.call.as_ref(), path, now);
    }

    fn before_command(&self, asker: &Asker) -> Commanded {
        let Some(around) = &self.inner.around else { return Commanded(0) };
        let begun = |started| self.inner.ledger.began(&asker.session, asker.call.as_ref(), started);
        let (number, others) = around.before(asker, begun);
        if let Some((asker, changes)) = others {
            self.inner.ledger.note(&asker.session, asker.call.as_ref(), changes);
        }
        Commanded(number)
    }

    fn after_command(&self, commanded: Commanded, ended: bool) {
        let after = self.inner.around.as_ref().and_then(|around| around.after(commanded.0, ended));
        if let Some((asker, changes)) = after {
            self.inner.ledger.note(&asker.session, asker.call.as_ref(), changes);
            if ended {
                self.inner.ledger.ended(&asker.session, commanded.0);
            }
        }
    }
}

#[cfg(test)]
mod tests;
