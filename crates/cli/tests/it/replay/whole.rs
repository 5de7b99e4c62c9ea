//! Sessions with all that a session may have, run again: commands that are tasks, tasks in the background, programs, tools of
//! servers, refusals, hooks; and on somebody else's machine.

use serde_json::{Value, json};

use super::{haft, rung};
use crate::support::{Machine, Ran};

/// A machine whose agent `general` plays `answers`; `settings` are laid over.
fn machine(files: &[(&str, &str)], answers: &[Value], settings: Value) -> Machine {
    let machine = Machine::with(files);
    let path = machine.root().join("general.jsonl");
    let lines = std::iter::once(json!({"haft": "scenario", "version": 1})).chain(answers.iter().cloned());
    std::fs::write(&path, lines.map(|line| line.to_string()).collect::<Vec<_>>().join("\n")).unwrap();
    let mut config = json!({"agent": {"general": {"model": format!("script/{}", path.display())}}});
    config.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    machine.write("opencode.json", &config.to_string());
    machine
}

fn says(text: &str) -> Value {
    json!({"answer": [{"text": text}]})
}

fn calls(tool: &str, args: Value) -> Value {
    json!({"answer": [{"call": tool, "args": args}]})
}

fn model(machine: &Machine, answers: &[Value]) -> String {
    let lines: Vec<String> = answers.iter().map(Value::to_string).collect();
    machine.scenario(&lines.iter().map(String::as_str).collect::<Vec<_>>())
}

fn newest(machine: &Machine) -> String {
    machine.newest_session()["info"]["id"].as_str().unwrap().to_owned()
}

/// What a replay of the newest session tells that is the same in `calls` calls of `answers` answers.
#[track_caller]
fn same(machine: &Machine, answers: u64, calls: u64) -> Value {
    let told = haft(machine, rung(), &["session", "replay", &newest(machine), "--json"]).ok().json();
    let got = (&told["same"], told["answers"].as_u64().unwrap(), told["calls"].as_u64().unwrap());
    assert_eq!(got, (&json!(true), answers, calls), "{told:#}");
    told
}

#[test]
fn a_command_that_is_a_task_is_one_again() {
    let below = [calls("bash", json!({"command": "cat a.txt"})), says("It says one.")];
    let machine = machine(&[("a.txt", "one\n")], &below, json!({}));
    machine.write(
        ".haft/commands/look.md",
        "---\ndescription: Look.\nagent: general\nsubtask: true\n---\nLook into $1.\n",
    );
    // The task that the command is takes no answer.
    let answers = [says("A one."), calls("read", json!({"filePath": "a.txt"})), says("Still.")];
    let model = model(&machine, &answers);
    haft(&machine, rung(), &["run", "--auto", "--model", &model, "--command", "look", "a.txt"]).ok();
    haft(&machine, rung(), &["run", "and now", "--auto", "--continue", "--model", &model]).ok();
    // The command is not looked up again: its words are recorded.
    std::fs::remove_file(machine.project().join(".haft/commands/look.md")).unwrap();
    same(&machine, 3, 3);
}

#[test]
fn tasks_in_the_background_end_where_they_did() {
    let below =
        [calls("bash", json!({"command": "until test -s go; do :; done; cat go; echo done > went"})), says("It went.")];
    let machine = machine(&[("a.txt", "one\n")], &below, json!({}));
    let task = json!({"description": "wait", "prompt": "Wait for it.", "subagent_type": "general", "background": true});
    let answers = [
        calls("task", task),
        calls("bash", json!({"command": "echo now > go"})),
        says("Begun."),
        calls("read", json!({"filePath": "went"})),
        says("All told."),
        says("More."),
        says("Much more."),
    ];
    let model = model(&machine, &answers);
    haft(&machine, rung(), &["run", "go", "--auto", "--model", &model]).ok();
    haft(&machine, rung(), &["run", "and now", "--auto", "--continue", "--model", &model]).ok();
    for made in ["go", "went"] {
        std::fs::remove_file(machine.project().join(made)).unwrap();
    }
    let session = machine.newest_session();
    let parts = crate::support::parts(&session);
    assert!(parts.iter().any(|part| part["metadata"]["task"].is_string()), "its end was told: {session:#}");
    let told = haft(&machine, rung(), &["session", "replay", &newest(&machine), "--json"]).ok().json();
    assert_eq!((&told["same"], &told["calls"]), (&json!(true), &json!(4)), "{told:#}");
}

#[test]
fn a_program_makes_its_calls_again_and_servers_are_not_asked() {
    let server = include_str!("../mcp/server.py");
    let machine = machine(&[("a.txt", "one\n"), ("b.txt", "two\n")], &[], json!({}));
    let (program, log) = (machine.root().join("server.py"), machine.root().join("started"));
    std::fs::write(&program, server).unwrap();
    let command = json!(["python3", program, log, "0"]);
    let small = json!({"type": "local", "command": command, "sandbox": {"mode": "off"}});
    machine.write("opencode.json", &json!({"mcp": {"small": small}}).to_string());
    let code = "const texts = await Promise.all(['b.txt', 'a.txt'].map(filePath => tools.read({ filePath })));
        return [texts.map(text => /one|two/.exec(text)[0]), await tools.small_weather({ city: 'Bonn' })]";
    let answers = [
        calls("execute", json!({"code": code})),
        calls("small_weather", json!({"city": "Rome"})),
        calls("bash", json!({"command": "cat a.txt b.txt"})),
        says("Done."),
    ];
    let model = model(&machine, &answers);
    haft(&machine, rung(), &["run", "go", "--auto", "--model", &model]).ok();
    let session = machine.newest_session();
    let done = crate::support::parts(&session).iter().filter(|part| part["state"]["status"] == "completed").count();
    assert_eq!(done, 6, "{session:#}");
    std::fs::write(&log, "").unwrap();
    // The program, what it read, and the command; the weather was given twice.
    let told = same(&machine, 4, 4);
    assert!(told["notes"].to_string().contains("their recorded results are given: small_weather"), "{told:#}");
    let skipped = told["skipped"].as_array().unwrap();
    assert!(
        skipped.len() == 2 && skipped[0].as_str().unwrap().starts_with("small_weather: it was not called again"),
        "{told:#}"
    );
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "", "no server was started");
}

#[test]
fn what_was_refused_is_refused_again_and_nothing_else() {
    let settings = json!({"permission": {"bash": {"*": "allow", "rm *": "ask", "mv *": "deny"}}});
    let machine = machine(&[("a.txt", "one\n")], &[], settings);
    let answers = [
        json!({"answer": [
            {"call": "bash", "args": {"command": "rm a.txt"}},
            {"call": "bash", "args": {"command": "mv a.txt b.txt"}},
            {"call": "bash", "args": {"command": "cat a.txt"}},
        ]}),
        says("It is still there."),
    ];
    let model = model(&machine, &answers);
    haft(&machine, rung(), &["run", "go", "--model", &model]).ok();
    // Whatever would be allowed now.
    machine.write("opencode.json", "{}");
    same(&machine, 2, 3);
    let other = machine.write("opencode.json", r#"{"permission": {"bash": "deny"}}"#);
    assert!(other.exists());
    let told = haft(&machine, rung(), &["session", "replay", &newest(&machine), "--json"]).json();
    assert_ne!(told["answers"], 0, "{told:#}");
}

#[test]
fn hooks_let_happen_again_what_they_did() {
    let hooks = json!({
        "Stop": [{"hooks": [{"type": "command", "command": "test -e b.txt || { echo 'write b.txt first' >&2; exit 2; }"}]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "echo 'no commands here' >&2; exit 2"}]}],
    });
    let machine = machine(&[("a.txt", "one\n"), ("b.env", "two\n")], &[], json!({"hooks": hooks}));
    let guard = "export const Guard = async () => ({
        'tool.execute.before': async (input, output) => {
            if (input.tool !== 'read') return
            if (output.args.filePath.includes('.env')) throw new Error('not that one')
            output.args.filePath = output.args.filePath.replace('.txt', '.copy.txt')
        },
        'tool.execute.after': async (input, output) => { output.output += '\\n[seen ' + input.tool + ']' },
    })";
    machine.write(".opencode/plugin/guard.ts", guard);
    machine.write("a.copy.txt", "the copy\n");
    let answers = [
        calls("read", json!({"filePath": "a.txt"})),
        calls("read", json!({"filePath": "b.env"})),
        calls("bash", json!({"command": "cat a.txt"})),
        says("Done."),
        calls("write", json!({"filePath": "b.txt", "content": "b\n"})),
        says("Now it is."),
        says("Bye."),
    ];
    let model = model(&machine, &answers);
    haft(&machine, rung(), &["run", "go", "--auto", "--model", &model]).ok();
    haft(&machine, rung(), &["run", "more", "--auto", "--continue", "--model", &model]).ok();
    let session = machine.newest_session();
    let text = session.to_string();
    for said in ["write b.txt first", "no commands here", "not that one", "[seen read]"] {
        assert!(text.contains(said), "{said} is not in {session:#}");
    }
    std::fs::remove_file(machine.project().join("b.txt")).unwrap();
    same(&machine, 7, 4);
}

#[test]
fn a_task_that_worked_apart_leaves_nothing() {
    let below = [
        calls("bash", json!({"command": "pwd; cat a.txt"})),
        calls("write", json!({"filePath": "b.txt", "content": "b\n"})),
        says("Ready."),
    ];
    let machine = machine(&[("a.txt", "one\n")], &below, json!({}));
    for args in
        [&["init", "-q"][..], &["add", "."], &["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "first"]]
    {
        assert!(
            std::process::Command::new("git").args(args).current_dir(machine.project()).status().unwrap().success()
        );
    }
    let task = json!({"description": "work", "prompt": "Do it.", "subagent_type": "general", "worktree": true});
    let model = model(&machine, &[calls("task", task), says("Done.")]);
    haft(&machine, rung(), &["run", "go", "--auto", "--model", &model]).ok();
    std::fs::remove_file(machine.project().join("b.txt")).unwrap();
    let trees = || std::fs::read_dir(machine.root().join("state/haft/worktrees")).map_or(0, Iterator::count);
    let before = trees();
    same(&machine, 2, 3);
    let path = machine.root().join("pack.json").display().to_string();
    haft(&machine, rung(), &["session", "pack", &newest(&machine), "-o", &path, "--yes"]).ok();
    let told = haft(&machine, rung(), &["session", "replay", &path, "--json"]).json();
    assert_eq!((&told["same"], &told["calls"]), (&json!(true), &json!(3)), "{told:#}");
    assert_eq!(trees(), before, "work trees stand where the copy was");
    assert_eq!(std::fs::read_dir(machine.root().join("state/haft/replays")).unwrap().count(), 0);
}

#[test]
fn somebody_else_can_run_a_pack() {
    let files = [("src/a.txt", "one\ntwo\n")];
    let machine = machine(&files, &[], json!({}));
    let here = machine.project().display().to_string();
    let answers = [
        calls("read", json!({"filePath": format!("{here}/src/a.txt")})),
        calls("edit", json!({"filePath": "src/a.txt", "oldString": "two", "newString": "2"})),
        calls("bash", json!({"command": "cat src/a.txt; pwd; seq 5000"})),
        says("Done."),
    ];
    let model = model(&machine, &answers);
    haft(&machine, rung(), &["run", "mend it", "--auto", "--model", &model]).ok();
    let path = machine.root().join("pack.json").display().to_string();
    haft(&machine, rung(), &["session", "pack", &newest(&machine), "-o", &path, "--yes"]).ok();
    // Their copy of the project is further on.
    let other = Machine::with(&[("src/a.txt", "one\n2\nthree\n"), ("b.txt", "b\n")]);
    let ran: Ran = haft(&other, rung(), &["session", "replay", &path, "--json"]);
    let told = ran.json();
    assert_eq!((&told["same"], &told["calls"]), (&json!(true), &json!(3)), "{told:#} {}", ran.err);
    assert_eq!(other.read("src/a.txt"), "one\n2\nthree\n", "their project is left alone");
}
