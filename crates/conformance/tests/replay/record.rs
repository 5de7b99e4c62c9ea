//! What OpenCode's tools answered, one record a line, and what two answers differ in.

use std::collections::BTreeMap;

use haft_protocol::{Object, Reply};
use serde::Deserialize;
use serde_json::Value;

/// A call and what came of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    /// Which.
    pub(crate) n: u64,
    /// Which of the projects of the fixture.
    pub(crate) project: String,
    /// What the model called.
    pub(crate) tool: String,
    /// An object, or the arguments as a text that is none.
    pub(crate) args: Value,
    /// What was special about it, in words: rules, agent, model, what the person said.
    pub(crate) fixture: String,
    output: String,
    #[serde(default)]
    is_error: bool,
    title: Option<String>,
    metadata: Option<Object>,
    #[serde(default)]
    attachments: Vec<Attached>,
    #[serde(default)]
    pub(crate) after: Value,
    #[serde(default)]
    asks: Vec<Asked>,
    recorded_tool: Option<String>,
    #[serde(default)]
    note: String,
}

/// A file that goes with a result.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Attached {
    pub(crate) mime: String,
    pub(crate) url: String,
}

/// What a person was asked.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Asked {
    pub(crate) permission: String,
    pub(crate) patterns: Vec<String>,
    pub(crate) always: Vec<String>,
}

/// What came of a call, on either side.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// The tool that the call was kept under.
    pub(crate) tool: String,
    pub(crate) failed: bool,
    /// What the model reads.
    pub(crate) output: String,
    pub(crate) title: String,
    pub(crate) metadata: Object,
    pub(crate) attachments: Vec<Attached>,
    /// Files that the record speaks of, by name; `None` where there is no such file.
    pub(crate) files: BTreeMap<String, Option<String>>,
    pub(crate) asks: Vec<Asked>,
    /// Whether the loop ended with this call.
    pub(crate) stopped: bool,
}

/// In what two answers can differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Facet {
    /// The tool that the call was kept under.
    Tool,
    /// Whether it is an error.
    Failed,
    /// The text.
    Output,
    /// The title.
    Title,
    /// Which keys the metadata has.
    Keys,
    /// What stands under the keys that both have.
    Values,
    /// The files that go with it.
    Attachments,
    /// What the project's files then hold.
    Files,
    /// What a person was asked.
    Asks,
    /// Whether the loop went on.
    Stopped,
}

impl Record {
    /// What came of the call then.
    pub(crate) fn seen(&self) -> Seen {
        Seen {
            tool: self.recorded_tool.clone().unwrap_or_else(|| self.tool.clone()),
            failed: self.is_error,
            output: self.output.clone(),
            title: self.title.clone().unwrap_or_default(),
            metadata: self.metadata.clone().unwrap_or_default(),
            attachments: self.attachments.clone(),
            files: self.files(),
            asks: self.asks.clone(),
            stopped: self.note.starts_with("loop stopped"),
        }
    }

    /// The files that the record speaks of and what they held then.
    fn files(&self) -> BTreeMap<String, Option<String>> {
        let one = |file: &Value| Some((file["file"].as_str()?.to_owned(), file["bytes"].as_str().map(str::to_owned)));
        match &self.after {
            Value::Array(files) => files.iter().filter_map(one).collect(),
            file => one(file).into_iter().collect(),
        }
    }

    /// What the person said to each question for leave.
    pub(crate) fn reply(&self) -> Reply {
        const ADVISED: &str = "with the following feedback: ";
        let refused = self.is_error && self.output.starts_with("The user rejected permission");
        match self.output.split_once(ADVISED) {
            Some((_, advice)) if refused => Reply::Reject { advice: Some(advice.to_owned()) },
            _ if refused => Reply::Reject { advice: None },
            _ => Reply::Once,
        }
    }

    /// What the person answered to the agent's questions; `None` where they did not want to.
    pub(crate) fn answers(&self) -> Option<Vec<Vec<String>>> {
        if let Some((_, answer)) = self.fixture.split_once("answered ").filter(|_| self.tool == "plan_exit") {
            return Some(vec![vec![answer.to_owned()]]);
        }
        if self.is_error {
            return None;
        }
        let answer = |pair: &str| pair.split_once("\"=\"").map(|(_, answer)| answer.trim_end_matches('"').to_owned());
        let given = self.output.split_once(": ")?.1.split_once(". You can now")?.0;
        let answers = given.split("\", \"").filter_map(answer);
        let labels = |answer: String| match answer.as_str() {
            "Unanswered" => Vec::new(),
            _ => answer.split(", ").map(str::to_owned).collect(),
        };
        Some(answers.map(labels).collect())
    }
}

/// The keys under which both metadata have something, and not the same.
pub(crate) fn changed<'a>(wanted: &'a Seen, got: &Seen) -> Vec<&'a str> {
    let differs = |key: &str, value: &Value| got.metadata.get(key).is_some_and(|ours| !is_same(value, ours));
    wanted.metadata.iter().filter(|(key, value)| differs(key, value)).map(|(key, _)| key.as_str()).collect()
}

/// Whether `got` is `wanted`, of which a long text may be kept in part, with its length: `beginning…[1234 chars]`.
fn is_same(wanted: &Value, got: &Value) -> bool {
    match (wanted, got) {
        (Value::Object(wanted), Value::Object(got)) => {
            wanted.len() == got.len()
                && wanted.iter().all(|(key, one)| got.get(key).is_some_and(|other| is_same(one, other)))
        }
        (Value::Array(wanted), Value::Array(got)) => {
            wanted.len() == got.len() && wanted.iter().zip(got).all(|(one, other)| is_same(one, other))
        }
        (Value::String(wanted), Value::String(got)) => {
            let part = wanted.strip_suffix(" chars]").and_then(|wanted| wanted.rsplit_once("…["));
            let is_part =
                |(begin, length): (&str, &str)| got.starts_with(begin) && length.parse() == Ok(got.chars().count());
            wanted == got || part.is_some_and(is_part)
        }
        _ => wanted == got,
    }
}

/// In what `got` differs from `wanted`.
pub(crate) fn differences(wanted: &Seen, got: &Seen) -> Vec<Facet> {
    let keys = |seen: &Seen| {
        // An error's own metadata says of what kind it is, or nothing.
        let mut keys: Vec<String> = seen.metadata.keys().cloned().collect();
        keys.sort();
        keys
    };
    let rows = [
        (Facet::Tool, wanted.tool == got.tool),
        (Facet::Failed, wanted.failed == got.failed),
        (Facet::Output, wanted.output == got.output),
        (Facet::Title, wanted.title == got.title),
        (Facet::Keys, keys(wanted) == keys(got)),
        (Facet::Values, changed(wanted, got).is_empty()),
        (Facet::Attachments, wanted.attachments == got.attachments),
        (Facet::Files, wanted.files == got.files),
        (Facet::Asks, wanted.asks == got.asks),
        (Facet::Stopped, wanted.stopped == got.stopped),
    ];
    rows.into_iter().filter(|(_, same)| !same).map(|(facet, _)| facet).collect()
}
