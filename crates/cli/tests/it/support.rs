//! A machine of one's own for each test: a home, a project, and the binary.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// The variable that names the only way in which commands may be held in a cage.
pub(crate) const RUNG: &str = "HAFT_SANDBOX_RUNG";

/// A home and a project in a temporary folder that goes away with it.
pub(crate) struct Machine {
    folder: tempfile::TempDir,
}

/// A folder for machines that is no folder for temporary files, because those may be written in every cage.
pub(crate) fn solid_folder() -> PathBuf {
    let temporary = [PathBuf::from("/tmp"), PathBuf::from("/var/tmp"), std::env::temp_dir()];
    let own = std::env::var_os("HOME").map(PathBuf::from);
    let places = [Some(PathBuf::from(env!("CARGO_TARGET_TMPDIR"))), Some(PathBuf::from("/opt")), own];
    let fit = |place: &PathBuf| {
        let real = place.canonicalize();
        real.is_ok_and(|real| !temporary.iter().any(|temporary| real.starts_with(temporary)))
            && tempfile::tempdir_in(place).is_ok()
    };
    places.into_iter().flatten().find(fit).expect("a folder that can be written and is none for temporary files")
}

/// What a finished program left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Machine {
    /// A machine whose project holds `files`.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(machine.project()).unwrap();
        for (path, text) in files {
            machine.write(path, text);
        }
        machine
    }

    /// The same, where commands run without a cage: each of them asks.
    pub(crate) fn uncaged(files: &[(&str, &str)]) -> Self {
        let machine = Self::with(files);
        let settings = machine.root().join("config/opencode");
        std::fs::create_dir_all(&settings).unwrap();
        std::fs::write(settings.join("opencode.json"), r#"{"sandbox": {"mode": "off"}}"#).unwrap();
        machine
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.root().join("data/haft")
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.project().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.project().join(path)).unwrap()
    }

    /// Points the project at a model served over HTTP.
    pub(crate) fn use_server(&self, url: &str) {
        self.write("opencode.json", &server_config(url));
    }

    /// Writes a scenario; gives the `--model` that plays it.
    pub(crate) fn scenario(&self, answers: &[&str]) -> String {
        let mut text = String::from("{\"haft\":\"scenario\",\"version\":1}\n");
        for answer in answers {
            text.push_str(answer);
            text.push('\n');
        }
        let path = self.root().join("scenario.jsonl");
        std::fs::write(&path, text).unwrap();
        format!("script/{}", path.display())
    }

    /// `haft` with `args` in the project, which it trusts, with an environment that holds nothing of this machine's.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.wary(args);
        command.env("HAFT_TRUST", "1");
        command
    }

    /// The same in a project that nobody has said to trust.
    pub(crate) fn wary(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
        let root = self.root();
        command
            .args(args)
            .current_dir(self.project())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", root.join("home"))
            .env("XDG_CONFIG_HOME", root.join("config"))
            .env("XDG_DATA_HOME", root.join("data"))
            .env("XDG_STATE_HOME", root.join("state"))
            .env(RUNG, if cfg!(target_os = "linux") { "seatbelt" } else { "landlock" })
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn haft(&self, args: &[&str]) -> Ran {
        Ran::from(self.command(args).output().unwrap())
    }

    /// The same with `input` piped in.
    pub(crate) fn piped(&self, args: &[&str], input: &str) -> Ran {
        let mut child = self.start(self.command(args).stdin(Stdio::piped()));
        // A program that ends before it has read everything is for the test to judge.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        Ran::from(child.wait_with_output().unwrap())
    }

    /// Starts `command` with its outputs caught.
    pub(crate) fn start(&self, command: &mut Command) -> Child {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The newest session of the project as `haft session show --json` tells it.
    pub(crate) fn newest_session(&self) -> Value {
        self.haft(&["session", "show", "--json"]).ok().json()
    }
}

/// A project's settings for a model `mock/m1` at `url`, as an OpenCode user has them.
pub(crate) fn server_config(url: &str) -> String {
    serde_json::json!({
        "$schema": "https://opencode.ai/config.json",
        "model": "mock/m1",
        // A model that fails is for the test to see at once.
        "limits": { "retries": 0 },
        "provider": {
            "mock": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "Mock",
                "options": { "baseURL": url, "apiKey": "{env:MOCK_KEY}", "headers": { "x-team": "blue" } },
                "models": {
                    "m1": {
                        "name": "M1",
                        "limit": { "context": 100_000, "output": 8_000 },
                        "cost": { "input": 3, "output": 15, "cache_read": 0.3 }
                    }
                }
            }
        }
    })
    .to_string()
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    /// The same, if it ended well.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        self.ends(0)
    }

    /// The same, if it ended with `code`.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.out, self.err);
        self
    }

    /// The same, if all of `words` are on stderr.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.err.contains(word), "{word:?} is not in: {}", self.err);
        }
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }

    #[track_caller]
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Waits until `path` holds `text`.
pub(crate) fn wait_for(path: &Path, text: &str) {
    wait_until(&format!("{text:?} in {}", path.display()), || {
        std::fs::read_to_string(path).is_ok_and(|found| found.contains(text))
    });
}

/// Waits until `happened`, a minute at most.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    let started = std::time::Instant::now();
    while !happened() {
        assert!(started.elapsed().as_secs() < 60, "waited in vain for {what}");
        std::thread::yield_now();
    }
}

/// Whether a process still runs. (A zombie does not.)
pub(crate) fn is_running(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}

/// The parts of a session's messages, in order.
pub(crate) fn parts(session: &Value) -> Vec<Value> {
    let messages = session["messages"].as_array().unwrap().iter();
    messages.flat_map(|message| message["parts"].as_array().unwrap().clone()).collect()
}

/// A model served over HTTP by another thread, until it is dropped.
pub(crate) struct Served {
    // Dropped first, while its runtime still runs.
    server: haft_bench::model_server::ModelServer,
    _runtime: tokio::runtime::Runtime,
}

impl Served {
    /// Plays the answers of a scenario, given as lines of one.
    pub(crate) fn plays(answers: &[&str]) -> Self {
        let text = format!("{{\"haft\":\"scenario\",\"version\":1}}\n{}\n", answers.join("\n"));
        let answers = haft_llm::parse_scenario("the test's scenario", &text).unwrap();
        Self::on(async move { haft_bench::model_server::ModelServer::start(answers).await.unwrap() })
    }

    /// Answers everything with these bytes.
    pub(crate) fn canned(status: u16, content_type: &'static str, body: &'static str) -> Self {
        Self::on(
            async move { haft_bench::model_server::ModelServer::canned(status, content_type, body).await.unwrap() },
        )
    }

    fn on(start: impl Future<Output = haft_bench::model_server::ModelServer>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let server = runtime.block_on(start);
        Self { server, _runtime: runtime }
    }

    pub(crate) fn url(&self) -> String {
        self.server.url().to_owned()
    }

    /// The bodies of the requests so far.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        self.server.requests().iter().map(|request| request.body.clone()).collect()
    }

    /// The header called `name` of the first request.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let requests = self.server.requests();
        requests[0].headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone())
    }
}

/// What is wrong with the messages of a request, if anything: every call of an answer must be followed by exactly one
/// result, and nothing may be empty.
pub(crate) fn fault(body: &Value) -> Option<String> {
    let messages = body["messages"].as_array()?;
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        let role = message["role"].as_str()?;
        if role == "tool" {
            let id = message["tool_call_id"].as_str()?;
            match open.iter().position(|one| *one == id) {
                Some(at) => drop(open.remove(at)),
                None => return Some(format!("a result for {id}, which nobody called")),
            }
            continue;
        }
        if !open.is_empty() {
            return Some(format!("no result for {open:?}"));
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            open.push(call["id"].as_str()?);
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            if !serde_json::from_str::<Value>(arguments).is_ok_and(|arguments| arguments.is_object()) {
                return Some(format!("arguments that are no object: {arguments}"));
            }
        }
        let said = message["content"].as_str().map_or(!message["content"].is_null(), |text| !text.is_empty());
        if !said && message["tool_calls"].is_null() {
            return Some(format!("an empty {role} message"));
        }
    }
    (!open.is_empty()).then(|| format!("no result for {open:?}"))
}
