//! Commands in their cages, through the built binary: what runs without a question, what is stopped, what is asked for.
#![cfg(target_os = "linux")]

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Machine, RUNG, Ran, is_running, solid_folder, wait_until};

/// A machine, and a folder that is not for temporary files beside it.
struct Cage {
    machine: Machine,
    outside: tempfile::TempDir,
    rung: &'static str,
}

impl Cage {
    fn on(rung: &'static str, files: &[(&str, &str)]) -> Self {
        let outside = tempfile::Builder::new().prefix(".haft-test-").tempdir_in(solid_folder()).unwrap();
        let machine = Machine::with(files);
        std::fs::create_dir_all(machine.root().join("home")).unwrap();
        Self { machine, outside, rung }
    }

    fn outside(&self, name: &str) -> PathBuf {
        self.outside.path().canonicalize().unwrap().join(name)
    }

    fn call(&self, input: &Value, args: &[&str]) -> Ran {
        let input = input.to_string();
        let args = [&["tool", "call", "bash", &input, "--json"], args].concat();
        Ran::from(self.machine.command(&args).env(RUNG, self.rung).output().unwrap())
    }

    /// What a command gave that ran.
    #[track_caller]
    fn runs(&self, command: &str) -> Value {
        self.call(&json!({ "command": command }), &[]).ok().json()
    }

    /// The same, as text.
    #[track_caller]
    fn says(&self, command: &str) -> String {
        self.runs(command)["output"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn asks(&self, input: &Value, args: &[&str], permission: &str) {
        let ran = self.call(input, args).ends(3);
        assert!(ran.err.contains(permission) || ran.out.contains(permission), "{input}: {ran:?}");
    }
}

/// Does `check` on each rung that this machine has, of which there must be one.
#[track_caller]
fn each(files: &[(&str, &str)], check: impl Fn(&Cage)) {
    let mut held = 0;
    for rung in ["namespaces", "landlock"] {
        let cage = Cage::on(rung, files);
        let tried = cage.call(&json!({ "command": "true" }), &["--auto"]).ok().json();
        if tried["metadata"]["sandbox"]["rung"] == rung {
            held += 1;
            check(&cage);
        }
    }
    assert!(held > 0, "no rung holds here");
}

/// Python that opens a file for writing, which no reading of the command line sees.
fn write(path: &str) -> String {
    format!("python3 -c 'open(\"{path}\", \"w\").write(\"x\")'")
}

#[test]
fn harmless_commands_need_no_question() {
    each(&[("a.txt", "one\ntwo\n")], |cage| {
        assert_eq!(cage.says("cat a.txt | wc -l"), "2\n");
        assert_eq!(cage.says("echo x > b.txt && mkdir -p d && mv b.txt d && cat d/b.txt"), "x\n");
        assert_eq!(cage.says("x=$(echo echo); $x computed"), "computed\n");
        assert_eq!(cage.says("f=$(mktemp) && echo kept > $f && cat $f"), "kept\n");
        // The test's own home is in that folder, and beside what is hidden Landlock hides what is new.
        if cage.rung == "namespaces" {
            let file = format!("/tmp/haft-cage-test-{}", std::process::id());
            assert_eq!(cage.says(&format!("echo shared > {file} && cat {file} && rm {file}")), "shared\n");
        }
        assert_eq!(cage.says("python3 -c 'print(6 * 7)'"), "42\n");
        assert!(
            cage.says(
                "git init -q . && git add -A && git -c user.name=a -c user.email=b commit -qm x && git log --oneline"
            )
            .contains(" x\n")
        );
    });
}

#[test]
fn a_write_outside_is_stopped_and_can_be_asked_for() {
    each(&[], |cage| {
        let path = cage.outside("f");
        let name = path.to_str().unwrap();
        let told = cage.runs(&write(name));
        let text = told["output"].as_str().unwrap();
        assert!(text.contains(&format!("call bash again with write: [\"{name}\"]")), "{text}");
        assert_eq!(told["metadata"]["sandbox"]["blocked"], json!([format!("write {name}")]));
        assert!(!path.exists());
        // It asks at the border, and a yes holds for that.
        let input = json!({ "command": write(name), "write": [name] });
        cage.asks(&input, &[], "external_directory");
        assert_eq!(cage.call(&input, &["--auto"]).ok().json()["metadata"]["exit"], 0);
        assert!(path.exists());
        // What is named in the line asks by itself.
        cage.asks(&json!({ "command": format!("echo x > {name}") }), &[], "external_directory");
        cage.call(&json!({ "command": "true", "write": [""] }), &[]).ends(2);
    });
}

#[test]
fn the_network_is_closed_and_can_be_asked_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    each(&[], |cage| {
        let command = format!("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 5)'");
        let told = cage.runs(&command);
        assert_eq!(told["metadata"]["sandbox"]["blocked"], json!(["network"]), "{told}");
        assert!(told["output"].as_str().unwrap().contains("network: true"), "{told}");
        assert!(listener.accept().is_err());
        let input = json!({ "command": command, "network": true });
        cage.asks(&input, &[], "network");
        cage.asks(&json!({ "command": "curl http://a.example/" }), &[], "network");
        assert_eq!(cage.call(&input, &["--auto"]).ok().json()["metadata"]["exit"], 0);
        assert!(listener.accept().is_ok());
    });
}

#[test]
fn rules_of_the_users_own_hold_in_the_cage_too() {
    let rules =
        r#"{"permission": {"bash": {"rm *": "deny", "touch *": "ask"}, "external_directory": {"/tmp/*": "deny"}}}"#;
    each(&[("opencode.json", rules), ("a", "")], |cage| {
        cage.asks(&json!({ "command": "rm a" }), &["--auto"], "rm *");
        cage.asks(&json!({ "command": "x=rm; $x a" }), &[], "bash");
        cage.asks(&json!({ "command": "touch b" }), &[], "bash");
        cage.asks(&json!({ "command": "echo x > /tmp/haft-cage-denied" }), &[], "/tmp/*");
        assert_eq!(cage.says("echo fine"), "fine\n");
    });
}

#[test]
fn broken_syntax_asks() {
    each(&[], |cage| cage.asks(&json!({ "command": "echo 'x" }), &[], "bash"));
}

#[test]
fn who_may_not_edit_may_not_write_by_commands() {
    each(&[("a.txt", "one\n")], |cage| {
        for agent in ["plan", "explore"] {
            let ran = |command: &str| cage.call(&json!({ "command": command }), &["--agent", agent]).ok().json();
            assert_eq!(ran("cat a.txt && git --version > /dev/null")["metadata"]["exit"], 0);
            let told = ran(&write("b.txt"));
            assert_ne!(told["metadata"]["exit"], 0, "{told}");
            assert_ne!(ran(&write("/tmp/haft-cage-plan"))["metadata"]["exit"], 0);
            assert!(!cage.machine.project().join("b.txt").exists());
            assert_eq!(ran("echo kept > $TMPDIR/x && cat $TMPDIR/x")["output"], "kept\n");
        }
    });
}

#[test]
fn what_is_protected_is_as_before() {
    each(
        &[
            ("opencode.json", "{}"),
            (".git/HEAD", "ref: refs/heads/main\n"),
            (".git/config", "[core]\n\tbare = false\n"),
            (".git/hooks/a.sample", ""),
            ("deep/a", ""),
        ],
        |cage| {
            for path in [".git/hooks/pre-commit", "deep/.vscode/tasks.json", "opencode.json", ".envrc"] {
                cage.runs(&format!(
                    "python3 -c 'import os; os.makedirs(\"deep/.vscode\", exist_ok=True)'; {}",
                    write(path)
                ));
                let now = std::fs::read_to_string(cage.machine.project().join(path)).unwrap_or_default();
                assert_eq!(now, if path == "opencode.json" { "{}" } else { "" }, "{path}");
            }
            let told = cage.runs("python3 -c 'open(\".git/config\", \"a\").write(\"[core]\\nhooksPath = /x\\n\")'");
            assert!(!cage.machine.read(".git/config").contains("hooksPath"));
            let text = told["output"].as_str().unwrap();
            assert!(text.contains("write: [\".git/config\"]"), "{text}");
            // With leave for exactly that it may change.
            let input = json!({ "command": write(".envrc"), "write": [".envrc"] });
            cage.call(&input, &["--auto"]).ok();
            assert_eq!(cage.machine.read(".envrc"), "x");
        },
    );
}

#[test]
fn secrets_cannot_be_read() {
    each(&[(".env", "K=secret-of-project")], |cage| {
        let home = cage.machine.root().join("home");
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        std::fs::write(home.join(".ssh/id"), "secret-of-home").unwrap();
        let read = "python3 -c 'import os; print(open(os.environ[\"HOME\"] + \"/.ssh/id\").read())'";
        let told = cage.runs(read);
        assert!(!told["output"].as_str().unwrap().contains("secret-of-home"), "{told}");
        if cage.rung == "namespaces" {
            assert!(!cage.says("python3 -c 'print(open(\".env\").read())'").contains("secret-of-project"));
        }
        // A yes to the question is a yes for the command.
        let input = json!({ "command": "cat .env" });
        cage.asks(&input, &[], "read");
        let told = cage.call(&input, &["--auto"]).ok().json();
        assert!(told["output"].as_str().unwrap().contains("secret-of-project"), "{told}");
    });
}

#[test]
fn on_a_terminal_and_behind_the_call_it_is_the_same() {
    each(&[], |cage| {
        let path = cage.outside("f");
        let command = write(path.to_str().unwrap());
        let told = cage.call(&json!({ "command": format!("tty; {command}"), "pty": true }), &[]).ok().json();
        assert!(told["output"].as_str().unwrap().starts_with("/dev/"), "{told}");
        assert!(told["output"].as_str().unwrap().contains("call bash again with write"), "{told}");
        let lines = [
            json!({ "tool": "bash", "args": { "command": command, "background": true } }),
            json!({ "tool": "job_output", "args": { "id": "1", "wait": 60_000 } }),
        ];
        let input = lines.map(|line| line.to_string()).join("\n");
        let mut program = cage.machine.command(&["tool", "call", "--jsonl"]);
        let mut child = cage.machine.start(program.env(RUNG, cage.rung).stdin(Stdio::piped()));
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
        let ran = Ran::from(child.wait_with_output().unwrap()).ok();
        assert!(ran.out.contains("call bash again with write"), "{}", ran.out);
        assert!(!path.exists());
    });
}

#[test]
fn a_program_that_is_killed_leaves_nothing_of_a_caged_command() {
    each(&[], |cage| {
        let seconds = 1_000_000 + u64::from(std::process::id()) * 2 + u64::from(cage.rung == "landlock");
        let input = json!({ "command": format!("setsid sleep {seconds} & wait") }).to_string();
        let mut program = cage.machine.command(&["tool", "call", "bash", &input]);
        let mut child = cage.machine.start(program.env(RUNG, cage.rung));
        let ours = || sleepers(seconds);
        wait_until("the command", || !ours().is_empty());
        let pids = ours();
        child.kill().unwrap();
        child.wait().unwrap();
        wait_until("the end of the command", || pids.iter().all(|pid| !is_running(*pid)));
    });
}

/// The processes that sleep for so many seconds.
fn sleepers(seconds: u64) -> Vec<u32> {
    let wanted = format!("sleep\0{seconds}\0");
    let sleeps = |pid: &u32| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == wanted.as_bytes());
    let pids = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(sleeps).collect()
}

#[test]
fn without_a_cage_every_command_asks() {
    let machine = Machine::with(&[]);
    std::fs::create_dir_all(machine.root().join("config/haft")).unwrap();
    std::fs::write(machine.root().join("config/haft/haft.json"), r#"{"sandbox": {"mode": "off"}}"#).unwrap();
    let haft = |args: &[&str]| Ran::from(machine.command(args).env_remove(RUNG).output().unwrap());
    haft(&["tool", "call", "bash", r#"{"command": "true"}"#]).ends(3).says(&["bash"]);
    let ran = haft(&["tool", "call", "bash", r#"{"command": "true"}"#, "--auto", "--json"]).ok().json();
    assert_eq!(ran["metadata"]["sandbox"], Value::Null);
    assert_eq!(haft(&["debug", "rules", "bash", "ls"]).ok().json()["action"], "ask");
}

#[test]
fn the_rules_are_told_as_they_are_followed() {
    each(&[], |cage| {
        let decided = |permission: &str, pattern: &str| {
            let args = ["debug", "rules", permission, pattern];
            let told = cage.machine.command(&args).env(RUNG, cage.rung).output().unwrap();
            Ran::from(told).ok().json()["action"].as_str().unwrap().to_owned()
        };
        assert_eq!(decided("bash", "ls"), "allow");
        assert_eq!(decided("bash", "$x"), "allow");
        assert_eq!(decided("bash", "echo 'x"), "ask");
        assert_eq!(decided("network", "git fetch"), "ask");
    });
}

#[test]
fn a_way_that_there_is_none_of_is_refused() {
    let machine = Machine::with(&[]);
    let mut program = machine.command(&["tool", "call", "bash", r#"{"command": "true"}"#]);
    let ran = Ran::from(program.env(RUNG, "nothing").output().unwrap());
    assert_ne!(ran.code, 0);
    assert!(ran.err.contains(RUNG), "{ran:?}");
}

#[test]
fn leave_is_for_what_was_there_when_it_was_asked_for() {
    // A program that goes on swaps a folder that all may fill for a link to one that nobody opened.
    let swap = "import ctypes, os\nd = os.environ['TMPDIR'] + '/x'\nos.makedirs(d, exist_ok=True)\n\
                os.path.lexists(d + 'l') or os.symlink(os.environ['AIM'], d + 'l')\nlibc = ctypes.CDLL(None)\n\
                while True: libc.syscall(316, -100, d.encode(), -100, (d + 'l').encode(), 2)\n";
    if cfg!(not(target_arch = "x86_64")) {
        return;
    }
    each(&[("swap.py", swap)], |cage| {
        let aim = cage.outside("");
        let harm = aim.join("harm");
        std::fs::write(cage.machine.root().join("project/harm.sh"), format!("echo x > {}\n", harm.display())).unwrap();
        let scratch = cage.says("echo $TMPDIR");
        let start = json!({ "tool": "bash", "args": {
            "command": format!("AIM={} exec python3 swap.py", aim.display()), "background": true } });
        let again = json!({ "tool": "bash", "args": {
            "command": "sh harm.sh", "write": [format!("{}/x", scratch.trim())] } });
        let lines = std::iter::once(start).chain(std::iter::repeat_n(again, 12));
        let input: String = lines.map(|line| format!("{line}\n")).collect();
        let mut program = cage.machine.command(&["tool", "call", "--jsonl"]);
        let mut program = program.env(RUNG, cage.rung).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut program.stdin.take().unwrap(), input.as_bytes()).unwrap();
        let told = program.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        assert!(told.contains("job_1") && !harm.exists(), "{}: {told}", cage.rung);
    });
}

#[test]
fn a_home_that_is_the_project_keeps_its_keys_and_our_own_files() {
    each(&[], |cage| {
        let home = cage.machine.root().join("home");
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        std::fs::write(home.join(".ssh/id"), "PWN3D\n").unwrap();
        let call = |tool: &str, input: Value| {
            let dir = home.display().to_string();
            let args = ["tool", "call", tool, &input.to_string(), "--json", "--dir", &dir].map(str::to_owned);
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            Ran::from(cage.machine.command(&args).env("HOME", &home).env(RUNG, cage.rung).output().unwrap())
        };
        let _ = call("read", json!({ "filePath": ".ssh/id" })).ends(3);
        let _ = call("write", json!({ "filePath": ".ssh/authorized_keys", "content": "x" })).ends(3);
        let found = call("grep", json!({ "pattern": "PWN.D" })).ok();
        assert!(!found.out.contains("PWN3D"), "{found:?}");
        let found = call("bash", json!({ "command": "python3 -c 'print(open(\".ssh/id\").read())'" })).ok();
        assert!(!found.out.contains("PWN3D"), "{found:?}");
    });
}
