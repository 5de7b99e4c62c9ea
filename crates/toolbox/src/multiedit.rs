//! `multiedit`: several edits of one file at once, for models that know it under this name. The work is that of `edit`.

use std::borrow::Cow;

use haft_project::Files;
use haft_tool::{Call, Output, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::edit::{One, change_file};
use crate::format::After;

pub(crate) struct MultiEdit {
    files: Files,
    after: After,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Input {
    /// The file.
    file_path: String,
    /// Made in this order: all or none.
    edits: Vec<One>,
}

impl MultiEdit {
    pub(crate) fn new(files: &Files, after: &After) -> Self {
        Self { files: files.clone(), after: after.clone() }
    }
}

impl Tool for MultiEdit {
    const NAME: &'static str = "multiedit";
    const PERMISSION: &'static str = "edit";
    const OFFERED: bool = false;
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        include_str!("multiedit.md").into()
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        let edits = input.edits.into_iter().map(Into::into).collect();
        change_file(&self.files, &self.after, call, &input.file_path, edits).await
    }
}

#[cfg(test)]
mod tests {
    use haft_permission::Action;
    use serde_json::json;

    use crate::scene::Scene;

    #[tokio::test]
    async fn it_does_what_edit_does_under_its_permission() {
        let scene = Scene::new();
        scene.put("a", "one\ntwo\n");
        let edits = json!([
            { "oldString": "one", "newString": "1" },
            { "oldString": "1\ntwo", "newString": "1\n2" },
        ]);
        let output = scene.run("multiedit", json!({ "filePath": "a", "edits": edits })).await.unwrap();
        assert_eq!(scene.get("a"), "1\n2\n");
        assert_eq!(output.title, "a");
        assert_eq!((scene.asked("edit").len(), scene.asked("multiedit").len()), (1, 0));
        let closed = Scene::with_rules(&[("*", "*", Action::Allow), ("edit", "*", Action::Deny)]);
        closed.put("a", "one\ntwo\n");
        let error = closed.run("multiedit", json!({ "filePath": "a", "edits": edits })).await.unwrap_err();
        assert_eq!(error.kind(), "denied");
        assert_eq!(closed.registry.find("multiedit"), Ok("multiedit"));
    }

    #[tokio::test]
    async fn without_edits_there_is_nothing_to_do() {
        let scene = Scene::new();
        scene.put("a", "one");
        scene.fails("multiedit", json!({ "filePath": "a", "edits": [] }), "edits is empty").await;
    }
}
