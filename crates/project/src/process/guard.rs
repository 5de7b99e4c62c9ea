//! A small process beside ours that ends what our commands left running, should we be killed ourselves.

use std::io::{PipeWriter, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Waits for a line, and ends. Without one, because whoever should have written it is dead, it kills all whose
/// environment holds the mark `$1`, three times, because some may start others meanwhile.
const SCRIPT: &str = "trap '' HUP INT QUIT TERM
read -r line && exit
for round in 1 2 3; do
    found=$(grep -laF -- \"$1\" /proc/[0-9]*/environ 2>/dev/null)
    [ -n \"$found\" ] || exit
    for file in $found; do
        file=${file%/environ}
        kill -KILL \"${file#/proc/}\" 2>/dev/null
    done
done";

/// The process. It goes when this is dropped; if this is never dropped, it goes after its work.
#[derive(Debug)]
pub(crate) struct Guard {
    child: Child,
    /// `None` only in a test.
    line: Mutex<Option<PipeWriter>>,
}

impl Guard {
    /// Watches over what carries marks that begin with `mark`. `None` where the system has no `/proc`, or where it
    /// cannot be started: then the commands run without it.
    pub(crate) fn start(mark: &str) -> Option<Self> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let start = || -> std::io::Result<Self> {
            let (reader, line) = std::io::pipe()?;
            let child = Command::new("/bin/sh")
                .args(["-c", SCRIPT, "haft-guard", mark])
                .env_clear()
                .env("PATH", "/usr/bin:/bin")
                .current_dir("/")
                .stdin(reader)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .process_group(0)
                .spawn()?;
            Ok(Self { child, line: Mutex::new(Some(line)) })
        };
        start().ok()
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
impl Guard {
    /// Leaves it as our death would.
    pub(crate) fn lose(&self) {
        *self.line.lock().unwrap() = None;
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(line) = self.line.get_mut().unwrap_or_else(PoisonError::into_inner) {
            // If it has ended already there is nobody to tell.
            let _ = line.write_all(b"\n");
        }
        let _ = self.child.wait();
    }
}
