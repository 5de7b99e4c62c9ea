//! The two stages of the launcher on the rung of namespaces.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::fs::{Mode, OFlags};

use super::{Bwrap, Inside, Mounter, Root, Stage, Users};
use crate::cage::{Cage, Session};
use crate::launcher::{ASKED, Spec};
use crate::mounts::place::{check, hold, look, place, resolved, settings};
use crate::mounts::{Mount, What, plan, sockets};

/// Becomes `bwrap`, which starts this program once more. Comes back only with why that failed.
pub(crate) fn outside(bwrap: &Bwrap, spec: &Spec, program: &OsStr, args: &[OsString]) -> String {
    match command(bwrap, spec, program, args) {
        // The handle must live until then.
        Ok((mut command, _ourselves)) => format!("{} cannot be run: {}", bwrap.program.display(), command.exec()),
        Err(why) => why,
    }
}

fn command(bwrap: &Bwrap, spec: &Spec, program: &OsStr, args: &[OsString]) -> Result<(Command, OwnedFd), String> {
    match spec.session {
        // Fails only where it leads a group of its own already, which serves as well.
        Session::New => drop(rustix::process::setsid()),
        Session::Kept => {}
    }
    let mounts = match bwrap.mounter {
        // It needs to know only what can be written, for which sockets do not matter.
        Mounter::Launcher => plan(&resolved(spec.cage.clone()), look)?,
        Mounter::Bwrap => settings().chain(mounts(&spec.cage)?).collect(),
    };
    let roots = mounts.iter().filter(|mount| is_root(mount)).filter_map(|mount| identify(&mount.path).transpose());
    let inside = Inside {
        bwrap: bwrap.clone(),
        dir: std::env::current_dir().map_err(|error| format!("the working folder cannot be found: {error}"))?,
        roots: roots.collect::<Result<_, _>>()?,
        user: (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw()),
    };
    // By its path it might be another by now: a program that was replaced, or put there by what ran in another cage.
    let ourselves = rustix::fs::open("/proc/self/exe", OFlags::PATH, Mode::empty())
        .map_err(|errno| format!("this program cannot be found: {errno}"))?;
    close_fds::set_fds_cloexec(3, &[ourselves.as_raw_fd()]);
    let next =
        Spec { layer: spec.layer, session: spec.session, stage: Some(Stage::Inside(inside)), cage: spec.cage.clone() };
    let mut command = Command::new(&bwrap.program);
    command
        .args(bwrap.args(&spec.cage, &mounts))
        .arg(format!("/proc/self/fd/{}", ourselves.as_raw_fd()))
        .args([ASKED.into(), next.text().map_err(|error| error.to_string())?, "--".to_owned()])
        .arg(program)
        .args(args);
    Ok((command, ourselves))
}

/// Sets up, in the namespaces, what `bwrap` left to do, and gives the right to mount up.
///
/// # Errors
///
/// What is not as it shall be. Nothing may run then.
pub(crate) fn inside(inside: &Inside, cage: &Cage) -> Result<(), String> {
    for root in &inside.roots {
        if identify(&root.path)?.as_ref() != Some(root) {
            return Err(format!("{} was replaced while the cage was being set up; try again", root.path.display()));
        }
    }
    if inside.bwrap.mounter == Mounter::Launcher {
        place(&mounts(cage)?)?;
        if inside.bwrap.users == Users::One {
            leave_rights(inside.user)?;
        }
    }
    // Only now: a folder that was entered before is not the one that something was mounted over.
    std::env::set_current_dir(&inside.dir)
        .map_err(|error| format!("{} cannot be entered in the cage: {error}", inside.dir.display()))
}

fn mounts(cage: &Cage) -> Result<Vec<Mount>, String> {
    check(cage)?;
    plan(&resolved(sockets::hide(cage, &sockets::look())), look)
}

/// Whether it can be written, so that nothing else may be in its place.
fn is_root(mount: &Mount) -> bool {
    match mount.what {
        What::Writable | What::Shown { writable: true } => true,
        What::Shown { writable: false } | What::Frozen | What::Pinned | What::NoFolder { .. } | What::NoFile => false,
    }
}

/// What a path stands for, if it is there.
fn identify(path: &Path) -> Result<Option<Root>, String> {
    let Some(held) = hold(path)? else { return Ok(None) };
    let found = rustix::fs::fstat(&held).map_err(|errno| format!("cannot look at {}: {errno}", path.display()))?;
    // The fields' types differ between systems.
    #[allow(clippy::unnecessary_cast, reason = "the type is another one on some systems")]
    Ok(Some(Root { path: path.to_owned(), device: found.st_dev as u64, number: found.st_ino as u64 }))
}

/// Enters one more user namespace, as `user`: the mounts belong to the one around it, so that no right within can undo
/// them.
fn leave_rights((user, group): (u32, u32)) -> Result<(), String> {
    let errno = |errno| format!("the right to mount cannot be given up: {errno}");
    // Its replacement needs `unsafe`, for what threads share; there is one thread, and users are not among that.
    #[expect(deprecated, reason = "the other way cannot be had without unsafe code")]
    rustix::thread::unshare(rustix::thread::UnshareFlags::NEWUSER).map_err(errno)?;
    for (file, text) in
        [("setgroups", "deny".to_owned()), ("uid_map", format!("{user} 0 1")), ("gid_map", format!("{group} 0 1"))]
    {
        fs::write(format!("/proc/self/{file}"), text)
            .map_err(|error| format!("the right to mount cannot be given up: {file}: {error}"))?;
    }
    Ok(())
}
