//! What of a session can be done again.

use haft_protocol::{Clock, Event, History};
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
    check(&[(user.clone(), &compaction), (summary, &words), first.clone(), second.clone()], 4, 1, None);
    check(&[first.clone(), (failed, &[call])], 2, 0, Some("with its calls of bash"));
    check(&[(user, &[task]), second.clone()], 2, 0, Some("a command was a task"));
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
