//! The skills there are in a folder.

pub(crate) mod remote;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_config::{Config, Skill};
use haft_project::Place;
use haft_session::Command;
use haft_toolbox::Skills;

use self::remote::Remote;
use crate::folders::Folders;
use crate::wire;

/// The skill that comes with haft: how it is configured.
const OWN: &str = include_str!("skills/customize-haft.md");
/// Where a skill that comes with haft is said to stand.
const NOWHERE: &str = "<built-in>";

/// The skills of a folder, and what is wrong with files that should be some.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// By name.
    pub skills: Vec<Skill>,
    pub problems: Vec<String>,
    /// What else whoever wrote them should know.
    pub remarks: Vec<String>,
    /// Why skills of addresses are missing, among the problems.
    pub missed: Vec<String>,
}

/// The skills that come with haft.
fn builtin() -> Result<Skill, String> {
    Skill::of(OWN, "customize-haft.md".as_ref()).map(|skill| Skill { location: None, ..skill })
}

/// Where `skill` stands, in words.
pub(crate) fn location(skill: &Skill) -> PathBuf {
    skill.location.clone().unwrap_or_else(|| NOWHERE.into())
}

impl Found {
    /// Looks for them.
    pub(crate) fn at(folders: &Folders, place: &Place, config: &Config) -> Self {
        let addresses = remote::addresses(config).map_err(|why| vec![why]);
        let kept = addresses.map(|addresses| Remote::of(folders).kept(addresses));
        let kept = kept.unwrap_or_else(|problems| remote::Kept { problems, ..remote::Kept::default() });
        let sources = wire::sources(folders, place);
        let haft_config::Skills { mut all, mut problems, remarks } =
            haft_config::skills(&sources, &config.skill_paths, &kept.folders);
        problems.extend(kept.problems.iter().cloned());
        match builtin() {
            Ok(own) if all.iter().all(|skill| skill.name != own.name) => all.push(own),
            Ok(_) => {}
            Err(why) => problems.push(why),
        }
        all.sort_by(|one, other| one.name.cmp(&other.name));
        for problem in &problems {
            tracing::warn!(problem, "a skill is left out");
        }
        Self { skills: all, problems, remarks, missed: kept.problems }
    }

    /// As the tool that loads them wants them.
    pub(crate) fn tool(&self) -> Skills {
        let one = |skill: &Skill| haft_toolbox::Skill {
            name: skill.name.clone(),
            content: skill.content.clone(),
            folder: skill.folder().map(Path::to_owned),
        };
        let all: Arc<[haft_toolbox::Skill]> = self.skills.iter().map(one).collect();
        Skills { all, sample: haft_config::sample }
    }

    /// As models are told of them: those that say when to use them.
    pub(crate) fn told(&self) -> Vec<haft_session::Skill> {
        let one = |skill: &Skill| {
            let description = skill.description.clone()?;
            Some(haft_session::Skill { name: skill.name.clone(), description, location: location(skill) })
        };
        self.skills.iter().filter_map(one).collect()
    }

    /// As commands that people call by name. What stands in a skill is words: nothing in it is run or filled in.
    pub(crate) fn commands(&self) -> Vec<Command> {
        let folder = |skill: &Skill| match skill.folder() {
            Some(folder) => format!("\n\nBase directory for this skill: {}", folder.display()),
            None => String::new(),
        };
        let one = |skill: &Skill| Command {
            name: skill.name.clone(),
            template: format!("{}{}", skill.content.trim(), folder(skill)),
            description: skill.description.clone(),
            literal: true,
            ..Command::default()
        };
        self.skills.iter().filter(|skill| !skill.name.contains(char::is_whitespace)).map(one).collect()
    }

    /// The folders outside `project` that hold them, and may be read. What a project names is no leave to go anywhere,
    /// so links below it count for nothing.
    pub(crate) fn folders_outside(&self, project: &Path) -> Vec<PathBuf> {
        let folders = self.skills.iter().filter_map(|skill| skill.folder().map(Path::to_owned));
        let mut outside: Vec<PathBuf> = folders.filter(|folder| !folder.starts_with(project)).collect();
        // Rules are held against true paths; those that the user wrote down may have links.
        let real = outside.iter().filter_map(|folder| folder.canonicalize().ok()).collect::<Vec<_>>();
        outside.extend(real);
        outside.sort();
        outside.dedup();
        outside
    }
}

#[cfg(test)]
mod tests;
