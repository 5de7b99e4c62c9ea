//! The older way to speak to a server over HTTP: it sends all its messages in one stream of events, the first of which
//! names the address that ours go to.

use std::collections::HashMap;
use std::io;
use std::mem;

use futures::StreamExt;
use haft_net::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Client, RequestBuilder, StatusCode};
use rmcp::RoleClient;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::auth::AuthClient;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::http::Missed;
use super::stdio::MAX_MESSAGE;

/// Most messages that wait to be looked at; then the server waits.
const MAX_WAITING: usize = 16;

/// A server's stream of events.
pub(super) struct EventStream {
    client: Client,
    headers: HeaderMap,
    /// What signs each request, where somebody signed in.
    signing: Option<AuthClient<Client>>,
    /// Where our messages go.
    endpoint: Url,
    messages: mpsc::Receiver<String>,
    _reading: AbortOnDropHandle<()>,
}

impl EventStream {
    /// Opens the stream at `url`, and waits until the server has said where messages go. `signing` has the token that is
    /// shown, if there is one.
    pub(super) async fn open(
        client: Client,
        signing: Option<AuthClient<Client>>,
        url: Url,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Self, Missed> {
        let otherwise = |why: String| Missed::Otherwise(why);
        let headers: HeaderMap = headers.into_iter().collect();
        let asked = client.get(url.clone()).headers(headers.clone()).header(ACCEPT, "text/event-stream");
        let answer = signed(asked, signing.as_ref()).await.send().await;
        let answer = answer.map_err(|error| otherwise(haft_tool::with_causes(&error)))?;
        match answer.status() {
            StatusCode::UNAUTHORIZED => {
                let challenge = answer.headers().get(WWW_AUTHENTICATE).and_then(|challenge| challenge.to_str().ok());
                return Err(Missed::Refused(challenge.map(str::to_owned)));
            }
            status if !status.is_success() => return Err(otherwise(format!("it answered {status}"))),
            _ => {}
        }
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.starts_with("text/event-stream") {
            return Err(otherwise("it sends no events".to_owned()));
        }
        let (tell, mut messages) = mpsc::channel(MAX_WAITING);
        let (told, endpoint) = tokio::sync::oneshot::channel();
        let mut body = answer.bytes_stream();
        let reading = tokio::spawn(async move {
            let (mut events, mut told) = (Events::default(), Some(told));
            while let Some(Ok(bytes)) = body.next().await {
                let Ok(found) = events.push(&bytes) else {
                    tracing::warn!("a server sent an event of more than 16 MiB");
                    return;
                };
                for Event { name, data } in found {
                    match (name.as_str(), told.take()) {
                        // Nobody waits for it if this fails.
                        ("endpoint", Some(told)) => drop(told.send(data)),
                        ("" | "message", still) => {
                            told = still;
                            if tell.send(data).await.is_err() {
                                return;
                            }
                        }
                        (_, still) => told = still,
                    }
                }
            }
        });
        let reading = AbortOnDropHandle::new(reading);
        let endpoint = endpoint.await.map_err(|_| otherwise("it did not say where messages go".to_owned()))?;
        let there = url.join(&endpoint).map_err(|error| otherwise(format!("it names no address: {error}")))?;
        // Our headers are meant for the server of the settings.
        if there.origin() != url.origin() {
            messages.close();
            return Err(otherwise("it wants messages to go to another server".to_owned()));
        }
        Ok(Self { client, headers, signing, endpoint: there, messages, _reading: reading })
    }
}

/// `request` with the token of `signing`, made new where it is about to end. Without one the server says what it wants.
async fn signed(request: RequestBuilder, signing: Option<&AuthClient<Client>>) -> RequestBuilder {
    let token = match signing {
        Some(signing) => signing.get_access_token().await.ok(),
        None => None,
    };
    match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    }
}

impl Transport<RoleClient> for EventStream {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let request = self.client.post(self.endpoint.clone()).headers(self.headers.clone());
        let signing = self.signing.clone();
        async move {
            let message: ClientJsonRpcMessage = message;
            let request = signed(request.json(&message), signing.as_ref()).await;
            let answer = request.send().await.map_err(io::Error::other)?;
            answer.error_for_status().map(drop).map_err(io::Error::other)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let text = self.messages.recv().await?;
            match serde_json::from_str(&text) {
                Ok(message) => return Some(message),
                Err(error) => tracing::debug!(%error, "a server sent what is no message"),
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.messages.close();
        Ok(())
    }
}

/// An event.
#[derive(Debug, Default, PartialEq)]
struct Event {
    name: String,
    data: String,
}

/// Events out of bytes that may be cut anywhere.
#[derive(Debug, Default)]
struct Events {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
}

/// An event is longer than [`MAX_MESSAGE`].
#[derive(Debug, PartialEq)]
struct TooLong;

impl Events {
    fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, TooLong> {
        let mut found = Vec::new();
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (text, ends) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            if self.line.len() + self.event.data.len() + text.len() > MAX_MESSAGE {
                return Err(TooLong);
            }
            self.line.extend_from_slice(text);
            if ends {
                let line = mem::take(&mut self.line);
                found.extend(self.take(&line));
            }
        }
        Ok(found)
    }

    fn take(&mut self, line: &[u8]) -> Option<Event> {
        let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned();
        if line.is_empty() {
            let event = mem::take(&mut self.event);
            return mem::take(&mut self.has_data).then_some(event);
        }
        let (key, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match key {
            "event" => self.event.name = value.to_owned(),
            "data" => {
                if mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_out_whole_however_their_bytes_are_cut() {
        let text =
            "event: endpoint\r\ndata: /m?s=1\r\n\r\n: heartbeat\n\ndata: a\ndata:  b\nid: 1\n\nevent: x\n\ndata: é\n\n";
        let event = |name: &str, data: &str| Event { name: name.to_owned(), data: data.to_owned() };
        let want = [event("endpoint", "/m?s=1"), event("", "a\n b"), event("", "é")];
        for size in 1..text.len() {
            let mut events = Events::default();
            let found: Vec<Event> =
                text.as_bytes().chunks(size).flat_map(|piece| events.push(piece).unwrap()).collect();
            assert_eq!(found, want, "pieces of {size}");
        }
    }

    #[test]
    fn an_event_has_an_end() {
        let mut events = Events::default();
        assert_eq!(events.push(&vec![b'x'; MAX_MESSAGE]), Ok(Vec::new()));
        assert_eq!(events.push(b"x"), Err(TooLong));
    }
}
