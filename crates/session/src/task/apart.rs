//! Tasks that work apart: in a work tree of their own, whose changes are carried over when they have ended.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use haft_project::{Merge, Place, Worktree};
use haft_protocol::{Id, SessionId};
use haft_tool::{Registry, Task, TaskResult, ToolError, with_causes};
use serde_json::json;

use crate::Agents;
use crate::hands::PATCH;
use crate::setup::Setup;
use crate::task::Crew;
use crate::turn::calls::{CallHost, Calls, Prepared};
use crate::turn::report::{Report, Within};

/// Makes the places in which tasks work apart.
pub trait Worktrees: Send + Sync {
    /// The work tree of the repository of `place` that is called `name`, with the tools and the agents for it. It is made
    /// where it does not stand.
    ///
    /// # Errors
    ///
    /// A text for the model that says why there is none.
    fn open<'a>(&'a self, place: &'a Place, name: &'a str) -> BoxFuture<'a, Result<Apart, String>>;

    /// What the work tree of the repository of `place` is called that `directory` is in, whether it stands or not. `None`:
    /// it is in none.
    fn name_of(&self, place: &Place, directory: &Path) -> Option<String>;

    /// Whether a work tree of the repository of `place` called `name` stands.
    fn stands(&self, place: &Place, name: &str) -> bool;
}

/// Where, in what clients are told of a task, the place of its changes stands if they are not in the project.
pub(crate) const LEFT_IN: &str = "leftIn";
/// Most files that are named.
const MOST_NAMED: usize = 20;

/// Where an earlier task worked apart.
pub(crate) struct Earlier {
    /// The name of its work tree.
    pub name: String,
    /// Whether that still stands, because its changes were not carried over.
    pub stands: bool,
    /// Whether the task is at work right now.
    pub at_work: bool,
}

/// Says which files of the project the one who worked apart did not have.
fn missed(files: &[PathBuf]) -> String {
    if files.is_empty() {
        return String::new();
    }
    format!(
        "\nIt worked without these uncommitted files, which are too large, too many or no plain files:{}",
        named(files)
    )
}

/// The names of `files`, a line each.
fn named(files: &[PathBuf]) -> String {
    let names: Vec<String> = files.iter().take(MOST_NAMED).map(|path| format!("\n- {}", path.display())).collect();
    let more = files.len() - names.len();
    let more = if more == 0 { String::new() } else { format!("\n- and {more} more") };
    format!("{}{more}", names.concat())
}

/// A place apart.
pub struct Apart {
    /// The work tree.
    pub tree: Worktree,
    /// Where in it is worked.
    pub place: Place,
    /// The tools, bound to that place.
    pub registry: Registry,
    /// The agents, with rules about that place.
    pub agents: Agents,
}

impl Crew {
    /// Where the earlier task that `task` goes on with worked apart, if it did.
    pub(crate) async fn apart_before(&self, task: &Task) -> Option<Earlier> {
        let record = self.earlier(task.resume.as_deref()).await.ok().flatten()?;
        let Setup { options, place, .. } = &*self.setup;
        let trees = options.worktrees.as_ref()?;
        let name = trees.name_of(place, record.directory.as_ref())?;
        let stands = trees.stands(place, &name);
        Some(Earlier { stands, at_work: self.kin.background.is_at_work(&record.id), name })
    }

    /// A place apart for a task of this session's: that of `earlier`, or a new one.
    pub(crate) async fn apart(&self, earlier: Option<Earlier>) -> Result<Apart, ToolError> {
        let Setup { options, place, clock, .. } = &*self.setup;
        let none = || ToolError::Failed("there are no work trees here; leave `worktree` out".to_owned());
        let trees = options.worktrees.as_ref().ok_or_else(none)?;
        if place.worktree.is_none() {
            return Err(ToolError::Failed(
                "this folder is in no git repository, so there is no work tree; leave `worktree` out".to_owned(),
            ));
        }
        // Of its own kind: no session has the name, and no other one either.
        let minted = || -> String {
            let name: haft_protocol::OutputId = clock.mint();
            name.as_str().replace("tool_", "task_")
        };
        let name = earlier.map_or_else(minted, |earlier| earlier.name);
        let opened = trees.open(place, &name).await;
        opened.map_err(|why| ToolError::Failed(format!("no work tree was made: {why}. No task was begun")))
    }

    /// The same crew, for whom tasks work in `apart`.
    pub(crate) fn working_in(&self, apart: &Apart) -> Arc<Self> {
        let Apart { place, registry, agents, .. } = apart;
        let mut setup =
            Setup { place: place.clone(), registry: registry.clone(), agents: agents.clone(), ..(*self.setup).clone() };
        // What is undone is what is carried over.
        setup.options.past = None;
        let Self { cast, record, kin, .. } = self;
        let tree = Some(Arc::new(apart.tree.clone()));
        Arc::new(Self {
            setup: Arc::new(setup),
            cast: Arc::clone(cast),
            record: record.clone(),
            kin: kin.clone(),
            tree,
        })
    }
}

/// What a session is told of the work tree in which a task worked that has ended behind it: nothing is changed in the
/// project while nobody looks. Also whether changes stand there.
pub(crate) async fn waiting(tree: &Arc<Worktree>, id: &SessionId, agent: &str) -> (String, bool) {
    let looked = Arc::clone(tree);
    let changed = tokio::task::spawn_blocking(move || {
        let changed = looked.changed();
        if changed.as_ref().is_ok_and(Vec::is_empty)
            && let Err(error) = looked.remove()
        {
            tracing::warn!(path = %looked.path().display(), %error, "a work tree could not be removed");
        }
        changed
    });
    let path = tree.path().display();
    let how = format!(
        "To carry its changes over, call task with task_id \"{id}\", subagent_type \"{agent}\" and an empty prompt; with \
         a prompt it goes on there"
    );
    let told = match changed.await {
        Ok(Ok(changed)) if changed.is_empty() => return ("It changed no files.".to_owned(), false),
        Ok(Ok(changed)) => {
            let files = named(&changed);
            format!("It worked apart, in {path}. Nothing of it is in the project yet. It changed there:{files}\n{how}.")
        }
        Ok(Err(error)) => {
            format!("It worked apart, in {path}; what it changed cannot be told: {}", with_causes(&error))
        }
        Err(_) => format!("It worked apart, in {path}. {how}."),
    };
    (told, true)
}

impl CallHost {
    /// `result` of a task that worked in `apart`, with what became of its changes.
    pub(crate) async fn carried_over(
        &self,
        apart: Apart,
        result: Result<TaskResult, ToolError>,
    ) -> Result<TaskResult, ToolError> {
        let path = apart.tree.path().display().to_string();
        // Whoever was stopped changes nothing any more.
        if matches!(result, Err(ToolError::Cancelled)) {
            return result;
        }
        let tree = Arc::new(apart.tree);
        let without = missed(tree.without());
        let carried = self.carry_over(&tree).await;
        let is_left = carried.is_err();
        let told = match carried {
            Ok(told) => told,
            Err(why) => format!(
                "Its changes were not carried over: {why}. They stand in {path}, as it left them; you may read them there. \
                 By its task_id it goes on there, and with an empty prompt carrying over is tried again."
            ),
        };
        let told = format!("{told}{without}");
        match result {
            Ok(mut result) => {
                result.text = format!("{}\n\n{told}", result.text).trim_start().to_owned();
                if is_left {
                    result.metadata.insert(LEFT_IN.to_owned(), path.into());
                }
                Ok(result)
            }
            Err(ToolError::Failed(why)) => Err(ToolError::Failed(format!("{why}\n\n{told}"))),
            Err(error) => Err(error),
        }
    }

    /// Carries the changes in `tree` over, all or none. Returns what became of them, for the model.
    async fn carry_over(&self, tree: &Arc<Worktree>) -> Result<String, String> {
        let looked = Arc::clone(tree);
        let merge = tokio::task::spawn_blocking(move || looked.merge()).await;
        let Merge { take, conflicts } = merge.map_err(|_| "looking at them crashed")?.map_err(|e| with_causes(&e))?;
        if !conflicts.is_empty() {
            let lines = conflicts.iter().map(|(path, why)| format!("\n- {}: {why}", path.display()));
            return Err(format!(
                "{} do not go together with the project:{}\n",
                conflicts.len(),
                lines.collect::<String>()
            ));
        }
        let told = if take.is_empty() { "It changed no files." } else { "Its changes were carried over:" };
        let mut told = told.to_owned();
        if !take.is_empty() {
            let mut patch = "*** Begin Patch\n".to_owned();
            for (path, text) in &take {
                let at = tree.top().join(path);
                let at = at.to_str().filter(|at| !at.contains(['\n', '\r']));
                let at = at.ok_or_else(|| format!("the name of {} cannot stand in a patch", path.display()))?;
                match text {
                    Some(text) => {
                        patch.push_str(&format!("*** Add File: {at}\n"));
                        text.lines().for_each(|line| patch.push_str(&format!("+{line}\n")));
                    }
                    None => patch.push_str(&format!("*** Delete File: {at}\n")),
                }
                told.push_str(&format!("\n- {}", path.display()));
            }
            patch.push_str("*** End Patch");
            self.apply(patch).await.map_err(|error| error.to_string())?;
        }
        let done = Arc::clone(tree);
        let removed = tokio::task::spawn_blocking(move || done.remove()).await;
        if let Ok(Err(error)) = removed {
            tracing::warn!(path = %tree.path().display(), %error, "a work tree could not be removed");
        }
        Ok(told)
    }

    /// Changes files as the caller could, behind the same gate.
    async fn apply(&self, patch: String) -> Result<(), ToolError> {
        let crew = self.crew()?;
        // Whatever this model is offered: the change was made already, and is only put in its place.
        let calls = Calls { registry: crew.setup.registry.clone(), ..self.calls.clone() };
        let mut prepared = Prepared { name: PATCH.to_owned(), input: json!({ "patchText": patch }) };
        let report = Report { within: Within::None, ..self.report.clone() };
        let id = format!("{}_{PATCH}", self.asked_by.call_id);
        calls.call(&self.asked_by.message_id, &id, &mut prepared, self.cancel.clone(), report).await.map(drop)
    }
}
