//! `list`: the files below a folder, as a tree.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use haft_permission::{Access, Effect};
use haft_project::{Files, Find, FoundFiles, Order};
use haft_tool::{Call, Output, TellModel, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::glob::{gaps, missing, must_be_folder};
use crate::reach::reach;
use crate::text::on_one_line;

/// Most files in one answer.
const MAX_FILES: usize = 100;
/// Most patterns of the caller's own.
const MAX_IGNORE: usize = 100;

/// Folders of what programs make: nobody wants to see them in an overview, ignored by the project or not.
const LEFT_OUT: [&str; 23] = [
    "node_modules/",
    "__pycache__/",
    ".git/",
    "dist/",
    "build/",
    "target/",
    "vendor/",
    "bin/",
    "obj/",
    ".idea/",
    ".vscode/",
    ".zig-cache/",
    "zig-out/",
    ".coverage",
    "coverage/",
    "tmp/",
    "temp/",
    ".cache/",
    "cache/",
    "logs/",
    ".venv/",
    "venv/",
    "env/",
];

pub(crate) struct List {
    files: Files,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The folder; the project if left out.
    path: Option<String>,
    /// Patterns of what else to leave out.
    ignore: Option<Vec<String>>,
}

impl List {
    pub(crate) fn new(files: &Files) -> Self {
        Self { files: files.clone() }
    }
}

impl Tool for List {
    const NAME: &'static str = "list";
    const ALIASES: &'static [&'static str] = &["ls"];
    const OFFERED: bool = false;
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        include_str!("list.md").into()
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        let own = input.ignore.unwrap_or_default();
        if own.len() > MAX_IGNORE {
            let count = own.len();
            return Err(ToolError::BadInput(format!("ignore has {count} patterns, more than {MAX_IGNORE}")));
        }
        let target = reach(&self.files, call, input.path.as_deref().unwrap_or_default()).await?;
        let path = target.path().display().to_string();
        let access =
            Access::new("list", path.as_str()).with(Effect::Read(target.path().to_owned())).show("path", path.as_str());
        let grant = call.ask(missing::with_reading(access, &self.files, &target)).await?;

        must_be_folder(&self.files, &grant, &target, "list").await?;
        let left_out = LEFT_OUT.iter().map(|one| (*one).to_owned()).chain(own).collect();
        let find = Find { names: None, left_out, order: Order::Shallowest, max: MAX_FILES };
        let found = self.files.find(&grant, &target, find).await.tell_model()?;
        Ok(Output::new(target.title(), text(target.path(), &found))
            .meta("count", found.paths.len())
            .meta("truncated", found.total > found.paths.len()))
    }
}

fn text(root: &Path, found: &FoundFiles) -> String {
    let mut tree = Folder::default();
    for path in &found.paths {
        let below = path.strip_prefix(root).unwrap_or(path);
        tree.put(below.components().map(|name| name.as_os_str().to_string_lossy().into_owned()));
    }
    let mut text = format!("{}/", root.display().to_string().trim_end_matches('/'));
    tree.draw(1, &mut text);
    let shown = found.paths.len();
    if shown < found.total {
        text.push_str(&format!(
            "\n\n(Showing {shown} of {} files, those in the fewest folders. List a folder for more of it.)",
            found.total
        ));
    }
    if let Some(note) = gaps(found.gaps) {
        text.push_str(&format!("\n\n{note}"));
    }
    text
}

#[derive(Default)]
struct Folder {
    folders: BTreeMap<String, Folder>,
    files: Vec<String>,
}

impl Folder {
    /// Puts in the file that `names` lead to.
    fn put(&mut self, names: impl Iterator<Item = String>) {
        let mut names = names.peekable();
        let mut folder = self;
        while let Some(name) = names.next() {
            if names.peek().is_none() {
                folder.files.push(name);
                return;
            }
            folder = folder.folders.entry(name).or_default();
        }
    }

    /// Folders first, then files, each line `depth` steps to the right.
    fn draw(&self, depth: usize, text: &mut String) {
        let indent = "  ".repeat(depth);
        for (name, folder) in &self.folders {
            text.push_str(&format!("\n{indent}{}/", on_one_line(name)));
            folder.draw(depth + 1, text);
        }
        for name in &self.files {
            text.push_str(&format!("\n{indent}{}", on_one_line(name)));
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_permission::Action;
    use serde_json::json;

    use super::*;
    use crate::scene::Scene;

    #[tokio::test]
    async fn a_folder_is_a_tree() {
        let scene = Scene::new();
        for name in ["b.md", "a.md", "src/x.rs", "src/deep/y.rs", ".hidden/z", "node_modules/n", "sub/target/t"] {
            scene.put_deep(name, "");
        }
        let output = scene.run("list", json!({})).await.unwrap();
        let tree = "/\n  .hidden/\n    z\n  src/\n    deep/\n      y.rs\n    x.rs\n  a.md\n  b.md";
        assert_eq!(
            (output.title.as_str(), output.text),
            ("", format!("{}{tree}", scene.path("").trim_end_matches('/')))
        );
        assert_eq!(serde_json::Value::from(output.metadata), json!({"count": 5, "truncated": false}));
        let output = scene.run("list", json!({"path": "src", "ignore": ["deep/"]})).await.unwrap();
        assert_eq!((output.title.as_str(), output.text), ("src", format!("{}/\n  x.rs", scene.path("src"))));
    }

    #[tokio::test]
    async fn of_many_files_those_in_the_fewest_folders_are_shown() {
        let scene = Scene::new();
        for number in 0..MAX_FILES {
            scene.put_deep(&format!("a/b/{number:03}"), "");
        }
        scene.put("z", "");
        let output = scene.run("list", json!({})).await.unwrap();
        assert!(output.text.ends_with(
            "      098\n  z\n\n(Showing 100 of 101 files, those in the fewest folders. List a folder for more of it.)"
        ));
        assert_eq!((&output.metadata["count"], &output.metadata["truncated"]), (&json!(100), &json!(true)));
    }

    #[tokio::test]
    async fn what_cannot_work_is_refused_with_the_next_step() {
        let scene = Scene::new();
        scene.put("a", "");
        scene.fails("list", json!({"path": "a"}), "is a file. Name its folder").await;
        scene.fails("list", json!({"path": "none"}), "does not exist. Leave path out").await;
        scene.fails("list", json!({"ignore": ["{a"]}), "is no pattern").await;
        scene.fails("list", json!({"ignore": vec!["a"; MAX_IGNORE + 1]}), "ignore has 101 patterns").await;
        scene.run("list", json!({"ignore": vec!["a"; MAX_IGNORE]})).await.unwrap();
    }

    #[tokio::test]
    async fn it_has_another_name_and_is_not_offered() {
        let scene = Scene::new();
        assert_eq!(scene.registry.find("ls"), Ok("list"));
        assert!(scene.registry.specs().iter().all(|spec| spec.name != "list"));
        let denied = Scene::with_rules(&[("*", "*", Action::Allow), ("list", "*", Action::Deny)]);
        assert_eq!(denied.run("list", json!({})).await.unwrap_err().kind(), "denied");
    }
}
