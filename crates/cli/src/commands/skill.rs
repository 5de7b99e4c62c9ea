//! `haft skill`: the skills that models may load.

mod update;

use anyhow::Result;
use haft_config::Skill;
use serde_json::{Value, json};

use crate::args;
use crate::render::{self, spelled};
use crate::report::Exit;
use crate::skills::location;
use crate::wire::Ground;

pub(crate) async fn run(command: &args::Skill) -> Result<Exit> {
    match command {
        args::Skill::List { json, dir } => list(&Ground::at(dir.as_deref())?, *json),
        args::Skill::Check { json, dir } => check(&Ground::at(dir.as_deref())?, *json),
        args::Skill::Update { yes, dir } => update::run(&Ground::at(dir.as_deref())?, *yes).await,
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
        "location": location(skill),
        "content": skill.content,
    })
}

/// Says what is wrong with each. What others would not take is said and no failure.
fn check(ground: &Ground, json: bool) -> Result<Exit> {
    let found = ground.skills();
    let of_one = |skill: &Skill| {
        let place = location(skill).display().to_string();
        skill.remarks().into_iter().map(move |remark| format!("{place}: {remark}")).collect::<Vec<_>>()
    };
    let warnings: Vec<String> = found.remarks.iter().cloned().chain(found.skills.iter().flat_map(of_one)).collect();
    let (count, errors) = (found.skills.len(), found.problems.len());
    let exit = if errors == 0 { Exit::Done } else { Exit::Failed };
    if json {
        let told = json!({"skills": count, "errors": found.problems, "warnings": warnings});
        render::say_json(&told, false)?;
        return Ok(exit);
    }
    for problem in &found.problems {
        render::say(&spelled(&format!("error: {problem}")))?;
    }
    for warning in &warnings {
        render::say(&spelled(&format!("warning: {warning}")))?;
    }
    render::say(&format!("{count} skills can be used; {errors} cannot; {} warnings", warnings.len()))?;
    Ok(exit)
}
