//! Takes a prompt in: runs the command lines of its template, and shows what its words name.
//!
//! Nothing here changes the session, so prompts are taken in while a turn runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use haft_protocol::{MessageId, ModelRef, Object, OutputFormat, PartKind, Subtask};
use haft_tool::{Output, ToolError};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::Prompt;
use crate::agents::cast::{Cast, Casting, find_subagent};
use crate::error::SessionError;
use crate::hands::{READ, RESOURCE, SHELL, TASK};
use crate::prompt::command::{Command, MAX_EXPANDED, MAX_SHELL, Piece, called, split};
use crate::prompt::mention::{Lines, Mention, lines, mentions};
use crate::prompt::{Author, Delivery, bad, by, title};
use crate::setup::Setup;
use crate::turn::calls::{Calls, Prepared};
use crate::turn::form::Form;
use crate::turn::hooked::{commanded, prompted};
use crate::turn::report::Report;

/// Most bytes of text that the files of one prompt may add to it.
const MAX_SHOWN: usize = 512 * 1024;

/// Longest that servers which nobody spoke to yet are waited for, where a prompt names something of theirs.
const PATIENCE: Duration = Duration::from_secs(30);

/// A prompt that can be stored.
pub(crate) struct Taken {
    pub id: MessageId,
    pub cast: Arc<Cast>,
    /// A title for a session that begins with it.
    pub title: String,
    pub parts: Vec<PartKind>,
    /// The form that the answer is to have.
    pub format: Option<OutputFormat>,
    /// When it is read where a turn runs.
    pub delivery: Delivery,
    /// The command that it came from.
    pub command: Option<Called>,
}

impl Taken {
    /// Words that are only kept, as if they were for `cast`.
    pub(crate) fn note(setup: &Setup, cast: Arc<Cast>, prompt: &Prompt) -> Self {
        let (id, title, parts) = (setup.clock.mint(), String::new(), prompt.parts.clone());
        Self { id, cast, title, parts, format: None, delivery: Delivery::default(), command: None }
    }
}

/// A command that was called.
#[derive(Debug, Clone)]
pub(crate) struct Called {
    pub name: String,
    pub arguments: String,
}

/// What prompts are taken in with.
#[derive(Clone)]
pub(crate) struct Intake {
    pub setup: Arc<Setup>,
    /// How the agent that is asked may call tools.
    pub calls: Calls,
}

/// Whose leave holds for what a prompt names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leave {
    /// The person wrote it: naming it is the leave.
    Given,
    /// It stands in a command's template: the gate is asked, and an agent is handed nothing without it.
    Template,
    /// A model wrote it: the gate is asked, and what names an agent is only a word.
    Model,
}

impl Intake {
    /// Takes `prompt` in for `cast`. Dropping the future stops what it runs.
    ///
    /// # Errors
    ///
    /// When a file cannot be shown, or the user refused what a command needs.
    pub(crate) async fn take(
        self,
        prompt: Prompt,
        cast: Arc<Cast>,
        command: Option<Command>,
    ) -> Result<Taken, SessionError> {
        if let Some(format) = &prompt.format {
            Form::of(format).map_err(|why| SessionError::Refused(format!("the form of the answer: {why}")))?;
        }
        let id: MessageId = self.setup.clock.mint();
        let title = match &prompt.command {
            Some(name) => title(format!("/{name} {}", prompt.text).trim()),
            None => title(&prompt.text),
        };
        let called = command
            .as_ref()
            .map(|command| Called { name: command.name.clone(), arguments: arguments(&prompt).to_owned() });
        let (text, named) = match &command {
            Some(command) => self.expanded(&id, &prompt, command).await?,
            None => {
                let leave = match prompt.author {
                    Author::Person => Some(Leave::Given),
                    Author::Model => Some(Leave::Model),
                    Author::Program => None,
                };
                let named =
                    leave.map(|leave| mentions(&prompt.text).into_iter().map(|mention| (mention, leave)).collect());
                (prompt.text.clone(), named.unwrap_or_default())
            }
        };
        if let Some(command) = command.as_ref().filter(|command| self.is_task(command, &prompt)) {
            let parts = vec![subtask(command, &cast, text)];
            let parts = self.commanded(&id, &prompt, command, parts).await?;
            let (format, delivery) = (prompt.format, prompt.delivery);
            return Ok(Taken { id, cast, title, parts, format, delivery, command: called });
        }
        let mut shown = Shown::default();
        for path in &prompt.files {
            let name = path.display().to_string();
            let (output, input) = self.read(&id, path, None, Leave::Given).await;
            let output = output.map_err(|error| bad(path, &error.to_string()))?;
            shown.add(&name, path, None, &input, output);
        }
        for (mention, leave) in named {
            self.show(&id, &prompt.text, &mention, leave, &mut shown).await?;
        }
        let metadata = prompt.plugin.as_deref().map(|plugin| Box::new(by(plugin, Object::new())));
        let words = PartKind::Text { text, synthetic: false, ignored: false, time: None, metadata };
        let words = if prompt.parts.is_empty() { vec![words] } else { prompt.parts.clone() };
        let mut parts: Vec<PartKind> = words.into_iter().chain(shown.parts).collect();
        if let Some(command) = &command {
            parts = self.commanded(&id, &prompt, command, parts).await?;
        }
        let by_plugin = prompt.plugin.is_some();
        let (format, delivery) = (prompt.format, prompt.delivery);
        let taken = Taken { id, cast, title, parts, format, delivery, command: called };
        // What plug-ins say is put before no hook: one that says something itself would never come to an end.
        if by_plugin { Ok(taken) } else { prompted(&self.setup, &self.calls.session, taken).await }
    }

    /// What hooks make of a command's parts.
    async fn commanded(
        &self,
        id: &MessageId,
        prompt: &Prompt,
        command: &Command,
        parts: Vec<PartKind>,
    ) -> Result<Vec<PartKind>, SessionError> {
        if prompt.plugin.is_some() {
            return Ok(parts);
        }
        commanded(&self.setup, id, &self.calls.session, &command.name, arguments(prompt), parts).await
    }

    fn is_task(&self, command: &Command, prompt: &Prompt) -> bool {
        Casting::new(Arc::clone(&self.setup), None).is_task(command, prompt)
    }

    /// The words of a command that somebody else writes. They are only text: nothing in them is run or read.
    async fn foreign(&self, command: &Command, arguments: &str) -> Result<String, SessionError> {
        let Some(prompts) = &self.setup.options.prompts else { return Ok(String::new()) };
        let text = prompts.get(&command.name, split(arguments)).await.map_err(SessionError::Refused)?;
        match text.len() > MAX_EXPANDED {
            true => Err(SessionError::Refused(format!("the command /{} is larger than a prompt may be", command.name))),
            false => Ok(text),
        }
    }

    /// The words of a command, and what they name. What its command lines write is only text.
    async fn expanded(
        &self,
        id: &MessageId,
        prompt: &Prompt,
        command: &Command,
    ) -> Result<(String, Vec<(Mention, Leave)>), SessionError> {
        let arguments = arguments(prompt);
        if command.foreign {
            return self.foreign(command, arguments).await.map(|text| (text, Vec::new()));
        }
        let pieces = command.expand(arguments);
        let written: String = pieces
            .iter()
            .filter_map(|piece| if let Piece::Text(text) = piece { Some(text.as_str()) } else { None })
            .collect();
        let count = pieces.iter().filter(|piece| matches!(piece, Piece::Shell(_))).count();
        if written.len() > MAX_EXPANDED || count > MAX_SHELL {
            let why = format!("the command /{} is larger than a prompt may be", command.name);
            return Err(SessionError::Refused(why));
        }
        let texts = join_all(pieces.into_iter().map(async |piece| match piece {
            Piece::Text(text) => Ok(text),
            Piece::Shell(line) => self.shell(id, &line).await,
            Piece::Unsafe(line) => Ok(format!("(`{line}` was not run: the arguments are no plain words)")),
        }));
        let text = texts.await.into_iter().collect::<Result<String, SessionError>>()?;
        let by_person = if prompt.author == Author::Person { mentions(arguments) } else { Vec::new() };
        let leave = |mention: Mention| {
            let leave = if by_person.contains(&mention) { Leave::Given } else { Leave::Template };
            (mention, leave)
        };
        let named = if command.literal { mentions(arguments) } else { mentions(&written) };
        Ok((text.trim().to_owned(), named.into_iter().map(leave).collect()))
    }

    /// What a command line of a template writes, or why it was not run.
    async fn shell(&self, id: &MessageId, line: &str) -> Result<String, SessionError> {
        match self.call(&self.calls, id, SHELL, json!({ "command": line })).await {
            Ok(output) => Ok(output.text),
            Err(ToolError::Denied(denied)) if !denied.may_go_on() => Err(SessionError::Refused(denied.to_string())),
            Err(error) => Ok(format!("(`{line}` was not run: {error})")),
        }
    }

    /// Shows what a mention in `text` names: a file, a folder, a resource of a server, an agent. Anything else is only a
    /// word.
    async fn show(
        &self,
        id: &MessageId,
        text: &str,
        mention: &Mention,
        leave: Leave,
        shown: &mut Shown,
    ) -> Result<(), SessionError> {
        let (setup, looked) = (Arc::clone(&self.setup), mention.clone());
        let found = tokio::task::spawn_blocking(move || find(&setup, &looked)).await.unwrap_or_default();
        if let Some((path, range)) = found {
            if shown.has(&path, range) {
                return Ok(());
            }
            let (output, input) = self.read(id, &path, range, leave).await;
            match output {
                Ok(output) => shown.add(&mention.name, &path, range, &input, output),
                Err(ToolError::Denied(denied)) if !denied.may_go_on() => {
                    return Err(SessionError::Refused(denied.to_string()));
                }
                Err(error) => shown.say(format!("@{} could not be read: {error}", mention.name)),
            }
            return Ok(());
        }
        if let Some(named) = self.resource(mention) {
            match self.read_resource(id, &named, leave).await {
                Ok(output) => shown.resource(&named, text, output),
                Err(ToolError::Denied(denied)) if !denied.may_go_on() => {
                    return Err(SessionError::Refused(denied.to_string()));
                }
                Err(error) => shown.say(format!("Failed to read MCP resource {}: {error}", named.uri)),
            }
            return Ok(());
        }
        let agent = [&mention.name, &mention.trimmed].into_iter().find_map(|name| find_subagent(&self.setup, name));
        // What a model names is no wish of the person's, and what a template names is no leave of theirs.
        let Some(agent) = agent.filter(|_| leave != Leave::Model) else { return Ok(()) };
        // Without a tool for it there is nothing to tell the model to do.
        if self.calls.registry.find(TASK).is_ok() {
            let who = if leave == Leave::Given { "user" } else { "command" };
            shown.say(format!(
                "The {who} wants the agent {} for this: call {TASK} with it, and tell it everything from this message that it needs.",
                agent.name
            ));
        }
        if leave == Leave::Given {
            shown.parts.push(PartKind::Agent { name: agent.name, source: None });
        }
        Ok(())
    }

    /// Reads a file or a folder through the tool's own door. Also returns the arguments.
    async fn read(
        &self,
        id: &MessageId,
        path: &Path,
        range: Option<Lines>,
        leave: Leave,
    ) -> (Result<Output, ToolError>, Value) {
        let mut input = json!({ "filePath": path.display().to_string() });
        if let Some(Lines { first, last }) = range {
            input["offset"] = first.into();
            input["limit"] = (last - first + 1).into();
        }
        let by_hand = self.calls.by_hand(&self.setup.registry);
        let calls = match leave {
            Leave::Given => &by_hand,
            Leave::Template | Leave::Model => &self.calls,
        };
        (self.call(calls, id, READ, input.clone()).await, input)
    }

    /// What a mention names of a server: `server:uri`.
    fn resource(&self, mention: &Mention) -> Option<Resource> {
        let servers = self.setup.options.resources.as_ref()?;
        // No address ends with what ends a sentence, as far as anybody writes one in it.
        [&mention.trimmed, &mention.name].into_iter().find_map(|name| {
            let (server, uri) = name.split_once(':').filter(|(_, uri)| !uri.is_empty())?;
            let mention = format!("@{name}");
            servers.has(server).then(|| Resource { server: server.to_owned(), uri: uri.to_owned(), mention })
        })
    }

    /// Reads what a server has, through the tool's own door.
    async fn read_resource(&self, id: &MessageId, named: &Resource, leave: Leave) -> Result<Output, ToolError> {
        // A server that nobody needed so far says only now that it has something.
        self.setup.registry.ready(PATIENCE).await;
        let calls = match leave {
            Leave::Given => self.calls.by_hand(&self.setup.registry.now()),
            Leave::Template | Leave::Model => self.calls.current(),
        };
        self.call(&calls, id, RESOURCE, json!({ "server": named.server, "uri": named.uri })).await
    }

    async fn call(&self, calls: &Calls, id: &MessageId, tool: &str, input: Value) -> Result<Output, ToolError> {
        let mut prepared = Prepared { name: tool.to_owned(), input };
        // Nobody watches the work in progress here, and what stops it is that the future is dropped.
        let report = Report::nobody();
        calls.call(id, &format!("{id}_{tool}"), &mut prepared, CancellationToken::new(), report).await
    }
}

/// What stands behind the name of the command that a prompt calls.
fn arguments(prompt: &Prompt) -> &str {
    match &prompt.command {
        Some(_) => prompt.text.as_str(),
        None => called(&prompt.text).map_or("", |(_, arguments)| arguments),
    }
}

/// The part that stands for the work of `command`, whose words are `prompt`.
fn subtask(command: &Command, cast: &Cast, prompt: String) -> PartKind {
    let model = command.model.as_deref().and_then(|model| model.split_once('/'));
    PartKind::Subtask(Box::new(Subtask {
        prompt,
        description: command.description.clone().unwrap_or_else(|| format!("/{}", command.name)),
        agent: command.agent.clone().unwrap_or_else(|| cast.agent.name.clone()),
        command: Some(command.name.clone()),
        model: model.map(|(vendor, model)| ModelRef { provider_id: vendor.to_owned(), model_id: model.to_owned() }),
        variant: command.variant.clone(),
    }))
}

/// The file or folder that a mention names: below the home, the working folder or the top of the work tree.
fn find(setup: &Setup, mention: &Mention) -> Option<(PathBuf, Option<Lines>)> {
    [&mention.name, &mention.trimmed].into_iter().find_map(|name| {
        // A name that has a `#` of its own goes before one with lines.
        [(name.as_str(), None), lines(name)].into_iter().find_map(|(name, range)| {
            let places = [Some(setup.place.directory.as_path()), setup.place.worktree.as_deref()];
            let paths: Vec<PathBuf> = match name.strip_prefix("~/") {
                Some(below) => setup.options.home.iter().map(|home| home.join(below)).collect(),
                None => places.into_iter().flatten().map(|base| base.join(name)).collect(),
            };
            paths.into_iter().filter(|_| !name.is_empty()).find(|path| path.exists()).map(|path| (path, range))
        })
    })
}

/// Something of a server that a prompt names.
struct Resource {
    server: String,
    uri: String,
    /// As the prompt names it.
    mention: String,
}

impl Resource {
    /// Where it stands in `text`, as clients of the reference's server read it.
    fn source(&self, text: &str) -> Object {
        let start = text.find(&self.mention).map_or(0, |at| text[..at].chars().count());
        let end = start + self.mention.chars().count();
        let value = json!({
            "type": "resource", "clientName": self.server, "uri": self.uri,
            "text": { "value": self.mention, "start": start, "end": end },
        });
        if let Value::Object(source) = value { source } else { Object::new() }
    }
}

/// The parts that show what a prompt names.
#[derive(Default)]
struct Shown {
    parts: Vec<PartKind>,
    /// Bytes of text so far.
    bytes: usize,
    /// What is shown already, by whatever name.
    files: Vec<(PathBuf, Option<Lines>)>,
}

impl Shown {
    fn say(&mut self, text: String) {
        self.bytes += text.len();
        self.parts.push(PartKind::Text { text, synthetic: true, ignored: false, time: None, metadata: None });
    }

    /// Shows what reading `named`, which stands in the prompt's `text`, gave.
    fn resource(&mut self, named: &Resource, text: &str, output: Output) {
        let Resource { server, uri, .. } = named;
        if self.bytes + output.text.len() > MAX_SHOWN {
            let why = format!(
                "MCP resource {uri} of {server} is not shown: there is too much already. Read it with {RESOURCE}."
            );
            return self.say(why);
        }
        self.say(format!("Reading MCP resource: {server} ({uri})"));
        if !output.text.is_empty() {
            self.say(output.text);
        }
        let source = Some(Box::new(named.source(text)));
        if output.attachments.is_empty() {
            let (mime, filename) = ("text/plain".to_owned(), Some(uri.clone()));
            return self.parts.push(PartKind::File { mime, filename, url: uri.clone(), source });
        }
        self.parts.extend(output.attachments.into_iter().map(|file| PartKind::File {
            mime: file.mime,
            filename: file.filename,
            url: file.url,
            source: source.clone(),
        }));
    }

    fn has(&self, path: &Path, range: Option<Lines>) -> bool {
        self.files.iter().any(|(shown, lines)| shown == path && *lines == range)
    }

    /// Shows what reading `path` gave: in words for the model, and as a file for people.
    fn add(&mut self, name: &str, path: &Path, range: Option<Lines>, input: &Value, output: Output) {
        if self.bytes + output.text.len() > MAX_SHOWN {
            return self.say(format!("{name} is not shown: there is too much already. Read it with {input}."));
        }
        self.files.push((path.to_path_buf(), range));
        self.say(format!("The user shows {name}. Reading it with {input} gave:\n{}", output.text));
        if !output.attachments.is_empty() {
            let files = output.attachments.into_iter();
            self.parts.extend(files.map(|file| PartKind::File {
                mime: file.mime,
                filename: file.filename,
                url: file.url,
                source: None,
            }));
            return;
        }
        let is_folder = output.metadata.get("display").is_some_and(|display| display["type"] == "directory");
        let mime = if is_folder { "application/x-directory" } else { "text/plain" };
        let lines = range.map(|Lines { first, last }| format!("?start={first}&end={last}"));
        let url = format!("file://{}{}", escaped(path), lines.unwrap_or_default());
        self.parts.push(PartKind::File { mime: mime.to_owned(), filename: Some(name.to_owned()), url, source: None });
    }
}

/// `path` as it stands in an address.
fn escaped(path: &Path) -> String {
    let mut out = String::new();
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_resource_is_named_is_told_in_characters() {
        let named = Resource { server: "d".to_owned(), uri: "x://a".to_owned(), mention: "@d:x://a".to_owned() };
        let want = json!({"type": "resource", "clientName": "d", "uri": "x://a",
                          "text": {"value": "@d:x://a", "start": 2, "end": 10}});
        assert_eq!(Value::from(named.source("é @d:x://a!")), want);
    }

    #[test]
    fn a_path_in_an_address_keeps_its_own_marks() {
        let row = |path: &str, want: &str| assert_eq!(escaped(Path::new(path)), want);
        row("/a-b/c_1.rs", "/a-b/c_1.rs");
        row("/a b#2/who?.rs", "/a%20b%232/who%3F.rs");
        row("/é%", "/%C3%A9%25");
    }
}
