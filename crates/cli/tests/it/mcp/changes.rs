//! What changes while `haft mcp serve` runs, and a server that is added by answering questions.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::Machine;
use crate::terminal::{Terminal, WIDE};

const TOOL: &str = "export default {description: 'DOES', args: {}, async execute() { return 'hi' }}\n";

#[test]
fn a_client_is_told_when_a_file_of_tools_changes() {
    let machine = Machine::uncaged(&[]);
    let mut command = machine.command(&["mcp", "serve"]);
    let mut child = machine.start(command.stdin(Stdio::piped()));
    let (mut input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut messages = output.lines().map(|line| -> Value { serde_json::from_str(&line.unwrap()).unwrap() });
    let mut say = |message: Value| writeln!(input, "{message}").unwrap();
    let client = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    say(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}));
    assert_eq!(messages.next().unwrap()["result"]["capabilities"]["tools"]["listChanged"], true);
    say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let list = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"});
    say(list(1));
    let named = |answer: &Value| {
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
        let hello = tools.iter().find(|tool| tool["name"] == "hello");
        hello.map(|tool| tool["description"].as_str().unwrap().to_owned())
    };
    assert_eq!(named(&messages.next().unwrap()), None);
    for (id, does) in [(2, "Greets."), (3, "Greets loudly.")] {
        machine.write(".opencode/tool/hello.ts", &TOOL.replace("DOES", does));
        assert_eq!(messages.next().unwrap()["method"], "notifications/tools/list_changed");
        say(list(id));
        assert_eq!(named(&messages.next().unwrap()).as_deref(), Some(does));
    }
    let call = json!({"name": "hello", "arguments": {}});
    say(json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": call}));
    assert_eq!(messages.next().unwrap()["result"]["content"][0]["text"], "hi");
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn what_add_is_not_told_it_asks_for() {
    let machine = Machine::with(&[]);
    machine
        .haft(&["mcp", "add"])
        .ends(2)
        .says(&["nobody is there to say which server is meant", "haft mcp add NAME --"]);
    let mut terminal = Terminal::open(&machine.command(&["mcp", "add"]), WIDE);
    terminal.wait_for("What to call it");
    terminal.type_text("clock\n");
    terminal.wait_for("or the command that starts it:");
    terminal.type_text("uvx 'mcp server' time\n");
    terminal.wait_for("as NAME=VALUE");
    terminal.type_text("TZ=UTC\n");
    terminal.wait_for_times("as NAME=VALUE", 2);
    terminal.type_text("\n");
    terminal.wait_for("added \"clock\"");
    assert_eq!(terminal.wait_exit(), 0, "{}", terminal.screen());
    let settings = std::fs::read_to_string(machine.root().join("config/haft/haft.jsonc")).unwrap();
    let settings: Value = serde_json::from_str(&settings).unwrap();
    let want = json!({"type": "local", "command": ["uvx", "mcp server", "time"], "environment": {"TZ": "UTC"}});
    assert_eq!(settings["mcp"]["clock"], want);

    let mut terminal = Terminal::open(&machine.command(&["mcp", "add", "docs"]), WIDE);
    terminal.wait_for("Its address");
    terminal.type_text("\u{3}");
    assert_eq!(terminal.wait_exit(), 130, "{}", terminal.screen());
}
