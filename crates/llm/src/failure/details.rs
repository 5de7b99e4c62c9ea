//! The details that Google's interfaces put beside the message of an error: how long to wait, which limit was reached.
//! Their forms are those of `google.rpc` in <https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto>.

use std::time::Duration;

use serde_json::Value;

/// What the details of an error say, as far as it matters.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Details {
    /// How long it asks to wait.
    pub(super) wait: Option<Duration>,
    /// The limit that was reached is one for a day.
    pub(super) daily: bool,
    /// The reasons, in lower case.
    pub(super) reasons: Vec<String>,
}

impl Details {
    /// Those of `error`: the object that holds its message.
    pub(super) fn of(error: &Value) -> Self {
        let mut details = Self::default();
        for detail in error["details"].as_array().into_iter().flatten() {
            let kind = detail["@type"].as_str().unwrap_or_default();
            match kind.rsplit('/').next() {
                Some("google.rpc.RetryInfo") => details.wait = details.wait.or(duration(&detail["retryDelay"])),
                Some("google.rpc.QuotaFailure") => {
                    let violations = detail["violations"].as_array().into_iter().flatten();
                    let mut ids = violations.filter_map(|violation| violation["quotaId"].as_str());
                    details.daily |= ids.any(|id| id.contains("PerDay"));
                }
                Some("google.rpc.ErrorInfo") => {
                    details.reasons.extend(detail["reason"].as_str().map(str::to_lowercase));
                }
                _ => {}
            }
        }
        details
    }
}

/// A time as text, `34.07s`, or in its parts. Nothing is waited for a time before now.
fn duration(value: &Value) -> Option<Duration> {
    let seconds = match value {
        Value::String(text) => text.strip_suffix('s')?.parse().ok()?,
        Value::Object(parts) => {
            // Whole seconds may be spelled as text.
            let part = |name: &str| match parts.get(name)? {
                Value::String(text) => text.parse().ok(),
                number => number.as_f64(),
            };
            let (seconds, nanos) = (part("seconds"), part("nanos"));
            seconds.or(nanos)?;
            seconds.unwrap_or(0.0) + nanos.unwrap_or(0.0) / 1e9
        }
        _ => return None,
    };
    Duration::try_from_secs_f64(f64::max(seconds, 0.0)).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_wait_may_be_spelled_in_several_ways() {
        let row = |delay: Value, want: Option<u64>| {
            let error =
                json!({"details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]});
            assert_eq!(Details::of(&error).wait, want.map(Duration::from_millis), "{delay}");
        };
        row(json!("34.5s"), Some(34_500));
        row(json!("34s"), Some(34_000));
        row(json!("-3s"), Some(0));
        row(json!({"seconds": "2", "nanos": 500_000_000}), Some(2_500));
        row(json!({"seconds": 2}), Some(2_000));
        row(json!({}), None);
        row(json!("soon"), None);
        row(json!("NaNs"), Some(0));
        row(json!("1e999s"), None);
        row(json!(3), None);
    }

    #[test]
    fn the_kind_of_limit_and_the_reason_are_told() {
        let error = json!({"details": [
            "odd",
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [
                {"quotaId": "GenerateRequestsPerMinutePerProject"}, {"quotaId": "GenerateRequestsPerDayPerProject"}
            ]},
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"},
        ]});
        let want = Details { wait: None, daily: true, reasons: vec!["api_key_invalid".to_owned()] };
        assert_eq!(Details::of(&error), want);
        assert_eq!(Details::of(&json!("text")), Details::default());
    }
}
