//! What each rung does not hold, in words.

use crate::rung::{Gap, Rung};

/// What `rung` leaves open on this machine.
pub(crate) fn of(rung: Rung) -> Vec<Gap> {
    match rung {
        #[cfg(target_os = "linux")]
        Rung::Landlock => landlock(crate::kernel::holds(), rustix::process::geteuid().is_root()),
        #[cfg(target_os = "linux")]
        Rung::Namespaces => namespaces(crate::kernel::holds(), rustix::process::geteuid().is_root()),
        #[cfg(not(target_os = "linux"))]
        Rung::Landlock | Rung::Namespaces => Vec::new(),
        Rung::Seatbelt => seatbelt(),
        // There is nothing that could have a gap.
        Rung::None => Vec::new(),
    }
}

#[cfg(target_os = "linux")]
fn landlock(kernel: crate::kernel::Holds, root: bool) -> Vec<Gap> {
    let mut gaps = vec![
        gap(
            "frozen",
            "a file in a folder that may be written can be changed even if it is protected, because Landlock \
             knows no exceptions; whoever starts the command has to put it back",
        ),
        gap(
            "hidden",
            "the names of hidden files can be listed, and so can the command lines of other programs; what is hidden in \
             a folder that may be written can be moved, and then read by a later command; and a file that is made \
             beside something hidden while a command runs cannot be read by that command",
        ),
        gap(
            "attributes",
            "mode and times of the user's own files can be changed, and files be locked, outside the folders that may be \
             written, because Landlock rules over contents and names only; setuid and setgid bits cannot be set, and \
             extended attributes cannot be changed anywhere",
        ),
        gap(
            "sockets",
            "with the network closed there are no sockets at all, not even for a test that listens on \
             127.0.0.1, and with it open this machine's own services can be reached",
        ),
        gap(
            "priorities",
            "priority and processors of the user's other programs can be changed, because threads of one's own are named \
             by the same numbers",
        ),
        gap("terminals", "no new terminals can be opened, because those of other programs lie in the same folder"),
        gap(
            "shared-memory",
            "System V shared memory and message queues are refused, and /dev/shm, where it may be written, is that \
             of all programs, because there is only one",
        ),
    ];
    if root {
        gaps.push(ownership());
        gaps.push(processes());
    }
    if !kernel.truncate {
        gaps.push(gap("truncate", "files outside can be cut off or emptied, because this kernel is older than 6.2"));
    }
    if !kernel.orders {
        gaps.push(gap(
            "devices",
            "devices that are open already can be given orders, because this kernel is older than 6.10",
        ));
    }
    if !kernel.scopes {
        gaps.push(gap(
            "signals",
            "other programs of the user can be sent signals, because this kernel is older than 6.12",
        ));
    }
    if !kernel.sockets {
        gaps.push(gap(
            "unix-sockets",
            "a command that may speak to one socket of another program can speak to all of \
             them, because this kernel is older than 7.1",
        ));
    }
    gaps
}

#[cfg(target_os = "linux")]
fn namespaces(kernel: crate::kernel::Holds, root: bool) -> Vec<Gap> {
    let mut gaps = Vec::new();
    if root {
        gaps.push(processes());
    }
    if !kernel.scopes {
        gaps.push(gap(
            "unix-sockets",
            "with the network open, sockets without a path can be reached, because this kernel \
             is older than 6.12",
        ));
    }
    gaps
}

/// Root's, where there are no other users or no mounts.
#[cfg(target_os = "linux")]
pub(crate) fn ownership() -> Gap {
    gap(
        "ownership",
        "changing the owner of a file does nothing and says that it did, so that unpacking an archive as root \
         does not fail",
    )
}

#[cfg(target_os = "linux")]
fn processes() -> Gap {
    gap("processes", "the number of processes is not limited, because the system does not hold root to that limit")
}

fn seatbelt() -> Vec<Gap> {
    vec![
        gap("processes", "the number of processes is not limited, because the sandbox of macOS does not count them"),
        gap(
            "memory",
            "memory, the size of files and open files are not limited, because the sandbox of macOS does not \
             count them",
        ),
    ]
}

fn gap(promise: &'static str, instead: &str) -> Gap {
    Gap { promise, instead: instead.to_owned() }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::kernel::Holds;

    const OLD: Holds = Holds { truncate: false, orders: false, scopes: false, sockets: false };
    const NEW: Holds = Holds { truncate: true, orders: true, scopes: true, sockets: true };

    fn words(gaps: &[Gap]) -> Vec<&str> {
        gaps.iter().map(|gap| gap.promise).collect()
    }

    #[test]
    fn an_older_kernel_leaves_more_open() {
        let always = ["frozen", "hidden", "attributes", "sockets", "priorities", "terminals", "shared-memory"];
        assert_eq!(words(&landlock(NEW, false)), always);
        let more = ["truncate", "devices", "signals", "unix-sockets"];
        assert_eq!(words(&landlock(OLD, false)), [always.as_slice(), more.as_slice()].concat());
        assert_eq!(words(&namespaces(NEW, false)), [""; 0]);
        assert_eq!(words(&namespaces(OLD, false)), ["unix-sockets"]);
    }

    #[test]
    fn root_is_held_less() {
        assert_eq!(words(&namespaces(NEW, true)), ["processes"]);
    }

    #[test]
    fn each_is_a_sentence_without_an_end() {
        let all = [landlock(OLD, true), namespaces(OLD, true), seatbelt()].concat();
        for Gap { promise, instead } in all {
            assert!(!instead.ends_with('.') && !instead.contains("  ") && instead.len() > 40, "{promise}: {instead}");
        }
    }
}
