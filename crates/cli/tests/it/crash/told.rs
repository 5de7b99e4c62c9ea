//! What a client was told, held against what is stored.

use std::collections::BTreeMap;
use std::time::Duration;

use haft_protocol::{History, Id, PartId, PartKind};
use serde_json::Value;

use super::blow::Said;
use super::scenes::WORD;

/// The finished parts that the lines of `run --format json` told of, by their ids.
#[derive(Default)]
pub(crate) struct Told(BTreeMap<String, Value>);

impl Told {
    /// Notes the lines of `text`. One without an end was not told.
    pub(crate) fn note(&mut self, text: &str) {
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for line in whole.lines() {
            let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if let Some(id) = line["part"]["id"].as_str() {
                self.0.insert(id.to_owned(), line["part"].clone());
            }
        }
    }

    /// Forgets what belongs to the message `first` and to those behind it, which was taken back.
    pub(crate) fn forget(&mut self, first: &str) {
        self.0.retain(|_, part| part["messageID"].as_str().is_some_and(|message| message < first));
    }

    /// Parts that are not in `history` as they were told.
    pub(crate) fn lost(&self, history: &History) -> Vec<String> {
        let lost = self.0.iter().filter_map(|(id, told)| {
            let stored = history.part(&PartId::parse(id).unwrap());
            let stored = stored.map(|part| serde_json::to_value(part).unwrap());
            match stored {
                None => Some(format!("{told} is not stored")),
                Some(stored) if uncut(stored.clone()) != uncut(told.clone()) => {
                    Some(format!("{told} is stored as {stored}"))
                }
                Some(_) => None,
            }
        });
        lost.collect()
    }
}

/// A part without the mark that says that its output is no longer sent.
fn uncut(mut part: Value) -> Value {
    if let Some(time) = part.pointer_mut("/state/time").and_then(Value::as_object_mut) {
        time.remove("compacted");
    }
    part
}

/// How long the oldest words had been told that are not in `history`, of text that grew until the end.
pub(crate) fn behind(said: &Said, history: &History) -> Duration {
    let parts = history.messages().iter().flat_map(|turned| &turned.parts);
    let texts: Vec<&str> = parts
        .filter_map(|part| match &part.kind {
            PartKind::Text { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let told = said.text.match_indices(WORD).filter_map(|(at, _)| {
        let word = said.text[at..].split_once('.')?.0;
        Some((at, format!("{word}.")))
    });
    let missing = told.filter(|(_, word)| !texts.iter().any(|text| text.contains(word.as_str())));
    missing.map(|(at, _)| said.age(at)).max().unwrap_or_default()
}
