//! What the peers are made of, installed once for all tests.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Python packages with their versions.
const PYTHON: &str = include_str!("requirements.txt");

/// Longest that one installation may take. It takes a minute.
const PATIENCE: Duration = Duration::from_secs(600);

/// The package that plays vendors, with its version.
const AIMOCK: &str = "@copilotkit/aimock@1.43.0";

/// OpenCode, in the version whose sessions are taken over.
const OPENCODE: &str = "opencode-ai@1.18.33";

/// Other agents, with their versions.
const CODEX: &str = "@openai/codex@0.169.0";
const CLAUDE: &str = "@anthropic-ai/claude-code@2.1.197";

/// Servers of MCP's own, among them one of all that it has, and an inspector of servers, with their versions.
const MCP: [&str; 4] = [
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    "@modelcontextprotocol/inspector@0.15.0",
];

/// Further ones, in Python.
const MCP_PYTHON: &str = include_str!("mcp_requirements.txt");

/// A formatter, with its version.
const PRETTIER: &str = "prettier@3.6.2";

/// The version of Bun that plug-ins run in.
const BUN: &str = "1.2.23";

/// A Python that has the packages of `requirements.txt`.
pub(crate) fn python() -> Option<PathBuf> {
    packages("python", PYTHON).map(|bin| bin.join("python"))
}

/// The folder of a Python with servers of MCP, and their programs.
pub(crate) fn mcp_python() -> Option<PathBuf> {
    packages("mcp-python", MCP_PYTHON)
}

/// The programs of a Python that has the packages that `requirements` lists.
fn packages(name: &str, requirements: &str) -> Option<PathBuf> {
    installed(name, requirements, |folder| {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))?;
        let list = folder.join("requirements.txt");
        std::fs::write(&list, requirements).unwrap();
        let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
        run(Command::new(folder.join("bin/python")).args(quiet).arg(list))
    })
    .map(|folder| folder.join("bin"))
}

/// The program that plays vendors.
pub(crate) fn aimock() -> Option<PathBuf> {
    installed("node", AIMOCK, |folder| {
        // What it could be used with besides is not wanted, and a registry that cannot be reached is to be noticed.
        let only = ["install", "--silent", "--no-audit", "--no-fund", "--legacy-peer-deps", "--fetch-retries=1"];
        run(Command::new("npm").args(only).arg("--prefix").arg(folder).arg(AIMOCK))
    })
    .map(|folder| folder.join("node_modules/.bin/llmock"))
}

/// OpenCode, as its own native program.
pub(crate) fn opencode() -> Option<PathBuf> {
    native("opencode", OPENCODE, "node_modules", |package| package.join("bin/opencode"))
}

/// Codex, likewise.
pub(crate) fn codex() -> Option<PathBuf> {
    native("codex", CODEX, "node_modules/@openai", |package| {
        let builds = std::fs::read_dir(package.join("vendor")).into_iter().flatten().flatten();
        builds.map(|build| build.path().join("bin/codex")).next().unwrap_or_default()
    })
}

/// Claude Code, likewise.
pub(crate) fn claude() -> Option<PathBuf> {
    native("claude", CLAUDE, "node_modules/@anthropic-ai", |package| package.join("claude"))
}

/// The native program of the npm package `what`, whose packages for single machines stand in the folder `scope`: the first
/// that runs here. No script of a package runs.
fn native(name: &str, what: &str, scope: &str, program: impl Fn(PathBuf) -> PathBuf) -> Option<PathBuf> {
    let folder = installed(name, what, |folder| {
        let only = ["install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"];
        run(Command::new("npm").args(only).arg("--prefix").arg(folder).arg(what))
    })?;
    let packages = std::fs::read_dir(folder.join(scope)).unwrap().map(|entry| entry.unwrap().path());
    let runs = |program: &PathBuf| {
        program.is_file() && Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    packages.filter(|package| !package.ends_with("opencode-ai")).map(program).find(runs)
}

/// The folder with the programs of MCP's own: servers, and an inspector of servers.
pub(crate) fn mcp() -> Option<PathBuf> {
    installed("mcp", &MCP.concat(), |folder| {
        let only = ["install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"];
        run(Command::new("npm").args(only).arg("--prefix").arg(folder).args(MCP))
    })
    .map(|folder| folder.join("node_modules/.bin"))
}

/// The folder with a Bun, of the package `name` for this machine.
pub(crate) fn bun(name: &str) -> Option<PathBuf> {
    let folder = installed("bun", BUN, |folder| {
        let only = ["install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"];
        run(Command::new("npm").args(only).arg("--prefix").arg(folder).arg(format!("{name}@{BUN}")))
    })?;
    Some(folder.join("node_modules").join(name).join("bin"))
}

/// The folder `node_modules` that holds prettier.
pub(crate) fn prettier() -> Option<PathBuf> {
    installed("prettier", PRETTIER, |folder| {
        let only = ["install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"];
        run(Command::new("npm").args(only).arg("--prefix").arg(folder).arg(PRETTIER))
    })
    .map(|folder| folder.join("node_modules"))
}

/// Packages that bring skills along, with their versions.
const SKILLS: [&str; 7] = [
    "@ant-design/x-skill@2.9.0",
    "@ckelsoe/claude-skill-prompt-architect@2.1.4",
    "@plaited/development-skills@0.8.1",
    "@playwright/cli@0.1.22",
    "@tanstack/db@0.15.2",
    "ai-labs-claude-skills@2.0.1",
    "chrome-devtools-mcp@1.11.0",
];

/// The folder with packages that bring skills along, each in a folder of its name without its version and its scope. They
/// are unpacked and nothing more.
pub(crate) fn skills() -> Option<PathBuf> {
    installed("skills", &SKILLS.concat(), |folder| {
        for package in SKILLS {
            let name = package.rsplit_once('@').unwrap_or((package, "")).0;
            let to = folder.join(name.rsplit('/').next().unwrap_or(name));
            // What an earlier try left.
            let _ = std::fs::remove_dir_all(&to);
            std::fs::create_dir_all(&to).unwrap();
            let only = ["pack", "--silent", "--ignore-scripts", "--fetch-retries=1", "--pack-destination"];
            run(Command::new("npm").args(only).arg(&to).arg(package))?;
            let packed = std::fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().path()).next();
            let packed = packed.ok_or_else(|| format!("{package} is not there"))?;
            run(Command::new("tar").args(["--strip-components=1", "-xzf"]).arg(&packed).arg("-C").arg(&to))?;
        }
        Ok(())
    })
}

/// The folder `name` with `what` in it, which `install` puts there unless it is there already. Test programs that want
/// the same wait for each other.
fn installed(name: &str, what: &str, install: impl FnOnce(&Path) -> Result<(), String>) -> Option<PathBuf> {
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers");
    std::fs::create_dir_all(&all).unwrap();
    let (folder, done) = (all.join(name), all.join(format!("{name}.done")));
    let lock = File::create(all.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    if std::fs::read_to_string(&done).is_ok_and(|there| there == what) {
        return Some(folder);
    }
    std::fs::create_dir_all(&folder).unwrap();
    match install(&folder) {
        Ok(()) => {
            std::fs::write(&done, what).unwrap();
            Some(folder)
        }
        Err(why) => {
            assert!(std::env::var_os("HAFT_NEEDS_PEERS").is_none(), "{name} cannot be installed: {why}");
            eprintln!("not tested, because {name} cannot be installed: {why}");
            None
        }
    }
}

/// Runs `command` to its end, which is there after [`PATIENCE`] at the latest.
fn run(command: &mut Command) -> Result<(), String> {
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log.reopen().unwrap())
        .spawn()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > PATIENCE {
            child.kill().unwrap();
            break child.wait().unwrap();
        }
        std::thread::park_timeout(Duration::from_millis(50));
    };
    match status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}: {status}: {}", std::fs::read_to_string(log.path()).unwrap_or_default())),
    }
}
