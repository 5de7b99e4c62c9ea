//! A server of canned bytes.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) struct Server {
    listener: TcpListener,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self { listener: TcpListener::bind("127.0.0.1:0").await.unwrap() }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.listener.local_addr().unwrap())
    }

    pub(crate) async fn accept(&self) -> Connection {
        Connection { socket: self.listener.accept().await.unwrap().0 }
    }
}

pub(crate) struct Connection {
    socket: TcpStream,
}

impl Connection {
    /// The next request, head and body.
    pub(crate) async fn request(&mut self) -> String {
        let mut asked = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&asked).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                    return text;
                }
            }
            assert_ne!(self.socket.read_buf(&mut asked).await.unwrap(), 0, "closed after {text:?}");
        }
    }

    /// Sends `bytes`. The other side may have gone already.
    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        let _ = self.socket.write_all(bytes).await;
    }

    /// Waits until the other side has closed the connection.
    pub(crate) async fn closed(mut self) {
        let mut rest = [0; 64];
        while !matches!(self.socket.read(&mut rest).await, Ok(0) | Err(_)) {}
    }
}
