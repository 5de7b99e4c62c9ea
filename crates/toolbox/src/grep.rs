//! `grep`: lines that match a regular expression, by file, those changed last first.

mod answer;

use std::borrow::Cow;
use std::sync::Arc;

use haft_permission::{Access, Effect};
use haft_project::{Files, Found, LinePattern, Names, Target, Want};
use haft_tool::{Allowing, Call, Output, Small, TellModel, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use self::answer::Answer;
use crate::glob::missing;
use crate::reach::reach;

/// Most matches, or files, in one answer.
const MAX_SHOWN: usize = 100;
/// Most lines before and after each match.
const MAX_CONTEXT: usize = 10;

pub(crate) struct Grep {
    files: Files,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// A regular expression.
    pattern: String,
    /// The folder or file to search; the project if left out.
    path: Option<String>,
    /// Only files with such names, for example `*.{ts,tsx}, !*.d.ts`.
    include: Option<String>,
    /// Lines to show around each match, up to 10.
    context: Option<usize>,
    mode: Option<Mode>,
}

/// What to show of files with matches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Mode {
    #[default]
    Content,
    Files,
    Count,
}

impl Grep {
    pub(crate) fn new(files: &Files) -> Self {
        Self { files: files.clone() }
    }

    /// Which files may be searched. A file that was named is asked for; in a folder those that would have to be are
    /// left out.
    async fn may_read(&self, call: &Call, target: &Target) -> Result<Allowing, ToolError> {
        let allowing = call.allowing("read");
        if target.found() != Found::File || allowing(target.title()) {
            return Ok(allowing);
        }
        call.ask(Access::new("read", target.title())).await?;
        Ok(Arc::new(|_| true))
    }
}

impl Tool for Grep {
    const NAME: &'static str = "grep";
    const SMALL: Option<Small> = Some(Small {
        description: "Searches files for a regular expression and shows the lines.",
        arguments: &["pattern", "path", "include"],
    });
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        include_str!("grep.md").into()
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        if input.pattern.is_empty() {
            return Err(ToolError::BadInput("pattern is required: say what to search for".to_owned()));
        }
        let target = reach(&self.files, call, input.path.as_deref().unwrap_or_default()).await?;
        let mut access = Access::new("grep", input.pattern.as_str())
            .with(Effect::Read(target.path().to_owned()))
            .show("pattern", input.pattern.as_str());
        for (key, value) in [("path", &input.path), ("include", &input.include)] {
            if let Some(value) = value {
                access = access.show(key, value.as_str());
            }
        }
        let grant = call.ask(missing::with_reading(access, &self.files, &target)).await?;

        if target.found() == Found::Nothing {
            let told = missing::told(&self.files, &grant, &target).await;
            return Err(ToolError::Failed(format!("Search path not found: {told}")));
        }
        let pattern = LinePattern::new(&input.pattern).tell_model()?;
        let include = input.include.as_deref().filter(|include| !include.is_empty());
        let names = include.map(|include| Names::list(target.path(), include)).transpose().tell_model()?;
        let may_read = self.may_read(call, &target).await?;
        let (mode, context) = (input.mode.unwrap_or_default(), input.context.unwrap_or(0).min(MAX_CONTEXT));
        let want = match mode {
            Mode::Content => Want::Lines { context },
            Mode::Files => Want::Names,
            Mode::Count => Want::Counts,
        };
        let grep = haft_project::Grep { pattern, names, may_read, want, max: MAX_SHOWN };
        let matches = self.files.grep(&grant, &target, grep).await.tell_model()?;

        let Answer { text, truncated } = answer::text(&input.pattern, want, &matches);
        Ok(Output::new(input.pattern, text)
            .meta("matches", matches.total)
            .meta("files", matches.in_files)
            .meta("truncated", truncated))
    }
}

#[cfg(test)]
mod tests;
