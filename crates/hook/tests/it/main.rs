//! Commands that really run, at the points at which they are called.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::{Arc, Mutex};

use haft_hook::{Commands, Surroundings, settings};
use haft_permission::{Action, Answerer, Gate, Rule, Rules};
use haft_project::Processes;
use haft_protocol::hook::Point;
use haft_protocol::{Clock, SessionId};
use haft_tool::{Hook, HookError};
use serde_json::{Value, json};

struct Scene {
    folder: tempfile::TempDir,
    commands: Commands,
    told: Arc<Mutex<Vec<String>>>,
    session: SessionId,
}

/// These hooks in a folder of their own.
fn scene(hooks: Value) -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let (clock, told) = (Clock::scripted(1), Arc::<Mutex<Vec<String>>>::default());
    let (read, warnings) = settings::read(&hooks);
    assert!(warnings.is_empty(), "{warnings:?}");
    let telling = told.clone();
    let around = Surroundings {
        processes: Processes::new("/bin/sh".into(), Vec::new()),
        gate: Gate::new(clock.clone(), Answerer::Nobody, |_| {}),
        rules: Rules::from(vec![Rule::new("*", "*", Action::Allow)]),
        dir: folder.path().canonicalize().unwrap(),
        tell: Box::new(move |text| telling.lock().unwrap().push(text.to_owned())),
    };
    Scene { folder, commands: Commands::new(read, around), told, session: clock.mint() }
}

/// One command at one moment.
fn one(moment: &str, matcher: &str, command: &str) -> Scene {
    scene(
        json!({ moment: [{ "matcher": matcher, "hooks": [{ "type": "command", "command": command, "timeout": 20 }] }] }),
    )
}

impl Scene {
    async fn before(&self, tool: &str, args: Value) -> Result<Value, HookError> {
        let input = json!({ "tool": tool, "sessionID": self.session, "callID": "c" });
        self.commands.fire(Point::ToolBefore, &input, json!({ "args": args })).await
    }

    async fn fire(&self, point: Point, mut input: Value, output: Value) -> Result<Value, HookError> {
        input["sessionID"] = json!(self.session);
        self.commands.fire(point, &input, output).await
    }
}

#[tokio::test]
async fn a_command_is_told_what_is_about_to_happen() {
    let scene = one("PreToolUse", "Edit", "cat > told.json; echo $CLAUDE_PROJECT_DIR > dir");
    scene.before("edit", json!({ "filePath": "a.rs", "oldString": "x" })).await.unwrap();
    let read = |name: &str| std::fs::read_to_string(scene.folder.path().join(name)).unwrap();
    let told: Value = serde_json::from_str(&read("told.json")).unwrap();
    assert_eq!(told["hook_event_name"], "PreToolUse");
    assert_eq!(told["session_id"], scene.session.to_string());
    assert_eq!((&told["tool_name"], &told["tool_use_id"]), (&json!("Edit"), &json!("c")));
    assert_eq!(told["tool_input"], json!({ "file_path": "a.rs", "old_string": "x" }));
    assert_eq!(read("dir").trim(), told["cwd"].as_str().unwrap());
}

#[tokio::test]
async fn exit_code_2_stops_a_call_and_others_do_not() {
    let blocks = one("PreToolUse", "Bash", "echo 'not on a Sunday' >&2; exit 2");
    let why = blocks.before("bash", json!({})).await.unwrap_err();
    assert_eq!(why, HookError::Blocked("not on a Sunday".to_owned()));
    // It is for another tool.
    assert!(blocks.before("read", json!({})).await.is_ok());
    let broken = one("PreToolUse", "", "echo boom >&2; exit 7");
    for _ in 0..5 {
        assert_eq!(broken.before("read", json!({ "a": 1 })).await, Ok(json!({ "args": { "a": 1 } })));
    }
    let told = broken.told.lock().unwrap();
    assert_eq!(told.len(), 3);
    assert!(told[0].ends_with("failed and is passed over: exit code 7: boom"), "{told:?}");
}

#[tokio::test]
async fn an_answer_changes_the_arguments_and_settles_questions() {
    let answer = json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": { "file_path": "b.rs" },
    } });
    let scene = one("PreToolUse", "Read", &format!("echo '{answer}'"));
    let got = scene.before("read", json!({ "filePath": "a.rs" })).await;
    assert_eq!(got, Ok(json!({ "args": { "filePath": "b.rs" }, "permission": "allow" })));
    let scene = one("PreToolUse", "Read", "echo '{\"continue\": false, \"stopReason\": \"enough\"}'");
    assert_eq!(scene.before("read", json!({})).await, Err(HookError::Ends("enough".to_owned())));
}

#[tokio::test]
async fn the_model_reads_what_is_wrong_with_what_was_done() {
    let scene = one("PostToolUse", "Write", "echo 'it does not compile' >&2; exit 2");
    let input = json!({ "tool": "write", "callID": "c", "args": {} });
    let output = json!({ "title": "t", "output": "written", "metadata": {} });
    let got = scene.fire(Point::ToolAfter, input, output).await.unwrap();
    assert_eq!(got["output"], "written\n\n<hook>\nit does not compile\n</hook>");
}

#[tokio::test]
async fn prompts_and_sessions_get_words_and_turns_go_on() {
    let scene = one("UserPromptSubmit", "", "grep -q '\"prompt\":\"go\"' && echo 'It is Monday.'");
    let parts =
        json!({ "parts": [{ "type": "text", "text": "go" }, { "type": "text", "text": "x", "synthetic": true }] });
    let got = scene.fire(Point::ChatMessage, json!({}), parts).await.unwrap();
    assert_eq!(got["parts"][2], json!({ "type": "text", "text": "It is Monday.", "synthetic": true }));
    let scene = one("SessionStart", "resume", "echo Again.");
    let got =
        |reason: &'static str| scene.fire(Point::SessionStart, json!({ "reason": reason }), json!({ "context": [] }));
    assert_eq!(got("resume").await, Ok(json!({ "context": ["Again."] })));
    assert_eq!(got("startup").await, Ok(json!({ "context": [] })));
    let scene = one("Stop", "", "echo 'run the tests' >&2; exit 2");
    assert_eq!(scene.fire(Point::TurnStop, json!({}), json!({})).await, Ok(json!({ "because": "run the tests" })));
    // A task is another matter.
    assert_eq!(scene.fire(Point::TurnStop, json!({ "parentID": "ses_1" }), json!({})).await, Ok(json!({})));
}

#[tokio::test]
async fn equal_commands_run_once_and_all_are_heard() {
    let hook = |command: &str| json!({ "command": command });
    let scene = scene(json!({ "PreToolUse": [
        { "hooks": [hook("echo x >> runs"), hook("echo '{\"systemMessage\": \"one\"}'")] },
        { "matcher": "Bash", "hooks": [hook("echo x >> runs"), hook("echo '{\"systemMessage\": \"two\"}'")] },
    ] }));
    scene.before("bash", json!({})).await.unwrap();
    assert_eq!(std::fs::read_to_string(scene.folder.path().join("runs")).unwrap(), "x\n");
    assert_eq!(*scene.told.lock().unwrap(), ["one\ntwo"]);
}

#[tokio::test]
async fn what_takes_too_long_is_stopped_and_what_writes_too_much_is_cut() {
    let slow = scene(json!({ "PreToolUse": [{ "hooks": [{ "command": "sleep 600", "timeout": 0.2 }] }] }));
    assert!(slow.before("read", json!({})).await.is_ok());
    assert!(slow.told.lock().unwrap()[0].contains("it took longer than 0.2 s, and was stopped"));
    let loud = one("SessionStart", "", "head -c 5000000 /dev/zero | tr '\\0' x");
    let got = loud.fire(Point::SessionStart, json!({}), json!({ "context": [] })).await.unwrap();
    assert_eq!(got["context"][0].as_str().unwrap().len(), haft_hook::said::MAX_TEXT);
}
