//! What a person did in a session, and what came to it from outside.

use std::collections::BTreeSet;

use haft_protocol::{History, Message, OutputFormat, PartKind, SessionId, ToolState, Turned};

use super::answers::{End, answers};
use super::{is_models, told_of};
use crate::Command;
use crate::task::background::unreported;

/// Something that was done, and that no answer of the model leads to.
#[derive(Debug, Clone, PartialEq)]
pub struct Act {
    /// What.
    pub deed: Deed,
    /// How many answers of the model were there already.
    pub behind: usize,
    /// How many there were when the next thing was done that is not [`within`](Act::within) a turn.
    pub until: usize,
    /// Whether the turn that ran took it up, so that it must be done while that runs.
    pub within: bool,
}

/// What may be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Deed {
    /// They said something.
    Prompt {
        /// Their words.
        text: String,
        /// The agent that they said it to.
        agent: String,
        /// The form that the answer was to have.
        format: Option<OutputFormat>,
    },
    /// They called a command that is a task.
    Task {
        /// A command that comes to that task, under a name that no other has.
        command: Box<Command>,
        /// The agent that they asked.
        agent: String,
    },
    /// They ran a command line.
    Shell(String),
    /// Tasks that went on by themselves came to their ends, or were cut off with the program.
    Ended(Vec<SessionId>),
}

/// What was done, in order. Prompts that nobody answered are among them: their `until` is their `behind`. Tasks that
/// nobody was told the end of end behind everything.
pub fn acts(history: &History) -> Vec<Act> {
    let ends: Vec<End> = answers(history).into_iter().map(|(_, end)| end).collect();
    let mut acts: Vec<Act> = Vec::new();
    let mut behind = 0;
    let mut messages = history.messages().iter().peekable();
    while let Some(turned) = messages.next() {
        let Message::User(_) = &turned.info else {
            behind += usize::from(is_models(turned));
            continue;
        };
        let Some(deed) = deed(turned, messages.peek().copied()) else { continue };
        let goes_on = behind.checked_sub(1).and_then(|last| ends.get(last)) == Some(&End::Calls);
        let within = goes_on && matches!(deed, Deed::Prompt { .. } | Deed::Ended(_));
        acts.push(Act { deed, behind, until: behind, within });
    }
    let left: BTreeSet<SessionId> = unreported(history.messages()).into_iter().map(|(id, _)| id).collect();
    if !left.is_empty() {
        acts.push(Act { deed: Deed::Ended(left.into_iter().collect()), behind, until: behind, within: false });
    }
    bounded(joined(acts), behind)
}

/// What `turned` says that was done; `next` is the message behind it.
fn deed(turned: &Turned, next: Option<&Turned>) -> Option<Deed> {
    let Message::User(user) = &turned.info else { return None };
    let agent = user.agent.clone();
    if let Some(task) = told_of(turned) {
        return Some(Deed::Ended(vec![task]));
    }
    if let Some(command) = task(turned) {
        return Some(Deed::Task { command: Box::new(command), agent });
    }
    match (words(turned), next.and_then(by_hand)) {
        (Some(text), _) => Some(Deed::Prompt { text, agent, format: user.format.clone() }),
        (None, Some(command)) => Some(Deed::Shell(command)),
        // The program said it by itself, and will again.
        (None, None) => None,
    }
}

/// `acts` with those together that are told of in one turn.
fn joined(acts: Vec<Act>) -> Vec<Act> {
    let mut joined: Vec<Act> = Vec::with_capacity(acts.len());
    for act in acts {
        match (joined.last_mut(), &act.deed) {
            (Some(Act { deed: Deed::Ended(tasks), behind, within, .. }), Deed::Ended(more))
                if *behind == act.behind && *within == act.within =>
            {
                tasks.extend(more.iter().cloned());
            }
            _ => joined.push(act),
        }
    }
    joined
}

/// `acts` with where each of them ends. There are `all` answers.
fn bounded(mut acts: Vec<Act>, all: usize) -> Vec<Act> {
    let mut next = all;
    for act in acts.iter_mut().rev() {
        act.until = next;
        next = if act.within { next } else { act.behind };
    }
    acts
}

/// The words of a prompt, unless the program made it.
pub fn words(turned: &Turned) -> Option<String> {
    // Plug-ins say theirs again.
    let mut by_person = turned.parts.iter().filter(|part| part.kind.plugin().is_none());
    by_person.find_map(|part| match &part.kind {
        PartKind::Text { text, synthetic: false, .. } => Some(text.clone()),
        _ => None,
    })
}

/// A command that comes to the task that `turned` asks for.
fn task(turned: &Turned) -> Option<Command> {
    turned.parts.iter().find_map(|part| match &part.kind {
        PartKind::Subtask(task) => Some(Command {
            name: turned.info.id().to_string(),
            template: task.prompt.clone(),
            description: Some(task.description.clone()),
            agent: Some(task.agent.clone()),
            subtask: Some(true),
            literal: true,
            ..Command::default()
        }),
        _ => None,
    })
}

/// The command that a person ran, if that is what `turned` keeps.
fn by_hand(turned: &Turned) -> Option<String> {
    if is_models(turned) {
        return None;
    }
    turned.parts.iter().find_map(|part| match &part.kind {
        PartKind::Tool { state, .. } => match &**state {
            ToolState::Completed { input, .. } | ToolState::Error { input, .. } | ToolState::Running { input, .. } => {
                input.get("command")?.as_str().map(str::to_owned)
            }
            ToolState::Pending { .. } => None,
        },
        _ => None,
    })
}
