//! What a command says by its exit code and its output. Pure.
//!
//! Exit code 0: what it wrote to standard output counts, if that is a JSON object; at [`Moment::UserPromptSubmit`] and
//! [`Moment::SessionStart`] other words count too, and are told to the model. Exit code 2: no, and what it wrote to
//! standard error says why. Any other: it did not work, which stops nothing.

use haft_protocol::hook::Leave;
use serde_json::Value;

use crate::settings::Moment;

/// Longest text for the model or a person that is taken from a command, in characters.
pub const MAX_TEXT: usize = 10_000;

/// What a command wants.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Said {
    /// It does not want what is about to happen, for this reason.
    pub blocks: Option<String>,
    /// It wants the turn to end, for this reason.
    pub ends: Option<String>,
    /// What becomes of the questions of a call.
    pub permission: Option<Leave>,
    /// What the arguments are to be, in its own names.
    pub input: Option<Value>,
    /// What the model is told besides.
    pub context: Vec<String>,
    /// What a person is told.
    pub message: Option<String>,
    /// Why it did not work.
    pub failed: Option<String>,
}

/// What a command said that ended with `exit` (`None`: a signal) and wrote `output` and `errors`.
pub fn said(moment: Moment, exit: Option<i32>, output: &str, errors: &str) -> Said {
    match exit {
        Some(0) => match serde_json::from_str(output.trim()) {
            Ok(Value::Object(answer)) => answered(&Value::Object(answer)),
            Ok(_) | Err(_) => words(moment, output),
        },
        Some(2) => {
            let why = cut(errors.trim());
            let why = if why.is_empty() { "it said no, and not why".to_owned() } else { why };
            Said { blocks: Some(why), ..Said::default() }
        }
        exit => {
            let code = exit.map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
            let why = cut(errors.trim());
            let why = if why.is_empty() { code } else { format!("{code}: {why}") };
            Said { failed: Some(why), ..Said::default() }
        }
    }
}

/// Words that are no JSON.
fn words(moment: Moment, output: &str) -> Said {
    let text = cut(output.trim());
    let counts = matches!(moment, Moment::UserPromptSubmit | Moment::SessionStart) && !text.is_empty();
    Said { context: if counts { vec![text] } else { Vec::new() }, ..Said::default() }
}

fn answered(answer: &Value) -> Said {
    let specific = answer.get("hookSpecificOutput").cloned().unwrap_or_default();
    let text = |of: &Value, key: &str| of.get(key).and_then(Value::as_str).map(cut).filter(|text| !text.is_empty());
    let reason = text(&specific, "permissionDecisionReason").or_else(|| text(answer, "reason"));
    let why = || reason.clone().unwrap_or_else(|| "it said no, and not why".to_owned());
    let decision = specific.get("permissionDecision").or_else(|| answer.get("decision")).and_then(Value::as_str);
    let permission = match decision {
        // The older words for the same.
        Some("allow" | "approve") => Some(Leave::Allow),
        Some("ask") => Some(Leave::Ask),
        Some(_) | None => None,
    };
    let ends = answer.get("continue") == Some(&Value::Bool(false));
    Said {
        blocks: matches!(decision, Some("deny" | "block")).then(why),
        ends: ends.then(|| text(answer, "stopReason").unwrap_or_else(why)),
        permission,
        input: specific.get("updatedInput").filter(|input| input.is_object()).cloned(),
        context: text(&specific, "additionalContext")
            .or_else(|| text(answer, "additionalContext"))
            .into_iter()
            .collect(),
        message: text(answer, "systemMessage"),
        failed: None,
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}

/// What several commands want together. A no is stronger than a question, and that than a yes; what is told is joined; of
/// several inputs the last counts.
pub fn together(all: impl IntoIterator<Item = Said>) -> Said {
    let rank = |leave: Leave| match leave {
        Leave::Allow => 0,
        Leave::Ask => 1,
        Leave::Deny => 2,
    };
    all.into_iter().fold(Said::default(), |mut sum, said| {
        sum.blocks = sum.blocks.or(said.blocks);
        sum.ends = sum.ends.or(said.ends);
        sum.permission = [sum.permission, said.permission].into_iter().flatten().max_by_key(|leave| rank(*leave));
        sum.input = said.input.or(sum.input);
        sum.context.extend(said.context);
        sum.message = match (sum.message, said.message) {
            (Some(one), Some(other)) => Some(format!("{one}\n{other}")),
            (one, other) => one.or(other),
        };
        sum.failed = sum.failed.or(said.failed);
        sum
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(moment: Moment, exit: Option<i32>, output: &str, errors: &str, want: Said) {
        assert_eq!(said(moment, exit, output, errors), want, "{exit:?} {output} {errors}");
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn exit_codes_say_yes_no_and_broken() {
        let pre = Moment::PreToolUse;
        check(pre, Some(0), "", "", Said::default());
        check(pre, Some(0), "words", "", Said::default());
        check(pre, Some(2), "{}", "not here\n", Said { blocks: some("not here"), ..Said::default() });
        check(pre, Some(2), "", "", Said { blocks: some("it said no, and not why"), ..Said::default() });
        check(pre, Some(1), "", "boom", Said { failed: some("exit code 1: boom"), ..Said::default() });
        check(pre, None, "", "", Said { failed: some("a signal"), ..Said::default() });
    }

    #[test]
    fn words_count_where_there_is_somebody_to_tell() {
        for moment in Moment::ALL {
            let told = matches!(moment, Moment::UserPromptSubmit | Moment::SessionStart);
            let context = if told { vec!["words".to_owned()] } else { Vec::new() };
            check(moment, Some(0), " words\n", "", Said { context, ..Said::default() });
        }
        check(Moment::SessionStart, Some(0), "[1]", "", Said { context: vec!["[1]".to_owned()], ..Said::default() });
        let long = "x".repeat(MAX_TEXT + 1);
        assert_eq!(said(Moment::SessionStart, Some(0), &long, "").context[0].len(), MAX_TEXT);
    }

    #[test]
    fn answers_say_more() {
        let row = |answer: Value, want: Said| check(Moment::PreToolUse, Some(0), &answer.to_string(), "", want);
        row(json!({ "decision": "block", "reason": "r" }), Said { blocks: some("r"), ..Said::default() });
        row(json!({ "decision": "approve" }), Said { permission: Some(Leave::Allow), ..Said::default() });
        row(json!({ "continue": false, "stopReason": "s" }), Said { ends: some("s"), ..Said::default() });
        row(json!({ "continue": true, "suppressOutput": true }), Said::default());
        row(json!({ "systemMessage": "m" }), Said { message: some("m"), ..Said::default() });
        let specific = |specific: Value| json!({ "hookSpecificOutput": specific });
        row(
            specific(json!({ "permissionDecision": "deny", "permissionDecisionReason": "d" })),
            Said { blocks: some("d"), ..Said::default() },
        );
        row(specific(json!({ "permissionDecision": "ask" })), Said { permission: Some(Leave::Ask), ..Said::default() });
        row(
            specific(
                json!({ "permissionDecision": "allow", "updatedInput": { "command": "ls" }, "additionalContext": "c" }),
            ),
            Said {
                permission: Some(Leave::Allow),
                input: Some(json!({ "command": "ls" })),
                context: vec!["c".to_owned()],
                ..Said::default()
            },
        );
        row(specific(json!({ "updatedInput": "no object" })), Said::default());
    }

    #[test]
    fn the_strictest_counts() {
        let leave = |leave| Said { permission: Some(leave), ..Said::default() };
        let blocks = Said { blocks: some("no"), ..Said::default() };
        assert_eq!(together([leave(Leave::Ask), leave(Leave::Allow)]).permission, Some(Leave::Ask));
        let all = together([leave(Leave::Allow), blocks]);
        assert_eq!((all.permission, all.blocks), (Some(Leave::Allow), some("no")));
        let told = |text: &str| Said { context: vec![text.to_owned()], message: some(text), ..Said::default() };
        let all = together([told("a"), told("b")]);
        assert_eq!((all.context, all.message), (vec!["a".to_owned(), "b".to_owned()], some("a\nb")));
    }
}
