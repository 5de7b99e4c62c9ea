//! The line editor of a chat: keys, lists and pastes through a real pseudo-terminal.

use std::io::Write;
use std::process::Command;

use serde_json::json;

use crate::support::{Machine, parts};
use crate::terminal::{CHOICES, CTRL_C, CTRL_D, DONE, TOUCH, Terminal, WIDE, gate};

const HI: &str = r#"{"answer":[{"text":"Hi there."}]}"#;
/// What stands before what is typed.
const MARK: &str = "build › ";
const ENTER: &str = "\r";
const UP: &str = "\u{1b}[A";

/// `haft` alone in a terminal, with a model that gives these answers.
fn command(machine: &Machine, answers: &[&str]) -> Command {
    let model = machine.scenario(answers);
    machine.command(&["--model", &model])
}

/// The same once it listens.
fn chat(machine: &Machine, answers: &[&str]) -> Terminal {
    let terminal = Terminal::open(&command(machine, answers), WIDE);
    terminal.wait_for(MARK);
    terminal
}

/// Leaves; the terminal is then as it was.
#[track_caller]
fn leave(terminal: &mut Terminal) {
    terminal.type_text(CTRL_D);
    assert_eq!(terminal.wait_exit(), 0, "{}", terminal.screen());
    assert!(terminal.echoes(), "the terminal shows what is typed again");
    let bytes = terminal.bytes();
    assert_eq!(bytes.matches("\u{1b}[?2004h").count(), bytes.matches("\u{1b}[?2004l").count(), "{bytes:?}");
}

/// What the person said in the newest session.
fn said(machine: &Machine) -> Vec<String> {
    let session = machine.newest_session();
    let messages = session["messages"].as_array().unwrap().iter();
    let users = messages.filter(|message| message["info"]["role"] == "user");
    users.map(|message| message["parts"][0]["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_line_is_edited_sent_and_comes_back_in_the_next_chat() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = chat(&machine, &[HI]);
    // Ctrl-A, Ctrl-D, Ctrl-E, Ctrl-W, Ctrl-Y.
    terminal.type_text("xfix teh bug\u{1}\u{4}\u{5}\u{17}\u{17}the \u{19}");
    terminal.wait_for("build › fix the teh bug");
    terminal.type_text("\u{1b}b\u{1b}b\u{1b}d\u{1b}[3~");
    terminal.wait_for("build › fix the bug");
    terminal.type_text(ENTER);
    terminal.wait_for("Hi there.");
    terminal.wait_for_times(MARK, 2);
    leave(&mut terminal);
    assert_eq!(said(&machine), ["fix the bug"]);
    let mut again = chat(&machine, &[HI]);
    again.type_text(UP);
    again.wait_for("build › fix the bug");
    again.type_text(CTRL_C);
    // Ctrl-R.
    again.type_text("\u{12}BUG");
    again.wait_for("history: bug › fix the bug");
    again.type_text(ENTER);
    again.wait_for("build › fix the bug");
    again.type_text(ENTER);
    again.wait_for("Hi there.");
    again.wait_for_times(MARK, 2);
    leave(&mut again);
}

#[test]
fn commands_and_files_are_offered_and_put_in() {
    let machine = Machine::uncaged(&[("src/main.rs", "fn main() {}\n"), ("src/evil\u{1b}]0;x\u{7}\u{202e}.rs", "")]);
    let mut terminal = chat(&machine, &[HI]);
    terminal.type_text("/stat");
    terminal.wait_for("> /status");
    terminal.wait_for("what this session is");
    terminal.type_text("\t");
    terminal.wait_for("build › /status");
    terminal.type_text("\u{15}see @sr");
    terminal.wait_for("> @src/");
    terminal.type_text("\t");
    terminal.wait_for("build › see @src/");
    terminal.wait_for("@src/main.rs");
    terminal.type_text("main");
    terminal.wait_for("> @src/main.rs");
    terminal.type_text("\t");
    terminal.wait_for("build › see @src/main.rs");
    terminal.type_text("please");
    terminal.wait_for("build › see @src/main.rs please");
    terminal.type_text(ENTER);
    terminal.wait_for("Hi there.");
    terminal.wait_for_times(MARK, 2);
    leave(&mut terminal);
    assert_eq!(said(&machine), ["see @src/main.rs please"]);
    for raw in ["\u{1b}]", "\u{202e}"] {
        assert!(!terminal.bytes().contains(raw), "{:?}", terminal.bytes());
    }
}

#[test]
fn a_long_paste_is_a_label_and_sent_whole() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = chat(&machine, &[HI]);
    let long = "a line of a paste\n".repeat(55_000);
    terminal.type_text(&format!("look: \u{1b}[200~{long}\u{1b}[201~ and say"));
    terminal.wait_for("build › look: [Pasted ~55000 lines] and say");
    assert_eq!(machine.haft(&["session", "list"]).ok().out.lines().count(), 0, "a paste sends nothing");
    terminal.type_text(ENTER);
    terminal.wait_for("Hi there.");
    terminal.wait_for_times(MARK, 2);
    leave(&mut terminal);
    assert_eq!(said(&machine), [format!("look: {long} and say")]);
}

#[test]
fn what_is_pasted_is_not_obeyed() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = chat(&machine, &[HI]);
    terminal.type_text("\u{1b}[200~!rm -r\u{7} x\r/exit\u{202e}\u{1b}[201~");
    terminal.wait_for("build › !rm -r x\n        /exit");
    terminal.type_text(ENTER);
    terminal.wait_for("Hi there.");
    terminal.wait_for_times(MARK, 2);
    leave(&mut terminal);
    assert_eq!(said(&machine), ["!rm -r x\n/exit"]);
}

#[test]
fn output_appears_above_what_is_being_typed() {
    let wait = "read line < gate";
    let settings = json!({"permission": {"bash": {"*": "ask", wait: "allow"}}}).to_string();
    let machine = Machine::uncaged(&[("opencode.json", &settings)]);
    let mut gate = gate(&machine);
    let pause = json!({"answer": [{"text": "Wait.\n"}, {"call": "bash", "args": {"command": wait}}]}).to_string();
    let mut terminal = chat(&machine, &[&pause, TOUCH, HI, DONE]);
    terminal.type_text("go\r");
    terminal.wait_for("Wait.");
    terminal.type_text("y");
    terminal.type_text(" half a thought");
    terminal.wait_for("y half a thought");
    gate.write_all(b"go\n").unwrap();
    // What was typed before the question was there does not answer it, and is not lost.
    terminal.wait_for(CHOICES);
    terminal.wait_for("answer › ");
    assert_eq!(terminal.times("half a thought"), 0, "{}", terminal.screen());
    terminal.type_text("n\r");
    terminal.wait_for("stopped, because you refused a call");
    terminal.wait_for("y half a thought");
    terminal.type_text(" to the end\r");
    terminal.wait_for("Hi there.");
    terminal.wait_for_times(MARK, 2);
    leave(&mut terminal);
    assert!(!machine.project().join("made").exists());
    assert_eq!(said(&machine), ["go", "y half a thought to the end"]);
}

#[test]
fn a_line_for_the_shell_has_a_mark_of_its_own() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = chat(&machine, &[HI]);
    terminal.type_text("!");
    terminal.wait_until(|shown| shown.text().contains("! "));
    terminal.type_text("echo made by hand\r");
    terminal.wait_for("\n  made by hand\n");
    terminal.wait_for(MARK);
    leave(&mut terminal);
    let command = parts(&machine.newest_session()).iter().any(|part| part.to_string().contains("echo made by hand"));
    assert!(command);
}

#[test]
fn a_narrow_terminal_shows_all_that_is_typed() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = chat(&machine, &[HI]);
    terminal.type_text("one two three 漢字漢字 four five");
    terminal.wait_for("build › one two three 漢字漢字 four five");
    terminal.resize(20);
    terminal.wait_for("build › one two thr\n        ee 漢字漢字\n         four five");
    terminal.resize(WIDE);
    terminal.wait_for("build › one two three 漢字漢字 four five");
    terminal.type_text(ENTER);
    terminal.wait_for("Hi there.");
    terminal.wait_for_times(MARK, 2);
    leave(&mut terminal);
}

#[test]
fn without_colours_nothing_is_painted() {
    let machine = Machine::uncaged(&[]);
    let mut command = command(&machine, &[HI]);
    command.env("NO_COLOR", "1");
    let mut terminal = Terminal::open(&command, WIDE);
    terminal.wait_for(MARK);
    terminal.type_text("/h");
    terminal.wait_for("> /help");
    terminal.type_text("\u{3}go\r");
    terminal.wait_for("Hi there.");
    terminal.wait_for_times(MARK, 2);
    leave(&mut terminal);
    let bytes = terminal.bytes();
    let painted = bytes
        .split("\u{1b}[")
        .skip(1)
        .any(|code| code.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'));
    assert!(!painted, "{bytes:?}");
}

#[test]
fn the_terminal_is_as_it_was_however_the_chat_ends() {
    let machine = Machine::uncaged(&[]);
    let hang = r#"{"answer":[{"text":"Half\n"},{"hang":true}]}"#;
    for end in ["twice", "term"] {
        let mut terminal = chat(&machine, &[hang]);
        assert!(!terminal.echoes(), "the editor shows what is typed");
        terminal.type_text("go\r");
        terminal.wait_for("Half");
        match end {
            "twice" => {
                terminal.type_text(CTRL_C);
                terminal.wait_for("stopping; Ctrl-C once more leaves");
                terminal.type_text(CTRL_C);
            }
            _ => terminal.kill("TERM"),
        }
        terminal.wait_exit();
        assert!(terminal.echoes(), "after {end}");
    }
}

#[test]
fn ctrl_z_stops_the_program_and_it_goes_on_with_the_line() {
    let machine = Machine::uncaged(&[]);
    let mut chat = command(&machine, &[HI]);
    chat.env("PS1", "shell> ");
    let line: Vec<String> = std::iter::once(chat.get_program())
        .chain(chat.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    let mut shell = Command::new("/bin/sh");
    shell.arg("-i").current_dir(machine.project());
    shell.envs(chat.get_envs().map(|(name, value)| (name, value.unwrap())));
    let mut terminal = Terminal::open(&shell, 200);
    terminal.wait_for("shell> ");
    terminal.type_text(&format!("{}\n", line.join(" ")));
    terminal.wait_for(MARK);
    terminal.type_text("half a line");
    terminal.wait_for("build › half a line");
    terminal.type_text("\u{1a}");
    terminal.wait_for_times("shell> ", 2);
    terminal.type_text("fg\n");
    terminal.wait_for("build › half a line");
    terminal.type_text(" more\r");
    terminal.wait_for("Hi there.");
    terminal.wait_for_times(MARK, 2);
    terminal.type_text(CTRL_D);
    terminal.wait_for("kept; to go on");
    terminal.type_text("exit\n");
    terminal.wait_exit();
    assert_eq!(said(&machine), ["half a line more"]);
}
