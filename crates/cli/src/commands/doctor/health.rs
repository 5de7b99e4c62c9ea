//! Whether what haft needs besides is in order.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use haft_config::SandboxMode;
use haft_permission::Action;

use super::verdict::{Row, Status};
use crate::audit;
use crate::render::spelled;
use crate::wire::Ground;

const GROUP: &str = "What haft needs";

type Found = (Status, String);

pub(super) fn rows(ground: &Ground) -> Vec<Row> {
    let row = |id, tried, (status, reason): Found| Row { id, group: GROUP, tried, status, reason };
    vec![
        row("git", "git, for repositories", program("git")),
        row("shell", "a shell, for commands", shell(ground.processes.shell())),
        row("folders", "its folder is for you alone", folder(&ground.folders.data)),
        row("store", "sessions are kept on a disk of this machine", store(ground.folders.database().as_deref())),
        row("audit", "the record of what was done is as it was written", record(&ground.folders.data)),
        row("protected", "finds what is protected in this project", protected(ground)),
        row("settings", "the settings", settings(ground)),
    ]
}

fn program(name: &str) -> Found {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found: Option<PathBuf> = std::env::split_paths(&folders)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|path| path.is_file());
    match found {
        Some(path) => (Status::Held, spelled(&path.display().to_string()).into_owned()),
        None => (Status::Unsupported, format!("there is no {name} on the path; install it")),
    }
}

fn shell(shell: &Path) -> Found {
    let path = spelled(&shell.display().to_string()).into_owned();
    match shell.is_file() {
        true => (Status::Held, path),
        false => (Status::Failed, format!("{path} is not there; name another with \"shell\" in the settings")),
    }
}

fn folder(folder: &Path) -> Found {
    let path = spelled(&folder.display().to_string()).into_owned();
    match std::fs::metadata(folder) {
        Ok(about) if about.permissions().mode() & 0o077 != 0 => {
            (Status::Failed, format!("others can look into {path}; close it with chmod 700"))
        }
        Ok(_) => (Status::Held, path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (Status::Held, format!("{path} is not made yet")),
        Err(error) => (Status::Failed, format!("{path} cannot be looked at: {error}")),
    }
}

fn store(database: Option<&Path>) -> Found {
    let Some(database) = database else { return (Status::Held, "in memory alone".to_owned()) };
    let path = spelled(&database.display().to_string()).into_owned();
    match haft_store::network_of(database) {
        None => (Status::Held, path),
        Some(kind) => (
            Status::Unsupported,
            format!("{path} is on a network file system ({kind}), which is slower; HAFT_DB names another file"),
        ),
    }
}

fn record(data: &Path) -> Found {
    match audit::verify(data) {
        Ok(report) if report.faults.is_empty() => (Status::Held, format!("{} entries", report.entries)),
        Ok(report) => {
            let count = report.faults.len() + report.more;
            (Status::Failed, format!("it is broken in {count} places; `haft audit verify` names them"))
        }
        Err(error) => (Status::Failed, format!("it cannot be read: {error}")),
    }
}

fn protected(ground: &Ground) -> Found {
    let Some(protection) = ground.processes.protection().filter(|_| ground.processes.mode().is_some()) else {
        return (Status::Failed, "without a cage nobody looks after it".to_owned());
    };
    let roots: Vec<PathBuf> = ground.processes.roots().iter().filter_map(|root| root.canonicalize().ok()).collect();
    missed(protection.guard(&roots, None).gaps())
}

/// What is said of `gaps`: what could not be looked at.
fn missed(gaps: &[String]) -> Found {
    match gaps {
        [] => (Status::Held, "all of it".to_owned()),
        _ => (Status::Unsupported, spelled(&gaps.join("; ")).into_owned()),
    }
}

fn settings(ground: &Ground) -> Found {
    let config = &ground.config;
    let mut said = Vec::new();
    match config.warnings.len() {
        0 => {}
        1 => said.push("one warning, see above".to_owned()),
        count => said.push(format!("{count} warnings, see above")),
    }
    match config.sandbox.mode {
        SandboxMode::WorkspaceWrite => {}
        SandboxMode::ReadOnly => said.push("commands change nothing (sandbox.mode)".to_owned()),
        SandboxMode::Off => said.push("commands run without a cage (sandbox.mode)".to_owned()),
    }
    if config.sandbox.network == Some(Action::Allow) {
        said.push("the network is open to every command (sandbox.network)".to_owned());
    }
    if !config.sandbox.write.is_empty() {
        said.push(format!("commands may write {} folders more (sandbox.write)", config.sandbox.write.len()));
    }
    let text = if said.is_empty() { "nothing in them opens the cage".to_owned() } else { said.join("; ") };
    (Status::Held, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_looked_at_is_named() {
        assert_eq!(missed(&[]), (Status::Held, "all of it".to_owned()));
        let gaps = ["too many folders".to_owned(), "a\u{1b}b is too large".to_owned()];
        assert_eq!(missed(&gaps), (Status::Unsupported, "too many folders; a\\u{1b}b is too large".to_owned()));
    }
}
