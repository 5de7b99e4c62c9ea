use super::*;
use expect_test::{Expect, expect};
use haft_protocol::{Clock, History, Object, Span, ToolSpan};

use super::super::story::story;

/// Shows `events`; prints what came out where, without the time it took.
#[track_caller]
fn check(terminal: bool, session: &SessionId, events: &[Event], want: Expect) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut shown = Text::new(&mut out, &mut err, terminal, false, Paint::new(false), Clock::scripted(1));
    shown.head("build", "v/m");
    events.iter().for_each(|event| shown.show(event));
    shown.end(session, false).unwrap();
    let (out, err) = (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap());
    let timeless = |text: &str| -> String {
        text.lines()
            .filter(|line| !line.is_empty() && !line.ends_with(" s"))
            .map(|line| format!("  {line}\n"))
            .collect()
    };
    want.assert_eq(&format!("stdout\n{}stderr\n{}", timeless(&out), timeless(&err)));
}

#[test]
fn a_terminal_gets_everything_as_it_comes() {
    let (session, events) = story();
    check(
        true,
        &session,
        &events,
        expect![[r#"
            stdout
              > build · v/m
              Let me look.
              → Read a.rs
              All is well.
            stderr
        "#]],
    );
}

#[test]
fn a_pipe_gets_the_final_answer_alone() {
    let (session, events) = story();
    check(
        false,
        &session,
        &events,
        expect![[r#"
            stdout
              All is well.
            stderr
              > build · v/m
              Let me look.
              → Read a.rs
        "#]],
    );
}

#[test]
fn a_command_is_shown_when_it_begins_and_its_output_below() {
    let clock = Clock::scripted(1);
    let (session, events) = story();
    let message = match &events[0] {
        Event::MessageUpdated { info, .. } => info.id().clone(),
        other => panic!("{other:?}"),
    };
    let input = serde_json::json!({"command": "make test"});
    let time = ToolSpan::default();
    let running = || ToolState::Running {
        input: input.clone(),
        title: Some("Test".to_owned()),
        metadata: Some(Object::new()),
        time: Span::default(),
    };
    let output = serde_json::json!({"output": "ok\n", "exit": 0}).as_object().unwrap().clone();
    let completed = || ToolState::Completed {
        input: input.clone(),
        output: String::new(),
        title: "Test".to_owned(),
        metadata: output.clone(),
        time,
        attachments: Vec::new(),
    };
    let event = |id: &PartId, state: ToolState| Event::PartUpdated {
        session_id: session.clone(),
        part: Box::new(Part {
            id: id.clone(),
            session_id: session.clone(),
            message_id: message.clone(),
            kind: PartKind::Tool {
                call_id: "c".to_owned(),
                tool: "bash".to_owned(),
                state: Box::new(state),
                metadata: None,
            },
        }),
        time: 1,
    };
    let (one, two): (PartId, PartId) = (clock.mint(), clock.mint());
    let alone = [events[0].clone(), event(&one, running()), event(&one, running()), event(&one, completed())];
    check(
        true,
        &session,
        &alone,
        expect![[r#"
        stdout
          > build · v/m
          $ make test …
            ok
        stderr
    "#]],
    );
    let beside = [
        events[0].clone(),
        event(&one, running()),
        event(&two, running()),
        event(&one, completed()),
        event(&two, completed()),
    ];
    check(
        true,
        &session,
        &beside,
        expect![[r#"
        stdout
          > build · v/m
          $ make test …
          $ make test …
          $ make test
            ok
          $ make test
            ok
        stderr
    "#]],
    );
}

#[test]
fn what_is_seen_twice_is_shown_once() {
    let (session, events) = story();
    // A listener that stopped after `seen` events reads the store as it is after `stored` of them, and then still
    // gets those it missed.
    for (seen, stored) in [(0, 3), (3, 4), (3, 5), (4, 5), (4, 6), (5, 9), (2, 11), (9, 11), (0, events.len())] {
        let mut history = History::default();
        events[..stored].iter().for_each(|event| history.apply(event));
        for terminal in [true, false] {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let mut shown = Text::new(&mut out, &mut err, terminal, false, Paint::new(false), Clock::scripted(1));
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
            shown.end(&session, false).unwrap();
            let all = String::from_utf8([err, out].concat()).unwrap();
            for words in ["Let me look.", "→ Read a.rs", "All is well."] {
                assert_eq!(all.matches(words).count(), 1, "{words:?} after {seen}, {stored} in: {all}");
            }
        }
    }
}

#[test]
fn a_try_that_failed_is_no_part_of_the_answer() {
    let (session, events) = story();
    let (half, whole) = (&events[2..6], &events[9..]);
    let Event::PartUpdated { part, .. } = &events[2] else { panic!("{:?}", events[2]) };
    let (message_id, part_id) = (part.message_id.clone(), part.id.clone());
    let status = Status::Retry { attempt: 1, message: "cut\noff".to_owned(), next: 2_500 };
    let mut told = vec![events[0].clone(), events[7].clone(), events[1].clone()];
    told.extend_from_slice(half);
    told.push(Event::PartRemoved { session_id: session.clone(), message_id, part_id });
    told.push(Event::SessionStatus { session_id: session.clone(), status });
    told.extend_from_slice(whole);
    check(
        false,
        &session,
        &told,
        expect![[r#"
        stdout
          All is well.
        stderr
          > build · v/m
          … try 2 in 3 s: cut off
    "#]],
    );
}
