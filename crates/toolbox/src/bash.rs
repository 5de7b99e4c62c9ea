//! `bash`: runs a command line and shows the end of what it wrote.

mod leave;
mod report;
mod window;

use std::borrow::Cow;
use std::num::NonZeroU64;
use std::time::Duration;

use haft_project::{Command, End, Files, Found, Processes, Running, Target};
use haft_protocol::Object;
use haft_tool::truncate::{Limits, preview};
use haft_tool::{Call, Kept, Output, TellModel, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use self::report::{NOTHING, Stopped, report};
use self::window::Window;
use crate::Options;
use crate::reach::reach_workdir;

/// How long a command may take to end after its time is over.
const TIMEOUT_GRACE: Duration = Duration::from_secs(1);
/// The same after the user stopped it; the whole call is dropped soon after.
const CANCEL_GRACE: Duration = Duration::from_millis(200);
/// Output is shown no more often than this.
const SHOW_EVERY: Duration = Duration::from_millis(50);

pub(crate) struct Bash {
    files: Files,
    processes: Processes,
    limits: Limits,
    timeout: Duration,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The command line.
    command: String,
    /// Milliseconds, 120000 when left out.
    timeout: Option<NonZeroU64>,
    /// The folder to run it in.
    workdir: Option<String>,
    /// What it does, in five to ten words.
    description: Option<String>,
}

impl Bash {
    pub(crate) fn new(files: &Files, processes: &Processes, options: &Options) -> Self {
        // No more can be shown than is remembered.
        let limits = Limits { bytes: options.output.bytes.min(window::SIZE), ..options.output };
        Self { files: files.clone(), processes: processes.clone(), limits, timeout: options.command_time }
    }

    /// The folder to run in, with leave where it is outside.
    async fn workdir(&self, input: &Input, call: &Call) -> Result<Target, ToolError> {
        let name = input.workdir.as_deref().unwrap_or("");
        let target = reach_workdir(&self.files, call, name, &input.command).await?;
        match target.found() {
            Found::Folder => Ok(target),
            Found::Nothing | Found::File => {
                let text = format!("workdir {} is no folder; give one that exists", target.path().display());
                Err(ToolError::Failed(text))
            }
        }
    }
}

impl Tool for Bash {
    const NAME: &'static str = "bash";
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        let Limits { lines, bytes } = self.limits;
        let size = if bytes % 1024 == 0 { format!("{} KB", bytes / 1024) } else { format!("{bytes} bytes") };
        include_str!("bash.md").replace("{lines}", &lines.to_string()).replace("{size}", &size).into()
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        if input.command.trim().is_empty() {
            return Err(ToolError::BadInput("command is empty; give a command line to run".to_owned()));
        }
        let dir = self.workdir(&input, call).await?.path().to_owned();
        let grant = leave::ask(&self.files, self.processes.shell(), call, &input.command, &dir).await?;

        let title = input.description.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| input.command.clone());
        call.progress(&title, shown(""));
        let command = Command { text: input.command, dir, env: Vec::new() };
        let running = self.processes.spawn(&grant, &command).tell_model()?;
        let timeout = input.timeout.map_or(self.timeout, |asked| Duration::from_millis(asked.get()));
        let ran = follow(running, timeout, self.limits, &title, call).await;
        Ok(finish(ran, title, self.limits, call).await)
    }
}

/// A command that has ended, and what it wrote.
struct Ran {
    window: Window,
    kept: Option<Kept>,
    end: End,
    stopped: Option<Stopped>,
}

/// Collects what a command writes until it ends or is stopped, and shows it meanwhile.
async fn follow(mut running: Running, timeout: Duration, limits: Limits, title: &str, call: &Call) -> Ran {
    let mut window = Window::default();
    let mut kept = None;
    let mut stopped = None;
    let mut unshown = false;
    let mut show_at = Instant::now();
    let deadline = tokio::time::sleep(timeout);
    tokio::pin!(deadline);
    loop {
        tokio::select! {
            piece = running.next() => {
                let Some(piece) = piece else { break };
                window.push(&piece);
                keep(&mut kept, &window, &piece, limits, call).await;
                unshown = true;
            }
            () = sleep_until(show_at), if unshown => {
                call.progress(title, shown(&window.text()));
                unshown = false;
                show_at = Instant::now() + SHOW_EVERY;
            }
            () = &mut deadline, if stopped.is_none() => {
                stopped = Some(Stopped::Timeout(timeout));
                running.stop(TIMEOUT_GRACE);
            }
            () = call.cancel.cancelled(), if stopped != Some(Stopped::ByUser) => {
                stopped = Some(Stopped::ByUser);
                running.stop(CANCEL_GRACE);
            }
        }
    }
    Ran { window, kept, end: running.end().await, stopped }
}

/// Adds a piece to the file with the whole output, which begins when the output is too long to be shown whole.
async fn keep(kept: &mut Option<Kept>, window: &Window, piece: &[u8], limits: Limits, call: &Call) {
    if let Some(kept) = kept {
        kept.add(piece).await;
    } else if window.total() > limits.bytes as u64 && window.is_whole() {
        *kept = keep_all(window, call).await;
    }
}

/// Begins the file with all there is so far. Without it the command still runs: its last lines are worth more.
async fn keep_all(window: &Window, call: &Call) -> Option<Kept> {
    let path = call.output_file();
    match Kept::create(path.clone()).await {
        Ok(mut kept) => {
            kept.add(window.bytes()).await;
            Some(kept)
        }
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "a long output could not be kept");
            None
        }
    }
}

async fn finish(ran: Ran, title: String, limits: Limits, call: &Call) -> Output {
    let Ran { window, mut kept, end, stopped } = ran;
    let text = window.text();
    let cut = report::cut(&text, limits, &window);
    if cut.is_some() && kept.is_none() && window.is_whole() {
        kept = keep_all(&window, call).await;
    }
    let (path, file) = match kept {
        Some(kept) => (Some(kept.path().display().to_string()), Some(kept.finish().await)),
        None => (None, None),
    };
    let report = report(&text, cut.as_ref(), file.as_deref(), end, stopped);
    let exit = if stopped.is_some() { None } else { end.code };
    let mut metadata = shown(if text.is_empty() { NOTHING } else { &text });
    metadata.insert("exit".to_owned(), exit.map_or(Value::Null, Value::from));
    metadata.insert("truncated".to_owned(), cut.is_some().into());
    if stopped == Some(Stopped::ByUser) {
        metadata.insert("interrupted".to_owned(), true.into());
    }
    if let Some(path) = path.filter(|_| cut.is_some()) {
        metadata.insert("outputPath".to_owned(), path.into());
    }
    Output { metadata, ..Output::new(title, report) }
}

/// What clients draw of a command.
fn shown(output: &str) -> Object {
    json!({ "output": preview(output) }).as_object().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests;
