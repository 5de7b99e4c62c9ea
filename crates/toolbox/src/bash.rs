//! `bash`: runs a command line and shows the end of what it wrote.

mod blocked;
pub(crate) mod cage;
mod keeper;
mod leave;
mod plain;
pub(crate) mod report;
mod touched;
pub(crate) mod window;

use std::borrow::Cow;
use std::num::NonZeroU64;
use std::time::Duration;

use haft_permission::Grant;
use haft_project::{Command, End, Files, Found, Processes, Repair, Running, Streams, Target};
use haft_protocol::Object;
use haft_tool::truncate::{Limits, preview};
use haft_tool::{Call, Output, Small, TellModel, Tool, ToolError, reader_hint};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

pub(crate) use self::keeper::Keeper;
pub(crate) use self::leave::secrets;
use self::leave::{Asking, Leave, Wish};
use self::report::{Left, NOTHING, Stopped, report};
use self::window::Window;
use crate::Options;
use crate::job::{self, Jobs, Start};
use crate::reach::reach_workdir;

/// How long a command may take to end after its time is over.
const TIMEOUT_GRACE: Duration = Duration::from_secs(1);
/// The same after the user stopped it; the whole call is dropped soon after.
const CANCEL_GRACE: Duration = Duration::from_millis(200);
/// Output is shown no more often than this.
const SHOW_EVERY: Duration = Duration::from_millis(50);
/// How long a call waits for a job that ends at once, so that the model sees at once what was wrong.
const FIRST_LOOK: Duration = Duration::from_millis(300);

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
    /// Returns at once; it goes on as a job.
    background: Option<bool>,
    /// Runs it on a terminal, with nobody to type.
    pty: Option<bool>,
    /// It needs the network.
    network: Option<bool>,
    /// Further paths it must change.
    write: Option<Vec<String>>,
}

impl Bash {
    pub(crate) fn new(files: &Files, processes: &Processes, options: &Options) -> Self {
        let limits = job::shown(options.output);
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
    const SMALL: Option<Small> = Some(Small {
        description: "Runs a command line in a shell in the project folder: builds, tests, git. Not for reading or changing files.",
        arguments: &["command", "timeout", "workdir"],
    });
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
        let asking = Asking { files: &self.files, processes: &self.processes, call };
        let write = input.write.unwrap_or_default();
        let network = input.network.unwrap_or_default();
        let wish = Wish { command: &input.command, dir: &dir, network, write: &write };
        let Leave { grant, programs, secrets } = leave::ask(&asking, &wish).await?;

        let title = input.description.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| input.command.clone());
        let background = input.background.unwrap_or_default();
        let jobs = call.belongings().of::<Jobs>();
        if background {
            jobs.room()?;
        }
        call.progress(&title, shown(""));
        let streams = if input.pty.unwrap_or_default() { Streams::Terminal } else { Streams::Pipe };
        let env = call.shell_env(&dir).await;
        let command = Command { text: input.command, dir, env, streams, programs, secrets };
        let running = self.processes.spawn(&grant, &command).await.tell_model()?;
        let asked = input.timeout.map(|asked| Duration::from_millis(asked.get()));
        let start = |timeout| Start {
            command: command.text,
            dir: command.dir,
            file: call.output_file(),
            limits: self.limits,
            timeout,
        };
        if background {
            return behind(running, &jobs, start(asked), title, call).await;
        }
        let ran = follow(running, asked.unwrap_or(self.timeout), self.limits, &title, call).await;
        Ok(finish(ran, &jobs, start(None), title, call).await)
    }
}

/// Asks for running `command` in the folder `dir` just as the bash tool does, for a tool that runs commands of its own, and
/// gives what to spawn.
///
/// # Errors
///
/// [`ToolError::Denied`], or where `dir` is no folder.
pub async fn leave_to_run(
    world: &crate::World,
    call: &Call,
    command: &str,
    dir: &str,
) -> Result<(Grant, Command), ToolError> {
    let target = reach_workdir(&world.files, call, dir, command).await?;
    if target.found() != Found::Folder {
        return Err(ToolError::Failed(format!("{dir} is no folder; give one that exists")));
    }
    let dir = target.path().to_owned();
    let asking = Asking { files: &world.files, processes: &world.processes, call };
    let Leave { grant, programs, secrets } =
        leave::ask(&asking, &Wish { command, dir: &dir, network: false, write: &[] }).await?;
    Ok((grant, Command { text: command.to_owned(), dir, programs, secrets, ..Command::default() }))
}

/// Begins a job, and tells what came of it so far.
async fn behind(running: Running, jobs: &Jobs, start: Start, title: String, call: &Call) -> Result<Output, ToolError> {
    let job = jobs.begin(running, start).map_err(|full| full.1)?;
    tokio::select! {
        () = job.ended() => {}
        () = tokio::time::sleep(FIRST_LOOK) => {}
        // It goes on, as it was asked to.
        () = call.cancel.cancelled() => {}
    }
    Ok(job.look(&title, call))
}

/// What a command wrote until it ended, was stopped, or left only something else running.
struct Ran {
    running: Running,
    window: Window,
    keeper: Keeper,
    stopped: Option<Stopped>,
}

/// Collects what a command writes until it ends or is stopped, and shows it meanwhile.
async fn follow(mut running: Running, timeout: Duration, limits: Limits, title: &str, call: &Call) -> Ran {
    let mut window = Window::default();
    let mut keeper = Keeper::new(call.output_file(), limits);
    let mut piece = Vec::new();
    let mut stopped = None;
    let mut unshown = false;
    let mut show_at = Instant::now();
    let deadline = tokio::time::sleep(timeout);
    tokio::pin!(deadline);
    loop {
        tokio::select! {
            more = running.read(&mut piece) => {
                if !more {
                    break;
                }
                keeper.push(&piece).await;
                window.push(&piece);
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
    window.finish();
    Ran { running, window, keeper, stopped }
}

async fn finish(ran: Ran, jobs: &Jobs, start: Start, title: String, call: &Call) -> Output {
    let Ran { running, window, keeper, stopped } = ran;
    let (limits, dir, walls) = (start.limits, start.dir.clone(), running.walls().cloned());
    let (end, left, repairs) = leave_running(running, jobs, start, stopped.is_some()).await;
    let text = window.text();
    let caged = cage::told(walls.as_ref(), &text, end.code, &dir, &repairs);
    let cut = report::cut(&text, limits, &window, || reader_hint(call));
    let file = keeper.finish(cut.is_some()).await;
    let words = file.as_ref().map(|(_, words)| words.as_str());
    let report = report(&text, cut.as_ref(), words, end, stopped, &left);
    let exit = if stopped.is_some() { None } else { end.code };
    let mut metadata = shown(if text.is_empty() { NOTHING } else { &text });
    metadata.insert("exit".to_owned(), exit.map_or(Value::Null, Value::from));
    metadata.insert("truncated".to_owned(), cut.is_some().into());
    if stopped == Some(Stopped::ByUser) {
        metadata.insert("interrupted".to_owned(), true.into());
    }
    if let Some((path, _)) = file {
        metadata.insert("outputPath".to_owned(), path.into());
    }
    if let Left::Job { id, .. } = left {
        metadata.insert("jobId".to_owned(), id.into());
    }
    caged.on(Output { metadata, ..Output::new(title, report) })
}

/// Makes a job of what the command left running, unless it was stopped or there are too many.
async fn leave_running(mut running: Running, jobs: &Jobs, start: Start, stopped: bool) -> (End, Left, Vec<Repair>) {
    let names = if stopped { Vec::new() } else { running.left().await };
    if names.is_empty() {
        let (end, repairs) = running.finish().await;
        return (end, Left::Nothing, repairs);
    }
    let (end, repairs) = (running.so_far(), running.put_back().await);
    match jobs.begin(running, Start { command: names.join(", "), ..start }) {
        Ok(job) => (end, Left::Job { id: job.id().to_owned(), names }, repairs),
        Err(full) => {
            let (end, more) = full.0.finish().await;
            (end, Left::Ended(job::MAX_RUNNING), repairs.into_iter().chain(more).collect())
        }
    }
}

/// What clients draw of a command.
pub(crate) fn shown(output: &str) -> Object {
    json!({ "output": preview(output) }).as_object().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests;
