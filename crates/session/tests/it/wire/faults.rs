//! What is wrong with the body of a request. The rules of each dialect stand beside; the tests of the binary use them too.

use std::collections::HashSet;

use serde_json::Value;

/// What is wrong with a body, in the words of its vendor's documents.
#[derive(Default)]
pub(crate) struct Faults(pub Vec<String>);

impl Faults {
    pub(crate) fn when(&mut self, wrong: bool, what: impl FnOnce() -> String) {
        if wrong {
            self.0.push(what());
        }
    }
}

/// Ids, each of which may come once.
#[derive(Default)]
pub(crate) struct Once(HashSet<String>);

impl Once {
    pub(crate) fn take(&mut self, id: &str, faults: &mut Faults) {
        faults.when(!self.0.insert(id.to_owned()), || format!("two calls are called {id:?}"));
    }
}

/// Whether `text` consists of letters, digits, `_` and `-`, and has at most `most` of them and at least one.
pub(crate) fn plain(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Whether a value is words that say something.
pub(crate) fn says(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}
