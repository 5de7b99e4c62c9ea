//! `haft debug config`: each setting, and the file it comes from.

use anyhow::Result;
use haft_config::Secrets;
use serde_json::json;

use crate::args::DebugConfig;
use crate::folders::Folders;
use crate::render;
use crate::report::Exit;
use crate::trust::{self, Asking};
use crate::wire;

pub(crate) fn run(args: &DebugConfig) -> Result<Exit> {
    let (folders, place) = (Folders::find()?, wire::place(args.dir.as_deref())?);
    let secrets = if args.show_secrets { Secrets::Shown } else { Secrets::Hidden };
    let decided = |stakes: &haft_config::Stakes| trust::decide(&folders, &place, stakes, Asking::Nobody);
    let shown = haft_config::show(&wire::sources(&folders, &place), secrets, trust::trust(&decided))?;
    for warning in &shown.warnings {
        render::complain(&format!("warning: {warning}"));
    }
    let untrusted: Vec<_> = shown.untrusted.iter().map(trust::item_json).collect();
    let value = json!({"config": shown.config, "sources": shown.sources, "untrusted": untrusted});
    render::say_json(&value, true)?;
    Ok(Exit::Done)
}
