//! Which shell runs a command line. Pure.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Shells that read what models write. fish and nu have a language of their own.
const ACCEPTABLE: [&str; 6] = ["bash", "zsh", "sh", "dash", "ksh", "ash"];

/// The shell that settings name, by its path or by a name that is looked for on `$PATH`; `None` if it is not there or
/// will not do.
pub fn named_shell(named: &str, path: Option<&OsStr>, exists: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let folders = path.into_iter().flat_map(std::env::split_paths).map(|folder| folder.join(named));
    let places: Vec<PathBuf> = if named.contains('/') { vec![named.into()] } else { folders.collect() };
    places.into_iter().find(|shell| acceptable(shell, &exists))
}

/// A relative path would let a project bring its own shell.
fn acceptable(shell: &Path, exists: impl Fn(&Path) -> bool) -> bool {
    let name = shell.file_name().and_then(OsStr::to_str);
    shell.is_absolute() && name.is_some_and(|name| ACCEPTABLE.contains(&name)) && exists(shell)
}

/// Picks the user's own shell (`$SHELL`) if it will do, else `bash` on `$PATH`, else `/bin/sh`.
pub fn pick_shell(own: Option<&OsStr>, path: Option<&OsStr>, exists: impl Fn(&Path) -> bool) -> PathBuf {
    if let Some(own) = own.map(PathBuf::from).filter(|own| acceptable(own, &exists)) {
        return own;
    }
    // A relative folder on the path would let a project bring its own shell.
    let folders = path.into_iter().flat_map(std::env::split_paths).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join("bash")).find(|bash| exists(bash)).unwrap_or_else(|| "/bin/sh".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(own: Option<&str>, path: Option<&str>, there: &[&str], want: &str) {
        let exists = |file: &Path| there.iter().any(|one| Path::new(one) == file);
        assert_eq!(pick_shell(own.map(OsStr::new), path.map(OsStr::new), exists), Path::new(want));
    }

    #[test]
    fn the_users_own_shell_comes_first_if_it_will_do() {
        let there = &["/bin/zsh", "/bin/fish", "/usr/bin/nu", "/usr/bin/bash", "./bash"];
        check(Some("/bin/zsh"), Some("/bin:/usr/bin"), there, "/bin/zsh");
        check(Some("/bin/fish"), Some("/bin:/usr/bin"), there, "/usr/bin/bash");
        check(Some("/usr/bin/nu"), Some("/bin:/usr/bin"), there, "/usr/bin/bash");
        check(Some("/opt/bash"), Some("/bin:/usr/bin"), there, "/usr/bin/bash");
        check(Some("bash"), Some("/bin:/usr/bin"), there, "/usr/bin/bash");
        check(None, Some(".:/usr/bin"), there, "/usr/bin/bash");
        check(None, Some(".:/bin"), there, "/bin/sh");
        check(None, None, there, "/bin/sh");
    }

    #[test]
    fn settings_name_a_shell_by_path_or_name() {
        let there =
            |file: &Path| ["/bin/zsh", "/usr/bin/bash", "/bin/fish", "./bash"].iter().any(|one| Path::new(one) == file);
        let row = |named: &str, want: Option<&str>| {
            let path = OsStr::new(".:/bin:/usr/bin");
            assert_eq!(named_shell(named, Some(path), there), want.map(PathBuf::from), "{named}");
        };
        row("bash", Some("/usr/bin/bash"));
        row("/bin/zsh", Some("/bin/zsh"));
        row("./bash", None);
        row("fish", None);
        row("/opt/zsh", None);
    }
}
