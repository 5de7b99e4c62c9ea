//! After a command: what is not as before, and what is done about it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, fchmod, fstat, statat};
use rustix::io::Errno;

use super::gitconfig::{self, Setting};
use super::names::Kind;
use super::shape::{self, Contents, Folder, Limits, Plain, Shape, Taking};
use super::survey::{Id, Seen, now};
use super::{Repair, What, granted, granted_within, harmless, links, mend};
use crate::door::{self, FOLDER, kind};
use crate::write::split;

/// Most repairs that are told one by one.
pub(super) const MAX_TOLD: usize = 100;

/// What was there before.
pub(super) struct Before<'a> {
    pub(super) roots: &'a [PathBuf],
    pub(super) shapes: &'a BTreeMap<PathBuf, (Kind, Shape)>,
    pub(super) repositories: &'a BTreeSet<PathBuf>,
    /// When it was looked at.
    pub(super) moment: i128,
    /// Whether it was all.
    pub(super) cut: bool,
}

/// Puts back and takes away.
pub(super) struct Mending<'a> {
    before: Before<'a>,
    repairs: Vec<Repair>,
}

impl<'a> Mending<'a> {
    pub(super) fn new(before: Before<'a>) -> Self {
        Self { before, repairs: Vec::new() }
    }

    /// What was done, by path.
    pub(super) fn done(mut self) -> Vec<Repair> {
        self.repairs.sort_by(|one, other| one.path.cmp(&other.path));
        self.repairs.dedup();
        self.repairs.truncate(MAX_TOLD);
        self.repairs
    }

    fn note(&mut self, path: &Path, what: What, done: Result<(), Errno>) {
        self.note_keys(path, what, Vec::new(), done);
    }

    fn note_keys(&mut self, path: &Path, what: What, keys: Vec<String>, done: Result<(), Errno>) {
        let failed = done.err().map(|errno| match errno {
            Errno::FBIG => "it is too large to be remembered".to_owned(),
            errno => std::io::Error::from(errno).to_string(),
        });
        self.repairs.push(Repair { path: path.to_owned(), what, keys, failed });
    }

    /// Makes `path` again what it was.
    pub(super) fn restore(&mut self, path: &Path, kind: Kind, shape: &Shape) {
        let Ok((folder, name)) = split(path) else { return };
        // A folder that is gone took what was in it along.
        let Ok(dir) = door::open(folder, FOLDER) else { return };
        self.restored(&dir, name, path, kind, shape);
    }

    fn restored(&mut self, dir: &OwnedFd, name: &Path, path: &Path, what: Kind, shape: &Shape) {
        if granted(self.before.roots, path) {
            return;
        }
        let stat = match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            // What is done is done.
            Err(Errno::NOENT) if what == Kind::Todo => return,
            Err(Errno::NOENT) => return self.note(path, What::Removed, mend::make(dir, name, shape)),
            Err(errno) => return self.note(path, What::Changed, Err(errno)),
        };
        match (shape, kind(&stat)) {
            (Shape::File(held), FileType::RegularFile) => {
                if held.is_untouched(&stat) {
                    return;
                }
                // Another name for it, elsewhere, would be another way to write to it.
                let joined = shape::links(&stat) > held.links;
                let Some(content) = &held.content else {
                    if !held.looks_untouched(&stat) {
                        self.note(path, What::Changed, Err(Errno::FBIG));
                    }
                    return;
                };
                let is = shape::read(dir, name, (content.len() as u64).max(gitconfig::MAX_BYTES as u64));
                let same = matches!(&is, Ok(Some(is)) if **is == **content);
                if same && !joined && door::mode(&stat) == held.mode {
                    return;
                }
                let mut keys = Vec::new();
                if let (Kind::Config, Ok(Some(is)), false, false) = (what, &is, same, joined)
                    && let (Some(old), Some(new)) = (gitconfig::parse(content), gitconfig::parse(is))
                {
                    keys = harmless::refused(&old, &new);
                    if keys.is_empty() {
                        return;
                    }
                }
                if let (Kind::Todo, Ok(Some(is)), false) = (what, &is, joined)
                    && harmless::runs_no_more(content, is)
                {
                    return;
                }
                self.note_keys(path, What::Changed, keys, mend::make(dir, name, shape));
            }
            (Shape::Link(target), FileType::Symlink) => {
                if shape::link(dir, name).as_ref() != Ok(target) {
                    self.note(path, What::Changed, mend::make(dir, name, shape));
                }
            }
            (Shape::Folder(folder), FileType::Directory) => match mend::enter(dir, name) {
                Ok(inner) => self.inside(&inner, path, what, folder),
                Err(errno) => self.note(path, What::Changed, Err(errno)),
            },
            (Shape::Other, _) => {}
            (Shape::File(_) | Shape::Link(_) | Shape::Folder(_), _) => {
                let done = mend::take(dir, name).and_then(|()| mend::make(dir, name, shape));
                self.note(path, What::Changed, done);
            }
        }
    }

    fn inside(&mut self, dir: &OwnedFd, path: &Path, what: Kind, folder: &Folder) {
        for (name, shape) in &folder.entries {
            self.restored(dir, Path::new(name), &path.join(name), what, shape);
        }
        if folder.whole {
            for name in shape::names(dir).unwrap_or_default() {
                if !folder.entries.contains_key(&name) && !is_sample(what, dir, &name) {
                    self.unless_granted(dir, &name, &path.join(&name));
                }
            }
        }
        // Entering may have opened it, and so may the command.
        if fstat(dir).is_ok_and(|stat| door::mode(&stat) != folder.mode) {
            let _ = fchmod(dir, door::rights(folder.mode));
        }
    }

    /// Takes `name` in `dir` away, a folder but for what there is leave for in it.
    fn unless_granted(&mut self, dir: &OwnedFd, name: &OsStr, path: &Path) {
        if granted(self.before.roots, path) {
            return;
        }
        if granted_within(self.before.roots, path)
            && let Ok(inner) = mend::enter(dir, Path::new(name))
        {
            for name in shape::names(&inner).unwrap_or_default() {
                self.unless_granted(&inner, &name, &path.join(&name));
            }
            return;
        }
        self.note(path, What::New, mend::take(dir, Path::new(name)));
    }

    /// Looks at what was not there before. `after` is what is there now.
    pub(super) fn vet(&mut self, path: &Path, what: Kind, after: &Seen) {
        let Ok((folder, name)) = split(path) else { return };
        let Ok(dir) = door::open(folder, FOLDER) else { return };
        let Ok(stat) = statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        // Not all was looked at before: what is old may have been there.
        if self.before.cut && !Id::of(&stat).changed_since(self.before.moment) {
            return;
        }
        let is = self.shape(path);
        if self.is_copy(path, what, is.as_ref()) {
            return;
        }
        let new_repository = !self.before.repositories.contains(folder);
        match (what, kind(&stat)) {
            (Kind::Hooks, FileType::Directory) => self.vet_hooks(&dir, name, path),
            (Kind::Config, FileType::RegularFile) if shape::links(&stat) == 1 => {
                let content = shape::read(&dir, name, gitconfig::MAX_BYTES as u64).ok().flatten();
                let settings = content.and_then(|content| gitconfig::parse(&content));
                match settings {
                    Some(settings) if new_repository => self.vet_new(&dir, name, path, &settings),
                    Some(settings) => {
                        let keys = harmless::refused(&[], &settings);
                        if !keys.is_empty() {
                            self.note_keys(path, What::New, keys, mend::take(&dir, name));
                        }
                    }
                    None => self.note(path, What::New, mend::take(&dir, name)),
                }
            }
            (Kind::Pointer, FileType::RegularFile)
                if (new_repository || !name.as_os_str().eq_ignore_ascii_case("commondir"))
                    && links::pointed(path).is_some_and(|target| after.repositories.contains(&target)) => {}
            (Kind::Todo, FileType::RegularFile)
                if shape::links(&stat) == 1
                    && shape::read(&dir, name, gitconfig::MAX_BYTES as u64)
                        .is_ok_and(|text| text.is_some_and(|text| harmless::runs_no_more(&[], &text))) => {}
            (Kind::Hooks | Kind::Config | Kind::Pointer | Kind::Settings | Kind::Todo, _) => {
                self.unless_granted(&dir, name.as_os_str(), path);
            }
        }
    }

    /// The settings of a repository that the command has made: those that run nothing stay.
    fn vet_new(&mut self, dir: &OwnedFd, name: &Path, path: &Path, settings: &[Setting]) {
        let within = |value: &str| {
            let target = path.parent().and_then(|folder| folder.join(value).canonicalize().ok());
            target.is_some_and(|target| self.before.roots.iter().any(|root| target.starts_with(root)))
        };
        let (stay, go): (Vec<&Setting>, Vec<&Setting>) =
            settings.iter().partition(|setting| harmless::in_new(setting, &within));
        if go.is_empty() {
            return;
        }
        let keys: BTreeSet<String> = go.into_iter().map(Setting::key).collect();
        let text: String = stay.into_iter().map(Setting::to_string).collect();
        let done = mend::write(dir, name, text.as_bytes(), 0o644);
        self.note_keys(path, What::New, keys.into_iter().collect(), done);
    }

    /// A new folder of hooks: examples, which do not run, may stay in it, and copies of hooks that were there.
    fn vet_hooks(&mut self, dir: &OwnedFd, name: &Path, path: &Path) {
        let inner = match mend::enter(dir, name) {
            Ok(inner) => inner,
            Err(errno) => return self.note(path, What::New, Err(errno)),
        };
        for name in shape::names(&inner).unwrap_or_default() {
            let path = path.join(&name);
            let known = || {
                let is = self.shape(&path)?;
                self.before.shapes.values().find(|(kind, shape)| match shape {
                    Shape::Folder(folder) => {
                        *kind == Kind::Hooks && folder.entries.get(&name).is_some_and(|shape| shape.same_content(&is))
                    }
                    Shape::File(_) | Shape::Link(_) | Shape::Other => false,
                })
            };
            if !is_sample(Kind::Hooks, &inner, &name) && known().is_none() {
                self.unless_granted(&inner, &name, &path);
            }
        }
    }

    fn shape(&self, path: &Path) -> Option<Shape> {
        let known = Contents::new();
        let mut taking = Taking::new(Limits::default(), now(), &known);
        taking.take(path)
    }

    /// Whether the same was there before under the same name: it was copied, or moved with the folder it is in.
    fn is_copy(&self, path: &Path, what: Kind, is: Option<&Shape>) -> bool {
        let Some(is) = is else { return false };
        let single = !matches!(is, Shape::File(Plain { links, .. }) if *links > 1);
        // A pointer and a link mean something else in another place.
        let moves = what != Kind::Pointer && !matches!(is, Shape::Link(_));
        let named = |old: &Path| match (old.file_name(), path.file_name()) {
            (Some(old), Some(new)) => old == new,
            _ => false,
        };
        let mut olds = self.before.shapes.iter().filter(|(old, (kind, _))| *kind == what && named(old));
        single && moves && olds.any(|(_, (_, shape))| shape.same_content(is))
    }
}

/// Whether it is an example of a hook, which does not run under this name.
fn is_sample(what: Kind, dir: &OwnedFd, name: &OsStr) -> bool {
    let plain = || {
        statat(dir, Path::new(name), AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| kind(&stat) == FileType::RegularFile)
    };
    what == Kind::Hooks && OsString::from(name).as_bytes().ends_with(b".sample") && plain()
}
