//! `haft debug schema`: the JSON Schema of the settings.

use anyhow::Result;

use crate::render;
use crate::report::Exit;

pub(crate) fn run() -> Result<Exit> {
    render::say(&serde_json::to_string_pretty(&haft_config::schema())?)?;
    Ok(Exit::Done)
}
