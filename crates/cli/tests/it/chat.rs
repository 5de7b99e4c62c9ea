//! A chat: a person and an agent in one terminal, line by line.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::{Machine, parts};
use crate::terminal::{CHOICES, CTRL_C, CTRL_D, DONE, TOUCH, Terminal, WIDE, gate};

const HI: &str = r#"{"answer":[{"text":"Hi there."},{"usage":{"input":120,"output":5}}]}"#;
/// What stands before what is typed.
const MARK: &str = "build › ";
const ANSWER: &str = "answer › ";
const UP: &str = "\u{1b}[A";

/// `haft` alone, with a model that gives these answers.
pub(crate) fn command(machine: &Machine, answers: &[&str], args: &[&str]) -> Command {
    let model = machine.scenario(answers);
    machine.command(&[&["--model", &model], args].concat())
}

/// The same in a terminal, once it listens.
pub(crate) fn chat(machine: &Machine, answers: &[&str], args: &[&str]) -> Terminal {
    let terminal = Terminal::open(&command(machine, answers, args), WIDE);
    terminal.wait_for(MARK);
    terminal
}

/// Says `text`, and waits until the chat listens again.
#[track_caller]
pub(crate) fn say(terminal: &mut Terminal, text: &str) {
    let before = terminal.times(MARK);
    terminal.type_text(&format!("{text}\n"));
    terminal.wait_for_times(MARK, before + 1);
}

/// Leaves, and looks whether that went well.
#[track_caller]
pub(crate) fn leave(terminal: &mut Terminal) {
    terminal.type_text("/exit\n");
    assert_eq!(terminal.wait_exit(), 0, "{}", terminal.screen());
}

#[test]
fn words_are_answered_and_the_session_can_be_gone_on_with() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = chat(&machine, &[HI, DONE], &["--plain"]);
    say(&mut terminal, "hello");
    terminal.wait_for("Hi there.");
    terminal.wait_for("120 tokens in, 5 out");
    leave(&mut terminal);
    terminal.wait_for("kept; to go on:  haft --session ses_");
    let mut again = chat(&machine, &[HI, DONE], &["--plain", "--continue"]);
    again.wait_for("› hello\n\nHi there.");
    say(&mut again, "go on");
    again.wait_for("All done.");
    leave(&mut again);
    let said: Vec<String> = parts(&machine.newest_session()).iter().map(|part| part["text"].to_string()).collect();
    assert!(said.contains(&"\"hello\"".to_owned()) && said.contains(&"\"go on\"".to_owned()), "{said:?}");
}

#[test]
fn leave_is_asked_for_in_place() {
    for (typed, is_made) in [("y", true), ("a", true), ("n", false), ("make two.txt instead", false)] {
        let machine = Machine::uncaged(&[]);
        let mut terminal = chat(&machine, &[TOUCH, DONE], &["--plain"]);
        terminal.type_text("go\n");
        terminal.wait_for("[a] always: adds the rule  bash \"touch *\": allow  for this project");
        terminal.wait_for(CHOICES);
        terminal.wait_for(ANSWER);
        terminal.type_text(&format!("{typed}\n"));
        terminal.wait_for(if typed == "n" { "stopped, because you refused a call" } else { "All done." });
        terminal.wait_for_times(MARK, 2);
        leave(&mut terminal);
        assert_eq!(machine.project().join("made").exists(), is_made, "{typed}");
        let told = machine.newest_session().to_string();
        assert_eq!(told.contains("make two.txt instead"), typed.len() > 1);
    }
}

#[test]
fn what_was_typed_before_a_question_does_not_answer_it() {
    let wait = "read line < gate";
    let settings = json!({"permission": {"bash": {"*": "ask", wait: "allow"}}}).to_string();
    let machine = Machine::uncaged(&[("opencode.json", &settings)]);
    let mut gate = gate(&machine);
    let pause = json!({"answer": [{"text": "Wait.\n"}, {"call": "bash", "args": {"command": wait}}]}).to_string();
    let mut terminal = chat(&machine, &[&pause, TOUCH, DONE, DONE], &["--plain"]);
    terminal.type_text("go\n");
    terminal.wait_for("Wait.");
    // No line yet: what is begun belongs to no question either.
    terminal.type_text("yes");
    terminal.wait_until(|shown| shown.text().contains("yes"));
    gate.write_all(b"go\n").unwrap();
    terminal.wait_for(ANSWER);
    terminal.type_text("n\n");
    terminal.wait_for("stopped, because you refused a call");
    leave_after(&mut terminal);
    assert!(!machine.project().join("made").exists());
}

/// Leaves as soon as the chat listens.
#[track_caller]
fn leave_after(terminal: &mut Terminal) {
    terminal.wait_for_times(MARK, 2);
    leave(terminal);
}

#[test]
fn what_is_said_while_it_works_is_queued_and_read() {
    let settings = json!({"permission": {"bash": "allow"}}).to_string();
    let machine = Machine::uncaged(&[("opencode.json", &settings)]);
    let mut gate = gate(&machine);
    let pause = json!({"answer": [{"text": "Wait.\n"}, {"call": "bash", "args": {"command": "read line < gate"}}]});
    let mut terminal = chat(&machine, &[&pause.to_string(), HI, DONE], &["--plain"]);
    terminal.type_text("go\n");
    terminal.wait_for("Wait.");
    terminal.type_text("and look at b.txt\n");
    terminal.wait_for("queued: it is read after the step that runs");
    gate.write_all(b"go\n").unwrap();
    terminal.wait_for("Hi there.");
    leave_after(&mut terminal);
    let session = machine.newest_session();
    let roles: Vec<&str> =
        session["messages"].as_array().unwrap().iter().map(|one| one["info"]["role"].as_str().unwrap()).collect();
    assert_eq!(roles.iter().filter(|role| **role == "user").count(), 2, "{roles:?}");
}

#[test]
fn ctrl_c_stops_the_turn_and_a_second_one_leaves() {
    let machine = Machine::uncaged(&[]);
    let hang = r#"{"answer":[{"text":"Half a sen\n"},{"hang":true}]}"#;
    let mut terminal = chat(&machine, &[hang, HI], &["--plain"]);
    terminal.type_text("go\n");
    terminal.wait_for("Half a sen");
    terminal.type_text(CTRL_C);
    terminal.wait_for("stopped; what was said and done is kept");
    terminal.wait_for_times(MARK, 2);
    say(&mut terminal, "go on");
    terminal.wait_for("Hi there.");
    terminal.type_text(CTRL_C);
    terminal.wait_for("Ctrl-C once more, or Ctrl-D, leaves");
    terminal.type_text(CTRL_C);
    assert_eq!(terminal.wait_exit(), 0, "{}", terminal.screen());
}

#[test]
fn ctrl_d_leaves_and_stops_what_runs() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = chat(&machine, &[r#"{"answer":[{"text":"Half\n"},{"hang":true}]}"#], &["--plain"]);
    terminal.type_text("go\n");
    terminal.wait_for("Half");
    terminal.type_text(CTRL_D);
    assert_eq!(terminal.wait_exit(), 0, "{}", terminal.screen());
    assert!(!machine.newest_session().to_string().contains("\"status\":\"running\""));
}

#[test]
fn a_command_that_there_is_none_of_is_not_sent() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = chat(&machine, &[HI], &["--plain"]);
    say(&mut terminal, "/modles");
    terminal.wait_for("there is no command /modles; did you mean /models? Nothing was sent.");
    leave(&mut terminal);
    machine.haft(&["session", "show"]).ends(1).says(&["there is no session of this folder yet"]);
}

#[test]
fn commands_show_and_choose() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = chat(&machine, &[HI, HI, HI], &["--plain"]);
    say(&mut terminal, "/help");
    terminal.wait_for("/sessions [NUMBER|ID]");
    say(&mut terminal, "hello");
    say(&mut terminal, "/status");
    terminal.wait_for("used      120 tokens in, 5 out");
    say(&mut terminal, "/new");
    say(&mut terminal, "something else");
    say(&mut terminal, "/sessions");
    terminal.wait_for("hello");
    say(&mut terminal, "/sessions 2");
    terminal.wait_for("› hello");
    terminal.type_text("/agents plan\n");
    terminal.wait_for("plan › ");
    terminal.type_text("/export out.json\n");
    terminal.wait_for("written to ");
    terminal.type_text("/export out.json\n");
    terminal.wait_for("which is there already; name a file that does not exist yet");
    leave(&mut terminal);
    assert!(machine.read("out.json").contains("\"hello\""));
}

#[test]
fn a_command_line_of_ones_own_runs_without_a_question() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = chat(&machine, &[HI], &["--plain"]);
    say(&mut terminal, "!echo made by hand");
    terminal.wait_for("$ echo made by hand …\n  made by hand\n");
    say(&mut terminal, "/");
    terminal.wait_for("a command has a name behind its /. Nothing was sent.");
    // Neither took the model's only answer.
    say(&mut terminal, "hello");
    terminal.wait_for("Hi there.");
    leave(&mut terminal);
}

#[test]
fn lines_of_a_pipe_are_prompts_one_after_the_other() {
    let machine = Machine::uncaged(&[]);
    let model = machine.scenario(&[HI, TOUCH, DONE]);
    let ran = machine.piped(&["--model", &model], "hello\n\nmake it\n").ok();
    assert_eq!(ran.out, "Hi there.\nAll done.\n", "{}", ran.err);
    assert!(!machine.project().join("made").exists(), "nobody is there to say yes");
}

#[test]
fn without_a_model_the_chat_says_what_to_do() {
    let machine = Machine::uncaged(&[]);
    let terminal = &mut Terminal::open(&machine.command(&["--plain", "--offline"]), WIDE);
    terminal.wait_for(MARK);
    terminal.wait_for("/connect ");
    terminal.wait_for("haft demo");
    say(terminal, "hello");
    terminal.wait_for_times("No model can be asked yet.", 2);
    leave(terminal);
}

#[test]
fn nothing_that_the_model_says_is_obeyed_by_the_terminal() {
    let machine = Machine::uncaged(&[]);
    let hostile = r#"{"answer":[{"text":"a\u001b[2J\u001b]0;title\u0007b \u202elamrah\n"}]}"#;
    let mut terminal = chat(&machine, &[hostile], &["--plain"]);
    say(&mut terminal, "go");
    leave(&mut terminal);
    for raw in ["\u{1b}[2J", "\u{1b}]", "\u{7}", "\u{202e}"] {
        assert!(!terminal.bytes().contains(raw), "{:?}", terminal.bytes());
    }
}

#[test]
fn plain_lines_are_whole_and_without_codes() {
    let machine = Machine::uncaged(&[]);
    for (args, variable) in [(&["--plain"][..], None), (&[], Some(("TERM", "dumb")))] {
        let mut command = command(&machine, &[r#"{"answer":[{"text":"One two three.","pieces":7}]}"#], args);
        if let Some((name, value)) = variable {
            command.env(name, value);
        }
        let mut terminal = Terminal::open(&command, WIDE);
        terminal.wait_for(MARK);
        say(&mut terminal, "go");
        terminal.wait_for("One two three.\n");
        leave(&mut terminal);
        assert!(!terminal.bytes().contains('\u{1b}'), "{:?}", terminal.bytes());
    }
}

#[test]
fn a_session_that_somebody_else_is_at_says_who() {
    let machine = Machine::uncaged(&[]);
    let hang = r#"{"answer":[{"text":"Half\n"},{"hang":true}]}"#;
    let mut first = chat(&machine, &[hang], &["--plain"]);
    first.type_text("go\n");
    first.wait_for("Half");
    let mut second = Terminal::open(&command(&machine, &[hang], &["--plain", "--continue"]), WIDE);
    second.wait_for("Another haft is at work on this session: process ");
    second.type_text("n\n");
    assert_eq!(second.wait_exit(), 1, "{}", second.screen());
    second.wait_for("is in use by process ");
    first.type_text(CTRL_D);
    assert_eq!(first.wait_exit(), 0);
}

#[test]
fn options_of_the_chat_before_a_command_are_a_mistake() {
    let machine = Machine::uncaged(&[]);
    machine.haft(&["--model", "v/m", "run", "go"]).ends(2).says(&["--model belongs to the chat"]);
    machine.haft(&["rnu"]).ends(2).says(&["did you mean `haft run`?"]);
}

/// Types `text` in a terminal whose keys come one by one, and sends it.
pub(crate) fn enter(terminal: &mut Terminal, text: &str) {
    terminal.type_text(&format!("{text}\r"));
}

/// Leaves a chat that draws: the terminal is then as it was.
#[track_caller]
pub(crate) fn leave_drawn(terminal: &mut Terminal) {
    enter(terminal, "/exit");
    assert_eq!(terminal.wait_exit(), 0, "{}", terminal.screen());
    assert!(terminal.echoes(), "the terminal shows what is typed again");
}

#[test]
fn a_drawn_chat_lays_out_answers_and_asks_in_place() {
    let machine = Machine::uncaged(&[]);
    let answer =
        r#"{"answer":[{"text":"It is **done**.\n\n- one\n- two","pieces":5},{"usage":{"input":120,"output":5}}]}"#;
    let mut terminal = chat(&machine, &[TOUCH, answer], &[]);
    enter(&mut terminal, "go");
    terminal.wait_for("[n] no, stop  or say what to do instead:\nanswer › ");
    enter(&mut terminal, "y");
    terminal.wait_for("It is done.\n\n• one\n• two\n\nbuild · script/");
    terminal.wait_for("120 tokens in, 5 out");
    assert!(machine.project().join("made").exists());
    leave_drawn(&mut terminal);
    assert_eq!(terminal.times("answer › y"), 1, "what was answered stays: {}", terminal.screen());
    assert!(terminal.screen().contains("build › go\n"), "what was said stays: {}", terminal.screen());
}

#[test]
fn a_drawn_chat_takes_words_while_it_works() {
    let settings = json!({"permission": {"bash": "allow"}}).to_string();
    let machine = Machine::uncaged(&[("opencode.json", &settings)]);
    let mut gate = gate(&machine);
    let pause = json!({"answer": [{"call": "bash", "args": {"command": "echo begun; read line < gate"}}]});
    let mut terminal = chat(&machine, &[&pause.to_string(), HI, DONE], &[]);
    enter(&mut terminal, "go");
    terminal.wait_for("begun\nbuild › what you say now is read after this step");
    terminal.type_text("and look");
    terminal.wait_for("begun\nbuild › and look");
    enter(&mut terminal, " at b.txt");
    terminal.wait_for("queued: it is read after the step that runs");
    gate.write_all(b"go\n").unwrap();
    terminal.wait_for("Hi there.");
    terminal.wait_for("\nbuild · script/");
    leave_drawn(&mut terminal);
    assert!(machine.newest_session().to_string().contains("and look at b.txt"));
}

#[test]
fn ctrl_c_stops_the_turn_of_a_drawn_chat() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = chat(&machine, &[r#"{"answer":[{"text":"Half a sen\n"},{"hang":true}]}"#, HI], &[]);
    enter(&mut terminal, "go");
    terminal.wait_for("writes · ");
    terminal.type_text(CTRL_C);
    terminal.wait_for("stopped; what was said and done is kept");
    enter(&mut terminal, "go on");
    terminal.wait_for("Hi there.");
    leave_drawn(&mut terminal);
}

#[test]
fn what_was_taken_back_is_brought_again_or_said_anew() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = chat(&machine, &[HI, DONE], &[]);
    enter(&mut terminal, "hello");
    terminal.wait_for("\nbuild · script/");
    enter(&mut terminal, "/undo");
    terminal.wait_for("taken back: hello");
    terminal.wait_for("/redo brings it again, Up brings its words");
    // Nothing stands in the line that it could become a part of.
    enter(&mut terminal, "/redo");
    terminal.wait_for("brought again: hello");
    enter(&mut terminal, "/redo");
    terminal.wait_for("there is nothing to redo in session");
    enter(&mut terminal, "/undo");
    terminal.wait_for_times("taken back: hello", 2);
    let before = terminal.times("build › hello");
    terminal.type_text(UP);
    terminal.wait_for_times("build › hello", before + 1);
    enter(&mut terminal, " again");
    terminal.wait_for_times("Hi there.", 2);
    terminal.wait_for_times("\nbuild · script/", 2);
    leave_drawn(&mut terminal);
    let session = machine.newest_session();
    let said = session["messages"].as_array().unwrap().iter().map(|message| message["parts"][0]["text"].clone());
    assert_eq!(said.collect::<Vec<_>>()[0], "hello again", "{session}");
}

#[test]
fn a_chat_that_goes_on_hides_what_was_taken_back() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = chat(&machine, &[HI, DONE], &["--plain"]);
    say(&mut terminal, "hello");
    say(&mut terminal, "do the second thing");
    say(&mut terminal, "do the third thing");
    leave(&mut terminal);
    for _ in 0..2 {
        machine.haft(&["session", "undo", "--yes"]).ok();
    }
    let mut again = chat(&machine, &[HI, DONE], &["--plain", "--continue", "--replay-limit", "9"]);
    again.wait_for("› hello\n\nHi there.");
    again.wait_for("2 prompts are taken back and not shown; /redo brings the first again");
    assert_eq!(again.times("second thing"), 0, "{}", again.screen());
    say(&mut again, "/redo");
    again.wait_for("brought again: do the second thing");
    leave(&mut again);
}

#[test]
fn files_that_go_back_are_shown_before_they_do() {
    let machine = Machine::uncaged(&[("a.txt", "one\n")]);
    let edit = r#"{"answer":[{"call":"edit","args":{"filePath":"a.txt","oldString":"one","newString":"two"}}]}"#;
    let mut terminal = chat(&machine, &[edit, DONE], &[]);
    enter(&mut terminal, "change it");
    terminal.wait_for("All done.");
    terminal.wait_for("\nbuild · script/");
    enter(&mut terminal, "/diff");
    terminal.wait_for("+two");
    enter(&mut terminal, "/undo");
    terminal.wait_for("these files go back:\n  a.txt +1 -1\n[y] yes  [n] no › ");
    enter(&mut terminal, "n");
    terminal.wait_for("nothing was changed");
    assert_eq!(machine.read("a.txt"), "two\n");
    enter(&mut terminal, "/undo");
    terminal.wait_for_times("[n] no › ", 2);
    enter(&mut terminal, "y");
    terminal.wait_for("taken back: change it (1 files changed)");
    assert_eq!(machine.read("a.txt"), "one\n");
    // Somebody else changes it: it stays, unless it is forced.
    machine.write("a.txt", "mine\n");
    enter(&mut terminal, "/redo");
    terminal.wait_for("changed by somebody else since, and stays");
    // What is typed before the choices stand there is no answer to them.
    terminal.wait_for_times("[n] no › ", 3);
    enter(&mut terminal, "f");
    terminal.wait_for("brought again: change it (1 files changed)");
    assert_eq!(machine.read("a.txt"), "two\n");
    leave_drawn(&mut terminal);
}

#[test]
fn what_was_said_is_summed_up_and_gone_on_with() {
    let machine = Machine::uncaged(&[]);
    let long = json!({"answer": [{"text": "word ".repeat(2_000)}, {"usage": {"input": 9000, "output": 5000}}]});
    let summary = r#"{"for":"compaction","answer":[{"text":"We said words."}]}"#;
    let mut terminal = chat(&machine, &[&long.to_string(), HI, summary, DONE], &["--plain"]);
    say(&mut terminal, "/compact");
    terminal.wait_for("there is nothing to sum up yet");
    say(&mut terminal, "many words, please");
    say(&mut terminal, "hello");
    say(&mut terminal, "/compact the words");
    terminal.wait_for("what came before was summed up to make room");
    say(&mut terminal, "go on");
    terminal.wait_for("All done.");
    leave(&mut terminal);
    let session = machine.newest_session().to_string();
    assert!(session.contains("\"type\":\"compaction\""), "{session}");
}

#[test]
fn a_session_gets_the_title_that_a_person_gives() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = chat(&machine, &[HI], &["--plain"]);
    say(&mut terminal, "/rename too early");
    terminal.wait_for("there is no session yet");
    say(&mut terminal, "hello");
    say(&mut terminal, "/rename");
    terminal.wait_for("say the new title: /rename TITLE");
    say(&mut terminal, "/rename  the  work of   today");
    terminal.wait_for("this session is called: the work of today");
    leave(&mut terminal);
    assert_eq!(machine.newest_session()["info"]["title"], "the work of today");
}

#[test]
fn a_pipe_waits_for_what_goes_on_behind_its_last_line() {
    let wait = "read line < gate";
    let settings = json!({"subagent_wake": true, "permission": {"bash": {wait: "allow"}}});
    let waits = json!({"answer": [{"call": "bash", "args": {"command": wait}}]}).to_string();
    let machine = crate::task::machine(&[&waits, HI], settings);
    let mut gate = gate(&machine);
    let behind = r#"{"answer":[{"call":"task","args":{"description":"look","prompt":"Look.","subagent_type":"explore","background":true}}]}"#;
    let model = machine.scenario(&[behind, r#"{"answer":[{"text":"Begun."}]}"#, DONE]);
    let mut child = machine.start(machine.command(&["--model", &model]).stdin(Stdio::piped()));
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    out.read_line(&mut said).unwrap();
    // The task goes on, and nothing is left to be read.
    gate.write_all(b"go\n").unwrap();
    out.read_to_string(&mut said).unwrap();
    assert_eq!((said.as_str(), child.wait().unwrap().code()), ("Begun.\nAll done.\n", Some(0)));
}

#[test]
fn a_narrow_terminal_and_one_without_colours_get_the_same() {
    let machine = Machine::uncaged(&[]);
    let mut command = command(&machine, &[TOUCH, DONE], &[]);
    let mut terminal = Terminal::open(command.env("NO_COLOR", "1"), 20);
    terminal.wait_for(MARK);
    enter(&mut terminal, "go");
    terminal.wait_for("answer › ");
    enter(&mut terminal, "y");
    terminal.wait_for("All done.");
    leave_drawn(&mut terminal);
    assert!(machine.project().join("made").exists());
    for colour in ["\u{1b}[2m", "\u{1b}[33m", "\u{1b}[1m"] {
        assert!(!terminal.bytes().contains(colour), "{:?}", terminal.bytes());
    }
}
