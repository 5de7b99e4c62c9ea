//! Which tools a request offers.

use std::sync::Arc;

use serde_json::json;

use super::Quirks;
use crate::{AssistantPart, Message, Request, ToolChoice, ToolSpec};

/// The name of the tool that does nothing.
const NOOP: &str = "_noop";

/// Leaves out tools that nobody can call, and offers one that does nothing where past calls are refused without any.
pub(super) fn offer(quirks: &Quirks, placeholder: bool, request: &mut Request) {
    if quirks.no_tools {
        request.tools = Arc::default();
    }
    let offers = !request.tools.is_empty() && request.tool_choice != ToolChoice::None;
    if placeholder && !offers && has_calls(request) {
        request.tools = Arc::new(vec![ToolSpec {
            name: NOOP.to_owned(),
            description: "Never call this. It stands here because earlier messages hold tool calls.".to_owned(),
            parameters: json!({"type": "object", "properties": {}}),
        }]);
        // Not offered, it would not stand there.
        request.tool_choice = ToolChoice::Auto;
    }
}

fn has_calls(request: &Request) -> bool {
    let is_call = |part: &AssistantPart| matches!(part, AssistantPart::ToolCall { .. });
    request.messages.iter().any(|message| match &**message {
        Message::Assistant { parts } => parts.iter().any(is_call),
        Message::User { .. } | Message::Tools { .. } => false,
    })
}
