//! `edit`: replaces a piece of a file.

mod nearest;
mod replace;

use std::borrow::Cow;

use haft_permission::{Access, Effect};
use haft_project::{Files, FilesError, IfExists, Target};
use haft_tool::{Call, Output, TellModel, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use self::nearest::nearest;
use self::replace::{Refusal, Replaced, Scope, replace};
use crate::diff::Diff;
use crate::reach::reach_file;
use crate::seen::{saw, unchanged};
use crate::suits::patches;
use crate::text::{Ending, Text, count_lines, lf};

/// Largest file, in bytes, that is edited.
const MAX_FILE: u64 = 16 * 1024 * 1024;

pub(crate) struct Edit {
    files: Files,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Input {
    /// The file.
    file_path: String,
    /// What is there now.
    old_string: String,
    /// What shall be there instead.
    new_string: String,
    /// Change every place, not just one.
    replace_all: Option<bool>,
}

/// A change that is worked out and not made yet.
struct Change {
    /// The old bytes; `None` makes the file.
    old: Option<Vec<u8>>,
    new: Vec<u8>,
    diff: Diff,
    places: usize,
}

impl Edit {
    pub(crate) fn new(files: &Files) -> Self {
        Self { files: files.clone() }
    }

    async fn creation(&self, call: &Call, target: &Target, new: String) -> Result<Change, ToolError> {
        let path = target.path().display().to_string();
        let own = call.ask(Access::internal(vec![Effect::Read(target.path().to_owned())])).await?;
        match self.files.open(&own, target).await {
            Err(FilesError::Missing { .. }) => {}
            Ok(_) => {
                return Err(ToolError::Failed(format!(
                    "{path} exists, so oldString cannot be empty; put there what is to be replaced, or replace the \
                     whole file with write"
                )));
            }
            Err(error) => return Err(error).tell_model(),
        }
        Ok(Change { old: None, diff: Diff::between(&path, "", &lf(&new)).await, new: new.into_bytes(), places: 1 })
    }

    async fn replacement(&self, call: &Call, target: &Target, input: &Input) -> Result<Change, ToolError> {
        // What is refused is explained with lines of the file, so this is a look at it like any other.
        let access = Access::new("read", target.title()).with(Effect::Read(target.path().to_owned()));
        let grant = call.ask(access).await?;
        let read = self.files.read_stamped(&grant, target, MAX_FILE).await;
        let (bytes, stamp) = read.map_err(|error| cannot_read(target, error))?;
        unchanged(call, target, stamp)?;
        let path = target.path().display().to_string();
        let Some(file) = Text::read(&bytes) else {
            let advice = "is not UTF-8 text, and editing would damage it; change it with a program in bash";
            return Err(ToolError::Failed(format!("{path} {advice}")));
        };
        let ending = Ending::of(&file.text);
        let (old, new) = (ending.apply(&input.old_string), ending.apply(&input.new_string));
        let scope = if input.replace_all == Some(true) { Scope::All } else { Scope::One };
        let Replaced { text, places } =
            replace(&file.text, &old, &new, scope).map_err(|refusal| explain(&path, &refusal, &file.text, &old))?;
        let diff = Diff::between(&path, &lf(&file.text), &lf(&text)).await;
        let new = Text { text, ..file }.bytes().tell_model()?;
        Ok(Change { old: Some(bytes), new, diff, places })
    }
}

impl Tool for Edit {
    const NAME: &'static str = "edit";
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        include_str!("edit.md").into()
    }

    fn suits(&self, model: &str) -> bool {
        !patches(model)
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        if input.old_string == input.new_string {
            let text = "oldString and newString are the same, so there is nothing to change";
            return Err(ToolError::BadInput(text.to_owned()));
        }
        let target = reach_file(&self.files, call, &input.file_path).await?;
        let _turn = self.files.lock(&target).await;
        let change = if input.old_string.is_empty() {
            self.creation(call, &target, input.new_string).await?
        } else {
            self.replacement(call, &target, &input).await?
        };

        let path = target.path().display().to_string();
        let access = Access::new("edit", target.title())
            .with(Effect::Write(target.path().to_owned()))
            .show("filepath", path.as_str())
            .show("diff", change.diff.patch.as_str());
        let grant = call.ask(access).await?;
        let said = said(&path, &change);
        let if_exists = change.old.map_or(IfExists::Fail, IfExists::ReplaceOnly);
        let stamp = self.files.write(&grant, &target, change.new, if_exists).await.tell_model()?;
        saw(call, &target, stamp);

        Ok(Output::new(target.title(), said)
            .meta("diagnostics", json!({}))
            .meta("filediff", change.diff.of_file(&path))
            .meta("diff", change.diff.patch)
            .meta("truncated", false))
    }
}

fn said(path: &str, change: &Change) -> String {
    let Diff { additions, deletions, .. } = change.diff;
    match (&change.old, change.places) {
        (None, _) => format!("Created {path} ({}).", count_lines(additions)),
        (Some(_), 1) => format!("Edited {path} (lines: +{additions} -{deletions})."),
        (Some(_), places) => format!("Edited {path} in {places} places (lines: +{additions} -{deletions})."),
    }
}

fn cannot_read(target: &Target, error: FilesError) -> ToolError {
    let path = target.path().display();
    ToolError::Failed(match error {
        FilesError::Missing { .. } => {
            format!("{path} does not exist; look for the right path, or make it with an empty oldString")
        }
        FilesError::TooBig { size, max, .. } => {
            format!("{path} has {size} bytes; edit takes files of up to {max}. Change it with a program in bash")
        }
        error => return Err::<(), _>(error).tell_model().err().unwrap_or(ToolError::Cancelled),
    })
}

/// Tells the model why nothing was replaced, and what to do about it.
fn explain(path: &str, refusal: &Refusal, content: &str, old: &str) -> ToolError {
    ToolError::Failed(match refusal {
        Refusal::Same => {
            "oldString and newString are the same once line ends are; there is nothing to change".to_owned()
        }
        Refusal::Empty => format!("{path} exists, so oldString cannot be empty"),
        Refusal::NotFound => format!("{path} does not contain oldString. {}", nearest(content, old)),
        Refusal::Several { count, lines } => {
            let named: Vec<String> = lines.iter().map(usize::to_string).collect();
            let more = if *count > lines.len() { ", …" } else { "" };
            format!(
                "{path} contains oldString in {count} places, on lines {}{more}. Take in lines around the one you mean \
                 until only it fits, or set replaceAll to change them all.",
                named.join(", ")
            )
        }
    })
}

#[cfg(test)]
mod tests;
