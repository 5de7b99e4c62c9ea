//! `--output-schema`: the form of the answer, from a file to stdout.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use haft_protocol::{Message, OutputFormat, SessionId};
use haft_store::Journal;
use serde_json::Value;

use crate::render;
use crate::report::Usage;

/// Largest file that is read, in bytes. What may be asked of a model is less.
const MAX_FILE: u64 = 1024 * 1024;

/// The form that the JSON Schema in `file` describes.
///
/// # Errors
///
/// When it cannot be read, or is no JSON Schema.
pub(super) fn read(file: &Path) -> Result<OutputFormat> {
    let no = |why: String| Usage(format!("--output-schema {}: {why}", file.display()));
    let mut text = String::new();
    let opened = File::open(file).map_err(|error| no(error.to_string()))?;
    opened.take(MAX_FILE + 1).read_to_string(&mut text).map_err(|error| no(error.to_string()))?;
    if text.len() as u64 > MAX_FILE {
        return Err(no(format!("it has more than {MAX_FILE} bytes")).into());
    }
    let schema: Value = serde_json::from_str(&text).map_err(|error| no(format!("it is no JSON: {error}")))?;
    let format = OutputFormat::JsonSchema { schema, retry_count: None };
    haft_session::check_format(&format).map_err(no)?;
    Ok(format)
}

/// Prints the answer that was last given in `session`.
pub(super) async fn say(journal: &Journal, session: &SessionId) -> Result<()> {
    let history = journal.history(session).await?;
    let given = history.messages().iter().rev().find_map(|turned| match &turned.info {
        Message::Assistant(answer) => answer.structured.as_deref().cloned(),
        Message::User(_) => None,
    });
    Ok(render::say_json(&given.context("the answer is gone")?, false)?)
}
