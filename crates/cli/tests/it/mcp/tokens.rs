//! A server behind OAuth that a program signs in to by itself.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::json;

use crate::support::Machine;

/// The server, which ends with this.
struct Guarded {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Guarded {
    fn start() -> Self {
        let mut command = Command::new("python3");
        command.args(["-c", include_str!("tokens.py")]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn says(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn machine(url: &str, secret: &str) -> Machine {
    let machine = Machine::uncaged(&[]);
    let oauth = json!({"grant": "client_credentials", "clientId": "robot", "clientSecret": secret});
    let server = json!({"type": "remote", "url": format!("{url}/mcp"), "oauth": oauth});
    machine.write("opencode.json", &json!({"mcp": {"guarded": server}}).to_string());
    machine
}

#[test]
fn tokens_are_got_without_a_person_and_anew_when_they_are_refused() {
    let mut guarded = Guarded::start();
    let url = guarded.says();
    let machine = machine(&url, "s3cret");
    let whoami = r#"{"tool": "guarded_whoami", "args": {}}"#;
    let told = machine.piped(&["tool", "call", "--jsonl", "--auto"], &[whoami, whoami, ""].join("\n")).ok().lines();
    assert_eq!((&told[0]["output"], &told[1]["output"]), (&json!("token-1"), &json!("token-3")), "{told:?}");
    assert_eq!(guarded.says(), "gave token-1 for /mcp");
    assert_eq!(guarded.says(), "gave token-3 for /mcp");
    let listed = machine.haft(&["mcp", "auth", "list", "--json"]).ok();
    assert!(!listed.out.contains("token-") && !listed.out.contains("s3cret"), "{}", listed.out);
    assert_eq!(listed.json()[0]["state"], "authenticated");
    machine.haft(&["mcp", "logout", "guarded"]).ok();
    machine.haft(&["mcp", "auth", "guarded"]).ok().says(&["guarded gave a token; nobody has to sign in there"]);
    assert_eq!(guarded.says(), "gave token-5 for /mcp");
}

#[test]
fn who_is_not_known_there_is_told_so_without_their_secret() {
    let mut guarded = Guarded::start();
    let url = guarded.says();
    let machine = machine(&url, "wr0ng-secret");
    let listed = machine.haft(&["mcp", "list"]).ok().out;
    assert!(listed.contains("guarded gave no token") && listed.contains("not you (invalid_client)"), "{listed}");
    assert!(!listed.contains("wr0ng"), "{listed}");
    machine.haft(&["mcp", "auth", "guarded"]).ends(1).says(&["not you (invalid_client)"]);
}
