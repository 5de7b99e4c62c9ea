//! `job_output`: how a job is, and what it wrote since the last look.

use std::borrow::Cow;
use std::time::Duration;

use haft_tool::{Call, Output, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::job::{Jobs, list};

/// Longest wait of one call, in milliseconds.
const MAX_WAIT: u64 = 600_000;
/// How long is waited for a text when nothing is said of the time, in milliseconds.
const WAIT_FOR_TEXT: u64 = 30_000;

pub(crate) struct JobOutput;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The job. Without it, lists all.
    id: Option<String>,
    /// Milliseconds to wait for its end, at most 600000.
    wait: Option<u64>,
    /// Waits no longer than until it writes this.
    until: Option<String>,
}

impl Tool for JobOutput {
    const NAME: &'static str = "job_output";
    const PERMISSION: &'static str = "bash";
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        include_str!("job_output.md").into()
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        let jobs = call.belongings().of::<Jobs>();
        let Some(id) = input.id.filter(|id| !id.trim().is_empty()) else { return Ok(list(&jobs.all())) };
        let job = jobs.find(&id)?;
        let until = input.until.filter(|text| !text.is_empty());
        let wait = wait(input.wait, until.is_some());
        if !wait.is_zero() {
            let done = async {
                match &until {
                    Some(text) => job.wrote(text).await,
                    None => job.ended().await,
                }
            };
            tokio::select! {
                () = done => {}
                () = tokio::time::sleep(wait) => {}
                () = call.cancel.cancelled() => return Err(ToolError::Cancelled),
            }
        }
        Ok(job.look(job.id(), call))
    }
}

/// How long to wait.
fn wait(asked: Option<u64>, for_text: bool) -> Duration {
    let default = if for_text { WAIT_FOR_TEXT } else { 0 };
    Duration::from_millis(asked.unwrap_or(default).min(MAX_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_bounded() {
        for (asked, for_text, want) in [
            (None, false, 0),
            (None, true, WAIT_FOR_TEXT),
            (Some(5), false, 5),
            (Some(0), true, 0),
            (Some(u64::MAX), true, MAX_WAIT),
        ] {
            assert_eq!(wait(asked, for_text), Duration::from_millis(want));
        }
    }
}
