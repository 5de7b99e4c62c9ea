//! Runs one command and collects what it says.

use std::time::Duration;

use haft_permission::{Access, Asker, Effect, Gate, Rules};
use haft_project::{Command, Processes, Running, Streams};
use haft_protocol::SessionId;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::commands::Surroundings;
use crate::said::{Said, said};
use crate::settings::CommandHook;

/// Most bytes that are read of each output of a command; what is more is read and dropped.
pub(crate) const MAX_OUTPUT: usize = 1024 * 1024;
/// How long a command has to end by itself once its time is over.
const GRACE: Duration = Duration::from_millis(500);
/// The permission under which what hooks run stands in the record.
const PERMISSION: &str = "hook";

/// Runs `hook`, which reads `input`. Never fails: what went wrong is what it said. Dropping the future stops it.
pub(crate) async fn run(around: &Surroundings, session: &SessionId, hook: &CommandHook, input: &str) -> Said {
    let Surroundings { processes, gate, rules, dir, .. } = around;
    let failed = |why: String| Said { failed: Some(why), ..Said::default() };
    let access = access(processes, hook, dir);
    let grant = match granted(gate, rules, session, access).await {
        Ok(grant) => grant,
        Err(denied) => return failed(denied),
    };
    let env = ["HAFT_PROJECT_DIR", "CLAUDE_PROJECT_DIR"].map(|name| (name.to_owned(), dir.display().to_string()));
    let command = Command {
        text: hook.command.clone(),
        dir: dir.clone(),
        env: env.into(),
        streams: Streams::Apart,
        ..Command::default()
    };
    let running = match processes.spawn(&grant, &command).await {
        Ok(running) => running,
        Err(error) => return failed(haft_tool::with_causes(&error)),
    };
    match follow(running, input, hook.timeout).await {
        Some((exit, output, errors)) => said(hook.moment, exit, &output, &errors),
        None => failed(format!("it took longer than {} s, and was stopped", hook.timeout.as_secs_f64())),
    }
}

/// What a command is asked for that is a hook: itself, the folders that commands may change here, and the network where
/// its entry says so.
fn access(processes: &Processes, hook: &CommandHook, dir: &std::path::Path) -> Access {
    let run = Effect::Run { command: hook.command.clone(), dir: dir.to_owned() };
    let changes = processes.roots().iter().cloned().map(Effect::Change);
    let network = hook.network.then_some(Effect::Network);
    let access = Access::new(PERMISSION, hook.command.as_str());
    [run].into_iter().chain(changes).chain(network).fold(access, Access::with)
}

async fn granted(
    gate: &Gate,
    rules: &Rules,
    session: &SessionId,
    access: Access,
) -> Result<haft_permission::Grant, String> {
    let asker = Asker { session: session.clone(), call: None };
    gate.ask(&asker, rules, access).await.map_err(|denied| denied.to_string())
}

/// Gives a command its input and reads both of its outputs. `None`: its time was over.
async fn follow(mut running: Running, input: &str, timeout: Duration) -> Option<(Option<i32>, String, String)> {
    let talk = running.talk();
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let over = {
        let talking = async {
            let Some(mut talk) = talk else { return };
            let write = async {
                // A command that does not read its input is none the worse for it.
                let _ = talk.input.write_all(input.as_bytes()).await;
                drop(talk.input);
            };
            let read = async {
                let mut piece = vec![0; 8 * 1024];
                while let Ok(count @ 1..) = talk.output.read(&mut piece).await {
                    let room = MAX_OUTPUT - output.len();
                    output.extend_from_slice(piece.get(..count.min(room)).unwrap_or_default());
                }
            };
            futures::join!(write, read);
        };
        let listening = async {
            let mut piece = Vec::new();
            while running.read(&mut piece).await {
                let room = MAX_OUTPUT - errors.len();
                errors.extend_from_slice(piece.get(..piece.len().min(room)).unwrap_or_default());
            }
        };
        let both = async { futures::join!(talking, listening) };
        tokio::time::timeout(timeout, both).await.is_err()
    };
    if over {
        running.stop(GRACE);
        running.end().await;
        return None;
    }
    let end = running.end().await;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some((end.code, text(&output), text(&errors)))
}
