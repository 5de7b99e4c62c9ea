//! Hooks: others who are told what happens, and may change or stop it.
//!
//! Whoever has hooks to offer (plug-ins, commands of the user's) implements [`Hook`] and is added to [`Hooks`], which the
//! registry calls around every tool and whoever runs sessions at all other points. Hooks run one after the other in the
//! order in which they were added, each on what the one before it made.

mod points;
mod variables;

use std::sync::Arc;

use futures::future::BoxFuture;
use haft_permission::{Advice, Denied};
use haft_protocol::hook::{Leave, Point};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use self::variables::harmless;
use crate::{Stands, ToolError};

/// Somebody who is told what happens at some points, and may change or stop it there.
pub trait Hook: Send + Sync {
    /// Who it is, for people: a file, a package.
    fn name(&self) -> &str;
    /// Whether it wants to be told of `point`. Asked each time, so the answer must be quick.
    fn listens(&self, point: Point) -> bool;
    /// Tells it `input`, and returns `output` as it wants it to be. Their forms are those of
    /// [`haft_protocol::hook`]. Dropping the future must stop it.
    fn fire<'a>(&'a self, point: Point, input: &'a Value, output: Value) -> BoxFuture<'a, Result<Value, HookError>>;
}

/// Why a hook did not let something happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HookError {
    /// It does not want it. The reason is for whoever wanted it: the model where it called a tool, else a person.
    #[error("{0}")]
    Blocked(String),
    /// It wants the turn to end here. The reason is for a person.
    #[error("{0}")]
    Ends(String),
    /// It did not work.
    #[error("{0}")]
    Failed(String),
}

/// A hook that did not let something happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{hook}: {why}")]
pub struct Hooked {
    /// Who.
    pub hook: String,
    /// Why.
    pub why: HookError,
}

impl From<Hooked> for ToolError {
    fn from(Hooked { hook, why }: Hooked) -> Self {
        match why {
            HookError::Blocked(reason) => Denied::Hook { by: hook, reason, ends: false }.into(),
            HookError::Ends(reason) => Denied::Hook { by: hook, reason, ends: true }.into(),
            // What a plug-in throws is the error of the call, in its own words.
            HookError::Failed(why) => ToolError::Failed(why),
        }
    }
}

/// What a hook that changed it last, `by`, says about leave.
fn advice(leave: Option<Leave>, by: String, reason: Option<String>) -> Advice {
    let reason = || reason.unwrap_or_else(|| "it said no, and not why".to_owned());
    match leave {
        // Whoever said nothing else changed something else.
        None => Advice::None,
        Some(Leave::Allow) => Advice::Allow { by },
        Some(Leave::Ask) => Advice::Ask { by },
        Some(Leave::Deny) => Advice::Deny { by, reason: reason() },
    }
}

/// All hooks, in their order. Cheap to clone; without any, every point costs a look at an empty list.
#[derive(Clone, Default)]
pub struct Hooks {
    hooks: Arc<[Arc<dyn Hook>]>,
    stands: Stands,
}

impl Hooks {
    /// The same with `hook` behind all others.
    #[must_use]
    pub fn with(self, hook: Arc<dyn Hook>) -> Self {
        Self { hooks: self.hooks.iter().cloned().chain([hook]).collect(), ..self }
    }

    /// The same, where `stands` knows under whose rules work is done.
    #[must_use]
    pub fn under(self, stands: Stands) -> Self {
        Self { stands, ..self }
    }

    /// Where whoever works says under which rules: what hooks do meanwhile comes no further.
    pub fn stands(&self) -> &Stands {
        &self.stands
    }

    /// Their names, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.hooks.iter().map(|hook| hook.name())
    }

    /// Whether any of them wants to be told of `point`.
    pub fn listen(&self, point: Point) -> bool {
        self.hooks.iter().any(|hook| hook.listens(point))
    }

    /// Tells all that listen, one after the other. One that fails, or gives back what cannot be read, is named in the
    /// log and passed over, but where [`Point::stops`].
    async fn fire<I: Serialize, O: Serialize + DeserializeOwned>(
        &self,
        point: Point,
        input: &I,
        output: O,
    ) -> Result<O, Hooked> {
        Ok(self.fire_until(point, input, output, |_| false).await?.0)
    }

    /// The same until one of them says what is `last`: nobody behind it is told. Also returns who changed it last.
    async fn fire_until<I: Serialize, O: Serialize + DeserializeOwned>(
        &self,
        point: Point,
        input: &I,
        output: O,
        last: impl Fn(&O) -> bool,
    ) -> Result<(O, String), Hooked> {
        let (mut output, mut by) = (output, String::new());
        if !self.listen(point) {
            return Ok((output, by));
        }
        let (Ok(input), Ok(mut shown)) = (serde_json::to_value(input), serde_json::to_value(&output)) else {
            tracing::error!(point = point.name(), "what hooks are told cannot be written as JSON");
            return Ok((output, by));
        };
        for hook in self.hooks.iter() {
            if !hook.listens(point) {
                continue;
            }
            let fired = hook.fire(point, &input, shown.clone()).await;
            let read = fired.and_then(|value| match serde_json::from_value(value.clone()) {
                Ok(read) => Ok((read, value)),
                Err(error) => {
                    Err(HookError::Failed(format!("{} gave back what has another form: {error}", hook.name())))
                }
            });
            match read {
                Ok((read, value)) => {
                    if value != shown {
                        by = hook.name().to_owned();
                    }
                    (output, shown) = (read, value);
                    if last(&output) {
                        break;
                    }
                }
                Err(why @ HookError::Failed(_)) if !point.stops() => {
                    tracing::warn!(hook = hook.name(), point = point.name(), %why, "a hook failed and is passed over");
                }
                Err(why) => return Err(Hooked { hook: hook.name().to_owned(), why }),
            }
        }
        Ok((output, by))
    }

    /// The same where nobody may stop anything.
    async fn change<I: Serialize, O: Serialize + DeserializeOwned + Clone>(
        &self,
        point: Point,
        input: &I,
        output: O,
    ) -> O {
        if !self.listen(point) {
            return output;
        }
        let before = output.clone();
        self.fire(point, input, output).await.unwrap_or_else(|hooked| {
            tracing::warn!(%hooked, point = point.name(), "nothing can be stopped here");
            before
        })
    }
}

#[cfg(test)]
mod tests;
