//! Whether the tools did the same.

use std::collections::HashSet;

use haft_protocol::{History, PartKind, ToolState, Turned};
use haft_tool::INVALID;
use serde::Serialize;

use super::answers::is_inner;
use super::{Normal, is_models};

/// Tools whose results come from elsewhere: the network, a person.
const ELSEWHERE: [&str; 4] = ["webfetch", "websearch", "codesearch", "question"];

/// What came of comparing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// Calls with the same result.
    pub same: usize,
    /// Calls that could not be compared, and why.
    pub skipped: Vec<String>,
    /// The first call with another result.
    pub difference: Option<Difference>,
}

/// Where the two runs part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// In which answer of the model, counted from 1.
    pub step: usize,
    /// The tool, or `file`.
    pub tool: String,
    /// What it was called for.
    pub what: String,
    /// The line that differs first, counted from 1.
    pub line: usize,
    /// That line as it was.
    pub recorded: String,
    /// And as it is now.
    pub replayed: String,
}

/// Compares the results of the calls in two histories of the same answers. `names` makes their texts comparable: of the
/// first, then of the second.
pub fn compare(recorded: &History, replayed: &History, normal: (&Normal, &Normal)) -> Compared {
    let mut compared = Compared::default();
    let steps = |history: &'_ History| {
        history.messages().iter().filter(|turned| is_models(turned)).cloned().collect::<Vec<_>>()
    };
    let (was, is) = (steps(recorded), steps(replayed));
    for (step, turned) in was.iter().enumerate() {
        let again = is.get(step);
        for part in &turned.parts {
            let PartKind::Tool { call_id, tool, state, .. } = &part.kind else { continue };
            let what = what(tool, state);
            if tool == INVALID || ELSEWHERE.contains(&tool.as_str()) {
                compared.skipped.push(format!("{what}: it does not depend on the project alone"));
                continue;
            }
            let now = again.and_then(|again| state_of(again, call_id, turned));
            if let Some(why) = now.and_then(|now| closed(state, now)) {
                compared.skipped.push(format!("{what}: {why}"));
                continue;
            }
            let (old, new) = (normal.0.of(&told(state)), normal.1.of(&now.map(told).unwrap_or_default()));
            if old == new {
                compared.same += 1;
                continue;
            }
            let (line, recorded, replayed) = parting(&old, &new);
            let (tool, step) = (tool.clone(), step + 1);
            compared.difference = Some(Difference { step, tool, what, line, recorded, replayed });
            return compared;
        }
    }
    compared
}

/// The calls that were denied.
pub fn denied(history: &History) -> HashSet<String> {
    let parts = history.messages().iter().flat_map(|turned| &turned.parts);
    let denied = parts.filter_map(|part| match &part.kind {
        PartKind::Tool { call_id, state, .. } => is_denied(state).then(|| call_id.clone()),
        _ => None,
    });
    denied.collect()
}

fn is_denied(state: &ToolState) -> bool {
    matches!(state, ToolState::Error { metadata: Some(metadata), .. } if metadata.get("kind").is_some_and(|kind| kind == "denied"))
}

/// Why a result says nothing, if it does not.
fn closed(was: &ToolState, now: &ToolState) -> Option<&'static str> {
    (is_denied(now) && !is_denied(was)).then_some("a replay gives no leave for it")
}

/// The state of the call in `again` that is the one called `id` in `turned`.
fn state_of<'a>(again: &'a Turned, id: &str, turned: &Turned) -> Option<&'a ToolState> {
    let calls = |turned: &'a Turned, inner: bool| {
        turned.parts.iter().filter_map(move |part| match &part.kind {
            PartKind::Tool { call_id, state, .. } if is_inner(call_id, turned) == inner => Some((call_id, state)),
            _ => None,
        })
    };
    let inner = is_inner(id, turned);
    calls(again, inner).find(|(call, _)| *call == id).map(|(_, state)| state)
}

/// What the model was told of the result.
fn told(state: &ToolState) -> String {
    match state {
        ToolState::Completed { output, .. } => output.clone(),
        ToolState::Error { error, .. } => format!("failed: {error}"),
        ToolState::Pending { .. } | ToolState::Running { .. } => "no end".to_owned(),
    }
}

fn what(tool: &str, state: &ToolState) -> String {
    let about = match state {
        ToolState::Completed { input, .. } | ToolState::Error { input, .. } | ToolState::Running { input, .. } => {
            ["command", "filePath", "path", "pattern", "description"]
                .into_iter()
                .find_map(|key| input.get(key)?.as_str())
        }
        ToolState::Pending { .. } => None,
    };
    let about = about.unwrap_or_default().lines().next().unwrap_or_default();
    format!("{tool} {about}").trim().to_owned()
}

/// The first line in which two texts differ, counted from 1, in both.
pub fn parting(old: &str, new: &str) -> (usize, String, String) {
    let (mut old, mut new) = (old.lines(), new.lines());
    let mut line = 1;
    loop {
        match (old.next(), new.next()) {
            (Some(was), Some(is)) if was == is => line += 1,
            (was, is) => {
                let end = "(nothing more)";
                return (line, was.unwrap_or(end).to_owned(), is.unwrap_or(end).to_owned());
            }
        }
    }
}
