//! What the settings and the place say about the cages of commands.

use std::ffi::OsStr;
use std::path::PathBuf;

use anyhow::{Result, anyhow};
use haft_config::{Config, SandboxMode};
use haft_project::{Caging, Mode, Place, preset_names};
use haft_sandbox::Rung;

use crate::folders::Folders;

/// The variable that names the one way to hold cages that may be used, for tests and for whoever wants to compare them. It
/// never takes a cage away: with one that does not hold here, commands ask as they do without.
const ONLY: &str = "HAFT_SANDBOX_RUNG";

/// How commands are caged in `place`; `None` where the user switched cages off.
///
/// # Errors
///
/// When [`ONLY`] names no way to hold one.
pub(crate) fn caging(folders: &Folders, place: &Place, config: &Config) -> Result<Option<Caging>> {
    let sandbox = &config.sandbox;
    let mode = match sandbox.mode {
        SandboxMode::WorkspaceWrite => Mode::WorkspaceWrite,
        SandboxMode::ReadOnly => Mode::ReadOnly,
        SandboxMode::Off => return Ok(None),
    };
    // Keys, sessions, approvals, the record of what was done.
    let own = [folders.data.clone(), folders.state.join("log"), folders.config_home.join("haft")];
    // Settings of the other agent may hold keys too.
    let others = [folders.config_home.join("opencode")];
    Ok(Some(Caging {
        mode,
        home: folders.home.clone(),
        roots: roots(place),
        write: sandbox.write.clone(),
        own: own.into(),
        hidden: others.into_iter().chain(sandbox.read_deny.iter().cloned()).collect(),
        shown: vec![folders.outputs(), folders.plans(), folders.packages()],
        scratch: folders.scratch(),
        presets: sandbox.presets.clone(),
        only: std::env::var_os(ONLY).map(|word| only(&word)).transpose()?,
    }))
}

/// What is wrong with the names of presets in `config`: each that is none does nothing.
pub(crate) fn unknown_presets(config: &Config) -> Vec<String> {
    let known = preset_names();
    let named = config.sandbox.presets.iter().flatten();
    named
        .filter(|name| !known.contains(name))
        .map(|name| format!("{name:?} in sandbox.presets is none; there are {}", known.join(", ")))
        .collect()
}

/// The folders that commands work in.
fn roots(place: &Place) -> Vec<PathBuf> {
    let mut roots = vec![place.directory.clone()];
    roots.extend(place.worktree.iter().filter(|top| **top != place.directory).cloned());
    roots
}

fn only(word: &OsStr) -> Result<Rung> {
    match word.to_str() {
        Some("namespaces") => Ok(Rung::Namespaces),
        Some("landlock") => Ok(Rung::Landlock),
        Some("seatbelt") => Ok(Rung::Seatbelt),
        Some(_) | None => Err(anyhow!("{ONLY} must be namespaces, landlock or seatbelt, not {word:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders() -> Folders {
        let at = |name: &str| PathBuf::from("/h").join(name);
        Folders {
            home: "/h".into(),
            config_home: at("c"),
            data: at("d/haft"),
            state: at("s/haft"),
            cache: at("k/haft"),
        }
    }

    fn place() -> Place {
        Place { directory: "/p/sub".into(), worktree: Some("/p".into()), project_id: "x".to_owned() }
    }

    #[test]
    fn what_is_ours_is_hidden_but_for_what_is_to_be_read() {
        let caging = caging(&folders(), &place(), &Config::default()).unwrap().unwrap();
        assert!(caging.own.contains(&"/h/d/haft".into()) && caging.hidden.contains(&"/h/c/opencode".into()));
        assert!(caging.shown.contains(&"/h/d/haft/output".into()));
        assert_eq!(caging.roots, [PathBuf::from("/p/sub"), "/p".into()]);
        assert_eq!((caging.mode, caging.scratch), (Mode::WorkspaceWrite, "/h/s/haft/scratch".into()));
    }

    #[test]
    fn settings_are_followed() {
        let with = |mode, read_deny: &[&str]| {
            let mut config = Config::default();
            config.sandbox.mode = mode;
            config.sandbox.read_deny = read_deny.iter().map(PathBuf::from).collect();
            caging(&folders(), &place(), &config).unwrap()
        };
        assert!(with(SandboxMode::Off, &[]).is_none());
        let caging = with(SandboxMode::ReadOnly, &["/secret"]).unwrap();
        assert!(caging.mode == Mode::ReadOnly && caging.hidden.contains(&"/secret".into()));
    }

    #[test]
    fn names_of_presets_that_are_none_are_told() {
        let mut config = Config::default();
        assert_eq!(unknown_presets(&config), [""; 0]);
        config.sandbox.presets = Some(preset_names());
        assert_eq!(unknown_presets(&config), [""; 0]);
        config.sandbox.presets = Some(["carg", "npm"].map(str::to_owned).to_vec());
        assert_eq!(
            unknown_presets(&config),
            ["\"carg\" in sandbox.presets is none; there are cargo, npm, pip, go, git"]
        );
    }

    #[test]
    fn a_way_that_is_none_is_an_error() {
        assert_eq!(only(OsStr::new("landlock")).unwrap(), Rung::Landlock);
        for word in ["none", "off", "", "LANDLOCK"] {
            assert!(only(OsStr::new(word)).unwrap_err().to_string().contains(ONLY), "{word}");
        }
    }
}
