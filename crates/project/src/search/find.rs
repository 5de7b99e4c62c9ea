//! Finding files: the visitor that keeps the first ones of them.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Mutex;

use rustix::fs::{AtFlags, statat};

use super::best::Best;
use super::walk::{Visit, Walked};
use super::{Find, FoundFiles, Key, Order, into_inner, lock, takes};
use crate::stamp::modified;

pub(super) struct Finding<'a> {
    root: &'a Path,
    find: &'a Find,
    all: Mutex<Part>,
}

/// What one thread found, or all of them.
pub(super) struct Part {
    best: Best<Key, ()>,
    total: usize,
}

impl<'a> Finding<'a> {
    pub(super) fn new(root: &'a Path, find: &'a Find) -> Self {
        Self { root, find, all: Mutex::new(Part { best: Best::new(find.max), total: 0 }) }
    }

    pub(super) fn found(self, walked: Walked) -> FoundFiles {
        let Part { best, total } = into_inner(self.all);
        let paths = best.into_ordered().map(|((_, path), ())| path).collect();
        FoundFiles { paths, total, gaps: walked.into() }
    }
}

impl Visit for Finding<'_> {
    type Worker = Part;

    fn worker(&self) -> Part {
        Part { best: Best::new(self.find.max), total: 0 }
    }

    fn wants(&self, path: &Path) -> bool {
        takes(self.find.names.as_ref(), path)
    }

    fn file(&self, part: &mut Part, dir: &OwnedFd, name: &Path, path: &Path) {
        let rank = match self.find.order {
            Order::Newest => match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => -modified(&stat),
                // It went away meanwhile.
                Err(_) => return,
            },
            Order::Shallowest => path.strip_prefix(self.root).map_or(0, |below| below.components().count() as i128),
        };
        part.total += 1;
        if !part.best.is_past(|(last, _)| rank > *last) {
            part.best.add((rank, path.to_owned()), 1, ());
        }
    }

    fn end(&self, part: Part) {
        let mut all = lock(&self.all);
        all.total += part.total;
        all.best.absorb(part.best);
    }
}
