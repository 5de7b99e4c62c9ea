//! Calls in tags.

use super::super::{Found, Given, MAX_CALLS};
use super::{after, json};

/// The tag around a call, with its end.
const CALL: (&str, &str) = ("<tool_call>", "</tool_call>");

/// `<tool_call>` with JSON, with a function in tags, or with a name and pairs of key and value.
pub(super) fn tool_call(text: &str) -> Option<(Vec<Found>, &str)> {
    let inner = after(text, CALL.0)?.trim_start();
    if inner.starts_with(['{', '[']) {
        return json::up_to(inner, CALL.1);
    }
    if !inner.starts_with("<function=") {
        return pairs(inner);
    }
    let mut all = Vec::new();
    let mut rest = inner;
    while let Some((found, behind)) = function(rest) {
        all.extend(found);
        (all.len() <= MAX_CALLS).then_some(())?;
        rest = behind.trim_start();
    }
    (!all.is_empty()).then(|| (all, rest.strip_prefix(CALL.1).unwrap_or(rest)))
}

/// `name`, then `<arg_key>` and `<arg_value>` in turns.
fn pairs(text: &str) -> Option<(Vec<Found>, &str)> {
    let end = text.find(['\n', '<'])?;
    let (name, mut rest) = (text[..end].trim(), &text[end..]);
    let is_name = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '-' | '.');
    (!name.is_empty() && name.chars().all(is_name)).then_some(())?;
    let mut texts = Vec::new();
    while let Some(key) = after(rest, "<arg_key>") {
        let (key, behind) = key.split_once("</arg_key>")?;
        let (value, behind) = element(after(behind, "<arg_value>")?, "</arg_value>", &["<arg_key>", CALL.1])?;
        texts.push((key.trim().to_owned(), value.to_owned()));
        rest = behind;
    }
    let rest = after(rest, CALL.1)?;
    Some((vec![Found { name: name.to_owned(), arguments: Given::Texts(texts) }], rest))
}

/// `<function=NAME>` with JSON or with `<parameter=NAME>` in tags.
pub(super) fn function(text: &str) -> Option<(Vec<Found>, &str)> {
    let (name, inner) = after(text, "<function=")?.split_once('>')?;
    let found = |arguments| Found { name: bare(name).to_owned(), arguments };
    if inner.trim_start().starts_with('{') {
        let (arguments, rest) = json::arguments(inner, "</function>")?;
        return Some((vec![found(arguments)], rest));
    }
    let mut texts = Vec::new();
    let mut rest = inner;
    while let Some(parameter) = after(rest, "<parameter=") {
        let (key, value) = parameter.split_once('>')?;
        let (value, behind) = element(value, "</parameter>", &["<parameter=", "</function>"])?;
        texts.push((bare(key).to_owned(), value.to_owned()));
        rest = behind;
    }
    let rest = after(rest, "</function>")?;
    Some((vec![found(Given::Texts(texts))], rest))
}

/// A name without quotes around it.
fn bare(name: &str) -> &str {
    name.trim_matches(['"', '\'', ' '])
}

/// `<invoke name="NAME">` with `<parameter name="NAME">` in tags, one or several, in a tag around all.
pub(super) fn invokes(text: &str) -> Option<(Vec<Found>, &str)> {
    const FORMS: [(&str, &str, &str); 4] = [
        ("<minimax:tool_call>", "</minimax:tool_call>", ""),
        ("<function_calls>", "</function_calls>", ""),
        ("<｜DSML｜function_calls>", "</｜DSML｜function_calls>", "｜DSML｜"),
        ("<|DSML|function_calls>", "</|DSML|function_calls>", "|DSML|"),
    ];
    let form = FORMS.into_iter().find_map(|(begin, end, prefix)| Some((after(text, begin)?, end, prefix)));
    let (mut rest, end, prefix) = form?;
    let begin = format!("<{prefix}invoke name=");
    let mut all = Vec::new();
    while let Some(inner) = after(rest, &begin) {
        let (found, behind) = invoke(inner, prefix)?;
        all.push(found);
        (all.len() <= MAX_CALLS).then_some(())?;
        rest = behind;
    }
    let rest = after(rest, end)?;
    (!all.is_empty()).then_some((all, rest))
}

/// One of them, from its name on.
fn invoke<'a>(text: &'a str, prefix: &str) -> Option<(Found, &'a str)> {
    let (name, mut rest) = text.split_once('>')?;
    let (begin, end) = (format!("<{prefix}parameter name="), format!("</{prefix}invoke>"));
    let mut texts = Vec::new();
    while let Some(parameter) = after(rest, &begin) {
        let (head, value) = parameter.split_once('>')?;
        let (value, behind) = element(value, &format!("</{prefix}parameter>"), &[&begin, &end])?;
        texts.push((quoted(head)?.to_owned(), value.to_owned()));
        rest = behind;
    }
    let rest = after(rest, &end)?;
    Some((Found { name: quoted(name)?.to_owned(), arguments: Given::Texts(texts) }, rest))
}

/// What stands in the quotes at the beginning of `text`.
fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    text[1..].split_once(quote).map(|(inner, _)| inner)
}

/// The text up to the first `end` that one of `next` follows, without the line ends around it, and what is behind it:
/// the text itself may hold tags.
fn element<'a>(text: &'a str, end: &str, next: &[&str]) -> Option<(&'a str, &'a str)> {
    let mut from = 0;
    loop {
        let at = from + text[from..].find(end)?;
        let behind = &text[at + end.len()..];
        if next.iter().any(|next| behind.trim_start().starts_with(next)) {
            let value = &text[..at];
            let value = value.strip_prefix("\r\n").or_else(|| value.strip_prefix('\n')).unwrap_or(value);
            let value = value.strip_suffix('\n').map_or(value, |value| value.strip_suffix('\r').unwrap_or(value));
            return Some((value, behind));
        }
        from = at + end.len();
    }
}
