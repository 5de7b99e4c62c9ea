//! The protocol's requests, answered from an [`Offer`].

#![expect(deprecated, reason = "levels and subscriptions stand in every revision that is spoken here")]

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CompletionInfo,
    GetPromptRequestParams, GetPromptResponse, InitializeResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, LoggingLevel, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, SetLevelRequestParams, SubscribeRequestParams,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::sync::Semaphore;
use tokio_util::task::AbortOnDropHandle;

use super::{Client, Offer};

/// Most calls of one client that run at once. Further ones wait.
pub const MAX_CALLS: usize = 32;

/// Most resources of which one client is told that they changed.
pub const MAX_WATCHED: usize = 1000;

/// The newest revision that is spoken; why no newer one, stands in `server.rs`.
const NEWEST: ProtocolVersion = ProtocolVersion::V_2025_11_25;

/// One client, and what it is offered.
pub(super) struct Handler<O> {
    offer: Arc<O>,
    calls: Semaphore,
    level: Arc<Level>,
    watched: Mutex<BTreeSet<String>>,
    /// Tells the client of other tools.
    telling: Mutex<Option<AbortOnDropHandle<()>>>,
}

/// From which level on the client wants to read the log. All of it until it says so.
#[derive(Default)]
pub(super) struct Level(AtomicU8);

impl Level {
    pub(super) fn passes(&self, level: LoggingLevel) -> bool {
        rank(level) >= self.0.load(Ordering::Relaxed)
    }
}

fn rank(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}

impl<O: Offer> Handler<O> {
    pub(super) fn new(offer: Arc<O>) -> Self {
        Self {
            offer,
            calls: Semaphore::new(MAX_CALLS),
            level: Arc::default(),
            watched: Mutex::default(),
            telling: Mutex::default(),
        }
    }

    fn watched(&self) -> MutexGuard<'_, BTreeSet<String>> {
        // Each use leaves the list whole, so a panic elsewhere does no harm to it.
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self, uri: &str) -> Result<(), ErrorData> {
        let listed = self.offer.resources().iter().any(|resource| resource.uri == uri);
        if listed || self.offer.read(uri).is_some() { Ok(()) } else { Err(no_resource(uri)) }
    }
}

fn no_resource(uri: &str) -> ErrorData {
    ErrorData::resource_not_found(format!("there is no resource {uri}"), None)
}

impl<O: Offer> ServerHandler for Handler<O> {
    fn get_info(&self) -> InitializeResult {
        self.offer.about().with_protocol_version(NEWEST)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&NEWEST))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let Some(mut changed) = self.offer.changed() else { return };
        let telling = tokio::spawn(async move {
            while changed.changed().await.is_ok() {
                if context.peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        });
        *self.telling.lock().unwrap_or_else(PoisonError::into_inner) = Some(AbortOnDropHandle::new(telling));
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.offer.tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let stopped = context.ct.clone();
        let _leave = tokio::select! {
            leave = self.calls.acquire() => leave,
            () = stopped.cancelled() => return Err(ErrorData::internal_error("the call was stopped before it began", None)),
        };
        let client = Client::new(context, self.level.clone());
        let arguments = request.arguments.unwrap_or_default();
        self.offer.call(&request.name, arguments, client).await.map(CallToolResponse::from)
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(self.offer.resources()))
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(self.offer.templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = self.offer.read(&request.uri).ok_or_else(|| no_resource(&request.uri))?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.known(&request.uri)?;
        let mut watched = self.watched();
        if watched.len() >= MAX_WATCHED && !watched.contains(&request.uri) {
            let why = format!("no more than {MAX_WATCHED} resources can be watched; give one up first");
            return Err(ErrorData::invalid_request(why, None));
        }
        watched.insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.watched().remove(&request.uri);
        Ok(())
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(self.offer.prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let filled = self.offer.prompt(&request.name, &arguments);
        let none = || ErrorData::invalid_params(format!("there is no prompt called {:?}", request.name), None);
        Ok(filled.ok_or_else(none)?.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let mut values = self.offer.complete(&request);
        values.truncate(CompletionInfo::MAX_VALUES);
        let info = CompletionInfo::new(values).map_err(|why| ErrorData::internal_error(why, None))?;
        Ok(CompleteResult::new(info))
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if self.offer.about().capabilities.logging.is_none() {
            return Err(ErrorData::method_not_found::<rmcp::model::SetLevelRequestMethod>());
        }
        self.level.0.store(rank(request.level), Ordering::Relaxed);
        Ok(())
    }
}
