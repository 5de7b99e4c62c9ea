//! Formatters after edits, through the binary.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Machine, Ran};

/// Settings with a formatter for `.x` whose script is given the file as `$1`.
fn settings(script: &str) -> String {
    let shout = json!({ "command": ["sh", "-c", script, "sh", "$FILE"], "extensions": [".x"] });
    json!({ "formatter": { "shout": shout } }).to_string()
}

const SHOUT: &str = "tr a-z A-Z < \"$1\" > \"$1.new\" && mv \"$1.new\" \"$1\"";

const WRITE: [&str; 4] = ["tool", "call", "write", r#"{"filePath": "a.x", "content": "one\n"}"#];

/// The rustfmt of the toolchain that these tests are built with: the one on `PATH` may ask for a home that it knows.
fn rustfmt() -> Option<PathBuf> {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().ok()?;
    let bin = PathBuf::from(String::from_utf8(sysroot.stdout).ok()?.trim()).join("bin");
    bin.join("rustfmt").is_file().then_some(bin)
}

#[test]
fn nothing_is_formatted_unless_the_settings_and_who_trusts_them_say_so() {
    let machine = Machine::with(&[]);
    machine.haft(&WRITE).ok();
    assert_eq!(machine.read("a.x"), "one\n");
    machine.write("opencode.json", &settings(SHOUT));
    Ran::from(machine.wary(&WRITE).output().unwrap()).ok().says(&["not trusted"]);
    assert_eq!(machine.read("a.x"), "one\n");
    let ran = machine.haft(&WRITE).ok();
    assert!(ran.out.contains("Then shout formatted it."), "{ran:?}");
    assert_eq!(machine.read("a.x"), "ONE\n");
    machine.write("haft.json", r#"{"formatter": {"shout": {"disabled": true}}}"#);
    machine.haft(&WRITE).ok();
    assert_eq!(machine.read("a.x"), "one\n");
    machine.write("haft.json", r#"{"formatter": {"new": {"command": ["x"]}}}"#);
    machine.haft(&WRITE).ok().says(&["warning: formatter.new is not known, so it needs command and extensions"]);
}

#[test]
fn those_there_are_are_listed_with_why_they_are_not_used() {
    let machine = Machine::with(&[("package.json", r#"{"devDependencies": {"prettier": "3"}}"#), ("a.ts", "1\n")]);
    let list = |args: &[&str]| {
        let rows = machine.haft(&[&["formatter", "list", "--json"], args].concat()).ok().json();
        rows.as_array().unwrap().clone()
    };
    assert!(list(&[]).iter().all(|row| row["enabled"] == false));
    machine.haft(&["formatter", "list"]).ok().says(&["formatters are off"]);
    machine.write("opencode.json", &settings(SHOUT));
    let named = |rows: &[Value], name: &str| rows.iter().find(|row| row["name"] == name).cloned().unwrap();
    let all = list(&[]);
    assert_eq!((all.len(), &named(&all, "shout")["enabled"]), (27, &json!(true)));
    assert_eq!(named(&all, "shout")["extensions"], json!([".x"]));
    assert!(named(&all, "biome")["why"].as_str().unwrap().contains("there is no biome.json"));
    let names: Vec<String> = list(&["a.ts"]).iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["prettier", "oxfmt", "biome"]);
    machine.write("node_modules/.bin/prettier", "");
    let program = machine.project().join("node_modules/.bin/prettier");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(named(&list(&["a.ts"]), "prettier")["program"], json!(program));
    machine.haft(&["formatter", "list", "/elsewhere/a.ts"]).ends(1).says(&["is outside the project"]);
    // What runs programs of the project waits until that is trusted, also where the user's own settings want it.
    std::fs::remove_file(machine.project().join("opencode.json")).unwrap();
    std::fs::create_dir_all(machine.root().join("config/haft")).unwrap();
    std::fs::write(machine.root().join("config/haft/haft.json"), r#"{"formatter": true}"#).unwrap();
    let untrusted = Ran::from(machine.wary(&["formatter", "list", "a.ts"]).output().unwrap()).ok();
    assert!(untrusted.out.contains("which is not trusted"), "{untrusted:?}");
}

#[test]
fn a_real_formatter_works_on_what_is_written_and_undo_takes_all_of_it_back() {
    let Some(bin) = rustfmt() else {
        assert!(std::env::var_os("HAFT_NEEDS_PEERS").is_none(), "rustfmt is not there");
        return;
    };
    let machine = Machine::with(&[("src/old.rs", "fn old() {}\n"), ("haft.json", r#"{"formatter": true}"#)]);
    let model = machine.scenario(&[
        r#"{"answer":[{"call":"write","args":{"filePath":"src/main.rs","content":"fn main(){println!( \"a\" ) ;}"}}]}"#,
        r#"{"answer":[{"call":"edit","args":{"filePath":"src/old.rs","oldString":"fn old() {}","newString":"fn old(  ){}"}},{"call":"edit","args":{"filePath":"src/main.rs","oldString":"println!(\"a\");","newString":"broken( {"}}]}"#,
        r#"{"answer":[{"text":"Done."}]}"#,
    ]);
    let path =
        std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())));
    let ran = machine.command(&["run", "go", "--auto", "--model", &model]).env("PATH", path.unwrap()).output().unwrap();
    Ran::from(ran).ok();
    // What cannot be read is left as it was written.
    assert_eq!(machine.read("src/main.rs"), "fn main() {\n    broken( {\n}\n");
    assert_eq!(machine.read("src/old.rs"), "fn old() {}\n");
    let told = machine.newest_session().to_string();
    assert!(
        told.contains("Then rustfmt formatted it.") && told.contains("The formatter rustfmt failed (exit code 1"),
        "{told}"
    );
    machine.haft(&["session", "undo", "--yes"]).ok();
    assert!(!machine.project().join("src/main.rs").exists());
    assert_eq!(machine.read("src/old.rs"), "fn old() {}\n");
}

#[test]
fn what_a_formatter_changes_besides_and_in_ignored_files_is_taken_back_too() {
    let script = format!("{SHOUT}; echo more >> beside.txt; echo new > made.txt");
    let machine = Machine::with(&[
        ("opencode.json", &settings(&script)),
        (".ignore", "gen\n"),
        ("gen/a.x", "ONE\n"),
        ("b.x", "ONE\n"),
        ("beside.txt", "one\n"),
    ]);
    let model = machine.scenario(&[
        r#"{"answer":[{"call":"edit","args":{"filePath":"gen/a.x","oldString":"ONE","newString":"two"}},{"call":"edit","args":{"filePath":"b.x","oldString":"ONE","newString":"two"}}]}"#,
        r#"{"answer":[{"text":"Done."}]}"#,
    ]);
    machine.haft(&["run", "go", "--auto", "--model", &model]).ok();
    assert_eq!((machine.read("gen/a.x"), machine.read("b.x")), ("TWO\n".into(), "TWO\n".into()));
    assert_eq!(machine.read("beside.txt"), "one\nmore\nmore\n");
    let diff = machine.haft(&["session", "diff"]).ok().out;
    assert!(diff.contains("-ONE\n+TWO\n") && !diff.contains("+two"), "{diff}");
    machine.haft(&["session", "undo", "--yes"]).ok();
    assert_eq!((machine.read("gen/a.x"), machine.read("b.x")), ("ONE\n".into(), "ONE\n".into()));
    assert_eq!(machine.read("beside.txt"), "one\n");
    assert!(!machine.project().join("made.txt").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_formatter_stays_in_its_cage() {
    let outside = tempfile::Builder::new().prefix(".haft-test-").tempdir_in(crate::support::solid_folder()).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let dial = format!("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 5)'");
    let script = format!(
        "{SHOUT}; echo x > {}/out; {dial} && : > reached; mkdir -p .git/hooks; : > .git/hooks/post-commit; cat .env > leak; true",
        outside.path().display()
    );
    let mut held = 0;
    for rung in ["namespaces", "landlock"] {
        let machine = Machine::with(&[("opencode.json", &settings(&script)), (".env", "KEY=1\n")]);
        let call = |args: &[&str]| Ran::from(machine.command(args).env(crate::support::RUNG, rung).output().unwrap());
        let tried = call(&["tool", "call", "bash", r#"{"command": "true"}"#, "--json", "--auto"]).ok().json();
        if tried["metadata"]["sandbox"]["rung"] != rung {
            continue;
        }
        held += 1;
        call(&WRITE).ok();
        assert_eq!(machine.read("a.x"), "ONE\n", "{rung}");
        assert!(!outside.path().join("out").exists(), "{rung}");
        assert!(!machine.project().join("reached").exists(), "{rung}");
        assert!(!machine.project().join(".git/hooks/post-commit").exists(), "{rung}");
        // Landlock knows no exceptions within a folder.
        assert!(rung == "landlock" || machine.read("leak").is_empty(), "{rung}");
    }
    assert!(held > 0, "no rung holds here");
}

#[test]
fn plug_ins_hear_of_a_file_when_it_is_formatted() {
    let plugin = r#"
        let heard;
        const edited = new Promise((resolve) => { heard = resolve; });
        export const Ears = async () => ({
          event: async ({ event }) => { if (event.type === "file.edited") heard(event.properties.file); },
          "tool.execute.after": async (input, output) => {
            if (input.tool === "read") output.output += "\nheard of " + (await edited);
          },
        });
    "#;
    let machine = Machine::with(&[("opencode.json", &settings(SHOUT)), (".opencode/plugin/ears.ts", plugin)]);
    let model = machine.scenario(&[
        r#"{"answer":[{"call":"write","args":{"filePath":"a.x","content":"one\n"}}]}"#,
        r#"{"answer":[{"call":"read","args":{"filePath":"a.x"}}]}"#,
        r#"{"answer":[{"text":"Done."}]}"#,
    ]);
    machine.haft(&["run", "go", "--auto", "--model", &model]).ok();
    let told = machine.newest_session().to_string();
    let file = machine.project().join("a.x");
    assert!(told.contains(&format!("heard of {}", file.display())), "{told}");
}

#[test]
fn with_a_watcher_plug_ins_hear_of_what_others_change() {
    let plugin = r#"
        let heard;
        const changed = new Promise((resolve) => { heard = resolve; });
        export const Ears = async () => ({
          event: async ({ event: { type, properties } }) => {
            if (type === "file.watcher.updated") heard(properties.file);
          },
          "tool.execute.after": async (input, output) => {
            if (input.tool === "read") output.output += "\nheard of " + (await changed);
          },
        });
    "#;
    let settings = r#"{"watcher": {"ignore": ["*.log"]}}"#;
    let machine = Machine::with(&[("a.txt", "one\n"), ("haft.json", settings), (".opencode/plugin/ears.ts", plugin)]);
    // It writes until it is heard, because nobody listens from the beginning.
    let model = machine.scenario(&[
        r#"{"answer":[{"call":"bash","args":{"command":"while :; do date >> b.log; date >> b.txt; sleep 0.1; done","background":true}}]}"#,
        r#"{"answer":[{"call":"read","args":{"filePath":"a.txt"}}]}"#,
        r#"{"answer":[{"text":"Done."}]}"#,
    ]);
    machine.haft(&["run", "go", "--auto", "--model", &model]).ok();
    let told = machine.newest_session().to_string();
    let file = machine.project().join("b.txt");
    assert!(told.contains(&format!("heard of {}", file.display())), "{told}");
}
