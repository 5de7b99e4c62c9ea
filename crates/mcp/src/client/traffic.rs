//! What a server says without being asked: how far a call is, what changed, what it wants to know.
#![expect(deprecated, reason = "servers of today use roots and logs")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::ClientHandler;
use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestMethod, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability, Implementation, ListRootsResult,
    LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken, ProtocolVersion, Root,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use tokio::sync::{Notify, mpsc, oneshot};

use super::naming::line;

/// Most messages of a server about one call that wait to be looked at; further ones about its progress are left out.
const MAX_WAITING: usize = 16;

/// What a server says about a call that it works on.
pub(super) enum Word {
    /// It goes on. How far it is, in words.
    Progress(String),
    /// It wants to know something from the person.
    Elicit(Box<ElicitRequestParams>, oneshot::Sender<ElicitResult>),
    /// It wants the session's model to write something.
    Sample(Box<CreateMessageRequestParams>, oneshot::Sender<Result<CreateMessageResult, ErrorData>>),
}

/// What a server says by itself, and who wants to know.
pub(super) struct Traffic {
    server: String,
    /// The address of the folder that is worked in.
    root: String,
    /// Whether it may have the session's model write something.
    sampling: bool,
    calls: Mutex<Vec<(ProgressToken, mpsc::Sender<Word>)>>,
    /// Told when the server says that a list of its changed.
    pub changed: Notify,
}

/// A call that is listened for. It is no longer when this is dropped.
pub(super) struct Listening<'t> {
    traffic: &'t Traffic,
    token: ProgressToken,
    pub words: mpsc::Receiver<Word>,
}

impl Traffic {
    pub(super) fn new(server: &str, root: String, sampling: bool) -> Self {
        Self { server: server.to_owned(), root, sampling, calls: Mutex::default(), changed: Notify::new() }
    }

    /// What is said about the call with `token` from now on.
    pub(super) fn listen(&self, token: ProgressToken) -> Listening<'_> {
        let (tell, words) = mpsc::channel(MAX_WAITING);
        self.calls().push((token.clone(), tell));
        Listening { traffic: self, token, words }
    }

    fn calls(&self) -> MutexGuard<'_, Vec<(ProgressToken, mpsc::Sender<Word>)>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the server works on a call.
    pub(super) fn is_busy(&self) -> bool {
        !self.calls().is_empty()
    }

    /// Who is told of the call with `token`.
    fn caller(&self, token: &ProgressToken) -> Option<mpsc::Sender<Word>> {
        self.calls().iter().find(|(one, _)| one == token).map(|(_, tell)| tell.clone())
    }

    /// Who is asked: a server does not say for which of its calls it wants to know something, so the latest is taken.
    fn latest(&self) -> Option<mpsc::Sender<Word>> {
        self.calls().last().map(|(_, tell)| tell.clone())
    }
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.traffic.calls().retain(|(token, _)| *token != self.token);
    }
}

/// [`Traffic`] as the protocol's library wants it.
#[derive(Clone)]
pub(super) struct Handler(pub std::sync::Arc<Traffic>);

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut can = ClientCapabilities::default();
        can.roots = Some(Default::default());
        can.elicitation = Some(ElicitationCapability::new().with_form(Default::default()).with_url(Default::default()));
        can.sampling = self.0.sampling.then(Default::default);
        let mut we = Implementation::new("haft", env!("CARGO_PKG_VERSION"));
        we.title = Some("haft".to_owned());
        ClientConfig::new(can, we).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new(self.0.root.clone())]))
    }

    async fn create_elicitation(
        &self,
        asked: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let (reply, answer) = oneshot::channel();
        let nobody = || ElicitResult::new(ElicitationAction::Cancel);
        let Some(caller) = self.0.latest() else {
            tracing::info!(server = self.0.server, "asked something while nobody called it");
            return Ok(nobody());
        };
        // Whoever called may be gone by now.
        let _ = caller.send(Word::Elicit(Box::new(asked), reply)).await;
        Ok(answer.await.unwrap_or_else(|_| nobody()))
    }

    async fn create_message(
        &self,
        asked: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        if !self.0.sampling {
            return Err(ErrorData::method_not_found::<CreateMessageRequestMethod>());
        }
        let nobody = || ErrorData::invalid_request("a model answers only while one of the server's tools runs", None);
        let (reply, answer) = oneshot::channel();
        let caller = self.0.latest().ok_or_else(nobody)?;
        // Whoever called may be gone by now.
        let _ = caller.send(Word::Sample(Box::new(asked), reply)).await;
        answer.await.unwrap_or_else(|_| Err(nobody()))
    }

    async fn on_progress(&self, said: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let Some(caller) = self.0.caller(&said.progress_token) else { return };
        // It is only shown; a server that says more than anybody can read is not waited for.
        let _ = caller.try_send(Word::Progress(progress(&said)));
    }

    async fn on_logging_message(&self, said: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        let data = match &said.data {
            serde_json::Value::String(text) => line(text),
            data => line(&data.to_string()),
        };
        let (server, logger) = (&self.0.server, line(said.logger.as_deref().unwrap_or_default()));
        match said.level {
            LoggingLevel::Debug => tracing::debug!(server, logger, "{data}"),
            LoggingLevel::Info | LoggingLevel::Notice => tracing::info!(server, logger, "{data}"),
            LoggingLevel::Warning => tracing::warn!(server, logger, "{data}"),
            // It is the server's error, not ours.
            _ => tracing::warn!(server, logger, failed = true, "{data}"),
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.changed.notify_one();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.changed.notify_one();
    }
}

/// How far a call is, in words.
fn progress(said: &ProgressNotificationParam) -> String {
    let far = match said.total.filter(|total| *total > 0.0) {
        Some(total) => format!("{} of {total}", said.progress),
        None => said.progress.to_string(),
    };
    match said.message.as_deref().map(line).filter(|message| !message.is_empty()) {
        Some(message) => format!("{message} ({far})"),
        None => far,
    }
}
