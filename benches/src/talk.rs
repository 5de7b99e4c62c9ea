//! A program that is spoken with in lines of JSON.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// A program at the other end of two pipes. It ends with this.
#[derive(Debug)]
pub struct Talk {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Talk {
    /// Starts `command`. What it complains about goes nowhere.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        let output = BufReader::new(child.stdout.take().context("it has no output")?);
        let input = child.stdin.take();
        Ok(Self { child, input, output })
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Says `message` and nothing more.
    ///
    /// # Errors
    ///
    /// When nobody listens.
    pub fn say(&mut self, message: &Value) -> Result<()> {
        let mut line = message.to_string();
        line.push('\n');
        self.input.as_mut().context("it is being ended")?.write_all(line.as_bytes()).context("nobody listens")
    }

    /// Says `message`, and gives the next line that comes, with the time between them.
    ///
    /// # Errors
    ///
    /// When nobody listens or nothing comes.
    pub fn ask(&mut self, message: &Value) -> Result<(Value, Duration)> {
        let started = Instant::now();
        self.say(message)?;
        let mut line = String::new();
        ensure!(self.output.read_line(&mut line)? > 0, "nothing came for {message}");
        let took = started.elapsed();
        Ok((serde_json::from_str(&line).with_context(|| format!("no JSON: {line}"))?, took))
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        // Whoever has nothing more to say has gone.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
