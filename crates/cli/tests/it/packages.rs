//! Packages as plug-ins, through the binary: a registry of the test's own, hostile packages among them, and hosts.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use base64::Engine;
use serde_json::{Value, json};
use sha2::{Digest, Sha512};

use crate::support::{Machine, RUNG, Ran, solid_folder};

/// A package of the registry.
struct Package {
    name: &'static str,
    version: &'static str,
    archive: Vec<u8>,
    /// What stands in the registry beside name, version and checksum, and over them.
    more: Value,
}

impl Package {
    fn of(name: &'static str, version: &'static str, files: &[(&str, &str)]) -> Self {
        let files: Vec<(String, &str)> = files.iter().map(|(path, text)| (format!("package/{path}"), *text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        Self { name, version, archive: archive(&files), more: json!({}) }
    }

    fn with(self, more: Value) -> Self {
        Self { more, ..self }
    }
}

/// A packed tar with these files, whatever they are called.
fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut builder = tar::Builder::new(gz);
    for (name, text) in files {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_mode(0o644);
        header.set_size(text.len() as u64);
        header.set_cksum();
        builder.append(&header, text.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

/// A registry on this machine, until the test ends.
struct Registry {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Registry {
    fn serve(packages: Vec<Package>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut answers: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for Package { name, version, archive, more } in packages {
            let sum = base64::engine::general_purpose::STANDARD.encode(Sha512::digest(&archive));
            let tarball = format!("{url}/-/{name}-{version}.tgz");
            let integrity = more["integrity"].as_str().map_or_else(|| format!("sha512-{sum}"), str::to_owned);
            let dist = json!({ "tarball": tarball, "integrity": integrity });
            let mut manifest = json!({ "name": name, "version": version, "dist": dist });
            for (key, value) in more.as_object().unwrap() {
                manifest[key] = value.clone();
            }
            let all = json!({ "dist-tags": { "latest": version }, "versions": { version: manifest } });
            answers.insert(format!("/{name}"), all.to_string().into_bytes());
            answers.insert(format!("/-/{name}-{version}.tgz"), archive);
        }
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let told = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let path = asked_for(&mut stream);
                let answer = match answers.get(&path) {
                    Some(body) => {
                        let head =
                            format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
                        [head.as_bytes(), body].concat()
                    }
                    None => b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec(),
                };
                told.lock().unwrap().push(path);
                // Who has read enough may be gone.
                let _ = stream.write_all(&answer);
            }
        });
        Self { url, asked }
    }

    fn command(&self, machine: &Machine, args: &[&str]) -> Command {
        let mut command = machine.command(args);
        command.env("npm_config_registry", &self.url);
        command
    }

    fn haft(&self, machine: &Machine, args: &[&str]) -> Ran {
        Ran::from(self.command(machine, args).output().unwrap())
    }
}

/// The path of a request.
fn asked_for(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap().split(' ').nth(1).unwrap_or_default().to_owned()
}

const GREETER: &str = r#"
import { hi } from "helper"
import { tool } from "@opencode-ai/plugin"
export const Greeter = async () => ({ tool: { greet: tool({
  description: "Greets somebody", args: { name: tool.schema.string() }, execute: async ({ name }) => hi(name),
}) } })
"#;

fn greeter() -> Registry {
    let script = json!({ "scripts": { "postinstall": "touch ran", "install": "touch ran" }, "main": "./index.js" });
    let manifest = script.to_string();
    Registry::serve(vec![
        Package::of("greeter", "1.2.0", &[("package.json", &manifest), ("index.js", GREETER)])
            .with(json!({ "dependencies": { "helper": "^1.0.0", "typescript": "5" }, "hasInstallScript": true })),
        Package::of(
            "helper",
            "1.0.3",
            &[("package.json", "{}"), ("index.js", "exports.hi = (name) => `Hello, ${name}`")],
        ),
    ])
}

const GREET: [&str; 4] = ["tool", "call", "greet", r#"{"name": "Ada"}"#];

/// Whether there is a file called `name` anywhere below `folder`.
fn has(folder: &Path, name: &str) -> bool {
    std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| entry.file_name() == name || (entry.file_type().unwrap().is_dir() && has(&entry.path(), name)))
}

#[test]
fn a_package_is_installed_on_request_locked_run_and_removed() {
    let registry = greeter();
    let machine = Machine::uncaged(&[("opencode.json", r#"{ "plugin": ["greeter"] }"#)]);
    // Named, not installed, and nobody asked.
    registry.haft(&machine, &["tool", "list"]).ok().says(&["greeter", "not installed", "`haft plugin install`"]);
    assert_eq!(registry.asked.lock().unwrap().len(), 0);

    registry.haft(&machine, &["plugin", "install", "greeter"]).ok().says(&["installed greeter@1.2.0", "haft trust"]);
    assert!(machine.read("opencode.json").contains("\"greeter@1.2.0\""));
    let lock: Value = serde_json::from_str(&machine.read(".haft/plugin-lock.json")).unwrap();
    let packages = lock["plugins"]["greeter@1.2.0"]["packages"].as_object().unwrap();
    assert_eq!(packages.keys().collect::<Vec<_>>(), ["node_modules/greeter", "node_modules/helper"]);
    assert!(packages.values().all(|one| one["integrity"].as_str().unwrap().starts_with("sha512-")));
    assert!(!has(&machine.root(), "ran"), "a script of the package ran");
    assert_eq!(registry.haft(&machine, &GREET).ok().out, "Hello, Ada\n");
    let listed = machine.haft(&["plugin", "list", "--json"]).ok().json();
    assert_eq!((&listed[0]["state"], &listed[0]["packages"]), (&json!("installed"), &json!(2)));
    Ran::from(machine.wary(&GREET).output().unwrap()).ends(2).says(&["there is no tool called \"greet\""]);

    // Another lock is another package, which is not here.
    let text = machine.read(".haft/plugin-lock.json");
    machine.write(".haft/plugin-lock.json", &text.replace("1.0.3", "1.0.2"));
    machine.haft(&GREET).ends(2).says(&["its files are not here", "`haft plugin install`"]);
    registry.haft(&machine, &["plugin", "install"]).ends(1).says(&["no helper@1.0.2"]);
    machine.write(".haft/plugin-lock.json", &text);
    std::fs::remove_dir_all(machine.data().join("packages")).unwrap();
    registry.haft(&machine, &["plugin", "install"]).ok().says(&["installed greeter@1.2.0"]);
    assert_eq!(machine.haft(&GREET).ok().out, "Hello, Ada\n");

    machine.haft(&["plugin", "remove", "greeter"]).ok();
    assert!(
        !machine.read("opencode.json").contains("greeter")
            && !machine.read(".haft/plugin-lock.json").contains("helper")
    );
    machine.haft(&GREET).ends(2);
    assert_eq!(std::fs::read_dir(machine.data().join("packages")).unwrap().count(), 0);
}

#[test]
fn hostile_packages_are_not_installed() {
    let bad = |name, archive: Vec<u8>, more: Value| Package { name, version: "1.0.0", archive, more };
    let fine = || archive(&[("package/index.js", "export default async () => ({})")]);
    let zeros = format!("sha512-{}", base64::engine::general_purpose::STANDARD.encode([0; 64]));
    let away = json!({ "dist": { "tarball": "http://127.0.0.1:1/x.tgz", "integrity": zeros } });
    let rows = vec![
        (bad("climbs", archive(&[("package/../../../../evil", "x")]), json!({})), "leads out of it"),
        (bad("rooted", archive(&[("/tmp/evil", "x")]), json!({})), "leads out of it"),
        (bad("other", fine(), json!({ "integrity": zeros })), "is not what its checksum says"),
        (bad("weak", fine(), json!({ "integrity": "sha1-AAAA" })), "gives no sha512"),
        (bad("broken", b"no archive".to_vec(), json!({})), "the archive of broken@1.0.0 is not taken"),
        (bad("elsewhere", fine(), away), "which you did not choose"),
        (bad("needy", fine(), json!({ "dependencies": { "climbs": "1" } })), "leads out of it"),
        (
            bad("gitty", fine(), json!({ "dependencies": { "x": "git+https://127.0.0.1:1/x" } })),
            "only packages of the registry",
        ),
        (bad("missing", fine(), json!({ "dependencies": { "nobody": "1" } })), "has no nobody"),
    ];
    let wants: Vec<(&str, &str)> = rows.iter().map(|(package, want)| (package.name, *want)).collect();
    let served = Registry::serve(rows.into_iter().map(|(package, _)| package).collect());
    let machine = Machine::uncaged(&[]);
    for (name, want) in wants {
        served.haft(&machine, &["plugin", "install", name]).ends(1).says(&[want]);
    }
    assert!(!has(&machine.root(), "evil") && !Path::new("/tmp/evil").exists());
    assert!(!machine.project().join("haft.jsonc").exists() && !machine.project().join(".haft").exists());
    let left = std::fs::read_dir(machine.data().join("packages")).into_iter().flatten().count();
    assert_eq!(left, 0);
    served.haft(&machine, &["plugin", "install", "../evil"]).ends(2).says(&["names no package"]);
}

/// Whether a Node is installed here; says so where not.
fn node() -> bool {
    let there = Command::new("node").arg("--version").output().is_ok_and(|ran| ran.status.success());
    assert!(there || std::env::var_os("HAFT_NEEDS_PEERS").is_none(), "there is no node");
    there
}

const HOSTED: &str = r#"
import net from "node:net"
import fs from "node:fs"
import { tool } from "@opencode-ai/plugin"
const text = { path: tool.schema.string().optional() }
const made = (execute) => tool({ description: "d", args: text, execute })
export const Hosted = async ({ directory }) => ({
  tool: {
    kind: made(async () => typeof net.createServer),
    die: made(async () => process.exit(3)),
    garbage: made(async () => { fs.writeSync(3, "no message\n"); return await new Promise(() => {}) }),
    flood: made(async () => { const piece = Buffer.alloc(1 << 20, 120); for (;;) fs.writeSync(3, piece) }),
    prints: made(async () => { console.log("{\"jsonrpc\":\"2.0\"}"); process.stdout.write("no message\n"); return "printed" }),
    puts: made(async ({ path }) => { fs.writeFileSync(path, "x"); return "put" }),
    reads: made(async ({ path }) => fs.readFileSync(path, "utf8")),
    dials: made(async ({ path }) => await new Promise((done) => net.connect(Number(path), "127.0.0.1", () => done("dialled")).on("error", () => done("refused")))),
    key: made(async () => String(process.env.MOCK_API_KEY)),
  },
  "tool.execute.after": async (input, output) => { if (input.tool === "kind") output.output += " seen" },
})
"#;

/// Installs `source` as the package `hosted` and gives the machine with it.
fn hosted(machine: Machine, source: &str) -> Machine {
    let files =
        [("package.json", r#"{"type": "module", "exports": {"./server": "./index.js"}}"#), ("index.js", source)];
    let registry = Registry::serve(vec![Package::of("hosted", "1.0.0", &files)]);
    registry.haft(&machine, &["plugin", "install", "hosted"]).ok();
    machine
}

#[test]
fn what_needs_node_runs_in_one_and_its_end_is_told() {
    if !node() {
        return;
    }
    let machine = hosted(Machine::uncaged(&[]), HOSTED);
    let call = |tool: &str| machine.haft(&["tool", "call", tool, "{}", "--auto"]);
    let ran = call("kind").ok().says(&["the plug-in hosted@1.0.0 runs in node, without a cage", "\"node:net\""]);
    assert_eq!(ran.out, "function seen\n");
    assert_eq!(call("prints").ok().out, "printed\n");
    call("garbage").ends(1).says(&["node as its host: it ended, or said what is not understood"]);
    call("flood").ends(1).says(&["node as its host"]);
    // One that died is started again for the next call.
    let lines = ["die", "kind"].map(|tool| json!({ "tool": tool, "args": {} }).to_string()).join("\n");
    let ran = machine.piped(&["tool", "call", "--jsonl", "--auto"], &lines).ok();
    let [died, next] = &ran.lines()[..] else { panic!("{ran:?}") };
    assert!(died["error"]["message"].as_str().unwrap().contains("node as its host"), "{died}");
    assert_eq!(next["output"], "function seen");
}

#[test]
fn one_that_never_comes_to_an_end_is_left_out() {
    if !node() {
        return;
    }
    // A call waits for it, because it may have a say in it.
    fn left_out(source: &str) {
        let machine = hosted(Machine::uncaged(&[("a.txt", "one\n")]), source);
        let read = machine.haft(&["tool", "call", "read", r#"{"filePath": "a.txt"}"#]).ok();
        assert!(read.out.contains("one"), "{read:?}");
        read.says(&["the plug-in hosted@1.0.0 is left out: stopped"]);
    }
    // The engine stops the one, haft the other: side by side, as each has half a minute.
    let loops = std::thread::spawn(|| left_out("while (true) {}"));
    left_out("import 'node:net'\nawait new Promise(() => {})");
    loops.join().unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_host_is_held_by_the_cage_of_commands() {
    if !node() {
        return;
    }
    let mut held = 0;
    for rung in ["namespaces", "landlock"] {
        let outside = tempfile::Builder::new().prefix(".haft-test-").tempdir_in(solid_folder()).unwrap();
        let at = |name: &str| outside.path().canonicalize().unwrap().join(name).display().to_string();
        let machine = Machine::with(&[]);
        std::fs::create_dir_all(machine.root().join("home")).unwrap();
        let machine = hosted(machine, HOSTED);
        let call = |tool: &str, path: &str| {
            let input = json!({ "path": path }).to_string();
            let mut command = machine.command(&["tool", "call", tool, &input, "--auto"]);
            Ran::from(command.env(RUNG, rung).env("MOCK_API_KEY", "secret").output().unwrap())
        };
        if call("kind", "").err.contains("holds no cage") {
            continue;
        }
        held += 1;
        assert_eq!(call("kind", "").ok().out, "function seen\n");
        let inside = machine.project().join("in.txt").display().to_string();
        assert_eq!(call("puts", &inside).ok().out, "put\n", "{rung}");
        if rung == "namespaces" {
            // Said as it is started, once.
            call("kind", "").ok().says(&["runs in node, in the cage of commands"]);
        }
        call("puts", &at("out.txt")).ends(1);
        assert!(!Path::new(&at("out.txt")).exists(), "{rung}");
        let lock = machine.project().join(".haft/plugin-lock.json").display().to_string();
        let before = machine.read(".haft/plugin-lock.json");
        let _ = call("puts", &lock);
        assert_eq!(machine.read(".haft/plugin-lock.json"), before, "{rung}");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        assert_eq!(call("dials", &port).ok().out, "refused\n", "{rung}");
        assert!(!call("key", "").ok().out.contains("secret"));
        if rung == "namespaces" {
            machine.write(".env", "KEY=hidden\n");
            let read = call("reads", &machine.project().join(".env").display().to_string());
            assert!(!read.out.contains("hidden"), "{read:?}");
        }
        let again = machine.project().join("again.txt");
        for settings in [r#"{ "permission": { "edit": "deny" } }"#, r#"{ "default_agent": "plan" }"#] {
            machine.write("opencode.json", settings);
            assert_eq!(call("kind", "").ok().out, "function seen\n");
            call("puts", &again.display().to_string()).ends(1);
            assert!(!again.exists(), "{rung} {settings}");
        }
        // It is a command, too.
        let unasked = || Ran::from(machine.command(&["tool", "call", "kind", "{}"]).env(RUNG, rung).output().unwrap());
        machine.write("opencode.json", r#"{ "permission": { "bash": "ask" } }"#);
        unasked().ends(2).says(&["cannot be run in a host either", "`node hosted@1.0.0`", r#""hosted": "allow""#]);
        let leave = r#"{ "permission": { "bash": "ask", "plugin": { "hosted": "allow" } } }"#;
        machine.write("opencode.json", leave);
        assert_eq!(unasked().ok().out, "function seen\n");
    }
    assert!(held > 0, "no rung holds here");
}

#[test]
fn a_tool_takes_from_the_packages_beside_it() {
    if !node() {
        return;
    }
    let tool = "import { port } from 'dep'\nimport { tool } from '@opencode-ai/plugin'\nenum Kind { A = 'a' }\nexport default tool({ description: 'd', args: { n: tool.schema.number() }, async execute({ n }: { n: number }) { return `${port(n)} ${Kind.A}` } })\n";
    let machine = Machine::uncaged(&[
        (".opencode/tool/asks.ts", tool),
        (".opencode/package.json", "{\"dependencies\": {\"dep\": \"1\"}}"),
        (".opencode/node_modules/dep/package.json", "{\"main\": \"lib\"}"),
        (
            ".opencode/node_modules/dep/lib/index.js",
            "const net = require('net'); exports.port = (n) => `${net.isIP('::1')}${n}`",
        ),
    ]);
    let ran = machine.haft(&["tool", "call", "asks", r#"{"n": 5}"#, "--auto"]).ok();
    assert_eq!(ran.out, "65 a\n");
    ran.says(&["asks.ts runs in node, without a cage", "\"net\""]);
}
