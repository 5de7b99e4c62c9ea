//! What may be left on a disk when the power goes.
//!
//! The model is harsher than ext4 and xfs are where haft relies on nothing more. What was written to a file since it was
//! forced to the disk (`fsync`) may be there or not, by whole writes, by blocks of 4,096 bytes or by sectors of 512; a file
//! may have grown without the bytes. Names (made, renamed, removed) keep their order, as in a journal, but the last of them
//! may be missing, until their folder was forced to the disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::trace::{At, Op};
use crate::crash::blow::Dice;

/// Files with what is in them, by their path below the root.
pub(crate) type State = BTreeMap<PathBuf, Vec<u8>>;
/// Which file has which name.
type Names = BTreeMap<PathBuf, usize>;

#[derive(Default)]
pub(crate) struct Disk {
    files: Vec<File>,
    names: Names,
    /// Names as they are on the disk for sure, and the changes since.
    sure: Names,
    since: Vec<Naming>,
}

#[derive(Clone)]
enum Naming {
    Put(PathBuf, usize),
    Gone(PathBuf),
}

#[derive(Default)]
struct File {
    now: Vec<u8>,
    /// On the disk for sure, and the changes since.
    sure: Vec<u8>,
    since: Vec<Change>,
}

enum Change {
    Write(usize, Vec<u8>),
    Cut(usize),
}

impl Change {
    /// Makes it, as far as `keeps` says of each place in it.
    fn make(&self, bytes: &mut Vec<u8>, mut keeps: impl FnMut(usize) -> bool) {
        match self {
            Change::Write(at, new) => {
                for (place, byte) in (*at..).zip(new) {
                    if keeps(place) {
                        if bytes.len() <= place {
                            bytes.resize(place + 1, 0);
                        }
                        bytes[place] = *byte;
                    }
                }
            }
            Change::Cut(length) => {
                if keeps(*length) {
                    bytes.resize(*length, 0);
                }
            }
        }
    }
}

/// How much of what is not sure is left.
#[derive(Debug, Clone, Copy)]
enum Left {
    All,
    Nothing,
    /// The first changes, the last of them torn.
    First,
    /// Whole changes.
    Some,
    /// Pieces of changes, of so many bytes.
    Pieces(usize),
}

impl Disk {
    pub(crate) fn apply(&mut self, op: &Op) {
        match op {
            Op::Make(path) => drop(self.file(path)),
            Op::Write { path, at, bytes } => {
                let file = self.file(path);
                let at = match at {
                    At::End => file.now.len(),
                    At::Place(at) => *at,
                };
                file.change(Change::Write(at, bytes.clone()));
            }
            Op::Cut { path, length } => self.file(path).change(Change::Cut(*length)),
            Op::Rename { from, to } => {
                let Some(file) = self.names.remove(from) else { return };
                self.names.insert(to.clone(), file);
                // One step: nobody ever sees neither.
                self.since.push(Naming::Put(to.clone(), file));
                self.since.push(Naming::Gone(from.clone()));
            }
            Op::Unlink(path) => {
                self.names.remove(path);
                self.since.push(Naming::Gone(path.clone()));
            }
            Op::Sync(path) => match self.names.get(path) {
                Some(file) => self.files[*file].force(),
                None => {
                    self.since.clear();
                    self.sure.clone_from(&self.names);
                }
            },
        }
    }

    fn file(&mut self, path: &Path) -> &mut File {
        let at = match self.names.get(path) {
            Some(at) => *at,
            None => {
                self.files.push(File::default());
                let at = self.files.len() - 1;
                self.names.insert(path.to_owned(), at);
                self.since.push(Naming::Put(path.to_owned(), at));
                at
            }
        };
        &mut self.files[at]
    }

    /// What is there while the power is.
    pub(crate) fn live(&self) -> State {
        self.names.iter().map(|(path, file)| (path.clone(), self.files[*file].now.clone())).collect()
    }

    /// What may be left when it goes now, as `dice` fall.
    pub(crate) fn cut(&self, dice: &mut Dice) -> State {
        let mut names = self.sure.clone();
        let kept = match dice.below(4) {
            0 => 0,
            1 => small(dice.below(self.since.len() as u64 + 1)),
            _ => self.since.len(),
        };
        for naming in &self.since[..kept] {
            match naming {
                Naming::Put(path, file) => drop(names.insert(path.clone(), *file)),
                Naming::Gone(path) => drop(names.remove(path)),
            }
        }
        let left = match dice.below(9) {
            0 => Left::All,
            1 => Left::Nothing,
            2 | 3 => Left::First,
            4 | 5 => Left::Some,
            6 => Left::Pieces(4096),
            _ => Left::Pieces(512),
        };
        names.into_iter().map(|(path, file)| (path, self.files[file].cut(left, dice))).collect()
    }
}

impl File {
    fn change(&mut self, change: Change) {
        change.make(&mut self.now, |_| true);
        self.since.push(change);
    }

    fn force(&mut self) {
        self.since.clear();
        self.sure.clone_from(&self.now);
    }

    fn cut(&self, left: Left, dice: &mut Dice) -> Vec<u8> {
        let mut bytes = self.sure.clone();
        let whole = small(dice.below(self.since.len() as u64 + 1));
        for (at, change) in self.since.iter().enumerate() {
            let odds = dice.below(2) == 0;
            match left {
                Left::All => change.make(&mut bytes, |_| true),
                Left::Nothing => {}
                Left::First if at < whole => change.make(&mut bytes, |_| true),
                Left::First if at == whole => {
                    let torn = 512 * small(dice.below(9));
                    let begin = if let Change::Write(begin, _) = change { begin / 512 * 512 } else { 0 };
                    change.make(&mut bytes, |place| place < begin + torn);
                }
                Left::First => {}
                Left::Some => change.make(&mut bytes, |_| odds),
                Left::Pieces(size) => {
                    let seed = dice.below(u64::MAX);
                    change.make(&mut bytes, |place| Dice::new(seed ^ (place / size) as u64).below(2) == 0);
                }
            }
        }
        // Its length is a matter of names, its bytes are not.
        if self.now.len() > bytes.len() && dice.below(4) == 0 {
            bytes.resize(self.now.len(), 0);
        }
        bytes
    }
}

fn small(number: u64) -> usize {
    usize::try_from(number).unwrap()
}

#[test]
fn what_is_forced_is_kept_and_all_else_may_go() {
    let path = |name: &str| PathBuf::from(name);
    let write = |name: &str, bytes: &[u8]| Op::Write { path: path(name), at: At::End, bytes: bytes.to_vec() };
    let mut disk = Disk::default();
    for op in
        [Op::Make(path("a")), write("a", b"sure"), Op::Sync(path("a")), Op::Sync(path("")), write("a", b", perhaps")]
    {
        disk.apply(&op);
    }
    disk.apply(&write("b", b"new"));
    let seen: Vec<State> = (0..400).map(|seed| disk.cut(&mut Dice::new(seed))).collect();
    assert!(seen.iter().all(|state| state[Path::new("a")].starts_with(b"sure")));
    let some = |want: &[u8]| seen.iter().any(|state| state[Path::new("a")] == want);
    assert!(some(b"sure") && some(b"sure, perhaps") && some(b"sure\0\0\0\0\0\0\0\0\0"));
    let b = |want: Option<&[u8]>| seen.iter().any(|state| state.get(Path::new("b")).map(Vec::as_slice) == want);
    assert!(b(None) && b(Some(b"")) && b(Some(b"new")));
}
