//! A server in the place of all that sign in, scripted.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// Plays answers in turn, the last one for ever, until the test ends.
pub(super) struct SignIn {
    url: String,
    came: Arc<Mutex<Vec<(String, String)>>>,
}

impl SignIn {
    pub(super) fn plays(answers: Vec<Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let came = Arc::new(Mutex::new(Vec::new()));
        let seen = came.clone();
        std::thread::spawn(move || {
            for (at, socket) in listener.incoming().enumerate() {
                // Who goes away before the answer has seen enough.
                if let Ok((path, body)) = serve(socket.unwrap(), &answers[at.min(answers.len() - 1)]) {
                    seen.lock().unwrap().push((path, body));
                }
            }
        });
        Self { url, came }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn paths(&self) -> Vec<String> {
        self.came.lock().unwrap().iter().map(|(path, _)| path.clone()).collect()
    }

    pub(super) fn bodies(&self) -> Vec<String> {
        self.came.lock().unwrap().iter().map(|(_, body)| body.clone()).collect()
    }
}

fn serve(mut socket: TcpStream, answer: &Value) -> std::io::Result<(String, String)> {
    let mut asked = Vec::new();
    let mut block = [0; 4096];
    let (head, body) = loop {
        let read = socket.read(&mut block)?;
        asked.extend_from_slice(&block[..read]);
        let text = String::from_utf8_lossy(&asked).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            if read == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            continue;
        };
        let lower = head.to_lowercase();
        let length = lower.split_once("content-length: ").and_then(|(_, rest)| rest.lines().next());
        if body.len() >= length.map_or(0, |length| length.trim().parse().unwrap()) {
            break (head.to_owned(), body.to_owned());
        }
    };
    let text = answer.to_string();
    let head_back = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ";
    socket.write_all(format!("{head_back}{}\r\n\r\n{text}", text.len()).as_bytes())?;
    Ok((head.split(' ').nth(1).unwrap_or_default().to_owned(), body))
}
