//! Running a command line, and ending all that it started.

mod environment;
mod guard;
#[cfg(target_os = "linux")]
mod proc;
mod running;
mod terminal;
mod tree;

use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use haft_permission::Grant;
use tokio::net::unix::pipe;

use self::environment::environment;
use self::guard::Guard;
use self::running::Shell;
pub use self::running::{End, LINGER, Running};
pub use self::terminal::{COLUMNS, ROWS};
use self::tree::Tree;
use crate::{door, pick_shell};

/// The variable by which we know again what a command started: a mark of its own, behind the marks of the commands
/// that we were started by.
const MARK: &str = "HAFT_COMMAND";
/// Most bytes of marks that are passed on.
const MAX_MARKS: usize = 1024;
/// How much the system is asked to hold of what a command wrote and nobody read yet, in bytes. Less, where it will
/// not; then the command waits. Output is never piled up in memory here.
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
#[derive(Debug, Clone)]
pub struct Processes {
    inner: Arc<Inner>,
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// The text for the shell.
    pub text: String,
    /// The working folder: absolute, without links.
    pub dir: PathBuf,
    /// Variables to add. They are passed on whatever their names are.
    pub env: Vec<(String, String)>,
    /// What its input and outputs are.
    pub streams: Streams,
}

/// What a command's input and outputs are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Streams {
    /// No input, and a pipe for both outputs.
    #[default]
    Pipe,
    /// A terminal of [`ROWS`] by [`COLUMNS`]. Line feeds come with a carriage return before them.
    Terminal,
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
        Self { inner: Arc::new(Inner { shell, secrets, mark, count: AtomicU64::new(0), guard: OnceLock::new() }) }
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
    /// Needs a Tokio runtime.
    ///
    /// # Errors
    ///
    /// [`ProcessError`].
    pub fn spawn(&self, grant: &Grant, command: &Command) -> Result<Running, ProcessError> {
        let Command { text, dir, env, streams } = command;
        if !grant.covers_run(text, dir) {
            return Err(ProcessError::NotGranted { dir: dir.clone() });
        }
        let folder = door::open(dir, door::FOLDER)
            .map_err(|errno| ProcessError::NoFolder { dir: dir.clone(), source: errno.into() })?;
        self.inner.guard.get_or_init(|| Guard::start(&format!("{}.", self.inner.mark)));
        let mark: Arc<str> = format!("{}.{}", self.inner.mark, self.inner.count.fetch_add(1, Ordering::Relaxed)).into();
        let mut variables = environment(std::env::vars_os(), &self.inner.secrets, env);
        variables.push((MARK.into(), marks(std::env::var_os(MARK), &mark)));
        let start = match streams {
            Streams::Pipe => piped,
            Streams::Terminal => terminal::start,
        };
        let started = start(&self.inner.shell, text, &by_handle(&folder, dir), variables);
        let (shell, output) =
            started.map_err(|source| ProcessError::Start { shell: self.inner.shell.clone(), source })?;
        Ok(Running::new(Tree::new(shell.id(), mark), shell, output, self.clone()))
    }
}

/// Starts a shell in a process group of its own, with a pipe for both outputs.
fn piped(
    shell: &Path,
    text: &str,
    dir: &Path,
    variables: Vec<(OsString, OsString)>,
) -> io::Result<(Shell, pipe::Receiver)> {
    let (reader, writer) = io::pipe()?;
    // Less than it could be is no harm.
    let _ = rustix::pipe::fcntl_setpipe_size(&reader, PIPE);
    let mut command = tokio::process::Command::new(shell);
    command
        .arg("-c")
        .arg(text)
        .current_dir(dir)
        .env_clear()
        .envs(variables)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .kill_on_drop(true);
    let child = command.spawn()?;
    // Both our ends for writing go with it, or the stream would never end.
    drop(command);
    Ok((Shell::Piped(child), pipe::Receiver::from_owned_fd(reader.into())?))
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
