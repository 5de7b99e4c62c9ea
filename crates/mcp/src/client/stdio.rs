//! A server that is a program: started in its cage, spoken with over its input and output.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use haft_permission::{Access, Effect, Gate};
use haft_project::{Command, Processes, Running, Streams, Talk};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::process::{ChildStdin, ChildStdout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::World;
use super::naming::line;
use super::settings::{Cage, Local};
use super::status::Failure;

/// Longest message of a server, in bytes. One that sends a longer one is not spoken with any more.
pub const MAX_MESSAGE: usize = 16 * 1024 * 1024;
/// How much is remembered of what a server wrote to standard error, in lines.
const MAX_TAIL: usize = 8;
/// How long the last words of one that has ended are waited for.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// How long a server has to end by itself when it is asked to.
const GRACE: Duration = Duration::from_secs(2);

/// A program that runs. Dropping it ends it with all that it started.
#[derive(Debug)]
pub(super) struct Program {
    /// What it wrote to standard error last.
    tail: Tail,
    stop: CancellationToken,
    /// Cancelled when it has written its last words.
    silent: CancellationToken,
    task: Mutex<Option<AbortOnDropHandle<()>>>,
}

/// The last lines that a program wrote to standard error.
#[derive(Debug, Clone, Default)]
struct Tail(Arc<Mutex<VecDeque<String>>>);

impl Program {
    /// Starts the program of the server called `name`.
    pub(super) async fn start(
        world: &World,
        name: &str,
        local: &Local,
    ) -> Result<(Self, Messages<ChildStdout>, ChildStdin), Failure> {
        let (processes, effects) = leave(&world.processes, local.cage);
        let text = command_line(&local.command);
        let run = Effect::Run { command: text.clone(), dir: local.dir.clone() };
        let access = Access { effects: [vec![run], effects].concat(), ..Access::new(super::PERMISSION, name) };
        let grant = ask(&world.gate, world, access).await?;
        let command = Command {
            text,
            dir: local.dir.clone(),
            env: local.environment.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())).collect(),
            streams: Streams::Apart,
            ..Command::default()
        };
        let spawned = processes.spawn(&grant, &command).await;
        let mut running = spawned.map_err(|error| Failure::Broken(haft_tool::with_causes(&error)))?;
        let Some(Talk { input, output }) = running.talk() else {
            return Err(Failure::Broken("it cannot be spoken with".to_owned()));
        };
        let (tail, stop, silent) = (Tail::default(), CancellationToken::new(), CancellationToken::new());
        let listen = listen(running, name.to_owned(), tail.clone(), stop.clone(), silent.clone());
        let task = Mutex::new(Some(AbortOnDropHandle::new(tokio::spawn(listen))));
        Ok((Self { tail, stop, silent, task }, Messages::new(output), input))
    }

    /// Waits a moment for the last words of one that has stopped talking: they come through a pipe of their own.
    pub(super) async fn falls_silent(&self) {
        let _ = tokio::time::timeout(LAST_WORDS, self.silent.cancelled()).await;
    }

    /// Asks it to end, and ends it.
    pub(super) async fn end(&self) {
        self.stop.cancel();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            // It has ended either way.
            let _ = task.await;
        }
    }

    /// What it complained about last, as the end of a sentence; empty where it did not.
    pub(super) fn last_words(&self) -> String {
        let lines = self.tail.0.lock().unwrap_or_else(PoisonError::into_inner);
        let said: Vec<&str> = lines.iter().map(String::as_str).collect();
        if said.is_empty() { String::new() } else { format!(" (it wrote: {})", line(&said.join(" / "))) }
    }
}

/// Leave that is built in: whoever put the server into the settings, or trusts the project that did, gave it.
async fn ask(gate: &Gate, world: &World, access: Access) -> Result<haft_permission::Grant, Failure> {
    let asked = gate.ask(&world.asker, &world.rules, access).await;
    asked.map_err(|denied| Failure::Broken(denied.to_string()))
}

/// What starts a program that is caged so, and what it needs leave for.
fn leave(processes: &Processes, cage: Cage) -> (Processes, Vec<Effect>) {
    match cage {
        Cage::Off => (processes.free(), Vec::new()),
        Cage::On { changes, network } => {
            let roots = processes.roots().iter().filter(|_| changes).cloned().map(Effect::Change);
            (processes.unrecorded(), roots.chain(network.then_some(Effect::Network)).collect())
        }
    }
}

/// `words` as a line for the shell, which becomes the program.
fn command_line(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    format!("exec {}", quoted.join(" "))
}

/// Follows what the program writes to standard error until it ends or is to.
async fn listen(mut running: Running, name: String, tail: Tail, stop: CancellationToken, silent: CancellationToken) {
    let silent = silent.drop_guard();
    let mut piece = Vec::new();
    let mut open: Vec<u8> = Vec::new();
    loop {
        let more = tokio::select! {
            more = running.read(&mut piece) => more,
            () = stop.cancelled() => break,
        };
        if !more {
            break;
        }
        for &byte in &piece {
            // Of a line that never ends only the beginning counts.
            if byte != b'\n' && open.len() < 4096 {
                open.push(byte);
            } else if byte == b'\n' {
                tail.add(&name, &open);
                open.clear();
            }
        }
    }
    tail.add(&name, &open);
    drop(silent);
    running.stop(GRACE);
    let end = running.end().await;
    tracing::debug!(server = name, code = end.code, signal = end.signal, "a server has ended");
}

impl Tail {
    fn add(&self, name: &str, bytes: &[u8]) {
        let text = line(&String::from_utf8_lossy(bytes));
        if text.is_empty() {
            return;
        }
        tracing::debug!(server = name, "{text}");
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == MAX_TAIL {
            lines.pop_front();
        }
        lines.push_back(text);
    }
}

/// What a server writes, with an end where a message is too long.
#[derive(Debug)]
pub(super) struct Messages<R> {
    inner: R,
    /// How long the line is that has not ended.
    line: usize,
}

impl<R> Messages<R> {
    fn new(inner: R) -> Self {
        Self { inner, line: 0 }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Messages<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        std::task::ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        let read = buf.filled().get(before..).unwrap_or_default();
        let (mut line, mut longest) = (self.line, 0);
        for piece in read.split_inclusive(|&byte| byte == b'\n') {
            line += piece.len();
            longest = longest.max(line);
            if piece.ends_with(b"\n") {
                line = 0;
            }
        }
        self.line = line;
        if longest > MAX_MESSAGE {
            // Whoever reads must find nothing beside an error.
            buf.set_filled(before);
            return Poll::Ready(Err(io::Error::other("a message of more than 16 MiB")));
        }
        Poll::Ready(Ok(()))
    }
}
#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[test]
    fn no_word_of_a_command_is_read_by_the_shell() {
        let row = |words: &[&str], want: &str| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(command_line(&words), want);
        };
        row(&["npx", "-y", "a b"], "exec 'npx' '-y' 'a b'");
        row(&["it's", "$(x)", ""], r"exec 'it'\''s' '$(x)' ''");
    }

    #[tokio::test]
    async fn a_message_that_is_too_long_ends_the_talk() {
        let all = async |bytes: &[u8]| Messages::new(bytes).read_to_end(&mut Vec::new()).await.is_ok();
        let long = vec![b'x'; MAX_MESSAGE];
        assert!(all(&[&long[1..], b"\n", &long[1..], b"\nx"].concat()).await);
        assert!(!all(&[b"a\n", &long[..], b"\n"].concat()).await);
        assert!(!all(&[&long[..], b"x"].concat()).await);
    }

    #[test]
    fn the_last_lines_are_remembered() {
        let program = Program {
            tail: Tail::default(),
            stop: CancellationToken::new(),
            silent: CancellationToken::new(),
            task: Mutex::new(None),
        };
        assert_eq!(program.last_words(), "");
        (0..20).for_each(|n| program.tail.add("s", format!("line\u{1b}[1m {n}").as_bytes()));
        assert!(
            program.last_words().starts_with(" (it wrote: line[1m 12 / ")
                && program.last_words().ends_with("line[1m 19)")
        );
    }
}
