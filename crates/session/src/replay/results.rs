//! What came of the calls of a recording, for those that a replay does not make again.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::BoxFuture;
use haft_protocol::{Answers, History, Part, PartKind, ToolState};
use haft_tool::{AnyTool, Attachment, Call, INVALID, Output, Spec, ToolError};
use serde_json::{Value, json};

use super::compare::{input, is_denied};
use crate::turn::form::STRUCTURED;

/// The calls of a session and its tasks, with what came of them.
#[derive(Debug, Default)]
pub struct Results {
    calls: Vec<One>,
}

/// A call.
#[derive(Debug)]
pub(super) struct One {
    id: String,
    tool: String,
    pub(super) state: ToolState,
}

impl Results {
    /// The calls of `histories`. Where they name the folder `was` they name `is` instead.
    pub fn of<'a>(histories: impl IntoIterator<Item = &'a History>, was: &str, is: &str) -> Self {
        let parts = histories.into_iter().flat_map(|history| history.messages()).flat_map(|turned| &turned.parts);
        let one = |part: &Part| match &part.kind {
            PartKind::Tool { call_id, tool, state, .. } => {
                Some(One { id: call_id.clone(), tool: tool.clone(), state: elsewhere(state, was, is) })
            }
            _ => None,
        };
        Self { calls: parts.filter_map(one).collect() }
    }

    /// The tools that were called, but for those that no registry has.
    pub fn tools(&self) -> BTreeSet<&str> {
        let tools = self.calls.iter().map(|one| one.tool.as_str());
        tools.filter(|tool| ![INVALID, STRUCTURED].contains(tool)).collect()
    }

    /// What the model was told of a call that was denied, if it was.
    pub fn denial(&self, tool: &str, id: &str, arguments: &Value) -> Option<&str> {
        match &self.find(tool, id, arguments, false)?.state {
            state @ ToolState::Error { error, .. } if is_denied(state) => Some(error),
            _ => None,
        }
    }

    /// What a person answered to the questions of the call `id`, where that is kept.
    pub fn answers(&self, id: &str) -> Option<Answers> {
        self.calls.iter().filter(|one| one.id == id).find_map(|one| match &one.state {
            ToolState::Completed { metadata, .. } => serde_json::from_value(metadata.get("answers")?.clone()).ok(),
            _ => None,
        })
    }

    /// The tools called `names`, which give what they gave then and do nothing.
    pub fn tellers(self: &Arc<Self>, names: &BTreeSet<String>) -> Vec<Arc<dyn AnyTool>> {
        let teller = |name: &String| Teller { name: name.clone(), results: Arc::clone(self) };
        names.iter().map(|name| Arc::new(teller(name)) as Arc<dyn AnyTool>).collect()
    }

    /// The call that has this id; of several, or where `loose` lets it be any, the one with these arguments.
    pub(super) fn find(&self, tool: &str, id: &str, arguments: &Value, loose: bool) -> Option<&One> {
        let of_tool = || self.calls.iter().filter(|one| one.tool == tool);
        let is_same = |one: &&One| input(&one.state) == Some(arguments);
        let mut own = of_tool().filter(|one| one.id == id);
        // The calls that a program makes may come in another order.
        own.clone().find(is_same).or_else(|| if loose { of_tool().find(is_same) } else { None }).or(own.next_back())
    }
}

/// `state` with the folder `was` called `is`.
fn elsewhere(state: &ToolState, was: &str, is: &str) -> ToolState {
    let text = serde_json::to_string(state).unwrap_or_default();
    let moved = if was.is_empty() { None } else { serde_json::from_str(&text.replace(was, is)).ok() };
    moved.unwrap_or_else(|| state.clone())
}

/// A tool that gives what was given.
struct Teller {
    name: String,
    results: Arc<Results>,
}

impl AnyTool for Teller {
    fn spec(&self) -> Spec {
        let description = "Gives what was recorded.".to_owned();
        Spec { name: self.name.clone(), description, parameters: json!({ "type": "object" }) }
    }

    fn run<'a>(&'a self, input: Value, call: &'a Call) -> BoxFuture<'a, Result<Output, ToolError>> {
        let found = self.results.find(&self.name, &call.id.0, &input, true);
        let result = match found.map(|one| &one.state) {
            Some(ToolState::Completed { output, title, metadata, attachments, .. }) => Ok(Output {
                title: title.clone(),
                text: output.clone(),
                metadata: metadata.clone(),
                attachments: attachments.iter().filter_map(attachment).collect(),
            }),
            Some(ToolState::Error { error, .. }) => Err(ToolError::Failed(error.clone())),
            Some(ToolState::Pending { .. } | ToolState::Running { .. }) | None => {
                Err(ToolError::Failed(format!("no result of {} is recorded for this call", self.name)))
            }
        };
        Box::pin(std::future::ready(result))
    }
}

fn attachment(part: &Part) -> Option<Attachment> {
    match &part.kind {
        PartKind::File { mime, filename, url, .. } => {
            Some(Attachment { mime: mime.clone(), filename: filename.clone(), url: url.clone() })
        }
        _ => None,
    }
}
