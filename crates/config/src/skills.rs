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
    /// Its `SKILL.md`. `None`: it comes with the program and stands in no folder.
    pub location: Option<PathBuf>,
}

/// What a look for skills found.
#[derive(Debug, Default)]
pub struct Skills {
    /// By name.
    pub all: Vec<Skill>,
    /// Why files that should be skills are none.
    pub problems: Vec<String>,
    /// What else whoever wrote them should know: names that two of them have, files that are not looked at.
    pub remarks: Vec<String>,
}

/// The file that makes a folder a skill.
const FILE: &str = "SKILL.md";
/// Longest name of a skill that other programs take, in characters.
const MAX_NAME: usize = 64;
/// Longest description, in characters, that other programs take.
const MAX_DESCRIPTION: usize = 1024;
/// Files of a skill that are named.
const MAX_NAMED: usize = 10;
/// Most names that are looked at for them.
const MAX_LOOKED: usize = 1_000;
/// How deep below a skill's folder is looked.
const MAX_DEPTH: usize = 8;

impl Skill {
    /// The skill that `text` is, the content of the file at `location`.
    ///
    /// # Errors
    ///
    /// Why it is none, with the file: its header is broken or has no name.
    pub fn of(text: &str, location: &Path) -> Result<Self, String> {
        let origin = location.display().to_string();
        let front = front_matter(text, &origin).map_err(|error| error.to_string())?;
        let name = match front.data.get("name") {
            Some(Value::String(name)) if !name.trim().is_empty() => name.clone(),
            Some(Value::String(_)) | None => return Err(format!("{origin}: its header has no name; write `name: …`")),
            Some(other) => {
                return Err(format!("{origin}: its name is no text; write it in quotes: `name: \"{other}\"`"));
            }
        };
        let description = front.data.get("description").and_then(Value::as_str);
        let description = description.filter(|text| !text.trim().is_empty()).map(str::to_owned);
        Ok(Self { name, description, content: front.body, location: Some(location.to_path_buf()) })
    }

    /// The folder that it stands in. What it names is relative to it.
    pub fn folder(&self) -> Option<&Path> {
        self.location.as_deref()?.parent()
    }

    /// What other programs would find wrong with it. It works all the same.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let Some(folder) = self.folder() else { return remarks };
        let folder = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if !is_plain(&self.name) {
            remarks
                .push(format!("its name {:?} should have small letters, digits and single hyphens alone", self.name));
        }
        let length = self.name.chars().count();
        if length > MAX_NAME {
            remarks.push(format!("its name has {length} characters; other programs take {MAX_NAME}"));
        }
        if self.name != folder {
            remarks.push(format!("its name is {:?} and its folder's {folder:?}; they should be the same", self.name));
        }
        let length = self.description.as_ref().map(|text| text.chars().count());
        match length {
            None => remarks.push("it has no description, so no model is told of it; write `description: …`".to_owned()),
            Some(length) if length > MAX_DESCRIPTION => {
                remarks.push(format!("its description has {length} characters; other programs take {MAX_DESCRIPTION}"));
            }
            Some(_) => {}
        }
        if self.content.is_empty() {
            remarks.push("there is nothing below its header, so a model that loads it learns nothing".to_owned());
        }
        remarks
    }
}

/// Whether `name` is words of small letters and digits with a hyphen between them.
fn is_plain(name: &str) -> bool {
    let word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    name.split('-').all(word)
}

/// A few of the files below a skill's `folder`, in the order of their names, without its `SKILL.md`. Links are not
/// followed: what they lead to is no part of the skill.
pub fn sample(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let (mut open, mut looked) = (vec![(folder.to_path_buf(), 0)], 0);
    while let Some((folder, depth)) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let mut here: Vec<_> = entries.flatten().take(MAX_LOOKED.saturating_sub(looked)).collect();
        looked += here.len();
        here.sort_by_key(std::fs::DirEntry::file_name);
        let mut below = Vec::new();
        for entry in here {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_file() && !(depth == 0 && entry.file_name() == "SKILL.md") && files.len() < MAX_NAMED {
                files.push(entry.path());
            } else if kind.is_dir() && depth < MAX_DEPTH && entry.file_name() != ".git" {
                below.push((entry.path(), depth + 1));
            }
        }
        if files.len() >= MAX_NAMED || looked >= MAX_LOOKED {
            break;
        }
        open.extend(below.into_iter().rev());
    }
    files
}

/// The skills there are, and what is wrong with others.
///
/// Later places win: those of `.claude` and `.agents` at home, then in the project from this folder up to the top of
/// its work tree; the configuration folders; `paths`, which are relative to the working folder; the folders `further`.
pub fn skills(sources: &Sources, paths: &[String], further: &[PathBuf]) -> Skills {
    let mut by_name: BTreeMap<String, Skill> = BTreeMap::new();
    let mut found = Skills::default();
    for path in paths.iter().filter(|path| !named(sources, path).is_dir()) {
        found.remarks.push(format!("skills.paths: {path:?} is no folder; correct it or take it out"));
    }
    for folder in folders(sources, paths).iter().chain(further) {
        let files = scan::files(folder, Depth::Deep, |name| name.eq_ignore_ascii_case(FILE));
        if files.cut {
            found.problems.push(format!("{}: too many files or too deep; some are left out", folder.display()));
        }
        for (below, path) in files.files {
            if !below.ends_with(FILE) {
                found.remarks.push(format!("{}: is not looked at; call it {FILE}", path.display()));
                continue;
            }
            match read(&path) {
                Ok(skill) => {
                    let before = by_name.insert(skill.name.clone(), skill);
                    found.remarks.extend(before.and_then(|before| covered(&before, &path)));
                }
                Err(problem) => found.problems.push(problem),
            }
        }
    }
    found.all = by_name.into_values().collect();
    found
}

/// What is to be said of the skill `before`, whose name the one at `path` has too.
fn covered(before: &Skill, path: &Path) -> Option<String> {
    let location = before.location.as_deref()?;
    // A file that is reached by two ways is one skill.
    let same = location.canonicalize().is_ok_and(|real| path.canonicalize().is_ok_and(|other| real == other));
    let said = format!(
        "{}: does not count, because {} has the name {:?} too; give one of them another name",
        location.display(),
        path.display(),
        before.name
    );
    (!same).then_some(said)
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
    folders.extend(paths.iter().map(|path| named(sources, path)));
    folders
}

/// The folder that `skills.paths` names with `path`.
fn named(sources: &Sources, path: &str) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(below) => sources.home.join(below),
        None => sources.directory.join(path),
    }
}

fn read(path: &Path) -> Result<Skill, String> {
    let text = file::read(path, MAX_FILE).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Skill::of(&text, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_others_would_not_take_is_remarked() {
        let check = |name: &str, description: Option<&str>, want: &[&str]| {
            let (name, description) = (name.to_owned(), description.map(str::to_owned));
            let content = "Do it.".to_owned();
            let skill = Skill { name, description, content, location: Some("/s/my-skill/SKILL.md".into()) };
            let got = skill.remarks();
            assert_eq!(got.len(), want.len(), "{got:?}");
            for (got, want) in got.iter().zip(want) {
                assert!(got.contains(want), "{got}");
            }
        };
        check("my-skill", Some("Use it."), &[]);
        check("my-skill", None, &["no description"]);
        check("My Skill", Some("x"), &["small letters", "should be the same"]);
        check("my--skill", Some("x"), &["small letters", "should be the same"]);
        check(&"x".repeat(65), Some(&"y".repeat(1025)), &["take 64", "should be the same", "has 1025 characters"]);
    }

    #[test]
    fn a_few_files_are_named_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let skill = folder.path().join("skill");
        fs::create_dir_all(skill.join("ref/.hidden")).unwrap();
        fs::create_dir_all(folder.path().join("secret")).unwrap();
        for name in ["skill/SKILL.md", "skill/b.md", "skill/ref/a.md", "skill/ref/.hidden/c", "secret/key"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        std::os::unix::fs::symlink(folder.path().join("secret"), skill.join("link")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("secret/key"), skill.join("key")).unwrap();
        let names = || -> Vec<String> {
            let found = sample(&skill).into_iter();
            found.map(|path| path.strip_prefix(&skill).unwrap().display().to_string()).collect()
        };
        assert_eq!(names(), ["b.md", "ref/a.md", "ref/.hidden/c"]);
        for n in 0..20 {
            fs::write(skill.join(format!("z{n:02}")), "x").unwrap();
        }
        assert_eq!((names().len(), names()[9].as_str()), (MAX_NAMED, "z08"));
        assert!(sample(&folder.path().join("none")).is_empty());
    }

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
            let found = skills(&sources(environment), &["extra".to_owned()], &[]).all;
            found.iter().map(|s| format!("{} {:?}", s.name, s.description)).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]), ["a Some(\"agents\")", "b None", "c None"]);
        assert_eq!(names(&[("OPENCODE_DISABLE_EXTERNAL_SKILLS", "1")]), ["b None", "c None"]);
        fs::remove_dir_all(project.join(".agents")).unwrap();
        assert_eq!(names(&[])[0], "a Some(\"claude\")");
        assert_eq!(names(&[("OPENCODE_DISABLE_CLAUDE_CODE", "1")]), ["b None", "c None"]);
        let problems = skills(&sources(&[]), &[], &[]).problems;
        let problems: Vec<&str> = problems.iter().map(|text| text.rsplit("skills/").next().unwrap()).collect();
        assert_eq!(
            problems,
            [
                "broken/SKILL.md, line 1, column 1: the header between the two lines --- is never closed; write a line --- below it",
                "nameless/SKILL.md: its header has no name; write `name: …`",
            ]
        );
    }

    #[test]
    fn what_makes_no_skill_is_told_with_what_to_write() {
        let row = |text: &str, want: &str| {
            let error = Skill::of(text, Path::new("/s/a/SKILL.md")).unwrap_err();
            assert!(error.starts_with("/s/a/SKILL.md") && error.contains(want), "{error}");
        };
        row("no header at all", "its header has no name; write `name: …`");
        row("---\nname: ''\n---\n", "its header has no name");
        row("---\nname: 3\n---\n", "its name is no text; write it in quotes: `name: \"3\"`");
        row("---\nname: [a\n---\n", "is no YAML");
        row("---\nname: a\n", "never closed");
        let skill = Skill::of("---\nname: a\ndescription: ' '\n---\n", Path::new("/s/a/SKILL.md")).unwrap();
        assert_eq!((skill.description.as_ref(), skill.remarks().len()), (None, 2));
    }

    #[test]
    fn names_that_two_have_and_files_that_nobody_reads_are_remarked() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let write = |path: &str, name: &str| {
            let path = home.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("---\nname: {name}\ndescription: x\n---\nDo it.\n")).unwrap();
        };
        write(".agents/skills/a/SKILL.md", "a");
        write("p/.haft/skills/a/SKILL.md", "a");
        write("p/.haft/skills/b/skill.md", "b");
        write("more/c/SKILL.md", "c");
        // The same skill by two ways is one.
        std::os::unix::fs::symlink(home.join("more/c"), home.join("p/.haft/skills/c")).unwrap();
        let directory = home.join("p");
        let sources =
            Sources { config_home: home.join(".config"), directory, home: home.clone(), ..Sources::default() };
        let found = skills(&sources, &["nowhere".to_owned()], &[home.join("more")]);
        assert_eq!(found.all.iter().map(|skill| &*skill.name).collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(found.all[0].location, Some(home.join("p/.haft/skills/a/SKILL.md")));
        assert!(found.problems.is_empty(), "{:?}", found.problems);
        let wanted =
            ["\"nowhere\" is no folder", ".agents/skills/a/SKILL.md: does not count", "b/skill.md: is not looked at"];
        assert_eq!(found.remarks.len(), wanted.len(), "{:?}", found.remarks);
        for (got, want) in found.remarks.iter().zip(wanted) {
            assert!(got.contains(want), "{got}");
        }
    }
}
