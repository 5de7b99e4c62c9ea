//! Running a command line, and ending all that it started.

mod caging;
mod environment;
mod guard;
mod hidden;
mod presets;
#[cfg(target_os = "linux")]
mod proc;
mod repository;
mod running;
mod scratch;
mod terminal;
mod tree;
mod walls;

use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use haft_permission::{Done, Grant};
use haft_sandbox::{CageError, Launch, Rung, Session};
use tokio::net::unix::pipe;
use tokio::process::{ChildStdin, ChildStdout};

use self::caging::{Cages, Leave, Prepared, Watch};
pub use self::caging::{Caging, Mode, temporary};
use self::environment::environment;
use self::guard::Guard;
pub use self::hidden::secrets;
pub use self::presets::preset_names;
pub use self::running::{End, LINGER, Running};
use self::running::{Record, Recording, Shell};
pub use self::terminal::{COLUMNS, ROWS};
use self::tree::Tree;
pub use self::walls::Walls;
use crate::protected::{Protection, Secrets};
use crate::{Recorder, door, pick_shell};

/// The variable by which we know again what a command started: a mark of its own, behind the marks of the commands
/// that we were started by.
const MARK: &str = "HAFT_COMMAND";
/// Most bytes of marks that are passed on.
const MAX_MARKS: usize = 1024;
/// How much the system is asked to hold of what a command wrote and nobody read yet, in bytes. Less, where it will
/// not; then the command waits. Output is never piled up in memory here.
#[cfg(target_os = "linux")]
const PIPE: usize = 1024 * 1024;

/// What starts processes. A handle, cheap to clone.
///
/// A command gets the environment of this program, with `HAFT=1`, `AGENT=1` and `OPENCODE=1`, and without the
/// variables that were listed as secret or whose names say so: those that end in `_KEY`, `_TOKEN`, `_SECRET`, `_PASS`,
/// `_PAT` (or are these words), `PASSWORD`, `PASSWD`, `PASSPHRASE`, `CREDENTIALS` or `APIKEY`, in capitals or not. What a
/// model runs must not be able to spend the user's keys. Ways to agents that keep a key to themselves stay:
/// `SSH_AUTH_SOCK`, `GPG_TTY`.
///
/// Should this program be killed, what its commands left running is killed by a small shell that waits beside it
/// (Linux).
///
/// With [`Processes::caged`] a command has the rights of its grant and no more, where the machine can hold a cage; then it
/// also has a folder of its own for temporary files and caches, and what is protected in the folders that it may change is
/// as before when it has ended.
#[derive(Debug, Clone)]
pub struct Processes {
    inner: Arc<Inner>,
    cages: Option<Arc<Cages>>,
    recorder: Option<Arc<dyn Recorder>>,
}

#[derive(Debug)]
struct Inner {
    shell: PathBuf,
    secrets: Vec<String>,
    /// What all our marks begin with: nobody else's do.
    mark: String,
    count: AtomicU64,
    guard: OnceLock<Option<Guard>>,
}

/// A command line to run.
#[derive(Clone, Default)]
pub struct Command {
    /// The text for the shell.
    pub text: String,
    /// The working folder: absolute, without links.
    pub dir: PathBuf,
    /// Variables to add. They are passed on whatever their names are.
    pub env: Vec<(String, String)>,
    /// What its input and outputs are.
    pub streams: Streams,
    /// The names of the programs that it is seen to run, without folders.
    pub programs: Vec<String>,
    /// Which files in the folders that it may change it cannot read. `None`: it can read all of them.
    pub secrets: Option<Secrets>,
}

impl std::fmt::Debug for Command {
    /// Of variables the names alone: a value may be a key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        let mut told = f.debug_struct("Command");
        told.field("text", &self.text).field("dir", &self.dir).field("env", &names).finish_non_exhaustive()
    }
}

/// What a command's input and outputs are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Streams {
    /// No input, and a pipe for both outputs.
    #[default]
    Pipe,
    /// A terminal of [`ROWS`] by [`COLUMNS`]. Line feeds come with a carriage return before them.
    Terminal,
    /// Input and standard output are pipes that [`Running::talk`] hands over; what comes as the command's output is what
    /// it writes to standard error. For programs that one speaks with.
    Apart,
}

/// The ends of a command that is spoken with.
#[derive(Debug)]
pub struct Talk {
    /// What the command reads. Dropping it ends that.
    pub input: ChildStdin,
    /// What it writes to standard output.
    pub output: ChildStdout,
}

/// Why a command could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The caller did not ask, or asked for something else.
    #[error("no leave was given to run this command in {}", .dir.display())]
    NotGranted {
        /// The working folder.
        dir: PathBuf,
    },
    /// The working folder is none.
    #[error("cannot run anything in {}, because it is no folder that can be entered", .dir.display())]
    NoFolder {
        /// The working folder.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no folder for its temporary files.
    #[error("cannot make {}, the folder for temporary files of commands", .dir.display())]
    NoScratch {
        /// The folder.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The cage it was to run in cannot be made. It was not run.
    #[error("not run, because its cage cannot be made")]
    NoCage(#[from] CageError),
    /// What leave was given for is elsewhere now.
    #[error("not run, because {} leads somewhere else now than when leave was asked for; look what it is, and call again", .path.display())]
    Moved {
        /// What was asked for.
        path: PathBuf,
    },
    /// Getting its cage ready failed in a way that nobody foresaw. It was not run.
    #[error("not run, because getting its cage ready failed")]
    Unprepared,
    /// The shell did not start.
    #[error("cannot start {}", .shell.display())]
    Start {
        /// The shell.
        shell: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Processes {
    /// Commands run by `shell`, without the variables named in `secrets`.
    pub fn new(shell: PathBuf, secrets: Vec<String>) -> Self {
        // The keys of a hasher are random.
        let random = std::hash::RandomState::new().build_hasher().finish();
        let mark = format!("{}-{random:016x}", std::process::id());
        let inner = Inner { shell, secrets, mark, count: AtomicU64::new(0), guard: OnceLock::new() };
        Self { inner: Arc::new(inner), cages: None, recorder: None }
    }

    /// The same, with each command in a cage as `caging` says. Where no rung of it holds on this machine, commands run
    /// without one: [`Processes::rung`] tells.
    #[must_use]
    pub fn caged(self, caging: Caging) -> Self {
        Self { cages: Some(Arc::new(Cages::new(caging))), ..self }
    }

    /// The same, where `recorder` hears of each command that may change files.
    #[must_use]
    pub fn recorded(self, recorder: Arc<dyn Recorder>) -> Self {
        Self { recorder: Some(recorder), ..self }
    }

    /// The same without a cage and without a recorder: for a program that the user wants to run free.
    #[must_use]
    pub fn free(&self) -> Self {
        Self { cages: None, ..self.unrecorded() }
    }

    /// The same, where nobody hears of what changes files: for a program that runs beside many commands, whose changes
    /// could not be told from theirs.
    #[must_use]
    pub fn unrecorded(&self) -> Self {
        Self { recorder: None, ..self.clone() }
    }

    /// With what cages are held, [`Rung::None`] where commands run without. Blocks for some 10 to 50 ms the first time.
    pub fn rung(&self) -> Rung {
        self.cages.as_ref().map_or(Rung::None, |cages| cages.sandbox().rung())
    }

    /// What the cages let a command change that may change the project; `None` where there are none. Blocks like
    /// [`Processes::rung`].
    pub fn mode(&self) -> Option<Mode> {
        self.cages.as_ref().filter(|_| self.rung() != Rung::None).map(|cages| cages.mode())
    }

    /// The folders that commands work in: those that [`Effect::Change`](haft_permission::Effect) is to name for a command
    /// that may change the project. None without cages.
    pub fn roots(&self) -> &[PathBuf] {
        self.cages.as_ref().map_or(&[], |cages| cages.roots())
    }

    /// What looks after what is protected while commands run; `None` without cages. For
    /// [`Files::tell`](crate::Files::tell).
    pub fn protection(&self) -> Option<&Protection> {
        self.cages.as_ref().map(|cages| cages.protection())
    }

    /// Finds out about the cages on a thread of its own, so that nobody waits for that later.
    pub fn look_ahead(&self) {
        let Some(cages) = self.cages.clone() else { return };
        // If no thread can be had, whoever needs to know waits.
        let _ = std::thread::Builder::new().name("cages".to_owned()).spawn(move || {
            cages.sandbox();
        });
    }

    /// Commands run by the shell that [`pick_shell`] finds in this program's environment.
    pub fn with_users_shell(secrets: Vec<String>) -> Self {
        let (own, path) = (std::env::var_os("SHELL"), std::env::var_os("PATH"));
        Self::new(pick_shell(own.as_deref(), path.as_deref(), Path::is_file), secrets)
    }

    /// The shell.
    pub fn shell(&self) -> &Path {
        &self.inner.shell
    }

    /// Starts `command`. What it writes to both outputs comes in one stream, in the order in which it is written.
    /// Needs a Tokio runtime. Where the future is dropped, nothing was started.
    ///
    /// # Errors
    ///
    /// [`ProcessError`].
    pub async fn spawn(&self, grant: &Grant, command: &Command) -> Result<Running, ProcessError> {
        let Command { text, dir, streams, .. } = command;
        if !grant.covers_run(text, dir) {
            return Err(ProcessError::NotGranted { dir: dir.clone() });
        }
        let prepared = self.prepare(grant, command).await?;
        let folder = door::open(dir, door::FOLDER)
            .map_err(|errno| ProcessError::NoFolder { dir: dir.clone(), source: errno.into() })?;
        self.inner.guard.get_or_init(|| Guard::start(&format!("{}.", self.inner.mark)));
        let mark: Arc<str> = format!("{}.{}", self.inner.mark, self.inner.count.fetch_add(1, Ordering::Relaxed)).into();
        let start = Start {
            launch: self.launch(prepared.as_ref(), text, *streams)?,
            group: match prepared.as_ref().map(|prepared| prepared.sandbox.rung()) {
                // The launcher leads a session of its own, which who leads a group cannot.
                Some(Rung::Namespaces | Rung::Landlock) => Group::Own,
                Some(Rung::Seatbelt | Rung::None) | None => Group::New,
            },
            dir: by_handle(&folder, dir),
            variables: self.variables(prepared.as_ref(), command, &mark),
        };
        let recording = self.recording(grant, prepared.is_some()).await?;
        let started = match streams {
            Streams::Pipe => piped(start).map(|(shell, output)| (shell, output, None)),
            Streams::Terminal => terminal::start(start).map(|(shell, output)| (shell, output, None)),
            Streams::Apart => apart(start).map(|(shell, output, talk)| (shell, output, Some(talk))),
        };
        let (shell, output, talk) =
            started.map_err(|source| ProcessError::Start { shell: self.inner.shell.clone(), source })?;
        let (walls, watch) = prepared
            .map(|Prepared { sandbox, walls, guarded, .. }| (walls, Watch::new(guarded, sandbox.rung())))
            .unzip();
        grant.note(Done::Started {
            command: text.clone(),
            dir: dir.clone(),
            rung: walls.as_ref().map_or(walls::word(Rung::None), Walls::rung).to_owned(),
            cage: walls.as_ref().map_or_else(|| "none".to_owned(), Walls::words),
        });
        let record = Record { pen: grant.pen(), command: text.clone(), exit: None };
        let running = Running::new(Tree::new(shell.id(), mark), shell, output, self.clone());
        Ok(running.spoken_with(talk).caged(walls, watch).recorded(record).watched_over(recording))
    }

    /// Tells the recorder of a command that may change files.
    async fn recording(&self, grant: &Grant, is_caged: bool) -> Result<Option<Recording>, ProcessError> {
        let can_change = !is_caged || grant.changes().next().is_some();
        let Some(recorder) = self.recorder.clone().filter(|_| can_change) else { return Ok(None) };
        Ok(Some(begun(recorder, grant).await?))
    }

    /// Tells the recorder that a program that runs on is about to do something for the call that `grant` was given: what changes
    /// until the end is taken for that call's, as around a command. `None`: nobody records.
    ///
    /// # Errors
    ///
    /// [`ProcessError::Unprepared`].
    pub async fn looked_around(&self, grant: &Grant) -> Result<Option<Looked>, ProcessError> {
        let Some(recorder) = self.recorder.clone() else { return Ok(None) };
        Ok(Some(Looked(begun(recorder, grant).await?)))
    }

    /// Gets the cage ready, on a thread that may block. `None` without one.
    async fn prepare(&self, grant: &Grant, command: &Command) -> Result<Option<Prepared>, ProcessError> {
        let Some(cages) = self.cages.clone() else { return Ok(None) };
        let (leave, command) = (Leave::of(grant), command.clone());
        let prepare = move || cages.prepare(&leave, &command);
        tokio::task::spawn_blocking(prepare).await.map_err(|_| ProcessError::Unprepared)?
    }

    /// What to start: the shell, or what makes the cage and becomes the shell.
    fn launch(&self, prepared: Option<&Prepared>, text: &str, streams: Streams) -> Result<Launch, CageError> {
        let (shell, args) = (&self.inner.shell, ["-c", text].map(OsString::from));
        let Some(Prepared { sandbox, cage, .. }) = prepared else {
            return Ok(Launch { program: shell.clone(), args: args.into() });
        };
        let session = match streams {
            Streams::Pipe | Streams::Apart => Session::New,
            Streams::Terminal => Session::Kept,
        };
        sandbox.launch(cage, session, shell, &args)
    }

    fn variables(&self, prepared: Option<&Prepared>, command: &Command, mark: &str) -> Vec<(OsString, OsString)> {
        let mut variables = environment(std::env::vars_os(), &self.inner.secrets, &[]);
        if let Some(Prepared { env, .. }) = prepared {
            environment::lead(&mut variables, env);
        }
        variables.extend(command.env.iter().map(|(name, value)| (name.into(), value.into())));
        variables.push((MARK.into(), marks(std::env::var_os(MARK), mark)));
        variables
    }
}

/// Has `recorder` look at what there is before something is done for the call that `grant` was given.
async fn begun(recorder: Arc<dyn Recorder>, grant: &Grant) -> Result<Recording, ProcessError> {
    let asker = grant.asker().clone();
    let begin = move || Recording::begin(recorder, &asker);
    tokio::task::spawn_blocking(begin).await.map_err(|_| ProcessError::Unprepared)
}

/// Something that is done by a program that runs on. What it changed is found at its end, or when this is dropped.
#[derive(Debug)]
pub struct Looked(Recording);

impl Looked {
    /// Finds what it changed.
    pub async fn end(self) {
        // A defect in looking is told by who looks.
        let _ = tokio::task::spawn_blocking(move || drop(self.0)).await;
    }
}

/// What is started, and how.
struct Start {
    launch: Launch,
    group: Group,
    dir: PathBuf,
    variables: Vec<(OsString, OsString)>,
}

/// Who makes the process group of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    /// We do.
    New,
    /// The command itself does, with its session.
    Own,
}

/// Starts it with a pipe for both outputs.
fn piped(start: Start) -> io::Result<(Shell, pipe::Receiver)> {
    let (reader, writer) = io::pipe()?;
    // Less than it could be is no harm.
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(&reader, PIPE);
    let mut command = start.command();
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let child = command.spawn()?;
    // Both our ends for writing go with it, or the stream would never end.
    drop(command);
    Ok((Shell::Piped(child), pipe::Receiver::from_owned_fd(reader.into())?))
}

/// Starts it with pipes for its input and each of its outputs.
fn apart(start: Start) -> io::Result<(Shell, pipe::Receiver, Talk)> {
    let (reader, writer) = io::pipe()?;
    let mut command = start.command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(writer);
    let mut child = command.spawn()?;
    drop(command);
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("it has no pipes"));
    };
    Ok((Shell::Piped(child), pipe::Receiver::from_owned_fd(reader.into())?, Talk { input, output }))
}

impl Start {
    fn command(self) -> tokio::process::Command {
        let Start { launch, group, dir, variables } = self;
        let mut command = tokio::process::Command::new(launch.program);
        command.args(launch.args).current_dir(dir).env_clear().envs(variables).kill_on_drop(true);
        match group {
            Group::New => {
                command.process_group(0);
            }
            Group::Own => {}
        }
        command
    }
}

/// The folder as a path that cannot be turned into a link any more, where the system has such paths.
fn by_handle(folder: &OwnedFd, dir: &Path) -> PathBuf {
    let handle = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    if cfg!(target_os = "linux") && handle.exists() { handle } else { dir.to_owned() }
}

/// Our own mark behind those of the commands that started us: who looks for theirs shall find ours too.
fn marks(outer: Option<OsString>, own: &str) -> OsString {
    match outer.and_then(|outer| outer.into_string().ok()) {
        Some(outer) if !outer.is_empty() && outer.len() <= MAX_MARKS => format!("{outer} {own}").into(),
        Some(_) | None => own.into(),
    }
}

#[cfg(test)]
mod tests;
