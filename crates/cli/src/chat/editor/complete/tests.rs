use super::*;

fn word(name: &str, goes_on: bool) -> Word {
    Word { name: name.to_owned(), help: format!("about {name}"), goes_on }
}

/// What is offered for `text`, with the cursor at its `|`, in a project with some files.
#[track_caller]
fn check(mode: Mode, text: &str, range: &str, want: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for path in ["src/main.rs", "src/map.rs", "target/x.rs", "README.md", ".hidden", ".git/config", "two words.txt"] {
        std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        std::fs::write(root.join(path), "").unwrap();
    }
    std::fs::write(root.join("evil\u{1b}[2J\u{202e}.md"), "").unwrap();
    std::fs::write(root.join(".gitignore"), "target\n").unwrap();
    let complete = Complete::new(root.to_owned());
    complete.commands(vec![word("help", false), word("models", true), word("compact", true)]);
    complete.agents(vec![word("explore", false), word("general", false)]);
    complete.resources(vec![word("docs:notes://today", false), word("docs:notes://to do", false)]);
    complete.arguments("models", vec![word("mock/m1", true), word("mock/m2", true)]);
    let cursor = text.find('|').unwrap();
    let typed = Typed { mode, text: text.replace('|', ""), cursor };
    let found = complete.complete(&typed);
    assert_eq!(found.candidates.iter().map(|found| found.insert.as_str()).collect::<Vec<_>>(), want, "{text:?}");
    if !want.is_empty() {
        assert_eq!(&typed.text[found.range], range, "{text:?}");
    }
}

#[test]
fn a_slash_begins_a_command() {
    check(Mode::Prompt, "/|", "/", &["/help", "/models", "/compact"]);
    check(Mode::Prompt, "/mo|", "/mo", &["/models"]);
    check(Mode::Prompt, "/usr/li|", "", &[]);
    check(Mode::Prompt, "/models m2|", "m2", &["mock/m2"]);
    check(Mode::Prompt, "/models |", "", &["mock/m1", "mock/m2"]);
    check(Mode::Prompt, "/help x|", "", &[]);
}

#[test]
fn an_at_begins_an_agent_or_a_file() {
    check(Mode::Prompt, "see @main|", "@main", &["@src/main.rs"]);
    check(Mode::Prompt, "(@expl| and more", "@expl", &["@explore"]);
    check(
        Mode::Prompt,
        "@|",
        "@",
        &[
            "@explore",
            "@general",
            "@docs:notes://today",
            "@.gitignore",
            "@.hidden",
            "@README.md",
            "@src/",
            "@src/main.rs",
            "@src/map.rs",
        ],
    );
    check(Mode::Prompt, "@src/|", "@src/", &["@src/", "@src/map.rs", "@src/main.rs"]);
    check(Mode::Prompt, "me@main|", "", &[]);
    check(Mode::Prompt, "@src/main.rs#1|", "", &[]);
    check(Mode::Prompt, "@evil|", "", &[]);
    check(Mode::Prompt, "/tmp is full, see @main|", "", &[]);
    check(Mode::Prompt, &format!("@{}|", "x".repeat(MAX_WORD)), "", &[]);
}

#[test]
fn an_at_names_what_a_server_has() {
    check(Mode::Prompt, "see @docs|", "@docs", &["@docs:notes://today"]);
    check(Mode::Prompt, "see @docs:notes://t|", "@docs:notes://t", &["@docs:notes://today"]);
    check(Mode::Prompt, "see @notoday|", "@notoday", &["@docs:notes://today"]);
    let complete = Complete::new("/none/such".into());
    complete.resources((0..50).map(|at| word(&format!("s:x://{at}"), false)).collect());
    let typed = Typed { text: "@x".to_owned(), cursor: 2, ..Typed::default() };
    assert_eq!(complete.complete(&typed).candidates.len(), MAX_RESOURCES);
}

#[test]
fn a_path_goes_on_where_it_is_asked_for() {
    check(Mode::Prompt, "look at src/ma|", "src/ma", &["src/main.rs", "src/map.rs"]);
    check(Mode::Shell, "cat READ|", "READ", &["README.md"]);
    check(Mode::Shell, "cat @|", "", &[]);
    check(Mode::Prompt, "a |", "", &[]);
}
