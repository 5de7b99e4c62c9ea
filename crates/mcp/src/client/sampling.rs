//! A server that wants the session's model to write something: only where the settings allow it, and the person or a rule
//! of theirs says yes. Within bounds, in plain words, and without the conversation.
#![expect(deprecated, reason = "servers of today borrow models")]

use haft_permission::{Access, Builtin};
use haft_tool::{Call, Said, Sampling};
use rmcp::ErrorData;
use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, Role, SamplingContent, SamplingMessage,
    SamplingMessageContentBlock,
};

use super::naming::clean;

/// The permission under which a server has the model answer.
pub const PERMISSION: &str = "mcp_sampling";
/// Most answers that a server may want during one call.
pub const MAX_ANSWERS: usize = 8;
/// Most messages of one wish.
pub const MAX_MESSAGES: usize = 100;
/// Most bytes of one wish.
pub const MAX_ASKED: usize = 256 * 1024;
/// Most tokens of an answer.
pub const MAX_OUTPUT: u64 = 8_192;

/// Answers what `server` wants of the model during `call`.
///
/// # Errors
///
/// For the server: it wants what is not done here, somebody said no, or the model does not answer.
pub(super) async fn answer(
    call: &Call,
    server: &str,
    asked: &CreateMessageRequestParams,
) -> Result<CreateMessageResult, ErrorData> {
    let wish = wish(asked)?;
    let shown: Vec<String> = wish.messages.iter().map(|said| clean(&said.text)).collect();
    let access = Access::new(PERMISSION, server).show("server", server).show("system", clean(&wish.system));
    let access = access.show("messages", shown).show("tokens", wish.max_output);
    let access = Access { builtin: Builtin::NeverAllows, ..access };
    // The number that the protocol has for a person's no.
    let no = |why: String| ErrorData::new(rmcp::model::ErrorCode(-1), why, None);
    let grant = call.ask(access).await.map_err(|_| no("the user did not agree".to_owned()))?;
    let sampled = call.sample(&grant, wish).await.map_err(|error| no(error.to_string()))?;
    let result = CreateMessageResult::new(SamplingMessage::assistant_text(sampled.text), sampled.model);
    Ok(result.with_stop_reason(match sampled.cut {
        true => CreateMessageResult::STOP_REASON_END_MAX_TOKEN,
        false => CreateMessageResult::STOP_REASON_END_TURN,
    }))
}

/// What is wanted, brought within bounds. Pure.
fn wish(asked: &CreateMessageRequestParams) -> Result<Sampling, ErrorData> {
    let no = |why: String| ErrorData::invalid_params(why, None);
    if asked.tools.as_ref().is_some_and(|tools| !tools.is_empty()) {
        return Err(no("the model calls no tools here".to_owned()));
    }
    if asked.messages.len() > MAX_MESSAGES {
        return Err(no(format!("more than {MAX_MESSAGES} messages")));
    }
    let mut messages = Vec::new();
    for message in &asked.messages {
        let blocks = match &message.content {
            SamplingContent::Single(block) => std::slice::from_ref(block),
            SamplingContent::Multiple(blocks) => blocks,
        };
        let mut words = Vec::new();
        for block in blocks {
            match block {
                SamplingMessageContentBlock::Text(text) => words.push(text.text.as_str()),
                _ => return Err(no("only text is answered here".to_owned())),
            }
        }
        messages.push(Said { by_model: message.role == Role::Assistant, text: words.join("\n") });
    }
    let system = asked.system_prompt.clone().unwrap_or_default();
    if system.len() + messages.iter().map(|said| said.text.len()).sum::<usize>() > MAX_ASKED {
        return Err(no(format!("more than {MAX_ASKED} bytes")));
    }
    if messages.iter().all(|said| said.text.trim().is_empty()) {
        return Err(no("nothing is asked".to_owned()));
    }
    let max_output = u64::from(asked.max_tokens).clamp(1, MAX_OUTPUT);
    let temperature = asked.temperature.map(f64::from).filter(|wanted| (0.0..=2.0).contains(wanted));
    Ok(Sampling { system, messages, max_output, temperature })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn wanted(asked: Value) -> Result<Sampling, String> {
        wish(&serde_json::from_value(asked).unwrap()).map_err(|error| error.message.into_owned())
    }

    fn text(text: &str) -> Value {
        json!({"role": "user", "content": {"type": "text", "text": text}})
    }

    #[test]
    fn words_are_asked_within_bounds() {
        let said =
            json!({"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]});
        let got = wanted(json!({"messages": [text("hi"), said], "systemPrompt": "Be brief.", "maxTokens": 99_999}));
        let got = got.unwrap();
        assert_eq!((got.system.as_str(), got.max_output, got.temperature), ("Be brief.", MAX_OUTPUT, None));
        let row = |at: usize| (got.messages[at].by_model, got.messages[at].text.as_str());
        assert_eq!((row(0), row(1)), ((false, "hi"), (true, "a\nb")));
    }

    #[test]
    fn what_is_not_done_here_is_refused() {
        let row = |messages: Value, want: &str| {
            assert_eq!(wanted(json!({"messages": messages, "maxTokens": 5})).unwrap_err(), want);
        };
        row(json!([]), "nothing is asked");
        row(json!([text(" ")]), "nothing is asked");
        row(json!(vec![text("x"); MAX_MESSAGES + 1]), "more than 100 messages");
        row(json!([text(&"x".repeat(MAX_ASKED + 1))]), "more than 262144 bytes");
        let image = json!({"role": "user", "content": {"type": "image", "data": "AA==", "mimeType": "image/png"}});
        row(json!([image]), "only text is answered here");
        let tools = json!([{"name": "t", "inputSchema": {"type": "object"}}]);
        let with = json!({"messages": [text("x")], "maxTokens": 5, "tools": tools});
        assert_eq!(wanted(with).unwrap_err(), "the model calls no tools here");
    }
}
