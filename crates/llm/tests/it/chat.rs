//! Chat completions over HTTP.

use std::time::Duration;

use expect_test::{Expect, expect};
use futures::StreamExt;
use haft_llm::dialect::chat::{Chat, ChatManners};
use haft_llm::{Chunk, Content, Key, LlmError, Message, Provider, Request, Secret};
use tokio::net::TcpListener;

use crate::server::Server;

const SSE: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
const HI: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi.\"}}]}\n\n";
const STOP: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

fn chat(url: &str) -> Chat {
    let headers = vec![("x-custom".to_owned(), "custom-value".to_owned())];
    let key = Some(Key::Plain(Secret::new("sk-very-secret")));
    let (provider, base_url) = ("v".to_owned(), url.to_owned());
    let server = haft_llm::Server { provider, base_url, key, headers, ..haft_llm::Server::default() };
    Chat::new(&server, ChatManners::default()).unwrap()
}

fn request() -> Request {
    Request {
        model: "m1".to_owned(),
        messages: vec![Message::User { content: vec![Content::text("Hello?")] }.into()].into(),
        session: Some("ses_1".to_owned()),
        ..Request::default()
    }
}

fn chunked(body: &str) -> String {
    format!("{SSE}transfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len())
}

fn with_length(head: &str, body: &str) -> String {
    format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn line(next: Result<Chunk, LlmError>) -> String {
    match next {
        Ok(chunk) => format!("{chunk:?}"),
        Err(error) => {
            assert!(!format!("{error:?}").contains("sk-very-secret"), "{error:?}");
            format!("error: {error}")
        }
    }
}

/// What comes of one request that is answered with `answer` and then closed.
async fn ask(answer: &str) -> Vec<Result<Chunk, LlmError>> {
    let server = Server::start().await;
    let mut stream = chat(&server.url()).stream(request());
    let serve = async {
        let mut connection = server.accept().await;
        connection.request().await;
        connection.send(answer.as_bytes()).await;
    };
    let read = async {
        let mut all = Vec::new();
        while let Some(next) = stream.next().await {
            all.push(next);
        }
        all
    };
    tokio::join!(read, serve).0
}

async fn check(answer: &str, want: Expect) {
    let lines: String = ask(answer).await.into_iter().map(|next| line(next) + "\n").collect();
    // Ports are not the same twice.
    let lines = lines.split("127.0.0.1:").enumerate().map(|(at, part)| match at {
        0 => part.to_owned(),
        _ => format!("SERVER{}", part.trim_start_matches(|digit: char| digit.is_ascii_digit())),
    });
    want.assert_eq(&lines.collect::<String>());
}

#[tokio::test]
async fn a_request_carries_key_headers_and_session() {
    let server = Server::start().await;
    let mut stream = chat(&server.url()).stream(request());
    let serve = async {
        let mut connection = server.accept().await;
        let asked = connection.request().await;
        connection.send(chunked(&format!("{HI}{STOP}{DONE}")).as_bytes()).await;
        asked
    };
    let (asked, _) = tokio::join!(serve, async { while stream.next().await.is_some() {} });
    let (head, body) = asked.split_once("\r\n\r\n").unwrap();
    let mut head: Vec<_> = head.lines().filter(|line| !line.starts_with("host:")).collect();
    head[1..].sort_unstable();
    expect![[r#"
        POST /v1/chat/completions HTTP/1.1
        accept-encoding: gzip
        accept: text/event-stream
        authorization: Bearer sk-very-secret
        content-length: 116
        content-type: application/json
        user-agent: haft/0.1.0
        x-custom: custom-value
        x-session-affinity: ses_1

        {"model":"m1","messages":[{"role":"user","content":"Hello?"}],"stream":true,"stream_options":{"include_usage":true}}
    "#]].assert_eq(&format!("{}\n\n{body}\n", head.join("\n")));
}

#[tokio::test]
async fn a_stream_is_read_however_it_is_framed() {
    let said = expect![[r#"
        Text("Hi.")
        TextEnd { item: None }
        Finish(Stop)
    "#]];
    check(&chunked(&format!("{HI}{STOP}{DONE}")), said).await;
    // Until the connection closes, and without saying what it is.
    check(
        &format!("HTTP/1.1 200 OK\r\n\r\n: hello\n\n{HI}{STOP}{DONE}"),
        expect![[r#"
            Text("Hi.")
            TextEnd { item: None }
            Finish(Stop)
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_status_is_told_with_the_words_of_the_vendor() {
    let told = r#"{"error":{"message":"key sk-very-secret is no good"}}"#;
    check(
        &with_length("401 Unauthorized", told),
        expect![[r#"
        error: v rejected the credentials (status 401): key … is no good
    "#]],
    )
    .await;
    check(
        &with_length("403 Forbidden", r#"{"message":"not for you"}"#),
        expect![[r#"
        error: v rejected the credentials (status 403): not for you
    "#]],
    )
    .await;
    check(
        &with_length("500 Internal Server Error", "oops"),
        expect![[r#"
        error: v failed with status 500: oops
    "#]],
    )
    .await;
    check(
        &with_length("503 Service Unavailable", "<html><title>Maintenance</title>"),
        expect![[r#"
        error: v failed with status 503: a web page (“Maintenance”)
    "#]],
    )
    .await;
    check(
        &with_length("404 Not Found", r#"{"detail":"no model m1"}"#),
        expect![[r#"
        error: v did not take the request (status 404): no model m1
    "#]],
    )
    .await;
    let long = r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#;
    check(
        &with_length("400 Bad Request", long),
        expect![[r#"
        error: the conversation is too long for m1: too long
    "#]],
    )
    .await;
    check(
        &with_length("413 Payload Too Large", ""),
        expect![[r#"
        error: the conversation is too long for m1: it gave no reason
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_limit_says_how_long_to_wait() {
    let limited =
        |head: &str| with_length(&format!("429 Too Many Requests\r\n{head}"), r#"{"error":{"message":"slow"}}"#);
    for (head, want) in [("retry-after: 7", 7000), ("retry-after-ms: 250\r\nretry-after: 7", 250)] {
        match &ask(&limited(head)).await[..] {
            [Err(LlmError::RateLimited { after, .. })] => {
                assert_eq!(*after, Some(Duration::from_millis(want)), "{head}")
            }
            other => panic!("{head}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_page_means_the_wrong_address() {
    let page = "<!doctype html><html><head><title>Sign in</title></head></html>";
    check(&with_length("200 OK\r\ncontent-type: text/html", page), expect![[r#"
        error: v answered with something that is not a model's answer: a web page (“Sign in”) at http://SERVER/v1/chat/completions; check baseURL
    "#]]).await;
    check(&with_length("404 Not Found\r\ncontent-type: text/html", page), expect![[r#"
        error: v answered with something that is not a model's answer: a web page (“Sign in”) at http://SERVER/v1/chat/completions; check baseURL
    "#]]).await;
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_looked_at() {
    let json = "200 OK\r\ncontent-type: application/json";
    check(
        &with_length(json, r#"{"error":{"message":"busy","code":503}}"#),
        expect![[r#"
            error: v failed: busy
        "#]],
    )
    .await;
    check(
        &with_length(json, r#"{"status":"sk-very-secret"}"#),
        expect![[r#"
        error: v answered with something that is not an event stream: {"status":"…"}
    "#]],
    )
    .await;
    check(
        &with_length("200 OK", ""),
        expect![[r#"
        error: v answered with something that is not an event stream: nothing at all
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_redirect_does_not_take_the_key_along() {
    let moved = "HTTP/1.1 307 Temporary Redirect\r\nlocation: https://me:pw@other.example/v2?key=k\r\ncontent-length: 0\r\n\r\n";
    check(moved, expect![[r#"
        error: v did not take the request (status 307): http://SERVER/v1/chat/completions points to https://other.example/v2; set baseURL to the address that answers
    "#]]).await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_an_error_after_what_was_said() {
    let begun = |body: &str| format!("{SSE}transfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n", body.len());
    check(
        &begun(HI),
        expect![[r#"
            Text("Hi.")
            error: the answer of v was cut off before its end
        "#]],
    )
    .await;
    // What is missing behind the reason to stop is only the goodbye.
    check(
        &begun(&format!("{HI}{STOP}")),
        expect![[r#"
            Text("Hi.")
            TextEnd { item: None }
            Finish(Stop)
        "#]],
    )
    .await;
    // Closed in order, but not at the end.
    check(
        &chunked(HI),
        expect![[r#"
            Text("Hi.")
            error: the answer of v was cut off before its end
        "#]],
    )
    .await;
}

#[tokio::test]
async fn an_address_where_nobody_listens_is_named_without_the_key() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let all: Vec<_> = chat(&format!("http://{address}/v1?key=sk-very-secret")).stream(request()).collect().await;
    assert_eq!(all.len(), 1);
    let lines: Vec<_> = all.into_iter().map(line).collect();
    assert_eq!(lines, [format!("error: the connection to v at http://{address}/v1/chat/completions failed")]);
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let server = Server::start().await;
    let mut stream = chat(&server.url()).stream(request());
    let serve = async {
        let mut connection = server.accept().await;
        connection.request().await;
        connection.send(format!("{SSE}\r\n{HI}").as_bytes()).await;
        connection
    };
    let (first, connection) = tokio::join!(stream.next(), serve);
    assert_eq!(first.unwrap().unwrap(), Chunk::Text("Hi.".to_owned()));
    drop(stream);
    connection.closed().await;
}

#[tokio::test]
async fn two_requests_share_a_connection() {
    let server = Server::start().await;
    let chat = chat(&server.url());
    let ask = async {
        for _ in 0..2 {
            let mut stream = chat.stream(request());
            // As a session does: away as soon as the last chunk is there.
            while !matches!(stream.next().await.unwrap().unwrap(), Chunk::Finish(_)) {}
        }
    };
    let serve = async {
        let mut connection = server.accept().await;
        for _ in 0..2 {
            connection.request().await;
            connection.send(chunked(&format!("{HI}{STOP}{DONE}")).as_bytes()).await;
        }
    };
    tokio::join!(ask, serve);
}

#[tokio::test]
async fn endless_bodies_are_given_up() {
    let server = Server::start().await;
    let serve = async |head: &str, block: &[u8], blocks: usize| {
        let mut connection = server.accept().await;
        connection.request().await;
        connection.send(head.as_bytes()).await;
        for _ in 0..blocks {
            connection.send(block).await;
        }
        connection.closed().await;
    };
    // The connection stays open: whoever waits for the end of the body waits for ever.
    let mut stream = chat(&server.url()).stream(request());
    let serving = serve("HTTP/1.1 500 Internal Server Error\r\n\r\n", &[b'x'; 65536], 2);
    let (failed, ()) = tokio::join!(
        async {
            let failed = stream.next().await;
            drop(stream);
            failed
        },
        serving
    );
    assert!(matches!(failed, Some(Err(LlmError::Server { .. }))), "{failed:?}");

    let head = format!("{SSE}\r\ndata: ");
    let mut stream = chat(&server.url()).stream(request());
    let serving = serve(&head, &[b'x'; 1024 * 1024], 17);
    let (failed, ()) = tokio::join!(
        async {
            let failed = stream.next().await;
            drop(stream);
            failed
        },
        serving
    );
    assert!(matches!(failed, Some(Err(LlmError::Malformed { .. }))), "{failed:?}");
}

#[tokio::test]
async fn an_answer_has_no_more_blocks_and_no_longer_ones_than_can_be_kept() {
    let piece = |field: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"{field}\":\"x\"}}}}]}}\n\n");
    let turns =
        |count: usize| format!("{}{STOP}{DONE}", (piece("reasoning_content") + &piece("content")).repeat(count));
    let many = ask(&chunked(&turns(4_000))).await;
    assert!(matches!(many.last(), Some(Ok(Chunk::Finish(_)))), "{:?}", many.last());
    let too_many = ask(&chunked(&turns(6_000))).await;
    let Some(Err(error)) = too_many.last() else { panic!("{:?}", too_many.last()) };
    assert_eq!(
        error.to_string(),
        "v answered with something that is not an answer of at most 10,000 blocks: more than that"
    );
    let long =
        format!("data: {{\"choices\":[{{\"delta\":{{\"reasoning_content\":\"{}\"}}}}]}}\n\n", "x".repeat(3 << 20));
    let too_long = ask(&chunked(&format!("{long}{long}{STOP}{DONE}"))).await;
    let Some(Err(error)) = too_long.last() else { panic!("it went on") };
    assert!(error.to_string().contains("at most 4 MiB of words or thoughts in a row"), "{error}");
}
