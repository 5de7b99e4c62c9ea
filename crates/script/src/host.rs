//! A Node or Bun that is installed here, as a host for scripts that haft's own engine cannot run: those that need a
//! native module, or a part of Node that the engine has not.
//!
//! It is an ordinary program in the cage of commands, with the rights that it is given here and no more, and speaks the
//! same language as the engine: what a script asks haft for passes the same gate. What it does by itself (files,
//! processes) the cage holds. Standard output is not what it speaks over, so that nobody's `console.log` is in the way.
//!
//! A cage cannot become narrower around a program that runs. So there is a host for each [`Right`]: one that may change the
//! project, for agents that may, and one that may not. The first ends when nobody works any more who may change files.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_permission::{Access, Action, Asker, Denied, Effect, Gate, Grant, Rules};
use haft_project::{Command, Processes, Running, Streams, Talk};
use serde_json::{Map, Value, json};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::engine::{Engine, Facts};
use crate::error::ScriptError;
use crate::inside::parts;
use crate::plugin::Stage;
use crate::tools::Bounds;

/// Programs that can be a host, the better one first.
const PROGRAMS: [&str; 2] = ["bun", "node"];
/// Memory of one host's JavaScript, in MiB. The cage has a limit of its own for all of it.
const MEMORY: u32 = 1024;
/// The permission under which it is asked for: it is a command.
const PERMISSION: &str = "bash";
/// Most hosts at once.
pub const MAX_HOSTS: usize = 16;
/// How much is remembered of what a host wrote to standard output and error, in lines.
const MAX_TAIL: usize = 6;
/// Longest such line, in bytes.
const MAX_WORDS: usize = 1024;
/// How long the last words of one that has ended are waited for.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// What a host may do to the project by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// Read it.
    Reads,
    /// Change it as a command may.
    Changes,
}

impl Right {
    /// That of hosts for an agent that may do this with files in general: what has to be asked for file by file is not for
    /// a program that nobody asks.
    pub fn of(edit: Action) -> Self {
        match edit {
            Action::Allow => Self::Changes,
            Action::Ask | Action::Deny => Self::Reads,
        }
    }
}

/// What hosts are started with.
#[derive(Clone)]
pub struct Hosting {
    /// What starts them, in cages.
    pub processes: Processes,
    /// Who gives leave for one in a cage: the rules for commands hold for it.
    pub stage: Arc<dyn Stage>,
    /// The gate that notes one without a cage, which the settings want. It asks nobody.
    pub gate: Gate,
    /// On whose behalf.
    pub asker: Asker,
    /// Rules that let that pass.
    pub rules: Rules,
    /// Where they run.
    pub directory: PathBuf,
    /// Whether those for agents that may change files may change the folders that commands may change.
    pub changes: bool,
    /// Whether they may use the network.
    pub network: bool,
    /// The folders in which programs are looked for.
    pub path: Vec<PathBuf>,
    /// A folder of the program's own, which cages can read, for the files that a host begins with.
    pub folder: PathBuf,
    /// What takes the types off a file: a program and its arguments, which call [`strip_types`](crate::strip_types).
    pub strip: Vec<String>,
    /// Whether there is no host where the machine holds no cage. Without it, the settings want none.
    pub needs_cage: bool,
    /// Room for further hosts.
    pub room: Arc<tokio::sync::Semaphore>,
}

/// One host, not started yet.
#[derive(Clone)]
pub(crate) struct HostLaunch {
    hosting: Arc<Hosting>,
    program: PathBuf,
    /// What it is started for.
    what: String,
    right: Right,
    bounds: Arc<dyn Bounds>,
}

/// The hosts of one script: an engine for each right.
pub(crate) struct Hosts {
    hosting: Arc<Hosting>,
    reads: Engine,
    changes: Engine,
}

impl Hosts {
    /// The right of the host for who has `right`.
    pub(crate) fn right(&self, right: Right) -> Right {
        if self.hosting.changes { right } else { Right::Reads }
    }

    /// The one with `right`.
    pub(crate) fn with(&self, right: Right) -> &Engine {
        match right {
            Right::Reads => &self.reads,
            Right::Changes => &self.changes,
        }
    }

    /// Ends the one that may change files, if nobody works any more who may, when what runs in it is over. Returns whether
    /// it does.
    pub(crate) async fn narrow(&self) -> bool {
        let narrows = !self.hosting.stage.has_writers();
        if narrows {
            self.changes.let_go().await;
        }
        narrows
    }
}

/// Why there is no host where rules hold it back.
fn held(launch: &HostLaunch, denied: &Denied) -> String {
    let (program, what) = (launch.name(), &launch.what);
    let short = haft_permission::plugin_name(what);
    match denied {
        Denied::Nobody { .. } => format!(
            "your rules ask before the command `{program} {what}` runs, and nobody can be asked for it; to let it, say \"plugin\": \
             {{\"{short}\": \"allow\"}} under permission"
        ),
        denied => denied.to_string(),
    }
}

/// What a started process is spoken with by.
pub(crate) struct Started {
    pub(crate) input: ChildStdin,
    pub(crate) output: ChildStdout,
    pub(crate) settle: Settle,
    pub(crate) life: Life,
}

/// Has put back what a host changed of what is protected. Each wish is dropped when that is done.
pub(crate) type Settle = mpsc::Sender<oneshot::Sender<()>>;

/// A host that runs. Dropping it ends it with all that it started.
pub(crate) struct Life {
    tail: Tail,
    name: String,
    silent: CancellationToken,
    _task: AbortOnDropHandle<()>,
    _permit: tokio::sync::OwnedSemaphorePermit,
}

impl Hosting {
    /// Engines that are processes of their own for `what`, which may import what is within `bounds`, and how they run, such
    /// as `node, in the cage of commands`.
    ///
    /// # Errors
    ///
    /// Why there are none, and what can be done.
    pub(crate) async fn hosts(
        self: &Arc<Self>,
        what: &str,
        bounds: &Arc<dyn Bounds>,
    ) -> Result<(Hosts, String), String> {
        if self.needs_cage && self.processes.mode().is_none() {
            return Err("this machine holds no cage for it; `haft doctor` says why".to_owned());
        }
        let found = PROGRAMS.iter().find_map(|name| {
            let program = self.path.iter().map(|folder| folder.join(name)).find(|program| program.is_file())?;
            Some((program, (*name).to_owned()))
        });
        let Some((program, name)) = found else {
            return Err("neither bun nor node is installed here; with one of them it can be run".to_owned());
        };
        let (hosting, what) = (Arc::clone(self), what.to_owned());
        let launch = HostLaunch { hosting, program, what, right: Right::Reads, bounds: bounds.clone() };
        launch.leave(Vec::new()).await.map_err(|denied| held(&launch, &denied))?;
        let how = match self.needs_cage {
            true => format!("{name}, in the cage of commands"),
            false => format!("{name}, without a cage, as the settings want it"),
        };
        let engine = |right| Engine::hosted(HostLaunch { right, ..launch.clone() }, Facts::default());
        let (reads, changes) = (engine(Right::Reads), engine(Right::Changes));
        Ok((Hosts { hosting: Arc::clone(self), reads, changes }, how))
    }
}

impl HostLaunch {
    /// Starts it.
    pub(crate) async fn start(&self) -> Result<Started, ScriptError> {
        let Hosting { stage, processes, directory, network, folder, strip, room, .. } = self.hosting.as_ref();
        let name = self.name().to_owned();
        let failed = |why: String| ScriptError::Host { name: name.clone(), why };
        let permit = Arc::clone(room).try_acquire_owned();
        let permit = permit.map_err(|_| failed(format!("{MAX_HOSTS} of them run already, which is the most")))?;
        self.bounds.unchanged().map_err(&failed)?;
        let files = written(folder).map_err(|error| failed(format!("{}: {error}", folder.display())))?;
        let changes = self.hosting.changes && self.right == Right::Changes;
        let roots = processes.roots().iter().filter(|_| changes).cloned().map(Effect::Change);
        let text = line(&self.program, &files.host);
        let run = Effect::Run { command: text.clone(), dir: directory.clone() };
        let effects = std::iter::once(run).chain(roots).chain(network.then_some(Effect::Network)).collect();
        let grant = self.leave(effects).await.map_err(|denied| failed(denied.to_string()))?;
        let within = self.bounds.folders();
        let given =
            json!({ "files": { "parts": files.parts, "loader": files.loader }, "strip": strip, "within": within });
        let mut env = vec![("HAFT_HOST".to_owned(), given.to_string())];
        env.extend(network.then(|| ("HAFT_HOST_NETWORK".to_owned(), "1".to_owned())));
        let secrets = stage.secrets();
        let command =
            Command { text, dir: directory.clone(), env, streams: Streams::Apart, secrets, ..Command::default() };
        let spawned = processes.unrecorded().spawn(&grant, &command).await;
        let mut running = spawned.map_err(|error| failed(haft_tool::with_causes(&error)))?;
        let Some(Talk { input, output }) = running.talk() else {
            return Err(failed("it cannot be spoken with".to_owned()));
        };
        let (tail, silent) = (Tail::default(), CancellationToken::new());
        let (settle, wishes) = mpsc::channel(1);
        let listening = listen(running, self.what.clone(), tail.clone(), silent.clone(), wishes);
        let task = AbortOnDropHandle::new(tokio::spawn(listening));
        Ok(Started { input, output, settle, life: Life { tail, name, silent, _task: task, _permit: permit } })
    }

    /// The program's name.
    fn name(&self) -> &str {
        self.program.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Leave for one that does this.
    async fn leave(&self, effects: Vec<Effect>) -> Result<Grant, Denied> {
        let Hosting { stage, gate, asker, rules, needs_cage, .. } = self.hosting.as_ref();
        let access = Access { effects, ..Access::new(PERMISSION, format!("{} {}", self.name(), self.what)) };
        match needs_cage {
            true => stage.leave(&self.what, access).await,
            false => gate.ask(asker, rules, access).await,
        }
    }
}

impl Life {
    /// What is to be said of one that has ended.
    pub(crate) async fn last_words(self) -> ScriptError {
        let _ = tokio::time::timeout(LAST_WORDS, self.silent.cancelled()).await;
        let lines = self.tail.0.lock().unwrap_or_else(PoisonError::into_inner);
        let said: Vec<&str> = lines.iter().map(String::as_str).collect();
        let said = if said.is_empty() { String::new() } else { format!(" (it wrote: {})", said.join(" / ")) };
        ScriptError::Host { name: self.name.clone(), why: format!("it ended, or said what is not understood{said}") }
    }
}

/// The last lines that a host wrote.
#[derive(Clone, Default)]
struct Tail(Arc<Mutex<VecDeque<String>>>);

impl Tail {
    fn add(&self, what: &str, bytes: &[u8]) {
        let text: String = String::from_utf8_lossy(bytes).chars().filter(|c| !c.is_control()).collect();
        if text.trim().is_empty() {
            return;
        }
        tracing::info!(script = what, "{text}");
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == MAX_TAIL {
            lines.pop_front();
        }
        lines.push_back(text.trim().to_owned());
    }
}

/// Follows what the host writes beside what it says to haft, until it ends.
async fn listen(
    mut running: Running,
    what: String,
    tail: Tail,
    silent: CancellationToken,
    mut wishes: mpsc::Receiver<oneshot::Sender<()>>,
) {
    let _silent = silent.drop_guard();
    let (mut piece, mut open) = (Vec::new(), Vec::new());
    loop {
        tokio::select! {
            more = running.read(&mut piece) => if !more { break },
            Some(_wish) = wishes.recv() => {
                for repair in running.put_back().await {
                    tracing::info!(?repair, script = what, "put back after a host");
                }
                continue;
            }
        }
        for &byte in &piece {
            // Of a line that never ends only the beginning counts.
            if byte == b'\n' {
                tail.add(&what, &open);
                open.clear();
            } else if open.len() < MAX_WORDS {
                open.push(byte);
            }
        }
    }
    tail.add(&what, &open);
}

/// The line for the shell that becomes the host: it speaks over a stream of its own, and what it prints is its log.
fn line(program: &Path, script: &Path) -> String {
    let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
    let is_node = program.file_name().is_some_and(|name| name == "node");
    let options = if is_node { format!(" --max-old-space-size={MEMORY} --no-warnings") } else { " run".to_owned() };
    format!("exec 3>&1 1>&2; exec {}{options} {}", quoted(program), quoted(script))
}

/// The files that a host begins with.
#[derive(Debug, PartialEq, Eq)]
struct Files {
    host: PathBuf,
    loader: PathBuf,
    parts: PathBuf,
}

/// Those files in `folder`, written once for each version of them, and again where they are not as they were.
fn written(folder: &Path) -> std::io::Result<Files> {
    std::fs::create_dir_all(folder)?;
    let keep = |name: &str, end: &str, text: &str| {
        let hash = blake3::hash(text.as_bytes()).to_hex();
        let path = folder.join(format!("{name}-{}.{end}", hash.get(..16).unwrap_or_default()));
        if !std::fs::read(&path).is_ok_and(|there| there == text.as_bytes()) {
            let beside = path.with_extension(format!("{}", std::process::id()));
            std::fs::write(&beside, text)?;
            std::fs::rename(&beside, &path)?;
        }
        Ok::<_, std::io::Error>(path)
    };
    Ok(Files {
        host: keep("host", "mjs", include_str!("host/host.mjs"))?,
        loader: keep("loader", "mjs", include_str!("host/loader.mjs"))?,
        parts: keep("parts", "json", &Value::Object(part_texts()).to_string())?,
    })
}

/// The parts of the engine's prelude that a host needs as well.
fn part_texts() -> Map<String, Value> {
    let names = ["tools", "zod", "plugin", "bun", "child_process", "fetch"];
    names.iter().filter_map(|name| Some(((*name).to_owned(), parts(name)?.into()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_path_is_read_by_the_shell() {
        let line = line(Path::new("/opt/it's/node"), Path::new("/a b/$(x).mjs"));
        assert!(line.starts_with("exec 3>&1 1>&2; exec '/opt/it'\\''s/node' --max-old-space-size="), "{line}");
        assert!(line.ends_with(" '/a b/$(x).mjs'"), "{line}");
    }

    #[test]
    fn the_files_are_written_once() {
        let folder = tempfile::tempdir().unwrap();
        let files = written(folder.path()).unwrap();
        std::fs::write(&files.host, "changed").unwrap();
        assert_eq!(written(folder.path()).unwrap(), files);
        assert!(std::fs::read_to_string(&files.host).unwrap().contains("JSON-RPC"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn last_lines_are_remembered_without_what_moves_a_terminal() {
        let tail = Tail::default();
        (0..20).for_each(|n| tail.add("x", format!("line\u{1b}[1m {n}").as_bytes()));
        let lines = tail.0.lock().unwrap();
        assert_eq!((lines.len(), lines[0].as_str()), (MAX_TAIL, "line[1m 14"));
    }
}
