//! What the skill that comes with haft says is true.

use std::path::Path;

use expect_test::expect_file;
use haft_config::{FrontMatter, Trust, front_matter};
use serde_json::Value;

use super::*;

/// The blocks of the language `language` in the skill.
fn blocks(language: &str) -> Vec<&'static str> {
    let opening = format!("```{language}\n");
    let behind = OWN.split(opening.as_str()).skip(1);
    behind.map(|rest| rest.split_once("```").unwrap().0).collect()
}

/// The keys of the settings, with the words that their JSON Schema has about them.
fn keys() -> String {
    let schema = haft_config::schema();
    let described = |(name, value): (&String, &Value)| {
        let words = value["description"].as_str().filter(|_| !name.starts_with('$'))?;
        (!words.starts_with("the older ") && words != "without effect").then(|| format!("| `{name}` | {words} |\n"))
    };
    let rows: String = schema["properties"].as_object().unwrap().iter().filter_map(described).collect();
    format!("| key | what |\n| --- | --- |\n{rows}")
}

#[test]
fn its_table_of_keys_is_that_of_the_settings() {
    let (begin, end) = ("<!-- generated: keys -->\n", "<!-- end -->");
    let (before, rest) = OWN.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    // UPDATE_EXPECT=1 writes the file anew.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/skills/customize-haft.md");
    expect_file![path].assert_eq(&format!("{before}{begin}\n{}\n{end}{after}", keys()));
}

#[test]
fn its_examples_of_settings_are_read_without_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    let path = home.join("config/haft/haft.jsonc");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let blocks = blocks("jsonc");
    assert!(blocks.len() >= 9, "{}", blocks.len());
    for block in blocks {
        std::fs::write(&path, block).unwrap();
        let variables = ["MY_KEY", "TOKEN", "DOCS_TOKEN"].map(|name| (name.to_owned(), "x".to_owned()));
        let sources = haft_config::Sources {
            config_home: home.join("config"),
            directory: home.join("project"),
            environment: variables.into(),
            home: home.clone(),
            vendors: ["anthropic".to_owned()].into(),
            ..haft_config::Sources::default()
        };
        let config = haft_config::load(&sources, Trust::Given).unwrap_or_else(|error| panic!("{error}\n{block}"));
        assert_eq!(config.warnings, Vec::<String>::new(), "{block}");
    }
}

#[test]
fn its_examples_of_files_are_what_they_are_called() {
    let headed: Vec<FrontMatter> = blocks("markdown").iter().map(|text| front_matter(text, "x.md").unwrap()).collect();
    assert_eq!(headed.len(), 3);
    let agent = haft_config::agent("reviewer", blocks("markdown")[0], "reviewer.md").unwrap();
    assert!(agent.options.is_empty() && agent.rules.len() == 3 && agent.prompt.is_some(), "{agent:?}");
    let known = ["description", "agent", "model", "variant", "subtask"];
    assert!(headed[1].data.keys().all(|key| known.contains(&key.as_str())), "{:?}", headed[1].data);
    let skill = Skill::of(blocks("markdown")[2], "release/SKILL.md".as_ref()).unwrap();
    assert_eq!(skill.remarks(), Vec::<String>::new());
}

#[test]
fn it_fits_what_other_programs_take_of_a_skill() {
    let own = Skill { location: Some("customize-haft/SKILL.md".into()), ..builtin().unwrap() };
    assert_eq!(own.remarks(), Vec::<String>::new());
    assert!(own.content.len() < 16 * 1024, "{}", own.content.len());
}

#[test]
fn every_command_that_it_names_is_one() {
    use clap::CommandFactory;
    let known = crate::args::Cli::command();
    for behind in OWN.split("`haft ").skip(1) {
        let line = behind.split('`').next().unwrap();
        let mut at = &known;
        for word in line.split(' ') {
            let Some(next) =
                at.get_subcommands().find(|sub| sub.get_name() == word || sub.get_all_aliases().any(|one| one == word))
            else {
                // What follows are arguments.
                let is_argument = at.get_subcommands().next().is_none() || word.starts_with(char::is_uppercase);
                assert!(is_argument, "haft {line}: {word}");
                break;
            };
            at = next;
        }
    }
}
