//! Plug-ins: forms of modules, hooks, what they may ask, and what becomes of broken ones.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use haft_protocol::hook::Point;
use haft_script::plugin::{Begun, Client, Found, Grounds, Limits, MAX_ANSWERED, Moment, NoClient, Plugin, Stage};
use haft_script::{Allowance, World};
use haft_tool::{Hook, HookError};
use serde_json::{Value, json};

use crate::scene::{Scene, answers};

/// Refuses every effect but `fs.stat` and `fs.write`.
struct Answering;

impl Stage for Answering {
    fn enter(&self, _: &str, _: &Moment) -> Arc<dyn World> {
        Arc::new(answers(&[("fs.stat", json!(null)), ("fs.write", json!(null))]))
    }
}

/// A plug-in of `source`, and what a person is told of it.
fn plugin(scene: &Scene, options: Value, client: Arc<dyn Client>) -> (Plugin, Arc<Mutex<Vec<String>>>) {
    limited(scene, options, client, Limits::default())
}

fn limited(
    scene: &Scene,
    options: Value,
    client: Arc<dyn Client>,
    limits: Limits,
) -> (Plugin, Arc<Mutex<Vec<String>>>) {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let telling = told.clone();
    let grounds = Grounds {
        engine: scene.engine.clone(),
        host: None,
        bounds: scene.bounds(),
        stage: Arc::new(Answering),
        client,
        directory: "/project".into(),
        worktree: "/work".into(),
        project: "global".to_owned(),
        tell: Arc::new(move |text| telling.lock().unwrap().push(text.to_owned())),
        limits,
    };
    let found = Found { name: "the plug-in".to_owned(), file: scene.path("main.ts"), options };
    (Plugin::new(found, grounds), told)
}

async fn fire(source: &str, point: Point, input: Value, output: Value) -> Result<Value, HookError> {
    let scene = Scene::new(&[("main.ts", source)]);
    plugin(&scene, json!({ "by": 2 }), Arc::new(NoClient)).0.fire(point, &input, output).await
}

async fn begun(source: &str) -> Result<Begun, String> {
    let scene = Scene::new(&[("main.ts", source)]);
    let plugin = plugin(&scene, json!(null), Arc::new(NoClient)).0;
    plugin.begin().await.cloned().map_err(|error| error.to_string())
}

#[tokio::test]
async fn modules_have_two_forms() {
    async fn check(source: &str, points: &[&str], id: Option<&str>) {
        let begun = begun(source).await.unwrap();
        assert_eq!(
            (begun.points.iter().map(String::as_str).collect::<Vec<_>>(), begun.id.as_deref()),
            (points.to_vec(), id)
        );
    }
    check("export default { id: 'a', server: async () => ({ event: async () => {} }) }", &["event"], Some("a")).await;
    check(
        "export const A = async () => ({ event() {} })\nexport const B = () => ({ 'shell.env'() {} })",
        &["event", "shell.env"],
        None,
    )
    .await;
    // One function by two names is called once.
    check("let n = 0\nexport const A = async () => { if (n++) throw new Error('twice'); return { event() {} } }\nexport default A", &["event"], None).await;
    check("export default async () => ({})", &[], None).await;
    let why = begun("export const nothing = 1").await.unwrap_err();
    assert!(why.contains("it exports no plug-in"), "{why}");
}

#[tokio::test]
async fn a_hook_changes_what_it_is_given_in_place() {
    let source = "export const P = async ({ directory }, options) => ({
        'tool.execute.before': async (input, output) => {
            output.args.path = `${directory}/${input.tool}/${options.by}`
            return 'ignored'
        },
    })";
    let got = fire(source, Point::ToolBefore, json!({ "tool": "read" }), json!({ "args": {} })).await;
    assert_eq!(got, Ok(json!({ "args": { "path": "/project/read/2" } })));
}

#[tokio::test]
async fn several_functions_run_one_after_the_other_on_the_same() {
    let source = "export const A = () => ({ 'chat.params': async (i, o) => { o.temperature = 1 } })
        export const B = () => ({ 'chat.params': async (i, o) => { o.temperature += 1 } })";
    assert_eq!(fire(source, Point::ChatParams, json!({}), json!({})).await, Ok(json!({ "temperature": 2 })));
}

#[tokio::test]
async fn the_settings_are_given_as_they_are() {
    let source = "export const A = () => ({ config: async (config) => { config.model = 'a/b' } })";
    assert_eq!(fire(source, Point::Config, json!({}), json!({ "x": 1 })).await, Ok(json!({ "x": 1, "model": "a/b" })));
}

#[tokio::test]
async fn what_it_throws_is_told() {
    let source =
        "export const A = () => ({ 'tool.execute.before': async () => { throw new Error('do not read that') } })";
    let Err(HookError::Failed(why)) = fire(source, Point::ToolBefore, json!({}), json!({})).await else { panic!() };
    assert!(why.starts_with("do not read that"), "{why}");
}

#[tokio::test]
async fn one_that_cannot_begin_is_named_once_and_passed_over() {
    let scene = Scene::new(&[("main.ts", "export const A = () => { throw new Error('no key') }")]);
    let (plugin, told) = plugin(&scene, json!(null), Arc::new(NoClient));
    for _ in 0..2 {
        assert_eq!(plugin.fire(Point::ToolBefore, &json!({}), json!({ "args": 1 })).await, Ok(json!({ "args": 1 })));
    }
    assert!(!plugin.listens(Point::ToolBefore));
    let told = told.lock().unwrap();
    assert!(told.len() == 1 && told[0].starts_with("the plug-in the plug-in is left out: no key"), "{told:?}");
}

/// A client that remembers what it was asked.
#[derive(Default)]
struct Asked(Mutex<Vec<(Vec<String>, Vec<Value>)>>);

impl Client for Asked {
    fn call<'a>(
        &'a self,
        _: &'a str,
        path: &'a [String],
        args: Vec<Value>,
        _: &'a dyn World,
    ) -> BoxFuture<'a, Result<Value, haft_script::Refusal>> {
        self.0.lock().unwrap().push((path.to_vec(), args));
        Box::pin(async { Ok(json!({ "data": [1, 2] })) })
    }
}

#[tokio::test]
async fn the_client_is_answered_in_process() {
    let source = "export const A = ({ client }) => ({
        'tool.execute.after': async (input, output) => { output.output = (await client.session.list({ n: 1 })).data.length },
    })";
    let scene = Scene::new(&[("main.ts", source)]);
    let client = Arc::new(Asked::default());
    let (plugin, _) = plugin(&scene, json!(null), client.clone());
    let got = plugin.fire(Point::ToolAfter, &json!({}), json!({})).await;
    assert_eq!(got, Ok(json!({ "output": 2 })));
    let asked = client.0.lock().unwrap();
    assert_eq!(*asked, [(vec!["session".to_owned(), "list".to_owned()], vec![json!({ "n": 1 })])]);
}

/// What a hook comes to that may take 50 ms without haft's help, and 20 effects.
async fn held(hook: &str) -> Result<Value, String> {
    let source = format!("export const A = () => ({{ 'chat.headers': async (input, output) => {{ {hook} }} }})");
    let scene = Scene::new(&[("main.ts", &source)]);
    let hook = Allowance { time: Duration::from_millis(50), effects: 20 };
    let limits = Limits { hook, ..Limits::default() };
    let (plugin, _) = limited(&scene, json!(null), Arc::new(NoClient), limits);
    plugin.begin().await.map_err(|error| error.to_string())?;
    let fired = plugin.fire(Point::ChatHeaders, &json!({}), json!({ "headers": {} })).await;
    let fired = fired.map_err(|error| error.to_string());
    // Whatever it did, the next one is called as if nothing had been, in a new process if need be.
    let scene =
        Scene::new(&[("main.ts", "export const A = () => ({ 'chat.headers'(i, o) { o.headers.ok = 'yes' } })")]);
    let (other, _) = limited(&scene, json!(null), Arc::new(NoClient), Limits::default());
    let after = other.fire(Point::ChatHeaders, &json!({}), json!({ "headers": {} })).await;
    assert_eq!(after, Ok(json!({ "headers": { "ok": "yes" } })));
    fired
}

#[tokio::test]
async fn hooks_that_go_on_for_ever_are_stopped() {
    for hook in [
        "for (;;) {}",
        "await new Promise((done) => setTimeout(done, 1e8))",
        "for (;;) await new Promise((done) => setTimeout(done, 0))",
        "for (;;) await 1",
    ] {
        let why = held(hook).await.unwrap_err();
        assert!(why.contains("went on for 0.05 s without an end"), "{hook}: {why}");
    }
    let why = held("for (;;) await (await import('node:fs/promises')).stat('/x').catch(() => 0)").await.unwrap_err();
    assert!(why.contains("more than 20 times"), "{why}");
}

#[tokio::test]
async fn a_memory_bomb_is_an_error_of_its_hook() {
    let why = held("const all = []; for (;;) all.push(new Uint8Array(64 * 1024 * 1024))").await.unwrap_err();
    assert!(why.contains("memory") || why.contains("went on"), "{why}");
}

#[tokio::test]
async fn changes_to_what_all_objects_have_stay_in_the_script() {
    let polluting = "Object.prototype.headers = { evil: 'yes' }; Array.prototype.push = null; JSON.stringify = () => '{}';
        Promise.prototype.then = null; Object.prototype.toJSON = () => ({ headers: { evil: 'yes' } }); output.headers.a = 'b'";
    match held(polluting).await {
        // `toJSON` is the language's own way to say what an object is as JSON.
        Ok(got) => assert_eq!(got.as_object().map(|got| got.keys().all(|key| key == "headers")), Some(true), "{got}"),
        Err(why) => assert!(!why.is_empty()),
    }
    let named =
        held("output.headers = JSON.parse('{\"__proto__\": { \"evil\": \"yes\" }, \"a\": \"b\"}')").await.unwrap();
    assert_eq!(named["headers"]["a"], "b");
}

#[tokio::test]
async fn what_it_does_not_wait_for_is_done_all_the_same() {
    let scene =
        Scene::new(&[("main.ts", "export const A = ({ client }) => ({ event() { client.app.log({ a: 1 }) } })")]);
    let client = Arc::new(Asked::default());
    let (plugin, _) = plugin(&scene, json!(null), client.clone());
    plugin.fire(Point::Event, &json!({}), json!({})).await.unwrap();
    assert_eq!(client.0.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn one_that_answers_every_file_with_another_change_hears_of_no_more() {
    let source = "import { writeFile } from 'node:fs/promises'
        let heard = 0
        export const A = () => ({
            event: async ({ event }) => { heard += 1; if (event.changes) await writeFile('/x/y', 'z') },
            'chat.headers'(input, output) { output.headers.heard = String(heard) },
        })";
    let scene = Scene::new(&[("main.ts", source)]);
    let (plugin, told) = plugin(&scene, json!(null), Arc::new(NoClient));
    let event = async |event: Value| plugin.fire(Point::Event, &json!({ "event": event }), json!({})).await.unwrap();
    let edited = |changes: bool| json!({ "type": "file.edited", "properties": { "file": "/x/y" }, "changes": changes });
    let heard = async || {
        let headers = plugin.fire(Point::ChatHeaders, &json!({}), json!({ "headers": {} })).await.unwrap();
        headers["headers"]["heard"].as_str().unwrap().parse::<u32>().unwrap()
    };
    // Who changes nothing hears of all.
    event(edited(false)).await;
    for _ in 0..MAX_ANSWERED + 5 {
        event(edited(true)).await;
    }
    assert_eq!(heard().await, MAX_ANSWERED + 1);
    let words = told.lock().unwrap().clone();
    assert!(matches!(&words[..], [one] if one.contains("until the next prompt it is told of no more")), "{words:?}");
    // Of everything else it is told, and of files again from the next prompt on.
    event(json!({ "type": "session.idle" })).await;
    event(json!({ "type": "message.updated", "properties": { "info": { "role": "user" } } })).await;
    event(edited(true)).await;
    assert_eq!(heard().await, MAX_ANSWERED + 4);
}
