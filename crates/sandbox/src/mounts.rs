//! Which mounts make a cage of a file system that is read-only everywhere. Pure, except for what is looked at.

#[cfg(target_os = "linux")]
pub(crate) mod place;
pub(crate) mod sockets;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cage::Cage;

/// Most mounts of one cage. Each costs about 20 µs.
pub(crate) const MAX_MOUNTS: usize = 4096;

/// What these hold is made for each cage, and never mounted over.
const MADE: [&str; 2] = ["/dev", "/proc"];

/// One mount, over what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) path: PathBuf,
    pub(crate) what: What,
}

/// What is seen at a path instead of what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// The same, and it can be changed.
    Writable,
    /// The same, and it stays as it is.
    Frozen,
    /// The same, as it is around it: as a mount, it can neither be moved nor removed.
    Pinned,
    /// An empty folder that nobody can look into. Where something below it is shown, it can be passed through.
    NoFolder { passable: bool },
    /// Something that cannot be opened.
    NoFile,
    /// The same, though what is around it is hidden.
    Shown { writable: bool },
}

/// What there is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Folder,
    /// A link. It can be shown, and nothing else.
    Link,
    /// Anything else.
    File,
}

/// What the cage lists a path as.
#[derive(Debug, Clone, Copy, Default)]
struct Listed {
    write: bool,
    frozen: bool,
    hidden: bool,
    shown: bool,
}

/// How a path stands, and all below it that is not listed itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stand {
    visible: bool,
    writable: bool,
}

/// The mounts that `cage` needs, folders before what is in them. `look` says what there is at a path, `None` being
/// nothing: then nothing is done for it.
///
/// What is nearest above a path decides about it, `write` against `frozen` and `hidden` against `shown` (and `write`);
/// of the same path, what closes it.
///
/// # Errors
///
/// There are more than [`MAX_MOUNTS`].
pub(crate) fn plan(cage: &Cage, look: impl Fn(&Path) -> Option<Kind>) -> Result<Vec<Mount>, String> {
    let mut mounts: BTreeMap<PathBuf, What> = BTreeMap::new();
    // From the root down to where we are.
    let mut above: Vec<(PathBuf, Stand)> = vec![(PathBuf::from("/"), Stand { visible: true, writable: false })];
    for (path, listed) in list(cage) {
        let kind = match look(&path) {
            Some(Kind::Link) if !listed.shown => continue,
            Some(kind) => kind,
            None => continue,
        };
        while above.len() > 1 && above.last().is_some_and(|(top, _)| !path.starts_with(top)) {
            above.pop();
        }
        let Some((_, around)) = above.last().cloned() else { continue };
        let own = Stand {
            visible: !listed.hidden && (listed.shown || listed.write || around.visible),
            writable: !listed.frozen && (listed.write || around.writable),
        };
        let what = match (around.visible, own.visible) {
            (true, false) => Some(match kind {
                Kind::Folder => What::NoFolder { passable: false },
                Kind::Link | Kind::File => What::NoFile,
            }),
            (false, false) => None,
            (false, true) => {
                for (at, _) in above.iter().rev().take_while(|(_, stand)| !stand.visible) {
                    if let Some(What::NoFolder { passable }) = mounts.get_mut(at) {
                        *passable = true;
                    }
                }
                Some(What::Shown { writable: own.writable })
            }
            (true, true) if own.writable && !around.writable => Some(What::Writable),
            (true, true) if !own.writable && around.writable => Some(What::Frozen),
            (true, true) if listed.write && own.writable => Some(What::Pinned),
            (true, true) => None,
        };
        if let Some(what) = what {
            mounts.insert(path.clone(), what);
        }
        above.push((path, own));
    }
    for path in pins(&mounts) {
        mounts.entry(path).or_insert(What::Pinned);
    }
    if mounts.len() > MAX_MOUNTS {
        let count = mounts.len();
        return Err(format!("it names {count} files and folders, and {MAX_MOUNTS} is the most that can be kept apart"));
    }
    Ok(mounts.into_iter().map(|(path, what)| Mount { path, what }).collect())
}

/// What the cage says, by path. Paths order by their parts, so that a folder comes before what is in it.
fn list(cage: &Cage) -> BTreeMap<PathBuf, Listed> {
    let mut listed: BTreeMap<PathBuf, Listed> = BTreeMap::new();
    let mut note = |paths: &[PathBuf], mark: fn(&mut Listed)| {
        for path in paths.iter().filter(|path| path.is_absolute() && !MADE.iter().any(|made| path.starts_with(made))) {
            mark(listed.entry(path.components().collect()).or_default());
        }
    };
    note(&cage.write, |listed| listed.write = true);
    note(&cage.frozen, |listed| listed.frozen = true);
    note(&cage.hidden, |listed| listed.hidden = true);
    note(&cage.shown, |listed| listed.shown = true);
    note(&cage.sockets, |listed| listed.shown = true);
    listed
}

/// Folders that must stay where they are, or what is frozen in them could be taken away with them and something else
/// be put into its place: `mv .git a; mkdir .git`. And what is hidden could lie where a later command can read it.
///
/// A mount cannot be moved, but what it is in can. To make all that it is in a mount would forbid the everyday moving of
/// folders (`mv packages/a packages/b`, where `b` keeps what is closed in it), so it is done for those that belong
/// together with what is closed: from the first folder on whose name begins with a dot or ends in `.git`. Folders between
/// two that may be written are all held.
fn pins(mounts: &BTreeMap<PathBuf, What>) -> Vec<PathBuf> {
    let mut pins = Vec::new();
    for (path, what) in mounts {
        let all = match what {
            What::Frozen | What::NoFolder { .. } | What::NoFile => false,
            What::Pinned => true,
            What::Writable | What::Shown { .. } => continue,
        };
        let root = path.ancestors().skip(1).find_map(|above| mounts.get(above).map(|what| (above, *what)));
        // Where nothing can be written, nothing can be moved.
        let Some((root, What::Writable | What::Pinned | What::Shown { writable: true })) = root else { continue };
        let between: Vec<&Path> = path.ancestors().skip(1).take_while(|above| *above != root).collect();
        let belongs = |folder: &&Path| {
            let name = folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            name.starts_with('.') || name.ends_with(".git")
        };
        pins.extend(
            between.iter().rev().skip_while(|folder| !all && !belongs(folder)).map(|folder| folder.to_path_buf()),
        );
    }
    pins
}

#[cfg(test)]
mod tests;
