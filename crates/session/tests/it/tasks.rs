//! Tasks: sessions below a session.

use std::time::Duration;

use expect_test::expect;
use haft_llm::{FailKind, Failing, Step, Usage};
use haft_permission::{Action, Rule};
use haft_protocol::{Event, Id, Reply, Session as Record, ToolState};
use haft_session::{
    Agents, Command, Commands, Draft, Folders, Mode, NewSession, Prompt, Session, TaskLimits, Tasks, TurnEnd,
};
use serde_json::{Value, json};

use crate::scene::{Scene, agent, call, says, transcript, until, words};

fn task(about: &str) -> Step {
    task_for("explore", about)
}

fn task_for(agent: &str, about: &str) -> Step {
    call("task", json!({"description": about, "prompt": format!("Please {about}."), "subagent_type": agent}))
}

async fn children(scene: &Scene, session: &Session) -> Vec<Record> {
    let mut children = scene.journal.children(session.id(), 9).await.unwrap();
    children.sort_by(|one, other| one.title.cmp(&other.title));
    children
}

async fn told(scene: &Scene, record: &Record) -> String {
    transcript(&scene.journal.history(&record.id).await.unwrap())
}

/// The states of the calls of a session, in their order.
async fn states(scene: &Scene, session: &Session) -> Vec<ToolState> {
    let history = scene.journal.history(session.id()).await.unwrap();
    let parts = history.messages().iter().flat_map(|turned| &turned.parts);
    parts.filter_map(|part| part.kind.state().cloned()).collect()
}

#[tokio::test]
async fn two_tasks_work_side_by_side_and_ask_where_everybody_asks() {
    let mut scene = Scene::with(&[]);
    scene.rule("bash", Action::Ask).model(vec![task("go left"), task("go right")]).model(vec![says("Both done.")]);
    for side in ["left", "right"] {
        let touch = call("bash", json!({"command": format!("touch {side}")}));
        scene.other(&format!("go {side}"), vec![vec![touch], vec![says(&format!("Went {side}."))]]);
    }
    // Somebody is there, and answers only when both ask.
    scene.person(Reply::Once);
    let setup = scene.setup();
    let (gate, mut events) = (setup.gate.clone(), scene.journal.subscribe());
    let session = Session::create(setup, NewSession::default()).await.unwrap();
    let (end, asks) = tokio::join!(session.prompt(Prompt::text("go")), async {
        while gate.waiting().len() < 2 {
            events.recv().await.unwrap();
        }
        let asks = gate.waiting();
        asks.iter().for_each(|ask| gate.reply(&ask.id, Reply::Once).unwrap());
        asks
    });
    scene
        .compare(
            &session,
            end,
            expect![[r#"
                user
                  text: go
                model [tool-calls]
                  task: go left
                  task: go right
                model [stop]
                  text: Both done.
                end: Finished("stop")
            "#]],
        )
        .await;
    assert!(scene.project().join("left").exists() && scene.project().join("right").exists());
    let children = children(&scene, &session).await;
    let titles: Vec<&str> = children.iter().map(|child| child.title.as_str()).collect();
    assert_eq!(titles, ["go left (@explore subagent)", "go right (@explore subagent)"]);
    for (child, state) in children.iter().zip(states(&scene, &session).await) {
        assert_eq!((child.parent_id.as_ref(), child.agent.as_deref()), (Some(session.id()), Some("explore")));
        assert!(asks.iter().any(|ask| ask.session_id == child.id), "each asks for itself");
        let ToolState::Completed { output, metadata, .. } = state else { panic!("it is complete") };
        let side = child.title.split(' ').nth(1).unwrap();
        assert_eq!(
            output,
            format!(
                "<task id=\"{}\" state=\"completed\">\n<task_result>\nWent {side}.\n</task_result>\n</task>",
                child.id
            )
        );
        let model = json!({"providerID": "script", "modelID": "scene"});
        let (parent, own) = (session.id(), &child.id);
        let want = json!({"parentSessionId": parent, "sessionId": own, "model": model, "truncated": false});
        assert_eq!(json!(metadata), want);
    }
    expect![[r#"
        user
          text: Please go left.
        model [tool-calls]
          bash: touch left
        model [stop]
          text: Went left.
    "#]]
    .assert_eq(&told(&scene, &children[0]).await);
}

#[tokio::test]
async fn so_many_tasks_are_at_work_and_the_others_wait() {
    const AT_ONCE: usize = 16;
    let mut scene = Scene::with(&[]);
    scene.rule("bash", Action::Ask).person(Reply::Once);
    let about = |number: usize| format!("do part {number}.");
    scene.model((0..=AT_ONCE).map(|number| task(&about(number))).collect()).model(vec![says("All done.")]);
    for number in 0..=AT_ONCE {
        let touch = call("bash", json!({"command": format!("touch {number}")}));
        scene.other(&about(number), vec![vec![touch], vec![says("Done.")]]);
    }
    let setup = scene.setup();
    let (gate, mut events) = (setup.gate.clone(), scene.journal.subscribe());
    let session = Session::create(setup, NewSession::default()).await.unwrap();
    let (end, ()) = tokio::join!(session.prompt(Prompt::text("go")), async {
        while gate.waiting().len() < AT_ONCE {
            events.recv().await.unwrap();
        }
        assert_eq!(scene.journal.children(session.id(), 99).await.unwrap().len(), AT_ONCE);
        let one = gate.waiting().remove(0);
        gate.reply(&one.id, Reply::Once).unwrap();
        // Who has ended makes room.
        while gate.waiting().len() < AT_ONCE {
            events.recv().await.unwrap();
        }
        gate.waiting().iter().for_each(|ask| gate.reply(&ask.id, Reply::Once).unwrap());
    });
    assert_eq!(end.unwrap(), TurnEnd::Finished("stop".to_owned()));
    assert!((0..=AT_ONCE).all(|number| scene.project().join(number.to_string()).exists()));
}

#[tokio::test]
async fn a_task_shows_what_it_does_while_it_runs() {
    let mut scene = Scene::with(&[("a.rs", "fn foo() {}\n")]);
    scene.model(vec![task("look")]).model(vec![says("Seen.")]);
    scene.other("Please look", vec![vec![call("read", json!({"filePath": "a.rs"}))], vec![says("It is foo.")]]);
    let mut events = scene.journal.subscribe();
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let mut shown: Vec<String> = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let Event::PartUpdated { session_id, part, .. } = event
            && session_id == *session.id()
            && let Some(ToolState::Running { title, metadata: Some(metadata), .. }) = part.kind.state()
        {
            assert_eq!(title.as_deref(), Some("look"));
            assert!(metadata["sessionId"].as_str().unwrap().starts_with("ses_"));
            shown.extend(metadata.get("activity").and_then(Value::as_str).map(str::to_owned));
        }
    }
    assert!(shown.contains(&"read a.rs".to_owned()), "{shown:?}");
}

#[tokio::test]
async fn a_stop_ends_the_tasks_too() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![task("hang")]).model(vec![says("never asked")]);
    let hang = "echo begun; trap 'echo ended; exit' TERM; while :; do sleep 0.01; done";
    scene.other("Please hang", vec![vec![call("bash", json!({"command": hang}))], vec![says("never asked")]]);
    let session = scene.session().await;
    let (end, ()) = tokio::join!(session.prompt(Prompt::text("go")), async {
        until(&scene, &session, |event| {
            matches!(event, Event::PartUpdated { session_id, .. } if session_id != session.id())
                && crate::ends::runs(event)
        })
        .await;
        session.abort().await;
    });
    scene
        .compare(
            &session,
            end,
            expect![[r#"
                user
                  text: go
                model [tool-calls error: MessageAbortedError]
                  task failed: stopped by the user before it finished; what it had done until then stays done
                end: Aborted
            "#]],
        )
        .await;
    let child = &children(&scene, &session).await[0];
    expect![[r#"
        user
          text: Please hang.
        model [tool-calls error: MessageAbortedError]
          bash: echo begun; trap 'echo ended; exit' TERM; while :; do sleep 0.01; done
    "#]]
    .assert_eq(&told(&scene, child).await);
    let ToolState::Error { metadata: Some(metadata), .. } = &states(&scene, &session).await[0] else {
        panic!("stopped")
    };
    assert_eq!((&metadata["sessionId"], &metadata["interrupted"]), (&json!(child.id), &json!(true)));
    let _free = scene.journal.claim(&child.id).unwrap();
}

#[tokio::test]
async fn a_task_that_fails_says_what_happened_and_can_be_gone_on_with() {
    let mut scene = Scene::with(&[]);
    let broken = Step::Fail(Failing::new(FailKind::Rejected, "no such luck"));
    scene.model(vec![task("break")]).model(vec![says("It broke.")]);
    scene.other("Please break", vec![vec![says("Trying."), call("bash", json!({"command": "true"}))], vec![broken]]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let child = &children(&scene, &session).await[0];
    let ToolState::Error { error, .. } = &states(&scene, &session).await[0] else { panic!("it failed") };
    assert!(error.contains("no such luck") && error.contains(&format!("task_id {}", child.id)), "{error}");
    assert!(told(&scene, child).await.contains("error: APIError"));
}

#[tokio::test]
async fn an_earlier_task_goes_on_and_another_sessions_is_not_touched() {
    let mut scene = Scene::with(&[]);
    scene.other("Please one", vec![vec![says("One.")], vec![says("More of one.")]]);
    scene.model(vec![task("one")]).model(vec![says("And?")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let first = children(&scene, &session).await.remove(0);

    let again = |id: &str| {
        let input = json!({"description": "more", "prompt": "More.", "subagent_type": "explore", "task_id": id});
        call("task", input)
    };
    scene.answers.clear();
    scene.model(vec![says("")]).model(vec![says("")]);
    scene.model(vec![again(first.id.as_str())]).model(vec![again(session.id().as_str()), again("no id")]);
    scene.model(vec![says("All.")]);
    scene.other("user: More.", vec![vec![says("Anew.")]]);
    // The scene's model is asked anew by a second owner.
    let id = session.id().clone();
    drop(session);
    while scene.journal.claim(&id).is_err() {
        tokio::task::yield_now().await;
    }
    let session = Session::open(scene.setup(), &id).await.unwrap();
    session.prompt(Prompt::text("go on")).await.unwrap();
    let states = states(&scene, &session).await;
    let output = |at: usize| if let ToolState::Completed { output, .. } = &states[at] { output.as_str() } else { "" };
    assert!(output(1).contains("More of one.") && output(1).contains(first.id.as_str()), "{}", output(1));
    assert!(output(2).contains("Anew.") && output(3).contains("Anew."), "{states:?}");
    assert_eq!(children(&scene, &session).await.len(), 3);
    assert!(told(&scene, &first).await.ends_with("text: More.\nmodel [stop]\n  text: More of one.\n"));
}

#[tokio::test]
async fn a_task_has_the_rights_of_its_agent_less_what_its_caller_may_not() {
    let mut scene = Scene::with(&[("a.rs", "")]);
    scene.rules.clear();
    scene.agents.push(Draft {
        mode: Some(Mode::Subagent),
        rules: vec![Rule::new("todowrite", "*", Action::Allow)],
        ..agent("lists")
    });
    scene.options.tasks = Tasks { closed: vec!["webfetch".to_owned()], ..Tasks::default() };
    let write = call("write", json!({"filePath": "b.rs", "content": "x"}));
    scene.model(vec![task("write"), task_for("lists", "list")]).model(vec![says("Done.")]);
    scene.other("Please write", vec![vec![write], vec![says("Tried.")]]);
    scene.other("Please list", vec![vec![says("Listed.")]]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go").agent("plan")).await.unwrap();
    let rules = |record: &Record| {
        let rules = record.permission.clone().unwrap_or_default().into_iter();
        rules.map(|rule| format!("{} {} {:?}", rule.permission, rule.pattern, rule.action)).collect::<Vec<_>>()
    };
    let children = children(&scene, &session).await;
    assert_eq!(rules(&children[0]), ["task * Deny", "webfetch * Deny"]);
    assert_eq!(rules(&children[1]), ["todowrite * Deny", "task * Deny", "webfetch * Deny"]);
    let requests = scene.requests.lock().unwrap().clone();
    let tools = |text: &str| {
        let request = requests.iter().find(|request| words(request)[0].contains(text)).unwrap();
        request.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>().join(" ")
    };
    assert!(tools("user: go").contains(" task"), "{}", tools("user: go"));
    assert!(!tools("Please write").contains("task") && !tools("Please write").contains("todowrite"));
    assert!(tools("Please list").contains("todowrite"));
}

#[tokio::test]
async fn what_the_plan_agent_may_not_do_it_may_not_have_done() {
    let mut scene = Scene::with(&[("a.rs", "")]);
    let open = Draft { mode: Some(Mode::Subagent), ..agent("open") };
    let plan = Draft {
        mode: Some(Mode::Primary),
        rules: vec![Rule::new("edit", "*", Action::Deny), Rule::new("edit", "plans/*", Action::Allow)],
        ..agent("plan")
    };
    let build = Draft { mode: Some(Mode::Primary), ..agent("build") };
    let write = call("write", json!({"filePath": "b.rs", "content": "x"}));
    scene.model(vec![task_for("open", "write")]).model(vec![says("Done.")]);
    scene.other("Please write", vec![vec![write], vec![says("Tried.")]]);
    let mut setup = scene.setup();
    setup.agents = Agents::compose(&Folders::default(), &[build, plan, open], &[], &[], None, Commands::Free).0;
    let session = Session::create(setup, NewSession::default()).await.unwrap();
    session.prompt(Prompt::text("go").agent("plan")).await.unwrap();
    assert!(!scene.project().join("b.rs").exists());
    let child = &children(&scene, &session).await[0];
    assert!(told(&scene, child).await.contains("invalid: Invalid call"), "{}", told(&scene, child).await);
}

#[tokio::test]
async fn what_an_agent_of_the_users_may_not_do_it_may_not_have_done() {
    // For whom the user closed something, somebody else does not do it.
    for (who, written) in [("careful", false), ("build", true)] {
        let mut scene = Scene::with(&[]);
        scene.rules.clear();
        scene.agents.push(Draft {
            mode: Some(Mode::Primary),
            rules: vec![Rule::new("edit", "*", Action::Deny), Rule::new("edit", "docs.md", Action::Allow)],
            ..agent("careful")
        });
        // Nor does who may do it by name.
        scene.agents[2].rules = vec![Rule::new("edit", "*", Action::Allow)];
        let write = |path: &str| call("write", json!({"filePath": path, "content": "x"}));
        scene.model(vec![task("write")]).model(vec![says("Done.")]);
        scene.other("Please write", vec![vec![write("b.rs"), write("docs.md")], vec![says("Tried.")]]);
        let session = scene.session().await;
        session.prompt(Prompt::text("go").agent(who)).await.unwrap();
        assert_eq!(scene.project().join("b.rs").exists(), written, "{who}");
        assert!(scene.project().join("docs.md").exists(), "{who}");
    }
}

/// A scene whose task calls a command in each of three steps, each for 2 tokens at a dollar.
fn spending() -> Scene {
    let mut scene = Scene::with(&[]);
    scene.cost = Some(haft_session::Cost { input: 1_000_000.0, ..haft_session::Cost::default() });
    let usage = Step::Usage(Usage { input: 2, ..Usage::default() });
    scene.model(vec![task("spend")]).model(vec![says("So far.")]);
    let spend = |text: &str, number: u32| {
        vec![says(text), call("bash", json!({"command": format!("echo {number}")})), usage.clone()]
    };
    scene.other("Please spend", vec![spend("One.", 1), spend("Two.", 2), vec![says("Three."), usage.clone()]]);
    scene
}

#[tokio::test]
async fn a_task_over_its_budget_ends_with_what_it_has_and_says_so() {
    let none = TaskLimits::default();
    let tokens = TaskLimits { tokens: Some(4), ..none };
    let cost = TaskLimits { cost: Some(3.0), ..none };
    let steps = TaskLimits { steps: Some(3), ..none };
    let one = TaskLimits { steps: Some(1), ..none };
    let row = async |each: TaskLimits, together: TaskLimits, state: &str, why: &str, text: &str| {
        let mut scene = spending();
        scene.options.tasks = Tasks { each, together, ..Tasks::default() };
        let session = scene.session().await;
        session.prompt(Prompt::text("go")).await.unwrap();
        let ToolState::Completed { output, .. } = &states(&scene, &session).await[0] else { panic!("it has a result") };
        assert!(output.contains(&format!("state=\"{state}\">")) && output.contains(why), "{output}");
        assert!(output.contains(&format!("<task_result>\n{text}\n</task_result>")), "{output}");
    };
    row(none, none, "completed", "", "Three.").await;
    row(tokens, none, "partial", "It ended early: it used 4 tokens, and may use 4.", "Two.").await;
    row(cost, none, "partial", "it cost $4.0000, and may cost $3.", "Two.").await;
    row(steps, none, "partial", "it took 3 steps, which is its limit.", "Three.").await;
    row(one, none, "partial", "it took 1 steps, which is its limit.", "One.").await;
    row(none, tokens, "partial", "all tasks together used 4 tokens, and may use 4.", "Two.").await;
    row(none, cost, "partial", "all tasks together cost $4.0000", "Two.").await;
}

#[tokio::test(start_paused = true)]
async fn a_task_that_takes_too_long_is_stopped() {
    let mut scene = Scene::with(&[]);
    scene.rule("bash", Action::Ask).person(Reply::Once);
    scene.options.tasks.each = TaskLimits { time: Some(Duration::from_secs(60)), ..TaskLimits::default() };
    scene.model(vec![task("wait")]).model(vec![says("It waited.")]);
    scene.other("Please wait", vec![vec![says("I ask."), call("bash", json!({"command": "true"}))]]);
    // Somebody is there, and never answers.
    let session = Session::create(scene.setup(), NewSession::default()).await.unwrap();
    session.prompt(Prompt::text("go")).await.unwrap();
    let ToolState::Completed { output, .. } = &states(&scene, &session).await[0] else { panic!("it has a result") };
    assert!(output.contains("it took 60 s, which is its limit.") && output.contains("\nI ask.\n"), "{output}");
    let child = &children(&scene, &session).await[0];
    assert!(!told(&scene, child).await.contains("OPEN"));
    let _free = scene.journal.claim(&child.id).unwrap();
}

#[tokio::test]
async fn the_result_of_a_task_may_have_a_form() {
    let mut scene = Scene::with(&[]);
    let form = json!({"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]});
    let input = |form: Value| json!({"description": "count", "prompt": "Please count.", "subagent_type": "explore", "schema": form});
    let no_schema = json!({"type": 7});
    scene.model(vec![call("task", input(form)), call("task", input(no_schema))]).model(vec![says("Two.")]);
    let answers = vec![vec![call("StructuredOutput", json!({}))], vec![call("StructuredOutput", json!({"count": 2}))]];
    scene.other("Please count", answers);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let states = states(&scene, &session).await;
    let ToolState::Completed { output, metadata, .. } = &states[0] else { panic!("{:?}", states[0]) };
    assert!(output.contains("state=\"completed\">\n<task_result>\n{\n  \"count\": 2\n}\n"), "{output}");
    assert_eq!(metadata["structured"], json!({"count": 2}));
    let ToolState::Error { error, .. } = &states[1] else { panic!("it is none") };
    assert!(error.contains("it is no JSON Schema"), "{error}");
}

#[tokio::test]
async fn a_task_begins_no_further_one_below_the_limit() {
    let mut scene = Scene::with(&[]);
    scene.agents.push(Draft {
        mode: Some(Mode::Subagent),
        rules: vec![Rule::new("task", "*", Action::Allow)],
        ..agent("deep")
    });
    scene.model(vec![task_for("deep", "dig")]).model(vec![says("Done.")]);
    scene.other("Please dig", vec![vec![task_for("deep", "bore")], vec![says("No further.")]]);
    scene.other("Please bore", vec![vec![says("Bored.")]]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let child = &children(&scene, &session).await[0];
    let text = told(&scene, child).await;
    assert!(text.contains("task failed: a task this deep may begin no further one (the limit is 1"), "{text}");

    let mut deeper = Scene { journal: haft_store::Journal::memory(), ..scene };
    deeper.options.tasks.depth = 2;
    let session = deeper.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let child = &children(&deeper, &session).await[0];
    assert_eq!(deeper.journal.children(&child.id, 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_command_that_is_a_task_runs_below_and_is_summed_up() {
    let mut scene = Scene::with(&[]);
    // What no model may do, the person may have done.
    scene.rule("task", Action::Deny);
    scene.options.commands.push(Command {
        name: "check".to_owned(),
        template: "Please check $1.".to_owned(),
        description: Some("checks".to_owned()),
        agent: Some("explore".to_owned()),
        ..Command::default()
    });
    scene.model(vec![says("It is fine.")]);
    scene.other("Please check", vec![vec![says("Fine.")]]);
    let session = scene.session().await;
    let end = session.prompt(Prompt::text("/check a.rs")).await;
    scene
        .compare(
            &session,
            end,
            expect![[r#"
                user
                  task for explore
                model [tool-calls]
                  task: checks
                user
                  text: The task above has ended. Tell the user what came of it, and go on with what they asked for.
                model [stop]
                  text: It is fine.
                end: Finished("stop")
            "#]],
        )
        .await;
    let child = &children(&scene, &session).await[0];
    assert!(told(&scene, child).await.contains("text: Please check a.rs.\n"));
    let requests = scene.requests.lock().unwrap();
    assert_eq!(words(&requests[1])[0], "user: The user gave a task to the agent explore: checks");
}

#[tokio::test]
async fn an_agent_that_the_person_names_is_not_asked_for() {
    for (prompt, want) in
        [("Let @explore do it", "task: look"), ("Do it", "task failed: the user's rules do not allow")]
    {
        let mut scene = Scene::with(&[]);
        scene.rules.push(Rule::new("task", "explore", Action::Deny));
        scene.rules.push(Rule::new("task", "other", Action::Allow));
        scene.agents.push(Draft { mode: Some(Mode::Subagent), ..agent("other") });
        scene.model(vec![task("look")]).model(vec![says("Done.")]);
        // A model that names an agent gives no leave.
        scene.other("Please look", vec![vec![says("Looked. @general")]]);
        let session = scene.session().await;
        session.prompt(Prompt::text(prompt)).await.unwrap();
        let text = transcript(&scene.journal.history(session.id()).await.unwrap());
        assert!(text.contains(want), "{text}");
        assert_eq!(text.contains("agent: explore"), prompt.contains('@'), "{text}");
    }
}

#[tokio::test]
async fn a_model_shows_files_to_another_only_as_rules_allow() {
    let mut scene = Scene::with(&[("a.rs", "fn seen() {}\n"), ("key.txt", "hidden = 1\n")]);
    scene.rules.push(Rule::new("read", "key.txt", Action::Ask));
    scene.agents.push(Draft { mode: Some(Mode::Subagent), ..agent("other") });
    scene.model(vec![task("read @a.rs and @key.txt as @other would")]).model(vec![says("Done.")]);
    scene.other("Please read", vec![vec![says("Read.")]]);
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    let requests = scene.requests.lock().unwrap();
    let request = requests.iter().find(|request| words(request)[0].contains("Please read")).unwrap();
    let text = words(request).join("\n");
    assert!(text.contains("fn seen()") && !text.contains("hidden = 1"), "{text}");
    assert!(text.contains("@key.txt could not be read"), "{text}");
    assert!(!text.contains("The user wants the agent"), "{text}");
}

#[tokio::test]
async fn a_no_in_a_task_stops_everything() {
    let mut scene = Scene::with(&[]);
    scene.rule("bash", Action::Ask).person(Reply::Reject { advice: None });
    scene.model(vec![task("run")]).model(vec![says("never asked")]);
    scene.other("Please run", vec![vec![call("bash", json!({"command": "true"}))], vec![says("never asked")]]);
    let session = scene.session().await;
    let end = session.prompt(Prompt::text("go")).await.unwrap();
    assert_eq!(end, TurnEnd::Refused);
}

#[tokio::test]
async fn tasks_spend_the_money_of_their_session() {
    let mut scene = Scene::with(&[]);
    scene.cost = Some(haft_session::Cost { input: 1_000_000.0, ..haft_session::Cost::default() });
    scene.options.limits.cost = Some(3.0);
    let usage = Step::Usage(Usage { input: 2, ..Usage::default() });
    scene.model(vec![task("spend"), usage.clone()]).model(vec![says("never asked")]);
    let spend = vec![call("bash", json!({"command": "true"})), usage.clone()];
    scene.other("Please spend", vec![spend, vec![says("never asked")]]);
    let session = scene.session().await;
    let error = session.prompt(Prompt::text("go")).await.unwrap_err().to_string();
    assert!(error.starts_with("this session and its tasks have cost $4.0000"), "{error}");
    let ToolState::Error { error, .. } = &states(&scene, &session).await[0] else { panic!("it was stopped") };
    assert!(error.contains("have cost $4.0000"), "{error}");
    assert_eq!(scene.requests.lock().unwrap().len(), 2);
    // Also when it is opened again.
    let id = session.id().clone();
    drop(session);
    while scene.journal.claim(&id).is_err() {
        tokio::task::yield_now().await;
    }
    let session = Session::open(scene.setup(), &id).await.unwrap();
    assert!(session.prompt(Prompt::text("go on")).await.is_err());
    assert_eq!(scene.requests.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn the_model_is_told_of_the_agents_and_always_in_the_same_words() {
    let mut scene = Scene::with(&[]);
    scene.agents[2].description = Some("Looks.".to_owned());
    scene.model(vec![task("look")]).model(vec![says("Done.")]);
    scene.other("Please look", vec![vec![says("Looked.")]]);
    let session = scene.session().await;
    session.prompt(Prompt::text("Let @explore go")).await.unwrap();
    let requests = scene.requests.lock().unwrap();
    let own: Vec<_> = requests.iter().filter(|request| words(request)[0].contains("user: Let")).collect();
    assert_eq!((own.len(), &own[0].tools), (2, &own[1].tools));
    let task = own[0].tools.iter().find(|tool| tool.name == "task").unwrap();
    assert!(task.description.ends_with("\n\nThe agents:\n- explore: Looks."), "{}", task.description);
}
