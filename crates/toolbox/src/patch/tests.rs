//! The tool on a temporary project.

use std::os::unix::fs::{PermissionsExt, symlink};

use haft_permission::Action;
use serde_json::Value;

use super::*;
use crate::scene::Scene;

fn args(body: &str) -> Value {
    json!({ "patchText": format!("*** Begin Patch\n{body}\n*** End Patch") })
}

async fn patch(scene: &Scene, body: &str) -> Output {
    scene.run("apply_patch", args(body)).await.unwrap()
}

/// It fails so, and nothing has changed.
async fn fails(scene: &Scene, body: &str, want: &str) {
    let before = all(scene);
    scene.fails("apply_patch", args(body), want).await;
    assert_eq!(all(scene), before, "{body}");
}

/// Every file and folder of the project and what it holds.
fn all(scene: &Scene) -> Vec<(String, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut folders = vec![std::path::PathBuf::from(scene.path(""))];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            found.push((path.display().to_string(), std::fs::read(&path).ok()));
            if path.symlink_metadata().unwrap().is_dir() {
                folders.push(path);
            }
        }
    }
    found.sort();
    found
}

fn there(scene: &Scene, name: &str) -> bool {
    std::path::Path::new(&scene.path(name)).exists()
}

#[tokio::test]
async fn the_patch_is_known_by_its_other_names() {
    let scene = Scene::new();
    for name in ["input", "patch"] {
        let text = format!("*** Begin Patch\n*** Add File: {name}\n+x\n*** End Patch");
        scene.run("apply_patch", json!({ name: text })).await.unwrap();
        assert_eq!(scene.get(name), "x\n");
    }
}

#[tokio::test]
async fn several_files_change_together_and_each_is_shown() {
    let scene = Scene::new();
    scene.put("src/a.rs", "fn a() {\n    one\n}\n");
    scene.put("old", "x\ny\n");
    scene.put("here", "h\n");
    let output = patch(
        &scene,
        "*** Update File: src/a.rs\n@@ fn a() {\n-    one\n+    two\n*** Add File: new/b\n+b\n*** Delete File: old\n*** Update File: here\n*** Move to: there/h\n@@\n-h\n+H",
    )
    .await;
    assert_eq!(scene.get("src/a.rs"), "fn a() {\n    two\n}\n");
    assert_eq!((scene.get("new/b"), scene.get("there/h")), ("b\n".to_owned(), "H\n".to_owned()));
    assert!(!there(&scene, "old") && !there(&scene, "here"));
    assert_eq!(output.title, "src/a.rs, new/b, old and 1 more");
    assert_eq!(output.text, "Applied the patch to these files:\nM src/a.rs\nA new/b\nD old\nM there/h (from here)");
    let files = output.metadata["files"].as_array().unwrap();
    let entry = |at: usize| {
        let keys = ["type", "filePath", "relativePath", "additions", "deletions"];
        keys.map(|key| files[at][key].to_string().replace(&scene.path(""), "~/")).join(" ")
    };
    assert_eq!(entry(0), r#""update" "~/src/a.rs" "src/a.rs" 1 1"#);
    assert_eq!(entry(1), r#""add" "~/new/b" "new/b" 1 0"#);
    assert_eq!(entry(2), r#""delete" "~/old" "old" 0 2"#);
    assert_eq!(entry(3), r#""move" "~/here" "there/h" 1 1"#);
    assert_eq!((files[3]["movePath"].as_str(), files[0].get("movePath")), (Some(&*scene.path("there/h")), None));
    let diff = output.metadata["diff"].as_str().unwrap();
    let patches: Vec<String> = files.iter().map(|file| format!("{}\n", file["patch"].as_str().unwrap())).collect();
    assert_eq!(diff, patches.concat());
    assert!(patches[2].contains("@@ -1,2 +0,0 @@\n-x\n-y\n"), "{}", patches[2]);
}

#[tokio::test]
async fn one_leave_covers_all_that_changes() {
    let scene = Scene::new();
    scene.put("a", "a\n");
    scene.put("b", "b\n");
    patch(&scene, "*** Update File: a\n*** Move to: c\n*** Update File: b\n@@\n-b\n+B\n*** Add File: d").await;
    let asked: Vec<_> = scene.bench.asked().into_iter().map(|access| access.permission).collect();
    assert_eq!(asked.iter().filter(|permission| !permission.starts_with('!')).collect::<Vec<_>>(), ["read", "edit"]);
    let edit = &scene.asked("edit")[0];
    assert_eq!((edit.patterns.join(" "), edit.always.join(" ")), ("a c b d".to_owned(), "*".to_owned()));
    assert_eq!(edit.metadata["filepath"], "a, c, b, d");
    assert_eq!(edit.metadata["files"].as_array().unwrap().len(), 3);
    assert!(edit.metadata["diff"].as_str().unwrap().contains("-b\n+B\n"));
}

#[tokio::test]
async fn without_leave_for_each_file_none_changes() {
    for path in ["b", "moved"] {
        let scene = Scene::with_rules(&[("*", "*", Action::Allow), ("edit", path, Action::Deny)]);
        scene.put("a", "a\n");
        scene.put("b", "b\n");
        let body = "*** Update File: a\n@@\n-a\n+A\n*** Update File: b\n*** Move to: moved";
        assert_eq!(scene.run("apply_patch", args(body)).await.unwrap_err().kind(), "denied");
        assert_eq!((scene.get("a"), scene.get("b"), there(&scene, "moved")), ("a\n".into(), "b\n".into(), false));
    }
}

#[tokio::test]
async fn a_file_that_may_not_be_read_is_not_quoted() {
    let scene = Scene::with_rules(&[("*", "*", Action::Allow), ("read", "*.env", Action::Deny)]);
    scene.put(".env", "KEY=secret\n");
    let error = scene.run("apply_patch", args("*** Update File: .env\n@@\n-KEY = x\n+y")).await.unwrap_err();
    assert_eq!(error.kind(), "denied");
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[tokio::test]
async fn outside_the_project_the_folder_is_asked_for_first() {
    let body = "*** Add File: a\n+a\n*** Update File: ../outside/b\n@@\n-b\n+B";
    let scene = Scene::with_rules(&[("*", "*", Action::Allow), ("external_directory", "*", Action::Deny)]);
    scene.put("../outside/b", "b\n");
    assert_eq!(scene.run("apply_patch", args(body)).await.unwrap_err().kind(), "denied");
    assert!(scene.asked("edit").is_empty() && scene.asked("read").is_empty() && !there(&scene, "a"));
    let scene = Scene::new();
    scene.put("../outside/b", "b\n");
    patch(&scene, body).await;
    assert_eq!(scene.get("../outside/b"), "B\n");
    assert_eq!(scene.asked("external_directory")[0].patterns, [scene.path("../outside/*")]);
}

#[tokio::test]
async fn when_one_file_fails_none_changes() {
    let scene = Scene::new();
    scene.put("a", "a\n");
    scene.put("b", "b\n");
    let first = "*** Add File: new/c\n+c\n*** Update File: a\n@@\n-a\n+A\n*** Delete File: b\n";
    let row = async |rest: &str, want: &str| fails(&scene, &format!("{first}{rest}"), want).await;
    row("*** Update File: none\n@@\n-x", "none does not exist; look for the right path").await;
    row("*** Delete File: none", "none does not exist, so it cannot be deleted").await;
    row("*** Delete File: b", "b is not there any more: a section above").await;
    row("*** Delete File: src", "is a folder, not a file").await;
    row("*** Add File: src\n+x", "is a folder, not a file").await;
    row("*** Update File: a\n@@\n-a\n+x", "a, hunk 1: its lines are not in the file").await;
    row("*** Add File: a/below\n+x", "is a file, not a folder").await;
    row("*** Add File: new\n+x", "is a folder, not a file").await;
    row("*** Frobnicate: x", "is not known").await;
    row(&format!("*** Add File: {}\n+x", "n".repeat(300)), "File name too long").await;
    // Nobody was asked for anything that did not come.
    assert_eq!(scene.asked("edit").len(), 2);
}

#[tokio::test]
async fn a_refusal_says_that_nothing_changed_and_what_to_do() {
    let scene = Scene::new();
    scene.put("a", "a\nb\na\n");
    let body = "*** Update File: a\n@@\n-a\n+A";
    fails(&scene, body, "a, hunk 1 fits in several places, on lines 1, 3. Take in lines around").await;
    fails(&scene, body, "Nothing was changed: correct the patch and send all of it again").await;
    fails(&scene, "*** Update File: a\n@@\n-c\n+C", "copy the lines exactly. Nothing was changed: correct").await;
    assert!(scene.asked("edit").is_empty());
    let error = scene.run("apply_patch", json!({"patchText": " \n"})).await.unwrap_err();
    assert_eq!(error.kind(), "bad_input");
}

#[tokio::test]
async fn a_stale_file_is_refused() {
    let scene = Scene::new();
    for body in ["*** Update File: a\n@@\n-one\n+1", "*** Delete File: a", "*** Add File: a\n+x"] {
        scene.put("a", "one\n");
        scene.run("read", json!({ "filePath": "a" })).await.unwrap();
        scene.put("a", "one\ntheirs\n");
        fails(&scene, body, "has changed on disk since you last read or wrote it").await;
        scene.run("read", json!({ "filePath": "a" })).await.unwrap();
        patch(&scene, body).await;
    }
    // What it wrote itself is no surprise.
    patch(&scene, "*** Update File: a\n@@\n-x\n+y").await;
    patch(&scene, "*** Update File: a\n@@\n-y\n+z").await;
    assert_eq!(scene.get("a"), "z\n");
}

#[tokio::test]
async fn mode_mark_and_line_ends_stay() {
    let scene = Scene::new();
    scene.put("a", "\u{feff}one\r\ntwo\r\n");
    std::fs::set_permissions(scene.path("a"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = patch(&scene, "*** Update File: a\n@@\n-one\n+1\n*** Update File: a\n*** Move to: b").await;
    assert_eq!(scene.get("b"), "\u{feff}1\r\ntwo\r\n");
    assert_eq!(std::fs::metadata(scene.path("b")).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(!output.metadata["diff"].as_str().unwrap().contains('\r'));
    patch(&scene, "*** Add File: b\n+new").await;
    assert_eq!(std::fs::metadata(scene.path("b")).unwrap().permissions().mode() & 0o777, 0o755);
}

#[tokio::test]
async fn what_is_written_over_is_shown() {
    let scene = Scene::new();
    scene.put("a", "a\n");
    scene.put("b", "b\n");
    let output = patch(&scene, "*** Update File: a\n*** Move to: b").await;
    assert_eq!(output.text, "Applied the patch to these files:\nM b (from a, over the file that was there)");
    assert!(scene.asked("edit")[0].metadata["diff"].as_str().unwrap().contains("@@ -1,1 +0,0 @@\n-b\n"));
    let output = patch(&scene, "*** Add File: b\n+new").await;
    assert_eq!(output.text, "Applied the patch to these files:\nA b (over the file that was there)");
    assert!(output.metadata["diff"].as_str().unwrap().contains("-a\n+new\n"));
    assert_eq!(scene.get("b"), "new\n");
}

#[tokio::test]
async fn files_change_places() {
    let scene = Scene::new();
    scene.put("a", "a\n");
    scene.put("b", "b\n");
    let to = |from: &str, to: &str| format!("*** Update File: {from}\n*** Move to: {to}\n");
    let output = patch(&scene, &(to("a", "c") + &to("b", "a") + to("c", "b").trim_end())).await;
    assert_eq!((scene.get("a"), scene.get("b"), there(&scene, "c")), ("b\n".into(), "a\n".into(), false));
    assert!(output.text.contains("M a (from b"), "{}", output.text);
}

#[tokio::test]
async fn a_patch_that_changes_nothing_touches_nothing() {
    let scene = Scene::new();
    scene.put("a", "a\n");
    let before = std::fs::metadata(scene.path("a")).unwrap().modified().unwrap();
    let output = patch(&scene, "*** Update File: a\n@@\n-a\n+a").await;
    assert_eq!(output.text, "Applied the patch to these files:\nM a (it was so already)");
    assert_eq!(std::fs::metadata(scene.path("a")).unwrap().modified().unwrap(), before);
    let output = patch(&scene, "*** Update File: a\n*** Move to: ./a").await;
    assert_eq!(output.text, "The patch comes to nothing: every file is as it was.");
}

#[tokio::test]
async fn a_link_is_changed_where_it_leads_and_neither_moved_nor_removed() {
    let scene = Scene::new();
    scene.put("real", "x\n");
    symlink("real", scene.path("link")).unwrap();
    patch(&scene, "*** Update File: link\n@@\n-x\n+y").await;
    assert_eq!(scene.get("real"), "y\n");
    fails(&scene, "*** Delete File: link", "link is a link to real; nothing was done").await;
    fails(&scene, "*** Update File: link\n*** Move to: b", "link is a link to real").await;
}

#[tokio::test]
async fn two_spellings_of_one_file_are_one() {
    let scene = Scene::new();
    scene.put("src/a", "1\n2\n");
    let absolute = scene.path("src/a");
    patch(&scene, &format!("*** Update File: ./src/../src/a\n@@\n-1\n+one\n*** Update File: {absolute}\n@@\n-2\n+two"))
        .await;
    assert_eq!(scene.get("src/a"), "one\ntwo\n");
    // As on a disk where case makes no difference.
    scene.put("B", "b\n");
    std::fs::hard_link(scene.path("B"), scene.path("b")).unwrap();
    fails(&scene, "*** Update File: B\n@@\n-b\n+x\n*** Delete File: b", "B and b are the same file here").await;
}

#[tokio::test]
async fn what_is_too_large_or_no_text_is_refused() {
    let scene = Scene::new();
    std::fs::File::create(scene.path("huge")).unwrap().set_len(MAX_FILE + 1).unwrap();
    scene.fails("apply_patch", args("*** Delete File: huge"), "more than the 16777216 that a patch may concern").await;
    std::fs::write(scene.path("bin"), b"\x00\xff\xfe\x00\x80").unwrap();
    fails(&scene, "*** Update File: bin\n@@\n-x\n+y", "bin is no text, or in no encoding").await;
    patch(&scene, "*** Update File: bin\n*** Move to: moved").await;
    assert_eq!(std::fs::read(scene.path("moved")).unwrap(), b"\x00\xff\xfe\x00\x80");
}

#[tokio::test]
async fn all_files_of_a_patch_together_have_a_limit() {
    let scene = Scene::new();
    let mut body = String::new();
    for number in 0..=MAX_ALL / MAX_FILE {
        std::fs::File::create(scene.path(&number.to_string())).unwrap().set_len(MAX_FILE).unwrap();
        body += &format!("*** Delete File: {number}\n");
    }
    scene.fails("apply_patch", args(body.trim_end()), "more than the 0 that a patch may concern").await;
    assert!(there(&scene, "0"));
}

#[tokio::test]
async fn patches_of_the_same_files_at_the_same_time_all_arrive() {
    let scene = Scene::new();
    let text: String = (0..20).map(|number| format!("<{number}>\n")).collect();
    scene.put("a", &text);
    scene.put("b", &text);
    let change = |name: &str, number: usize| format!("*** Update File: {name}\n@@\n-<{number}>\n+[{number}]\n");
    let bodies = (0..20).map(|number| {
        let (first, second) = if number % 2 == 0 { ("a", "b") } else { ("b", "a") };
        args((change(first, number) + &change(second, number)).trim_end())
    });
    for result in futures::future::join_all(bodies.map(|input| scene.run("apply_patch", input))).await {
        result.unwrap();
    }
    let want = text.replace('<', "[").replace('>', "]");
    assert_eq!((scene.get("a"), scene.get("b")), (want.clone(), want));
}

#[tokio::test]
async fn it_goes_by_its_old_name_too() {
    let scene = Scene::new();
    scene.run("patch", args("*** Add File: a\n+a")).await.unwrap();
    assert_eq!(scene.get("a"), "a\n");
    assert_eq!(scene.asked("edit").len(), 1);
}
