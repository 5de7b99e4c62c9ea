//! The recording as somebody who is told what happens: it lets happen again what did, and nothing that did not.

use std::sync::Arc;

use futures::future::BoxFuture;
use haft_protocol::hook::{GoOn, Point};
use haft_tool::{Hook, HookError, Hooks};
use serde_json::Value;

use super::{Playback, Results};

/// A hook that lets turns go on where hooks let them then, and holds back calls that were denied then.
pub struct Recording {
    playback: Playback,
    results: Arc<Results>,
}

impl Recording {
    /// The recording that `playback` plays, with what came of its calls.
    pub fn new(playback: Playback, results: Arc<Results>) -> Self {
        Self { playback, results }
    }

    /// It, and behind it `others` where they stop a call or change what comes of it. What they changed of prompts and
    /// arguments is recorded, and of requests nobody asks.
    pub fn before(self, others: Hooks) -> Hooks {
        let first = Hooks::default().with(Arc::new(self));
        others.all().fold(first, |hooks, hook| hooks.with(Arc::new(Again(Arc::clone(hook)))))
    }

    /// What a turn of the session goes on with that was about to end.
    fn goes_on(&self, input: &Value) -> Result<Value, HookError> {
        let session = input.get("sessionID").and_then(Value::as_str).unwrap_or_default();
        let because = self.playback.goes_on(session);
        serde_json::to_value(GoOn { because }).map_err(|error| HookError::Failed(error.to_string()))
    }

    fn denial(&self, input: &Value, output: &Value) -> Option<&str> {
        let text = |key: &str| input.get(key).and_then(Value::as_str);
        self.results.denial(text("tool")?, text("callID")?, output.get("args").unwrap_or(&Value::Null))
    }
}

impl Hook for Recording {
    fn name(&self) -> &str {
        "the recording"
    }

    fn listens(&self, point: Point) -> bool {
        matches!(point, Point::TurnStop | Point::ToolBefore)
    }

    fn fire<'a>(&'a self, point: Point, input: &'a Value, output: Value) -> BoxFuture<'a, Result<Value, HookError>> {
        let said = match self.denial(input, &output) {
            _ if point == Point::TurnStop => self.goes_on(input),
            Some(why) => Err(HookError::Failed(why.to_owned())),
            None => Ok(output),
        };
        Box::pin(std::future::ready(said))
    }
}

/// A hook that is told again what it was told then.
struct Again(Arc<dyn Hook>);

impl Hook for Again {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn listens(&self, point: Point) -> bool {
        matches!(point, Point::ToolBefore | Point::ToolAfter | Point::ShellEnv) && self.0.listens(point)
    }

    fn fire<'a>(&'a self, point: Point, input: &'a Value, output: Value) -> BoxFuture<'a, Result<Value, HookError>> {
        Box::pin(async move {
            let said = self.0.fire(point, input, output.clone()).await?;
            // Arguments are recorded as hooks left them, and changing them twice may be once too often.
            Ok(if point == Point::ToolBefore { output } else { said })
        })
    }
}
