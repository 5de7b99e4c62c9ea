//! Work trees of a repository: a copy of the project, with what is not committed yet, in which somebody works apart; and
//! what they changed there, held against what stands in the project by then.
//!
//! git does the copying. Nothing that a repository or its settings could have run is: no hooks, no filters, no monitors,
//! no external diffs, and nothing is fetched.

mod git;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, SystemTime};

use self::git::{command, fed, filters, git, paths, said};
use crate::place::{pointer, repository};

/// Most files that may differ; most uncommitted ones that it begins with.
const MAX_CHANGED: usize = 500;
/// Largest file that is carried over, or that it begins with though it is not committed, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Most work trees that stand at once.
pub const MAX_TREES: usize = 32;
/// How long one may stand that nobody looked after.
const OLD: Duration = Duration::from_secs(7 * 24 * 3600);

/// A work tree of a repository, away from it.
#[derive(Debug, Clone)]
pub struct Worktree {
    /// The top of the project's own.
    top: PathBuf,
    /// Its own top.
    path: PathBuf,
    /// Where git keeps what it knows of it. What works in it could make its `.git` say something else.
    git_dir: PathBuf,
    /// The commit that it began with: the last one, and on it what was not committed yet.
    base: String,
    /// Uncommitted files that it began without.
    without: Vec<PathBuf>,
}

/// Why there is no work tree, or what stands in its way.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    /// git is not there.
    #[error("git cannot be started ({0}); without it there are no work trees")]
    NoGit(std::io::Error),
    /// There is nothing to copy.
    #[error("{} has no commit yet, so there is nothing that a work tree could begin with; make one first", .0.display())]
    NoCommit(PathBuf),
    /// As many stand as may.
    #[error("{MAX_TREES} work trees stand in {} already; look what is in them and remove those that are done", .0.display())]
    Many(PathBuf),
    /// So much was changed that it is not carried over.
    #[error("{0} files were changed, and at most {MAX_CHANGED} are carried over at once")]
    Much(usize),
    /// git says no.
    #[error("git {what} failed: {why}")]
    Git {
        /// What it was to do.
        what: String,
        /// Its last words.
        why: String,
    },
    /// The disk says no.
    #[error("cannot use {}: {source}", path.display())]
    Disk {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// What is to be done in the project so that it has what was done in a work tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merge {
    /// What the files are then, by their paths from the top; `None` where one is gone.
    pub take: Vec<(PathBuf, Option<String>)>,
    /// Files that cannot be carried over, each with the reason. Where there are any, nothing should be.
    pub conflicts: Vec<(PathBuf, String)>,
}

impl Worktree {
    /// Makes a work tree of the repository at `top`, below `folder`, that begins with what stands there, committed or
    /// not. What is old and forgotten there is removed first. Takes as long as a checkout does.
    ///
    /// # Errors
    ///
    /// [`WorktreeError`], all but `Much`.
    pub fn add(top: &Path, folder: &Path, name: &str) -> Result<Self, WorktreeError> {
        let disk = |source| WorktreeError::Disk { path: folder.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(disk)?;
        sweep(folder);
        let standing = std::fs::read_dir(folder).map_err(disk)?.count();
        if standing >= MAX_TREES {
            return Err(WorktreeError::Many(folder.to_owned()));
        }
        let none = |_| WorktreeError::NoCommit(top.to_owned());
        let base = git(top, &filters(top)?, &["rev-parse", "--verify", "HEAD^{commit}"])?;
        let base = said(base, "rev-parse").map_err(none)?;
        let base = String::from_utf8_lossy(&base).trim().to_owned();
        let path = folder.canonicalize().map_err(disk)?.join(name);
        let at = path.as_os_str();
        let quiet = filters(top)?;
        let (base, without) = as_it_stands(top, &quiet, base, &path.with_extension("index"))?;
        // What was removed by hand is forgotten here, too.
        git(top, &quiet, &["worktree", "prune"])?;
        let add: Vec<&OsStr> = ["worktree", "add", "--quiet", "--detach"].map(OsStr::new).to_vec();
        let add = [add, vec![at, OsStr::new(&base)]].concat();
        said(git(top, &quiet, &add)?, "worktree add")?;
        let git_dir = said(git(&path, &quiet, &["rev-parse", "--absolute-git-dir"])?, "rev-parse")?;
        let git_dir = PathBuf::from(OsString::from_vec(git_dir.trim_ascii_end().to_vec()));
        let tree = Self { top: top.to_owned(), path, git_dir, base, without };
        said(tree.git(&quiet, &["update-ref", BASE, &tree.base])?, "update-ref")?;
        Ok(tree)
    }

    /// The work tree of the repository at `top` that was made as `name` below `folder` and still stands. `None` where
    /// there is none.
    ///
    /// # Errors
    ///
    /// When git fails.
    pub fn standing(top: &Path, folder: &Path, name: &str) -> Result<Option<Self>, WorktreeError> {
        let Ok(path) = folder.join(name).canonicalize() else { return Ok(None) };
        let git_dir = repository(top).join("worktrees").join(name);
        let is_its = pointer(&git_dir.join("gitdir")).is_some_and(|at| Path::new(at.trim()) == path.join(".git"));
        if !is_its {
            return Ok(None);
        }
        let tree = Self { top: top.to_owned(), path, git_dir, base: String::new(), without: Vec::new() };
        let base = tree.git(&filters(top)?, &["rev-parse", "--verify", "--quiet", BASE])?;
        let base = String::from_utf8_lossy(&base.stdout).trim().to_owned();
        Ok((!base.is_empty()).then_some(Self { base, ..tree }))
    }

    /// Removes what is old and forgotten below `folder`.
    pub fn sweep(folder: &Path) {
        sweep(folder);
    }

    /// Its top.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The top of the project's own.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The files of the project that are not committed and too large, too many or of a kind to begin with them.
    pub fn without(&self) -> &[PathBuf] {
        &self.without
    }

    /// Holds what was done here against what stands in the project now: a three-way merge of each file that was changed.
    ///
    /// # Errors
    ///
    /// When git fails, a file cannot be read, or too many were changed.
    pub fn merge(&self) -> Result<Merge, WorktreeError> {
        let mut merge = Merge::default();
        for path in self.changed()? {
            let base = self.at_first(&path)?;
            let (theirs, ours) = (text(&self.path.join(&path))?, text(&self.top.join(&path))?);
            let (theirs, ours) = match (theirs, ours) {
                (Ok(theirs), Ok(ours)) => (theirs, ours),
                (Err(why), _) => {
                    merge.conflicts.push((path, format!("{why}, so it is not carried over")));
                    continue;
                }
                (_, Err(why)) => {
                    merge.conflicts.push((path, format!("in the project {why}")));
                    continue;
                }
            };
            if theirs == ours || theirs == base {
                continue;
            }
            if ours == base {
                merge.take.push((path, theirs));
                continue;
            }
            match (&base, &theirs, &ours) {
                (_, Some(theirs), Some(ours)) => match self.merged(ours, base.as_deref().unwrap_or(""), theirs)? {
                    Some(text) => merge.take.push((path, Some(text))),
                    None => merge.conflicts.push((path, "both changed the same lines".to_owned())),
                },
                (_, None, _) => merge.conflicts.push((path, "it was removed, and changed in the project".to_owned())),
                (_, _, None) => merge.conflicts.push((path, "it was changed, and removed in the project".to_owned())),
            }
        }
        Ok(merge)
    }

    /// Removes it, with all that is in it.
    ///
    /// # Errors
    ///
    /// When git fails.
    pub fn remove(&self) -> Result<(), WorktreeError> {
        let remove = [["worktree", "remove", "--force"].map(OsStr::new).to_vec(), vec![self.path.as_os_str()]].concat();
        said(git(&self.top, &filters(&self.top)?, &remove)?, "worktree remove").map(drop)
    }

    /// Runs git on it, whatever its own `.git` says.
    fn git(&self, settings: &[String], args: &[&str]) -> Result<Output, WorktreeError> {
        let mut command = command(&self.path, settings, args);
        command.env("GIT_DIR", &self.git_dir).env("GIT_WORK_TREE", &self.path);
        command.output().map_err(WorktreeError::NoGit)
    }

    /// The files that are other than in the commit that it began with.
    ///
    /// # Errors
    ///
    /// When git fails, or there are too many.
    pub fn changed(&self) -> Result<Vec<PathBuf>, WorktreeError> {
        let quiet = filters(&self.top)?;
        let diff =
            ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", self.base.as_str(), "--"];
        let mut names = said(self.git(&quiet, &diff)?, "diff")?;
        names.extend(said(self.git(&quiet, &NEW)?, "ls-files")?);
        let all = paths(&names);
        if all.len() > MAX_CHANGED { Err(WorktreeError::Much(all.len())) } else { Ok(all) }
    }

    /// What a file was in the commit that it began with.
    fn at_first(&self, path: &Path) -> Result<Option<String>, WorktreeError> {
        let mut name = OsString::from(format!("{}:", self.base));
        name.push(path);
        let output = git(&self.top, &[], &[OsStr::new("cat-file"), OsStr::new("blob"), &name])?;
        // One that was not there is made.
        Ok(output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
    }

    /// The three as one; `None` where they do not go together.
    fn merged(&self, ours: &str, base: &str, theirs: &str) -> Result<Option<String>, WorktreeError> {
        let beside = self.path.with_extension("merge");
        let disk = |source| WorktreeError::Disk { path: beside.clone(), source };
        std::fs::create_dir_all(&beside).map_err(disk)?;
        let files = [("ours", ours), ("base", base), ("theirs", theirs)].map(|(name, text)| (beside.join(name), text));
        for (path, text) in &files {
            std::fs::write(path, text).map_err(disk)?;
        }
        let mut merge: Vec<&OsStr> = ["merge-file", "-p", "-q"].map(OsStr::new).to_vec();
        merge.extend(files.iter().map(|(path, _)| path.as_os_str()));
        let output = git(&self.top, &[], &merge);
        std::fs::remove_dir_all(&beside).map_err(disk)?;
        let output = output?;
        Ok(output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
    }
}

/// The name, within a work tree, of the commit that it began with.
const BASE: &str = "refs/worktree/haft-base";
/// How git is asked which files it does not know.
const NEW: [&str; 4] = ["ls-files", "--others", "--exclude-standard", "-z"];

/// A commit of what stands in the repository at `top`, whose last commit is `head`; and the files that are not in it.
/// Nothing in the repository leads to it, and the person's own index stays as it is: `index` is a copy.
fn as_it_stands(
    top: &Path,
    quiet: &[String],
    head: String,
    index: &Path,
) -> Result<(String, Vec<PathBuf>), WorktreeError> {
    let differs = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=all"];
    let mut names = said(git(top, quiet, &[&differs[..], &[head.as_str(), "--"]].concat())?, "diff")?;
    names.extend(said(git(top, quiet, &NEW)?, "ls-files")?);
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for path in paths(&names) {
        let fits = match top.join(&path).symlink_metadata() {
            Ok(meta) => (meta.is_file() || meta.is_symlink()) && meta.len() <= MAX_BYTES,
            // It is gone, which counts too.
            Err(_) => true,
        };
        let kept = if fits && with.len() < MAX_CHANGED { &mut with } else { &mut without };
        kept.push(path);
    }
    if with.is_empty() {
        return Ok((head, without));
    }
    let base = commit(top, quiet, &head, index, &with);
    // Where there is none, nothing was begun.
    let _ = std::fs::remove_file(index);
    Ok((base?, without))
}

/// A commit on `head` in which `changed` are as they stand in `top`.
fn commit(
    top: &Path,
    quiet: &[String],
    head: &str,
    index: &Path,
    changed: &[PathBuf],
) -> Result<String, WorktreeError> {
    let own = said(git(top, quiet, &["rev-parse", "--git-path", "index"])?, "rev-parse")?;
    let own = top.join(OsString::from_vec(own.trim_ascii_end().to_vec()));
    // With what git knows of the files, so that it need not read them all.
    std::fs::copy(&own, index).map_err(|source| WorktreeError::Disk { path: own, source })?;
    let run = |args: &[&str], input: &[u8]| {
        let mut command = command(top, quiet, args);
        let name = "haft";
        let who = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
        command.env("GIT_INDEX_FILE", index).envs(who.map(|who| (who, name)));
        let told = fed(command, input)?;
        said(told, args.first().copied().unwrap_or_default())
    };
    let mut names: Vec<u8> = Vec::new();
    for path in changed {
        names.extend_from_slice(path.as_os_str().as_bytes());
        names.push(0);
    }
    run(&["update-index", "--add", "--remove", "--replace", "-z", "--stdin"], &names)?;
    let line = |told: Vec<u8>| String::from_utf8_lossy(&told).trim().to_owned();
    let tree = line(run(&["write-tree"], &[])?);
    run(&["commit-tree", "--no-gpg-sign", "-p", head, "-m", "what a task began with", &tree], &[]).map(line)
}

/// Removes work trees below `folder` that nobody looked after for long. What git keeps of them it forgets by itself.
fn sweep(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok).take(2 * MAX_TREES) {
        let touched = entry.metadata().and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        let is_old = SystemTime::now().duration_since(touched).is_ok_and(|age| age > OLD);
        // A link is not followed: what it leads to is not ours.
        if is_old && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // One that cannot be removed counts on, and is tried again.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// The text of a file as it can be carried over: `Ok(None)` where there is none, `Err` with what keeps it from that.
fn text(path: &Path) -> Result<Result<Option<String>, &'static str>, WorktreeError> {
    let disk = |source| WorktreeError::Disk { path: path.to_owned(), source };
    let meta = match path.symlink_metadata() {
        Ok(meta) => meta,
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return Ok(Ok(None));
        }
        Err(error) => return Err(disk(error)),
    };
    if !meta.is_file() {
        return Ok(Err("it is no plain file"));
    }
    if meta.len() > MAX_BYTES {
        return Ok(Err("it is too large"));
    }
    let bytes = std::fs::read(path).map_err(disk)?;
    Ok(match String::from_utf8(bytes) {
        Ok(text) if text.contains('\0') => Err("it is no text"),
        Ok(text) if text.contains('\r') || !(text.is_empty() || text.ends_with('\n')) => {
            Err("its lines do not end as those of a patch")
        }
        Ok(text) => Ok(Some(text)),
        Err(_) => Err("it is no text"),
    })
}

#[cfg(test)]
mod tests;
