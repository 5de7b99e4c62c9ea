//! Whoever made a call, while it runs.

#![expect(deprecated, reason = "logs and borrowed models stand in every revision that is spoken here")]

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult, ElicitationSchema,
    LoggingLevel, LoggingMessageNotificationParam, NumberOrString, ProgressNotificationParam,
};
use rmcp::service::{ElicitationMode, RequestContext};
use rmcp::{RoleServer, ServiceError};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::handler::Level;

/// How often a client is told that a call goes on where nothing else is told: many take one for lost that is silent for
/// half a minute or a minute.
pub const ALIVE: Duration = Duration::from_secs(10);

/// The client that made a call, for as long as the call runs. What it is asked belongs to that call, so ask from within
/// it and not from a task of its own.
pub struct Client {
    context: RequestContext<RoleServer>,
    level: Arc<Level>,
}

impl Client {
    pub(super) fn new(context: RequestContext<RoleServer>, level: Arc<Level>) -> Self {
        Self { context, level }
    }

    /// Fires when the client wants the call stopped, or is gone.
    pub fn cancelled(&self) -> &CancellationToken {
        &self.context.ct
    }

    /// The id of the call, as the client wrote it.
    pub fn id(&self) -> &NumberOrString {
        &self.context.id
    }

    /// Whether a person can be asked with a form.
    pub fn shows_forms(&self) -> bool {
        self.context.peer.supported_elicitation_modes().contains(&ElicitationMode::Form)
    }

    /// Has the person fill in a form: an object of plain fields. Waits without a limit; dropping the future takes the
    /// form back.
    ///
    /// # Errors
    ///
    /// When the schema is none for a form, the client cannot show it, or is gone.
    pub async fn fill_in(&self, message: &str, schema: &Value) -> Result<ElicitResult, ServiceError> {
        let requested_schema: ElicitationSchema = serde_json::from_value(schema.clone())
            .map_err(|error| ServiceError::McpError(rmcp::ErrorData::internal_error(error.to_string(), None)))?;
        let message = message.to_owned();
        let form = ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
        self.context.peer.create_elicitation(form).await
    }

    /// Says how far the call is, if the client wants to know; `done` must grow.
    pub async fn progress(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        let Some(token) = self.context.meta.get_progress_token() else { return };
        let mut told = ProgressNotificationParam::new(token, done);
        told.total = total;
        told.message = message.map(str::to_owned);
        // Who is gone needs to know nothing.
        let _ = self.context.peer.notify_progress(told).await;
    }

    /// Says each of `titles` as it comes, and after [`ALIVE`] without one that the call goes on, if the client wants to
    /// know. Never ends.
    pub async fn follow(&self, mut titles: watch::Receiver<String>) -> Infallible {
        let (mut steps, mut more) = (0.0, true);
        let mut due = Instant::now() + ALIVE;
        loop {
            tokio::select! {
                changed = titles.changed(), if more => {
                    more = changed.is_ok();
                    if !more {
                        continue;
                    }
                }
                () = sleep_until(due) => {}
            }
            due = Instant::now() + ALIVE;
            steps += 1.0;
            let title = titles.borrow_and_update().clone();
            self.progress(steps, None, Some(title.as_str()).filter(|title| !title.is_empty())).await;
        }
    }

    /// Sends a line of a log, unless the client wants none of that level.
    pub async fn log(&self, level: LoggingLevel, data: Value) {
        if !self.level.passes(level) {
            return;
        }
        let _ = self.context.peer.notify_logging_message(LoggingMessageNotificationParam::new(level, data)).await;
    }

    /// Has the client's model write an answer.
    ///
    /// # Errors
    ///
    /// When the client lends its model to nobody, says no, or is gone.
    pub async fn sample(&self, wanted: CreateMessageRequestParams) -> Result<CreateMessageResult, ServiceError> {
        self.context.peer.create_message(wanted).await
    }
}
