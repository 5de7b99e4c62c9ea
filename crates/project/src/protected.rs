//! What makes programs of the user run something later, or decides what haft itself may do: repositories' hooks and
//! settings, those of editors and shells, our own. A process may not change it, however deep in the folders it may
//! change it lies.
//!
//! [`Protection::guard`] looks at those folders before a command runs: what is there already can be mounted read-only
//! ([`Guarded::frozen`]), and is remembered. [`Guarded::put_back`] looks again afterwards: what was changed all the same
//! gets its old content, what is new is taken away. A new repository stays, with nothing in it that runs.

mod after;
mod gitconfig;
mod harmless;
mod links;
mod lists;
mod mend;
mod names;
mod own;
mod shape;
mod survey;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use self::after::{Before, Mending};
use self::links::{Named, Scene};
use self::names::{Ground, Kind, Verdict, judge};
use self::own::Own;
use self::shape::{Contents, Shape, Taking};
use self::survey::{Memory, Seen};

/// Most files and folders that are [`Guarded::frozen`]: each is a mount of its own. Those that lie deepest are left out,
/// and put back like all others.
const MAX_FROZEN: usize = 256;
/// Most words of [`Guarded::gaps`].
const MAX_GAPS: usize = 20;

/// Whether something of this name is protected wherever it lies, or may hold what is: a file, or a folder.
pub fn is_protected(name: &OsStr) -> bool {
    [true, false].into_iter().any(|folder| match judge(Ground::Plain, name.as_bytes(), folder) {
        Verdict::Protected(_) | Verdict::Into(Ground::Git) => true,
        Verdict::Into(
            Ground::Plain | Ground::Info | Ground::Modules | Ground::Worktrees | Ground::Rebase | Ground::Packages,
        )
        | Verdict::Passed => false,
    })
}

/// Looks after what is protected. Remembers what it saw, so that the second look costs little. A handle, cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Protection {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    home: Option<PathBuf>,
    limits: Limits,
    state: Mutex<State>,
    own: Mutex<Own>,
}

#[derive(Debug, Default)]
struct State {
    memory: Memory,
    contents: Contents,
}

/// How much is looked at and remembered.
#[derive(Debug, Clone, Copy, Default)]
struct Limits {
    survey: survey::Limits,
    shape: shape::Limits,
}

/// Which files are not to be read.
#[derive(Clone)]
pub struct Secrets {
    /// Two with the same number hide the same files.
    pub id: u64,
    /// Whether the file at this path, absolute and without links, is hidden. Called from several threads.
    pub hides: Arc<dyn Fn(&Path) -> bool + Send + Sync>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What was there before a command.
#[derive(Debug, Clone)]
pub struct Guarded {
    inner: Arc<Inner>,
    roots: Vec<PathBuf>,
    /// Those that were asked for: what is known of folders depends on them.
    secrets: Option<Secrets>,
    shapes: BTreeMap<PathBuf, (Kind, Shape)>,
    repositories: BTreeSet<PathBuf>,
    named: Named,
    moment: i128,
    cut: bool,
    frozen: Vec<PathBuf>,
    /// The folders that the frozen ones are in.
    homes: BTreeMap<PathBuf, Home>,
    pinned: Vec<PathBuf>,
    hidden: Vec<PathBuf>,
    gaps: Vec<String>,
}

/// Which folder it is: its device and its number there.
type Home = (u64, u64);

/// Whether what is [`Guarded::frozen`] could be changed by the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// No: the system kept it as it was. A change that is found is somebody else's, and stays, unless the folder it is in
    /// was moved away.
    Frozen,
    /// Yes.
    Nothing,
}

/// Something protected that was not as before when a command had ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// Where, absolute.
    pub path: PathBuf,
    /// What had become of it.
    pub what: What,
    /// The settings of git that were the reason, where it is about single ones: `core.hookspath`. Where they are new, the
    /// rest of the file has stayed.
    pub keys: Vec<String>,
    /// Why it could not be put back, where it could not.
    pub failed: Option<String>,
}

/// What had become of something protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// It had another content, and has its old one again.
    Changed,
    /// It was not there before, and is gone again.
    New,
    /// It was gone, and is back.
    Removed,
}

impl Protection {
    /// `home`: the folder whose settings are those of the user's programs, absolute and without links.
    pub fn new(home: Option<&Path>) -> Self {
        Self::limited(home, Limits::default())
    }

    fn limited(home: Option<&Path>, limits: Limits) -> Self {
        let home = home.map(Path::to_path_buf);
        Self { inner: Arc::new(Inner { home, limits, ..Inner::default() }) }
    }

    /// Looks at `roots`, the folders below which a command may change everything, before it runs. They are absolute and
    /// without links. The system's temp folder is to be left out: others work there at the same time, and what they make
    /// would be taken away. A root that is itself protected is leave for exactly that.
    ///
    /// Blocks: milliseconds, tens of them in a large tree.
    pub fn guard(&self, roots: &[PathBuf], secrets: Option<&Secrets>) -> Guarded {
        let moment = survey::now();
        let roots: Vec<PathBuf> = roots.iter().filter(|root| root.is_absolute()).cloned().collect();
        let mut guard = self.inner.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        let Seen { found, repositories, hidden, cut, hidden_cut, unread } =
            self.inner.seen(&mut state.memory, &roots, secrets);
        let scene =
            Scene { home: self.inner.home.as_deref(), roots: &roots, found: &found, repositories: &repositories };
        let named = scene.named();
        let mut taking = Taking::new(self.inner.limits.shape, moment, &state.contents);
        let all = found.iter().chain(&named.paths).filter(|(path, _)| !granted(&roots, path));
        let shapes: BTreeMap<PathBuf, (Kind, Shape)> =
            all.filter_map(|(path, kind)| Some((path.clone(), (*kind, taking.take(path)?)))).collect();
        let Taking { contents, left_out, .. } = taking;
        state.contents = contents;
        let (frozen, many) = frozen(&roots, &shapes);
        let above: BTreeSet<&Path> = frozen.iter().filter_map(|path| path.parent()).collect();
        let pinned = above.iter().filter(|path| repositories.contains(**path)).map(|path| path.to_path_buf()).collect();
        let homes = above.into_iter().filter_map(|path| Some((path.to_owned(), home(path)?))).collect();
        let mut gaps = Vec::new();
        let mut gap = |is: bool, text: &str| gaps.extend(is.then(|| text.to_owned()));
        gap(cut, "there are more folders than are looked at; what is protected in the deepest ones is not");
        gap(unread > 0, "some folders cannot be read; what is protected in them is not");
        gap(many, "there is more protected than can be frozen; the deepest of it is put back instead");
        gap(hidden_cut, "there are more files that are not to be read than can be hidden");
        let large = |path: &PathBuf| format!("{} is too large to be put back if it is changed", path.display());
        gaps.extend(left_out.iter().take(MAX_GAPS - gaps.len()).map(large));
        let inner = Arc::clone(&self.inner);
        let secrets = secrets.cloned();
        Guarded { inner, roots, secrets, shapes, repositories, named, moment, cut, frozen, homes, pinned, hidden, gaps }
    }
}

impl Protection {
    /// Says that haft itself has just written or removed the file at `path`, with leave: commands that run meanwhile are
    /// not blamed for it, and it is what their repair goes back to. [`Files::tell`](crate::Files::tell) sees to it.
    pub fn wrote(&self, path: &Path) {
        self.inner.own.lock().unwrap_or_else(PoisonError::into_inner).note(path);
    }
}

impl Inner {
    fn seen(&self, memory: &mut Memory, roots: &[PathBuf], secrets: Option<&Secrets>) -> Seen {
        memory.survey(roots, secrets, self.limits.survey)
    }
}

impl Guarded {
    /// Files and folders that are there and protected, absolute and without links, for
    /// [`Cage::frozen`](haft_sandbox::Cage::frozen). Not those in folders that are removed and made again as a whole, such
    /// as a build's: what is frozen cannot be removed, nor can what it is in.
    pub fn frozen(&self) -> &[PathBuf] {
        &self.frozen
    }

    /// Folders that git keeps repositories in and that hold something frozen. Where they can be mounted on themselves they
    /// should be, before what is frozen: then a command cannot move one away and put another in its place. If it does, the
    /// other gets what was in the first.
    pub fn pinned(&self) -> &[PathBuf] {
        &self.pinned
    }

    /// Files that are not to be read, for [`Cage::hidden`](haft_sandbox::Cage::hidden).
    pub fn hidden(&self) -> &[PathBuf] {
        &self.hidden
    }

    /// What could not be looked at or remembered, in words.
    pub fn gaps(&self) -> &[String] {
        &self.gaps
    }

    /// Looks again, after the command, and puts back what is protected. Returns what was not as before, at most a hundred
    /// of it. Blocks.
    ///
    /// Of a repository that was there before, settings may have changed that run nothing and lead nowhere else, such as
    /// what a branch tracks. A repository that was not keeps such settings too, and examples of hooks.
    pub fn put_back(&self, held: Held) -> Vec<Repair> {
        let own = self.inner.own.lock().unwrap_or_else(PoisonError::into_inner);
        let laid = own.laid_over(&self.shapes, self.moment, &self.roots);
        drop(own);
        let shapes = laid.as_ref().unwrap_or(&self.shapes);
        let before =
            Before { roots: &self.roots, shapes, repositories: &self.repositories, moment: self.moment, cut: self.cut };
        let mut mending = Mending::new(before);
        for (path, (kind, shape)) in shapes {
            if held == Held::Nothing || !self.stayed(path) {
                mending.restore(path, *kind, shape);
            }
        }
        let mut guard = self.inner.state.lock().unwrap_or_else(PoisonError::into_inner);
        let after = self.inner.seen(&mut guard.memory, &self.roots, self.secrets.as_ref());
        drop(guard);
        let scene = Scene {
            home: self.inner.home.as_deref(),
            roots: &self.roots,
            found: &after.found,
            repositories: &after.repositories,
        };
        let hooks = scene.hook_folders(&self.named);
        for (path, kind) in after.found.iter().chain(&hooks).chain(&self.named.paths) {
            if !shapes.contains_key(path) && !granted(&self.roots, path) {
                mending.vet(path, *kind, &after);
            }
        }
        mending.done()
    }
}

impl Guarded {
    /// Whether what is frozen at `path` was so until the end: the folder it is in can be moved away with it, and then
    /// another stands there.
    fn stayed(&self, path: &Path) -> bool {
        let above = path.parent().unwrap_or(path);
        self.frozen.binary_search_by(|frozen| frozen.as_path().cmp(path)).is_ok()
            && self.homes.get(above).is_some_and(|known| home(above).as_ref() == Some(known))
    }
}

fn home(folder: &Path) -> Option<Home> {
    let meta = folder.symlink_metadata().ok().filter(std::fs::Metadata::is_dir)?;
    Some((meta.dev(), meta.ino()))
}

/// Whether leave was given for exactly that, and not only for what it is in.
fn granted(roots: &[PathBuf], path: &Path) -> bool {
    exact(roots).any(|root| path.starts_with(root))
}

/// Whether leave was given for something in the folder at `path`, and not for all of it.
fn granted_within(roots: &[PathBuf], path: &Path) -> bool {
    exact(roots).any(|root| root != path && root.starts_with(path))
}

/// Those of `roots` that are themselves protected.
fn exact(roots: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    roots.iter().filter(|root| !matches!(names::at(root), names::Verdict::Into(_)))
}

/// What can be kept as it is while the command runs, sorted, and whether it was too many.
fn frozen(roots: &[PathBuf], shapes: &BTreeMap<PathBuf, (Kind, Shape)>) -> (Vec<PathBuf>, bool) {
    let fits = |shape: &Shape| match shape {
        Shape::File(_) | Shape::Folder(_) => true,
        Shape::Link(_) | Shape::Other => false,
    };
    let passes = |path: &Path| {
        let mut below = roots.iter().filter_map(|root| path.strip_prefix(root).ok());
        below.all(names::passes)
    };
    // Git itself goes on with a rebase.
    let stays = |kind: Kind| kind != Kind::Todo;
    // In a read-only folder nothing could be made or replaced, also what there is leave for.
    let held = |path: &Path| !passes(path) && !granted_within(roots, path);
    let all = shapes.iter().filter(|(path, (kind, shape))| stays(*kind) && fits(shape) && held(path));
    let mut frozen: Vec<PathBuf> = all.map(|(path, _)| path.clone()).collect();
    frozen.sort_by_cached_key(|path| (path.components().count(), path.clone()));
    let many = frozen.len() > MAX_FROZEN;
    frozen.truncate(MAX_FROZEN);
    frozen.sort_unstable();
    (frozen, many)
}

#[cfg(test)]
mod tests;
