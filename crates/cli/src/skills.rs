//! The skills there are in a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_config::{Config, Skill};
use haft_project::Place;
use haft_session::Command;
use haft_toolbox::Skills;

use crate::folders::Folders;
use crate::wire;

/// The skills of a folder, and what is wrong with files that should be some.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// By name.
    pub skills: Vec<Skill>,
    pub problems: Vec<String>,
}

impl Found {
    /// Looks for them.
    pub(crate) fn at(folders: &Folders, place: &Place, config: &Config) -> Self {
        let (skills, problems) = haft_config::skills(&wire::sources(folders, place), &config.skill_paths);
        for problem in &problems {
            tracing::warn!(problem, "a skill is left out");
        }
        Self { skills, problems }
    }

    /// As the tool that loads them wants them.
    pub(crate) fn tool(&self) -> Skills {
        let one = |skill: &Skill| haft_toolbox::Skill {
            name: skill.name.clone(),
            content: skill.content.clone(),
            folder: skill.folder().to_owned(),
        };
        let all: Arc<[haft_toolbox::Skill]> = self.skills.iter().map(one).collect();
        Skills { all, sample: haft_config::sample }
    }

    /// As models are told of them: those that say when to use them.
    pub(crate) fn told(&self) -> Vec<haft_session::Skill> {
        let one = |skill: &Skill| {
            let description = skill.description.clone()?;
            Some(haft_session::Skill { name: skill.name.clone(), description, location: skill.location.clone() })
        };
        self.skills.iter().filter_map(one).collect()
    }

    /// As commands that people call by name. What stands in a skill is words: nothing in it is run or filled in.
    pub(crate) fn commands(&self) -> Vec<Command> {
        let one = |skill: &Skill| Command {
            name: skill.name.clone(),
            template: format!(
                "{}\n\nBase directory for this skill: {}",
                skill.content.trim(),
                skill.folder().display()
            ),
            description: skill.description.clone(),
            literal: true,
            ..Command::default()
        };
        self.skills.iter().filter(|skill| !skill.name.contains(char::is_whitespace)).map(one).collect()
    }

    /// The folders outside `project` that hold them, and may be read. What a project names is no leave to go anywhere,
    /// so links below it count for nothing.
    pub(crate) fn folders_outside(&self, project: &Path) -> Vec<PathBuf> {
        let folders = self.skills.iter().map(|skill| skill.folder().to_owned());
        let mut outside: Vec<PathBuf> = folders.filter(|folder| !folder.starts_with(project)).collect();
        // Rules are held against true paths; those that the user wrote down may have links.
        let real = outside.iter().filter_map(|folder| folder.canonicalize().ok()).collect::<Vec<_>>();
        outside.extend(real);
        outside.sort();
        outside.dedup();
        outside
    }
}
