//! Google's Gemini: <https://ai.google.dev/api/generate-content>.

use serde_json::{Value, json};

use super::{Faults, list, says, text};

pub(super) fn rules(body: &Value, faults: &mut Faults) {
    let contents = list(&body["contents"]);
    let mut open: Vec<&str> = Vec::new();
    for (place, content) in contents.iter().enumerate() {
        let (role, parts) = (text(&content["role"]), list(&content["parts"]));
        let turn = if place % 2 == 0 { "user" } else { "model" };
        faults.when(role != turn, || format!("{role} speaks at {place}"));
        faults.when(parts.is_empty(), || format!("{role} says nothing at {place}"));
        let called = |key: &'static str| {
            parts.iter().filter(move |part| part.get(key).is_some()).map(move |part| text(&part[key]["name"]))
        };
        let results: Vec<&str> = called("functionResponse").collect();
        let first = parts.iter().take_while(|part| part.get("functionResponse").is_some()).count();
        faults.when(first != results.len(), || format!("results behind other things at {place}"));
        // As many as calls, in their order.
        faults.when(results != open, || format!("{results:?} answers {open:?}"));
        open = called("functionCall").collect();
        faults.when(role != "model" && !open.is_empty(), || "the user calls".to_owned());
        faults.when(role != "user" && !results.is_empty(), || "the model answers".to_owned());
        parts.iter().for_each(|one| part(one, faults));
    }
    faults.when(!open.is_empty(), || format!("no result for {open:?}"));
    faults.when(contents.last().is_none_or(|last| last["role"] != "user"), || "the model has the last word".to_owned());
}

fn part(part: &Value, faults: &mut Faults) {
    let key = ["text", "inlineData", "functionCall", "functionResponse", "executableCode"];
    let keys: Vec<&str> = key.into_iter().filter(|key| part.get(key).is_some()).collect();
    let whole = match keys[..] {
        ["text"] => part["text"].as_str().is_some_and(|text| !text.is_empty()) || says(&part["thoughtSignature"]),
        ["inlineData"] => says(&part["inlineData"]["mimeType"]) && says(&part["inlineData"]["data"]),
        ["functionCall"] => says(&part["functionCall"]["name"]) && part["functionCall"]["args"].is_object(),
        ["functionResponse"] => {
            let response = &part["functionResponse"]["response"];
            list(&part["functionResponse"]["parts"]).iter().for_each(|inner| self::part(inner, faults));
            says(&part["functionResponse"]["name"]) && response.is_object()
        }
        ["executableCode"] => true,
        [] => says(&part["thoughtSignature"]),
        _ => false,
    };
    faults.when(!whole, || format!("a part that is none: {part}"));
}

pub(super) fn pieces(body: &Value) -> Vec<Value> {
    let contents = list(&body["contents"]).iter();
    contents.flat_map(|one| list(&one["parts"]).iter().map(|part| json!([one["role"], part]))).collect()
}
