//! Attacks in a cage: none may come to what it is after.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::attack::{Attack, Harm};
use super::ground::Ground;
use super::traces;
use super::{NETWORK, PROCESSES, PROTECTED, SECRETS, WRITES, each};

/// A user who lets every command run, and gives no leave beyond that: the cage alone must hold.
const LENIENT: &str = r#"{"permission": {"bash": "allow"}, "sandbox": {"network": "deny", "read_deny": ["~/vault"]}}"#;

/// How long a command may run, in milliseconds.
const PATIENCE: u64 = 30_000;

/// How long what was killed may take to go.
const GOING: Duration = Duration::from_secs(3);

macro_rules! held {
    ($($name:ident: $file:ident on $rung:literal;)*) => {
        $(#[test]
        fn $name() {
            static HERE: OnceLock<Result<(), String>> = OnceLock::new();
            match HERE.get_or_init(|| is_here($rung)) {
                Ok(()) => each($file, || Cell::new($rung), |cell, attack| cell.holds(attack)),
                Err(why) => eprintln!("not here: {why}"),
            }
        })*
    };
}

held! {
    namespaces_hold_what_is_outside: WRITES on "namespaces";
    namespaces_hold_what_is_protected: PROTECTED on "namespaces";
    namespaces_hold_secrets: SECRETS on "namespaces";
    namespaces_hold_the_network: NETWORK on "namespaces";
    namespaces_hold_processes_and_the_kernel: PROCESSES on "namespaces";
    landlock_holds_what_is_outside: WRITES on "landlock";
    landlock_holds_what_is_protected: PROTECTED on "landlock";
    landlock_holds_secrets: SECRETS on "landlock";
    landlock_holds_the_network: NETWORK on "landlock";
    landlock_holds_processes_and_the_kernel: PROCESSES on "landlock";
}

/// Whether this machine has `rung`, or why not.
fn is_here(rung: &'static str) -> Result<(), String> {
    let mut cell = Cell::new(rung);
    let answer = cell.call("true", false).ok_or("haft gave no answer")?;
    match answer["metadata"]["sandbox"]["rung"].as_str() {
        Some(found) if found == rung => Ok(()),
        Some(_) | None => Err(answer.to_string()),
    }
}

/// A machine, and haft at work on it.
struct Cell {
    rung: &'static str,
    ground: Ground,
    haft: Option<Haft>,
}

/// A running `haft tool call --jsonl`.
struct Haft {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Cell {
    fn new(rung: &'static str) -> Self {
        let ground = Ground::new(false);
        ground.at_home(".config/haft/haft.json", LENIENT);
        Self { rung, ground, haft: None }
    }

    fn holds(&mut self, attack: &Attack) -> Result<(), String> {
        self.ground.renew(attack.needs.iter().any(|need| need == "git"), &attack.run);
        let answer = self.call("bash attack.sh", attack.pty);
        // What goes on must end with haft, and is looked at then.
        if attack.later || attack.harm() == Harm::Alive || !self.alive().is_empty() {
            self.haft = None;
        }
        // What was killed takes a moment to go.
        let until = Instant::now() + GOING;
        while self.haft.is_none() && !self.alive().is_empty() && Instant::now() < until {
            std::thread::park_timeout(Duration::from_millis(10));
        }
        let alive = match self.haft {
            Some(_) => Vec::new(),
            None => self.alive(),
        };
        let output = answer.as_ref().map_or("", |answer| answer["output"].as_str().unwrap_or_default());
        let mut harm = self.ground.harm(output);
        match &answer {
            None => harm.push((Harm::Died, "haft gave no answer".to_owned())),
            Some(answer) if answer["metadata"]["sandbox"]["rung"] != self.rung => {
                return Err(format!("it was not run in a cage of {}: {answer}", self.rung));
            }
            Some(_) => {}
        }
        if !alive.is_empty() {
            harm.push((Harm::Alive, format!("{alive:?}")));
        }
        let result = match (harm.is_empty(), attack.gap.contains_key(self.rung)) {
            (true, false) | (false, true) => Ok(()),
            (false, false) => Err(format!("{harm:?}; it wrote: {}", output.trim())),
            (true, true) if attack.may_fail.is_some() => Ok(()),
            (true, true) => Err("it is held now: take its gap out, here and in docs/security.md".to_owned()),
        };
        if !harm.is_empty() {
            *self = Self::new(self.rung);
        }
        result
    }

    /// What runs on the machine, haft and what it has beside it excepted.
    fn alive(&self) -> Vec<u32> {
        let haft = self.haft.as_ref().map(|haft| haft.child.id());
        self.ground.alive().into_iter().filter(|pid| Some(*pid) != haft && traces::parent(*pid) != haft).collect()
    }

    /// The answer to one command; `None` where haft ended instead.
    fn call(&mut self, command: &str, pty: bool) -> Option<Value> {
        let haft = self.haft.get_or_insert_with(|| {
            let mut haft = self.ground.command(env!("CARGO_BIN_EXE_haft"));
            haft.args(["tool", "call", "--jsonl"]).env("HAFT_SANDBOX_RUNG", self.rung);
            let mut child = haft.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
            let answers = BufReader::new(child.stdout.take().unwrap());
            Haft { child, answers }
        });
        let args = json!({ "command": command, "timeout": PATIENCE, "pty": pty });
        let mut line = String::new();
        let asked = writeln!(haft.child.stdin.as_mut().unwrap(), "{}", json!({ "tool": "bash", "args": args }));
        asked.and_then(|()| haft.answers.read_line(&mut line)).ok()?;
        serde_json::from_str(&line).ok()
    }
}

impl Drop for Haft {
    fn drop(&mut self) {
        // Its input ends, and with it haft, and with that everything it started.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
