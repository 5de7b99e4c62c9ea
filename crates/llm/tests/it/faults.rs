//! What comes of each thing that can go wrong on the way, in each dialect: an error of a kind that says whether asking
//! again may help, or the answer all the same. Time is not waited for: it passes when nobody has anything to do.

mod bodies;
mod silence;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use expect_test::Expect;
use futures::StreamExt;
use haft_llm::{Chunk, Content, Deadlines, LlmError, Message, Provider, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::spoken::{self, Spoken};

/// What a server does, one after the other, once it was asked.
#[derive(Clone)]
enum Act {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes one by one, that long apart.
    Drip(Vec<u8>, Duration),
    /// Sends these bytes again and again, that long apart, until nobody listens.
    Forever(Vec<u8>, Duration),
    /// Says nothing more and stays there.
    Stall,
    /// Breaks the connection, so that the other side is told that it is broken.
    Reset,
}

fn send(bytes: impl Into<Vec<u8>>) -> Act {
    Act::Send(bytes.into())
}

/// The head of an answer that ends with the connection.
fn head(spoken: &Spoken) -> Act {
    send(format!("HTTP/1.1 200 OK\r\ncontent-type: {}\r\n\r\n", spoken.content_type))
}

/// The head and the first words.
fn begun(spoken: &Spoken) -> Vec<Act> {
    vec![head(spoken), send(spoken.begin.clone()), send((spoken.say)("Hi."))]
}

/// A whole answer with that head.
fn whole(head: &str, body: &[u8]) -> Vec<Act> {
    vec![send(format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n", body.len())), send(body)]
}

/// What comes of `acts` in each dialect, a line for each; one for all where they agree.
async fn check(acts: impl Fn(&Spoken) -> Vec<Act>, want: Expect) {
    check_within(Deadlines::default(), acts, want).await;
}

async fn check_within(deadlines: Deadlines, acts: impl Fn(&Spoken) -> Vec<Act>, want: Expect) {
    let mut lines = Vec::new();
    for spoken in spoken::all() {
        lines.push((spoken.name, ask(&spoken, deadlines, acts(&spoken)).await));
    }
    let same = lines.iter().all(|(_, line)| *line == lines[0].1);
    let text = match same {
        true => format!("all: {}\n", lines[0].1),
        false => lines.iter().map(|(name, line)| format!("{name}: {line}\n")).collect(),
    };
    want.assert_eq(&text);
}

/// What comes of one request that is answered with `acts`.
async fn ask(spoken: &Spoken, deadlines: Deadlines, acts: Vec<Act>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        asked(&mut socket).await;
        serve(socket, acts).await;
    });
    let provider = spoken.at(&format!("http://{address}/v1"), deadlines);
    let said = read(provider).await;
    server.abort();
    // Paths say nothing here.
    let own = format!("http://{address}");
    let mut parts = said.split(&own);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |whole, part| whole + "SERVER" + &part[part.find([' ', ';']).unwrap_or(part.len())..])
}

async fn read(provider: Arc<dyn Provider>) -> String {
    let content = vec![Content::text("Hello?")];
    let request = Request {
        model: "m1".to_owned(),
        messages: vec![Message::User { content }.into()].into(),
        ..Request::default()
    };
    let mut stream = provider.stream(request);
    let mut said: Vec<String> = Vec::new();
    while let Some(next) = stream.next().await {
        assert!(!said.last().is_some_and(|last| last.contains("error")), "nothing follows an error");
        said.extend(line(next));
    }
    said.join(" | ")
}

fn line(next: Result<Chunk, LlmError>) -> Option<String> {
    match next {
        Ok(Chunk::Text(text)) if text.len() > 100 => Some(format!("Text of {} bytes", text.len())),
        Ok(Chunk::TextEnd { .. }) => None,
        Ok(Chunk::Usage(usage)) => Some(format!("{} in, {} out", usage.input, usage.output)),
        Ok(other) => Some(format!("{other:?}")),
        Err(error) => {
            assert!(!format!("{error:?}").contains("sk-very-secret"), "{error:?}");
            let again = if error.is_passing() { "again" } else { "final" };
            Some(format!("error, {again}: {error}"))
        }
    }
}

/// Reads a request to its end.
async fn asked(socket: &mut TcpStream) {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return;
            }
        }
        assert_ne!(socket.read_buf(&mut bytes).await.unwrap(), 0, "closed after {text:?}");
    }
}

async fn serve(mut socket: TcpStream, acts: Vec<Act>) {
    for act in acts {
        // The other side may have gone already.
        match act {
            Act::Send(bytes) => drop(socket.write_all(&bytes).await),
            Act::Drip(bytes, pause) => {
                for byte in bytes {
                    drop(socket.write_all(&[byte]).await);
                    tokio::time::sleep(pause).await;
                }
            }
            Act::Forever(bytes, pause) => {
                while socket.write_all(&bytes).await.is_ok() {
                    tokio::time::sleep(pause).await;
                }
            }
            Act::Stall => std::future::pending().await,
            Act::Reset => {
                // What is still on its way would be lost with it.
                tokio::time::sleep(Duration::from_secs(1)).await;
                socket.set_zero_linger().unwrap();
                return;
            }
        }
    }
}
