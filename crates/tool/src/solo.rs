//! A host for an agent of one's own: one conversation, without sub-agents, plans or a store.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use haft_permission::{Access, Action, Asker, Denied, Gate, Grant, Rules};
use haft_protocol::{Answers, AskedBy, Clock, MessageId, Object, OutputId, Question, SessionId, Todo};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    Allowing, Belongings, Call, CallId, Delegate, Host, Marks, Output, PlanFile, Registry, Task, TaskResult, ToolError,
    parse_arguments,
};

/// One conversation's tools: what was read, what is to be done and what runs in the background belongs to it. Cheap to
/// clone. Its tools keep files in the folder for outputs, which its owner clears up.
///
/// What a session would do is an error for the model here: tasks for other agents, plans. Questions find nobody.
#[derive(Clone)]
pub struct Solo {
    shared: Arc<Shared>,
    rules: Rules,
    /// The call that it runs, if it runs one.
    asked_by: Option<AskedBy>,
    cancel: CancellationToken,
    /// Whether it runs a call that another one made.
    within: bool,
    /// The plug-in in whose name it asks, and the session that the plug-in's hook hears of.
    plugin: Option<(String, Option<SessionId>)>,
}

struct Shared {
    registry: Registry,
    gate: Gate,
    outputs: PathBuf,
    clock: Clock,
    session: SessionId,
    marks: Marks,
    belongings: Belongings,
    todos: Mutex<Vec<Todo>>,
    count: AtomicU64,
}

impl Solo {
    /// The tools of `registry` behind `gate` and `rules`. Long outputs are kept in the existing folder `outputs`.
    pub fn new(registry: Registry, gate: Gate, rules: Rules, outputs: PathBuf) -> Self {
        let clock = Clock::system();
        let session = clock.mint();
        let shared = Arc::new(Shared {
            registry,
            gate,
            outputs,
            session,
            clock,
            marks: Marks::default(),
            belongings: Belongings::default(),
            todos: Mutex::default(),
            count: AtomicU64::default(),
        });
        Self { shared, rules, asked_by: None, cancel: CancellationToken::new(), within: false, plugin: None }
    }

    /// A call for what a hook of the plug-in called `plugin` does, which hears of `session`: leave is asked for in its name
    /// ([`Access::plugin`]), no hook is told of it, and it calls no tools. Under `rules`, where those of who works meanwhile are
    /// known. Dropping what is done with it ends that.
    pub fn for_plugin(&self, plugin: &str, session: Option<SessionId>, rules: Option<Rules>) -> Call {
        let Shared { clock, session: own, count, .. } = &*self.shared;
        let id = format!("hook_{}", count.fetch_add(1, Ordering::Relaxed));
        let rules = rules.unwrap_or_else(|| self.rules.clone());
        let host = Self { plugin: Some((plugin.to_owned(), session.clone())), rules, ..self.clone() };
        let session = session.unwrap_or_else(|| own.clone());
        Call::new(session, clock.mint(), CallId(id), CancellationToken::new(), Arc::new(host))
    }

    /// Its rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The tools that there are now: what a model is to be told.
    pub fn registry(&self) -> Registry {
        self.shared.registry.now().offered("", |permission| !self.rules.hides(permission))
    }

    /// Runs the tool called `name` with the JSON text `arguments`, as a model wrote both. Calls may run side by side.
    ///
    /// `cancel` asks the tool to end; dropping the future ends it.
    ///
    /// # Errors
    ///
    /// A text for the model that says what to do instead.
    pub async fn call(&self, name: &str, arguments: &str, cancel: CancellationToken) -> Result<Output, ToolError> {
        let registry = self.registry();
        let name = registry.find(name).map_err(ToolError::BadInput)?;
        let input = parse_arguments(name, arguments).map_err(ToolError::BadInput)?;
        let (name, input) = registry.meant(name, input).map_err(ToolError::BadInput)?;
        registry.run(&name, input, &self.next(cancel)).await
    }

    /// The next call, which `cancel` stops.
    fn next(&self, cancel: CancellationToken) -> Call {
        let Shared { clock, session, count, .. } = &*self.shared;
        let id = format!("call_{}", count.fetch_add(1, Ordering::Relaxed));
        let message: MessageId = clock.mint();
        let asked_by = AskedBy { message_id: message.clone(), call_id: id.clone() };
        let within = self.asked_by.is_some();
        let host = Self { asked_by: Some(asked_by), cancel: cancel.clone(), within, ..self.clone() };
        Call::new(session.clone(), message, CallId(id), cancel, Arc::new(host))
    }
}

fn missing<T>(what: &str) -> Result<T, ToolError> {
    Err(ToolError::Failed(format!("there are no {what} here; do the work yourself")))
}

impl Host for Solo {
    fn ask(&self, access: Access) -> BoxFuture<'_, Result<Grant, Denied>> {
        Box::pin(async move {
            let (Shared { gate, session, .. }, rules) = (&*self.shared, &self.rules);
            let (plugin, of) = self.plugin.clone().map_or((None, None), |(plugin, of)| (Some(plugin), of));
            let asker = Asker { session: of.unwrap_or_else(|| session.clone()), call: self.asked_by.clone() };
            let access = Access { plugin, ..access };
            tokio::select! {
                // What was stopped is granted nothing more, also where a rule would.
                biased;
                () = self.cancel.cancelled() => Err(Denied::Closed),
                answer = gate.ask(&asker, rules, access) => answer,
            }
        })
    }

    fn allowing(&self, permission: &str) -> Allowing {
        let (rules, permission) = (self.rules.clone(), permission.to_owned());
        Arc::new(move |pattern| rules.decide(&permission, pattern, false).0 == Action::Allow)
    }

    fn general(&self, permission: &str) -> Action {
        self.rules.in_general(permission)
    }

    fn rules_id(&self) -> u64 {
        self.rules.id()
    }

    fn progress(&self, _title: &str, _metadata: Object) {}

    fn output_file(&self) -> PathBuf {
        self.shared.outputs.join(self.shared.clock.mint::<OutputId>().to_string())
    }

    fn question(&self, questions: Vec<Question>) -> BoxFuture<'_, Result<Answers, Denied>> {
        let what = questions.into_iter().map(|question| question.question).collect::<Vec<_>>().join(" ");
        Box::pin(async { Err(Denied::Nobody { permission: "question".to_owned(), what }) })
    }

    fn todos(&self) -> BoxFuture<'_, Result<Vec<Todo>, ToolError>> {
        let todos = self.shared.todos.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Box::pin(async { Ok(todos) })
    }

    fn set_todos(&self, todos: Vec<Todo>) -> BoxFuture<'_, Result<(), ToolError>> {
        *self.shared.todos.lock().unwrap_or_else(PoisonError::into_inner) = todos;
        Box::pin(async { Ok(()) })
    }

    fn marks(&self) -> &Marks {
        &self.shared.marks
    }

    fn belongings(&self) -> &Belongings {
        &self.shared.belongings
    }

    fn delegates(&self) -> Result<Vec<Delegate>, ToolError> {
        missing("other agents")
    }

    fn delegate<'a>(&'a self, _: &'a Grant, _: Task) -> BoxFuture<'a, Result<TaskResult, ToolError>> {
        Box::pin(async { missing("other agents") })
    }

    fn run_tool(&self, name: String, input: Value) -> BoxFuture<'_, Result<Output, ToolError>> {
        Box::pin(async move {
            if self.plugin.is_some() {
                return Err(ToolError::BadInput("not run: a hook calls no tools".to_owned()));
            }
            if self.within {
                let why = "not run: a call that another one makes can make none itself; put all into one";
                return Err(ToolError::BadInput(why.to_owned()));
            }
            let registry = Solo::registry(self);
            let name = registry.find(&name).map_err(ToolError::BadInput)?;
            let (name, input) = registry.meant(name, input).map_err(ToolError::BadInput)?;
            registry.run(&name, input, &self.next(self.cancel.clone())).await
        })
    }

    fn registry(&self) -> Registry {
        Solo::registry(self)
    }

    fn plan_file(&self) -> BoxFuture<'_, Result<PlanFile, ToolError>> {
        Box::pin(async { missing("plans") })
    }

    fn switch_agent(&self, _agent: &str, _text: String) -> Result<(), ToolError> {
        missing("other agents")
    }
}

#[cfg(test)]
mod tests {
    use haft_permission::{Answerer, Rule};

    use super::*;
    use crate::Spec;

    /// Asks for itself, and calls itself once more where it is told to.
    struct Asks;

    impl crate::AnyTool for Asks {
        fn spec(&self) -> Spec {
            Spec { name: "asks".to_owned(), description: String::new(), parameters: serde_json::json!({}) }
        }

        fn run<'a>(&'a self, input: Value, call: &'a Call) -> BoxFuture<'a, Result<Output, ToolError>> {
            Box::pin(async move {
                call.ask(Access::new("asks", "it")).await?;
                match input.get("again") {
                    Some(again) => call.run_tool("asks", again.clone()).await,
                    None => Ok(Output::new("done", call.id.to_string())),
                }
            })
        }
    }

    async fn run(rules: &[Rule], name: &str, arguments: &str) -> String {
        let gate = Gate::new(Clock::system(), Answerer::Nobody, |_| {});
        let rules = Rules::default().own(rules.iter().cloned());
        let solo = Solo::new(Registry::default().with_any(Arc::new(Asks)), gate, rules, "/nowhere".into());
        match solo.call(name, arguments, CancellationToken::new()).await {
            Ok(output) => output.text,
            Err(error) => format!("error: {error}"),
        }
    }

    #[tokio::test]
    async fn calls_pass_the_gate() {
        let rule = |action| [Rule::new("*", "*", action)];
        assert_eq!(run(&rule(Action::Allow), "Asks", "{}").await, "call_0");
        assert!(run(&rule(Action::Ask), "asks", "").await.contains("error: "));
        // What is denied altogether is not even there.
        assert!(run(&rule(Action::Deny), "asks", "").await.starts_with("error: there is no tool called \"asks\""));
        assert!(run(&rule(Action::Allow), "asks", "{").await.contains("are not valid JSON"));
    }

    #[tokio::test]
    async fn a_call_may_make_another_one_which_makes_none() {
        let allow = [Rule::new("*", "*", Action::Allow)];
        assert_eq!(run(&allow, "asks", r#"{"again": {}}"#).await, "call_1");
        assert!(run(&allow, "asks", r#"{"again": {"again": {}}}"#).await.contains("can make none itself"));
    }
}
