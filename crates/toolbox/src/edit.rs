//! `edit`: replaces pieces of a file; and the engine that finds what an old text means, for whoever wants it without the
//! tool: [`apply`].

mod document;
mod drift;
mod engine;
mod escape;
mod explain;
mod find;
mod how;
mod invariants;
mod merge;
mod nearest;
mod noise;
mod sheet;
mod spelling;
mod token;
mod transaction;
mod undo;
mod walk;
mod windows;

use std::borrow::Cow;

use haft_project::Files;
use haft_tool::{Call, Output, Small, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

pub use self::engine::{Applied, MAX_EDITS, Reason, Refusal, Replacement, apply};
pub use self::how::How;
#[doc(hidden)]
pub use self::invariants::hold;
pub(crate) use self::transaction::change_file;
use crate::format::After;
use crate::suits::patches;

pub(crate) struct Edit {
    files: Files,
    after: After,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Input {
    /// The file.
    file_path: String,
    /// What is there now.
    old_string: Option<String>,
    /// What shall be there instead.
    new_string: Option<String>,
    /// Change every place, not just one.
    replace_all: Option<bool>,
    /// Several at once instead, made in this order: all or none.
    edits: Option<Vec<One>>,
}

/// One of several edits.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct One {
    old_string: String,
    new_string: String,
    replace_all: Option<bool>,
}

impl From<One> for Replacement {
    fn from(one: One) -> Self {
        Self { old: one.old_string, new: one.new_string, all: one.replace_all == Some(true) }
    }
}

impl Edit {
    pub(crate) fn new(files: &Files, after: &After) -> Self {
        Self { files: files.clone(), after: after.clone() }
    }
}

impl Tool for Edit {
    const NAME: &'static str = "edit";
    const SMALL: Option<Small> = Some(Small {
        description: "Replaces text in a file. oldString must be copied exactly from the file, without line numbers, and stand in one place only.",
        arguments: &["filePath", "oldString", "newString", "replaceAll"],
    });
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        include_str!("edit.md").into()
    }

    fn suits(&self, model: &str) -> bool {
        !patches(model)
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        let path = input.file_path.clone();
        let edits = edits(input)?;
        change_file(&self.files, &self.after, call, &path, edits).await
    }
}

/// The edits that a call asks for: one at the top, or a list.
fn edits(input: Input) -> Result<Vec<Replacement>, ToolError> {
    let bad = |text: &str| Err(ToolError::BadInput(text.to_owned()));
    match (input.old_string, input.new_string, input.edits) {
        (Some(old), Some(new), None) => Ok(vec![Replacement { old, new, all: input.replace_all == Some(true) }]),
        // Some models fill in every argument there is.
        (Some(old), Some(new), Some(edits)) if edits.is_empty() => {
            Ok(vec![Replacement { old, new, all: input.replace_all == Some(true) }])
        }
        (None, None, Some(edits)) => Ok(edits.into_iter().map(Replacement::from).collect()),
        (Some(old), Some(new), Some(edits)) if old.is_empty() && new.is_empty() => {
            Ok(edits.into_iter().map(Replacement::from).collect())
        }
        (Some(_), None, None) => bad("newString is missing; say what shall be there, \"\" to take oldString out"),
        (None, _, None) => bad("oldString is missing; say what is there now, or make a list of edits"),
        (_, _, Some(_)) => bad("give either oldString and newString, or edits, not both"),
    }
}

#[cfg(test)]
mod engine_tests;
#[cfg(test)]
mod tests;
