use std::sync::Mutex;
use std::time::Duration;

use haft_permission::Action;
use serde_json::{Value, json};

use super::super::catalogue::Wish;
use super::*;
use crate::scene::Scene;

const ALL: &[(&str, &str, Action)] = &[("*", "*", Action::Allow)];

/// Formatters for `.x`, each a script for `sh` to which the file is `$1`.
fn formatters(scripts: &[&str]) -> Formatters {
    let wish = |(at, script): (usize, &&str)| Wish {
        name: format!("f{at}"),
        command: Some(["/bin/sh", "-c", script, "sh", "$FILE"].map(str::to_owned).to_vec()),
        extensions: Some(vec![".x".to_owned()]),
        ..Wish::default()
    };
    let (formatters, problems) = Formatters::new(scripts.iter().enumerate().map(wish).collect(), true, false);
    assert!(problems.is_empty(), "{problems:?}");
    formatters
}

fn scene(scripts: &[&str]) -> Scene {
    Scene::with(ALL, AfterEdit { formatters: formatters(scripts), tell: None })
}

fn write(path: &str, content: &str) -> Value {
    json!({ "filePath": path, "content": content })
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "filePath": path, "oldString": old, "newString": new })
}

const SHOUT: &str = "tr a-z A-Z < \"$1\" > \"$1.new\" && mv \"$1.new\" \"$1\"";

#[tokio::test]
async fn what_is_shown_is_the_file_as_it_stays() {
    let scene = scene(&[SHOUT, "echo end >> \"$1\""]);
    scene.put("a.x", "ONE\nTWO\n");
    let output = scene.run("edit", edit("a.x", "TWO", "three")).await.unwrap();
    assert_eq!(scene.get("a.x"), "ONE\nTHREE\nend\n");
    let said = format!("Edited {} (lines: +2 -1). Then f0 and f1 formatted it.", scene.path("a.x"));
    assert_eq!(output.text, said);
    let diff = output.metadata["diff"].as_str().unwrap();
    assert!(diff.contains("+THREE\n+end\n") && !diff.contains("three"), "{diff}");
    assert_eq!(
        (&output.metadata["filediff"]["additions"], &output.metadata["filediff"]["deletions"]),
        (&2.into(), &1.into())
    );
    // The session has seen what they made of it.
    scene.run("edit", edit("a.x", "end\n", "")).await.unwrap();
    // A person is asked about what the model wrote; what becomes of it nobody knows yet.
    assert!(scene.asked("edit")[0].metadata["diff"].as_str().unwrap().contains("+three"));
}

#[tokio::test]
async fn every_tool_that_writes_has_its_files_tidied() {
    let scene = scene(&[SHOUT]);
    let output = scene.run("write", write("new/a.x", "one\n")).await.unwrap();
    assert_eq!(output.text, format!("Created {} (1 line). Then f0 formatted it.", scene.path("new/a.x")));
    assert_eq!(scene.get("new/a.x"), "ONE\n");
    let edits = json!({ "filePath": "new/a.x", "edits": [{ "oldString": "ONE", "newString": "two" }] });
    scene.run("multiedit", edits).await.unwrap();
    assert_eq!(scene.get("new/a.x"), "TWO\n");
    let patch = "*** Begin Patch\n*** Add File: b.x\n+b\n*** Update File: new/a.x\n*** Move to: c.x\n@@\n-TWO\n+c\n\
                 *** Add File: d.y\n+d\n*** End Patch";
    let output = scene.run("apply_patch", json!({ "patchText": patch })).await.unwrap();
    assert_eq!((scene.get("b.x"), scene.get("c.x"), scene.get("d.y")), ("B\n".into(), "C\n".into(), "d\n".into()));
    assert!(output.text.contains("\nb.x: Then f0 formatted it.\nc.x: Then f0 formatted it."), "{}", output.text);
    let diff = output.metadata["diff"].as_str().unwrap();
    assert!(
        diff.contains("+B\n") && diff.contains("+C\n") && diff.contains("+d\n") && !diff.contains("+b\n"),
        "{diff}"
    );
    scene.run("edit", edit("c.x", "C", "e")).await.unwrap();
    // Others' files are none of its business.
    scene.run("write", write("a.rs.y", "one\n")).await.unwrap();
    assert_eq!(scene.get("a.rs.y"), "one\n");
}

#[tokio::test]
async fn what_fails_leaves_the_file_as_it_was_written() {
    for (script, want) in [
        ("echo bad >&2; exit 3", "Created PATH (1 line). The formatter f0 failed (exit code 3: bad)."),
        ("rm \"$1\"", "The formatter f0 left no file that could be used; the file is as you wrote it."),
        (
            "rm \"$1\"; mkdir \"$1\"; exit 1",
            "failed (exit code 1); the file is as you wrote it. It could not be put back",
        ),
        ("ln -sf /etc/hostname \"$1\"", "It could not be put back; read it before you go on."),
        (": > \"$1\"", "left no file that could be used"),
        ("echo half > \"$1\"; kill -9 $$", "was ended by signal 9; the file is as you wrote it."),
        ("echo half > \"$1\"; exit 1", "failed (exit code 1); the file is as you wrote it."),
    ] {
        let scene = scene(&[script]);
        let output = scene.run("write", write("a.x", "one\n")).await.unwrap();
        let text = output.text.replace(&scene.path("a.x"), "PATH");
        assert!(text.contains(want), "{script}: {text}");
        if !want.contains("could not be put back") {
            assert_eq!(scene.get("a.x"), "one\n", "{script}");
            scene.run("edit", edit("a.x", "one", "two")).await.unwrap();
        }
    }
    // One that fails does not keep the next from its work.
    let scene = scene(&["exit 1", SHOUT]);
    let output = scene.run("write", write("a.x", "one\n")).await.unwrap();
    assert_eq!(scene.get("a.x"), "ONE\n");
    assert!(output.text.ends_with("Then f1 formatted it. The formatter f0 failed (exit code 1)."), "{}", output.text);
}

#[tokio::test]
async fn one_that_hangs_is_ended_with_all_that_it_started_and_left_out_then() {
    let script = "echo half > \"$1\"; echo run >> runs; (trap '' TERM; tail -f /dev/null) & tail -f /dev/null";
    let slow = formatters(&[script]).within(Duration::from_millis(300));
    let scene = Scene::with(ALL, AfterEdit { formatters: slow, tell: None });
    for text in ["1\n", "2\n", "3\n"] {
        let output = scene.run("write", write("a.x", text)).await.unwrap();
        assert_eq!(scene.get("a.x"), text);
        assert_eq!(output.text.contains("took longer than 0.3 s and was ended"), text != "3\n", "{}", output.text);
    }
    assert_eq!(scene.get("runs"), "run\nrun\n");
}

#[tokio::test]
async fn a_stopped_call_leaves_the_file_as_it_was_written() {
    let scene = scene(&["echo half > \"$1\"; : > begun; tail -f /dev/null"]);
    let begun = scene.path("begun");
    let stop = async {
        while !Path::new(&begun).exists() {
            tokio::task::yield_now().await;
        }
        scene.bench.cancel.cancel();
    };
    let (output, ()) = tokio::join!(scene.run("write", write("a.x", "one\n")), stop);
    assert_eq!(scene.get("a.x"), "one\n");
    assert_eq!(output.unwrap().text, format!("Created {} (1 line).", scene.path("a.x")));
}

#[tokio::test]
async fn rules_say_which_may_run() {
    let rules = [("*", "*", Action::Allow), ("formatter", "*", Action::Deny), ("formatter", "f1", Action::Allow)];
    let scene = Scene::with(
        &rules,
        AfterEdit { formatters: formatters(&["echo 0 >> \"$1\"", "echo 1 >> \"$1\""]), tell: None },
    );
    scene.run("write", write("a.x", "a\n")).await.unwrap();
    assert_eq!(scene.get("a.x"), "a\n1\n");
    assert_eq!(scene.asked("formatter").len(), 2);
    assert_eq!(scene.asked("formatter")[1].always, ["f1"]);
    // Outside the project nothing is tidied.
    scene.run("write", write(&scene.path("../outside/a.x"), "a\n")).await.unwrap();
    assert_eq!(scene.get("../outside/a.x"), "a\n");
}

#[tokio::test]
async fn the_name_of_a_file_runs_nothing() {
    let wish = Wish {
        name: "f".to_owned(),
        command: Some(["/bin/sh", "-c", "echo \"$FILE\" >> names; echo end >> \"$FILE\""].map(str::to_owned).to_vec()),
        extensions: Some(vec!["x".to_owned()]),
        ..Wish::default()
    };
    let formatters = Formatters::new(vec![wish], true, false).0;
    let scene = Scene::with(ALL, AfterEdit { formatters, tell: None });
    for name in ["plain.x", "a b.x", "$(touch ran).x", "';touch ran;'.x", "-n.x"] {
        scene.run("write", write(name, "one\n")).await.unwrap();
        assert_eq!(scene.get(name), "one\nend\n", "{name}");
    }
    assert!(!Path::new(&scene.path("ran")).exists());
}

#[tokio::test]
async fn the_mark_and_the_mode_of_a_file_stay() {
    use std::os::unix::fs::PermissionsExt;
    let scene = scene(&["tail -c +4 \"$1\" > t && cat t > \"$1\""]);
    scene.put("a.x", "\u{feff}one\n");
    std::fs::set_permissions(scene.path("a.x"), std::fs::Permissions::from_mode(0o755)).unwrap();
    scene.run("edit", edit("a.x", "one", "two")).await.unwrap();
    assert_eq!(scene.get("a.x"), "\u{feff}two\n");
    assert_eq!(std::fs::metadata(scene.path("a.x")).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!((mark(b"a", false), mark(b"a", true)), (None, Some(b"\xef\xbb\xbfa".to_vec())));
    assert_eq!((mark(b"\xef\xbb\xbfa", true), mark(b"\xef\xbb\xbfa", false)), (None, Some(b"a".to_vec())));
}

#[tokio::test]
async fn who_listens_hears_of_a_file_when_it_stays_so() {
    let heard: Arc<Mutex<Vec<(Value, String)>>> = Arc::default();
    let told = Arc::clone(&heard);
    let tell: Tell = Arc::new(move |event| {
        let event = serde_json::to_value(event).unwrap();
        let text = std::fs::read_to_string(event["properties"]["file"].as_str().unwrap()).unwrap_or_default();
        told.lock().unwrap().push((event, text));
    });
    let scene = Scene::with(ALL, AfterEdit { formatters: formatters(&[SHOUT]), tell: Some(tell) });
    let patch = "*** Begin Patch\n*** Update File: a.x\n@@\n-ONE\n+two\n*** Delete File: b.x\n*** End Patch";
    scene.put("b.x", "b\n");
    scene.run("write", write("a.x", "one\n")).await.unwrap();
    scene.run("apply_patch", json!({ "patchText": patch })).await.unwrap();
    let heard: Vec<String> = std::mem::take(&mut *heard.lock().unwrap())
        .into_iter()
        .map(|(event, text)| {
            let of = &event["properties"];
            let name = of["file"].as_str().unwrap().rsplit('/').next().unwrap();
            format!(
                "{} {name} {} {}",
                event["type"].as_str().unwrap(),
                of["event"].as_str().unwrap_or("-"),
                text.trim()
            )
        })
        .collect();
    assert_eq!(
        heard,
        [
            "file.edited a.x - ONE",
            "file.watcher.updated a.x add ONE",
            "file.edited a.x - TWO",
            "file.watcher.updated a.x change TWO",
            "file.watcher.updated b.x unlink ",
        ]
    );
}
