//! The events of a `streamGenerateContent` stream as [`Chunk`]s. Pure.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::parts::{AT, PART, SIGNATURE, THOUGHT};
use crate::dialect::answering::{self, Chunks, MAX_CALLS, Next, Source, field_names};
use crate::dialect::ids::Ids;
use crate::sse::Event;
use crate::{Chunk, Finish, LlmError, Request, Secret, Usage};

/// One answer, as far as it has come.
pub(in crate::dialect) struct Reader {
    from: Source,
    /// The block of words or thoughts that chunks are in.
    open: Option<Block>,
    ids: Ids,
    calls: usize,
    usage: Option<Counts>,
    reason: Option<String>,
    /// What the vendor says about the reason.
    why: Option<String>,
    /// The prompt was refused before there was an answer.
    blocked: bool,
    done: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    thought: bool,
    /// Of its words so far, in bytes.
    length: usize,
}

/// Borrowed from the event: most of them carry a few words, and there are thousands.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said<'a> {
    #[serde(borrow)]
    candidates: Option<Vec<Candidate<'a>>>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<Counts>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    content: Option<Content<'a>>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    parts: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    text: Option<String>,
    thought: Option<bool>,
    thought_signature: Option<String>,
    #[serde(borrow)]
    function_call: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Call<'a> {
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counts {
    prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    total_token_count: Option<u64>,
}

impl Reader {
    pub(in crate::dialect) fn new(provider: &str, request: &Request, secrets: &[Secret]) -> Self {
        Self {
            from: Source::new(provider, request, secrets),
            open: None,
            ids: Ids::new(request.answers() + 1),
            calls: 0,
            usage: None,
            reason: None,
            why: None,
            blocked: false,
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
        // Errors may come in a list, as whole answers do.
        if data.starts_with('[')
            && let Ok(list) = serde_json::from_str::<Vec<&RawValue>>(data)
        {
            for one in list {
                self.take(event, one.get(), chunks)?;
            }
            return Ok(Next::More);
        }
        self.take(event, data, chunks).map(|()| Next::More)
    }

    fn finished(&self) -> bool {
        self.done || self.blocked || self.reason.is_some()
    }

    /// What is still open, usage, and why it ended.
    fn end(mut self) -> Result<Chunks, LlmError> {
        if !self.finished() {
            return Err(LlmError::CutOff { provider: self.from.provider });
        }
        let mut chunks = Chunks::new();
        self.close(None, &mut chunks);
        chunks.extend(self.usage.map(|counts| Chunk::Usage(usage(counts))));
        chunks.push_back(Chunk::Finish(finish(self.reason, self.blocked, self.calls > 0)));
        Ok(chunks)
    }
}

impl Reader {
    /// Takes one piece of the answer.
    fn take(&mut self, event: &Event, data: &str, chunks: &mut Chunks) -> Result<(), LlmError> {
        let said: Said<'_> = match serde_json::from_str(data) {
            Ok(said) => said,
            Err(_) => return self.from.unreadable(event, data),
        };
        if said.error.is_some() || event.name == "error" {
            return Err(self.from.failed(data));
        }
        self.count(said.usage_metadata);
        if let Some(reason) = said.prompt_feedback.and_then(|feedback| feedback.block_reason) {
            tracing::warn!(provider = self.from.provider, reason, "the prompt was refused");
            self.blocked = true;
        }
        // More than one answer is never asked for.
        for candidate in said.candidates.into_iter().flatten().filter(|one| one.index.unwrap_or(0) == 0) {
            for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
                self.part(part, chunks)?;
            }
            self.reason = candidate.finish_reason.or(self.reason.take());
            self.why = candidate.finish_message.or(self.why.take());
        }
        if let (Some("MALFORMED_FUNCTION_CALL" | "MALFORMED_RESPONSE"), 0) = (self.reason.as_deref(), self.calls) {
            // It is charged for all the same.
            self.close(None, chunks);
            chunks.extend(self.usage.map(|counts| Chunk::Usage(usage(counts))));
            return Err(self.garbled());
        }
        Ok(())
    }

    fn part(&mut self, raw: &RawValue, chunks: &mut Chunks) -> Result<(), LlmError> {
        self.from.keep(raw.get().len())?;
        let Ok(part) = serde_json::from_str::<Part<'_>>(raw.get()) else {
            tracing::warn!(provider = self.from.provider, "a part of an unknown form is left out");
            return Ok(());
        };
        let Part { text, thought, thought_signature, function_call } = part;
        match (function_call, text) {
            (Some(call), _) => self.call(call, thought_signature, chunks)?,
            (None, Some(text)) => self.say(text, thought == Some(true), thought_signature, chunks),
            (None, None) => {
                let part: Value = serde_json::from_str(raw.get()).unwrap_or_default();
                let known = |name: &String| matches!(name.as_str(), "text" | THOUGHT | SIGNATURE);
                match part.as_object().is_none_or(|fields| fields.keys().all(known)) {
                    // Nothing but a signature, or nothing at all.
                    true => self.say(String::new(), thought == Some(true), thought_signature, chunks),
                    false => self.vendor(part, chunks),
                }
            }
        }
        Ok(())
    }

    /// Goes on in the block of words or thoughts, and ends it where it is signed.
    fn say(&mut self, text: String, thought: bool, signature: Option<String>, chunks: &mut Chunks) {
        let signature = signature.filter(|signature| !signature.is_empty());
        if text.is_empty() && signature.is_none() {
            return;
        }
        if self.open.is_some_and(|block| block.thought != thought) {
            self.close(None, chunks);
        }
        if text.is_empty() && self.open.is_none() {
            // There is nothing that the signature could be kept with.
            let mut part = json!({"text": "", SIGNATURE: signature});
            if thought {
                part[THOUGHT] = Value::Bool(true);
            }
            chunks.push_back(Chunk::Vendor(self.from.item(json!({PART: part}))));
            return;
        }
        let block = self.open.get_or_insert(Block { thought, length: 0 });
        let at = block.length;
        block.length += text.len();
        if !text.is_empty() {
            chunks.push_back(if thought { Chunk::Reasoning(text) } else { Chunk::Text(text) });
        }
        if let Some(signature) = signature {
            self.close(Some((signature, at)), chunks);
        }
    }

    /// Ends the block of words or thoughts. The signature is that of its last part, which begins there.
    fn close(&mut self, signed: Option<(String, usize)>, chunks: &mut Chunks) {
        let Some(block) = self.open.take() else { return };
        let mut value = Map::new();
        if block.thought {
            value.insert(THOUGHT.to_owned(), Value::Bool(true));
        }
        if let Some((signature, at)) = signed {
            value.insert(SIGNATURE.to_owned(), signature.into());
            if at > 0 {
                value.insert(AT.to_owned(), at.into());
            }
        }
        let item = (!value.is_empty()).then(|| self.from.item(value.into()));
        chunks.push_back(if block.thought { Chunk::ReasoningEnd { item } } else { Chunk::TextEnd { item } });
    }

    /// Calls come in one piece.
    fn call(&mut self, raw: &RawValue, signature: Option<String>, chunks: &mut Chunks) -> Result<(), LlmError> {
        let Ok(call) = serde_json::from_str::<Call<'_>>(raw.get()) else {
            tracing::warn!(provider = self.from.provider, "a call of an unknown form is left out");
            return Ok(());
        };
        self.close(None, chunks);
        if self.calls == MAX_CALLS {
            return Err(self.from.malformed("an answer of at most 128 calls", "one more"));
        }
        self.calls += 1;
        let id = self.ids.take(call.id.as_deref().unwrap_or_default(), self.calls);
        let name = call.name.unwrap_or_default();
        let arguments = match call.args.map(RawValue::get) {
            None => "{}".to_owned(),
            // Some gateways send the text of the arguments.
            Some(text) => serde_json::from_str::<String>(text).unwrap_or_else(|_| text.to_owned()),
        };
        chunks.push_back(Chunk::ToolInput { id: id.clone(), name: name.clone(), delta: arguments.clone() });
        let signature = signature.filter(|signature| !signature.is_empty());
        let item = signature.map(|signature| self.from.item(json!({SIGNATURE: signature})));
        chunks.push_back(Chunk::ToolCall { id, name, arguments, item });
        Ok(())
    }

    /// A part that this dialect does not know: kept as it is.
    fn vendor(&mut self, part: Value, chunks: &mut Chunks) {
        self.close(None, chunks);
        tracing::debug!(provider = self.from.provider, fields = field_names(&part), "a part of the vendor's own");
        chunks.push_back(Chunk::Vendor(self.from.item(json!({PART: part}))));
    }

    /// Counts come with each piece, for all of the answer so far; a later one holds.
    fn count(&mut self, more: Option<Counts>) {
        let Some(more) = more else { return };
        let all = self.usage.get_or_insert_default();
        let newer = |old: &mut Option<u64>, new: Option<u64>| *old = new.or(*old);
        newer(&mut all.prompt_token_count, more.prompt_token_count);
        newer(&mut all.cached_content_token_count, more.cached_content_token_count);
        newer(&mut all.tool_use_prompt_token_count, more.tool_use_prompt_token_count);
        newer(&mut all.candidates_token_count, more.candidates_token_count);
        newer(&mut all.thoughts_token_count, more.thoughts_token_count);
        newer(&mut all.total_token_count, more.total_token_count);
    }

    /// The model wrote a call that its vendor could not read. The next try will most likely do better.
    fn garbled(&self) -> LlmError {
        let why = self.from.quote(self.why.as_deref().unwrap_or_default());
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        let message = format!("the model wrote a call that cannot be read{why}");
        LlmError::Server { provider: self.from.provider.clone(), status: None, message, after: None }
    }
}

/// A stop with calls waits for them.
fn finish(reason: Option<String>, blocked: bool, calls: bool) -> Finish {
    match reason.as_deref() {
        // Some servers have a word of their own for it, and complete calls can be run, whatever became of another one beside them.
        None
        | Some(
            "STOP" | "FUNCTION_CALL" | "FINISH_REASON_UNSPECIFIED" | "MALFORMED_FUNCTION_CALL" | "MALFORMED_RESPONSE",
        ) if calls => Finish::ToolCalls,
        Some("STOP") => Finish::Stop,
        // The second would go on where it is asked for, which this dialect does not do.
        Some("MAX_TOKENS" | "CONTINUATION") => Finish::Length,
        Some(
            "SAFETY"
            | "RECITATION"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "MODEL_ARMOR"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION",
        ) => Finish::ContentFilter,
        None | Some("FINISH_REASON_UNSPECIFIED") if blocked => Finish::ContentFilter,
        None | Some("FINISH_REASON_UNSPECIFIED") => Finish::Unknown,
        Some(_) => Finish::Other(reason.unwrap_or_default()),
    }
}

/// The prompt is counted with what came from the cache; what the vendor's own tools put into it is counted beside.
fn usage(counts: Counts) -> Usage {
    let cache_read = counts.cached_content_token_count.unwrap_or(0);
    let prompt = counts.prompt_token_count.unwrap_or(0).saturating_sub(cache_read);
    Usage {
        total: counts.total_token_count,
        input: prompt.saturating_add(counts.tool_use_prompt_token_count.unwrap_or(0)),
        output: counts.candidates_token_count.unwrap_or(0),
        reasoning: counts.thoughts_token_count.unwrap_or(0),
        cache_read,
        cache_write: 0,
    }
}
