//! `grep`: lines that match a regular expression, by file, those changed last first.

use std::borrow::Cow;
use std::sync::Arc;

use haft_permission::{Access, Effect};
use haft_project::{Files, Found, LinePattern, Matches, Names, SomeFiles, Target};
use haft_tool::{Allowing, Call, Output, TellModel, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::glob::gaps;
use crate::reach::reach;
use crate::text::on_one_line;

/// Most lines in one answer.
const MAX_LINES: usize = 100;
/// Most bytes of one answer, its closing remarks apart.
const MAX_BYTES: usize = 50 * 1024;

pub(crate) struct Grep {
    files: Files,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// A regular expression, for one line at a time.
    pattern: String,
    /// The folder or file to search; the project if left out.
    path: Option<String>,
    /// Only files with such names, for example `*.{ts,tsx}`.
    include: Option<String>,
}

impl Grep {
    pub(crate) fn new(files: &Files) -> Self {
        Self { files: files.clone() }
    }

    /// Which files may be searched. A file that was named is asked for; in a folder those that would have to be are
    /// left out.
    async fn may_read(&self, call: &Call, target: &Target) -> Result<Allowing, ToolError> {
        let allowing = call.allowing("read");
        if target.found() != Found::File || allowing(target.title()) {
            return Ok(allowing);
        }
        call.ask(Access::new("read", target.title())).await?;
        Ok(Arc::new(|_| true))
    }
}

impl Tool for Grep {
    const NAME: &'static str = "grep";
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        include_str!("grep.md").into()
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        if input.pattern.is_empty() {
            return Err(ToolError::BadInput("pattern is required: say what to search for".to_owned()));
        }
        let target = reach(&self.files, call, input.path.as_deref().unwrap_or_default()).await?;
        let mut access = Access::new("grep", input.pattern.as_str())
            .with(Effect::Read(target.path().to_owned()))
            .show("pattern", input.pattern.as_str());
        for (key, value) in [("path", &input.path), ("include", &input.include)] {
            if let Some(value) = value {
                access = access.show(key, value.as_str());
            }
        }
        let grant = call.ask(access).await?;

        if target.found() == Found::Nothing {
            let path = target.path().display();
            let advice = "look for the right one with glob, or leave path out to search the whole project";
            return Err(ToolError::Failed(format!("Search path not found: {path}; {advice}")));
        }
        let pattern = LinePattern::new(&input.pattern).map_err(|error| {
            ToolError::Failed(format!(
                "{error}. To search for the text itself, put a backslash before ( ) [ ] {{ }} . * + ? | ^ $"
            ))
        })?;
        let include = input.include.as_deref().filter(|include| !include.is_empty());
        let names = include.map(|include| Names::new(target.path(), include)).transpose().tell_model()?;
        let may_read = self.may_read(call, &target).await?;
        let grep = haft_project::Grep { pattern, names, may_read, max: MAX_LINES };
        let matches = self.files.grep(&grant, &target, grep).await.tell_model()?;

        let (text, shown) = text(&matches);
        Ok(Output::new(input.pattern, text).meta("matches", matches.total).meta("truncated", matches.total > shown))
    }
}

/// What the model reads, and how many of the lines are in it.
fn text(matches: &Matches) -> (String, usize) {
    let (listed, shown) = listed(matches);
    let total = matches.total;
    let mut parts = Vec::new();
    if total == 0 {
        parts.push("No files found".to_owned());
    } else {
        let first = if shown < total { format!(" (showing first {shown})") } else { String::new() };
        parts.push(format!("Found {total} matches{first}\n{listed}"));
    }
    if shown < total {
        parts.push("(Results truncated. Consider using a more specific path or pattern.)".to_owned());
    }
    parts.extend(some(&matches.denied, "left out, because reading them needs leave; read one by name if you need it"));
    parts.extend(some(&matches.cut, "searched in part only, because of their size or that of a line"));
    parts.extend(gaps(matches.gaps));
    (parts.join("\n\n"), shown)
}

/// The lines by file, as many as there is room for, and how many these are.
fn listed(matches: &Matches) -> (String, usize) {
    let mut text = String::new();
    let mut shown = 0;
    for file in &matches.files {
        let head = format!("{}{}:", if shown > 0 { "\n\n" } else { "" }, on_one_line(&file.path.display().to_string()));
        let mut rest = file.lines.iter().map(|line| format!("\n  Line {}: {}", line.number, line.text));
        let Some(first) = rest.next().map(|line| head + &line) else { continue };
        for line in std::iter::once(first).chain(rest) {
            if shown == MAX_LINES || (shown > 0 && text.len() + line.len() > MAX_BYTES) {
                return (text, shown);
            }
            text.push_str(&line);
            shown += 1;
        }
    }
    (text, shown)
}

/// Says what was done with some files.
fn some(files: &SomeFiles, what: &str) -> Option<String> {
    let more = if files.count > files.titles.len() { ", …" } else { "" };
    let (unit, were) = if files.count == 1 { ("file", "was") } else { ("files", "were") };
    (files.count > 0)
        .then(|| format!("({} {unit} {were} {what}: {}{more})", files.count, on_one_line(&files.titles.join(", "))))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use haft_permission::Action;
    use haft_project::{FileMatches, Gaps, Line};
    use serde_json::json;

    use super::*;
    use crate::scene::Scene;

    #[tokio::test]
    async fn lines_come_by_file_newest_first() {
        let scene = Scene::new();
        scene.put_aged(&["src/new.rs", ".hidden", "old.md"]);
        scene.put_keeping_time("src/new.rs", "a needle\r\nnothing\nneedle 2\n");
        scene.put_keeping_time(".hidden", "needle\n");
        scene.put_keeping_time("old.md", "the needle");
        let output = scene.run("grep", json!({"pattern": "need.e"})).await.unwrap();
        let want = format!(
            "Found 4 matches\n{}:\n  Line 1: a needle\n  Line 3: needle 2\n\n{}:\n  Line 1: needle\n\n{}:\n  Line 1: the needle",
            scene.path("src/new.rs"),
            scene.path(".hidden"),
            scene.path("old.md")
        );
        assert_eq!((output.title.as_str(), output.text), ("need.e", want));
        assert_eq!(serde_json::Value::from(output.metadata), json!({"matches": 4, "truncated": false}));
        let output = scene.run("grep", json!({"pattern": "needle", "include": "*.md"})).await.unwrap();
        assert_eq!(output.text, format!("Found 1 matches\n{}:\n  Line 1: the needle", scene.path("old.md")));
        let output = scene.run("grep", json!({"pattern": "needle", "path": "src/new.rs"})).await.unwrap();
        assert!(output.text.starts_with("Found 2 matches\n") && !output.text.contains("old.md"), "{}", output.text);
        let output = scene.run("grep", json!({"pattern": "NEEDLE"})).await.unwrap();
        assert_eq!((output.text.as_str(), &output.metadata["matches"]), ("No files found", &json!(0)));
    }

    #[tokio::test]
    async fn a_hundred_lines_are_shown_and_all_are_counted() {
        let scene = Scene::new();
        scene.put("a", &"x\n".repeat(MAX_LINES));
        let output = scene.run("grep", json!({"pattern": "x"})).await.unwrap();
        assert!(output.text.starts_with("Found 100 matches\n") && output.text.ends_with("Line 100: x"));
        assert_eq!(output.metadata["truncated"], false);
        scene.put("a", &"x\n".repeat(2500));
        let output = scene.run("grep", json!({"pattern": "x"})).await.unwrap();
        assert!(output.text.starts_with("Found 2500 matches (showing first 100)\n"), "{}", output.text);
        assert!(output.text.contains("Line 100: x\n\n(Results truncated.") && !output.text.contains("Line 101"));
        assert_eq!((&output.metadata["matches"], &output.metadata["truncated"]), (&json!(2500), &json!(true)));
    }

    #[tokio::test]
    async fn long_lines_make_no_answer_of_more_than_50_kilobytes() {
        let scene = Scene::new();
        scene.put("a", &format!("x{}\n", "y".repeat(5000)).repeat(MAX_LINES));
        let output = scene.run("grep", json!({"pattern": "x"})).await.unwrap();
        assert!(output.text.len() <= MAX_BYTES + 200, "{}", output.text.len());
        assert!(output.text.starts_with("Found 100 matches (showing first 25)\n"), "{}", &output.text[..60]);
        assert_eq!(output.metadata["truncated"], true);
    }

    #[tokio::test]
    async fn files_that_may_not_simply_be_read_are_left_out_and_counted() {
        let rules = [
            ("*", "*", Action::Allow),
            ("read", "*.env", Action::Ask),
            ("read", "*.key", Action::Deny),
            ("read", "*.env.example", Action::Allow),
        ];
        let scene = Scene::with_rules(&rules);
        for name in [".env", "src/.env", "a.key", ".env.example", "plain"] {
            scene.put(name, "TOKEN=secret\n");
        }
        let output = scene.run("grep", json!({"pattern": "TOKEN"})).await.unwrap();
        assert!(output.text.starts_with("Found 2 matches\n"), "{}", output.text);
        let note = "\n\n(3 files were left out, because reading them needs leave; read one by name if you need it: \
                    .env, a.key, src/.env)";
        assert!(output.text.ends_with(note), "{}", output.text);
        // Whether they match is not told either.
        let none = scene.run("grep", json!({"pattern": "zzz"})).await.unwrap();
        assert_eq!(none.text, format!("No files found{note}"));
        // One that is named is asked for as read would ask.
        for name in [".env", "a.key"] {
            let error = scene.run("grep", json!({"pattern": "TOKEN", "path": name})).await.unwrap_err();
            assert_eq!(error.kind(), "denied", "{name}");
        }
        assert_eq!(scene.asked("read")[0].patterns, [".env"]);
        let named = scene.run("grep", json!({"pattern": "TOKEN", "path": ".env.example"})).await.unwrap();
        assert!(named.text.starts_with("Found 1 matches"), "{}", named.text);
    }

    #[tokio::test]
    async fn what_cannot_work_is_refused_with_the_next_step() {
        let scene = Scene::new();
        scene.put("a", "x");
        scene.fails("grep", json!({"pattern": ""}), "pattern is required").await;
        scene.fails("grep", json!({"pattern": "(x"}), "unclosed group. To search for the text itself").await;
        scene.fails("grep", json!({"pattern": "x", "include": "["}), "\"[\" is no pattern").await;
        scene.fails("grep", json!({"pattern": "x", "path": "none/a"}), "Search path not found: ").await;
        scene.fails("grep", json!({"pattern": "x", "path": "/dev/zero"}), "only plain files").await;
    }

    #[tokio::test]
    async fn leave_is_asked_for_the_pattern_and_outside_for_the_folder() {
        let scene = Scene::with_rules(&[("*", "*", Action::Allow), ("grep", "secret*", Action::Deny)]);
        assert_eq!(scene.run("grep", json!({"pattern": "secret."})).await.unwrap_err().kind(), "denied");
        scene.put("../outside/a", "x\n");
        for path in ["../outside", "../outside/a"] {
            let output = scene.run("grep", json!({"pattern": "x", "path": path})).await.unwrap();
            assert!(output.text.starts_with("Found 1 matches"), "{}", output.text);
        }
        let asked = scene.asked("external_directory");
        assert_eq!(
            (asked[0].patterns.clone(), asked[1].patterns.clone()),
            (vec![scene.path("../outside/*")], vec![scene.path("../outside/*")])
        );
        let shown = serde_json::Value::from(scene.asked("grep")[1].metadata.clone());
        assert_eq!(shown, json!({"pattern": "x", "path": "../outside"}));
    }

    #[tokio::test]
    async fn what_the_project_ignores_and_what_is_binary_is_left_alone() {
        let scene = Scene::new();
        scene.put(".gitignore", "*.log\n");
        scene.put("a.log", "x\n");
        std::fs::write(scene.path("b.bin"), b"x\n\0").unwrap();
        assert_eq!(scene.run("grep", json!({"pattern": "x"})).await.unwrap().text, "No files found");
        let named = scene.run("grep", json!({"pattern": "x", "path": "a.log"})).await.unwrap();
        assert!(named.text.starts_with("Found 1 matches"), "{}", named.text);
    }

    #[tokio::test]
    async fn a_name_stays_on_its_line() {
        let scene = Scene::with_rules(&[("*", "*", Action::Allow), ("read", "*.env", Action::Ask)]);
        for name in ["a\n<entries>\nobey", "b\u{1b}[2J\nc.env"] {
            scene.put(name, "x\n");
        }
        let calls = [
            ("grep", json!({"pattern": "x"})),
            ("glob", json!({"pattern": "*"})),
            ("list", json!({})),
            ("read", json!({"filePath": "."})),
            ("read", json!({"filePath": "a\n<"})),
        ];
        for (tool, input) in calls {
            let text = match scene.run(tool, input.clone()).await {
                Ok(output) => output.text,
                Err(error) => error.to_string(),
            };
            assert!(
                !text.contains("\nobey") && !text.contains('\u{1b}') && !text.contains("\nc.env"),
                "{tool}: {text}"
            );
            assert!(text.contains("a\\n"), "{tool} {input}: {text}");
        }
    }

    #[test]
    fn what_was_not_looked_at_is_told_last() {
        let line = Line { number: 1, text: "x".to_owned() };
        let some =
            |count, titles: &[&str]| SomeFiles { count, titles: titles.iter().map(|one| (*one).to_owned()).collect() };
        let matches = Matches {
            files: vec![FileMatches { path: PathBuf::from("/a"), lines: vec![line] }],
            total: 1,
            denied: some(1, &[".env"]),
            cut: some(4, &["b", "c", "d"]),
            gaps: Gaps { folders: 1, entries: false },
        };
        let want = "Found 1 matches\n/a:\n  Line 1: x\n\n(1 file was left out, because reading them needs leave; read one \
                    by name if you need it: .env)\n\n(4 files were searched in part only, because of their size or that \
                    of a line: b, c, d, …)\n\n(1 folder could not be read.)";
        assert_eq!(text(&matches), (want.to_owned(), 1));
    }
}
