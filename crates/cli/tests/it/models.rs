//! Which model is asked, and what `haft models` shows.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::support::{Machine, Ran};

/// A server on this machine that answers each connection's one request with what stands for its path, and gives back
/// what it was asked.
struct Local {
    address: String,
    server: std::thread::JoinHandle<Vec<String>>,
}

impl Local {
    /// Answers as many requests as there are `answers`, each a path and a body.
    fn serve(answers: Vec<(&'static str, String)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let mut asked = Vec::new();
            for (path, body) in answers {
                let (mut socket, _) = listener.accept().unwrap();
                let request = whole(&mut socket);
                assert!(request.split(' ').nth(1) == Some(path), "{path} is not asked in {request}");
                let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: ";
                socket.write_all(format!("{head}{}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
                asked.push(request);
            }
            asked
        });
        Self { address, server }
    }

    fn asked(self) -> Vec<String> {
        self.server.join().unwrap()
    }
}

/// A request, head and body.
fn whole(socket: &mut impl Read) -> String {
    let mut asked = Vec::new();
    let mut block = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&asked).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return text;
            }
        }
        let read = socket.read(&mut block).unwrap();
        assert_ne!(read, 0, "closed after {text:?}");
        asked.extend_from_slice(&block[..read]);
    }
}

fn tags() -> (&'static str, String) {
    ("/api/tags", json!({"models": [{"name": "nomic-embed-text"}, {"name": "qwen3:8b"}]}).to_string())
}

fn chat(words: &str) -> (&'static str, String) {
    let said = json!({"choices": [{"delta": {"content": words}, "finish_reason": "stop"}]});
    ("/v1/chat/completions", format!("data: {said}\n\ndata: [DONE]\n\n"))
}

#[test]
fn a_server_on_this_machine_is_asked_when_nothing_is_configured() {
    let machine = Machine::with(&[]);
    let local = Local::serve(vec![tags(), chat("Hello from here.")]);
    let mut command = machine.command(&["run", "hi"]);
    let ran = Ran::from(command.env("OLLAMA_HOST", &local.address).output().unwrap()).ok();
    assert_eq!(ran.out, "Hello from here.\n");
    for told in ["no model is configured", "ollama/qwen3:8b", &local.address, "--model ollama/qwen3:8b"] {
        assert!(ran.err.contains(told), "{told:?} is not in {}", ran.err);
    }
    assert!(local.asked()[1].contains(r#""model":"qwen3:8b""#));
}

#[test]
fn a_key_or_a_setting_is_enough_not_to_look() {
    // Whoever were asked would answer, and the run would go on.
    let machine = Machine::with(&[]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let run = |key: Option<(&str, &str)>| {
        let mut command = machine.command(&["run", "hi"]);
        Ran::from(command.env("OLLAMA_HOST", &address).envs(key).output().unwrap())
    };
    run(Some(("ANTHROPIC_API_KEY", "k"))).ends(2).says(&["ANTHROPIC_API_KEY is set", "--model anthropic/MODEL"]);
    machine.write("opencode.json", r#"{"provider": {"own": {"options": {"baseURL": "http://127.0.0.1:1/v1"}}}}"#);
    run(None).ends(2).says(&["no model is named", "--model own/MODEL"]);
    assert!(listener.accept().is_err(), "a server was asked for its models");
}

#[test]
fn claude_is_asked_in_its_own_dialect() {
    let machine = Machine::with(&[]);
    let event = |value: Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap());
    let answer = [
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 700, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 200}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Bonjour."}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 50}}),
        json!({"type": "message_stop"}),
    ];
    let local = Local::serve(vec![("/v1/messages", answer.into_iter().map(event).collect())]);
    let mut command = machine.command(&["run", "hi", "--model", "anthropic/claude-sonnet-4-5"]);
    command.env("ANTHROPIC_API_KEY", "key-for-claude").env("ANTHROPIC_BASE_URL", format!("http://{}", local.address));
    assert_eq!(Ran::from(command.output().unwrap()).ok().out, "Bonjour.\n");
    let asked = local.asked().remove(0);
    assert!(asked.contains("x-api-key: key-for-claude\r\n"), "{asked}");
    let body: Value = serde_json::from_str(asked.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(body["model"], "claude-sonnet-4-5");
    assert_eq!(body["system"][0]["cache_control"], json!({"type": "ephemeral"}));
    assert!(body["tools"][0]["input_schema"].is_object(), "{}", body["tools"]);
    let tokens = &machine.newest_session()["info"]["tokens"];
    assert_eq!(*tokens, json!({"input": 700, "output": 50, "reasoning": 0, "cache": {"read": 200, "write": 100}}));
}

#[test]
fn models_shows_what_is_configured_and_what_is_found() {
    let machine = Machine::with(&[]);
    let local = Local::serve(vec![tags()]);
    let mut command = machine.command(&["models", "ollama", "--json"]);
    let found = Ran::from(command.env("OLLAMA_HOST", &local.address).output().unwrap()).ok().json();
    assert_eq!(found, json!([{"id": "ollama/qwen3:8b", "name": null, "source": "found"}]));
    local.asked();

    machine.write(
        "opencode.json",
        r#"{"provider": {"own": {"models": {"b": {"name": "The B"}, "a": {}, "no": {}}, "blacklist": ["no"]}}}"#,
    );
    let listed = machine.haft(&["models", "--json"]).ok().json();
    let row = |id: &str, name: Value| json!({"id": id, "name": name, "source": "configured"});
    assert_eq!(listed, json!([row("own/a", Value::Null), row("own/b", json!("The B"))]));
    assert_eq!(machine.haft(&["models"]).ok().out, "own/a\nown/b\n");
    machine.haft(&["models", "nobody"]).ends(2).says(&["there is no provider \"nobody\""]);
}
