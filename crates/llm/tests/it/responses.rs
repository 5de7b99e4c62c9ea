//! Responses over HTTP.

use std::time::Duration;

use expect_test::{Expect, expect};
use futures::StreamExt;
use haft_llm::dialect::responses::Responses;
use haft_llm::{Chunk, Content, Key, LlmError, Manners, Message, Provider, Request, Secret, ToolResult};

use crate::server::Server;

const HI: &str = "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"id\":\"msg_1\",\"type\":\"message\"}}\n\n\
    event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"Hi.\"}\n\n";

const END: &str = "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":2}}}\n\n";

fn request(messages: Vec<Message>) -> Request {
    Request {
        model: "m1".to_owned(),
        system: "Be brief.".to_owned(),
        messages: messages.into_iter().map(Into::into).collect(),
        session: Some("ses_1".to_owned()),
        ..Request::default()
    }
}

fn user() -> Message {
    Message::User { content: vec![Content::text("Hello?")] }
}

/// What was asked, and what came of it, when a server answers with `answer`.
async fn ask(key: Key, manners: Manners, request: Request, answer: &str) -> (String, Vec<Result<Chunk, LlmError>>) {
    let server = Server::start().await;
    let (provider, base_url, key) = ("v".to_owned(), format!("{}?api-version=v1", server.url()), Some(key));
    let asked = haft_llm::Server { provider, base_url, key, manners, ..haft_llm::Server::default() };
    let stream = Responses::new(&asked).unwrap().stream(request);
    let serve = async {
        let mut connection = server.accept().await;
        let asked = connection.request().await;
        connection.send(answer.as_bytes()).await;
        asked
    };
    tokio::join!(serve, stream.collect())
}

fn plain() -> Key {
    Key::Plain(Secret::new("sk-very-secret"))
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

#[track_caller]
fn check(asked: &str, want: Expect) {
    let (head, body) = asked.split_once("\r\n\r\n").unwrap();
    let usual = ["host:", "accept", "content-", "user-agent:"];
    let mut head: Vec<_> = head.lines().filter(|line| !usual.iter().any(|usual| line.starts_with(usual))).collect();
    head[1..].sort_unstable();
    want.assert_eq(&format!("{}\n\n{body}\n", head.join("\n")));
}

#[track_caller]
fn lines(all: Vec<Result<Chunk, LlmError>>, want: Expect) {
    let line = |next| match next {
        Ok(chunk) => format!("{chunk:?}\n"),
        Err(error) => format!("error: {error}\n"),
    };
    want.assert_eq(&all.into_iter().map(line).collect::<String>());
}

#[tokio::test]
async fn a_question_is_asked_and_answered() {
    let (asked, all) = ask(plain(), Manners::Plain, request(vec![user()]), &ok(&format!("{HI}{END}"))).await;
    check(
        &asked,
        expect![[r#"
        POST /v1/responses?api-version=v1 HTTP/1.1
        authorization: Bearer sk-very-secret
        x-session-affinity: ses_1

        {"model":"m1","input":[{"type":"message","role":"system","content":"Be brief."},{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello?"}]}],"store":false,"prompt_cache_key":"ses_1","stream":true}
    "#]],
    );
    lines(
        all,
        expect![[r#"
        Text("Hi.")
        TextEnd { item: Some(Item { vendor: "v", model: "m1", value: Object {"type": String("message"), "id": String("msg_1")} }) }
        Usage(Usage { total: None, input: 3, output: 2, reasoning: 0, cache_read: 0, cache_write: 0 })
        Finish(Stop)
    "#]],
    );
}

#[tokio::test]
async fn a_key_goes_where_the_vendor_wants_it() {
    let key = Key::Header("api-key".parse().unwrap(), Secret::new("sk-very-secret"));
    let (asked, _) = ask(key, Manners::Plain, request(vec![user()]), &ok(END)).await;
    check(
        &asked,
        expect![[r#"
        POST /v1/responses?api-version=v1 HTTP/1.1
        api-key: sk-very-secret
        x-session-affinity: ses_1

        {"model":"m1","input":[{"type":"message","role":"system","content":"Be brief."},{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello?"}]}],"store":false,"prompt_cache_key":"ses_1","stream":true}
    "#]],
    );
}

#[tokio::test]
async fn copilot_hears_who_asks() {
    let picture = Content::Media { mime: "image/png".to_owned(), data: "AAAA".to_owned(), name: None };
    let result = ToolResult { id: "a".to_owned(), name: "read".to_owned(), content: vec![picture], is_error: false };
    let messages = vec![user(), Message::Tools { results: vec![result] }];
    let (asked, _) = ask(plain(), Manners::Copilot, request(messages), &ok(END)).await;
    check(
        &asked,
        expect![[r#"
        POST /v1/responses?api-version=v1 HTTP/1.1
        authorization: Bearer sk-very-secret
        copilot-vision-request: true
        openai-intent: conversation-edits
        x-initiator: agent
        x-session-affinity: ses_1

        {"model":"m1","input":[{"type":"message","role":"system","content":"Be brief."},{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello?"}]},{"type":"function_call_output","call_id":"a","output":[{"type":"input_image","image_url":"data:image/png;base64,AAAA","detail":"auto"}]}],"store":false,"prompt_cache_key":"ses_1","stream":true}
    "#]],
    );
}

#[tokio::test]
async fn a_subscription_is_asked_in_its_own_way() {
    let (asked, _) = ask(plain(), Manners::ChatGpt, request(vec![user()]), &ok(END)).await;
    check(
        &asked,
        expect![[r#"
        POST /v1/responses?api-version=v1 HTTP/1.1
        authorization: Bearer sk-very-secret
        session_id: ses_1
        x-session-affinity: ses_1

        {"model":"m1","instructions":"Be brief.","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello?"}]}],"store":false,"prompt_cache_key":"ses_1","stream":true}
    "#]],
    );
}

#[tokio::test]
async fn a_limit_says_how_long_to_wait() {
    let body = r#"{"error":{"message":"Rate limit reached","type":"tokens","code":"rate_limit_exceeded"}}"#;
    let answer = format!(
        "HTTP/1.1 429 Too Many Requests\r\nretry-after-ms: 250\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let (_, all) = ask(plain(), Manners::Plain, request(vec![user()]), &answer).await;
    let [Err(error)] = &all[..] else { panic!("{all:?}") };
    assert_eq!(error.to_string(), "v limits how often it may be asked: Rate limit reached");
    assert_eq!(error.retry_after(1, 1.0), Some(Duration::from_millis(250)));
}

#[tokio::test]
async fn an_answer_without_its_end_is_an_error_behind_what_was_said() {
    let (_, all) = ask(plain(), Manners::Plain, request(vec![user()]), &ok(HI)).await;
    lines(
        all,
        expect![[r#"
        Text("Hi.")
        error: the answer of v was cut off before its end
    "#]],
    );
    let failed = "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_error\",\"message\":\"sk-very-secret is busy\"}}}\n\n";
    let (_, all) = ask(plain(), Manners::Plain, request(vec![user()]), &ok(&format!("{HI}{failed}"))).await;
    lines(
        all,
        expect![[r#"
        Text("Hi.")
        error: v failed: … is busy
    "#]],
    );
}
