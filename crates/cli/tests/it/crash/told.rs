//! What a client was told, held against what is stored.

use std::collections::BTreeMap;
use std::time::Duration;

use haft_protocol::{History, Id, PartId};
use serde_json::Value;

use super::blow::Said;
use super::scenes::{WORD, slow_text};

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

/// How long the oldest words had been told that are not in the stored `texts`: 0 where nothing is missing. Only the end of the
/// text that grew last may be, because a text is stored when it ends.
///
/// # Errors
///
/// What else is missing, or is not as it was said.
pub(crate) fn behind(said: &Said, texts: &[String]) -> Result<Duration, String> {
    for text in texts.iter().filter(|text| text.contains(WORD)) {
        let number = text.trim_start_matches(WORD).split('-').next().and_then(|number| number.parse().ok());
        if !number.is_some_and(|number| slow_text(number).starts_with(text.as_str())) {
            return Err(format!("no answer begins so: {text:?}"));
        }
    }
    let told: Vec<(usize, &str, String)> = said
        .text
        .match_indices(WORD)
        .filter_map(|(at, _)| {
            let word = said.text[at..].split_once('.')?.0;
            let answer = word.trim_start_matches(WORD).split('-').next()?;
            Some((at, answer, format!("{word}.")))
        })
        .collect();
    let is_stored = |word: &str| texts.iter().any(|text| text.contains(word));
    let Some(first) = told.iter().position(|(_, _, word)| !is_stored(word)) else { return Ok(Duration::ZERO) };
    let (at, growing, _) = &told[first];
    match told[first..].iter().find(|(_, answer, word)| answer != growing || is_stored(word)) {
        Some((_, _, later)) => Err(format!("{:?} is missing, and {later:?} came after it", told[first].2)),
        None => Ok(said.age(*at)),
    }
}
