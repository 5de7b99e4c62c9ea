//! One script with all that it imports, in an engine of its own.
//!
//! Everything that happens in it begins with one message or one timer, and belongs to the call that this one belongs to:
//! what a script asks of the world is asked for exactly that call. Scripts cannot say otherwise, because it is noted here.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use rquickjs::function::IntoArgs;
use rquickjs::{CatchResultExt, Context, Ctx, Function, Object, Runtime};

use super::modules::{Loading, Sources};
use super::{Out, natives};
use crate::error::STOPPED;
use crate::wire::WireError;

/// Memory of one realm, in bytes.
pub(crate) const MEMORY: usize = 128 * 1024 * 1024;
/// What scripts may use of a thread's stack, in bytes.
const JS_STACK: usize = super::STACK / 2;
/// How long a script may compute without a pause.
pub(crate) const BUSY: Duration = Duration::from_secs(30);
/// Most timers and requests of one realm that wait at once.
pub(crate) const MAX_WAITING: usize = 10_000;

/// What a realm is told.
#[derive(Debug)]
pub(crate) enum ToRealm {
    Ask { id: u64, method: String, params: String },
    Answer { id: u64, answer: Result<String, String> },
    Cancel { id: u64 },
    Drop { id: u64 },
}

/// What stops a script in the middle of its work, from another thread.
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// The call that runs now; 0 between two.
    current: AtomicU64,
    stopped: Mutex<HashSet<u64>>,
    since: Mutex<Option<Instant>>,
    overtime: AtomicBool,
    closed: AtomicBool,
}

impl Control {
    pub(crate) fn stop(&self, id: u64) {
        lock(&self.stopped).insert(id);
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn current(&self) -> u64 {
        self.current.load(Ordering::Relaxed)
    }

    pub(crate) fn is_stopped(&self, id: u64) -> bool {
        self.closed.load(Ordering::Relaxed) || lock(&self.stopped).contains(&id)
    }

    /// The clock stands still while a script waits for the host.
    pub(crate) fn begin(&self) {
        *lock(&self.since) = Some(Instant::now());
    }

    fn interrupts(&self) -> bool {
        let overtime = lock(&self.since).is_some_and(|since| since.elapsed() > BUSY);
        if overtime {
            self.overtime.store(true, Ordering::Relaxed);
        }
        overtime || self.is_stopped(self.current())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each is whole after each line.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the functions given to scripts work on.
pub(crate) struct State {
    pub(crate) out: Out,
    pub(crate) control: Arc<Control>,
    pub(crate) sources: Sources,
    inbox: mpsc::Receiver<ToRealm>,
    /// What came while a script waited for something else.
    queue: VecDeque<ToRealm>,
    last: u64,
    /// What was asked of the host, and for which call.
    effects: HashMap<u64, u64>,
    timers: BTreeMap<(Instant, u64), u64>,
    due: HashMap<u64, Instant>,
    open: HashSet<u64>,
    pub(crate) started: Instant,
}

/// The same, in the hands of functions.
pub(crate) type Shared = Arc<Mutex<State>>;

/// Why a request had no answer.
pub(crate) fn refusal(message: &str) -> String {
    serde_json::json!({ "message": message }).to_string()
}

impl State {
    /// Sends a request for the call that runs now, and gives its number.
    pub(crate) fn request(&mut self, method: &str, params: &str) -> Result<u64, String> {
        if self.effects.len() >= MAX_WAITING {
            return Err(format!("{MAX_WAITING} requests wait already"));
        }
        if params.len() > crate::wire::MAX_LINE / 2 {
            return Err(format!("{method}: {} bytes are too much at once", params.len()));
        }
        self.last += 1;
        let (id, origin) = (self.last, self.control.current());
        self.effects.insert(id, origin);
        self.out.send(&format!("\"id\":{id},\"origin\":{origin},\"method\":{method:?},\"params\":{params}"));
        Ok(id)
    }

    /// The same, and waits for the answer.
    pub(crate) fn request_now(&mut self, method: &str, params: &str) -> Result<String, String> {
        let id = self.request(method, params).map_err(|message| refusal(&message))?;
        let (control, origin) = (self.control.clone(), self.control.current());
        let answer = loop {
            match self.inbox.recv() {
                Ok(ToRealm::Answer { id: answered, answer }) if answered == id => break answer,
                Ok(message) => {
                    let stops = matches!(&message, ToRealm::Cancel { id } | ToRealm::Drop { id } if *id == origin);
                    self.queue.push_back(message);
                    if stops {
                        break Err(refusal("the call was stopped"));
                    }
                }
                Err(_) => break Err(refusal("haft is gone")),
            }
        };
        self.effects.remove(&id);
        control.begin();
        answer
    }

    /// Tells the host something.
    pub(crate) fn notify(&self, method: &str, params: &str) {
        let origin = self.control.current();
        self.out.send(&format!("\"origin\":{origin},\"method\":{method:?},\"params\":{params}"));
    }

    /// Begins a timer for the call that runs now; `None` where there are too many.
    pub(crate) fn timer(&mut self, id: Option<u64>, ms: f64) -> Option<u64> {
        if self.timers.len() >= MAX_WAITING {
            return None;
        }
        let id = id.unwrap_or_else(|| {
            self.last += 1;
            self.last
        });
        // As in Node: what is no time of this kind is none at all.
        let wait = if (0.0..2_147_483_648.0).contains(&ms) { ms } else { 0.0 };
        let due = Instant::now() + Duration::from_micros((wait * 1000.0) as u64);
        self.timers.insert((due, id), self.control.current());
        self.due.insert(id, due);
        Some(id)
    }

    pub(crate) fn clear_timer(&mut self, id: u64) {
        if let Some(due) = self.due.remove(&id) {
            self.timers.remove(&(due, id));
        }
    }

    pub(crate) fn reply(&mut self, id: u64, result: &str) {
        if self.open.contains(&id) {
            self.out.reply(id, result);
            self.end(id);
        }
    }

    pub(crate) fn fail(&mut self, id: u64, error: &WireError) {
        if self.open.contains(&id) {
            self.out.fail(id, error);
            self.end(id);
        }
    }

    fn end(&mut self, id: u64) {
        self.open.remove(&id);
        lock(&self.control.stopped).remove(&id);
    }

    /// What waits for call `origin` and shall wait no more: timers and requests.
    fn forget(&mut self, origin: u64) -> (Vec<u64>, Vec<u64>) {
        let timers: Vec<u64> = self.timers.iter().filter(|(_, of)| **of == origin).map(|((_, id), _)| *id).collect();
        timers.iter().for_each(|id| self.clear_timer(*id));
        let effects: Vec<u64> = self.effects.iter().filter(|(_, of)| **of == origin).map(|(id, _)| *id).collect();
        for id in &effects {
            self.effects.remove(id);
        }
        (timers, effects)
    }

    /// The next thing that happens; `None` when there will be nothing more.
    fn next(&mut self) -> Option<Event> {
        if let Some(message) = self.queue.pop_front() {
            return Some(Event::Message(message));
        }
        let message = match self.timers.first_key_value() {
            None => self.inbox.recv().ok(),
            Some((&(due, id), &origin)) => match self.inbox.recv_timeout(due.saturating_duration_since(Instant::now()))
            {
                Ok(message) => Some(message),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    self.clear_timer(id);
                    return Some(Event::Timer { id, origin });
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => None,
            },
        };
        message.map(Event::Message)
    }

    /// The calls that wait for what nobody will ever do.
    fn stuck(&self) -> Vec<u64> {
        let waits = !self.effects.is_empty() || !self.timers.is_empty() || !self.queue.is_empty();
        if waits { Vec::new() } else { self.open.iter().copied().collect() }
    }
}

enum Event {
    Message(ToRealm),
    Timer { id: u64, origin: u64 },
}

/// Works until nobody sends anything any more.
pub(crate) fn run(inbox: mpsc::Receiver<ToRealm>, out: Out, control: Arc<Control>) {
    let state = Arc::new(Mutex::new(State {
        out: out.clone(),
        control: control.clone(),
        sources: Sources::default(),
        inbox,
        queue: VecDeque::new(),
        last: 0,
        effects: HashMap::new(),
        timers: BTreeMap::new(),
        due: HashMap::new(),
        open: HashSet::new(),
        started: Instant::now(),
    }));
    control.begin();
    let done = engine(&state, &control).and_then(|context| {
        context.with(|ctx| {
            let entry = natives::begin(&ctx, state.clone()).catch(&ctx).map_err(|error| error.to_string())?;
            let realm = Realm { ctx, entry, state: &state, control: &control };
            while realm.step() {}
            Ok::<(), String>(())
        })
    });
    let Err(error) = done else { return };
    let error = WireError { message: format!("the engine does not start: {error}"), ..WireError::default() };
    while let Ok(message) = lock(&state).inbox.recv() {
        if let ToRealm::Ask { id, .. } = message {
            out.fail(id, &error);
        }
    }
}

fn engine(state: &Shared, control: &Arc<Control>) -> Result<Context, String> {
    let failed = |error: rquickjs::Error| error.to_string();
    let runtime = Runtime::new().map_err(failed)?;
    runtime.set_memory_limit(MEMORY);
    runtime.set_max_stack_size(JS_STACK);
    let ours = control.clone();
    runtime.set_interrupt_handler(Some(Box::new(move || ours.interrupts())));
    let loading = Loading(state.clone());
    runtime.set_loader(loading.clone(), loading);
    Context::full(&runtime).map_err(failed)
}

/// The engine and what it is entered by.
struct Realm<'a, 'js> {
    ctx: Ctx<'js>,
    entry: Object<'js>,
    state: &'a Shared,
    control: &'a Control,
}

impl<'js> Realm<'_, 'js> {
    /// Does the next thing that there is to do; `false` at the end.
    fn step(&self) -> bool {
        let Some(event) = lock(self.state).next() else { return false };
        if self.control.closed.load(Ordering::Relaxed) {
            return false;
        }
        match event {
            Event::Message(ToRealm::Ask { id, method, params }) => {
                lock(self.state).open.insert(id);
                if self.control.is_stopped(id) {
                    lock(self.state).end(id);
                } else {
                    self.enter(id, "ask", (id as f64, method, params));
                }
            }
            Event::Message(ToRealm::Answer { id, answer }) => {
                // What nobody waits for any more has no origin.
                let Some(origin) = lock(self.state).effects.remove(&id) else { return true };
                let (fine, text) = match answer {
                    Ok(text) => (true, text),
                    Err(text) => (false, text),
                };
                self.enter(origin, "answer", (id as f64, fine, text));
            }
            Event::Message(ToRealm::Cancel { id }) => {
                lock(&self.control.stopped).remove(&id);
                if lock(self.state).open.contains(&id) {
                    self.enter(id, "abort", (id as f64,));
                }
            }
            Event::Message(ToRealm::Drop { id }) => {
                let (timers, effects) = lock(self.state).forget(id);
                lock(self.state).end(id);
                let floats = |ids: Vec<u64>| ids.into_iter().map(|id| id as f64).collect::<Vec<f64>>();
                self.enter(0, "forget", (floats(timers), floats(effects)));
                lock(self.state).out.send(&format!("\"method\":\"dropped\",\"params\":{id}"));
            }
            Event::Timer { id, origin } => self.enter(origin, "timer", (id as f64,)),
        }
        let stuck = lock(self.state).stuck();
        for id in stuck {
            let message = "it waits for a promise that nothing can settle any more".to_owned();
            lock(self.state).fail(id, &WireError { message, ..WireError::default() });
        }
        true
    }

    /// Calls a function of the prelude for the call `origin`, and runs all that follows at once.
    fn enter(&self, origin: u64, name: &str, args: impl IntoArgs<'js>) {
        self.control.current.store(origin, Ordering::Relaxed);
        self.control.begin();
        let called = self.entry.get::<_, Function<'_>>(name).and_then(|entered| entered.call::<_, ()>(args));
        if let Err(error) = called.catch(&self.ctx) {
            // A timer's function threw: there is no promise that could say so.
            lock(self.state)
                .notify("log", &serde_json::json!({ "level": "error", "text": error.to_string() }).to_string());
        }
        // What fails here fails its promise; what was interrupted fails below.
        while self.ctx.execute_pending_job() {}
        *lock(&self.control.since) = None;
        self.control.current.store(0, Ordering::Relaxed);
        if self.control.overtime.swap(false, Ordering::Relaxed) {
            let message = format!("{STOPPED}it computed for {} s without a pause", BUSY.as_secs());
            lock(self.state).fail(origin, &WireError { message, ..WireError::default() });
        }
    }
}
