//! What a process may do. Pure.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What a process in a cage may do. What is not said here is closed. All paths are absolute and without links; one
/// that is not there, or that a link leads to, is as if it had not been named. What is nearest above a path decides
/// about it: `write` against `frozen`, and `hidden` against `shown` and `write`; of the same path, what closes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cage {
    /// Folders below which everything may be changed, and files that may be. Of the root, all folders in it but `/dev`,
    /// `/proc` and `/sys`.
    #[serde(with = "crate::path_text::many")]
    pub write: Vec<PathBuf>,
    /// Files and folders that stay as they are, though they are below `write`.
    #[serde(with = "crate::path_text::many")]
    pub frozen: Vec<PathBuf>,
    /// Files and folders that cannot be read. Everything else can.
    #[serde(with = "crate::path_text::many")]
    pub hidden: Vec<PathBuf>,
    /// Files and folders that can be read though they are below `hidden`.
    #[serde(with = "crate::path_text::many")]
    pub shown: Vec<PathBuf>,
    /// Whether there is a network.
    pub network: Network,
    /// Sockets of other programs that may be spoken to. Without one, sockets with a path cannot even be made.
    #[serde(with = "crate::path_text::many")]
    pub sockets: Vec<PathBuf>,
    /// How much may be used.
    pub limits: Limits,
}

/// Whether there is a network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// None: no host can be reached, this machine's own services among them.
    #[default]
    Closed,
    /// That of this machine.
    Open,
}

/// How much one command may use. `None`: what this program may use itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Processes and threads at once, beside those that run already. The system does not hold root to it.
    pub processes: Option<u64>,
    /// Bytes of memory that one process may fill: its own data, not what it shares or only sets aside. Address and
    /// thread sanitizers set terabytes aside in a way that counts, and do not start under any limit.
    pub memory: Option<u64>,
    /// Bytes of the largest file that may be written.
    pub file_size: Option<u64>,
    /// Files that one process may have open.
    pub open_files: Option<u64>,
}

impl Limits {
    /// What an ordinary command gets by with, builds and tests of large projects included: 2,048 processes, 64 GiB a
    /// file, 65,536 open files, and three quarters of this machine's memory, but at least 2 GiB.
    pub fn default_for_commands() -> Self {
        Self {
            processes: Some(2048),
            memory: memory_of_machine().map(share_of_memory),
            file_size: Some(64 << 30),
            open_files: Some(65_536),
        }
    }
}

/// How much memory one process may fill on a machine that has `all` bytes.
fn share_of_memory(all: u64) -> u64 {
    (all / 4 * 3).max(2 << 30)
}

#[cfg(target_os = "linux")]
fn memory_of_machine() -> Option<u64> {
    let info = rustix::system::sysinfo();
    // The field's type differs between systems.
    #[allow(clippy::useless_conversion, reason = "the type is another one on some systems")]
    u64::from(info.totalram).checked_mul(u64::from(info.mem_unit))
}

#[cfg(not(target_os = "linux"))]
fn memory_of_machine() -> Option<u64> {
    None
}

/// Which terminal session the program is in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Session {
    /// One of its own, without a terminal: it cannot type into that of the one who started it.
    #[default]
    New,
    /// The one that it is started in, because whoever starts it made that for it, with a terminal of its own.
    Kept,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_fill_most_of_the_memory_and_never_too_little() {
        assert_eq!(share_of_memory(16 << 30), 12 << 30);
        assert_eq!(share_of_memory(1 << 30), 2 << 30);
    }

    #[test]
    fn commands_are_limited_in_everything() {
        let Limits { processes, memory, file_size, open_files } = Limits::default_for_commands();
        assert!(processes.is_some() && file_size.is_some() && open_files.is_some());
        assert_eq!(memory.is_some(), cfg!(target_os = "linux"));
    }
}
