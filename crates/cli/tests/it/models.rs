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

fn show() -> (&'static str, String) {
    let info = json!({"model_info": {"qwen3.context_length": 40960}, "capabilities": ["completion", "tools"]});
    ("/api/show", info.to_string())
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
    let local = Local::serve(vec![tags(), show(), chat("Hello from here.")]);
    let mut command = machine.command(&["run", "hi"]);
    let ran = Ran::from(command.env("OLLAMA_HOST", &local.address).output().unwrap()).ok();
    assert_eq!(ran.out, "Hello from here.\n");
    for told in ["no model is configured", "ollama/qwen3:8b", &local.address, "--model ollama/qwen3:8b"] {
        assert!(ran.err.contains(told), "{told:?} is not in {}", ran.err);
    }
    assert!(local.asked()[2].contains(r#""model":"qwen3:8b""#));
}

#[test]
fn a_named_model_of_this_machine_has_what_its_server_says_and_is_asked_again() {
    let machine = Machine::with(&[]);
    let run = |args: &[&str]| {
        let local = Local::serve(vec![tags(), show(), chat("Hello from here.")]);
        let ran = Ran::from(machine.command(args).env("OLLAMA_HOST", &local.address).output().unwrap()).ok();
        let asked = local.asked();
        // A context of 40,960 tokens has room for all tools.
        assert!(asked[2].contains(r#""name":"todowrite""#), "{}", asked[2]);
        ran
    };
    assert!(!run(&["run", "--model", "ollama/qwen3:8b", "hi"]).err.contains("no model is configured"));
    let kept: Value =
        serde_json::from_str(&std::fs::read_to_string(machine.root().join("state/haft/model.json")).unwrap()).unwrap();
    assert_eq!(kept["recent"], json!([{"providerID": "ollama", "modelID": "qwen3:8b"}]));
    assert!(run(&["run", "hi"]).err.contains("so ollama/qwen3:8b is asked"));
}

#[test]
fn a_key_is_enough_to_ask_its_vendor_and_to_look_nowhere_else() {
    let machine = Machine::with(&[]);
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let local = Local::serve(vec![("/v1/messages", claude("Bonjour."))]);
    let mut command = machine.command(&["run", "hi"]);
    command.env("OLLAMA_HOST", other.local_addr().unwrap().to_string()).env("ANTHROPIC_API_KEY", "key-for-claude");
    let ran = Ran::from(command.env("ANTHROPIC_BASE_URL", format!("http://{}", local.address)).output().unwrap()).ok();
    assert_eq!(ran.out, "Bonjour.\n");
    for told in ["ANTHROPIC_API_KEY is set", "anthropic/claude-sonnet-4", "--model", "haft models"] {
        assert!(ran.err.contains(told), "{told:?} is not in {}", ran.err);
    }
    local.asked();
    assert!(other.accept().is_err(), "a server was asked for its models");
}

#[test]
fn a_setting_is_enough_not_to_look() {
    // Whoever were asked would answer, and the run would go on.
    let machine = Machine::with(&[]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    machine.write("opencode.json", r#"{"provider": {"own": {"options": {"baseURL": "http://127.0.0.1:1/v1"}}}}"#);
    let ran = Ran::from(machine.command(&["run", "hi"]).env("OLLAMA_HOST", &address).output().unwrap());
    ran.ends(2).says(&["no model is named", "--model own/MODEL"]);
    // A key to much else than models is none of a model's.
    machine.write("opencode.json", "{}");
    let ran = Ran::from(machine.command(&["run", "hi"]).env("GITHUB_TOKEN", "ghp_k").output().unwrap());
    ran.ends(2).says(&["no model is configured"]);
    assert!(listener.accept().is_err(), "a server was asked for its models");
}

/// What Claude's interface answers.
fn claude(words: &str) -> String {
    let event = |value: Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap());
    let answer = [
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 700, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 200}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": words}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 50}}),
        json!({"type": "message_stop"}),
    ];
    answer.into_iter().map(event).collect()
}

#[test]
fn claude_is_asked_in_its_own_dialect() {
    let machine = Machine::with(&[]);
    let local = Local::serve(vec![("/v1/messages", claude("Bonjour."))]);
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
fn gitlab_gives_a_token_for_its_gateway_and_the_gateway_answers() {
    let machine = Machine::with(&[]);
    let token = json!({"token": "gateway-token", "headers": {"X-Gitlab-Realm": "saas", "x-api-key": "other"}});
    let local = Local::serve(vec![
        ("/gitlab.com/api/v4/ai/third_party_agents/direct_access", token.to_string()),
        ("/ai/v1/proxy/anthropic/v1/messages", claude("Ahoj.")),
    ]);
    let here = format!("http://{}", local.address);
    let mut command = machine.command(&["run", "--model", "gitlab/duo-chat-sonnet-4-5", "hi"]);
    command.env("GITLAB_TOKEN", "glpat-marker").env("GITLAB_AI_GATEWAY_URL", &here).env("HAFT_AUTH_SERVER", &here);
    let ran = Ran::from(command.output().unwrap()).ok();
    assert_eq!(ran.out, "Ahoj.\n");
    let asked = local.asked();
    assert!(asked[0].contains("authorization: Bearer glpat-marker\r\n"), "{}", asked[0]);
    for sent in ["authorization: Bearer gateway-token\r\n", "x-gitlab-realm: saas\r\n", "claude-sonnet-4-5-20250929"] {
        assert!(asked[1].contains(sent), "{sent} is not in {}", asked[1]);
    }
    assert!(!asked[1].contains("marker") && !asked[1].contains("x-api-key"), "{}", asked[1]);
}

#[test]
fn models_shows_what_is_configured_and_what_is_found() {
    let machine = Machine::with(&[]);
    let local = Local::serve(vec![tags(), show()]);
    let mut command = machine.command(&["models", "ollama", "--json"]);
    let found = Ran::from(command.env("OLLAMA_HOST", &local.address).output().unwrap()).ok().json();
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
    let row = &found[0];
    assert_eq!(
        (&row["id"], &row["providerID"], &row["source"]),
        (&json!("qwen3:8b"), &json!("ollama"), &json!("local"))
    );
    assert_eq!((&row["limit"]["context"], &row["capabilities"]["toolcall"]), (&json!(40_960), &json!(true)));
    local.asked();

    machine.write(
        "opencode.json",
        r#"{"provider": {"own": {"api": "http://127.0.0.1:1/v1", "models": {"b": {"name": "The B"}, "a": {}, "no": {}}, "blacklist": ["no"]}}}"#,
    );
    let listed = machine.haft(&["models", "own", "--json"]).ok().json();
    let names: Vec<_> =
        listed.as_array().unwrap().iter().map(|one| (one["id"].as_str(), one["name"].as_str())).collect();
    assert_eq!(names, [(Some("a"), Some("a")), (Some("b"), Some("The B"))]);
    assert_eq!(machine.haft(&["models", "own"]).ok().out, "own/a\nown/b\n");
    let all = machine.haft(&["models"]).ok().out;
    assert!(all.starts_with("own/a\nown/b\n") && all.contains("\nopencode/big-pickle\n"), "{all}");
    assert!(!all.contains("anthropic/") && !all.contains("opencode/claude"), "{all}");
    machine.haft(&["models", "nobody"]).ends(2).says(&["there is no provider \"nobody\""]);
    let vendor = machine.haft(&["run", "--model", "anthropic", "hi"]).ends(2);
    vendor.says(&["\"anthropic\" is a vendor", "anthropic/MODEL", "haft models anthropic"]);
}

#[test]
fn models_shows_a_vendor_with_and_without_a_key() {
    let machine = Machine::with(&[]);
    let without = machine
        .haft(&["models", "anthropic", "--verbose"])
        .ok()
        .says(&["there is no key for anthropic", "ANTHROPIC_API_KEY"]);
    let line = without.out.lines().find(|line| line.starts_with("anthropic/claude-sonnet-4-5 ")).unwrap().to_owned();
    for part in ["200k", "64k", "3", "15", "0.3", "tools thinks images pdf", "no key"] {
        assert!(line.contains(part), "{part} is not in {line}");
    }
    assert!(!without.out.contains("claude-3-7-sonnet"), "what is gone is not listed");
    let mut command = machine.command(&["models", "--json"]);
    let with = Ran::from(command.env("ANTHROPIC_API_KEY", "marker-of-a-key").output().unwrap()).ok();
    assert!(!with.out.contains("marker-of-a-key") && !with.err.contains("marker-of-a-key"));
    let list = with.json();
    let found = list
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["id"] == "claude-sonnet-4-5" && one["providerID"] == "anthropic");
    let found = found.unwrap();
    assert_eq!((&found["source"], &found["cost"]["input"]), (&json!("env"), &json!(3.0)));
    assert_eq!(found["variants"]["high"], json!({"thinking": {"type": "enabled", "budgetTokens": 16_000}}));
    let everything = machine.haft(&["models", "--all"]).ok().out.lines().count();
    assert!(everything > 4_000, "{everything}");
}

#[test]
fn a_slip_in_a_name_is_told_before_anybody_is_asked() {
    let machine = Machine::with(&[]);
    let run = |model: &str| machine.haft(&["run", "hi", "--model", model]);
    run("anthropic/claude-sonet-4-5").ends(2).says(&["did you mean anthropic/claude-sonnet-4-5"]);
    run("antropic/claude-sonnet-4-5").ends(2).says(&["did you mean anthropic?"]);
    run("claude-sonnet-4-5").ends(2).says(&["did you mean anthropic/claude-sonnet-4-5,"]);
    run("gpt5.1").ends(2).says(&["did you mean", "/gpt-5.1"]);
}

#[test]
fn the_list_is_fetched_from_the_configured_address_alone() {
    let machine = Machine::with(&[]);
    machine.haft(&["models", "--refresh"]).ends(2).says(&["no address is configured", "catalogue", "HAFT_MODELS_URL"]);

    let vendor = json!({"name": "New", "env": ["NEW_KEY"], "npm": "@ai-sdk/openai-compatible", "api": "https://new.example/v1",
        "models": {"m1": {"id": "m1", "name": "M1", "last_updated": "2999-01-01", "limit": {"context": 1000, "output": 10}}}});
    let local = Local::serve(vec![("/api.json", json!({"new": vendor}).to_string())]);
    let mut command = machine.command(&["models", "--refresh"]);
    let ran = Ran::from(command.env("OPENCODE_MODELS_URL", format!("http://{}", local.address)).output().unwrap()).ok();
    assert!(ran.err.contains("1 models of 1 vendors") && ran.err.contains("new vendors: new"), "{}", ran.err);
    local.asked();
    assert_eq!(machine.haft(&["models", "new"]).ok().out, "new/m1\n");
    machine.haft(&["models", "anthropic"]).ends(2).says(&["there is no provider \"anthropic\""]);

    // What is broken leaves everything as it was.
    for broken in ["<html>", "{}", r#"{"new": {"npm": "x", "api": "http://evil.example", "models": {}}}"#] {
        let local = Local::serve(vec![("/list.json", broken.to_owned())]);
        machine.write(
            "haft.json",
            &json!({"catalogue": {"url": format!("http://{}/list.json", local.address)}}).to_string(),
        );
        machine.haft(&["models", "--refresh", "--trust"]).ends(1).says(&["the list of models stays as it was"]);
        local.asked();
        assert_eq!(machine.haft(&["models", "new"]).ok().out, "new/m1\n");
    }
}

#[test]
fn a_file_may_stand_for_the_list() {
    let machine = Machine::with(&[]);
    machine.write(
        "list.json",
        r#"{"v": {"npm": "@ai-sdk/openai-compatible", "api": "https://v.example/v1", "models": {"m": {"id": "m"}}}}"#,
    );
    let list = |file: &str| {
        let mut command = machine.command(&["models", "v"]);
        Ran::from(command.env("OPENCODE_MODELS_PATH", machine.project().join(file)).output().unwrap())
    };
    assert_eq!(list("list.json").ok().out, "v/m\n");
    machine.write("broken.json", "{");
    list("broken.json").ends(2).says(&["warning: the list of models in", "is not used"]);
}
