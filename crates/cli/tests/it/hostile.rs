//! Texts of others on the terminal: every byte that gets there is held against a list of what may.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::Machine;
use crate::terminal::Terminal;

/// Does all that a text can do to a terminal or a reader: clears, moves, hides, colours, sets the title, writes the
/// clipboard, links, asks the terminal to answer, turns the direction, and hides letters.
const HOSTILE: &str = "x\u{1b}[2J\u{1b}[93A\u{1b}[8m\u{1b}[38;5;1m\u{1b}]0;t\u{7}\u{1b}]52;c;aGk=\u{1b}\\\u{1b}]8;;http://evil\u{1b}\\here\u{1b}]8;;\u{1b}\\\u{1b}P+q\u{1b}\\\u{1b}_a\u{1b}\\\u{1b}^p\u{1b}\\\u{1b}[c\u{1b}[?1049h\u{1b}c\u{9b}2J\u{9d}0;u\u{9c}\u{8}\u{7f}\u{0}\u{202e}\u{2066}\u{200f}\u{61c}\u{200b}\u{2060}\u{feff}\u{ad}\u{3164}\u{e0041}\u{fe00}\u{2028}\u{2029}\rz";

/// The same for where no zero byte can stand.
fn hostile() -> String {
    HOSTILE.replace('\0', "")
}

/// What is on the terminal and must not be, with what stands around it.
fn fault(bytes: &str) -> Option<String> {
    let chars: Vec<char> = bytes.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        let rest = &chars[at..];
        let taken = match rest[0] {
            '\u{1b}' => own_sequence(&rest[1..]).map(|length| length + 1),
            '\r' | '\n' => Some(1),
            c if c.is_control() || hidden(c) => None,
            _ => Some(1),
        };
        match taken {
            Some(taken) => at += taken,
            None => return Some(chars[at.saturating_sub(20)..(at + 20).min(chars.len())].iter().collect()),
        }
    }
    None
}

/// How long a sequence of haft's own is: styles, "this line is empty", "all below is empty", a few lines up
/// and down, and to a column.
fn own_sequence(rest: &[char]) -> Option<usize> {
    let end = rest.iter().position(char::is_ascii_alphabetic)?;
    let body: String = rest[..end].iter().collect();
    let numbers = body.strip_prefix('[')?;
    let own = match rest[end] {
        'm' => numbers
            .split(';')
            .all(|code| code.parse().is_ok_and(|code: u8| matches!(code, 0..=4 | 9 | 30..=37 | 90..=97))),
        'K' => numbers == "2",
        'J' => numbers.is_empty(),
        'A' | 'B' => numbers.parse().is_ok_and(|lines: u8| lines < 40),
        'C' => numbers.parse().is_ok_and(|columns: u8| columns < 100),
        _ => false,
    };
    own.then_some(end + 1)
}

fn hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}'
        | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
}

#[test]
fn the_check_knows_what_is_foreign() {
    assert_eq!(fault("a\r\n\u{1b}[1;31mb\u{1b}[0m\r\u{1b}[2K\u{1b}[J\u{1b}[2A 👩\u{200d}💻"), None);
    for foreign in [
        "\u{1b}[2J",
        "\u{1b}[93A",
        "\u{1b}[93B",
        "\u{1b}[100C",
        "\u{1b}[8m",
        "\u{1b}]0;t\u{7}",
        "\u{9b}",
        "\u{8}",
        "\u{202e}",
        "\u{200b}",
        "\u{1b}c",
    ] {
        assert!(fault(foreign).is_some(), "{foreign:?}");
    }
}

/// A project that is hostile wherever a project can be.
fn machine(permission: &Value) -> Machine {
    let hostile = hostile();
    let settings = json!({
        "permission": permission,
        (hostile.as_str()): 1,
        "provider": {(hostile.as_str()): {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "http://127.0.0.1:9"}, "models": {(hostile.as_str()): {"name": hostile}}}},
        "agent": {(hostile.as_str()): {"description": hostile, "mode": "subagent", (hostile.as_str()): 1}},
        "command": {"c": {"template": hostile, "description": hostile}},
    });
    let machine = Machine::with(&[("opencode.json", &settings.to_string()), ("a.txt", "one\n")]);
    machine.write("hostile.txt", &hostile.repeat(3));
    machine
}

/// Runs `command` in a terminal and answers every question of it with `answer`; gives all that was written.
fn shown(command: &Command, answer: &str) -> String {
    let mut terminal = Terminal::open(command, 100);
    terminal.answer_all(answer);
    terminal.wait_exit();
    terminal.bytes()
}

#[track_caller]
fn check(what: &str, bytes: &str) {
    assert!(!bytes.is_empty(), "{what} shows something");
    assert_eq!(fault(bytes), None, "{what} shows {bytes:?}");
}

fn scenario() -> Vec<String> {
    let hostile = hostile();
    let call = |name: &str, args: Value| json!({"call": name, "args": args});
    let words = format!(
        "# {HOSTILE}\n\n- {HOSTILE}\n\n`{HOSTILE}` [{HOSTILE}](http://{HOSTILE}) ![p]({HOSTILE})\n\n```{HOSTILE}\n{HOSTILE}\n```\n\n|a|{HOSTILE}|\n|-|-|\n|{HOSTILE}|b|\n\n&#27;[2J&#x202e;\n\n<b>{HOSTILE}</b>\n"
    );
    let calls = [
        call("bash", json!({"command": format!("cat hostile.txt; echo '{hostile}' >&2"), "description": hostile})),
        call("bash", json!({"command": format!("exit 3 # {hostile}"), "workdir": hostile})),
        call("read", json!({"filePath": "hostile.txt"})),
        call("read", json!({"filePath": hostile})),
        call("write", json!({"filePath": format!("{hostile}.txt"), "content": HOSTILE})),
        call("edit", json!({"filePath": "a.txt", "oldString": "one", "newString": HOSTILE})),
        call("grep", json!({"pattern": hostile, "path": hostile})),
        call("todowrite", json!({"todos": [{"content": HOSTILE, "status": "pending", "priority": "high", "id": "1"}]})),
        call(&hostile, json!({"x": HOSTILE})),
        call("task", json!({"description": hostile, "prompt": HOSTILE, "subagent_type": hostile})),
    ];
    let mut answers = vec![json!({"answer": [{"thinking": HOSTILE}, {"text": words, "pieces": 50}]}).to_string()];
    answers[0] = json!({"answer": [{"text": words, "pieces": 50}, calls[0]]}).to_string();
    answers.extend(calls[1..].iter().map(|call| json!({"answer": [call]}).to_string()));
    answers.push(json!({"answer": [{"text": format!("{HOSTILE} All done.")}]}).to_string());
    answers
}

#[test]
fn nothing_that_a_run_shows_drives_the_terminal() {
    let machine = machine(&json!({"*": "allow", "bash": "allow"}));
    let answers = scenario();
    let model = machine.scenario(&answers.iter().map(String::as_str).collect::<Vec<_>>());
    for extra in [&[][..], &["--verbose"], &["--print-logs"], &["--title", &hostile()]] {
        let args = [&["run", "go", "--auto", "--model", &model][..], extra].concat();
        let bytes = shown(&machine.command(&args), "y\n");
        assert!(bytes.contains("All done."), "{bytes:?}");
        check(&format!("run {extra:?}"), &bytes);
        let mut dumb = machine.command(&args);
        check("run on a dumb terminal", &shown(dumb.env("TERM", "dumb"), "y\n"));
    }
    for args in [
        &["session", "list"][..],
        &["session", "show"],
        &["agent", "list"],
        &["models"],
        &["audit", "show"],
        &["tool", "list"],
        &["debug", "config"],
        &["debug", "agents"],
        &["debug", "rules"],
    ] {
        check(&args.join(" "), &shown(&machine.command(args), "y\n"));
    }
}

#[test]
fn nothing_that_a_person_decides_about_drives_the_terminal() {
    let machine = machine(&json!({"*": "ask"}));
    let answers = scenario();
    let asking: Vec<&str> = [0, 4, 5, 6, 9].iter().map(|&at| answers[at].as_str()).collect();
    let model = machine.scenario(&[&asking[..], &[answers.last().unwrap().as_str()]].concat());
    let bytes = shown(&machine.command(&["run", "go", "--model", &model]), "a\n");
    assert!(bytes.contains("wants to run a command") && bytes.contains("wants to change a file"), "{bytes:?}");
    check("a question", &bytes);
    check("what is allowed for always", &shown(&machine.command(&["permission", "list", "--all"]), "y\n"));
}

#[test]
fn nothing_that_is_wrong_with_arguments_drives_the_terminal() {
    let machine = machine(&json!({}));
    let hostile = hostile();
    for args in [
        &[hostile.as_str()][..],
        &["run", &format!("--{hostile}")],
        &["run", "x", "--dir", &hostile],
        &["run", "x", "--model", &hostile],
        &["run", "x", "--agent", &hostile],
        &["run", "x", "--file", &hostile],
        &["session", "show", &hostile],
        &["tool", "show", &hostile],
        &["tool", "call", &hostile],
        &["tool", "call", "read", &hostile],
        &["tool", "call", "read", &json!({"filePath": "hostile.txt"}).to_string()],
        &["models", &hostile],
        &["man", &hostile],
        &["permission", "revoke", &hostile],
        &["completion", &hostile],
        &["debug", "shell", &hostile],
        &["debug", "rules", &hostile, &hostile],
    ] {
        check(&format!("{args:?}"), &shown(&machine.command(args), "y\n"));
    }
}

#[test]
fn a_program_that_reads_gets_every_byte() {
    let machine = machine(&json!({}));
    let read = machine.haft(&["tool", "call", "read", r#"{"filePath": "hostile.txt"}"#]).ok();
    for raw in ["\u{1b}[2J", "\u{1b}]52;", "\u{9b}", "\u{202e}", "\u{200b}"] {
        assert!(read.out.contains(raw), "{raw:?} is not in {:?}", read.out);
    }
    let model = machine.scenario(&[&json!({"answer": [{"text": HOSTILE}]}).to_string()]);
    let run = machine.haft(&["run", "go", "--model", &model]).ok();
    assert!(run.out.contains(HOSTILE), "{:?}", run.out);
    assert_eq!(fault(&run.err), None, "what is not the answer is safe: {:?}", run.err);
}
