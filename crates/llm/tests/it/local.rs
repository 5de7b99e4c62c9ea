//! Model servers on this machine.

use haft_llm::local::{Found, Place, discover};
use tokio::net::TcpListener;

use crate::server::Server;

const TAGS: &str = r#"{"models":[{"name":"qwen3:8b"}]}"#;

/// What is found when a server of `vendor` answers with `answer`, and what it was asked.
async fn ask(vendor: &'static str, answer: &[u8]) -> (Vec<Found>, String) {
    let server = Server::start().await;
    let origin = server.url().trim_end_matches("/v1").to_owned();
    let places = [Place { vendor, origin }];
    let serve = async {
        let mut connection = server.accept().await;
        let asked = connection.request().await;
        connection.send(answer).await;
        asked
    };
    tokio::join!(discover(&places), serve)
}

fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

#[tokio::test]
async fn each_server_is_asked_for_its_list() {
    let (found, asked) = ask("ollama", &ok(TAGS)).await;
    assert!(asked.starts_with("GET /api/tags HTTP/1.1\r\n"), "{asked}");
    assert_eq!(found[0].models, ["qwen3:8b"]);
    assert!(found[0].base_url.ends_with("/v1"), "{found:?}");

    let (found, asked) = ask("lmstudio", &ok(r#"{"data":[{"id":"gemma"}]}"#)).await;
    assert!(asked.starts_with("GET /v1/models HTTP/1.1\r\n"), "{asked}");
    assert_eq!((found[0].vendor, &found[0].models[..]), ("lmstudio", &["gemma".to_owned()][..]));
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
        assert_eq!(ask("llamacpp", &answer).await.0, [], "{:?}", String::from_utf8_lossy(&answer[..20]));
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
        .map(|one| Place { vendor: "lmstudio", origin: format!("http://{}", one.local_addr().unwrap()) })
        .collect();
    places.push(Place { vendor: "llamacpp", origin: format!("http://{gone}") });
    places.push(Place { vendor: "ollama", origin: server.url().trim_end_matches("/v1").to_owned() });
    let serve = async {
        let mut connection = server.accept().await;
        connection.request().await;
        connection.send(&ok(TAGS)).await;
    };
    let (found, ()) = tokio::join!(discover(&places), serve);
    assert_eq!(found.iter().map(|found| found.vendor).collect::<Vec<_>>(), ["ollama"]);
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
