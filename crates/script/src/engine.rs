//! The process that runs scripts, seen from haft.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::error::ScriptError;
use crate::host::{HostLaunch, Life, Settle, Started};
use crate::script::{Script, Sources, answer_source};
use crate::wire::{CLOSE, DROP, FromInside, MAX_LINE, WireError};

/// How long a script that nobody waits for any more may go on, before its process is ended.
const GRACE: Duration = Duration::from_secs(2);
/// Most messages of one call that wait to be read.
pub(crate) const MAX_UNREAD: usize = 16_384;

/// Longest line of a host, in bytes.
const MAX_HOST_LINE: usize = 16 * 1024 * 1024;

/// What to start: a program that calls [`serve`](crate::serve) after it gave up all rights.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// What scripts are told of where they run.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// `process.cwd()`.
    pub directory: PathBuf,
    /// `process.env`: whoever makes it leaves keys out.
    pub env: Vec<(String, String)>,
    /// `os.homedir()`.
    pub home: PathBuf,
}

impl Facts {
    pub(crate) fn json(&self) -> Value {
        let os = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
        let arch = match std::env::consts::ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => other,
        };
        let env: serde_json::Map<String, Value> =
            self.env.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        json!({
            "directory": self.directory, "home": self.home, "temporary": std::env::temp_dir(),
            "platform": os, "arch": arch, "env": env, "version": env!("CARGO_PKG_VERSION"),
        })
    }
}

/// What runs scripts. A handle, cheap to clone; nothing is started before the first script.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    how: How,
    facts: Facts,
    running: tokio::sync::Mutex<Option<Arc<Running>>>,
}

/// How the process of an engine is started.
enum How {
    /// Ours, without rights.
    Sealed(Launch),
    /// An installed Node or Bun, in a cage.
    Hosted(HostLaunch),
}

impl Engine {
    /// An engine that starts `launch` when it is first needed.
    pub fn new(launch: Launch, facts: Facts) -> Self {
        Self { inner: Arc::new(Inner { how: How::Sealed(launch), facts, running: tokio::sync::Mutex::default() }) }
    }

    /// The same, whose process is a host.
    pub(crate) fn hosted(launch: HostLaunch, facts: Facts) -> Self {
        Self { inner: Arc::new(Inner { how: How::Hosted(launch), facts, running: tokio::sync::Mutex::default() }) }
    }

    /// Whether its process is a host, which finds imports by itself.
    pub(crate) fn is_hosted(&self) -> bool {
        matches!(self.inner.how, How::Hosted(_))
    }

    /// A new script, into which nothing is loaded yet. What it may import, `sources` says. Needs a Tokio runtime.
    ///
    /// # Errors
    ///
    /// [`ScriptError::Start`].
    pub async fn script(&self, sources: Arc<dyn Sources>) -> Result<Script, ScriptError> {
        let mut running = self.inner.running.lock().await;
        let process = match running.as_ref().filter(|process| process.is_alive()) {
            Some(process) => process.clone(),
            None => {
                let process = match &self.inner.how {
                    How::Sealed(launch) => Running::start(launch, self.inner.facts.json())?,
                    How::Hosted(launch) => Running::with(launch.start().await?, self.inner.facts.json()),
                };
                let process = Arc::new(process);
                *running = Some(process.clone());
                process
            }
        };
        drop(running);
        let realm = process.open(sources);
        Ok(Script::new(process, realm))
    }

    /// Ends the process, when what runs in it is over. The next script starts another.
    pub(crate) async fn let_go(&self) {
        self.inner.running.lock().await.take();
    }

    /// The process, if one runs.
    pub async fn process(&self) -> Option<u32> {
        self.inner.running.lock().await.as_ref().filter(|process| process.is_alive()).and_then(|process| process.pid)
    }
}

/// What comes for a call.
#[derive(Debug)]
pub(crate) enum Incoming {
    Done(Result<Value, WireError>),
    Wants { id: u64, method: String, params: Value },
    Says { method: String, params: Value },
}

#[derive(Default)]
struct Routes {
    calls: HashMap<(u32, u64), mpsc::Sender<Incoming>>,
    sources: HashMap<u32, Arc<dyn Sources>>,
    /// Calls that nobody waits for, and when the process has to have let them go.
    dropped: HashMap<(u32, u64), Instant>,
}

/// A process that runs.
pub(crate) struct Running {
    pid: Option<u32>,
    lines: mpsc::UnboundedSender<String>,
    shared: Arc<Shared>,
    realms: AtomicU32,
    settle: Option<Settle>,
    tasks: [JoinHandle<()>; 2],
}

struct Shared {
    alive: AtomicBool,
    routes: Mutex<Routes>,
    changed: Notify,
    facts: Value,
    /// Longest line that it may say, in bytes.
    max_line: usize,
    /// Why it ended, where more is known than that.
    end: Mutex<Option<(String, String)>>,
}

/// A process, however it was started. Dropping it ends it.
enum Process {
    Ours(Child),
    Host(Life),
}

impl Shared {
    fn routes(&self) -> MutexGuard<'_, Routes> {
        // Whole after each line.
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // With its task the process ends.
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Running {
    fn start(launch: &Launch, facts: Value) -> Result<Self, ScriptError> {
        let mut command = Command::new(&launch.program);
        // The terminal's Ctrl-C is for haft, which stops calls itself.
        command.args(&launch.args).env_clear().process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).current_dir("/");
        let failed = |source| ScriptError::Start { program: launch.program.clone(), source };
        let mut child = command.spawn().map_err(failed)?;
        let gone = || failed(std::io::ErrorKind::BrokenPipe.into());
        let (input, output) = child.stdin.take().zip(child.stdout.take()).ok_or_else(gone)?;
        Ok(Self::over(child.id(), input, output, Process::Ours(child), facts, None))
    }

    /// One that was started already.
    fn with(started: Started, facts: Value) -> Self {
        let Started { input, output, settle, life } = started;
        Self::over(None, input, output, Process::Host(life), facts, Some(settle))
    }

    fn over(
        pid: Option<u32>,
        input: ChildStdin,
        output: ChildStdout,
        process: Process,
        facts: Value,
        settle: Option<Settle>,
    ) -> Self {
        let max_line = if matches!(process, Process::Ours(_)) { MAX_LINE } else { MAX_HOST_LINE };
        let shared = Arc::new(Shared {
            alive: AtomicBool::new(true),
            routes: Mutex::default(),
            changed: Notify::new(),
            facts,
            max_line,
            end: Mutex::default(),
        });
        // As long as what calls have to say; each call waits for its answers.
        let (lines, written) = mpsc::unbounded_channel();
        let tasks =
            [tokio::spawn(write(input, written)), tokio::spawn(attend(process, output, shared.clone(), lines.clone()))];
        Self { pid, lines, shared, realms: AtomicU32::new(1), settle, tasks }
    }

    /// Has put back what a host changed of what is protected, and waits for that.
    pub(crate) async fn settle(&self) {
        let Some(settle) = &self.settle else { return };
        let (wish, done) = oneshot::channel();
        if settle.send(wish).await.is_ok() {
            // It is dropped when it is done, or its host has ended, which does the same.
            let _ = done.await;
        }
    }

    /// Why nothing comes any more.
    pub(crate) fn ended(&self) -> ScriptError {
        match self.shared.end.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            Some((name, why)) => ScriptError::Host { name, why },
            None => ScriptError::Ended,
        }
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.shared.alive.load(Ordering::Relaxed)
    }

    fn open(&self, sources: Arc<dyn Sources>) -> u32 {
        let realm = self.realms.fetch_add(1, Ordering::Relaxed);
        self.shared.routes().sources.insert(realm, sources);
        realm
    }

    pub(crate) fn close(&self, realm: u32) {
        self.shared.routes().sources.remove(&realm);
        self.send(realm, &json!({ "method": CLOSE }));
    }

    /// Sends `message` to a realm. What a process that ended does not read is lost with it.
    pub(crate) fn send(&self, realm: u32, message: &Value) {
        send(&self.lines, realm, message);
    }

    /// From now on what comes for the call goes to `to`. `false`: the process has ended.
    pub(crate) fn listen(&self, realm: u32, id: u64, to: mpsc::Sender<Incoming>) -> bool {
        self.shared.routes().calls.insert((realm, id), to);
        // Looked at afterwards, because the end of the process clears the list once.
        self.is_alive()
    }

    /// Nobody waits for the call any more; `is_open`: it was not answered.
    pub(crate) fn let_go(&self, realm: u32, id: u64, is_open: bool) {
        let mut routes = self.shared.routes();
        routes.calls.remove(&(realm, id));
        if is_open {
            routes.dropped.insert((realm, id), Instant::now() + GRACE);
        }
        drop(routes);
        // Also after an answer: timers and requests of the call may be left.
        self.send(realm, &json!({ "id": id, "method": DROP }));
        if is_open {
            self.shared.changed.notify_one();
        }
    }
}

fn send(lines: &mpsc::UnboundedSender<String>, realm: u32, message: &Value) {
    let mut message = message.clone();
    if let Some(object) = message.as_object_mut() {
        object.insert("jsonrpc".to_owned(), "2.0".into());
        object.insert("realm".to_owned(), realm.into());
    }
    let _ = lines.send(format!("{message}\n"));
}

async fn write(mut input: ChildStdin, mut lines: mpsc::UnboundedReceiver<String>) {
    while let Some(line) = lines.recv().await {
        if input.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Reads what the process says, until it ends or has to be ended.
async fn attend(process: Process, output: ChildStdout, shared: Arc<Shared>, lines: mpsc::UnboundedSender<String>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    loop {
        let due = shared.routes().dropped.values().min().copied();
        let overdue = async {
            match due {
                Some(due) => tokio::time::sleep_until(due.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            read = next(&mut output, &mut line, shared.max_line) => match read {
                // Each line is one message; what is none comes from no program of ours.
                Ok(true) => {
                    let understood = serde_json::from_slice::<FromInside>(&line).is_ok_and(|message| route(message, &shared, &lines));
                    line.clear();
                    if !understood {
                        break;
                    }
                }
                Ok(false) | Err(_) => break,
            },
            () = overdue => break,
            () = shared.changed.notified() => {}
        }
    }
    shared.alive.store(false, Ordering::Relaxed);
    match process {
        // It may have ended by itself.
        Process::Ours(mut child) => drop(child.kill().await),
        Process::Host(life) => {
            if let ScriptError::Host { name, why } = life.last_words().await {
                *shared.end.lock().unwrap_or_else(PoisonError::into_inner) = Some((name, why));
            }
        }
    }
    // Who listens hears that nothing comes any more.
    *shared.routes() = Routes::default();
}

/// Reads on until `line` is one; cut off in the middle, it goes on there.
async fn next(output: &mut BufReader<ChildStdout>, line: &mut Vec<u8>, most: usize) -> std::io::Result<bool> {
    let room = (most as u64).saturating_sub(line.len() as u64);
    output.take(room).read_until(b'\n', line).await?;
    Ok(line.ends_with(b"\n"))
}

/// Passes a message on; `false` where it is none that the process may send.
fn route(message: FromInside, shared: &Arc<Shared>, lines: &mpsc::UnboundedSender<String>) -> bool {
    let FromInside { realm, id, method, origin, params, result, error } = message;
    let mut routes = shared.routes();
    let (call, incoming) = match (method, id) {
        (None, Some(id)) => (id, Incoming::Done(error.map_or_else(|| Ok(result.unwrap_or_default()), Err))),
        (None, None) => return false,
        (Some(method), None) if method == "dropped" => {
            let dropped = params.as_ref().and_then(Value::as_u64).unwrap_or_default();
            routes.dropped.remove(&(realm, dropped));
            return true;
        }
        (Some(method), Some(id)) if method == "facts" => {
            debug_assert!(!method.is_empty());
            send(lines, realm, &json!({ "id": id, "result": shared.facts }));
            return true;
        }
        (Some(method), Some(id)) if method.starts_with("module.") => {
            let sources = routes.sources.get(&realm).cloned();
            let lines = lines.clone();
            let answer = move || {
                send(
                    &lines,
                    realm,
                    &match answer_source(sources.as_deref(), &method, &params.unwrap_or_default()) {
                        Ok(result) => json!({ "id": id, "result": result }),
                        Err(message) => json!({ "id": id, "error": { "message": message } }),
                    },
                );
            };
            // Files are read beside the runtime. It ends by itself.
            drop(tokio::task::spawn_blocking(answer));
            return true;
        }
        (Some(method), Some(id)) => (origin, Incoming::Wants { id, method, params: params.unwrap_or_default() }),
        (Some(method), None) => (origin, Incoming::Says { method, params: params.unwrap_or_default() }),
    };
    let Some(listener) = routes.calls.get(&(realm, call)) else {
        if let Incoming::Wants { id, .. } = incoming {
            let message = "no call is running that this could be done for";
            send(lines, realm, &json!({ "id": id, "error": { "message": message } }));
        }
        return true;
    };
    // Who says more than anybody can read is broken.
    !matches!(listener.try_send(incoming), Err(mpsc::error::TrySendError::Full(_)))
}
