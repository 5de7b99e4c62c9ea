//! Gets the other agents from the npm registry.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::agent::{Agent, Kind};
use crate::child;

/// The packages, in the versions that this was made with. Newer ones may want other settings.
const OPENCODE: &str = "opencode-ai@1.18.33";
const CODEX: &str = "@openai/codex@0.169.0";

/// How long an installation may take. The two programs are some 600 MB together.
const PATIENCE: Duration = Duration::from_secs(600);

/// OpenCode and Codex from below `folder`, each installed there first when it is missing, or why it is not there.
///
/// No script of a package runs: the native programs are used as they are. What an agent would look for or fetch when
/// it first searches, a ripgrep, comes with Codex and is given to all of them.
pub fn peers(folder: &Path) -> Vec<(Kind, Result<Agent>)> {
    let found = [(Kind::OpenCode, OPENCODE), (Kind::Codex, CODEX)]
        .map(|(kind, package)| (kind, installed(kind, package, folder)));
    let beside = found.iter().find_map(|(kind, program)| match (kind, program) {
        (Kind::Codex, Ok(program)) => Some(program.parent()?.parent()?.join("codex-path")),
        _ => None,
    });
    let agent = |kind, program| Agent { kind, program, beside: beside.clone() };
    found.into_iter().map(|(kind, program)| (kind, program.map(|program| agent(kind, program)))).collect()
}

/// OpenCode alone, from below the folder that this program was built into, installed there first when it is missing.
///
/// # Errors
///
/// When it is not there and npm cannot install it.
pub fn opencode() -> Result<Agent> {
    let program = std::env::current_exe()?;
    let folder = program.parent().and_then(Path::parent).context("this program is in no build folder")?.join("peers");
    let program = installed(Kind::OpenCode, OPENCODE, &folder)?;
    Ok(Agent { kind: Kind::OpenCode, program, beside: None })
}

/// The native program of `package`.
fn installed(kind: Kind, package: &str, folder: &Path) -> Result<PathBuf> {
    // A folder for each version, so that none is taken for another.
    let folder = folder.join(package.replace(['/', '@'], "-").trim_start_matches('-'));
    if program(kind, &folder).is_none() {
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        // A manifest of its own, so that npm does not look for one above.
        std::fs::write(folder.join("package.json"), r#"{"private":true}"#)?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", package]);
        child::run(npm.current_dir(&folder), &folder.join("npm.log"), PATIENCE)
            .with_context(|| format!("npm cannot install {package}"))?;
    }
    program(kind, &folder).with_context(|| format!("{package} holds no program for {}", platform()))
}

/// The native program below `folder`.
fn program(kind: Kind, folder: &Path) -> Option<PathBuf> {
    let modules = folder.join("node_modules");
    let found = match kind {
        Kind::Haft => None,
        Kind::OpenCode => Some(modules.join(format!("opencode-{}", platform())).join("bin/opencode")),
        Kind::Codex => {
            // One folder, named by the compiler's name for the machine.
            let vendor = modules.join(format!("@openai/codex-{}", platform())).join("vendor");
            let mut folders = std::fs::read_dir(vendor).ok()?.filter_map(Result::ok);
            folders.next().map(|folder| folder.path().join("bin/codex"))
        }
    };
    found.filter(|program| program.is_file())
}

/// This machine in the words of node.
fn platform() -> String {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let processor = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{system}-{processor}")
}
