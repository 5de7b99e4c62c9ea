//! Running a command line in a process group of its own.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use haft_permission::Grant;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::time::{Instant, sleep, sleep_until};

use crate::group::Group;
use crate::{door, pick_shell};

/// How long what a command left running may go on after its shell has ended: to write its last words, or to end by
/// itself. Then it is killed.
pub const LINGER: Duration = Duration::from_millis(200);

/// How often is looked whether what was left running has ended.
const LOOK: Duration = Duration::from_millis(20);
/// Most bytes that [`Running::next`] hands out at once. What the reader does not take waits in the system's pipe
/// (64 KiB on Linux), and then the command waits: output is never piled up in memory here.
const PIECE: usize = 64 * 1024;
/// Variables whose names are one of these, or end with one after an underscore, are not passed on.
const SECRET_WORDS: [&str; 3] = ["KEY", "TOKEN", "SECRET"];
/// Nor are those whose names end with one of these, as in `PGPASSWORD`.
const SECRET_ENDINGS: [&str; 4] = ["PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIALS"];
/// What tells a program that an agent runs it.
const MARKS: [(&str, &str); 3] = [("HAFT", "1"), ("AGENT", "1"), ("OPENCODE", "1")];

/// What starts processes. A handle, cheap to clone.
///
/// A command gets the environment of this program, with `HAFT=1`, `AGENT=1` and `OPENCODE=1`, and without the
/// variables that were listed as secret or whose names say so: those that end in `_KEY`, `_TOKEN`, `_SECRET` (or are
/// these words), `PASSWORD`, `PASSWD`, `PASSPHRASE` or `CREDENTIALS`, in capitals or not. What a model runs must not be
/// able to spend the user's keys. Ways to agents that keep a key to themselves stay: `SSH_AUTH_SOCK`, `GPG_TTY`.
#[derive(Debug, Clone)]
pub struct Processes {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shell: PathBuf,
    secrets: Vec<String>,
}

/// A command line to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The text for the shell.
    pub text: String,
    /// The working folder: absolute, without links.
    pub dir: PathBuf,
    /// Variables to add. They are passed on whatever their names are.
    pub env: Vec<(String, String)>,
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
        Self { inner: Arc::new(Inner { shell, secrets }) }
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

    /// Starts `command` with nothing on its standard input. What it writes to both outputs comes in one stream, in
    /// the order in which it is written. Needs a Tokio runtime.
    ///
    /// # Errors
    ///
    /// [`ProcessError`].
    pub fn spawn(&self, grant: &Grant, command: &Command) -> Result<Running, ProcessError> {
        let Command { text, dir, env } = command;
        if !grant.covers_run(text, dir) {
            return Err(ProcessError::NotGranted { dir: dir.clone() });
        }
        let folder = door::open(dir, door::FOLDER)
            .map_err(|errno| ProcessError::NoFolder { dir: dir.clone(), source: errno.into() })?;
        let failed = |source| ProcessError::Start { shell: self.inner.shell.clone(), source };
        let (reader, writer) = io::pipe().map_err(failed)?;
        let child = {
            let mut shell = tokio::process::Command::new(&self.inner.shell);
            shell
                .arg("-c")
                .arg(text)
                .current_dir(by_handle(&folder, dir))
                .env_clear()
                .envs(environment(std::env::vars_os(), &self.inner.secrets, env))
                .stdin(Stdio::null())
                .stdout(writer.try_clone().map_err(failed)?)
                .stderr(writer)
                .process_group(0)
                .kill_on_drop(true);
            // Both our ends for writing go with `shell`, or the stream would never end.
            shell.spawn().map_err(failed)?
        };
        let group = Group::new(child.id());
        let pipe = pipe::Receiver::from_owned_fd(reader.into()).map_err(failed)?;
        Ok(Running { group, child, pipe, linger: LINGER, state: State::default() })
    }
}

/// The folder as a path that cannot be turned into a link any more, where the system has such paths.
fn by_handle(folder: &OwnedFd, dir: &Path) -> PathBuf {
    let handle = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    if cfg!(target_os = "linux") && handle.exists() { handle } else { dir.to_owned() }
}

/// The variables a command gets. Pure.
fn environment(
    ours: impl Iterator<Item = (OsString, OsString)>,
    secrets: &[String],
    added: &[(String, String)],
) -> Vec<(OsString, OsString)> {
    let secret = |name: &OsString| {
        let name = name.to_string_lossy().to_uppercase();
        let last_word = name.rsplit('_').next().unwrap_or(&name);
        SECRET_WORDS.contains(&last_word)
            || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
            || secrets.iter().any(|secret| secret.to_uppercase() == name)
    };
    let marks = MARKS.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let added = added.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    ours.filter(|(name, _)| !secret(name)).chain(marks).chain(added).collect()
}

/// A command that runs. Dropping it kills its whole process group.
#[derive(Debug)]
pub struct Running {
    // First: what the command started must not outlive the command.
    group: Group,
    child: Child,
    pipe: pipe::Receiver,
    linger: Duration,
    state: State,
}

#[derive(Debug, Default)]
struct State {
    /// How the shell ended.
    status: Option<ExitStatus>,
    /// Whether nobody holds the other end of the pipe any more.
    drained: bool,
    /// When what goes on after the shell is killed.
    linger_until: Option<Instant>,
    /// When what did not heed [`Running::stop`] is killed.
    kill_at: Option<Instant>,
    stopped: bool,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The exit code of the shell, if it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// Whether something it had started was still running [`LINGER`] later and was killed.
    pub left_running: bool,
}

impl Running {
    /// Waits for output. `None` when no more will come: the shell has ended, and nothing holds the stream open or
    /// [`LINGER`] is over.
    ///
    /// Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        let mut piece = vec![0; PIECE];
        loop {
            if self.state.drained && self.state.status.is_some() {
                return None;
            }
            let state = &self.state;
            // In this order: something that never stops writing must not hold the call.
            tokio::select! {
                biased;
                () = at(state.kill_at) => self.kill(),
                () = at(state.linger_until) => return None,
                status = self.child.wait(), if state.status.is_none() => self.ended(status),
                read = self.pipe.read(&mut piece), if !state.drained => match read {
                    Ok(0) | Err(_) => self.state.drained = true,
                    Ok(got) => {
                        piece.truncate(got);
                        return Some(piece);
                    }
                },
            }
        }
    }

    /// Asks the whole group to end; what is left of it `grace` later is killed. Go on with [`Running::next`] and
    /// [`Running::end`].
    pub fn stop(&mut self, grace: Duration) {
        self.group.terminate();
        self.state.stopped = true;
        self.state.kill_at = Some(Instant::now() + grace);
    }

    /// Waits until the shell has ended, sees to it that nothing it started goes on, and says how it ended. Output
    /// that was not taken is lost.
    pub async fn end(mut self) -> End {
        while self.next().await.is_some() {}
        let mut alive = self.group.is_alive();
        while alive && self.state.linger_until.is_some_and(|until| Instant::now() < until) {
            if self.state.kill_at.is_some_and(|at| Instant::now() >= at) {
                self.kill();
            }
            sleep(LOOK).await;
            alive = self.group.is_alive();
        }
        self.group.finish();
        let status = self.state.status;
        End {
            code: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
            left_running: alive && !self.state.stopped,
        }
    }

    fn ended(&mut self, status: io::Result<ExitStatus>) {
        // Waiting for our own child cannot fail, and if it did, it would not succeed later.
        self.state.status = Some(status.unwrap_or_else(|_| ExitStatus::from_raw(0)));
        self.state.linger_until = Some(Instant::now() + self.linger);
    }

    fn kill(&mut self) {
        self.group.kill();
        self.state.kill_at = None;
    }
}

/// Waits until `time`; for ever without one.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
