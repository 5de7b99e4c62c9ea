//! A program that serves, until it is dropped.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest a program may take to serve. A translating proxy takes half a minute on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

pub(crate) struct Service {
    child: Child,
    pub(crate) url: String,
}

impl Service {
    /// Starts a program that prints its address on its first line, and ends when its stdin does.
    pub(crate) fn that_says_where(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        assert!(url.starts_with("http://"), "{command:?} said {url:?}");
        Self { child, url: url.trim().to_owned() }
    }

    /// Starts a program that serves at `port`, and waits until it does.
    pub(crate) fn at(port: u16, command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(child.try_wait().unwrap().is_none(), "{command:?} ended");
            assert!(started.elapsed() < PATIENCE, "{command:?} does not serve");
            std::thread::park_timeout(Duration::from_millis(20));
        }
        Self { child, url: format!("http://127.0.0.1:{port}") }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that nobody uses now.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
