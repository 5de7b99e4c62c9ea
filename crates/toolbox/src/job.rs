//! Jobs: commands that go on behind the call that began them, until they end, are ended, or the session is over.

mod tell;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_project::{End, Running};
use haft_tool::truncate::Limits;
use haft_tool::{Call, Output, ToolError};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

pub(crate) use self::tell::list;
use crate::bash::Keeper;
use crate::bash::cage::{self, Told};
use crate::bash::window::{self, Mark, Window};

/// Most jobs of a session that run at once.
pub(crate) const MAX_RUNNING: usize = 16;
/// Most jobs of a session that are remembered after their end, the latest of them.
pub(crate) const MAX_ENDED: usize = 32;
/// Most characters of a command line that are told of a job.
const MAX_COMMAND: usize = 200;
/// How long a job may take to end when it is told to. Then it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// The jobs of one session. Dropping them ends all that run: they are told to, and have [`GRACE`] for it; where the
/// program itself ends before, they are killed.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// How many there ever were.
    count: u64,
    /// Oldest first.
    jobs: VecDeque<Arc<Job>>,
}

/// One job.
#[derive(Debug)]
pub(crate) struct Job {
    id: String,
    command: String,
    dir: PathBuf,
    limits: Limits,
    begun: Instant,
    stop: CancellationToken,
    state: Mutex<State>,
    /// Told of each change of the state.
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    window: Window,
    /// How far the model has looked.
    seen: Mark,
    /// Where the whole output is.
    path: Option<String>,
    over: Option<Over>,
}

/// The end of a job.
#[derive(Debug, Clone)]
struct Over {
    end: End,
    why: Option<Why>,
    after: Duration,
    /// What is in the file.
    words: Option<String>,
    /// What its cage did.
    caged: Told,
}

/// Why a job was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// Somebody wanted it.
    Killed,
    /// It ran longer than this.
    Timeout(Duration),
}

/// What a job begins with.
#[derive(Debug)]
pub(crate) struct Start {
    /// What it runs, in words for the model.
    pub(crate) command: String,
    /// The folder it runs in.
    pub(crate) dir: PathBuf,
    /// Where its output goes when that is long. Nothing is there yet.
    pub(crate) file: PathBuf,
    /// How much of the output is shown at once.
    pub(crate) limits: Limits,
    /// How long it may run.
    pub(crate) timeout: Option<Duration>,
}

/// How much of an output is shown: no more than is remembered.
pub(crate) fn shown(limits: Limits) -> Limits {
    Limits { bytes: limits.bytes.min(window::SIZE - 1), ..limits }
}

impl Jobs {
    /// Makes sure that another job may run.
    ///
    /// # Errors
    ///
    /// When there are [`MAX_RUNNING`] already.
    pub(crate) fn room(&self) -> Result<(), ToolError> {
        let table = self.table();
        let running: Vec<&str> = table.jobs.iter().filter(|job| !job.is_over()).map(|job| job.id()).collect();
        if running.len() < MAX_RUNNING {
            return Ok(());
        }
        let ids = running.join(", ");
        Err(ToolError::Failed(format!("{MAX_RUNNING} jobs run already; end one with job_kill first: {ids}")))
    }

    /// Makes a job of what runs. Needs a Tokio runtime.
    ///
    /// # Errors
    ///
    /// What runs, and those of [`Jobs::room`].
    pub(crate) fn begin(&self, running: Running, start: Start) -> Result<Arc<Job>, Box<(Running, ToolError)>> {
        if let Err(full) = self.room() {
            return Err(Box::new((running, full)));
        }
        let Start { command, dir, file, limits, timeout } = start;
        let mut table = self.table();
        table.count += 1;
        let job = Arc::new(Job {
            id: format!("job_{}", table.count),
            command: one_line(&command),
            dir,
            limits,
            begun: Instant::now(),
            stop: CancellationToken::new(),
            state: Mutex::default(),
            changed: watch::Sender::new(()),
        });
        table.jobs.push_back(Arc::clone(&job));
        let ended = table.jobs.iter().filter(|job| job.is_over()).count();
        // Several may have ended since.
        for _ in MAX_ENDED..ended {
            if let Some(oldest) = table.jobs.iter().position(|job| job.is_over()) {
                table.jobs.remove(oldest);
            }
        }
        tokio::spawn(follow(Arc::clone(&job), running, Keeper::new(file, limits), timeout));
        Ok(job)
    }

    /// The job called `id`.
    ///
    /// # Errors
    ///
    /// A text that names those there are.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<Job>, ToolError> {
        let table = self.table();
        let wanted = id.trim();
        let found = table.jobs.iter().find(|job| job.id == wanted || job.id.strip_prefix("job_") == Some(wanted));
        found.cloned().ok_or_else(|| {
            let ids: Vec<&str> = table.jobs.iter().map(|job| job.id()).collect();
            let there = match ids.is_empty() {
                true => "none was begun in this session; bash with background: true begins one".to_owned(),
                false => format!("there are {}", ids.join(", ")),
            };
            ToolError::BadInput(format!("there is no job {id:?}: {there}"))
        })
    }

    /// All that are remembered, oldest first.
    pub(crate) fn all(&self) -> Vec<Arc<Job>> {
        self.table().jobs.iter().cloned().collect()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // The table is whole after each line, so a panic elsewhere does no harm to it.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.table().jobs.iter().for_each(|job| job.stop.cancel());
    }
}

impl Job {
    /// What it is called.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Tells it to end. [`Job::ended`] waits for that.
    pub(crate) fn kill(&self) {
        self.stop.cancel();
    }

    /// Waits until it has ended.
    pub(crate) async fn ended(&self) {
        self.until(Job::is_over).await;
    }

    /// Waits until it has ended, or `text` is in what it wrote since somebody looked.
    pub(crate) async fn wrote(&self, text: &str) {
        let there = |job: &Job| {
            let state = job.state();
            state.over.is_some() || state.window.since(&state.seen).text.contains(text)
        };
        self.until(there).await;
    }

    /// How it is, and what it wrote since somebody looked last, for the model that makes `call`. `title` is for people.
    pub(crate) fn look(&self, title: &str, call: &Call) -> Output {
        let mut state = self.state();
        let news = state.window.since(&state.seen);
        state.seen = news.until.clone();
        tell::look(self, &state, &news, title, call)
    }

    async fn until(&self, there: impl Fn(&Job) -> bool) {
        let mut changed = self.changed.subscribe();
        // The sender lives as long as we do.
        while !there(self) && changed.changed().await.is_ok() {}
    }

    fn is_over(&self) -> bool {
        self.state().over.is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.send_replace(());
    }
}

/// Collects what a job writes until all that it started has ended.
async fn follow(job: Arc<Job>, mut running: Running, mut keeper: Keeper, timeout: Option<Duration>) {
    // One that nobody could wait for is none.
    let deadline = timeout.and_then(|timeout| Some((Instant::now().checked_add(timeout)?, timeout)));
    let mut why = None;
    let mut piece = Vec::new();
    running.follow();
    loop {
        tokio::select! {
            more = running.read(&mut piece) => {
                if !more {
                    break;
                }
                keeper.push(&piece).await;
                job.change(|state| {
                    state.window.push(&piece);
                    state.path = keeper.path();
                });
            }
            () = job.stop.cancelled(), if why.is_none() => {
                why = Some(Why::Killed);
                running.stop(GRACE);
            }
            timeout = over(deadline), if why.is_none() => {
                why = Some(Why::Timeout(timeout));
                running.stop(GRACE);
            }
        }
    }
    let walls = running.walls().cloned();
    let (end, repairs) = running.finish().await;
    let wanted = keeper.path().is_some();
    let (path, words) = keeper.finish(wanted).await.unzip();
    job.change(|state| {
        state.window.finish();
        state.path = path;
        let caged = cage::told(walls.as_ref(), &state.window.text(), end.code, &job.dir, &repairs);
        state.over = Some(Over { end, why, after: job.begun.elapsed(), words, caged });
    });
}

/// Waits for the deadline; for ever without one.
async fn over(deadline: Option<(Instant, Duration)>) -> Duration {
    match deadline {
        Some((at, timeout)) => {
            sleep_until(at).await;
            timeout
        }
        None => std::future::pending().await,
    }
}

/// A command line as a name.
fn one_line(command: &str) -> String {
    let line = command.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_COMMAND) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests;
