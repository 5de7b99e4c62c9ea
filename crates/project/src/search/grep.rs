//! Searching files: the visitor that opens them and keeps what is found in the newest ones.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use rustix::fs::{FileType, Stat, fstat};

use super::best::Best;
use super::counted::Counted;
use super::lines::{Lines, Want};
use super::walk::{Visit, Walked};
use super::{FileMatches, Grep, Key, Matches, into_inner, lock, takes};
use crate::Files;
use crate::door::{self, kind};
use crate::files::READ;
use crate::stamp::modified;

pub(super) struct Grepping<'a> {
    files: &'a Files,
    grep: &'a Grep,
    stop: &'a AtomicBool,
    all: Mutex<Part>,
}

/// What one thread found, or all of them.
struct Part {
    best: Best<Key, FileMatches>,
    total: usize,
    in_files: usize,
    denied: Counted,
    cut: Counted,
}

/// A thread that searches.
pub(super) struct Worker<'a> {
    lines: Lines<'a>,
    part: Part,
}

impl Part {
    fn new(max: usize) -> Self {
        Self { best: Best::new(max), total: 0, in_files: 0, denied: Counted::default(), cut: Counted::default() }
    }
}

impl<'a> Grepping<'a> {
    pub(super) fn new(files: &'a Files, grep: &'a Grep, stop: &'a AtomicBool) -> Self {
        Self { files, grep, stop, all: Mutex::new(Part::new(grep.max)) }
    }

    /// Searches a single file.
    pub(super) fn one(&self, fd: OwnedFd, stat: &Stat, path: &Path) {
        let mut worker = self.worker();
        if self.may_read(&mut worker.part, path) {
            self.search(&mut worker, fd, stat, path);
        }
        self.end(worker);
    }

    /// Whether the file at `path` may be read. If not it is counted.
    fn may_read(&self, part: &mut Part, path: &Path) -> bool {
        let title = self.files.title(path);
        let may = (self.grep.may_read)(&title);
        if !may {
            part.denied.add(title);
        }
        may
    }

    /// Searches an open file that may be read.
    fn search(&self, Worker { lines, part }: &mut Worker<'_>, fd: OwnedFd, stat: &Stat, path: &Path) {
        let found = lines.search(File::from(fd), u64::try_from(stat.st_size).unwrap_or(0));
        if found.cut {
            part.cut.add(self.files.title(path));
        }
        if found.count == 0 {
            return;
        }
        part.total += found.count;
        part.in_files += 1;
        let weight = match self.grep.want {
            Want::Lines { .. } => found.kept,
            Want::Counts | Want::Names => 1,
        };
        let rank = -modified(stat);
        if !part.best.is_past(|(last, _)| rank > *last) {
            let file = FileMatches { path: path.to_owned(), count: found.count, lines: found.lines };
            part.best.add((rank, path.to_owned()), weight, file);
        }
    }

    pub(super) fn matches(self, walked: Walked) -> Matches {
        let Part { best, total, in_files, denied, cut } = into_inner(self.all);
        Matches {
            files: best.into_ordered().map(|(_, file)| file).collect(),
            total,
            in_files,
            denied: denied.into_files(),
            cut: cut.into_files(),
            gaps: walked.into(),
        }
    }
}

impl<'a> Visit for Grepping<'a> {
    type Worker = Worker<'a>;

    fn worker(&self) -> Worker<'a> {
        let lines = Lines::new(&self.grep.pattern, self.grep.want, self.grep.max, self.stop);
        Worker { lines, part: Part::new(self.grep.max) }
    }

    fn wants(&self, path: &Path) -> bool {
        takes(self.grep.names.as_ref(), path)
    }

    fn file(&self, worker: &mut Worker<'a>, dir: &OwnedFd, name: &Path, path: &Path) {
        if !self.may_read(&mut worker.part, path) {
            return;
        }
        // It may have gone, or turned into something else, since its name was read.
        let Ok(fd) = door::step(dir, name, READ) else { return };
        match fstat(&fd) {
            Ok(stat) if kind(&stat) == FileType::RegularFile => self.search(worker, fd, &stat, path),
            _ => {}
        }
    }

    fn end(&self, Worker { part, .. }: Worker<'a>) {
        let mut all = lock(&self.all);
        all.total += part.total;
        all.in_files += part.in_files;
        all.best.absorb(part.best);
        all.denied.absorb(part.denied);
        all.cut.absorb(part.cut);
    }
}
