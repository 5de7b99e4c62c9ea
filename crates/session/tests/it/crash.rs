//! Whatever prefix of a session's events a crash leaves, it opens, and what a model is then sent is valid.

use std::collections::HashSet;

use haft_llm::{Answer, AssistantPart, Message, Request, Step};
use haft_protocol::{Event, Message as Stored};
use haft_session::{Prompt, Session, TurnEnd, assemble};
use haft_store::Journal;
use serde_json::json;

use crate::scene::{Scene, call, edit, says};

/// Why no model would take `request`, if one would not.
pub(crate) fn fault(request: &Request) -> Option<String> {
    let mut open: Vec<String> = Vec::new();
    for message in &request.messages {
        match &**message {
            Message::Tools { results } => {
                for result in results {
                    let Some(at) = open.iter().position(|id| *id == result.id) else {
                        return Some(format!("a result for {}, which nobody called", result.id));
                    };
                    open.remove(at);
                }
            }
            _ if !open.is_empty() => return Some(format!("no result for {open:?}")),
            Message::User { content } if content.is_empty() => return Some("an empty prompt".to_owned()),
            Message::Assistant { parts } if parts.is_empty() => return Some("an empty answer".to_owned()),
            Message::User { .. } => {}
            Message::Assistant { parts } => {
                let mut seen = HashSet::new();
                for part in parts {
                    if let AssistantPart::ToolCall { id, arguments, .. } = part {
                        if !seen.insert(id) {
                            return Some(format!("{id} was called twice"));
                        }
                        if !serde_json::from_str::<serde_json::Value>(arguments).is_ok_and(|value| value.is_object()) {
                            return Some(format!("arguments that are no object: {arguments}"));
                        }
                        open.push(id.clone());
                    }
                }
            }
        }
    }
    (!open.is_empty()).then(|| format!("no result for {open:?}"))
}

#[tokio::test]
async fn every_prefix_of_a_session_opens_and_is_valid() {
    let mut scene = Scene::with(&[("a.rs", "fn foo() {}\n")]);
    let broken = Step::Call { tool: "read".to_owned(), arguments: "[1, {".to_owned(), id: None };
    scene
        .model(vec![
            Step::Reasoning("Hm.".to_owned()),
            says("Reading."),
            call("read", json!({"filePath": "a.rs"})),
            call("bash", json!({"command": "echo one; echo two"})),
            broken,
        ])
        .model(vec![edit("foo", "bar"), call("reed", json!({"x": 1}))])
        .model(vec![says("Done.")])
        .model(vec![says("Again.")]);
    let mut heard = scene.journal.subscribe();
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    session.prompt(Prompt::text("again")).await.unwrap();
    let id = session.id().clone();
    let mut events: Vec<Event> = Vec::new();
    while let Ok(event) = heard.try_recv() {
        events.push(event);
    }
    assert!(events.len() > 40, "{} events", events.len());

    for cut in 1..=events.len() {
        let journal = Journal::memory();
        for event in &events[..cut] {
            journal.record(event.clone()).await.unwrap();
        }
        let mut left = Scene { journal: journal.clone(), ..Scene::with(&[]) };
        left.answers = (0..9).map(|_| Answer::new([says("Going on.")])).collect();
        let setup = left.setup();
        let opened = Session::open(setup.clone(), &id).await.unwrap();
        let history = journal.history(&id).await.unwrap();
        for turned in history.messages() {
            assert!(turned.parts.iter().all(|part| !part.is_open()), "cut at {cut}: something is open");
            if let Stored::Assistant(answer) = &turned.info {
                assert!(answer.time.completed.is_some(), "cut at {cut}: an answer is open");
            }
        }
        let request = assemble("", &history, &[], &setup.model);
        assert_eq!(fault(&request), None, "cut at {cut}");
        // And it goes on.
        let end = opened.prompt(Prompt::text("go on")).await.unwrap();
        assert_eq!(end, TurnEnd::Finished("stop".to_owned()), "cut at {cut}");
        let last = left.requests.lock().unwrap().pop().unwrap();
        assert_eq!(fault(&last), None, "cut at {cut}, going on");
    }
}
