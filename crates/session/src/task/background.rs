//! Tasks that go on behind a session's back, and what it is told when they have ended.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::{Id, Object, PartKind, SessionId, ToolState, Turned};
use haft_tool::{TaskEnd, TaskResult, ToolError};
use serde_json::Value;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use crate::Prompt;
use crate::task::apart::LEFT_IN;

/// Most tasks that go on behind one session, those counted whose end it was not told of yet.
pub(crate) const MAX_BEHIND: usize = 16;
/// Most prompts that wait for a task at work.
const MAX_MORE: usize = 16;

/// The tasks behind one session. A handle, cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Background(Arc<Shared>);

#[derive(Default)]
struct Shared {
    inner: Mutex<Inner>,
    news: Notify,
    /// For all who wait for the end of one.
    ends: Notify,
}

#[derive(Default)]
struct Inner {
    at_work: BTreeMap<SessionId, Behind>,
    ended: VecDeque<Notice>,
}

/// A task at work.
struct Behind {
    stop: CancellationToken,
    more: mpsc::Sender<Prompt>,
}

/// What a task at work listens to.
pub(crate) struct Ears {
    pub stop: CancellationToken,
    pub more: mpsc::Receiver<Prompt>,
}

/// What a session is told of the end of a task.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Notice {
    pub task: SessionId,
    /// As a model reads it.
    pub text: String,
    /// What it was about.
    pub title: String,
    /// How far the task came, in one word.
    pub state: &'static str,
    /// Whether somebody wants to go on with it: nobody does where the user stopped it.
    pub wakes: bool,
    /// Where its changes stand, if they are not in the project.
    pub left_in: Option<String>,
}

impl Background {
    /// Takes note of a task that begins.
    ///
    /// # Errors
    ///
    /// A text for the model, where there are too many.
    pub(crate) fn begin(&self, id: &SessionId) -> Result<Ears, ToolError> {
        let mut inner = self.inner();
        if inner.at_work.len() + inner.ended.len() >= MAX_BEHIND {
            return Err(ToolError::Failed(format!(
                "{MAX_BEHIND} tasks go on in the background already, which is the most; wait until one has ended, or \
                 leave `background` out"
            )));
        }
        let (more, later) = mpsc::channel(MAX_MORE);
        let stop = CancellationToken::new();
        inner.at_work.insert(id.clone(), Behind { stop: stop.clone(), more });
        Ok(Ears { stop, more: later })
    }

    /// Whether the task `id` is at work here.
    pub(crate) fn is_at_work(&self, id: &SessionId) -> bool {
        self.inner().at_work.contains_key(id)
    }

    /// Gives a task at work one more prompt.
    ///
    /// # Errors
    ///
    /// A text for the model, where it cannot take one.
    pub(crate) fn tell(&self, id: &SessionId, prompt: Prompt) -> Result<(), ToolError> {
        let more = self.inner().at_work.get(id).map(|behind| behind.more.clone());
        let full = || ToolError::Failed(format!("task {id} takes no more prompts now; wait until it has ended"));
        more.ok_or_else(full)?.try_send(prompt).map_err(|_| full())
    }

    /// Takes note of the end of a task.
    pub(crate) fn end(&self, notice: Notice) {
        let mut inner = self.inner();
        inner.at_work.remove(&notice.task);
        inner.ended.push_back(notice);
        drop(inner);
        self.0.news.notify_one();
        self.0.ends.notify_waiters();
    }

    /// Waits until the task `id` is not at work here.
    pub(crate) async fn ended(&self, id: &SessionId) {
        loop {
            let mut next = std::pin::pin!(self.0.ends.notified());
            // Before the look, so that no end falls in between.
            next.as_mut().enable();
            if !self.is_at_work(id) {
                return;
            }
            next.await;
        }
    }

    /// Takes out what is to be told.
    pub(crate) fn take(&self) -> Vec<Notice> {
        self.inner().ended.drain(..).collect()
    }

    /// Waits until there is something to tell.
    pub(crate) async fn news(&self) {
        while self.inner().ended.is_empty() {
            self.0.news.notified().await;
        }
    }

    /// Whether none is at work and nothing is left to tell.
    pub(crate) fn is_at_rest(&self) -> bool {
        let inner = self.inner();
        inner.at_work.is_empty() && inner.ended.is_empty()
    }

    /// Stops all of them.
    pub(crate) fn stop(&self) {
        self.inner().at_work.values().for_each(|behind| behind.stop.cancel());
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notice {
    /// The notice of a task about `what` that came to `result`.
    pub(crate) fn of(task: SessionId, what: &str, result: Result<TaskResult, ToolError>) -> Self {
        let title = what.to_owned();
        match result {
            Ok(result) => {
                let (wakes, ended) = match result.end {
                    TaskEnd::CutOff => (false, "was cut off"),
                    TaskEnd::Complete | TaskEnd::Short(_) | TaskEnd::Running => (true, "has ended"),
                };
                let summary = format!("The background task \"{what}\" {ended}.");
                Self {
                    text: result.framed(Some(&summary)),
                    title,
                    state: result.end.word(),
                    task,
                    wakes,
                    left_in: None,
                }
            }
            Err(error) => {
                let text = format!(
                    "<task id=\"{task}\" state=\"error\">\n<summary>The background task \"{what}\" failed.</summary>\n\
                     <task_error>\n{error}\n</task_error>\n</task>"
                );
                Self { text, title, state: "error", task, wakes: true, left_in: None }
            }
        }
    }

    /// The words of the prompt that it becomes.
    pub(crate) fn part(&self) -> PartKind {
        let mut metadata = Object::from_iter([
            ("task".to_owned(), Value::from(self.task.as_str())),
            ("state".to_owned(), Value::from(self.state)),
            ("title".to_owned(), Value::from(self.title.as_str())),
        ]);
        metadata.extend(self.left_in.as_deref().map(|path| (LEFT_IN.to_owned(), Value::from(path))));
        let text = self.text.clone();
        PartKind::Text { text, synthetic: true, ignored: false, time: None, metadata: Some(Box::new(metadata)) }
    }
}

/// The tasks that went on behind a session with these messages and whose end it was not told of, each with what it is
/// about. Pure.
pub(crate) fn unreported(messages: &[Turned]) -> Vec<(SessionId, String)> {
    let mut open: BTreeMap<SessionId, String> = BTreeMap::new();
    let id = |value: Option<&Value>| value.and_then(Value::as_str).and_then(|id| SessionId::parse(id).ok());
    for part in messages.iter().flat_map(|turned| &turned.parts) {
        if let Some(ToolState::Completed { metadata, title, .. }) = part.kind.state()
            && metadata.get("background").is_some_and(|behind| *behind == Value::Bool(true))
        {
            open.extend(id(metadata.get("sessionId")).map(|id| (id, title.clone())));
        }
        match &part.kind {
            PartKind::Text { synthetic: true, metadata: Some(metadata), .. } => {
                if let Some(id) = id(metadata.get("task")) {
                    open.remove(&id);
                }
            }
            PartKind::Text { .. }
            | PartKind::Tool { .. }
            | PartKind::Reasoning { .. }
            | PartKind::File { .. }
            | PartKind::Vendor { .. }
            | PartKind::Agent { .. }
            | PartKind::Subtask { .. }
            | PartKind::Patch { .. }
            | PartKind::Compaction { .. }
            | PartKind::Retry { .. }
            | PartKind::StepStart {}
            | PartKind::StepFinish { .. } => {}
        }
    }
    open.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use haft_protocol::Clock;

    use super::*;

    fn notice(task: &SessionId) -> Notice {
        let result = TaskResult {
            session: task.clone(),
            end: TaskEnd::Complete,
            text: "Done.".to_owned(),
            metadata: Object::new(),
        };
        Notice::of(task.clone(), "look", Ok(result))
    }

    #[test]
    fn only_so_many_go_on_at_once() {
        let (background, clock) = (Background::default(), Clock::scripted(1));
        let ids: Vec<SessionId> = (0..=MAX_BEHIND).map(|_| clock.mint()).collect();
        let ears: Vec<Ears> = ids[..MAX_BEHIND].iter().map(|id| background.begin(id).unwrap()).collect();
        let full = background.begin(&ids[MAX_BEHIND]).err().unwrap().to_string();
        assert!(full.contains("16 tasks go on in the background already"), "{full}");
        // Whose end was not told yet counts.
        background.end(notice(&ids[0]));
        assert!(background.begin(&ids[MAX_BEHIND]).is_err() && !background.is_at_work(&ids[0]));
        assert_eq!(background.take(), [notice(&ids[0])]);
        background.begin(&ids[MAX_BEHIND]).unwrap();
        background.stop();
        assert!(ears[1..].iter().all(|ears| ears.stop.is_cancelled()) && !ears[0].stop.is_cancelled());
    }

    #[tokio::test]
    async fn whoever_waits_for_the_end_of_a_task_hears_of_it() {
        let (background, clock) = (Background::default(), Clock::scripted(1));
        let ids: Vec<SessionId> = (0..2).map(|_| clock.mint()).collect();
        background.ended(&ids[0]).await;
        let _ears: Vec<Ears> = ids.iter().map(|id| background.begin(id).unwrap()).collect();
        let mut ended = std::pin::pin!(background.ended(&ids[0]));
        assert_eq!(ended.as_mut().now_or_never(), None);
        background.end(notice(&ids[1]));
        assert_eq!(ended.as_mut().now_or_never(), None);
        background.end(notice(&ids[0]));
        ended.await;
    }

    #[test]
    fn a_task_takes_only_so_many_prompts_ahead() {
        let (background, clock) = (Background::default(), Clock::scripted(1));
        let id: SessionId = clock.mint();
        assert!(background.tell(&id, Prompt::plain("x")).is_err(), "it is not there");
        let _ears = background.begin(&id).unwrap();
        for _ in 0..MAX_MORE {
            background.tell(&id, Prompt::plain("x")).unwrap();
        }
        assert!(background.tell(&id, Prompt::plain("x")).is_err());
    }

    #[test]
    fn a_notice_says_how_far_it_came() {
        let id: SessionId = Clock::scripted(1).mint();
        let text = notice(&id).text;
        assert!(
            text.contains("state=\"completed\">\n<summary>The background task \"look\" has ended.</summary>"),
            "{text}"
        );
        let failed = Notice::of(id, "look", Err(ToolError::Failed("it broke".to_owned())));
        assert!(failed.text.contains("<task_error>\nit broke\n</task_error>") && failed.wakes, "{}", failed.text);
    }
}
