//! `haft mcp add`: a server of tools into a settings file.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use haft_vault::Secret;
use serde_json::{Map, Value, json};

use super::asked;
use crate::args::McpAdd;
use crate::commands::auth::Stopped;
use crate::folders::Folders;
use crate::render;
use crate::report::{Exit, Usage};
use crate::wire;

/// Names of the settings files in a folder, those first that haft's own settings stand in.
const FILES: [&str; 4] = ["haft.jsonc", "haft.json", "opencode.jsonc", "opencode.json"];

pub(super) async fn run(args: McpAdd) -> Result<Exit> {
    let mut args = args;
    if asked::is_incomplete(&args) {
        match asked::complete(&mut args).await {
            Err(error) if error.is::<Stopped>() => {
                render::complain("\nstopped; nothing was added");
                return Ok(Exit::Interrupted);
            }
            done => done?,
        }
    }
    let args = &args;
    let name = args.name.as_deref().unwrap_or_default();
    let entry = entry(args)?;
    let folder = match args.project {
        true => {
            let place = wire::place(args.dir.as_deref())?;
            place.worktree.unwrap_or(place.directory)
        }
        false => Folders::find()?.config_home.join("haft"),
    };
    let path = file(&folder);
    let before = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let after = match haft_config::with_entry(&before, "mcp", name, &entry) {
        Ok(after) => after,
        Err(why) => bail!("{}: {why}; nothing was written", path.display()),
    };
    write(&path, &after)?;
    render::complain(&format!("added {name:?} to {}; `haft mcp list` tries it", path.display()));
    if args.project {
        render::complain("it is started once this project's settings are trusted: `haft trust`");
    }
    Ok(Exit::Done)
}

/// The settings file of `folder` that is there, or the one to be made.
pub(crate) fn file(folder: &Path) -> PathBuf {
    let there = FILES.iter().map(|name| folder.join(name)).find(|path| path.exists());
    there.unwrap_or_else(|| folder.join("haft.jsonc"))
}

/// Through a link, if it is one: settings often are.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    let beside = path.with_extension("haft-new");
    let written = std::fs::write(&beside, text).and_then(|()| {
        if let Ok(meta) = path.metadata() {
            std::fs::set_permissions(&beside, meta.permissions())?;
        }
        std::fs::rename(&beside, &path)
    });
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// What the settings are to say.
fn entry(args: &McpAdd) -> Result<Value> {
    if args.name.as_deref().unwrap_or_default().trim().is_empty() {
        return Err(Usage("a server needs a name".to_owned()).into());
    }
    let pairs = |all: &[Secret], what: &str| -> Result<Map<String, Value>> {
        let pair = |pair: &Secret| match pair.expose().split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), Value::from(value))),
            Some(_) | None => Err(Usage(format!("{what} must be NAME=VALUE; one has no name before a \"=\"")).into()),
        };
        all.iter().map(pair).collect()
    };
    let mut entry = match &args.url {
        Some(url) => json!({"type": "remote", "url": url}),
        None => json!({"type": "local", "command": args.command}),
    };
    for (key, what, all) in [("headers", "--header", &args.header), ("environment", "--env", &args.env)] {
        let pairs = pairs(all, what)?;
        if !pairs.is_empty() {
            entry[key] = pairs.into();
        }
    }
    Ok(entry)
}
