//! The events of a responses stream as [`Chunk`]s. Pure.

mod end;
mod kept;
mod open;
mod repeats;

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use self::end::{End, finish, read_usage};
use self::kept::{about, arguments, call, item};
use self::open::{Block, Open, Place, Said};
use self::repeats::Repeats;
use super::items::key;
use crate::dialect::answering::{self, Chunks, MAX_CALLS, Next, Source, field_names};
use crate::dialect::ids::Ids;
use crate::sse::Event;
use crate::{Chunk, LlmError, Request, Secret, Usage};

/// Most items that are open at once. The interface has a few.
const MAX_OPEN: usize = 256;

/// Between the parts of a summary.
const PARTED: &str = "\n\n";

/// One answer, as far as it has come.
pub(in crate::dialect) struct Reader {
    from: Source,
    /// The items that have not ended.
    items: Vec<Open>,
    /// Those that have.
    ended: HashSet<Place>,
    /// How many items have begun.
    begun: usize,
    /// Which of the open ones words or thoughts come from, by its number.
    speaking: Option<usize>,
    /// Whether an item was read at all.
    heard: bool,
    repeats: Repeats,
    ids: Ids,
    calls: usize,
    refused: bool,
    usage: Option<Usage>,
    /// How it ended, once it has.
    end: Option<End>,
}

/// Borrowed from the event: most of them carry a word or two, and there are thousands.
#[derive(Deserialize)]
struct Told<'a> {
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
    output_index: Option<u64>,
    item_id: Option<String>,
    content_index: Option<u64>,
    summary_index: Option<u64>,
    sequence_number: Option<u64>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    arguments: Option<&'a RawValue>,
    item: Option<&'a RawValue>,
    response: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

/// The text of a JSON string; `None` for anything else.
fn string(raw: Option<&RawValue>) -> Option<String> {
    let raw = raw?.get();
    raw.starts_with('"').then(|| serde_json::from_str(raw).ok()).flatten()
}

impl Reader {
    pub(in crate::dialect) fn new(provider: &str, request: &Request, secrets: &[Secret]) -> Self {
        Self {
            from: Source::new(provider, request, secrets),
            items: Vec::new(),
            ended: HashSet::new(),
            begun: 0,
            speaking: None,
            heard: false,
            repeats: Repeats::default(),
            ids: Ids::new(request.answers() + 1),
            calls: 0,
            refused: false,
            usage: None,
            end: None,
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
            self.end.get_or_insert(End::Goodbye);
            return Ok(Next::End);
        }
        let told: Told<'_> = match serde_json::from_str(data) {
            Ok(told) => told,
            Err(_) => return self.from.unreadable(event, data).map(|()| Next::More),
        };
        if self.repeats.is_one(told.sequence_number, data) {
            tracing::debug!(provider = self.from.provider, "an event that came twice is left out");
            return Ok(Next::More);
        }
        if event.name == "error" {
            return Err(self.from.failed(data));
        }
        let kind = told.r#type.clone().unwrap_or(Cow::Borrowed(&event.name));
        self.event(&kind, told, data, chunks)
    }

    fn finished(&self) -> bool {
        self.end.is_some()
    }

    /// What is still open, usage, and why it ended.
    fn end(mut self) -> Result<Chunks, LlmError> {
        let Some(end) = self.end.take() else {
            return Err(LlmError::CutOff { provider: self.from.provider });
        };
        let mut chunks = Chunks::new();
        while !self.items.is_empty() {
            self.close(0, None, &mut chunks)?;
        }
        chunks.extend(self.usage.map(Chunk::Usage));
        chunks.push_back(Chunk::Finish(finish(end, self.calls > 0, self.refused)));
        Ok(chunks)
    }
}

impl Reader {
    fn event(&mut self, kind: &str, told: Told<'_>, data: &str, chunks: &mut Chunks) -> Result<Next, LlmError> {
        let place = Place { index: told.output_index, id: told.item_id.unwrap_or_default() };
        match kind {
            "response.output_text.delta" => self.say(place, Said::Text, 0, told.delta, chunks)?,
            "response.refusal.delta" => self.say(place, Said::Refusal, 0, told.delta, chunks)?,
            "response.reasoning_summary_text.delta" => {
                self.say(place, Said::Summary, told.summary_index.unwrap_or(0), told.delta, chunks)?;
            }
            "response.reasoning_text.delta" => {
                self.say(place, Said::Thought, told.content_index.unwrap_or(0), told.delta, chunks)?;
            }
            "response.function_call_arguments.delta" => self.argue(&place, told.delta, chunks)?,
            "response.function_call_arguments.done" => self.argued(&place, told.arguments)?,
            "response.output_item.added" => self.begin(place, told.item, chunks)?,
            "response.output_item.done" => self.done(place, told.item, chunks)?,
            "response.completed" | "response.incomplete" | "response.done" => {
                self.complete(kind == "response.incomplete", told.response, chunks)?;
                return Ok(Next::End);
            }
            "response.failed" => return Err(self.failed(told.response)),
            "error" => return Err(self.from.failed(data)),
            _ if told.error.is_some_and(|error| error.get() != "null") => return Err(self.from.failed(data)),
            // What goes on meanwhile, what is said again as a whole, and what a future brings.
            _ if tracing::enabled!(tracing::Level::TRACE) => {
                let event: Value = serde_json::from_str(data).unwrap_or_default();
                tracing::trace!(provider = self.from.provider, fields = field_names(&event), "an event without words");
            }
            _ => {}
        }
        Ok(Next::More)
    }

    /// Begins an item.
    fn begin(&mut self, place: Place, item: Option<&RawValue>, chunks: &mut Chunks) -> Result<(), LlmError> {
        let Some(item) = item else { return Ok(()) };
        self.from.keep(item.get().len())?;
        let item: Value = serde_json::from_str(item.get()).unwrap_or_default();
        let place = place.named(&item);
        let is_named = !place.id.is_empty();
        if is_named && self.ended.contains(&place) {
            return Ok(());
        }
        match self.items.iter().position(|open| open.place == place && open.kind.is(&item)) {
            Some(_) if is_named => return Ok(()),
            // Without a name it is another one, which begins before the end of the one before it came.
            Some(at) => self.close(at, None, chunks)?,
            None => {}
        }
        let at = self.open(place, Block::of(&item))?;
        self.announce(at, chunks)
    }

    /// Ends an item, which need not have begun.
    fn done(&mut self, place: Place, item: Option<&RawValue>, chunks: &mut Chunks) -> Result<(), LlmError> {
        let Some(item) = item else { return Ok(()) };
        self.from.keep(item.get().len())?;
        let whole: Value = serde_json::from_str(item.get()).unwrap_or_default();
        let place = place.named(&whole);
        if !place.id.is_empty() && !self.ended.insert(place.clone()) {
            return Ok(());
        }
        let at = match self.find(&place, |kind| kind.is(&whole)) {
            Some(at) => at,
            None => self.open(place, Block::of(&whole))?,
        };
        self.close(at, Some(whole), chunks)
    }

    /// Opens an item, and says where it is.
    fn open(&mut self, place: Place, kind: Block) -> Result<usize, LlmError> {
        if self.items.len() == MAX_OPEN {
            return Err(self.from.malformed("an answer of at most 256 items at a time", "one more"));
        }
        self.heard = true;
        self.begun += 1;
        self.items.push(Open { number: self.begun, place, kind });
        Ok(self.items.len() - 1)
    }

    /// Gives a call its id, once its name is known.
    fn announce(&mut self, at: usize, chunks: &mut Chunks) -> Result<(), LlmError> {
        if !matches!(&self.items[at].kind, Block::Call { id, name, .. } if id.is_empty() && !name.is_empty()) {
            return Ok(());
        }
        self.call(at, chunks)
    }

    /// Gives a call its id.
    fn call(&mut self, at: usize, chunks: &mut Chunks) -> Result<(), LlmError> {
        self.hush(chunks);
        if self.calls == MAX_CALLS {
            return Err(self.from.malformed("an answer of at most 128 calls", "one more"));
        }
        if let Block::Call { id, given, name, arguments, .. } = &mut self.items[at].kind {
            self.calls += 1;
            *id = self.ids.take(given, self.calls);
            let (id, name, delta) = (id.clone(), name.clone(), arguments.clone());
            chunks.push_back(Chunk::ToolInput { id, name, delta });
        }
        Ok(())
    }

    /// Goes on in the words or thoughts at `place`.
    fn say(
        &mut self,
        place: Place,
        said: Said,
        part: u64,
        delta: Option<&RawValue>,
        chunks: &mut Chunks,
    ) -> Result<(), LlmError> {
        let Some(text) = string(delta).filter(|text| !text.is_empty()) else { return Ok(()) };
        self.from.keep(text.len())?;
        let thought = matches!(said, Said::Summary | Said::Thought);
        let fits = |kind: &Block| match kind {
            Block::Text { .. } => !thought,
            Block::Thinking { .. } => thought,
            Block::Call { .. } | Block::Vendor => false,
        };
        let at = match self.find(&place, fits) {
            Some(at) => at,
            // Some servers begin without saying so; the piece tells what it belongs to.
            None if thought => self.open(place, Block::Thinking { part: None, open: false })?,
            None => self.open(place, Block::Text { begun: Map::new(), said: false, open: false, refused: false })?,
        };
        self.speak(at, said, part, text, chunks);
        Ok(())
    }

    /// Says `text` for the item number `at`.
    fn speak(&mut self, at: usize, said: Said, part: u64, text: String, chunks: &mut Chunks) {
        let number = self.items[at].number;
        if self.speaking != Some(number) {
            self.hush(chunks);
            self.speaking = Some(number);
        }
        match &mut self.items[at].kind {
            Block::Text { said: any, open, refused, .. } => {
                (*any, *open) = (true, true);
                *refused |= said == Said::Refusal;
                self.refused |= said == Said::Refusal;
                chunks.push_back(Chunk::Text(text));
            }
            Block::Thinking { part: last, open } => {
                let parted = *open && *last != Some((said, part));
                (*open, *last) = (true, Some((said, part)));
                chunks.push_back(Chunk::Reasoning(if parted { format!("{PARTED}{text}") } else { text }));
            }
            Block::Call { .. } | Block::Vendor => {}
        }
    }

    /// Ends the words or thoughts that come now, because something else does. What the vendor wants back comes at the
    /// end of their item.
    fn hush(&mut self, chunks: &mut Chunks) {
        let Some(number) = self.speaking.take() else { return };
        let Some(open) = self.items.iter_mut().find(|open| open.number == number) else { return };
        match &mut open.kind {
            Block::Text { begun, open, .. } => {
                if std::mem::take(open) {
                    let item = item(&self.from, begun);
                    chunks.push_back(Chunk::TextEnd { item });
                }
            }
            Block::Thinking { open, .. } => {
                if std::mem::take(open) {
                    chunks.push_back(Chunk::ReasoningEnd { item: None });
                }
            }
            Block::Call { .. } | Block::Vendor => {}
        }
    }

    /// Adds to the arguments of a call.
    fn argue(&mut self, place: &Place, delta: Option<&RawValue>, chunks: &mut Chunks) -> Result<(), LlmError> {
        let Some(delta) = string(delta).filter(|delta| !delta.is_empty()) else { return Ok(()) };
        self.from.keep(delta.len())?;
        let is_call = |kind: &Block| matches!(kind, Block::Call { .. });
        let Some(at) = self.find(place, is_call) else {
            tracing::warn!(provider = self.from.provider, "a piece of a call that never began is left out");
            return Ok(());
        };
        if let Block::Call { id, name, arguments, .. } = &mut self.items[at].kind {
            arguments.push_str(&delta);
            if !id.is_empty() {
                chunks.push_back(Chunk::ToolInput { id: id.clone(), name: name.clone(), delta });
            }
        }
        Ok(())
    }

    /// The arguments of a call in one piece.
    fn argued(&mut self, place: &Place, all: Option<&RawValue>) -> Result<(), LlmError> {
        let Some(all) = all else { return Ok(()) };
        self.from.keep(all.get().len())?;
        if let Some(at) = self.find(place, |kind| matches!(kind, Block::Call { .. }))
            && let Block::Call { whole, .. } = &mut self.items[at].kind
        {
            *whole = arguments(&serde_json::from_str(all.get()).unwrap_or_default());
        }
        Ok(())
    }

    /// Which open item an event at `place` is about, among those that it `fits`.
    fn find(&self, place: &Place, fits: impl Fn(&Block) -> bool) -> Option<usize> {
        let fits = |open: &Open| fits(&open.kind);
        let last = |is: &dyn Fn(&Open) -> bool| self.items.iter().rposition(|open| fits(open) && is(open));
        let by_index = || place.index.and_then(|index| last(&|open| open.place.index == Some(index)));
        let by_id = || (!place.id.is_empty()).then(|| last(&|open| open.place.id == place.id)).flatten();
        let unnamed = place.index.is_none() && place.id.is_empty();
        last(&|open| open.place == *place)
            .or_else(by_index)
            .or_else(|| by_id().filter(|_| place.index.is_none()))
            .or_else(|| last(&|_| unnamed))
    }

    /// Ends the item number `at`; `whole` is what the vendor says it is at its end.
    fn close(&mut self, at: usize, whole: Option<Value>, chunks: &mut Chunks) -> Result<(), LlmError> {
        let whole = whole.unwrap_or_default();
        self.catch_up(at, &whole, chunks)?;
        if self.speaking == Some(self.items[at].number) {
            self.speaking = None;
        } else {
            // Nothing else may come between the pieces of what is said now.
            self.hush(chunks);
        }
        let Open { kind, .. } = self.items.remove(at);
        let chunk = match kind {
            Block::Text { mut begun, open, refused, .. } => {
                begun.extend(about(&whole));
                if refused {
                    begun.insert(key::REFUSED.to_owned(), true.into());
                }
                open.then(|| Chunk::TextEnd { item: item(&self.from, &begun) })
            }
            // Its words may be kept from us; what is encrypted is worth giving back alone.
            Block::Thinking { open, .. } => {
                let kept = whole.is_object().then(|| self.from.item(whole));
                (open || kept.is_some()).then_some(Chunk::ReasoningEnd { item: kept })
            }
            Block::Call { id, name, whole: given, arguments, .. } => {
                let arguments = [self::kept::arguments(&whole["arguments"]), arguments, given];
                let arguments = arguments.into_iter().find(|text| !text.is_empty()).unwrap_or_else(|| "{}".to_owned());
                let more = call(whole);
                Some(Chunk::ToolCall { id, name, arguments, item: item(&self.from, &more) })
            }
            Block::Vendor => whole[key::TYPE].is_string().then(|| Chunk::Vendor(self.from.item(whole))),
        };
        chunks.extend(chunk);
        Ok(())
    }

    /// Says what an item at its end holds and never said before: some servers send no pieces.
    fn catch_up(&mut self, at: usize, whole: &Value, chunks: &mut Chunks) -> Result<(), LlmError> {
        let words = |list: &Value, kind: &str, text: &str| -> Vec<String> {
            let list = list.as_array().into_iter().flatten().filter(|part| part[key::TYPE] == kind);
            list.filter_map(|part| part[text].as_str()).filter(|text| !text.is_empty()).map(str::to_owned).collect()
        };
        match &mut self.items[at].kind {
            Block::Text { said: false, .. } => {
                for text in words(&whole["content"], "output_text", "text") {
                    self.speak(at, Said::Text, 0, text, chunks);
                }
                for text in words(&whole["content"], "refusal", "refusal") {
                    self.speak(at, Said::Refusal, 0, text, chunks);
                }
            }
            Block::Thinking { part: None, .. } => {
                let summary = words(&whole["summary"], "summary_text", "text");
                let (said, texts) = match summary.is_empty() {
                    false => (Said::Summary, summary),
                    true => (Said::Thought, words(&whole["content"], "reasoning_text", "text")),
                };
                for (part, text) in (0..).zip(texts) {
                    self.speak(at, said, part, text, chunks);
                }
            }
            Block::Call { id, name, .. } if id.is_empty() => {
                if name.is_empty() {
                    *name = whole["name"].as_str().unwrap_or_default().to_owned();
                }
                // A call whose name never came is still one: the model hears that there is no such tool.
                self.call(at, chunks)?;
            }
            Block::Text { .. } | Block::Thinking { .. } | Block::Call { .. } | Block::Vendor => {}
        }
        Ok(())
    }

    /// Ends the answer.
    fn complete(&mut self, incomplete: bool, response: Option<&RawValue>, chunks: &mut Chunks) -> Result<(), LlmError> {
        #[derive(Default, Deserialize)]
        struct Response<'a> {
            status: Option<String>,
            incomplete_details: Option<Incomplete>,
            #[serde(borrow)]
            usage: Option<&'a RawValue>,
            output: Option<Vec<&'a RawValue>>,
        }
        #[derive(Deserialize)]
        struct Incomplete {
            reason: Option<String>,
        }
        let response = response.map(RawValue::get).unwrap_or_default();
        let Response { status, incomplete_details, usage, output } = serde_json::from_str(response).unwrap_or_default();
        if !self.heard {
            for (index, item) in (0..).zip(output.into_iter().flatten()) {
                self.done(Place { index: Some(index), id: String::new() }, Some(item), chunks)?;
            }
        }
        self.usage = usage.and_then(|usage| read_usage(&serde_json::from_str(usage.get()).unwrap_or_default()));
        let reason = incomplete_details.and_then(|details| details.reason);
        self.end = Some(match status.as_deref() {
            Some("incomplete") => End::Incomplete(reason),
            Some("cancelled") => End::Incomplete(status),
            Some(_) | None if incomplete || reason.is_some() => End::Incomplete(reason),
            Some(_) | None => End::Complete,
        });
        Ok(())
    }

    /// Why an answer failed.
    fn failed(&self, response: Option<&RawValue>) -> LlmError {
        let response: Value = response.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        match &response["error"] {
            Value::Null => LlmError::Server {
                provider: self.from.provider.clone(),
                status: None,
                message: "it gave no reason".to_owned(),
                after: None,
            },
            error => self.from.failed(&json!({"error": error}).to_string()),
        }
    }
}
