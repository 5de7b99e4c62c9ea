//! `haft debug config`: each setting, and what it comes from: a file, a variable, a plug-in.

use anyhow::Result;
use haft_config::Secrets;
use serde_json::json;

use crate::args::DebugConfig;
use crate::render;
use crate::report::Exit;
use crate::trust;
use crate::wire::Ground;

pub(crate) async fn run(args: &DebugConfig) -> Result<Exit> {
    let ground = Ground::at(args.dir.as_deref())?;
    let secrets = if args.show_secrets { Secrets::Shown } else { Secrets::Hidden };
    let shown = haft_config::show(&ground.plugged().await?, secrets, ground.trust())?;
    for warning in shown.warnings.iter().filter(|warning| !ground.config.warnings.contains(warning)) {
        render::complain(&format!("warning: {warning}"));
    }
    let untrusted: Vec<_> = shown.untrusted.iter().map(trust::item_json).collect();
    let value = json!({"config": shown.config, "sources": shown.sources, "untrusted": untrusted});
    render::say_json(&value, true)?;
    Ok(Exit::Done)
}
