//! Whether a rung holds here: a short program is run in a cage.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::bwrap;
use crate::cage::{Cage, Session};
use crate::launcher;
use crate::rung::{Rung, Sandbox};

/// How long the program may take; it needs some milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked at.
const PAUSE: Duration = Duration::from_millis(1);
/// How much of what it says on standard error is kept, in bytes.
const MAX_SAID: u64 = 2048;

/// Runs `launcher` in the smallest cage and has it look around there; otherwise says why that cannot be.
pub(crate) fn holds(sandbox: &Sandbox, launcher: &Path) -> Result<(), String> {
    let (program, args) = match sandbox.rung() {
        Rung::Namespaces | Rung::Landlock => (launcher, launcher::look_around()),
        Rung::Seatbelt | Rung::None => (Path::new("/usr/bin/true"), Vec::new()),
    };
    let launch = sandbox.launch(&Cage::default(), Session::New, program, &args).map_err(|error| error.to_string())?;
    let mut child = Command::new(&launch.program)
        .args(&launch.args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{} cannot be started: {error}", launch.program.display()))?;
    let started = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if started.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            Ok(None) => {
                // It may have ended by itself in the meantime.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("a program in it did not end within {} seconds", PATIENCE.as_secs()));
            }
            Err(error) => return Err(format!("a program in it cannot be waited for: {error}")),
        }
    };
    if status.success() {
        return Ok(());
    }
    let mut said = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        // What was read is enough to tell of.
        let _ = stderr.take(MAX_SAID).read_to_end(&mut said);
    }
    let said = String::from_utf8_lossy(&said).split_whitespace().collect::<Vec<_>>().join(" ");
    Err(match sandbox.rung() {
        Rung::Namespaces => bwrap::why_not(&said),
        Rung::Landlock | Rung::Seatbelt | Rung::None if said.is_empty() => {
            format!("a program in it ended with {status}")
        }
        Rung::Landlock | Rung::Seatbelt | Rung::None => said,
    })
}
