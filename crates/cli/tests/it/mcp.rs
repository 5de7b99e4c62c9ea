//! Servers of tools through the binary, and the binary as one.

mod changes;
mod lent;
mod served;
mod tokens;

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Machine, is_running, parts, wait_until};

/// A project with the server `small`, which has `more` tools beside its three.
fn machine(more: usize) -> Machine {
    let machine = Machine::uncaged(&[("a.txt", "one\n")]);
    let server = machine.root().join("server.py");
    std::fs::write(&server, include_str!("mcp/server.py")).unwrap();
    let command = json!(["python3", server, machine.root().join("started"), more.to_string()]);
    let small = json!({"type": "local", "command": command, "sandbox": {"mode": "off"}});
    machine.write("opencode.json", &json!({"mcp": {"small": small}}).to_string());
    machine
}

/// The processes that the server has been.
fn started(machine: &Machine) -> Vec<u32> {
    let log = std::fs::read_to_string(machine.root().join("started")).unwrap_or_default();
    log.lines().map(|line| line.parse().unwrap()).collect()
}

/// Nothing of it is left, and it has been started `times` times.
#[track_caller]
fn is_gone(machine: &Machine, times: usize) {
    let started = started(machine);
    assert_eq!(started.len(), times);
    wait_until("the end of the server", || !started.iter().any(|pid| is_running(*pid)));
}

fn names(machine: &Machine) -> Vec<String> {
    let listed = machine.haft(&["tool", "list", "--json"]).ok().json();
    listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_server_is_added_asked_and_described() {
    let machine = Machine::with(&[]);
    let server = machine.root().join("server.py");
    std::fs::write(&server, include_str!("mcp/server.py")).unwrap();
    machine.haft(&["mcp", "list"]).ok().says(&["the settings name no MCP servers"]);
    let (server, log) = (server.display().to_string(), machine.root().join("started").display().to_string());
    machine.haft(&["mcp", "add", "small", "--", "python3", &server, &log, "0"]).ok().says(&["added \"small\""]);
    // It is to run where nothing holds a cage, too.
    let path = machine.root().join("config/haft/haft.jsonc");
    let mut settings: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    settings["mcp"]["small"]["sandbox"] = json!({"mode": "off"});
    std::fs::write(&path, settings.to_string()).unwrap();
    let before = machine.haft(&["mcp", "list", "--offhand"]).ok().out;
    assert!(before.starts_with("○ small  not needed yet\n"), "{before}");
    is_gone(&machine, 0);
    let listed = machine.haft(&["mcp", "list"]).ok().out;
    assert!(listed.starts_with("✓ small  connected, 3 tools\n"), "{listed}");
    let told = machine.haft(&["mcp", "debug", "small", "--json"]).ok().json();
    assert_eq!(told["tools"], json!(["small_echo", "small_die", "small_weather"]));
    let after = machine.haft(&["mcp", "list", "--offhand"]).ok().out;
    assert!(after.starts_with("○ small  not needed yet, 3 tools known\n"), "{after}");
    is_gone(&machine, 2);
}

#[test]
fn what_is_known_of_a_server_is_listed_without_starting_it() {
    let machine = machine(0);
    for _ in 0..2 {
        let names = names(&machine);
        assert!(
            ["small_die", "small_echo", "read"].iter().all(|name| names.iter().any(|one| one == name)),
            "{names:?}"
        );
    }
    machine.haft(&["tool", "show", "small_echo"]).ok();
    is_gone(&machine, 1);
}

#[test]
fn its_tools_are_called_with_arguments_that_fit() {
    let machine = machine(0);
    let call = |args: Value| machine.haft(&["tool", "call", "small_echo", &args.to_string(), "--auto"]);
    assert_eq!(call(json!({"text": "hi", "times": 2})).ok().out, "hi hi\n");
    is_gone(&machine, 1);
    // What does not fit is told at once, and starts nothing.
    call(json!({"times": "often"})).ends(2).says(&["text", "times"]);
    is_gone(&machine, 1);
}

#[test]
fn a_rule_names_a_tool_of_a_server() {
    let machine = machine(0);
    let mut settings: Value = serde_json::from_str(&machine.read("opencode.json")).unwrap();
    settings["permission"] = json!({"small_echo": "ask", "small_w*": "deny"});
    machine.write("opencode.json", &settings.to_string());
    // Nobody is there to be asked.
    machine.haft(&["tool", "call", "small_echo", r#"{"text": "hi"}"#]).ends(3);
    let names = names(&machine);
    let has = |name: &str| names.iter().any(|one| one == name);
    assert!(has("small_echo") && !has("small_weather"), "{names:?}");
}

#[test]
fn a_server_that_dies_is_told_of_and_started_again() {
    let machine = machine(0);
    let echo = r#"{"tool": "small_echo", "args": {"text": "here"}}"#;
    let die = r#"{"tool": "small_die", "args": {}}"#;
    let lines = [echo, die, echo, die, die, ""].join("\n");
    let told = machine.piped(&["tool", "call", "--jsonl", "--auto"], &lines).ok().lines();
    let why = |at: usize| told[at]["error"]["message"].as_str().unwrap_or_default();
    assert_eq!((&told[0]["output"], &told[2]["output"]), (&json!("here"), &json!("here")), "{told:?}");
    assert!(why(1).contains("out of luck") && why(3).contains("out of luck"), "{told:?}");
    // It had worked each time before, so it is started each time.
    is_gone(&machine, 3);
}

#[test]
fn of_too_many_tools_the_model_is_sent_none_and_finds_them() {
    let machine = machine(36);
    let named = names(&machine);
    assert!(named.contains(&"tool_search".to_owned()) && named.contains(&"tool_call".to_owned()), "{named:?}");
    assert!(!named.iter().any(|name| name.starts_with("small_")), "{named:?}");
    let told = machine.haft(&["tool", "definitions", "--model", "openai/any"]).ok().json();
    assert!(told["per_tool"]["tool_search"].is_object() && !told.to_string().contains("small_filler_1"), "{told}");

    let model = machine.scenario(&[
        r#"{"answer":[{"call":"tool_search","args":{"query":"weather city"},"id":"c1"}]}"#,
        r#"{"answer":[{"call":"tool_call","args":{"name":"small_weather","arguments":{"city":"Bergen"}},"id":"c2"}]}"#,
        r#"{"answer":[{"text":"It rains."}]}"#,
    ]);
    let request = machine.haft(&["debug", "request", "--model", &model, "hello"]).ok().out;
    assert!(request.contains("39 tools come from: small.") && !request.contains("small_filler_1"), "{request}");
    machine.haft(&["run", "--auto", "--model", &model, "how is it"]).ok();
    let parts = parts(&machine.newest_session());
    let calls: Vec<&Value> = parts.iter().filter(|part| part["type"] == "tool").collect();
    let found = calls[0]["state"]["output"].as_str().unwrap();
    assert!(found.starts_with("small_weather\nHow the weather is in a city."), "{found}");
    assert_eq!(calls[1]["state"]["output"], "rain in Bergen", "{}", calls[1]);
    // Once to be asked what it has, once for the call.
    is_gone(&machine, 2);
}

/// The server that searches, which ends with this.
struct Searcher {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Searcher {
    fn start() -> Self {
        let mut command = Command::new("python3");
        command.args(["-c", include_str!("mcp/search.py")]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn says(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }
}

impl Drop for Searcher {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn the_web_and_code_are_searched_where_the_settings_say_where() {
    let without = names(&Machine::with(&[]));
    assert!(!without.iter().any(|name| name.ends_with("search") && name != "tool_search"), "{without:?}");
    let mut searcher = Searcher::start();
    let url = format!("http://127.0.0.1:{}/mcp", searcher.says());
    let settings = json!({"search": {"url": url}, "tools": {"codesearch": true}});
    let machine = Machine::with(&[]);
    let own = machine.root().join("config/haft");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("haft.json"), settings.to_string()).unwrap();
    let names = names(&machine);
    assert!(["codesearch", "websearch"].iter().all(|name| names.iter().any(|one| one == name)), "{names:?}");
    let call = |tool: &str, args: Value| machine.haft(&["tool", "call", tool, &args.to_string(), "--auto"]);
    let mut row = |tool: &str, args: Value, out: &str, asked: Value| {
        assert_eq!(call(tool, args).ok().out, out);
        assert_eq!(serde_json::from_str::<Value>(&searcher.says()).unwrap(), asked);
    };
    let web = |query: &str, results: u32| {
        let arguments = json!({"query": query, "type": "auto", "numResults": results, "livecrawl": "fallback"});
        json!({"name": "web_search_exa", "arguments": arguments})
    };
    row("websearch", json!({"query": "rust"}), "found by web_search_exa\n", web("rust", 8));
    let nothing = "Nothing was found. Try other words.\n";
    row("websearch", json!({"query": "nothing", "numResults": 999}), nothing, web("nothing", 100));
    let code = json!({"name": "get_code_context_exa", "arguments": {"query": "serde", "tokensNum": 5000}});
    row("codesearch", json!({"query": "serde"}), "found by get_code_context_exa\n", code);
    call("codesearch", json!({"query": "serde", "tokensNum": 1})).ends(2).says(&["tokensNum must be 1000 to 50000"]);
}

/// What `haft mcp serve` answers to these requests, in the order of their numbers.
fn serve(machine: &Machine, args: &[&str], requests: &[(&str, Value)]) -> Vec<Value> {
    let mut command = machine.command(&[&["mcp", "serve"], args].concat());
    let mut child = machine.start(command.stdin(Stdio::piped()));
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let client = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let mut answers = Vec::new();
    for (id, (method, params)) in [("initialize", hello)].iter().chain(requests).enumerate() {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(input, "{request}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], id, "{answer}");
        answers.push(answer);
        if id == 0 {
            writeln!(input, "{ready}").unwrap();
        }
    }
    // Whoever has nothing more to say has gone.
    drop(input);
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    answers
}

fn call(name: &str, arguments: Value) -> (&'static str, Value) {
    ("tools/call", json!({"name": name, "arguments": arguments}))
}

#[test]
fn another_agent_is_served_the_tools_behind_the_gate() {
    let settings = r#"{"permission": {"edit": {"secret.txt": "deny"}}}"#;
    let machine = Machine::uncaged(&[("a.txt", "one\n"), ("opencode.json", settings)]);
    let answers = serve(
        &machine,
        &["--auto"],
        &[
            ("tools/list", json!({})),
            call("read", json!({"filePath": "a.txt"})),
            call("write", json!({"filePath": "secret.txt", "content": "x"})),
            call("read", json!({"path": 1})),
        ],
    );
    let result = |at: usize| &answers[at]["result"];
    assert_eq!(result(0)["serverInfo"]["name"], "haft");
    assert_eq!(result(0)["protocolVersion"], "2025-06-18");
    let tools = result(1)["tools"].as_array().unwrap();
    let read = tools.iter().find(|tool| tool["name"] == "read").unwrap();
    assert_eq!((&read["annotations"]["readOnlyHint"], &read["inputSchema"]["type"]), (&json!(true), &json!("object")));
    assert!(!tools.iter().any(|tool| tool["name"] == "task"), "what needs a model is not offered");
    assert!(result(2)["content"][0]["text"].as_str().unwrap().contains("one"), "{}", answers[2]);
    assert_eq!(result(3)["isError"], true, "{}", answers[3]);
    assert!(!machine.project().join("secret.txt").exists());
    assert_eq!(result(4)["isError"], true, "{}", answers[4]);
}

#[test]
fn nobody_is_asked_where_the_client_cannot_ask() {
    let machine = Machine::uncaged(&[("a.txt", "one\n")]);
    let answers = serve(&machine, &[], &[call("bash", json!({"command": "touch made"}))]);
    let result = &answers[1]["result"];
    assert_eq!((&result["isError"], &result["_meta"]["haft"]["error"]["kind"]), (&json!(true), &json!("denied")));
    // Who reads it can tell the person what would allow it.
    let hint = result["content"][1]["text"].as_str().unwrap_or_default();
    assert!(hint.contains(r#"a rule for "bash""#) && hint.contains("haft mcp serve --auto"), "{result}");
    assert!(!machine.project().join("made").exists());
}

/// The status of the answer to a request with this header.
fn status(at: &str, header: &str) -> u16 {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let mut stream = TcpStream::connect(at).unwrap();
    let length = body.len();
    let accept = "Accept: application/json, text/event-stream\r\nContent-Type: application/json";
    let head = format!("POST /mcp HTTP/1.1\r\nHost: {at}\r\n{accept}\r\nContent-Length: {length}\r\n{header}\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).unwrap();
    String::from_utf8_lossy(&start[9..]).parse().unwrap()
}

#[test]
fn over_http_only_who_has_the_token_is_served() {
    let machine = Machine::uncaged(&[]);
    let mut command = machine.command(&["mcp", "serve", "--http", "127.0.0.1:0"]);
    let mut child = machine.start(command.env("HAFT_MCP_TOKEN", "sesame"));
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = told.find_map(|line| Some(line.unwrap().split_once("http://")?.1.to_owned())).unwrap();
    let at = line.strip_suffix("/mcp").unwrap();
    assert_eq!(status(at, ""), 401);
    assert_eq!(status(at, "Authorization: Bearer guess\r\n"), 401);
    assert_eq!(status(at, "Authorization: Bearer sesame\r\n"), 200);
    // Not even with it for a page that made its name lead here.
    assert_eq!(status(at, "Authorization: Bearer sesame\r\nOrigin: http://evil.example\r\n"), 403);
    child.kill().unwrap();
    child.wait().unwrap();
}
