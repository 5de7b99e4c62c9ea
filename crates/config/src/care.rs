//! What a setting may do where nobody has said yet that whoever wrote it is trusted: the classes that [`crate::keys`]
//! puts every setting into, and how one value is judged. Pure.
//!
//! A project may hold back and not give: what it says counts as far as it is no looser than what holds without it.

use serde_json::Value;

/// The class of a setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Care {
    /// It is judged with the setting that it is a part of.
    Above,
    /// Looks, and words for the model.
    Harmless,
    /// It only ever takes away.
    Tightens,
    /// It gives more; what it does.
    Loosens(&'static str),
    /// A program is run because of it; what it does.
    Runs(&'static str),
    /// Each of its parts has a class of its own.
    Parts,
    /// A word, the loosest first; those that mean the same stand together with a blank between. The number is the place
    /// of what holds where nobody says anything.
    Ladder(&'static [&'static str], usize),
    /// A number of which less is stricter: the key that it is compared with, and what holds where nobody says anything.
    AtMost(&'static str, f64),
    /// A list of which more is stricter.
    Joined,
    /// A list of which less is stricter; everything where nobody says anything.
    Among,
    /// A list of which less is stricter; these where nobody says anything.
    Fewer(&'static [&'static str]),
    /// Rules. They are laid beside the others, where they only hold back.
    Rules,
    /// The name of a model.
    Model,
    /// The name of an agent that is to answer.
    Agent,
    /// It matters only for an agent that is there anyway.
    NewAgent,
    /// The name that it has anyway.
    SameName,
    /// The text of a command, in which command lines may stand.
    Template,
    /// Paths, patterns and addresses.
    Paths,
    /// Folders and repositories by name.
    Places,
    /// Servers of tools by name.
    Servers,
    /// Programs by name that can be switched off, all together or each.
    Switch,
}

/// What comes of looking at one value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Judged {
    /// It counts.
    Kept,
    /// This counts in its place, and what it says beyond that does not.
    Instead(Value),
    /// It does not count, because it does this.
    Dropped(&'static str),
}

/// The place of `value` on a ladder.
fn step(words: &[&str], value: &Value) -> Option<usize> {
    let word = match value {
        Value::String(word) => word.clone(),
        Value::Bool(on) => on.to_string(),
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    words.iter().position(|same| same.split(' ').any(|one| !one.is_empty() && one == word))
}

/// Whether `value` may take the place of `below`, by the ladder `words`.
pub(crate) fn ladder(words: &[&str], usual: usize, value: &Value, below: Option<&Value>) -> Judged {
    // What stands there and is no word of the ladder, such as an object with more to say, is not looser than usual.
    let held = below.and_then(|below| step(words, below)).unwrap_or(usual);
    match step(words, value) {
        Some(step) if step >= held => Judged::Kept,
        Some(_) | None => Judged::Dropped("is looser than what holds without it"),
    }
}

/// Whether the number `value` may take the place of `below`.
pub(crate) fn at_most(usual: f64, value: &Value, below: Option<&Value>) -> Judged {
    let held = below.and_then(Value::as_f64).unwrap_or(usual);
    match value.as_f64() {
        Some(number) if number <= held => Judged::Kept,
        Some(_) | None => Judged::Dropped("is more than what holds without it"),
    }
}

/// The items of both lists. `below` is not taken back.
pub(crate) fn joined(value: &Value, below: Option<&Value>) -> Judged {
    let Value::Array(items) = value else { return Judged::Dropped("is no list") };
    let Some(Value::Array(held)) = below else { return Judged::Kept };
    if held.iter().all(|item| items.contains(item)) {
        return Judged::Kept;
    }
    let more = items.iter().filter(|item| !held.contains(item));
    Judged::Instead(held.iter().chain(more).cloned().collect())
}

/// The items that both lists have; `below` is everything where it is not there, unless `usual` says what it is.
pub(crate) fn among(value: &Value, below: Option<&Value>, usual: Option<&[&str]>) -> Judged {
    let Value::Array(items) = value else { return Judged::Dropped("is no list") };
    let held = |item: &Value| match (below, usual) {
        (Some(Value::Array(below)), _) => below.contains(item),
        (_, None) => true,
        (_, Some(usual)) => item.as_str().is_some_and(|item| usual.contains(&item)),
    };
    if items.iter().all(held) {
        return Judged::Kept;
    }
    Judged::Instead(items.iter().filter(|item| held(item)).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MODE: Care = Care::Ladder(&["off", "workspace-write", "read-only"], 1);
    const NETWORK: Care = Care::Ladder(&["true allow", "", "ask", "false deny"], 1);

    #[track_caller]
    fn check(care: Care, value: Value, below: Option<Value>, want: bool) {
        let Care::Ladder(words, usual) = care else { panic!() };
        let got = ladder(words, usual, &value, below.as_ref());
        assert_eq!(got == Judged::Kept, want, "{value} over {below:?}");
    }

    #[test]
    fn a_word_counts_that_is_no_looser() {
        check(MODE, json!("off"), None, false);
        check(MODE, json!("workspace-write"), None, true);
        check(MODE, json!("read-only"), None, true);
        check(MODE, json!("workspace-write"), Some(json!("read-only")), false);
        check(MODE, json!("workspace-write"), Some(json!("off")), true);
        check(MODE, json!("off"), Some(json!("off")), true);
        check(NETWORK, json!(true), None, false);
        check(NETWORK, json!("ask"), None, true);
        check(NETWORK, json!("ask"), Some(json!(false)), false);
        check(NETWORK, json!("deny"), Some(json!(true)), true);
        check(NETWORK, json!("allow"), Some(json!(true)), true);
        for strange in [json!(""), json!("{env:X}"), json!({}), json!(null), json!("true allow")] {
            check(NETWORK, strange, None, false);
        }
    }

    #[test]
    fn a_number_counts_that_is_no_more() {
        let row = |value: Value, below: Option<Value>, usual: f64, want: bool| {
            assert_eq!(at_most(usual, &value, below.as_ref()) == Judged::Kept, want, "{value} {below:?} {usual}");
        };
        row(json!(5), None, f64::MAX, true);
        row(json!(5), None, 4.0, false);
        row(json!(5), Some(json!(6)), 4.0, true);
        row(json!(0.5), Some(json!(0.4)), f64::MAX, false);
        row(json!("5"), None, f64::MAX, false);
    }

    #[test]
    fn lists_lose_nothing_that_holds_back() {
        let row = |got: Judged, want: Judged| assert_eq!(got, want);
        row(joined(&json!(["a"]), None), Judged::Kept);
        row(joined(&json!(["a", "b"]), Some(&json!(["b"]))), Judged::Kept);
        row(joined(&json!(["a"]), Some(&json!(["b"]))), Judged::Instead(json!(["b", "a"])));
        row(joined(&json!([]), Some(&json!(["b"]))), Judged::Instead(json!(["b"])));
        row(among(&json!(["a"]), None, None), Judged::Kept);
        row(among(&json!(["a", "b"]), Some(&json!(["b", "c"])), None), Judged::Instead(json!(["b"])));
        row(among(&json!([]), None, Some(&[])), Judged::Kept);
        row(among(&json!(["x"]), None, Some(&[])), Judged::Instead(json!([])));
        row(among(&json!(["x"]), Some(&json!(["x"])), Some(&[])), Judged::Kept);
        assert!(matches!(joined(&json!("a"), None), Judged::Dropped(_)));
        assert!(matches!(among(&json!({}), None, None), Judged::Dropped(_)));
    }
}
