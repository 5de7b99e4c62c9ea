//! Tasks that work apart: in a work tree of their own, whose changes are carried over when they have ended.

use std::sync::Arc;

use futures::future::BoxFuture;
use haft_project::{Merge, Place, Worktree};
use haft_protocol::Id;
use haft_tool::{Registry, TaskResult, ToolError, with_causes};
use serde_json::json;

use crate::Agents;
use crate::calls::{CallHost, Calls, Prepared};
use crate::hands::PATCH;
use crate::report::{Report, Within};
use crate::setup::Setup;
use crate::task::Crew;

/// Makes the places in which tasks work apart.
pub trait Worktrees: Send + Sync {
    /// A work tree of the repository of `place`, called `name`, with the tools and the agents for it.
    ///
    /// # Errors
    ///
    /// A text for the model that says why there is none.
    fn open<'a>(&'a self, place: &'a Place, name: &'a str) -> BoxFuture<'a, Result<Apart, String>>;
}

/// Most files that are named.
const MOST_NAMED: usize = 20;

/// Says which files of the project the one who worked apart did not have.
fn missed(files: &[std::path::PathBuf]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let names: Vec<String> = files.iter().take(MOST_NAMED).map(|path| format!("\n- {}", path.display())).collect();
    let more = files.len() - names.len();
    let more = if more == 0 { String::new() } else { format!("\n- and {more} more") };
    format!(
        "\nIt worked without these uncommitted files, which are too large, too many or no plain files:{}{more}",
        names.concat()
    )
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
    /// A place apart for a task of this session's.
    pub(crate) async fn apart(&self) -> Result<Apart, ToolError> {
        let Setup { options, place, clock, .. } = &*self.setup;
        let none = || ToolError::Failed("there are no work trees here; leave `worktree` out".to_owned());
        let trees = options.worktrees.as_ref().ok_or_else(none)?;
        if place.worktree.is_none() {
            return Err(ToolError::Failed(
                "this folder is in no git repository, so there is no work tree; leave `worktree` out".to_owned(),
            ));
        }
        // Of its own kind: no session has the name, and no other one either.
        let name: haft_protocol::OutputId = clock.mint();
        let name = name.as_str().replace("tool_", "task_");
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
        Arc::new(Self { setup: Arc::new(setup), cast: Arc::clone(cast), record: record.clone(), kin: kin.clone() })
    }
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
        let told = match self.carry_over(&tree).await {
            Ok(told) => told,
            Err(why) => format!("Its changes were not carried over: {why}. They stand in {path}, as it left them."),
        };
        let told = format!("{told}{without}");
        match result {
            Ok(mut result) => {
                result.text = format!("{}\n\n{told}", result.text).trim_start().to_owned();
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
        let prepared = Prepared { name: PATCH.to_owned(), input: json!({ "patchText": patch }) };
        let report = Report { within: Within::None, ..self.report.clone() };
        let id = format!("{}_{PATCH}", self.asked_by.call_id);
        calls.call(&self.asked_by.message_id, &id, &prepared, self.cancel.clone(), report).await.map(drop)
    }
}
