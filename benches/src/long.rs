//! The next steps of a session that is stored, beside those of a new one.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use haft_llm::{Chunk, Finish, LlmError, Provider, Purpose, Request};
use haft_protocol::SessionId;
use haft_session::{NewSession, Prompt, Session, TurnEnd};
use haft_store::Journal;
use serde_json::json;

use crate::crowd::{self, FILE};
use crate::stats::{median, ms};

/// Steps that are measured; the first one opens files that later ones find open.
const STEPS: usize = 60;

/// What steps cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steps {
    /// From the end of the model's answer to the next request, with one `read` between, in milliseconds; the median.
    pub gap: f64,
    /// To write the last request as JSON, in milliseconds.
    pub written: f64,
    /// Bytes of that.
    pub bytes: usize,
}

/// Prompts the session called `id` that `journal` keeps, or a new one, and says what its steps cost.
///
/// # Errors
///
/// When the session does not open or does not end by itself.
pub async fn steps(journal: &Journal, id: Option<&SessionId>, folder: &Path) -> Result<Steps> {
    let project = folder.join("project");
    std::fs::create_dir_all(&project)?;
    std::fs::write(project.join(FILE), (0..1000).map(|n| format!("line {n}\n")).collect::<String>())?;
    let model = Arc::new(Clocked::default());
    let setup = crowd::setup(model.clone(), &project, folder, journal)?;
    let session = match id {
        Some(id) => Session::open(setup, id).await?,
        None => Session::create(setup, NewSession::default()).await?,
    };
    let end = session.prompt(Prompt::text("Do as you are told.")).await?;
    ensure!(matches!(end, TurnEnd::Finished(_)), "the session ended with {end:?}");
    let seen = model.seen.lock().unwrap_or_else(PoisonError::into_inner);
    ensure!(seen.len() == STEPS + 1, "{} requests instead of {}", seen.len(), STEPS + 1);
    let gaps = seen.windows(2).skip(1).filter_map(|pair| Some(ms(pair[1].asked - pair[0].ended?)));
    let last = model.last.lock().unwrap_or_else(PoisonError::into_inner).take().context("nothing was asked")?;
    let begun = Instant::now();
    let bytes = model.body(last).len();
    Ok(Steps { gap: median(gaps).context("no step was measured")?, written: ms(begun.elapsed()), bytes })
}

/// When a request came, and when its answer had ended.
#[derive(Debug)]
struct Seen {
    asked: Instant,
    ended: Option<Instant>,
}

/// A model that wants a file read again and again, and notes when it is asked.
#[derive(Default)]
struct Clocked {
    seen: Arc<Mutex<Vec<Seen>>>,
    last: Mutex<Option<Request>>,
}

impl Provider for Clocked {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Chunk, LlmError>> {
        let asked = Instant::now();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let at = seen.len();
        seen.push(Seen { asked, ended: None });
        if at == STEPS {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(request);
        }
        let chunks = match at < STEPS {
            true => vec![call(at), Chunk::Finish(Finish::ToolCalls)],
            false => vec![Chunk::Text("Done.".to_owned()), Chunk::TextEnd { item: None }, Chunk::Finish(Finish::Stop)],
        };
        let all = Arc::clone(&self.seen);
        let noted = move |chunk: &Chunk| {
            if matches!(chunk, Chunk::Finish(_)) {
                let mut seen = all.lock().unwrap_or_else(PoisonError::into_inner);
                seen.get_mut(at).into_iter().for_each(|seen| seen.ended = Some(Instant::now()));
            }
        };
        stream::iter(chunks).inspect(noted).map(Ok).boxed()
    }

    fn serves(&self, purpose: Purpose) -> bool {
        purpose == Purpose::Step
    }
}

/// The call of the step `at`: each reads other lines.
fn call(at: usize) -> Chunk {
    let arguments = json!({ "filePath": FILE, "offset": at * 5 + 1, "limit": 5 }).to_string();
    Chunk::ToolCall { id: format!("next_{at}"), name: "read".to_owned(), arguments, item: None }
}
