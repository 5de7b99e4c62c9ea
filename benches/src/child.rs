//! Runs a program to its end and says what it took.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process_group};
use wait4::Wait4;

/// What is shown of the output of a program that failed, in bytes from its end.
pub const SHOWN: u64 = 2_000;

/// What a program took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ran {
    /// From before it was started to after it had ended.
    pub wall: Duration,
    /// User and system time of the program and of all its children that it waited for.
    pub cpu: Duration,
    /// Most memory that it, or the largest of its children, had at once, in bytes.
    pub peak: u64,
}

/// Runs `command` with nothing to read. What it prints goes to the file `output`.
///
/// # Errors
///
/// When it cannot be started, takes longer than `deadline` (it is killed, with its process group) or fails; the end
/// of its output is in the message.
pub fn run(command: &mut Command, output: &Path, deadline: Duration) -> Result<Ran> {
    let name = command.get_program().display().to_string();
    let out = File::create(output).with_context(|| format!("cannot write {}", output.display()))?;
    command.stdin(Stdio::null()).stderr(out.try_clone()?).stdout(out).process_group(0);
    let started = Instant::now();
    let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
    let group = Pid::from_child(&child);
    let (ended, watched) = mpsc::channel::<()>();
    let late = std::thread::spawn(move || {
        let late = watched.recv_timeout(deadline) == Err(mpsc::RecvTimeoutError::Timeout);
        if late {
            let _ = kill_process_group(group, Signal::KILL);
        }
        late
    });
    let used = child.wait4();
    let wall = started.elapsed();
    drop(ended);
    let late = late.join().unwrap_or_default();
    let used = used.with_context(|| format!("cannot wait for {name}"))?;
    ensure!(!late, "{name} did not end within {deadline:?}; it printed: {}", tail(output));
    ensure!(used.status.success(), "{name} ended with {}; it printed: {}", used.status, tail(output));
    let rusage = used.rusage;
    Ok(Ran { wall, cpu: rusage.utime + rusage.stime, peak: rusage.maxrss })
}

/// The end of what was printed.
fn tail(output: &Path) -> String {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(output)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(SHOWN)))?;
        let mut bytes = Vec::new();
        file.take(SHOWN).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    };
    read().unwrap_or_default()
}
