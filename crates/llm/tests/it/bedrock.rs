//! Amazon Bedrock over HTTP: Converse, and Anthropic's own words in Amazon's frames.

use std::sync::Arc;

use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message as Frame};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use expect_test::{Expect, expect};
use futures::StreamExt;
use haft_llm::auth::aws::{Aws, Environment, Keys, Settings};
use haft_llm::dialect::converse::Converse;
use haft_llm::dialect::messages::Messages;
use haft_llm::{Chunk, Content, Key, LlmError, Message, Place, Provider, Request, Secret};
use tempfile::TempDir;

use crate::server::Server;

const MODEL: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

fn frame(headers: &[(&str, &str)], payload: &str) -> Vec<u8> {
    let header =
        |&(name, value): &(&str, &str)| Header::new(name.to_owned(), HeaderValue::String(value.to_owned().into()));
    let mut bytes = Vec::new();
    let message = Frame::new_from_parts(headers.iter().map(header).collect(), payload.as_bytes().to_vec());
    write_message_to(&message, &mut bytes).unwrap();
    bytes
}

fn event(name: &str, payload: &str) -> Vec<u8> {
    frame(&[(":event-type", name), (":content-type", "application/json"), (":message-type", "event")], payload)
}

fn exception(name: &str, payload: &str) -> Vec<u8> {
    frame(&[(":exception-type", name), (":content-type", "application/json"), (":message-type", "exception")], payload)
}

fn hi() -> Vec<u8> {
    [
        event("messageStart", r#"{"role":"assistant"}"#),
        event("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"text":"Hi."}}"#),
        event("contentBlockStop", r#"{"contentBlockIndex":0}"#),
        event("messageStop", r#"{"stopReason":"end_turn"}"#),
        event("metadata", r#"{"usage":{"inputTokens":3,"outputTokens":2,"totalTokens":5}}"#),
    ]
    .concat()
}

/// An answer with a body of frames.
fn ok(kind: &str, body: &[u8]) -> Vec<u8> {
    let kind = if kind.is_empty() { String::new() } else { format!("content-type: {kind}\r\n") };
    let head = format!("HTTP/1.1 200 OK\r\n{kind}content-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn refusal(status: u16, kind: &str, message: &str) -> Vec<u8> {
    let body = format!("{{\"message\":\"{message}\"}}");
    let head = format!("HTTP/1.1 {status} X\r\nx-amzn-errortype: {kind}\r\ncontent-length: {}\r\n\r\n", body.len());
    (head + &body).into_bytes()
}

const FRAMES: &str = "application/vnd.amazon.eventstream";

fn server_at(url: &str, key: Key) -> haft_llm::Server {
    let (provider, base_url) = ("v".to_owned(), url.trim_end_matches("/v1").to_owned());
    haft_llm::Server { provider, base_url, key: Some(key), ..haft_llm::Server::default() }
}

fn request(model: &str) -> Request {
    let messages = vec![Message::User { content: vec![Content::text("Hello?")] }.into()];
    Request { model: model.to_owned(), messages: messages.into(), max_output: Some(100), ..Request::default() }
}

/// What is asked of `provider` at a server, and what comes of it, when it gives `answers`, one after the other.
async fn ask(
    provider: impl FnOnce(&str) -> Box<dyn Provider>,
    answers: &[Vec<u8>],
) -> (Vec<String>, Vec<Result<Chunk, LlmError>>) {
    let server = Server::start().await;
    let stream = provider(&server.url()).stream(request(MODEL));
    let serve = async {
        let mut asked = Vec::new();
        let mut connection = server.accept().await;
        for answer in answers {
            asked.push(connection.request().await);
            connection.send(answer).await;
        }
        asked
    };
    tokio::join!(serve, stream.collect())
}

fn bearer(url: &str) -> Box<dyn Provider> {
    Box::new(Converse::new(&server_at(url, Key::Plain(Secret::new("bedrock-api-key")))).unwrap())
}

fn signed(url: &str, settings: Settings) -> Box<dyn Provider> {
    Box::new(Converse::new(&server_at(url, Key::Signed(Arc::new(Aws::new(settings))))).unwrap())
}

fn settings(keys: Option<Keys>, env: &dyn Fn(&str) -> Option<String>) -> Settings {
    let (provider, region) = ("v".to_owned(), "eu-west-1".to_owned());
    Settings { provider, service: "bedrock", region, keys, profile: None, env: Environment::of(env) }
}

fn head(asked: &str) -> String {
    let (head, _) = asked.split_once("\r\n\r\n").unwrap();
    let mut head: Vec<_> = head.lines().filter(|line| !line.starts_with("host:")).collect();
    head[1..].sort_unstable();
    head.join("\n")
}

#[track_caller]
fn same(all: &[Result<Chunk, LlmError>], want: Expect) {
    let line = |next: &Result<Chunk, LlmError>| match next {
        Ok(chunk) => format!("{chunk:?}\n"),
        Err(error) => format!("error: {error}\n"),
    };
    want.assert_eq(&all.iter().map(line).collect::<String>());
}

#[tokio::test]
async fn a_token_lets_a_request_in() {
    let (asked, all) = ask(bearer, &[ok(FRAMES, &hi())]).await;
    expect![[r#"
        POST /model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream HTTP/1.1
        accept-encoding: gzip
        accept: application/vnd.amazon.eventstream
        authorization: Bearer bedrock-api-key
        content-length: 130
        content-type: application/json
        user-agent: haft/0.1.0"#]]
    .assert_eq(&head(&asked[0]));
    expect![[r#"{"inferenceConfig":{"maxTokens":100},"messages":[{"role":"user","content":[{"text":"Hello?"},{"cachePoint":{"type":"default"}}]}]}"#]].assert_eq(asked[0].split_once("\r\n\r\n").unwrap().1);
    same(
        &all,
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: Some(5), input: 3, output: 2, reasoning: 0, cache_read: 0, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[tokio::test]
async fn a_signature_lets_a_request_in() {
    let keys = Keys::lasting(Some("AKID"), Some("very-secret-key"), Some("session-token"));
    let (asked, all) = ask(|url| signed(url, settings(keys, &|_| None)), &[ok(FRAMES, &hi())]).await;
    assert_eq!(all.len(), 4);
    let line = |name: &str| asked[0].lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let signature = line("authorization: ");
    let (before, after) = signature.split_once(&line("x-amz-date: ")[..8]).unwrap();
    assert_eq!(before, "AWS4-HMAC-SHA256 Credential=AKID/");
    let signed =
        "/eu-west-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=";
    assert!(after.starts_with(signed), "{signature}");
    assert_eq!(line("x-amz-security-token: "), "session-token");
    assert!(!asked[0].contains("very-secret-key"));
}

/// A home whose profile can be written anew.
fn home() -> (TempDir, impl Fn(&str)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("credentials");
    let write = move |id: &str| {
        std::fs::write(
            &path,
            format!("[default]\naws_access_key_id = {id}\naws_secret_access_key = very-secret-key\n"),
        )
        .unwrap();
    };
    (folder, write)
}

#[tokio::test]
async fn keys_that_ended_are_replaced_once() {
    let (folder, write) = home();
    write("OLD");
    let path = folder.path().join("credentials").to_str().unwrap().to_owned();
    let env = move |name: &str| (name == "AWS_SHARED_CREDENTIALS_FILE").then(|| path.clone());
    let server = Server::start().await;
    let provider = signed(&server.url(), settings(None, &env));
    let stream = provider.stream(request(MODEL));
    let serve = async {
        let mut connection = server.accept().await;
        let first = connection.request().await;
        write("NEW");
        connection.send(&refusal(403, "ExpiredTokenException", "The security token is expired")).await;
        let second = connection.request().await;
        connection.send(&ok(FRAMES, &hi())).await;
        (first, second)
    };
    let ((first, second), all): (_, Vec<_>) = tokio::join!(serve, stream.collect());
    assert!(first.contains("Credential=OLD/") && second.contains("Credential=NEW/"));
    same(
        &all,
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: Some(5), input: 3, output: 2, reasoning: 0, cache_read: 0, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[tokio::test]
async fn keys_that_stay_are_not_tried_twice() {
    let (folder, write) = home();
    write("SAME");
    let path = folder.path().join("credentials").to_str().unwrap().to_owned();
    let env = move |name: &str| (name == "AWS_SHARED_CREDENTIALS_FILE").then(|| path.clone());
    let answer = refusal(403, "AccessDeniedException", "no access to very-secret-key");
    let (asked, all) = ask(|url| signed(url, settings(None, &env)), &[answer]).await;
    assert_eq!(asked.len(), 1);
    same(
        &all,
        expect![[r#"
        error: v rejected the credentials (status 403): no access to …
    "#]],
    );
}

#[tokio::test]
async fn refusals_are_told_apart() {
    let row = async |status: u16, kind: &str, message: &str, passes: bool, want: Expect| {
        let (_, all) = ask(bearer, &[refusal(status, kind, message)]).await;
        let [Err(error)] = &all[..] else { panic!("{all:?}") };
        assert_eq!(error.is_passing(), passes, "{error}");
        want.assert_eq(&error.to_string());
    };
    row(
        429,
        "ThrottlingException",
        "Too many tokens",
        true,
        expect!["v limits how often it may be asked: Too many tokens"],
    )
    .await;
    row(400, "ValidationException", "Input is too long for requested model.", false, expect!["the conversation is too long for us.anthropic.claude-sonnet-4-5-20250929-v1:0: Input is too long for requested model."]).await;
    row(
        400,
        "ValidationException",
        "toolConfig is wrong",
        false,
        expect!["v did not take the request (status 400): toolConfig is wrong"],
    )
    .await;
    row(
        404,
        "ResourceNotFoundException",
        "no such model",
        false,
        expect!["v did not take the request (status 404): no such model"],
    )
    .await;
    row(503, "ServiceUnavailableException", "busy", true, expect!["v failed with status 503: busy"]).await;
    row(408, "ModelTimeoutException", "took too long", true, expect!["v failed with status 408: took too long"]).await;
    row(
        424,
        "ModelErrorException",
        "The model failed. Try your request again.",
        true,
        expect!["v failed with status 424: The model failed. Try your request again."],
    )
    .await;
    row(
        403,
        "AccessDeniedException",
        "bedrock-api-key has no access",
        false,
        expect!["v rejected the credentials (status 403): … has no access"],
    )
    .await;
}

#[tokio::test]
async fn trouble_in_the_middle_is_told() {
    let start = event("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"text":"Hi."}}"#);
    let row = async |rest: Vec<u8>, want: Expect| {
        let (_, all) = ask(bearer, &[ok(FRAMES, &[start.clone(), rest].concat())]).await;
        same(&all, want);
    };
    row(
        exception("throttlingException", r#"{"message":"Slow down"}"#),
        expect![[r#"
        Text("Hi.")
        error: v limits how often it may be asked: Slow down
    "#]],
    )
    .await;
    row(
        Vec::new(),
        expect![[r#"
        Text("Hi.")
        error: the answer of v was cut off before its end
    "#]],
    )
    .await;
    row(
        start[..start.len() - 3].to_vec(),
        expect![[r#"
        Text("Hi.")
        error: the answer of v was cut off before its end
    "#]],
    )
    .await;
    let mut damaged = start.clone();
    damaged[40] ^= 1;
    row(damaged, expect![[r#"
        Text("Hi.")
        error: v answered with something that is not a stream of events of at most 16 MiB: bytes that are no event, or were changed on their way
    "#]]).await;
    row(
        u32::MAX.to_be_bytes().to_vec(),
        expect![[r#"
        Text("Hi.")
        error: v answered with something that is not a stream of events of at most 16 MiB: an event that is larger
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_server_that_does_not_say_what_it_sends_is_understood() {
    for kind in ["", "application/octet-stream", "Application/Vnd.Amazon.EventStream; x=y"] {
        let (_, all) = ask(bearer, &[ok(kind, &hi())]).await;
        assert_eq!(all.len(), 4, "{kind}");
    }
}

#[tokio::test]
async fn claude_speaks_its_own_words_in_amazons_frames() {
    let said = [
        r#"{"type":"message_start","message":{"usage":{"input_tokens":3}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi."}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#,
        r#"{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":3}}"#,
    ];
    let chunk = |said: &&str| event("chunk", &format!(r#"{{"bytes":"{}","p":"abc"}}"#, BASE64_STANDARD.encode(said)));
    let body = said.iter().flat_map(chunk).collect::<Vec<u8>>();
    let messages = |url: &str| -> Box<dyn Provider> {
        Box::new(Messages::at(&server_at(url, Key::Bearer(Secret::new("bedrock-api-key"))), Place::Bedrock).unwrap())
    };
    let (asked, all) = ask(messages, &[ok(FRAMES, &body)]).await;
    expect![[r#"
        POST /model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream HTTP/1.1
        accept-encoding: gzip
        accept: application/vnd.amazon.eventstream
        authorization: Bearer bedrock-api-key
        content-length: 169
        content-type: application/json
        user-agent: haft/0.1.0"#]]
    .assert_eq(&head(&asked[0]));
    expect![[r#"{"anthropic_version":"bedrock-2023-05-31","max_tokens":100,"messages":[{"role":"user","content":[{"type":"text","text":"Hello?","cache_control":{"type":"ephemeral"}}]}]}"#]].assert_eq(asked[0].split_once("\r\n\r\n").unwrap().1);
    same(
        &all,
        expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Usage(Usage { total: None, input: 3, output: 2, reasoning: 0, cache_read: 0, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
    let (_, all) =
        ask(messages, &[ok(FRAMES, &exception("modelStreamErrorException", r#"{"message":"broke"}"#))]).await;
    same(
        &all,
        expect![[r#"
        error: v failed: broke
    "#]],
    );
}
