//! Running tools without a model: what `haft tool call` and other agents use.

use std::path::PathBuf;

use haft_permission::{Gate, Rules};
use haft_protocol::{Clock, MessageId, SessionId};
use haft_tool::{Belongings, Marks, Output, Registry, ToolError};
use tokio_util::sync::CancellationToken;

use crate::Questions;
use crate::calls::{Calls, Report};
use crate::hand_over::Wish;
use crate::kin::Kin;
use crate::side_by_side::patience;
use crate::todos::Todos;

/// Tools behind their gate, with the memory of one session and nothing stored.
pub struct Workbench {
    calls: Calls,
    count: u64,
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
        let calls = Calls {
            registry,
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
            errand: None,
            wish: Wish::default(),
        };
        Self { calls, count: 0 }
    }

    /// Runs the tool called `name` with the JSON text `arguments`.
    ///
    /// `cancel` gives the tool half a second to end by itself; dropping the future stops it.
    pub async fn call(&mut self, name: &str, arguments: &str, cancel: CancellationToken) -> Answered {
        self.count += 1;
        let prepared = match self.calls.parse(name, arguments) {
            Ok(prepared) => prepared,
            Err(why) => return Answered { name: name.to_owned(), result: Err(ToolError::BadInput(why)) },
        };
        // Nobody watches the work in progress here.
        let report = Report::nobody();
        let id = format!("call_{}", self.count);
        // Each call stands for itself: what a person says of one is not said of the next.
        let message: MessageId = self.calls.clock.mint();
        let result = tokio::select! {
            result = self.calls.call(&message, &id, &prepared, cancel.clone(), report) => result,
            () = patience(cancel, Kin::none().children) => Err(ToolError::Cancelled),
        };
        Answered { name: prepared.name, result }
    }
}
