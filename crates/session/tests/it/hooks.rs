//! A scene for each hook.

use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use futures::future::BoxFuture;
use haft_permission::{Action, Rule};
use haft_protocol::hook::Point;
use haft_protocol::{Message, PartKind, Reply, ToolState};
use haft_session::{Command, Compaction, Limits, Prompt, Session};
use haft_tool::{Hook, HookError};
use serde_json::{Value, json};

use crate::scene::{Scene, call, says, words};

type Say = Box<dyn Fn(&Value, Value) -> Result<Value, HookError> + Send + Sync>;

/// A hook at one point that does what a function says, and remembers what it was told.
struct At {
    point: Point,
    say: Say,
    told: Arc<Mutex<Vec<Value>>>,
}

impl Hook for At {
    fn name(&self) -> &str {
        "the hook"
    }

    fn listens(&self, point: Point) -> bool {
        point == self.point
    }

    fn fire<'a>(&'a self, _point: Point, input: &'a Value, output: Value) -> BoxFuture<'a, Result<Value, HookError>> {
        self.told.lock().unwrap().push(input.clone());
        Box::pin(async move { (self.say)(input, output) })
    }
}

/// What a hook was told.
type Told = Arc<Mutex<Vec<Value>>>;

/// Adds a hook to `scene`.
fn hook(
    scene: &mut Scene,
    point: Point,
    say: impl Fn(&Value, Value) -> Result<Value, HookError> + Send + Sync + 'static,
) -> Told {
    let told = Told::default();
    let at = At { point, say: Box::new(say), told: told.clone() };
    scene.hooks = std::mem::take(&mut scene.hooks).with(Arc::new(at));
    told
}

/// A hook that puts `value` at `pointer` into what it may change.
fn puts(scene: &mut Scene, point: Point, pointer: &'static str, value: Value) -> Told {
    hook(scene, point, move |_, mut output| {
        let (before, last) = pointer.rsplit_once('/').unwrap();
        output.pointer_mut(before).unwrap()[last] = value.clone();
        Ok(output)
    })
}

fn first(told: &Told) -> Value {
    told.lock().unwrap().first().cloned().unwrap_or_default()
}

async fn play(scene: &Scene) -> Session {
    let session = scene.session().await;
    session.prompt(Prompt::text("go")).await.unwrap();
    session
}

#[tokio::test]
async fn before_a_tool_its_arguments_are_changed_and_kept_as_changed() {
    let mut scene = Scene::with(&[("a.rs", "one"), ("b.rs", "two")]);
    scene.model(vec![call("read", json!({ "filePath": "a.rs" }))]).model(vec![says("Done.")]);
    let told = puts(&mut scene, Point::ToolBefore, "/args/filePath", json!("b.rs"));
    let session = play(&scene).await;
    assert_eq!(first(&told)["tool"], "read");
    assert_eq!(first(&told)["sessionID"], session.id().to_string());
    let history = scene.journal.history(session.id()).await.unwrap();
    let states: Vec<_> = history.messages().iter().flat_map(|turned| &turned.parts).filter_map(state).collect();
    let [ToolState::Completed { input, output, .. }] = states.as_slice() else { panic!("{states:?}") };
    assert_eq!(input["filePath"], "b.rs");
    assert!(output.contains("two"), "{output}");
}

fn state(part: &haft_protocol::Part) -> Option<&ToolState> {
    if let PartKind::Tool { state, .. } = &part.kind { Some(state) } else { None }
}

#[tokio::test]
async fn before_a_tool_a_hook_stops_it_and_the_model_goes_on() {
    let mut scene = Scene::with(&[("a.rs", "one")]);
    scene.model(vec![call("read", json!({ "filePath": "a.rs" }))]).model(vec![says("Fine.")]);
    hook(&mut scene, Point::ToolBefore, |_, _| Err(HookError::Blocked("not that file".to_owned())));
    scene
        .check(expect![[r#"
            user
              text: go
            model [tool-calls]
              read failed: the hook does not allow this: not that file
            model [stop]
              text: Fine.
            end: Finished("stop")
        "#]])
        .await;
}

#[tokio::test]
async fn before_a_tool_a_hook_ends_the_turn() {
    let mut scene = Scene::with(&[("a.rs", "one")]);
    scene.model(vec![call("read", json!({ "filePath": "a.rs" }))]);
    hook(&mut scene, Point::ToolBefore, |_, _| Err(HookError::Ends("enough".to_owned())));
    scene
        .check(expect![[r#"
            user
              text: go
            model [tool-calls]
              read failed: the hook does not allow this: enough
            end: Refused
        "#]])
        .await;
}

#[tokio::test]
async fn after_a_tool_its_result_is_changed() {
    let mut scene = Scene::with(&[("a.rs", "one")]);
    scene.model(vec![call("read", json!({ "filePath": "a.rs" }))]).model(vec![says("Done.")]);
    let told = hook(&mut scene, Point::ToolAfter, |_, mut output| {
        output["title"] = "changed".into();
        output["output"] = "a hook was here".into();
        Ok(output)
    });
    let session = play(&scene).await;
    assert_eq!(first(&told)["args"], json!({ "filePath": "a.rs" }));
    let history = scene.journal.history(session.id()).await.unwrap();
    let states: Vec<_> = history.messages().iter().flat_map(|turned| &turned.parts).filter_map(state).collect();
    let [ToolState::Completed { title, output, .. }] = states.as_slice() else { panic!("{states:?}") };
    assert_eq!((title.as_str(), output.as_str()), ("changed", "a hook was here"));
}

#[tokio::test]
async fn calls_within_calls_pass_the_hooks_too() {
    let mut scene = Scene::with(&[("a.rs", "one")]);
    let inner = json!({ "tool_calls": [{ "tool": "read", "parameters": { "filePath": "a.rs" } }] });
    scene.model(vec![call("batch", inner)]).model(vec![says("Done.")]);
    let told = hook(&mut scene, Point::ToolBefore, |_, output| Ok(output));
    play(&scene).await;
    let tools: Vec<Value> = told.lock().unwrap().iter().map(|told| told["tool"].clone()).collect();
    assert_eq!(tools, ["batch", "read"]);
}

#[tokio::test]
async fn a_definition_is_asked_for_once_in_a_session() {
    let mut scene = Scene::with(&[("a.rs", "one")]);
    scene.model(vec![call("read", json!({ "filePath": "a.rs" }))]).model(vec![says("Done.")]);
    let told = hook(&mut scene, Point::ToolDefinition, |input, mut output| {
        if input["toolID"] == "read" {
            output["description"] = "Reads, says the hook.".into();
        }
        Ok(output)
    });
    play(&scene).await;
    let requests = scene.requests.lock().unwrap();
    let described = |tool: &haft_llm::ToolSpec| tool.description.clone();
    for request in requests.iter() {
        let read = request.tools.iter().find(|tool| tool.name == "read").map(described);
        assert_eq!(read.as_deref(), Some("Reads, says the hook."));
    }
    let reads = told.lock().unwrap().iter().filter(|told| told["toolID"] == "read").count();
    assert_eq!((requests.len(), reads), (2, 1));
}

#[tokio::test]
async fn a_command_line_gets_the_variables_of_a_hook() {
    let mut scene = Scene::with(&[]);
    let command = json!({ "command": "echo \"<$FROM_A_HOOK>\"", "description": "d" });
    scene.model(vec![call("bash", command)]).model(vec![says("Done.")]);
    let told = puts(&mut scene, Point::ShellEnv, "/env/FROM_A_HOOK", json!("it is set"));
    let session = play(&scene).await;
    session.shell("echo \"<$FROM_A_HOOK>\"").await.unwrap();
    let history = scene.journal.history(session.id()).await.unwrap();
    let states: Vec<_> = history.messages().iter().flat_map(|turned| &turned.parts).filter_map(state).collect();
    assert_eq!(states.len(), 2);
    for state in states {
        let ToolState::Completed { output, .. } = state else { panic!("{state:?}") };
        assert!(output.contains("<it is set>"), "{output}");
    }
    assert_eq!(first(&told)["cwd"], scene.project().display().to_string());
}

#[tokio::test]
async fn a_prompt_is_changed_before_it_is_stored() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![says("Done.")]);
    let told = hook(&mut scene, Point::ChatMessage, |_, mut output| {
        output["parts"][0]["text"] = "go, says the hook".into();
        output["parts"].as_array_mut().unwrap().push(json!({ "type": "text", "text": "and more", "synthetic": true }));
        Ok(output)
    });
    scene
        .check(expect![[r#"
            user
              text: go, says the hook
              text: and more
            model [stop]
              text: Done.
            end: Finished("stop")
        "#]])
        .await;
    assert_eq!(first(&told)["agent"], "build");
    assert_eq!(first(&told)["model"], json!({ "providerID": "script", "modelID": "scene" }));
}

#[tokio::test]
async fn a_prompt_is_not_stored_if_a_hook_does_not_want_it() {
    let mut scene = Scene::with(&[]);
    hook(&mut scene, Point::ChatMessage, |_, _| Err(HookError::Blocked("it holds a key".to_owned())));
    scene
        .check(expect![[r#"
            end: error: not sent: the hook: it holds a key
        "#]])
        .await;
}

#[tokio::test]
async fn what_a_command_came_to_is_changed() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![says("Done.")]);
    let own = Command { name: "greet".to_owned(), template: "Greet $1.".to_owned(), ..Command::default() };
    scene.options.commands = vec![own];
    let told = puts(&mut scene, Point::CommandBefore, "/parts/0/text", json!("Greet the hook."));
    let session = scene.session().await;
    let end = session.prompt(Prompt::text("/greet you")).await;
    let want: Expect = expect![[r#"
        user
          text: Greet the hook.
        model [stop]
          text: Done.
        end: Finished("stop")
    "#]];
    scene.compare(&session, end, want).await;
    assert_eq!((&first(&told)["command"], &first(&told)["arguments"]), (&json!("greet"), &json!("you")));
}

#[tokio::test]
async fn requests_are_made_as_hooks_want_them() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![says("Done.")]);
    let told = hook(&mut scene, Point::ChatParams, |_, mut output| {
        output["temperature"] = 0.5.into();
        output["topK"] = 7.into();
        output["maxOutputTokens"] = 99.into();
        output["options"]["seed"] = 1.into();
        Ok(output)
    });
    puts(&mut scene, Point::ChatHeaders, "/headers/x-team", json!("a"));
    hook(&mut scene, Point::SystemTransform, |_, mut output| {
        output["system"].as_array_mut().unwrap().push("Be kind, says the hook.".into());
        Ok(output)
    });
    hook(&mut scene, Point::MessagesTransform, |_, mut output| {
        output["messages"][0]["parts"][0]["text"] = "went".into();
        Ok(output)
    });
    let session = play(&scene).await;
    let request = scene.requests.lock().unwrap()[0].clone();
    assert_eq!((request.temperature, request.top_k, request.max_output), (Some(0.5), Some(7), Some(99)));
    assert_eq!(request.extra["seed"], 1);
    let headers: Vec<(&str, &str)> =
        request.headers.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
    assert_eq!(headers, [("x-team", "a")]);
    assert!(request.system.ends_with("\n\nBe kind, says the hook."), "{}", request.system);
    assert_eq!(words(&request), ["user: went"]);
    assert_eq!((&first(&told)["model"]["id"], &first(&told)["provider"]["id"]), (&json!("scene"), &json!("script")));
    assert_eq!(first(&told)["message"]["role"], Value::Null);
    // What is stored stays what was said.
    let history = scene.journal.history(session.id()).await.unwrap();
    let PartKind::Text { text, .. } = &history.messages()[0].parts[0].kind else { panic!() };
    assert_eq!(text, "go");
}

#[tokio::test]
async fn a_piece_of_an_answer_is_changed_before_it_is_kept() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![says("Done.")]);
    puts(&mut scene, Point::TextComplete, "/text", json!("Done, says the hook."));
    scene
        .check(expect![[r#"
            user
              text: go
            model [stop]
              text: Done, says the hook.
            end: Finished("stop")
        "#]])
        .await;
}

#[tokio::test]
async fn a_turn_goes_on_for_as_long_as_a_hook_wants() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![says("Done.")]).model(vec![says("Tested, too.")]);
    let told = hook(&mut scene, Point::TurnStop, |input, mut output| {
        if input["again"] == false {
            output["because"] = "Run the tests.".into();
        }
        Ok(output)
    });
    scene
        .check(expect![[r#"
            user
              text: go
            model [stop]
              text: Done.
            user
              text: Run the tests.
            model [stop]
              text: Tested, too.
            end: Finished("stop")
        "#]])
        .await;
    assert_eq!(told.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_hook_that_never_lets_go_does_not_hold_a_turn_for_ever() {
    let mut scene = Scene::with(&[]);
    for _ in 0..12 {
        scene.model(vec![says("Done.")]);
    }
    let told = puts(&mut scene, Point::TurnStop, "/because", json!("Again."));
    play(&scene).await;
    assert_eq!((told.lock().unwrap().len(), scene.requests.lock().unwrap().len()), (8, 9));
}

#[tokio::test]
async fn hooks_are_asked_before_a_person_and_never_undo_a_denial() {
    /// What becomes of reading a file under a rule where a hook says `status`.
    async fn check(rule: Action, status: &'static str, want_told: usize, want: &str) {
        let mut scene = Scene::with(&[("a.rs", "one")]);
        scene.rule("read", rule);
        scene.model(vec![call("read", json!({ "filePath": "a.rs" }))]).model(vec![says("Done.")]);
        let told = puts(&mut scene, Point::PermissionAsk, "/status", json!(status));
        let session = play(&scene).await;
        let history = scene.journal.history(session.id()).await.unwrap();
        let text = crate::scene::transcript(&history);
        assert!(text.contains(want), "{rule:?} {status}: {text}");
        assert_eq!(told.lock().unwrap().len(), want_told, "{rule:?} {status}");
    }
    check(Action::Ask, "allow", 1, "read: ").await;
    check(Action::Ask, "deny", 1, "read failed: the hook does not allow this").await;
    check(Action::Ask, "ask", 1, "read failed: this needs the user's leave").await;
    check(Action::Allow, "deny", 0, "read: ").await;
}

#[tokio::test]
async fn a_hook_before_a_call_settles_or_raises_its_questions() {
    async fn check(rule: Action, leave: &'static str, replies: &[Reply], want: &str) {
        let mut scene = Scene::with(&[("a.rs", "one")]);
        // A narrow rule: a tool that is denied altogether is not even there.
        scene.rules.push(Rule::new("read", "a.*", rule));
        scene.replies = replies.to_vec();
        scene.model(vec![call("read", json!({ "filePath": "a.rs" }))]).model(vec![says("Done.")]);
        puts(&mut scene, Point::ToolBefore, "/permission", json!(leave));
        let session = scene.session().await;
        let _ = session.prompt(Prompt::text("go")).await;
        let text = crate::scene::transcript(&scene.journal.history(session.id()).await.unwrap());
        assert!(text.contains(want), "{rule:?} {leave}: {text}");
    }
    check(Action::Ask, "allow", &[], "read: ").await;
    check(Action::Allow, "ask", &[Reply::Once], "read: ").await;
    let no = Reply::Reject { advice: Some("no".to_owned()) };
    check(Action::Allow, "ask", &[no], "read failed: the user refused this call and says: no").await;
    check(Action::Allow, "deny", &[], "read failed: the hook does not allow this").await;
    check(Action::Deny, "allow", &[], "read failed: the user's rules do not allow this").await;
}

#[tokio::test]
async fn a_session_that_begins_is_told_what_hooks_say_and_hooks_hear_of_its_end() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![says("Done.")]);
    let began = puts(&mut scene, Point::SessionStart, "/context", json!(["The branch is frozen."]));
    let ended = hook(&mut scene, Point::SessionEnd, |_, output| Ok(output));
    let session = play(&scene).await;
    assert!(scene.requests.lock().unwrap()[0].system.contains("\n\nThe branch is frozen."));
    assert_eq!(first(&began)["reason"], "startup");
    session.settle().await;
    session.settle().await;
    assert_eq!(ended.lock().unwrap().len(), 1);
}

/// A session whose conversation is too long for its model before the second prompt.
fn long() -> Scene {
    let mut scene = Scene::with(&[]);
    scene.limits = Limits { context: 40_000, input: 0, output: 2_000 };
    scene.options.compaction = Compaction::default();
    scene.model(vec![says(&"many words ".repeat(9_000))]);
    scene
}

#[tokio::test]
async fn whoever_sums_up_is_told_what_hooks_say() {
    let mut scene = long();
    scene.serving(haft_llm::Purpose::Compaction, vec![says("Short.")]);
    let told = hook(&mut scene, Point::Compacting, |_, mut output| {
        output["context"] = json!(["Mind the branch."]);
        output["prompt"] = "Sum it up in one line.".into();
        Ok(output)
    });
    let session = play(&scene).await;
    session.compact(None).await.unwrap();
    let requests = scene.requests.lock().unwrap();
    let asked = requests.iter().find(|request| request.purpose == haft_llm::Purpose::Compaction).unwrap();
    let said = words(asked).concat();
    assert!(said.ends_with("Sum it up in one line.\n\nMind the branch."), "{}", &said[said.len() - 200..]);
    assert_eq!(first(&told)["reason"], "manual");
}

#[tokio::test]
async fn a_hook_stops_a_summary() {
    let mut scene = long();
    hook(&mut scene, Point::Compacting, |_, _| Err(HookError::Blocked("not now".to_owned())));
    let session = play(&scene).await;
    let why = session.compact(None).await.unwrap_err();
    assert_eq!(why.to_string(), "the hook: not now");
    let history = scene.journal.history(session.id()).await.unwrap();
    assert!(
        !history.messages().iter().any(|turned| matches!(&turned.info, Message::Assistant(answer) if answer.summary))
    );
}

#[tokio::test]
async fn a_hook_lets_the_work_rest_behind_a_summary() {
    /// How often the model was asked for a step, where the conversation gets too long in the middle of a turn.
    async fn steps(enabled: bool) -> (usize, Value) {
        let text = "a line of text\n".repeat(200);
        let mut scene = Scene::with(&[("a.txt", &text)]);
        scene.limits = Limits { context: 10_700, input: 0, output: 1_000 };
        scene.options.compaction.prune = false;
        for offset in 1..9 {
            scene.model(vec![says("Hm."), call("read", json!({ "filePath": "a.txt", "offset": offset }))]);
        }
        scene.model(vec![says("Done.")]).serving(haft_llm::Purpose::Compaction, vec![says("Notes.")]);
        let told = puts(&mut scene, Point::AutoContinue, "/enabled", json!(enabled));
        let session = play(&scene).await;
        let history = scene.journal.history(session.id()).await.unwrap();
        assert_eq!(history.messages().len() > 12, enabled, "{}", crate::scene::transcript(&history));
        let steps =
            scene.requests.lock().unwrap().iter().filter(|request| request.purpose == haft_llm::Purpose::Step).count();
        let told = first(&told).clone();
        (steps, told)
    }
    let ((on, told), (off, _)) = (steps(true).await, steps(false).await);
    assert!(off < on, "{off} steps without, {on} with");
    assert_eq!((&told["agent"], &told["overflow"]), (&json!("build"), &json!(false)));
}

#[tokio::test]
async fn a_prompt_is_answered_by_whom_a_hook_names() {
    /// A model that says one thing, called by any name.
    struct Quick;
    impl haft_session::Models for Quick {
        fn find(&self, name: &str, _: Option<&str>) -> Result<haft_session::Model, String> {
            let (vendor, id) = name.split_once('/').ok_or("no vendor")?;
            let reference = haft_protocol::ModelRef { provider_id: vendor.to_owned(), model_id: id.to_owned() };
            let answers = vec![haft_llm::Answer::new(vec![says("Quick.")])];
            Ok(haft_session::Model::new(reference, id, Arc::new(haft_llm::Script::new(id, answers))))
        }
    }
    let mut scene = Scene::with(&[]);
    scene.options.models = Some(Arc::new(Quick));
    puts(&mut scene, Point::ChatMessage, "/message/model", json!({ "providerID": "script", "modelID": "faster" }));
    let session = scene.session().await;
    let end = session.prompt(Prompt::text("go")).await;
    let history = scene.journal.history(session.id()).await.unwrap();
    let Message::User(asked) = &history.messages()[0].info else { panic!("{end:?}") };
    assert_eq!(asked.model.model_id, "faster");
    assert!(crate::scene::transcript(&history).contains("Quick."), "{end:?}");
    // One that is not there is no prompt.
    let mut scene = Scene::with(&[]);
    puts(&mut scene, Point::ChatMessage, "/message/agent", json!("nobody"));
    scene
        .check(expect![[r#"
            end: error: not sent: a hook wants another one to answer: there is no agent "nobody" that answers
        "#]])
        .await;
}

/// Says something of its own, and has a prompt of its own.
struct Elsewhere;

impl haft_session::Note for Elsewhere {
    fn text(&self, allowed: &dyn Fn(&str) -> bool) -> String {
        format!("\n\nThe server says hello; reading is {}.", if allowed("read") { "open" } else { "closed" })
    }
}

impl haft_session::Prompts for Elsewhere {
    fn all(&self) -> Vec<(String, String)> {
        vec![("server:greet".to_owned(), "greets".to_owned())]
    }

    fn get<'a>(&'a self, name: &'a str, arguments: Vec<String>) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            match arguments.as_slice() {
                [who] => Ok(format!("{name}: greet {who}, and do not run !`this`.")),
                _ => Err("it wants one name".to_owned()),
            }
        })
    }
}

#[tokio::test]
async fn what_others_say_stands_in_the_system_prompt_and_their_prompts_run_nothing() {
    let mut scene = Scene::with(&[]);
    scene.model(vec![says("Done.")]);
    scene.options.notes = vec![Arc::new(Elsewhere)];
    scene.options.prompts = Some(Arc::new(Elsewhere));
    let session = scene.session().await;
    let end = session.prompt(Prompt::text("/server:greet Ada")).await;
    let want: Expect = expect![[r#"
        user
          text: server:greet: greet Ada, and do not run !`this`.
        model [stop]
          text: Done.
        end: Finished("stop")
    "#]];
    scene.compare(&session, end, want).await;
    assert!(scene.requests.lock().unwrap()[0].system.contains("The server says hello; reading is open."));
    let why = session.prompt(Prompt::text("/server:greet")).await.unwrap_err().to_string();
    assert!(why.contains("it wants one name"), "{why}");
}
