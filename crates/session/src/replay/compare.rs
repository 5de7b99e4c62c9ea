//! Whether the tools did the same.

use std::collections::{HashMap, VecDeque};

use haft_protocol::{History, PartKind, ToolState, Turned};
use haft_tool::INVALID;
use serde::Serialize;
use serde_json::Value;

use super::answers::made_by;
use super::{Normal, is_models};

/// Tools that put first what was changed last, which nobody knows any more of files that were put back.
const BY_TIME: [&str; 2] = ["glob", "grep"];

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
    /// In which answer of the model, counted from 1; of what a person ran, behind which.
    pub step: usize,
    /// The tool, or `file`.
    pub tool: String,
    /// What it was called for.
    pub what: String,
    /// The line that differs first, counted from 1; 0 where they are no texts, and what follows is how long they are.
    pub line: usize,
    /// That line as it was.
    pub recorded: String,
    /// And as it is now.
    pub replayed: String,
}

/// How two runs are held against each other.
pub struct Ways<'a> {
    /// What makes the texts of the recorded one comparable.
    pub was: Normal,
    /// The same for the other.
    pub is: Normal,
    /// Why the result of a tool with these arguments says nothing about the project, where that is so.
    pub passes: &'a (dyn Fn(&str, &Value) -> Option<&'static str> + Sync),
}

/// A call of a history.
struct Call<'a> {
    /// What tells it from others in both runs.
    key: String,
    step: usize,
    tool: &'a str,
    state: &'a ToolState,
}

/// Compares the results of the calls in two histories of the same answers.
pub fn compare(recorded: &History, replayed: &History, ways: &Ways<'_>) -> Compared {
    let mut compared = Compared::default();
    let mut again: HashMap<String, VecDeque<&ToolState>> = HashMap::new();
    for call in calls(replayed, &ways.is) {
        again.entry(call.key).or_default().push_back(call.state);
    }
    for Call { key, step, tool, state } in calls(recorded, &ways.was) {
        let now = again.get_mut(&key).and_then(VecDeque::pop_front);
        let what = what(tool, state);
        if let Some(why) = passed(tool, state, now, ways) {
            compared.skipped.push(format!("{what}: {why}"));
            continue;
        }
        let (old, new) = (ways.was.of(&told(state)), ways.is.of(&now.map(told).unwrap_or_default()));
        if old == new || BY_TIME.contains(&tool) && lines(&old) == lines(&new) {
            compared.same += 1;
            continue;
        }
        let (line, recorded, replayed) = parting(&old, &new);
        compared.difference = Some(Difference { step, tool: tool.to_owned(), what, line, recorded, replayed });
        break;
    }
    compared
}

/// The calls of `history`, in order.
fn calls<'a>(history: &'a History, normal: &Normal) -> Vec<Call<'a>> {
    let (mut calls, mut step) = (Vec::new(), 0);
    for turned in history.messages() {
        let by_model = is_models(turned);
        step += usize::from(by_model);
        for part in &turned.parts {
            let PartKind::Tool { call_id, tool, state, .. } = &part.kind else { continue };
            let key = if by_model { key(call_id, turned, tool, state, normal) } else { format!("by hand {tool}") };
            calls.push(Call { key, step, tool, state });
        }
    }
    calls
}

/// What tells a call of a model from others: the id that the model gave it. One that another call made is known by that
/// one and by what it is, for nobody knows in which order calls come that are made side by side.
fn key(id: &str, turned: &Turned, tool: &str, state: &ToolState, normal: &Normal) -> String {
    match made_by(id, turned) {
        Some(by) => format!("{by} {tool} {}", normal.of(&input(state).map(Value::to_string).unwrap_or_default())),
        None => id.to_owned(),
    }
}

/// Why a result says nothing, if it does not.
fn passed(tool: &str, was: &ToolState, now: Option<&ToolState>, ways: &Ways<'_>) -> Option<&'static str> {
    if tool == INVALID {
        return Some("it was no call");
    }
    if let Some(why) = (ways.passes)(tool, input(was).unwrap_or(&Value::Null)) {
        return Some(why);
    }
    (now.is_some_and(is_denied) && !is_denied(was)).then_some("a replay gives no leave for it")
}

/// Whether a call was denied.
pub(super) fn is_denied(state: &ToolState) -> bool {
    matches!(state, ToolState::Error { metadata: Some(metadata), .. } if metadata.get("kind").is_some_and(|kind| kind == "denied"))
}

/// What the model was told of the result.
fn told(state: &ToolState) -> String {
    match state {
        ToolState::Completed { output, .. } => output.clone(),
        ToolState::Error { error, .. } => format!("failed: {error}"),
        ToolState::Pending { .. } | ToolState::Running { .. } => "no end".to_owned(),
    }
}

/// The arguments of a call, as far as there are any.
pub(super) fn input(state: &ToolState) -> Option<&Value> {
    match state {
        ToolState::Completed { input, .. } | ToolState::Error { input, .. } | ToolState::Running { input, .. } => {
            Some(input)
        }
        ToolState::Pending { .. } => None,
    }
}

fn what(tool: &str, state: &ToolState) -> String {
    let about = input(state).and_then(|input| {
        ["command", "filePath", "path", "pattern", "description"].into_iter().find_map(|key| input.get(key)?.as_str())
    });
    let about = about.unwrap_or_default().lines().next().unwrap_or_default();
    format!("{tool} {about}").trim().to_owned()
}

/// The lines of a text, in no order of its own.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
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
