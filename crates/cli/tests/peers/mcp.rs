//! Tools of MCP's own server, over all ways, and ours before its own inspector.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::service::{Service, free_port};
use crate::support::Machine;

#[test]
fn the_server_of_everything_is_called_over_all_ways() {
    let Some(bin) = crate::install::mcp() else { return };
    let program = bin.join("mcp-server-everything");
    let service = |way: &str| {
        let port = free_port();
        Service::at(port, Command::new(&program).arg(way).env("PORT", port.to_string()))
    };
    let (newer, older) = (service("streamableHttp"), service("sse"));
    let here = json!({"type": "local", "command": [program], "sandbox": {"mode": "off"}});
    let there = json!({"type": "remote", "url": format!("{}/mcp", newer.url)});
    let oldest = json!({"type": "remote", "url": format!("{}/sse", older.url)});
    let settings = json!({"mcp": {"here": here, "there": there, "older": oldest}}).to_string();
    let machine = Machine::uncaged(&[("opencode.json", &settings)]);
    for server in ["here", "there", "older"] {
        let listed = machine.haft(&["mcp", "list"]).ok().out;
        assert!(listed.contains(&format!("✓ {server}")), "{listed}");
        let call = |tool: &str, args: Value| {
            machine.haft(&["tool", "call", &format!("{server}_{tool}"), &args.to_string(), "--auto"]).ok().out
        };
        assert_eq!(call("echo", json!({"message": "hi"})), "Echo: hi\n", "{server}");
        assert_eq!(call("get-sum", json!({"a": 2, "b": 3})), "The sum of 2 and 3 is 5.\n", "{server}");
    }
}

#[test]
fn its_inspector_lists_and_calls_our_tools() {
    let Some(bin) = crate::install::mcp() else { return };
    let machine = Machine::uncaged(&[("a.txt", "one\n")]);
    let inspect = |args: &[&str]| -> Value {
        // As it is started by a client, with the environment of this machine's own.
        let ours = machine.command(&[]);
        let mut command = Command::new(bin.join("mcp-inspector"));
        command.args(["--cli", env!("CARGO_BIN_EXE_haft"), "mcp", "serve", "--dir"]).arg(machine.project()).args(args);
        command.env_clear().envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = command.current_dir(machine.project()).stdin(Stdio::null()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_str(&told).unwrap()
    };
    let tools = inspect(&["--method", "tools/list"]);
    assert!(tools["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "read"), "{tools}");
    let read = inspect(&["--method", "tools/call", "--tool-name", "read", "--tool-arg", "filePath=a.txt"]);
    assert!(read["content"][0]["text"].as_str().unwrap().contains("1: one"), "{read}");
}
