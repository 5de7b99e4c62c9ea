//! What lets requests in and may be refused: it is had anew and tried once more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt;
use futures::future::BoxFuture;
use haft_llm::dialect::chat::{Chat, ChatManners};
use haft_llm::{Asked, Chunk, Finish, Key, LlmError, Provider, Request, Secret, Sign};
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};

use crate::server::Server;

/// Tokens that are numbered.
#[derive(Debug)]
struct Numbered {
    given: AtomicUsize,
    /// Whether there is another one when one was refused.
    has_more: bool,
}

impl Sign for Numbered {
    fn sign<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Result<Vec<(HeaderName, HeaderValue)>, LlmError>> {
        assert!(!asked.body.is_empty() && asked.url.path() == "/v1/chat/completions");
        let number = self.given.fetch_add(1, Ordering::SeqCst) + 1;
        let value = HeaderValue::from_str(&format!("Bearer token-{number}")).unwrap();
        Box::pin(async { Ok(vec![(AUTHORIZATION, value)]) })
    }

    fn secrets(&self) -> Vec<Secret> {
        (1..=self.given.load(Ordering::SeqCst)).map(|number| Secret::new(format!("token-{number}"))).collect()
    }

    fn refused(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { self.has_more })
    }
}

/// What comes of a request whose tokens are refused `refusals` times, and the tokens that were shown.
async fn ask(has_more: bool, refusals: usize) -> (Option<Result<Chunk, LlmError>>, Vec<String>) {
    let server = Server::start().await;
    let sign = Arc::new(Numbered { given: AtomicUsize::new(0), has_more });
    let settings = haft_llm::Server {
        provider: "v".to_owned(),
        base_url: server.url(),
        key: Some(Key::Signed(sign)),
        ..haft_llm::Server::default()
    };
    let mut stream = Chat::new(&settings, ChatManners::default()).unwrap().stream(Request::default());
    let serving = tokio::spawn(async move {
        let mut shown = Vec::new();
        let mut connection = server.accept().await;
        loop {
            let request = connection.request().await;
            let token = request.lines().find_map(|line| line.strip_prefix("authorization: Bearer "));
            shown.push(token.unwrap_or_default().to_owned());
            let refused = "{\"error\":{\"message\":\"token-1 is old\"}}";
            let said = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
            let (status, body) = match shown.len() <= refusals {
                true => ("401 Unauthorized", refused),
                false => ("200 OK\r\ncontent-type: text/event-stream", said),
            };
            connection
                .send(format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).as_bytes())
                .await;
            if shown.len() > refusals || shown.len() == 2 || !has_more {
                return shown;
            }
        }
    });
    let mut last = None;
    while let Some(next) = stream.next().await {
        last = Some(next);
    }
    (last, serving.await.unwrap())
}

#[tokio::test]
async fn a_token_that_was_refused_is_replaced_once() {
    let (last, shown) = ask(true, 1).await;
    assert!(matches!(last, Some(Ok(Chunk::Finish(Finish::Stop)))), "{last:?}");
    assert_eq!(shown, ["token-1", "token-2"]);
}

#[tokio::test]
async fn one_that_is_refused_again_is_an_error_without_it() {
    for (has_more, tokens) in [(true, 2), (false, 1)] {
        let (last, shown) = ask(has_more, 9).await;
        let Some(Err(error @ LlmError::Unauthorized { .. })) = &last else { panic!("{last:?}") };
        assert_eq!(error.to_string(), "v rejected the credentials (status 401): … is old");
        assert_eq!(shown.len(), tokens);
    }
}
