//! One answer as it passes: what may be a call is held back until the answer ends, everything else goes on at once.

use std::collections::VecDeque;
use std::sync::Arc;

use async_stream::stream;
use futures::StreamExt;
use futures::stream::BoxStream;

use super::quoted::is_quoted;
use super::signs::{Context, Sight};
use super::{Call, Rescue, calls, families, may_be_call};
use crate::dialect::ids::Ids;
use crate::{Chunk, Finish, LlmError, Messages, Request, ToolChoice, ToolSpec};

/// Most that is held back, and most thoughts that are remembered, in bytes. What is longer is no call.
const MAX_HELD: usize = 1024 * 1024;

/// Most places at which a call is looked for in what was held back.
const MAX_TRIES: usize = 64;

/// An answer that is watched for calls.
pub(crate) struct Watch {
    mode: Rescue,
    tools: Arc<Vec<ToolSpec>>,
    /// The conversation so far.
    messages: Messages,
    ids: Ids,
    words: Words,
    /// What it thought, if that is not too long to be looked at.
    thoughts: Option<String>,
    /// Whether words that are no blanks came.
    said: bool,
    /// Chunks that wait for the end of the answer, behind the words that are held back.
    behind: Vec<Chunk>,
    /// Whether nothing is looked for any more.
    done: bool,
}

/// The words of the block that is open.
#[derive(Default)]
struct Words {
    context: Context,
    /// What was not handed on yet.
    held: String,
    /// The sign in what is held.
    sign: Option<Sign>,
    /// Whether anything of the block was handed on.
    begun: bool,
}

/// A sign that was seen.
#[derive(Clone, Copy)]
struct Sign {
    at: usize,
    /// Whether it is the beginning of an answer only, which may turn out to be no call long before its end.
    bare: bool,
}

impl Words {
    /// Hands on what can be no call. Whether there is more to look at.
    fn advance(&mut self, mode: Rescue, out: &mut VecDeque<Chunk>) -> bool {
        match self.sign {
            Some(Sign { at, bare: true }) if !may_be_call(&self.held[at..]) => {
                self.sign = None;
                let first = self.held[at..].chars().next().map_or(0, char::len_utf8);
                self.hand_on(at + first, out);
                true
            }
            Some(_) => false,
            None => {
                let end = match self.context.clone().look(&self.held, 0, mode) {
                    Sight::Clear => self.held.len(),
                    Sight::Perhaps(at) => at,
                    Sight::Sign { at, bare } => {
                        self.sign = Some(Sign { at, bare });
                        at
                    }
                };
                // Blanks at the beginning wait for what they stand before.
                if self.begun || !self.held[..end].trim().is_empty() {
                    self.hand_on(end, out);
                    if let Some(sign) = &mut self.sign {
                        sign.at = 0;
                    }
                }
                self.sign.is_some_and(|sign| sign.bare && !may_be_call(&self.held[sign.at..]))
            }
        }
    }

    /// Hands on the first `end` bytes.
    fn hand_on(&mut self, end: usize, out: &mut VecDeque<Chunk>) {
        if end > 0 {
            let rest = self.held.split_off(end);
            let handed = std::mem::replace(&mut self.held, rest);
            self.context.pass(&handed);
            self.begun = true;
            out.push_back(Chunk::Text(handed));
        }
    }
}

impl Watch {
    /// Watches the answer to `request`; `None` if it can hold no calls.
    pub(crate) fn of(mode: Rescue, request: &Request) -> Option<Self> {
        let asked = request.tool_choice != ToolChoice::None && !request.tools.is_empty() && request.format.is_none();
        (mode != Rescue::Off && asked).then(|| Self {
            mode,
            tools: request.tools.clone(),
            messages: request.messages.clone(),
            ids: Ids::new(request.answers() + 1),
            words: Words::default(),
            thoughts: Some(String::new()),
            said: false,
            behind: Vec::new(),
            done: false,
        })
    }

    /// The answer with its calls.
    pub(crate) fn over(
        mut self,
        mut answer: BoxStream<'static, Result<Chunk, LlmError>>,
    ) -> BoxStream<'static, Result<Chunk, LlmError>> {
        stream! {
            let mut out = VecDeque::new();
            while let Some(next) = answer.next().await {
                match next {
                    Ok(chunk) => self.push(chunk, &mut out),
                    Err(error) => {
                        self.release(&mut out);
                        while let Some(chunk) = out.pop_front() {
                            yield Ok(chunk);
                        }
                        yield Err(error);
                        return;
                    }
                }
                while let Some(chunk) = out.pop_front() {
                    yield Ok(chunk);
                }
            }
            self.release(&mut out);
            while let Some(chunk) = out.pop_front() {
                yield Ok(chunk);
            }
        }
        .boxed()
    }

    /// Takes one chunk and puts what goes on behind `out`.
    pub(super) fn push(&mut self, chunk: Chunk, out: &mut VecDeque<Chunk>) {
        if self.done {
            out.push_back(chunk);
            return;
        }
        match chunk {
            Chunk::Text(text) => self.text(text, out),
            Chunk::TextEnd { .. } if !self.words.held.is_empty() => self.behind.push(chunk),
            Chunk::TextEnd { .. } => {
                self.words = Words { context: std::mem::take(&mut self.words.context), ..Words::default() };
                // What comes next begins anew.
                self.words.context.pass("\n");
                out.push_back(chunk);
            }
            Chunk::Reasoning(ref text) => {
                if let Some(all) = &mut self.thoughts {
                    all.push_str(text);
                    if all.len() > MAX_HELD {
                        self.thoughts = None;
                    }
                }
                self.release(out);
                out.push_back(chunk);
            }
            Chunk::ReasoningEnd { .. } => {
                self.release(out);
                out.push_back(chunk);
            }
            Chunk::ToolInput { .. } | Chunk::ToolCall { .. } => {
                self.release(out);
                self.done = true;
                out.push_back(chunk);
            }
            Chunk::Vendor(_) | Chunk::Usage(_) => self.behind.push(chunk),
            Chunk::Finish(finish) => self.finish(finish, out),
        }
    }

    fn text(&mut self, text: String, out: &mut VecDeque<Chunk>) {
        if !self.behind.is_empty() {
            if text.trim().is_empty() {
                self.behind.push(Chunk::Text(text));
                return;
            }
            // More is said behind it: it was no call.
            self.release(out);
        }
        self.said |= !text.trim().is_empty();
        self.words.held.push_str(&text);
        if self.words.held.len() > MAX_HELD {
            self.release(out);
            self.done = true;
            return;
        }
        while self.words.advance(self.mode, out) {}
    }

    /// Hands on what was held back.
    fn release(&mut self, out: &mut VecDeque<Chunk>) {
        self.words.sign = None;
        self.words.hand_on(self.words.held.len(), out);
        for chunk in self.behind.drain(..) {
            if matches!(chunk, Chunk::TextEnd { .. }) {
                self.words.begun = false;
                self.words.context.pass("\n");
            }
            out.push_back(chunk);
        }
    }

    fn finish(&mut self, finish: Finish, out: &mut VecDeque<Chunk>) {
        let whole = match &finish {
            Finish::Stop | Finish::ToolCalls | Finish::Unknown => true,
            Finish::Other(reason) => matches!(reason.as_str(), "tool_calls" | "tool_use" | "function_call"),
            Finish::Length | Finish::ContentFilter => false,
        };
        let found = whole.then(|| self.found()).flatten();
        let Some((at, calls)) = found else {
            self.release(out);
            out.push_back(Chunk::Finish(finish));
            return;
        };
        tracing::debug!(calls = calls.len(), "calls that were written as text are read as calls");
        self.words.held.truncate(at);
        let kept = self.words.held.trim_end().len();
        self.words.held.truncate(kept);
        let spoken = self.words.begun || !self.words.held.is_empty();
        let behind = std::mem::take(&mut self.behind);
        self.release(out);
        let (usage, rest): (Vec<_>, Vec<_>) = behind.into_iter().partition(|chunk| matches!(chunk, Chunk::Usage(_)));
        // A block of which nothing is left has no end; blanks behind the call belong to it.
        let stays = |chunk: &Chunk| match chunk {
            Chunk::TextEnd { .. } => spoken,
            Chunk::Text(_) => false,
            _ => true,
        };
        out.extend(rest.into_iter().filter(stays));
        for (number, Call { name, arguments }) in calls.into_iter().enumerate() {
            let id = self.ids.take("", number + 1);
            out.push_back(Chunk::ToolInput { id: id.clone(), name: name.clone(), delta: arguments.clone() });
            out.push_back(Chunk::ToolCall { id, name, arguments, item: None });
        }
        out.extend(usage);
        out.push_back(Chunk::Finish(Finish::ToolCalls));
    }

    /// The calls at the end of the answer, and where in the words that are held they begin.
    fn found(&self) -> Option<(usize, Vec<Call>)> {
        if self.words.sign.is_some() {
            return self.search(&self.words.held, self.words.context.clone(), self.mode);
        }
        let thoughts = self.thoughts.as_ref().filter(|_| !self.said)?;
        // A thought is no answer: only what has a sign counts there.
        let (_, calls) = self.search(thoughts, Context::default(), Rescue::Marked)?;
        Some((0, calls))
    }

    fn search(&self, text: &str, mut context: Context, mode: Rescue) -> Option<(usize, Vec<Call>)> {
        let mut from = 0;
        for _ in 0..MAX_TRIES {
            let Sight::Sign { at, bare } = context.look(text, from, mode) else { return None };
            if let Some(calls) = calls(&text[at..], &self.tools, bare) {
                return (!is_quoted(&text[at..], &self.messages)).then_some((at, calls));
            }
            // Of several calls, all are made or none.
            if families::begins(&text[at..]) {
                return None;
            }
            from = at + text[at..].chars().next()?.len_utf8();
            context.pass(&text[at..from]);
        }
        None
    }
}
