//! The call a tool runs for, and what it may ask of whoever runs it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use haft_permission::{Access, Denied, Grant};
use haft_protocol::{MessageId, Object, SessionId};
use tokio_util::sync::CancellationToken;

/// The id that the model gave a call. Any text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallId(pub String);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The call a tool is running for.
pub struct Call {
    /// The session.
    pub session: SessionId,
    /// The message that holds the call.
    pub message: MessageId,
    /// The call.
    pub id: CallId,
    /// Fires when the user stops the turn. The tool then has a moment to end by itself before its future is dropped.
    pub cancel: CancellationToken,
    host: Arc<dyn Host>,
}

/// What a running tool may ask of whoever runs it.
pub trait Host: Send + Sync {
    /// Waits for leave.
    fn ask(&self, access: Access) -> BoxFuture<'_, Result<Grant, Denied>>;
    /// Shows work in progress to clients. Never waits.
    fn progress(&self, title: &str, metadata: Object);
    /// The place where the whole of a long output is to be kept, in an existing folder that the program clears up.
    fn output_file(&self) -> PathBuf;
}

impl Call {
    /// A call run by `host`.
    pub fn new(
        session: SessionId,
        message: MessageId,
        id: CallId,
        cancel: CancellationToken,
        host: Arc<dyn Host>,
    ) -> Self {
        Self { session, message, id, cancel, host }
    }

    /// Waits for leave.
    ///
    /// # Errors
    ///
    /// [`Denied`], which `?` turns into the tool's own error.
    pub async fn ask(&self, access: Access) -> Result<Grant, Denied> {
        self.host.ask(access).await
    }

    /// Shows work in progress to clients. Never waits.
    pub fn progress(&self, title: &str, metadata: Object) {
        self.host.progress(title, metadata);
    }

    /// The place where the whole of a long output is to be kept. Nothing is there yet.
    pub fn output_file(&self) -> PathBuf {
        self.host.output_file()
    }
}
