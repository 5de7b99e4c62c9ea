//! A folder in which every program is a recorder, and bash in a cage in it.

use std::cell::Cell;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use haft_sandbox::{Cage, Limits, Options, Rung, Sandbox, Session};
use haft_shell::{Surroundings, analyse};
use tempfile::TempDir;

use crate::compare::{is_told, is_written};
use crate::grammar::{NAMES, REAL};

/// Files that are there before each line.
const FILES: [(&str, &str); 4] = [("in", "one\ntwo\n"), ("a.txt", "a\n"), ("b.txt", "b\n"), ("src/c.txt", "c\n")];
/// Seconds of processor time that one process of a line may take.
const SECONDS: u32 = 2;

pub(crate) struct Scene {
    folder: TempDir,
    bash: PathBuf,
    sandbox: Sandbox,
    lines: Cell<usize>,
    known: Cell<usize>,
    recorded: Cell<usize>,
}

impl Scene {
    /// `None`: there is no bash.
    pub(crate) fn new() -> Option<Self> {
        let bash = on_path("bash")?;
        let folder = tempfile::Builder::new().prefix("recorder").tempdir().ok()?;
        let scene = Self {
            folder,
            bash,
            sandbox: Sandbox::find(&Options::default()),
            lines: Cell::default(),
            known: Cell::default(),
            recorded: Cell::default(),
        };
        fs::create_dir_all(scene.root().join("bin")).ok()?;
        // Another shell than the one that is looked at, and a single write, so that calls at the same time do not mix.
        // The log stands beside the folder that the recorder is found in.
        let recorder = "#!/bin/sh\nd=${0%/*}\nprintf '%s\\0' '<' \"${0##*/}\" \"$@\" '>' >> \"${d%/*}/log/calls\"\n";
        for name in NAMES {
            let file = scene.root().join("bin").join(name);
            fs::write(&file, recorder).ok()?;
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).ok()?;
        }
        for name in REAL {
            if let Some(program) = on_path(name) {
                symlink(program, scene.root().join("bin").join(name)).ok()?;
            }
        }
        Some(scene)
    }

    pub(crate) fn is_caged(&self) -> bool {
        self.sandbox.rung() != Rung::None
    }

    /// How many lines were looked at.
    pub(crate) fn lines(&self) -> usize {
        self.lines.get()
    }

    /// Of how many of those it was known what they do.
    pub(crate) fn known(&self) -> usize {
        self.known.get()
    }

    /// How many calls of programs were recorded from those.
    pub(crate) fn recorded(&self) -> usize {
        self.recorded.get()
    }

    fn root(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap_or_else(|_| self.folder.path().to_owned())
    }

    /// A place in the folder of this line.
    fn at(&self, name: &str) -> PathBuf {
        self.root().join(self.lines.get().to_string()).join(name)
    }

    /// Analyses the line, runs it, and says what the analysis did not tell.
    pub(crate) fn check(&self, line: &str) -> Option<String> {
        // Something in the background may still write where the line before was.
        let _ = fs::remove_dir_all(self.at(""));
        self.lines.set(self.lines.get() + 1);
        if let Err(error) = self.lay_out() {
            return Some(format!("cannot lay the folder out: {error}"));
        }
        let (project, home) = (self.at("w/x/p"), self.at("home"));
        let is_dir = |path: &Path| path.is_dir();
        let found = analyse(line, &Surroundings::new(&project).home(&home).is_dir(&is_dir));
        if !found.is_known() {
            return None;
        }
        self.known.set(self.known.get() + 1);
        self.run(line, &project, &home);
        let calls = self.calls();
        self.recorded.set(self.recorded.get() + calls.len());
        if let Some(call) = calls.iter().find(|call| !is_told(call, &found)) {
            let told: Vec<_> = found.commands.iter().map(|one| &one.words).collect();
            return Some(format!("bash ran {call:?}, the analysis says {told:?}"));
        }
        let written = self.changed(&self.at("w"));
        let unseen = written.iter().find(|path| !is_written(path, &found))?;
        Some(format!("bash wrote {}, the analysis says {:?}", unseen.display(), found.writes()))
    }

    fn lay_out(&self) -> std::io::Result<()> {
        for name in ["w/x/p/src", "log", "home"] {
            fs::create_dir_all(self.at(name))?;
        }
        symlink(self.root().join("bin"), self.at("bin"))?;
        FILES.iter().try_for_each(|(name, text)| fs::write(self.at("w/x/p").join(name), text))
    }

    fn run(&self, line: &str, project: &Path, home: &Path) {
        let limits = format!("ulimit -t {SECONDS} -f 1000; exec \"$@\"");
        let args: Vec<OsString> =
            ["--norc", "--noprofile", "-c", &limits, "-", "bash", "--norc", "--noprofile", "-c", line]
                .iter()
                .map(OsString::from)
                .collect();
        let cage = Cage {
            write: vec![self.at("w"), self.at("log"), self.at("home")],
            limits: Limits { processes: None, ..Limits::default() },
            ..Cage::default()
        };
        let mut command = match self.sandbox.launch(&cage, Session::New, &self.bash, &args) {
            Ok(launch) => {
                let mut command = Command::new(launch.program);
                command.args(launch.args);
                command
            }
            Err(_) => {
                let mut command = Command::new(&self.bash);
                command.args(&args);
                command
            }
        };
        command
            .env_clear()
            .env("PATH", self.at("bin"))
            .env("HOME", home)
            .env("FUNCNEST", "20")
            .env("LC_ALL", "C.UTF-8")
            .current_dir(project);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let Ok(mut child) = command.spawn() else { return };
        // What still runs when bash has ended holds these open.
        let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
        let reader = std::thread::spawn(move || out.as_mut().map(|out| out.read_to_end(&mut Vec::new())));
        let _ = err.as_mut().map(|err| err.read_to_end(&mut Vec::new()));
        let _ = reader.join();
        let _ = child.wait();
    }

    /// The calls, each as its words.
    fn calls(&self) -> Vec<Vec<String>> {
        let log = fs::read(self.at("log/calls")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let mut calls: Vec<Vec<String>> = Vec::new();
        let mut words = log.split('\0');
        while words.next() == Some("<") {
            let mut call = Vec::new();
            // An argument that is the mark itself ends the call too early: the grammar has none.
            call.extend(words.by_ref().take_while(|word| *word != ">").map(str::to_owned));
            calls.push(call);
        }
        calls
    }

    /// Files below `folder` that are new or hold something else than before.
    fn changed(&self, folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                found.extend(self.changed(&path));
                continue;
            }
            let before = FILES.iter().find(|(name, _)| self.at("w/x/p").join(name) == path);
            if !before.is_some_and(|(_, text)| fs::read(&path).is_ok_and(|now| now == text.as_bytes())) {
                found.push(path);
            }
        }
        found
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let folders = ["/usr/bin", "/bin", "/usr/local/bin"];
    folders.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists())
}
