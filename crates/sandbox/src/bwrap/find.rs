//! Which `bwrap` may be trusted.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::rung::Options;

/// The program.
const BWRAP: &str = "bwrap";

/// The first `bwrap` on the path that nobody but the administrator and the user could have put there.
///
/// # Errors
///
/// There is none, as the end of "cannot be used, because ".
pub(crate) fn find(options: &Options) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    first(&path, &options.not_from, Found::at)
}

/// What the decision needs to know of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    /// Its path without links.
    real: PathBuf,
    /// It and its folder can be changed by others.
    is_open: bool,
    /// It runs with the rights of its owner.
    is_setuid: bool,
}

impl Found {
    fn at(path: &Path) -> Option<Self> {
        let real = path.canonicalize().ok()?;
        let own = rustix::process::geteuid().as_raw();
        let file = real.metadata().ok().filter(|file| file.is_file() && file.mode() & 0o111 != 0)?;
        let folder = real.parent()?.metadata().ok()?;
        // Users whom this namespace does not know are nobody, which is how the system's own files look in a container.
        let is_ours = |owner: u32| owner == 0 || owner == own || owner == NOBODY;
        let is_open = [&file, &folder].into_iter().any(|found| found.mode() & 0o022 != 0 || !is_ours(found.uid()));
        Some(Self { real, is_open, is_setuid: file.mode() & 0o4000 != 0 })
    }
}

/// The number of whoever has none here.
const NOBODY: u32 = 65534;

fn first(path: &OsStr, not_from: &[PathBuf], look: impl Fn(&Path) -> Option<Found>) -> Result<PathBuf, String> {
    let mut why_not = "bwrap is not installed (the package is named bubblewrap)".to_owned();
    for folder in std::env::split_paths(path).filter(|folder| folder.is_absolute()) {
        let Some(found) = look(&folder.join(BWRAP)) else { continue };
        let name = found.real.display();
        // A link in such a folder, to wherever, is as little to be trusted as a program there.
        let is_from = |refused: &&PathBuf| folder.starts_with(refused) || found.real.starts_with(refused);
        why_not = if let Some(refused) = not_from.iter().find(is_from) {
            format!("{name} is reached through {}, which commands may write", refused.display())
        } else if found.is_open {
            format!("{name} or its folder can be changed by other users")
        } else if found.is_setuid {
            format!("{name} runs with its owner's rights (chmod u-s it where users may make namespaces)")
        } else {
            return Ok(found.real);
        };
    }
    Err(why_not)
}

/// Whether this process may do to mounts and files what the administrator may.
#[cfg(target_os = "linux")]
pub(crate) fn is_administrator() -> bool {
    use rustix::thread::{CapabilitySet, capabilities};
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::DAC_OVERRIDE | CapabilitySet::CHOWN | CapabilitySet::FOWNER;
    rustix::process::geteuid().is_root() && capabilities(None).is_ok_and(|sets| sets.effective.contains(needed))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_administrator() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(real: &str) -> Found {
        Found { real: real.into(), is_open: false, is_setuid: false }
    }

    #[track_caller]
    fn row(path: &str, want: Result<&str, &str>) {
        let look = |path: &Path| match path.to_str()? {
            "/usr/bin/bwrap" => Some(found("/usr/bin/bwrap")),
            "/link/bwrap" => Some(found("/nix/store/1/bwrap")),
            "/p/to-system/bwrap" => Some(found("/usr/bin/bwrap")),
            "/to-project/bwrap" => Some(found("/p/bin/bwrap")),
            "/open/bwrap" => Some(Found { is_open: true, ..found("/open/bwrap") }),
            "/setuid/bwrap" => Some(Found { is_setuid: true, ..found("/setuid/bwrap") }),
            "relative/bwrap" | "bwrap" => panic!("{path:?} was looked at"),
            _ => None,
        };
        let got = first(path.as_ref(), &["/p".into()], look);
        match want {
            Ok(want) => assert_eq!(got.as_deref(), Ok(Path::new(want)), "{path}"),
            Err(word) => assert!(got.as_ref().is_err_and(|why| why.contains(word)), "{path}: {got:?}"),
        }
    }

    #[test]
    fn it_comes_from_where_commands_cannot_put_it() {
        row("/usr/bin", Ok("/usr/bin/bwrap"));
        row("/none:/link:/usr/bin", Ok("/nix/store/1/bwrap"));
        row("relative:.::/usr/bin", Ok("/usr/bin/bwrap"));
        row("/p/to-system", Err("/p, which commands may write"));
        row("/to-project:/none", Err("/p/bin/bwrap"));
        row("/to-project:/open:/setuid:/usr/bin", Ok("/usr/bin/bwrap"));
        row("/open", Err("other users"));
        row("/setuid", Err("owner's rights"));
        row("/none", Err("not installed"));
        row("", Err("not installed"));
    }
}
