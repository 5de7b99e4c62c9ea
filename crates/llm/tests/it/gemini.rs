//! Gemini over HTTP.

use std::time::Duration;

use expect_test::expect;
use futures::StreamExt;
use haft_llm::dialect::gemini::Gemini;
use haft_llm::{Chunk, Content, Key, LlmError, Message, Provider, Request, Secret};

use crate::server::Server;

const HI: &str = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hi.\"}],\"role\":\"model\"},\"finishReason\":\"STOP\"}],\
    \"usageMetadata\":{\"promptTokenCount\":3,\"candidatesTokenCount\":2,\"totalTokenCount\":5}}\r\n\r\n";

fn request() -> Request {
    Request {
        model: "gemini-3-pro".to_owned(),
        messages: vec![Message::User { content: vec![Content::text("Hello?")] }.into()].into(),
        session: Some("ses_1".to_owned()),
        ..Request::default()
    }
}

/// What was asked, and what came of it, when a server answers with `answer`.
async fn ask(key: Key, answer: &str) -> (String, Vec<Result<Chunk, LlmError>>) {
    let server = Server::start().await;
    let (provider, base_url) = ("v".to_owned(), server.url());
    let asking = haft_llm::Server { provider, base_url, key: Some(key), ..haft_llm::Server::default() };
    let stream = Gemini::new(&asking).unwrap().stream(request());
    let serve = async {
        let mut connection = server.accept().await;
        let asked = connection.request().await;
        connection.send(answer.as_bytes()).await;
        asked
    };
    tokio::join!(serve, stream.collect())
}

fn with_length(head: &str, body: &str) -> String {
    format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn a_model_is_asked_at_its_own_address_with_the_key_in_its_header() {
    let answer = with_length("200 OK\r\ncontent-type: text/event-stream", HI);
    let (asked, all) = ask(Key::Plain(Secret::new("very-secret-key")), &answer).await;
    let (head, body) = asked.split_once("\r\n\r\n").unwrap();
    let mut head: Vec<_> = head.lines().filter(|line| !line.starts_with("host:")).collect();
    head[1..].sort_unstable();
    expect![[r#"
        POST /v1/models/gemini-3-pro:streamGenerateContent?alt=sse HTTP/1.1
        accept-encoding: gzip
        accept: text/event-stream
        content-length: 58
        content-type: application/json
        user-agent: haft/0.1.0
        x-goog-api-key: very-secret-key
        x-session-affinity: ses_1"#]]
    .assert_eq(&head.join("\n"));
    expect![[r#"{"contents":[{"role":"user","parts":[{"text":"Hello?"}]}]}"#]].assert_eq(body);
    let lines: String = all.into_iter().map(|next| format!("{:?}\n", next.unwrap())).collect();
    expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: Some(5), input: 3, output: 2, reasoning: 0, cache_read: 0, cache_write: 0 })
        Finish(Stop)
    "#]]
    .assert_eq(&lines);
}

#[tokio::test]
async fn a_token_is_sent_as_one() {
    let answer = with_length("200 OK\r\ncontent-type: text/event-stream", HI);
    let (asked, _) = ask(Key::Bearer(Secret::new("very-secret-token")), &answer).await;
    assert!(asked.contains("\r\nauthorization: Bearer very-secret-token\r\n"));
    assert!(!asked.contains("x-goog-api-key"));
}

#[tokio::test]
async fn a_limit_says_in_its_body_how_long_to_wait() {
    let body = r#"[{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"21s"}]}}]"#;
    let answer = with_length("429 Too Many Requests\r\ncontent-type: application/json", body);
    let (_, all) = ask(Key::Plain(Secret::new("very-secret-key")), &answer).await;
    let [Err(error)] = &all[..] else { panic!("{all:?}") };
    assert_eq!(error.to_string(), "v limits how often it may be asked: You exceeded your current quota");
    assert_eq!(error.retry_after(1, 1.0), Some(Duration::from_secs(21)));
}

#[tokio::test]
async fn a_key_that_is_none_is_a_matter_of_keys() {
    let body = r#"{"error":{"code":400,"message":"API key not valid: very-secret-key","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}"#;
    let answer = with_length("400 Bad Request\r\ncontent-type: application/json", body);
    let (_, all) = ask(Key::Plain(Secret::new("very-secret-key")), &answer).await;
    let [Err(error)] = &all[..] else { panic!("{all:?}") };
    assert_eq!(error.to_string(), "v rejected the credentials (status 400): API key not valid: …");
}

#[tokio::test]
async fn an_error_in_a_list_under_a_good_status_is_one() {
    let body = r#"[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]"#;
    let answer = with_length("200 OK\r\ncontent-type: application/json", body);
    let (_, all) = ask(Key::Plain(Secret::new("very-secret-key")), &answer).await;
    let [Err(error)] = &all[..] else { panic!("{all:?}") };
    assert_eq!(error.to_string(), "v failed: The model is overloaded.");
    assert!(error.is_passing());
}
