//! The wire layer alone: what it costs to read an answer, without anything that is done with it.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::StreamExt;
use haft_llm::dialect::chat::{Chat, ChatManners};
use haft_llm::{Answer, Chunk, Content, Message, Provider, Request, Server, Step};
use rustix::time::{ClockId, clock_gettime};

/// Tokens a second of a fast model.
pub const RATE: u32 = 200;
/// Tokens of the answer that comes at that rate: three seconds of it.
pub const TOKENS: usize = 600;
/// What such a token says.
const TOKEN: &str = "word ";

/// What reading one answer took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Read {
    /// Processor time of the one thread that does it all.
    pub cpu: Duration,
    /// From before the request to the end of the answer.
    pub wall: Duration,
    /// Bytes of text in it.
    pub bytes: usize,
}

/// An answer of [`TOKENS`] tokens, one at a time, [`RATE`] a second.
pub fn paced() -> Answer {
    let pause = Duration::from_secs(1) / RATE;
    Answer::new((0..TOKENS).flat_map(|_| [Step::text(TOKEN), Step::Wait(pause)]))
}

/// The length of [`paced`], in bytes of text.
pub const PACED: usize = TOKENS * TOKEN.len();

/// Asks the model at `url` once, on a thread of its own, and reads its answer to the end.
///
/// # Errors
///
/// When the model fails.
pub fn read(url: &str) -> Result<Read> {
    let url = url.to_owned();
    let reading = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(ask(&url))
    });
    reading.join().map_err(|_| anyhow::anyhow!("the reader panicked"))?
}

async fn ask(url: &str) -> Result<Read> {
    let server = Server { provider: "bench".to_owned(), base_url: url.to_owned(), ..Server::default() };
    let chat = Chat::new(&server, ChatManners::default())?;
    let content = vec![Content::text("Hello?")];
    let request = Request {
        model: "m1".to_owned(),
        messages: vec![Message::User { content }.into()].into(),
        ..Request::default()
    };
    let (began, before) = (Instant::now(), thread_time());
    let mut stream = chat.stream(request);
    let (mut bytes, mut ended) = (0, false);
    while let Some(next) = stream.next().await {
        match next.context("the model failed")? {
            Chunk::Text(text) => bytes += text.len(),
            Chunk::Finish(_) => ended = true,
            Chunk::Reasoning(_)
            | Chunk::TextEnd { .. }
            | Chunk::ReasoningEnd { .. }
            | Chunk::ToolInput { .. }
            | Chunk::ToolCall { .. }
            | Chunk::Vendor(_)
            | Chunk::Usage(_) => {}
        }
    }
    ensure!(ended, "the answer has no end");
    Ok(Read { cpu: thread_time().saturating_sub(before), wall: began.elapsed(), bytes })
}

/// Processor time that this thread has used.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
