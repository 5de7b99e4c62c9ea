//! What hooks of plug-ins do in the world: each effect behind the gate, in the plug-in's own name.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use haft_permission::{Access, Action, Denied, Grant, Rules};
use haft_project::Secrets;
use haft_protocol::hook::Point;
use haft_protocol::{Id, SessionId};
use haft_tool::{Call, Solo, Stands};
use serde_json::Value;

use crate::effects::{CallWorld, Doors, NoWorld};
use crate::error::Refusal;
use crate::host::Right;
use crate::script::World;

/// When a plug-in does something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moment {
    /// The session that its hook hears of.
    pub session: Option<SessionId>,
    /// Whether a person can be asked: not before there is anything on the screen, and not after.
    pub asks: bool,
    /// Whether the session waits until its hook has ended.
    pub holds: bool,
}

impl Moment {
    /// When `point` is told `input`.
    pub(crate) fn of(point: Point, input: &Value) -> Self {
        let at = |path: &str| input.pointer(path).and_then(Value::as_str);
        let places = ["/sessionID", "/event/properties/sessionID", "/event/properties/info/sessionID"];
        let session = places.into_iter().find_map(at).and_then(|id| SessionId::parse(id).ok());
        let asks = match point {
            Point::Config | Point::Dispose | Point::SessionStart | Point::SessionEnd | Point::SmallModel => false,
            Point::Event
            | Point::ChatMessage
            | Point::ChatParams
            | Point::ChatHeaders
            | Point::PermissionAsk
            | Point::CommandBefore
            | Point::ToolBefore
            | Point::ToolAfter
            | Point::ToolDefinition
            | Point::ShellEnv
            | Point::MessagesTransform
            | Point::SystemTransform
            | Point::Compacting
            | Point::AutoContinue
            | Point::TextComplete
            | Point::TurnStop => true,
        };
        let holds = !matches!(point, Point::Event | Point::Config | Point::Dispose);
        Self { session, asks, holds }
    }
}

/// Gives hooks their world.
pub trait Stage: Send + Sync {
    /// What the plug-in called `plugin` may do at `moment`.
    fn enter(&self, plugin: &str, moment: &Moment) -> Arc<dyn World>;

    /// What a host may do that hears of `moment`.
    fn right(&self, _moment: &Moment) -> Right {
        Right::Reads
    }

    /// Whether anybody works who may change files, or was the last to work.
    fn has_writers(&self) -> bool {
        false
    }

    /// Leave for a host to run, for the plug-in or the file called `what`. Nobody is asked.
    fn leave<'a>(&'a self, _what: &'a str, _access: Access) -> BoxFuture<'a, Result<Grant, Denied>> {
        Box::pin(async { Err(Denied::Closed) })
    }

    /// Which files of the project hosts cannot read: what rules do not allow.
    fn secrets(&self) -> Option<Secrets> {
        None
    }
}

/// The stage behind a gate. Plug-ins are there before their gate is: until [`Behind::open`] nothing is done.
#[derive(Default)]
pub struct Behind {
    open: Mutex<Option<Opened>>,
    stands: Stands,
}

/// The doors, and who is asked.
#[derive(Clone)]
pub struct Opened {
    /// What effects go through.
    pub doors: Doors,
    /// Whose gate asks whoever is there.
    pub asking: Solo,
    /// Whose gate asks nobody.
    pub silent: Solo,
}

impl Behind {
    /// Where whoever works is to say under which rules: what hooks do meanwhile comes no further.
    pub fn stands(&self) -> &Stands {
        &self.stands
    }

    fn opened(&self) -> Option<Opened> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on things are done by `opened`.
    pub fn open(&self, opened: Opened) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened);
    }
}

impl Stage for Behind {
    fn enter(&self, plugin: &str, moment: &Moment) -> Arc<dyn World> {
        let Some(opened) = self.opened() else { return Arc::new(NoWorld) };
        let solo = if moment.asks { &opened.asking } else { &opened.silent };
        let call = solo.for_plugin(plugin, moment.session.clone(), self.stands.rules(moment.session.as_ref()));
        Arc::new(InHook { doors: opened.doors, call, holds: moment.holds })
    }

    fn right(&self, moment: &Moment) -> Right {
        let here = self.stands.rules(moment.session.as_ref());
        let rules = here.or_else(|| Some(self.opened()?.silent.rules().clone()));
        Right::of(rules.map_or(Action::Deny, |rules| rules.in_general("edit")))
    }

    fn has_writers(&self) -> bool {
        self.stands.any(|rules: &Rules| Right::of(rules.in_general("edit")) == Right::Changes)
    }

    fn leave<'a>(&'a self, what: &'a str, access: Access) -> BoxFuture<'a, Result<Grant, Denied>> {
        Box::pin(async move {
            // It is no doing of who works now: under the rules of the agent that answers where none is named.
            let opened = self.opened().ok_or(Denied::Closed)?;
            opened.silent.for_plugin(what, None, None).ask(access).await
        })
    }

    fn secrets(&self) -> Option<Secrets> {
        let Opened { doors, silent, .. } = self.opened()?;
        let (rules, files) = (silent.rules().clone(), doors.files);
        let id = rules.id();
        let hides = move |path: &Path| rules.decide("read", &files.title(path), false).0 != Action::Allow;
        Some(Secrets { id, hides: Arc::new(hides) })
    }
}

/// The world of one hook that is called.
struct InHook {
    doors: Doors,
    call: Call,
    holds: bool,
}

impl World for InHook {
    fn perform<'a>(&'a self, effect: &'a str, params: Value) -> BoxFuture<'a, Result<Value, Refusal>> {
        Box::pin(async move {
            if matches!(effect, "tool" | "ask") {
                return Err(Refusal::coded("ENOSYS", format!("{effect} is for tools, and not there in a hook")));
            }
            CallWorld::new(&self.doors, &self.call, haft_permission::PLUGIN).perform(effect, params).await
        })
    }

    fn told(&self, what: &str, params: Value) {
        CallWorld::new(&self.doors, &self.call, haft_permission::PLUGIN).told(what, params);
    }

    fn leave(&self, access: Access) -> BoxFuture<'_, Result<Grant, Refusal>> {
        Box::pin(async move {
            let world = CallWorld::new(&self.doors, &self.call, haft_permission::PLUGIN);
            world.leave(access).await
        })
    }

    fn session(&self) -> Option<&SessionId> {
        Some(&self.call.session)
    }

    fn holds_turn(&self) -> bool {
        self.holds
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_moment_is_of_the_session_that_the_hook_hears_of() {
        let id = "ses_0000000000000000000000000a";
        let check = |point, input: Value, session: bool, asks: bool, holds: bool| {
            let session = session.then(|| SessionId::parse(id).unwrap());
            assert_eq!(Moment::of(point, &input), Moment { session, asks, holds }, "{input}");
        };
        check(Point::ToolBefore, json!({ "sessionID": id }), true, true, true);
        check(Point::Event, json!({ "event": { "properties": { "sessionID": id } } }), true, true, false);
        check(Point::Event, json!({ "event": { "properties": { "info": { "sessionID": id } } } }), true, true, false);
        check(Point::Event, json!({ "event": { "properties": { "sessionID": "../x" } } }), false, true, false);
        check(Point::SessionStart, json!({ "sessionID": id }), true, false, true);
        check(Point::Config, json!({}), false, false, false);
    }
}
