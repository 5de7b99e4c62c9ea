//! A server that plays vendors, each in its own dialect.

use std::process::Command;

use serde_json::json;

use crate::scene::{CHAT, CONVERSE, GEMINI, MESSAGES, RESPONSES, machine, works};
use crate::service::{Service, free_port};

#[test]
fn each_vendor_is_understood_as_another_program_plays_it() {
    let Some(aimock) = crate::install::aimock() else { return };
    let folder = tempfile::tempdir().unwrap();
    let written = folder.path().join("answers.json");
    let call = |tool: &str, arguments: serde_json::Value| json!({"toolCalls": [{"name": tool, "arguments": arguments.to_string()}]});
    let edit = json!({"filePath": "a.txt", "oldString": "one", "newString": "two"});
    let answers = json!({"fixtures": [
        {"match": {"turnIndex": 0}, "response": call("read", json!({"filePath": "a.txt"}))},
        {"match": {"turnIndex": 1}, "response": call("edit", edit)},
        {"match": {"turnIndex": 2}, "response": {"content": "All done."}},
    ]});
    std::fs::write(&written, answers.to_string()).unwrap();
    let port = free_port();
    let server = Service::at(port, Command::new(aimock).args(["-p", &port.to_string(), "-f"]).arg(&written));
    let options = |path: &str| json!({"baseURL": format!("{}{path}", server.url), "apiKey": "key"});
    works(&machine(CHAT, "gpt-4o", options("/v1")), "chat");
    works(&machine(RESPONSES, "gpt-4o", options("/v1")), "responses");
    works(&machine(MESSAGES, "claude-x", options("/v1")), "messages");
    works(&machine(GEMINI, "gemini-x", options("/v1beta")), "gemini");
    // Of a mark among the tools, as Claude is sent one there, that program knows nothing.
    let options = json!({"endpoint": server.url, "region": "us-east-1", "apiKey": "key"});
    works(&machine(CONVERSE, "amazon.nova-pro-v1:0", options), "converse");
}
