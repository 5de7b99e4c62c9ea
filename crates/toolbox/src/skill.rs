//! `skill`: loads instructions for one kind of work.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_permission::Access;
use haft_tool::{Call, Output, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

/// Most names that are told where there is no skill of the one asked for.
const MAX_NAMES: usize = 100;

/// Instructions for one kind of work, as somebody found them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// What it is called.
    pub name: String,
    /// What it says.
    pub content: String,
    /// The folder that it stands in. What the instructions name is relative to it. `None`: it comes with the program.
    pub folder: Option<PathBuf>,
}

/// The skills there are, by name. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Skills {
    /// By name.
    pub all: Arc<[Skill]>,
    /// Names a few of the files below a skill's folder.
    pub sample: fn(&Path) -> Vec<PathBuf>,
}

impl Default for Skills {
    fn default() -> Self {
        Self { all: Arc::new([]), sample: |_| Vec::new() }
    }
}

impl PartialEq for Skills {
    fn eq(&self, other: &Self) -> bool {
        self.all == other.all
    }
}

impl Eq for Skills {}

pub(crate) struct LoadSkill {
    skills: Skills,
}

impl LoadSkill {
    pub(crate) fn new(skills: &Skills) -> Self {
        Self { skills: skills.clone() }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The skill.
    name: String,
}

impl Tool for LoadSkill {
    const NAME: &'static str = "skill";
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        include_str!("skill.md").into()
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        let Skills { all, sample } = self.skills.clone();
        let Some(skill) = all.iter().find(|skill| skill.name == input.name).cloned() else {
            return Err(ToolError::BadInput(unknown(&input.name, &all)));
        };
        let access = Access { always: vec![skill.name.clone()], ..Access::new(Self::NAME, skill.name.as_str()) };
        call.ask(access).await?;
        let folder = skill.folder.clone();
        // A disk may be slow; without the names the skill is as good.
        let files = tokio::task::spawn_blocking(move || folder.map(|folder| sample(&folder)).unwrap_or_default());
        let files = files.await.unwrap_or_default();
        let dir = skill.folder.as_deref().unwrap_or(Path::new("."));
        Ok(Output::new(format!("Loaded skill: {}", skill.name), told(&skill, &files))
            .meta("name", skill.name.as_str())
            .meta("dir", dir.display().to_string()))
    }
}

fn unknown(name: &str, all: &[Skill]) -> String {
    let mut names: Vec<&str> = all.iter().map(|skill| skill.name.as_str()).collect();
    names.sort_unstable();
    names.truncate(MAX_NAMES);
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let name: String = name.chars().take(MAX_NAMES).collect();
    format!("Skill \"{name}\" not found. Available skills: {names}")
}

/// The skill as the model reads it.
fn told(skill: &Skill, files: &[PathBuf]) -> String {
    let Skill { name, content, folder } = skill;
    let Some(folder) = folder else {
        return format!("<skill_content name=\"{name}\">\n# Skill: {name}\n\n{}\n</skill_content>", content.trim());
    };
    let folder = folder.display();
    let files: String = files.iter().map(|path| format!("<file>{}</file>\n", path.display())).collect();
    format!(
        "<skill_content name=\"{name}\">\n# Skill: {name}\n\n{}\n\nBase directory for this skill: {folder}\nRelative \
         paths in this skill (e.g., scripts/, reference/) are relative to this base directory.\nIts files may be read.\n\
         Note: file list is sampled.\n\n<skill_files>\n{files}</skill_files>\n</skill_content>",
        content.trim(),
    )
}

#[cfg(test)]
mod tests {
    use haft_permission::Action;
    use haft_tool::Registry;
    use serde_json::json;

    use super::*;
    use crate::scene::Scene;

    fn scene(rules: &[(&str, &str, Action)]) -> Scene {
        let skill = |name: &str| Skill {
            name: name.to_owned(),
            content: "\nDo it well.\n\n".to_owned(),
            folder: Some(format!("/skills/{name}").into()),
        };
        let own = Skill { folder: None, ..skill("own") };
        let all = [skill("demo"), skill("alpha"), own].into();
        let sample = |folder: &Path| vec![folder.join("ref/a.md")];
        let mut scene = Scene::with_rules(rules);
        scene.registry = Registry::default().with(LoadSkill::new(&Skills { all, sample }));
        scene
    }

    #[tokio::test]
    async fn a_skill_is_told_with_where_it_stands() {
        let output = scene(&[("*", "*", Action::Allow)]).run("skill", json!({"name": "demo"})).await.unwrap();
        assert_eq!(
            output.text,
            "<skill_content name=\"demo\">\n# Skill: demo\n\nDo it well.\n\nBase directory for this skill: \
             /skills/demo\nRelative paths in this skill (e.g., scripts/, reference/) are relative to this base \
             directory.\nIts files may be read.\nNote: file list is sampled.\n\n<skill_files>\n\
             <file>/skills/demo/ref/a.md</file>\n</skill_files>\n</skill_content>"
        );
        assert_eq!(output.title, "Loaded skill: demo");
        assert_eq!((&output.metadata["name"], &output.metadata["dir"]), (&json!("demo"), &json!("/skills/demo")));
    }

    #[tokio::test]
    async fn one_that_comes_with_the_program_stands_nowhere() {
        let output = scene(&[("*", "*", Action::Allow)]).run("skill", json!({"name": "own"})).await.unwrap();
        assert_eq!(output.text, "<skill_content name=\"own\">\n# Skill: own\n\nDo it well.\n</skill_content>");
        assert_eq!(output.metadata["dir"], json!("."));
    }

    #[tokio::test]
    async fn each_skill_is_asked_for_by_its_name() {
        let scene = scene(&[("*", "*", Action::Allow), ("skill", "al*", Action::Deny)]);
        scene.run("skill", json!({"name": "demo"})).await.unwrap();
        assert!(matches!(scene.run("skill", json!({"name": "alpha"})).await, Err(ToolError::Denied(_))));
        let asked = scene.asked("skill");
        assert_eq!((&asked[0].patterns, &asked[0].always), (&vec!["demo".to_owned()], &vec!["demo".to_owned()]));
    }

    #[tokio::test]
    async fn one_that_is_not_there_is_told_with_those_that_are() {
        let scene = scene(&[("*", "*", Action::Allow)]);
        scene.fails("skill", json!({"name": "x"}), "Skill \"x\" not found. Available skills: alpha, demo, own").await;
        assert!(scene.asked("skill").is_empty());
    }
}
