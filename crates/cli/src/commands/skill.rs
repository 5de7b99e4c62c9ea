//! `haft skill`: the skills that models may load.

use anyhow::Result;
use haft_config::Skill;
use serde_json::{Value, json};

use crate::args;
use crate::render::{self, spelled};
use crate::report::Exit;
use crate::wire::Ground;

pub(crate) fn run(command: &args::Skill) -> Result<Exit> {
    match command {
        args::Skill::List { json, dir } => list(&Ground::at(dir.as_deref())?, *json),
        args::Skill::Check { dir } => check(&Ground::at(dir.as_deref())?),
    }
}

pub(crate) fn list(ground: &Ground, json: bool) -> Result<Exit> {
    let skills = &ground.skills().skills;
    if json {
        let all: Vec<Value> = skills.iter().map(described).collect();
        render::say_json(&Value::from(all), false)?;
        return Ok(Exit::Done);
    }
    let width = skills.iter().map(|skill| skill.name.chars().count()).max().unwrap_or_default();
    for Skill { name, description, .. } in skills {
        let description = description.as_deref().unwrap_or("(no description; no model is told of it)");
        let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
        // Files of a project say what stands here.
        render::say(&spelled(format!("{name:width$}  {description}").trim_end()))?;
    }
    Ok(Exit::Done)
}

fn described(skill: &Skill) -> Value {
    json!({
        "name": skill.name,
        "description": skill.description,
        "location": skill.location,
        "content": skill.content,
    })
}

/// Says what is wrong with each. What others would not take is said and no failure.
fn check(ground: &Ground) -> Result<Exit> {
    let found = ground.skills();
    for problem in &found.problems {
        render::say(&spelled(&format!("error: {problem}")))?;
    }
    let mut remarked = 0_usize;
    for skill in &found.skills {
        for remark in skill.remarks() {
            remarked += 1;
            render::say(&spelled(&format!("warning: {}: {remark}", skill.location.display())))?;
        }
    }
    let (count, errors) = (found.skills.len(), found.problems.len());
    render::say(&format!("{count} skills can be used; {errors} cannot; {remarked} warnings"))?;
    Ok(if errors == 0 { Exit::Done } else { Exit::Failed })
}
