//! Handing a task to another agent: a session of its own, below the one whose call asks for it.

use std::sync::Arc;

use futures::FutureExt;
use haft_permission::{Denied, Grant, Rules};
use haft_protocol::{Event, Id, Message, ModelRef, Object, PartKind, Session as Record, SessionId, ToolState};
use haft_tool::{Delegate, PlanFile, Task, TaskResult, ToolError, with_causes};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::cast::{Cast, Casting};
use crate::delegates::delegates;
use crate::error::SessionError;
use crate::kin::Kin;
use crate::policy;
use crate::prompt::Prompt;
use crate::session::{Session, new_record};
use crate::setup::{NewSession, Setup};
use crate::turn::TurnEnd;

/// Longest line about what a task does right now, in characters.
const MAX_ACTIVITY: usize = 120;

/// Those who can work for a session: what it needs to hand tasks on.
pub(crate) struct Crew {
    pub setup: Arc<Setup>,
    /// Who hands them on.
    pub cast: Arc<Cast>,
    /// The session that they work for, as it was when its role was taken.
    pub record: Record,
    pub kin: Kin,
}

/// A model as a command names it for the task that it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelName {
    /// `vendor/model`.
    pub name: String,
    /// Which named set of its options.
    pub variant: Option<String>,
}

impl ModelName {
    /// The model that a stored task names.
    pub(crate) fn of(model: Option<&ModelRef>, variant: Option<&String>) -> Option<Self> {
        let ModelRef { provider_id, model_id } = model?;
        Some(Self { name: format!("{provider_id}/{model_id}"), variant: variant.cloned() })
    }
}

/// What is told of a task while it runs: a title and what clients find it by.
pub(crate) type Tell<'a> = dyn Fn(&str, Object) + Send + Sync + 'a;

impl Crew {
    /// The agents that one under `rules` may hand tasks to here.
    ///
    /// # Errors
    ///
    /// When tasks may begin no further ones.
    pub(crate) fn delegates(&self, rules: &Rules) -> Result<Vec<Delegate>, ToolError> {
        let most = self.setup.options.tasks.depth;
        if self.kin.depth >= most {
            return Err(ToolError::Failed(format!(
                "a task this deep may begin no further one (the limit is {most}, which `subagent_depth` in the settings \
                 raises). Do the work yourself"
            )));
        }
        Ok(delegates(&self.setup.agents, rules))
    }

    /// Runs `task` to its end. Dropping the future stops it.
    pub(crate) async fn delegate(
        &self,
        grant: &Grant,
        rules: &Rules,
        task: Task,
        model: Option<&ModelName>,
        cancel: &CancellationToken,
        tell: &Tell<'_>,
    ) -> Result<TaskResult, ToolError> {
        if !grant.covers_delegate(&task.agent) {
            return Err(ToolError::Failed(format!("no leave was given to hand a task to {}", task.agent)));
        }
        // The limit of depth holds, whoever was named.
        self.delegates(rules)?;
        let _turn = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ToolError::Cancelled),
            turn = self.kin.turns.acquire() => turn,
        };
        let begun = self.begin(rules, &task, model).await.map_err(|error| cannot(&error))?;
        let Begun { session, work, prompt, model } = begun;
        let metadata = self.metadata(session.id(), &model);
        tell(&task.description, metadata.clone());

        let end = self.follow(&session, prompt, &task.description, &metadata, cancel, tell).await;
        let id = session.id().clone();
        let text = self.last_words(&id).await;
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
        match end {
            Ok(TurnEnd::Finished(_) | TurnEnd::Limit { .. }) => Ok(TaskResult { session: id, text, metadata }),
            Ok(TurnEnd::Aborted) if cancel.is_cancelled() => Err(ToolError::Cancelled),
            Ok(TurnEnd::Aborted) => Err(failed("it was stopped".to_owned())),
            Ok(TurnEnd::Circles { tool }) => Err(failed(format!("it made the same call of {tool} over and over"))),
            // Who says no and nothing else wants everything to stop, not only this.
            Ok(TurnEnd::Refused) => Err(ToolError::Denied(Denied::Rejected)),
            Err(_) if cancel.is_cancelled() => Err(ToolError::Cancelled),
            Err(SessionError::Refused(_)) => Err(ToolError::Denied(Denied::Rejected)),
            Err(error) => Err(failed(with_causes(&error))),
        }
    }

    /// What a session for `task` is made of.
    pub(crate) async fn below(
        &self,
        rules: &Rules,
        task: &Task,
        model: Option<&ModelName>,
    ) -> Result<Below, SessionError> {
        let mut setup = Setup { model: self.cast.model.clone(), ..(*self.setup).clone() };
        // What is closed to the one who asks stays closed to whoever works for them.
        setup.rules.extend(policy::closed(rules));
        let mut prompt = Prompt::by_model(&task.prompt).agent(&task.agent);
        if let Some(ModelName { name, variant }) = model.cloned() {
            prompt = prompt.model(name, variant);
        }
        let kin = self.kin.below(self.cast.variant.clone());
        let setup = Arc::new(setup);
        let (cast, _) = Casting::new(Arc::clone(&setup), kin.variant.clone()).of(&prompt)?;
        let title = format!("{} (@{} subagent)", task.description, task.agent);
        let mut record = Box::new(new_record(&setup, NewSession { title: Some(title) }).await?);
        record.parent_id = Some(self.record.id.clone());
        record.agent = Some(task.agent.clone());
        record.model = Some(cast.session_model());
        let above = self.record.permission.as_deref().unwrap_or_default();
        let below = policy::below(above, &cast.agent.rules, &self.setup.options.tasks.closed);
        record.permission = (!below.is_empty()).then_some(below);
        Ok(Below { setup, record, prompt, kin, model: cast.model.reference.clone() })
    }

    /// Opens the session of `task`, or makes it.
    async fn begin(&self, rules: &Rules, task: &Task, model: Option<&ModelName>) -> Result<Begun, SessionError> {
        let Below { setup, record, prompt, kin, model } = self.below(rules, task, model).await?;
        let (setup, children) = ((*setup).clone(), &self.kin.children);
        let (session, work) = match self.earlier(task.resume.as_deref()).await? {
            Some(id) => Session::open_below(setup, &id, kin, children).await?,
            None => Session::create_below(setup, *record, kin, children).await?,
        };
        Ok(Begun { session, work, prompt, model })
    }

    /// The earlier task of this session called `resume`, if it is one.
    async fn earlier(&self, resume: Option<&str>) -> Result<Option<SessionId>, SessionError> {
        let Some(id) = resume.and_then(|id| SessionId::parse(id.trim()).ok()) else { return Ok(None) };
        let record = self.setup.journal.session(&id).await?;
        Ok(record.filter(|record| record.parent_id.as_ref() == Some(&self.record.id)).map(|record| record.id))
    }

    /// Waits until the task's turn has ended, and tells what it does meanwhile.
    async fn follow(
        &self,
        session: &Session,
        prompt: Prompt,
        title: &str,
        metadata: &Object,
        cancel: &CancellationToken,
        tell: &Tell<'_>,
    ) -> Result<TurnEnd, SessionError> {
        let mut events = self.setup.journal.subscribe();
        let mut turn = std::pin::pin!(session.prompt(prompt).fuse());
        let mut listening = true;
        let mut shown = None;
        loop {
            tokio::select! {
                biased;
                end = &mut turn => return end,
                () = cancel.cancelled() => {
                    session.abort().await;
                    return turn.await;
                }
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

    /// The last words of the last answer.
    async fn last_words(&self, id: &SessionId) -> String {
        let Ok(history) = self.setup.journal.history(id).await else { return String::new() };
        let last = history.messages().iter().rfind(|turned| matches!(turned.info, Message::Assistant(_)));
        let words = last.into_iter().flat_map(|turned| turned.parts.iter().rev()).find_map(|part| match &part.kind {
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
        });
        words.unwrap_or_default()
    }

    fn metadata(&self, id: &SessionId, model: &ModelRef) -> Object {
        Object::from_iter([
            ("parentSessionId".to_owned(), Value::from(self.record.id.as_str())),
            ("sessionId".to_owned(), Value::from(id.as_str())),
            ("model".to_owned(), json!(model)),
        ])
    }

    /// Where the session's plan stands, or would stand.
    pub(crate) async fn plan_file(&self) -> PlanFile {
        let Setup { place, options, .. } = &*self.setup;
        let name = format!("{}-{}.md", self.record.time.created, self.record.slug);
        let folder = match (&place.worktree, &options.plans) {
            (Some(top), _) => top.join(".haft/plans"),
            (None, Some(plans)) => plans.clone(),
            (None, None) => place.directory.join(".haft/plans"),
        };
        let path = folder.join(name);
        let exists = tokio::fs::try_exists(&path).await.unwrap_or(false);
        let shown = path.strip_prefix(&place.directory).unwrap_or(&path);
        PlanFile { path: shown.display().to_string(), exists }
    }
}

/// What a session for a task is made of.
pub(crate) struct Below {
    pub setup: Arc<Setup>,
    /// As it is where no earlier one is gone on with.
    pub record: Box<Record>,
    pub prompt: Prompt,
    pub kin: Kin,
    /// Who answers.
    pub model: ModelRef,
}

struct Begun {
    session: Session,
    /// Ends with the last handle.
    work: JoinHandle<()>,
    prompt: Prompt,
    model: ModelRef,
}

fn cannot(error: &SessionError) -> ToolError {
    ToolError::Failed(format!("the task could not be begun: {}", with_causes(error)))
}

/// What `event` says that the session `id` does right now: a tool and what for.
fn activity(event: &Event, id: &SessionId) -> Option<String> {
    let Event::PartUpdated { session_id, part, .. } = event else { return None };
    if session_id != id {
        return None;
    }
    let PartKind::Tool { tool, state, .. } = &part.kind else { return None };
    let about = match state {
        ToolState::Running { title: Some(title), .. } | ToolState::Completed { title, .. } => title.as_str(),
        ToolState::Running { input, title: None, .. } => input.as_object()?.values().find_map(Value::as_str)?,
        ToolState::Pending { .. } | ToolState::Error { .. } => return None,
    };
    let line = format!("{tool} {}", about.lines().next().unwrap_or_default());
    Some(line.trim().chars().take(MAX_ACTIVITY).collect())
}
