//! What a command changes: the tree is looked at before it runs and after.
//!
//! What differs before is the user's own. What the repository does not have is kept then: files that are not tracked or
//! not as they were committed, and not ignored. What differs after is the command's.

use std::collections::{BTreeMap, HashSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use haft_permission::Asker;
use haft_project::{Blob, Diff, Look, Refused, Seen, Spot, Standing, Tracked, Tree, Was};
use haft_snapshot::{Change, Hash, Keep, KeepError, Packer, State};

use super::edits::{Edits, between};
use super::known::{Known, TICK};
use super::ledger::Started;
use super::repositories::Repositories;
use super::{MAX_EDITED, unkept};

/// Largest file that is kept before a command, in bytes.
pub const MAX_FILE: u64 = 10 * 1024 * 1024;
/// Most changes of one command whose contents are kept. What is beyond is named and not kept.
const MAX_KEPT: usize = 10_000;
/// Most changes of one command that are named.
const MAX_NAMED: usize = 50_000;
/// How many files are kept before what is known of them is taken down: all of it is in memory until then.
const AT_ONCE: usize = 4096;
/// So few files are kept by one thread: starting another would take longer than it saves.
const ALONE: usize = 16;
/// Most threads that keep files. More would wait for the same disk.
const THREADS: usize = 4;
/// Most files that are written down with a command that begins, because nothing else would tell what they were.
pub(super) const MAX_LOOSE: usize = 1000;

/// What stands for the changes that are not recorded.
fn not_recorded(path: PathBuf, why: impl Into<String>) -> Change {
    let unkept = State::unkept(why);
    Change { found: true, ..Change::new(path, unkept.clone(), unkept) }
}

/// Why nobody can tell whose doing a change is.
const MAYBE_THEIRS: &str = "it changed while a command ran in the background, and nobody knows who did it";

/// Where commands work.
#[derive(Debug, Clone, Default)]
pub struct Ground {
    /// The folder that they may change: the work tree, or the folder that is worked in.
    pub root: PathBuf,
    /// The user's home, which is never looked through.
    pub home: Option<PathBuf>,
    /// Our own folders.
    pub left_out: Vec<PathBuf>,
    /// The file that remembers between runs what is kept; none is written where there is no name.
    pub memory: Option<PathBuf>,
}

/// What is known of a file's content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Source {
    #[default]
    Unknown,
    Kept(Held),
    Repository(Blob),
    Unkept(Why),
    /// It went while it was looked at.
    Gone,
}

/// A content that is kept, and what it was read from: that may have been another file already than the one that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    content: Hash,
    size: u64,
    mode: u32,
}

impl Held {
    /// The content of what was `seen`.
    fn seen(content: Hash, seen: &Seen) -> Self {
        Self { content, size: seen.size, mode: seen.mode & 0o7777 }
    }
}

/// Why a content is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Large,
    Quota,
    Unreadable,
}

impl Why {
    fn words(self) -> &'static str {
        match self {
            Why::Large => "it is larger than 10 MB",
            Why::Quota => "as much is kept as snapshot.quota allows",
            Why::Unreadable => "it could not be read or kept",
        }
    }
}

/// The tree, and the commands that work in it.
#[derive(Debug)]
pub(super) struct Around {
    keep: Keep,
    ground: Ground,
    state: Mutex<Inner>,
    edits: Mutex<Edits>,
}

#[derive(Debug)]
struct Inner {
    tree: Result<Tree<Source>, Refused>,
    repositories: Repositories,
    known: Known,
    loose: Loose,
    running: Vec<Running>,
}

/// A command that runs.
#[derive(Debug)]
struct Running {
    number: u64,
    asker: Asker,
    /// When it began, in nanoseconds since the Unix epoch.
    at: i64,
    /// Whether it runs on in the background: its call has ended.
    is_behind: bool,
}

impl Inner {
    /// Where nothing runs but in the background, what changes may well be the user's doing.
    fn doubt(&self, changes: &mut [Change]) {
        if self.running.iter().all(|running| running.is_behind) {
            changes.iter_mut().for_each(|change| change.after = State::unkept(MAYBE_THEIRS));
        }
    }
}

/// Files of which neither the repository nor the memory of the tree tells another process what they are.
#[derive(Debug, Default)]
struct Loose {
    states: BTreeMap<PathBuf, State>,
    more: bool,
}

impl Loose {
    fn add(&mut self, path: &Path, state: State) {
        if self.states.len() < MAX_LOOSE || self.states.contains_key(path) {
            self.states.insert(path.to_owned(), state);
        } else {
            self.more = true;
        }
    }

    fn started(&self, at: i64) -> Started {
        let change = |(path, state): (&PathBuf, &State)| Change::new(path.clone(), state.clone(), state.clone());
        Started { at, loose: self.states.iter().map(change).collect(), more: self.more }
    }
}

/// What a look was about, for people and benches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// Files that were looked at.
    pub files: usize,
    /// Those whose content the repository has.
    pub in_repository: usize,
    /// Those whose content is kept.
    pub kept: usize,
    /// Those whose content is not, and why; at most a hundred.
    pub uncovered: Vec<(PathBuf, &'static str)>,
    /// How many of them there are.
    pub not_kept: usize,
}

impl Around {
    pub(super) fn new(keep: Keep, ground: Ground) -> Self {
        let Ground { root, home, left_out, memory } = ground.clone();
        let known = Known::new(memory);
        let repositories = Repositories::new(root.clone());
        let tree = Tree::new(root, home.as_deref(), left_out);
        let inner = Inner { tree, repositories, known, loose: Loose::default(), running: Vec::new() };
        Self { keep, ground, state: Mutex::new(inner), edits: Mutex::default() }
    }

    /// Tools are about to make these changes, or have made them: they are not taken for a command's doing.
    pub(super) fn edits(&self) -> MutexGuard<'_, Edits> {
        // Each change to them is whole after one call.
        self.edits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where commands work.
    pub(super) fn ground(&self) -> &Ground {
        &self.ground
    }

    /// A command is about to run; `begun` writes that down and gives it its number. Returns that, and what commands that run
    /// already have changed so far.
    pub(super) fn before(
        &self,
        asker: &Asker,
        begun: impl FnOnce(Started) -> u64,
    ) -> (u64, Option<(Asker, Vec<Change>)>) {
        self.edits().command_begins();
        let mut inner = self.lock();
        let by = inner.running.last().map(|running| running.asker.clone());
        // Where the system says that nothing has changed since, there is nothing to find.
        let is_quiet = inner.tree.as_mut().is_ok_and(Tree::is_quiet);
        let mut changes = if is_quiet { Vec::new() } else { self.look(&mut inner, by.is_some()) };
        inner.doubt(&mut changes);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
        let number = begun(inner.loose.started(at));
        inner.running.push(Running { number, asker: asker.clone(), at, is_behind: false });
        (number, by.map(|by| (by, changes)))
    }

    /// The command ended, or something of it runs on: what it changed so far.
    pub(super) fn after(&self, number: u64, ended: bool) -> Option<(Asker, Vec<Change>)> {
        let mut inner = self.lock();
        let at = inner.running.iter().position(|running| running.number == number)?;
        let asker = inner.running.get(at)?.asker.clone();
        let mut changes = self.look(&mut inner, true);
        inner.doubt(&mut changes);
        if ended {
            inner.running.remove(at);
            self.edits().command_ended();
        } else if let Some(running) = inner.running.get_mut(at) {
            running.is_behind = true;
        }
        Some((asker, changes))
    }

    /// A call has ended: what it started and runs on does so in the background from now on. What that changed so far, if it
    /// was not asked.
    pub(super) fn ended(&self, is_its: impl Fn(&Asker) -> bool) -> Option<(Asker, Vec<Change>)> {
        let number = {
            let inner = self.lock();
            inner.running.iter().find(|running| !running.is_behind && is_its(&running.asker))?.number
        };
        self.after(number, false)
    }

    /// Looks at the tree as before a command.
    ///
    /// # Errors
    ///
    /// [`Refused`].
    pub(super) fn survey(&self) -> Result<Survey, Refused> {
        let mut inner = self.lock();
        self.look(&mut inner, false);
        let tree = inner.tree.as_ref().map_err(Clone::clone)?;
        let mut survey = Survey::default();
        tree.each(|path, _, source| {
            survey.files += 1;
            match source {
                Source::Repository(_) => survey.in_repository += 1,
                Source::Kept(_) => survey.kept += 1,
                Source::Unknown | Source::Gone => {}
                Source::Unkept(why) => {
                    survey.not_kept += 1;
                    if survey.uncovered.len() < 100 {
                        survey.uncovered.push((path.to_owned(), why.words()));
                    }
                }
            }
        });
        Ok(survey)
    }

    /// Looks at the tree; what differs is what the command changed, if it is a command's.
    fn look(&self, inner: &mut Inner, is_commands: bool) -> Vec<Change> {
        self.edits().look_begins();
        let changes = self.look_at(inner, is_commands);
        self.edits().look_ends();
        changes
    }

    fn look_at(&self, inner: &mut Inner, is_commands: bool) -> Vec<Change> {
        let found = match &mut inner.tree {
            Ok(tree) => tree.look(),
            Err(refused) => Err(refused.clone()),
        };
        match found {
            Ok(look) => self.found(inner, look, is_commands),
            Err(refused) => {
                if inner.tree.is_ok() {
                    tracing::warn!("what commands change is not recorded: {refused}");
                }
                // A folder that cannot be read now may be there later.
                let why = format!("what commands change in it is not recorded: {refused}");
                if !matches!(refused, Refused::Unreadable(_)) {
                    inner.tree = Err(refused);
                }
                match is_commands {
                    true => vec![not_recorded(self.ground.root.clone(), why)],
                    false => Vec::new(),
                }
            }
        }
    }

    /// What a look found. The files may be others again by now.
    fn found(&self, inner: &mut Inner, look: Look<Source>, is_commands: bool) -> Vec<Change> {
        let Inner { tree: Ok(tree), repositories, known, loose, running } = inner else { return Vec::new() };
        known.load();
        repositories.refresh();
        let places = if look.is_first { tree.places() } else { 0 };
        // What comes back later must not bear an earlier time.
        let at = look.at.saturating_sub(TICK);
        let since = running.iter().map(|running| running.at).min().unwrap_or(i64::MAX).saturating_sub(TICK);
        let moved = look.diffs.iter().filter_map(Diff::left).map(|seen| seen.inode).collect();
        let keep = &self.keep;
        let eyes = Eyes { keep, edits: &self.edits, tree, repositories, known, loose, at, since, moved };
        let mut finding = Finding { eyes, is_commands, changes: Vec::new(), unkept: Vec::new(), more: 0 };
        look.diffs.into_iter().for_each(|diff| finding.take(diff));
        for place in 0..places {
            for diff in finding.eyes.tree.found_in(place) {
                finding.eyes.known.saw(&diff.path);
                finding.take(diff);
            }
        }
        finding.keep();
        if look.is_first {
            finding.eyes.went_before();
        }
        let Finding { eyes, mut changes, more, .. } = finding;
        if is_commands {
            let why = "it can be read no more, and what changed in it is not known";
            changes.extend(look.unread.into_iter().take(MAX_NAMED).map(|folder| not_recorded(folder, why)));
        }
        if more > 0 {
            changes
                .push(not_recorded(self.ground.root.clone(), format!("{more} more of its files were changed at once")));
        }
        eyes.loose.more |= !eyes.known.save();
        changes
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A look that panics leaves a tree that is looked at again.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What becomes of what a look found.
struct Finding<'a> {
    eyes: Eyes<'a>,
    /// Whether it is a command's doing.
    is_commands: bool,
    changes: Vec<Change>,
    /// What is to be kept, and is not yet.
    unkept: Vec<Diff<Source>>,
    /// How many changes there are besides, which are not named.
    more: usize,
}

impl Finding<'_> {
    fn take(&mut self, diff: Diff<Source>) {
        let Self { eyes, is_commands, changes, unkept, more } = self;
        eyes.loose.states.remove(&diff.path);
        if diff.now.is_none() {
            eyes.gone(&diff.path);
        }
        if *is_commands {
            let found = eyes.changes(&diff, changes.len() < MAX_KEPT);
            if changes.len() < MAX_NAMED {
                changes.extend(found.into_iter().map(|change| Change { found: true, ..change }));
            } else {
                *more += found.len();
            }
        } else if eyes.note(&diff) {
            unkept.push(diff);
            if unkept.len() >= AT_ONCE {
                self.keep();
            }
        }
    }

    fn keep(&mut self) {
        self.eyes.keep_all(&std::mem::take(&mut self.unkept));
    }
}

/// What it takes to tell what a file was and is.
struct Eyes<'a> {
    keep: &'a Keep,
    edits: &'a Mutex<Edits>,
    tree: &'a mut Tree<Source>,
    repositories: &'a mut Repositories,
    known: &'a mut Known,
    loose: &'a mut Loose,
    /// What they saw was so at this time, in nanoseconds since the Unix epoch.
    at: i64,
    /// When the first of the commands that run began, and a little before, in nanoseconds since the Unix epoch.
    since: i64,
    /// The files that stand where they stood no more, by their inodes.
    moved: HashSet<u64>,
}

impl Eyes<'_> {
    /// Writes down what went while nobody looked, of what another process would take to be there still.
    fn went_before(&mut self) {
        let mut gone: Vec<PathBuf> = self.known.unseen().cloned().collect();
        let untold = |(path, changed): &(PathBuf, i64)| !self.known.says_gone(path, *changed);
        // The others were asked for their files.
        let unasked = self.repositories.all(self.tree.bare_folders()).flat_map(Tracked::unasked);
        gone.extend(unasked.filter(untold).map(|(path, _)| path));
        // What is ignored was not looked at, and is there.
        gone.retain(|path| path.starts_with(self.tree.root()) && matches!(Standing::at(path), Standing::Nothing));
        gone.sort_unstable();
        gone.dedup();
        gone.iter().for_each(|path| self.gone(path));
    }

    /// Nothing stands at a path. That is written down, for who finds later that a command was cut off.
    fn gone(&mut self, path: &Path) {
        let is_tracked = |tracked: &Tracked| tracked.last_seen(path).is_some();
        if self.known.lasts(path) {
            self.known.gone(path, self.at);
        } else if self.repositories.tracked(path).is_some_and(is_tracked) {
            self.loose.add(path, State::Absent);
        }
    }

    /// Sees to it that what the user changed can be brought back when a command changes it. Whether it is still to be kept
    /// for that.
    fn note(&mut self, diff: &Diff<Source>) -> bool {
        let Some(seen) = diff.now.filter(|seen| !seen.is_folder()) else {
            self.shown(diff, &self.folder_or_nothing(diff));
            return false;
        };
        // It is ignored from now on.
        let Some(spot) = diff.spot else { return false };
        let is_edited = self.is_edited(diff);
        if is_edited || matches!((&diff.was, diff.doubtful), (Was::Doubtful(_, Source::Kept(_)), false)) {
            // It may have changed after all.
            let now = self.keep_now(diff, seen, Some(spot), is_edited);
            self.shown(diff, &now);
            return false;
        }
        let source = match diff.doubtful {
            // That nobody can tell by its times whether it is still what it was needs its content.
            true => None,
            false => self.repositories.blob(&diff.path, &seen).map(Source::Repository),
        };
        let source = source.or_else(|| {
            let known = if diff.doubtful { None } else { self.known.find(&diff.path, &seen) };
            let hash = known.filter(|hash| self.keep.has(hash))?;
            Some(Source::Kept(Held::seen(hash, &seen)))
        });
        let is_missing = source.is_none();
        source.into_iter().for_each(|source| self.set(spot, source));
        is_missing
    }

    /// Keeps what these files hold now.
    fn keep_all(&mut self, diffs: &[Diff<Source>]) {
        for (diff, kept) in diffs.iter().zip(kept_by_many(self.keep, diffs)) {
            if let (Some(seen), Some(spot)) = (diff.now, diff.spot) {
                let now = self.remember(diff, seen, Some(spot), kept);
                // A tool may have written it since it was looked at.
                self.shown(diff, &now);
            }
        }
    }

    /// What the command did to a path.
    fn changes(&mut self, diff: &Diff<Source>, is_kept: bool) -> Vec<Change> {
        if !is_kept {
            let unkept = || State::unkept("too many files were changed at once");
            return vec![Change::new(diff.path.clone(), unkept(), unkept())];
        }
        let after = match diff.now.filter(|seen| !seen.is_folder()) {
            Some(seen) => self.keep_now(diff, seen, diff.spot, self.is_edited(diff)),
            None => self.folder_or_nothing(diff),
        };
        let edits = self.shown(diff, &after);
        let before = match &diff.was {
            Was::Absent if edits.is_empty() && self.came_from_elsewhere(&diff.path) => {
                State::unkept("it was moved here from a place that is not covered")
            }
            Was::Absent => State::Absent,
            Was::Unknown => State::unkept("it was ignored, or could not be read, before the command ran"),
            Was::Doubtful(_, Source::Unknown) if edits.is_empty() => return Vec::new(),
            Was::Seen(seen, source) | Was::Doubtful(seen, source) => self.state(&diff.path, seen, source),
        };
        if !edits.is_empty() {
            return between(&diff.path, before, edits, after);
        }
        let changed = before != after || (matches!(diff.was, Was::Seen(..)) && matches!(after, State::Unkept { .. }));
        let change = || Change::new(diff.path.clone(), before, after);
        changed.then(change).into_iter().collect()
    }

    /// Whether a file that is new here is older than the commands that run, and nobody knows from where it came: to take it
    /// away would be to lose it.
    fn came_from_elsewhere(&self, path: &Path) -> bool {
        let Ok(about) = path.symlink_metadata() else { return false };
        let is_old = born(&about).is_some_and(|born| born < self.since);
        // One with another name besides is not lost.
        is_old && about.nlink() == 1 && !about.is_dir() && !self.moved.contains(&about.ino())
    }

    /// What is no file now.
    fn folder_or_nothing(&self, diff: &Diff<Source>) -> State {
        diff.now.map_or(State::Absent, |seen| State::Folder { mode: seen.mode & 0o7777 })
    }

    fn is_edited(&self, diff: &Diff<Source>) -> bool {
        self.edits.lock().unwrap_or_else(PoisonError::into_inner).has(&diff.path)
    }

    /// The edits that led to `now`.
    fn shown(&self, diff: &Diff<Source>, now: &State) -> Vec<(State, State)> {
        self.edits.lock().unwrap_or_else(PoisonError::into_inner).shown(&diff.path, now)
    }

    /// Keeps what a file holds now; a larger one where a tool wrote it, because that kept it too.
    fn keep_now(&mut self, diff: &Diff<Source>, seen: Seen, spot: Option<Spot>, is_edited: bool) -> State {
        let max = if is_edited { MAX_EDITED } else { MAX_FILE };
        let kept = kept(&mut self.keep.packer(), &diff.path, seen, max);
        self.remember(diff, seen, spot, kept)
    }

    /// Remembers what a file holds.
    fn remember(
        &mut self,
        diff: &Diff<Source>,
        seen: Seen,
        spot: Option<Spot>,
        (state, source): (State, Source),
    ) -> State {
        match &source {
            Source::Kept(held) if !diff.doubtful && self.known.lasts(&diff.path) && is_still(&diff.path, &seen) => {
                self.known.add(&diff.path, &seen, held.content);
            }
            _ => self.loose.add(&diff.path, state.clone()),
        }
        spot.into_iter().for_each(|spot| self.set(spot, source.clone()));
        state
    }

    /// What a file was.
    fn state(&mut self, path: &Path, seen: &Seen, source: &Source) -> State {
        let found = |Held { content, size, mode }| match seen.is_link() {
            true => State::Link { to: content },
            false => State::File { content, size, mode },
        };
        if seen.is_folder() {
            return State::Folder { mode: seen.mode & 0o7777 };
        }
        match source {
            Source::Kept(held) => match self.keep.has(&held.content) {
                true => found(*held),
                false => State::unkept("its old content is kept no more"),
            },
            Source::Repository(blob) => match self.repositories.content(path, *blob, seen.size) {
                Some(content) => {
                    let put = self.keep.put(&content);
                    put.map_or_else(|error| unkept(&error), |content| found(Held::seen(content, seen)))
                }
                None => State::unkept("the repository does not give its old content"),
            },
            Source::Unkept(why) => State::unkept(why.words()),
            Source::Gone => State::Absent,
            Source::Unknown => State::unkept("nobody looked at it before"),
        }
    }

    fn set(&mut self, spot: Spot, source: Source) {
        if let Some(place) = self.tree.source_mut(spot) {
            *place = source;
        }
    }
}

/// Keeps what stands at `path` now, which was `seen` there.
fn kept(packer: &mut Packer<'_>, path: &Path, seen: Seen, max: u64) -> (State, Source) {
    match Standing::at(path) {
        Standing::File { file, mode, .. } => match packer.put_file(file, max) {
            Ok((content, size)) => (State::File { content, size, mode }, Source::Kept(Held { content, size, mode })),
            Err(error) => (unkept(&error), Source::Unkept(why(&error))),
        },
        Standing::Link { to } => match packer.put_file(to.as_slice(), max) {
            Ok((to, _)) => (State::Link { to }, Source::Kept(Held::seen(to, &seen))),
            Err(error) => (unkept(&error), Source::Unkept(why(&error))),
        },
        // It has changed once more, which the next look finds.
        Standing::Nothing => (State::Absent, Source::Gone),
        Standing::Folder { mode } => (State::Folder { mode }, Source::Unknown),
        Standing::Other(why) => (State::Unkept { why }, Source::Unkept(Why::Unreadable)),
    }
}

/// The same for each of `diffs`, in their order. The time goes into packing and into making files, so several threads do it.
fn kept_by_many(keep: &Keep, diffs: &[Diff<Source>]) -> Vec<(State, Source)> {
    let threads = match diffs.len() {
        0..ALONE => 1,
        _ => std::thread::available_parallelism().map_or(1, usize::from).min(THREADS),
    };
    let next = AtomicUsize::new(0);
    let work = || {
        let mut packer = keep.packer();
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(diff) = diffs.get(at) else { return done };
            done.push((at, kept(&mut packer, &diff.path, diff.now.unwrap_or_default(), MAX_FILE)));
        }
    };
    let mut done = std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for helper in helpers {
            match helper.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, kept)| kept).collect()
}

/// When it was made, in nanoseconds since the Unix epoch, as far as the file system tells.
pub(super) fn born(about: &Metadata) -> Option<i64> {
    let since = about.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_nanos()).ok()
}

/// When anything of it changed last, in nanoseconds since the Unix epoch.
pub(super) fn changed(about: &Metadata) -> i64 {
    about.ctime().saturating_mul(1_000_000_000).saturating_add(about.ctime_nsec())
}

/// Whether the file at `path` is the one that was seen.
fn is_still(path: &Path, seen: &Seen) -> bool {
    path.symlink_metadata().is_ok_and(|about| about.ino() == seen.inode && changed(&about) == seen.changed)
}

fn why(error: &KeepError) -> Why {
    match error {
        KeepError::TooBig { .. } => Why::Large,
        KeepError::Full { .. } => Why::Quota,
        KeepError::Io { .. } | KeepError::Missing(_) | KeepError::Damaged(_) => Why::Unreadable,
    }
}

#[cfg(test)]
mod tests;
