//! From the history to the request. Pure.
//!
//! The history is a record of what happened; the request is a projection of it that every model accepts: each call
//! has exactly one result, nothing is empty, a vendor's own items go back to the model that made them and to no
//! other. Equal histories give equal requests, and a longer history begins with what the shorter one gave.

use std::sync::Arc;

use haft_llm::{AssistantPart, Content, Message as Turn, Messages, Request, ToolChoice, ToolResult, ToolSpec};
use haft_protocol::{Assistant, Failure, History, Message, ModelRef, Object, Part, PartKind, ToolState, Turned, User};
use haft_tool::Spec;
use serde_json::Value;

use crate::Model;
use crate::compact::condensed::{self, Condensed};
use crate::replay::is_models;
use crate::request::estimate::{self, Estimate};
use crate::request::gauge::Gauge;
use crate::stored::recover::cut_off;
use crate::turn::call_ids::Ids;
use crate::turn::fold;

/// The request for the next step of `history`.
pub fn assemble(system: &str, history: &History, tools: &[Spec], model: &Model) -> Request {
    let tools = Arc::new(tools.iter().map(definition).collect());
    Projection::default().request(system, history, &tools, model, &|_, _| None).request
}

/// The same for the last step that a turn may take: no tool may be called, and the order is to sum up.
pub(crate) fn last(mut request: Request) -> Request {
    request.tool_choice = ToolChoice::None;
    let text = reminder(include_str!("../reminders/limit.md"));
    request.messages.push(Arc::new(Turn::User { content: vec![Content::Text { text }] }));
    request
}

/// What is added to a prompt in requests, though nobody wrote it: by the name of the agent that is asked and of the
/// one that answered before. It must depend on nothing else, or a request would not begin as the one before it did.
pub(crate) type Remind<'a> = dyn Fn(&str, Option<&str>) -> Option<&'static str> + 'a;

/// A history as the messages of a request, of which each is made once: what a step costs must not grow with what came
/// before it, except by the bytes of the request itself.
#[derive(Default)]
pub(crate) struct Projection {
    /// How many messages of the history are settled: nothing about them changes any more.
    settled: usize,
    /// What became of them, and behind that of the others in the last request, which shares this list: once it is gone,
    /// nothing is copied for the next.
    made: Messages,
    /// How many there are of the settled ones.
    kept: usize,
    /// About how many tokens they take.
    size: u64,
    /// The last answer among them.
    before: Option<Before>,
    ids: Ids,
    /// How many answers came before those in `made`: a summary stands for them.
    left_out: usize,
    /// How many of the settled answers, those that are left out among them, keep what a person ran.
    by_hand: usize,
    /// What requests turned out to take.
    pub gauge: Gauge,
}

/// A request, and about how much it is.
pub(crate) struct Assembled {
    pub request: Request,
    pub estimate: Estimate,
}

/// Begins a conversation of which only the model's words are left: vendors want the user first.
const OPENING: &str = "(The beginning of this conversation is not shown.)";

/// What stands for an output that was dropped from what the model is sent.
const DROPPED: &str = "[This output is old and was left out to make room. Make the call again if you need it.]";

/// Most characters of a tool's name that vendors take, and those they take it from.
const MAX_NAME: usize = 64;

/// A tool's name as vendors take it. Models make names up, and a call that was cut off keeps what they wrote.
fn callable(name: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let name: String = name.chars().map(|letter| if fits(letter) { letter } else { '_' }).take(MAX_NAME).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

/// What a prompt's place in a request depends on: the answer before it.
#[derive(Debug, Clone)]
struct Before {
    agent: String,
    /// Whether the turn went on behind it.
    went_on: bool,
    /// When it ended, in Unix milliseconds.
    until: u64,
}

impl Projection {
    /// The request for the next step of `history`, which must be the one of the calls before, grown, and for the same
    /// model.
    pub(crate) fn request(
        &mut self,
        system: &str,
        history: &History,
        tools: &Arc<Vec<ToolSpec>>,
        model: &Model,
        remind: &Remind<'_>,
    ) -> Assembled {
        let messages = history.messages();
        let session = messages.first().map(|turned| turned.info.session_id().to_string());
        let made = |turned: &Turned, before: &mut Option<Before>, ids: &mut Ids, is_first: bool| {
            let turns = turns(turned, &model.reference, before, ids, remind);
            let headless = is_first && matches!(turns.first(), Some(Turn::Assistant { .. }));
            let opening = headless.then(|| Turn::User { content: vec![Content::text(OPENING)] });
            opening.into_iter().chain(turns).map(Arc::new).collect::<Vec<_>>()
        };
        self.made.truncate(self.kept);
        let settled = messages[self.settled..].iter().take_while(|turned| is_settled(turned)).count();
        let until = self.settled + settled;
        if let Some(condensed) = condensed::newest(messages, self.settled..until) {
            self.begin_with(&condensed, messages, &model.reference);
            let kept = &messages[condensed.tail..condensed.request];
            self.settle(kept, &model.reference, made);
            self.settled = condensed.summary + 1;
        }
        self.settle(&messages[self.settled..until], &model.reference, made);
        self.settled = until;
        let mut before = self.before.clone();
        for turned in &messages[self.settled..] {
            let is_first = self.made.is_empty();
            self.made.extend(made(turned, &mut before, &mut self.ids, is_first));
        }
        let by_hand = messages[self.settled..].iter().filter(|turned| is_by_hand(turned, &model.reference)).count();
        self.ids.forget();
        let size = self.size + self.made[self.kept..].iter().map(|turn| estimate::message(turn)).sum::<u64>();
        let estimate = Estimate { messages: size, ..Estimate::around(system, tools) };
        let request = Request {
            model: model.api_id.clone(),
            system: system.to_owned(),
            messages: self.made.clone(),
            tools: tools.clone(),
            max_output: model.limits.ask_behind(estimate.total()),
            session,
            extra: model.extra.clone(),
            left_out: self.left_out,
            by_hand: self.by_hand + by_hand,
            ..Request::default()
        };
        Assembled { request, estimate }
    }

    /// Forgets what was made, because the history changed in the middle of it.
    pub(crate) fn renew(&mut self) {
        *self = Self { gauge: self.gauge, ..Self::default() };
    }

    /// Begins anew with a summary in place of what came before it.
    fn begin_with(&mut self, condensed: &Condensed, messages: &[Turned], model: &ModelRef) {
        let gone = &messages[..condensed.tail];
        let notes = Turn::User { content: vec![Content::Text { text: condensed.notes(messages) }] };
        *self = Self {
            size: estimate::message(&notes),
            made: vec![Arc::new(notes)].into(),
            kept: 1,
            before: gone.iter().rev().find_map(before),
            left_out: gone.iter().filter(|turned| speaks(turned, model)).count(),
            by_hand: gone.iter().filter(|turned| is_by_hand(turned, model)).count(),
            gauge: self.gauge,
            ..Self::default()
        };
    }

    /// Takes messages in that nothing changes any more.
    fn settle(
        &mut self,
        messages: &[Turned],
        model: &ModelRef,
        make: impl Fn(&Turned, &mut Option<Before>, &mut Ids, bool) -> Vec<Arc<Turn>>,
    ) {
        for turned in messages {
            let made = make(turned, &mut self.before, &mut self.ids, self.made.is_empty());
            self.size += made.iter().map(|turn| estimate::message(turn)).sum::<u64>();
            self.made.extend(made);
            self.by_hand += usize::from(is_by_hand(turned, model));
        }
        self.kept = self.made.len();
        self.ids.settle();
    }
}

/// About how many tokens a message takes in a request.
pub(crate) fn weigh(turned: &Turned, model: &ModelRef) -> u64 {
    let turns = turns(turned, model, &mut None, &mut Ids::default(), &|_, _| None);
    turns.iter().map(estimate::message).sum()
}

/// Whether a message is an answer that a request has a place for.
fn speaks(turned: &Turned, model: &ModelRef) -> bool {
    let Message::Assistant(answer) = &turned.info else { return false };
    let same = is_by(answer, model);
    let item = |metadata: Option<&Object>| same && fold::item(metadata).is_some();
    let says = |part: &Part| match &part.kind {
        PartKind::Text { text, .. } => !text.trim().is_empty(),
        PartKind::Tool { .. } => true,
        PartKind::Reasoning { metadata, .. } => item(metadata.as_deref()),
        PartKind::Vendor { metadata } => item(Some(metadata)),
        PartKind::File { .. }
        | PartKind::Agent { .. }
        | PartKind::Subtask { .. }
        | PartKind::Patch { .. }
        | PartKind::Compaction { .. }
        | PartKind::Retry { .. }
        | PartKind::StepStart {}
        | PartKind::StepFinish { .. } => false,
    };
    !answer.summary && counts(answer, &turned.parts) && turned.parts.iter().any(says)
}

/// Whether such an answer is none of a model.
fn is_by_hand(turned: &Turned, model: &ModelRef) -> bool {
    speaks(turned, model) && !is_models(turned)
}

/// Whether an answer was given by `model`.
fn is_by(answer: &Assistant, model: &ModelRef) -> bool {
    answer.provider_id == model.provider_id && answer.model_id == model.model_id
}

/// What a message is to the prompt behind it, if it is an answer.
fn before(turned: &Turned) -> Option<Before> {
    let Message::Assistant(answer) = &turned.info else { return None };
    // A summary is no part of the conversation by itself.
    (!answer.summary).then(|| Before {
        agent: answer.agent.clone(),
        went_on: answer.error.is_none() && answer.finish.as_deref() == Some("tool-calls"),
        until: answer.time.completed.unwrap_or(0),
    })
}

/// Whether nothing about a message changes any more.
fn is_settled(turned: &Turned) -> bool {
    match &turned.info {
        Message::User(_) => true,
        Message::Assistant(answer) => answer.time.completed.is_some(),
    }
}

/// A tool as a request defines it.
pub fn definition(spec: &Spec) -> ToolSpec {
    ToolSpec { name: spec.name.clone(), description: spec.description.clone(), parameters: spec.parameters.clone() }
}

fn turns(
    turned: &Turned,
    model: &ModelRef,
    before: &mut Option<Before>,
    ids: &mut Ids,
    remind: &Remind<'_>,
) -> Vec<Turn> {
    match &turned.info {
        Message::User(user) => prompt(user, &turned.parts, before.as_ref(), remind).into_iter().collect(),
        Message::Assistant(Assistant { summary: true, .. }) => Vec::new(),
        Message::Assistant(assistant) => {
            *before = self::before(turned);
            answer(assistant, &turned.parts, model, ids)
        }
    }
}

fn prompt(user: &User, parts: &[Part], before: Option<&Before>, remind: &Remind<'_>) -> Option<Turn> {
    // It came while the answer before it was still being worked on, and the turn went on: the model must not take it
    // for the end of what it was doing.
    let steers = before.is_some_and(|before| before.went_on && user.time.created <= before.until);
    let content = parts.iter().filter_map(|part| steering(part).filter(|_| steers).or_else(|| shown(part)));
    let mut content: Vec<Content> = content.collect();
    if content.is_empty() {
        return None;
    }
    let added = remind(&user.agent, before.map(|before| before.agent.as_str()));
    content.extend(added.map(Content::text));
    Some(Turn::User { content })
}

/// The person's own words as they steer a turn that runs.
fn steering(part: &Part) -> Option<Content> {
    let PartKind::Text { text, synthetic: false, ignored: false, .. } = &part.kind else { return None };
    if part.kind.plugin().is_some() {
        return None;
    }
    let words = format!("{}\n\n{text}", include_str!("../reminders/steer.md").trim());
    (!text.trim().is_empty()).then(|| Content::Text { text: reminder(&words) })
}

/// Words of the program's own, so marked that a model does not take them for the user's.
pub(crate) fn reminder(text: &str) -> String {
    format!("<system-reminder>\n{}\n</system-reminder>", text.trim())
}

fn shown(part: &Part) -> Option<Content> {
    match &part.kind {
        // Blank words are refused by some vendors, and say nothing to any.
        PartKind::Text { text, ignored: false, .. } if !text.trim().is_empty() => Some(Content::text(text)),
        PartKind::File { mime, filename, url, .. } => media(mime, filename.as_deref(), url),
        PartKind::Subtask(task) => {
            Some(Content::text(format!("The user gave a task to the agent {}: {}", task.agent, task.description)))
        }
        PartKind::Text { .. }
        | PartKind::Reasoning { .. }
        | PartKind::Tool { .. }
        | PartKind::Vendor { .. }
        | PartKind::Agent { .. }
        | PartKind::Patch { .. }
        | PartKind::Compaction { .. }
        | PartKind::Retry { .. }
        | PartKind::StepStart {}
        | PartKind::StepFinish { .. } => None,
    }
}

/// A file that carries its own bytes. Others were put into words when the prompt was taken.
fn media(mime: &str, name: Option<&str>, url: &str) -> Option<Content> {
    let (_, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some(Content::Media { mime: mime.to_owned(), data: data.to_owned(), name: name.map(str::to_owned) })
}

fn answer(assistant: &Assistant, parts: &[Part], model: &ModelRef, ids: &mut Ids) -> Vec<Turn> {
    if !counts(assistant, parts) {
        return Vec::new();
    }
    let same = is_by(assistant, model);
    let item = |metadata: Option<&Object>| fold::item(metadata).filter(|_| same);
    let mut said = Vec::new();
    let mut results = Vec::new();
    for part in parts {
        match &part.kind {
            PartKind::Text { text, metadata, .. } => {
                if !text.trim().is_empty() {
                    said.push(AssistantPart::Text { text: text.clone(), item: item(metadata.as_deref()) });
                }
            }
            PartKind::Reasoning { text, metadata, .. } => {
                let item = item(metadata.as_deref());
                // Thoughts of another model are of no use to this one.
                if same && (!text.is_empty() || item.is_some()) {
                    said.push(AssistantPart::Reasoning { text: text.clone(), item });
                }
            }
            PartKind::Tool { call_id, tool, state, metadata } => {
                let id = ids.take(call_id);
                said.push(AssistantPart::ToolCall {
                    id: id.clone(),
                    name: callable(tool),
                    arguments: arguments(state),
                    item: item(metadata.as_deref()),
                });
                let (content, is_error) = result(state);
                results.push(ToolResult { id, name: callable(tool), content, is_error });
            }
            PartKind::Vendor { metadata } => {
                said.extend(item(Some(metadata)).map(|item| AssistantPart::Vendor { item }));
            }
            PartKind::File { .. }
            | PartKind::Agent { .. }
            | PartKind::Subtask { .. }
            | PartKind::Patch { .. }
            | PartKind::Compaction { .. }
            | PartKind::Retry { .. }
            | PartKind::StepStart {}
            | PartKind::StepFinish { .. } => {}
        }
    }
    // Thoughts that came without the vendor's own form of them cannot be given back, and are no answer by themselves.
    let thinks_aloud = |part: &AssistantPart| matches!(part, AssistantPart::Reasoning { item: None, .. });
    let mut turns = Vec::new();
    if !said.iter().all(thinks_aloud) {
        turns.push(Turn::Assistant { parts: said });
    }
    if !results.is_empty() {
        turns.push(Turn::Tools { results });
    }
    turns
}

/// Whether an answer is part of the conversation. One that failed is not; one that was stopped is, if it had got to
/// say or do something.
fn counts(assistant: &Assistant, parts: &[Part]) -> bool {
    match &assistant.error {
        None => true,
        Some(failure) if failure.name == Failure::ABORTED => parts.iter().any(|part| match &part.kind {
            PartKind::Text { text, .. } => !text.trim().is_empty(),
            PartKind::Tool { .. } => true,
            PartKind::Reasoning { .. }
            | PartKind::File { .. }
            | PartKind::Vendor { .. }
            | PartKind::Agent { .. }
            | PartKind::Subtask { .. }
            | PartKind::Patch { .. }
            | PartKind::Compaction { .. }
            | PartKind::Retry { .. }
            | PartKind::StepStart {}
            | PartKind::StepFinish { .. } => false,
        }),
        Some(_) => false,
    }
}

/// The arguments as JSON text. A call whose arguments never were an object is shown with none: models refuse others.
fn arguments(state: &ToolState) -> String {
    let object = match state {
        ToolState::Pending { raw, .. } => serde_json::from_str(raw).unwrap_or(Value::Null),
        ToolState::Running { input, .. } | ToolState::Completed { input, .. } | ToolState::Error { input, .. } => {
            input.clone()
        }
    };
    if object.is_object() { object.to_string() } else { "{}".to_owned() }
}

fn result(state: &ToolState) -> (Vec<Content>, bool) {
    match state {
        ToolState::Completed { time, metadata, .. } if time.compacted.is_some() => {
            let whole = metadata.get("outputPath").and_then(Value::as_str);
            let whole = whole.map(|path| format!(" The whole of it is kept in {path} for some days."));
            (vec![Content::text(format!("{DROPPED}{}", whole.unwrap_or_default()))], false)
        }
        ToolState::Completed { output, attachments, .. } => {
            let files: Vec<Content> = attachments.iter().filter_map(shown).collect();
            // Not every vendor takes words that say nothing beside a file.
            let words = (!output.is_empty() || files.is_empty()).then(|| Content::text(output));
            (words.into_iter().chain(files).collect(), false)
        }
        ToolState::Error { error, metadata, .. } => {
            let text = match metadata.as_ref().and_then(so_far) {
                Some(output) => format!("{}\n\n{error}", output.trim_end()),
                None => error.clone(),
            };
            (vec![Content::text(text)], true)
        }
        // In the words it will have when it is closed, so that the request does not change then.
        ToolState::Pending { .. } | ToolState::Running { .. } => result(&cut_off(state, 0)),
    }
}

/// What a call that was cut off had shown of its work until then.
fn so_far(metadata: &Object) -> Option<&str> {
    let interrupted = metadata.get("interrupted").is_some_and(|value| *value == Value::Bool(true));
    let output = metadata.get("output").and_then(Value::as_str).filter(|_| interrupted)?;
    (!output.trim().is_empty()).then_some(output)
}
