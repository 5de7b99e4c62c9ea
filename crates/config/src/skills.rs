//! Skills: folders with a `SKILL.md` that says when to use what stands in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::file;
use crate::flags::Flags;
use crate::front::front_matter;
use crate::markdown::MAX_FILE;
use crate::scan::{self, Depth};
use crate::sources::Sources;

/// A skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// What it is called.
    pub name: String,
    /// When to use it. Without it the skill works, and is not offered.
    pub description: Option<String>,
    /// The text below its header.
    pub content: String,
    /// Its `SKILL.md`.
    pub location: PathBuf,
}

/// The skills there are, by name, and what is wrong with those that are left out.
///
/// Later places win: those of `.claude` and `.agents` at home, then in the project from this folder up to the top of
/// its work tree; the configuration folders; `paths`, which are relative to the working folder.
pub fn skills(sources: &Sources, paths: &[String]) -> (Vec<Skill>, Vec<String>) {
    let mut found: BTreeMap<String, Skill> = BTreeMap::new();
    let mut warnings = Vec::new();
    for folder in folders(sources, paths) {
        let files = scan::files(&folder, Depth::Deep, |name| name == "SKILL.md");
        if files.cut {
            warnings.push(format!("{}: too many files or too deep; some are left out", folder.display()));
        }
        for (_, path) in files.files {
            match read(&path) {
                Ok(skill) => drop(found.insert(skill.name.clone(), skill)),
                Err(warning) => warnings.push(warning),
            }
        }
    }
    (found.into_values().collect(), warnings)
}

fn folders(sources: &Sources, paths: &[String]) -> Vec<PathBuf> {
    let flags = Flags::of(sources);
    let mut external = Vec::new();
    if !flags.no_external_skills {
        external.extend((!flags.no_claude_skills).then_some(".claude"));
        external.push(".agents");
    }
    let mut folders = Vec::new();
    let mut project = sources.project_folders();
    project.reverse();
    for top in [vec![sources.home.clone()], project].concat() {
        folders.extend(external.iter().map(|name| top.join(name).join("skills")));
    }
    for directory in sources.directories() {
        folders.extend(["skill", "skills"].map(|name| directory.join(name)));
    }
    folders.extend(paths.iter().map(|path| match path.strip_prefix("~/") {
        Some(below) => sources.home.join(below),
        None => sources.directory.join(path),
    }));
    folders
}

fn read(path: &Path) -> Result<Skill, String> {
    let origin = path.display().to_string();
    let text = file::read(path, MAX_FILE).map_err(|error| format!("cannot read {origin}: {error}"))?;
    let front = front_matter(&text, &origin).map_err(|error| error.to_string())?;
    let text = |key: &str| front.data.get(key).and_then(Value::as_str).map(str::to_owned);
    let name = text("name").filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| format!("{origin}: its header has no name; write `name: …`"))?;
    Ok(Skill { name, description: text("description"), content: front.body.clone(), location: path.to_path_buf() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn skills_come_from_all_their_places_and_the_later_win() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let project = home.join("project");
        let write = |path: &str, text: &str| {
            let path = home.join(path).join("SKILL.md");
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(".claude/skills/a", "---\nname: a\ndescription: claude\n---\nA");
        write("project/.agents/skills/x/deep", "---\nname: a\ndescription: agents\n---\nA");
        write("project/.opencode/skill/b", "---\nname: b\n---\nB");
        write("project/extra/c", "---\nname: c\n---\nC");
        write(".haft/skills/broken", "---\nname: d\n");
        write(".haft/skills/nameless", "---\nx: d\n---\n");
        let sources = |environment: &[(&str, &str)]| Sources {
            config_home: home.join(".config"),
            directory: project.clone(),
            worktree: Some(project.clone()),
            environment: environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            home: home.clone(),
            ..Sources::default()
        };
        let names = |environment: &[(&str, &str)]| {
            let (found, _) = skills(&sources(environment), &["extra".to_owned()]);
            found.iter().map(|s| format!("{} {:?}", s.name, s.description)).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]), ["a Some(\"agents\")", "b None", "c None"]);
        assert_eq!(names(&[("OPENCODE_DISABLE_EXTERNAL_SKILLS", "1")]), ["b None", "c None"]);
        fs::remove_dir_all(project.join(".agents")).unwrap();
        assert_eq!(names(&[])[0], "a Some(\"claude\")");
        assert_eq!(names(&[("OPENCODE_DISABLE_CLAUDE_CODE", "1")]), ["b None", "c None"]);
        let (_, warnings) = skills(&sources(&[]), &[]);
        let warnings: Vec<&str> = warnings.iter().map(|text| text.rsplit("skills/").next().unwrap()).collect();
        assert_eq!(
            warnings,
            [
                "broken/SKILL.md, line 1, column 1: the header between the two lines --- is never closed; write a line --- below it",
                "nameless/SKILL.md: its header has no name; write `name: …`",
            ]
        );
    }
}
