//! OpenCode as a server: many sessions at once in one process, as `crowd` has them in ours.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::agent::{Agent, MODEL};
use crate::home::Home;

/// How long one answer of the server may take.
const PATIENCE: Duration = Duration::from_secs(1200);
/// Lines that it may print before it says where it listens.
const MAX_LINES: usize = 50;

/// A server, ended when this is dropped.
#[derive(Debug)]
pub struct Served {
    child: Child,
    address: String,
    /// Held open: what it prints later must find somebody.
    _output: BufReader<ChildStdout>,
}

impl Served {
    /// Starts `agent` as a server in `home`.
    ///
    /// # Errors
    ///
    /// When it does not start, or does not say where it listens.
    pub fn start(agent: &Agent, home: &Home) -> Result<Self> {
        let mut command = home.command(agent);
        command.args(["serve", "--port", "0"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("the server cannot be started")?;
        let mut output = BufReader::new(child.stdout.take().context("no output")?);
        let mut lines = output.by_ref().lines().take(MAX_LINES).map_while(Result::ok);
        let address = lines.find_map(|line| Some(line.split_once("http://")?.1.trim().to_owned()));
        if let Some(address) = address {
            return Ok(Self { child, address, _output: output });
        }
        let _ = child.kill();
        bail!("the server did not say where it listens")
    }

    /// Lets `sessions` sessions answer one prompt each, all at once. Returns how long that took.
    ///
    /// # Errors
    ///
    /// When one fails.
    pub fn play(&self, sessions: usize) -> Result<Duration> {
        let new = || -> Result<String> {
            let made = self.post("/session", &json!({ "title": "bench" }))?;
            Ok(made["id"].as_str().context("a session without an id")?.to_owned())
        };
        let ids = (0..sessions).map(|_| new()).collect::<Result<Vec<_>>>()?;
        let started = Instant::now();
        std::thread::scope(|scope| {
            let prompts: Vec<_> = ids.iter().map(|id| scope.spawn(move || self.prompt(id))).collect();
            prompts.into_iter().try_for_each(|one| one.join().map_err(|_| anyhow::anyhow!("a prompt panicked"))?)
        })?;
        Ok(started.elapsed())
    }

    /// Most memory that it had at once, in megabytes.
    ///
    /// # Errors
    ///
    /// Where the system does not tell.
    pub fn peak(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
        let kilobytes: f64 = line.split_whitespace().next().context("no figure")?.parse()?;
        Ok(kilobytes * 1024.0 / 1e6)
    }

    fn prompt(&self, session: &str) -> Result<()> {
        let prompt = json!({
            "parts": [{ "type": "text", "text": "Do as you are told." }],
            "model": { "providerID": "mock", "modelID": MODEL },
        });
        let answer = self.post(&format!("/session/{session}/message"), &prompt)?;
        let finish = &answer["info"]["finish"];
        ensure!(finish == "stop", "a session ended with {finish}");
        Ok(())
    }

    /// Sends JSON and reads the JSON that comes back.
    fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let mut socket = TcpStream::connect(&self.address).with_context(|| format!("cannot reach {}", self.address))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let body = body.to_string();
        // In HTTP 1.0 an answer comes in one piece and ends with its connection.
        write!(
            socket,
            "POST {path} HTTP/1.0\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n{body}",
            self.address,
            body.len()
        )?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer)?;
        let (head, text) = answer.split_once("\r\n\r\n").context("the server said nothing")?;
        ensure!(head.split(' ').nth(1) == Some("200"), "the server refused {path}: {answer}");
        serde_json::from_str(text).with_context(|| format!("{path} gave {text:?}"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
