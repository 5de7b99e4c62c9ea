//! Writes down what a provider answers.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

use crate::answer::Failing;
use crate::script::{Header, Line, MAX_BYTES, RequestLine, Timed};
use crate::streams::Streams;
use crate::{Chunk, LlmError, Provider, Purpose, Request, ToolSpec};

/// Hands on what another provider answers, and records it for [`crate::Replay`].
///
/// What was asked is not recorded beyond two counts, and keys and headers never come near. An answer is written when
/// it ends, all its lines at once: answers that stream at the same time do not mix, and a process that is killed
/// leaves a file that can be read. Each session that asks has its own answers in it. The file never grows beyond [`MAX_BYTES`]; answers that do not fit are not
/// recorded, and the log says so.
#[derive(Clone)]
pub struct Recorder {
    inner: Arc<dyn Provider>,
    file: Arc<Mutex<Open>>,
    streams: Arc<Mutex<Streams>>,
}

struct Open {
    file: File,
    written: u64,
}

impl Recorder {
    /// Records `inner` into a new file at `path`, which may not exist yet and only the user can read. `model` stands
    /// in its first line, as `VENDOR/MODEL`.
    ///
    /// # Errors
    ///
    /// When the file exists or cannot be written.
    pub fn create(path: &Path, model: &str, inner: Arc<dyn Provider>) -> io::Result<Self> {
        let mut open = Open { file: private(path)?, written: 0 };
        let mut header = Vec::new();
        line(&mut header, &Header::recording(model));
        open.write(&header)?;
        Ok(Self { inner, file: Arc::new(Mutex::new(open)), streams: Arc::default() })
    }

    /// Records `inner` into the same file: another model of the same run, such as the one that finds titles.
    pub fn beside(&self, inner: Arc<dyn Provider>) -> Self {
        Self { inner, ..self.clone() }
    }
}

/// Makes a file that only the user can read: what a model wrote may hold what it read.
fn private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

impl Provider for Recorder {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Chunk, LlmError>> {
        let (messages, tools) = (request.messages.len(), request.tools.len());
        let stream = self.streams.lock().unwrap_or_else(PoisonError::into_inner).of(&request);
        let asked = RequestLine { messages, tools, purpose: request.purpose, stream };
        let mut lines = Vec::new();
        line(&mut lines, &Line::Request { request: asked });
        let began = Instant::now();
        let inner = self.inner.stream(request);
        Tee { inner, file: Arc::clone(&self.file), began, lines, open: true, came: false }.boxed()
    }

    fn serves(&self, purpose: Purpose) -> bool {
        self.inner.serves(purpose)
    }

    fn body(&self, request: Request) -> Bytes {
        self.inner.body(request)
    }

    fn tools(&self, specs: &[ToolSpec]) -> Value {
        self.inner.tools(specs)
    }
}

/// A stream whose chunks are noted as they pass.
struct Tee {
    inner: BoxStream<'static, Result<Chunk, LlmError>>,
    file: Arc<Mutex<Open>>,
    began: Instant,
    /// What is to be written. At most [`MAX_BYTES`].
    lines: Vec<u8>,
    /// Whether the answer is still to be written.
    open: bool,
    /// Whether anything came. A request that was dropped before that left nothing in the session either.
    came: bool,
}

impl Stream for Tee {
    type Item = Result<Chunk, LlmError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.inner.poll_next_unpin(context);
        if let Poll::Ready(next) = &next {
            self.note(next.as_ref());
        }
        next
    }
}

impl Drop for Tee {
    /// Whoever drops the stream has seen all that they wanted: that is the answer.
    fn drop(&mut self) {
        self.write();
    }
}

impl Tee {
    fn note(&mut self, next: Option<&Result<Chunk, LlmError>>) {
        let what = match next {
            Some(Ok(chunk)) => Some(Timed::Chunk(chunk.clone())),
            Some(Err(error)) => Failing::of(error).map(Timed::Error),
            None => None,
        };
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        if let Some(what) = what
            && self.open
        {
            line(&mut self.lines, &Line::Came { ms, what });
            self.came = true;
            if self.lines.len() as u64 > MAX_BYTES {
                self.lines = Vec::new();
                self.open = false;
                tracing::warn!("an answer is too long for the recording and is not in it");
            }
        }
        // It is on disk before anybody can act on the end of the answer.
        if !matches!(next, Some(Ok(chunk)) if !matches!(chunk, Chunk::Finish(_))) {
            self.write();
        }
    }

    fn write(&mut self) {
        if !(std::mem::take(&mut self.open) && self.came) {
            return;
        }
        // A few kilobytes into the page cache, once an answer: not worth a thread of its own.
        let written = self.file.lock().unwrap_or_else(PoisonError::into_inner).write(&self.lines);
        self.lines = Vec::new();
        if let Err(error) = written {
            tracing::warn!(%error, "an answer could not be written to the recording");
        }
    }
}

impl Open {
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.written + lines.len() as u64 > MAX_BYTES {
            return Err(io::Error::other(format!("the recording has its {} MiB", MAX_BYTES / 1024 / 1024)));
        }
        self.written += lines.len() as u64;
        self.file.write_all(lines)
    }
}

fn line(lines: &mut Vec<u8>, what: &impl Serialize) {
    // Everything that is written has string keys and goes to memory; neither can fail.
    if serde_json::to_writer(&mut *lines, what).is_ok() {
        lines.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::expect;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::answer::{Answer, Beat, FailKind, Step};
    use crate::{AssistantPart, Finish, Item, Message, Replay, Script, Usage, read_recording};

    fn request(answers: usize) -> Request {
        let parts = vec![AssistantPart::Text { text: String::new(), item: None }];
        Request { messages: vec![Message::Assistant { parts }.into(); answers].into(), ..Request::default() }
    }

    fn record(path: &Path, answers: Vec<Answer>) -> Recorder {
        Recorder::create(path, "v/m", Arc::new(Script::new("s", answers))).unwrap()
    }

    async fn chunks(provider: &dyn Provider, answer: usize) -> Vec<Result<Chunk, String>> {
        provider.stream(request(answer)).map(|next| next.map_err(|error| error.to_string())).collect().await
    }

    #[tokio::test(start_paused = true)]
    async fn the_file_is_as_documented() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.jsonl");
        let usage = Usage { input: 7, output: 1, ..Usage::default() };
        let fail = Failing { status: Some(503), ..Failing::new(FailKind::Server, "busy") };
        let recorder = record(
            &path,
            vec![
                Answer::new([
                    Step::text("Hi."),
                    Step::Wait(Duration::from_millis(12)),
                    Step::call("ls", &json!({})),
                    Step::Usage(usage),
                ]),
                Answer::new([Step::Fail(fail)]),
            ],
        );
        // The third request finds nothing, which is no answer.
        for answer in [0, 1, 2] {
            chunks(&recorder, answer).await;
        }
        expect![[r#"
            {"haft":"recording","version":1,"model":"v/m"}
            {"request":{"messages":0,"tools":0}}
            {"ms":0,"chunk":{"text":"Hi."}}
            {"ms":12,"chunk":{"text_end":{}}}
            {"ms":12,"chunk":{"tool_input":{"id":"call_1","name":"ls","delta":""}}}
            {"ms":12,"chunk":{"tool_input":{"id":"call_1","name":"ls","delta":"{}"}}}
            {"ms":12,"chunk":{"tool_call":{"id":"call_1","name":"ls","arguments":"{}"}}}
            {"ms":12,"chunk":{"usage":{"input":7,"output":1,"reasoning":0,"cache_read":0,"cache_write":0}}}
            {"ms":12,"chunk":{"finish":"tool-calls"}}
            {"request":{"messages":1,"tools":0}}
            {"ms":0,"error":{"kind":"server","message":"busy","status":503}}
        "#]]
        .assert_eq(&std::fs::read_to_string(&path).unwrap());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[tokio::test]
    async fn an_answer_is_on_disk_before_its_end_is_seen_and_when_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.jsonl");
        let recorder = record(&path, vec![Answer::new([Step::text("a")]), Answer::new([Step::text("b"), Step::Hang])]);

        let mut stream = recorder.stream(request(0));
        while !matches!(stream.next().await, Some(Ok(Chunk::Finish(_)))) {}
        assert_eq!(read_recording(&path).unwrap()[0].chunks().count(), 3);

        let mut cancelled = recorder.stream(request(1));
        cancelled.next().await;
        drop(cancelled);
        let read = read_recording(&path).unwrap();
        assert_eq!(read[1].chunks().collect::<Vec<_>>(), [&Chunk::Text("b".to_owned())]);
        assert!(Recorder::create(&path, "v/m", Arc::new(Replay::new("r", read))).is_err(), "written over");
    }

    #[test]
    fn a_full_recording_takes_nothing_more() {
        let folder = tempfile::tempdir().unwrap();
        let mut open = Open { file: File::create_new(folder.path().join("r")).unwrap(), written: MAX_BYTES - 3 };
        assert!(open.write(b"1234").is_err());
        assert!(open.write(b"123").is_ok());
        assert!(open.write(b"1").is_err());
    }

    fn any_chunk() -> impl Strategy<Value = Chunk> {
        let item = proptest::option::of(".*".prop_map(|text| Item {
            vendor: "v".to_owned(),
            model: "m".to_owned(),
            value: json!({"z": text, "a": [1, null]}),
        }));
        let usage = any::<[u32; 6]>().prop_map(|[total, input, output, reasoning, cache_read, cache_write]| Usage {
            total: (total % 2 == 0).then_some(total.into()),
            input: input.into(),
            output: output.into(),
            reasoning: reasoning.into(),
            cache_read: cache_read.into(),
            cache_write: cache_write.into(),
        });
        prop_oneof![
            ".+".prop_map(Chunk::Text),
            ".+".prop_map(Chunk::Reasoning),
            item.clone().prop_map(|item| Chunk::TextEnd { item }),
            item.clone().prop_map(|item| Chunk::ReasoningEnd { item }),
            (".*", ".*", ".*").prop_map(|(id, name, delta)| Chunk::ToolInput { id, name, delta }),
            (".*", ".*", ".*", item.clone()).prop_map(|(id, name, arguments, item)| Chunk::ToolCall {
                id,
                name,
                arguments,
                item
            }),
            item.prop_filter_map("an item", |item| item.map(Chunk::Vendor)),
            usage.prop_map(Chunk::Usage),
        ]
    }

    fn any_answer() -> impl Strategy<Value = Answer> {
        let end = prop_oneof![
            Just(Beat::Chunk(Chunk::Finish(Finish::Stop))),
            ".*".prop_map(|reason| Beat::Chunk(Chunk::Finish(Finish::Other(reason)))),
            ".*".prop_map(|message| Beat::Fail(Failing::new(FailKind::Server, message))),
        ];
        // No dialect gives two calls of an answer the same id, and no recording with such is read.
        let apart = |(at, mut chunk): (usize, Chunk)| {
            if let Chunk::ToolInput { id, .. } | Chunk::ToolCall { id, .. } = &mut chunk {
                *id = format!("{at}_{id}");
            }
            Beat::Chunk(chunk)
        };
        (proptest::collection::vec(any_chunk(), 0..12), end).prop_map(move |(chunks, end)| Answer {
            beats: chunks.into_iter().enumerate().map(apart).chain([end]).collect(),
            ..Answer::default()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_replay_gives_what_was_recorded(answers in proptest::collection::vec(any_answer(), 1..4)) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            runtime.block_on(async {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("r.jsonl");
                let recorder = record(&path, answers.clone());
                let mut live = Vec::new();
                // As a session asks: again after a failure, else for the next place.
                let mut place = 0;
                for _ in &answers {
                    let came = chunks(&recorder, place).await;
                    let failed = came.last().is_some_and(Result::is_err);
                    live.push((place, came));
                    place += usize::from(!failed);
                }
                let replay = Replay::open(&path).unwrap();
                for (place, live) in live {
                    let text = |next: Result<Chunk, String>| next.map_err(|error| error.replace("replay", "script"));
                    let again: Vec<_> = chunks(&replay, place).await.into_iter().map(text).collect();
                    assert_eq!(again, live);
                }
            });
        }
    }
}
