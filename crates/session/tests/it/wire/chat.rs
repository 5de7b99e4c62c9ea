//! OpenAI's chat completions: <https://platform.openai.com/docs/api-reference/chat/create>.

use serde_json::{Value, json};

use super::{Faults, Once, list, plain, text};

pub(super) fn rules(body: &Value, faults: &mut Faults) {
    let messages = list(&body["messages"]);
    let mut ids = Once::default();
    let mut open: Vec<&str> = Vec::new();
    let mut began = false;
    for (place, message) in messages.iter().enumerate() {
        let role = text(&message["role"]);
        if role != "tool" {
            faults.when(!open.is_empty(), || format!("no result for {open:?} before {role}"));
            open.clear();
        }
        match role {
            "system" => faults.when(place > 0, || "a system message in the middle".to_owned()),
            "user" => said(&message["content"], faults),
            "assistant" => {
                faults.when(!began, || "the model begins".to_owned());
                let calls = list(&message["tool_calls"]);
                let thinks = ["reasoning_content", "reasoning", "reasoning_details"]
                    .iter()
                    .any(|key| message.get(key).is_some());
                let silent = message["content"].as_str().is_none_or(str::is_empty);
                faults.when(silent && calls.is_empty() && !thinks, || format!("an empty answer: {message}"));
                faults.when(message.get("tool_calls").is_some() && calls.is_empty(), || {
                    "an empty list of calls".to_owned()
                });
                for call in calls {
                    let (id, function) = (text(&call["id"]), &call["function"]);
                    ids.take(id, faults);
                    open.push(id);
                    faults.when(id.is_empty(), || "a call without an id".to_owned());
                    faults.when(!plain(text(&function["name"]), 64), || format!("the name of {call}"));
                    let arguments: Option<Value> = serde_json::from_str(text(&function["arguments"])).ok();
                    faults.when(!arguments.is_some_and(|it| it.is_object()), || format!("arguments of {call}"));
                }
            }
            "tool" => {
                let id = text(&message["tool_call_id"]);
                match open.iter().position(|one| *one == id) {
                    Some(at) => drop(open.remove(at)),
                    None => faults.0.push(format!("a result for {id:?}, which nobody called or which has one")),
                }
                faults.when(!message["content"].is_string(), || format!("a result that is no text: {message}"));
            }
            other => faults.0.push(format!("the role {other:?}")),
        }
        began |= role == "user";
    }
    faults.when(messages.last().is_none_or(|last| last["role"] == "assistant"), || {
        "the model has the last word".to_owned()
    });
}

fn said(content: &Value, faults: &mut Faults) {
    let parts = list(content);
    faults.when(content.as_str().is_none_or(str::is_empty) && parts.is_empty(), || "an empty prompt".to_owned());
    for part in parts {
        let url = text(&part["image_url"]["url"]);
        let whole = match text(&part["type"]) {
            "text" => part["text"].as_str().is_some_and(|text| !text.is_empty()),
            "image_url" => url.starts_with("data:image/") && !url.ends_with("base64,"),
            "file" => text(&part["file"]["file_data"]).starts_with("data:application/pdf;base64,"),
            "input_audio" => ["wav", "mp3"].contains(&text(&part["input_audio"]["format"])),
            _ => false,
        };
        faults.when(!whole, || format!("a part that is none: {part}"));
    }
}

/// Those of Mistral beside: <https://docs.mistral.ai/api>.
pub(super) fn mistral_rules(body: &Value, faults: &mut Faults) {
    rules(body, faults);
    let messages = list(&body["messages"]);
    for call in messages.iter().flat_map(|message| list(&message["tool_calls"])) {
        let id = text(&call["id"]);
        let fits = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        faults.when(!fits, || format!("the id {id:?}"));
    }
    for two in messages.windows(2) {
        let words = two[0]["role"] == "tool" && two[1]["role"] == "user";
        faults.when(words, || "words of the user right behind a result".to_owned());
    }
}

pub(super) fn pieces(body: &Value) -> Vec<Value> {
    let unmarked = |message: &Value| {
        let mut message = message.clone();
        if let Some(fields) = message.as_object_mut() {
            fields.remove("cache_control");
        }
        if let Some(words) = message["content"].as_str() {
            message["content"] = json!([{"type": "text", "text": words}]);
        }
        for part in message["content"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            part.remove("cache_control");
        }
        message
    };
    list(&body["messages"]).iter().map(unmarked).collect()
}
