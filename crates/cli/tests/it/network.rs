//! What leaves this machine: nothing that nobody asked for, and offline nothing at all but to what the user named.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::{Machine, RUNG, Ran};

const ANSWER: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi.\"}}]}\n\n\
                      data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// A proxy that answers each request itself, whoever it is for, and remembers its first line.
struct Proxy {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&asked);
        std::thread::spawn(move || {
            while let Ok((mut socket, _)) = listener.accept() {
                let request = whole(&mut socket);
                told.lock().unwrap().push(request.lines().next().unwrap_or_default().to_owned());
                let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n";
                // Who wanted a tunnel is not there any more.
                let _ = socket.write_all(format!("{head}{ANSWER}").as_bytes());
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// `command`, with this as every proxy there can be.
    fn before<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            command.env(name, &self.address).env(name.to_lowercase(), &self.address);
        }
        command
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
        match socket.read(&mut block) {
            Ok(read) if read > 0 => asked.extend_from_slice(&block[..read]),
            _ => return text,
        }
    }
}

/// A provider `own` at `url`.
fn provider(url: &str) -> Value {
    json!({ "provider": { "own": {
        "npm": "@ai-sdk/openai-compatible",
        "options": { "baseURL": url },
        "models": { "m1": {} }
    }}})
}

/// A machine whose user has these settings.
fn machine(settings: &Value) -> Machine {
    let machine = Machine::uncaged(&[]);
    let folder = machine.root().join("config/haft");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("haft.json"), settings.to_string()).unwrap();
    machine
}

fn run(command: &mut Command) -> Ran {
    Ran::from(command.output().unwrap())
}

const ASKS: [&str; 5] = ["run", "--model", "own/m1", "--title", "t"];

#[test]
fn offline_nothing_is_asked_however_it_was_said() {
    let proxy = Proxy::start();
    let elsewhere = machine(&json!({}));
    elsewhere.write("haft.json", &provider("http://models.test/v1").to_string());
    let refused = |ran: Ran| {
        ran.ends(1).says(&["haft is offline, and models.test is neither this machine", "--offline", "HAFT_OFFLINE"]);
    };
    let asks = [&ASKS[..], &["hi"]].concat();
    refused(run(proxy.before(&mut elsewhere.command(&[&asks[..], &["--offline"]].concat()))));
    refused(run(proxy.before(elsewhere.command(&asks).env("HAFT_OFFLINE", "1"))));
    elsewhere.write(".haft/haft.json", r#"{"offline": true}"#);
    refused(run(proxy.before(&mut elsewhere.command(&asks))));

    let fetch = |arguments: &[&str]| {
        let all = [&["tool", "call", "webfetch", r#"{"url":"http://docs.test/"}"#, "--auto"], arguments].concat();
        run(proxy.before(&mut elsewhere.command(&all)))
    };
    fetch(&[]).ends(1).says(&["haft is offline, and docs.test is neither"]);
    // Whom the proxies would have told.
    assert_eq!(proxy.asked(), [""; 0]);
}

#[test]
fn offline_what_the_user_named_is_asked_and_what_a_project_named_is_not() {
    let proxy = Proxy::start();
    let asks = [&ASKS[..], &["hi", "--offline"]].concat();
    let named = machine(&provider("http://models.test/v1"));
    let ran = run(proxy.before(&mut named.command(&asks))).ok();
    assert_eq!(ran.out.trim(), "Hi.");
    assert_eq!(proxy.asked(), ["POST http://models.test/v1/chat/completions HTTP/1.1"]);

    // The same provider, led elsewhere by a project that is trusted.
    named.write("haft.json", &provider("http://evil.test/v1").to_string());
    run(proxy.before(&mut named.command(&asks))).ends(1).says(&["haft is offline, and evil.test is neither"]);
    assert_eq!(proxy.asked().len(), 1);
}

#[test]
fn offline_no_program_is_run_and_no_page_opened_for_a_request_that_is_not_sent() {
    let proxy = Proxy::start();
    let machine = machine(&json!({}));
    let folder = machine.root().join("home/.aws");
    std::fs::create_dir_all(&folder).unwrap();
    let made = machine.root().join("made");
    let keys = r#"{"Version":1,"AccessKeyId":"a","SecretAccessKey":"b"}"#;
    let profile =
        format!("[default]\ncredential_process = sh -c 'touch \"$0\"; echo \"$1\"' {} '{keys}'\n", made.display());
    std::fs::write(folder.join("config"), profile).unwrap();
    let model = "amazon-bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0";
    let asks = ["run", "--model", model, "--title", "t", "hi"];
    let aws =
        |command: &mut Command| run(proxy.before(command.env("AWS_PROFILE", "default").env("AWS_REGION", "us-east-1")));
    aws(&mut machine.command(&[&asks[..], &["--offline"]].concat())).ends(1).says(&["haft is offline, and bedrock"]);
    assert!(!made.exists(), "credential_process was run");
    machine
        .haft(&["--offline", "auth", "login", "openai", "--method", "browser"])
        .ends(1)
        .says(&["haft is offline, and auth.openai.com"]);
    assert_eq!(proxy.asked(), [""; 0]);
    // Else it would prove nothing.
    machine.write("haft.json", r#"{"limits": {"retries": 0}}"#);
    aws(&mut machine.command(&asks)).ends(1);
    assert!(made.exists(), "credential_process was not run");
}

#[test]
fn a_proxy_of_the_settings_is_used_and_one_of_a_project_is_not() {
    let (own, other) = (Proxy::start(), Proxy::start());
    let mut settings = provider("http://models.test/v1");
    settings["network"] = json!({ "proxy": own.address });
    let machine = machine(&settings);
    machine.write("haft.json", &json!({ "network": { "proxy": other.address } }).to_string());
    let asks = [&ASKS[..], &["hi"]].concat();
    let ran = run(&mut machine.wary(&asks)).ok();
    assert_eq!(ran.out.trim(), "Hi.");
    assert_eq!((own.asked().len(), other.asked().len()), (1, 0));
    assert!(ran.err.contains("network"), "what does not count is told: {}", ran.err);
}

/// Runs `command` under `strace`, and gives back what it spoke to beyond this machine, with each name server it asked.
/// `None` where there is no `strace`, or it may not look.
fn spoken_to(machine: &Machine, command: &Command) -> Option<(Ran, Vec<String>)> {
    let log = machine.root().join("strace.log");
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o"]).arg(&log);
    traced.arg(command.get_program()).args(command.get_args()).env_clear().stdin(Stdio::null());
    traced.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    traced.current_dir(command.get_current_dir().unwrap_or(Path::new("/")));
    let ran = Ran::from(traced.output().ok()?);
    let log = std::fs::read_to_string(&log).ok()?;
    if ran.err.contains("strace:") {
        return None;
    }
    let inet = log.lines().filter(|line| line.contains("sa_family=AF_INET"));
    let leaves = |line: &&str| {
        let here = line.contains("inet_addr(\"127.") || line.contains("\"::1\"");
        // A name server on this machine asks others.
        !here || line.contains("htons(53)")
    };
    Some((ran, inet.filter(leaves).map(str::to_owned).collect()))
}

#[test]
fn nothing_leaves_this_machine_unasked() {
    let machine = Machine::uncaged(&[("a.txt", "one\n")]);
    let script = machine
        .scenario(&[r#"{"answer":[{"call":"read","args":{"filePath":"a.txt"}}]}"#, r#"{"answer":[{"text":"Done."}]}"#]);
    let demo = machine.root().join("scratch").display().to_string();
    let rows: [&[&str]; 8] = [
        &["demo", "--fast", "--dir", &demo],
        &["run", "--model", &script, "go"],
        &["tool", "list"],
        &["tool", "call", "read", r#"{"filePath":"a.txt"}"#],
        &["models"],
        &["agent", "list"],
        &["session", "list"],
        &["debug", "config"],
    ];
    for arguments in rows {
        let Some((ran, spoken)) = spoken_to(&machine, &machine.command(arguments)) else {
            eprintln!("skipped: strace is not here, or may not look");
            return;
        };
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.err);
        assert_eq!(spoken, [""; 0], "{arguments:?}");
    }
}

#[test]
fn offline_not_even_a_name_is_looked_up() {
    let machine = machine(&provider("https://models.test/v1"));
    machine.write("haft.json", &provider("https://elsewhere.test/v1").to_string());
    let asks = [&ASKS[..], &["hi"]].concat();
    let rows = [
        (vec!["--offline"], asks.clone()),
        (vec!["--offline"], vec!["tool", "call", "webfetch", r#"{"url":"https://docs.test/"}"#, "--auto"]),
        (vec!["--offline"], vec!["tool", "call", "webfetch", r#"{"url":"http://192.0.2.1/"}"#, "--auto"]),
    ];
    let here =
        machine.command(&["tool", "call", "webfetch", r#"{"url":"http://x.localhost:1/"}"#, "--auto", "--offline"]);
    if let Some((_, spoken)) = spoken_to(&machine, &here) {
        assert_eq!(spoken, [""; 0], "a name of this machine is not looked up either");
    }
    for (switch, arguments) in rows {
        let all = [arguments, switch].concat();
        let Some((ran, spoken)) = spoken_to(&machine, &machine.command(&all)) else {
            eprintln!("skipped: strace is not here, or may not look");
            return;
        };
        assert_eq!(ran.code, 1, "{all:?}: {}", ran.err);
        assert!(ran.err.contains("haft is offline"), "{all:?}: {}", ran.err);
        assert_eq!(spoken, [""; 0], "{all:?}");
    }
    // Else the test would prove nothing: without the switch a name is looked up.
    let looks = machine.command(&["tool", "call", "webfetch", r#"{"url":"https://docs.test/"}"#, "--auto"]);
    let Some((_, spoken)) = spoken_to(&machine, &looks) else { return };
    let servers = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    assert!(!spoken.is_empty() || !servers.contains("nameserver"), "nobody was asked for docs.test");
}

#[test]
fn offline_commands_have_no_network_whatever_the_settings_give() {
    let machine = machine_with_cage(&json!({ "sandbox": { "network": true } }));
    let asks = ["tool", "call", "bash", r#"{"command":"true","network":true}"#, "--auto"];
    let run =
        |more: &[&str]| Ran::from(machine.command(&[&asks[..], more].concat()).env_remove(RUNG).output().unwrap());
    run(&[]).ok();
    run(&["--offline"]).ends(3).says(&["network \"*\": deny"]);
}

/// A machine whose user has these settings, and whose commands are in a cage where there is one.
fn machine_with_cage(settings: &Value) -> Machine {
    let machine = Machine::with(&[]);
    let folder = machine.root().join("config/haft");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("haft.json"), settings.to_string()).unwrap();
    machine
}
