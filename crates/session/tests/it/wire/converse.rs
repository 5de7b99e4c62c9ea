//! Amazon's Converse: <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html>.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{Faults, Once, list, plain, says, text};

pub(super) fn rules(body: &Value, faults: &mut Faults) {
    let messages = list(&body["messages"]);
    let (mut ids, mut documents) = (Once::default(), HashSet::new());
    let mut open: Vec<&str> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let (role, blocks) = (text(&message["role"]), list(&message["content"]));
        let turn = if place % 2 == 0 { "user" } else { "assistant" };
        faults.when(role != turn, || format!("{role} speaks at {place}"));
        faults.when(blocks.is_empty(), || format!("{role} says nothing at {place}"));
        let named = |key: &'static str| {
            let mut ids: Vec<&str> = blocks.iter().filter_map(|one| one[key]["toolUseId"].as_str()).collect();
            ids.sort_unstable();
            ids
        };
        let results = named("toolResult");
        faults.when(results != open, || format!("{results:?} answers {open:?}"));
        open = named("toolUse");
        open.iter().for_each(|id| ids.take(id, faults));
        let shows = blocks.iter().any(|one| one.get("document").is_some());
        let speaks = blocks.iter().any(|one| one.get("text").is_some());
        faults.when(shows && !speaks, || format!("a document without words at {place}"));
        let all = blocks.iter().chain(blocks.iter().flat_map(|one| list(&one["toolResult"]["content"])));
        for name in all.filter_map(|one| one["document"]["name"].as_str()) {
            faults.when(!documents.insert(name.to_owned()), || format!("two documents are called {name:?}"));
            let fits = |letter: char| letter.is_alphanumeric() || " -()[]".contains(letter);
            let odd = name.is_empty() || name.contains("  ") || !name.chars().all(fits);
            faults.when(odd, || format!("a document is called {name:?}"));
        }
        blocks.iter().for_each(|one| block(role, one, faults));
    }
    faults.when(!open.is_empty(), || format!("no result for {open:?}"));
    faults.when(messages.last().is_none_or(|last| last["role"] != "user"), || "the model has the last word".to_owned());
    let marks = body.to_string().matches("\"cachePoint\"").count();
    faults.when(marks > 4, || format!("{marks} marks"));
}

fn block(role: &str, block: &Value, faults: &mut Faults) {
    let key = block.as_object().and_then(|fields| fields.keys().next()).map(String::as_str).unwrap_or_default();
    let inside = &block[key];
    let whole = match (role, key) {
        (_, "text") => says(inside),
        (_, "cachePoint") => inside["type"] == "default",
        ("user", "image" | "document" | "video" | "audio") => {
            says(&inside["format"]) && says(&inside["source"]["bytes"])
        }
        ("user", "toolResult") => {
            let content = list(&inside["content"]);
            content.iter().for_each(|inner| self::block("user", inner, faults));
            plain(text(&inside["toolUseId"]), 64) && !content.is_empty()
        }
        ("assistant", "toolUse") => {
            plain(text(&inside["toolUseId"]), 64) && plain(text(&inside["name"]), 64) && inside["input"].is_object()
        }
        ("assistant", "reasoningContent") => {
            says(&inside["reasoningText"]["signature"]) || says(&inside["redactedContent"])
        }
        ("assistant", "citationsContent") => !list(&inside["content"]).is_empty(),
        _ => false,
    };
    faults.when(!whole, || format!("{role}'s block is none: {block}"));
}

pub(super) fn pieces(body: &Value) -> Vec<Value> {
    let messages = list(&body["messages"]).iter();
    let pieces = messages.flat_map(|one| {
        let blocks = list(&one["content"]).iter().filter(|block| block.get("cachePoint").is_none());
        blocks.map(|block| json!([one["role"], block]))
    });
    pieces.collect()
}
