//! The audit log: every ask, grant, denial and effect, in lines that hang together. A thread writes, so that nobody who
//! works waits for a disk.

mod book;
mod chain;
mod entry;
mod verify;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use haft_permission::{Note, Witness};
use haft_protocol::Clock;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use self::book::Book;
use self::chain::Entry;
pub(crate) use self::verify::{Fault, Report, entries, verify};
use crate::render;

/// Most notes that wait to be written. Further ones are lost, and counted.
const MAX_WAITING: usize = 4096;
/// Longest that the end of the program waits for what is still to be written.
const PATIENCE: Duration = Duration::from_secs(3);

/// The logs of this process, to be finished before it ends.
static LOGS: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

/// Writes down what happens. A handle, cheap to clone.
#[derive(Clone)]
pub(crate) struct Audit {
    shared: Arc<Shared>,
}

struct Shared {
    folder: PathBuf,
    clock: Clock,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: Vec<(u64, Note)>,
    /// Notes that were not written since the last one that was.
    lost: u64,
    /// Who waits until what was noted is written.
    patient: Vec<oneshot::Sender<()>>,
    /// Whether there is a thread that writes, and whether it is at it.
    started: bool,
    writing: bool,
    told: bool,
}

/// The file of the log in the data folder `folder`.
pub(crate) fn path(folder: &Path) -> PathBuf {
    Book::in_folder(folder).path()
}

/// Waits until everything that was noted in this process is written: it is about to end.
pub(crate) fn finish() {
    let logs = std::mem::take(&mut *LOGS.lock().unwrap_or_else(PoisonError::into_inner));
    let until = Instant::now() + PATIENCE;
    for log in logs.iter().filter_map(Weak::upgrade) {
        let mut state = log.lock();
        while state.writing || !state.waiting.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = log.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Audit {
    /// The log in the data folder `folder`, whose times are those of `clock`, which should be nobody else's: reading a
    /// scripted one moves it. Nothing is touched before the first note.
    pub(crate) fn in_folder(folder: &Path, clock: Clock) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { folder: folder.to_owned(), clock, state, changed });
        LOGS.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&shared));
        Self { shared }
    }
}

impl Witness for Audit {
    fn note(&self, note: Note) {
        let shared = &self.shared;
        let mut state = shared.lock();
        if state.waiting.len() >= MAX_WAITING {
            state.lost += 1;
            return;
        }
        // In here, so that times and lines have one order.
        let time = shared.clock.now_ms();
        state.waiting.push((time, note));
        if !std::mem::replace(&mut state.started, true) {
            let shared = Arc::clone(shared);
            let begun = std::thread::Builder::new().name("audit".to_owned()).spawn(move || shared.write_all());
            if let Err(error) = begun {
                state.started = false;
                state.lost += std::mem::take(&mut state.waiting).len() as u64;
                let told = std::mem::replace(&mut state.told, true);
                drop(state);
                return self.shared.tell(&error, told);
            }
        }
        drop(state);
        self.shared.changed.notify_all();
    }

    fn kept(&self) -> BoxFuture<'_, ()> {
        let (done, waits) = oneshot::channel();
        let mut state = self.shared.lock();
        if (state.waiting.is_empty() && !state.writing) || !state.started {
            return Box::pin(std::future::ready(()));
        }
        state.patient.push(done);
        drop(state);
        // The thread answers in any case, also where it could not write.
        Box::pin(async move { drop(waits.await) })
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Each use leaves it whole, so a panic elsewhere does no harm to it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what comes, until the program ends.
    fn write_all(&self) {
        let mut book = Book::in_folder(&self.folder);
        loop {
            let mut state = self.lock();
            while state.waiting.is_empty() {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            let notes = std::mem::take(&mut state.waiting);
            let lost = std::mem::take(&mut state.lost);
            let patient = std::mem::take(&mut state.patient);
            state.writing = true;
            drop(state);
            let written = book.append(&lines(&notes, lost));
            let mut state = self.lock();
            state.writing = false;
            let mut told = true;
            if written.is_err() {
                state.lost += lost + notes.len() as u64;
                told = std::mem::replace(&mut state.told, true);
            }
            // Those who came while it wrote wait for nothing more, unless more was noted.
            let late = if state.waiting.is_empty() { std::mem::take(&mut state.patient) } else { Vec::new() };
            drop(state);
            if let Err(error) = written {
                self.tell(&error, told);
            }
            for one in patient.into_iter().chain(late) {
                // Whoever waits goes on also where it could not be written: that was told.
                let _ = one.send(());
            }
            self.changed.notify_all();
        }
    }

    fn tell(&self, error: &std::io::Error, told: bool) {
        let path = path(&self.folder);
        tracing::error!(path = %path.display(), %error, "the audit log cannot be written");
        if !told {
            render::complain(&format!(
                "warning: {} cannot be written ({error}); what is done now is not recorded. `\"audit\": false` in your settings says that it need not be",
                path.display()
            ));
        }
    }
}

/// The entries for `notes`, and before them that some are missing, if so.
fn lines(notes: &[(u64, Note)], lost: u64) -> Vec<Entry> {
    let mut entries = Vec::with_capacity(notes.len() + 1);
    if lost > 0 {
        entries.push(Entry { time: notes.first().map_or(0, |(time, _)| *time), fields: gap(lost) });
    }
    entries.extend(notes.iter().map(|(time, note)| Entry { time: *time, fields: entry::fields(note) }));
    entries
}

fn gap(lost: u64) -> Map<String, Value> {
    let Value::Object(fields) = json!({ "kind": "gap", "lost": lost }) else { return Map::new() };
    fields
}
