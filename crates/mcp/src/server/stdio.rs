//! A client at the other end of two pipes.

use std::sync::Arc;

use rmcp::service::{QuitReason, serve_server_with_ct};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::Offer;
use super::handler::Handler;

/// Why a client could not be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It does not begin as the protocol says.
    #[error("the client does not speak MCP: {0}")]
    Begin(String),
    /// The work for it came to an unforeseen end.
    #[error("serving the client ended: {0}")]
    Ended(String),
}

/// Serves the client at standard input and output until it closes them or `stop` fires.
///
/// # Errors
///
/// [`ServeError`] when it does not speak the protocol. One that says nothing at all is no error.
pub async fn stdio(offer: Arc<impl Offer>, stop: CancellationToken) -> Result<(), ServeError> {
    let (read, write) = stdio_pipes();
    stream(offer, read, write, stop).await
}

/// Serves the client at the other end of `read` and `write`, a line for a message, the same way. Lines of more than
/// 16 MiB are left out.
///
/// # Errors
///
/// [`ServeError`] when it does not speak the protocol. One that says nothing at all is no error.
pub async fn stream(
    offer: Arc<impl Offer>,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    use rmcp::service::ServerInitializeError as Error;
    let transport = AsyncRwTransport::new_server(read, write);
    let serving = match serve_server_with_ct(Handler::new(offer), transport, stop).await {
        Ok(serving) => serving,
        // Gone before it wanted anything.
        Err(Error::ConnectionClosed(_) | Error::Cancelled) => return Ok(()),
        Err(error) => return Err(ServeError::Begin(error.to_string())),
    };
    match serving.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(ServeError::Ended(error.to_string())),
        Ok(_) => Ok(()),
    }
}
