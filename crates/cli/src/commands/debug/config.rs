//! `haft debug config`: each setting, and the file it comes from.

use anyhow::Result;
use haft_config::Secrets;
use serde_json::json;

use crate::args::DebugConfig;
use crate::folders::Folders;
use crate::render;
use crate::report::Exit;
use crate::wire;

pub(crate) fn run(args: &DebugConfig) -> Result<Exit> {
    let (folders, place) = (Folders::find()?, wire::place(args.dir.as_deref())?);
    let secrets = if args.show_secrets { Secrets::Shown } else { Secrets::Hidden };
    let shown = haft_config::show(&wire::sources(&folders, &place), secrets)?;
    for warning in &shown.warnings {
        render::complain(&format!("warning: {warning}"));
    }
    let value = json!({"config": shown.config, "sources": shown.sources});
    render::say_json(&value, true)?;
    Ok(Exit::Done)
}
