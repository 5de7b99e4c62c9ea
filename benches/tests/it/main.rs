//! The model server, asked by our own client, and what measures others with it.

#![allow(clippy::unwrap_used, reason = "helpers of tests count as tests")]

mod bare;
mod child;

use std::time::Duration;

use futures::StreamExt;
use haft_bench::model_server::ModelServer;
use haft_llm::dialect::chat::{Chat, ChatManners};
use haft_llm::{
    Answer, AssistantPart, Chunk, Content, FailKind, Failing, LlmError, Message, Provider, Request, Script, Server,
    Step, parse_scenario,
};
use serde_json::json;

fn chat(server: &ModelServer) -> Chat {
    let (provider, base_url) = ("v".to_owned(), server.url().to_owned());
    Chat::new(&Server { provider, base_url, ..Server::default() }, ChatManners::default()).unwrap()
}

fn request(answers: usize) -> Request {
    let mut messages = vec![Message::User { content: vec![Content::text("Go.")] }];
    for _ in 0..answers {
        messages.push(Message::Assistant { parts: vec![AssistantPart::Text { text: "a".to_owned(), item: None }] });
        messages.push(Message::User { content: vec![Content::text("On.")] });
    }
    let messages = messages.into_iter().map(Into::into).collect();
    Request { model: "m1".to_owned(), messages, ..Request::default() }
}

async fn ask(provider: &dyn Provider, answers: usize) -> Vec<Result<Chunk, LlmError>> {
    provider.stream(request(answers)).collect().await
}

/// The chunks of an answer that ends well, without what only one of the two ways can know.
async fn said(provider: &dyn Provider, answers: usize) -> Vec<Chunk> {
    let known = |chunk: Result<Chunk, LlmError>| match chunk.unwrap() {
        Chunk::ReasoningEnd { .. } => Chunk::ReasoningEnd { item: None },
        Chunk::Usage(usage) => Chunk::Usage(haft_llm::Usage { total: None, ..usage }),
        chunk => chunk,
    };
    ask(provider, answers).await.into_iter().map(known).collect()
}

#[tokio::test]
async fn over_http_a_scenario_says_what_it_says_without() {
    let scenario = r#"{"haft":"scenario","version":1}
{"answer":[{"reasoning":"Let me think."},{"text":"Grüße, \"Welt\" 😀.","pieces":4},{"call":"read","args":{"filePath":"a\\b"}},{"call":"bash","raw":"{broken"},{"usage":{"input":10,"output":5,"reasoning":2,"cache_read":3,"cache_write":4}}]}
{"answer":[{"wait_ms":1},{"text":"One."},{"wait_ms":1},{"reasoning":"Two."},{"wait_ms":1},{"text":"Three."}]}
{"answer":[{"text":"So"}],"finish":"length"}
{"answer":[]}
"#;
    let answers = parse_scenario("s", scenario).unwrap();
    let script = Script::new("s", answers.clone());
    let server = ModelServer::start(answers).await.unwrap();
    let chat = chat(&server);
    for answer in 0..4 {
        assert_eq!(said(&chat, answer).await, said(&script, answer).await, "answer {answer}");
    }
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn requests_are_kept_with_their_times() {
    let server = ModelServer::start(vec![Answer::new([Step::text("Hi.")])]).await.unwrap();
    ask(&chat(&server), 0).await;
    let requests = server.wait_for_requests(1).await;
    let [request] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.body["messages"], json!([{"role": "user", "content": "Go."}]));
    assert!(request.answered.unwrap() >= request.received);
    let length: usize = request.header("content-length").unwrap().parse().unwrap();
    assert_eq!(request.bytes, length);
}

#[tokio::test]
async fn failures_arrive_as_what_they_are() {
    let kinds = [
        FailKind::RateLimited,
        FailKind::Server,
        FailKind::TooLong,
        FailKind::Unauthorized,
        FailKind::Quota,
        FailKind::Rejected,
        FailKind::Transport,
        FailKind::Malformed,
    ];
    for kind in kinds {
        let fail = || Step::Fail(Failing::new(kind, "why"));
        let server =
            ModelServer::start(vec![Answer::new([fail()]), Answer::new([Step::text("So"), fail()])]).await.unwrap();
        let chat = chat(&server);

        let failed = ask(&chat, 0).await;
        let [Err(error)] = &failed[..] else { panic!("{kind}: {failed:?}") };
        assert_eq!(Failing::of(error).unwrap().kind, kind, "{error}");

        // It was only a try; the next one at the same place says something first.
        let failed = ask(&chat, 0).await;
        let [Ok(Chunk::Text(_)), Err(error)] = &failed[..] else { panic!("{kind}: {failed:?}") };
        // A connection that breaks once words have come has cut the answer off.
        let seen = if kind == FailKind::Transport { FailKind::CutOff } else { kind };
        assert_eq!(Failing::of(error).unwrap().kind, seen, "{error}");
    }
}

#[tokio::test]
async fn a_status_and_a_wait_are_passed_on() {
    let failing = Failing { status: Some(503), after_ms: Some(1500), ..Failing::new(FailKind::Server, "busy") };
    let server = ModelServer::start(vec![Answer::new([Step::Fail(failing)])]).await.unwrap();
    match &ask(&chat(&server), 0).await[..] {
        [Err(LlmError::Server { status: Some(503), after, message, .. })] => {
            assert_eq!((*after, message.as_str()), (Some(Duration::from_millis(1500)), "busy"));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn silence_lasts_until_somebody_hangs_up() {
    let server = ModelServer::start(vec![Answer::new([Step::text("So"), Step::Hang])]).await.unwrap();
    let mut stream = chat(&server).stream(request(0));
    assert!(matches!(stream.next().await, Some(Ok(Chunk::Text(_)))));
    assert!(futures::poll!(stream.next()).is_pending());
}

#[tokio::test]
async fn what_cannot_be_played_is_said() {
    let server = ModelServer::start(vec![Answer::new([Step::text("Hi.")])]).await.unwrap();
    let failed = ask(&chat(&server), 1).await;
    let [Err(error)] = &failed[..] else { panic!("{failed:?}") };
    let message = "v did not take the request (status 400): the scenario has 1 answers, and answer 2 is asked for";
    assert_eq!(error.to_string(), message);

    let client = haft_net::client(haft_net::Options::default()).unwrap();
    let missing = client.get(format!("{}/models", server.url())).send().await.unwrap();
    assert_eq!(missing.status(), 404);
    let nonsense = client.post(format!("{}/chat/completions", server.url())).body("no").send().await.unwrap();
    assert_eq!(nonsense.status(), 400);
}

#[tokio::test]
async fn canned_bytes_answer_everything() {
    let server = ModelServer::canned(418, "text/plain", "short and stout").await.unwrap();
    let client = haft_net::client(haft_net::Options::default()).unwrap();
    let answer = client.get(format!("{}/anything", server.url())).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.headers()["content-type"].as_bytes()), (418, &b"text/plain"[..]));
    assert_eq!(answer.text().await.unwrap(), "short and stout");
}

/// Asks for responses, with as many answers in the history, and gives the types of the events.
async fn responses(server: &ModelServer, answers: usize) -> Vec<String> {
    let history = (0..answers).flat_map(|at| {
        let id = format!("call_{at}");
        [json!({"type": "function_call", "call_id": id}), json!({"type": "function_call_output", "call_id": id})]
    });
    let input: Vec<_> = [json!({"role": "user", "content": []})].into_iter().chain(history).collect();
    let client = haft_net::client(haft_net::Options::default()).unwrap();
    let body = json!({"input": input}).to_string();
    let answer = client.post(format!("{}/responses", server.url())).body(body).send().await.unwrap();
    assert_eq!(answer.headers()["content-type"].as_bytes(), b"text/event-stream");
    let text = answer.text().await.unwrap();
    text.lines().filter_map(|line| line.strip_prefix("event: ")).map(str::to_owned).collect()
}

#[tokio::test]
async fn responses_are_served_beside_chat_completions() {
    let answers = vec![Answer::new([Step::call("ls", &json!({}))]), Answer::new([Step::text("Hi.")])];
    let server = ModelServer::start(answers).await.unwrap();
    let done = "response.output_item.done";
    assert_eq!(responses(&server, 0).await, ["response.created", done, "response.completed"]);
    let (added, delta) = ("response.output_item.added", "response.output_text.delta");
    assert_eq!(responses(&server, 1).await, ["response.created", added, delta, done, "response.completed"]);
    assert!(matches!(&said(&chat(&server), 1).await[0], Chunk::Text(text) if text == "Hi."));
}

#[test]
fn the_wire_layer_is_measured_on_a_whole_answer() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let answer = Answer::new([Step::Text { text: "word ".repeat(100), pieces: 100 }]);
    let server = runtime.block_on(ModelServer::start(vec![answer])).unwrap();
    let read = haft_bench::wire::read(server.url()).unwrap();
    assert_eq!(read.bytes, 500);
    assert!(!read.cpu.is_zero() && read.cpu <= read.wall, "{read:?}");
    assert_eq!(haft_bench::wire::paced().chunks().filter(|chunk| matches!(chunk, Chunk::Text(_))).count(), 600);
}
