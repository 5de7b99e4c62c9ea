//! The kind `arity` of the set `permission`: how much of a command "always" covers.

use haft_shell::arity::{always, prefix};
use serde_json::Value;

/// Checks one case. The error says in what the answer differs from the one wanted.
pub(crate) fn check_arity(case: &Value) -> Result<(), String> {
    let words = case["words"].as_array().ok_or("no words")?;
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    let got = always(&words);
    if case["upstream_wrong"] == true {
        let better = &case["better"];
        let met = match (better.get("always"), better["always_not"].as_str()) {
            (Some(want), _) => want.as_str() == got.as_deref(),
            (None, Some(not)) => got.as_deref() != Some(not),
            (None, None) => return Err(format!("do not know how to compare with {better}")),
        };
        return if met { Ok(()) } else { Err(format!("always: wanted {better}, got {got:?}")) };
    }
    let expected = &case["expected"];
    let beginning = prefix(&words).and_then(|count| words.get(..count));
    let wanted: Option<Vec<&str>> =
        expected["prefix"].as_array().map(|words| words.iter().filter_map(Value::as_str).collect());
    if got.as_deref() == expected["always"].as_str() && beginning.map(<[&str]>::to_vec) == wanted {
        Ok(())
    } else {
        Err(format!("wanted {expected}, got {beginning:?}, {got:?}"))
    }
}
