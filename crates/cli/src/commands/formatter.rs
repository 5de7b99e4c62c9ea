//! `haft formatter`: the programs that tidy files after an edit.

use std::path::Path;

use anyhow::{Result, anyhow};
use haft_project::Located;
use haft_toolbox::Formatters;
use haft_toolbox::format::{Status, Why};
use serde_json::{Value, json};

use crate::args;
use crate::render::{self, spelled};
use crate::report::Exit;
use crate::wire::Ground;

pub(crate) fn run(command: &args::Formatter) -> Result<Exit> {
    let args::Formatter::List { file, json, dir } = command;
    list(&Ground::at(dir.as_deref())?, file.as_deref(), *json)
}

fn list(ground: &Ground, file: Option<&Path>, json: bool) -> Result<Exit> {
    let mut all = status(ground, file)?;
    all.retain(|one| one.program != Err(Why::OtherFiles));
    let is_on = ground.config.formatters != haft_config::Formatters::Off;
    if json {
        let all: Vec<Value> = all.iter().map(|one| described(one, is_on)).collect();
        render::say_json(&all.into(), false)?;
        return Ok(Exit::Done);
    }
    if !is_on {
        render::complain("formatters are off; with \"formatter\": true in the settings it would be so:");
    }
    let width = all.iter().map(|one| one.name.chars().count()).max().unwrap_or_default();
    for Status { name, program, .. } in &all {
        let how = match program {
            Ok(program) => program.display().to_string(),
            Err(why) => format!("no: {why}"),
        };
        // Files of a project say what stands here.
        render::say(&spelled(&format!("{name:width$}  {how}")))?;
    }
    Ok(Exit::Done)
}

/// All formatters, and whether each is used for `file`, or for the working folder, once they are on.
fn status(ground: &Ground, file: Option<&Path>) -> Result<Vec<Status>> {
    let files = ground.files();
    let formatters = match &ground.config.formatters {
        haft_config::Formatters::On(_) => ground.formatters().clone(),
        haft_config::Formatters::Off => Formatters::new(Vec::new(), ground.config.trusted, ground.config.flags.oxfmt).0,
    };
    let Some(file) = file else { return Ok(formatters.status(&files, None)) };
    let name = file.to_str().ok_or_else(|| anyhow!("{} is no name that can be looked for", file.display()))?;
    let path = match files.locate(name)? {
        Located::Inside(target) => target.path().to_owned(),
        Located::Outside(outside) => {
            return Err(anyhow!("{} is outside the project, where nothing is formatted", outside.path().display()));
        }
    };
    Ok(formatters.status(&files, Some(&path)))
}

/// In the form that clients of the HTTP interface know, with more behind.
fn described(one: &Status, is_on: bool) -> Value {
    let (program, why) = match &one.program {
        Ok(program) => (Some(program), None),
        Err(why) => (None, Some(why.to_string())),
    };
    json!({
        "name": one.name,
        "extensions": one.extensions,
        "enabled": is_on && one.program.is_ok(),
        "program": program,
        "why": why,
    })
}
