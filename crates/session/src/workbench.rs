//! Running tools without a model: what `haft tool call` and other agents use.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use haft_permission::{Gate, Rules};
use haft_protocol::{Clock, MessageId, Object, SessionId};
use haft_tool::{Belongings, Marks, Output, Registry, Standing, ToolError};
use tokio_util::sync::CancellationToken;

use crate::Questions;
use crate::agents::hand_over::Wish;
use crate::kin::Kin;
use crate::turn::calls::Calls;
use crate::turn::report::{Progress, Report};
use crate::turn::side_by_side::patience;
use crate::turn::todos::Todos;

/// How long a call waits for sources of tools where nobody knows its name.
const PATIENCE: Duration = Duration::from_secs(30);

/// Tools that call others, which may be those of a source that is not there yet.
const CALLERS: [&str; 3] = [haft_tool::CALL, "batch", "execute"];

/// Tools behind their gate, with the memory of one session and nothing stored.
pub struct Workbench {
    calls: Calls,
    /// All tools, with those that come and go.
    registry: Registry,
    count: AtomicU64,
    /// Hooks hear of its calls under its rules.
    _standing: Standing,
}

/// What came of a call: the tool that ran, and its result.
pub struct Answered {
    /// The tool's name as it is spelled.
    pub name: String,
    /// Its result.
    pub result: Result<Output, ToolError>,
}

impl Workbench {
    /// A workbench with these tools, this gate and these rules. `outputs` is the existing folder where long outputs
    /// are kept.
    pub fn new(
        registry: Registry,
        gate: Gate,
        questions: Questions,
        rules: Rules,
        clock: Clock,
        outputs: PathBuf,
    ) -> Self {
        let session: SessionId = clock.mint();
        let standing = registry.hooks().stands().stand(&session, &rules);
        let calls = Calls {
            registry: registry.now(),
            gate,
            questions,
            marks: Marks::default(),
            belongings: Belongings::default(),
            todos: Todos::default(),
            rules,
            clock,
            outputs,
            session,
            crew: None,
            task_model: None,
            wish: Wish::default(),
        };
        Self { calls, registry, count: AtomicU64::new(0), _standing: standing }
    }

    /// An id for the next call: what is asked for that call names it as its message.
    pub fn ticket(&self) -> MessageId {
        // Each call stands for itself: what a person says of one is not said of the next.
        self.calls.clock.mint()
    }

    /// Runs the tool called `name` with the JSON text `arguments`. Calls may run side by side.
    ///
    /// `cancel` gives the tool half a second to end by itself; dropping the future stops it.
    pub async fn call(&self, name: &str, arguments: &str, cancel: CancellationToken) -> Answered {
        self.followed(self.ticket(), name, arguments, cancel, |_, _| {}).await
    }

    /// The same as the call that `ticket` names, where `told` is called with the title and the metadata of the work in
    /// progress. Of several that come at once it gets the last.
    pub async fn followed(
        &self,
        ticket: MessageId,
        name: &str,
        arguments: &str,
        cancel: CancellationToken,
        mut told: impl FnMut(&str, &Object),
    ) -> Answered {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let calls = self.knowing(name, &cancel).await;
        let mut prepared = match calls.parse(name, arguments) {
            Ok(prepared) => prepared,
            Err(why) => return Answered { name: name.to_owned(), result: Err(ToolError::BadInput(why)) },
        };
        let report = Report::nobody();
        let progress = report.progress.clone();
        let id = format!("call_{count}");
        let result = {
            let mut call = pin!(calls.call(&ticket, &id, &mut prepared, cancel.clone(), report));
            let mut patience = pin!(patience(cancel, Kin::none().children));
            loop {
                tokio::select! {
                    result = &mut call => break result,
                    () = &mut patience => break Err(ToolError::Cancelled),
                    (_, Progress { title, metadata }) = progress.next() => told(&title, &metadata),
                }
            }
        };
        Answered { name: prepared.name, result }
    }

    /// With the tools that there are now. Waits a while for sources where none of them is called `name`, and where the one
    /// that is so called may mean another.
    async fn knowing(&self, name: &str, cancel: &CancellationToken) -> Calls {
        let now = self.registry.now();
        if !CALLERS.contains(&name) && now.find(name).is_ok() {
            return Calls { registry: now, ..self.calls.clone() };
        }
        tokio::select! {
            () = self.registry.ready(PATIENCE) => {}
            () = cancel.cancelled() => {}
        }
        Calls { registry: self.registry.now(), ..self.calls.clone() }
    }
}
