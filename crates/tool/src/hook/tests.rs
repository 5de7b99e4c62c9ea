use std::sync::Mutex;

use haft_protocol::Clock;
use haft_protocol::hook::{ShellPlace, ToolCalled};
use serde_json::json;

use super::*;
use crate::Spec;

/// A hook that does what a function says, and remembers what it was told.
struct Says {
    name: &'static str,
    point: Point,
    say: fn(&Value, Value) -> Result<Value, HookError>,
    told: Mutex<Vec<Value>>,
}

impl Hook for Says {
    fn name(&self) -> &str {
        self.name
    }

    fn listens(&self, point: Point) -> bool {
        point == self.point
    }

    fn fire<'a>(&'a self, _point: Point, input: &'a Value, output: Value) -> BoxFuture<'a, Result<Value, HookError>> {
        self.told.lock().unwrap().push(output.clone());
        Box::pin(async move { (self.say)(input, output) })
    }
}

fn says(name: &'static str, point: Point, say: fn(&Value, Value) -> Result<Value, HookError>) -> Arc<Says> {
    Arc::new(Says { name, point, say, told: Mutex::default() })
}

fn called() -> ToolCalled {
    let session_id = Clock::scripted(1).mint();
    ToolCalled { tool: "read".to_owned(), session_id, call_id: "c".to_owned(), args: None }
}

#[tokio::test]
async fn each_hook_gets_what_the_one_before_it_made() {
    let first = says("first", Point::ToolBefore, |_, mut output| {
        output["args"]["a"] = 1.into();
        Ok(output)
    });
    let second = says("second", Point::ToolBefore, |input, mut output| {
        output["args"]["tool"] = input["tool"].clone();
        Ok(output)
    });
    let hooks = Hooks::default().with(first).with(second.clone());
    let got = hooks.tool_before(&called(), json!({})).await.unwrap();
    assert_eq!(got, (json!({ "a": 1, "tool": "read" }), Advice::None));
    assert_eq!(*second.told.lock().unwrap(), [json!({ "args": { "a": 1 } })]);
    assert_eq!(hooks.names().collect::<Vec<_>>(), ["first", "second"]);
}

#[tokio::test]
async fn what_a_hook_does_wrong_stops_a_call_and_passes_elsewhere() {
    let broken = |_: &Value, _: Value| Ok(json!("nonsense"));
    let throws = |_: &Value, _: Value| Err(HookError::Failed("boom".to_owned()));
    let before = |say| Hooks::default().with(says("bad", Point::ToolBefore, say));
    let why = before(throws).tool_before(&called(), json!({})).await.unwrap_err();
    assert_eq!(why.to_string(), "bad: boom");
    let why = before(broken).tool_before(&called(), json!({})).await.unwrap_err();
    assert!(why.to_string().contains("bad gave back what has another form"), "{why}");

    let spec = || Spec { name: "read".to_owned(), description: "d".to_owned(), parameters: json!({}) };
    let hooks = Hooks::default()
        .with(says("throws", Point::ToolDefinition, throws))
        .with(says("broken", Point::ToolDefinition, broken))
        .with(says("works", Point::ToolDefinition, |_, mut output| {
            output["description"] = "better".into();
            Ok(output)
        }));
    let got = hooks.definitions(vec![spec()]).await;
    assert_eq!(got, [Spec { description: "better".to_owned(), ..spec() }]);
}

#[tokio::test]
async fn who_does_not_listen_is_not_told() {
    let other = says("other", Point::ToolAfter, |_, _| panic!("told"));
    let hooks = Hooks::default().with(other);
    assert!(hooks.listen(Point::ToolAfter) && !hooks.listen(Point::ShellEnv));
    let place = ShellPlace { cwd: "/".to_owned(), session_id: None, call_id: None };
    assert!(hooks.shell_env(&place).await.env.is_empty());
}

#[test]
fn an_error_says_what_becomes_of_the_call() {
    let row = |why: HookError, text: &str, goes_on: bool| {
        let error = ToolError::from(Hooked { hook: "h".to_owned(), why });
        assert_eq!(error.to_string(), text);
        assert_eq!(!matches!(&error, ToolError::Denied(denied) if !denied.may_go_on()), goes_on);
    };
    row(HookError::Blocked("not here".to_owned()), "h does not allow this: not here", true);
    row(HookError::Ends("enough".to_owned()), "h does not allow this: enough", false);
    row(HookError::Failed("boom".to_owned()), "boom", true);
}

#[tokio::test]
async fn a_no_is_not_undone() {
    let no = says("no", Point::ToolBefore, |_, mut output| {
        output["permission"] = "deny".into();
        output["reason"] = "not today".into();
        Ok(output)
    });
    let yes = says("yes", Point::ToolBefore, |_, mut output| {
        output["permission"] = "allow".into();
        Ok(output)
    });
    let both = Hooks::default().with(yes.clone()).with(no.clone()).with(yes.clone());
    let why = both.tool_before(&called(), json!({})).await.unwrap_err();
    assert_eq!(why, Hooked { hook: "no".to_owned(), why: HookError::Blocked("not today".to_owned()) });
    let (_, advice) = Hooks::default().with(yes).tool_before(&called(), json!({})).await.unwrap();
    assert_eq!(advice, Advice::Allow { by: "yes".to_owned() });
}
