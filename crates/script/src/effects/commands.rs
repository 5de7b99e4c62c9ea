//! `child_process`, `Bun.$` and their like: command lines, run in the cage of their leave.

use std::time::Duration;

use haft_project::{Command, Streams, Talk};
use haft_tool::{ToolError, harmless};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{CallWorld, pack, unpack};
use crate::error::Refusal;

/// Most bytes of each output that a script is given.
const MAX_OUTPUT: usize = 8 * 1024 * 1024;
/// How long a command may run where the script does not say.
const TIMEOUT: Duration = Duration::from_secs(120);
/// How long a command of a hook may run, whatever the script says.
const MAX_IN_HOOK: Duration = Duration::from_secs(600);
/// How long it may take to end after that.
const GRACE: Duration = Duration::from_secs(1);

#[derive(Deserialize)]
pub(super) struct Run {
    command: String,
    cwd: String,
    #[serde(default)]
    env: std::collections::BTreeMap<String, String>,
    input: Option<String>,
    /// Milliseconds.
    timeout: Option<f64>,
}

impl CallWorld<'_> {
    pub(super) async fn run(&self, Run { command, cwd, env, input, timeout }: Run) -> Result<Value, Refusal> {
        let input = input.as_deref().map(unpack).transpose()?.unwrap_or_default();
        let leave = self.doors.ways.run(self.call, &command, &cwd).await;
        let (grant, plain) = leave.map_err(|error| self.refuse(error))?;
        let mut env = harmless(env.into_iter().filter(|(name, _)| is_free(name)).collect());
        env.extend(self.call.shell_env(&plain.dir).await);
        let command = Command { env, streams: Streams::Apart, ..plain };
        let failed = |error: String| self.refuse(ToolError::Failed(error));
        let spawned = self.doors.processes.spawn(&grant, &command).await;
        let mut running = spawned.map_err(|error| failed(haft_tool::with_causes(&error)))?;
        let Some(Talk { input: mut stdin, output: mut stdout }) = running.talk() else {
            return Err(failed("the command cannot be spoken with".to_owned()));
        };
        let timeout = timeout.filter(|ms| *ms > 0.0).map_or(TIMEOUT, |ms| Duration::from_millis(ms as u64));
        // Nobody sees that a hook waits, and stops it.
        let timeout = if self.permission == haft_permission::PLUGIN { timeout.min(MAX_IN_HOOK) } else { timeout };
        let mut timed_out = false;
        let (mut out, mut errors) = (Vec::new(), Vec::new());
        let feed = async {
            // A command that reads no more has what it wants.
            let _ = stdin.write_all(&input).await;
            drop(stdin);
        };
        let deadline = tokio::time::sleep(timeout);
        tokio::pin!(deadline, feed);
        let (mut fed, mut open, mut more) = (false, true, true);
        let (mut piece, mut buffer) = (Vec::new(), vec![0; 64 * 1024]);
        while open || more {
            tokio::select! {
                () = &mut feed, if !fed => fed = true,
                read = stdout.read(&mut buffer), if open => match read {
                    Ok(0) | Err(_) => open = false,
                    Ok(count) => keep(&mut out, buffer.get(..count).unwrap_or_default()),
                },
                next = running.read(&mut piece), if more => {
                    more = next;
                    keep(&mut errors, &piece);
                    // What it left running may hold the first output open.
                    if !more && open {
                        drain(&mut stdout, &mut out, &mut buffer).await;
                        open = false;
                    }
                }
                () = &mut deadline, if !timed_out => {
                    timed_out = true;
                    running.stop(GRACE);
                }
                () = self.call.cancel.cancelled(), if !timed_out => {
                    timed_out = true;
                    running.stop(Duration::from_millis(200));
                }
            }
        }
        let (end, repairs) = running.finish().await;
        for repair in repairs {
            tracing::info!(?repair, "put back after a script's command");
        }
        let code = end.code.or(end.signal.map(|signal| 128 + signal));
        Ok(json!({
            "code": code, "signal": end.signal, "timedOut": timed_out, "stdout": pack(&out), "stderr": pack(&errors),
        }))
    }
}

/// What is left in the pipe of a command whose shell has ended.
async fn drain(from: &mut tokio::process::ChildStdout, to: &mut Vec<u8>, buffer: &mut [u8]) {
    let left = async {
        while let Ok(count @ 1..) = from.read(buffer).await {
            keep(to, buffer.get(..count).unwrap_or_default());
        }
    };
    let _ = tokio::time::timeout(haft_project::LINGER, left).await;
}

fn keep(all: &mut Vec<u8>, piece: &[u8]) {
    let room = MAX_OUTPUT.saturating_sub(all.len()).min(piece.len());
    all.extend_from_slice(piece.get(..room).unwrap_or_default());
}

/// Whether a script may set the variable, if it is [`harmless`]: not what decides which programs run.
fn is_free(name: &str) -> bool {
    !matches!(name, "PATH" | "SHELL")
}
