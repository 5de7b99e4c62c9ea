//! Messages over HTTP.

use std::time::Duration;

use expect_test::expect;
use futures::StreamExt;
use haft_llm::dialect::messages::Messages;
use haft_llm::{Chunk, Content, Key, LlmError, Message, Provider, Request, Secret};

use crate::server::Server;

const HI: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3}}}\n\n\
    event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Hi.\"}}\n\n\
    event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n\
    event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

fn messages(url: &str, key: Key, headers: &[(&str, &str)]) -> Messages {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let (provider, base_url, key) = ("v".to_owned(), url.to_owned(), Some(key));
    let server = haft_llm::Server { provider, base_url, key, headers, ..haft_llm::Server::default() };
    Messages::new(&server).unwrap()
}

fn request() -> Request {
    Request {
        model: "m1".to_owned(),
        messages: vec![Message::User { content: vec![Content::text("Hello?")] }.into()].into(),
        session: Some("ses_1".to_owned()),
        ..Request::default()
    }
}

/// What was asked, and what came of it, when a server answers with `answer`.
async fn ask(key: Key, headers: &[(&str, &str)], answer: &str) -> (String, Vec<Result<Chunk, LlmError>>) {
    let server = Server::start().await;
    let stream = messages(&server.url(), key, headers).stream(request());
    let serve = async {
        let mut connection = server.accept().await;
        let asked = connection.request().await;
        connection.send(answer.as_bytes()).await;
        asked
    };
    tokio::join!(serve, stream.collect())
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn head(asked: &str) -> String {
    let (head, _) = asked.split_once("\r\n\r\n").unwrap();
    let mut head: Vec<_> = head.lines().filter(|line| !line.starts_with("host:")).collect();
    head[1..].sort_unstable();
    head.join("\n")
}

#[tokio::test]
async fn a_compatible_server_is_asked_for_nothing_it_may_not_know() {
    let key = Key::Plain(Secret::new("sk-very-secret"));
    let (asked, all) = ask(key, &[], &ok(HI)).await;
    expect![[r#"
        POST /v1/messages HTTP/1.1
        accept-encoding: gzip
        accept: text/event-stream
        anthropic-version: 2023-06-01
        content-length: 156
        content-type: application/json
        user-agent: haft/0.1.0
        x-api-key: sk-very-secret
        x-session-affinity: ses_1"#]]
    .assert_eq(&head(&asked));
    let body = asked.split_once("\r\n\r\n").unwrap().1;
    expect![[r#"{"model":"m1","max_tokens":8192,"messages":[{"role":"user","content":[{"type":"text","text":"Hello?","cache_control":{"type":"ephemeral"}}]}],"stream":true}"#]].assert_eq(body);
    let lines: String = all.into_iter().map(|next| format!("{:?}\n", next.unwrap())).collect();
    expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: None, input: 3, output: 2, reasoning: 0, cache_read: 0, cache_write: 0 })
        Finish(Stop)
    "#]]
    .assert_eq(&lines);
}

#[tokio::test]
async fn headers_of_the_settings_win() {
    let key = Key::Bearer(Secret::new("token-very-secret"));
    let own = [("anthropic-beta", "mine-2026"), ("Anthropic-Version", "2024-01-01")];
    let (asked, _) = ask(key, &own, &ok(HI)).await;
    expect![[r#"
        POST /v1/messages HTTP/1.1
        accept-encoding: gzip
        accept: text/event-stream
        anthropic-beta: mine-2026
        anthropic-version: 2024-01-01
        authorization: Bearer token-very-secret
        content-length: 156
        content-type: application/json
        user-agent: haft/0.1.0
        x-session-affinity: ses_1"#]]
    .assert_eq(&head(&asked));
}

#[tokio::test]
async fn an_overload_says_how_long_to_wait() {
    let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let answer = format!("HTTP/1.1 529 Overloaded\r\nretry-after: 3\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let (_, all) = ask(Key::Plain(Secret::new("sk-very-secret")), &[], &answer).await;
    let [Err(error)] = &all[..] else { panic!("{all:?}") };
    assert_eq!(error.to_string(), "v failed with status 529: Overloaded");
    assert_eq!(error.retry_after(1, 1.0), Some(Duration::from_secs(3)));
}
