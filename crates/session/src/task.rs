//! Handing a task to another agent: a session of its own, below the one whose call asks for it.

pub(crate) mod apart;
pub(crate) mod background;
pub(crate) mod budget;
pub(crate) mod left_open;
pub(crate) mod work;

use std::sync::Arc;

use haft_permission::{Grant, Rules};
use haft_project::Worktree;
use haft_protocol::{Id, ModelRef, Object, OutputFormat, Session as Record, SessionId, SessionModel};
use haft_tool::{Delegate, PlanFile, Task, TaskEnd, TaskResult, ToolError, with_causes};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::agents::cast::{Cast, Casting};
use crate::agents::delegates::delegates;
use crate::agents::policy;
use crate::error::SessionError;
use crate::kin::Kin;
use crate::prompt::{Prompt, check_format};
use crate::session::{Session, new_record};
use crate::setup::{NewSession, Setup};
use crate::task::background::Notice;
use crate::task::work::{Begun, Tell};

/// Those who can work for a session: what it needs to hand tasks on.
pub(crate) struct Crew {
    pub setup: Arc<Setup>,
    /// Who hands them on.
    pub cast: Arc<Cast>,
    /// The session that they work for, as it was when its role was taken.
    pub record: Record,
    pub kin: Kin,
    /// The work tree that tasks of it work in, where they work apart.
    pub tree: Option<Arc<Worktree>>,
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

    /// Runs `task` to its end, or begins it where it is one for the background. Dropping the future stops it where it
    /// is waited for.
    pub(crate) async fn delegate(
        self: &Arc<Self>,
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
        if let Some(format) = format_of(&task) {
            check_format(&format).map_err(|why| ToolError::BadInput(format!("schema: {why}. No task was begun")))?;
        }
        let earlier = self.earlier(task.resume.as_deref()).await.map_err(|error| cannot(&error))?;
        if let Some(earlier) = &earlier
            && (task.prompt.trim().is_empty() || self.kin.background.is_at_work(&earlier.id))
        {
            return self.reach(earlier, &task).await;
        }
        if task.prompt.trim().is_empty() {
            return Err(ToolError::BadInput("there is no such task to ask about; say what is to be done".to_owned()));
        }
        if task.background {
            return self.begin_behind(rules, task, model, earlier).await;
        }
        let _turn = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ToolError::Cancelled),
            turn = self.kin.turns.acquire() => turn,
        };
        let begun = self.begin(rules, &task, model, earlier).await.map_err(|error| cannot(&error))?;
        tell(&task.description, begun.metadata.clone());
        let end = work::follow(&self.setup, &begun, &task.description, None, cancel, tell).await;
        work::result(&self.setup, begun, end, cancel).await
    }

    /// Asks about a task, or tells one at work more.
    async fn reach(&self, earlier: &Record, task: &Task) -> Result<TaskResult, ToolError> {
        let id = earlier.id.clone();
        let at_work = self.kin.background.is_at_work(&id);
        if at_work && !task.prompt.trim().is_empty() {
            self.kin.background.tell(&id, Prompt::by_model(&task.prompt).agent(&task.agent))?;
        }
        let said = work::said(&self.setup, &id).await;
        let end = match (at_work, said.cut_off) {
            (true, _) => TaskEnd::Running,
            (false, true) => TaskEnd::CutOff,
            (false, false) => TaskEnd::Complete,
        };
        let metadata = match &earlier.model {
            Some(SessionModel { id: model_id, provider_id, .. }) => {
                let model = ModelRef { provider_id: provider_id.clone(), model_id: model_id.clone() };
                self.metadata(&id, &model)
            }
            None => Object::new(),
        };
        Ok(TaskResult { session: id, end, text: said.text, metadata })
    }

    /// Begins `task` and leaves it to itself. Its session is told when it has ended.
    async fn begin_behind(
        self: &Arc<Self>,
        rules: &Rules,
        task: Task,
        model: Option<&ModelName>,
        earlier: Option<Record>,
    ) -> Result<TaskResult, ToolError> {
        if self.kin.depth > 0 {
            return Err(ToolError::BadInput(
                "a task reports once it has ended, so nothing may go on behind it; leave `background` out. No task was begun"
                    .to_owned(),
            ));
        }
        let mut begun = self.begin(rules, &task, model, earlier).await.map_err(|error| cannot(&error))?;
        let id = begun.session.id().clone();
        let mut ears = self.kin.background.begin(&id)?;
        // By both names: clients of the reference ask for a job.
        begun.metadata.extend([("background".to_owned(), true.into()), ("jobId".to_owned(), id.as_str().into())]);
        let metadata = begun.metadata.clone();
        let crew = Arc::clone(self);
        let task_id = id.clone();
        tokio::spawn(async move {
            let turns = Arc::clone(&crew.kin.turns);
            let result = tokio::select! {
                biased;
                () = ears.stop.cancelled() => work::result(&crew.setup, begun, work::End::stopped(), &ears.stop).await,
                _turn = turns.acquire() => {
                    let (stop, more) = (ears.stop.clone(), Some(&mut ears.more));
                    let end = work::follow(&crew.setup, &begun, &task.description, more, &stop, &|_, _| {}).await;
                    work::result(&crew.setup, begun, end, &stop).await
                }
            };
            let mut left_in = None;
            let result = match (result, &crew.tree) {
                (Ok(mut result), Some(tree)) => {
                    let (told, is_left) = apart::waiting(tree, &task_id, &task.agent).await;
                    result.text = format!("{}\n\n{told}", result.text).trim_start().to_owned();
                    left_in = is_left.then(|| tree.path().display().to_string());
                    Ok(result)
                }
                (Err(ToolError::Failed(why)), Some(tree)) => {
                    let (told, is_left) = apart::waiting(tree, &task_id, &task.agent).await;
                    left_in = is_left.then(|| tree.path().display().to_string());
                    Err(ToolError::Failed(format!("{why}\n\n{told}")))
                }
                (result, _) => result,
            };
            let result = match result {
                // Who stopped it knows; what it had may still be of use.
                Err(ToolError::Cancelled) => {
                    let text = work::said(&crew.setup, &task_id).await.text;
                    Ok(TaskResult { session: task_id.clone(), end: TaskEnd::CutOff, text, metadata: Object::new() })
                }
                result => result,
            };
            crew.kin.background.end(Notice { left_in, ..Notice::of(task_id, &task.description, result) });
        });
        Ok(TaskResult { session: id, end: TaskEnd::Running, text: String::new(), metadata })
    }

    /// What sessions that work for this one are given, under `rules`.
    pub(crate) fn setup_below(&self, rules: &Rules) -> Setup {
        let mut setup = Setup { model: self.cast.model.clone(), ..(*self.setup).clone() };
        // What is closed to the one who asks stays closed to whoever works for them.
        setup.rules.extend(policy::closed(rules));
        let held = policy::held(&self.cast.agent.own);
        setup.agents = setup.agents.bounded(|_| held.clone());
        setup
    }

    /// What a session for `task` is made of.
    pub(crate) async fn below(
        &self,
        rules: &Rules,
        task: &Task,
        model: Option<&ModelName>,
    ) -> Result<Below, SessionError> {
        let setup = self.setup_below(rules);
        let mut prompt = Prompt::by_model(&task.prompt).agent(&task.agent);
        if let Some(format) = format_of(task) {
            prompt = prompt.format(format);
        }
        if let Some(ModelName { name, variant }) = model.cloned() {
            prompt = prompt.model(name, variant);
        }
        let kin = self.kin.below(self.cast.variant.clone(), self.setup.options.tasks.each);
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

    /// Opens the session of `task`, which is `earlier` if there is one, or makes it.
    async fn begin(
        &self,
        rules: &Rules,
        task: &Task,
        model: Option<&ModelName>,
        earlier: Option<Record>,
    ) -> Result<Begun, SessionError> {
        let Below { setup, record, prompt, kin, model } = self.below(rules, task, model).await?;
        let (setup, children) = ((*setup).clone(), &self.kin.children);
        let (session, work) = match earlier {
            Some(record) => Session::open_below(setup, &record.id, kin, children).await?,
            None => Session::create_below(setup, *record, kin, children).await?,
        };
        let metadata = self.metadata(session.id(), &model);
        let time = self.setup.options.tasks.each.time;
        Ok(Begun { session, work, prompt, metadata, time })
    }

    /// The earlier task of this session called `resume`, if it is one.
    pub(crate) async fn earlier(&self, resume: Option<&str>) -> Result<Option<Record>, SessionError> {
        let Some(id) = resume.and_then(|id| SessionId::parse(id.trim()).ok()) else { return Ok(None) };
        let record = self.setup.journal.session(&id).await?;
        Ok(record.filter(|record| record.parent_id.as_ref() == Some(&self.record.id)))
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

/// The form that the result of `task` is to have.
fn format_of(task: &Task) -> Option<OutputFormat> {
    let schema = task.form.clone()?;
    Some(OutputFormat::JsonSchema { schema, retry_count: None })
}

fn cannot(error: &SessionError) -> ToolError {
    ToolError::Failed(format!("the task could not be begun: {}", with_causes(error)))
}
