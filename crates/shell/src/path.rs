//! Paths as text.

use std::path::{Component, Path, PathBuf};

/// An absolute `path` without `.` and `..`, as if nothing in it were a link.
pub fn normal(path: &Path) -> PathBuf {
    let mut done = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => done.push(name),
            Component::ParentDir => {
                done.pop();
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    done
}

/// Devices that keep nothing and tell nothing about the machine.
pub(crate) fn is_harmless_device(path: &Path) -> bool {
    const DEVICES: [&str; 9] = ["null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr", "tty"];
    let Ok(rest) = path.strip_prefix("/dev") else { return false };
    let Some(rest) = rest.to_str() else { return false };
    DEVICES.contains(&rest) || rest.strip_prefix("fd/").is_some_and(|fd| fd.bytes().all(|byte| byte.is_ascii_digit()))
}
