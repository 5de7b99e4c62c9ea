//! `read`: a page of a text file, an image, a PDF, or the entries of a folder.

mod cells;
mod instructions;
mod kind;
mod listing;
mod media;
mod page;
mod plain;

use std::borrow::Cow;

use haft_permission::{Access, Effect, Grant};
use haft_project::{Files, FilesError, Found, Opened, Reading, Target};
use haft_protocol::Object;
use haft_tool::image::ImageLimits;
use haft_tool::{Call, Output, Small, TellModel, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use self::cells::Cells;
use self::kind::Kind;
pub(crate) use self::listing::near;
use crate::Options;
use crate::reach::reach;
use crate::seen::saw;
use crate::text::on_one_line;

/// Lines or entries when the model names no limit.
const LIMIT: usize = 2000;
/// Lines that clients show of a closed call.
const PREVIEW_LINES: usize = 20;

pub(crate) struct Read {
    files: Files,
    images: ImageLimits,
    instructions: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Input {
    /// The file or folder.
    file_path: String,
    /// First line or entry, counted from 1; 0 means 1.
    offset: Option<usize>,
    /// Most lines or entries.
    limit: Option<usize>,
    /// The JSON of a notebook, not its cells.
    raw: Option<bool>,
}

/// Which lines or entries the model asked for.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    /// Number of the first, from 1.
    first: usize,
    /// At most so many.
    limit: usize,
    /// Whether a notebook is wanted as the text that it is.
    raw: bool,
}

impl Read {
    pub(crate) fn new(files: &Files, options: &Options) -> Self {
        let Options { images, instructions, .. } = options.clone();
        Self { files: files.clone(), images, instructions }
    }

    async fn file(
        &self,
        call: &Call,
        grant: &Grant,
        target: &Target,
        mut reading: Reading,
        wanted: Wanted,
    ) -> Result<Output, ToolError> {
        let first = reading.next().await.tell_model()?;
        let path = target.path().display();
        match kind::of(target.path(), first.as_deref().unwrap_or_default()) {
            Kind::Binary => Err(ToolError::Failed(format!(
                "{path} is a binary file, which read cannot show; look into it with a program in bash (file, xxd, \
                 strings, unzip -l)"
            ))),
            Kind::Media(mime) => {
                let told = instructions::collect(&self.files, call, target, &self.instructions).await;
                let output = media::output(target, reading, first, mime, &self.images).await?;
                Ok(instructions::append(output, &told))
            }
            Kind::Text => {
                let shown = cells::output(&self.files, call, grant, target, &reading, wanted, &self.images).await?;
                let note = match shown {
                    Cells::Shown(output) => {
                        let told = instructions::collect(&self.files, call, target, &self.instructions).await;
                        return Ok(instructions::append(output, &told));
                    }
                    Cells::Not { note } => note,
                };
                let (page, encoding) = plain::page(&self.files, grant, target, &mut reading, first, wanted).await?;
                let output = plain::output(target, &page, &encoding, reading.len(), note.as_deref())?;
                saw(call, target, reading.finish().await.tell_model()?);
                let told = instructions::collect(&self.files, call, target, &self.instructions).await;
                if !page.is_cut() && page.first == 1 {
                    // What was read whole need not be told again.
                    instructions::note(call, target, &self.instructions);
                }
                Ok(instructions::append(output, &told))
            }
        }
    }

    async fn missing(&self, grant: &Grant, target: &Target) -> ToolError {
        let mut text = format!("{} does not exist.", target.path().display());
        let near = self.neighbours(grant, target).await.unwrap_or_default();
        if near.is_empty() {
            text.push_str(" List its folder, or search for the name.");
        } else {
            text.push_str(" Did you mean one of these?");
            for path in near {
                text.push('\n');
                text.push_str(&on_one_line(&path));
            }
        }
        ToolError::Failed(text)
    }

    /// Files beside `target` with names like its own.
    async fn neighbours(&self, grant: &Grant, target: &Target) -> Option<Vec<String>> {
        let name = target.path().file_name()?.to_str()?;
        let listing = self.files.list_home(grant, target).await.ok()?;
        let near = listing::near(&listing.entries, name);
        Some(near.iter().map(|name| target.home().join(name).display().to_string()).collect())
    }
}

impl Tool for Read {
    const NAME: &'static str = "read";
    const ALIASES: &'static [&'static str] = &["view"];
    const SMALL: Option<Small> = Some(Small {
        description: "Reads a file with line numbers, or lists a folder. Long files come in pages; go on with offset.",
        arguments: &["filePath", "offset", "limit"],
    });
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        include_str!("read.md").into()
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        let target = reach(&self.files, call, &input.file_path).await?;
        let mut access = Access::new("read", target.title()).with(Effect::Read(target.path().to_owned()));
        if target.found() == Found::Nothing {
            // The names beside it are all that can be told about a file that is not there.
            access = access.with(Effect::Read(target.home().to_owned()));
        }
        let grant = call.ask(access).await?;

        let wanted = Wanted {
            first: input.offset.unwrap_or(1).max(1),
            limit: input.limit.unwrap_or(LIMIT),
            raw: input.raw == Some(true),
        };
        match self.files.open(&grant, &target).await {
            Ok(Opened::Folder(listing)) => Ok(listing::output(&target, listing, wanted.first, wanted.limit)),
            Ok(Opened::File(reading)) => self.file(call, &grant, &target, reading, wanted).await,
            Err(FilesError::Missing { .. }) => Err(self.missing(&grant, &target).await),
            Err(error) => Err(error).tell_model(),
        }
    }
}

/// What clients draw of a file or a folder.
fn metadata(lines: &[String], truncated: bool, display: serde_json::Value) -> Object {
    let preview = lines[..lines.len().min(PREVIEW_LINES)].join("\n");
    let value = json!({ "preview": preview, "truncated": truncated, "loaded": [], "display": display });
    value.as_object().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests;
