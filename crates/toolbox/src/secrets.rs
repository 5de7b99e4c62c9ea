//! No tool shows what is in a file that may not simply be read, by whatever way it comes to it.

use haft_permission::Action;
use serde_json::{Value, json};

use crate::scene::Scene;

/// What is in the file; nothing that a tool says may hold any of it.
const LINES: [&str; 3] = ["API_KEY=marker-one", "OTHER=marker-two", "LAST=marker-three"];

/// A project with a `.env`, one in a folder, and links to them, where rules say `action` about reading those.
fn scene(action: Action) -> Scene {
    let scene = Scene::with_rules(&[("*", "*", Action::Allow), ("read", "*.env", action)]);
    for name in [".env", "src/.env"] {
        scene.put(name, &format!("{}\n", LINES.join("\n")));
    }
    scene.put("plain.txt", "API_KEY is in .env\n");
    std::os::unix::fs::symlink(".env", scene.path("link.txt")).unwrap();
    std::os::unix::fs::symlink("src", scene.path("there")).unwrap();
    scene
}

/// The call says nothing of what is in the file, in its answer or in its refusal.
async fn says_nothing(action: Action, tool: &str, input: Value) {
    let scene = scene(action);
    let said = match scene.run(tool, input.clone()).await {
        Ok(output) => format!("{}\n{}\n{:?}", output.title, output.text, output.attachments.len()),
        Err(error) => error.to_string(),
    };
    assert!(!said.contains("marker"), "{tool} {input} ({action:?}): {said}");
}

async fn all(tool: &str, inputs: &[Value]) {
    for input in inputs {
        for action in [Action::Deny, Action::Ask] {
            says_nothing(action, tool, input.clone()).await;
        }
    }
}

#[tokio::test]
async fn with_leave_it_is_shown() {
    let scene = scene(Action::Allow);
    let output = scene.run("read", json!({"filePath": "link.txt"})).await.unwrap();
    assert!(LINES.iter().all(|line| output.text.contains(line)), "{}", output.text);
    let output = scene.run("grep", json!({"pattern": "KEY", "path": "src"})).await.unwrap();
    assert!(output.text.contains("marker-one"), "{}", output.text);
}

#[tokio::test]
async fn reading_and_looking_around() {
    let paths =
        [".env", "./src/../.env", "src/.env", "there/.env", "link.txt", "", "src", ".env/x", ".en", "src/.envv"];
    for tool in ["read", "view"] {
        all(tool, &paths.map(|path| json!({"filePath": path}))).await;
    }
    all("read", &[json!({"filePath": ".env", "offset": 2, "limit": 1, "raw": true})]).await;
    for tool in ["glob", "list"] {
        all(tool, &["", "src", "there", ".env"].map(|path| json!({"pattern": "**/*.env", "path": path}))).await;
    }
}

#[tokio::test]
async fn searching() {
    for path in ["", "src", "there", ".env", "link.txt", "there/.env"] {
        for mode in ["content", "files", "count"] {
            let input = json!({"pattern": "KEY|OTHER", "path": path, "mode": mode, "context": 5});
            all("grep", &[input]).await;
        }
    }
    all("grep", &[json!({"pattern": "(?s)KEY.*", "include": "*.env"}), json!({"pattern": ".", "include": ".env"})])
        .await;
}

#[tokio::test]
async fn changes_and_their_refusals() {
    for path in [".env", "src/.env", "there/.env", "link.txt"] {
        for old in ["API_KEY=wrong", "api_key=m", "OTHER", ""] {
            all("edit", &[json!({"filePath": path, "oldString": old, "newString": "x"})]).await;
            let edits = json!([{"oldString": old, "newString": "x"}, {"oldString": "LAST", "newString": "y"}]);
            all("multiedit", &[json!({"filePath": path, "edits": edits})]).await;
        }
        let patches = [
            format!("*** Update File: {path}\n@@\n API_KEY=wrong\n-OTHER\n+x"),
            format!("*** Update File: {path}\n*** Move to: moved\n@@\n-OTHER=x\n+x"),
            format!("*** Add File: {path}\n+x"),
        ];
        for patch in patches {
            let text = format!("*** Begin Patch\n{patch}\n*** End Patch");
            all("apply_patch", &[json!({"patchText": text})]).await;
            all("patch", &[json!({"patchText": text})]).await;
        }
    }
}

#[tokio::test]
async fn commands_and_calls_in_calls() {
    let commands = [
        "cat .env",
        "cat link.txt",
        "head -1 there/.env",
        "cat .e*",
        "sort < src/.env",
        "cp .env x && cat x",
        "grep KEY .env",
    ];
    all("bash", &commands.map(|command| json!({"command": command}))).await;
    let calls = json!([{"tool": "read", "parameters": {"filePath": ".env"}}, {"tool": "grep", "parameters": {"pattern": "KEY"}}]);
    all("batch", &[json!({"tool_calls": calls})]).await;
}
