//! `haft tool`: the tools themselves, without a model.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use haft_llm::dialect::chat;
use haft_llm::{Provider, ToolSpec};
use haft_permission::{Answerer, Denied, Gate};
use haft_protocol::{Event, Object};
use haft_session::{Agent, Agents, Answered, Questions, Toolset, Workbench, definition};
use haft_tool::{Attachment, Output, Registry, Spec, ToolError, tokens};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::args::{ModelArg, Tool};
use crate::report::{Exit, Usage};
use crate::signals::Signals;
use crate::wire::{Bench, Ground};
use crate::{agents, ask, models, question, render, stdin};

/// Longest line of `--jsonl`, in bytes.
const MAX_LINE: u64 = 16 * 1024 * 1024;
/// How long servers and files of tools have to say what they offer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) async fn run(command: Tool) -> Result<Exit> {
    match command {
        Tool::List { json, model, agent, dir } => {
            list(&offered(&Ground::at(dir.as_deref())?.heard().await?, &model, agent.as_deref()).await?.specs, json)
        }
        Tool::Show { name, json } => show(&Ground::at(None)?, &name, json).await,
        Tool::Definitions { model, agent, dir } => {
            let ground = Ground::at(dir.as_deref())?;
            let offer = offered(&ground, &model, agent.as_deref()).await?;
            definitions(&offer, provider(&ground, &model).as_deref())
        }
        Tool::Call { jsonl: true, auto, agent, dir, .. } => {
            let ground = Ground::at(dir.as_deref())?.heard().await?;
            let end = call_lines(&ground, auto, agent.as_deref()).await;
            ground.dispose().await;
            end
        }
        Tool::Call { name, args, json, auto, agent, dir, .. } => {
            let arguments = match args.as_deref() {
                Some("-") => stdin::read(MAX_LINE).await?,
                Some(text) => text.to_owned(),
                None => String::new(),
            };
            let ground = Ground::at(dir.as_deref())?.heard().await?;
            agents::named(&agents::all(&ground)?, agent.as_deref())?;
            let bench = ground.workbench(ask::answerer(auto), agent.as_deref())?;
            let end = call(bench, &name.unwrap_or_default(), &arguments, json).await;
            ground.dispose().await;
            end
        }
    }
}

/// What an agent would be offered.
pub(crate) struct Offer {
    /// The definitions that it is sent.
    pub specs: Vec<Spec>,
    /// How many definitions servers and scripts have, what they would take, and how many are not sent for that.
    sources: Value,
}

/// Whom tools are offered to: an agent, and the model that speaks for it.
pub(crate) struct Audience {
    agents: Agents,
    agent: Agent,
    /// What the vendor calls the model, where that is known.
    model: String,
    toolset: Toolset,
}

impl Audience {
    /// `agent`, or the one that answers where none is named.
    ///
    /// # Errors
    ///
    /// When there is no such agent, or the settings of one are broken.
    pub(crate) fn new(ground: &Ground, model: &ModelArg, agent: Option<&str>) -> Result<Self> {
        let named = model.model.as_deref().or(ground.config.model.as_deref()).unwrap_or_default();
        // It need not be reachable.
        let (vendor, id) = named.split_once('/').unwrap_or(("", named));
        let (model, toolset) = match models::choose(Some(named), &ground.config) {
            Ok(model) => (model.api_id, model.toolset),
            Err(_) => (id.to_owned(), models::toolset(vendor, 0, &ground.config)),
        };
        let agents = agents::all(ground)?;
        let agent = agents::named(&agents, agent)?.clone();
        Ok(Self { agents, agent, model, toolset })
    }

    /// What they would be offered now, without the tools of those who have not said yet what they have.
    pub(crate) fn offer(&self, ground: &Ground) -> Offer {
        let Self { agents, agent, model, toolset } = self;
        let budget = ground.tools_budget();
        let registry = haft_session::offered(&ground.registry(), agent, &agent.rules, model, *toolset, budget);
        let sources = json!({
            "tools": registry.foreign().count(),
            "tokens": registry.foreign().map(|(_, spec)| spec.tokens()).sum::<usize>(),
            "held": registry.held(),
            "budget": budget.unwrap_or(haft_tool::TOOLS_BUDGET),
        });
        Offer { specs: haft_session::told(registry.specs(), agents, &agent.rules), sources }
    }
}

/// What `agent`, or the one that answers where none is named, would be offered here.
async fn offered(ground: &Ground, model: &ModelArg, agent: Option<&str>) -> Result<Offer> {
    ground.registry().ready(PATIENCE).await;
    Ok(Audience::new(ground, model, agent)?.offer(ground))
}

/// The tools that there are once those who have tools to offer have said so, or took too long.
async fn known(ground: &Ground) -> Registry {
    let registry = ground.registry();
    registry.ready(PATIENCE).await;
    registry.now()
}

fn list(specs: &[Spec], json: bool) -> Result<Exit> {
    if json {
        let all: Vec<Value> = specs.iter().map(described).collect();
        render::say_json(&Value::from(all), false)?;
        return Ok(Exit::Done);
    }
    let width = specs.iter().map(|spec| spec.name.len()).max().unwrap_or_default();
    for spec in specs {
        let first = spec.description.lines().next().unwrap_or_default();
        render::say(&format!("{:width$}  {first}", spec.name))?;
    }
    Ok(Exit::Done)
}

fn described(spec: &Spec) -> Value {
    json!({ "name": spec.name, "description": spec.description, "parameters": spec.parameters })
}

async fn show(ground: &Ground, name: &str, json: bool) -> Result<Exit> {
    let registry = known(ground).await;
    let spec = registry.find(name).map_err(Usage)?;
    let spec = registry.spec(spec).context("the tool vanished")?;
    let text = match json {
        true => described(&spec).to_string(),
        false => format!("{}\n\n{}\n\n{:#}", spec.name, spec.description, spec.parameters),
    };
    render::say(&text)?;
    Ok(Exit::Done)
}

/// Who would be sent the definitions, where the model that is named can be reached.
fn provider(ground: &Ground, model: &ModelArg) -> Option<Arc<dyn Provider>> {
    let named = model.model.as_deref().or(ground.config.model.as_deref());
    models::choose(named, &ground.config).ok().map(|model| model.provider)
}

/// Prints the definitions as `provider` is sent them; in the words of chat completions where there is none.
fn definitions(offer: &Offer, provider: Option<&dyn Provider>) -> Result<Exit> {
    let sent: Vec<ToolSpec> = offer.specs.iter().map(definition).collect();
    let written = |sent: &[ToolSpec]| provider.map_or_else(|| chat::tools(sent), |provider| provider.tools(sent));
    let tools = written(&sent);
    let size = |value: &Value| value.to_string().len();
    let mut per_tool = Object::new();
    for tool in &sent {
        // By itself, without the brackets around it.
        let bytes = size(&written(std::slice::from_ref(tool))).saturating_sub(2);
        per_tool.insert(tool.name.clone(), json!({ "bytes": bytes, "tokens": tokens(bytes) }));
    }
    let bytes = size(&tools);
    let sources = &offer.sources;
    let told =
        json!({ "tools": tools, "bytes": bytes, "tokens": tokens(bytes), "per_tool": per_tool, "sources": sources });
    render::say_json(&told, false)?;
    Ok(Exit::Done)
}

/// Runs one tool.
async fn call(bench: Bench, name: &str, arguments: &str, json: bool) -> Result<Exit> {
    let Bench { bench, gate, questions, asked } = bench;
    let cancel = CancellationToken::new();
    let asking = tokio::spawn(ask_person(asked, gate, questions, cancel.clone()));
    let answered = stoppable(&bench, name, arguments, &cancel, &mut Signals::listen()?).await;
    asking.abort();
    let exit = if cancel.is_cancelled() { Exit::Interrupted } else { exit(&answered.result) };
    match (json, answered.result) {
        (true, result) => render::say_json(&line(result), false)?,
        (false, Ok(output)) => {
            let text = output.text.trim_end_matches('\n');
            render::say(text)?;
        }
        (false, Err(error)) => {
            render::complain(&format!("error: {error}"));
            if let ToolError::Denied(Denied::Nobody { .. }) = error {
                render::complain("hint: --auto says yes to what no rule denies; a rule in opencode.json, every time");
            }
        }
    }
    Ok(exit)
}

fn exit(result: &Result<Output, ToolError>) -> Exit {
    match result {
        Ok(_) => Exit::Done,
        Err(ToolError::BadInput(_)) => Exit::Usage,
        Err(ToolError::Denied(_)) => Exit::Denied,
        Err(ToolError::Cancelled) => Exit::Interrupted,
        Err(ToolError::Failed(_)) => Exit::Failed,
    }
}

/// Answers each line of standard input with a line.
async fn call_lines(ground: &Ground, auto: bool, agent: Option<&str>) -> Result<Exit> {
    let answerer = if auto { Answerer::Yes } else { Answerer::Nobody };
    agents::named(&agents::all(ground)?, agent)?;
    let Bench { bench, .. } = ground.workbench(answerer, agent)?;
    let mut signals = Signals::listen()?;
    let mut input = BufReader::new(tokio::io::stdin());
    loop {
        let mut raw = Vec::new();
        // One more than allowed tells a line that is too long from one that just fits.
        let line = async { (&mut input).take(MAX_LINE + 1).read_until(b'\n', &mut raw).await };
        let read = tokio::select! {
            read = line => read.context("cannot read standard input")?,
            () = signals.next() => return Ok(Exit::Interrupted),
        };
        if read == 0 {
            return Ok(Exit::Done);
        }
        if raw.len() as u64 > MAX_LINE && !raw.ends_with(b"\n") {
            tokio::select! {
                skipped = skip_line(&mut input) => skipped?,
                () = signals.next() => return Ok(Exit::Interrupted),
            }
            raw.clear();
            say_result(Err(ToolError::BadInput("the line is longer than 16 MiB".to_owned())))?;
            continue;
        }
        if raw.trim_ascii().is_empty() {
            continue;
        }
        let cancel = CancellationToken::new();
        let result = match parse(&raw) {
            Ok((name, arguments)) => stoppable(&bench, &name, &arguments, &cancel, &mut signals).await.result,
            Err(why) => Err(ToolError::BadInput(why)),
        };
        say_result(result)?;
        if cancel.is_cancelled() {
            return Ok(Exit::Interrupted);
        }
    }
}

fn say_result(result: Result<Output, ToolError>) -> Result<()> {
    Ok(render::say_json(&line(result), false)?)
}

async fn skip_line(input: &mut (impl tokio::io::AsyncBufRead + Unpin)) -> Result<()> {
    loop {
        let buffer = input.fill_buf().await.context("cannot read standard input")?;
        let (used, ended) = match buffer.iter().position(|&byte| byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(used);
        if ended {
            return Ok(());
        }
    }
}

/// The tool and the arguments text of a line.
fn parse(raw: &[u8]) -> Result<(String, String), String> {
    const FORM: &str = r#"a line must be {"tool": "NAME", "args": {…}}"#;
    let line: Value = serde_json::from_slice(raw).map_err(|error| format!("{FORM}; this one is no JSON: {error}"))?;
    let name = line.get("tool").and_then(Value::as_str).ok_or_else(|| format!("{FORM}; this one names no tool"))?;
    let arguments = line.get("args").map_or_else(String::new, Value::to_string);
    Ok((name.to_owned(), arguments))
}

/// Runs a call that Ctrl-C stops: first politely, the second time at once.
async fn stoppable(
    bench: &Workbench,
    name: &str,
    arguments: &str,
    cancel: &CancellationToken,
    signals: &mut Signals,
) -> Answered {
    let mut call = std::pin::pin!(bench.call(name, arguments, cancel.clone()));
    loop {
        tokio::select! {
            answered = &mut call => return answered,
            () = signals.next() => {
                if cancel.is_cancelled() {
                    return Answered { name: name.to_owned(), result: Err(ToolError::Cancelled) };
                }
                cancel.cancel();
            }
        }
    }
}

/// Puts each question to the person at the terminal.
async fn ask_person(
    mut asked: mpsc::UnboundedReceiver<Event>,
    gate: Gate,
    questions: Questions,
    stop: CancellationToken,
) {
    while let Some(event) = asked.recv().await {
        if let Event::PermissionAsked(ask) = event {
            ask::answer(&ask, None, &gate, &stop).await;
        } else if let Event::QuestionAsked(inquiry) = event {
            question::answer(&inquiry, None, &questions, &stop).await;
        }
    }
}

/// A result as a line.
fn line(result: Result<Output, ToolError>) -> Value {
    match result {
        Ok(Output { title, text, metadata, attachments }) => {
            let attachments: Vec<Value> = attachments.iter().map(attachment).collect();
            json!({ "title": title, "output": text, "metadata": metadata, "attachments": attachments, "error": null })
        }
        Err(error) => json!({
            "title": "",
            "output": "",
            "metadata": {},
            "attachments": [],
            "error": { "kind": error.kind(), "message": error.to_string() },
        }),
    }
}

fn attachment(file: &Attachment) -> Value {
    let mut value = json!({ "type": "file", "mime": file.mime, "url": file.url });
    if let Some(name) = &file.filename {
        value["filename"] = name.as_str().into();
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_line_says_what_a_line_is() {
        let row = |raw: &str, want: &str| assert!(parse(raw.as_bytes()).unwrap_err().ends_with(want), "{raw}");
        row("{}", "names no tool");
        row("[1]", "names no tool");
        row("{\"tool\": 5}", "names no tool");
        row("nonsense", "expected ident at line 1 column 2");
        assert_eq!(parse(br#"{"tool":"read"}"#).unwrap(), ("read".to_owned(), String::new()));
    }
}
