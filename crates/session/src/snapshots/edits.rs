//! What tools change while commands run, so that it is told apart from what the commands did.
//!
//! An edit is known before it happens, and is remembered until a look at the tree was sure to have seen it. What a look finds
//! at a path is held against the edits of that path: those that it shows are the tools', and whatever does not lead from one
//! state to the next is the command's. So it does not matter how looks and edits fall together.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use haft_snapshot::undo::same;
use haft_snapshot::{Change, State};

/// Most edits that are told apart from what commands do. What is beyond them counts as a command's.
pub(super) const MAX_EDITS: usize = 10_000;

/// The edits that no look has shown yet, those of one path in the order in which they were announced.
#[derive(Debug, Default)]
pub(super) struct Edits {
    paths: HashMap<PathBuf, Vec<Edit>>,
    count: usize,
    /// How many commands run.
    commands: usize,
}

#[derive(Debug, Clone)]
struct Edit {
    /// Of which announcement it is.
    number: u64,
    before: State,
    after: State,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It is about to happen, or has.
    Announced,
    /// It has happened.
    Done,
    /// It had happened when the look began that goes on.
    Before,
}

impl Edits {
    /// A command is about to run.
    pub(super) fn command_begins(&mut self) {
        self.commands += 1;
    }

    /// It has ended, and was looked after.
    pub(super) fn command_ended(&mut self) {
        self.commands = self.commands.saturating_sub(1);
    }

    /// Whether any command runs.
    pub(super) fn has_commands(&self) -> bool {
        self.commands > 0
    }

    /// These changes are about to be made.
    pub(super) fn announced(&mut self, number: u64, changes: &[Change]) {
        for Change { path, before, after, .. } in changes.iter().take(MAX_EDITS.saturating_sub(self.count)) {
            let (before, after) = (before.clone(), after.clone());
            let edits = self.paths.entry(path.clone()).or_default();
            edits.push(Edit { number, before, after, stage: Stage::Announced });
            self.count += 1;
        }
    }

    /// Of what was announced as `number`, this has happened, and nothing else. Where no command runs nobody needs to know: the
    /// look before the next one finds it as the user's own.
    pub(super) fn happened(&mut self, number: u64, changes: &[Change]) {
        let is_alone = self.commands == 0;
        let after: HashMap<&Path, &State> =
            changes.iter().map(|change| (change.path.as_path(), &change.after)).collect();
        self.retain(|path, edit| {
            if edit.number != number || edit.stage != Stage::Announced {
                return true;
            }
            let Some(after) = after.get(path).filter(|_| !is_alone) else { return false };
            (edit.after, edit.stage) = ((*after).clone(), Stage::Done);
            true
        });
    }

    /// A look begins: it shows all that is done by now.
    pub(super) fn look_begins(&mut self) {
        let edits = self.paths.values_mut().flatten();
        edits.filter(|edit| edit.stage == Stage::Done).for_each(|edit| edit.stage = Stage::Before);
    }

    /// The look is over: what it did not find is nowhere where commands are looked after.
    pub(super) fn look_ends(&mut self) {
        self.retain(|_, edit| edit.stage != Stage::Before);
    }

    /// Whether there are edits of `path`.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.paths.contains_key(path)
    }

    /// A look found `now` at `path`: takes out the edits that led there, as what was before and after each.
    pub(super) fn shown(&mut self, path: &Path, now: &State) -> Vec<(State, State)> {
        let Some(edits) = self.paths.get_mut(path) else { return Vec::new() };
        let count = shown(edits, now);
        let mut shown: Vec<_> = edits.drain(..count).map(|edit| (edit.before, edit.after, edit.stage)).collect();
        if edits.is_empty() {
            self.paths.remove(path);
        }
        self.count -= shown.len();
        // That it was about to happen was not known to the last bit of its mode.
        if let Some((_, after, Stage::Announced)) = shown.last_mut()
            && is_alike(after, now)
        {
            *after = now.clone();
        }
        shown.into_iter().map(|(before, after, _)| (before, after)).collect()
    }

    fn retain(&mut self, mut stays: impl FnMut(&Path, &mut Edit) -> bool) {
        for (path, edits) in &mut self.paths {
            edits.retain_mut(|edit| stays(path, edit));
        }
        self.paths.retain(|_, edits| !edits.is_empty());
        self.count = self.paths.values().map(Vec::len).sum();
    }
}

/// How many of the edits of a path are behind it where it is found as `now`. Pure.
///
/// What stands there tells it where it is what an edit had left or found. Where it is neither, a command changed it behind
/// all that is done.
fn shown(edits: &[Edit], now: &State) -> usize {
    let is_done = |edit: &&Edit| edit.stage != Stage::Announced;
    let least = edits.iter().take_while(|edit| edit.stage == Stage::Before).count();
    let is_here = |count: usize| {
        let left = count.checked_sub(1).and_then(|last| edits.get(last));
        let is_left = left.is_some_and(|edit| match edit.stage {
            Stage::Announced => is_alike(&edit.after, now),
            Stage::Done | Stage::Before => same(&edit.after, now),
        });
        is_left || edits.get(count).is_some_and(|edit| same(&edit.before, now))
    };
    let found = (least..=edits.len()).rev().find(|count| is_here(*count));
    found.unwrap_or_else(|| edits.iter().take_while(is_done).count())
}

/// Whether both are the same but for modes.
fn is_alike(one: &State, other: &State) -> bool {
    match (one, other) {
        (State::File { content, .. }, State::File { content: other, .. }) => content == other,
        _ => same(one, other),
    }
}

/// What a command did to `path`, which was `before` and is `now`, where tools made `edits` in between. Pure.
pub(super) fn between(path: &Path, before: State, edits: Vec<(State, State)>, now: State) -> Vec<Change> {
    let mut ways = Vec::new();
    let mut stands = before;
    for (found, left) in edits {
        ways.push((std::mem::replace(&mut stands, left), found));
    }
    ways.push((stands, now));
    let is_known = |state: &State| !matches!(state, State::Unkept { .. });
    let change = |(before, after): (State, State)| Change::new(path.to_owned(), before, after);
    // What nobody kept may well be what the tool found there.
    let ways = ways.into_iter().filter(|(before, after)| is_known(before) && !same(before, after));
    ways.map(change).collect()
}

#[cfg(test)]
mod tests;
