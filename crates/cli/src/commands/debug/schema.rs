//! `haft debug schema`: the JSON Schema of the settings.

use anyhow::Result;

use crate::render;
use crate::report::Exit;

pub(crate) fn run() -> Result<Exit> {
    render::say_json(&haft_config::schema(), true)?;
    Ok(Exit::Done)
}
