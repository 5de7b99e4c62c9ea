//! One line of a scenario: `{"answer":[STEP, …]}`, perhaps with `"finish"`.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::answer::{Answer, Failing, Step};
use crate::{Finish, Purpose, Usage};

/// The answer that `line` holds. `number` counts answers from 1 and goes into the ids of calls that have none.
pub(super) fn answer(line: &str, number: usize) -> Result<Answer, String> {
    let line: Line = serde_json::from_str(line).map_err(|error| plain(&error))?;
    let mut steps = Vec::with_capacity(line.answer.len());
    for (at, step) in line.answer.into_iter().enumerate() {
        if matches!(steps.last(), Some(Step::Fail(_) | Step::Hang)) {
            return Err(format!("step {}: nothing can follow an error or a hang", at + 1));
        }
        let step = read(step, &format!("call_{number}_{}", at + 1)).map_err(|why| format!("step {}: {why}", at + 1))?;
        if let Step::Call { id: Some(id), .. } = &step
            && steps.iter().any(|other| matches!(other, Step::Call { id: Some(other), .. } if other == id))
        {
            return Err(format!(
                "step {}: a call before it has the id {id:?} too; ids are unique in an answer",
                at + 1
            ));
        }
        steps.push(step);
    }
    let answer = match line.finish {
        Some(finish) => Answer::finishing(steps, finish.into()),
        None => Answer::new(steps),
    };
    Ok(answer.serving(line.purpose))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    answer: Vec<Map<String, Value>>,
    finish: Option<FinishWord>,
    #[serde(default, rename = "for")]
    purpose: Purpose,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FinishWord {
    Stop,
    ToolCalls,
    Length,
    ContentFilter,
    Other,
    Unknown,
}

impl From<FinishWord> for Finish {
    fn from(word: FinishWord) -> Self {
        match word {
            FinishWord::Stop => Finish::Stop,
            FinishWord::ToolCalls => Finish::ToolCalls,
            FinishWord::Length => Finish::Length,
            FinishWord::ContentFilter => Finish::ContentFilter,
            FinishWord::Other => Finish::Other("other".to_owned()),
            FinishWord::Unknown => Finish::Unknown,
        }
    }
}

/// The step, which is told by the key that only it has.
fn read(step: Map<String, Value>, id: &str) -> Result<Step, String> {
    const KINDS: [&str; 7] = ["reasoning", "text", "call", "usage", "wait_ms", "error", "hang"];
    let found: Vec<_> = KINDS.into_iter().filter(|kind| step.contains_key(*kind)).collect();
    let [kind] = found[..] else {
        let said = if found.is_empty() { "none".to_owned() } else { found.join(" and ") };
        return Err(format!("a step has one of the keys {}; this one has {said}", KINDS.join(", ")));
    };
    Ok(match kind {
        "reasoning" => Step::Reasoning(decode::<ReasoningStep>(step)?.reasoning),
        "text" => {
            let TextStep { text, pieces } = decode(step)?;
            Step::Text { text, pieces }
        }
        "call" => decode::<CallStep>(step)?.step(id)?,
        "usage" => Step::Usage(decode::<UsageStep>(step)?.usage.into()),
        "wait_ms" => Step::Wait(Duration::from_millis(decode::<WaitStep>(step)?.wait_ms)),
        "error" => Step::Fail(decode::<ErrorStep>(step)?.error),
        _ => decode::<HangStep>(step)?.step()?,
    })
}

fn decode<T: DeserializeOwned>(step: Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(step)).map_err(|error| plain(&error))
}

/// The error without its place, which counts within the line and would be taken for one in the file.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(text) if error.is_data() => text.to_owned(),
        Some(text) => format!("{text} at column {}", error.column()),
        None => text,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReasoningStep {
    reasoning: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextStep {
    text: String,
    #[serde(default = "one")]
    pieces: usize,
}

fn one() -> usize {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallStep {
    call: String,
    args: Option<Value>,
    raw: Option<String>,
    id: Option<String>,
}

impl CallStep {
    fn step(self, id: &str) -> Result<Step, String> {
        let arguments = match (self.args, self.raw) {
            (Some(_), Some(_)) => return Err("a call has args or raw, not both".to_owned()),
            (Some(args), None) => args.to_string(),
            (None, Some(raw)) => raw,
            (None, None) => "{}".to_owned(),
        };
        Ok(Step::Call { tool: self.call, arguments, id: Some(self.id.unwrap_or_else(|| id.to_owned())) })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UsageStep {
    usage: Tokens,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tokens {
    total: Option<u64>,
    #[serde(default)]
    input: u64,
    #[serde(default)]
    output: u64,
    #[serde(default)]
    reasoning: u64,
    #[serde(default)]
    cache_read: u64,
    #[serde(default)]
    cache_write: u64,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let Tokens { total, input, output, reasoning, cache_read, cache_write } = tokens;
        Usage { total, input, output, reasoning, cache_read, cache_write }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WaitStep {
    wait_ms: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ErrorStep {
    error: Failing,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HangStep {
    hang: bool,
}

impl HangStep {
    fn step(self) -> Result<Step, String> {
        if self.hang { Ok(Step::Hang) } else { Err("hang is true, or the step is left out".to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(line: &str, want: Expect) {
        let text = match answer(line, 2) {
            Ok(answer) => answer.beats.iter().map(|beat| format!("{beat:?}\n")).collect(),
            Err(error) => format!("{error}\n"),
        };
        want.assert_eq(&text);
    }

    #[test]
    fn all_kinds_of_steps() {
        check(
            r#"{"answer":[{"reasoning":"Hm."},{"text":"abc","pieces":3},{"wait_ms":5},{"call":"read","args":{"b":1,"a":2}},{"call":"bash","raw":"{brok","id":"mine"},{"call":"ls"},{"usage":{"input":10,"output":5,"cache_read":3}}]}"#,
            expect![[r#"
                Chunk(Reasoning("Hm."))
                Chunk(ReasoningEnd { item: None })
                Chunk(Text("a"))
                Chunk(Text("b"))
                Chunk(Text("c"))
                Wait(5ms)
                Chunk(TextEnd { item: None })
                Chunk(ToolInput { id: "call_2_4", name: "read", delta: "" })
                Chunk(ToolInput { id: "call_2_4", name: "read", delta: "{\"b\":1,\"a\":2}" })
                Chunk(ToolInput { id: "mine", name: "bash", delta: "" })
                Chunk(ToolInput { id: "mine", name: "bash", delta: "{brok" })
                Chunk(ToolInput { id: "call_2_6", name: "ls", delta: "" })
                Chunk(ToolInput { id: "call_2_6", name: "ls", delta: "{}" })
                Chunk(ToolCall { id: "call_2_4", name: "read", arguments: "{\"b\":1,\"a\":2}", item: None })
                Chunk(ToolCall { id: "mine", name: "bash", arguments: "{brok", item: None })
                Chunk(ToolCall { id: "call_2_6", name: "ls", arguments: "{}", item: None })
                Chunk(Usage(Usage { total: None, input: 10, output: 5, reasoning: 0, cache_read: 3, cache_write: 0 }))
                Chunk(Finish(ToolCalls))
            "#]],
        );
        check(
            r#"{"answer":[{"error":{"kind":"rate_limited","message":"slow","status":429,"after_ms":100}}]}"#,
            expect![[r#"
                Fail(Failing { kind: RateLimited, message: "slow", status: Some(429), after_ms: Some(100) })
            "#]],
        );
        check(
            r#"{"answer":[{"hang":true}]}"#,
            expect![[r#"
                Hang
            "#]],
        );
        check(
            r#"{"answer":[],"finish":"length"}"#,
            expect![[r#"
                Chunk(Finish(Length))
            "#]],
        );
    }

    #[test]
    fn mistakes_are_named_with_what_is_allowed() {
        check(
            r#"{"answer":[{"say":"x"}]}"#,
            expect![[r#"
                step 1: a step has one of the keys reasoning, text, call, usage, wait_ms, error, hang; this one has none
            "#]],
        );
        check(
            r#"{"answer":[{"text":"x","call":"y"}]}"#,
            expect![[r#"
                step 1: a step has one of the keys reasoning, text, call, usage, wait_ms, error, hang; this one has text and call
            "#]],
        );
        check(
            r#"{"answer":[{"text":"x"},{"text":"x","piece":2}]}"#,
            expect![[r#"
                step 2: unknown field `piece`, expected `text` or `pieces`
            "#]],
        );
        check(
            r#"{"answer":[{"usage":{"in":1}}]}"#,
            expect![[r#"
                step 1: unknown field `in`, expected one of `total`, `input`, `output`, `reasoning`, `cache_read`, `cache_write`
            "#]],
        );
        check(
            r#"{"answer":[{"error":{"kind":"oops"}}]}"#,
            expect![[r#"
                step 1: unknown variant `oops`, expected one of `rate_limited`, `server`, `too_long`, `unauthorized`, `quota`, `rejected`, `transport`, `cut_off`, `malformed`
            "#]],
        );
        check(
            r#"{"answer":[{"call":"a","args":{},"raw":""}]}"#,
            expect![[r#"
                step 1: a call has args or raw, not both
            "#]],
        );
        check(
            r#"{"answer":[{"hang":true},{"text":"x"}]}"#,
            expect![[r#"
                step 2: nothing can follow an error or a hang
            "#]],
        );
        check(
            r#"{"answer":[],"finish":"done"}"#,
            expect![[r#"
                unknown variant `done`, expected one of `stop`, `tool-calls`, `length`, `content-filter`, `other`, `unknown`
            "#]],
        );
        check(
            r#"{"answers":[]}"#,
            expect![[r#"
                unknown field `answers`, expected one of `answer`, `finish`, `for`
            "#]],
        );
        check(
            r#"{"answer":[}"#,
            expect![[r#"
                expected value at column 12
            "#]],
        );
    }
}
