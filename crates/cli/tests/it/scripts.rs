//! Tools and plug-ins in files, hooks around them and programs of code mode, through the binary.

use serde_json::{Value, json};

use crate::support::{Machine, Ran};

/// Tools as people write them for OpenCode.
const TOOLS: &[(&str, &str)] = &[
    (".opencode/tool/database.ts", include_str!("scripts/database.ts")),
    (".opencode/tool/math.ts", include_str!("scripts/math.ts")),
    (".opencode/tool/python.ts", include_str!("scripts/python.ts")),
    (".opencode/tool/add.py", include_str!("scripts/add.py")),
    (".opencode/tools/uuid.ts", include_str!("scripts/uuid.ts")),
    (".haft/tools/plain.js", include_str!("scripts/plain.js")),
    (".haft/tools/world.ts", include_str!("scripts/world.ts")),
    ("notes.txt", "one\n"),
];

fn call(machine: &Machine, tool: &str, input: &Value, more: &[&str]) -> Ran {
    machine.haft(&[&["tool", "call", tool, &input.to_string()], more].concat())
}

/// The one line that a call gives.
#[track_caller]
fn gives(machine: &Machine, tool: &str, input: &Value, want: &str) {
    let ran = call(machine, tool, input, &["--auto"]).ok();
    assert_eq!(ran.out.trim_end(), want, "{tool} {input}");
}

#[test]
fn files_of_tools_are_listed_shown_and_called() {
    let machine = Machine::uncaged(TOOLS);
    let listed = machine.haft(&["tool", "list"]).ok().out;
    for name in ["database", "math_add", "math_multiply", "python", "uuid", "plain", "world_copy"] {
        assert!(listed.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name} is not in: {listed}");
    }
    let shown = machine.haft(&["tool", "show", "math_add", "--json"]).ok().json();
    assert_eq!(shown["description"], "Add two numbers");
    assert_eq!(shown["parameters"]["required"], json!(["a", "b"]));
    assert_eq!(shown["parameters"]["properties"]["a"], json!({ "type": "number", "description": "First number" }));
    gives(&machine, "database", &json!({ "query": "SELECT 1" }), "Executed query: SELECT 1");
    gives(&machine, "math_add", &json!({ "a": 2, "b": 3 }), "5");
    gives(&machine, "math_multiply", &json!({ "a": 2, "b": 3 }), "6 below true");
    gives(&machine, "plain", &json!({}), "hello");
    gives(&machine, "uuid", &json!({ "count": 2 }), "36 36");
    gives(&machine, "python", &json!({ "a": 2, "b": 3 }), "5");
    call(&machine, "math_add", &json!({ "a": "two" }), &["--auto"]).ends(2).says(&["bad arguments for math_add"]);
    call(&machine, "world_bad", &json!({}), &["--auto"]).ends(1).says(&["world.ts:47:"]);
}

#[test]
fn what_a_tool_does_needs_the_leave_that_ours_need() {
    let machine = Machine::uncaged(TOOLS);
    gives(&machine, "world_copy", &json!({ "from": "notes.txt", "to": "loud.txt" }), "ONE");
    assert_eq!(machine.read("loud.txt"), "ONE\n");
    machine.write("opencode.json", r#"{"permission": {"edit": "deny", "webfetch": "deny"}}"#);
    for (tool, input) in [
        ("world_copy", json!({ "from": "notes.txt", "to": "denied.txt" })),
        ("world_outside", json!({ "path": "../../secret.txt" })),
        ("world_shell", json!({ "word": "hi" })),
        ("world_web", json!({ "url": "http://127.0.0.1:9/" })),
    ] {
        // Nobody is there to ask.
        let ran = call(&machine, tool, &input, &[]);
        assert!(ran.code != 0 && ran.out.is_empty(), "{tool}: {ran:?}");
    }
    assert!(!machine.project().join("denied.txt").exists());
}

#[test]
fn a_project_that_nobody_trusts_has_no_tools() {
    let machine = Machine::uncaged(TOOLS);
    let ran = Ran::from(machine.wary(&["tool", "call", "plain", "{}"]).output().unwrap());
    ran.ends(2).says(&["there is no tool called \"plain\""]);
}

#[test]
fn plug_ins_change_stop_and_add_calls() {
    let plugin = (".opencode/plugin/guard.ts", include_str!("scripts/guard.ts"));
    let machine = Machine::uncaged(&[plugin, ("a.txt", "one\n"), ("b.txt", "two\n"), (".env", "KEY=1\n")]);
    let read = call(&machine, "read", &json!({ "filePath": "a.txt" }), &[]).ok().out;
    assert!(read.contains("two") && read.trim_end().ends_with("[seen read]"), "{read}");
    call(&machine, "read", &json!({ "filePath": ".env" }), &["--auto"]).ends(1).says(&["Do not read .env files"]);
    gives(&machine, "greet", &json!({ "name": "Ada" }), "Hello, Ada\n[seen greet]");
    let read = machine.command(&["tool", "call", "read", r#"{"filePath": "a.txt"}"#]).env("HAFT_PURE", "1").output();
    assert!(Ran::from(read.unwrap()).ok().out.contains("one"));
}

#[test]
fn a_program_calls_tools() {
    let machine = Machine::uncaged(TOOLS);
    let code =
        "const sum: number = Number(await tools.math_add({ a: 1, b: 2 }));\nconsole.log('so', sum);\nreturn { sum };";
    let run = |code: &str| {
        let input = json!({ "code": code }).to_string();
        let mut command = machine.command(&["tool", "call", "execute", &input]);
        Ran::from(command.env("OPENCODE_EXPERIMENTAL_CODE_MODE", "1").output().unwrap())
    };
    let out = run(code).ok().out;
    assert!(out.contains("\"sum\"") && out.contains("so 3"), "{out}");
    run("throw new Error('no')").ends(1).says(&["Uncaught: no"]);
}

/// A project with the programs of `everyday.mjs`, and a tool that runs them.
fn everyday() -> Machine {
    let tool = "import { bun, rows, run } from '../lib/everyday.mjs'
        const wanted = (table) => Object.fromEntries(table.map(([name, want]) => [name, want]))
        export const wants = { description: 'What is wanted', args: {},
            execute: async () => JSON.stringify(wanted([...rows, ...bun])) }
        export default { description: 'Runs all', args: {}, execute: async () => JSON.stringify(await run([...rows, ...bun])) }";
    let all = Machine::uncaged(&[(".opencode/tool/everyday.ts", tool)]);
    all.write(".opencode/lib/everyday.mjs", include_str!("scripts/everyday.mjs"));
    all
}

#[test]
fn what_node_and_bun_offer_every_day_gives_what_it_gives_there() {
    let machine = everyday();
    let table = |tool: &str| -> serde_json::Map<String, Value> {
        serde_json::from_str(&call(&machine, tool, &json!({}), &["--auto"]).ok().out).unwrap()
    };
    let (wants, got) = (table("everyday_wants"), table("everyday"));
    let wrong: Vec<String> = wants
        .iter()
        .filter(|(name, want)| got.get(*name) != Some(want))
        .map(|(name, want)| format!("{name}: {} instead of {want}", got.get(name).unwrap_or(&Value::Null)))
        .collect();
    assert!(wants.len() > 70 && wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The same programs in Node, where there is one.
#[test]
fn node_itself_gives_what_is_wanted_of_it() {
    let machine = everyday();
    let program = "import { rows, run } from './.opencode/lib/everyday.mjs'
        const got = await run(rows)
        const text = (value) => JSON.stringify(value ?? null)
        console.log(rows.filter(([name, want]) => text(got[name]) !== text(want))
            .map(([name, want]) => `${name}: ${text(got[name])} instead of ${text(want)}`).join('\\n'))";
    let file = machine.write("in-node.mjs", program);
    let ran = std::process::Command::new("node").arg(file).current_dir(machine.project()).output();
    let Ok(ran) = ran else {
        assert!(std::env::var_os("HAFT_NEEDS_PEERS").is_none(), "there is no node");
        eprintln!("there is no node to compare with");
        return;
    };
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && out.trim().is_empty(), "{out}{err}");
}
