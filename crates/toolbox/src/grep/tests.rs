//! Searches as a model asks for them.

use haft_permission::Action;
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
    assert_eq!(serde_json::Value::from(output.metadata), json!({"matches": 4, "files": 3, "truncated": false}));
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
    scene.put("a", &"x\n".repeat(MAX_SHOWN));
    let output = scene.run("grep", json!({"pattern": "x"})).await.unwrap();
    assert!(output.text.starts_with("Found 100 matches\n") && output.text.ends_with("Line 100: x"));
    assert_eq!(output.metadata["truncated"], false);
    scene.put("a", &"x\n".repeat(2500));
    let output = scene.run("grep", json!({"pattern": "x"})).await.unwrap();
    assert!(output.text.starts_with("Found 2500 matches in 1 file (showing first 100)\n"), "{}", output.text);
    assert!(output.text.contains("Line 100: x\n\n(Results truncated.") && !output.text.contains("Line 101"));
    assert_eq!((&output.metadata["matches"], &output.metadata["truncated"]), (&json!(2500), &json!(true)));
}

#[tokio::test]
async fn long_lines_make_no_answer_of_more_than_50_kilobytes() {
    let scene = Scene::new();
    scene.put("a", &format!("x{}\n", "y".repeat(5000)).repeat(MAX_SHOWN));
    let output = scene.run("grep", json!({"pattern": "x"})).await.unwrap();
    assert!(output.text.len() <= answer::MAX_BYTES + 200, "{}", output.text.len());
    assert!(output.text.starts_with("Found 100 matches in 1 file (showing first 25)\n"), "{}", &output.text[..60]);
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
    scene
        .fails(
            "grep",
            json!({"pattern": "(x"}),
            "unclosed group, at character 1:\n  (x\n  ^\nTo search for the text itself, write \\(x",
        )
        .await;
    scene.fails("grep", json!({"pattern": "x", "include": "*.rs,["}), "\"[\" is no pattern").await;
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
        assert!(!text.contains("\nobey") && !text.contains('\u{1b}') && !text.contains("\nc.env"), "{tool}: {text}");
        assert!(text.contains("a\\n"), "{tool} {input}: {text}");
    }
}

#[tokio::test]
async fn a_match_can_come_with_its_surroundings_or_without_its_lines() {
    let scene = Scene::new();
    scene.put_aged(&["new", "old"]);
    scene.put_keeping_time("new", "1\n2\nx\n4\n");
    scene.put_keeping_time("old", "x\nx\n");
    let run = |input: serde_json::Value| async {
        let output = scene.run("grep", input).await.unwrap();
        (output.text.replace(&scene.path(""), ""), serde_json::Value::from(output.metadata))
    };
    let (text, _) = run(json!({"pattern": "x", "context": 1, "path": "new"})).await;
    assert_eq!(text, "Found 1 matches\nnew:\n  Line 2- 2\n  Line 3: x\n  Line 4- 4");
    let (text, metadata) = run(json!({"pattern": "x", "mode": "files"})).await;
    assert_eq!(
        (text.as_str(), metadata),
        ("Found 2 files\nnew\nold", json!({"matches": 2, "files": 2, "truncated": false}))
    );
    let (text, metadata) = run(json!({"pattern": "x", "mode": "count"})).await;
    let want = "Found 3 matches in 2 files\nnew: 1\nold: 2";
    assert_eq!((text.as_str(), metadata), (want, json!({"matches": 3, "files": 2, "truncated": false})));
    scene.fails("grep", json!({"pattern": "x", "mode": "other"}), "mode").await;
}

#[tokio::test]
async fn so_many_lines_come_around_a_match_and_no_more() {
    let scene = Scene::new();
    scene.put("a", &format!("{}x\n{}", "y\n".repeat(50), "y\n".repeat(50)));
    for context in [MAX_CONTEXT, MAX_CONTEXT + 1, usize::MAX] {
        let output = scene.run("grep", json!({"pattern": "x", "context": context})).await.unwrap();
        assert_eq!(output.text.lines().filter(|line| line.contains("- y")).count(), 2 * MAX_CONTEXT, "{context}");
    }
}

#[tokio::test]
async fn a_pattern_with_a_line_break_goes_over_lines() {
    let scene = Scene::new();
    scene.put("a", "fn one(\n    x,\n) {}\n");
    let output = scene.run("grep", json!({"pattern": r"one\(\n\s+x"})).await.unwrap();
    assert!(output.text.ends_with("a:\n  Line 1: fn one(\n  Line 2:     x,"), "{}", output.text);
}

#[tokio::test]
async fn several_names_can_be_included() {
    let scene = Scene::new();
    for name in ["a.ts", "b.tsx", "c.d.ts", "d.rs"] {
        scene.put(name, "x\n");
    }
    let run = |include: &'static str| {
        let run = scene.run("grep", json!({"pattern": "x", "include": include, "mode": "count"}));
        async { run.await.unwrap().text }
    };
    assert!(run("*.ts, *.tsx, !*.d.ts").await.starts_with("Found 2 matches in 2 files"));
    assert!(run("!*.rs").await.starts_with("Found 3 matches"));
}
