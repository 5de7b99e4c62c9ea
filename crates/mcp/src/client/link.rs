//! A connection to a server, and what is asked over it.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use haft_tool::{Call, ToolError};
use rmcp::ServiceError;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ErrorCode, GetPromptRequest, GetPromptRequestParams,
    ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest, PaginatedRequestParams,
    PingRequest, ReadResourceRequest, ReadResourceRequestParams, ServerPeerInfo, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, RunningService};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::elicit;
use super::sampling;
use super::settings::MAX_CALL;
use super::stdio::Program;
use super::traffic::{Handler, Traffic, Word};
use crate::oauth::{self, Account, Store};

/// Most pages of a list.
const MAX_PAGES: usize = 1000;
/// Most items of a list; further ones are left out.
pub const MAX_ITEMS: usize = 2000;
/// Most bytes of a list, as JSON; what is more is left out.
const MAX_LIST: usize = 8 * 1024 * 1024;
/// How long a server may take to say that it is still there.
const PING: Duration = Duration::from_secs(5);
/// How long one that is to end is waited for.
const CLOSE: Duration = Duration::from_secs(1);

/// A list that a server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl List {
    /// The key of its items in an answer.
    fn key(self) -> &'static str {
        match self {
            List::Tools => "tools",
            List::Prompts => "prompts",
            List::Resources => "resources",
            List::Templates => "resourceTemplates",
        }
    }

    fn request(self, cursor: Option<String>) -> ClientRequest {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        match self {
            List::Tools => ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params)),
            List::Prompts => ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(params)),
            List::Resources => ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(params)),
            List::Templates => {
                ClientRequest::ListResourceTemplatesRequest(ListResourceTemplatesRequest::with_param(params))
            }
        }
    }
}

/// A connection. Dropping it ends it, and the server with it if that is a program of ours.
pub(super) struct Link {
    peer: Peer<RoleClient>,
    service: tokio::sync::Mutex<RunningService<RoleClient, Handler>>,
    traffic: Arc<Traffic>,
    program: Option<Program>,
    /// How one signs in there.
    signing: Option<(Store, Account)>,
    /// Whether it refused a request until one signs in.
    refused: AtomicBool,
    /// Whether it has answered a call.
    worked: AtomicBool,
    /// Whether it has stopped answering.
    dead: AtomicBool,
}

impl Link {
    pub(super) fn new(
        service: RunningService<RoleClient, Handler>,
        traffic: Arc<Traffic>,
        program: Option<Program>,
    ) -> Self {
        let peer = service.peer().clone();
        let (worked, dead) = (AtomicBool::new(false), AtomicBool::new(false));
        Self {
            peer,
            service: service.into(),
            traffic,
            program,
            signing: None,
            refused: AtomicBool::new(false),
            worked,
            dead,
        }
    }

    /// The same, where one signs in like this.
    pub(super) fn signing(self, signing: Option<(Store, Account)>) -> Self {
        Self { signing, ..self }
    }

    /// What the server said about itself.
    pub(super) fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer.peer_info()
    }

    /// Waits until the server says that a list of its changed.
    pub(super) async fn changed(&self) {
        self.traffic.changed.notified().await;
    }

    /// Whether the server can still be asked.
    pub(super) fn is_open(&self) -> bool {
        !self.peer.is_transport_closed() && !self.dead.load(Ordering::Relaxed)
    }

    /// Whether it has ever answered a call.
    pub(super) fn has_worked(&self) -> bool {
        self.worked.load(Ordering::Relaxed)
    }

    /// What the server complained about last, as the end of a sentence.
    pub(super) fn last_words(&self) -> String {
        self.program.as_ref().map(Program::last_words).unwrap_or_default()
    }

    /// Ends the connection.
    pub(super) async fn close(&self) {
        self.dead.store(true, Ordering::Relaxed);
        // One that does not end is dropped with this.
        let _ = self.service.lock().await.close_with_timeout(CLOSE).await;
        if let Some(program) = &self.program {
            program.end().await;
        }
    }

    /// All items of `list`. `limit` is for each page.
    ///
    /// # Errors
    ///
    /// A text that says what the server did wrong.
    pub(super) async fn list(&self, list: List, limit: Duration) -> Result<Vec<Value>, String> {
        let (mut items, mut size) = (Vec::new(), 0);
        let (mut cursor, mut seen): (Option<String>, HashSet<String>) = (None, HashSet::new());
        let until = Instant::now() + limit * 6;
        for _ in 0..MAX_PAGES {
            let limit = limit.min(until.saturating_duration_since(Instant::now()));
            let answer = self.ask(list.request(cursor.take()), limit).await.map_err(|error| words(&error))?;
            let Value::Object(mut answer) = answer else { return Err("it answered with something else".to_owned()) };
            let Some(Value::Array(page)) = answer.remove(list.key()) else {
                return Err(format!("it answered without {}", list.key()));
            };
            for item in page {
                size += item.to_string().len();
                if items.len() == MAX_ITEMS || size > MAX_LIST {
                    tracing::warn!(list = list.key(), most = MAX_ITEMS, "a server has more than is read");
                    return Ok(items);
                }
                items.push(item);
            }
            match answer.remove("nextCursor") {
                Some(Value::String(next)) => {
                    if !seen.insert(next.clone()) {
                        return Err(format!("its list of {} goes round in a circle", list.key()));
                    }
                    cursor = Some(next);
                }
                _ => return Ok(items),
            }
        }
        Err(format!("its list of {} has more than {MAX_PAGES} pages", list.key()))
    }

    /// What is in the resource at `uri`.
    pub(super) async fn read(&self, uri: &str, limit: Duration) -> Result<Value, String> {
        let request = ReadResourceRequest::new(ReadResourceRequestParams::new(uri));
        self.ask(ClientRequest::ReadResourceRequest(request), limit).await.map_err(|error| words(&error))
    }

    /// The prompt called `name`, filled in with `arguments`.
    pub(super) async fn prompt(
        &self,
        name: &str,
        arguments: serde_json::Map<String, Value>,
        limit: Duration,
    ) -> Result<Value, String> {
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        self.ask(request, limit).await.map_err(|error| words(&error))
    }

    async fn ask(&self, request: ClientRequest, limit: Duration) -> Result<Value, ServiceError> {
        let asked = async {
            let options = PeerRequestOptions::with_timeout(limit);
            self.peer.send_request_with_option(request, options).await?.await_response().await.map(value)
        };
        asked.await.inspect_err(|error| {
            let _ = self.is_refusal(error);
        })
    }

    /// Whether `error` says that one must sign in first. What the server wants is remembered then.
    fn is_refusal(&self, error: &ServiceError) -> bool {
        let Some(((store, account), challenge)) = self.signing.as_ref().zip(error.auth_challenge()) else {
            return false;
        };
        match oauth::renewed(store, account, Some(challenge)) {
            // With other tokens, over another connection.
            true => self.dead.store(true, Ordering::Relaxed),
            false => oauth::challenged(store, account, challenge),
        }
        self.refused.store(true, Ordering::Relaxed);
        true
    }

    /// Whether it refused a request until one signs in.
    pub(super) fn was_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// Whether it refused a request, and another connection may do better without anybody signing in.
    pub(super) fn is_worth_another(&self) -> bool {
        self.was_refused() && !self.is_open()
    }

    /// Calls the server's `tool` for `call`. It may be silent for `limit`.
    ///
    /// Stopping the call tells the server so.
    ///
    /// # Errors
    ///
    /// For the model: what the server says is wrong, or that it did not answer.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: serde_json::Map<String, Value>,
        call: &Call,
        server: &str,
        limit: Duration,
    ) -> Result<Value, ToolError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let failed = |error: &ServiceError| self.failed(error, server);
        let sent = self.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
        let mut handle = sent.map_err(|error| failed(&error))?;
        let mut listening = self.traffic.listen(handle.progress_token.clone());
        let last = Instant::now() + MAX_CALL;
        let mut until = (Instant::now() + limit).min(last);
        let mut sampled = 0;
        loop {
            tokio::select! {
                // What came is taken before anything else.
                biased;
                answer = &mut handle.rx => {
                    let answer = answer.unwrap_or(Err(ServiceError::TransportClosed));
                    if answer.is_ok() {
                        self.worked.store(true, Ordering::Relaxed);
                    }
                    return answer.map(value).map_err(|error| failed(&error));
                }
                Some(word) = listening.words.recv() => {
                    match word {
                        Word::Progress(text) => call.progress(&text, haft_protocol::Object::new()),
                        Word::Elicit(asked, reply) => {
                            tokio::select! {
                                // Nobody may wait for it any more.
                                answer = elicit::ask(call, server, &asked) => drop(reply.send(answer)),
                                () = call.cancel.cancelled() => {}
                            }
                        }
                        Word::Sample(_, reply) if sampled == sampling::MAX_ANSWERS => {
                            let why = format!("no more than {} answers during one call", sampling::MAX_ANSWERS);
                            drop(reply.send(Err(rmcp::ErrorData::invalid_request(why, None))));
                        }
                        Word::Sample(asked, reply) => {
                            sampled += 1;
                            tokio::select! {
                                answer = sampling::answer(call, server, &asked) => drop(reply.send(answer)),
                                () = call.cancel.cancelled() => {}
                            }
                        }
                    }
                    until = (Instant::now() + limit).min(last);
                }
                () = call.cancel.cancelled() => {
                    // A server that is gone need not be told.
                    let _ = handle.cancel(Some("stopped by the user".to_owned())).await;
                    return Err(ToolError::Cancelled);
                }
                () = sleep_until(until) => {
                    let _ = handle.cancel(Some("request timeout".to_owned())).await;
                    self.look().await;
                    return Err(ToolError::Failed("MCP error -32001: Request timed out".to_owned()));
                }
            }
        }
    }

    /// Whether the server is still there. One that works on a call is not asked: it may do one thing at a time.
    pub(super) async fn is_well(&self) -> bool {
        if self.is_open() && !self.traffic.is_busy() {
            self.look().await;
        }
        self.is_open()
    }

    /// Looks whether the server is still there. One that is not is not asked again.
    async fn look(&self) {
        let answer = self.ask(ClientRequest::PingRequest(PingRequest::default()), PING).await;
        // It need not know the question to be there.
        if !matches!(answer, Ok(_) | Err(ServiceError::McpError(_))) {
            self.dead.store(true, Ordering::Relaxed);
        }
    }

    /// Why a call to `server` failed, for the model.
    fn failed(&self, error: &ServiceError, server: &str) -> ToolError {
        if self.is_refusal(error) && self.is_open() {
            return ToolError::Failed(format!(
                "the MCP server {server:?} wants the user to sign in for this: `haft mcp auth {server}`. Tell them, and go on \
                 without it"
            ));
        }
        ToolError::Failed(format!("{}{}", words(error), self.last_words_if_closed(error)))
    }

    fn last_words_if_closed(&self, error: &ServiceError) -> String {
        match error {
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => self.last_words(),
            _ => String::new(),
        }
    }
}

/// An answer as JSON: what the library could not make out comes as it is.
fn value(result: ServerResult) -> Value {
    serde_json::to_value(result).unwrap_or_default()
}

/// What went wrong, in the words that clients of this protocol use.
pub(super) fn words(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => {
            let ErrorCode(code) = error.code;
            format!("MCP error {code}: {}", super::naming::clean(&error.message))
        }
        ServiceError::Timeout { .. } => "MCP error -32001: Request timed out".to_owned(),
        ServiceError::TransportClosed => "MCP error -32000: Connection closed".to_owned(),
        error if error.is_authorization_required() => "it wants you to sign in".to_owned(),
        error => haft_tool::with_causes(error),
    }
}
