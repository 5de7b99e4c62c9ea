//! How long a message in words asks to wait. OpenAI, Groq, Azure and Google's models say it so, some of them nowhere else.

use std::time::Duration;

use crate::retry::span;

/// What stands before the time.
const BEFORE: [&str; 4] = ["try again in ", "try again after ", "retry in ", "retry after "];

/// The time that `text`, in lower case, names: `try again in 11.054s`, `retry after 20 seconds`. `None`: it names none.
pub(super) fn wait(text: &str) -> Option<Duration> {
    BEFORE.iter().find_map(|before| time(text.split_once(before)?.1)).filter(|wait| !wait.is_zero())
}

/// The time that `text` begins with.
fn time(text: &str) -> Option<Duration> {
    let mut words = text.split_whitespace().map(|word| word.trim_end_matches(['.', ',', ';', ')', '!']));
    let first = words.next()?;
    if let Some(span) = span(first) {
        return Some(span);
    }
    let unit = match words.next()? {
        "ms" | "millisecond" | "milliseconds" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(first.parse::<f64>().ok()? * unit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_as_it_is_said() {
        let row = |text: &str, want: Option<u64>| assert_eq!(wait(text), want.map(Duration::from_millis), "{text}");
        row("please try again in 11.054s. visit", Some(11_054));
        row("please try again in 6m0s.", Some(360_000));
        row("try again in 28ms", Some(28));
        row("please retry after 20 seconds.", Some(20_000));
        row("please retry in 34.07s.", Some(34_070));
        row("(try again in 1 minute)", Some(60_000));
        row("please wait and retry after some time, or try again in 2 hours", Some(7_200_000));
        for text in
            ["", "try again in", "try again in a moment", "try again in 5 days", "try again in 0s", "retry after 20"]
        {
            row(text, None);
        }
        row("try again in -3 seconds", None);
        row("try again in 1e999 seconds", None);
    }
}
