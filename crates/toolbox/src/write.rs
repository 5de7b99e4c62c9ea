//! `write`: a whole file, new or replaced.

use std::borrow::Cow;

use haft_permission::{Access, Effect};
use haft_project::{Files, FilesError, IfExists, Stamp, Target};
use haft_protocol::FileChange;
use haft_tool::{Call, Output, Small, TellModel, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::diff::Diff;
use crate::format::{After, Written};
use crate::reach::reach_file;
use crate::seen::{saw, unchanged};
use crate::suits::patches;
use crate::text::{Text, count_lines};

/// Largest old content, in bytes, that is held against the new one. A larger file is replaced without a look
/// into it.
const MAX_OLD: u64 = 16 * 1024 * 1024;

pub(crate) struct Write {
    files: Files,
    after: After,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Input {
    /// The file.
    file_path: String,
    /// All that it shall hold.
    content: String,
}

/// What is at the path before.
enum Old {
    Nothing,
    File {
        bytes: Vec<u8>,
        text: Text,
    },
    /// Too much to look at; how it is.
    Huge(Stamp),
}

impl Write {
    pub(crate) fn new(files: &Files, after: &After) -> Self {
        Self { files: files.clone(), after: after.clone() }
    }

    /// The old content, for a person to compare. The model does not see it.
    async fn old(&self, call: &Call, target: &Target) -> Result<Old, ToolError> {
        let own = call.ask(Access::internal(vec![Effect::Read(target.path().to_owned())])).await?;
        let (old, stamp) = match self.files.read_stamped(&own, target, MAX_OLD).await {
            Ok((bytes, stamp)) => {
                let (bytes, text) = Text::read_beside(bytes).await;
                // What is no text has no encoding to keep.
                let text = text.unwrap_or_else(|| Text::new(&String::from_utf8_lossy(&bytes)));
                (Old::File { bytes, text }, stamp)
            }
            Err(FilesError::Missing { .. }) => return Ok(Old::Nothing),
            Err(FilesError::TooBig { .. }) => {
                let stamp = self.files.stamp(&own, target).await.tell_model()?;
                (Old::Huge(stamp), stamp)
            }
            Err(error) => return Err(error).tell_model(),
        };
        unchanged(call, target, stamp)?;
        Ok(old)
    }
}

impl Tool for Write {
    const NAME: &'static str = "write";
    const PERMISSION: &'static str = "edit";
    const SMALL: Option<Small> = Some(Small {
        description: "Writes a whole file, new or replaced. To change a part of one use edit.",
        arguments: &["filePath", "content"],
    });
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        include_str!("write.md").into()
    }

    fn suits(&self, model: &str) -> bool {
        !patches(model)
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        let target = reach_file(&self.files, call, &input.file_path).await?;
        let _turn = self.files.lock(&target).await;
        let old = self.old(call, &target).await?;

        let path = target.path().display().to_string();
        let exists = !matches!(old, Old::Nothing);
        let new = like(&old, &input.content);
        // What cannot be written is not asked for.
        let bytes = new.bytes().tell_model()?;
        let access = Access::new("edit", target.title())
            .with(Effect::Write(target.path().to_owned()))
            .show("filepath", path.as_str())
            .show("diff", diff(&path, &old, &new.text).await);
        let grant = call.ask(access).await?;
        let if_exists = match old {
            Old::Nothing => IfExists::Fail,
            Old::File { bytes, .. } => IfExists::ReplaceOnly(bytes),
            Old::Huge(stamp) => IfExists::ReplaceStamped(stamp),
        };
        let kept = if self.after.may_tidy(target.path()) { bytes.clone() } else { Vec::new() };
        let stamp = self.files.write(&grant, &target, bytes, if_exists).await.tell_model()?;
        let written = Written { target: target.clone(), bytes: kept, stamp };
        let left = self.after.tidied(call, &grant, vec![written]).await.pop();
        saw(call, &target, left.as_ref().map_or(stamp, |left| left.stamp));
        self.after.tell(target.path(), if exists { FileChange::Change } else { FileChange::Add });
        let tidied = left.as_ref().and_then(|left| left.bytes.as_deref()).and_then(Text::read);
        let lines = tidied.as_ref().unwrap_or(&new).text.lines().count();
        let said = said(&path, exists, lines) + &left.map(|left| left.words()).unwrap_or_default();

        Ok(Output::new(target.title(), said)
            .meta("diagnostics", json!({}))
            .meta("filepath", path)
            .meta("exists", exists)
            .meta("truncated", false))
    }
}

/// The new text, encoded as the old one was; a byte order mark stays where one was.
fn like(old: &Old, content: &str) -> Text {
    match old {
        Old::Nothing | Old::Huge(_) => Text::new(content),
        Old::File { text, .. } => text.with(content),
    }
}

async fn diff(path: &str, old: &Old, new: &str) -> String {
    match old {
        Old::Nothing => Diff::between(path, "", new).await.patch,
        Old::File { text, .. } => Diff::between(path, &text.text, new).await.patch,
        Old::Huge(Stamp { size, .. }) => {
            format!("{}(the old file of {size} bytes was not compared)\n", Diff::new(path, "", "").patch)
        }
    }
}

fn said(path: &str, exists: bool, lines: usize) -> String {
    let done = if exists { "Overwrote" } else { "Created" };
    format!("{done} {path} ({}).", count_lines(lines))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use haft_permission::Action;
    use serde_json::json;

    use crate::scene::Scene;

    #[tokio::test]
    async fn a_new_file_with_its_folders() {
        let scene = Scene::new();
        let output = scene.run("write", json!({"filePath": "new/deep/a.txt", "content": "hello\n"})).await.unwrap();
        assert_eq!(output.title, "new/deep/a.txt");
        assert_eq!(output.text, format!("Created {} (1 line).", scene.path("new/deep/a.txt")));
        assert_eq!(output.metadata["exists"], false);
        assert_eq!(scene.get("new/deep/a.txt"), "hello\n");
    }

    #[tokio::test]
    async fn an_old_file_is_replaced_and_keeps_its_mark_and_mode() {
        let scene = Scene::new();
        scene.put("a", "\u{feff}old\r\n");
        std::fs::set_permissions(scene.path("a"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let output = scene.run("write", json!({"filePath": "a", "content": "x\ny\n"})).await.unwrap();
        assert_eq!(output.text, format!("Overwrote {} (2 lines).", scene.path("a")));
        assert_eq!(output.metadata["exists"], true);
        assert_eq!(scene.get("a"), "\u{feff}x\ny\n");
        assert_eq!(std::fs::metadata(scene.path("a")).unwrap().permissions().mode() & 0o777, 0o755);
    }

    #[tokio::test]
    async fn an_old_file_keeps_its_encoding() {
        let scene = Scene::new();
        let utf_16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        std::fs::write(scene.path("16"), utf_16("\u{feff}grün\r\n")).unwrap();
        scene.run("write", json!({"filePath": "16", "content": "blau → 漢\n"})).await.unwrap();
        assert_eq!(std::fs::read(scene.path("16")).unwrap(), utf_16("\u{feff}blau → 漢\n"));
        let diff = scene.asked("edit")[0].metadata["diff"].as_str().unwrap().to_owned();
        assert!(diff.ends_with("-grün\r\n+blau → 漢\n"), "{diff}");

        let old = b"gr\xfcn und bl\xe4ulich\n";
        std::fs::write(scene.path("latin"), old).unwrap();
        scene.run("write", json!({"filePath": "latin", "content": "größer\n"})).await.unwrap();
        assert_eq!(std::fs::read(scene.path("latin")).unwrap(), b"gr\xf6\xdfer\n");
        // What it cannot hold is refused before anybody is asked.
        let asked = scene.asked("edit").len();
        scene.fails("write", json!({"filePath": "latin", "content": "漢"}), "which has no sign for '漢'").await;
        assert_eq!(scene.asked("edit").len(), asked);
        assert_eq!(std::fs::read(scene.path("latin")).unwrap(), b"gr\xf6\xdfer\n");
    }

    #[tokio::test]
    async fn the_one_who_is_asked_sees_the_difference() {
        let scene = Scene::new();
        scene.put("a", "old\n");
        scene.run("write", json!({"filePath": "a", "content": "new\n"})).await.unwrap();
        let asked = scene.asked("edit");
        assert_eq!((asked[0].patterns.as_slice(), asked[0].always.as_slice()), (&["a".into()][..], &["*".into()][..]));
        assert_eq!(asked[0].metadata["filepath"], scene.path("a"));
        let diff = asked[0].metadata["diff"].as_str().unwrap();
        assert!(diff.ends_with("@@ -1,1 +1,1 @@\n-old\n+new\n"), "{diff}");
    }

    #[tokio::test]
    async fn without_leave_nothing_is_written() {
        let scene = Scene::with_rules(&[("*", "*", Action::Allow), ("edit", "*.lock", Action::Deny)]);
        let error = scene.run("write", json!({"filePath": "new/a.lock", "content": ""})).await.unwrap_err();
        assert_eq!(error.kind(), "denied");
        assert!(!std::path::Path::new(&scene.path("new")).exists());
    }

    #[tokio::test]
    async fn outside_the_project_the_folder_is_asked_for_first() {
        let scene = Scene::with_rules(&[("*", "*", Action::Allow), ("external_directory", "*", Action::Deny)]);
        symlink("../outside", scene.path("link")).unwrap();
        for path in ["../outside/w", "link/w", "src/../../outside/w"] {
            let error = scene.run("write", json!({"filePath": path, "content": ""})).await.unwrap_err();
            assert_eq!(error.kind(), "denied", "{path}");
        }
        let asked = scene.asked("external_directory");
        assert_eq!(asked[0].patterns, [scene.path("../outside/*")]);
        assert_eq!(asked[0].always, asked[0].patterns);
        assert!(scene.asked("edit").is_empty());
    }

    #[tokio::test]
    async fn names_are_no_patterns() {
        let scene = Scene::with_rules(&[
            ("*", "*", Action::Allow),
            ("external_directory", "*", Action::Ask),
            ("external_directory", "/data/output/*", Action::Allow),
            ("edit", "*", Action::Deny),
            ("edit", "src/*", Action::Allow),
        ]);
        symlink("..", scene.path("src/up")).unwrap();
        for path in [
            "*",
            "?",
            "**",
            "src*/x",
            "s?c/x",
            "SRC/x",
            " src/x",
            "./*",
            "src",
            "src/../x",
            "src/up/x",
            "../*/x",
            "/*/x",
            "/data/*/x",
            "/data/output*",
            "/data/output/../x",
            "//data//outputs/x",
            "/data/output\u{0}/x",
        ] {
            let error = scene.run("write", json!({"filePath": path, "content": ""})).await.expect_err(path);
            assert!(["denied", "failed"].contains(&error.kind()), "{path}: {error}");
            assert!(error.kind() == "denied" || ["src", "/data/output\u{0}/x"].contains(&path), "{path}: {error}");
        }
        for path in ["src/*", "src/a\nb", "src/-x", "src/../src/\u{1b}[31m", "src/up/src/y"] {
            scene.run("write", json!({"filePath": path, "content": ""})).await.expect(path);
        }
        assert!(scene.asked("external_directory").iter().all(|access| access.patterns.len() == 1));
    }

    #[tokio::test]
    async fn what_is_no_file_is_refused() {
        let scene = Scene::new();
        scene.put("a", "");
        scene.fails("write", json!({"filePath": "", "content": ""}), "filePath is empty").await;
        scene.fails("write", json!({"filePath": "src", "content": ""}), "is a folder, not a file").await;
        scene.fails("write", json!({"filePath": "a/b", "content": ""}), "is a file, not a folder").await;
        scene.fails("write", json!({"filePath": "/dev/null", "content": ""}), "only plain files").await;
    }

    #[tokio::test]
    async fn a_file_that_is_no_text_can_be_replaced() {
        let scene = Scene::new();
        std::fs::write(scene.path("a"), b"\xff\0\xfe").unwrap();
        scene.run("write", json!({"filePath": "a", "content": "text"})).await.unwrap();
        assert_eq!(scene.get("a"), "text");
    }

    #[tokio::test]
    async fn a_huge_old_file_is_replaced_without_a_look() {
        let scene = Scene::new();
        std::fs::File::create(scene.path("a")).unwrap().set_len(1 << 40).unwrap();
        scene.run("write", json!({"filePath": "a", "content": "text"})).await.unwrap();
        let diff = scene.asked("edit")[0].metadata["diff"].as_str().unwrap().to_owned();
        assert!(diff.ends_with("(the old file of 1099511627776 bytes was not compared)\n"), "{diff}");
        assert_eq!(scene.get("a"), "text");
    }
}
