//! Designing an agent from a description: one answer of a model, in a form.

use haft_permission::{Action, Rule};
use haft_protocol::{Message, OutputFormat};
use serde_json::{Value, json};

use crate::agents::policy::{Commands, Folders};
use crate::error::SessionError;
use crate::session::Session;
use crate::setup::{NewSession, Setup};
use crate::{Agents, Draft, InstructionFiles, Mode, Prompt};

/// Who designs.
const ARCHITECT: &str = "architect";
/// Longest name, in characters.
const MAX_NAME: usize = 64;
/// Longest words, in bytes.
const MAX_PROMPT: usize = 64 * 1024;

/// An agent as a model designed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Design {
    /// Small letters, digits and hyphens.
    pub name: String,
    /// When to choose it.
    pub description: String,
    /// Its first words to the model.
    pub prompt: String,
}

/// Asks the model of `setup` for an agent that fits `description` and has none of the names `taken`. It is offered no
/// tools, and the conversation is stored in the journal of `setup`.
///
/// # Errors
///
/// When the model cannot be reached, or gives no such agent however often it is told what is wrong.
pub async fn design(setup: Setup, description: &str, taken: &[String]) -> Result<Design, SessionError> {
    let own = Draft {
        name: ARCHITECT.to_owned(),
        mode: Some(Mode::Primary),
        prompt: Some(include_str!("architect.md").to_owned()),
        temperature: Some(0.3),
        rules: vec![Rule::new("*", "*", Action::Deny)],
        ..Draft::default()
    };
    let (agents, _) = Agents::compose(&Folders::default(), &[], &[own], &[], Some(ARCHITECT), Commands::Free);
    let journal = setup.journal.clone();
    let mut setup = Setup { agents, rules: Vec::new(), ..setup };
    // How to work in this project is not what it is asked.
    setup.options.instructions = InstructionFiles { without_project: true, ..InstructionFiles::default() };
    let session = Session::create(setup, NewSession { title: Some("A new agent".to_owned()) }).await?;
    let names = taken.join(", ");
    let prompt =
        format!("Design an agent from this description:\n\n{description}\n\nThe names that are taken: {names}");
    let format = OutputFormat::JsonSchema { schema: form(taken), retry_count: None };
    session.prompt(Prompt::plain(prompt).agent(ARCHITECT).format(format)).await?;
    let history = journal.history(session.id()).await?;
    let given = history.messages().iter().rev().find_map(|turned| match &turned.info {
        Message::Assistant(answer) => answer.structured.clone(),
        Message::User(_) => None,
    });
    given.as_deref().and_then(read).ok_or_else(|| SessionError::Refused("the model gave no agent".to_owned()))
}

/// The form of the answer.
fn form(taken: &[String]) -> Value {
    json!({
        "type": "object",
        "properties": {
            "identifier": {
                "type": "string",
                "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$",
                "maxLength": MAX_NAME,
                "not": { "enum": taken },
            },
            "whenToUse": { "type": "string", "minLength": 1, "maxLength": 4000 },
            "systemPrompt": { "type": "string", "minLength": 1, "maxLength": MAX_PROMPT },
        },
        "required": ["identifier", "whenToUse", "systemPrompt"],
        "additionalProperties": false,
    })
}

fn read(value: &Value) -> Option<Design> {
    let text = |key: &str| value.get(key)?.as_str().map(|text| text.trim().to_owned());
    Some(Design { name: text("identifier")?, description: text("whenToUse")?, prompt: text("systemPrompt")? })
}
