//! Conversations that become too long, and what takes their place.

use expect_test::expect;
use haft_llm::{FailKind, Failing, Purpose, Request, Step, Usage};
use haft_protocol::{Event, Message, PartKind, Status, ToolState};
use haft_session::{Compaction, Limits, Prompt, Session, SessionError, TurnEnd, TurnError};
use serde_json::json;

use crate::scene::{Scene, agent, call, says, transcript, until, words};

/// About so many tokens of words, which begin with `head`.
fn long(head: &str, tokens: usize) -> String {
    format!("{head} {}", "long ".repeat(tokens * 36 / 50))
}

fn fails(kind: FailKind) -> Step {
    Step::Fail(Failing::new(kind, "no"))
}

/// A model with room for about 6,000 tokens of conversation.
fn small() -> Scene {
    let mut scene = Scene::with(&[]);
    scene.limits = Limits { context: 10_000, input: 0, output: 1_000 };
    scene
}

/// The messages of a request: who, and the first words.
fn heads(request: &Request) -> Vec<String> {
    words(request).iter().map(|text| text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")).collect()
}

fn requests(scene: &Scene) -> Vec<Request> {
    scene.requests.lock().unwrap().clone()
}

async fn stored(scene: &Scene, session: &Session) -> String {
    let history = scene.journal.history(session.id()).await.unwrap();
    let short = |line: &str| format!("{}\n", line.chars().take(60).collect::<String>().trim_end());
    transcript(&history).lines().map(short).collect()
}

fn finished() -> TurnEnd {
    TurnEnd::Finished("stop".to_owned())
}

#[tokio::test]
async fn a_request_that_would_be_too_long_is_made_shorter_before_it_is_sent() {
    let mut scene = small();
    scene.model(vec![says("One.")]).model(vec![says("Two.")]).model(vec![says("Three.")]);
    scene.serving(
        Purpose::Compaction,
        vec![says("## Goal\nThe notes."), Step::Usage(Usage { input: 9, ..Usage::default() })],
    );
    let session = scene.session().await;
    let mut events = scene.journal.subscribe();
    session.prompt(Prompt::text(long("first", 4_000))).await.unwrap();
    assert_eq!(session.prompt(Prompt::text(long("second", 3_000))).await.unwrap(), finished());
    assert_eq!(session.prompt(Prompt::text("third")).await.unwrap(), finished());
    let all = requests(&scene);
    assert_eq!(
        all.iter().map(|request| request.purpose).collect::<Vec<_>>(),
        [Purpose::Step, Purpose::Compaction, Purpose::Step, Purpose::Step]
    );
    // Without tools, with the conversation as material.
    assert!(all[1].tools.is_empty() && all[1].system.contains("## Failed attempts"), "{:?}", all[1].system);
    let asked = words(&all[1]).concat();
    assert!(asked.starts_with("user: <conversation>\n[User]: first long"), "{asked}");
    assert!(!asked.contains("second") && asked.contains("at most 1"), "{asked}");
    // The notes stand first, the answer before the prompt and the prompt follow word for word.
    assert_eq!(heads(&all[2]), ["user: This conversation", "model: One.", "user: second long"]);
    let notes = &words(&all[2])[0];
    assert!(notes.contains("<notes>\n## Goal\nThe notes.\n</notes>") && notes.contains("word for word"), "{notes}");
    // What comes later begins with the same.
    assert_eq!(all[2].messages[..], all[3].messages[..3]);
    expect![[r#"
        user
          text: first long long long long long long long long long l
        model [stop]
          text: One.
        user
          text: second long long long long long long long long long
        user
          compaction, auto true
        model [stop]
          text: ## Goal
        The notes.
        model [stop]
          text: Two.
        user
          text: third
        model [stop]
          text: Three.
    "#]]
    .assert_eq(&stored(&scene, &session).await);
    // What it cost is in the sum.
    let record = scene.journal.session(session.id()).await.unwrap().unwrap();
    assert_eq!((record.tokens.input, record.time.compacting), (9, None));
    let mut seen = Vec::new();
    while let Ok(event) = events.try_recv() {
        match event {
            Event::SessionUpdated { info, .. } if info.time.compacting.is_some() => seen.push("compacting"),
            Event::SessionCompacted { .. } => seen.push("compacted"),
            _ => {}
        }
    }
    assert_eq!(seen.last(), Some(&"compacted"));
    assert!(seen.contains(&"compacting"));
}

#[tokio::test]
async fn a_vendor_that_refuses_a_request_as_too_long_gets_a_shorter_one() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![says("One.")]).model(vec![fails(FailKind::TooLong)]).model(vec![says("Two.")]);
    scene.serving(Purpose::Compaction, vec![says("Notes.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text(long("first", 9_000))).await.unwrap();
    assert_eq!(session.prompt(Prompt::text("second")).await.unwrap(), finished());
    expect![[r#"
        user
          text: first long long long long long long long long long l
        model [stop]
          text: One.
        user
          text: second
        model [unfinished error: ContextOverflowError]
        user
          compaction, auto true
        model [stop]
          text: Notes.
        model [stop]
          text: Two.
    "#]]
    .assert_eq(&stored(&scene, &session).await);
    let all = requests(&scene);
    assert_eq!(heads(&all[3]), ["user: This conversation", "model: One.", "user: second"]);
}

#[tokio::test]
async fn files_that_were_too_much_are_only_named_when_the_prompt_is_asked_again() {
    let mut scene = Scene::with(&[]);
    std::fs::write(scene.project().join("a.pdf"), "%PDF-1.4\n").unwrap();
    scene.model(vec![says("One.")]).model(vec![fails(FailKind::TooLong)]).model(vec![says("Two.")]);
    scene.serving(Purpose::Compaction, vec![says("Notes.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("first")).await.unwrap();
    let prompt = Prompt::with_files("look", vec![scene.project().join("a.pdf")]).await.unwrap();
    assert_eq!(session.prompt(prompt).await.unwrap(), finished());
    let last = words(requests(&scene).last().unwrap());
    assert_eq!(last.len(), 2, "{last:?}");
    assert!(last[1].starts_with("user: look | ") && last[1].contains("[Attached application/pdf: a.pdf]"), "{last:?}");
}

#[tokio::test]
async fn old_outputs_are_left_out_first_and_that_may_be_enough() {
    let text = "a line of text\n".repeat(500);
    let mut scene = Scene::with(&[("a.txt", &text), ("b.txt", &text), ("c.txt", &text)]);
    scene.limits = Limits { context: 11_000, input: 0, output: 1_000 };
    for name in ["a.txt", "b.txt", "c.txt"] {
        scene.model(vec![call("read", json!({ "filePath": name }))]);
    }
    scene.model(vec![says("Done.")]);
    let session = scene.session().await;
    assert_eq!(session.prompt(Prompt::text("go")).await.unwrap(), finished());
    let all = requests(&scene);
    assert!(all.iter().all(|request| request.purpose == Purpose::Step));
    let results = |request: &Request| -> Vec<String> {
        let results = request.messages.iter().filter_map(|message| match &**message {
            haft_llm::Message::Tools { results } => Some(format!("{:?}", results[0].content)),
            _ => None,
        });
        results.map(|text| if text.contains("left out") { "note".to_owned() } else { "output".to_owned() }).collect()
    };
    assert_eq!(results(&all[2]), ["output", "output"]);
    assert_eq!(results(&all[3]), ["note", "output", "output"]);
    // People can still read it.
    let history = scene.journal.history(session.id()).await.unwrap();
    let Some(ToolState::Completed { output, time, .. }) = history.messages()[1].parts[1].kind.state() else {
        panic!("a call")
    };
    assert!(output.contains("a line of text") && time.compacted.is_some());
}

#[tokio::test]
async fn nothing_is_left_out_or_summed_up_where_the_settings_say_no() {
    let text = "a line of text\n".repeat(500);
    let mut scene = Scene::with(&[("a.txt", &text), ("b.txt", &text), ("c.txt", &text)]);
    scene.limits = Limits { context: 14_000, input: 0, output: 1_000 };
    scene.options.compaction = Compaction { auto: false, ..Compaction::default() };
    for name in ["a.txt", "b.txt", "c.txt"] {
        scene.model(vec![call("read", json!({ "filePath": name }))]);
    }
    scene.model(vec![fails(FailKind::TooLong)]);
    let session = scene.session().await;
    let error = session.prompt(Prompt::text("go")).await.unwrap_err();
    assert!(error.to_string().contains("too long"), "{error}");
    assert!(requests(&scene).iter().all(|request| request.purpose == Purpose::Step));
}

#[tokio::test]
async fn a_turn_is_parted_between_messages_and_goes_on() {
    let text = "a line of text\n".repeat(200);
    let mut scene = Scene::with(&[("a.txt", &text)]);
    scene.limits = Limits { context: 10_700, input: 0, output: 1_000 };
    scene.options.compaction.prune = false;
    for offset in 1..9 {
        scene.model(vec![says("Hm."), call("read", json!({ "filePath": "a.txt", "offset": offset }))]);
    }
    scene.model(vec![says("Done.")]).serving(Purpose::Compaction, vec![says("Notes.")]);
    let session = scene.session().await;
    assert_eq!(session.prompt(Prompt::text("go")).await.unwrap(), finished());
    let all = requests(&scene);
    let at = all.iter().position(|request| request.purpose == Purpose::Compaction).unwrap();
    assert_eq!(heads(&all[at + 1]), ["user: This conversation", "model: Hm. |", "results: 1", "user: The notes"]);
    // What is summed up is cut, and not what is kept.
    assert!(words(&all[at]).concat().contains("characters left out"));
    expect![[r#"
        user
          text: go
        model [tool-calls]
          text: Hm.
          read: a.txt
        model [tool-calls]
          text: Hm.
          read: a.txt
        model [tool-calls]
          text: Hm.
          read: a.txt
        model [tool-calls]
          text: Hm.
          read: a.txt
        model [tool-calls]
          text: Hm.
          read: a.txt
        model [tool-calls]
          text: Hm.
          read: a.txt
        user
          compaction, auto true
        model [stop]
          text: Notes.
        user
          text: The notes above stand for the conversation so far. I
        model [tool-calls]
          text: Hm.
          read: a.txt
        model [tool-calls]
          text: Hm.
          read: a.txt
        model [stop]
          text: Done.
    "#]]
    .assert_eq(&stored(&scene, &session).await);
}

#[tokio::test]
async fn an_earlier_summary_is_brought_up_to_date() {
    let mut scene = small();
    for _ in 0..5 {
        scene.model(vec![says("Fine.")]);
    }
    scene.serving(Purpose::Compaction, vec![says("Notes one.")]).serving(Purpose::Compaction, vec![says("Notes two.")]);
    let session = scene.session().await;
    for head in ["first", "second", "third", "fourth", "fifth"] {
        assert_eq!(session.prompt(Prompt::text(long(head, 2_600))).await.unwrap(), finished());
    }
    let all = requests(&scene);
    let summaries: Vec<&Request> = all.iter().filter(|request| request.purpose == Purpose::Compaction).collect();
    assert_eq!(summaries.len(), 2);
    let second = words(summaries[1]).concat();
    assert!(
        second.contains("<earlier-notes>\nNotes one.\n</earlier-notes>") && second.contains("[User]: "),
        "{second}"
    );
    assert!(!second.contains("first long"), "what is summed up is not summed up again");
    let last = words(all.last().unwrap());
    assert!(last[0].contains("Notes two.") && !last.concat().contains("Notes one."), "{last:?}");
    // A new process begins with the same.
    let id = session.id().clone();
    drop(session);
    let mut again = Scene { journal: scene.journal.clone(), limits: scene.limits, ..Scene::with(&[]) };
    again.folder = scene.folder;
    again.answers = (0..5).map(|_| haft_llm::Answer::new([says("never")])).collect();
    again.model(vec![says("Six.")]);
    let session = open(&again, &id).await;
    assert_eq!(session.prompt(Prompt::text("sixth")).await.unwrap(), finished());
    let reopened = again.requests.lock().unwrap()[0].clone();
    assert_eq!(words(&reopened)[..last.len()], last[..]);
    assert_eq!(reopened.answers(), 5);
}

/// Opens a session as soon as whoever had it has let go of it.
async fn open(scene: &Scene, id: &haft_protocol::SessionId) -> Session {
    loop {
        match Session::open(scene.setup(), id).await {
            Ok(session) => return session,
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn a_summary_that_is_hardly_shorter_ends_the_turn_and_changes_nothing() {
    let mut scene = small();
    scene.model(vec![says("One.")]).serving(Purpose::Compaction, vec![says(&long("notes", 2_500))]);
    let session = scene.session().await;
    session.prompt(Prompt::text(long("first", 4_000))).await.unwrap();
    let error = session.prompt(Prompt::text(long("second", 3_000))).await.unwrap_err();
    let SessionError::Turn(TurnError::TooLong { why, .. }) = &error else { panic!("{error}") };
    assert!(why.contains("tokens became"), "{why}");
    for choice in ["new session", "fork", "--focus", "reads more"] {
        assert!(error.to_string().contains(choice), "{error}");
    }
    let history = scene.journal.history(session.id()).await.unwrap();
    let Message::Assistant(summary) = &history.messages().last().unwrap().info else { panic!("a summary") };
    assert!(summary.summary && summary.error.as_ref().unwrap().name == "ContextOverflowError");
    // Requests are as they were.
    let request = haft_session::assemble("", &history, &[], &scene.setup().model);
    assert_eq!(heads(&request), ["user: first long", "model: One.", "user: second long"]);
}

#[tokio::test]
async fn two_summaries_without_a_step_between_them_are_one_too_many() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![says("One.")]).model(vec![fails(FailKind::TooLong)]).model(vec![fails(FailKind::TooLong)]);
    scene.serving(Purpose::Compaction, vec![says("Notes.")]).serving(Purpose::Compaction, vec![says("More.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text(long("first", 9_000))).await.unwrap();
    let error = session.prompt(Prompt::text("second")).await.unwrap_err().to_string();
    assert!(error.contains("summed up just now"), "{error}");
    let kinds: Vec<Purpose> = requests(&scene).iter().map(|request| request.purpose).collect();
    assert_eq!(kinds, [Purpose::Step, Purpose::Step, Purpose::Compaction, Purpose::Step]);
}

#[tokio::test(start_paused = true)]
async fn a_summary_is_asked_for_again_like_any_answer_and_a_failure_leaves_all_as_it_was() {
    let mut scene = small();
    scene.model(vec![says("One.")]).model(vec![says("Two.")]);
    scene.serving(Purpose::Compaction, vec![fails(FailKind::Server)]);
    scene.serving(Purpose::Compaction, vec![says("Notes.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text(long("first", 4_000))).await.unwrap();
    assert_eq!(session.prompt(Prompt::text(long("second", 3_000))).await.unwrap(), finished());
    assert!(stored(&scene, &session).await.contains("retry 1\n  text: Notes."));

    let mut scene = small();
    scene.model(vec![says("One.")]).serving(Purpose::Compaction, vec![fails(FailKind::Quota)]);
    let session = scene.session().await;
    session.prompt(Prompt::text(long("first", 4_000))).await.unwrap();
    let error = session.prompt(Prompt::text(long("second", 3_000))).await.unwrap_err();
    assert!(matches!(error, SessionError::Turn(TurnError::Model(_))), "{error}");
    let history = scene.journal.history(session.id()).await.unwrap();
    assert_eq!(haft_session::assemble("", &history, &[], &scene.setup().model).messages.len(), 3);
    let record = scene.journal.session(session.id()).await.unwrap().unwrap();
    assert_eq!(record.time.compacting, None);
}

#[tokio::test]
async fn a_stop_or_a_crash_while_it_is_summed_up_leaves_all_as_it_was() {
    let mut scene = small();
    scene.model(vec![says("One.")]).serving(Purpose::Compaction, vec![says("Half of the no"), Step::Hang]);
    let session = scene.session().await;
    session.prompt(Prompt::text(long("first", 4_000))).await.unwrap();
    let mut heard = scene.journal.subscribe();
    let crashed = haft_store::Journal::memory();
    let (end, ()) = tokio::join!(session.prompt(Prompt::text(long("second", 3_000))), async {
        until(&scene, &session, |event| {
            matches!(event, Event::PartUpdated { part, .. } if matches!(&part.kind, PartKind::Text { text, .. } if text.starts_with("Half")))
                || matches!(event, Event::PartDelta { delta, .. } if delta.starts_with("Half"))
        })
        .await;
        // What a crash at this moment would leave.
        let record = scene.journal.session(session.id()).await.unwrap().unwrap();
        assert!(record.time.compacting.is_some());
        let session_id = session.id().clone();
        crashed.record(Event::SessionCreated { session_id: session_id.clone(), info: Box::new(record) }).await.unwrap();
        for turned in scene.journal.history(session.id()).await.unwrap().messages() {
            let session_id = session_id.clone();
            crashed.record(Event::MessageUpdated { session_id, info: Box::new(turned.info.clone()) }).await.unwrap();
            for part in &turned.parts {
                let (session_id, part) = (session.id().clone(), Box::new(part.clone()));
                crashed.record(Event::PartUpdated { session_id, part, time: 0 }).await.unwrap();
            }
        }
        session.abort().await;
    });
    assert_eq!(end.unwrap(), TurnEnd::Aborted);
    while let Ok(event) = heard.try_recv() {
        assert!(!matches!(
            event,
            Event::SessionCompacted { .. } | Event::SessionStatus { status: Status::Retry { .. }, .. }
        ));
    }
    let mut opened = small();
    opened.journal = crashed.clone();
    opened.answers = scene.answers.clone();
    let id = session.id().clone();
    open(&opened, &id).await;
    for journal in [&scene.journal, &crashed] {
        let history = journal.history(&id).await.unwrap();
        assert!(history.messages().iter().flat_map(|turned| &turned.parts).all(|part| !part.is_open()));
        let request = haft_session::assemble("", &history, &[], &scene.setup().model);
        assert_eq!(heads(&request).len(), 3, "{:?}", heads(&request));
        assert_eq!(journal.session(&id).await.unwrap().unwrap().time.compacting, None);
    }
}

#[tokio::test]
async fn somebody_may_ask_for_it_and_say_what_matters() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![says("One.")]).model(vec![says("Two.")]).model(vec![says("Three.")]);
    scene.serving(Purpose::Compaction, vec![says("Notes.")]).serving(Purpose::Compaction, vec![says("Others.")]);
    let session = scene.session().await;
    let nothing = session.compact(None).await.unwrap_err().to_string();
    assert!(nothing.contains("nothing to sum up"), "{nothing}");
    session.prompt(Prompt::text("first")).await.unwrap();
    session.prompt(Prompt::text("second")).await.unwrap();
    assert_eq!(session.compact(Some("the tests".to_owned())).await.unwrap(), finished());
    let asked = words(requests(&scene).last().unwrap()).concat();
    assert!(asked.ends_with("dwell on this: the tests") && asked.contains("[Assistant]: One."), "{asked}");
    session.prompt(Prompt::text("third")).await.unwrap();
    // There is little since, and it is summed up all the same.
    assert_eq!(session.compact(None).await.unwrap(), finished());
    let last = heads(&requests(&scene)[3]);
    assert_eq!((last[0].as_str(), last.last().unwrap().as_str()), ("user: This conversation", "user: third"));
    expect![[r#"
        user
          text: first
        model [stop]
          text: One.
        user
          text: second
        model [stop]
          text: Two.
        user
          compaction, auto false
        model [stop]
          text: Notes.
        user
          text: third
        model [stop]
          text: Three.
        user
          compaction, auto false
        model [stop]
          text: Others.
    "#]]
    .assert_eq(&stored(&scene, &session).await);
}

#[tokio::test]
async fn it_is_refused_while_a_turn_runs() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![says("Hm."), Step::Hang]);
    let session = scene.session().await;
    let (end, ()) = tokio::join!(session.prompt(Prompt::text("go")), async {
        until(&scene, &session, |event| matches!(event, Event::PartDelta { .. })).await;
        assert!(matches!(session.compact(None).await, Err(SessionError::Busy(_))));
        session.abort().await;
    });
    assert_eq!(end.unwrap(), TurnEnd::Aborted);
}

#[tokio::test]
async fn the_agent_that_sums_up_may_have_words_of_its_own() {
    let mut scene = Scene::with(&[]);
    scene.agents.push(haft_session::Draft { prompt: Some("Be brief.".to_owned()), ..agent("compaction") });
    scene.model(vec![says("One.")]).serving(Purpose::Compaction, vec![says("Notes.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("first")).await.unwrap();
    session.compact(None).await.unwrap();
    assert_eq!(requests(&scene)[1].system, "Be brief.");
    let history = scene.journal.history(session.id()).await.unwrap();
    let Message::Assistant(summary) = &history.messages().last().unwrap().info else { panic!("a summary") };
    assert_eq!((summary.agent.as_str(), summary.mode.as_str(), summary.summary), ("compaction", "compaction", true));
}
