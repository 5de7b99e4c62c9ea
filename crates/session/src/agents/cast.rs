//! Who answers a prompt: which agent, on which model.

use std::sync::Arc;

use haft_llm::Request;
use haft_protocol::SessionModel;

use crate::error::SessionError;
use crate::hands::TASK;
use crate::prompt::Author;
use crate::prompt::command::{self, Command};
use crate::setup::Setup;
use crate::{Agent, Mode, Model, Prompt};

/// An agent on a model.
#[derive(Clone)]
pub(crate) struct Cast {
    pub agent: Agent,
    pub model: Model,
    pub variant: Option<String>,
}

impl Cast {
    /// Whether a turn that one of them began can be gone on with by the other.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let key = |cast: &Self| (cast.agent.name.clone(), cast.model.reference.clone(), cast.variant.clone());
        key(self) == key(other)
    }

    /// `request` with what the agent says about how its model is to answer.
    pub(crate) fn tuned(&self, mut request: Request) -> Request {
        request.temperature = self.agent.temperature.or(request.temperature);
        request.top_p = self.agent.top_p.or(request.top_p);
        request.extra.extend(self.agent.options.clone());
        request
    }

    /// The model as a session keeps it.
    pub(crate) fn session_model(&self) -> SessionModel {
        let reference = &self.model.reference;
        SessionModel {
            id: reference.model_id.clone(),
            provider_id: reference.provider_id.clone(),
            variant: self.variant.clone(),
        }
    }
}

/// Finds out who answers. Keeps the model that the person chose, which stays until they choose another.
pub(crate) struct Casting {
    setup: Arc<Setup>,
    chosen: Model,
    variant: Option<String>,
}

impl Casting {
    /// `variant`: which named set of options the setup's model has.
    pub(crate) fn new(setup: Arc<Setup>, variant: Option<String>) -> Self {
        Self { chosen: setup.model.clone(), variant, setup }
    }

    /// Who answers `prompt`, and the command that it calls. What a command hands to another agent is answered by the
    /// one that was asked anyway.
    ///
    /// # Errors
    ///
    /// When there is no such agent, command or model.
    pub(crate) fn of(&mut self, prompt: &Prompt) -> Result<(Arc<Cast>, Option<Command>), SessionError> {
        let command = self.command(prompt)?;
        let own = command.as_ref().filter(|command| !self.is_task(command, prompt));
        let by_command = own.and_then(|command| command.agent.as_deref());
        if let Some(name) = command.as_ref().and_then(|command| command.agent.as_deref()) {
            self.agent(Some(name))?;
        }
        let agent = self.agent(by_command.or(prompt.agent.as_deref()))?;
        let (mut chosen, mut variant) = (self.chosen.clone(), self.variant.clone());
        if let Some(name) = &prompt.model {
            chosen = self.model(name, prompt.variant.as_deref())?;
            variant.clone_from(&prompt.variant);
            // What a plug-in names is for this prompt alone: the person's choice stays theirs.
            if prompt.plugin.is_none() {
                (self.chosen, self.variant) = (chosen.clone(), variant.clone());
            }
        }
        let own = own.and_then(|command| command.model.as_deref().map(|name| (name, command.variant.as_deref())));
        // What the person names goes before an agent's own model, but not before that of the agent a command names.
        let named = prompt.model.is_some() && by_command.is_none();
        let own = own.or_else(|| if named { None } else { of_agent(&agent) });
        let (model, variant) = match own {
            Some((name, variant)) => (self.model(name, variant)?, variant.map(str::to_owned)),
            None => (chosen, variant),
        };
        Ok((Arc::new(Cast { agent, model, variant }), command))
    }

    /// Whether `command` is work for another agent, in a session of its own. Files that come with it are shown where it
    /// was called, so then it runs there.
    pub(crate) fn is_task(&self, command: &Command, prompt: &Prompt) -> bool {
        let agent = command.agent.as_deref().and_then(|name| self.setup.agents.get(name));
        let by_agent = agent.is_some_and(|agent| agent.mode == Mode::Subagent);
        let wanted = command.subtask.unwrap_or(by_agent);
        wanted && prompt.files.is_empty() && self.setup.registry.find(TASK).is_ok()
    }

    /// Who answers where nobody says.
    pub(crate) fn usual(&self) -> Arc<Cast> {
        let (agent, model) = (self.setup.agents.default_agent().clone(), self.chosen.clone());
        Arc::new(Cast { agent, model, variant: self.variant.clone() })
    }

    fn agent(&self, name: Option<&str>) -> Result<Agent, SessionError> {
        let agents = &self.setup.agents;
        let Some(name) = name else { return Ok(agents.default_agent().clone()) };
        agents.get(name).cloned().ok_or_else(|| {
            let known: Vec<&str> = agents.primaries().map(|agent| agent.name.as_str()).collect();
            SessionError::NoAgent { name: name.to_owned(), known: known.join(", ") }
        })
    }

    fn model(&self, name: &str, variant: Option<&str>) -> Result<Model, SessionError> {
        let reference = &self.chosen.reference;
        if variant.is_none() && name == format!("{}/{}", reference.provider_id, reference.model_id) {
            return Ok(self.chosen.clone());
        }
        let no = |why: String| SessionError::NoModel { name: name.to_owned(), why };
        let models = self.setup.options.models.as_ref();
        models
            .ok_or_else(|| no("this session knows no other model than its own".to_owned()))?
            .find(name, variant)
            .map_err(no)
    }

    /// The command that a prompt calls. One whose words begin with `/` and no command's name is no call.
    fn command(&self, prompt: &Prompt) -> Result<Option<Command>, SessionError> {
        let options = &self.setup.options;
        let find = |name: &str| {
            let own = options.commands.iter().rev().find(|command| command.name == name);
            let own = own.cloned().or_else(|| command::builtin().into_iter().find(|command| command.name == name));
            own.or_else(|| self.foreign(name))
        };
        let Some(name) = &prompt.command else {
            return Ok(command::called(&prompt.text)
                .filter(|_| prompt.author == Author::Person)
                .and_then(|(name, _)| find(name)));
        };
        find(name).map(Some).ok_or_else(|| {
            let mut known: Vec<String> = options.commands.iter().map(|command| command.name.clone()).collect();
            known.extend(command::builtin().into_iter().map(|command| command.name));
            known.extend(options.prompts.iter().flat_map(|prompts| prompts.all()).map(|(name, _)| name));
            known.sort();
            known.dedup();
            SessionError::NoCommand { name: name.clone(), known: known.join(", ") }
        })
    }
}

impl Casting {
    /// The command for a prompt that somebody else writes.
    fn foreign(&self, name: &str) -> Option<Command> {
        let prompts = self.setup.options.prompts.as_ref()?;
        let (name, about) = prompts.all().into_iter().find(|(one, _)| one == name)?;
        Some(Command { name, description: Some(about), foreign: true, ..Command::default() })
    }
}

/// The model that an agent has of its own, and its options.
fn of_agent(agent: &Agent) -> Option<(&str, Option<&str>)> {
    agent.model.as_deref().map(|name| (name, agent.variant.as_deref()))
}

/// The agent called `name`, if it takes tasks.
pub(crate) fn find_subagent(setup: &Setup, name: &str) -> Option<Agent> {
    setup.agents.subagents().find(|agent| agent.name == name).cloned()
}
