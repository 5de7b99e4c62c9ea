//! Runs the calls of a step, and is the host of each.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use futures::future::BoxFuture;
use haft_permission::{Access, Action, Asker, Denied, Gate, Grant, Rule, Rules};
use haft_protocol::{
    Answers, AskedBy, Clock, MessageId, Object, OutputId, Part, PartKind, Question, SessionId, Todo, ToolSpan,
    ToolState,
};
use haft_tool::{
    Allowing, Attachment, Belongings, Call, CallId, Delegate, Host, INVALID, Marks, Output, PlanFile, Registry,
    Sampled, Sampling, Task, TaskResult, ToolError, parse_arguments,
};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::Questions;
use crate::agents::hand_over::Wish;
use crate::hands::TASK;
use crate::task::{Crew, ModelName};
use crate::turn::fold::Planned;
use crate::turn::report::{Inner, Progress, Report, Within};
use crate::turn::todos::Todos;

/// What the calls of a session share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Calls {
    pub registry: Registry,
    pub gate: Gate,
    pub questions: Questions,
    /// What the session has seen of files.
    pub marks: Marks,
    pub belongings: Belongings,
    pub todos: Todos,
    pub rules: Rules,
    pub clock: Clock,
    pub outputs: PathBuf,
    pub session: SessionId,
    /// How work is handed on; `None` where there is no model.
    pub crew: Option<Arc<Crew>>,
    /// The model that the command named that these calls are made for, if it is a task and named one.
    pub task_model: Option<Arc<ModelName>>,
    /// Who is to go on.
    pub wish: Wish,
}

/// What a call was found to mean.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Prepared {
    pub name: String,
    pub input: Value,
}

/// How a call ended.
pub(crate) struct Ended {
    pub state: ToolState,
    /// The user said no and nothing else: the turn ends here.
    pub refused: bool,
    /// What it changed, if it changed files.
    pub patch: Option<PartKind>,
}

impl Calls {
    /// The same for a call that the person makes with their own hands: making it is the leave, so nothing is asked.
    pub(crate) fn by_hand(&self, registry: &Registry) -> Self {
        Self { registry: registry.clone(), rules: everything(), ..self.clone() }
    }

    /// The same where tasks may be handed to the agents called `names` without a question: the person named them.
    pub(crate) fn naming(&self, names: &[&str]) -> Self {
        let rules = names.iter().filter(|name| !name.contains(['*', '?'])).map(|name| {
            // Whatever is denied otherwise: the person's word counts more than what was settled before.
            Rule::new(TASK, name, Action::Allow)
        });
        Self { rules: self.rules.clone().own(rules), ..self.clone() }
    }

    /// The name of the agent whose calls these are; empty where there is no model.
    pub(crate) fn agent(&self) -> String {
        self.crew.as_ref().map_or_else(String::new, |crew| crew.cast.agent.name.clone())
    }

    /// The same with the tools that there are now: those of servers and scripts come and go.
    pub(crate) fn current(&self) -> Self {
        let registry =
            self.crew.as_ref().map(|crew| crate::agents::role::registry(&crew.setup, &crew.cast, &self.rules));
        Self { registry: registry.unwrap_or_else(|| self.registry.clone()), ..self.clone() }
    }

    /// Finds the tool and reads the arguments. What cannot be matched or read becomes the `invalid` tool, which
    /// tells the model what is wrong.
    pub(crate) fn prepare(&self, name: &str, arguments: &str) -> Prepared {
        self.parse(name, arguments).unwrap_or_else(|error| Prepared {
            name: INVALID.to_owned(),
            input: json!({ "tool": name, "error": error }),
        })
    }

    /// The same, with a text that says what is wrong instead of the `invalid` tool.
    pub(crate) fn parse(&self, name: &str, arguments: &str) -> Result<Prepared, String> {
        let name = self.registry.find(name)?.to_owned();
        let input = parse_arguments(&name, &haft_llm::repair::readable(arguments))?;
        let (name, input) = self.registry.meant(&name, input)?;
        Ok(Prepared { name, input })
    }

    /// Runs one call to its end. Never fails: whatever goes wrong is the call's result.
    ///
    /// Dropping the future stops it.
    pub(crate) async fn run(
        &self,
        message: &MessageId,
        call: &str,
        prepared: Prepared,
        cancel: CancellationToken,
        report: Report,
    ) -> Ended {
        let start = self.clock.now_ms();
        let mut prepared = prepared;
        let result = self.call(message, call, &mut prepared, cancel, report).await;
        let patch = self.changed(message, call).await;
        Ended { patch, ..self.ended(message, prepared.input, start, result) }
    }

    /// What a call changed, as a part of its message.
    pub(crate) async fn changed(&self, message: &MessageId, call: &str) -> Option<PartKind> {
        let past = self.crew.as_ref()?.setup.options.past.as_ref()?;
        past.of_call(&self.session, message, call, || self.clock.now_ms()).await
    }

    /// How a call ended that began at `start` (Unix milliseconds).
    pub(crate) fn ended(
        &self,
        message: &MessageId,
        input: Value,
        start: u64,
        result: Result<Output, ToolError>,
    ) -> Ended {
        let time = ToolSpan { start, end: self.clock.now_ms(), compacted: None };
        match result {
            Ok(output) => {
                let attachments = output.attachments.into_iter().map(|file| self.attachment(message, file)).collect();
                let Output { title, text, metadata, .. } = output;
                let state = ToolState::Completed { input, output: text, title, metadata, time, attachments };
                Ended { state, refused: false, patch: None }
            }
            Err(error) => {
                let mut metadata = Object::new();
                metadata.insert("kind".to_owned(), error.kind().into());
                if matches!(error, ToolError::Cancelled | ToolError::Denied(Denied::Closed)) {
                    metadata.insert("interrupted".to_owned(), true.into());
                }
                let refused = matches!(&error, ToolError::Denied(denied) if !denied.may_go_on());
                let state = ToolState::Error { input, error: error.to_string(), metadata: Some(metadata), time };
                Ended { state, refused, patch: None }
            }
        }
    }

    /// Runs one call. Where hooks change its arguments, `prepared` is changed with them.
    pub(crate) async fn call(
        &self,
        message: &MessageId,
        call: &str,
        prepared: &mut Prepared,
        cancel: CancellationToken,
        report: Report,
    ) -> Result<Output, ToolError> {
        if prepared.name == INVALID {
            let error = prepared.input.get("error").and_then(Value::as_str).unwrap_or("no such tool");
            return Ok(Output::new("Invalid call", format!("This call was not run: {error}.")).meta("truncated", false));
        }
        let changed = Arc::new(OnceLock::new());
        let host = CallHost {
            changed: Arc::clone(&changed),
            calls: self.clone(),
            asked_by: AskedBy { message_id: message.clone(), call_id: call.to_owned() },
            cancel: cancel.clone(),
            report,
        };
        let id = CallId(call.to_owned());
        let call = Call::new(self.session.clone(), message.clone(), id, cancel, Arc::new(host));
        let run = self.registry.run(&prepared.name, prepared.input.clone(), &call);
        // A tool that panics must not take the session with it.
        let result = AssertUnwindSafe(run).catch_unwind().await.unwrap_or_else(|panic| {
            let what = panic.downcast_ref::<String>().map(String::as_str);
            let what = what.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
            // Not what it said: that may quote a file.
            tracing::error!(tool.name = prepared.name, "a tool panicked");
            Err(ToolError::Failed(format!(
                "{} crashed, which is a defect of haft ({what}). Try another way",
                prepared.name
            )))
        });
        if let Some(input) = changed.get() {
            prepared.input.clone_from(input);
        }
        result
    }

    fn attachment(&self, message: &MessageId, file: Attachment) -> Part {
        Part {
            id: self.clock.mint(),
            session_id: self.session.clone(),
            message_id: message.clone(),
            kind: PartKind::File { mime: file.mime, filename: file.filename, url: file.url, source: None },
        }
    }
}

/// The part of `planned` in `state`.
pub(crate) fn part(planned: &Planned, name: &str, session: &SessionId, message: &MessageId, state: ToolState) -> Part {
    Part {
        id: planned.part.clone(),
        session_id: session.clone(),
        message_id: message.clone(),
        kind: PartKind::Tool {
            call_id: planned.call.clone(),
            tool: name.to_owned(),
            state: Box::new(state),
            metadata: planned.metadata.clone().map(Box::new),
        },
    }
}

/// The rules of what a person does with their own hands.
pub(crate) fn everything() -> Rules {
    Rules::from(vec![Rule::new("*", "*", Action::Allow)])
}

pub(crate) struct CallHost {
    pub(crate) calls: Calls,
    pub(crate) asked_by: AskedBy,
    pub(crate) cancel: CancellationToken,
    pub(crate) report: Report,
    /// What a hook put in the place of the arguments.
    pub(crate) changed: Arc<OnceLock<Value>>,
}

impl Host for CallHost {
    fn ask(&self, access: Access) -> BoxFuture<'_, Result<Grant, Denied>> {
        Box::pin(async move {
            let asker = Asker { session: self.calls.session.clone(), call: Some(self.asked_by.clone()) };
            tokio::select! {
                // What was stopped is granted nothing more, also where a rule would.
                biased;
                () = self.cancel.cancelled() => Err(Denied::Closed),
                answer = self.calls.gate.ask(&asker, &self.calls.rules, access) => answer,
            }
        })
    }

    fn allowing(&self, permission: &str) -> Allowing {
        let (rules, permission) = (self.calls.rules.clone(), permission.to_owned());
        Arc::new(move |pattern| rules.decide(&permission, pattern, false).0 == Action::Allow)
    }

    fn general(&self, permission: &str) -> Action {
        self.calls.rules.in_general(permission)
    }

    fn rules_id(&self) -> u64 {
        self.calls.rules.id()
    }

    fn agent(&self) -> String {
        self.calls.agent()
    }

    fn progress(&self, title: &str, metadata: Object) {
        let Report { slot, progress, .. } = &self.report;
        progress.tell(*slot, Progress { title: title.to_owned(), metadata });
    }

    fn question(&self, questions: Vec<Question>) -> BoxFuture<'_, Result<Answers, Denied>> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => Err(Denied::Closed),
                answers = self.calls.questions.ask(&self.calls.session, Some(self.asked_by.clone()), questions) => answers,
            }
        })
    }

    fn todos(&self) -> BoxFuture<'_, Result<Vec<Todo>, ToolError>> {
        Box::pin(async { Ok(self.calls.todos.list().await) })
    }

    fn set_todos(&self, todos: Vec<Todo>) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(self.calls.todos.set(todos))
    }

    fn marks(&self) -> &Marks {
        &self.calls.marks
    }

    fn belongings(&self) -> &Belongings {
        &self.calls.belongings
    }

    fn output_file(&self) -> PathBuf {
        self.calls.outputs.join(self.calls.clock.mint::<OutputId>().to_string())
    }

    fn delegates(&self) -> Result<Vec<Delegate>, ToolError> {
        // Whoever cannot call the tool for it cannot hand on anything.
        self.calls.registry.find(TASK).map_err(ToolError::Failed)?;
        self.crew()?.delegates(&self.calls.rules)
    }

    fn delegate<'a>(&'a self, grant: &'a Grant, task: Task) -> BoxFuture<'a, Result<TaskResult, ToolError>> {
        Box::pin(async move {
            let Calls { rules, task_model, .. } = &self.calls;
            let tell = |title: &str, metadata| self.progress(title, metadata);
            let (crew, model) = (self.crew()?, task_model.as_deref());
            let earlier = crew.apart_before(&task).await;
            // Where its changes still wait it goes on apart, whether that was said again or not.
            let waits = earlier.as_ref().is_some_and(|earlier| earlier.stands);
            let is_reached = earlier.as_ref().is_some_and(|earlier| earlier.at_work);
            let only_asks = task.prompt.trim().is_empty() && task.resume.is_some();
            if is_reached || !waits && (!task.worktree || only_asks) {
                return crew.delegate(grant, rules, task, model, &self.cancel, &tell).await;
            }
            let apart = crew.apart(earlier).await?;
            let goes_on = task.background && !only_asks;
            let result = crew.working_in(&apart).delegate(grant, rules, task, model, &self.cancel, &tell).await;
            if goes_on && result.is_ok() { result } else { self.carried_over(apart, result).await }
        })
    }

    fn sample<'a>(&'a self, _grant: &'a Grant, asked: Sampling) -> BoxFuture<'a, Result<Sampled, ToolError>> {
        Box::pin(async move { crate::beside::sampling::sample(self.crew()?, asked).await })
    }

    fn run_tool(&self, name: String, input: Value) -> BoxFuture<'_, Result<Output, ToolError>> {
        Box::pin(async move {
            let meant = self.calls.registry.find(&name).and_then(|name| self.calls.registry.meant(name, input));
            let mut prepared = match meant {
                Ok((name, input)) => Prepared { name, input },
                Err(error) => Prepared { name: INVALID.to_owned(), input: json!({ "tool": name, "error": error }) },
            };
            match &self.report.within {
                Within::Kept(to) => {
                    let (done, ended) = oneshot::channel();
                    let inner = Inner { by: self.report.slot, prepared, done };
                    // Whoever keeps them goes only when all is over.
                    to.send(inner).await.map_err(|_| ToolError::Cancelled)?;
                    ended.await.unwrap_or(Err(ToolError::Cancelled))
                }
                Within::Unkept => {
                    let AskedBy { message_id, call_id } = &self.asked_by;
                    let call = format!("{call_id}_{}", prepared.name);
                    let report = Report { within: Within::None, ..self.report.clone() };
                    let result = self.calls.call(message_id, &call, &mut prepared, self.cancel.clone(), report).await;
                    not_run(&prepared, result)
                }
                Within::None => {
                    let why = "not run: a call that another one makes can make none itself; put all into one";
                    Err(ToolError::BadInput(why.to_owned()))
                }
            }
        })
    }

    fn registry(&self) -> Registry {
        self.calls.registry.clone()
    }

    fn plan_file(&self) -> BoxFuture<'_, Result<PlanFile, ToolError>> {
        Box::pin(async { Ok(self.crew()?.plan_file().await) })
    }

    fn switch_agent(&self, agent: &str, text: String) -> Result<(), ToolError> {
        let Crew { setup, kin, .. } = &**self.crew()?;
        if kin.depth > 0 {
            return Err(ToolError::Failed("a task stays with the agent that it was given to".to_owned()));
        }
        if !setup.agents.primaries().any(|primary| primary.name == agent) {
            return Err(ToolError::Failed(format!("there is no agent {agent:?} to go on")));
        }
        self.calls.wish.put(agent.to_owned(), text);
        Ok(())
    }

    fn arguments_changed(&self, input: &Value) {
        // A call is begun once.
        let _ = self.changed.set(input.clone());
    }
}

impl CallHost {
    pub(crate) fn crew(&self) -> Result<&Arc<Crew>, ToolError> {
        let none = || ToolError::Failed("this needs a model, and there is none here; use `haft run`".to_owned());
        self.calls.crew.as_ref().ok_or_else(none)
    }
}

/// What the one who made a call is told: a call that is none is an error to them.
pub(crate) fn not_run(prepared: &Prepared, result: Result<Output, ToolError>) -> Result<Output, ToolError> {
    match result {
        Ok(output) if prepared.name == INVALID => Err(ToolError::BadInput(output.text)),
        result => result,
    }
}
