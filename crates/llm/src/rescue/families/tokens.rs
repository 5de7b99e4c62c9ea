//! Calls between tokens of a template that a server printed instead of reading them.

use super::super::{Found, MAX_CALLS};
use super::{after, json, python};
use crate::repair::Reader;

/// Llama: JSON, or Python for tools of its own, behind one token.
pub(super) fn llama(text: &str) -> Option<(Vec<Found>, &str)> {
    let inner = after(text, "<|python_tag|>")?.trim_start();
    if inner.starts_with(['{', '[']) {
        return json::up_to(inner, "<|eom_id|>");
    }
    let mut reader = Reader::new(inner, None);
    let found = python::call(&mut reader)?;
    Some((vec![found], reader.rest()))
}

/// Mistral: a list of JSON, or a name and its arguments.
pub(super) fn mistral(text: &str) -> Option<(Vec<Found>, &str)> {
    let inner = after(text, "[TOOL_CALLS]")?.trim_start();
    if inner.starts_with(['{', '[']) {
        return json::up_to(inner, "</s>");
    }
    let (name, mut rest) = inner.split_at(inner.find(['[', '{', '\n', ' '])?);
    if let Some(behind) = after(rest, "[CALL_ID]") {
        rest = &behind[behind.find('[')?..];
    }
    rest = after(rest, "[ARGS]").unwrap_or(rest);
    rest.trim_start().starts_with('{').then_some(())?;
    let (arguments, rest) = json::arguments(rest, "</s>")?;
    Some((vec![Found { name: name.trim().to_owned(), arguments }], rest))
}

/// DeepSeek: a name and JSON; up to version 3 a kind, a name and JSON in a fence.
pub(super) fn deepseek(text: &str) -> Option<(Vec<Found>, &str)> {
    const END: &str = "<｜tool▁call▁end｜>";
    let mut rest = after(text, "<｜tool▁calls▁begin｜>").unwrap_or(text);
    let mut all = Vec::new();
    while let Some(inner) = after(rest, "<｜tool▁call▁begin｜>") {
        let (head, inner) = inner.split_once("<｜tool▁sep｜>")?;
        let (name, inner, end) = match head.trim() {
            "function" => {
                let (name, inner) = inner.split_once('\n')?;
                match after(inner, "```json").or_else(|| after(inner, "```")) {
                    Some(inner) => (name.trim(), inner, "```"),
                    None => (name.trim(), inner, END),
                }
            }
            name => (name, inner, END),
        };
        let (arguments, behind) = json::arguments(inner, end)?;
        all.push(Found { name: name.to_owned(), arguments });
        (all.len() <= MAX_CALLS).then_some(())?;
        rest = after(behind, END).unwrap_or(behind);
    }
    (!all.is_empty()).then_some((all, rest))
}

/// Kimi: `functions.NAME:NUMBER` and JSON.
pub(super) fn kimi(text: &str) -> Option<(Vec<Found>, &str)> {
    let mut rest = after(text, "<|tool_calls_section_begin|>").unwrap_or(text);
    let mut all = Vec::new();
    while let Some(inner) = after(rest, "<|tool_call_begin|>") {
        let (id, inner) = inner.split_once("<|tool_call_argument_begin|>")?;
        let id = id.trim();
        let is_count = |count: &str| !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
        let name = id.rsplit_once(':').filter(|(_, count)| is_count(count)).map_or(id, |(name, _)| name);
        let (arguments, behind) = json::arguments(inner, "<|tool_call_end|>")?;
        all.push(Found { name: name.to_owned(), arguments });
        (all.len() <= MAX_CALLS).then_some(())?;
        rest = behind;
    }
    (!all.is_empty()).then_some((all, rest))
}

/// gpt-oss: a message to `functions.NAME`, whose words are JSON.
pub(super) fn harmony(text: &str) -> Option<(Vec<Found>, &str)> {
    let begun = after(text, "<|start|>assistant");
    let (head, inner) = begun.unwrap_or(text).split_once("<|message|>")?;
    (begun.is_some() || head.trim_start().starts_with("<|channel|>")).then_some(())?;
    let (_, to) = head.split_once("to=")?;
    let name = to.split(|one: char| one.is_whitespace() || one == '<').next()?.strip_prefix("functions.")?;
    let (arguments, rest) = json::arguments(inner, "<|call|>")?;
    Some((vec![Found { name: name.to_owned(), arguments }], rest))
}

/// Phi, Granite: JSON behind one token.
pub(super) fn phi(text: &str) -> Option<(Vec<Found>, &str)> {
    json::up_to(after(text, "<|tool_call|>")?, "<|/tool_call|>")
}
