//! What a person did in a session.

use haft_protocol::{History, Message, PartKind, ToolState, Turned};

use super::answers::{End, answers};
use super::is_models;

/// Something that a person did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// What.
    pub deed: Deed,
    /// How many answers of the model were there already.
    pub behind: usize,
    /// Whether the turn that ran took it up, so that it must be said while that runs.
    pub within: bool,
}

/// What a person may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// They said something.
    Prompt {
        /// Their words.
        text: String,
        /// The agent that they said it to.
        agent: String,
    },
    /// They ran a command.
    Shell(String),
}

/// What a person did, in order. What the program said in their name is left out.
pub fn acts(history: &History) -> Vec<Act> {
    let ends: Vec<End> = answers(history).into_iter().map(|(_, end)| end).collect();
    let mut acts = Vec::new();
    let mut behind = 0;
    let mut messages = history.messages().iter().peekable();
    while let Some(turned) = messages.next() {
        let Message::User(user) = &turned.info else {
            behind += usize::from(is_models(turned));
            continue;
        };
        let command = messages.peek().and_then(|next| by_hand(next));
        let deed = match (words(turned), command) {
            (Some(text), _) => Deed::Prompt { text, agent: user.agent.clone() },
            (None, Some(command)) => Deed::Shell(command),
            (None, None) => continue,
        };
        let within = behind.checked_sub(1).and_then(|last| ends.get(last)) == Some(&End::Calls);
        acts.push(Act { within: within && matches!(deed, Deed::Prompt { .. }), deed, behind });
    }
    acts
}

/// The words of a prompt, unless the program made it.
fn words(turned: &Turned) -> Option<String> {
    // Plug-ins say theirs again.
    let mut by_person = turned.parts.iter().filter(|part| part.kind.plugin().is_none());
    by_person.find_map(|part| match &part.kind {
        PartKind::Text { text, synthetic: false, .. } => Some(text.clone()),
        _ => None,
    })
}

/// The command that a person ran, if that is what `turned` keeps.
fn by_hand(turned: &Turned) -> Option<String> {
    if is_models(turned) {
        return None;
    }
    turned.parts.iter().find_map(|part| match &part.kind {
        PartKind::Tool { state, .. } => match state {
            ToolState::Completed { input, .. } | ToolState::Error { input, .. } | ToolState::Running { input, .. } => {
                input.get("command")?.as_str().map(str::to_owned)
            }
            ToolState::Pending { .. } => None,
        },
        _ => None,
    })
}
