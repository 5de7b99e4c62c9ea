//! `job_kill`: ends a job with all that it started.

use std::borrow::Cow;

use haft_tool::{Call, Output, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::job::Jobs;

pub(crate) struct JobKill;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The job.
    id: String,
}

impl Tool for JobKill {
    const NAME: &'static str = "job_kill";
    const PERMISSION: &'static str = "bash";
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        include_str!("job_kill.md").into()
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        let job = call.belongings().of::<Jobs>().find(&input.id)?;
        job.kill();
        tokio::select! {
            () = job.ended() => Ok(job.look(job.id(), call)),
            () = call.cancel.cancelled() => Err(ToolError::Cancelled),
        }
    }
}
