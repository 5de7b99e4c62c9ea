//! The events of a chat completion stream as [`Chunk`]s. Pure.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::dialect::answering::{self, Chunks, MAX_CALLS, Next, Source, field_names};
use crate::dialect::ids::Ids;
use crate::sse::Event;
use crate::{Chunk, Finish, LlmError, Request, Secret, Usage};

/// The key of an item that names the field which thinking came in.
pub(super) const FIELD: &str = "field";

/// The key of an item that holds `reasoning_details`.
pub(super) const DETAILS: &str = "details";

/// One answer, as far as it has come.
pub(in crate::dialect) struct Reader {
    from: Source,
    open: Option<Open>,
    calls: Vec<Call>,
    ids: Ids,
    usage: Option<Usage>,
    reason: Option<String>,
    done: bool,
}

/// A block that has not ended.
enum Open {
    Text,
    Reasoning { field: Option<&'static str>, details: Vec<Value> },
}

struct Call {
    index: Option<u64>,
    /// The vendor's id. May be empty, or not unique.
    given: String,
    /// Ours. Empty until the call has been announced.
    id: String,
    name: String,
    arguments: String,
}

/// Borrowed from the event: most of them carry a word or two, and there are thousands.
#[derive(Deserialize)]
struct Completion<'a> {
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    /// A string; with some vendors a list of parts.
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    /// A string; other forms mean nothing known.
    reasoning: Option<&'a RawValue>,
    reasoning_details: Option<Vec<Value>>,
    tool_calls: Option<Vec<CallDelta<'a>>>,
}

#[derive(Deserialize)]
struct CallDelta<'a> {
    index: Option<u64>,
    id: Option<String>,
    #[serde(borrow)]
    function: Option<FunctionDelta<'a>>,
}

#[derive(Deserialize)]
struct FunctionDelta<'a> {
    name: Option<String>,
    /// A string; some local servers send the object itself.
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// The text of a JSON string; `None` for anything else.
fn string(raw: &RawValue) -> Option<String> {
    raw.get().starts_with('"').then(|| serde_json::from_str(raw.get()).ok()).flatten()
}

impl Reader {
    pub(in crate::dialect) fn new(provider: &str, request: &Request, secrets: &[Secret]) -> Self {
        Self {
            from: Source::new(provider, request, secrets),
            open: None,
            calls: Vec::new(),
            ids: Ids::new(request.answers() + 1),
            usage: None,
            reason: None,
            done: false,
        }
    }
}

impl answering::Reader for Reader {
    fn finished(&self) -> bool {
        self.done || self.reason.is_some()
    }

    fn push(&mut self, event: &Event, chunks: &mut Chunks) -> Result<Next, LlmError> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.done = true;
            return Ok(Next::End);
        }
        if data.is_empty() {
            return Ok(Next::More);
        }
        match serde_json::from_str::<Completion>(data) {
            Ok(Completion { error: Some(_), .. }) => return Err(self.from.failed(data)),
            Ok(_) if event.name == "error" => return Err(self.from.failed(data)),
            Ok(completion) => self.completion(completion, data, chunks)?,
            Err(_) => self.from.unreadable(event, data)?,
        }
        Ok(Next::More)
    }

    /// Calls, usage, and why it ended.
    fn end(mut self) -> Result<Chunks, LlmError> {
        if !self.finished() {
            return Err(LlmError::CutOff { provider: self.from.provider });
        }
        let mut chunks = Chunks::new();
        for at in 0..self.calls.len() {
            // A call whose name never came is still one: the model hears that there is no such tool.
            if self.calls[at].id.is_empty() {
                self.announce(at, &mut chunks);
            }
        }
        self.close(&mut chunks);
        let finish = finish(self.reason, !self.calls.is_empty());
        for Call { id, name, arguments, .. } in self.calls {
            chunks.push_back(Chunk::ToolCall { id, name, arguments, item: None });
        }
        chunks.extend(self.usage.map(Chunk::Usage));
        chunks.push_back(Chunk::Finish(finish));
        Ok(chunks)
    }
}

impl Reader {
    fn completion(&mut self, completion: Completion<'_>, data: &str, chunks: &mut Chunks) -> Result<(), LlmError> {
        let Completion { choices, usage, .. } = completion;
        if choices.is_none() && usage.is_none() {
            let event: Value = serde_json::from_str(data).unwrap_or_default();
            tracing::debug!(
                provider = self.from.provider,
                fields = field_names(&event),
                "an event that says nothing known"
            );
        }
        if let Some(usage) = usage.and_then(|usage| read_usage(&serde_json::from_str(usage.get()).ok()?)) {
            self.usage = Some(usage);
        }
        // Only one answer is ever asked for.
        let Some(Choice { delta, finish_reason }) = choices.into_iter().flatten().next() else { return Ok(()) };
        if let Some(delta) = delta {
            self.delta(delta, chunks)?;
        }
        if let Some(reason) = finish_reason.filter(|reason| !reason.is_empty()) {
            self.reason = Some(reason);
        }
        Ok(())
    }

    fn delta(&mut self, delta: Delta<'_>, chunks: &mut Chunks) -> Result<(), LlmError> {
        let Delta { content, refusal, reasoning_content, reasoning, reasoning_details, tool_calls } = delta;
        self.thinking(reasoning_content, reasoning, reasoning_details.unwrap_or_default(), chunks)?;
        match content.map(|content| (string(content), content)) {
            Some((Some(text), _)) => self.text(text, chunks)?,
            Some((None, parts)) => {
                self.parts(&serde_json::from_str::<Vec<Value>>(parts.get()).unwrap_or_default(), chunks)?
            }
            None => {}
        }
        if let Some(refusal) = refusal {
            self.text(refusal, chunks)?;
        }
        for call in tool_calls.into_iter().flatten() {
            self.call(call, chunks)?;
        }
        Ok(())
    }

    /// Vendors that fill several of the fields say the same thing in each; the first one is heard.
    fn thinking(
        &mut self,
        content: Option<String>,
        plain: Option<&RawValue>,
        details: Vec<Value>,
        chunks: &mut Chunks,
    ) -> Result<(), LlmError> {
        let plain = plain.and_then(string);
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        let (field, text) = if let Some(text) = filled(content) {
            ("reasoning_content", text)
        } else if let Some(text) = filled(plain) {
            ("reasoning", text)
        } else {
            ("reasoning_details", details.iter().filter_map(detail_text).collect())
        };
        if text.is_empty() && details.is_empty() {
            return Ok(());
        }
        self.reason_on(Some(field), text, chunks)?;
        self.from.keep(details.iter().map(|detail| detail.to_string().len()).sum())?;
        if let Some(Open::Reasoning { details: kept, .. }) = &mut self.open {
            details.into_iter().for_each(|detail| merge(kept, detail));
        }
        Ok(())
    }

    /// Opens a block of thinking, if none is open, and goes on in it.
    fn reason_on(&mut self, field: Option<&'static str>, text: String, chunks: &mut Chunks) -> Result<(), LlmError> {
        self.from.keep(text.len())?;
        if !matches!(self.open, Some(Open::Reasoning { .. })) {
            self.close(chunks);
            self.open = Some(Open::Reasoning { field, details: Vec::new() });
        }
        if !text.is_empty() {
            chunks.push_back(Chunk::Reasoning(text));
        }
        Ok(())
    }

    fn text(&mut self, text: String, chunks: &mut Chunks) -> Result<(), LlmError> {
        if text.is_empty() {
            return Ok(());
        }
        self.from.keep(text.len())?;
        if !matches!(self.open, Some(Open::Text)) {
            self.close(chunks);
            self.open = Some(Open::Text);
        }
        chunks.push_back(Chunk::Text(text));
        Ok(())
    }

    /// Some vendors send parts where others send a string, and thinking as one of them.
    fn parts(&mut self, parts: &[Value], chunks: &mut Chunks) -> Result<(), LlmError> {
        let text = |part: &Value| part["text"].as_str().unwrap_or_default().to_owned();
        for part in parts {
            match part["type"].as_str() {
                Some("text") => self.text(text(part), chunks)?,
                Some("thinking") => {
                    for part in part["thinking"].as_array().into_iter().flatten() {
                        self.reason_on(None, text(part), chunks)?;
                    }
                }
                _ => tracing::debug!(
                    provider = self.from.provider,
                    fields = field_names(part),
                    "a part that is not known"
                ),
            }
        }
        Ok(())
    }

    fn call(&mut self, delta: CallDelta<'_>, chunks: &mut Chunks) -> Result<(), LlmError> {
        let CallDelta { index, id, function } = delta;
        let (name, arguments) = function.map_or((None, None), |function| (function.name, function.arguments));
        let (id, name) = (id.unwrap_or_default(), name.unwrap_or_default());
        let arguments = arguments.map(|raw| string(raw).unwrap_or_else(|| raw.get().to_owned())).unwrap_or_default();
        let at = self.place(index, &id, &name)?;
        self.from.keep(id.len() + name.len() + arguments.len())?;
        let call = &mut self.calls[at];
        if call.name.is_empty() {
            call.name = name;
        }
        if call.given.is_empty() {
            call.given = id;
        }
        call.arguments.push_str(&arguments);
        if !call.id.is_empty() {
            if !arguments.is_empty() {
                let (id, name) = (call.id.clone(), call.name.clone());
                chunks.push_back(Chunk::ToolInput { id, name, delta: arguments });
            }
        } else if !call.name.is_empty() {
            self.announce(at, chunks);
        }
        Ok(())
    }

    /// Which call a delta belongs to; a new one if it belongs to none.
    ///
    /// An index that is used again with another id *and* a name is a new call: some vendors give every call index 0.
    /// An id alone is not enough, because others send a fresh one with every piece. Without an index, an id decides,
    /// and without both, a name begins a new call.
    fn place(&mut self, index: Option<u64>, id: &str, name: &str) -> Result<usize, LlmError> {
        let found = match index {
            Some(index) => {
                let found = self.calls.iter().rposition(|call| call.index == Some(index));
                let another =
                    |call: &Call| !id.is_empty() && !name.is_empty() && !call.given.is_empty() && call.given != id;
                found.filter(|&at| !another(&self.calls[at]))
            }
            None if !id.is_empty() => self.calls.iter().rposition(|call| call.given == id),
            None if name.is_empty() => self.calls.len().checked_sub(1),
            None => None,
        };
        if let Some(at) = found {
            return Ok(at);
        }
        if self.calls.len() == MAX_CALLS {
            return Err(self.from.malformed("an answer of at most 128 calls", "one more"));
        }
        self.calls.push(Call {
            index,
            given: id.to_owned(),
            id: String::new(),
            name: String::new(),
            arguments: String::new(),
        });
        Ok(self.calls.len() - 1)
    }

    /// Gives a call its id and says what is known of it.
    fn announce(&mut self, at: usize, chunks: &mut Chunks) {
        self.close(chunks);
        let id = self.ids.take(&self.calls[at].given, at + 1);
        let call = &mut self.calls[at];
        call.id.clone_from(&id);
        chunks.push_back(Chunk::ToolInput { id, name: call.name.clone(), delta: call.arguments.clone() });
    }

    fn close(&mut self, chunks: &mut Chunks) {
        match self.open.take() {
            None => {}
            Some(Open::Text) => chunks.push_back(Chunk::TextEnd { item: None }),
            Some(Open::Reasoning { field, details }) => {
                let value = if details.is_empty() {
                    field.map(|field| json!({FIELD: field}))
                } else {
                    Some(json!({FIELD: "reasoning_details", DETAILS: details}))
                };
                let item = value.map(|value| self.from.item(value));
                chunks.push_back(Chunk::ReasoningEnd { item });
            }
        }
    }
}

/// A stop with calls waits for them, whatever it is called.
fn finish(reason: Option<String>, calls: bool) -> Finish {
    match reason.as_deref() {
        Some("length" | "max_tokens") => Finish::Length,
        Some("content_filter") => Finish::ContentFilter,
        None | Some("stop" | "eos" | "end_turn" | "tool_calls" | "function_call") if calls => Finish::ToolCalls,
        Some("stop" | "eos" | "end_turn") => Finish::Stop,
        None => Finish::Unknown,
        Some(_) => Finish::Other(reason.unwrap_or_default()),
    }
}

fn detail_text(detail: &Value) -> Option<&str> {
    detail["text"].as_str().or_else(|| detail["summary"].as_str())
}

/// Puts `detail` behind `kept`, or grows the last one if it is a further piece of that: the vendor wants whole ones
/// back.
fn merge(kept: &mut Vec<Value>, detail: Value) {
    let same = |key: &str, last: &Value| last.get(key) == detail.get(key);
    let grows = kept.last().is_some_and(|last| same("type", last) && same("index", last));
    let Some(last) = kept.last_mut().filter(|_| grows).and_then(Value::as_object_mut) else {
        kept.push(detail);
        return;
    };
    let Value::Object(fields) = detail else { return };
    for (key, value) in fields {
        match (last.get_mut(&key), value) {
            (_, Value::Null) => {}
            (Some(Value::String(all)), Value::String(more)) if matches!(&*key, "text" | "summary" | "data") => {
                all.push_str(&more);
            }
            (_, value) => {
                last.insert(key, value);
            }
        }
    }
}

/// What was used, in kinds that do not overlap.
fn read_usage(usage: &Value) -> Option<Usage> {
    let number = |value: &Value| value.as_u64().or_else(|| value.as_f64().map(|number| number as u64));
    let get = |path: &str| usage.pointer(path).and_then(number);
    let (prompt, completion) = (get("/prompt_tokens"), get("/completion_tokens"));
    if prompt.is_none() && completion.is_none() {
        return None;
    }
    let (prompt, completion) = (prompt.unwrap_or(0), completion.unwrap_or(0));
    let cached = ["/prompt_tokens_details/cached_tokens", "/prompt_cache_hit_tokens", "/cached_tokens"];
    let cache_read = cached.into_iter().find_map(get).unwrap_or(0);
    let cache_write = get("/prompt_tokens_details/cache_write_tokens").unwrap_or(0);
    let reasoning = get("/completion_tokens_details/reasoning_tokens").unwrap_or(0);
    let total = get("/total_tokens");
    // Most vendors count thinking as a part of the completion, some beside it; the total tells.
    let beside = reasoning > completion || total.is_some_and(|total| total == prompt + completion + reasoning);
    Some(Usage {
        total,
        input: prompt.saturating_sub(cache_read).saturating_sub(cache_write),
        output: if beside { completion } else { completion - reasoning },
        reasoning,
        cache_read,
        cache_write,
    })
}
