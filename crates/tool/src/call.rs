//! The call a tool runs for, and what it may ask of whoever runs it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use haft_permission::{Access, Action, Advice, Denied, Grant};
use haft_protocol::hook::ShellPlace;
use haft_protocol::{Answers, MessageId, Object, Question, SessionId, Todo};
use tokio_util::sync::CancellationToken;

use serde_json::Value;

use crate::{
    Belongings, Delegate, Hooks, Marks, Output, PlanFile, Registry, Sampled, Sampling, Task, TaskResult, ToolError,
    harmless,
};

/// The id that the model gave a call. Any text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallId(pub String);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The call a tool is running for.
pub struct Call {
    /// The session.
    pub session: SessionId,
    /// The message that holds the call.
    pub message: MessageId,
    /// The call.
    pub id: CallId,
    /// Fires when the user stops the turn. The tool then has a moment to end by itself before its future is dropped.
    pub cancel: CancellationToken,
    host: Arc<dyn Host>,
    hooks: Hooks,
    advice: Advice,
}

/// Whether rules allow something for a pattern without a question. Asks nobody, opens nothing, takes microseconds.
pub type Allowing = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// What a running tool may ask of whoever runs it.
pub trait Host: Send + Sync {
    /// Waits for leave.
    fn ask(&self, access: Access) -> BoxFuture<'_, Result<Grant, Denied>>;
    /// For which patterns the rules allow `permission` without a question. A search leaves out what would have to be
    /// asked for file by file; the grant for it still comes from [`Host::ask`].
    fn allowing(&self, permission: &str) -> Allowing;
    /// What the rules say about `permission` in general: for what no narrow rule is about.
    fn general(&self, permission: &str) -> Action;
    /// A number for all that the rules say: what was found out under the same ones need not be found out again.
    fn rules_id(&self) -> u64;
    /// The name of the agent whose call it is; empty where there is none.
    fn agent(&self) -> String {
        String::new()
    }
    /// Shows work in progress to clients. Never waits.
    fn progress(&self, title: &str, metadata: Object);
    /// The place where the whole of a long output is to be kept, in an existing folder that the program clears up.
    fn output_file(&self) -> PathBuf;
    /// Waits until a person has answered: for each question what they chose or wrote, empty where they left it out.
    ///
    /// Dropping the future takes the questions back.
    fn question(&self, questions: Vec<Question>) -> BoxFuture<'_, Result<Answers, Denied>>;
    /// The session's list of things to do.
    fn todos(&self) -> BoxFuture<'_, Result<Vec<Todo>, ToolError>>;
    /// Puts another list in its place.
    fn set_todos(&self, todos: Vec<Todo>) -> BoxFuture<'_, Result<(), ToolError>>;
    /// What the session has seen of files.
    fn marks(&self) -> &Marks;
    /// What tools keep for the session. It ends with it.
    fn belongings(&self) -> &Belongings;
    /// The agents that this one may hand tasks to, by name.
    fn delegates(&self) -> Result<Vec<Delegate>, ToolError>;
    /// Runs a task in a session of its own, below this one, and waits for what comes of it, unless it is one for the
    /// background. The grant must be for that agent. Stopping the call stops the task; so does dropping the future.
    fn delegate<'a>(&'a self, grant: &'a Grant, task: Task) -> BoxFuture<'a, Result<TaskResult, ToolError>>;
    /// Calls another tool as the model would have: kept as a call of its own, behind the same rules. What cannot be
    /// called is an error for the model.
    fn run_tool(&self, name: String, input: Value) -> BoxFuture<'_, Result<Output, ToolError>>;
    /// The tools that can be called here. Whoever calls one does so by [`Host::run_tool`].
    fn registry(&self) -> Registry;
    /// Where this session's plan stands, or would stand.
    fn plan_file(&self) -> BoxFuture<'_, Result<PlanFile, ToolError>>;
    /// Lets the agent called `agent` go on from here, as soon as the calls of this step have ended; `text` is what it
    /// is told. Of several wishes in one step the last counts.
    fn switch_agent(&self, agent: &str, text: String) -> Result<(), ToolError>;
    /// Has the session's model answer somebody who is no part of the conversation. The grant is the leave for it. Dropping
    /// the future gives up.
    fn sample<'a>(&'a self, _grant: &'a Grant, _asked: Sampling) -> BoxFuture<'a, Result<Sampled, ToolError>> {
        Box::pin(async { Err(ToolError::Failed("there is no model here".to_owned())) })
    }
    /// A hook put `input` in the place of the call's arguments. Whoever keeps the call keeps that.
    fn arguments_changed(&self, _input: &Value) {}
}

impl Call {
    /// A call run by `host`.
    pub fn new(
        session: SessionId,
        message: MessageId,
        id: CallId,
        cancel: CancellationToken,
        host: Arc<dyn Host>,
    ) -> Self {
        Self { session, message, id, cancel, host, hooks: Hooks::default(), advice: Advice::None }
    }

    /// The same call, in which `hooks` are heard that said `advice` about what it asks.
    pub(crate) fn hooked(&self, hooks: &Hooks, advice: Advice) -> Self {
        let Self { session, message, id, cancel, host, .. } = self;
        let (session, message, id, cancel) = (session.clone(), message.clone(), id.clone(), cancel.clone());
        Self { session, message, id, cancel, host: Arc::clone(host), hooks: hooks.clone(), advice }
    }

    /// Says that a hook put `input` in the place of the arguments.
    pub(crate) fn arguments_changed(&self, input: &Value) {
        self.host.arguments_changed(input);
    }

    /// Variables that hooks want a command line to have that runs in the folder `cwd`, but for those that are not
    /// [`harmless`].
    pub async fn shell_env(&self, cwd: &Path) -> Vec<(String, String)> {
        let (session_id, call_id) = (Some(self.session.clone()), Some(self.id.to_string()));
        let place = ShellPlace { cwd: cwd.display().to_string(), session_id, call_id };
        harmless(self.hooks.shell_env(&place).await.env.into_iter().collect())
    }

    /// Waits for leave.
    ///
    /// # Errors
    ///
    /// [`Denied`], which `?` turns into the tool's own error.
    pub async fn ask(&self, access: Access) -> Result<Grant, Denied> {
        self.host.ask(Access { advice: self.advice.clone(), ..access }).await
    }

    /// For which patterns the rules allow `permission` without a question. Asks nobody and opens nothing.
    pub fn allowing(&self, permission: &str) -> Allowing {
        self.host.allowing(permission)
    }

    /// What the rules say about `permission` in general: for what no narrow rule is about. Asks nobody and opens nothing.
    pub fn general(&self, permission: &str) -> Action {
        self.host.general(permission)
    }

    /// A number for all that the rules say: what was found out under the same ones need not be found out again.
    pub fn rules_id(&self) -> u64 {
        self.host.rules_id()
    }

    /// The name of the agent whose call it is; empty where there is none.
    pub fn agent(&self) -> String {
        self.host.agent()
    }

    /// Shows work in progress to clients. Never waits.
    pub fn progress(&self, title: &str, metadata: Object) {
        self.host.progress(title, metadata);
    }

    /// The place where the whole of a long output is to be kept. Nothing is there yet.
    pub fn output_file(&self) -> PathBuf {
        self.host.output_file()
    }

    /// Waits until a person has answered: for each question what they chose or wrote, empty where they left it out.
    ///
    /// Dropping the future takes the questions back.
    ///
    /// # Errors
    ///
    /// [`Denied`] when the person did not want to, or nobody is there.
    pub async fn question(&self, questions: Vec<Question>) -> Result<Answers, Denied> {
        self.host.question(questions).await
    }

    /// The session's list of things to do.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub async fn todos(&self) -> Result<Vec<Todo>, ToolError> {
        self.host.todos().await
    }

    /// Puts another list in its place.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    pub async fn set_todos(&self, todos: Vec<Todo>) -> Result<(), ToolError> {
        self.host.set_todos(todos).await
    }

    /// What the session has seen of files.
    pub fn marks(&self) -> &Marks {
        self.host.marks()
    }

    /// What tools keep for the session, such as work that goes on behind its calls. It ends with the session.
    pub fn belongings(&self) -> &Belongings {
        self.host.belongings()
    }

    /// The agents that this one may hand tasks to, by name.
    ///
    /// # Errors
    ///
    /// When no agent can take tasks here: there is no model, or this is a task already and may begin no further ones.
    pub fn delegates(&self) -> Result<Vec<Delegate>, ToolError> {
        self.host.delegates()
    }

    /// Runs a task in a session of its own, below this one, and waits for what comes of it. `grant` is one for
    /// [`Effect::Delegate`](haft_permission::Effect) to that agent.
    ///
    /// Stopping the call stops the task, and so does dropping the future. A task for the background is only begun here:
    /// it stops with the session, or when the user stops the session's work.
    ///
    /// # Errors
    ///
    /// When the grant is for something else, the task cannot be begun, or it failed; the text says what happened.
    pub async fn delegate(&self, grant: &Grant, task: Task) -> Result<TaskResult, ToolError> {
        self.host.delegate(grant, task).await
    }

    /// Has the session's model answer `asked`, beside the conversation and without tools; `grant` is the leave for it. Takes
    /// a minute at most; dropping the future gives up.
    ///
    /// # Errors
    ///
    /// When there is no model here, it may cost no more, or it does not answer.
    pub async fn sample(&self, grant: &Grant, asked: Sampling) -> Result<Sampled, ToolError> {
        self.host.sample(grant, asked).await
    }

    /// Calls another tool as the model would have: kept as a call of its own, behind the same rules.
    ///
    /// # Errors
    ///
    /// What the tool says, or [`ToolError::BadInput`] when there is none of that name.
    pub async fn run_tool(&self, name: impl Into<String>, input: Value) -> Result<Output, ToolError> {
        self.host.run_tool(name.into(), input).await
    }

    /// The tools that can be called here, for whoever wants to know what there is. A call is made by
    /// [`Call::run_tool`].
    pub fn registry(&self) -> Registry {
        self.host.registry()
    }

    /// Where this session's plan stands, or would stand.
    ///
    /// # Errors
    ///
    /// When there is no session.
    pub async fn plan_file(&self) -> Result<PlanFile, ToolError> {
        self.host.plan_file().await
    }

    /// Lets the agent called `agent` go on from here, as soon as the calls of this step have ended. `text` is what it
    /// is told.
    ///
    /// # Errors
    ///
    /// When there is no such agent to answer, or this is a task, whose agent is the one that it was given to.
    pub fn switch_agent(&self, agent: &str, text: impl Into<String>) -> Result<(), ToolError> {
        self.host.switch_agent(agent, text.into())
    }
}
