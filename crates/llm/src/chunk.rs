//! What a model answers, piece by piece.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A piece of an answer. Blocks come in the vendor's order and are told apart by their ends: words that follow a
/// [`Chunk::TextEnd`] begin a new block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Chunk {
    /// More words. Never empty.
    Text(String),
    /// The block of words ends.
    TextEnd {
        /// The vendor's own item for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<Item>,
    },
    /// More thinking. Never empty.
    Reasoning(String),
    /// The block of thinking ends. May come without any words before it.
    ReasoningEnd {
        /// The vendor's own item: a signature, encrypted thoughts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<Item>,
    },
    /// More of the arguments of a call. The first one of a call may have an empty `delta`. Calls may be interleaved.
    ToolInput {
        /// The id that the model gave the call.
        id: String,
        /// The tool.
        name: String,
        /// What was added to the arguments text.
        delta: String,
    },
    /// A call is complete.
    ToolCall {
        /// The id that the model gave the call; made up where the vendor gives none. Unique in the answer.
        id: String,
        /// The tool.
        name: String,
        /// The arguments: the JSON text as the model wrote it, also where it is broken.
        arguments: String,
        /// The vendor's own item for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<Item>,
    },
    /// Something of the vendor's own that is none of these, to be given back unchanged.
    Vendor(Item),
    /// What the answer used. At most once, before the end.
    Usage(Usage),
    /// The answer is complete. Nothing follows.
    Finish(Finish),
}

/// A vendor's own form of something, to be given back in the next request unchanged, to the same model only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Which vendor made it.
    pub vendor: String,
    /// Which model made it.
    pub model: String,
    /// The item, known to its dialect alone.
    pub value: Value,
}

impl Item {
    /// Whether it tells of work that the vendor did by itself, with tools of its own: a search, code that ran. Asking
    /// again would do that once more.
    pub fn is_work(&self) -> bool {
        const ENDS: [&str; 5] = ["tool_use", "tool_result", "_call", "_call_output", "_approval_request"];
        // Gemini's parts have a field for each kind in the place of a type.
        const FIELDS: [&str; 4] = ["executableCode", "codeExecutionResult", "toolUse", "toolResult"];
        let kind = self.value["type"].as_str().unwrap_or_default();
        ENDS.iter().any(|end| kind.ends_with(end)) || FIELDS.iter().any(|field| self.value.get(field).is_some())
    }
}

/// Tokens of one answer. The kinds do not overlap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Everything as the vendor counted it, if it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Read, and neither from nor into a cache.
    #[serde(default)]
    pub input: u64,
    /// Written, without reasoning.
    #[serde(default)]
    pub output: u64,
    /// Written as reasoning.
    #[serde(default)]
    pub reasoning: u64,
    /// Read from the vendor's cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Written to the vendor's cache.
    #[serde(default)]
    pub cache_write: u64,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finish {
    /// It had said all.
    Stop,
    /// It waits for the results of its calls.
    ToolCalls,
    /// It reached the limit of what it may write.
    Length,
    /// The vendor withheld the rest.
    ContentFilter,
    /// A reason this dialect does not know.
    Other(String),
    /// The vendor gave no reason.
    Unknown,
}

impl Finish {
    /// Whether the vendor stopped in the middle of its answer, for its own tools take long, and goes on when it is
    /// sent the conversation with this answer as its end.
    pub fn pauses(&self) -> bool {
        matches!(self, Finish::Other(reason) if reason == "pause_turn")
    }

    /// The word that messages keep.
    pub fn word(&self) -> &'static str {
        match self {
            Finish::Stop => "stop",
            Finish::ToolCalls => "tool-calls",
            Finish::Length => "length",
            Finish::ContentFilter => "content-filter",
            Finish::Other(_) => "other",
            Finish::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_vendors_own_tools_did_is_work() {
        let row = |value: Value, want: bool| {
            let item = Item { vendor: "v".to_owned(), model: "m".to_owned(), value };
            assert_eq!(item.is_work(), want, "{item:?}");
        };
        row(json!({"type": "server_tool_use", "name": "web_search"}), true);
        row(json!({"type": "web_search_tool_result"}), true);
        row(json!({"type": "mcp_tool_use"}), true);
        row(json!({"type": "web_search_call"}), true);
        row(json!({"type": "code_interpreter_call"}), true);
        row(json!({"executableCode": {"code": "1"}}), true);
        row(json!({"type": "compaction"}), false);
        row(json!({"type": "reasoning"}), false);
        row(json!({"text": "x"}), false);
        row(json!("web_search_call"), false);
    }
}
