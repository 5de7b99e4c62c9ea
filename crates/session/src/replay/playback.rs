//! A provider that plays a session and those below it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, stream};
use haft_llm::{Answer, Beat, Chunk, Content, LlmError, Message, Provider, Purpose, Request};

/// Awaited before an answer of the first session is played; gets its number, from 0.
pub type Cue = Arc<dyn Fn(usize) -> BoxFuture<'static, ()> + Send + Sync>;

/// The answers of one session.
#[derive(Debug, Clone, Default)]
pub struct Stream {
    /// Its id when it was recorded.
    pub session: String,
    /// The first words that were said in it, by which a task is found again.
    pub begins: String,
    /// What the model said, in order.
    pub answers: Vec<Answer>,
}

/// Plays the answers of a session, and those of its tasks to them. Each session has its own, whichever asks first.
#[derive(Clone)]
pub struct Playback {
    inner: Arc<Inner>,
}

struct Inner {
    /// The first is the session's own.
    streams: Vec<Stream>,
    cue: Cue,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Which stream the session of that name plays.
    playing: HashMap<String, usize>,
    /// How many answers each stream has played.
    played: HashMap<usize, usize>,
}

impl Playback {
    /// Plays `streams`, the first of which is the session's own.
    pub fn new(streams: Vec<Stream>, cue: Cue) -> Self {
        Self { inner: Arc::new(Inner { streams, cue, state: Mutex::default() }) }
    }

    /// The sessions that played, by their recorded ids, with the ids that they have now.
    pub fn sessions(&self) -> Vec<(String, String)> {
        let playing = self.state().playing.clone();
        playing.into_iter().filter_map(|(now, at)| Some((self.inner.streams.get(at)?.session.clone(), now))).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each use leaves it whole.
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stream of whoever makes `request`, and the number of the answer that is next in it.
    fn next(&self, request: &Request) -> Option<(usize, usize)> {
        // Titles and summaries are no part of a history's answers.
        if request.purpose != Purpose::Step {
            return None;
        }
        let session = request.session.clone().unwrap_or_default();
        let begins = begins(request);
        let mut state = self.state();
        let at = match state.playing.get(&session) {
            Some(at) => *at,
            // The first that asks is the session itself; a task begins with the words it was given.
            None if state.playing.is_empty() => 0,
            None => (1..self.inner.streams.len()).find(|at| {
                !state.playing.values().any(|taken| taken == at)
                    && self.inner.streams[*at].begins.trim() == begins.trim()
            })?,
        };
        state.playing.insert(session, at);
        let played = state.played.entry(at).or_default();
        let number = *played;
        *played += 1;
        (number < self.inner.streams.get(at)?.answers.len()).then_some((at, number))
    }

    /// The chunks of an answer, which name sessions as they are called now, and the failure that it ended with.
    fn chunks(&self, at: usize, number: usize) -> Vec<Result<Chunk, LlmError>> {
        let sessions = self.sessions();
        let answer = self.inner.streams.get(at).and_then(|stream| stream.answers.get(number));
        let chunks = answer.into_iter().flat_map(|answer| &answer.beats).filter_map(|beat| match beat {
            Beat::Chunk(chunk) => Some(Ok(chunk.clone())),
            Beat::Fail(failing) => Some(Err(failing.clone().into_error("replay", "recorded"))),
            Beat::Wait(_) | Beat::Hang => None,
        });
        let named = |chunk| match chunk {
            Chunk::ToolCall { id, name, mut arguments, item } => {
                for (was, is) in &sessions {
                    arguments = arguments.replace(was.as_str(), is);
                }
                Chunk::ToolCall { id, name, arguments, item }
            }
            other => other,
        };
        chunks.map(|chunk| chunk.map(named)).collect()
    }
}

/// The first words that a request's user says.
fn begins(request: &Request) -> String {
    let content = request.messages.iter().find_map(|message| match &**message {
        Message::User { content } => Some(content),
        Message::Assistant { .. } | Message::Tools { .. } => None,
    });
    let first = content.into_iter().flatten().find_map(|content| match content {
        Content::Text { text } => Some(text.clone()),
        Content::Media { .. } => None,
    });
    first.unwrap_or_default()
}

impl Provider for Playback {
    fn serves(&self, purpose: Purpose) -> bool {
        purpose == Purpose::Step
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Chunk, LlmError>> {
        let Some((at, number)) = self.next(&request) else {
            let why = "the recorded session has no further answer here: what the tools did differs, or it ended here";
            return stream::iter([Err(LlmError::Script(why.to_owned()))]).boxed();
        };
        let cue = if at == 0 { (self.inner.cue)(number) } else { std::future::ready(()).boxed() };
        let playback = self.clone();
        let chunks = cue.map(move |()| stream::iter(playback.chunks(at, number)));
        chunks.flatten_stream().boxed()
    }
}
