//! A host for tests of tools: rules of your own, and a record of all that was asked and shown.
//!
//! The record is not bounded; a program that runs tools for long brings its own [`Host`].

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use haft_permission::{Access, Action, Answerer, Asker, Denied, Gate, Grant, Rule};
use haft_protocol::{Clock, Object, SessionId};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{Call, CallId, Host};

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
    rules: Vec<Rule>,
    outputs: PathBuf,
    count: AtomicU64,
    asked: Mutex<Vec<Access>>,
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
            rules,
            outputs: outputs.to_owned(),
            count: AtomicU64::new(0),
            asked: Mutex::default(),
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

    fn progress(&self, title: &str, metadata: Object) {
        self.shown.send_modify(|shown| shown.push((title.to_owned(), metadata)));
    }

    fn output_file(&self) -> PathBuf {
        self.outputs.join(format!("tool_{}", self.count.fetch_add(1, Ordering::Relaxed)))
    }
}
