//! An address at which skills are listed, as a server on this machine.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// Answers with what stands in its map, by path; a value beginning with `->` sends elsewhere.
pub(crate) struct Shelf {
    pub url: String,
    pub files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Shelf {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/team", listener.local_addr().unwrap());
        let (files, asked) = <(Arc<Mutex<BTreeMap<String, Vec<u8>>>>, Arc<Mutex<Vec<String>>>)>::default();
        let shelf = Self { url, files: Arc::clone(&files), asked: Arc::clone(&asked) };
        std::thread::spawn(move || {
            while let Ok((socket, _)) = listener.accept() {
                // Who has seen enough is not there any more.
                let _ = answer(socket, &files, &asked);
            }
        });
        shelf
    }

    pub(crate) fn put(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.files.lock().unwrap().insert(format!("/team/{path}"), bytes.into());
    }

    /// Lists `skills`, each with its files.
    pub(crate) fn list(&self, skills: &[(&str, &[&str])]) {
        let one = |(name, files): &(&str, &[&str])| json!({"name": name, "files": files});
        let skills: Vec<Value> = skills.iter().map(one).collect();
        self.put("index.json", json!({"skills": skills}).to_string());
    }

    /// The paths that were asked for, since this was last looked at.
    pub(crate) fn asked(&self) -> Vec<String> {
        let mut asked = std::mem::take(&mut *self.asked.lock().unwrap());
        asked.sort();
        asked
    }
}

fn answer(
    mut socket: TcpStream,
    files: &Mutex<BTreeMap<String, Vec<u8>>>,
    asked: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(socket.try_clone()?).lines();
    let first = lines.next().unwrap_or(Ok(String::new()))?;
    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    asked.lock().unwrap().push(path.trim_start_matches("/team/").to_owned());
    let found = files.lock().unwrap().get(&path).cloned();
    let (head, body) = match found {
        Some(bytes) if bytes.starts_with(b"->") => {
            let to = String::from_utf8_lossy(&bytes[2..]).into_owned();
            (format!("HTTP/1.1 302 Found\r\nlocation: {to}"), Vec::new())
        }
        Some(bytes) => ("HTTP/1.1 200 OK".to_owned(), bytes),
        None => ("HTTP/1.1 404 Not Found".to_owned(), Vec::new()),
    };
    write!(socket, "{head}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len())?;
    socket.write_all(&body)
}
