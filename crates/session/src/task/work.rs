//! A task at work: following it to its end, and what came of it.

use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use haft_permission::Denied;
use haft_protocol::{Event, Failure, Message, Object, Part, PartKind, SessionId, ToolState};
use haft_tool::{TaskEnd, TaskResult, ToolError, with_causes};
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::{SessionError, TurnError};
use crate::prompt::Prompt;
use crate::session::Session;
use crate::setup::Setup;
use crate::turn::TurnEnd;

/// Longest line about what a task does right now, in characters.
const MAX_ACTIVITY: usize = 120;

/// What is told of a task while it runs: a title and what clients find it by.
pub(crate) type Tell<'a> = dyn Fn(&str, Object) + Send + Sync + 'a;

/// A task whose session is there.
pub(crate) struct Begun {
    pub session: Session,
    /// Ends with the last handle.
    pub work: JoinHandle<()>,
    pub prompt: Prompt,
    /// What clients find it by.
    pub metadata: Object,
    /// How long it may take.
    pub time: Option<Duration>,
}

/// How the work ended.
pub(crate) struct End {
    end: Result<TurnEnd, SessionError>,
    /// The time it may take, where that is what ended it.
    late: Option<Duration>,
}

impl End {
    /// Before it was begun.
    pub(crate) fn stopped() -> Self {
        Self { end: Ok(TurnEnd::Aborted), late: None }
    }
}

/// Asks, and waits until the task's turn has ended, and those of the prompts that come from `more` meanwhile. Tells what
/// it does.
pub(crate) async fn follow(
    setup: &Setup,
    begun: &Begun,
    title: &str,
    mut more: Option<&mut mpsc::Receiver<Prompt>>,
    cancel: &CancellationToken,
    tell: &Tell<'_>,
) -> End {
    let Begun { session, prompt, metadata, time, .. } = begun;
    let mut events = setup.journal.subscribe();
    let mut turns = FuturesUnordered::new();
    turns.push(session.prompt(prompt.clone()).boxed());
    let (mut listening, mut shown, mut late, mut last) = (true, None, None, None);
    let due = time.map(|time| Instant::now() + time);
    let mut stopping = false;
    loop {
        tokio::select! {
            biased;
            end = turns.next() => match end {
                Some(end) => last = Some(end),
                // Whoever was told that the prompt is taken gets their answer: what comes from here on is refused.
                None => match last_words(&mut more).filter(|_| !stopping) {
                    Some(prompt) => turns.push(session.prompt(prompt).boxed()),
                    None => return End { end: last.unwrap_or(Ok(TurnEnd::Aborted)), late },
                },
            },
            () = cancel.cancelled(), if !stopping => {
                stopping = true;
                session.abort().await;
            }
            () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() && !stopping => {
                (stopping, late) = (true, *time);
                session.abort().await;
            }
            prompt = next(&mut more), if !stopping => turns.push(session.prompt(prompt).boxed()),
            event = events.recv(), if listening => match event {
                Ok(event) => {
                    let activity = activity(&event, session.id());
                    if activity.is_some() && activity != shown {
                        let mut metadata = metadata.clone();
                        metadata.insert("activity".to_owned(), activity.clone().into());
                        tell(title, metadata);
                        shown = activity;
                    }
                }
                // The next one shows as much.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => listening = false,
            }
        }
    }
}

/// A prompt that came with the end. No further one is taken then.
fn last_words(more: &mut Option<&mut mpsc::Receiver<Prompt>>) -> Option<Prompt> {
    let more = more.as_mut()?;
    more.try_recv().ok().or_else(|| {
        more.close();
        more.try_recv().ok()
    })
}

/// The next prompt for the task; waits for ever where there is none.
async fn next(more: &mut Option<&mut mpsc::Receiver<Prompt>>) -> Prompt {
    let Some(more) = more else { return std::future::pending().await };
    match more.recv().await {
        Some(prompt) => prompt,
        None => std::future::pending().await,
    }
}

/// What came of a task that ended so. `cancel` says whether whoever handed it on was stopped.
///
/// # Errors
///
/// When it failed or was stopped; the text says what it had done.
pub(crate) async fn result(
    setup: &Setup,
    begun: Begun,
    end: End,
    cancel: &CancellationToken,
) -> Result<TaskResult, ToolError> {
    let Begun { session, work, mut metadata, .. } = begun;
    let id = session.id().clone();
    let Said { text, structured, .. } = said(setup, &id).await;
    drop(session);
    // It lets go of its lease, so that it can be gone on with. Nothing runs in it any more.
    let _ = work.await;
    let failed = |why: String| {
        let so_far = if text.is_empty() { String::new() } else { format!(" Its last words: {text}") };
        ToolError::Failed(format!(
            "the task did not get to its end: {why}. What it had done stays done; go on with it by task_id {id}, or do \
             it another way.{so_far}"
        ))
    };
    let short = |what: &str| {
        TaskEnd::Short(format!("It ended early: {what}. This is what it had by then; go on with it by task_id {id}."))
    };
    let end = match (end.end, end.late) {
        (Ok(TurnEnd::Finished(_)), _) => TaskEnd::Complete,
        (Ok(TurnEnd::Limit { steps }), _) => short(&format!("it took {steps} steps, which is its limit")),
        (Ok(TurnEnd::Aborted), _) if cancel.is_cancelled() => return Err(ToolError::Cancelled),
        (Ok(TurnEnd::Aborted), Some(time)) => short(&format!("it took {} s, which is its limit", time.as_secs())),
        (Ok(TurnEnd::Aborted), None) => return Err(failed("it was stopped".to_owned())),
        (Ok(TurnEnd::Circles { tool }), _) => {
            return Err(failed(format!("it made the same call of {tool} over and over")));
        }
        // Who says no and nothing else wants everything to stop, not only this.
        (Ok(TurnEnd::Refused), _) => return Err(ToolError::Denied(Denied::Rejected)),
        (Err(_), _) if cancel.is_cancelled() => return Err(ToolError::Cancelled),
        (Err(SessionError::Refused(_)), _) => return Err(ToolError::Denied(Denied::Rejected)),
        (Err(SessionError::Turn(TurnError::Budget { what })), _) => short(&what),
        (Err(error), _) => return Err(failed(with_causes(&error))),
    };
    let text = match structured {
        Some(value) => {
            let text = serde_json::to_string_pretty(&value).unwrap_or(text);
            metadata.insert("structured".to_owned(), value);
            text
        }
        None => text,
    };
    Ok(TaskResult { session: id, end, text, metadata })
}

/// What a task has said.
#[derive(Default)]
pub(crate) struct Said {
    /// The last words of the last answer that has any.
    pub text: String,
    /// The last answer's value, where one of a form was asked for.
    pub structured: Option<Value>,
    /// Whether the last answer was cut off.
    pub cut_off: bool,
    /// Whether the last answer ended its turn.
    pub is_whole: bool,
}

/// What the task `id` has said so far. A store that cannot be read says nothing.
pub(crate) async fn said(setup: &Setup, id: &SessionId) -> Said {
    let Ok(history) = setup.journal.history(id).await else { return Said::default() };
    let mut answers = history.messages().iter().rev().filter_map(|turned| match &turned.info {
        Message::Assistant(answer) => Some((answer, &turned.parts)),
        Message::User(_) => None,
    });
    let Some((last, parts)) = answers.next() else { return Said::default() };
    let cut_off = last.error.as_ref().is_some_and(|error| error.name == Failure::ABORTED);
    // What was cut off before it said anything had said something before.
    let mut earlier = || answers.find_map(|(_, parts)| words(parts));
    let text = words(parts).or_else(|| if cut_off || last.error.is_some() { earlier() } else { None });
    let goes_on = last.finish.as_deref().is_none_or(|finish| finish == "tool-calls") && last.structured.is_none();
    let is_whole = last.error.is_none() && !goes_on;
    Said { text: text.unwrap_or_default(), structured: last.structured.as_deref().cloned(), cut_off, is_whole }
}

/// The last words among `parts`.
fn words(parts: &[Part]) -> Option<String> {
    parts.iter().rev().find_map(|part| match &part.kind {
        PartKind::Text { text, ignored: false, .. } if !text.trim().is_empty() => Some(text.trim().to_owned()),
        PartKind::Text { .. }
        | PartKind::Reasoning { .. }
        | PartKind::File { .. }
        | PartKind::Tool { .. }
        | PartKind::Vendor { .. }
        | PartKind::Agent { .. }
        | PartKind::Subtask { .. }
        | PartKind::Patch { .. }
        | PartKind::Compaction { .. }
        | PartKind::Retry { .. }
        | PartKind::StepStart {}
        | PartKind::StepFinish { .. } => None,
    })
}

/// What `event` says that the session `id` does right now: a tool and what for.
fn activity(event: &Event, id: &SessionId) -> Option<String> {
    let Event::PartUpdated { session_id, part, .. } = event else { return None };
    if session_id != id {
        return None;
    }
    let PartKind::Tool { tool, state, .. } = &part.kind else { return None };
    let about = match &**state {
        ToolState::Running { title: Some(title), .. } | ToolState::Completed { title, .. } => title.as_str(),
        ToolState::Running { input, title: None, .. } => input.as_object()?.values().find_map(Value::as_str)?,
        ToolState::Pending { .. } | ToolState::Error { .. } => return None,
    };
    let line = format!("{tool} {}", about.lines().next().unwrap_or_default());
    Some(line.trim().chars().take(MAX_ACTIVITY).collect())
}
