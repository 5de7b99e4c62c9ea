//! What a session shares with those above and below it.

use std::sync::{Arc, Mutex, PoisonError};

use haft_protocol::{Session as Record, Tokens};
use haft_store::StoreError;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::setup::Setup;
use crate::task::background::Background;
use crate::task::budget::{Meter, TaskLimits};

/// Most sessions one below the other that are looked at.
pub(crate) const MAX_DEPTH: u32 = 16;
/// Most tasks of one session that are looked at.
pub(crate) const MAX_CHILDREN: usize = 1000;
/// Most tasks of one session that are at work at once. Further ones wait for their turn.
const MAX_AT_WORK: usize = 16;

/// A session's place among its kin. A handle, cheap to clone.
#[derive(Clone)]
pub(crate) struct Kin {
    /// How many sessions stand above this one.
    pub depth: u32,
    /// Which named set of options of the setup's model it begins with.
    pub variant: Option<String>,
    /// What all of them have cost.
    pub spent: Spent,
    /// What it may use itself, where it is a task.
    pub meter: Option<Meter>,
    /// What was used beside its steps and does not stand in its record yet.
    pub owed: Owed,
    /// What counts all that it hands on.
    pub tasks: Meter,
    /// The sessions right below this one that are at work.
    pub children: TaskTracker,
    /// Those of them that go on by themselves.
    pub background: Background,
    /// The turns of those tasks to be at work. Each session has its own: whoever waits for a task below holds one above.
    pub turns: Arc<Semaphore>,
}

impl Kin {
    /// The kin of a session that no other one opens.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub(crate) async fn of(setup: &Setup, record: &Record) -> Result<Self, StoreError> {
        let mut depth = 0;
        let mut above = record.parent_id.clone();
        while let Some(id) = above.filter(|_| depth < MAX_DEPTH) {
            depth += 1;
            above = setup.journal.session(&id).await?.and_then(|record| record.parent_id);
        }
        let mut spent = record.cost;
        if setup.options.limits.cost.is_some() {
            let mut ids = vec![(record.id.clone(), 0)];
            while let Some((id, level)) = ids.pop() {
                for child in setup.journal.children(&id, MAX_CHILDREN).await? {
                    spent += child.cost;
                    ids.extend((level < MAX_DEPTH).then(|| (child.id, level + 1)));
                }
            }
        }
        let tasks = Meter::new(setup.options.tasks.together);
        Ok(Self { depth, spent: Spent::new(spent), tasks, ..Self::none() })
    }

    /// The kin of a session that nobody has made.
    pub(crate) fn none() -> Self {
        Self {
            depth: 0,
            variant: None,
            spent: Spent::new(0.0),
            meter: None,
            owed: Owed::default(),
            tasks: Meter::new(TaskLimits::default()),
            children: closed_tracker(),
            background: Background::default(),
            turns: Arc::new(Semaphore::new(MAX_AT_WORK)),
        }
    }

    /// The kin of a session right below this one, which begins with the options `variant` of its model and may use
    /// `limits`.
    pub(crate) fn below(&self, variant: Option<String>, limits: TaskLimits) -> Self {
        let meter = self.tasks.below(limits);
        Self {
            depth: self.depth + 1,
            variant,
            spent: self.spent.clone(),
            tasks: meter.clone(),
            meter: Some(meter),
            ..Self::none()
        }
    }

    /// Counts what a step used.
    pub(crate) fn charge(&self, dollars: f64, tokens: &Tokens) {
        self.spent.add(dollars);
        if let Some(meter) = &self.meter {
            meter.add(dollars, tokens);
        }
    }
}

/// Waiting for a tracker ends only when it is closed; what is tracked later counts all the same.
fn closed_tracker() -> TaskTracker {
    let tracker = TaskTracker::new();
    tracker.close();
    tracker
}

/// What a session used while somebody else writes its record. A handle, cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Owed(Arc<Mutex<(f64, Tokens)>>);

impl Owed {
    /// Adds what was used.
    pub(crate) fn add(&self, dollars: f64, tokens: &Tokens) {
        let mut owed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        owed.0 += dollars;
        owed.1 += *tokens;
    }

    /// Puts all of it into `record`. Returns whether that was anything.
    pub(crate) fn settle(&self, record: &mut Record) -> bool {
        let (dollars, tokens) = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        record.cost += dollars;
        record.tokens += tokens;
        tokens != Tokens::default()
    }
}

/// Dollars that sessions have cost together.
#[derive(Clone)]
pub(crate) struct Spent(Arc<Mutex<f64>>);

impl Spent {
    fn new(dollars: f64) -> Self {
        Self(Arc::new(Mutex::new(dollars)))
    }

    fn add(&self, dollars: f64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += dollars;
    }

    pub(crate) fn dollars(&self) -> f64 {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
