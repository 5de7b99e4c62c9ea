//! Clients over HTTP: streamable HTTP, a session for each.
//!
//! Whoever comes must show the token of this run, speak to a name of this machine, and, from a browser, come from a page
//! of this machine. So neither another user, nor a page that makes its name lead here, gets to a tool.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use ring::rand::{SecureRandom, SystemRandom};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::sessions::Sessions;
use super::Offer;
use super::handler::Handler;

mod sessions;

pub use self::sessions::{IDLE, MAX_SESSIONS};

/// Where the protocol is spoken.
pub const PATH: &str = "/mcp";

/// Longest request, in bytes.
pub const MAX_BODY: usize = 16 * 1024 * 1024;

/// What a client has to show. It does not print itself.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl Token {
    /// A new one, that nobody can guess: 32 bytes of chance. `None` where the system has none to give.
    pub fn random() -> Option<Self> {
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes).ok()?;
        Some(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()))
    }

    /// One that somebody chose.
    pub fn of(text: &str) -> Self {
        Self(text.into())
    }

    /// Its text, for the one who may use it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether `shown` is the same, in a time that says nothing of where they differ.
    fn fits(&self, shown: &str) -> bool {
        blake3::hash(self.0.as_bytes()) == blake3::hash(shown.as_bytes())
    }
}

/// Serves clients at `listener` until `stop` fires. `offer` makes what stands behind each; without a `token` anybody on
/// this machine may come.
///
/// # Errors
///
/// When the listener fails.
pub async fn serve<O: Offer>(
    listener: TcpListener,
    token: Option<Token>,
    offer: impl Fn() -> std::io::Result<O> + Send + Sync + 'static,
    stop: CancellationToken,
) -> std::io::Result<()> {
    let at = listener.local_addr()?;
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts(at))
        .with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"])
        .with_max_request_body_bytes(MAX_BODY)
        .with_cancellation_token(stop.child_token());
    let make = move || offer().map(|offer| Handler::new(Arc::new(offer)));
    let service = StreamableHttpService::new(make, Arc::new(Sessions::default()), config);
    let router = Router::new().route_service(PATH, service).layer(middleware::from_fn_with_state(token, guard));
    axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await
}

/// The names under which a server at `at` may be spoken to.
fn hosts(at: SocketAddr) -> Vec<String> {
    let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
    if !at.ip().is_loopback() && !at.ip().is_unspecified() {
        hosts.push(at.ip().to_string());
    }
    hosts
}

/// Turns away who does not show the token.
async fn guard(State(token): State<Option<Token>>, request: Request, next: Next) -> Response {
    let shown = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    match token {
        Some(token) if !shown.and_then(bearer).is_some_and(|shown| token.fits(shown)) => {
            let why = "this server wants the token that it printed when it started: Authorization: Bearer TOKEN\n";
            (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], why).into_response()
        }
        _ => next.run(request).await,
    }
}

/// The token in the value of an `Authorization` header.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_token_fits() {
        let token = Token::random().unwrap();
        assert_eq!(token.reveal().len(), 64);
        assert_ne!(token.reveal(), Token::random().unwrap().reveal());
        assert!(token.fits(token.reveal()));
        assert!(!token.fits("") && !token.fits(&token.reveal()[1..]));
        let row = |value: &str, want: Option<&str>| assert_eq!(bearer(value), want, "{value}");
        row("Bearer abc", Some("abc"));
        row("bearer  abc ", Some("abc"));
        row("Basic abc", None);
        row("abc", None);
    }

    #[test]
    fn a_server_answers_to_the_names_of_its_own_address() {
        let row = |at: &str, want: &str| assert_eq!(hosts(at.parse().unwrap()).join(" "), want, "{at}");
        row("127.0.0.1:8000", "localhost 127.0.0.1 ::1");
        row("0.0.0.0:8000", "localhost 127.0.0.1 ::1");
        row("192.168.1.5:8000", "localhost 127.0.0.1 ::1 192.168.1.5");
    }
}
