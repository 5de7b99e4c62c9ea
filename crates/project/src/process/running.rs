//! A command that runs: its output, and its end.

use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use haft_permission::{Asker, Done, Pen};
use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::caging::Watch;
use super::tree::Tree;
use super::walls::Walls;
use super::{Processes, Talk};
use crate::protected::Repair;
use crate::{Commanded, Recorder};

/// How long what a command left running may go on after its shell has ended: to write its last words, or to end by
/// itself. Then it is killed, or followed on its own.
pub const LINGER: Duration = Duration::from_millis(200);

/// Most bytes that [`Running::read`] gives at once.
pub(super) const PIECE: usize = 256 * 1024;

/// A command that runs. Dropping it kills all that it started.
#[derive(Debug)]
pub struct Running {
    // First: what the command started must not outlive the command.
    pub(super) tree: Tree,
    shell: Shell,
    pipe: pipe::Receiver,
    pub(super) linger: Duration,
    state: State,
    /// What it is spoken with by, until somebody takes it.
    talk: Option<Talk>,
    /// What its cage closes.
    walls: Option<Walls>,
    /// What is put back when it has ended. Below the tree: nothing of it must run any more.
    watch: Option<Watched>,
    /// Finds what it changed. Below what is put back, which it did not change.
    recording: Option<Arc<Recording>>,
    /// Writes down that it has ended.
    record: Option<Record>,
    /// Keeps the guard.
    _processes: Processes,
}

/// Puts back what is protected, if nobody else did, when it is dropped.
#[derive(Debug)]
struct Watched {
    watch: Arc<Watch>,
    done: bool,
}

/// Writes down that a command has ended; at the latest when it is dropped.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) pen: Pen,
    pub(super) command: String,
    pub(super) exit: Option<i32>,
}

impl Drop for Record {
    fn drop(&mut self) {
        self.pen.note(Done::Ended { command: std::mem::take(&mut self.command), exit: self.exit });
    }
}

/// A command that a recorder was told of. What it changed is looked for at the latest when this is dropped.
pub(super) struct Recording {
    recorder: Arc<dyn Recorder>,
    commanded: Commanded,
    ended: AtomicBool,
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Recording").field(&self.commanded).finish()
    }
}

impl Recording {
    /// Tells the recorder that a command begins. Blocks.
    pub(super) fn begin(recorder: Arc<dyn Recorder>, asker: &Asker) -> Self {
        let commanded = recorder.before_command(asker);
        Self { recorder, commanded, ended: AtomicBool::new(false) }
    }

    /// Has it look for what changed so far. Blocks.
    fn look(&self, ended: bool) {
        if !self.ended.fetch_or(ended, Ordering::Relaxed) {
            self.recorder.after_command(self.commanded, ended);
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.look(true);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.done {
            let _ = self.watch.put_back();
        }
    }
}

/// The process that runs the command line.
#[derive(Debug)]
pub(super) enum Shell {
    Piped(Child),
    Terminal { id: Option<u32>, status: oneshot::Receiver<io::Result<ExitStatus>> },
}

#[derive(Debug, Default)]
struct State {
    /// How the shell ended.
    status: Option<ExitStatus>,
    /// Whether nobody holds the other end of the pipe any more.
    drained: bool,
    /// When what goes on after the shell is not waited for any more.
    linger_until: Option<Instant>,
    /// When what did not heed [`Running::stop`] is killed.
    kill_at: Option<Instant>,
    stopped: bool,
    /// Set when all that was started is followed, and not the shell alone.
    follows: bool,
    /// Ends when nothing runs any more. It is begun when the shell has ended.
    all_gone: Option<Abort<()>>,
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
    pub(super) fn new(tree: Tree, shell: Shell, pipe: pipe::Receiver, processes: Processes) -> Self {
        let state = State::default();
        Self {
            tree,
            shell,
            pipe,
            linger: LINGER,
            state,
            talk: None,
            walls: None,
            watch: None,
            recording: None,
            record: None,
            _processes: processes,
        }
    }

    /// The same, spoken with by `talk`.
    pub(super) fn spoken_with(self, talk: Option<Talk>) -> Self {
        Self { talk, ..self }
    }

    /// The ends of a command that was started with [`Streams::Apart`](super::Streams::Apart), the first time.
    pub fn talk(&mut self) -> Option<Talk> {
        self.talk.take()
    }

    /// The same, in a cage.
    pub(super) fn caged(self, walls: Option<Walls>, watch: Option<Watch>) -> Self {
        let watch = watch.map(|watch| Watched { watch: Arc::new(watch), done: false });
        Self { walls, watch, ..self }
    }

    /// The same, whose end is written down.
    pub(super) fn recorded(self, record: Record) -> Self {
        Self { record: Some(record), ..self }
    }

    /// The same, whose changes are found.
    pub(super) fn watched_over(self, recording: Option<Recording>) -> Self {
        Self { recording: recording.map(Arc::new), ..self }
    }

    /// What its cage closes; `None` without one.
    pub fn walls(&self) -> Option<&Walls> {
        self.walls.as_ref()
    }

    /// Puts back what is protected and was changed all the same, and says what that was. To be called when the command
    /// has ended, or its shell has and the rest goes on; then it may be called again. Without it the same is done, and
    /// told to nobody, when this is dropped.
    pub async fn put_back(&mut self) -> Vec<Repair> {
        self.look(false).await
    }

    async fn look(&mut self, ended: bool) -> Vec<Repair> {
        let watch = self.watch.as_ref().map(|watched| Arc::clone(&watched.watch));
        let recording = self.recording.clone();
        if watch.is_none() && recording.is_none() {
            return Vec::new();
        }
        let work = move || {
            let repairs = watch.map(|watch| watch.put_back()).unwrap_or_default();
            recording.inspect(|recording| recording.look(ended));
            repairs
        };
        // A failure of it is a defect; the drop tries once more.
        tokio::task::spawn_blocking(work).await.unwrap_or_default()
    }

    /// Waits for output and puts it into `piece`, in place of what was there. `false` when no more will come: the
    /// shell has ended, and nothing holds the stream open or [`LINGER`] is over. When everything is followed (see
    /// [`Running::follow`]), all that it started must have ended instead.
    ///
    /// Nothing is lost when the future is dropped.
    pub async fn read(&mut self, piece: &mut Vec<u8>) -> bool {
        piece.clear();
        loop {
            let state = &mut self.state;
            if state.status.is_some() && state.drained && !state.follows {
                return false;
            }
            if state.status.is_some() && state.follows && state.all_gone.is_none() {
                let scope = self.tree.scope();
                state.all_gone = Some(Abort(tokio::spawn(async move {
                    if let Some(scope) = scope {
                        scope.gone().await;
                    }
                })));
            }
            // In this order: something that never stops writing must not hold the call. What was written before all
            // ended must be read, though.
            tokio::select! {
                biased;
                () = at(state.kill_at) => self.kill(),
                () = at(state.linger_until), if !state.follows => return false,
                status = self.shell.wait(), if state.status.is_none() => self.ended(status),
                ready = self.pipe.readable(), if !state.drained => match ready.and_then(|()| take(&self.pipe, piece)) {
                    Ok(Taken::Some) => return true,
                    Ok(Taken::Nothing) => {}
                    Ok(Taken::End) | Err(_) => self.state.drained = true,
                },
                // Then nobody can write any more, and what is still in the pipe is soon read.
                () = gone(&mut state.all_gone) => self.gone(),
            }
        }
    }

    /// From now on [`Running::read`] and [`Running::end`] wait for all that the command started, and not for its
    /// shell alone.
    pub fn follow(&mut self) {
        self.state.follows = true;
    }

    /// After [`Running::read`] gave `false`: what of all that the command started still runs, a few words for each.
    /// What ends within [`LINGER`] of the shell is waited for.
    pub async fn left(&mut self) -> Vec<String> {
        let until = self.state.linger_until.unwrap_or_else(Instant::now);
        let Some(scope) = self.tree.scope() else { return Vec::new() };
        let left = scope.left().await;
        let left = match left.is_empty() || timeout_at(until, scope.clone().gone()).await.is_ok() {
            true => Vec::new(),
            false => scope.left().await,
        };
        if left.is_empty() {
            self.tree.is_gone();
        }
        left
    }

    /// Asks all that was started to end; what is left of it `grace` later is killed. Go on with [`Running::read`] and
    /// [`Running::end`].
    pub fn stop(&mut self, grace: Duration) {
        self.tree.terminate();
        self.state.stopped = true;
        self.state.kill_at = Some(Instant::now() + grace);
    }

    /// Waits until the shell has ended, sees to it that nothing it started goes on, and says how it ended. Output
    /// that was not taken is lost.
    pub async fn end(self) -> End {
        self.finish().await.0
    }

    /// The same, and what was put back of what is protected.
    pub async fn finish(mut self) -> (End, Vec<Repair>) {
        let mut rest = Vec::new();
        while self.read(&mut rest).await {}
        let mut alive = !self.left().await.is_empty();
        if let (true, Some(kill_at), Some(scope)) = (alive, self.state.kill_at, self.tree.scope()) {
            alive = timeout_at(kill_at, scope.gone()).await.is_err();
        }
        if let (true, Some(scope)) = (alive, self.tree.scope()) {
            self.tree.finish();
            // What was killed takes a moment to go, and for what the system holds back nobody waits.
            let _ = timeout_at(Instant::now() + LINGER, scope.gone()).await;
        }
        self.tree.is_gone();
        let end = End { left_running: alive && !self.state.stopped, ..self.so_far() };
        let repairs = self.look(true).await;
        if let Some(watched) = &mut self.watch {
            watched.done = true;
        }
        if let Some(record) = &mut self.record {
            record.exit = end.code;
        }
        (end, repairs)
    }

    /// How the shell ended, if it has.
    pub fn so_far(&self) -> End {
        let status = self.state.status;
        End {
            code: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
            left_running: false,
        }
    }

    fn ended(&mut self, status: io::Result<ExitStatus>) {
        // Waiting for our own child cannot fail, and if it did, it would not succeed later.
        self.state.status = Some(status.unwrap_or_else(|_| ExitStatus::from_raw(0)));
        self.state.linger_until = Some(Instant::now() + self.linger);
    }

    fn gone(&mut self) {
        self.tree.is_gone();
        self.state.follows = false;
        self.state.all_gone = None;
        self.state.linger_until = Some(Instant::now() + self.linger);
    }

    fn kill(&mut self) {
        self.tree.kill();
        self.state.kill_at = None;
    }
}

impl Shell {
    /// Its number, until it has been waited for.
    pub(super) fn id(&self) -> Option<u32> {
        match self {
            Shell::Piped(child) => child.id(),
            Shell::Terminal { id, .. } => *id,
        }
    }

    async fn wait(&mut self) -> io::Result<ExitStatus> {
        match self {
            Shell::Piped(child) => child.wait().await,
            Shell::Terminal { status, .. } => status.await.map_err(io::Error::other)?,
        }
    }
}

/// What a look into the pipe gave.
enum Taken {
    Some,
    Nothing,
    End,
}

/// Takes what is there, at most [`PIECE`] bytes.
fn take(pipe: &pipe::Receiver, piece: &mut Vec<u8>) -> io::Result<Taken> {
    piece.reserve_exact(PIECE);
    while piece.len() < PIECE {
        match pipe.try_read_buf(piece) {
            // The end shows itself again when the pipe is looked into once more.
            Ok(0) if piece.is_empty() => return Ok(Taken::End),
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(_) if !piece.is_empty() => break,
            Err(error) => return Err(error),
        }
    }
    Ok(if piece.is_empty() { Taken::Nothing } else { Taken::Some })
}

/// A task that is stopped when nobody waits for it any more.
#[derive(Debug)]
struct Abort<T>(JoinHandle<T>);

impl<T> Drop for Abort<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Waits for the task; for ever without one.
async fn gone(task: &mut Option<Abort<()>>) {
    match task {
        Some(task) => {
            // It is never stopped while somebody waits, and if it failed there is nothing to wait for.
            let _ = (&mut task.0).await;
        }
        None => std::future::pending().await,
    }
}

/// Waits until `time`; for ever without one.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
