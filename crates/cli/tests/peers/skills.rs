//! Published skills, one in each of the places where skills are looked for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::shelf::Shelf;
use crate::support::{Machine, parts};

/// Where a skill is put.
enum At {
    /// This folder, below the machine's.
    Folder(&'static str),
    /// The same, as a link to where it was unpacked.
    Link(&'static str),
    /// A folder that `skills.paths` names, below the machine's.
    Path(&'static str),
    /// An address that `skills.urls` names.
    Address,
}

/// The folders of the skills below the packages, their names, and where they are put.
const SKILLS: [(&str, &str, At); 10] = [
    ("ai-labs-claude-skills/dist/skills/csv-data-visualizer", "csv-data-visualizer", At::Folder("home/.claude/skills")),
    ("ai-labs-claude-skills/dist/skills/document-skills/pdf", "pdf", At::Folder("home/.agents/skills")),
    ("claude-skill-prompt-architect/prompt-architect", "prompt-architect", At::Folder("project/.claude/skills")),
    ("cli/skills/playwright-cli", "playwright-cli", At::Folder("project/.agents/skills/deep")),
    ("chrome-devtools-mcp/skills/a11y-debugging", "a11y-debugging", At::Folder("config/opencode/skills")),
    ("development-skills/skills/typescript-lsp", "typescript-lsp", At::Folder("project/.opencode/skills")),
    ("development-skills/skills/code-documentation", "code-documentation", At::Folder("project/.opencode/skill")),
    ("x-skill/skills/x-markdown", "x-markdown", At::Link("config/opencode/skill")),
    ("db/skills/db-core", "db-core", At::Path("own skills")),
    ("ai-labs-claude-skills/dist/skills/docker-containerization", "docker-containerization", At::Address),
];

/// Copies the folder `from` to `to`.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Puts the folder `folder` on `shelf` as the skill `name`, which is all that is listed there.
fn offer(shelf: &Shelf, name: &str, folder: &Path) {
    let (mut files, mut open) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                open.push(entry);
                continue;
            }
            let path = entry.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            shelf.put(&format!("{name}/{path}"), std::fs::read(&entry).unwrap());
            files.push(path);
        }
    }
    shelf.list(&[(name, &files.iter().map(String::as_str).collect::<Vec<_>>())]);
}

/// A machine that has all of them.
fn machine(packages: &Path, shelf: &Shelf) -> Machine {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    let mut settings = json!({"skills": {"paths": [], "urls": [shelf.url]}});
    for (folder, name, at) in &SKILLS {
        let from = packages.join(folder);
        let below = |place: &str| machine.root().join(place).join(name);
        match at {
            At::Folder(place) => copy(&from, &below(place)),
            At::Link(place) => {
                std::fs::create_dir_all(machine.root().join(place)).unwrap();
                std::os::unix::fs::symlink(&from, below(place)).unwrap();
            }
            At::Path(place) => {
                copy(&from, &below(place));
                settings["skills"]["paths"] = json!([machine.root().join(place)]);
            }
            At::Address => offer(shelf, name, &from),
        }
    }
    let file = machine.root().join("config/opencode/opencode.json");
    std::fs::write(file, settings.to_string()).unwrap();
    machine
}

/// What `listed` says of each skill, by name, but of those that come with a program.
fn said(listed: &Value) -> BTreeMap<String, (Value, String)> {
    let others = listed.as_array().unwrap().iter().filter(|skill| skill["location"] != "<built-in>");
    let one = |skill: &Value| {
        let content = skill["content"].as_str().unwrap().trim().to_owned();
        (skill["name"].as_str().unwrap().to_owned(), (skill["description"].clone(), content))
    };
    others.map(one).collect()
}

#[test]
fn published_skills_are_found_in_every_place_and_loaded_by_a_model() {
    let Some(packages) = crate::install::skills() else { return };
    let shelf = Shelf::start();
    let machine = machine(&packages, &shelf);
    machine.haft(&["skill", "update"]).ok();
    let checked = machine.haft(&["skill", "check"]).ok().out;
    assert!(checked.contains(" 0 cannot;"), "{checked}");
    let listed = machine.haft(&["skill", "list", "--json"]).ok().json();
    let all = said(&listed);
    for (_, name, _) in &SKILLS {
        assert!(all.contains_key(*name), "{name} is not in {:?}", all.keys());
    }
    // Those that stand in the folders of another count for themselves.
    assert!(all.contains_key("db-core/live-queries"), "{:?}", all.keys());

    let calls: Vec<Value> =
        SKILLS.iter().map(|(_, name, _)| json!({"call": "skill", "args": {"name": name}})).collect();
    let answers = [json!({"answer": calls}).to_string(), r#"{"answer":[{"text":"Done."}]}"#.to_owned()];
    let model = machine.scenario(&[&answers[0], &answers[1]]);
    machine.haft(&["run", "go", "--model", &model]).ok();
    let session = machine.newest_session();
    let outputs: Vec<Value> = parts(&session).into_iter().filter(|part| part["tool"] == "skill").collect();
    assert_eq!(outputs.len(), SKILLS.len());
    for (part, (folder, name, _)) in outputs.iter().zip(&SKILLS) {
        let output = part["state"]["output"].as_str().unwrap_or_else(|| panic!("{name}: {part:#}"));
        assert!(output.starts_with(&format!("<skill_content name=\"{name}\">\n# Skill: {name}\n\n")), "{output}");
        assert!(output.contains(&all[*name].1), "{name}: its text is not whole");
        let files: Vec<PathBuf> = output
            .lines()
            .filter_map(|line| line.strip_prefix("<file>")?.strip_suffix("</file>").map(PathBuf::from))
            .collect();
        let has_more = std::fs::read_dir(packages.join(folder)).unwrap().count() > 1;
        assert!(files.len() <= 10 && files.is_empty() != has_more, "{name}: {files:?}");
        assert!(files.iter().all(|file| file.is_file()), "{name}: {files:?}");
        if let Some(text) = files.iter().find(|file| file.extension().is_some_and(|kind| kind == "md")) {
            let read = machine.haft(&["tool", "call", "read", &json!({"filePath": text}).to_string()]).ok().out;
            assert!(read.contains("1: "), "{name}: {read}");
        }
    }
}

#[test]
fn opencode_finds_the_same_skills_with_the_same_words() {
    let (Some(packages), Some(program)) = (crate::install::skills(), crate::install::opencode()) else { return };
    let shelf = Shelf::start();
    let machine = machine(&packages, &shelf);
    machine.haft(&["skill", "update"]).ok();
    let ours = said(&machine.haft(&["skill", "list", "--json"]).ok().json());
    let told = machine.root().join("theirs.json");
    let mut command = Command::new(program);
    command.args(["debug", "skill"]).current_dir(machine.project()).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", machine.root().join("home"));
    for name in ["DATA", "STATE", "CACHE"] {
        command.env(format!("XDG_{name}_HOME"), machine.root().join("theirs").join(name));
    }
    command.env("XDG_CONFIG_HOME", machine.root().join("config"));
    for name in ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"] {
        command.env(format!("OPENCODE_DISABLE_{name}"), "1");
    }
    // It ends before a pipe has taken all that it says.
    let ran = command.stdin(Stdio::null()).stdout(std::fs::File::create(&told).unwrap()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let theirs: Value = serde_json::from_str(&std::fs::read_to_string(&told).unwrap()).unwrap();
    let theirs = said(&theirs);
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    for (name, words) in &ours {
        assert_eq!(words, &theirs[name], "{name}");
    }
}
