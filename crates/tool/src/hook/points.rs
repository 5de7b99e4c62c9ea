//! The points, one method each: what hooks are told, and what they may change.

use futures::future::BoxFuture;
use haft_permission::{Advice, Adviser};
use haft_protocol::hook::{
    AskStatus, ChatHeaders, ChatMessages, ChatParams, CommandParts, Commanded, CompactPrompt, Continuing, Enabled,
    GoOn, Leave, OfSession, Point, PromptParts, Prompted, Requested, SessionContext, ShellEnv, ShellPlace,
    SmallModelIs, SmallModelOf, Stopping, SystemOf, SystemPrompt, TextOf, ToolArgs, ToolCalled, ToolNamed, ToolResult,
    ToolTold, WholeText,
};
use haft_protocol::{Ask, Event, FileEvent, Status, Turned};
use serde_json::{Value, json};

use super::{HookError, Hooked, Hooks, advice};
use crate::Spec;

impl Hooks {
    /// Before a tool runs: its arguments, and what is said about the questions it asks.
    ///
    /// # Errors
    ///
    /// When a hook does not let it run.
    pub async fn tool_before(&self, called: &ToolCalled, args: Value) -> Result<(Value, Advice), Hooked> {
        let args = ToolArgs { args, permission: None, reason: None };
        // A no is not undone by whoever comes behind.
        let last = |said: &ToolArgs| said.permission == Some(Leave::Deny);
        let (said, by) = self.fire_until(Point::ToolBefore, called, args, last).await?;
        let ToolArgs { args, permission, reason } = said;
        match advice(permission, by, reason) {
            Advice::Deny { by, reason } => Err(Hooked { hook: by, why: HookError::Blocked(reason) }),
            advice => Ok((args, advice)),
        }
    }

    /// After a tool ran: what came of it.
    ///
    /// # Errors
    ///
    /// When a hook failed, or wants the turn to end.
    pub async fn tool_after(&self, called: &ToolCalled, result: ToolResult) -> Result<ToolResult, Hooked> {
        self.fire(Point::ToolAfter, called, result).await
    }

    /// How a model is told of tools. To be asked once for a conversation: what a model was told must not change while it
    /// lasts, or its cache is lost.
    pub async fn definitions(&self, specs: Vec<Spec>) -> Vec<Spec> {
        if !self.listen(Point::ToolDefinition) {
            return specs;
        }
        let mut told = Vec::with_capacity(specs.len());
        for Spec { name, description, parameters } in specs {
            let named = ToolNamed { tool_id: name.clone() };
            let as_it_is = ToolTold { description, parameters };
            let ToolTold { description, parameters } = self.change(Point::ToolDefinition, &named, as_it_is).await;
            told.push(Spec { name, description, parameters });
        }
        told
    }

    /// Variables for a command line.
    pub async fn shell_env(&self, place: &ShellPlace) -> ShellEnv {
        self.change(Point::ShellEnv, place, ShellEnv::default()).await
    }

    /// A prompt before it is stored.
    ///
    /// # Errors
    ///
    /// When a hook does not want it to be.
    pub async fn chat_message(&self, prompted: &Prompted, prompt: PromptParts) -> Result<PromptParts, Hooked> {
        self.fire(Point::ChatMessage, prompted, prompt).await
    }

    /// What a slash command came to.
    ///
    /// # Errors
    ///
    /// When a hook does not want it to run.
    pub async fn command_before(&self, commanded: &Commanded, parts: CommandParts) -> Result<CommandParts, Hooked> {
        self.fire(Point::CommandBefore, commanded, parts).await
    }

    /// How the model is to answer a request.
    pub async fn chat_params(&self, requested: &Requested, params: ChatParams) -> ChatParams {
        self.change(Point::ChatParams, requested, params).await
    }

    /// Further headers of a request.
    pub async fn chat_headers(&self, requested: &Requested) -> ChatHeaders {
        self.change(Point::ChatHeaders, requested, ChatHeaders::default()).await
    }

    /// The conversation of a request.
    pub async fn messages(&self, messages: Vec<Turned>) -> Vec<Turned> {
        self.change(Point::MessagesTransform, &json!({}), ChatMessages { messages }).await.messages
    }

    /// The pieces of the system prompt of a request.
    pub async fn system(&self, of: &SystemOf, system: Vec<String>) -> Vec<String> {
        self.change(Point::SystemTransform, of, SystemPrompt { system }).await.system
    }

    /// The small model for a vendor's, as `vendor/model`; `None`: the usual one.
    pub async fn small_model(&self, of: &SmallModelOf) -> Option<String> {
        match self.change(Point::SmallModel, of, SmallModelIs::default()).await.model? {
            Value::String(name) => Some(name),
            model => {
                let text = |key: &str| model.get(key).and_then(Value::as_str);
                let id = text("id").or_else(|| text("modelID"))?;
                Some(text("providerID").map_or_else(|| id.to_owned(), |vendor| format!("{vendor}/{id}")))
            }
        }
    }

    /// What whoever sums a conversation up is told.
    ///
    /// # Errors
    ///
    /// When a hook does not want it to be summed up.
    pub async fn compacting(&self, of: &OfSession) -> Result<CompactPrompt, Hooked> {
        self.fire(Point::Compacting, of, CompactPrompt::default()).await
    }

    /// Whether the work goes on after a conversation was summed up.
    pub async fn goes_on(&self, continuing: &Continuing) -> bool {
        self.change(Point::AutoContinue, continuing, Enabled { enabled: true }).await.enabled
    }

    /// The words of a piece of an answer.
    pub async fn text_complete(&self, of: &TextOf, text: String) -> String {
        self.change(Point::TextComplete, of, WholeText { text }).await.text
    }

    /// What the model is told besides in a session that was opened.
    pub async fn session_start(&self, of: &OfSession) -> Vec<String> {
        self.change(Point::SessionStart, of, SessionContext::default()).await.context
    }

    /// A session is closed.
    pub async fn session_end(&self, of: &OfSession) {
        self.change(Point::SessionEnd, of, json!({})).await;
    }

    /// What a turn goes on with that was about to end; `None`: it ends.
    pub async fn turn_stop(&self, stopping: &Stopping) -> Option<String> {
        match self.fire(Point::TurnStop, stopping, GoOn::default()).await {
            Ok(GoOn { because }) => because,
            Err(Hooked { why: HookError::Blocked(why), .. }) => Some(why),
            Err(Hooked { why: HookError::Ends(_) | HookError::Failed(_), .. }) => None,
        }
    }

    /// Something changed.
    pub async fn event(&self, event: &Event) {
        if !self.listen(Point::Event) {
            return;
        }
        self.change(Point::Event, &json!({ "event": event }), json!({})).await;
        // The older name of the same, which most plug-ins wait for.
        if let Event::SessionStatus { session_id, status: Status::Idle } = event {
            let idle = json!({ "type": "session.idle", "properties": { "sessionID": session_id } });
            self.change(Point::Event, &json!({ "event": idle }), json!({})).await;
        }
    }

    /// Something happened to a file.
    pub async fn file_event(&self, event: &FileEvent) {
        if self.listen(Point::Event) {
            self.change(Point::Event, &json!({ "event": event }), json!({})).await;
        }
    }

    /// The settings, as one file would say them.
    pub async fn config(&self, config: Value) -> Value {
        self.change(Point::Config, &json!({}), config).await
    }

    /// Everything ends.
    pub async fn dispose(&self) {
        self.change(Point::Dispose, &json!({}), json!({})).await;
    }
}

impl Adviser for Hooks {
    fn advise<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Advice> {
        Box::pin(async move {
            let status = AskStatus { status: Leave::Ask, reason: None };
            // A no is not undone by whoever comes behind.
            let last = |said: &AskStatus| said.status == Leave::Deny;
            match self.fire_until(Point::PermissionAsk, ask, status, last).await {
                Ok((AskStatus { status: Leave::Ask, .. }, _)) => Advice::None,
                Ok((AskStatus { status, reason }, by)) => advice(Some(status), by, reason),
                Err(Hooked { hook, why }) => Advice::Deny { by: hook, reason: why.to_string() },
            }
        })
    }
}
