//! `apply_patch`: changes several files by one patch, all of them or none; and `patch`, its old name.
//!
//! [`parse`] reads a patch, [`Patch`] prints it again, [`apply`] changes one text by hunks: all pure, for anybody's use.
//! The tool works out what a patch comes to before it asks once for all of it, and hands that to one transaction.

mod apply;
mod grammar;
mod lines;
mod nearest;
mod parse;
mod place;
mod plan;
mod refusal;
mod shown;
mod tidied;

use std::borrow::Cow;
use std::collections::HashMap;

use haft_permission::{Access, Effect};
use haft_project::{Becomes, Change, Files, FilesError, IfExists, Stamp, Target};
use haft_tool::{Call, Output, TellModel, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

pub use self::apply::apply;
pub use self::grammar::{Hunk, Patch, Row, Section};
pub use self::parse::{BadPatch, MAX_HUNKS, MAX_SECTIONS, MAX_TEXT, parse};
use self::plan::{Outcome, Step, What, plan};
pub use self::refusal::{Refusal, Why};
use self::shown::{Shown, said};
use crate::beside::beside;
use crate::format::After;
use crate::reach::reach;
use crate::seen::unchanged;
use crate::suits::patches;
use crate::text::on_one_line;

/// Largest file, in bytes, that a patch may change or delete.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// Most bytes of old contents that one patch may concern.
const MAX_ALL: u64 = 64 * 1024 * 1024;

pub(crate) struct ApplyPatch {
    files: Files,
    after: After,
}

/// The same under the name it had before.
pub(crate) struct OldPatch(ApplyPatch);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Input {
    /// The patch.
    // Models that were trained with other programs know it by these names.
    #[serde(alias = "input", alias = "patch")]
    patch_text: String,
}

/// The files of a patch, each once, and what is done to them.
struct Scope {
    targets: Vec<Target>,
    /// One for each section.
    steps: Vec<Step>,
}

impl ApplyPatch {
    pub(crate) fn new(files: &Files, after: &After) -> Self {
        Self { files: files.clone(), after: after.clone() }
    }

    /// Where the paths lead. Asks for folders outside the project.
    async fn scope(&self, call: &Call, patch: &Patch) -> Result<Scope, ToolError> {
        let mut scope = Scope { targets: Vec::new(), steps: Vec::new() };
        let mut known: HashMap<&str, usize> = HashMap::new();
        for section in &patch.sections {
            let file = self.number(call, &mut scope, &mut known, section.path()).await?;
            let to = match section {
                Section::Update { to: Some(to), .. } => self.number(call, &mut scope, &mut known, to).await?,
                Section::Update { to: None, .. } | Section::Add { .. } | Section::Delete { .. } => file,
            };
            let goes = to != file || matches!(section, Section::Delete { .. });
            if goes && scope.targets[file].by_link() {
                let path = on_one_line(section.path());
                return Err(ToolError::Failed(format!(
                    "{path} is a link to {}; nothing was done. Name that file, or remove the link with bash",
                    scope.targets[file].title()
                )));
            }
            scope.steps.push(Step { file, to });
        }
        Ok(scope)
    }

    /// The number of the file that `path` leads to.
    async fn number<'a>(
        &self,
        call: &Call,
        scope: &mut Scope,
        known: &mut HashMap<&'a str, usize>,
        path: &'a str,
    ) -> Result<usize, ToolError> {
        if let Some(number) = known.get(path) {
            return Ok(*number);
        }
        let target = reach(&self.files, call, path).await?;
        let same = scope.targets.iter().position(|other| other.path() == target.path());
        let number = same.unwrap_or(scope.targets.len());
        if same.is_none() {
            scope.targets.push(target);
        }
        known.insert(path, number);
        Ok(number)
    }

    /// What the files hold; `None` for one that is not there.
    async fn old(&self, call: &Call, patch: &Patch, scope: &Scope) -> Result<Vec<Option<Vec<u8>>>, ToolError> {
        let updated = |number: usize| {
            let mut steps = patch.sections.iter().zip(&scope.steps);
            steps.any(|(section, step)| step.file == number && matches!(section, Section::Update { .. }))
        };
        // A refusal quotes lines of the file, so this is a look at it like any other.
        let looked = scope.targets.iter().enumerate().filter(|(number, _)| updated(*number));
        let looked: Vec<&Target> = looked.map(|(_, target)| target).collect();
        let look = Access {
            patterns: looked.iter().map(|target| target.title().to_owned()).collect(),
            effects: looked.iter().map(|target| Effect::Read(target.path().to_owned())).collect(),
            ..Access::new("read", "")
        };
        // Nothing needs no leave.
        let look = call.ask(look).await?;
        let own = scope.targets.iter().map(|target| Effect::Read(target.path().to_owned())).collect();
        let own = call.ask(Access::internal(own)).await?;
        let (mut old, mut seen) = (Vec::with_capacity(scope.targets.len()), Vec::new());
        let mut left = MAX_ALL;
        for (number, target) in scope.targets.iter().enumerate() {
            let grant = if updated(number) { &look } else { &own };
            match self.files.read_stamped(grant, target, MAX_FILE.min(left)).await {
                Ok((bytes, stamp)) => {
                    unchanged(call, target, stamp)?;
                    left = left.saturating_sub(bytes.len() as u64);
                    same_file(&seen, target, stamp)?;
                    seen.push((target, stamp));
                    old.push(Some(bytes));
                }
                Err(FilesError::Missing { .. }) => old.push(None),
                Err(FilesError::TooBig { size, max, .. }) => {
                    return Err(ToolError::Failed(format!(
                        "{} has {size} bytes, more than the {max} that a patch may concern; change it with a program \
                         in bash",
                        target.title()
                    )));
                }
                Err(error) => return Err(error).tell_model(),
            }
        }
        Ok(old)
    }

    async fn patch(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        let patch = beside(move || parse(&input.patch_text)).await;
        let patch = patch.map_err(|error| ToolError::BadInput(error.to_string()))?;
        let scope = self.scope(call, &patch).await?;
        let _turns = self.files.lock_all(&scope.targets).await;
        let old = self.old(call, &patch, &scope).await?;
        let mut planned = planned(self.files.clone(), patch, scope, old).await?;

        let grant = call.ask(planned.shown.access(&planned.outcomes, &planned.scope.targets)).await?;
        let changes = changes(&planned.outcomes, &planned.scope.targets, &planned.old);
        let changed: Vec<Target> = changes.iter().map(|change| change.target.clone()).collect();
        let stamps = self.files.apply(&grant, changes).await.map_err(|error| not_applied(&error))?;
        let notes = self.tidied(call, &grant, &mut planned, &changed, &stamps).await;
        planned.tell(&self.after, &changed);
        let Planned { outcomes, shown, scope, old } = planned;
        Ok(Output::new(shown.title(), said(&outcomes, &scope.targets, &old) + &notes)
            .meta("diff", shown.diff)
            .meta("files", shown.files)
            .meta("diagnostics", json!({}))
            .meta("truncated", false))
    }
}

impl OldPatch {
    pub(crate) fn new(files: &Files, after: &After) -> Self {
        Self(ApplyPatch::new(files, after))
    }
}

impl Tool for ApplyPatch {
    const NAME: &'static str = "apply_patch";
    const PERMISSION: &'static str = "edit";
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        include_str!("apply_patch.md").into()
    }

    fn suits(&self, model: &str) -> bool {
        patches(model)
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        self.patch(input, call).await
    }
}

impl Tool for OldPatch {
    const NAME: &'static str = "patch";
    const PERMISSION: &'static str = "edit";
    const OFFERED: bool = false;
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        self.0.description()
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        self.0.patch(input, call).await
    }
}

/// Two names of one file where case makes no difference: it would be changed under one and lost under the other.
fn same_file(seen: &[(&Target, Stamp)], target: &Target, stamp: Stamp) -> Result<(), ToolError> {
    let name = |target: &Target| target.path().to_string_lossy().to_lowercase();
    let same = |(other, seen): &&(&Target, Stamp)| seen.inode == stamp.inode && name(other) == name(target);
    match seen.iter().find(same) {
        Some((other, _)) => Err(ToolError::Failed(format!(
            "{} and {} are the same file here; use one spelling. To change the case of a name use bash",
            other.title(),
            target.title()
        ))),
        None => Ok(()),
    }
}

/// What a patch comes to, and what it was worked out from.
struct Planned {
    outcomes: Vec<Outcome>,
    shown: Shown,
    scope: Scope,
    old: Vec<Option<Vec<u8>>>,
}

/// Works out what becomes of the files, beside the runtime: it may take a moment.
async fn planned(files: Files, patch: Patch, scope: Scope, old: Vec<Option<Vec<u8>>>) -> Result<Planned, ToolError> {
    let work = move || {
        let names: Vec<String> = scope.targets.iter().map(|target| on_one_line(target.title()).into_owned()).collect();
        let outcomes = plan(&patch.sections, &scope.steps, &old, &names)?;
        let shown = Shown::of(&files, &outcomes, &scope.targets, &old);
        Ok(Planned { outcomes, shown, scope, old })
    };
    let planned: Result<Planned, String> = beside(work).await;
    let again = "Nothing was changed: correct the patch and send all of it again";
    planned.map_err(|why| ToolError::Failed(format!("{}. {again}", why.to_string().trim_end_matches('.'))))
}

/// What is to be done to the disk.
fn changes(outcomes: &[Outcome], targets: &[Target], old: &[Option<Vec<u8>>]) -> Vec<Change> {
    let mut changes = Vec::with_capacity(outcomes.len());
    let written = |file: usize, bytes: &[u8], like: Option<Target>| {
        let if_exists = old[file].clone().map_or(IfExists::Fail, IfExists::ReplaceOnly);
        let what = Becomes::Written { bytes: bytes.to_vec(), if_exists, like };
        Change { target: targets[file].clone(), what }
    };
    let removed = |file: usize| {
        let only = old[file].clone().unwrap_or_default();
        Change { target: targets[file].clone(), what: Becomes::Removed { only } }
    };
    // A file that another takes the place of, or that the patch makes again, does not go.
    let stays = |file: usize| outcomes.iter().any(|outcome| outcome.file == file);
    for Outcome { file, what } in outcomes {
        match what {
            What::Update(bytes) if old[*file].as_deref() == Some(bytes) => {}
            What::Add(bytes) | What::Update(bytes) => changes.push(written(*file, bytes, None)),
            What::Move { from, bytes } => {
                changes.push(written(*file, bytes, Some(targets[*from].clone())));
                if !stays(*from) {
                    changes.push(removed(*from));
                }
            }
            What::Delete => changes.push(removed(*file)),
        }
    }
    changes
}

fn not_applied(error: &FilesError) -> ToolError {
    let torn = matches!(error, FilesError::Torn { .. });
    let end = if torn { "" } else { ". Nothing was changed" };
    ToolError::Failed(haft_tool::with_causes(error) + end)
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
