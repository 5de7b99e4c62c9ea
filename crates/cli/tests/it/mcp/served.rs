//! A client that can ask its person: what it is asked while haft's tools run for it, and how it stops a call.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::support::{Machine, wait_until};

/// A client of `haft mcp serve`, which ends with it.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// The number of the latest call.
    latest: u64,
}

impl Client {
    /// One that shows forms.
    fn new(machine: &Machine) -> Self {
        let mut child = machine.start(machine.command(&["mcp", "serve"]).stdin(Stdio::piped()));
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut client = Self { child, input, output, latest: 0 };
        let about = json!({"name": "test", "version": "1"});
        let can = json!({"elicitation": {"form": {}}});
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": can, "clientInfo": about});
        client.say(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}));
        client.hear();
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn call(&mut self, name: &str, arguments: &Value) {
        self.latest += 1;
        let params = json!({"name": name, "arguments": arguments});
        self.say(&json!({"jsonrpc": "2.0", "id": self.latest, "method": "tools/call", "params": params}));
    }

    /// The form that is to be filled in next; what is `filled` in comes back.
    fn fills_in(&mut self, filled: &Value) -> Value {
        let asked = self.hear();
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let result = json!({"action": "accept", "content": filled});
        self.say(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}));
        asked["params"].clone()
    }

    /// The text that a call came to, once it has.
    fn came(&mut self) -> String {
        let answer = self.hear();
        assert_eq!(answer["id"], self.latest, "{answer}");
        answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.input.take());
        self.child.wait().unwrap();
    }
}

#[test]
fn its_person_gives_leave_or_says_what_to_do_instead() {
    let machine = Machine::uncaged(&[]);
    let mut client = Client::new(&machine);
    let touch = json!({"command": "touch made"});
    client.call("bash", &touch);
    let form = client.fills_in(&json!({"answer": "instead"}));
    assert!(form["message"].as_str().unwrap().contains("wants to run a command\n  touch made"), "{form}");
    let fields = &form["requestedSchema"];
    assert_eq!((&fields["required"], fields["properties"].as_object().unwrap().len()), (&json!(["answer"]), 1));
    let form = client.fills_in(&json!({"reason": "make two.txt"}));
    assert_eq!(form["message"], "What should the agent do instead?");
    assert_eq!(client.came(), "the user refused this call and says: make two.txt");
    client.call("bash", &touch);
    client.fills_in(&json!({"answer": "reject"}));
    assert_eq!(client.came(), "the user refused this call");
    assert!(!machine.project().join("made").exists());
    client.call("bash", &touch);
    client.fills_in(&json!({"answer": "always"}));
    client.came();
    // From now on it is not asked about.
    client.call("bash", &touch);
    client.came();
    assert!(machine.project().join("made").exists());
}

#[test]
fn its_person_answers_questions() {
    let machine = Machine::uncaged(&[]);
    let mut client = Client::new(&machine);
    let option = |label: &str| json!({"label": label, "description": format!("as {label}")});
    let question = json!({"question": "Which colour?", "header": "Colour", "options": [option("Red"), option("Blue")]});
    let asked = json!({ "questions": [question] });
    client.call("question", &asked);
    let form = client.fills_in(&json!({"q1": "Blue"}));
    assert_eq!(form["message"], "Which colour?\n- Red: as Red\n- Blue: as Blue");
    assert!(client.came().contains("Blue"));
    client.call("question", &asked);
    client.fills_in(&json!({"q1": "In my own words"}));
    let form = client.fills_in(&json!({"q1": "a dark green"}));
    assert_eq!(form["message"], "Which colour?");
    assert!(client.came().contains("a dark green"));
}

#[test]
fn a_call_that_it_stops_leaves_nothing_running() {
    let machine = Machine::uncaged(&[]);
    let mut client = Client::new(&machine);
    client.call("bash", &json!({"command": "echo $$ > pid; sleep 600"}));
    client.fills_in(&json!({"answer": "once"}));
    let pid = || std::fs::read_to_string(machine.project().join("pid")).ok()?.trim().parse::<u32>().ok();
    wait_until("the command", || pid().is_some());
    let pid = pid().unwrap();
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    wait_until("the end of the command", || !crate::support::is_running(pid));
    // It can be asked for more.
    client.call("glob", &json!({"pattern": "p*"}));
    assert!(client.came().contains("pid"));
}
