//! A provider that plays a session and those below it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, stream};
use haft_llm::{Answer, Beat, Chunk, Content, LlmError, Message, Provider, Purpose, Request};
use tokio::sync::watch;

/// Why there is no answer where a turn goes on that had ended.
const ENDED: &str = "the recorded turn ended here: what the tools did differs, or it was stopped";
/// Why there is none where all were given, or nobody knows whose they would be.
const NO_MORE: &str = "the recorded session has no further answer here: what the tools did differs, or it ended here";

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
    /// What a turn goes on with that is about to end, by how many answers were played then.
    pub goes_on: BTreeMap<usize, String>,
    /// From when on each answer may be played; at any time where nothing is said.
    pub opens: Vec<Moment>,
}

/// How far the first session has come. Later ones are greater.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    asked: usize,
    told: bool,
}

impl Moment {
    /// It has asked for so many answers.
    pub fn asked(asked: usize) -> Self {
        Self { asked, told: false }
    }

    /// The same, and now the tasks end whose end it was told of then.
    pub fn told(asked: usize) -> Self {
        Self { asked, told: true }
    }
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
    reached: watch::Sender<Moment>,
}

#[derive(Default)]
struct State {
    /// Which stream the session of that name plays.
    playing: HashMap<String, usize>,
    /// How many answers each stream has played.
    played: HashMap<usize, usize>,
    /// How many answers of the first one may be played so far; all where nobody said.
    until: Option<usize>,
}

impl Playback {
    /// Plays `streams`, the first of which is the session's own.
    pub fn new(streams: Vec<Stream>, cue: Cue) -> Self {
        let reached = watch::Sender::new(Moment::default());
        Self { inner: Arc::new(Inner { streams, cue, state: Mutex::default(), reached }) }
    }

    /// The first stream is that of the session called `id`. Where this is not said it is that of whoever asks first.
    pub fn begin(&self, id: &str) {
        self.state().playing.insert(id.to_owned(), 0);
    }

    /// The next answer of the first stream is its `from`th, counted from 0, and before the `until`th it is asked in vain:
    /// a turn plays its own answers, whatever else differs.
    pub fn turn(&self, from: usize, until: usize) {
        let mut state = self.state();
        state.played.insert(0, from);
        state.until = Some(until);
    }

    /// The first session has come as far as `moment`; what waits for that goes on.
    pub fn reach(&self, moment: Moment) {
        self.inner.reached.send_if_modified(|reached| {
            let goes_on = moment > *reached;
            *reached = moment.max(*reached);
            goes_on
        });
    }

    /// What a turn of the session called `id` goes on with that is about to end.
    pub fn goes_on(&self, id: &str) -> Option<String> {
        let state = self.state();
        let at = *state.playing.get(id)?;
        let played = state.played.get(&at).copied().unwrap_or_default();
        self.inner.streams.get(at)?.goes_on.get(&played).cloned()
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
    fn next(&self, request: &Request) -> Result<(usize, usize), &'static str> {
        // Titles and summaries are no part of a history's answers.
        if request.purpose != Purpose::Step {
            return Err(NO_MORE);
        }
        let session = request.session.clone().unwrap_or_default();
        let begins = begins(request);
        let mut state = self.state();
        let at = match state.playing.get(&session) {
            Some(at) => *at,
            // The first that asks is the session itself; a task begins with the words it was given.
            None if state.playing.is_empty() => 0,
            None => self.task(&state, &begins).ok_or(NO_MORE)?,
        };
        state.playing.insert(session, at);
        let until = state.until.filter(|_| at == 0);
        let played = state.played.entry(at).or_default();
        if until.is_some_and(|until| *played >= until) {
            return Err(ENDED);
        }
        let number = *played;
        let there = self.inner.streams.get(at).is_some_and(|stream| number < stream.answers.len());
        *played += usize::from(there);
        if there { Ok((at, number)) } else { Err(NO_MORE) }
    }

    /// The stream of a task that nobody plays yet and that begins with these words.
    fn task(&self, state: &State, begins: &str) -> Option<usize> {
        let is_free = |at: usize| !state.playing.values().any(|taken| *taken == at);
        let streams = &self.inner.streams;
        (1..streams.len()).find(|at| is_free(*at) && streams[*at].begins.trim() == begins.trim())
    }

    /// Waits until the answer `number` of the stream `at` may be played.
    async fn opened(&self, at: usize, number: usize) {
        if at == 0 {
            self.reach(Moment::asked(number + 1));
            return (self.inner.cue)(number).await;
        }
        let opens = self.inner.streams.get(at).and_then(|stream| stream.opens.get(number)).copied();
        let mut reached = self.inner.reached.subscribe();
        // The sender is ours, so this ends with the moment alone.
        let _ = reached.wait_for(|reached| opens.is_none_or(|opens| *reached >= opens)).await;
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
        let (at, number) = match self.next(&request) {
            Ok(found) => found,
            Err(why) => return stream::iter([Err(LlmError::Script(why.to_owned()))]).boxed(),
        };
        let playback = self.clone();
        let played = async move {
            playback.opened(at, number).await;
            stream::iter(playback.chunks(at, number))
        };
        played.flatten_stream().boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use haft_llm::Step;

    use super::*;

    /// A playback of a session with three answers and a task with two, and how many cues it gave.
    fn playback(opens: Vec<Moment>) -> (Playback, Arc<AtomicUsize>) {
        let stream = |name: &str, count: usize, opens| Stream {
            session: name.to_owned(),
            begins: name.to_owned(),
            answers: (0..count).map(|number| Answer::new([Step::text(format!("{name} {number}"))])).collect(),
            goes_on: BTreeMap::from([(2, "go on".to_owned())]),
            opens,
        };
        let cues = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&cues);
        let cue: Cue = Arc::new(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            std::future::ready(()).boxed()
        });
        (Playback::new(vec![stream("own", 3, Vec::new()), stream("task", 2, opens)], cue), cues)
    }

    /// What `session` hears that begins with `begins`, if it hears anything at once.
    fn hears(playback: &Playback, session: &str, begins: &str) -> Option<String> {
        let content = vec![Content::Text { text: begins.to_owned() }];
        let request = Request {
            session: Some(session.to_owned()),
            messages: vec![Arc::new(Message::User { content })].into(),
            ..Request::default()
        };
        let said = playback.stream(request).collect::<Vec<_>>().now_or_never()?;
        Some(
            said.into_iter()
                .map(|chunk| match chunk {
                    Ok(Chunk::Text(text)) => text,
                    Ok(_) => String::new(),
                    Err(error) => error.to_string(),
                })
                .collect(),
        )
    }

    #[test]
    fn a_turn_plays_its_own_answers_whatever_came_of_the_one_before() {
        let (playback, cues) = playback(Vec::new());
        playback.begin("s1");
        let heard = || hears(&playback, "s1", "own").unwrap();
        playback.turn(0, 1);
        assert_eq!(heard(), "own 0");
        assert!(heard().contains("the recorded turn ended here"));
        playback.turn(1, 3);
        assert_eq!(heard(), "own 1");
        // It ended early.
        playback.turn(2, 3);
        assert_eq!((heard().as_str(), cues.load(Ordering::Relaxed)), ("own 2", 3));
        playback.turn(3, 9);
        assert!(heard().contains("no further answer"));
    }

    #[test]
    fn a_task_that_asks_first_is_not_taken_for_the_session() {
        let (playback, cues) = playback(Vec::new());
        playback.begin("s1");
        assert_eq!(hears(&playback, "s2", "task").unwrap(), "task 0");
        assert!(hears(&playback, "s3", "task").unwrap().contains("no further answer"), "it is taken");
        assert_eq!((hears(&playback, "s1", "own").unwrap().as_str(), cues.load(Ordering::Relaxed)), ("own 0", 1));
        let mut sessions = playback.sessions();
        sessions.sort();
        assert_eq!(sessions, [("own".to_owned(), "s1".to_owned()), ("task".to_owned(), "s2".to_owned())]);
    }

    #[test]
    fn a_task_in_the_background_waits_for_its_session() {
        let (playback, _) = playback(vec![Moment::asked(1), Moment::told(1)]);
        playback.begin("s1");
        let task = || hears(&playback, "s2", "task");
        assert_eq!(task(), None);
        let (playback, _) = self::playback(vec![Moment::asked(1), Moment::told(1)]);
        playback.begin("s1");
        let task = || hears(&playback, "s2", "task");
        hears(&playback, "s1", "own").unwrap();
        assert_eq!(task().as_deref(), Some("task 0"));
        assert_eq!(task(), None);
        // An earlier moment takes nothing back.
        playback.reach(Moment::told(1));
        playback.reach(Moment::asked(1));
        playback.turn(1, 3);
        assert_eq!(playback.goes_on("s2").as_deref(), Some("go on"), "it played two");
        assert_eq!((playback.goes_on("s1"), playback.goes_on("s9")), (None, None));
    }
}
