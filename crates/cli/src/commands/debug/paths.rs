//! `haft debug paths`: the folders and files that haft uses.

use anyhow::Result;
use serde_json::json;

use crate::args::InFolder;
use crate::folders::Folders;
use crate::render;
use crate::report::Exit;
use crate::{approvals, audit, trust, wire};

pub(crate) fn run(args: &InFolder) -> Result<Exit> {
    let (folders, place) = (Folders::find()?, wire::place(args.dir.as_deref())?);
    let value = json!({
        "home": folders.home,
        "config": folders.config_home.join("haft"),
        "data": folders.data,
        "state": folders.state,
        "cache": folders.cache,
        "log": folders.state.join("log"),
        "output": folders.outputs(),
        "plans": folders.plans(),
        "snapshots": folders.snapshots(),
        "scratch": folders.scratch(),
        "approvals": folders.data.join(approvals::FILE),
        "trust": folders.data.join(trust::FILE),
        "audit": audit::path(&folders.data),
        "database": folders.database(),
        "directory": place.directory,
        "worktree": place.worktree,
        // Where agents, commands, skills, plug-ins, tools and themes are looked for, weakest first.
        "directories": wire::sources(&folders, &place).directories(),
    });
    render::say_json(&value, true)?;
    Ok(Exit::Done)
}
