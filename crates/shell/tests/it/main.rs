//! The crate from outside.

mod attacks;
mod bounds;
mod differential;
mod doors;
mod folders;
mod known;
mod paths;
mod programs;

use std::path::Path;

use haft_shell::{Analysis, Dialect, Surroundings, analyse};

pub(crate) const PROJECT: &str = "/home/u/p";

/// What `command` does in the project folder, where `src` is a folder.
pub(crate) fn look(command: &str) -> Analysis {
    look_as(command, Dialect::Bash)
}

pub(crate) fn look_as(command: &str, dialect: Dialect) -> Analysis {
    let is_dir = |path: &Path| {
        [PROJECT, "/home/u/p/src", "/tmp", "/etc", "/home/u", "/"].iter().any(|dir| Path::new(dir) == path)
    };
    let around = Surroundings::new(Path::new(PROJECT)).home(Path::new("/home/u")).dialect(dialect).is_dir(&is_dir);
    analyse(command, &around)
}
