//! Values behind names that say what they are: `password: x`, `DB_PASS=x`, `"apiKey": "x"`. Pure.

use super::span::{KEY, Spot, Value, value};
use super::words::{is_code, is_ordinary, is_stand_in};

/// Names behind which a value is a secret.
pub(super) const NAMES: [&str; 10] = [
    "password",
    "passwd",
    "secret",
    "token",
    "api_key",
    "apikey",
    "api-key",
    "authorization",
    "credential",
    "passphrase",
];
/// Names of several of them.
const SEVERAL: [&str; 3] = ["secrets", "passwords", "credentials"];
/// With what else the names of variables end whose values are secrets.
const VARIABLES: [&str; 5] = ["_key", "_pass", "_pwd", "_key_base", "_salt"];
/// Shortest value that goes where it might be a word of a sentence.
const LEAST: usize = 6;

/// Whether a value behind `name` is a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // `tokens` counts them.
    NAMES.iter().any(|secret| name.ends_with(secret))
}

/// Whether all that stands below `name` is.
pub(super) fn is_secret_heading(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    is_secret_name(name) || SEVERAL.iter().any(|several| lower.ends_with(several))
}

/// Whether a variable of this name holds a secret.
pub(crate) fn is_secret_variable(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    is_secret_name(&lower) || VARIABLES.iter().any(|end| lower.ends_with(end))
}

/// The values behind such names in `text`.
pub(super) fn spots(text: &str) -> Vec<Spot> {
    text.match_indices([':', '=']).filter_map(|(at, _)| behind(text, at)).collect()
}

/// The secret behind the colon or sign at `at`.
fn behind(text: &str, at: usize) -> Option<Spot> {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let before = &text[line..at];
    let named = before.trim_end_matches([' ', '\t', '"', '\'', '\\', '?']);
    let is_name = |letter: char| letter.is_alphanumeric() || "_-".contains(letter);
    let name = named.rsplit(|letter| !is_name(letter)).next().unwrap_or_default();
    let gap = &before[named.len()..];
    let is_variable = text[at..].starts_with('=') && gap.is_empty() && name.contains('_');
    if !(is_secret_name(name) || is_variable && is_secret_variable(name)) {
        return None;
    }
    // `::` goes on with a path; `:=`, `=>` and `==` are one sign.
    let sign = match &text.as_bytes()[at..] {
        [b':', b':', ..] => return None,
        [b':', b'=', ..] | [b'=', b'>' | b'=', ..] => 2,
        _ => 1,
    };
    let capitals = is_variable && !name.contains(|letter: char| letter.is_lowercase());
    let ends = if capitals { "\"'`;" } else { "\"'`,;)]}<>&|" };
    let mut found = value(text, at + sign, ends)?;
    if is_scheme(&text[found.range.clone()]) && !found.quoted {
        found = value(text, found.range.end, ends)?;
    }
    let begins_line = named[..named.len() - name.len()].chars().all(|letter| " \t\"'-+0123456789:|".contains(letter));
    if !found.quoted && begins_line && !text[..at].ends_with('?') {
        found = to_the_end(text, found, name);
    }
    let spaced = !gap.trim_matches(['"', '\'', '\\']).is_empty() || text[at + sign..].starts_with([' ', '\t']);
    let spot = Spot { instead: instead(gap, &found), ..Spot::key(found.range.clone()) };
    is_secret(text, &found, capitals, spaced, begins_line).then_some(spot)
}

/// A value that ends its line ends there, whatever letters it has; a passphrase is all words.
fn to_the_end(text: &str, found: Value, name: &str) -> Value {
    let begin = found.range.start;
    let line = text[begin..].lines().next().unwrap_or_default();
    let all = line.trim_end().trim_end_matches([',', ';']);
    let words = name.to_ascii_lowercase().ends_with("passphrase");
    if all.len() > found.range.len()
        && (words || !all.contains(char::is_whitespace))
        && !all.contains(['"', '\'', '\\', '&'])
    {
        return Value { range: begin..begin + all.len(), quoted: false };
    }
    found
}

fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "token", "digest"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// What stands in the place of a value: where the name is quoted and the value is not, the text around is JSON.
fn instead(gap: &str, found: &Value) -> &'static str {
    match (found.quoted, gap.contains("\\\""), gap.contains('"')) {
        (false, true, _) => "\\\"[key]\\\"",
        (false, false, true) => "\"[key]\"",
        _ => KEY,
    }
}

/// Whether what stands behind a name that says so is a secret, and no type, variable or word of a sentence.
fn is_secret(text: &str, found: &Value, capitals: bool, spaced: bool, begins_line: bool) -> bool {
    let word = &text[found.range.clone()];
    let literal = text[..found.range.start].ends_with('\'');
    if word.trim().is_empty() || word == KEY || is_stand_in(word) && !(literal && word.starts_with('$')) {
        return false;
    }
    if found.quoted {
        return !is_ordinary(word);
    }
    if word.starts_with(['{', '[', '|', '>', '(']) || ["true", "false", "null"].contains(&word) {
        return false;
    }
    if capitals {
        // What only names another variable is none.
        return !word.starts_with('$');
    }
    // An argument, or the next statement.
    let is_written = spaced || text[found.range.end..].starts_with([',', ')']);
    let is_statement = spaced
        && text[found.range.end..].starts_with(';')
        && word.chars().all(|letter| letter.is_alphabetic() || letter == '_');
    if is_ordinary(word) || is_written && is_code(word) || is_statement {
        return false;
    }
    let is_count = word.len() < 4 && word.chars().all(|letter| letter.is_ascii_digit());
    !is_count && (word.chars().count() >= LEAST || begins_line && !text[found.range.end..].starts_with(' '))
}
