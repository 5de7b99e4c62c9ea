//! `haft session`: looking at what was said and done. Needs no settings, so broken ones are not in the way.

mod compact;
mod delete;
mod diff;
pub(crate) mod export;
pub(crate) mod follow;
mod fork;
mod import;
mod list;
pub(crate) mod pack;
pub(crate) mod replay;
mod summary;
mod undo;

pub(crate) use self::list::ago;
pub(crate) use self::undo::FOUND;

use std::path::Path;

use anyhow::{Context, Result};
use haft_protocol::{History, Id, Message, Part, PartKind, Session as Record, SessionId, ToolState, Turned, User};
use haft_store::{Filter, Journal};
use serde_json::{Value, json};

use crate::args::Session;
use crate::folders::Folders;
use crate::render::{self, Paint, clean};
use crate::report::{Exit, Usage};
use crate::wire::{journal, place};

pub(crate) async fn run(command: Session) -> Result<Exit> {
    match command {
        Session::List { all, archived, search, max_count, json, dir } => {
            list::run(list::List { all, archived, search, limit: max_count, json, dir }).await
        }
        Session::Show { id, json, last, follow, dir } => {
            let journal = journal(&Folders::find()?).await?;
            let record = find(id.as_deref(), dir.as_deref(), &journal).await?;
            if follow {
                return follow::follow(&journal, &record, json).await;
            }
            // Where a part is taken back, only the whole says which.
            let messages = match last.filter(|_| record.revert.is_none()) {
                Some(last) => journal.messages(&record.id, None, last).await?.into_iter().collect(),
                None => journal.history(&record.id).await?,
            };
            show(&record, &messages, last, json)
        }
        Session::Compact { id, focus, model, dir } => {
            compact::run(id.as_deref(), focus, model.as_deref(), dir.as_deref()).await
        }
        Session::Summary { id, all, json, model, dir } => {
            summary::run(id.as_deref(), summary::Wanted { all, json, model }, dir.as_deref()).await
        }
        Session::Replay(args) => replay::run(*args).await,
        Session::Pack(args) => pack::run(args).await,
        Session::Delete { ids, yes } => delete::run(&ids, yes).await,
        Session::Archive { id, undo } => delete::archive(&id, undo).await,
        Session::Pin { id, undo } => delete::pin(&id, undo).await,
        Session::Rename { id, title } => delete::rename(&id, &title).await,
        Session::Export(args) => export::run(args).await,
        Session::Import(args) => import::run(args).await,
        Session::Fork(args) => fork::run(args).await,
        Session::Undo(args) => undo::undo(args).await,
        Session::Redo(args) => undo::redo(args).await,
        Session::Diff(args) => diff::run(args).await,
    }
}

/// Most sessions that are looked at to find one that no plug-in made.
const MAX_PASSED: usize = 200;

async fn find(id: Option<&str>, dir: Option<&Path>, journal: &Journal) -> Result<Record> {
    match id {
        Some(id) => {
            let id = SessionId::parse(id).map_err(|error| Usage(error.to_string()))?;
            let record = journal.session(&id).await?;
            Ok(record.ok_or(haft_session::SessionError::Unknown(id))?)
        }
        None => {
            let directory = Some(place(dir)?.directory.display().to_string());
            let filter = Filter { directory, roots: true, limit: MAX_PASSED, ..Filter::default() };
            let newest = journal.sessions(&filter).await?;
            newest
                .into_iter()
                .find(|record| record.plugin().is_none())
                .context("there is no session of this folder yet; `haft run` makes one")
        }
    }
}

/// Shows the `last` messages that are not taken back, or all of them; as JSON, those that are, too.
fn show(record: &Record, history: &History, last: Option<usize>, json: bool) -> Result<Exit> {
    let newest = |messages: &[Turned]| messages.len().saturating_sub(last.unwrap_or(usize::MAX));
    if json {
        let messages = history.messages();
        let messages: Vec<Value> = messages[newest(messages)..]
            .iter()
            .map(|turned| json!({ "info": turned.info, "parts": turned.parts }))
            .collect();
        render::say_json(&json!({ "info": record, "messages": messages }), false)?;
        return Ok(Exit::Done);
    }
    let paint = Paint::new(render::out_is_terminal());
    render::say(&paint.bold(&clean(&record.title)))?;
    render::say(&paint.dim(&clean(&format!("{} in {}", record.id, record.directory))))?;
    let (shown, hidden) = haft_session::shown(record, history);
    for turned in shown[newest(shown)..].iter().filter(|turned| says_something(turned)) {
        let who = match &turned.info {
            Message::User(_) => turned.plugin().map_or_else(|| "You".to_owned(), |name| format!("Plug-in {name}")),
            Message::Assistant(answer) => format!("{} ({}/{})", answer.agent, answer.provider_id, answer.model_id),
        };
        render::say(&format!("\n{}", paint.bold(&clean(&who))))?;
        if let Message::User(User { summary: Some(summary), .. }) = &turned.info
            && summary.body.is_some()
        {
            let lines = crate::chat::summary(summary, Paint::OFF).join(" · ");
            render::say(&paint.dim(&format!("(what came of it: {lines})")))?;
        }
        for part in &turned.parts {
            match &part.kind {
                PartKind::Text { text, synthetic: false, .. } if !text.is_empty() => match &turned.info {
                    Message::User(_) => render::say(&clean(text))?,
                    Message::Assistant(_) => render::say(&render::answer(text.trim_end(), paint))?,
                },
                PartKind::Reasoning { text, .. } if !text.is_empty() => render::say(&paint.dim(&clean(text)))?,
                PartKind::File { filename, url, .. } => {
                    let name = filename.as_deref().unwrap_or(url);
                    render::say(&paint.dim(&format!("[{}]", clean(name))))?;
                }
                PartKind::Tool { tool, state, .. } => {
                    for line in call_lines(tool, state, paint) {
                        render::say(&line)?;
                    }
                }
                PartKind::Subtask(task) => {
                    let said = format!("(a task for {}: {})", task.agent, task.description);
                    render::say(&paint.dim(&clean(&said)))?;
                }
                PartKind::Compaction { .. } => render::say(&paint.dim("(what came before was to be summed up)"))?,
                PartKind::Text { .. }
                | PartKind::Reasoning { .. }
                | PartKind::Vendor { .. }
                | PartKind::Agent { .. }
                | PartKind::Patch { .. }
                | PartKind::Retry { .. }
                | PartKind::StepStart {} => {}
                PartKind::StepFinish { cost, tokens, .. } => {
                    let spent = render::spent(tokens, *cost);
                    if !spent.is_empty() {
                        render::say(&paint.dim(&format!("({})", spent.join(" · "))))?;
                    }
                }
            }
        }
        if let Message::Assistant(answer) = &turned.info
            && let Some(failure) = &answer.error
        {
            render::say(&paint.red(&format!("[{}]", clean(failure.message()))))?;
        }
    }
    if hidden > 0 {
        let line = format!("\n({hidden} messages are taken back; haft session redo {} brings them back)", record.id);
        render::say(&paint.yellow(&line))?;
    }
    let spent = render::spent(&record.tokens, record.cost);
    if !spent.is_empty() {
        render::say(&paint.dim(&format!("\nall together: {}", spent.join(" · "))))?;
    }
    Ok(Exit::Done)
}

/// Whether there is something to show of a message. Prompts of the program's own are for the model.
fn says_something(turned: &Turned) -> bool {
    let says = |part: &Part| match &part.kind {
        PartKind::Text { text, synthetic: false, .. } => !text.is_empty(),
        PartKind::File { .. } | PartKind::Subtask { .. } | PartKind::Compaction { .. } => true,
        PartKind::Text { .. }
        | PartKind::Reasoning { .. }
        | PartKind::Tool { .. }
        | PartKind::Vendor { .. }
        | PartKind::Agent { .. }
        | PartKind::Patch { .. }
        | PartKind::Retry { .. }
        | PartKind::StepStart {}
        | PartKind::StepFinish { .. } => false,
    };
    matches!(turned.info, Message::Assistant(_)) || turned.parts.iter().any(says)
}

/// The lines for a call. One that has no end yet, because it still runs or because haft was killed, says so.
fn call_lines(tool: &str, state: &ToolState, paint: Paint) -> Vec<String> {
    match state {
        ToolState::Completed { metadata, .. } | ToolState::Error { metadata: Some(metadata), .. } => {
            let mut lines = render::tool_lines(tool, state, paint);
            if let Some(id) = metadata.get("sessionId").and_then(Value::as_str).filter(|_| tool == "task") {
                lines.push(paint.dim(&clean(&format!("  haft session show {id}"))));
            }
            lines
        }
        ToolState::Error { metadata: None, .. } => render::tool_lines(tool, state, paint),
        ToolState::Running { input, title, .. } => {
            let what = render::tool_doing(tool, title.as_deref().unwrap_or_default(), input);
            vec![paint.cyan(&what), paint.dim("  (has not ended)")]
        }
        ToolState::Pending { .. } => vec![paint.dim(&format!("⚙ {} (was not run)", clean(tool)))],
    }
}
