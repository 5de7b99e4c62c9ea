//! Plug-ins: forms of modules, hooks, what they may ask, and what becomes of broken ones.

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use haft_protocol::hook::Point;
use haft_script::plugin::{Begun, Client, Found, Grounds, NoClient, Plugin};
use haft_tool::{Hook, HookError};
use serde_json::{Value, json};

use crate::scene::{Scene, answers};

/// A plug-in of `source`, and what a person is told of it.
fn plugin(scene: &Scene, options: Value, client: Arc<dyn Client>) -> (Plugin, Arc<Mutex<Vec<String>>>) {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let telling = told.clone();
    let grounds = Grounds {
        engine: scene.engine.clone(),
        host: None,
        sources: scene.sources(),
        world: Arc::new(answers(&[])),
        client,
        directory: "/project".into(),
        worktree: "/work".into(),
        project: "global".to_owned(),
        tell: Arc::new(move |text| telling.lock().unwrap().push(text.to_owned())),
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
    fn call<'a>(&'a self, path: &'a [String], args: Vec<Value>) -> BoxFuture<'a, Result<Value, String>> {
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
