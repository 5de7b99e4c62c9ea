//! The items of an answer that have not ended.

use serde_json::{Map, Value};

use super::kept::{about, arguments};
use crate::dialect::responses::items::key;

/// Which item an event is about. Some servers give every event another id, some every item the same index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) index: Option<u64>,
    pub(super) id: String,
}

/// An item that has not ended.
pub(super) struct Open {
    /// Ours: places need not be unique.
    pub(super) number: usize,
    pub(super) place: Place,
    pub(super) kind: Block,
}

/// What an item is, as far as it has come.
pub(super) enum Block {
    Text {
        /// What is known of it before its end.
        begun: Map<String, Value>,
        /// Whether it ever had words.
        said: bool,
        /// Whether they have not ended. Without, there is nothing to end.
        open: bool,
        refused: bool,
    },
    Thinking {
        /// Which part the last words were of, if there ever were any.
        part: Option<(Said, u64)>,
        /// Whether they have not ended.
        open: bool,
    },
    Call {
        /// Ours. Empty until the call has been announced, which needs its name.
        id: String,
        given: String,
        name: String,
        /// The arguments as they came in one piece; they hold if none came in pieces.
        whole: String,
        arguments: String,
    },
    /// Of the vendor's own tools, or not known: kept at its end.
    Vendor,
}

/// What words are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    Text,
    Refusal,
    Summary,
    Thought,
}

impl Place {
    /// With the name that `item` gives itself.
    pub(super) fn named(self, item: &Value) -> Self {
        Self { id: item[key::ID].as_str().unwrap_or_default().to_owned(), ..self }
    }
}

impl Block {
    /// An item at its beginning.
    pub(super) fn of(item: &Value) -> Self {
        let text = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
        match item[key::TYPE].as_str() {
            Some("message") => Block::Text { begun: about(item), said: false, open: false, refused: false },
            Some("reasoning") => Block::Thinking { part: None, open: false },
            Some("function_call") => {
                let given = Some(text("call_id")).filter(|id| !id.is_empty()).unwrap_or_else(|| text(key::ID));
                let (id, name, whole) = (String::new(), text("name"), arguments(&item["arguments"]));
                Block::Call { id, given, name, whole, arguments: String::new() }
            }
            Some(_) | None => Block::Vendor,
        }
    }

    /// Whether `item` is of this kind.
    pub(super) fn is(&self, item: &Value) -> bool {
        let kind = item[key::TYPE].as_str();
        match self {
            Block::Text { .. } => kind == Some("message"),
            Block::Thinking { .. } => kind == Some("reasoning"),
            Block::Call { .. } => kind == Some("function_call"),
            Block::Vendor => !matches!(kind, Some("message" | "reasoning" | "function_call")),
        }
    }
}
