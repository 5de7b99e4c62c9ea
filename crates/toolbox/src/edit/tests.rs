//! The tool on a temporary project.

use haft_permission::Action;

use super::transaction::MAX_FILE;
use crate::scene::Scene;
use serde_json::json;

fn args(path: &str, old: &str, new: &str) -> serde_json::Value {
    json!({"filePath": path, "oldString": old, "newString": new})
}

#[tokio::test]
async fn the_only_place_is_replaced_and_the_change_is_shown() {
    let scene = Scene::new();
    scene.put("src/a.rs", "fn a() {\n    one\n}\n");
    let output = scene.run("edit", args("src/a.rs", "one", "two\n    three")).await.unwrap();
    assert_eq!(scene.get("src/a.rs"), "fn a() {\n    two\n    three\n}\n");
    assert_eq!(output.title, "src/a.rs");
    assert_eq!(output.text, format!("Edited {} (lines: +2 -1).", scene.path("src/a.rs")));
    let diff = output.metadata["diff"].as_str().unwrap();
    assert!(diff.ends_with("@@ -1,3 +1,4 @@\n fn a() {\n-    one\n+    two\n+    three\n }\n"), "{diff}");
    let file = &output.metadata["filediff"];
    assert_eq!((&file["additions"], &file["deletions"], &file["patch"]), (&json!(2), &json!(1), &json!(diff)));
    assert_eq!(file["file"], scene.path("src/a.rs"));
}

#[tokio::test]
async fn reading_is_asked_before_editing() {
    let scene = Scene::new();
    scene.put("a", "x");
    scene.run("edit", args("a", "x", "y")).await.unwrap();
    let asked: Vec<_> = scene.bench.asked().into_iter().map(|access| access.permission).collect();
    assert_eq!(asked, ["read", "edit"]);
    assert!(scene.asked("edit")[0].metadata["diff"].as_str().unwrap().contains("-x"));
}

#[tokio::test]
async fn a_file_that_may_not_be_read_is_not_quoted() {
    let scene = Scene::with_rules(&[("*", "*", Action::Allow), ("read", "*.env", Action::Deny)]);
    scene.put(".env", "KEY=secret\n");
    let error = scene.run("edit", args(".env", "key=SECRET", "x")).await.unwrap_err();
    assert_eq!(error.kind(), "denied");
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[tokio::test]
async fn without_leave_to_edit_nothing_changes() {
    let scene = Scene::with_rules(&[("*", "*", Action::Allow), ("edit", "*", Action::Deny)]);
    scene.put("a", "x");
    assert_eq!(scene.run("edit", args("a", "x", "y")).await.unwrap_err().kind(), "denied");
    assert_eq!(scene.run("edit", args("new", "", "y")).await.unwrap_err().kind(), "denied");
    assert_eq!(scene.get("a"), "x");
}

#[tokio::test]
async fn line_ends_and_mark_stay_as_they_are() {
    let scene = Scene::new();
    scene.put("crlf", "\u{feff}one\r\ntwo\r\nthree\r\n");
    let output = scene.run("edit", args("crlf", "one\ntwo", "1\n2\n2b")).await.unwrap();
    assert_eq!(scene.get("crlf"), "\u{feff}1\r\n2\r\n2b\r\nthree\r\n");
    assert!(!output.metadata["diff"].as_str().unwrap().contains('\r'));
    scene.put("lf", "one\ntwo\n");
    scene.run("edit", args("lf", "one\r\ntwo", "1\r\n2")).await.unwrap();
    assert_eq!(scene.get("lf"), "1\n2\n");
}

#[tokio::test]
async fn every_place_with_replace_all() {
    let scene = Scene::new();
    scene.put("a", "x x\nx");
    scene.fails("edit", args("a", "x", "y"), "contains oldString in 3 places, on lines 1, 1, 2. Take in lines").await;
    let input = json!({"filePath": "a", "oldString": "x", "newString": "$&", "replaceAll": "true"});
    let output = scene.run("edit", input).await.unwrap();
    assert_eq!(scene.get("a"), "$& $&\n$&");
    assert!(output.text.contains("in 3 places"), "{}", output.text);
}

#[tokio::test]
async fn an_empty_old_text_makes_a_file_and_nothing_else() {
    let scene = Scene::new();
    let output = scene.run("edit", args("new/a", "", "text\n")).await.unwrap();
    assert_eq!(scene.get("new/a"), "text\n");
    assert_eq!(output.text, format!("Created {} (1 line).", scene.path("new/a")));
    scene.fails("edit", args("new/a", "", "other"), "exists, so oldString cannot be empty").await;
    scene.put("empty", "");
    scene.fails("edit", args("empty", "", "other"), "exists, so oldString cannot be empty").await;
    scene.fails("edit", args("src", "", "other"), "exists, so oldString cannot be empty").await;
    assert_eq!(scene.get("new/a"), "text\n");
}

#[tokio::test]
async fn what_cannot_work_is_refused_with_the_next_step() {
    let scene = Scene::new();
    scene.put("a", "  if x {\n");
    std::fs::write(scene.path("latin1"), b"caf\xe9\0").unwrap();
    scene.fails("edit", args("a", "same", "same"), "nothing to change").await;
    scene.fails("edit", args("", "a", "b"), "filePath is empty").await;
    scene.fails("edit", args("none", "a", "b"), "does not exist. Look for the right path").await;
    scene.put("src/note.md", "a");
    let meant = format!("Did you mean one of these?\n{}", scene.path("src/note.md"));
    for near in ["src/note", "note.md"] {
        scene.fails("edit", args(near, "a", "b"), &meant).await;
    }
    scene.fails("edit", args("src", "a", "b"), "is a folder, not a file").await;
    scene.fails("edit", args("latin1", "caf", "b"), "is no text, or in no encoding that").await;
    scene.fails("edit", args("a", "IF x {", "b"), "Line 1 differs from it only in upper and lower case").await;
    std::fs::File::create(scene.path("huge")).unwrap().set_len(MAX_FILE + 1).unwrap();
    scene.fails("edit", args("huge", "a", "b"), "edit takes files of up to 16777216").await;
}

#[tokio::test]
async fn edits_of_one_file_at_the_same_time_all_arrive() {
    let scene = Scene::new();
    let names: Vec<String> = (0..20).map(|number| format!("<{number}>")).collect();
    scene.put("a", &names.concat());
    let edits = names.iter().map(|name| scene.run("edit", args("a", name, &name.replace('<', "["))));
    for result in futures::future::join_all(edits).await {
        result.unwrap();
    }
    assert_eq!(scene.get("a"), names.concat().replace('<', "["));
}

#[tokio::test]
async fn a_link_is_edited_where_it_leads() {
    let scene = Scene::new();
    scene.put("real", "x");
    std::os::unix::fs::symlink("real", scene.path("link")).unwrap();
    scene.run("edit", args("link", "x", "y")).await.unwrap();
    assert_eq!(scene.get("real"), "y");
    assert_eq!(scene.asked("edit")[0].patterns, ["real"]);
}

#[tokio::test]
async fn outside_the_project_the_folder_is_asked_for_first() {
    let scene = Scene::with_rules(&[("*", "*", Action::Allow), ("external_directory", "*", Action::Deny)]);
    scene.put("../outside/a", "x");
    assert_eq!(scene.run("edit", args("../outside/a", "x", "y")).await.unwrap_err().kind(), "denied");
    assert!(scene.asked("read").is_empty() && scene.asked("edit").is_empty());
    let scene = Scene::new();
    scene.put("../outside/a", "x");
    scene.run("edit", args("../outside/a", "x", "y")).await.unwrap();
    assert_eq!(scene.get("../outside/a"), "y");
    assert_eq!(scene.asked("external_directory")[0].patterns, [scene.path("../outside/*")]);
}

fn several(path: &str, edits: serde_json::Value) -> serde_json::Value {
    json!({"filePath": path, "edits": edits})
}

#[tokio::test]
async fn several_edits_are_one_change() {
    let scene = Scene::new();
    scene.put("a", "one\ntwo\nthree\n");
    let edits = json!([
        {"oldString": "one", "newString": "1"},
        {"oldString": "1\n  two", "newString": "1\n  2"},
        {"oldString": "e", "newString": "E", "replaceAll": true},
    ]);
    let output = scene.run("edit", several("a", edits)).await.unwrap();
    assert_eq!(scene.get("a"), "1\n2\nthrEE\n");
    assert_eq!((scene.asked("read").len(), scene.asked("edit").len()), (1, 1));
    let diff = scene.asked("edit")[0].metadata["diff"].as_str().unwrap().to_owned();
    assert_eq!(output.metadata["diff"], diff);
    assert!(diff.ends_with("-one\n-two\n-three\n+1\n+2\n+thrEE\n"), "{diff}");
    assert!(
        output.text.contains("in 4 places (lines: +3 -3). oldString was not exact (indentation)"),
        "{}",
        output.text
    );
}

#[tokio::test]
async fn one_edit_that_fails_undoes_the_others() {
    let scene = Scene::new();
    scene.put("a", "one\ntwo\n");
    let edits = json!([{"oldString": "one", "newString": "1"}, {"oldString": "one", "newString": "2"}]);
    scene.fails("edit", several("a", edits), "edit 2 of 2 cannot be made after those before it, so none was").await;
    let same = json!([{"oldString": "one", "newString": "1"}, {"oldString": "x", "newString": "x"}]);
    scene.fails("edit", several("a", same), "edit 2 of 2: oldString and newString are the same").await;
    assert_eq!(scene.get("a"), "one\ntwo\n");
    assert!(scene.asked("edit").is_empty());
}

#[tokio::test]
async fn a_new_file_can_be_edited_at_once() {
    let scene = Scene::new();
    let edits = json!([{"oldString": "", "newString": "one\ntwo\n"}, {"oldString": "two", "newString": "2"}]);
    scene.run("edit", several("new", edits)).await.unwrap();
    assert_eq!(scene.get("new"), "one\n2\n");
    let edits = json!([{"oldString": "", "newString": "x"}, {"oldString": "y", "newString": "2"}]);
    scene.fails("edit", several("other", edits), "edit 2 of 2").await;
    assert!(!std::path::Path::new(&scene.path("other")).exists());
}

#[tokio::test]
async fn it_is_one_edit_or_a_list() {
    let scene = Scene::new();
    scene.put("a", "one");
    let list = json!([{"oldString": "one", "newString": "1"}]);
    let both = json!({"filePath": "a", "oldString": "one", "newString": "2", "edits": list});
    scene.fails("edit", both, "either oldString and newString, or edits").await;
    scene.fails("edit", json!({"filePath": "a"}), "oldString is missing").await;
    scene.fails("edit", json!({"filePath": "a", "oldString": "one"}), "newString is missing").await;
    scene.fails("edit", several("a", json!([])), "edits is empty").await;
    // Some models fill in all there is.
    scene.run("edit", json!({"filePath": "a", "oldString": "", "newString": "", "edits": list})).await.unwrap();
    scene.run("edit", json!({"filePath": "a", "oldString": "1", "newString": "one", "edits": []})).await.unwrap();
    assert_eq!(scene.get("a"), "one");
}

#[tokio::test]
async fn the_rights_of_a_file_stay() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new();
    scene.put("run.sh", "echo one\n");
    std::fs::set_permissions(scene.path("run.sh"), std::fs::Permissions::from_mode(0o751)).unwrap();
    scene.run("edit", args("run.sh", "one", "two")).await.unwrap();
    let mode = std::fs::metadata(scene.path("run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o751);
}
