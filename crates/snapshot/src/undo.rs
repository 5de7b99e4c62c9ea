//! What has to be done to files so that changes to them are taken back, and what is left alone. Pure.
//!
//! Each path has a chain of [`Step`]s, the latest change first. A step is made only where what stands there is exactly
//! what the change had left: where it is something else, somebody changed it since, and that stays. So taking back never
//! loses what is not the agent's own. Calls that ran side by side may have been told in another order than they wrote in;
//! where all of their steps follow on each other in any order, that one is taken.

mod trail;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::{Change, State};

/// Something that is wanted of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The path, absolute.
    pub path: PathBuf,
    /// What stands there until then.
    pub from: State,
    /// What is to stand there.
    pub to: State,
}

impl Step {
    /// The step that takes `change` back.
    pub fn back(change: Change) -> Self {
        Self { path: change.path, from: change.after, to: change.before }
    }
}

/// What becomes of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// The path, absolute.
    pub path: PathBuf,
    /// What stands there now.
    pub now: State,
    /// What is to stand there; `None` where it stays as it is.
    pub to: Option<State>,
    /// Why not all of its changes are taken back, if so.
    pub left: Option<Left>,
}

/// Why a change is not taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// Somebody else changed the file after it. That stays, unless it is forced.
    Theirs,
    /// Nobody can tell whether the agent has changed it, or was the last to. That stays, unless it is forced.
    Doubtful {
        /// Why, for people.
        why: String,
    },
    /// What stood there before was not kept, or what stands there now cannot be.
    Uncovered {
        /// Why, for people.
        why: String,
    },
}

/// What has to be done for `steps`, in the order in which it has to be done. Of the steps of one path the first to be
/// made stands first. `now` says what stands at a path. A path that is `forced` goes where its last step leads, whatever
/// stands there.
pub fn plan(
    steps: impl IntoIterator<Item = Step>,
    now: impl Fn(&Path) -> State,
    forced: impl Fn(&Path) -> bool,
) -> Vec<Planned> {
    let mut order = Vec::new();
    let mut chains: HashMap<PathBuf, Vec<(State, State)>> = HashMap::new();
    for Step { path, from, to } in steps {
        let chain = chains.entry(path.clone()).or_insert_with(|| {
            order.push(path);
            Vec::new()
        });
        chain.push((from, to));
    }
    let planned = |path: PathBuf| {
        let chain = chains.get(&path).map(Vec::as_slice).unwrap_or_default();
        follow(chain, now(&path), forced(&path), path)
    };
    let mut plan: Vec<Planned> = order.into_iter().map(planned).collect();
    plan.sort_by_cached_key(turn);
    plan
}

/// Goes along `chain` as far as it leads.
fn follow(chain: &[(State, State)], now: State, forced: bool, path: PathBuf) -> Planned {
    let (mut stands, mut left) = walk(chain, &now, |_| false);
    if left == Some(Left::Theirs)
        && let Some(end) = trail::end(chain, &now)
    {
        (stands, left) = (end, None);
    }
    if left == Some(Left::Theirs)
        // What somebody took back by hand, or a command while nobody looked, is taken back.
        && let (end, None) = walk(chain, &now, |(stands, to)| same(stands, to))
    {
        (stands, left) = (end, None);
    }
    // What is there could not be brought back if it were not kept.
    if let Some(last) = chain.last().map(|(_, last)| last).filter(|last| is_kept(last) && is_kept(&now)) {
        left = match left {
            Some(_) if forced => {
                stands = last.clone();
                None
            }
            Some(Left::Uncovered { why }) => Some(Left::Doubtful { why }),
            left => left,
        };
    }
    // What somebody put back by hand needs no leave.
    if matches!(left, Some(Left::Theirs | Left::Doubtful { .. }))
        && chain.last().is_some_and(|(_, last)| same(last, &stands))
    {
        left = None;
    }
    let differs = |state: &State| *state != now && !same(state, &now);
    let to = Some(stands).filter(differs).map(plain).filter(differs);
    Planned { path, now, to, left }
}

/// Goes along the steps of `chain` one after the other, past those that are `done` between what stands there and where they
/// lead. Where that ends, and why not at the end.
fn walk(chain: &[(State, State)], now: &State, done: impl Fn((&State, &State)) -> bool) -> (State, Option<Left>) {
    let mut stands = now.clone();
    for (from, to) in chain {
        match why_left(&stands, from, to) {
            None => stands = to.clone(),
            Some(Left::Theirs) if done((&stands, to)) => {}
            left => return (stands, left),
        }
    }
    (stands, None)
}

fn why_left(stands: &State, from: &State, to: &State) -> Option<Left> {
    let unkept = [to, from, stands].into_iter().find_map(|state| match state {
        State::Unkept { why } => Some(why.clone()),
        State::Absent | State::File { .. } | State::Link { .. } | State::Folder { .. } => None,
    });
    match unkept {
        Some(why) => Some(Left::Uncovered { why }),
        None => (!same(stands, from)).then_some(Left::Theirs),
    }
}

/// The same without the bits that have a program run as somebody else: nobody sets those but the user.
fn plain(state: State) -> State {
    match state {
        State::File { content, size, mode } => State::File { content, size, mode: mode & 0o1777 },
        State::Absent | State::Link { .. } | State::Folder { .. } | State::Unkept { .. } => state,
    }
}

fn is_kept(state: &State) -> bool {
    !matches!(state, State::Unkept { .. })
}

/// Whether nothing would have to be done between them. What is in a folder and who may enter it counts by itself.
pub fn same(one: &State, other: &State) -> bool {
    matches!((one, other), (State::Folder { .. }, State::Folder { .. })) || (one == other && is_kept(one))
}

/// Puts what is planned into an order that works: what goes makes room first, the deepest first; then folders are made,
/// the topmost first; then what stands in them.
fn turn(planned: &Planned) -> (u8, i64, PathBuf) {
    let depth = i64::try_from(planned.path.components().count()).unwrap_or(i64::MAX);
    let is_folder = matches!(planned.now, State::Folder { .. });
    let (phase, depth) = match &planned.to {
        Some(_) if is_folder => (1, -depth),
        Some(State::Absent) => (0, -depth),
        Some(State::Folder { .. }) => (2, depth),
        Some(State::File { .. } | State::Link { .. } | State::Unkept { .. }) | None => (3, depth),
    };
    (phase, depth, planned.path.clone())
}

/// What `done` and then `more` come to together, path by path: what stood there before the first of them, and after the
/// last. A path that is as it was is left out.
pub fn together(done: Vec<Change>, more: Vec<Change>) -> Vec<Change> {
    let mut all: Vec<Change> = Vec::with_capacity(done.len() + more.len());
    let mut at: HashMap<PathBuf, usize> = HashMap::new();
    for change in done.into_iter().chain(more) {
        match at.get(&change.path) {
            Some(&at) => all[at].after = change.after,
            None => {
                at.insert(change.path.clone(), all.len());
                all.push(change);
            }
        }
    }
    all.retain(|change| !same(&change.before, &change.after));
    all
}

#[cfg(test)]
mod tests;
