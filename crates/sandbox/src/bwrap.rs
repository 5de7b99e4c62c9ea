//! The rung of namespaces: what `bwrap` is told.
//!
//! `bwrap` makes the namespaces and a file system that can be read everywhere and written at the roots. Everything else
//! (what is frozen, what is hidden) the launcher mounts inside, where it can take hold of what it mounts over, and where a
//! mount costs 20 µs instead of 300; then it gives up the right to mount. Where a system lets `bwrap` alone mount, it
//! makes all of them.

mod find;
#[cfg(target_os = "linux")]
mod stages;
mod why;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(crate) use self::find::find;
#[cfg(target_os = "linux")]
pub(crate) use self::stages::{inside, outside};
pub(crate) use self::why::why_not;
use crate::cage::{Cage, Network};
use crate::mounts::{Mount, What};
use crate::rung::Gap;

/// How `bwrap` is used on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bwrap {
    /// The program.
    #[serde(with = "crate::path_text::one")]
    pub(crate) program: PathBuf,
    pub(crate) users: Users,
    pub(crate) processes: Processes,
    pub(crate) mounter: Mounter,
}

/// How far the launcher is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stage {
    /// It becomes `bwrap`, which starts it again.
    Outside(Bwrap),
    /// It runs in the namespaces.
    Inside(Inside),
}

/// What the launcher must know when it runs in the namespaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Inside {
    bwrap: Bwrap,
    /// The working folder.
    #[serde(with = "crate::path_text::one")]
    dir: PathBuf,
    /// What can be written.
    roots: Vec<Root>,
    /// The user, and the group.
    user: (u32, u32),
}

/// A file or folder by path, device and number, so that nothing else can be put into its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Root {
    #[serde(with = "crate::path_text::one")]
    path: PathBuf,
    device: u64,
    number: u64,
}

/// Which users there are inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Users {
    /// The one who runs this program, alone: all others are nobody. Needs no rights.
    One,
    /// All of them. Needs the rights of the system's administrator, who could otherwise change no file that is another
    /// user's, nor give one to them, which unpacking and installing do.
    All,
}

/// What `/proc` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Processes {
    /// What runs in the cage.
    Own,
    /// What runs on the machine: some containers allow no other. It cannot be signalled or looked into all the same.
    Shown,
}

/// Who makes the mounts of a cage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Mounter {
    Launcher,
    Bwrap,
}

impl Bwrap {
    /// The ways to use `program`, best first.
    pub(crate) fn ways(program: &Path) -> Vec<Self> {
        let mut ways = Vec::new();
        let users: &[Users] = if find::is_administrator() { &[Users::All, Users::One] } else { &[Users::One] };
        for &users in users {
            for mounter in [Mounter::Launcher, Mounter::Bwrap] {
                for processes in [Processes::Own, Processes::Shown] {
                    ways.push(Self { program: program.to_owned(), users, processes, mounter });
                }
            }
        }
        ways
    }

    /// What is not held when it is used in this way.
    pub(crate) fn gaps(&self) -> Vec<Gap> {
        let gap = |promise, instead: &str| Gap { promise, instead: instead.to_owned() };
        let mut gaps = vec![gap(
            "frozen",
            "a protected or hidden file that another program replaces while a command runs is open to that command from \
             then on",
        )];
        #[cfg(target_os = "linux")]
        if !crate::kernel::holds().sockets {
            gaps.push(gap(
                "unix-sockets",
                "a command that may speak to one socket of another program can speak to all that lie where no sockets \
                 are known to lie, because this kernel is older than 7.1",
            ));
        }
        match self.processes {
            Processes::Own => {}
            Processes::Shown => gaps.push(gap(
                "processes",
                "the names and command lines of other programs can be read, because this machine lets nobody mount \
                 /proc; they cannot be signalled or looked into",
            )),
        }
        #[cfg(target_os = "linux")]
        if self.users == Users::One && rustix::process::geteuid().is_root() {
            gaps.push(crate::gaps::ownership());
        }
        gaps
    }

    /// What `bwrap` is told before the program: `mounts` are those of the cage, see [`crate::mounts::plan`].
    pub(crate) fn args(&self, cage: &Cage, mounts: &[Mount]) -> Vec<OsString> {
        // Not `--die-with-parent`: what a command left running may go on without it.
        let mut args: Vec<OsString> = ["--unshare-pid", "--unshare-ipc"].map(OsString::from).into();
        let mut add =
            |words: &[&dyn AsRef<std::ffi::OsStr>]| args.extend(words.iter().map(|word| word.as_ref().to_owned()));
        match cage.network {
            Network::Closed => add(&[&"--unshare-net"]),
            Network::Open => {}
        }
        match (self.users, self.mounter) {
            // Whoever is not 0 inside may not mount; the launcher goes back to the user's own number.
            (Users::One, Mounter::Launcher) => {
                add(&[&"--unshare-user", &"--uid", &"0", &"--gid", &"0"]);
                // To mount; to make what is mounted on where nobody else may; to be the user again.
                for capability in ["CAP_SYS_ADMIN", "CAP_DAC_OVERRIDE", "CAP_SETFCAP"] {
                    add(&[&"--cap-add", &capability]);
                }
            }
            (Users::One, Mounter::Bwrap) => add(&[&"--unshare-user"]),
            (Users::All, Mounter::Launcher | Mounter::Bwrap) => {}
        }
        let root = mounts.iter().find(|mount| mount.path == Path::new("/")).map(|mount| mount.what);
        add(&[if root == Some(What::Writable) { &"--bind" } else { &"--ro-bind" }, &"/", &"/", &"--dev", &"/dev"]);
        match self.processes {
            Processes::Own => add(&[&"--proc", &"/proc"]),
            Processes::Shown => {}
        }
        for Mount { path, what } in mounts.iter().filter(|mount| mount.path != Path::new("/")) {
            match (what, self.mounter) {
                (What::Writable, Mounter::Launcher | Mounter::Bwrap) | (What::Pinned, Mounter::Bwrap) => {
                    add(&[&"--bind", path, path]);
                }
                (What::Shown { writable: true }, Mounter::Launcher | Mounter::Bwrap) => add(&[&"--bind", path, path]),
                (_, Mounter::Launcher) => {}
                (What::Frozen, Mounter::Bwrap) => add(&[&"--ro-bind-try", path, path]),
                (What::NoFolder { passable: false }, Mounter::Bwrap) => {
                    add(&[&"--perms", &"0000", &"--tmpfs", path, &"--remount-ro", path]);
                }
                // What is shown in it must be put there first, so it stays writable: it holds nothing and keeps nothing.
                (What::NoFolder { passable: true }, Mounter::Bwrap) => add(&[&"--perms", &"0111", &"--tmpfs", path]),
                (What::NoFile, Mounter::Bwrap) => add(&[&"--ro-bind", &"/dev/null", path]),
                (What::Shown { writable: false }, Mounter::Bwrap) => add(&[&"--ro-bind-try", path, path]),
            }
        }
        // The launcher goes to the working folder when all is mounted. The first process of the cage, which stays as long
        // as anything runs, must not stand in a folder that something was mounted over.
        add(&[&"--chdir", &"/", &"--"]);
        args
    }
}

#[cfg(test)]
mod tests;
