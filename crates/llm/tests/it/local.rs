//! Model servers on this machine.

use haft_llm::local::{Found, Place, discover};
use tokio::net::TcpListener;

use crate::server::Server;

const TAGS: &str = r#"{"models":[{"name":"qwen3:8b"}]}"#;

/// What is found when a server of `vendor` answers each request with what stands for its path, `404` where nothing does.
async fn serve(vendor: &'static str, answers: &[(&str, &str)]) -> Vec<Found> {
    let server = Server::start().await;
    let origin = server.url().trim_end_matches("/v1").to_owned();
    let places = [Place { vendor, origin }];
    let serve = async {
        loop {
            let mut connection = server.accept().await;
            let asked = connection.request().await;
            let path = asked.split(' ').nth(1).unwrap_or_default().to_owned();
            let body = answers.iter().find(|(one, _)| *one == path).map(|(_, body)| body);
            let gone = b"HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".to_vec();
            connection.send(&body.map_or(gone, |body| closing(body))).await;
        }
    };
    tokio::select! {
        found = discover(&places) => found,
        () = serve => unreachable!(),
    }
}

fn closing(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// What is found when the list of a server of `vendor` is `answer`.
async fn ask(vendor: &'static str, answer: &[u8]) -> Vec<Found> {
    let server = Server::start().await;
    let origin = server.url().trim_end_matches("/v1").to_owned();
    let places = [Place { vendor, origin }];
    let serve = async {
        let mut connection = server.accept().await;
        connection.request().await;
        connection.send(answer).await;
    };
    tokio::join!(discover(&places), serve).0
}

fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

#[tokio::test]
async fn each_server_is_asked_what_it_can_say() {
    let show = r#"{"model_info":{"qwen3.context_length":40960},"capabilities":["completion","tools"]}"#;
    let list = r#"{"data":[{"id":"m","max_model_len":16384}]}"#;
    let props = r#"{"default_generation_settings":{"n_ctx":4096}}"#;
    let info = r#"{"model_id":"m","max_total_tokens":2048}"#;
    let row = async |vendor: &'static str, answers: &[(&str, &str)], want: (&str, &str, Option<u64>, Option<bool>)| {
        let found = serve(vendor, answers).await;
        let model = &found[0].models[0];
        assert_eq!((&*found[0].vendor, &*model.id, model.context, model.tools), want);
        assert!(found[0].base_url.ends_with("/v1"), "{found:?}");
    };
    row("ollama", &[("/api/tags", TAGS), ("/api/show", show)], ("ollama", "qwen3:8b", Some(40_960), Some(true))).await;
    row("ollama", &[("/api/tags", TAGS)], ("ollama", "qwen3:8b", None, None)).await;
    let studio = r#"{"data":[{"id":"g","type":"llm","max_context_length":8192}]}"#;
    row("lmstudio", &[("/api/v0/models", studio)], ("lmstudio", "g", Some(8_192), None)).await;
    row("lmstudio", &[("/v1/models", list)], ("lmstudio", "m", Some(16_384), None)).await;
    row("vllm", &[("/v1/models", list)], ("vllm", "m", Some(16_384), None)).await;
    row("llamacpp", &[("/v1/models", list), ("/props", props)], ("llamacpp", "m", Some(4_096), None)).await;
    row("llamacpp", &[("/v1/models", list), ("/info", info)], ("tgi", "m", Some(2_048), None)).await;
    row("llamacpp", &[("/v1/models", list)], ("localai", "m", Some(16_384), None)).await;
}

#[tokio::test]
async fn what_is_no_model_server_is_not_found() {
    for answer in [
        ok("<html>"),
        ok(r#"{"hello":1}"#),
        b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_vec(),
        b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n".to_vec(),
        b"SSH-2.0-OpenSSH_9.6\r\n".to_vec(),
        ok(&format!("{{\"data\":[{{\"id\":\"{}\"}}]}}", "x".repeat(1024 * 1024))),
    ] {
        assert_eq!(ask("vllm", &answer).await, [], "{:?}", String::from_utf8_lossy(&answer[..20]));
    }
}

#[tokio::test]
async fn servers_are_asked_at_once_and_silence_has_an_end() {
    // They accept in the kernel and never say anything.
    let silent = [TcpListener::bind("127.0.0.1:0").await.unwrap(), TcpListener::bind("127.0.0.1:0").await.unwrap()];
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let server = Server::start().await;
    let mut places: Vec<_> = silent
        .iter()
        .map(|one| Place { vendor: "vllm", origin: format!("http://{}", one.local_addr().unwrap()) })
        .collect();
    places.push(Place { vendor: "llamacpp", origin: format!("http://{gone}") });
    places.push(Place { vendor: "ollama", origin: server.url().trim_end_matches("/v1").to_owned() });
    let serve = async {
        let mut connection = server.accept().await;
        connection.request().await;
        connection.send(&ok(TAGS)).await;
    };
    let (found, ()) = tokio::join!(discover(&places), serve);
    assert_eq!(found.iter().map(|found| &*found.vendor).collect::<Vec<_>>(), ["ollama"]);
}

#[tokio::test]
async fn only_addresses_of_this_machine_are_asked() {
    // This one leads to the server below, and is no address of this machine all the same.
    let server = Server::start().await;
    let origin = server.url().trim_end_matches("/v1").replace("127.0.0.1", "0.0.0.0");
    let serve = async {
        let mut connection = server.accept().await;
        connection.request().await;
        connection.send(&ok(TAGS)).await;
    };
    let places = [Place { vendor: "ollama", origin }];
    tokio::select! {
        found = discover(&places) => assert_eq!(found, []),
        () = serve => panic!("it was asked"),
    }
}
