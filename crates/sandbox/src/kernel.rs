//! What the kernel is told before a program runs: one step after the other, and all of them or nothing.

mod capabilities;
mod landlock;
mod limits;
mod links;
mod numbers;
mod reading;
mod seal;
mod seccomp;
mod session;

use rustix::thread::SecureComputingMode;

use self::seccomp::Owners;
use crate::cage::Network;
use crate::launcher::{Layer, Spec};

pub(crate) use self::landlock::{Holds, holds};
pub(crate) use self::links::without_links;
pub(crate) use self::seal::seal;

/// The first handle that is not for input, output or errors.
const FIRST_HANDLE: i32 = 3;
/// Links of the folder of a process's threads when there is one thread: the folder itself, its parent, the thread.
const LINKS_OF_ONE_THREAD: usize = 3;

/// Gives up what the cage does not allow, for this process and all that come of it.
pub(crate) fn set_up(spec: &Spec) -> Result<(), String> {
    let Spec { layer, session, cage, stage: _ } = spec;
    alone_in_here()?;
    session::enter(*session)?;
    close_fds::set_fds_cloexec(FIRST_HANDLE, &[]);
    limits::set(&cage.limits, *layer)?;
    rustix::thread::set_no_new_privs(true).map_err(|errno| format!("new privileges cannot be ruled out: {errno}"))?;
    let ours = match layer {
        Layer::Alone => landlock::Ruling::Everything(cage, *session),
        Layer::Namespaces => landlock::Ruling::InNamespaces(cage),
    };
    landlock::restrict(ours)?;
    // After the rules on files, which are found with all rights there are.
    let owners = owners(*layer);
    capabilities::give_up(owners == Owners::Free)?;
    let filters = seccomp::Facts {
        layer: *layer,
        inet: *layer == Layer::Namespaces || cage.network == Network::Open,
        unix: !cage.sockets.is_empty(),
        owners,
    };
    seccomp::apply(&filters)
}

/// What becomes of changes of owner. Rules on files do not cover them, so mounts must.
fn owners(layer: Layer) -> Owners {
    let root = rustix::process::geteuid().is_root();
    let users = || std::fs::read_to_string("/proc/self/uid_map").map_or(1, |map| users(&map));
    match layer {
        Layer::Alone if root => Owners::Ignored,
        Layer::Alone => Owners::Refused,
        // Root of a namespace with one user has nobody to give a file to.
        Layer::Namespaces if root && users() <= 1 => Owners::Ignored,
        Layer::Namespaces => Owners::Free,
    }
}

/// How many users a namespace has, from the text of its `uid_map`.
fn users(map: &str) -> u64 {
    let count = |line: &str| line.split_whitespace().nth(2)?.parse::<u64>().ok();
    map.lines().filter_map(count).sum()
}

/// Rules and filters bind one thread, so there must be no other.
fn alone_in_here() -> Result<(), String> {
    match rustix::fs::stat("/proc/self/task") {
        Ok(folder) if usize::try_from(folder.st_nlink).is_ok_and(|links| links > LINKS_OF_ONE_THREAD) => {
            Err("there are threads already; entering it must be the first thing a program does".to_owned())
        }
        // Without that folder it is for the program to know.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Says whether this process is in a cage.
pub(crate) fn look_at_ourselves() -> Result<(), String> {
    if !rustix::thread::no_new_privs().unwrap_or(false) {
        return Err("new privileges are possible in it".to_owned());
    }
    match rustix::thread::secure_computing_mode() {
        Ok(SecureComputingMode::Filter) => Ok(()),
        Ok(_) | Err(_) => Err("system calls are not filtered in it".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_of_a_namespace_are_counted() {
        assert_eq!(users("         0          0 4294967295\n"), 4_294_967_295);
        assert_eq!(users("0 1000 1\n"), 1);
        assert_eq!(users("0 1000 1\n1 100000 65536\n"), 65_537);
        assert_eq!(users("odd\n"), 0);
    }
}
