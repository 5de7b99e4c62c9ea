//! An answer of before, as it is given back to the model.

use std::borrow::Cow;

use serde::Serialize as Derive;
use serde::ser::{Serialize, Serializer};
use serde_json::Value;

use super::read::{DETAILS, FIELD};
use super::wire::append;
use crate::dialect::arguments::readable;
use crate::{AssistantPart, Item};

/// What an assistant said, thought and called.
#[derive(Derive)]
pub(super) struct Answer<'a> {
    /// `null` beside calls; servers want the key. Never `null` alone.
    content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<&'a Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    /// All thinking, under the name that the settings give.
    #[serde(flatten)]
    thinking: Option<Thinking<'a>>,
}

struct Thinking<'a> {
    field: &'a str,
    text: Cow<'a, str>,
}

impl Serialize for Thinking<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.field, &self.text)])
    }
}

#[derive(Derive)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Called<'a>,
}

#[derive(Derive)]
struct Called<'a> {
    name: &'a str,
    arguments: Cow<'a, str>,
}

impl<'a> Answer<'a> {
    /// `None`: nothing of it can be sent, and many servers refuse an answer without anything.
    pub(super) fn of(
        parts: &'a [AssistantPart],
        provider: &str,
        model: &str,
        thinking_field: Option<&'a str>,
    ) -> Option<Self> {
        let mut text = None;
        let mut answer = Self {
            content: None,
            reasoning_content: None,
            reasoning: None,
            reasoning_details: Vec::new(),
            tool_calls: Vec::new(),
            thinking: thinking_field.map(|field| Thinking { field, text: "".into() }),
        };
        for part in parts {
            if let (AssistantPart::Reasoning { text, .. }, Some(thinking)) = (part, &mut answer.thinking) {
                thinking.text.to_mut().push_str(text);
            }
            match part {
                AssistantPart::Text { text: more, .. } => append(&mut text, more),
                AssistantPart::Reasoning { text, item: Some(item) }
                    if thinking_field.is_none() && item.vendor == provider && item.model == model =>
                {
                    answer.give_back(text, item);
                }
                AssistantPart::ToolCall { id, name, arguments, .. } => {
                    let function = Called { name, arguments: readable(arguments) };
                    answer.tool_calls.push(Call { id, r#type: "function", function });
                }
                // Thinking of somebody else, and items that this dialect does not make.
                AssistantPart::Reasoning { .. } | AssistantPart::Vendor { .. } => {}
            }
        }
        answer.content = text.filter(|text| !text.is_empty());
        if answer.content.is_none() && answer.tool_calls.is_empty() {
            answer.content = Some("".into());
            let thought = answer.thinking.as_ref().is_some_and(|thinking| !thinking.text.is_empty());
            let given_back = answer.reasoning_content.is_some() || answer.reasoning.is_some();
            (thought || given_back || !answer.reasoning_details.is_empty()).then_some(())?;
        }
        Some(answer)
    }

    fn give_back(&mut self, text: &'a str, item: &'a Item) {
        match item.value[FIELD].as_str() {
            Some("reasoning_content") => append(&mut self.reasoning_content, text),
            Some("reasoning") => append(&mut self.reasoning, text),
            Some("reasoning_details") => {
                self.reasoning_details.extend(item.value[DETAILS].as_array().into_iter().flatten())
            }
            _ => {}
        }
    }
}
