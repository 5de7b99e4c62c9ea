//! A host for tests of tools: rules of your own, and a record of all that was asked and shown.
//!
//! The record is not bounded; a program that runs tools for long brings its own [`Host`].

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use haft_permission::{Access, Action, Answerer, Asker, Denied, Gate, Grant, Rule, Rules};
use haft_protocol::{Answers, Clock, Object, Question, SessionId, Todo};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{Allowing, Belongings, Call, CallId, Host, Marks, ToolError};

/// A host for calls that belong to no session. Nobody is there to answer: what the rules leave open is denied.
#[derive(Clone)]
pub struct FakeHost {
    /// Stops every call made for it.
    pub cancel: CancellationToken,
    clock: Clock,
    inner: Arc<Inner>,
}

struct Inner {
    gate: Gate,
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
}

impl FakeHost {
    /// A host under `rules`; long outputs go to the existing folder `outputs`.
    pub fn new(outputs: &Path, rules: Vec<Rule>) -> Self {
        let clock = Clock::system();
        let session: SessionId = clock.mint();
        let inner = Inner {
            gate: Gate::new(clock.clone(), Answerer::Nobody, |_| {}),
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
        };
        Self { cancel: CancellationToken::new(), clock, inner: Arc::new(inner) }
    }

    /// A host where everything is allowed.
    pub fn allowing_all(outputs: &Path) -> Self {
        Self::new(outputs, vec![Rule::new("*", "*", Action::Allow)])
    }

    /// A call to run a tool for.
    pub fn call(&self) -> Call {
        let id = CallId(format!("call_{}", self.inner.count.fetch_add(1, Ordering::Relaxed)));
        let host = Arc::clone(&self.inner);
        Call::new(self.inner.asker.session.clone(), self.clock.mint(), id, self.cancel.clone(), host)
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

impl Host for Inner {
    fn ask(&self, access: Access) -> BoxFuture<'_, Result<Grant, Denied>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(access.clone());
        Box::pin(self.gate.ask(&self.asker, &self.rules, access))
    }

    fn allowing(&self, permission: &str) -> Allowing {
        let (permission, rules) = (permission.to_owned(), self.rules.clone());
        Arc::new(move |pattern| rules.decide(&permission, pattern, false).0 == Action::Allow)
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
}
