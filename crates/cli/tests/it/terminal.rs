//! A person at a terminal: questions, keys and colours, through a real pseudo-terminal.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use portable_pty::{Child, CommandBuilder, MasterPty, PtyPair, PtySize, native_pty_system};
use serde_json::json;

use crate::support::{Machine, is_running, parts, wait_for};

/// Longest wait for something that is to appear. Far beyond what any machine needs: it only turns a hang into a
/// failure that shows the screen.
const PATIENCE: Duration = Duration::from_secs(30);
/// Columns of a usual terminal.
pub(crate) const WIDE: u16 = 100;
/// Rows of the screen that tests look at: so many that nothing scrolls away.
const ROWS: NonZeroU16 = NonZeroU16::new(200).unwrap();
pub(crate) const CTRL_C: &str = "\u{3}";
pub(crate) const CTRL_D: &str = "\u{4}";
const ARROW_UP: &str = "\u{1b}[A";
/// What a question ends with.
pub(crate) const CHOICES: &str = "[n] no, stop  or say what to do instead:";

pub(crate) const TOUCH: &str = r#"{"answer":[{"call":"bash","args":{"command":"touch made"}}]}"#;
const TOUCH_TWICE: &str =
    r#"{"answer":[{"call":"bash","args":{"command":"touch made"}},{"call":"bash","args":{"command":"touch more"}}]}"#;
pub(crate) const DONE: &str = r#"{"answer":[{"text":"All done."}]}"#;
const WRITE: &str = r#"{"answer":[{"call":"write","args":{"filePath":"a.txt","content":"one\n"}}]}"#;
const ASK_FOR_EDITS: (&str, &str) = ("opencode.json", r#"{"permission": {"edit": "ask"}}"#);

#[test]
fn a_yes_runs_the_command_once() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = run(&machine, &[TOUCH, TOUCH, DONE]);
    terminal.wait_for("The agent wants to run a command\n  touch made\n  · writes made in the project\n  [a] always: adds the rule  bash \"touch *\": allow  for this project\n  [y] yes, once");
    terminal.type_text("y\n");
    // The model's next answer asks again, so by then the first command has run.
    terminal.wait_for_times(CHOICES, 2);
    terminal.wait_for("$ touch made");
    assert!(machine.project().join("made").exists());
    terminal.type_text("y\n");
    terminal.ends_well();
}

#[test]
fn tasks_ask_in_their_own_names_and_show_what_they_do() {
    let echo = r#"{"answer":[{"call":"bash","args":{"command":"echo looked"}}]}"#;
    let machine = crate::task::machine(&[echo, DONE], json!({}));
    let task = |about: &str| json!({"call": "task", "args": {"description": about, "prompt": about, "subagent_type": "explore"}});
    let two = json!({"answer": [task("one thing"), task("another thing")]}).to_string();
    let mut terminal = run(&machine, &[&two, DONE]);
    terminal.wait_for("thing) at its task wants to run a command\n  echo looked\n  [a] always: adds the rule  bash \"echo *\": allow  for this project\n  [y] yes, once");
    terminal.type_text("y\n");
    terminal.wait_for_times(CHOICES, 2);
    terminal.type_text("y\n");
    terminal.wait_for("• explore: one thing");
    terminal.wait_for("• explore: another thing");
    terminal.ends_well();
}

#[test]
fn words_are_shown_as_they_come() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = run(&machine, &[r#"{"answer":[{"text":"Half a sen"},{"hang":true}]}"#]);
    terminal.wait_for("Half a sen");
    terminal.type_text(CTRL_C);
    assert_eq!(terminal.wait_exit(), 130);
}

#[test]
fn always_allows_all_later_edits_of_the_run() {
    let machine = Machine::uncaged(&[ASK_FOR_EDITS, ("a.txt", "one\n"), ("b.txt", "one\n")]);
    let edit = |path| json!({"answer": [{"call": "edit", "args": {"filePath": path, "oldString": "one", "newString": "two"}}]});
    let mut terminal = run(&machine, &[&edit("a.txt").to_string(), &edit("b.txt").to_string(), DONE]);
    terminal.wait_for("The agent wants to change a file\n  a.txt\n");
    for shown in ["-one", "+two", "[a] always: adds the rule  edit \"*\": allow  for this project"] {
        terminal.wait_for(shown);
    }
    terminal.answer("a\n");
    terminal.ends_well();
    assert_eq!(terminal.times(CHOICES), 1, "{}", terminal.screen());
    assert_eq!((machine.read("a.txt").as_str(), machine.read("b.txt").as_str()), ("two\n", "two\n"));
}

#[test]
fn always_holds_for_later_runs_in_the_project_until_it_is_taken_back() {
    let machine = Machine::uncaged(&[ASK_FOR_EDITS]);
    let mut terminal = run(&machine, &[WRITE, DONE]);
    terminal.answer("a\n");
    terminal.ends_well();
    let kept = machine.haft(&["permission", "list", "--json"]).ok().json();
    assert_eq!((&kept[0]["permission"], &kept[0]["pattern"]), (&json!("edit"), &json!("*")), "{kept}");
    let again = [r#"{"filePath":"b.txt","content":"two\n"}"#, r#"{"filePath":"c.txt","content":"two\n"}"#];
    machine.haft(&["tool", "call", "write", again[0]]).ok();
    // Somewhere else it is asked for again, and nobody is there to answer.
    let other = machine.root().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("opencode.json"), ASK_FOR_EDITS.1).unwrap();
    machine.haft(&["tool", "call", "write", again[0], "--dir", other.to_str().unwrap()]).ends(3);
    machine.haft(&["permission", "revoke", kept[0]["id"].as_str().unwrap()]).ok();
    machine.haft(&["tool", "call", "write", again[1]]).ends(3);
}

#[test]
fn a_no_ends_all_questions_of_the_answer_and_the_run() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = run(&machine, &[TOUCH_TWICE, DONE]);
    terminal.answer("n\n");
    terminal.ends_refused(&machine);
}

#[test]
fn advice_goes_to_the_model_and_the_turn_goes_on() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = run(&machine, &[TOUCH_TWICE, DONE]);
    terminal.answer("make two.txt instead\n");
    terminal.ends_well();
    assert!(!machine.project().join("made").exists() && !machine.project().join("more").exists());
    let told =
        parts(&machine.newest_session()).iter().map(|part| part["state"]["error"].to_string()).collect::<String>();
    assert!(told.contains("make two.txt instead"), "{told}");
}

#[test]
fn what_is_no_answer_is_asked_again() {
    for typed in ["\n", "a\n", &format!("{ARROW_UP}\n")] {
        let machine = Machine::uncaged(&[]);
        // What it would run is not known beforehand.
        let mut terminal =
            run(&machine, &[r#"{"answer":[{"call":"bash","args":{"command":"$(echo touch) made"}}]}"#, DONE]);
        terminal.wait_for(CHOICES);
        assert_eq!(terminal.times("[a]"), 0, "nothing of a command can be allowed for always");
        terminal.type_text(typed);
        terminal.wait_for_times(CHOICES, 2);
        terminal.type_text("y\n");
        terminal.ends_well();
    }
}

#[test]
fn what_was_typed_before_a_question_does_not_answer_it() {
    let wait = "read line < gate";
    let settings = json!({"permission": {"bash": {"*": "ask", wait: "allow"}}}).to_string();
    let machine = Machine::uncaged(&[("opencode.json", &settings)]);
    let mut gate = gate(&machine);
    let pause = json!({"answer": [{"text": "Wait."}, {"call": "bash", "args": {"command": wait}}]}).to_string();
    let mut terminal = run(&machine, &[&pause, TOUCH, DONE]);
    terminal.wait_for("Wait.");
    terminal.type_text("yes\n");
    // The echo: the terminal has it, and nobody has read it yet.
    terminal.wait_until(|shown| String::from_utf8_lossy(&shown.bytes).contains("yes\r\n"));
    gate.write_all(b"go\n").unwrap();
    terminal.answer("n\n");
    terminal.ends_refused(&machine);
}

#[test]
fn ctrl_c_at_a_question_stops_the_run() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = run(&machine, &[TOUCH, DONE]);
    terminal.answer(CTRL_C);
    assert_eq!(terminal.wait_exit(), 130);
    assert!(terminal.screen().contains("\nstopped; what was said and done is kept"), "{}", terminal.screen());
    assert!(terminal.bytes().ends_with("\r\n"), "{}", terminal.screen());
    assert!(!machine.project().join("made").exists());
}

#[test]
fn ctrl_c_stops_the_command_that_runs() {
    let machine = Machine::uncaged(&[]);
    let command = "echo $$ > pid; exec sleep 1000";
    let mut terminal =
        run(&machine, &[&json!({"answer": [{"call": "bash", "args": {"command": command}}]}).to_string()]);
    terminal.answer("y\n");
    wait_for(&machine.project().join("pid"), "\n");
    let pid = machine.read("pid").trim().parse().unwrap();
    assert!(is_running(pid));
    terminal.type_text(CTRL_C);
    assert_eq!(terminal.wait_exit(), 130);
    assert!(!is_running(pid));
}

#[test]
fn ctrl_d_is_a_no() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = run(&machine, &[TOUCH, DONE]);
    terminal.answer(CTRL_D);
    terminal.ends_refused(&machine);
}

#[test]
fn a_command_cannot_dress_up_its_question() {
    let machine = Machine::uncaged(&[]);
    let command = "echo '\u{1b}[2J\u{1b}]0;title\u{7} \u{202e}lamrah'";
    let call = json!({"answer": [{"call": "bash", "args": {"command": command}}]}).to_string();
    let mut terminal = run(&machine, &[&call, DONE]);
    terminal.wait_for(r"  echo '\u{1b}[2J\u{1b}]0;title\u{7} \u{202e}lamrah'");
    terminal.answer("y\n");
    terminal.ends_well();
    for raw in ["\u{1b}[2J", "\u{1b}]", "\u{7}", "\u{202e}"] {
        assert!(!terminal.bytes().contains(raw), "{:?}", terminal.bytes());
    }
}

#[test]
fn a_prompt_from_a_pipe_still_asks_at_the_keyboard() {
    let machine = Machine::uncaged(&[]);
    let model = machine.scenario(&[TOUCH, DONE]);
    let haft = machine.command(&["run", "--model", &model]);
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"echo piped words | "$0" "$@""#]).arg(haft.get_program()).args(haft.get_args());
    shell.envs(haft.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(machine.project());
    let mut terminal = Terminal::open(&shell, WIDE);
    terminal.answer("y\n");
    terminal.ends_well();
    assert!(machine.project().join("made").exists());
    assert!(parts(&machine.newest_session()).iter().any(|part| part["text"] == "piped words"));
}

#[test]
fn colours_are_there_unless_they_are_unwanted() {
    for unwanted in [false, true] {
        let machine = Machine::uncaged(&[ASK_FOR_EDITS]);
        let model = machine.scenario(&[WRITE, DONE]);
        let mut command = machine.command(&["run", "go", "--model", &model]);
        if unwanted {
            command.env("NO_COLOR", "1");
        }
        let mut terminal = Terminal::open(&command, WIDE);
        terminal.answer("y\n");
        assert_eq!(terminal.wait_exit(), 0);
        // Yellow is the question, green an added line.
        for code in ["\u{1b}[33m", "\u{1b}[32m"] {
            assert_eq!(terminal.bytes().contains(code), !unwanted, "{:?}", terminal.bytes());
        }
        let painted = terminal.bytes().split('\u{1b}').skip(1).any(|code| code.contains('m') && is_style(code));
        assert_eq!(painted, !unwanted, "{:?}", terminal.bytes());
    }
}

/// Whether what follows an escape character sets a style.
fn is_style(code: &str) -> bool {
    let end = code.find(|c: char| c.is_ascii_alphabetic());
    end.is_some_and(|end| code[end..].starts_with('m'))
}

#[test]
fn a_narrow_terminal_shows_the_whole_question() {
    let machine = Machine::uncaged(&[]);
    let command = format!("touch made; echo {}", "word ".repeat(30));
    let call = json!({"answer": [{"call": "bash", "args": {"command": command}}]}).to_string();
    let model = machine.scenario(&[&call, DONE]);
    let mut terminal = Terminal::open(&machine.command(&["run", "go", "--model", &model]), 40);
    terminal.wait_for(CHOICES);
    assert!(terminal.screen().replace("\n  ┆ ", "").contains(command.trim_end()), "{}", terminal.screen());
    terminal.answer("y\n");
    terminal.ends_well();
    assert!(machine.project().join("made").exists());
}

#[test]
fn the_demo_plays_in_a_terminal() {
    let machine = Machine::uncaged(&[]);
    let root = machine.root().join("demo");
    let mut terminal = Terminal::open(&machine.command(&["demo", "--fast", "--dir", root.to_str().unwrap()]), WIDE);
    assert_eq!(terminal.wait_exit(), 0);
    for shown in ["← Edit leap.sh +1 -1", "\n  +", "\n  -", "% 400", "Look at the result:"] {
        assert!(terminal.screen().contains(shown), "{shown:?} is not in: {}", terminal.screen());
    }
}

const MARKDOWN: &str = "# Found\\n\\nIt is **bold**, see [here](https://a.b).\\n\\n- one\\n- two\\n\\n| a | b |\\n|---|--:|\\n| x | 10 |\\n\\n```rust\\nlet y = 1;\\n```\\n\\nAll done.";
const LAID_OUT: &str = "\nFound\n\nIt is bold, see here (https://a.b).\n\n• one\n• two\n\na │  b\n──┼───\nx │ 10\n\n  let y = 1;\n\nAll done.\n";

#[test]
fn an_answer_is_laid_out_while_it_comes() {
    for pieces in [1, 40] {
        let machine = Machine::uncaged(&[]);
        let mut terminal = run(&machine, &[&format!(r#"{{"answer":[{{"text":"{MARKDOWN}","pieces":{pieces}}}]}}"#)]);
        terminal.ends_well();
        assert!(terminal.screen().contains(LAID_OUT), "{}", terminal.screen());
        assert!(terminal.bytes().contains("\u{1b}[1mbold"), "{:?}", terminal.bytes());
    }
}

#[test]
fn a_terminal_that_cannot_draw_gets_the_words_alone() {
    let machine = Machine::uncaged(&[]);
    let model = machine.scenario(&[&format!(r#"{{"answer":[{{"text":"{MARKDOWN}","pieces":9}}]}}"#)]);
    let mut command = machine.command(&["run", "go", "--model", &model]);
    let mut terminal = Terminal::open(command.env("TERM", "dumb"), WIDE);
    assert_eq!(terminal.wait_exit(), 0);
    assert!(!terminal.bytes().contains('\u{1b}'), "{:?}", terminal.bytes());
    assert!(terminal.screen().contains("| a | b |\n|---|--:|"), "{}", terminal.screen());
}

#[test]
fn who_is_at_work_is_said_while_it_works() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = run(&machine, &[r#"{"answer":[{"text":"Wait."},{"hang":true}]}"#]);
    terminal.wait_for("writes · 0 s");
    // The sign turns by itself.
    terminal.wait_until(|shown| String::from_utf8_lossy(&shown.bytes).matches("writes ·").count() > 3);
    terminal.type_text(CTRL_C);
    assert_eq!(terminal.wait_exit(), 130);
    assert_eq!(terminal.times("writes ·"), 0, "{}", terminal.screen());
    assert!(terminal.screen().contains("\nWait.\n"), "{}", terminal.screen());
}

#[test]
fn a_command_shows_what_it_writes_while_it_runs() {
    let command = "echo one; echo two; read line < gate; echo three";
    let settings = json!({"permission": {"bash": "allow"}}).to_string();
    let machine = Machine::uncaged(&[("opencode.json", &settings)]);
    let mut gate = gate(&machine);
    let call = json!({"answer": [{"call": "bash", "args": {"command": command}}]}).to_string();
    let model = machine.scenario(&[&call, DONE]);
    let mut terminal = Terminal::open(&machine.command(&["run", "go", "--auto", "--model", &model]), WIDE);
    terminal.wait_for("three · 0 s\n  one\n  two");
    gate.write_all(b"go\n").unwrap();
    terminal.ends_well();
    let ended = format!("\n$ {command}\n  one\n  two\n  three\n\nAll done.\n");
    assert!(terminal.screen().contains(&ended), "{}", terminal.screen());
    assert_eq!((terminal.times("$ echo one"), terminal.times("  two\n")), (1, 1), "{}", terminal.screen());
}

#[test]
fn a_narrower_terminal_is_drawn_anew() {
    let machine = Machine::uncaged(&[]);
    let mut terminal =
        run(&machine, &[r#"{"answer":[{"text":"Words that fit, and then no more of them come."},{"hang":true}]}"#]);
    terminal.wait_for("writes · ");
    terminal.resize(20);
    terminal.wait_for("Words that fit, and\nthen no more of\nthem come.");
    terminal.type_text(CTRL_C);
    assert_eq!(terminal.wait_exit(), 130);
    assert_eq!(terminal.times("Words that fit"), 1, "{}", terminal.screen());
}

#[test]
fn what_is_done_is_told_where_that_is_wanted() {
    let machine = Machine::uncaged(&[("a.txt", "one\n"), ("opencode.json", "{}")]);
    let model = machine.scenario(&[
        r#"{"answer":[{"call":"read","args":{"filePath":"a.txt"}},{"usage":{"input":120,"output":5}}]}"#,
        r#"{"answer":[{"text":"All done."},{"wait_ms":300}]}"#,
    ]);
    let told = [
        "· started",
        "opencode.json",
        "· asks agent=build model=script/",
        "· tool ended read ms=",
        "· step ended",
        "input=120",
    ];
    // Beside what is drawn, and in a pipe.
    let mut terminal = Terminal::open(&machine.command(&["run", "go", "--verbose", "--model", &model]), 250);
    terminal.ends_well();
    machine.haft(&["run", "go", "--verbose", "--model", &model]).ok().says(&told);
    for words in told {
        assert!(terminal.screen().contains(words), "{words:?} is not in: {}", terminal.screen());
    }
    assert!(terminal.screen().contains("\n120 tokens in, 5 out · "), "{}", terminal.screen());
    let quiet = machine.haft(&["run", "go", "--model", &model]).ok();
    assert!(!quiet.err.contains("\n· "), "{}", quiet.err);
}

/// A call of `question` with two questions.
fn inquiry() -> String {
    let option = |label: &str| json!({"label": label, "description": format!("As {label} as can be")});
    let questions = json!([
        {"question": "Which colour?", "header": "Colour", "options": [option("Red"), option("Blue")]},
        {"question": "Which sizes?", "header": "Sizes", "options": [option("S"), option("L")], "multiple": true},
    ]);
    json!({"answer": [{"call": "question", "args": {"questions": questions}}]}).to_string()
}

#[test]
fn a_question_is_put_and_answered() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = run(&machine, &[&inquiry(), DONE]);
    terminal.wait_for(
        "? Which colour? (1 of 2)\n  1  Red\n     As Red as can be\n  2  Blue\n     As Blue as can be\n  1-2, your own words",
    );
    terminal.type_text("7\n");
    terminal.wait_for_times("or nothing to leave it:", 2);
    terminal.type_text("2\n");
    terminal.wait_for("? Which sizes? (2 of 2)");
    terminal.type_text("1,2\n");
    terminal.ends_well();
    let answers = "# Questions\n  Which colour? → Blue\n  Which sizes? → S, L\n";
    assert!(terminal.screen().contains(answers), "{}", terminal.screen());
}

#[test]
fn a_question_may_be_left() {
    for typed in ["\n", "\u{1b}\n", CTRL_D] {
        let machine = Machine::uncaged(&[]);
        let mut terminal = run(&machine, &[&inquiry(), DONE]);
        terminal.wait_for("or nothing to leave it:");
        terminal.type_text(typed);
        assert_eq!(terminal.wait_exit(), 0, "{}", terminal.screen());
        assert_eq!(terminal.times("All done."), 0, "{}", terminal.screen());
        assert!(terminal.screen().contains("✗ question"), "{}", terminal.screen());
    }
}

/// A pipe of the project called `gate`, which a command can wait at. Open for both, so that neither side waits for the
/// other to open.
pub(crate) fn gate(machine: &Machine) -> std::fs::File {
    let gate = machine.project().join("gate");
    assert!(std::process::Command::new("mkfifo").arg(&gate).status().unwrap().success());
    std::fs::File::options().read(true).write(true).open(gate).unwrap()
}

/// `haft run` with a model that gives these answers, in a terminal.
fn run(machine: &Machine, answers: &[&str]) -> Terminal {
    Terminal::open(&machine.command(&["run", "go", "--model", &machine.scenario(answers)]), WIDE)
}

/// A pseudo-terminal with a program in it, which is killed when this is dropped.
pub(crate) struct Terminal {
    shown: Arc<(Mutex<Shown>, Condvar)>,
    master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    program: Box<dyn Child + Send + Sync>,
}

/// What the program wrote, filled by a thread until nobody holds the terminal any more.
pub(crate) struct Shown {
    bytes: Vec<u8>,
    emulator: vt100::Parser,
    over: bool,
}

impl Terminal {
    pub(crate) fn open(command: &Command, columns: u16) -> Self {
        let argv = std::iter::once(command.get_program()).chain(command.get_args());
        let mut builder = CommandBuilder::from_argv(argv.map(Into::into).collect());
        builder.env_clear();
        builder.env("TERM", "xterm-256color");
        command.get_envs().for_each(|(name, value)| builder.env(name, value.unwrap()));
        builder.cwd(command.get_current_dir().unwrap());

        let size = PtySize { rows: 40, cols: columns, pixel_width: 0, pixel_height: 0 };
        let PtyPair { master, slave } = native_pty_system().openpty(size).unwrap();
        let program = slave.spawn_command(builder).unwrap();
        // Held by us, it would never be over.
        drop(slave);
        let emulator = vt100::Parser::new(ROWS, NonZeroU16::new(columns).unwrap(), 0);
        let shown = Arc::new((Mutex::new(Shown { bytes: Vec::new(), emulator, over: false }), Condvar::new()));
        let (mut reader, filled) = (master.try_clone_reader().unwrap(), Arc::clone(&shown));
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            let mut over = false;
            while !over {
                // A terminal that nobody holds fails instead of ending.
                let read = reader.read(&mut piece).unwrap_or(0);
                over = read == 0;
                let mut shown = filled.0.lock().unwrap();
                shown.bytes.extend_from_slice(&piece[..read]);
                shown.emulator.process(&piece[..read]);
                shown.over = over;
                filled.1.notify_all();
            }
        });
        let keyboard = master.take_writer().unwrap();
        Self { shown, master, keyboard, program }
    }

    /// Makes the terminal so many columns wide.
    pub(crate) fn resize(&self, columns: u16) {
        let size = PtySize { rows: 40, cols: columns, pixel_width: 0, pixel_height: 0 };
        let mut shown = self.shown.0.lock().unwrap();
        shown.emulator.screen_mut().set_size(ROWS, NonZeroU16::new(columns).unwrap());
        self.master.resize(size).unwrap();
    }

    pub(crate) fn type_text(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    /// Sends a signal to the program.
    pub(crate) fn kill(&self, signal: &str) {
        let id = self.program.process_id().unwrap().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
    }

    /// Types `text` at the question, once it is there.
    #[track_caller]
    pub(crate) fn answer(&mut self, text: &str) {
        self.wait_for(CHOICES);
        self.type_text(text);
    }

    /// Types `text` at each question until the program ends.
    #[track_caller]
    pub(crate) fn answer_all(&mut self, text: &str) {
        for asked in 1.. {
            self.wait_until(|shown| shown.over || shown.screen().matches(CHOICES).count() >= asked);
            if self.shown.0.lock().unwrap().over {
                return;
            }
            self.type_text(text);
        }
    }

    /// Waits until `text` is on the screen.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        self.wait_for_times(text, 1);
    }

    /// Waits until `text` is on the screen so many times.
    #[track_caller]
    pub(crate) fn wait_for_times(&self, text: &str, times: usize) {
        // Looked at once: what is drawn next may be something else.
        let is_there = std::cell::Cell::new(false);
        self.wait_until(|shown| {
            is_there.set(shown.screen().matches(text).count() >= times);
            shown.over || is_there.get()
        });
        assert!(is_there.get(), "{text:?} is not there {times} times: {}", self.screen());
    }

    /// Waits until the program has ended and nothing it started writes any more; gives its exit code.
    #[track_caller]
    pub(crate) fn wait_exit(&mut self) -> u32 {
        self.wait_until(|shown| shown.over);
        self.program.wait().unwrap().exit_code()
    }

    #[track_caller]
    pub(crate) fn wait_until(&self, enough: impl Fn(&Shown) -> bool) {
        let (shown, changed) = &*self.shown;
        let waited = changed.wait_timeout_while(shown.lock().unwrap(), PATIENCE, |shown| !enough(shown));
        let timed_out = waited.unwrap().1.timed_out();
        assert!(!timed_out, "what was waited for did not come; on the screen: {}", self.screen());
    }

    /// The model has the last word, on a line of its own, and the run ends well.
    #[track_caller]
    fn ends_well(&mut self) {
        self.wait_for("\nAll done.\n");
        assert_eq!(self.wait_exit(), 0, "{}", self.screen());
    }

    /// The run ends well after the one question, without the command, and says why.
    #[track_caller]
    fn ends_refused(&mut self, machine: &Machine) {
        assert_eq!(self.wait_exit(), 0, "{}", self.screen());
        for line in ["\n✗ bash touch made failed\n", "\nstopped, because you refused"] {
            assert!(self.screen().contains(line), "{line:?} is not in: {}", self.screen());
        }
        assert_eq!((self.times(CHOICES), self.times("All done.")), (1, 0), "{}", self.screen());
        assert!(!machine.project().join("made").exists() && !machine.project().join("more").exists());
    }

    pub(crate) fn times(&self, text: &str) -> usize {
        self.screen().matches(text).count()
    }

    pub(crate) fn screen(&self) -> String {
        self.shown.0.lock().unwrap().screen()
    }

    /// Whether it shows what is typed, as it does until a program says otherwise.
    pub(crate) fn echoes(&self) -> bool {
        let flags = format!("{:?}", self.master.get_termios().unwrap().local_flags);
        flags.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|flag| flag == "ECHO")
    }

    /// What the program really wrote.
    pub(crate) fn bytes(&self) -> String {
        String::from_utf8_lossy(&self.shown.0.lock().unwrap().bytes).into_owned()
    }
}

impl Shown {
    /// What was written, codes and all.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// What a person sees: wrapped lines are whole again, colours and empty lines at the end are gone.
    fn screen(&self) -> String {
        self.emulator.screen().contents()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It has ended, unless the test failed.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}
