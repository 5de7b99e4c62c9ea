//! How an answer ends, and what it used.

use serde_json::Value;

use crate::{Finish, Usage};

/// How an answer ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// As it should, as far as is known.
    Complete,
    /// The vendor stopped it for this reason.
    Incomplete(Option<String>),
    /// A gateway said goodbye in its own words, and nothing else.
    Goodbye,
}

/// A stop with calls waits for them.
pub(super) fn finish(end: End, calls: bool, refused: bool) -> Finish {
    match end {
        End::Incomplete(Some(reason)) => match reason.as_str() {
            "max_output_tokens" => Finish::Length,
            "content_filter" => Finish::ContentFilter,
            _ => Finish::Other(reason),
        },
        End::Incomplete(None) => Finish::Other("incomplete".to_owned()),
        End::Complete | End::Goodbye if calls => Finish::ToolCalls,
        End::Complete | End::Goodbye if refused => Finish::ContentFilter,
        End::Complete => Finish::Stop,
        End::Goodbye => Finish::Unknown,
    }
}

/// What was used, in kinds that do not overlap.
pub(super) fn read_usage(usage: &Value) -> Option<Usage> {
    let number = |value: &Value| value.as_u64().or_else(|| value.as_f64().map(|number| number as u64));
    let get = |path: &str| usage.pointer(path).and_then(number);
    let (input, output) = (get("/input_tokens"), get("/output_tokens"));
    if input.is_none() && output.is_none() {
        return None;
    }
    let (input, output) = (input.unwrap_or(0), output.unwrap_or(0));
    let cache_read = get("/input_tokens_details/cached_tokens").unwrap_or(0);
    let cache_write = get("/input_tokens_details/cache_write_tokens").unwrap_or(0);
    let reasoning = get("/output_tokens_details/reasoning_tokens").unwrap_or(0);
    let total = get("/total_tokens");
    // Thinking is a part of the output; where a server counts it beside, the total tells.
    let beside = reasoning > output || reasoning > 0 && total == Some(input + output + reasoning);
    Some(Usage {
        total,
        input: input.saturating_sub(cache_read).saturating_sub(cache_write),
        output: if beside { output } else { output - reasoning },
        reasoning,
        cache_read,
        cache_write,
    })
}
