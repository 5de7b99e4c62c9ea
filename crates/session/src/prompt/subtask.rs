//! What a prompt asks of other agents: tasks that a command is, and agents that the person named.

use std::sync::Arc;

use haft_protocol::{Message, MessageId, Part, PartKind, Subtask, Turned};
use serde_json::json;

use crate::agents::cast::Cast;
use crate::error::TurnError;
use crate::hands::TASK;
use crate::prompt::Delivery;
use crate::prompt::intake::Taken;
use crate::task::ModelName;
use crate::turn::calls::Calls;
use crate::turn::fold::Planned;
use crate::turn::{Turn, TurnEnd};

/// What the agent that was asked is told when the task of a command has ended.
const SUM_UP: &str = "The task above has ended. Tell the user what came of it, and go on with what they asked for.";

impl Turn<'_> {
    /// The messages since the first prompt that this turn answers.
    fn since_first(&self) -> &[Turned] {
        let messages = self.history.messages();
        let from = messages.iter().rposition(|turned| *turned.info.id() == self.first).unwrap_or(messages.len());
        &messages[from..]
    }

    /// The agents that the person named in the prompts that this turn answers.
    pub(crate) fn named(&self) -> Vec<&str> {
        let parts = self.since_first().iter().flat_map(|turned| &turned.parts);
        let names =
            parts.filter_map(|part| if let PartKind::Agent { name, .. } = &part.kind { Some(name) } else { None });
        names.map(String::as_str).collect()
    }

    /// Runs the tasks that prompts are and that were not run yet. `Some` ends the turn.
    pub(crate) async fn run_subtasks(&mut self) -> Result<Option<TurnEnd>, TurnError> {
        while let Some((prompt, subtask)) = self.next_subtask() {
            if self.cancel.is_cancelled() {
                return Ok(Some(TurnEnd::Aborted));
            }
            let PartKind::Subtask(subtask) = subtask.kind else { return Ok(None) };
            let Subtask { prompt: text, description, agent, command, model, variant } = *subtask;
            let mut answer = self.begin_answer();
            answer.parent_id = prompt;
            answer.agent.clone_from(&agent);
            answer.mode.clone_from(&agent);
            answer.finish = Some("tool-calls".to_owned());
            self.record_all(vec![self.answered(&answer)]).await?;
            let arguments = json!({
                "description": description,
                "prompt": text,
                "subagent_type": agent,
                "command": command,
            });
            let call = Planned {
                part: self.setup.clock.mint(),
                call: format!("{}_{TASK}", answer.id),
                name: TASK.to_owned(),
                arguments: arguments.to_string(),
                metadata: None,
            };
            // The person asked for exactly this, so it is there and may be done, whatever a model is offered.
            let through = Calls {
                registry: self.setup.registry.clone(),
                task_model: ModelName::of(model.as_ref(), variant.as_ref()).map(Arc::new),
                ..self.role.calls.naming(&[&agent])
            };
            if let Some(end) = self.run_calls(&through, answer, vec![call]).await? {
                return Ok(Some(end));
            }
            let cast = Arc::clone(&self.role.cast);
            self.prompt = self.say(cast, SUM_UP).await?;
        }
        Ok(None)
    }

    /// The next task that no answer was given to, and the prompt that it is.
    fn next_subtask(&self) -> Option<(MessageId, Part)> {
        let messages = self.since_first();
        let answered = |prompt: &MessageId| {
            messages.iter().any(|turned| match &turned.info {
                Message::Assistant(answer) => answer.parent_id == *prompt,
                Message::User(_) => false,
            })
        };
        let prompts = messages.iter().filter(|turned| matches!(turned.info, Message::User(_)));
        let mut tasks =
            prompts.flat_map(|turned| &turned.parts).filter(|part| matches!(part.kind, PartKind::Subtask { .. }));
        // Only for the few that are tasks it is looked for an answer: this is asked before each step.
        tasks.find(|part| !answered(&part.message_id)).map(|part| (part.message_id.clone(), part.clone()))
    }

    /// Stores `text` as a prompt of the program's own.
    pub(crate) async fn say(&mut self, cast: Arc<Cast>, text: &str) -> Result<MessageId, TurnError> {
        let taken = self.told(cast, text);
        crate::turn::store_prompt(self.setup, self.session, self.history, &taken).await
    }

    /// `text` as a prompt of the program's own, for `cast`.
    pub(crate) fn told(&self, cast: Arc<Cast>, text: &str) -> Taken {
        let text = text.to_owned();
        let part = PartKind::Text { text, synthetic: true, ignored: false, time: None, metadata: None };
        let format = self.format().cloned();
        let delivery = Delivery::Steer;
        let (id, title) = (self.setup.clock.mint(), String::new());
        Taken { id, cast, title, parts: vec![part], format, delivery, command: None }
    }
}
