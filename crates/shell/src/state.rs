//! Where commands run: the folders that may be the working folder at a place of the text.

use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Most working folders that are followed; beyond that they are unknown.
const MAX_PLACES: usize = 8;

/// The folders that may be the working folder. None at all: the place is never reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    /// Shared, because they are kept for each command and change with few.
    pub(crate) folders: Rc<Vec<PathBuf>>,
    /// It may be any other too.
    pub(crate) lost: bool,
}

impl Places {
    pub(crate) fn at(folder: &Path) -> Self {
        Self { folders: Rc::new(vec![folder.to_owned()]), lost: false }
    }

    pub(crate) fn lost() -> Self {
        Self { folders: Rc::default(), lost: true }
    }

    pub(crate) fn nowhere() -> Self {
        Self { folders: Rc::default(), lost: false }
    }

    /// One of these or one of those.
    pub(crate) fn or(mut self, other: &Self) -> Self {
        if !Rc::ptr_eq(&self.folders, &other.folders) {
            for folder in other.folders.iter() {
                if !self.folders.contains(folder) {
                    Rc::make_mut(&mut self.folders).push(folder.clone());
                }
            }
        }
        self.lost |= other.lost;
        if self.folders.len() > MAX_PLACES {
            Rc::make_mut(&mut self.folders).truncate(MAX_PLACES);
            self.lost = true;
        }
        self
    }

    pub(crate) fn only(&self) -> Option<&Path> {
        match self.folders.as_slice() {
            [folder] if !self.lost => Some(folder),
            _ => None,
        }
    }
}

/// Where the working folder may be after a command, by how it ended.
#[derive(Debug, Clone)]
pub(crate) struct After {
    pub(crate) done: Places,
    pub(crate) failed: Places,
}

impl After {
    pub(crate) fn same(places: Places) -> Self {
        Self { done: places.clone(), failed: places }
    }

    pub(crate) fn either(self) -> Places {
        self.done.or(&self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_places_are_unknown_ones() {
        let all = |count: usize| {
            (0..count).fold(Places::nowhere(), |all, at| all.or(&Places::at(Path::new(&format!("/{at}")))))
        };
        assert!(!all(MAX_PLACES).lost);
        assert!(all(MAX_PLACES + 1).lost);
    }
}
