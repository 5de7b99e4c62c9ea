//! The forms in which families of models write calls, each from its first sign on.
//!
//! The signs are those of the chat templates that the models were trained with.

mod json;
mod python;
mod tagged;
mod tokens;

use super::{Found, MAX_CALLS};
pub(super) use json::{ARGUMENTS, BESIDE, NAMES};

/// Reads one form at the beginning of a text. `None`: it is another.
type Family = fn(&str) -> Option<(Vec<Found>, &str)>;

const FAMILIES: [Family; 13] = [
    // Hermes, Qwen; Qwen's coder; GLM.
    tagged::tool_call,
    // Qwen's coder, Functionary, Llama.
    tagged::function,
    // MiniMax; DeepSeek from 3.2 on; those who learned from Claude.
    tagged::invokes,
    tokens::llama,
    tokens::mistral,
    tokens::deepseek,
    tokens::kimi,
    // gpt-oss.
    tokens::harmony,
    // Phi, Granite.
    tokens::phi,
    // Gemma.
    python::tool_code,
    json::fenced,
    json::bare,
    // Llama 4.
    python::listed,
];

/// Signs that close what is closed already, or end an answer.
const ENDS: [&str; 17] = [
    "<|eot_id|>",
    "<|eom_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|call|>",
    "<|return|>",
    "<|endoftext|>",
    "<|/tool_call|>",
    "<|tool_call_end|>",
    "<|tool_calls_section_end|>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
    "<｜end▁of▁sentence｜>",
    "</tool_call>",
    "</function>",
    "</s>",
    ";",
];

/// The calls that are all of `text`.
pub(super) fn read(text: &str) -> Option<Vec<Found>> {
    let mut all = Vec::new();
    let mut rest = past_ends(text);
    while !rest.is_empty() {
        let (found, after) = FAMILIES.iter().find_map(|family| family(rest))?;
        all.extend(found);
        (all.len() <= MAX_CALLS).then_some(())?;
        rest = past_ends(after);
    }
    Some(all)
}

/// Whether a call stands at the beginning of `text`, whatever follows.
pub(super) fn begins(text: &str) -> bool {
    FAMILIES.iter().any(|family| family(text).is_some())
}

fn past_ends(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        match ENDS.iter().find_map(|end| text.strip_prefix(end)) {
            Some(rest) => text = rest,
            None => return text,
        }
    }
}

/// `text` without blanks and one `sign` at its beginning.
fn after<'a>(text: &'a str, sign: &str) -> Option<&'a str> {
    text.trim_start().strip_prefix(sign)
}
