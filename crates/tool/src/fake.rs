//! A host for tests of tools: rules of your own, and a record of all that was asked and shown.
//!
//! The record is not bounded; a program that runs tools for long brings its own [`Host`].

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures::future::BoxFuture;
use haft_permission::{Access, Action, Answerer, Asker, Denied, Gate, Grant, Rule, Rules};
use haft_protocol::{Answers, Clock, Object, Question, SessionId, Todo};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use serde_json::Value;

use crate::{
    Allowing, Belongings, Call, CallId, Delegate, Host, Marks, Output, PlanFile, Registry, Sampled, Sampling, Task,
    TaskEnd, TaskResult, ToolError,
};

/// A host for calls that belong to no session. Nobody is there to answer: what the rules leave open is denied.
#[derive(Clone)]
pub struct FakeHost {
    /// Stops every call made for it.
    pub cancel: CancellationToken,
    inner: Arc<Inner>,
}

struct Inner {
    gate: Gate,
    clock: Clock,
    cancel: CancellationToken,
    asker: Asker,
    rules: Rules,
    outputs: PathBuf,
    count: AtomicU64,
    asked: Mutex<Vec<Access>>,
    answers: Mutex<Vec<Answers>>,
    todos: Mutex<Vec<Todo>>,
    marks: Marks,
    belongings: Belongings,
    shown: watch::Sender<Vec<(String, Object)>>,
    crew: Mutex<Crew>,
    me: Weak<Inner>,
}

/// What tests say about other agents and tools, and what was asked of them.
#[derive(Default)]
struct Crew {
    delegates: Vec<Delegate>,
    results: Vec<Result<String, String>>,
    tasks: Vec<Task>,
    registry: Option<Registry>,
    plan: Option<PlanFile>,
    switched: Vec<(String, String)>,
    says: Option<String>,
    sampled: Vec<Sampling>,
}

impl FakeHost {
    /// A host under `rules`; long outputs go to the existing folder `outputs`.
    pub fn new(outputs: &Path, rules: Vec<Rule>) -> Self {
        let (clock, cancel) = (Clock::system(), CancellationToken::new());
        let session: SessionId = clock.mint();
        let inner = Arc::new_cyclic(|me| Inner {
            gate: Gate::new(clock.clone(), Answerer::Nobody, |_| {}),
            clock: clock.clone(),
            cancel: cancel.clone(),
            asker: Asker { session, call: None },
            rules: rules.into(),
            outputs: outputs.to_owned(),
            count: AtomicU64::new(0),
            asked: Mutex::default(),
            answers: Mutex::default(),
            todos: Mutex::default(),
            marks: Marks::default(),
            belongings: Belongings::default(),
            shown: watch::Sender::new(Vec::new()),
            crew: Mutex::default(),
            me: me.clone(),
        });
        Self { cancel, inner }
    }

    /// A host where everything is allowed.
    pub fn allowing_all(outputs: &Path) -> Self {
        Self::new(outputs, vec![Rule::new("*", "*", Action::Allow)])
    }

    /// A call to run a tool for.
    pub fn call(&self) -> Call {
        Inner::call(&self.inner, self.cancel.clone())
    }

    /// Makes `names` the agents that take tasks, each with a description. One whose name begins with a dot is not told of.
    pub fn delegates(&self, names: &[&str]) {
        let delegate = |name: &&str| Delegate {
            name: (*name).to_owned(),
            description: Some(format!("what {name} is for")),
            told: !name.starts_with('.'),
        };
        self.inner.crew().delegates = names.iter().map(delegate).collect();
    }

    /// What comes of the next task: its text, or why it failed.
    pub fn task_ends(&self, result: Result<&str, &str>) {
        self.inner.crew().results.push(result.map(str::to_owned).map_err(str::to_owned));
    }

    /// The tasks so far.
    pub fn tasks(&self) -> Vec<Task> {
        self.inner.crew().tasks.clone()
    }

    /// The tools that tools may call. Their calls run for this host too.
    pub fn tools(&self, registry: &Registry) {
        self.inner.crew().registry = Some(registry.clone());
    }

    /// Where the plan stands.
    pub fn plan(&self, plan: PlanFile) {
        self.inner.crew().plan = Some(plan);
    }

    /// The agents that were to go on, and what they were told.
    pub fn switched(&self) -> Vec<(String, String)> {
        self.inner.crew().switched.clone()
    }

    /// What its model answers whoever borrows it; there is none before this.
    pub fn model_says(&self, text: &str) {
        self.inner.crew().says = Some(text.to_owned());
    }

    /// What its model was asked so far.
    pub fn sampled(&self) -> Vec<Sampling> {
        self.inner.crew().sampled.clone()
    }

    /// Answers the next questions with `answers`. Without any they fail, as nobody is there.
    pub fn answer(&self, answers: Answers) {
        self.inner.answers.lock().unwrap_or_else(PoisonError::into_inner).push(answers);
    }

    /// What was asked so far, whatever the answer was.
    pub fn asked(&self) -> Vec<Access> {
        self.inner.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was shown so far of work in progress, oldest first.
    pub fn shown(&self) -> Vec<(String, Object)> {
        self.inner.shown.borrow().clone()
    }

    /// Waits until something is shown that `wanted` accepts.
    pub async fn until_shown(&self, wanted: impl Fn(&str, &Object) -> bool) {
        let mut shown = self.inner.shown.subscribe();
        // The sender lives as long as `self`, so this only ends with what was waited for.
        let _ = shown.wait_for(|shown| shown.iter().any(|(title, metadata)| wanted(title, metadata))).await;
    }
}

impl Inner {
    fn call(inner: &Arc<Self>, cancel: CancellationToken) -> Call {
        let id = CallId(format!("call_{}", inner.count.fetch_add(1, Ordering::Relaxed)));
        let host = Arc::clone(inner);
        Call::new(inner.asker.session.clone(), inner.clock.mint(), id, cancel, host)
    }

    fn crew(&self) -> MutexGuard<'_, Crew> {
        self.crew.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host for Inner {
    fn ask(&self, access: Access) -> BoxFuture<'_, Result<Grant, Denied>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(access.clone());
        Box::pin(self.gate.ask(&self.asker, &self.rules, access))
    }

    fn allowing(&self, permission: &str) -> Allowing {
        let (permission, rules) = (permission.to_owned(), self.rules.clone());
        Arc::new(move |pattern| rules.decide(&permission, pattern, false).0 == Action::Allow)
    }

    fn general(&self, permission: &str) -> Action {
        self.rules.in_general(permission)
    }

    fn rules_id(&self) -> u64 {
        self.rules.id()
    }

    fn progress(&self, title: &str, metadata: Object) {
        self.shown.send_modify(|shown| shown.push((title.to_owned(), metadata)));
    }

    fn question(&self, questions: Vec<Question>) -> BoxFuture<'_, Result<Answers, Denied>> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let what = questions.into_iter().map(|question| question.question).collect::<Vec<_>>().join(" ");
        let nobody = || Denied::Nobody { permission: "question".to_owned(), what };
        let answer = if answers.is_empty() { Err(nobody()) } else { Ok(answers.remove(0)) };
        Box::pin(async { answer })
    }

    fn todos(&self) -> BoxFuture<'_, Result<Vec<Todo>, ToolError>> {
        let todos = self.todos.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Box::pin(async { Ok(todos) })
    }

    fn set_todos(&self, todos: Vec<Todo>) -> BoxFuture<'_, Result<(), ToolError>> {
        *self.todos.lock().unwrap_or_else(PoisonError::into_inner) = todos;
        Box::pin(async { Ok(()) })
    }

    fn marks(&self) -> &Marks {
        &self.marks
    }

    fn belongings(&self) -> &Belongings {
        &self.belongings
    }

    fn output_file(&self) -> PathBuf {
        self.outputs.join(format!("tool_{}", self.count.fetch_add(1, Ordering::Relaxed)))
    }

    fn delegates(&self) -> Result<Vec<Delegate>, ToolError> {
        let delegates = self.crew().delegates.clone();
        if delegates.is_empty() {
            Err(ToolError::Failed("no agent takes tasks here".to_owned()))
        } else {
            Ok(delegates)
        }
    }

    fn delegate<'a>(&'a self, grant: &'a Grant, task: Task) -> BoxFuture<'a, Result<TaskResult, ToolError>> {
        Box::pin(async move {
            if !grant.covers_delegate(&task.agent) {
                return Err(ToolError::Failed(format!("the grant is not for {}", task.agent)));
            }
            let mut crew = self.crew();
            let background = task.background;
            crew.tasks.push(task);
            let result = if crew.results.is_empty() { Ok(String::new()) } else { crew.results.remove(0) };
            let session: SessionId = self.clock.mint();
            let metadata = Object::from_iter([("sessionId".to_owned(), Value::from(session.to_string()))]);
            let end = if background { TaskEnd::Running } else { TaskEnd::Complete };
            result.map(|text| TaskResult { session, end, text, metadata }).map_err(ToolError::Failed)
        })
    }

    fn sample<'a>(&'a self, _grant: &'a Grant, asked: Sampling) -> BoxFuture<'a, Result<Sampled, ToolError>> {
        let mut crew = self.crew();
        crew.sampled.push(asked);
        let said = crew.says.clone();
        let sampled = said.map(|text| Sampled { text, model: "fake".to_owned(), cut: false });
        Box::pin(async { sampled.ok_or_else(|| ToolError::Failed("there is no model here".to_owned())) })
    }

    fn run_tool(&self, name: String, input: Value) -> BoxFuture<'_, Result<Output, ToolError>> {
        let (registry, host) = (self.crew().registry.clone(), self.me.upgrade());
        Box::pin(async move {
            let (Some(registry), Some(host)) = (registry, host) else {
                return Err(ToolError::Failed("there are no other tools here".to_owned()));
            };
            let name = registry.find(&name).map_err(ToolError::BadInput)?.to_owned();
            registry.run(&name, input, &Inner::call(&host, host.cancel.clone())).await
        })
    }

    fn registry(&self) -> Registry {
        self.crew().registry.clone().unwrap_or_default()
    }

    fn plan_file(&self) -> BoxFuture<'_, Result<PlanFile, ToolError>> {
        let plan = self.crew().plan.clone();
        Box::pin(async { plan.ok_or_else(|| ToolError::Failed("there is no session here".to_owned())) })
    }

    fn switch_agent(&self, agent: &str, text: String) -> Result<(), ToolError> {
        self.crew().switched.push((agent.to_owned(), text));
        Ok(())
    }
}
