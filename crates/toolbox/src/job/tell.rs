//! What the model and the clients are told of jobs.

use std::sync::Arc;
use std::time::Duration;

use haft_tool::truncate::preview;
use haft_tool::{Call, Output, reader_hint};
use serde_json::{Value, json};

use super::{Job, Over, State, Why};
use crate::bash::report;
use crate::bash::window::News;

/// How the job is, and what is new.
pub(super) fn look(job: &Job, state: &State, news: &News, title: &str, call: &Call) -> Output {
    let how = how(state.over.as_ref(), job.begun.elapsed());
    let cut = report::cut(&news.text, job.limits, &state.window, || reader_hint(call));
    let words = match (&state.over, &state.path) {
        (Some(over), _) => over.words.clone(),
        (None, Some(path)) => Some(format!("All that it wrote so far is in {path}")),
        (None, None) => None,
    };
    let text = match &cut {
        Some(cut) => cut.shown(words.as_deref()),
        None if news.text.is_empty() => "(no new output)".to_owned(),
        None => news.text.clone(),
    };
    let next = match state.over {
        Some(_) => "",
        None => " See job_output, end it with job_kill.",
    };
    let (status, exit) = status(state.over.as_ref());
    let output = Output::new(title, format!("{} {how}: {}.{next}\n\n{text}", job.id, job.command))
        .meta("output", preview(&news.text))
        .meta("exit", exit)
        .meta("truncated", cut.is_some())
        .meta("jobId", job.id.as_str())
        .meta("status", status);
    let output = match &state.path {
        Some(path) if cut.is_some() => output.meta("outputPath", path.as_str()),
        Some(_) | None => output,
    };
    match &state.over {
        Some(over) => over.caged.on(output),
        None => output,
    }
}

/// A line for each job.
pub(crate) fn list(jobs: &[Arc<Job>]) -> Output {
    let line = |job: &Arc<Job>| {
        let over = job.state().over.clone();
        let (status, exit) = status(over.as_ref());
        let line = format!("{} {}: {}", job.id, how(over.as_ref(), job.begun.elapsed()), job.command);
        (line, json!({"jobId": job.id, "status": status, "exit": exit, "command": job.command}))
    };
    let (lines, data): (Vec<String>, Vec<Value>) = jobs.iter().map(line).unzip();
    let text = match lines.is_empty() {
        true => "There are no jobs; bash with background: true begins one.".to_owned(),
        false => lines.join("\n"),
    };
    let title = match jobs.len() {
        1 => "1 job".to_owned(),
        count => format!("{count} jobs"),
    };
    Output::new(title, text).meta("jobs", data).meta("truncated", false)
}

/// The word for programs, and the exit code.
fn status(over: Option<&Over>) -> (&'static str, Value) {
    match over {
        None => ("running", Value::Null),
        Some(Over { why: Some(_), .. }) => ("killed", Value::Null),
        Some(Over { why: None, end, .. }) => ("exited", end.code.map_or(Value::Null, Value::from)),
    }
}

/// What a person would say.
fn how(over: Option<&Over>, runs: Duration) -> String {
    let Some(Over { end, why, after, .. }) = over else { return format!("has run for {}", time(runs)) };
    let after = time(*after);
    match (why, end.code, end.signal) {
        (Some(Why::Killed), _, _) => format!("was ended after {after}"),
        (Some(Why::Timeout(limit)), _, _) => format!("was ended because it ran longer than {} ms", limit.as_millis()),
        (None, Some(code), _) => format!("ended after {after} with exit code {code}"),
        (None, None, Some(signal)) => format!("ended after {after} by signal {signal}"),
        (None, None, None) => format!("ended after {after}"),
    }
}

fn time(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        secs @ 10..120 => format!("{secs} s"),
        secs => format!("{} min", secs / 60),
    }
}

#[cfg(test)]
mod tests {
    use haft_project::End;

    use super::*;
    use crate::bash::cage::Told;

    #[test]
    fn the_end_is_told_in_words() {
        let row = |code: Option<i32>, signal: Option<i32>, why: Option<Why>, want: &str, word: &str| {
            let end = End { code, signal, left_running: false };
            let over = Over { end, why, after: Duration::from_millis(3_140), words: None, caged: Told::default() };
            assert_eq!(how(Some(&over), Duration::ZERO), want);
            assert_eq!(status(Some(&over)).0, word);
        };
        row(Some(0), None, None, "ended after 3.1 s with exit code 0", "exited");
        row(Some(7), None, None, "ended after 3.1 s with exit code 7", "exited");
        row(None, Some(9), None, "ended after 3.1 s by signal 9", "exited");
        row(None, Some(15), Some(Why::Killed), "was ended after 3.1 s", "killed");
        let timeout = Why::Timeout(Duration::from_millis(500));
        row(None, Some(15), Some(timeout), "was ended because it ran longer than 500 ms", "killed");
        assert_eq!(how(None, Duration::from_secs(12)), "has run for 12 s");
    }

    #[test]
    fn times_are_short() {
        for (ms, want) in [(0, "0.0 s"), (9_900, "9.9 s"), (10_000, "10 s"), (119_999, "119 s"), (7_260_000, "121 min")]
        {
            assert_eq!(time(Duration::from_millis(ms)), want);
        }
    }
}
