//! `glob`: files by name, those changed last first.

pub(crate) mod missing;

use std::borrow::Cow;
use std::path::PathBuf;

use haft_permission::{Access, Effect, Grant};
use haft_project::{Files, Find, Found, FoundFiles, Gaps, Names, Order, Target};
use haft_tool::{Call, Output, Small, TellModel, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::reach::reach;
use crate::text::on_one_line;

/// Most files in one answer.
const MAX_FILES: usize = 100;

pub(crate) struct Glob {
    files: Files,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// For example `**/*.ts` or `src/*.{rs,toml}`.
    pattern: String,
    /// The folder to look in; the project if left out.
    path: Option<String>,
}

impl Glob {
    pub(crate) fn new(files: &Files) -> Self {
        Self { files: files.clone() }
    }
}

impl Tool for Glob {
    const NAME: &'static str = "glob";
    const SMALL: Option<Small> =
        Some(Small { description: "Finds files by name, such as **/*.ts.", arguments: &["pattern", "path"] });
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        include_str!("glob.md").into()
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        let target = reach(&self.files, call, input.path.as_deref().unwrap_or_default()).await?;
        let mut access = Access::new("glob", input.pattern.as_str())
            .with(Effect::Read(target.path().to_owned()))
            .show("pattern", input.pattern.as_str());
        if let Some(path) = &input.path {
            access = access.show("path", path.as_str());
        }
        let grant = call.ask(missing::with_reading(access, &self.files, &target)).await?;

        let names = Names::new(target.path(), &input.pattern).tell_model()?;
        must_be_folder(&self.files, &grant, &target, "glob").await?;
        let find = Find { names: Some(names), left_out: Vec::new(), order: Order::Newest, max: MAX_FILES };
        let found = self.files.find(&grant, &target, find).await.tell_model()?;
        Ok(Output::new(target.title(), text(&input.pattern, &found))
            .meta("count", found.paths.len())
            .meta("total", found.total)
            .meta("truncated", found.total > found.paths.len()))
    }
}

/// Says what to do about a path that is no folder.
///
/// # Errors
///
/// [`ToolError::Failed`] for a file, or where nothing is.
pub(crate) async fn must_be_folder(files: &Files, grant: &Grant, target: &Target, tool: &str) -> Result<(), ToolError> {
    let path = target.path().display();
    Err(ToolError::Failed(match target.found() {
        Found::Folder => return Ok(()),
        Found::File => {
            format!("{tool} path must be a directory: {path} is a file. Name its folder, or read the file")
        }
        Found::Nothing => missing::told(files, grant, target).await,
    }))
}

fn text(pattern: &str, found: &FoundFiles) -> String {
    let mut text = match found.paths.as_slice() {
        [] if pattern.contains('[') => {
            // Names such as `[id]` are usual where files are routes.
            "No files found. [...] stands for one of the signs in it; for brackets in a name write \\[...\\]".to_owned()
        }
        [] => "No files found".to_owned(),
        paths => joined(paths),
    };
    let shown = found.paths.len();
    if found.total > shown {
        text.push_str(&format!(
            "\n\n(Results are truncated: showing first {shown} results of {}. Consider using a more specific path or \
             pattern.)",
            found.total
        ));
    }
    if let Some(note) = gaps(found.gaps) {
        text.push_str(&format!("\n\n{note}"));
    }
    text
}

fn joined(paths: &[PathBuf]) -> String {
    let line = |path: &PathBuf| on_one_line(&path.display().to_string()).into_owned();
    paths.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What was not looked at, in words.
pub(crate) fn gaps(gaps: Gaps) -> Option<String> {
    let folders = match gaps.folders {
        0 => None,
        1 => Some("1 folder could not be read".to_owned()),
        count => Some(format!("{count} folders could not be read")),
    };
    let entries =
        gaps.entries.then(|| "the search ended after a million entries; name a smaller folder for the rest".to_owned());
    let notes: Vec<String> = [folders, entries].into_iter().flatten().collect();
    (!notes.is_empty()).then(|| format!("({}.)", notes.join("; ")))
}

#[cfg(test)]
mod tests {
    use haft_permission::Action;
    use serde_json::json;

    use super::*;
    use crate::scene::Scene;

    #[tokio::test]
    async fn files_come_by_their_whole_paths_newest_first() {
        let scene = Scene::new();
        scene.put_aged(&["src/new.rs", ".hidden.rs", "old.rs", "other.txt"]);
        let output = scene.run("glob", json!({"pattern": "*.rs"})).await.unwrap();
        let want = ["src/new.rs", ".hidden.rs", "old.rs"].map(|name| scene.path(name)).join("\n");
        assert_eq!((output.title.as_str(), output.text), ("", want));
        assert_eq!(serde_json::Value::from(output.metadata), json!({"count": 3, "total": 3, "truncated": false}));
        let output = scene.run("glob", json!({"pattern": "*", "path": "src"})).await.unwrap();
        assert_eq!((output.title.as_str(), output.text), ("src", scene.path("src/new.rs")));
        let whole = scene.run("glob", json!({"pattern": scene.path("src/*.rs")})).await.unwrap();
        assert_eq!(whole.text, scene.path("src/new.rs"));
    }

    #[tokio::test]
    async fn no_more_than_a_hundred() {
        let scene = Scene::new();
        let put = |number: usize| scene.put(&format!("src/{number:03}"), "");
        (0..MAX_FILES).for_each(put);
        let output = scene.run("glob", json!({"pattern": "src/*"})).await.unwrap();
        assert_eq!((output.text.lines().count(), &output.metadata["truncated"]), (MAX_FILES, &json!(false)));
        put(MAX_FILES);
        let output = scene.run("glob", json!({"pattern": "src/*"})).await.unwrap();
        assert_eq!((&output.metadata["count"], &output.metadata["truncated"]), (&json!(MAX_FILES), &json!(true)));
        let note = "(Results are truncated: showing first 100 results of 101. Consider";
        assert!(output.text.contains(note), "{}", output.text);
    }

    #[tokio::test]
    async fn what_cannot_work_is_refused_with_the_next_step() {
        let scene = Scene::new();
        scene.put("a", "");
        scene.fails("glob", json!({"pattern": "*", "path": "a"}), "is a file. Name its folder").await;
        scene.fails("glob", json!({"pattern": "*", "path": "none"}), "does not exist. Leave path out").await;
        scene.fails("glob", json!({"pattern": "src/["}), "at character 5:\n  src/[\n      ^\n").await;
        scene.fails("glob", json!({"pattern": "../*"}), "Name another folder as path").await;
        assert_eq!(scene.run("glob", json!({"pattern": "*.zzz"})).await.unwrap().text, "No files found");
    }

    #[tokio::test]
    async fn what_may_have_been_meant_is_proposed() {
        let scene = Scene::new();
        for name in ["src/parser/lexer/a.rs", "src/parser/b.rs", "docs/c.md"] {
            scene.put_deep(name, "");
        }
        let proposed = |path: &str| format!("Did you mean one of these?\n{}", scene.path(path));
        for tool in ["glob", "grep", "list"] {
            let input = |path: &str| json!({"pattern": "x", "path": path});
            scene.fails(tool, input("src/parsre"), &proposed("src/parser")).await;
            scene.fails(tool, input("lexer"), &proposed("src/parser/lexer")).await;
            scene.fails(tool, input("lib/b.rs"), &proposed("src/parser/b.rs")).await;
            scene.fails(tool, input("no*where"), "does not exist. Leave path out").await;
            scene.fails(tool, input("../outsidr"), &proposed("../outside")).await;
        }
    }

    #[tokio::test]
    async fn brackets_that_find_nothing_are_explained() {
        let scene = Scene::new();
        scene.put_deep("app/[id]/page.ts", "");
        let output = scene.run("glob", json!({"pattern": "app/[id]/*.ts"})).await.unwrap();
        assert!(output.text.ends_with(r"for brackets in a name write \[...\]"), "{}", output.text);
        let output = scene.run("glob", json!({"pattern": r"app/\[id\]/*.ts"})).await.unwrap();
        assert_eq!(output.text, scene.path("app/[id]/page.ts"));
    }

    #[tokio::test]
    async fn leave_is_asked_for_the_pattern_and_outside_for_the_folder() {
        let scene = Scene::with_rules(&[("*", "*", Action::Allow), ("glob", "*.key", Action::Deny)]);
        assert_eq!(scene.run("glob", json!({"pattern": "*.key"})).await.unwrap_err().kind(), "denied");
        scene.put("../outside/a", "");
        let output = scene.run("glob", json!({"pattern": "*", "path": "../outside"})).await.unwrap();
        assert_eq!((output.title.as_str(), output.text), ("../outside", scene.path("../outside/a")));
        assert_eq!(scene.asked("external_directory")[0].patterns, [scene.path("../outside/*")]);
        let asked = &scene.asked("glob")[1];
        assert_eq!((asked.patterns.as_slice(), asked.always.as_slice()), (&["*".into()][..], &["*".into()][..]));
        let shown = serde_json::Value::from(asked.metadata.clone());
        assert_eq!(shown, json!({"pattern": "*", "path": "../outside"}));
    }

    #[test]
    fn gaps_are_told_in_words() {
        let row = |folders, entries, want: Option<&str>| {
            assert_eq!(gaps(Gaps { folders, entries }).as_deref(), want);
        };
        row(0, false, None);
        row(1, false, Some("(1 folder could not be read.)"));
        row(
            2,
            true,
            Some(
                "(2 folders could not be read; the search ended after a million entries; name a smaller folder for \
                 the rest.)",
            ),
        );
    }
}
