//! The events of a Converse stream as [`Chunk`]s. Pure.

use std::collections::HashMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::blocks::{CITATIONS, REDACTED, SIGNATURE};
use super::tools::renamed;
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
    /// What tools are called here, by their names on the wire where these differ.
    renamed: HashMap<String, String>,
    usage: Option<Counts>,
    reason: Option<String>,
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
        /// In base64, in as many pieces as came.
        redacted: Vec<String>,
        said: bool,
    },
    Call {
        id: String,
        name: String,
        arguments: String,
    },
    /// A call that the vendor carries out itself.
    OwnCall {
        call: Map<String, Value>,
        input: String,
    },
    /// What came of one.
    OwnResult {
        result: Map<String, Value>,
        content: Vec<Value>,
    },
    /// A block that this dialect does not know, and that cannot be given back.
    Unknown,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    content_block_index: Option<u64>,
    start: Option<Start>,
    delta: Option<Delta>,
    stop_reason: Option<String>,
    usage: Option<Counts>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Start {
    tool_use: Option<Map<String, Value>>,
    tool_result: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Delta {
    text: Option<String>,
    tool_use: Option<Input>,
    tool_result: Option<Vec<Value>>,
    reasoning_content: Option<Thought>,
    citation: Option<Value>,
}

#[derive(Deserialize)]
struct Input {
    input: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thought {
    text: Option<String>,
    signature: Option<String>,
    redacted_content: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    total_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_write_input_tokens: Option<u64>,
}

impl Reader {
    pub(in crate::dialect) fn new(provider: &str, request: &Request, secrets: &[Secret]) -> Self {
        Self {
            from: Source::new(provider, request, secrets),
            blocks: Vec::new(),
            open: None,
            ids: Ids::new(request.answers() + 1),
            calls: 0,
            renamed: renamed(request),
            usage: None,
            reason: None,
        }
    }
}

impl answering::Reader for Reader {
    fn push(&mut self, event: &Event, chunks: &mut Chunks) -> Result<Next, LlmError> {
        let data = event.data.trim();
        if event.name == "error" {
            return Err(self.from.failed(data));
        }
        if data.is_empty() {
            return Ok(Next::More);
        }
        let said: Said = match serde_json::from_str(data) {
            Ok(said) => said,
            Err(_) => return self.from.unreadable(event, data).map(|()| Next::More),
        };
        let index = said.content_block_index.unwrap_or(0);
        match event.name.as_str() {
            "messageStart" => {}
            "contentBlockStart" => self.begin(index, said.start, data.len(), chunks)?,
            "contentBlockDelta" => {
                if let Some(delta) = said.delta {
                    self.delta(index, delta, data.len(), chunks)?;
                }
            }
            "contentBlockStop" => self.stop(index, chunks),
            "messageStop" => self.reason = Some(said.stop_reason.unwrap_or_default()),
            "metadata" => self.usage = said.usage.or(self.usage),
            _ => {
                let event: Value = serde_json::from_str(data).unwrap_or_default();
                if event.get("error").is_some_and(|error| !error.is_null()) {
                    return Err(self.from.failed(data));
                }
                let fields = field_names(&event);
                tracing::debug!(provider = self.from.provider, fields, "an event that is not known");
            }
        }
        // The counts are the last to come.
        Ok(if self.reason.is_some() && self.usage.is_some() { Next::End } else { Next::More })
    }

    fn finished(&self) -> bool {
        self.reason.is_some()
    }

    /// What is still open, usage, and why it ended.
    fn end(mut self) -> Result<Chunks, LlmError> {
        let Some(reason) = self.reason.take() else {
            return Err(LlmError::CutOff { provider: self.from.provider });
        };
        if let "malformed_model_output" | "malformed_tool_use" = reason.as_str() {
            // The vendor itself could not read what its model wrote. Another try is another answer.
            let message = format!("its model wrote something that it could not read ({reason})");
            return Err(LlmError::Server { provider: self.from.provider, status: None, message, after: None });
        }
        let mut chunks = Chunks::new();
        while let Some(&(index, _)) = self.blocks.first() {
            self.stop(index, &mut chunks);
        }
        chunks.extend(self.usage.map(|counts| Chunk::Usage(usage(counts))));
        chunks.push_back(Chunk::Finish(finish(reason, self.calls > 0)));
        Ok(chunks)
    }
}

impl Reader {
    /// Only calls say that they begin.
    fn begin(&mut self, index: u64, start: Option<Start>, bytes: usize, chunks: &mut Chunks) -> Result<(), LlmError> {
        self.from.keep(bytes)?;
        // An index that begins again without an end in between.
        self.stop(index, chunks);
        self.room()?;
        let block = match start {
            Some(Start { tool_use: Some(call), .. }) if call.get("type").is_some_and(|kind| !kind.is_null()) => {
                Block::OwnCall { call, input: String::new() }
            }
            Some(Start { tool_use: Some(call), .. }) => {
                if self.calls == MAX_CALLS {
                    return Err(self.from.malformed("an answer of at most 128 calls", "one more"));
                }
                self.close(chunks);
                self.calls += 1;
                let text = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
                let id = self.ids.take(text("toolUseId"), self.calls);
                let name = text("name");
                let name = self.renamed.get(name).map_or(name, String::as_str).to_owned();
                chunks.push_back(Chunk::ToolInput { id: id.clone(), name: name.clone(), delta: String::new() });
                Block::Call { id, name, arguments: String::new() }
            }
            Some(Start { tool_result: Some(result), .. }) => Block::OwnResult { result, content: Vec::new() },
            // What it is its first piece tells.
            Some(Start { tool_use: None, tool_result: None }) | None => return Ok(()),
        };
        self.blocks.push((index, block));
        Ok(())
    }

    fn delta(&mut self, index: u64, delta: Delta, bytes: usize, chunks: &mut Chunks) -> Result<(), LlmError> {
        self.from.keep(bytes)?;
        if !self.blocks.iter().any(|(at, _)| *at == index) {
            self.room()?;
            let block = if delta.text.is_some() || delta.citation.is_some() {
                Block::Text { citations: Vec::new(), said: false }
            } else if delta.reasoning_content.is_some() {
                Block::Thinking { signature: String::new(), redacted: Vec::new(), said: false }
            } else {
                tracing::warn!(provider = self.from.provider, "a block that never began, or is not known, is left out");
                Block::Unknown
            };
            self.blocks.push((index, block));
        }
        let Some((_, block)) = self.blocks.iter_mut().find(|(at, _)| *at == index) else { return Ok(()) };
        match block {
            Block::Text { citations, .. } => {
                citations.extend(delta.citation);
                self.say(index, delta.text.unwrap_or_default(), chunks);
            }
            Block::Thinking { signature, redacted, .. } => {
                let Some(thought) = delta.reasoning_content else { return Ok(()) };
                signature.push_str(&thought.signature.unwrap_or_default());
                redacted.extend(thought.redacted_content);
                self.say(index, thought.text.unwrap_or_default(), chunks);
            }
            Block::Call { id, name, arguments } => {
                let delta = pieces(delta.tool_use);
                if !delta.is_empty() {
                    arguments.push_str(&delta);
                    chunks.push_back(Chunk::ToolInput { id: id.clone(), name: name.clone(), delta });
                }
            }
            Block::OwnCall { input, .. } => input.push_str(&pieces(delta.tool_use)),
            Block::OwnResult { content, .. } => content.extend(delta.tool_result.unwrap_or_default()),
            Block::Unknown => {}
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
            Some((_, Block::Call { .. } | Block::OwnCall { .. } | Block::OwnResult { .. } | Block::Unknown)) | None => {
            }
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
        chunks.extend(match block {
            Block::Text { citations, said } => {
                let cited = (!citations.is_empty()).then(|| item(json!({CITATIONS: citations})));
                said.then_some(Chunk::TextEnd { item: cited })
            }
            // What it thought may be kept from us; the signature alone is then worth giving back.
            Block::Thinking { signature, redacted, said } => {
                let kept = match (signature.is_empty(), redacted.is_empty()) {
                    (false, _) => Some(item(json!({SIGNATURE: signature}))),
                    (true, false) => Some(item(json!({REDACTED: joined(&redacted)}))),
                    (true, true) => None,
                };
                (said || kept.is_some()).then_some(Chunk::ReasoningEnd { item: kept })
            }
            Block::Call { id, name, arguments } => {
                let arguments = if arguments.is_empty() { "{}".to_owned() } else { arguments };
                Some(Chunk::ToolCall { id, name, arguments, item: None })
            }
            Block::OwnCall { mut call, input } => {
                let input = if input.is_empty() { json!({}) } else { serde_json::from_str(&input).unwrap_or_default() };
                call.insert("input".to_owned(), input);
                Some(Chunk::Vendor(item(json!({"toolUse": call}))))
            }
            Block::OwnResult { mut result, content } => {
                result.insert("content".to_owned(), content.into());
                Some(Chunk::Vendor(item(json!({"toolResult": result}))))
            }
            Block::Unknown => None,
        });
    }
}

/// More of the arguments of a call: text, or where a server does not know better, the whole.
fn pieces(input: Option<Input>) -> String {
    match input.and_then(|input| input.input) {
        Some(Value::String(piece)) => piece,
        Some(Value::Null) | None => String::new(),
        Some(whole) => whole.to_string(),
    }
}

/// Pieces in base64 as one.
fn joined(pieces: &[String]) -> String {
    let whole: Option<Vec<Vec<u8>>> = pieces.iter().map(|piece| BASE64_STANDARD.decode(piece).ok()).collect();
    match (whole, pieces) {
        (_, [one]) => one.clone(),
        (Some(whole), _) => BASE64_STANDARD.encode(whole.concat()),
        (None, pieces) => pieces.concat(),
    }
}

/// A stop with calls waits for them, whatever it is called.
fn finish(reason: String, calls: bool) -> Finish {
    match reason.as_str() {
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "content_filtered" | "guardrail_intervened" => Finish::ContentFilter,
        "" | "end_turn" | "stop_sequence" | "tool_use" if calls => Finish::ToolCalls,
        "end_turn" | "stop_sequence" => Finish::Stop,
        "" => Finish::Unknown,
        _ => Finish::Other(reason),
    }
}

/// This dialect's kinds do not overlap, and thinking is counted as output.
fn usage(counts: Counts) -> Usage {
    Usage {
        total: counts.total_tokens,
        input: counts.input_tokens.unwrap_or(0),
        output: counts.output_tokens.unwrap_or(0),
        reasoning: 0,
        cache_read: counts.cache_read_input_tokens.unwrap_or(0),
        cache_write: counts.cache_write_input_tokens.unwrap_or(0),
    }
}
