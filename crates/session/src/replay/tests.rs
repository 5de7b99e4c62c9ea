//! What of a session can be done again, when, and with what.

use haft_protocol::{Clock, Event, History, Id, ToolState};
use serde_json::{Value, json};

use super::*;

/// A history of these messages: each is a role with what is special about it, and the kinds of its parts.
fn history(messages: &[(Value, &[Value])]) -> History {
    let clock = Clock::scripted(1);
    let session: haft_protocol::SessionId = clock.mint();
    let mut history = History::default();
    for (own, parts) in messages {
        let id: MessageId = clock.mint();
        let mut info = json!({
            "id": id, "sessionID": session, "time": {"created": 1}, "agent": "build", "model": {"providerID": "v", "modelID": "m"},
            "parentID": id, "modelID": "m", "providerID": "v", "mode": "build", "path": {"cwd": "/", "root": "/"}, "cost": 0.0,
            "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}},
        });
        info.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        let info = serde_json::from_value(info).unwrap();
        history.apply(&Event::MessageUpdated { session_id: session.clone(), info: Box::new(info) });
        for part in *parts {
            let own: haft_protocol::PartId = clock.mint();
            let mut whole = json!({"id": own, "sessionID": session, "messageID": id});
            whole.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
            let part = Box::new(serde_json::from_value(whole).unwrap());
            history.apply(&Event::PartUpdated { session_id: session.clone(), part, time: 1 });
        }
    }
    history
}

#[test]
fn a_replay_goes_on_where_nothing_depends_on_what_is_missing() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let user = json!({"role": "user"});
    let answer = json!({"role": "assistant"});
    let failed = json!({"role": "assistant", "error": {"name": "APIError", "data": {"message": "no luck"}}});
    let summary = json!({"role": "assistant", "summary": true});
    let call = json!({"type": "tool", "callID": "c1", "tool": "bash", "state": {
        "status": "error", "input": {}, "error": "stopped", "time": {"start": 1, "end": 2}}});
    let task = json!({"type": "subtask", "prompt": "p", "description": "d", "agent": "explore"});
    let words = [text("x")];
    let (first, second) = ((user.clone(), &words[..]), (answer.clone(), &words[..]));
    let check = |more: &[(Value, &[Value])], kept: usize, passed: usize, stop: Option<&str>| {
        let all = [&[first.clone(), second.clone()], more].concat();
        let Repeatable { history, passed: over, stop: why } = repeatable(&history(&all));
        assert_eq!((history.messages().len(), over.len()), (kept, passed), "{all:?}");
        assert_eq!(why.is_some(), stop.is_some(), "{why:?}");
        assert!(why.unwrap_or_default().contains(stop.unwrap_or_default()), "{all:?}");
    };
    check(&[], 2, 0, None);
    check(&[first.clone(), (failed.clone(), &words), first.clone(), second.clone()], 6, 0, None);
    let compaction = [json!({"type": "compaction", "auto": false})];
    check(&[(user.clone(), &compaction), (summary.clone(), &words), first.clone(), second.clone()], 4, 1, None);
    let overflow = [json!({"type": "compaction", "auto": true, "overflow": true})];
    let again = (user.clone(), &overflow[..]);
    check(&[first.clone(), (failed.clone(), &words), again, (summary.clone(), &words), second.clone()], 4, 2, None);
    check(&[first.clone(), (failed, &[call])], 2, 0, Some("with its calls of bash"));
    check(&[(user, &[task]), second.clone()], 4, 0, None);
}

#[test]
fn an_answer_that_failed_fails_again() {
    let failed = json!({"role": "assistant", "error": {"name": "MessageAbortedError", "data": {"message": "stopped"}}});
    let words = [json!({"type": "text", "text": "Half"})];
    let answers = answers(&history(&[(json!({"role": "user"}), &words), (failed, &words)]));
    let (answer, end) = &answers[0];
    assert_eq!(*end, End::Done);
    let said = format!("{:?}", answer.beats);
    assert!(said.contains("Text(\"Half\")") && said.contains("stopped") && !said.contains("Finish"), "{said}");
}

/// A call with its result.
fn call(id: &str, tool: &str, input: Value, output: &str, metadata: Value) -> Value {
    json!({"type": "tool", "callID": id, "tool": tool, "state": {
        "status": "completed", "input": input, "output": output, "title": "t", "metadata": metadata, "time": {"start": 1, "end": 2}}})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// A text of the program's own.
fn own(text: &str, metadata: Option<Value>) -> Value {
    let mut part = json!({"type": "text", "text": text, "synthetic": true});
    if let Some(metadata) = metadata {
        part["metadata"] = metadata;
    }
    part
}

const TASK: &str = "ses_ffe5dfc516cdeffeDn8wYAEJ52";

/// The notice of the end of [`TASK`].
fn notice() -> Value {
    own("it has ended", Some(json!({"task": TASK, "state": "completed", "title": "look"})))
}

/// A call that leaves [`TASK`] to itself.
fn behind() -> Value {
    call("b1", "task", json!({"prompt": "look"}), "running", json!({"background": true, "sessionId": TASK}))
}

/// Messages with one part each: `u` of the person, `a` of the model.
fn said(messages: &[(&str, Value)]) -> History {
    let parts: Vec<[Value; 1]> = messages.iter().map(|(_, part)| [part.clone()]).collect();
    let role = |who: &str| json!({"role": if who == "u" { "user" } else { "assistant" }});
    let whole: Vec<(Value, &[Value])> =
        messages.iter().zip(&parts).map(|((who, _), part)| (role(who), &part[..])).collect();
    history(&whole)
}

#[test]
fn what_was_done_is_done_at_its_place() {
    let check = |messages: &[(&str, Value)], want: &[&str]| {
        let told = |act: &Act| {
            let what = match &act.deed {
                Deed::Prompt { text, agent, .. } => format!("{agent}: {text}"),
                Deed::Task { command, agent } => {
                    format!("{agent} has {}: {}", command.agent.as_deref().unwrap_or_default(), command.template)
                }
                Deed::Shell(command) => format!("! {command}"),
                Deed::Ended(tasks) => format!("{} ended", tasks.len()),
            };
            let within = if act.within { " within" } else { "" };
            format!("{what}, {}..{}{within}", act.behind, act.until)
        };
        let got: Vec<String> = acts(&said(messages)).iter().map(told).collect();
        assert_eq!(got, want, "{messages:?}");
    };
    let bash = || call("c1", "bash", json!({"command": "ls"}), "a", json!({}));
    let by_hand = |tool: &str| {
        call(&format!("msg_0196f7c9d0017CdEfGhIjKlMnO_{tool}"), tool, json!({"command": "ls"}), "a", json!({}))
    };
    let task = || json!({"type": "subtask", "prompt": "look", "description": "d", "agent": "explore"});
    check(
        &[("u", text("one")), ("a", text("x")), ("u", text("two")), ("a", text("y"))],
        &["build: one, 0..1", "build: two, 1..2"],
    );
    check(
        &[("u", text("one")), ("a", bash()), ("u", text("two")), ("a", text("y"))],
        &["build: one, 0..2", "build: two, 1..2 within"],
    );
    // Nobody answered the first.
    check(&[("u", text("one")), ("u", text("two")), ("a", text("y"))], &["build: one, 0..0", "build: two, 0..1"]);
    check(&[("u", text("one")), ("a", text("x")), ("u", text("two"))], &["build: one, 0..1", "build: two, 1..1"]);
    check(
        &[("u", own("ran", None)), ("a", by_hand("bash")), ("u", text("one")), ("a", text("x"))],
        &["! ls, 0..0", "build: one, 0..1"],
    );
    check(
        &[
            ("u", task()),
            ("a", by_hand("task")),
            ("u", own("sum up", None)),
            ("a", text("x")),
            ("u", text("two")),
            ("a", text("y")),
        ],
        &["build has explore: look, 0..1", "build: two, 1..2"],
    );
    // It is told of in a turn of its own, while another runs, or nobody is told.
    let begun = [("u", text("one")), ("a", behind()), ("a", text("x"))];
    let with = |more: &[(&'static str, Value)]| [&begun[..], more].concat();
    check(&with(&[("u", notice()), ("a", text("y"))]), &["build: one, 0..2", "1 ended, 2..3"]);
    check(
        &with(&[("u", notice()), ("u", text("two")), ("a", text("y"))]),
        &["build: one, 0..2", "1 ended, 2..2", "build: two, 2..3"],
    );
    check(
        &[begun[0].clone(), begun[1].clone(), ("u", notice()), ("a", text("x"))],
        &["build: one, 0..2", "1 ended, 1..2 within"],
    );
    check(&begun, &["build: one, 0..2", "1 ended, 2..2"]);
}

#[test]
fn the_form_of_an_answer_is_asked_for_again() {
    let format = json!({"type": "json_schema", "schema": {"type": "object"}});
    let words = [text("one")];
    let acts = acts(&history(&[(json!({"role": "user", "format": format}), &words)]));
    assert!(matches!(&acts[0].deed, Deed::Prompt { format: Some(_), .. }), "{acts:?}");
}

/// The answers of a task with so many, made between those of the session above as `order` says: `s` for the session's, `t`
/// for the task's, `n` for the notice, and when they may be played.
#[test]
fn a_task_behind_a_session_keeps_step_with_it() {
    let check = |order: &str, want: &[Moment]| {
        let clock = Clock::scripted(1);
        let id = haft_protocol::SessionId::parse(TASK).unwrap();
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for who in order.chars() {
            let part = match who {
                'n' => notice(),
                _ if above.is_empty() => behind(),
                _ => text("x"),
            };
            let turned = dated(&clock, if who == 'n' { "user" } else { "assistant" }, part);
            if who == 't' { below.push(turned) } else { above.push(turned) }
        }
        let streams =
            streams((&clock.mint(), &above.into_iter().collect()), &[(&id, &below.into_iter().collect())], "", "");
        assert_eq!(streams[1].opens, want, "{order}");
        assert!(streams[0].opens.is_empty(), "{order}");
    };
    check("stsn", &[Moment::told(2)]);
    check("sttsns", &[Moment::asked(1), Moment::told(2)]);
    check("ststsnss", &[Moment::asked(1), Moment::told(3)]);
    // It was gone on with when it had ended, and the program ended before that was told.
    check("stntst", &[Moment::told(1), Moment::asked(1), Moment::asked(2)]);
    check("sts", &[Moment::told(2)]);
}

/// A message with one part and a time of its own.
fn dated(clock: &Clock, role: &str, part: Value) -> Turned {
    let (parts, own) = ([part], json!({"role": role}));
    let one = history(&[(own, &parts)]);
    let mut turned = one.messages()[0].clone();
    let id: MessageId = clock.mint();
    match &mut turned.info {
        Message::User(user) => (user.id, user.time.created) = (id, clock.now_ms()),
        Message::Assistant(answer) => (answer.id, answer.time.created) = (id, clock.now_ms()),
    }
    turned
}

#[test]
fn a_turn_goes_on_with_what_a_hook_said_and_behind_a_pause() {
    let because = || own("go on: a test fails", None);
    let check = |messages: &[(&str, Value)], want: &[(usize, &str)]| {
        let clock = Clock::scripted(1);
        let stream = streams((&clock.mint(), &said(messages)), &[], "", "").remove(0);
        let got: Vec<(usize, &str)> = stream.goes_on.iter().map(|(at, text)| (*at, text.as_str())).collect();
        assert_eq!(got, want, "{messages:?}");
    };
    let bash = || call("c1", "bash", json!({"command": "ls"}), "a", json!({}));
    check(&[("u", text("one")), ("a", text("x")), ("u", because()), ("a", text("y"))], &[(1, "go on: a test fails")]);
    // Behind a call, from a task, or where a person ran something, it was no hook.
    check(&[("u", text("one")), ("a", bash()), ("u", because()), ("a", text("y"))], &[]);
    check(&[("u", text("one")), ("a", text("x")), ("u", notice()), ("a", text("y"))], &[]);
    check(&[("u", text("one")), ("a", text("x")), ("u", own(crate::driver::BY_HAND, None))], &[]);
    // One prompt, two answers, no call: the vendor paused.
    let parent: MessageId = Clock::scripted(9).mint();
    let own = json!({"role": "assistant", "parentID": parent, "finish": "other"});
    let words = [text("x")];
    let answers = answers(&history(&[(json!({"role": "user"}), &words), (own.clone(), &words), (own, &words)]));
    let finish = |at: usize| format!("{:?}", answers[at].0.beats.last());
    assert!(finish(0).contains("pause_turn") && !finish(1).contains("pause_turn"), "{} {}", finish(0), finish(1));
}

#[test]
fn calls_are_held_against_those_that_they_were() {
    let check = |was: &[Value], is: &[Value], want: (usize, usize, Option<&str>)| {
        let turn = |parts: &[Value]| {
            history(&[(json!({"role": "user"}), &[text("go")]), (json!({"role": "assistant"}), parts)])
        };
        let passes = |tool: &str, _: &Value| (tool == "far").then_some("it was not called again");
        let ways = Ways { was: Normal::default(), is: Normal::default(), passes: &passes };
        let got = compare(&turn(was), &turn(is), &ways);
        let what = got.difference.as_ref().map(|difference| difference.what.as_str());
        assert_eq!((got.same, got.skipped.len(), what), want, "{was:?} {is:?}");
    };
    let one = |id: &str, tool: &str, of: &str, gave: &str| call(id, tool, json!({"path": of}), gave, json!({}));
    let (a, b) = (|id: &str| one(id, "read", "a", "A"), |id: &str| one(id, "read", "b", "B"));
    let program = || one("p", "execute", "", "done");
    check(&[a("c1")], &[a("c1")], (1, 0, None));
    check(&[a("c1")], &[one("c1", "read", "a", "other")], (0, 0, Some("read a")));
    check(&[a("c1"), b("c2")], &[a("c1")], (1, 0, Some("read b")));
    // The calls that a program makes may come in another order.
    check(&[program(), a("i1_p"), b("i2_p")], &[program(), b("i1_p"), a("i2_p")], (3, 0, None));
    check(&[one("c1", "far", "a", "A")], &[one("c1", "far", "a", "B")], (0, 1, None));
    // Which file was changed last is not known of those that were put back.
    check(&[one("c1", "glob", "", "a\nb")], &[one("c1", "glob", "", "b\na")], (1, 0, None));
    check(&[one("c1", "glob", "", "a\nb")], &[one("c1", "glob", "", "b\nc")], (0, 0, Some("glob")));
    check(&[one("c1", "read", "a", "a\nb")], &[one("c1", "read", "a", "b\na")], (0, 0, Some("read a")));
    // What a person ran has the id of another message each time.
    let by_hand =
        |id: &str, gave: &str| call(&format!("msg_{id}_bash"), "bash", json!({"command": "ls"}), gave, json!({}));
    let (old, new) = ("0196f7c9d0017CdEfGhIjKlMnO", "0196f7c9d0027CdEfGhIjKlMnO");
    check(&[by_hand(old, "a")], &[by_hand(new, "a")], (1, 0, None));
    check(&[by_hand(old, "a")], &[by_hand(new, "b")], (0, 0, Some("bash ls")));
}

#[test]
fn what_came_of_a_call_is_found_again() {
    let denied = json!({"type": "tool", "callID": "c2", "tool": "bash", "state": {
        "status": "error", "input": {"command": "rm /was/x"}, "error": "the user refused this call", "time": {"start": 1, "end": 2},
        "metadata": {"kind": "denied"}}});
    let asked = call("c3", "question", json!({}), "so", json!({"answers": [["Yes"]]}));
    let far = |id: &str, of: &str| call(id, "far", json!({"of": of}), &format!("about {of}"), json!({}));
    let parts = [
        denied,
        asked,
        far("i4_p", "/was/a"),
        far("i5_p", "b"),
        call("c6", haft_tool::INVALID, json!({}), "", json!({})),
    ];
    let results = Results::of([&history(&[(json!({"role": "assistant"}), &parts)])], "/was", "/is");
    assert_eq!(results.tools().into_iter().collect::<Vec<_>>(), ["bash", "far", "question"]);
    assert_eq!(results.denial("bash", "c2", &json!({"command": "rm /is/x"})), Some("the user refused this call"));
    assert_eq!(results.denial("bash", "c9", &json!({"command": "rm /is/x"})), None);
    assert_eq!(results.denial("question", "c3", &json!({})), None);
    assert_eq!((results.answers("c3"), results.answers("c2")), (Some(vec![vec!["Yes".to_owned()]]), None));
    let gave = |id: &str, of: &str| match &results.find("far", id, &json!({"of": of}), true)?.state {
        ToolState::Completed { output, .. } => Some(output.clone()),
        _ => None,
    };
    assert_eq!(gave("i4_p", "/is/a").as_deref(), Some("about /is/a"));
    // In another order it has another number.
    assert_eq!(gave("i4_p", "b").as_deref(), Some("about b"));
    assert_eq!(gave("i9_p", "c"), None);
}
