//! Anthropic's messages: <https://docs.anthropic.com/en/api/messages>.

use serde_json::{Value, json};

use super::{Faults, Once, list, plain, says, text};

/// Most marks for the cache that a request may have.
const MARKS: usize = 4;

pub(super) fn rules(body: &Value, faults: &mut Faults) {
    let messages = list(&body["messages"]);
    let mut ids = Once::default();
    let mut open: Vec<&str> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let (role, blocks) = (text(&message["role"]), list(&message["content"]));
        let turn = if place % 2 == 0 { "user" } else { "assistant" };
        faults.when(role != turn, || format!("{role} speaks at {place}"));
        faults.when(blocks.is_empty(), || format!("{role} says nothing at {place}"));
        let results: Vec<&str> =
            blocks.iter().take_while(|one| one["type"] == "tool_result").map(|one| text(&one["tool_use_id"])).collect();
        let all = blocks.iter().filter(|one| one["type"] == "tool_result").count();
        faults.when(all != results.len(), || format!("results behind other things at {place}"));
        faults.when(sorted(&results) != sorted(&open), || format!("{results:?} answers {open:?}"));
        open = blocks.iter().filter(|one| one["type"] == "tool_use").map(|one| text(&one["id"])).collect();
        let calls = blocks.iter().rev().take_while(|one| one["type"] == "tool_use").count();
        faults.when(calls != open.len(), || format!("calls before other things at {place}"));
        open.iter().for_each(|id| ids.take(id, faults));
        let thinks = |one: &Value| ["thinking", "redacted_thinking"].contains(&text(&one["type"]));
        faults.when(blocks.last().is_some_and(thinks), || format!("a thought at the end of {place}"));
        blocks.iter().for_each(|one| block(role, one, faults));
    }
    faults.when(!open.is_empty(), || format!("no result for {open:?}"));
    faults.when(messages.last().is_none_or(|last| last["role"] != "user"), || "the model has the last word".to_owned());
    let marks = body.to_string().matches("\"cache_control\"").count();
    faults.when(marks > MARKS, || format!("{marks} marks"));
}

fn block(role: &str, block: &Value, faults: &mut Faults) {
    let sourced = |kinds: &[&str]| {
        let source = &block["source"];
        kinds.contains(&text(&source["media_type"])) && says(&source["data"]) && source["type"] == "base64"
    };
    let whole = match (role, text(&block["type"])) {
        (_, "text") => says(&block["text"]),
        ("user", "image") => sourced(&["image/png", "image/jpeg", "image/gif", "image/webp"]),
        ("user", "document") => sourced(&["application/pdf"]),
        ("user", "tool_result") => {
            let content = &block["content"];
            content.is_string() || !list(content).is_empty()
        }
        ("assistant", "tool_use") => {
            plain(text(&block["id"]), 64) && plain(text(&block["name"]), 64) && block["input"].is_object()
        }
        ("assistant", "thinking") => says(&block["signature"]) && block["thinking"].is_string(),
        ("assistant", "redacted_thinking") => says(&block["data"]),
        // The vendor's own, given back as they came.
        ("assistant", other) => !other.is_empty(),
        _ => false,
    };
    faults.when(!whole, || format!("{role}'s block is none: {block}"));
    if block["type"] == "tool_result" {
        list(&block["content"]).iter().for_each(|inner| self::block("user", inner, faults));
    }
    let silent = block["is_error"] == true && block["content"] == "";
    faults.when(silent, || format!("an error that says nothing: {block}"));
}

fn sorted<'a>(ids: &[&'a str]) -> Vec<&'a str> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids
}

pub(super) fn pieces(body: &Value) -> Vec<Value> {
    let pieces = list(&body["messages"]).iter().flat_map(|message| {
        list(&message["content"]).iter().map(|block| {
            let mut block = block.clone();
            if let Some(fields) = block.as_object_mut() {
                fields.remove("cache_control");
            }
            json!([message["role"], block])
        })
    });
    pieces.collect()
}
