//! Questions on standard input, a line each, and a line of JSON for each answer.

use std::io::{BufRead, Read};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::render;
use crate::report::Exit;

/// Longest line, in bytes: a command at its longest, with every character escaped, fits.
const MAX_LINE: u64 = 1024 * 1024;

/// Answers each line of `input`. One that `answer` cannot take, or that is too long, is answered with `{"error"}`; an
/// empty one is passed over.
///
/// # Errors
///
/// When `input` cannot be read, or nobody reads the answers any more.
pub(super) fn answer_lines(
    mut input: impl BufRead,
    answer: impl Fn(&Value) -> Result<Value, &'static str>,
) -> Result<Exit> {
    loop {
        let mut line = Vec::new();
        let read =
            (&mut input).take(MAX_LINE + 1).read_until(b'\n', &mut line).context("cannot read standard input")?;
        if read == 0 {
            return Ok(Exit::Done);
        }
        let whole = line.ends_with(b"\n") || line.len() as u64 <= MAX_LINE;
        if !whole {
            input.skip_until(b'\n').context("cannot read standard input")?;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        render::say_json(&answered(whole.then_some(line.as_slice()), &answer), false)?;
    }
}

/// The answer to `line`; `None` is one that is too long.
fn answered(line: Option<&[u8]>, answer: impl Fn(&Value) -> Result<Value, &'static str>) -> Value {
    let line = line.ok_or("the line is longer than 1 MiB");
    let question = line.and_then(|line| serde_json::from_slice(line).map_err(|_| "the line is no JSON"));
    let answered = question.and_then(|question| answer(&question));
    answered.unwrap_or_else(|problem| json!({ "error": problem }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn each_line_is_answered_and_what_cannot_be_says_why() {
        let twice = |question: &Value| question.as_u64().map(|n| json!(2 * n)).ok_or("the line must be a number");
        let row =
            |line: Option<&str>, want: Value| assert_eq!(answered(line.map(str::as_bytes), twice), want, "{line:?}");
        row(Some("21\n"), json!(42));
        row(Some("{"), json!({"error": "the line is no JSON"}));
        row(Some("{}"), json!({"error": "the line must be a number"}));
        row(None, json!({"error": "the line is longer than 1 MiB"}));
        // Nothing in a line is an error of the whole.
        assert_eq!(answer_lines(Cursor::new("\n{\n"), twice).unwrap(), Exit::Done);
    }
}
