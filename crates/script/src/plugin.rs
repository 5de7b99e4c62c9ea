//! Plug-ins: files whose functions are told what happens, and may change or stop it.
//!
//! A plug-in runs in the engine like any script: without rights, behind the gate for whatever it does. It is loaded when
//! something first happens that it may want to hear of; one that cannot be loaded is named once and passed over.
//!
//! What a hook does fires no hooks: it is asked for past them, calls no tools, and what is told of its questions is told to
//! no plug-in. So none can set itself, or another one, in motion for ever.

mod stage;
mod world;

pub use stage::{Behind, Moment, Opened, Stage};

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use haft_protocol::hook::Point;
use haft_tool::{Hook, HookError};
use serde::Deserialize;
use serde_json::{Value, json};

use self::world::{Beginner, Beginning, PluginWorld};
use crate::engine::Engine;
use crate::error::{Refusal, ScriptError};
use crate::host::{Hosting, Hosts, Right};
use crate::script::{Allowance, World};
use crate::tools::{At, Bounds, Described, Disk};

/// How long a plug-in may take to begin.
pub const MAX_START: Duration = Duration::from_secs(30);
/// How long one of its hooks may take.
pub const MAX_HOOK: Duration = Duration::from_secs(60);
/// How much one hook may have done for it: files, commands, requests, calls of `client`.
pub const MAX_EFFECTS: u32 = 1_000;
/// What the gate says where it would have asked a person and there is none.
const NEEDS_LEAVE: &str = "needs the user's leave";
/// How often a person is told that a plug-in was refused something.
const MAX_REFUSALS_TOLD: u32 = 3;
/// How often a plug-in is loaded again whose process ended.
pub const MAX_STARTS: u32 = 3;
/// How often a plug-in may change something when it is told of a file, from one prompt to the next: each change is told of,
/// too.
pub const MAX_ANSWERED: u32 = 1_000;
/// The points behind which what a host changed of what is protected is put back.
const SETTLED: [Point; 4] = [Point::ChatMessage, Point::ToolBefore, Point::ToolAfter, Point::TurnStop];
/// The file that begins a plug-in.
const START: &str = "/haft-plugin-start.mjs";

/// What plug-ins may ask of the program that runs them.
pub trait Client: Send + Sync {
    /// Calls the function at `path` of the client, such as `["session", "prompt"]`, for the plug-in called `plugin`. What
    /// needs leave is done in `world`, or asked for there in the plug-in's name. Dropping the future stops it.
    ///
    /// # Errors
    ///
    /// Why it was not done, and what can be done instead.
    fn call<'a>(
        &'a self,
        plugin: &'a str,
        path: &'a [String],
        args: Vec<Value>,
        world: &'a dyn World,
    ) -> BoxFuture<'a, Result<Value, Refusal>>;
}

/// A client that can do nothing.
pub struct NoClient;

impl Client for NoClient {
    fn call<'a>(
        &'a self,
        _: &'a str,
        path: &'a [String],
        _: Vec<Value>,
        _: &'a dyn World,
    ) -> BoxFuture<'a, Result<Value, Refusal>> {
        let why = format!("client.{} is not there in haft", path.join("."));
        Box::pin(async { Err(Refusal::new(why)) })
    }
}

/// Where plug-ins run.
#[derive(Clone)]
pub struct Grounds {
    /// What runs them.
    pub engine: Engine,
    /// What their files may import.
    pub bounds: Arc<dyn Bounds>,
    /// What runs those that the engine cannot; `None`: nothing does.
    pub host: Option<Arc<Hosting>>,
    /// What does what they ask of the world, in the plug-in's own name.
    pub stage: Arc<dyn Stage>,
    /// What they call `client`.
    pub client: Arc<dyn Client>,
    /// The working folder.
    pub directory: PathBuf,
    /// The top of the work tree.
    pub worktree: PathBuf,
    /// The project's id.
    pub project: String,
    /// Who hears that a plug-in does not work.
    pub tell: Arc<dyn Fn(&str) + Send + Sync>,
    /// What they may take.
    pub limits: Limits,
}

/// What plug-ins may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// To begin.
    pub start: Allowance,
    /// Each time that a hook is called.
    pub hook: Allowance,
}

impl Default for Limits {
    /// [`MAX_START`], [`MAX_HOOK`] and [`MAX_EFFECTS`].
    fn default() -> Self {
        let within = |time| Allowance { time, effects: MAX_EFFECTS };
        Self { start: within(MAX_START), hook: within(MAX_HOOK) }
    }
}

/// A plug-in as it is found. [`Plugin`] runs it.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// What people know it by: its package, or its file.
    pub name: String,
    /// Its file: absolute.
    pub file: PathBuf,
    /// What the settings tell it.
    pub options: Value,
}

/// A plug-in.
pub struct Plugin {
    found: Found,
    grounds: Grounds,
    loaded: tokio::sync::Mutex<States>,
    /// What it runs in, where that is not the engine.
    hosts: OnceLock<Hosts>,
    /// What it listens to, once that is known.
    begun: OnceLock<Begun>,
    told: Mutex<bool>,
    /// How often a person was told that it was refused something.
    refusals: AtomicU32,
    /// How often since the last prompt it changed something when it was told of a file.
    answered: AtomicU32,
}

/// It as it runs: in the engine once, in hosts once for each right.
#[derive(Default)]
struct States {
    reads: State,
    changes: State,
}

#[derive(Default)]
struct State {
    running: Option<Arc<At>>,
    starts: u32,
}

impl States {
    fn with(&mut self, right: Right) -> &mut State {
        match right {
            Right::Reads => &mut self.reads,
            Right::Changes => &mut self.changes,
        }
    }

    fn running(&self) -> Vec<Arc<At>> {
        [&self.reads, &self.changes].into_iter().filter_map(|state| state.running.clone()).collect()
    }
}

/// What a plug-in said of itself when it began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Begun {
    /// The name it gives itself.
    #[serde(default)]
    pub id: Option<String>,
    /// The points that it has functions for, known and unknown.
    pub points: Vec<String>,
    /// The ids of its tools.
    pub tools: Vec<String>,
    /// The vendors that it helps to sign in to.
    pub auth: Vec<String>,
    /// The vendors whose models it knows.
    #[serde(default)]
    pub providers: Vec<String>,
}

impl Plugin {
    /// A plug-in that is begun when it is first needed.
    pub fn new(found: Found, grounds: Grounds) -> Self {
        Self {
            found,
            grounds,
            loaded: tokio::sync::Mutex::default(),
            hosts: OnceLock::new(),
            begun: OnceLock::new(),
            told: Mutex::new(false),
            refusals: AtomicU32::new(0),
            answered: AtomicU32::new(0),
        }
    }

    /// Begins it, if it has not begun, and says what it has.
    ///
    /// # Errors
    ///
    /// [`ScriptError`]; it is tried again up to [`MAX_STARTS`] times, unless it took too long.
    pub async fn begin(&self) -> Result<&Begun, ScriptError> {
        self.running(&Moment::default()).await?;
        Ok(self.begun.get_or_init(Begun::default))
    }

    /// Calls the function at `path` of what begins it, such as `["auth", "methods"]`, for `time` at most. Nobody is asked for
    /// what it does meanwhile.
    ///
    /// # Errors
    ///
    /// [`ScriptError`].
    pub async fn ask(&self, path: &[&str], args: Vec<Value>, time: Duration) -> Result<Value, ScriptError> {
        let running = self.running(&Moment::default()).await?;
        let (world, within) = (self.world(&Moment::default()), Allowance { time, effects: MAX_EFFECTS });
        Ok(running.script.call_within(running.handle, path, args, &world, within).await?.value)
    }

    /// Its tools, at most `most` of them. One that cannot begin has none, and is named.
    pub(crate) async fn tools(&self, most: usize) -> Vec<Described> {
        let at = match self.running(&Moment::default()).await {
            Ok(at) => at,
            Err(error) => {
                self.give_up(&error);
                return Vec::new();
            }
        };
        let mut tools = Vec::new();
        for id in self.begun.get().map(|begun| begun.tools.as_slice()).unwrap_or_default().iter().take(most) {
            tools.extend(at.describe(&["tools", id], id.clone(), id).await);
        }
        tools
    }

    /// It as it runs for who has `right`, begun if it has not.
    pub(crate) async fn at(&self, right: Right) -> Result<Arc<At>, ScriptError> {
        self.running_with(right).await
    }

    /// It as it runs for who works at `moment`, begun if it has not.
    async fn running(&self, moment: &Moment) -> Result<Arc<At>, ScriptError> {
        self.running_with(self.grounds.stage.right(moment)).await
    }

    async fn running_with(&self, right: Right) -> Result<Arc<At>, ScriptError> {
        let mut states = self.loaded.lock().await;
        let slot = |right| self.hosts.get().map_or(Right::Reads, |hosts| hosts.right(right));
        if let Some(hosts) = self.hosts.get()
            && slot(right) == Right::Reads
            && states.changes.running.is_some()
            && hosts.narrow().await
        {
            states.changes = State::default();
        }
        let state = states.with(slot(right));
        if let Some(running) = state.running.as_ref().filter(|running| running.script.is_alive()) {
            return Ok(Arc::clone(running));
        }
        if state.starts >= MAX_STARTS {
            return Err(ScriptError::Ended);
        }
        state.starts += 1;
        state.running = None;
        let started = self.start(right).await;
        // Perhaps it has found out that it needs a host.
        let state = states.with(slot(right));
        if started.as_ref().is_err_and(ScriptError::is_too_much) {
            // Nobody waits for that twice.
            state.starts = MAX_STARTS;
        }
        let running = Arc::new(started?);
        state.running = Some(Arc::clone(&running));
        Ok(running)
    }

    /// Starts it in the engine or, where that lacks something and a host is installed, in one.
    async fn start(&self, right: Right) -> Result<At, ScriptError> {
        if let Some(hosts) = self.hosts.get() {
            return Ok(self.known(self.start_hosted(hosts, right).await?));
        }
        let lacked = AtomicBool::new(false);
        let sealed = self.start_in(&self.grounds.engine, &lacked).await;
        let error = match &sealed {
            Err(error) if error.is_lack() => error.briefly(),
            _ if lacked.load(Ordering::Relaxed) => "it reads or runs something while it begins".to_owned(),
            _ => return sealed.map(|begun| self.known(begun)),
        };
        let Some(hosting) = &self.grounds.host else { return sealed.map(|begun| self.known(begun)) };
        let (name, file) = (&self.found.name, self.found.file.display());
        let tell = |text: String| (self.grounds.tell)(&text);
        match hosting.hosts(name, &self.grounds.bounds).await {
            Ok((hosts, program)) => {
                tell(format!("the plug-in {name} runs in {program}: {file}: {error}"));
                // Said once: should it fail there, that is where it is tried again.
                let hosts = self.hosts.get_or_init(|| hosts);
                Ok(self.known(self.start_hosted(hosts, right).await?))
            }
            Err(why) => {
                tell(format!("the plug-in {name} cannot be run in a host either: {why}"));
                sealed.map(|begun| self.known(begun))
            }
        }
    }

    async fn start_hosted(&self, hosts: &Hosts, right: Right) -> Result<(At, Begun), ScriptError> {
        let right = hosts.right(right);
        let (at, begun) = self.start_in(hosts.with(right), &AtomicBool::new(false)).await?;
        Ok((At { right, ..at }, begun))
    }

    /// The same in `engine`. `lacked` is set where it was refused something only because it was beginning.
    async fn start_in(&self, engine: &Engine, lacked: &AtomicBool) -> Result<(At, Begun), ScriptError> {
        let Grounds { bounds, directory, worktree, project, .. } = &self.grounds;
        let file = self.found.file.clone();
        let script =
            engine.script(Arc::new(Beginning { file: file.clone(), inner: Disk::new(bounds.clone()) })).await?;
        // What the engine refuses here a host is tried for.
        let is_quiet = !engine.is_hosted() && self.grounds.host.is_some();
        let inner = PluginWorld { is_quiet, ..self.world(&Moment::default()) };
        let world = Beginner { inner, lacked };
        let within = self.grounds.limits.start;
        let handle = match engine.is_hosted() {
            true => script.begin_within(&file, include_str!("plugin/start.js"), &world, within).await?.handle,
            false => script.load_within(Path::new(START), &world, within).await?.handle,
        };
        let input = json!({
            "client": { "$haft": "remote", "name": "client" },
            "project": { "id": project, "worktree": worktree, "vcs": "git", "time": { "created": 0 } },
            "directory": directory,
            "worktree": worktree,
            "serverUrl": { "$haft": "url", "value": "http://localhost:4096" },
            "$": { "$haft": "shell" },
        });
        let args = vec![input, self.found.options.clone()];
        let begun = script.call_within(handle, &["start"], args, &world, within).await?.value;
        let begun: Begun = serde_json::from_value(begun).map_err(|_| ScriptError::Ended)?;
        let unknown: Vec<&String> = begun.points.iter().filter(|point| Point::of(point).is_none()).collect();
        if !unknown.is_empty() {
            tracing::info!(plugin = self.found.name, ?unknown, "haft has no such hooks");
        }
        Ok((At { script, handle, right: Right::Reads }, begun))
    }

    /// Notes what it said of itself: the same however often it is begun.
    fn known(&self, (at, begun): (At, Begun)) -> At {
        let _ = self.begun.set(begun);
        at
    }

    async fn fire_in(&self, point: Point, input: &Value, output: Value) -> Result<Value, HookError> {
        let moment = Moment::of(point, input);
        // Nothing ends that never began.
        if point == Point::Dispose {
            let running = self.loaded.lock().await.running();
            for running in running.iter().filter(|_| self.listens(point)) {
                self.fire_at(running, point, &moment, input, output.clone()).await?;
            }
            return Ok(output);
        }
        let running = match self.running(&moment).await {
            Ok(running) => running,
            Err(error) => {
                self.give_up(&error);
                return Ok(output);
            }
        };
        if !self.listens(point) || !self.hears_of(point, input) {
            return Ok(output);
        }
        let fired = self.fire_at(&running, point, &moment, input, output).await;
        if fired.is_ok() {
            // Whatever else ended its process: it works.
            self.loaded.lock().await.with(running.right).starts = 0;
        }
        fired
    }

    /// Whether it is told: of files only as long as it does not answer each with another change.
    fn hears_of(&self, point: Point, input: &Value) -> bool {
        let what = input.pointer("/event/type").and_then(Value::as_str).unwrap_or_default();
        if point != Point::Event {
            return true;
        }
        let is_prompt = what == "message.updated"
            && input.pointer("/event/properties/info/role").and_then(Value::as_str) == Some("user");
        if is_prompt {
            self.answered.store(0, Ordering::Relaxed);
        }
        !is_of_file(what) || self.answered.load(Ordering::Relaxed) < MAX_ANSWERED
    }

    /// Counts that it changed something when it was told of a file.
    fn answers(&self) {
        if self.answered.fetch_add(1, Ordering::Relaxed) + 1 == MAX_ANSWERED {
            let name = &self.found.name;
            (self.grounds.tell)(&format!(
                "the plug-in {name} changed something {MAX_ANSWERED} times when it was told of files; until the next prompt it is \
                 told of no more, because it may be going in circles"
            ));
        }
    }

    async fn fire_at(
        &self,
        running: &At,
        point: Point,
        moment: &Moment,
        input: &Value,
        output: Value,
    ) -> Result<Value, HookError> {
        let world = self.world(moment);
        let args = vec![point.name().into(), input.clone(), output];
        let called =
            running.script.call_within(running.handle, &["fire"], args, &world, self.grounds.limits.hook).await;
        let what = input.pointer("/event/type").and_then(Value::as_str).unwrap_or_default();
        // What a host changes by itself nobody sees.
        let may_have = running.right == Right::Changes || world.changed.load(Ordering::Relaxed);
        if point == Point::Event && is_of_file(what) && may_have {
            self.answers();
        }
        if running.right == Right::Changes && SETTLED.contains(&point) {
            running.script.settle().await;
        }
        match called {
            Ok(called) => Ok(called.value),
            Err(error @ (ScriptError::TooLong { .. } | ScriptError::TooMuch { .. })) => {
                Err(HookError::Failed(format!("{}: {}", point.name(), haft_tool::with_causes(&error))))
            }
            Err(error) => Err(HookError::Failed(haft_tool::with_causes(&error))),
        }
    }

    fn world(&self, moment: &Moment) -> PluginWorld<'_> {
        let inner = self.grounds.stage.enter(&self.found.name, moment);
        PluginWorld { plugin: self, inner, is_quiet: false, changed: AtomicBool::new(false) }
    }

    /// What its `client` is, for its tools.
    pub(crate) async fn client(&self, params: Value, world: &dyn World) -> Result<Value, Refusal> {
        let list = |key: &str| params.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        let path: Vec<String> = list("path").iter().filter_map(|name| name.as_str().map(str::to_owned)).collect();
        self.grounds.client.call(&self.found.name, &path, list("args"), world).await
    }

    /// Tells a person what it was refused, if that was not told too often: it may be why it does not do what it is for.
    fn refused(&self, why: &Refusal) {
        if why.code.as_deref() == Some("EACCES") && self.refusals.fetch_add(1, Ordering::Relaxed) < MAX_REFUSALS_TOLD {
            let name = &self.found.name;
            let hint = if why.message.contains(NEEDS_LEAVE) {
                let name = haft_permission::plugin_name(name);
                format!(" (to let it, say \"plugin\": {{\"{name}\": \"allow\"}} under permission)")
            } else {
                String::new()
            };
            (self.grounds.tell)(&format!("the plug-in {name} was refused: {}{hint}", why.message));
        }
    }

    /// Says once that it does not work.
    fn give_up(&self, error: &ScriptError) {
        if !std::mem::replace(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner), true) {
            let why = haft_tool::with_causes(error);
            (self.grounds.tell)(&format!("the plug-in {} is left out: {why}", self.found.name));
        }
        // It is asked no more.
        let _ = self.begun.set(Begun::default());
    }
}

impl Hook for Plugin {
    fn name(&self) -> &str {
        &self.found.name
    }

    fn listens(&self, point: Point) -> bool {
        // As long as nobody knows, it may want to hear of anything.
        self.begun.get().is_none_or(|begun| begun.points.iter().any(|name| name == point.name()))
    }

    fn fire<'a>(&'a self, point: Point, input: &'a Value, output: Value) -> BoxFuture<'a, Result<Value, HookError>> {
        Box::pin(self.fire_in(point, input, output))
    }
}

/// Whether an event of this type is about a file.
fn is_of_file(event: &str) -> bool {
    matches!(event, "file.edited" | "file.watcher.updated")
}
