//! A server on this machine that answers with the bytes a test gives, for tests.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What is done for a request.
pub(crate) enum Act {
    /// These bytes, then the end.
    Say(Vec<u8>),
    /// These bytes, and then nothing for ever.
    Stall(Vec<u8>),
}

/// Answers each request by its path, on a port of its own, until it is dropped.
pub(crate) struct Server {
    pub(crate) port: u16,
    heard: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(crate) async fn new(answer: impl Fn(&str, u16) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&heard);
        let task = tokio::spawn(async move {
            let mut stalled = Vec::new();
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut request = Vec::new();
                let mut block = [0; 2048];
                // What begins so wants TLS, and will not say more until it is answered.
                while !request.ends_with(b"\r\n\r\n") && !request.starts_with(&[0x16]) {
                    match socket.read(&mut block).await {
                        Ok(0) | Err(_) => break,
                        Ok(read) => request.extend_from_slice(&block[..read]),
                    }
                }
                if request.starts_with(&[0x16]) {
                    let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
                    continue;
                }
                let request = String::from_utf8_lossy(&request).into_owned();
                let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                told.lock().unwrap().push(request);
                match answer(&path, port) {
                    Act::Say(bytes) => {
                        let _ = socket.write_all(&bytes).await;
                        let _ = socket.shutdown().await;
                    }
                    Act::Stall(bytes) => {
                        let _ = socket.write_all(&bytes).await;
                        stalled.push(socket);
                    }
                }
            }
        });
        Self { port, heard, task }
    }

    /// The requests so far, with their headers.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

/// A whole answer with this status line, these headers and this body.
pub(crate) fn answer(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Act {
    let body = body.as_ref();
    let mut bytes =
        format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n", body.len())
            .into_bytes();
    bytes.extend_from_slice(body);
    Act::Say(bytes)
}
