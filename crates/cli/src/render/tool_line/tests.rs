use super::*;
use expect_test::{Expect, expect};
use haft_protocol::ToolSpan;
use serde_json::json;

#[track_caller]
fn check(tool: &str, state: &ToolState, want: Expect) {
    want.assert_eq(&lines(tool, state, Paint::OFF).join("\n"));
}

fn completed(input: Value, title: &str, output: &str, metadata: Value) -> ToolState {
    ToolState::Completed {
        input,
        output: output.to_owned(),
        title: title.to_owned(),
        metadata: metadata.as_object().unwrap().clone(),
        time: ToolSpan::default(),
        attachments: Vec::new(),
    }
}

fn failed(input: Value, error: &str) -> ToolState {
    ToolState::Error { input, error: error.to_owned(), metadata: None, time: ToolSpan::default() }
}

#[test]
fn each_tool_has_its_line() {
    let part = json!({"display": {"lineStart": 5, "lineEnd": 9, "totalLines": 40}});
    check("read", &completed(json!({}), "a.rs", "", part), expect!["→ Read a.rs (5-9 of 40 lines)"]);
    let whole = json!({"display": {"lineStart": 1, "lineEnd": 9, "totalLines": 9}});
    check("read", &completed(json!({}), "a.rs", "", whole), expect!["→ Read a.rs (9 lines)"]);
    check("write", &completed(json!({}), "b.rs", "", json!({})), expect!["← Write b.rs"]);
    let edit =
        json!({"filediff": {"additions": 1, "deletions": 1}, "diff": "--- a\n+++ a\n@@ -1,1 +1,1 @@\n-one\n+two\n"});
    check(
        "edit",
        &completed(json!({}), "a.rs", "", edit),
        expect![[r#"
        ← Edit a.rs +1 -1
          @@ -1,1 +1,1 @@
          -one
          +two"#]],
    );
    let shell = json!({"output": "one\ntwo\n", "exit": 3});
    check(
        "bash",
        &completed(json!({"command": "ls\npwd"}), "List", "", shell),
        expect![[r#"
        $ ls ⏎ pwd
          one
          two
          exit code 3"#]],
    );
    check(
        "invalid",
        &completed(json!({}), "Invalid call", "This call was not run: no.", json!({})),
        expect!["✗ Invalid call: This call was not run: no."],
    );
    check("my_tool", &completed(json!({"a": 1}), "", "", json!({})), expect![[r#"⚙ my_tool {"a":1}"#]]);
    check(
        "edit",
        &failed(json!({"filePath": "a.rs"}), "a.rs does not\ncontain it"),
        expect![[r#"
        ✗ edit a.rs failed
          a.rs does not
          contain it"#]],
    );
}

#[test]
fn the_files_of_a_patch_are_told_apart() {
    let file = |path: &str, lines: &str| format!("Index: {path}\n=====\n--- {path}\n+++ {path}\n{lines}\n");
    let diff = file("a", "@@ -1,2 +1,1 @@\n one\n--- two") + &file("b", "@@ -0,0 +1,1 @@\n+++ new");
    check(
        "apply_patch",
        &completed(json!({}), "a, b", "", json!({"diff": diff})),
        expect![[r#"
            ← Patch a, b
              a
              @@ -1,2 +1,1 @@
               one
              --- two
              b
              @@ -0,0 +1,1 @@
              +++ new"#]],
    );
}

#[test]
fn jobs_say_how_they_are() {
    let begun = json!({"output": "up\n", "exit": null, "jobId": "job_1", "status": "running"});
    let command = || json!({"command": "serve"});
    check(
        "bash",
        &completed(command(), "serve", "", begun.clone()),
        expect![[r#"
        $ serve
          up
          goes on as job_1"#]],
    );
    let left = json!({"output": "up\n", "exit": 0, "jobId": "job_1"});
    check(
        "bash",
        &completed(command(), "serve", "", left),
        expect![[r#"
        $ serve
          up
          goes on as job_1"#]],
    );
    let ended = json!({"output": "no\n", "exit": 1, "jobId": "job_1", "status": "exited"});
    check(
        "bash",
        &completed(command(), "serve", "", ended),
        expect![[r#"
        $ serve
          no
          exit code 1"#]],
    );
    let stopped = json!({"output": "up\n", "exit": null});
    check(
        "bash",
        &completed(command(), "serve", "", stopped),
        expect![[r#"
        $ serve
          up
          stopped before its end"#]],
    );
    check(
        "job_output",
        &completed(json!({"id": "job_1"}), "job_1", "", begun),
        expect![[r#"
        $ job_1: running
          up"#]],
    );
    let over = json!({"output": "", "exit": 2, "jobId": "job_1", "status": "exited"});
    check("job_output", &completed(json!({"id": "job_1"}), "job_1", "", over), expect!["$ job_1: exited, exit code 2"]);
    let all = json!({"jobs": [{"jobId": "job_1", "status": "killed", "exit": null, "command": "serve"}]});
    check(
        "job_output",
        &completed(json!({}), "1 job", "", all),
        expect![[r#"
        $ 1 job
          job_1 killed: serve"#]],
    );
    assert_eq!(doing("job_output", "", &json!({"id": "job_1", "wait": 5})), "$ job_1");
}

#[test]
fn long_things_are_cut() {
    let output: String = (0..30).map(|n| format!("{n}\n")).collect();
    let shell = completed(json!({"command": "x".repeat(500)}), "", "", json!({"output": output, "exit": 0}));
    let shown = lines("bash", &shell, Paint::OFF);
    assert_eq!(shown.len(), 1 + 1 + OUTPUT_LINES);
    assert_eq!(shown[0].chars().count(), WIDTH + 1);
    assert_eq!(shown[1], "  … 20 earlier lines");
    assert_eq!(shown.last().unwrap(), "  29");
}

#[test]
fn who_decides_about_a_change_sees_all_of_it() {
    let lines: String = (0..100).map(|n| format!("+{n}{}\n", "x".repeat(500))).collect();
    let shown = |diff: &str| {
        let mut page = Page::new(80);
        diff_on(&mut page, diff, Paint::OFF);
        page.end()
    };
    let all = shown(&format!("Index: a\n=====\n--- a\n+++ a\n@@ -0,0 +1,100 @@\n{lines}"));
    assert_eq!((all.lines().filter(|line| line.starts_with("  +")).count(), all.matches('x').count()), (100, 50_000));
    assert_eq!(shown("Index: a\n=====\n--- a\n+++ a\n(too large to be compared)\n"), "  (too large to be compared)\n");
}

#[test]
fn nothing_of_a_tool_drives_the_terminal() {
    let hostile = "\u{1b}[2Jx\u{1b}]0;t\u{7}";
    let diff = json!({"diff": format!("@@ -1 +1 @@\n+{hostile}\n")});
    let states = [
        ("bash", completed(json!({"command": hostile}), hostile, hostile, json!({"output": hostile, "exit": 1}))),
        ("edit", completed(json!({}), hostile, hostile, diff)),
        ("read", failed(json!({"filePath": hostile}), hostile)),
        (hostile, completed(json!({"a": hostile}), "", hostile, json!({}))),
    ];
    for (tool, state) in &states {
        let shown = lines(tool, state, Paint::OFF).join("\n");
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{7}'), "{shown:?}");
    }
}

#[test]
fn searches_say_how_much_they_found() {
    let row = |tool: &str, input: Value, title: &str, metadata: Value, want: &str| {
        assert_eq!(lines(tool, &completed(input, title, "", metadata), Paint::OFF), [want]);
    };
    row("glob", json!({"pattern": "*.rs"}), "", json!({"count": 1}), "✱ Glob \"*.rs\" in . (1 match)");
    let many = json!({"count": 100, "truncated": true});
    row("glob", json!({"pattern": "*"}), "src", many, "✱ Glob \"*\" in src (100+ matches)");
    let input = json!({"pattern": "fn \"x", "path": "src", "include": "*.rs"});
    row("grep", input, "fn", json!({"matches": 0}), "✱ Grep \"fn \\\"x\" in src (*.rs) (0 matches)");
    row("list", json!({}), "", json!({"count": 3}), "→ List . (3 entries)");
    let folder = json!({"display": {"type": "directory", "totalEntries": 1}});
    row("read", json!({}), "src", folder, "→ Read src (1 entry)");
    row("task", json!({"subagent_type": "explore"}), "Find it", json!({}), "• explore: Find it");
    row("task", json!({}), "", json!({}), "• task");
    row("webfetch", json!({"url": "https://a.b"}), "", json!({}), "% Fetch https://a.b");
}

#[test]
fn a_picture_is_no_text() {
    let mut state = completed(json!({}), "cat.png", "", json!({}));
    let ToolState::Completed { attachments, .. } = &mut state else { panic!() };
    let clock = haft_protocol::Clock::scripted(1);
    let kind = haft_protocol::PartKind::File {
        mime: "image/png".to_owned(),
        filename: None,
        url: String::new(),
        source: None,
    };
    attachments.push(haft_protocol::Part {
        id: clock.mint(),
        session_id: clock.mint(),
        message_id: clock.mint(),
        kind,
    });
    check("read", &state, expect!["→ Read cat.png (picture)"]);
}

#[test]
fn things_to_do_are_a_check_list() {
    let todo = |content: &str, status: &str| json!({"content": content, "status": status, "priority": "high"});
    let todos = json!({"todos": [
        todo("Read it", "completed"), todo("Mend\nit", "in_progress"), todo("Try it", "pending"), todo("Sing", "cancelled"),
    ]});
    check(
        "todowrite",
        &completed(json!({}), "3 todos", "", todos),
        expect![[r#"
            # Todos (3 open)
              [✓] Read it
              [•] Mend ⏎ it
              [ ] Try it
              [-] Sing"#]],
    );
    let many: Vec<Value> = (0..TODOS + 5).map(|n| todo(&n.to_string(), "pending")).collect();
    let shown = lines("todowrite", &completed(json!({}), "", "", json!({"todos": many})), Paint::OFF);
    assert_eq!((shown.len(), shown.last().unwrap().as_str()), (TODOS + 2, "  … 5 more lines"));
}

#[test]
fn questions_have_their_answers() {
    let input =
        json!({"questions": [{"question": "Which colour?"}, {"question": "And which size?"}, {"question": "Why?"}]});
    check(
        "question",
        &completed(input, "Asked 3 questions", "", json!({"answers": [["Blue"], ["S", "very large"], []]})),
        expect![[r#"
            # Questions
              Which colour? → Blue
              And which size? → S, very large
              Why? → no answer"#]],
    );
}

#[test]
fn a_call_at_work_shows_what_it_does_and_what_it_wrote_last() {
    assert_eq!(doing("bash", "Test", &json!({"command": "make\ntest"})), "$ make ⏎ test");
    assert_eq!(doing("read", "", &json!({"filePath": "a.rs"})), "→ Read a.rs");
    assert_eq!(doing("my_tool", "", &json!({"a": 1})), "⚙ my_tool {\"a\":1}");
    let row = |output: &str, want: &[&str]| {
        let metadata = json!({"output": output}).as_object().unwrap().clone();
        assert_eq!(latest(&metadata, 2, Paint::OFF), want, "{output:?}");
    };
    row("", &[]);
    row("one\n", &["  one"]);
    row("one\ntwo\n\u{1b}[2Jthree\n", &["  two", "  three"]);
    assert!(latest(&Object::new(), 2, Paint::OFF).is_empty());
}
