//! Where a turn stops by itself, and where it tries again.

use std::time::Duration;

use expect_test::expect;
use haft_llm::{Answer, Beat, Chunk, FailKind, Failing, Finish, Step, ToolChoice, Usage};
use haft_permission::Action;
use haft_protocol::{Event, Message, PartKind, Reply, Status, Tokens};
use haft_session::{Cost, Draft, Prompt, TurnEnd, TurnLimits};
use serde_json::json;

use crate::scene::{Scene, agent, call, says, words};

fn looks(n: usize) -> Step {
    call("bash", json!({"command": format!("echo {n}")}))
}

fn fails(kind: FailKind, after_ms: u64) -> Step {
    Step::Fail(Failing { after_ms: Some(after_ms), ..Failing::new(kind, "Overloaded") })
}

fn words_of_last(scene: &Scene) -> Vec<String> {
    words(scene.requests.lock().unwrap().last().unwrap())
}

#[tokio::test]
async fn the_last_step_has_no_tools_and_sums_up() {
    let mut scene = Scene::with(&[]);
    scene.options.limits = TurnLimits { steps: Some(3), cost: None };
    scene.model(vec![looks(1)]).model(vec![looks(2)]).model(vec![says("Half of it.")]).model(vec![says("never")]);
    scene
        .check(expect![[r#"
            user
              text: go
            model [tool-calls]
              bash: echo 1
            model [tool-calls]
              bash: echo 2
            model [stop]
              text: Half of it.
            end: Limit { steps: 3 }
        "#]])
        .await;
    let requests = scene.requests.lock().unwrap();
    assert!(!requests[1].tools.is_empty());
    assert_eq!(requests[2].tool_choice, ToolChoice::None);
    let last = words(&requests[2]).pop().unwrap();
    assert!(last.starts_with("user: <system-reminder>\nThis was the last step"), "{last}");
}

#[tokio::test]
async fn an_answer_that_the_vendor_pauses_goes_on_with_the_same_conversation() {
    let mut scene = Scene::with(&[]);
    let pause = || {
        let words = Chunk::Text("Searching.".to_owned());
        [words, Chunk::TextEnd { item: None }, Chunk::Finish(Finish::Other("pause_turn".to_owned()))].map(Beat::Chunk)
    };
    scene.answers.push(Answer { beats: pause().into(), ..Answer::default() });
    scene.answers.push(Answer { beats: pause().into(), ..Answer::default() });
    scene.model(vec![says("Found it.")]).model(vec![says("never")]);
    scene
        .check(expect![[r#"
            user
              text: go
            model [other]
              text: Searching.
            model [other]
              text: Searching.
            model [stop]
              text: Found it.
            end: Finished("stop")
        "#]])
        .await;
    let requests = scene.requests.lock().unwrap();
    assert_eq!(requests.len(), 3);
    assert_eq!(words(&requests[2]), ["user: go", "model: Searching.", "model: Searching."]);
}

#[tokio::test]
async fn an_answer_that_is_withheld_says_so_and_is_not_sent_again() {
    let mut scene = Scene::with(&[]);
    let words = Chunk::Text("I had begun".to_owned());
    scene.answers.push(Answer {
        beats: [words, Chunk::Finish(Finish::ContentFilter)].map(Beat::Chunk).into(),
        ..Answer::default()
    });
    scene.model(vec![says("Fine.")]);
    let session = scene.session().await;
    let end = session.prompt(Prompt::text("one")).await;
    scene
        .compare(
            &session,
            end,
            expect![[r#"
                user
                  text: one
                model [content-filter error: ContentFilterError]
                  text: I had begun
                end: Finished("content-filter")
            "#]],
        )
        .await;
    session.prompt(Prompt::text("two")).await.unwrap();
    assert_eq!(words_of_last(&scene), ["user: one", "user: two"]);
}

#[tokio::test]
async fn what_is_called_without_a_tool_is_not_run() {
    let mut scene = Scene::with(&[]);
    scene.agents.push(Draft { steps: Some(1), ..agent("build") });
    scene.options.limits = TurnLimits { steps: Some(5), cost: None };
    scene.model(vec![call("bash", json!({"command": "touch x"}))]).model(vec![says("never")]);
    scene
        .check(expect![[r#"
            user
              text: go
            model [tool-calls]
              bash failed: this call was not run: everything stopped before its turn came
            end: Limit { steps: 1 }
        "#]])
        .await;
    assert!(!scene.project().join("x").exists());
}

#[tokio::test]
async fn a_session_costs_no_more_than_it_may() {
    let mut scene = Scene::with(&[]);
    scene.options.limits = TurnLimits { steps: None, cost: Some(0.015) };
    scene.cost = Some(Cost { input: 10.0, ..Cost::default() });
    let used = Step::Usage(Usage { input: 1_000, ..Usage::default() });
    scene.model(vec![looks(1), used.clone()]).model(vec![looks(2), used]).model(vec![says("never")]);
    scene.check(expect![[r#"
        user
          text: go
        model [tool-calls]
          bash: echo 1
        model [tool-calls]
          bash: echo 2
        end: error: this session and its tasks have cost $0.0200, and may cost $0.015 (--max-cost, or `limits.cost` in the settings); what is done is kept. Raise the limit to go on, or start a new session
    "#]]).await;
    assert_eq!(scene.requests.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn each_step_says_what_it_cost() {
    let mut scene = Scene::with(&[]);
    scene.cost = Some(Cost { input: 3.0, output: 15.0, cache_read: 0.3, ..Cost::default() });
    let usage = |input| Step::Usage(Usage { input, output: 40, reasoning: 10, cache_read: 200, ..Usage::default() });
    scene.model(vec![looks(1), usage(800)]).model(vec![says("Done."), usage(900)]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let history = scene.journal.history(session.id()).await.unwrap();
    let finished: Vec<(f64, u64)> = history
        .messages()
        .iter()
        .flat_map(|turned| &turned.parts)
        .filter_map(|part| match &part.kind {
            PartKind::StepFinish { cost, tokens, .. } => Some((*cost, tokens.input)),
            _ => None,
        })
        .collect();
    assert_eq!(finished, [(0.00321, 800), (0.00351, 900)]);
    let record = scene.journal.session(session.id()).await.unwrap().unwrap();
    assert!((record.cost - 0.00672).abs() < 1e-9, "{}", record.cost);
    assert_eq!(
        record.tokens,
        Tokens {
            input: 1_700,
            output: 80,
            reasoning: 20,
            cache: haft_protocol::CacheTokens { read: 400, write: 0 },
            total: None
        }
    );
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_may_pass_is_waited_out_and_leaves_no_junk() {
    let mut scene = Scene::with(&[]);
    scene
        .model(vec![says("Half an"), call("bash", json!({"command": "touch x"})), fails(FailKind::Server, 300)])
        .model(vec![Step::Reasoning("Hm".to_owned()), fails(FailKind::RateLimited, 1000)])
        .model(vec![says("Whole.")]);
    let session = scene.session().await;
    let mut events = scene.journal.subscribe();
    let begun = tokio::time::Instant::now();
    let end = session.prompt(Prompt::text("go")).await;
    let waited = begun.elapsed();
    assert!(waited.as_millis() >= 1300 && waited.as_millis() < 1400, "{waited:?}");
    scene
        .compare(
            &session,
            end,
            expect![[r#"
                user
                  text: go
                model [stop]
                  retry 1
                  retry 2
                  text: Whole.
                end: Finished("stop")
            "#]],
        )
        .await;
    let mut told = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let Event::SessionStatus { status: Status::Retry { attempt, message, next }, .. } = event {
            assert!(next > 0);
            told.push((attempt, message));
        }
    }
    assert_eq!(told, [(1, "Provider is overloaded".to_owned()), (2, "Provider is overloaded".to_owned())]);
    assert!(!scene.project().join("x").exists(), "no call of a broken answer is run");
    assert_eq!(scene.requests.lock().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn after_five_retries_the_failure_is_final() {
    let mut scene = Scene::with(&[]);
    for _ in 0..6 {
        scene.model(vec![fails(FailKind::Server, 1)]);
    }
    let session = scene.session().await;
    let error = session.prompt(Prompt::text("go")).await.unwrap_err();
    assert!(error.to_string().contains("Overloaded"), "{error}");
    assert_eq!(scene.requests.lock().unwrap().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn fewer_retries_can_be_asked_for() {
    for (retries, requests) in [(0, 1), (2, 3), (9, 6)] {
        let mut scene = Scene::with(&[]);
        scene.options.retries = Some(retries);
        for _ in 0..7 {
            scene.model(vec![fails(FailKind::Server, 1)]);
        }
        let session = scene.session().await;
        session.prompt(Prompt::text("go")).await.unwrap_err();
        assert_eq!(scene.requests.lock().unwrap().len(), requests);
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_is_waited_in_all_than_may_be() {
    // Each wait as the vendor asks, in seconds; the most in all; and how often the model is asked.
    for (waits, most, requests) in
        [([10, 10, 10], Some(20), 3), ([10, 10, 10], Some(9), 1), ([3_600, 1, 1], None, 2), ([3_601, 1, 1], None, 1)]
    {
        let mut scene = Scene::with(&[]);
        scene.options.retry_wait = most.map(Duration::from_secs);
        for wait in waits {
            scene.model(vec![fails(FailKind::RateLimited, wait * 1000)]);
        }
        let session = scene.session().await;
        session.prompt(Prompt::text("go")).await.unwrap_err();
        assert_eq!(scene.requests.lock().unwrap().len(), requests, "{waits:?} {most:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_vendors_own_tools_did_is_not_done_twice() {
    for (kind, requests) in [("web_search_call", 1), ("compaction", 2)] {
        let mut scene = Scene::with(&[]);
        let value = serde_json::json!({ "type": kind });
        let item = haft_llm::Item { vendor: "v".to_owned(), model: "m".to_owned(), value };
        let broken = Beat::Fail(Failing::new(FailKind::CutOff, "gone"));
        scene.answers.push(Answer { beats: vec![Beat::Chunk(Chunk::Vendor(item)), broken], ..Answer::default() });
        scene.model(vec![says("Again.")]);
        let session = scene.session().await;
        let _ = session.prompt(Prompt::text("go")).await;
        assert_eq!(scene.requests.lock().unwrap().len(), requests, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_help_is_not_tried_again() {
    for kind in [FailKind::TooLong, FailKind::Unauthorized, FailKind::Quota, FailKind::Rejected] {
        let mut scene = Scene::with(&[]);
        scene.model(vec![fails(kind, 1)]).model(vec![says("never")]);
        let session = scene.session().await;
        session.prompt(Prompt::text("go")).await.unwrap_err();
        assert_eq!(scene.requests.lock().unwrap().len(), 1, "{kind}");
    }
}

#[tokio::test]
async fn a_stop_ends_the_wait_for_another_try() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![fails(FailKind::Server, 3_600_000)]).model(vec![says("never")]);
    let session = scene.session().await;
    let mut events = scene.journal.subscribe();
    let (end, ()) = tokio::join!(session.prompt(Prompt::text("go")), async {
        while !matches!(events.recv().await.unwrap(), Event::SessionStatus { status: Status::Retry { .. }, .. }) {}
        session.abort().await;
    });
    assert_eq!(end.unwrap(), TurnEnd::Aborted);
    let history = scene.journal.history(session.id()).await.unwrap();
    let Message::Assistant(answer) = &history.messages()[1].info else { panic!("an answer") };
    assert!(answer.time.completed.is_some());
}

#[tokio::test]
async fn a_model_that_goes_in_circles_is_told_so_and_then_stopped() {
    let mut scene = Scene::with(&[]);
    scene.rule("doom_loop", Action::Ask);
    for _ in 0..5 {
        scene.model(vec![looks(1)]);
    }
    scene
        .check(expect![[r#"
            user
              text: go
            model [tool-calls]
              bash: echo 1
            model [tool-calls]
              bash: echo 1
            model [tool-calls]
              bash failed: not run: this is the same call with the same input as before, and it will say the same. Do something else, or say what stands in your way
            end: Circles { tool: "bash" }
        "#]])
        .await;
}

#[tokio::test]
async fn what_came_to_nothing_twice_is_said_in_the_next_request_and_not_kept() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![looks(1)]).model(vec![looks(1)]).model(vec![looks(2)]).model(vec![says("Done.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let requests = scene.requests.lock().unwrap();
    let said = requests.iter().map(|request| crate::scene::words(request).concat().contains("repeat themselves"));
    assert_eq!(said.collect::<Vec<_>>(), [false, false, true, false]);
    assert!(crate::scene::words(&requests[2]).last().unwrap().contains("each time: bash. "));
    // All before it is what the requests around it have.
    assert_eq!(requests[2].messages[..5], requests[3].messages[..5]);
}

#[tokio::test]
async fn calls_that_take_turns_are_stopped_too() {
    let mut scene = Scene::with(&[]);
    scene.rule("doom_loop", Action::Ask);
    for step in 0..9 {
        scene.model(vec![looks(step % 2)]);
    }
    let session = scene.session().await;
    let end = session.prompt(Prompt::text("go")).await.unwrap();
    assert_eq!(end, TurnEnd::Circles { tool: "bash".to_owned() });
    assert_eq!(scene.requests.lock().unwrap().len(), 6);
}

#[tokio::test]
async fn equal_calls_of_one_answer_are_told_before_they_end_the_turn() {
    let mut scene = Scene::with(&[]);
    scene.rule("doom_loop", Action::Ask);
    let two = json!({"command": "echo x >> log; wc -l < log"});
    scene.model(vec![call("bash", two.clone()), call("bash", two.clone()), call("bash", two)]);
    scene.model(vec![says("I see.")]);
    let session = scene.session().await;
    assert_eq!(session.prompt(Prompt::text("go")).await.unwrap(), TurnEnd::Finished("stop".to_owned()));
}

#[tokio::test]
async fn looking_again_until_something_is_ready_is_no_circle() {
    let mut scene = Scene::with(&[]);
    scene.rule("doom_loop", Action::Deny);
    for _ in 0..5 {
        scene.model(vec![call("bash", json!({"command": "echo x >> log; wc -l < log"}))]);
    }
    scene.model(vec![says("Ready.")]);
    let session = scene.session().await;
    assert_eq!(session.prompt(Prompt::text("go")).await.unwrap(), TurnEnd::Finished("stop".to_owned()));
}

#[tokio::test]
async fn a_person_may_let_a_circle_go_on_or_end_it() {
    let row = async |replies: &[Reply], want: TurnEnd, steps: usize| {
        let mut scene = Scene::with(&[]);
        scene.rule("doom_loop", Action::Ask);
        scene.replies.extend(replies.iter().cloned());
        for _ in 0..4 {
            scene.model(vec![looks(1)]);
        }
        scene.model(vec![says("Done.")]);
        let session = scene.session().await;
        assert_eq!(session.prompt(Prompt::text("go")).await.unwrap(), want, "{replies:?}");
        assert_eq!(scene.requests.lock().unwrap().len(), steps, "{replies:?}");
    };
    row(&[Reply::Once], TurnEnd::Finished("stop".to_owned()), 5).await;
    row(&[Reply::Always], TurnEnd::Finished("stop".to_owned()), 5).await;
    row(&[Reply::Reject { advice: None }], TurnEnd::Refused, 3).await;
}

#[tokio::test]
async fn a_turn_may_go_on_when_a_call_was_refused() {
    let mut scene = Scene::with(&[]);
    scene.options.go_on_when_refused = true;
    scene.rule("bash", Action::Ask).person(Reply::Reject { advice: None });
    scene.model(vec![looks(1)]).model(vec![says("Without it, then.")]);
    let session = scene.session().await;
    assert_eq!(session.prompt(Prompt::text("go")).await.unwrap(), TurnEnd::Finished("stop".to_owned()));
}
