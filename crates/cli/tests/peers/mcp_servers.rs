//! Servers of tools that others wrote: listed, called by a person and by a model, and ended with all that they started.
//! One of them wants the user to sign in.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::service::{Service, free_port};
use crate::support::{Machine, is_running, parts, wait_until};

/// Starts a program below a shell, as wrappers do, and writes down both.
const WRAPPER: &str = r#"exec 3<&0; "$@" <&3 & echo $$ $! >> "$PIDS"; wait"#;

/// A machine whose settings name the server `peer`: `program` with `args`.
fn machine(program: &Path, args: &[&str]) -> Machine {
    let machine = Machine::uncaged(&[("a.txt", "one\n")]);
    let mut command = vec![json!("sh"), json!("-c"), json!(WRAPPER), json!("sh"), json!(program)];
    command.extend(args.iter().map(|arg| json!(arg)));
    let pids = machine.root().join("pids");
    let environment = json!({"PIDS": pids});
    let peer = json!({"type": "local", "command": command, "environment": environment, "timeout": 120_000});
    machine.write("opencode.json", &json!({"mcp": {"peer": peer}}).to_string());
    machine
}

/// What `tool` gives, called by a person and by a model; and that it is listed, and gone in the end.
#[track_caller]
fn answers(machine: &Machine, tool: &str, args: &Value, want: &str) {
    let listed = machine.haft(&["mcp", "list"]).ok().out;
    assert!(listed.starts_with("✓ peer  connected"), "{listed}");
    let called = machine.haft(&["tool", "call", tool, &args.to_string(), "--auto"]).ok().out;
    assert!(called.contains(want), "{called}");
    let call = json!({"answer": [{"call": tool, "args": args, "id": "c1"}]}).to_string();
    // More tools than the budget holds are called by another one.
    let search = json!({"call": "tool_call", "args": {"name": tool, "arguments": args}, "id": "c1"});
    let names = machine.haft(&["tool", "list"]).ok().out;
    let call = if names.contains(tool) { call } else { json!({"answer": [search]}).to_string() };
    let model = machine.scenario(&[&call, r#"{"answer":[{"text":"Done."}]}"#]);
    machine.haft(&["run", "--auto", "--model", &model, "do it"]).ok();
    let parts = parts(&machine.newest_session());
    let done = parts.iter().find(|part| part["type"] == "tool").unwrap();
    assert!(done["state"]["output"].as_str().is_some_and(|output| output.contains(want)), "{done}");
    let pids = std::fs::read_to_string(machine.root().join("pids")).unwrap();
    let pids: Vec<u32> = pids.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    assert!(pids.len() >= 6, "{pids:?}");
    wait_until("the end of the server and its child", || !pids.iter().any(|pid| is_running(*pid)));
}

/// The folder with the programs that Python's packages bring.
fn python() -> Option<PathBuf> {
    crate::install::mcp_python()
}

#[test]
fn the_server_of_files_is_used() {
    let Some(bin) = crate::install::mcp() else { return };
    let machine = machine(&bin.join("mcp-server-filesystem"), &["."]);
    answers(&machine, "peer_read_text_file", &json!({"path": "a.txt"}), "one");
    let outside = json!({"path": "/etc/passwd"}).to_string();
    machine.haft(&["tool", "call", "peer_read_text_file", &outside, "--auto"]).ends(1).says(&["Access denied"]);
}

#[test]
fn the_server_of_a_memory_is_used() {
    let Some(bin) = crate::install::mcp() else { return };
    answers(&machine(&bin.join("mcp-server-memory"), &[]), "peer_read_graph", &json!({}), "entities");
}

#[test]
fn the_server_of_the_time_is_used() {
    let Some(bin) = python() else { return };
    let args = json!({"timezone": "UTC"});
    answers(&machine(&bin.join("mcp-server-time"), &[]), "peer_get_current_time", &args, "\"timezone\": \"UTC\"");
}

#[test]
fn the_server_of_repositories_is_used() {
    let Some(bin) = python() else { return };
    let machine = machine(&bin.join("mcp-server-git"), &[]);
    let made = Command::new("git").args(["init", "-q"]).current_dir(machine.project()).status().unwrap();
    assert!(made.success());
    answers(&machine, "peer_git_status", &json!({"repo_path": machine.project()}), "a.txt");
}

#[test]
fn the_server_of_pages_is_used() {
    let Some(bin) = python() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/page", listener.local_addr().unwrap());
    // Until the test ends.
    std::thread::spawn(move || listener.incoming().flatten().for_each(page));
    answers(
        &machine(&bin.join("mcp-server-fetch"), &["--ignore-robots-txt", "--allow-private-ips"]),
        "peer_fetch",
        &json!({"url": url}),
        "A page of ours",
    );
}

fn page(mut visitor: TcpStream) {
    // Up to the blank line that ends what is asked; nothing follows it.
    let asked = BufReader::new(&visitor).lines().map_while(Result::ok);
    asked.take_while(|line| !line.is_empty()).for_each(drop);
    let text = "A page of ours.\n";
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        text.len()
    );
    // Who goes away has seen enough.
    let _ = visitor.write_all(format!("{head}{text}").as_bytes());
}

#[test]
fn one_signs_in_at_a_server_that_somebody_else_made() {
    signs_in("http", "mcp");
}

#[test]
fn one_signs_in_at_a_server_that_speaks_the_older_way() {
    signs_in("sse", "sse");
}

/// Signs in at a server that speaks as `transport` at `path`, calls its tool, and lets what it gave run out.
#[track_caller]
fn signs_in(transport: &str, path: &str) {
    let Some(bin) = python() else { return };
    let port = free_port();
    let machine = Machine::uncaged(&[]);
    let script = machine.root().join("guarded.py");
    std::fs::write(&script, include_str!("mcp_guarded.py")).unwrap();
    let service = Service::at(port, Command::new(bin.join("python")).arg(&script).args([&port.to_string(), transport]));
    let oauth = json!({"callbackPort": free_port()});
    let there = json!({"type": "remote", "url": format!("{}/{path}", service.url), "oauth": oauth, "timeout": 120_000});
    machine.write("opencode.json", &json!({"mcp": {"guarded": there}}).to_string());
    let listed = machine.haft(&["mcp", "list"]).ok().out;
    assert!(listed.contains("guarded  wants you to sign in: haft mcp auth guarded"), "{listed}");
    let greet = r#"{"name": "Ada"}"#;
    machine.haft(&["tool", "call", "guarded_greet", greet, "--auto"]).ends(2);

    let mut signing = machine.start(&mut machine.command(&["mcp", "auth", "guarded", "--no-browser"]));
    let mut told = BufReader::new(signing.stderr.take().unwrap()).lines().map_while(Result::ok);
    let url = told.find_map(|line| Some(line.trim().to_owned()).filter(|line| line.starts_with("http://"))).unwrap();
    // The page says yes at once, and sends the browser back.
    let goes = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=60).read().decode())";
    let browser = Command::new(bin.join("python")).args(["-c", goes, &url]).output().unwrap();
    assert!(String::from_utf8_lossy(&browser.stdout).contains("You are signed in"), "{browser:?}");
    // Until it has said all.
    told.for_each(drop);
    assert!(signing.wait().unwrap().success());
    let greeted = machine.haft(&["tool", "call", "guarded_greet", greet, "--auto"]).ok().out;
    assert_eq!(greeted, "Hello, Ada.\n");
    // What has run out is made new without anybody.
    let path = machine.data().join("mcp-auth.json");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let kept = || -> Value { serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap() };
    let mut old = kept();
    old["guarded"]["tokens"]["expiresAt"] = 1.into();
    std::fs::write(&path, old.to_string()).unwrap();
    machine.haft(&["tool", "call", "guarded_greet", greet, "--auto"]).ok();
    let (old, new) = (&old["guarded"]["tokens"], &kept()["guarded"]["tokens"]);
    assert!(new["accessToken"].is_string() && new["accessToken"] != old["accessToken"], "{}", new["expiresAt"]);
    machine.haft(&["mcp", "logout", "guarded"]).ok();
    let listed = machine.haft(&["mcp", "list"]).ok().out;
    assert!(listed.contains("wants you to sign in"), "{listed}");
}
