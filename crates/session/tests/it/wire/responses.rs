//! OpenAI's responses: <https://platform.openai.com/docs/api-reference/responses/create>.

use serde_json::Value;

use super::{Faults, Once, list, plain, says, text};

pub(super) fn rules(body: &Value, faults: &mut Faults) {
    let items = list(&body["input"]);
    let mut ids = Once::default();
    let mut open: Vec<&str> = Vec::new();
    let mut began = false;
    for (place, item) in items.iter().enumerate() {
        let (kind, role) = (text(&item["type"]), text(&item["role"]));
        let result = kind == "function_call_output";
        // The calls of an answer stand together, and their results behind them.
        let closes = !result && kind != "function_call" && role != "assistant" && kind == "message";
        faults.when(closes && !open.is_empty(), || format!("no result for {open:?} before {item}"));
        match kind {
            "message" if role == "user" => {
                began = true;
                let parts = list(&item["content"]);
                faults.when(parts.is_empty(), || "an empty prompt".to_owned());
                parts.iter().for_each(|part| said(part, faults));
            }
            "message" if role == "assistant" => {
                faults.when(!began, || "the model begins".to_owned());
                let words = item["content"].as_str().is_some_and(|text| !text.is_empty());
                faults.when(!words && list(&item["content"]).is_empty(), || format!("an empty answer: {item}"));
            }
            "message" => faults.when(place > 0, || format!("{role} in the middle")),
            "function_call" => {
                let id = text(&item["call_id"]);
                ids.take(id, faults);
                open.push(id);
                faults.when(id.is_empty() || id.len() > 64, || format!("the id {id:?}"));
                faults.when(!plain(text(&item["name"]), 64), || format!("the name of {item}"));
                let arguments: Option<Value> = serde_json::from_str(text(&item["arguments"])).ok();
                faults.when(!arguments.is_some_and(|it| it.is_object()), || format!("arguments of {item}"));
            }
            "function_call_output" => {
                let id = text(&item["call_id"]);
                match open.iter().position(|one| *one == id) {
                    Some(at) => drop(open.remove(at)),
                    None => faults.0.push(format!("a result for {id:?}, which nobody called or which has one")),
                }
                let parts = list(&item["output"]);
                faults.when(!item["output"].is_string() && parts.is_empty(), || format!("no output: {item}"));
                parts.iter().for_each(|part| said(part, faults));
            }
            "reasoning" => {
                faults.when(!says(&item["encrypted_content"]), || format!("a thought that nobody can read: {item}"));
                faults.when(!item["summary"].is_array(), || format!("a thought without a summary: {item}"));
                let next = items.get(place + 1);
                let own = next.is_some_and(|next| next["role"] != "user" && next["type"] != "function_call_output");
                faults.when(!own, || "a thought with nothing behind it".to_owned());
            }
            // The vendor's own, given back as they came.
            other => faults.when(other.is_empty(), || format!("an item that is none: {item}")),
        }
        // What is not kept has no id that could be found.
        faults.when(body["store"] == false && item.get("id").is_some(), || format!("an id of nothing: {item}"));
    }
    faults.when(!open.is_empty(), || format!("no result for {open:?}"));
    let last = items.last().map(|item| (text(&item["type"]), text(&item["role"])));
    faults.when(last != Some(("message", "user")), || "the user does not have the last word".to_owned());
}

fn said(part: &Value, faults: &mut Faults) {
    let whole = match text(&part["type"]) {
        "input_text" => part["text"].as_str().is_some_and(|text| !text.is_empty()),
        "input_image" => {
            let url = text(&part["image_url"]);
            url.starts_with("data:image/") && !url.ends_with("base64,")
        }
        "input_file" => text(&part["file_data"]).starts_with("data:application/pdf;base64,") && says(&part["filename"]),
        _ => false,
    };
    faults.when(!whole, || format!("a part that is none: {part}"));
}

pub(super) fn pieces(body: &Value) -> Vec<Value> {
    list(&body["input"]).to_vec()
}
