//! Retries: how long to wait, and whether at all.

use std::time::{Duration, SystemTime};

use anyhow::{Context, bail, ensure};
use haft_llm::LlmError;
use haft_llm::retry::{self, Asked};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

pub(crate) fn check(_: &Runtime, case: &Value) -> anyhow::Result<()> {
    match case["kind"].as_str() {
        Some("delay") => delay(case),
        Some("retryable") => retryable(case),
        other => bail!("unknown kind {other:?}"),
    }
}

fn delay(case: &Value) -> anyhow::Result<()> {
    let attempt = u32::try_from(case["attempt"].as_u64().context("no attempt")?)?;
    let now = now(case["now"].as_str().context("no time")?)?;
    let header = |name: &str| case["headers"][name].as_str();
    let asked = match retry::after(header, now) {
        Some(time) => Asked::Wait(time),
        None if case["headers"].is_object() => Asked::NoTime,
        None => Asked::Unanswered,
    };
    let wait = retry::wait(attempt, asked, case["jitter"].as_f64().context("no jitter")?);
    let milliseconds = wait.as_secs_f64() * 1000.0;
    let close = |want: f64| (milliseconds - want).abs() < 0.001;
    if case["upstream_wrong"] != true {
        let want = &case["expected"]["delay_ms"];
        ensure!(want.as_f64().is_some_and(close), "{milliseconds} ms, not {want}");
        return Ok(());
    }
    for (condition, want) in case["better"].as_object().context("no conditions")? {
        let number = || want.as_f64().with_context(|| format!("{condition} is no number"));
        match condition.as_str() {
            "delay_ms" => ensure!(close(number()?), "{milliseconds} ms, not {want}"),
            "not_longer_than_ms" => ensure!(milliseconds <= number()?, "{milliseconds} ms, more than {want}"),
            "delay_ms_at_least" => ensure!(milliseconds >= number()?, "{milliseconds} ms, less than {want}"),
            "note" | "why" => {}
            other => bail!("unknown condition {other}"),
        }
    }
    Ok(())
}

/// The cases begin at one instant; only its form is read here.
fn now(text: &str) -> anyhow::Result<SystemTime> {
    let number = |from: usize, to: usize| -> anyhow::Result<u64> {
        Ok(text.get(from..to).with_context(|| format!("{text:?} is no time"))?.parse()?)
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let years: u64 = (1970..year).map(|year| 365 + u64::from(leap(year))).sum();
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let months: u64 = lengths.iter().take(usize::try_from(month)?.saturating_sub(1)).sum();
    let days = years + months + day.saturating_sub(1);
    let seconds = ((days * 24 + number(11, 13)?) * 60 + number(14, 16)?) * 60 + number(17, 19)?;
    Ok(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

fn retryable(case: &Value) -> anyhow::Result<()> {
    let want = match case["upstream_wrong"] == true {
        true => &case["better"]["retryable"],
        false => &case["expected"]["retryable"],
    };
    let got = error(&case["error"]).is_some_and(|error| error.is_passing());
    ensure!(want.as_bool() == Some(got), "{got}, not {want}");
    Ok(())
}

/// The error of a case as the one that we should have made of the same answer. `None`: not one of a request.
fn error(error: &Value) -> Option<LlmError> {
    let data = &error["data"];
    let message = data["message"].as_str().unwrap_or_default();
    let provider = || "v".to_owned();
    match error["name"].as_str()? {
        "ContextOverflowError" => Some(LlmError::TooLong { model: "m".to_owned(), message: message.to_owned() }),
        "ProviderAuthError" => {
            Some(LlmError::Unauthorized { provider: provider(), status: None, message: message.to_owned() })
        }
        // Without a status, the flag says that the network failed.
        "APIError" if data["isRetryable"] == true && data["statusCode"].is_null() => {
            let (address, source) = ("a".to_owned(), message.into());
            Some(LlmError::Transport { provider: provider(), address, source })
        }
        "APIError" => {
            let status = data["statusCode"].as_u64().and_then(|status| u16::try_from(status).ok());
            let told = json!({"error": {"message": message}}).to_string();
            Some(LlmError::of_answer("v", "m", status, data["responseBody"].as_str().unwrap_or(&told)))
        }
        "UnknownError" => Some(LlmError::of_answer("v", "m", None, message)),
        _ => None,
    }
}
