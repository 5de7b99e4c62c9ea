//! Errors and refusals: the same findings in words that say what to do next.

use serde_json::Value;

use super::{Difference, when};
use crate::record::Facet;

pub(super) fn explain(difference: &Difference<'_>) -> Vec<&'static str> {
    let Difference { record, wanted, got, facet } = difference;
    if wanted.tool == "invalid" && got.tool == record.tool {
        // It is another tool's answer from here on; that it is a right one, that tool's own tests say.
        let old = matches!(record.tool.as_str(), "apply_patch" | "edit");
        return when(!got.output.is_empty(), if old { "served-all-the-same" } else { "restored-tools" });
    }
    if wanted.tool == "invalid" && got.tool == "invalid" {
        let told = got.output.starts_with("This call was not run: ") && names_the_tool(difference);
        return when(told && matches!(facet, Facet::Output | Facet::Title), "invalid-calls");
    }
    if wanted.failed && !got.failed {
        return when(was_only_spelled_as_text(&wanted.output), "spelled-as-text");
    }
    if !(wanted.failed && got.failed) {
        return Vec::new();
    }
    match facet {
        Facet::Keys => when(has_a_kind(difference), "error-kinds"),
        Facet::Output => words(difference),
        _ => Vec::new(),
    }
}

fn words(difference: &Difference<'_>) -> Vec<&'static str> {
    let Difference { record, wanted, got, .. } = difference;
    let (theirs, ours) = (wanted.output.as_str(), got.output.as_str());
    if let Some((_, detail)) = theirs.split_once(" tool was called with invalid arguments: SchemaError(") {
        // What no schema can say a tool says itself.
        let listed = ours.starts_with(&format!("bad arguments for {}:\n- ", got.tool));
        let told = listed || got.metadata.get("kind").is_some_and(|kind| kind == "bad_input");
        let found = told && names_the_place(detail, ours);
        return when(found, "argument-errors");
    }
    if theirs.starts_with("The user rejected permission") {
        let advice = theirs.split_once("feedback: ").map_or("the user refused this call", |(_, advice)| advice);
        return when(ours.starts_with("the user refused this call") && ours.ends_with(advice), "refusals");
    }
    if let Some(at) = theirs.find("relevant rules ") {
        let rules: Value = serde_json::from_str(&theirs[at + "relevant rules ".len()..]).unwrap_or_default();
        return when(names_the_rule(&rules, ours), "rule-denials");
    }
    if theirs.ends_with(" is required") {
        return when(ours.len() > theirs.len(), "error-words");
    }
    let named = names(theirs, &record.args).all(|name| {
        // Within the project a path may be told from its top.
        ours.contains(name) || name.strip_prefix("<PROJECT>/").is_some_and(|name| ours.contains(name))
    });
    when(named && !ours.is_empty(), "error-words")
}

/// Whether the answer to an unknown or broken call names what was called.
fn names_the_tool(difference: &Difference<'_>) -> bool {
    let asked = &difference.record.tool;
    let ours = &difference.got.output;
    ours.contains(&format!("there is no tool called {asked:?}. Call one of: "))
        || ours.contains(&format!("the arguments for {asked} are not valid JSON"))
}

/// Whether ours names the place of the one problem that theirs tells, as in `at ["todos"][0]["priority"]`.
fn names_the_place(detail: &str, ours: &str) -> bool {
    let Some((_, place)) = detail.split_once("\n  at [") else {
        return ours.contains("the arguments must be an object");
    };
    let place = place.split(']').map(|step| step.trim_start_matches('[').trim_matches('"'));
    let steps: Vec<&str> = place.take_while(|step| !step.starts_with(')')).collect();
    ours.contains(&steps.join("."))
}

/// Whether one of the rules that theirs lists denies, and ours names that one.
fn names_the_rule(rules: &Value, ours: &str) -> bool {
    let denies = rules.as_array().into_iter().flatten().filter(|rule| rule["action"] == "deny");
    let named = |rule: &Value| {
        let (permission, pattern) = (rule["permission"].as_str()?, rule["pattern"].as_str()?);
        Some(format!("do not allow this: {permission} {pattern:?}: deny"))
    };
    denies.filter_map(named).any(|rule| ours.contains(&rule))
}

/// Whether what was wrong for the other is a number or the like written as a text.
fn was_only_spelled_as_text(theirs: &str) -> bool {
    let got = theirs.split_once("SchemaError(Expected number | undefined, got \"").map(|(_, got)| got);
    got.and_then(|got| got.split_once('"')).is_some_and(|(text, _)| text.parse::<u64>().is_ok())
}

/// Ours tell of what kind an error is.
fn has_a_kind(difference: &Difference<'_>) -> bool {
    let (theirs, ours) = (&difference.wanted.metadata, &difference.got.metadata);
    let kind = ours.get("kind").and_then(Value::as_str).unwrap_or_default();
    let known = ["bad_input", "denied", "cancelled", "failed"].contains(&kind);
    // Live metadata of a call that never began shows nothing.
    let lost = theirs.iter().any(|(key, value)| !ours.contains_key(key) && value != "");
    known && !lost && ours.keys().all(|key| key == "kind" || key == "interrupted" || theirs.contains_key(key))
}

/// What a sentence names: paths, numbers, and arguments.
fn names<'a>(text: &'a str, arguments: &'a Value) -> impl Iterator<Item = &'a str> {
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',' | ';'));
    let words = words.map(|word| word.trim_end_matches(['.', ':']).trim_matches(['\'', '"']));
    words.filter(move |word| {
        let number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        number || word.starts_with("<PROJECT>/") || word.starts_with("<OUTSIDE>") || arguments.get(*word).is_some()
    })
}
