//! The sessions that are killed: what the model says, and how files look whole.

use serde_json::{Value, json};

use super::deed::Deed;
use super::files::{BY_USER, OWN};
use crate::support::Machine;

/// Answers that there are for one session: more than it ever gets to.
const ANSWERS: usize = 160;
/// Lines of the files that are written: enough for many writes of any system.
const LINES: usize = 600;

/// What the words begin with by which text is known again that is told while it grows.
pub(crate) const WORD: &str = "Word ";
/// How many of them an answer has, and how long it waits between two.
const WORDS: (usize, u64) = (8, 60);

/// A way to work.
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    /// The calls of the N-th answer.
    calls: fn(usize) -> Vec<Value>,
    /// What haft is asked to do, each as often.
    pub(crate) deeds: &'static [Deed],
    /// Whether the model takes its time to speak.
    is_slow: bool,
    /// Whether the session becomes too long now and then.
    grows: bool,
}

pub(crate) const SCENES: [Scene; 6] = [
    Scene { name: "edits", calls: edits, deeds: &[Deed::Run], is_slow: false, grows: false },
    Scene { name: "tasks", calls: tasks, deeds: &[Deed::Run], is_slow: false, grows: false },
    Scene {
        name: "commands",
        calls: commands,
        deeds: &[Deed::Run, Deed::Run, Deed::Command("look")],
        is_slow: false,
        grows: false,
    },
    Scene {
        name: "rewinds",
        calls: rewinds,
        deeds: &[Deed::Run, Deed::Undo, Deed::Undo, Deed::Redo],
        is_slow: false,
        grows: false,
    },
    Scene {
        name: "compaction",
        calls: edits,
        deeds: &[Deed::Run, Deed::Run, Deed::Compact],
        is_slow: false,
        grows: true,
    },
    Scene { name: "chat", calls: rewinds, deeds: &[Deed::Chat], is_slow: true, grows: false },
];

fn call(tool: &str, args: &Value) -> Value {
    json!({ "call": tool, "args": args })
}

fn edits(number: usize) -> Vec<Value> {
    let (from, to) = if number.is_multiple_of(4) { ("mark A", "mark B") } else { ("mark B", "mark A") };
    match number % 2 {
        0 => vec![
            call("read", &json!({ "filePath": "code.txt", "limit": 3 })),
            call("edit", &json!({ "filePath": "code.txt", "oldString": from, "newString": to })),
        ],
        _ => vec![
            call("write", &json!({ "filePath": "made.txt", "content": format!("{number}\n").repeat(LINES) })),
            call("read", &json!({ "filePath": "notes.txt" })),
            call(
                "todowrite",
                &json!({ "todos": [{ "content": format!("{number}"), "status": "pending", "priority": "low", "id": "1" }] }),
            ),
        ],
    }
}

fn tasks(number: usize) -> Vec<Value> {
    let task = |which: &str| {
        let prompt = format!("{which} {number}");
        let background = number % 4 > 1;
        let kind = "general";
        call(
            "task",
            &json!({ "description": which, "prompt": prompt, "subagent_type": kind, "background": background }),
        )
    };
    match number % 3 {
        0 => vec![task("one"), task("two")],
        1 => vec![task("alone")],
        _ => vec![call("bash", &json!({ "command": format!("echo {number} >> log.txt; seq 1 200") }))],
    }
}

fn rewinds(number: usize) -> Vec<Value> {
    let mut calls = edits(number);
    // Also files that come and go, and folders.
    let command = format!("mkdir -p made; echo {number} > made/{}.txt; rm -f made/{}.txt", number % 5, number % 3);
    calls.push(call("bash", &json!({ "command": command })));
    calls
}

fn commands(number: usize) -> Vec<Value> {
    let bash = |command: String| call("bash", &json!({ "command": command }));
    match number % 3 {
        0 => vec![
            bash(format!("echo {number} >> log.txt; seq 1 400")),
            bash(format!("for n in 1 2 3; do echo $n {number}; done | sort -r")),
            call("grep", &json!({ "pattern": format!("mark|{number}") })),
        ],
        1 => vec![bash(format!("false; printf 'n%.0s' $(seq 1 {number}); exit {}", number % 3))],
        _ => vec![
            call("write", &json!({ "filePath": "made.txt", "content": format!("{number}\n").repeat(LINES) })),
            call("reed", &json!({ "number": number })),
            json!({ "call": "read", "raw": "[1, {" }),
        ],
    }
}

impl Scene {
    /// A machine where it is played.
    pub(crate) fn machine(&self) -> Machine {
        let machine = Machine::uncaged(&[("code.txt", &code("A"))]);
        for own in OWN {
            machine.write(own, "the user's own\n");
        }
        let below = machine.root().join("below.jsonl");
        let answers = (0..9).map(|number| match number {
            8 => json!({ "answer": [{ "text": "Done below." }] }),
            _ => answer(&edits(number), &words(number)),
        });
        std::fs::write(&below, file(answers)).unwrap();
        let settings = json!({
            "agent": { "general": { "model": format!("script/{}", below.display()) } },
            "compaction": { "tail_turns": 1 },
            "command": { "look": { "template": "Now !`seq 1 50` and $ARGUMENTS", "description": "Looks." } },
        });
        machine.write("opencode.json", &settings.to_string());
        machine
    }

    /// The `--model` that plays it in `machine`, which never comes to an end by itself.
    pub(crate) fn model(&self, machine: &Machine) -> String {
        let path = machine.root().join("above.jsonl");
        let answers = (0..ANSWERS).flat_map(|number| {
            let first = if self.is_slow { slow_words(number) } else { words(number) };
            let too_long = json!({ "answer": [{ "error": { "kind": "too_long", "message": "too long" } }] });
            let summary = json!({ "for": "compaction", "answer": slow_words(number) });
            let grown = if self.grows && number % 5 == 4 { vec![summary, too_long] } else { vec![] };
            grown.into_iter().chain([answer(&(self.calls)(number), &first)])
        });
        let more = json!({ "for": "compaction", "answer": words(1) });
        let more = self.grows.then(|| std::iter::repeat_n(more, ANSWERS)).into_iter().flatten();
        std::fs::write(&path, file(answers.chain(more))).unwrap();
        format!("script/{}", path.display())
    }

    /// A `--model` that has nothing more to do, whatever was said before.
    pub(crate) fn end(machine: &Machine) -> String {
        let path = machine.root().join("end.jsonl");
        std::fs::write(&path, file((0..ANSWERS).map(|_| json!({ "answer": [{ "text": END }] })))).unwrap();
        format!("script/{}", path.display())
    }
}

/// What the model says last.
pub(crate) const END: &str = "All is done.";

fn answer(calls: &[Value], words: &[Value]) -> Value {
    let first = [json!({ "reasoning": "Hm." })];
    let last = [json!({ "usage": { "input": 9, "output": 9 } })];
    json!({ "answer": first.iter().chain(words).chain(&last).chain(calls).collect::<Vec<_>>() })
}

fn words(number: usize) -> Vec<Value> {
    let words = format!("This is answer {number}, which says a few words first. ").repeat(1 + number % 5);
    vec![json!({ "text": words, "pieces": 9 })]
}

/// Paragraphs that come one after the other.
fn slow_words(number: usize) -> Vec<Value> {
    let (count, wait) = WORDS;
    (0..count).flat_map(|at| [json!({ "text": slow_word(number, at) }), json!({ "wait_ms": wait })]).collect()
}

fn slow_word(number: usize, at: usize) -> String {
    format!("{WORD}{number}-{at}.\n\n")
}

/// All of them.
pub(crate) fn slow_text(number: usize) -> String {
    (0..WORDS.0).map(|at| slow_word(number, at)).collect()
}

fn file(answers: impl Iterator<Item = Value>) -> String {
    let mut text = "{\"haft\":\"scenario\",\"version\":1}\n".to_owned();
    for answer in answers {
        text.push_str(&answer.to_string());
        text.push('\n');
    }
    text
}

/// A file that is edited back and forth.
fn code(mark: &str) -> String {
    format!("// mark {mark}\n{}", "    a line of code;\n".repeat(LINES))
}

/// Files of the project that are not whole, where the user was there at these times.
pub(crate) fn broken(machine: &Machine, times: &[u64]) -> Vec<String> {
    let mut broken = Vec::new();
    let code_now = machine.read("code.txt");
    if code_now != code("A") && code_now != code("B") {
        broken.push(format!("code.txt has {} bytes and begins with {:?}", code_now.len(), code_now.lines().next()));
    }
    if let Ok(made) = std::fs::read_to_string(machine.project().join("made.txt")) {
        let line = made.lines().next().unwrap_or_default();
        if made != format!("{line}\n").repeat(LINES) {
            broken.push(format!("made.txt has {} bytes and begins with {line:?}", made.len()));
        }
    }
    let log = std::fs::read_to_string(machine.project().join("log.txt")).unwrap_or_default();
    broken.extend(broken_log(&log, times));
    for entry in std::fs::read_dir(machine.project().join("made")).into_iter().flatten() {
        let entry = entry.unwrap();
        let (name, text) = (entry.file_name().into_string().unwrap(), std::fs::read_to_string(entry.path()).unwrap());
        let number = text.strip_suffix('\n').and_then(|number| number.parse::<usize>().ok());
        // A command that is killed may have made it and not written to it.
        if !text.is_empty() && number.is_none_or(|number| name != format!("{}.txt", number % 5)) {
            broken.push(format!("made/{name} holds {text:?}"));
        }
    }
    broken
}

/// What is wrong with a log that commands and the user write at the end of, line by line: all of the user's lines are there,
/// in their order, and no line is torn.
fn broken_log(log: &str, times: &[u64]) -> Option<String> {
    let users: Vec<u64> = log.lines().filter_map(|line| line.strip_prefix(BY_USER)?.parse().ok()).collect();
    let is_whole = |line: &str| line.starts_with(BY_USER) || line == "by hand" || line.parse::<usize>().is_ok();
    let torn =
        log.lines().find(|line| !is_whole(line)).or((!log.is_empty() && !log.ends_with('\n')).then_some("no end"));
    (users != times || torn.is_some()).then(|| format!("log.txt: {torn:?}; the user was there at {times:?}: {log:?}"))
}
