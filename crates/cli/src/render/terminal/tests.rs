use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use haft_protocol::{Clock, History, Span, ToolSpan};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::markdown::Markdown;
use super::super::story::story;
use super::*;

/// A terminal that remembers what scrolled away.
#[derive(Clone)]
struct Emulated(Arc<Mutex<vt100::Parser>>);

impl Emulated {
    fn new(columns: u16, rows: u16) -> Self {
        let size = |number| NonZeroU16::new(number).unwrap();
        Self(Arc::new(Mutex::new(vt100::Parser::new(size(rows), size(columns), 10_000))))
    }

    fn console(&self) -> Console<Self> {
        let (rows, columns) = self.0.lock().unwrap().screen().size();
        let size = Size { columns: columns.get().into(), rows: rows.get().into() };
        Console::of_size(self.clone(), move || size)
    }

    /// Everything that was ever printed and is still there, a row each, empty ones at the end left out.
    fn rows(&self) -> Vec<String> {
        let mut parser = self.0.lock().unwrap();
        let columns = parser.screen().size().1.get();
        parser.screen_mut().set_scrollback(usize::MAX);
        let hidden = parser.screen().scrollback();
        let mut rows = Vec::new();
        for back in (1..=hidden).rev() {
            parser.screen_mut().set_scrollback(back);
            rows.extend(parser.screen().rows(0, columns).next());
        }
        parser.screen_mut().set_scrollback(0);
        rows.extend(parser.screen().rows(0, columns));
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }
}

impl Write for Emulated {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(bytes).replace('\n', "\r\n");
        self.0.lock().unwrap().process(text.as_bytes());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What is on the screen, without the sign of work and the time.
fn timeless(emulated: &Emulated) -> String {
    let still = |row: String| {
        let row: String = row.chars().map(|c| if SIGNS.contains(&c) { '*' } else { c }).collect();
        match row.ends_with(" s") {
            true => row.trim_end_matches(|c: char| c == 's' || c == ' ' || c == '.' || c.is_ascii_digit()).to_owned(),
            false => row,
        }
    };
    emulated.rows().into_iter().map(still).collect::<Vec<_>>().join("\n")
}

fn terminal(emulated: &Emulated) -> Terminal<Emulated> {
    let mut shown = Terminal::new(emulated.console(), false, Paint::OFF, Clock::scripted(1));
    shown.head("build", "v/m");
    shown
}

#[track_caller]
fn sees(emulated: &Emulated, want: Expect) {
    want.assert_eq(&timeless(emulated));
}

/// The part `id` of the message of `like`, as it became.
fn changed(like: &Event, id: &PartId, kind: PartKind) -> Event {
    let Event::MessageUpdated { session_id, info } = like else { panic!("{like:?}") };
    let part = Part { id: id.clone(), session_id: session_id.clone(), message_id: info.id().clone(), kind };
    Event::PartUpdated { session_id: session_id.clone(), part: Box::new(part), time: 1 }
}

fn call(tool: &str, state: ToolState) -> PartKind {
    PartKind::Tool { call_id: "c".to_owned(), tool: tool.to_owned(), state: Box::new(state), metadata: None }
}

fn running(command: &str, output: &str) -> ToolState {
    let metadata = json!({ "output": output }).as_object().cloned();
    ToolState::Running { input: json!({ "command": command }), title: None, metadata, time: Span::default() }
}

fn completed(command: &str, output: &str) -> ToolState {
    ToolState::Completed {
        input: json!({ "command": command }),
        output: String::new(),
        title: String::new(),
        metadata: json!({ "output": output, "exit": 0 }).as_object().cloned().unwrap(),
        time: ToolSpan::default(),
        attachments: Vec::new(),
    }
}

#[test]
fn a_run_leaves_words_and_calls_and_nothing_that_moved() {
    let emulated = Emulated::new(60, 12);
    let (session, events) = story();
    let mut shown = terminal(&emulated);
    for event in &events {
        shown.show(event);
        shown.tick();
    }
    shown.end(&session, false);
    sees(
        &emulated,
        expect![[r#"
            > build · v/m

            Let me look.

            → Read a.rs

            All is well.

        "#]],
    );
}

#[test]
fn a_command_at_work_shows_its_last_lines_until_it_ended() {
    let emulated = Emulated::new(60, 30);
    let (session, events) = story();
    let clock = Clock::scripted(1);
    let (one, two): (PartId, PartId) = (clock.mint(), clock.mint());
    let mut shown = terminal(&emulated);
    let show = |shown: &mut Terminal<Emulated>, id: &PartId, state: ToolState| {
        shown.show(&changed(&events[0], id, call("bash", state)));
        shown.tick();
    };
    shown.show(&events[0]);
    let output: String = (0..9).map(|n| format!("line {n}\n")).collect();
    show(&mut shown, &one, running("make test", &output));
    show(&mut shown, &two, running("sleep 5", ""));
    sees(
        &emulated,
        expect![[r#"
        > build · v/m

        * $ make test ·
          line 4
          line 5
          line 6
          line 7
          line 8
        * $ sleep 5 ·"#]],
    );
    show(&mut shown, &one, completed("make test", "all is well\n"));
    sees(
        &emulated,
        expect![[r#"
        > build · v/m

        $ make test
          all is well
        * $ sleep 5 ·"#]],
    );
    show(&mut shown, &two, completed("sleep 5", ""));
    shown.end(&session, false);
    sees(
        &emulated,
        expect![[r#"
        > build · v/m

        $ make test
          all is well
        $ sleep 5

    "#]],
    );
}

#[test]
fn who_is_at_work_is_said() {
    let emulated = Emulated::new(60, 10);
    let (session, events) = story();
    let clock = Clock::scripted(1);
    let id: PartId = clock.mint();
    let mut shown = terminal(&emulated);
    let row = |shown: &mut Terminal<Emulated>, event: Event, want: &str| {
        shown.show(&event);
        shown.tick();
        let screen = timeless(&emulated);
        assert_eq!(screen.lines().last().unwrap(), want, "{screen}");
    };
    let status = |status| Event::SessionStatus { session_id: session.clone(), status };
    row(&mut shown, status(Status::Busy), "* v/m ·");
    shown.show(&events[0]);
    let pending = ToolState::Pending { input: Object::new(), raw: String::new() };
    row(&mut shown, changed(&events[0], &id, call("edit", pending)), "* v/m writes a call of edit ·");
    let retry = Status::Retry { attempt: 1, message: "slow down".to_owned(), next: 0 };
    row(&mut shown, status(retry), "* try 2: slow down");
    let retry = Status::Retry { attempt: 2, message: "slow\ndown".to_owned(), next: 60_000 };
    row(&mut shown, status(retry), "* try 3 in 60 s: slow down · Ctrl-C stops");
    row(&mut shown, status(Status::Idle), "> build · v/m");
    assert_eq!(shown.due(), None, "nothing moves any more");
}

#[test]
fn who_asks_finds_the_screen_free() {
    let emulated = Emulated::new(60, 10);
    let (_, events) = story();
    let clock = Clock::scripted(1);
    let mut shown = terminal(&emulated);
    shown.show(&events[0]);
    shown.show(&changed(&events[0], &clock.mint(), call("bash", running("ls", "a\nb\n"))));
    shown.tick();
    shown.step_aside();
    assert_eq!(emulated.rows(), ["> build · v/m"]);
    // Whoever asks writes below, and the call is shown again behind it.
    emulated.clone().write_all(b"? yes\n").unwrap();
    shown.tick();
    sees(
        &emulated,
        expect![[r#"
        > build · v/m
        ? yes
        * $ ls ·
          a
          b"#]],
    );
    drop(shown);
    assert_eq!(emulated.rows(), ["> build · v/m", "? yes"]);
}

#[test]
fn many_events_make_few_frames() {
    #[derive(Clone, Default)]
    struct Counted(Arc<Mutex<usize>>);
    impl Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            *self.0.lock().unwrap() += 1;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (session, events) = story();
    let frames = Counted::default();
    let mut shown = Terminal::new(
        Console::of_size(frames.clone(), || Size { columns: 80, rows: 24 }),
        false,
        Paint::ON,
        Clock::scripted(1),
    );
    let started = Instant::now();
    // The words of the first answer begin, and grow by 200 kB.
    events[..3].iter().for_each(|event| shown.show(event));
    let Event::PartDelta { session_id, message_id, part_id, field, .. } = events[3].clone() else { panic!() };
    for _ in 0..10_000 {
        let delta = "Twenty bytes, no end ".to_owned();
        let (session_id, message_id) = (session_id.clone(), message_id.clone());
        shown.show(&Event::PartDelta { session_id, message_id, part_id: part_id.clone(), field: field.clone(), delta });
    }
    shown.end(&session, false);
    let most = started.elapsed().as_millis() / FRAME.as_millis() + 3;
    let frames = *frames.0.lock().unwrap();
    assert!(frames as u128 <= most, "{frames} frames, at most {most} in this time");
}

#[test]
fn what_is_seen_twice_is_shown_once() {
    let (session, events) = story();
    // As in the test of `Text`: seen live, read from the store, and then told late.
    for (seen, stored) in [(0, 3), (3, 4), (3, 5), (4, 5), (4, 6), (5, 9), (2, 11), (9, 11), (0, events.len())] {
        let mut history = History::default();
        events[..stored].iter().for_each(|event| history.apply(event));
        let emulated = Emulated::new(60, 40);
        let mut shown = terminal(&emulated);
        events[..seen].iter().for_each(|event| shown.show(event));
        for turned in history.messages() {
            let (session_id, info) = (session.clone(), Box::new(turned.info.clone()));
            shown.show_stored(&Event::MessageUpdated { session_id, info });
            for part in &turned.parts {
                let (session_id, part) = (session.clone(), Box::new(part.clone()));
                shown.show_stored(&Event::PartUpdated { session_id, part, time: 1 });
            }
        }
        events[seen..].iter().for_each(|event| shown.show(event));
        shown.end(&session, false);
        let all = emulated.rows().join("\n");
        for words in ["Let me look.", "→ Read a.rs", "All is well."] {
            assert_eq!(all.matches(words).count(), 1, "{words:?} after {seen}, {stored} in: {all}");
        }
    }
}

/// Text with everything that takes room: lists, tables, code, words that do not fit.
const ANSWER: &str = "# What I found\n\nThe parser **fails** on `a | b` since the last change, and it does so for every line that is longer than the screen.\n\n1. first\n   - deeper\n   - and deeper still, with words that have to be broken\n2. second\n\n| file | lines | what |\n|------|------:|------|\n| a.rs | 12 | the parser, which is where it all begins |\n| b.rs | 1200 | 漢字 |\n\n```rust\nfn main() {\n    println!(\"{}\", 1);\n}\n```\n\n> Quoted\n> twice\n\nDone.";

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_screen_is_what_printing_it_at_once_would_be(
        sizes in prop::collection::vec(1_usize..60, 1..8), rows in 4_u16..40, columns in 12_u16..90, look_every in 1_usize..5,
    ) {
        let emulated = Emulated::new(columns, rows);
        let (session, events) = story();
        let mut shown = Terminal::new(emulated.console(), false, Paint::ON, Clock::scripted(1));
        events[..3].iter().for_each(|event| shown.show(event));
        let Event::PartDelta { session_id, message_id, part_id, field, .. } = events[3].clone() else { panic!() };
        let (mut rest, mut count) = (ANSWER, 0);
        for size in sizes.iter().cycle() {
            let end = (*size..rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
            let delta = rest[..end].to_owned();
            rest = &rest[end..];
            let (session_id, message_id) = (session_id.clone(), message_id.clone());
            shown.show(&Event::PartDelta { session_id, message_id, part_id: part_id.clone(), field: field.clone(), delta });
            count += 1;
            if count % look_every == 0 {
                shown.tick();
            }
            if rest.is_empty() {
                break;
            }
        }
        let width = shown.columns();
        shown.end(&session, false);

        let plain = Emulated::new(columns, rows);
        let mut markdown = Markdown::new(Look { columns: width, paint: Paint::ON });
        markdown.push(ANSWER);
        for line in markdown.end() {
            plain.clone().write_all(format!("{line}\n").as_bytes()).unwrap();
        }
        let mut seen = emulated.rows();
        // What was used, and the empty line before it.
        seen.truncate(seen.len() - 2);
        prop_assert_eq!(seen, plain.rows());
    }
}

#[test]
fn a_value_of_any_form_is_shown() {
    let emulated = Emulated::new(40, 8);
    let (session, events) = story();
    let clock = Clock::scripted(1);
    let mut shown = terminal(&emulated);
    shown.show(&events[0]);
    for input in [Value::Null, json!([1]), json!({"command": 5}), json!("\u{1b}[2J")] {
        let state = ToolState::Running { input, title: None, metadata: None, time: Span::default() };
        shown.show(&changed(&events[0], &clock.mint(), call("\u{1b}[2Jbash", state)));
        shown.tick();
    }
    shown.end(&session, false);
}

#[test]
fn words_of_a_try_that_failed_are_marked() {
    let emulated = Emulated::new(60, 10);
    let (session, events) = story();
    let mut shown = terminal(&emulated);
    // The first words of the story, whole or half, are taken back; then it is told again.
    let Event::PartUpdated { part, .. } = &events[2] else { panic!("{:?}", events[2]) };
    let (message_id, part_id) = (part.message_id.clone(), part.id.clone());
    shown.show(&events[7]);
    events[..5].iter().for_each(|event| shown.show(event));
    shown.show(&Event::PartRemoved { session_id: session.clone(), message_id, part_id });
    events[9..].iter().for_each(|event| shown.show(event));
    shown.end(&session, false);
    sees(
        &emulated,
        expect![[r#"
        > build · v/m

        Let me look.

        (this answer broke off; it is asked for again)

        All is well.

    "#]],
    );
}
