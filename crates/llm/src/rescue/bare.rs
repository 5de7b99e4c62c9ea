//! Whether an answer that begins as bare JSON does may still become a call. What cannot is handed on at once.

use super::families::{ARGUMENTS, BESIDE, NAMES};

/// Longest name of a tool that is waited for, in bytes.
const MAX_NAME: usize = 128;

/// Whether `text`, the beginning of an answer, may be that of a call.
pub(super) fn may_be_call(text: &str) -> bool {
    let text = text.trim_start();
    let inner = |text: &str| text.chars().next().map(|first| text[first.len_utf8()..].trim_start().to_owned());
    match text.chars().next() {
        None => true,
        Some('`') if text.starts_with("```tool_c") => true,
        Some('`') => text.split_once('\n').is_none_or(|(_, body)| may_be_call(body)),
        // A sign of a family, of which one piece has come.
        Some('[') if "[TOOL_CALLS]".starts_with(text) || text.starts_with("[TOOL_CALLS]") => true,
        Some('{') => inner(text).is_some_and(|inner| may_be_key(&inner)),
        Some('[') => {
            inner(text).is_some_and(|inner| inner.starts_with('{') && may_be_call(&inner) || may_be_name(&inner))
        }
        Some(_) => false,
    }
}

/// Whether an object that goes on with `text` may be a call, by its first key.
fn may_be_key(text: &str) -> bool {
    let Some(quote) = text.chars().next() else { return true };
    if !matches!(quote, '"' | '\'') {
        return false;
    }
    let mut keys = NAMES.iter().chain(&ARGUMENTS).chain(&BESIDE);
    match text[1..].split_once(quote) {
        Some((key, _)) => keys.any(|known| *known == key),
        None => keys.any(|known| known.starts_with(&text[1..])),
    }
}

/// Whether `text` may be the name of a function with its arguments.
fn may_be_name(text: &str) -> bool {
    let name = text.split('(').next().unwrap_or_default();
    let begins = name.chars().next().is_none_or(|first| first.is_ascii_alphabetic() || first == '_');
    begins
        && name.len() <= MAX_NAME
        && name.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '_' | '-' | '.'))
}
