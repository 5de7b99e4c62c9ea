//! Making the mounts, inside namespaces that are ours alone.
//!
//! A process of an earlier cage may still run and change what lies below the folders that it may write. So everything is
//! taken hold of first, without following a link, and mounted over by that handle.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, StatVfsMountFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, mount_remount, move_mount, open_tree,
};

use super::{Kind, Mount, What};
use crate::cage::Cage;
use crate::kernel::without_links;

/// Settings of the whole machine. A new `/proc` has them, and root may change them whatever else it gave up: what is
/// written to one of them the kernel runs.
const SETTINGS: [&str; 9] = [
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/acpi",
    "/proc/scsi",
    "/proc/driver",
    "/proc/mtrr",
];
/// Bytes that what hides a folder may hold: the folders on the way to what is shown in it.
const TMPFS_SIZE: &str = "1m";

/// What there is at `path`, for [`super::plan`].
pub(crate) fn look(path: &Path) -> Option<Kind> {
    let kind = fs::symlink_metadata(path).ok()?.file_type();
    Some(match (kind.is_dir(), kind.is_symlink()) {
        (true, _) => Kind::Folder,
        (false, true) => Kind::Link,
        (false, false) => Kind::File,
    })
}

/// Refuses a cage that closes something behind a link, where programs may write. Paths are named without links, so a
/// folder on the way was replaced after it was named: by what runs in another cage, so that something else is closed.
pub(crate) fn check(cage: &Cage) -> Result<(), String> {
    for path in cage.frozen.iter().chain(&cage.hidden) {
        let folder = path.parent().filter(|folder| cage.write.iter().any(|write| folder.starts_with(write)));
        if folder.is_some_and(|folder| without_links(folder).is_ok_and(|real| real != folder)) {
            return Err(format!("{} leads through a link now; try again", path.display()));
        }
    }
    Ok(())
}

/// `cage` with the links in what it closes resolved, so that what they lead to is closed. What it opens must come without.
pub(crate) fn resolved(mut cage: Cage) -> Cage {
    for path in cage.frozen.iter_mut().chain(&mut cage.hidden) {
        // What is not there needs no mount.
        if let Ok(real) = without_links(path) {
            *path = real;
        }
    }
    cage
}

/// [`SETTINGS`] that are there, for who must be told to mount them.
pub(crate) fn settings() -> impl Iterator<Item = Mount> {
    let there = SETTINGS.iter().map(PathBuf::from).filter(|path| look(path).is_some());
    there.map(|path| Mount { path, what: What::Frozen })
}

/// A handle on `path`, if no part of it is a link. `None` when it is not there.
///
/// # Errors
///
/// What the system said, with the path.
pub(crate) fn hold(path: &Path) -> Result<Option<OwnedFd>, String> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(handle) => Ok(Some(handle)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(Errno::LOOP) => Err(format!("{} leads through a link", path.display())),
        Err(errno) => Err(failed("open", path)(errno)),
    }
}

/// Makes `mounts`, whose writable ones are there already.
///
/// # Errors
///
/// The first that cannot be made, with what the system said.
pub(crate) fn place(mounts: &[Mount]) -> Result<(), String> {
    // What is mounted outside from now on stays outside: it would be as writable here as there.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(failed("detach", Path::new("/")))?;
    for path in SETTINGS {
        cover(Path::new(path), None, true)?;
    }
    // What is shown must be taken hold of before what is around it is hidden.
    let mut shown = Vec::new();
    for Mount { path, what } in mounts {
        match what {
            What::Shown { writable } => {
                shown.extend(keep(path)?.map(|kept| Shown {
                    path,
                    kept,
                    writable: *writable,
                    around: around(path, mounts),
                }));
            }
            What::Writable | What::Frozen | What::Pinned | What::NoFolder { .. } | What::NoFile => {}
        }
    }
    let null = Path::new("/dev/null");
    let null = open_tree(CWD, null, OpenTreeFlags::OPEN_TREE_CLOEXEC).map_err(failed("open", null))?;
    for Mount { path, what } in mounts {
        match what {
            What::Frozen => cover(path, None, true)?,
            What::Pinned => cover(path, None, false)?,
            What::NoFile => cover(path, Some(&null), true)?,
            What::NoFolder { passable } => {
                let shown: Vec<&Shown<'_>> = shown.iter().filter(|shown| shown.around == Some(path)).collect();
                hide(path, *passable, &shown)?;
            }
            // The first are there already, the second come with what is hidden around them.
            What::Writable | What::Shown { .. } => {}
        }
    }
    Ok(())
}

/// The folder that is hidden nearest above `path`.
fn around<'a>(path: &Path, mounts: &'a [Mount]) -> Option<&'a PathBuf> {
    let hidden =
        mounts.iter().filter(|mount| matches!(mount.what, What::NoFolder { .. }) && path.starts_with(&mount.path));
    hidden.max_by_key(|mount| mount.path.components().count()).map(|mount| &mount.path)
}

/// Something that is shown though what is around it is hidden.
struct Shown<'a> {
    path: &'a Path,
    kept: Kept,
    writable: bool,
    around: Option<&'a PathBuf>,
}

/// Something that is shown, taken hold of.
enum Kept {
    Folder(OwnedFd),
    File(OwnedFd),
    /// What a link says.
    Link(PathBuf),
}

fn keep(path: &Path) -> Result<Option<Kept>, String> {
    Ok(match look(path) {
        Some(Kind::Link) => Some(Kept::Link(fs::read_link(path).map_err(failed("read", path))?)),
        Some(Kind::Folder) => hold(path)?.map(|held| copy(&held, path)).transpose()?.map(Kept::Folder),
        Some(Kind::File) => hold(path)?.map(|held| copy(&held, path)).transpose()?.map(Kept::File),
        None => None,
    })
}

/// A mount of what `held` names, with all that is mounted below it. It is nowhere yet.
fn copy(held: &OwnedFd, path: &Path) -> Result<OwnedFd, String> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(held, "", flags).map_err(failed("copy", path))
}

/// Mounts a copy of `source` over `path`, or of what is there. Nothing, when nothing is there any more.
fn cover(path: &Path, source: Option<&OwnedFd>, read_only: bool) -> Result<(), String> {
    let Some(target) = hold(path)? else { return Ok(()) };
    let mount = copy(source.unwrap_or(&target), path)?;
    attach(&mount, &target, path)?;
    match (read_only, source) {
        (true, None) => make_read_only(&mount, MountFlags::empty(), path),
        // A device that may not be used cannot be opened either.
        (true, Some(_)) => make_read_only(&mount, MountFlags::NODEV | MountFlags::NOSUID | MountFlags::NOEXEC, path),
        (false, _) => Ok(()),
    }
}

/// Mounts an empty folder over `path`, with what is shown below it.
fn hide(path: &Path, passable: bool, shown: &[&Shown<'_>]) -> Result<(), String> {
    let Some(target) = hold(path)? else { return Ok(()) };
    let empty = empty_folder(if passable { "0111" } else { "0000" }).map_err(failed("hide", path))?;
    for Shown { path: at, kept, .. } in shown {
        let below = at.strip_prefix(path).map_err(|_| format!("{} is not below {}", at.display(), path.display()))?;
        make_way(&empty, below, kept).map_err(failed("show", at))?;
    }
    attach(&empty, &target, path)?;
    for Shown { path: at, kept, writable, .. } in shown {
        let (Kept::Folder(mount) | Kept::File(mount)) = kept else { continue };
        let below = at.strip_prefix(path).unwrap_or(at);
        let place = rustix::fs::openat(&empty, below, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())
            .map_err(failed("show", at))?;
        attach(mount, &place, at)?;
        if !writable {
            make_read_only(mount, MountFlags::empty(), at)?;
        }
    }
    make_read_only(&empty, MountFlags::empty(), path)
}

/// An empty file system that is nowhere yet.
fn empty_folder(mode: &str) -> Result<OwnedFd, Errno> {
    let system = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(system.as_fd(), "mode", mode)?;
    fsconfig_set_string(system.as_fd(), "size", TMPFS_SIZE)?;
    fsconfig_create(system.as_fd())?;
    let attributes =
        MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    fsmount(system.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Makes, below `folder`, what `kept` is mounted on, and the folders on the way, that can only be passed through.
fn make_way(folder: &OwnedFd, below: &Path, kept: &Kept) -> Result<(), Errno> {
    let way = Mode::from_raw_mode(0o111);
    for above in
        below.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect::<Vec<_>>().iter().rev()
    {
        match rustix::fs::mkdirat(folder, *above, way) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    match kept {
        Kept::Folder(_) => rustix::fs::mkdirat(folder, below, way),
        Kept::File(_) => {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            rustix::fs::openat(folder, below, flags, Mode::empty()).map(drop)
        }
        Kept::Link(to) => rustix::fs::symlinkat(to, folder, below),
    }
}

fn attach(mount: &OwnedFd, target: &OwnedFd, path: &Path) -> Result<(), String> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(mount, "", target, "", flags).map_err(failed("mount over", path))
}

/// Nothing can be changed through `mount` any more.
fn make_read_only(mount: &OwnedFd, more: MountFlags, path: &Path) -> Result<(), String> {
    let state = rustix::fs::fstatvfs(mount).map_err(failed("look at", path))?;
    // What holds already cannot be given up, and is asked for again.
    let held = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    let held = held.iter().filter(|(is, _)| state.f_flag.contains(*is)).fold(more, |all, (_, flag)| all | *flag);
    let handle = format!("/proc/self/fd/{}", mount.as_raw_fd());
    mount_remount(handle, held | MountFlags::BIND | MountFlags::RDONLY, c"").map_err(failed("freeze", path))
}

/// An error that names the path.
fn failed<E: std::fmt::Display>(what: &str, path: &Path) -> impl Fn(E) -> String {
    move |error| format!("cannot {what} {}: {error}", path.display())
}
