//! Attacks without a cage: each must come to what it is after.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::attack::{Attack, Harm};
use super::ground::Ground;
use super::{NETWORK, PROCESSES, PROTECTED, SECRETS, WRITES, each};

/// How long an attack may take to show what it did.
const PATIENCE: Duration = Duration::from_secs(10);

#[test]
fn writes_succeed_without_a_cage() {
    each(WRITES, || (), succeeds);
}

#[test]
fn protected_files_fall_without_a_cage() {
    each(PROTECTED, || (), succeeds);
}

#[test]
fn secrets_are_read_without_a_cage() {
    each(SECRETS, || (), succeeds);
}

#[test]
fn others_are_reached_without_a_cage() {
    each(NETWORK, || (), succeeds);
}

#[test]
fn processes_and_the_kernel_are_open_without_a_cage() {
    each(PROCESSES, || (), succeeds);
}

fn succeeds(_: &mut (), attack: &Attack) -> Result<(), String> {
    if attack.never_free.is_some() {
        return Ok(());
    }
    let ground = Ground::new(attack.needs.iter().any(|need| need == "git"));
    std::fs::write(ground.project().join("attack.sh"), ground.fill(&attack.run)).unwrap();
    let mut run = Running::start(&ground, attack.pty);
    let wanted = attack.harm();
    let started = Instant::now();
    loop {
        let ended = run.ended();
        let output = run.output();
        let mut harm = ground.harm(&output);
        if ended && !output.contains("LIVED") {
            harm.push((Harm::Died, "who started it".to_owned()));
        }
        if ended && !ground.alive().is_empty() {
            harm.push((Harm::Alive, format!("{:?}", ground.alive())));
        }
        if harm.iter().any(|(kind, _)| *kind == wanted) {
            return Ok(());
        }
        if (ended && !attack.later) || started.elapsed() > PATIENCE {
            return match attack.may_fail {
                Some(_) => Ok(()),
                None => Err(format!("no {wanted:?} without a cage, only {harm:?}; it wrote: {}", output.trim())),
            };
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// An attack that runs in a process group of its own, below a shell that tells whether it outlived it.
struct Running {
    child: Child,
    output: std::path::PathBuf,
}

impl Running {
    fn start(ground: &Ground, pty: bool) -> Self {
        let output = ground.root().join("output");
        let file = std::fs::File::create(&output).unwrap();
        let script = match pty {
            true => "script -qec 'bash attack.sh' /dev/null < /dev/null; echo LIVED",
            false => "bash attack.sh; echo LIVED",
        };
        let mut command: Command = ground.command("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        Self { child: command.process_group(0).spawn().unwrap(), output }
    }

    fn ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    fn output(&self) -> String {
        let mut bytes = Vec::new();
        std::fs::File::open(&self.output).unwrap().read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("/bin/kill").args(["-9", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.child.wait();
    }
}
