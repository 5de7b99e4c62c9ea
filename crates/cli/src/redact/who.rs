//! Who the user is, and what their machine is called.

use std::path::Path;
use std::process::{Command, Stdio};

/// Names that say nothing, because many have them.
const USUAL: [&str; 24] = [
    "root",
    "user",
    "home",
    "admin",
    "localhost",
    "localdomain",
    "local",
    "host",
    "linux",
    "darwin",
    "macos",
    "ubuntu",
    "debian",
    "fedora",
    "arch",
    "vagrant",
    "docker",
    "runner",
    "build",
    "test",
    "desktop",
    "laptop",
    "server",
    "haft",
];

/// The names of the user and of their machine, as they are known in `folder`: of the home, the login, the host, and for git.
pub(crate) fn names(home: &Path, folder: &Path) -> Vec<String> {
    let variables =
        ["USER", "LOGNAME", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
    let mut names: Vec<String> = variables.into_iter().filter_map(|name| std::env::var(name).ok()).collect();
    names.extend(home.file_name().map(|name| name.to_string_lossy().into_owned()));
    let folder = if folder.is_dir() { folder } else { Path::new("/") };
    names.extend(
        ["user.name", "user.email"].into_iter().filter_map(|key| said("git", &["config", "--get", key], folder)),
    );
    if let Some(host) = said("uname", &["-n"], folder) {
        names.extend(host.split_once('.').map(|(first, _)| first.to_owned()));
        names.push(host);
    }
    names.retain(|name| says_something(name));
    names
}

/// Whether `name` can be told from a word that everybody uses.
fn says_something(name: &str) -> bool {
    name.chars().count() > 2 && !USUAL.contains(&name.to_lowercase().as_str())
}

/// What `program` says in `folder`, on one line.
fn said(program: &str, args: &[&str], folder: &Path) -> Option<String> {
    let mut command = Command::new(program);
    let output = command
        .env_remove("GIT_DIR")
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let line = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_everybody_has_stay() {
        let row = |name: &str, want: bool| assert_eq!(says_something(name), want, "{name}");
        row("ada", true);
        row("Ada Lovelace", true);
        row("Root", false);
        row("me", false);
        row("ubuntu", false);
    }
}
