//! Holding a turn to the form that its prompt asks for.

use std::sync::Arc;

use haft_protocol::{Assistant, Event, Message, OutputFormat, PartKind, ToolState};
use serde_json::Value;

use crate::error::TurnError;
use crate::turn::Turn;
use crate::turn::calls::Calls;
use crate::turn::form::{Form, STRUCTURED, Taking};

/// What came of a step that was to give the form.
pub(crate) enum Shaped {
    /// The answer has it.
    Given,
    /// It does not yet: the model goes on.
    NotYet,
}

impl Turn<'_> {
    /// The form that the latest prompt asks for.
    pub(crate) fn format(&self) -> Option<&OutputFormat> {
        match &self.history.message(&self.prompt)?.info {
            Message::User(user) => user.format.as_ref(),
            Message::Assistant(_) => None,
        }
    }

    /// The same, ready to hold answers against.
    pub(crate) fn form(&mut self) -> Option<Arc<Form>> {
        let asked = self.format().cloned();
        if self.state.form.as_ref().map(|form| &form.asked) != asked.as_ref() {
            // It was looked at when the prompt was taken in.
            self.state.form = asked.and_then(|asked| Form::of(&asked).ok().flatten()).map(Arc::new);
            self.state.misses = 0;
        }
        self.state.form.clone()
    }

    /// `calls` with the tool that takes the answer; with nothing else where the step is the last.
    pub(crate) fn taking(calls: Calls, form: &Arc<Form>, is_last: bool) -> Calls {
        let registry = if is_last { haft_tool::Registry::default() } else { calls.registry.clone() };
        Calls { registry: registry.with_any(Arc::new(Taking(Arc::clone(form)))), ..calls }
    }

    /// Looks whether the last answer, which has ended, has the form. A model that does not keep it is told what is
    /// wrong, as often as the form allows.
    ///
    /// # Errors
    ///
    /// When it was told often enough, and when the store fails.
    pub(crate) async fn shaped(&mut self, form: &Form, is_last: bool) -> Result<Shaped, TurnError> {
        let Some((answer, tried)) = self.tried(form) else { return Ok(Shaped::NotYet) };
        let why = match tried {
            Tried::Given(value) => {
                let answer = Assistant { structured: Some(Box::new(value)), ..answer };
                self.record_all(vec![self.answered(&answer)]).await?;
                return Ok(Shaped::Given);
            }
            Tried::Elsewhere if !is_last => return Ok(Shaped::NotYet),
            Tried::Elsewhere => "the last step that it may take brought none".to_owned(),
            Tried::Call(why) | Tried::Words(why) if is_last || self.state.misses >= form.retries => why,
            // The call's result says it.
            Tried::Call(_) => {
                self.state.misses += 1;
                return Ok(Shaped::NotYet);
            }
            Tried::Words(why) => {
                self.state.misses += 1;
                let how = match self.role.cast.model.calls_tools {
                    true => format!("Answer by calling {STRUCTURED}: {why}."),
                    false => format!("Answer with one JSON value of the form that is wanted and nothing else: {why}."),
                };
                self.prompt = self.say(Arc::clone(&self.role.cast), &how).await?;
                return Ok(Shaped::NotYet);
            }
        };
        let error = TurnError::Form { why, retries: self.state.misses };
        let answer = Assistant { error: Some(Box::new(error.failure())), ..answer };
        let event: Event = self.answered(&answer);
        self.record_all(vec![event]).await?;
        Err(error)
    }

    /// The last answer, and how it tried.
    fn tried(&self, form: &Form) -> Option<(Assistant, Tried)> {
        let turned = self.history.messages().last()?;
        let Message::Assistant(answer) = &turned.info else { return None };
        let mut tried = Tried::Elsewhere;
        let (mut called, mut words) = (false, String::new());
        for part in &turned.parts {
            match &part.kind {
                PartKind::Tool { tool, state, .. } => {
                    called = true;
                    match attempt(form, tool, state) {
                        Some(given @ Tried::Given(_)) => return Some((answer.clone(), given)),
                        Some(other) => tried = other,
                        None => {}
                    }
                }
                PartKind::Text { text, .. } => words.push_str(text),
                PartKind::Reasoning { .. }
                | PartKind::File { .. }
                | PartKind::Vendor { .. }
                | PartKind::Agent { .. }
                | PartKind::Subtask { .. }
                | PartKind::Patch { .. }
                | PartKind::Compaction { .. }
                | PartKind::Retry { .. }
                | PartKind::StepStart {}
                | PartKind::StepFinish { .. } => {}
            }
        }
        if !called {
            tried = match form.read_words(&words) {
                Ok(value) => Tried::Given(value),
                Err(why) => Tried::Words(why),
            };
        }
        Some((answer.clone(), tried))
    }
}

/// How an answer tried to give the form.
enum Tried {
    Given(Value),
    /// By a call that did not have it, and why.
    Call(String),
    /// By words that did not have it, and why.
    Words(String),
    /// It did something else first.
    Elsewhere,
}

/// What a call of `tool` says of the form, if it was to give it.
fn attempt(form: &Form, tool: &str, state: &ToolState) -> Option<Tried> {
    let (input, failed) = match state {
        ToolState::Completed { input, .. } => (input, None),
        ToolState::Error { input, error, .. } => (input, Some(error.clone())),
        ToolState::Pending { .. } | ToolState::Running { .. } => return None,
    };
    if tool == STRUCTURED {
        return Some(match failed {
            // What was held back as one call too many may have been right.
            Some(why) => Tried::Call(form.read(input).err().unwrap_or(why)),
            None => form.read(input).map_or_else(Tried::Call, Tried::Given),
        });
    }
    // Its arguments were no JSON.
    let meant = tool == haft_tool::INVALID && input.get("tool").and_then(Value::as_str) == Some(STRUCTURED);
    meant.then(|| Tried::Call(input.get("error").and_then(Value::as_str).unwrap_or("it was no JSON").to_owned()))
}
