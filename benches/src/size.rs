//! What of a request is the same in every session: the tools and the system prompt. Pure.

use serde_json::Value;

/// How many bytes count as one token.
pub const BYTES_PER_TOKEN: f64 = 3.6;

/// Parts of a system prompt that depend on the machine or on the project: where the agent is, and which skills it
/// found there.
const CHANGING: [&str; 3] = ["env", "available_skills", "skills_instructions"];

/// Bytes of the definitions of all tools, as JSON without spaces.
pub fn tools(body: &Value) -> usize {
    body.get("tools").map(|tools| tools.to_string().len()).unwrap_or_default()
}

/// Bytes of what the agent says to the model before the user says anything, without what depends on the place.
pub fn prompt(body: &Value) -> usize {
    let said = ["messages", "input"].iter().filter_map(|key| body[key].as_array()).flatten();
    let system = said.filter(|said| matches!(said["role"].as_str(), Some("system" | "developer")));
    let texts = system.flat_map(|said| texts(&said["content"])).chain(body["instructions"].as_str());
    texts.map(|text| unchanging(text).len()).sum()
}

/// Tokens of tools and prompt.
pub fn tokens(body: &Value) -> usize {
    ((tools(body) + prompt(body)) as f64 / BYTES_PER_TOKEN).ceil() as usize
}

/// What came of the calls in the last answer, in the order in which it is told.
pub fn results(body: &Value) -> Vec<String> {
    let said = ["messages", "input"].iter().find_map(|key| body[key].as_array());
    let mut results: Vec<String> = said
        .into_iter()
        .flatten()
        .rev()
        .map_while(|said| match (said["role"].as_str(), said["type"].as_str()) {
            (Some("tool"), _) => Some(texts(&said["content"]).concat()),
            (_, Some("function_call_output")) => Some(texts(&said["output"]).concat()),
            _ => None,
        })
        .collect();
    results.reverse();
    results
}

/// A text, or the texts in a list of parts.
fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

/// `text` without the parts that are marked as [`CHANGING`].
fn unchanging(text: &str) -> String {
    let mut left = text.to_owned();
    for name in CHANGING {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        while let Some(start) = left.find(&open)
            && let Some(length) = left[start..].find(&close)
        {
            left.replace_range(start..start + length + close.len(), "");
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_place_is_no_part_of_the_prompt() {
        let row = |text: &str, want: &str| assert_eq!(unchanging(text), want);
        row("Be good.", "Be good.");
        row("Be <env>\nhere\n</env>good.<env></env>", "Be good.");
        row("Be <env> good.", "Be <env> good.");
        row("</env>Be<env>", "</env>Be<env>");
        row("<skills_instructions>Many.</skills_instructions>Be good.", "Be good.");
    }

    #[test]
    fn both_dialects_are_counted() {
        let tools = json!([{"type": "function"}]);
        let chat = json!({"tools": tools, "messages": [
            {"role": "system", "content": "12345"}, {"role": "user", "content": "no"},
        ]});
        let responses = json!({"tools": tools, "instructions": "12", "input": [
            {"role": "developer", "content": [{"type": "input_text", "text": "345"}]},
            {"role": "user", "content": [{"type": "input_text", "text": "no"}]},
        ]});
        for body in [chat, responses] {
            assert_eq!((super::tools(&body), prompt(&body)), (r#"[{"type":"function"}]"#.len(), 5), "{body}");
            assert_eq!(tokens(&body), 8, "26 bytes are 7.2 tokens");
        }
        assert_eq!((super::tools(&json!({})), prompt(&json!({}))), (0, 0));
    }

    #[test]
    fn only_the_last_results_count() {
        let chat = json!({"messages": [
            {"role": "tool", "content": "old"},
            {"role": "assistant", "content": "…"},
            {"role": "tool", "content": "one"},
            {"role": "tool", "content": [{"type": "text", "text": "two"}]},
        ]});
        assert_eq!(results(&chat), ["one", "two"]);
        let responses = json!({"input": [
            {"type": "function_call", "name": "exec"},
            {"type": "function_call_output", "output": "one"},
            {"type": "function_call_output", "output": [{"type": "input_text", "text": "two"}]},
        ]});
        assert_eq!(results(&responses), ["one", "two"]);
        assert!(results(&json!({"messages": [{"role": "user", "content": "Go."}]})).is_empty());
    }
}
