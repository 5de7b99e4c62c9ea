//! The events of a messages stream as [`Chunk`]s. Pure.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::blocks::{CITATIONS, REDACTED, SIGNATURE};
use crate::dialect::answering::{self, Chunks, MAX_CALLS, Next, Source, field_names};
use crate::dialect::ids::Ids;
use crate::sse::Event;
use crate::{Chunk, Finish, LlmError, Request, Secret, Usage};

/// Most blocks that are open at once. The interface has one at a time.
const MAX_OPEN: usize = 256;

/// One answer, as far as it has come.
pub(in crate::dialect) struct Reader {
    from: Source,
    /// The blocks that have not ended, by their index.
    blocks: Vec<(u64, Block)>,
    /// The index of the block of words or thoughts that chunks are in.
    open: Option<u64>,
    ids: Ids,
    calls: usize,
    usage: Option<Counts>,
    reason: Option<String>,
    done: bool,
}

/// A block that has not ended.
enum Block {
    Text {
        citations: Vec<Value>,
        /// Whether it has words. Without, there is nothing to end.
        said: bool,
    },
    Thinking {
        signature: String,
        said: bool,
    },
    Redacted {
        data: String,
    },
    Call {
        id: String,
        name: String,
        /// The arguments as they came with the beginning of the block; they hold if none follow.
        whole: String,
        arguments: String,
    },
    /// A block that this dialect does not know, or one of the vendor's own tools: kept as it is.
    Vendor {
        block: Value,
        input: String,
    },
}

/// The kinds of events.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    MessageStart,
    ContentBlockStart,
    ContentBlockDelta,
    ContentBlockStop,
    MessageDelta,
    MessageStop,
    Ping,
    Error,
    #[serde(other)]
    Unknown,
}

/// Borrowed from the event: most of them carry a word or two, and there are thousands.
#[derive(Deserialize)]
struct Said<'a> {
    r#type: Option<Kind>,
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    content_block: Option<&'a RawValue>,
    message: Option<Begun>,
    usage: Option<Counts>,
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Begun {
    usage: Option<Counts>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Delta {
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    partial_json: Option<String>,
    citation: Option<Value>,
}

#[derive(Deserialize)]
struct Ended {
    stop_reason: Option<String>,
}

impl Reader {
    pub(in crate::dialect) fn new(provider: &str, request: &Request, secrets: &[Secret]) -> Self {
        Self {
            from: Source::new(provider, request, secrets),
            blocks: Vec::new(),
            open: None,
            ids: Ids::new(request.answers() + 1),
            calls: 0,
            usage: None,
            reason: None,
            done: false,
        }
    }
}

impl answering::Reader for Reader {
    fn push(&mut self, event: &Event, chunks: &mut Chunks) -> Result<Next, LlmError> {
        let data = event.data.trim();
        if data.is_empty() {
            return Ok(Next::More);
        }
        // Some gateways end as chat completions do.
        if data == "[DONE]" {
            self.done = true;
            return Ok(Next::End);
        }
        let told: Said<'_> = match serde_json::from_str(data) {
            Ok(told) => told,
            Err(_) => return self.from.unreadable(event, data).map(|()| Next::More),
        };
        if told.error.is_some() || event.name == "error" {
            return Err(self.from.failed(data));
        }
        match told.r#type {
            Some(Kind::MessageStart) => self.count(told.message.and_then(|message| message.usage)),
            Some(Kind::ContentBlockStart) => self.begin(told.index.unwrap_or(0), told.content_block, chunks)?,
            Some(Kind::ContentBlockDelta) => self.delta(told.index.unwrap_or(0), told.delta, chunks)?,
            Some(Kind::ContentBlockStop) => self.stop(told.index.unwrap_or(0), chunks),
            Some(Kind::MessageDelta) => {
                let ended = told.delta.and_then(|delta| serde_json::from_str::<Ended>(delta.get()).ok());
                self.reason = ended.and_then(|ended| ended.stop_reason).or(self.reason.take());
                self.count(told.usage);
            }
            Some(Kind::MessageStop) => {
                self.done = true;
                return Ok(Next::End);
            }
            Some(Kind::Ping) => {}
            Some(Kind::Error) => return Err(self.from.failed(data)),
            Some(Kind::Unknown) | None => {
                let event: Value = serde_json::from_str(data).unwrap_or_default();
                tracing::debug!(
                    provider = self.from.provider,
                    fields = field_names(&event),
                    "an event that is not known"
                );
            }
        }
        Ok(Next::More)
    }

    fn finished(&self) -> bool {
        self.done || self.reason.is_some()
    }

    /// What is still open, usage, and why it ended.
    fn end(mut self) -> Result<Chunks, LlmError> {
        if !self.finished() {
            return Err(LlmError::CutOff { provider: self.from.provider });
        }
        let mut chunks = Chunks::new();
        while let Some(&(index, _)) = self.blocks.first() {
            self.stop(index, &mut chunks);
        }
        chunks.extend(self.usage.map(|counts| Chunk::Usage(usage(counts))));
        chunks.push_back(Chunk::Finish(finish(self.reason, self.calls > 0)));
        Ok(chunks)
    }
}

impl Reader {
    fn begin(&mut self, index: u64, block: Option<&RawValue>, chunks: &mut Chunks) -> Result<(), LlmError> {
        let Some(block) = block else { return Ok(()) };
        self.from.keep(block.get().len())?;
        // An index that begins again without an end in between.
        self.stop(index, chunks);
        self.room()?;
        let block: Value = serde_json::from_str(block.get()).unwrap_or_default();
        let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
        match block["type"].as_str() {
            Some("text") => {
                let citations = block["citations"].as_array().cloned().unwrap_or_default();
                self.blocks.push((index, Block::Text { citations, said: false }));
                self.say(index, text("text"), chunks);
            }
            Some("thinking") => {
                self.blocks.push((index, Block::Thinking { signature: text("signature"), said: false }));
                self.say(index, text("thinking"), chunks);
            }
            Some("redacted_thinking") => self.blocks.push((index, Block::Redacted { data: text("data") })),
            Some("tool_use") => {
                self.close(chunks);
                if self.calls == MAX_CALLS {
                    return Err(self.from.malformed("an answer of at most 128 calls", "one more"));
                }
                self.calls += 1;
                let id = self.ids.take(block["id"].as_str().unwrap_or_default(), self.calls);
                let name = text("name");
                let whole = match &block["input"] {
                    Value::Null => "{}".to_owned(),
                    Value::String(text) => text.clone(),
                    input => input.to_string(),
                };
                chunks.push_back(Chunk::ToolInput { id: id.clone(), name: name.clone(), delta: String::new() });
                self.blocks.push((index, Block::Call { id, name, whole, arguments: String::new() }));
            }
            _ => {
                tracing::debug!(
                    provider = self.from.provider,
                    fields = field_names(&block),
                    "a block of the vendor's own"
                );
                self.blocks.push((index, Block::Vendor { block, input: String::new() }));
            }
        }
        Ok(())
    }

    fn delta(&mut self, index: u64, delta: Option<&RawValue>, chunks: &mut Chunks) -> Result<(), LlmError> {
        let Some(raw) = delta else { return Ok(()) };
        let Ok(delta) = serde_json::from_str::<Delta>(raw.get()) else {
            tracing::warn!(provider = self.from.provider, "a piece of an unknown form is left out");
            return Ok(());
        };
        if !self.blocks.iter().any(|(at, _)| *at == index) {
            self.room()?;
            // Some servers begin without saying so; the piece tells what it belongs to.
            let block = if delta.text.is_some() {
                Block::Text { citations: Vec::new(), said: false }
            } else if delta.thinking.is_some() || delta.signature.is_some() {
                Block::Thinking { signature: String::new(), said: false }
            } else {
                tracing::warn!(provider = self.from.provider, "a piece of a block that never began is left out");
                return Ok(());
            };
            self.blocks.push((index, block));
        }
        self.from.keep(raw.get().len())?;
        let Some((_, block)) = self.blocks.iter_mut().find(|(at, _)| *at == index) else { return Ok(()) };
        match block {
            Block::Text { citations, .. } => {
                citations.extend(delta.citation);
                self.say(index, delta.text.unwrap_or_default(), chunks);
            }
            Block::Thinking { signature, .. } => {
                signature.push_str(&delta.signature.unwrap_or_default());
                self.say(index, delta.thinking.unwrap_or_default(), chunks);
            }
            Block::Redacted { .. } => {}
            Block::Call { id, name, arguments, .. } => {
                let delta = delta.partial_json.unwrap_or_default();
                if !delta.is_empty() {
                    arguments.push_str(&delta);
                    chunks.push_back(Chunk::ToolInput { id: id.clone(), name: name.clone(), delta });
                }
            }
            Block::Vendor { block, input } => match delta.partial_json {
                Some(piece) => input.push_str(&piece),
                None => grow(block, serde_json::from_str(raw.get()).unwrap_or_default()),
            },
        }
        Ok(())
    }

    /// Whether another block may begin.
    fn room(&self) -> Result<(), LlmError> {
        match self.blocks.len() < MAX_OPEN {
            true => Ok(()),
            false => Err(self.from.malformed("an answer of at most 256 blocks at a time", "one more")),
        }
    }

    /// Goes on in the block of words or thoughts at `index`.
    fn say(&mut self, index: u64, text: String, chunks: &mut Chunks) {
        if text.is_empty() {
            return;
        }
        if self.open != Some(index) {
            self.close(chunks);
            self.open = Some(index);
        }
        match self.blocks.iter_mut().find(|(at, _)| *at == index) {
            Some((_, Block::Text { said, .. })) => {
                *said = true;
                chunks.push_back(Chunk::Text(text));
            }
            Some((_, Block::Thinking { said, .. })) => {
                *said = true;
                chunks.push_back(Chunk::Reasoning(text));
            }
            Some((_, Block::Redacted { .. } | Block::Call { .. } | Block::Vendor { .. })) | None => {}
        }
    }

    /// Ends the block of words or thoughts that is open, because something else begins before its own end came.
    fn close(&mut self, chunks: &mut Chunks) {
        if let Some(index) = self.open {
            self.stop(index, chunks);
        }
    }

    /// Ends the block at `index`, if there is one.
    fn stop(&mut self, index: u64, chunks: &mut Chunks) {
        let Some(at) = self.blocks.iter().position(|(open, _)| *open == index) else { return };
        let (_, block) = self.blocks.remove(at);
        if self.open == Some(index) {
            self.open = None;
        } else {
            // Nothing else may come between the pieces of what is open.
            self.close(chunks);
        }
        let item = |value| self.from.item(value);
        let chunk = match block {
            Block::Text { citations, said } => {
                let cited = (!citations.is_empty()).then(|| item(json!({CITATIONS: citations})));
                said.then_some(Chunk::TextEnd { item: cited })
            }
            // What it thought may be kept from us; the signature alone is then worth giving back.
            Block::Thinking { signature, said } => {
                let signed = (!signature.is_empty()).then(|| item(json!({SIGNATURE: signature})));
                (said || signed.is_some()).then_some(Chunk::ReasoningEnd { item: signed })
            }
            Block::Redacted { data } => Some(Chunk::ReasoningEnd { item: Some(item(json!({REDACTED: data}))) }),
            Block::Call { id, name, whole, arguments } => {
                let arguments = if arguments.is_empty() { whole } else { arguments };
                Some(Chunk::ToolCall { id, name, arguments, item: None })
            }
            Block::Vendor { mut block, input } => {
                if !input.is_empty() {
                    block["input"] = serde_json::from_str(&input).unwrap_or(Value::String(input));
                }
                Some(Chunk::Vendor(item(block)))
            }
        };
        chunks.extend(chunk);
    }

    /// Counts come at the beginning and at the end; a later one holds, unless it is a nought that a server fills in.
    fn count(&mut self, more: Option<Counts>) {
        let Some(more) = more else { return };
        let all = self.usage.get_or_insert_default();
        let newer = |old: &mut Option<u64>, new: Option<u64>| *old = new.filter(|&count| count > 0).or(*old).or(new);
        newer(&mut all.input_tokens, more.input_tokens);
        newer(&mut all.output_tokens, more.output_tokens);
        newer(&mut all.cache_read_input_tokens, more.cache_read_input_tokens);
        newer(&mut all.cache_creation_input_tokens, more.cache_creation_input_tokens);
    }
}

/// Adds a piece of a kind this dialect does not know to the block that it belongs to: text grows, all else replaces.
fn grow(block: &mut Value, delta: Value) {
    let (Some(block), Value::Object(fields)) = (block.as_object_mut(), delta) else { return };
    for (key, value) in fields {
        match (block.get_mut(&key), value) {
            _ if key == "type" => {}
            (Some(Value::String(all)), Value::String(more)) => all.push_str(&more),
            (_, value) => {
                block.insert(key, value);
            }
        }
    }
}

/// A stop with calls waits for them, whatever it is called.
fn finish(reason: Option<String>, calls: bool) -> Finish {
    match reason.as_deref() {
        Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
        Some("refusal") => Finish::ContentFilter,
        None | Some("end_turn" | "stop_sequence" | "tool_use" | "stop") if calls => Finish::ToolCalls,
        Some("end_turn" | "stop_sequence" | "stop") => Finish::Stop,
        None => Finish::Unknown,
        Some(_) => Finish::Other(reason.unwrap_or_default()),
    }
}

/// This dialect's kinds do not overlap, and thinking is counted as output.
fn usage(counts: Counts) -> Usage {
    Usage {
        total: None,
        input: counts.input_tokens.unwrap_or(0),
        output: counts.output_tokens.unwrap_or(0),
        reasoning: 0,
        cache_read: counts.cache_read_input_tokens.unwrap_or(0),
        cache_write: counts.cache_creation_input_tokens.unwrap_or(0),
    }
}
