//! Providers that play what was written down: a scenario or a recording.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;

use crate::answer::{Answer, Beat};
use crate::playlist::Playlist;
use crate::script::{ScriptError, read_recording, read_scenario};
use crate::streams::Streams;
use crate::{Chunk, LlmError, Provider, Purpose, Request};

/// Plays a written scenario, with its waits. [`Playlist`] says which answer a request gets.
#[derive(Debug, Clone)]
pub struct Script(Player);

impl Script {
    /// Plays `answers`. `name` stands in the error when there is none left.
    pub fn new(name: impl Into<String>, answers: Vec<Answer>) -> Self {
        Self(Player::new("script", name.into(), answers, 1.0))
    }

    /// Plays the scenario file at `path`.
    ///
    /// # Errors
    ///
    /// [`ScriptError`] when it cannot be read, with the line that is wrong.
    pub fn open(path: &Path) -> Result<Self, ScriptError> {
        Ok(Self::new(path.display().to_string(), read_scenario(path)?))
    }
}

impl Provider for Script {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Chunk, LlmError>> {
        self.0.stream(&request)
    }

    fn serves(&self, purpose: Purpose) -> bool {
        self.0.serves(purpose)
    }
}

/// Plays a recording: the same chunks in the same order, without waiting. [`Playlist`] says which answer a
/// request gets.
#[derive(Debug, Clone)]
pub struct Replay(Player);

impl Replay {
    /// Plays `answers`. `name` stands in the error when there is none left.
    pub fn new(name: impl Into<String>, answers: Vec<Answer>) -> Self {
        Self(Player::new("replay", name.into(), answers, 0.0))
    }

    /// Plays the recording at `path`.
    ///
    /// # Errors
    ///
    /// [`ScriptError`] when it cannot be read, with the line that is wrong.
    pub fn open(path: &Path) -> Result<Self, ScriptError> {
        Ok(Self::new(path.display().to_string(), read_recording(path)?))
    }

    /// Waits between chunks as long as it took when it was recorded, times `factor`: 1 is as it was, 0.5 twice as
    /// fast. Anything that is not a positive number is no waiting.
    pub fn paced(mut self, factor: f64) -> Self {
        self.0.pace = factor;
        self
    }
}

impl Provider for Replay {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Chunk, LlmError>> {
        self.0.stream(&request)
    }

    fn serves(&self, purpose: Purpose) -> bool {
        self.0.serves(purpose)
    }
}

#[derive(Debug, Clone)]
struct Player {
    /// The vendor that errors name.
    kind: &'static str,
    name: String,
    /// The answers of each session, by its name in the recording.
    parts: Arc<HashMap<Option<String>, Part>>,
    streams: Arc<Mutex<Streams>>,
    /// Every wait is multiplied by this.
    pace: f64,
}

/// The answers of one session, and which is next.
#[derive(Debug)]
struct Part {
    answers: Vec<Answer>,
    list: Playlist,
}

impl Player {
    fn new(kind: &'static str, name: String, answers: Vec<Answer>, pace: f64) -> Self {
        let mut own: HashMap<Option<String>, Vec<Answer>> = HashMap::from([(None, Vec::new())]);
        for answer in answers {
            own.entry(answer.stream.clone()).or_default().push(answer);
        }
        let part = |answers: Vec<Answer>| Part { list: Playlist::new(&answers), answers };
        let parts = own.into_iter().map(|(stream, answers)| (stream, part(answers))).collect();
        Self { kind, name, parts: Arc::new(parts), streams: Arc::default(), pace }
    }

    fn serves(&self, purpose: Purpose) -> bool {
        self.parts.values().any(|part| part.list.places(purpose) > 0)
    }

    fn stream(&self, request: &Request) -> BoxStream<'static, Result<Chunk, LlmError>> {
        let stream = self.streams.lock().unwrap_or_else(PoisonError::into_inner).of(request);
        // Where nobody told them apart, all play the same.
        let part = self.parts.get(&stream).or_else(|| self.parts.get(&None));
        let (purpose, number) = (request.purpose, request.given());
        let answer = part.and_then(|part| part.answers.get(part.list.next(purpose, number)?));
        match answer {
            Some(answer) => play(answer.clone(), self.kind, request.model.clone(), self.pace),
            None => {
                let places = part.map_or(0, |part| part.list.places(purpose));
                let error = none_left(&self.name, purpose, places, number + 1);
                futures::stream::iter([Err(LlmError::Script(error))]).boxed()
            }
        }
    }
}

/// What is said when answer `number` (counted from 1) is asked for and there are only `count`.
fn none_left(name: &str, purpose: Purpose, count: usize, number: usize) -> String {
    let what = match purpose {
        Purpose::Step => "answer",
        Purpose::Compaction => "answer for a compaction",
        Purpose::Title => "answer for a title",
        Purpose::Summary => "answer for a summary",
        Purpose::Sampling => "answer for a server of tools",
    };
    let have = match (purpose, count) {
        (Purpose::Step, 0) => "no answers".to_owned(),
        (Purpose::Step, 1) => "only 1 answer".to_owned(),
        (Purpose::Step, count) => format!("only {count} answers"),
        (Purpose::Compaction | Purpose::Title | Purpose::Summary | Purpose::Sampling, count) => {
            format!("{count} of the kind")
        }
    };
    format!("{name} has {have}, and {what} {number} is asked for; add it to the file, or start a new session")
}

fn play(answer: Answer, kind: &'static str, model: String, pace: f64) -> BoxStream<'static, Result<Chunk, LlmError>> {
    async_stream::stream! {
        for beat in answer.beats {
            match beat {
                Beat::Chunk(chunk) => {
                    let last = matches!(chunk, Chunk::Finish(_));
                    yield Ok(chunk);
                    if last {
                        return;
                    }
                }
                Beat::Wait(time) => {
                    let time = Duration::try_from_secs_f64(time.as_secs_f64() * pace).unwrap_or_default();
                    // A timer, even one that is due, costs a millisecond.
                    if !time.is_zero() {
                        tokio::time::sleep(time).await;
                    }
                }
                Beat::Fail(failing) => {
                    yield Err(failing.into_error(kind, &model));
                    return;
                }
                Beat::Hang => std::future::pending::<()>().await,
            }
        }
        yield Err(LlmError::CutOff { provider: kind.to_owned() });
    }
    .boxed()
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use std::sync::Arc;

    use expect_test::{Expect, expect};
    use tokio::time::Instant;

    use super::*;
    use crate::answer::{FailKind, Failing, Step};
    use crate::{AssistantPart, Message};

    fn request(answers: usize) -> Request {
        let asked = Message::User { content: Vec::new() };
        let answered = Message::Assistant { parts: vec![AssistantPart::Text { text: "a".to_owned(), item: None }] };
        let (asked, answered) = (Arc::new(asked), Arc::new(answered));
        let mut messages = vec![asked.clone()];
        messages.extend((0..answers).flat_map(|_| [answered.clone(), asked.clone()]));
        Request { model: "m".to_owned(), messages: messages.into(), ..Request::default() }
    }

    async fn check(provider: &impl Provider, answers: usize, want: Expect) {
        let played: Vec<_> = provider.stream(request(answers)).collect().await;
        let lines = played.into_iter().map(|chunk| match chunk {
            Ok(chunk) => format!("{chunk:?}\n"),
            Err(error) => format!("error: {error}\n"),
        });
        want.assert_eq(&lines.collect::<String>());
    }

    #[tokio::test]
    async fn the_history_says_which_answer_is_next() {
        let script = Script::new("two.jsonl", vec![Answer::new([Step::text("one")]), Answer::new([Step::text("two")])]);
        for _ in 0..2 {
            check(
                &script,
                0,
                expect![[r#"
                    Text("one")
                    TextEnd { item: None }
                    Finish(Stop)
                "#]],
            )
            .await;
        }
        check(
            &script,
            1,
            expect![[r#"
                Text("two")
                TextEnd { item: None }
                Finish(Stop)
            "#]],
        )
        .await;
        check(
            &script,
            2,
            expect![[r#"
                error: two.jsonl has only 2 answers, and answer 3 is asked for; add it to the file, or start a new session
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn nothing_follows_an_error_and_an_answer_without_end_is_cut_off() {
        let failing = Failing { status: Some(503), ..Failing::new(FailKind::Server, "busy") };
        let after = Beat::Chunk(Chunk::Text("never".to_owned()));
        let answers = vec![
            Answer { beats: vec![Beat::Fail(failing), after.clone()], ..Answer::default() },
            Answer { beats: vec![Beat::Chunk(Chunk::Text("so".to_owned()))], ..Answer::default() },
            Answer { beats: vec![Beat::Chunk(Chunk::Finish(crate::Finish::Stop)), after], ..Answer::default() },
        ];
        let script = Script::new("s", answers);
        check(
            &script,
            0,
            expect![[r#"
                error: script failed with status 503: busy
            "#]],
        )
        .await;
        check(
            &script,
            1,
            expect![[r#"
                Text("so")
                error: the answer of script was cut off before its end
            "#]],
        )
        .await;
        check(
            &script,
            2,
            expect![[r#"
                Finish(Stop)
            "#]],
        )
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_script_waits_a_replay_only_when_paced() {
        let waits = vec![Answer::new([Step::Wait(Duration::from_secs(8)), Step::text("slow")])];
        let took = async |provider: &dyn Provider| {
            let start = Instant::now();
            provider.stream(request(0)).count().await;
            start.elapsed()
        };
        let near = |time: Duration, want: u64| {
            assert!(time >= Duration::from_secs(want) && time < Duration::from_secs(want + 1), "{time:?} for {want} s");
        };
        near(took(&Script::new("s", waits.clone())).await, 8);
        near(took(&Replay::new("r", waits.clone())).await, 0);
        near(took(&Replay::new("r", waits.clone()).paced(0.5)).await, 4);
        near(took(&Replay::new("r", waits).paced(f64::NAN)).await, 0);
    }

    #[tokio::test]
    async fn a_hanging_answer_says_what_it_has_and_stays_open() {
        let script = Script::new("s", vec![Answer::new([Step::text("a"), Step::Hang])]);
        let mut stream = script.stream(request(0));
        assert!(matches!(stream.next().await, Some(Ok(Chunk::Text(_)))));
        assert!(matches!(futures::poll!(stream.next()), Poll::Pending));
    }
}
