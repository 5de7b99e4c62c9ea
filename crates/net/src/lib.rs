//! The one HTTP client: TLS, proxies, time limits.
//!
//! Whoever speaks HTTP builds its client with [`client`]; a client built elsewhere would panic at its first `https`
//! request, because no TLS provider is compiled in by default.
//!
//! Building one costs microseconds: the system's certificates are read by the first TLS handshake, so a program that
//! only talks to `http://127.0.0.1` never reads them.
//!
//! ```
//! let client = haft_net::client(haft_net::Options::default())?;
//! let request = client.get("http://127.0.0.1:8080/v1/models");
//! # Ok::<(), haft_net::NetError>(())
//! ```
//!
//! [`Web`] fetches what anybody may have named, one step at a time: it says where a URL leads before it goes there, and
//! then goes exactly there.
//!
//! [`Callback`] is the other direction: the page of a sign-in that comes back to this machine.
//!
//! How far requests may go, through which proxies, and whom they trust, is the same for the whole process:
//! [`Network::install`] says it once, and every client comes through the same gate before a name is looked up.
//!
//! **Never here:** retries, keys, what an answer means.

mod address;
mod body;
mod callback;
mod files;
mod names;
mod network;
mod proxy;
mod reach;
mod tls;
mod web;

pub use address::{Inside, inside};
pub use body::body;
pub use callback::{Callback, Came, MAX_VISITORS};
pub use files::{BadFile, Identity};
pub use network::{Network, Settings, hopeless};
pub use proxy::Proxy;
pub use reach::{Offline, Reach};
pub use reqwest::Url;
pub use web::{Answer, Lookup, Place, Web, WebError};

use std::time::Duration;

/// What every request says who it is from.
pub const USER_AGENT: &str = concat!("haft/", env!("CARGO_PKG_VERSION"));

/// How a client behaves. There is no limit on the whole of a request: an answer may stream for an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Options {
    /// Longest a connection may take to open, TLS included. 30 seconds.
    pub connect_timeout: Duration,
    /// Longest the other side may say nothing, before the answer and within it. 300 seconds; [`Duration::MAX`] is as long as
    /// it likes.
    pub idle_timeout: Duration,
    /// What an answer of the kind "look there" does. [`Redirects::Refuse`].
    pub redirects: Redirects,
}

/// What an answer of the kind "look there" does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Redirects {
    /// It is handed to the caller as it is: a request that carries a key must not take it to another host.
    Refuse,
    /// It is followed, at most this many times in a row.
    Follow(usize),
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(300),
            redirects: Redirects::Refuse,
        }
    }
}

/// The client could not be built.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client could not be set up")]
pub struct NetError(#[source] Box<dyn std::error::Error + Send + Sync>);

/// A client of the process's [`Network`]. It is a handle: whoever asks with the same options shares its connections.
///
/// The system's proxy settings hold (`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`, and what macOS and Windows
/// keep) unless the network's own say otherwise, except for this machine's own addresses, which are always reached
/// directly.
///
/// # Errors
///
/// [`NetError`] when the TLS settings do not fit together.
pub fn client(options: Options) -> Result<reqwest::Client, NetError> {
    Network::default().client(options)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Answers one request with `answer` and hands back what was asked.
    fn serve(answer: &'static str) -> (String, thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut asked = Vec::new();
            let mut block = [0; 1024];
            while !asked.ends_with(b"\r\n\r\n") {
                let read = socket.read(&mut block).unwrap();
                asked.extend_from_slice(&block[..read]);
            }
            socket.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(asked).unwrap()
        });
        (address, server)
    }

    #[tokio::test]
    async fn a_request_says_who_it_is_from() {
        let (address, server) = serve("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi");
        let answer = client(Options::default()).unwrap().get(address).send().await.unwrap();
        assert_eq!(answer.text().await.unwrap(), "hi");
        assert!(server.join().unwrap().contains(&format!("user-agent: {USER_AGENT}\r\n")));
    }

    #[tokio::test]
    async fn a_redirect_is_handed_back_unless_asked_for() {
        const MOVED: &str = "HTTP/1.1 307 Temporary Redirect\r\nlocation: /there\r\ncontent-length: 0\r\n\r\n";
        let (address, server) = serve(MOVED);
        let answer = client(Options::default()).unwrap().get(address).send().await.unwrap();
        assert_eq!(answer.status(), 307);
        server.join().unwrap();

        let (address, server) = serve(MOVED);
        let follow = Options { redirects: Redirects::Follow(0), ..Options::default() };
        let refused = client(follow).unwrap().get(address).send().await.unwrap_err();
        assert!(refused.is_redirect(), "{refused}");
        server.join().unwrap();
    }

    #[tokio::test]
    async fn a_silent_server_runs_into_the_idle_limit() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let options = Options { idle_timeout: Duration::from_millis(20), ..Options::default() };
        // The listener accepts in the kernel, reads nothing and answers nothing.
        let error = client(options).unwrap().get(address).send().await.unwrap_err();
        assert!(error.is_timeout(), "{error}");
    }

    #[test]
    fn clients_may_be_built_from_many_threads_at_once() {
        let threads: Vec<_> = (0..8).map(|_| thread::spawn(|| client(Options::default()).is_ok())).collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    }
}
