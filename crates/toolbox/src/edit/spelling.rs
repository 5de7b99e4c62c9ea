//! Keeping the file's own signs in a line of which a model changes a part. Pure.

use similar::{Algorithm, DiffOp, capture_diff_slices};
use unicode_normalization::{UnicodeNormalization, is_nfc, is_nfd};

use super::token::{self, Alike, alike};

/// Longest line, in tokens, that is looked at token by token.
const MAX_TOKENS: usize = 1_000;

/// `new`, which takes the place of `file`, with the file's signs where it repeats `old`; `None` where there are none to
/// keep. White space is the new line's.
pub(super) fn respell(new: &str, old: &str, file: &str) -> Option<String> {
    let (old, file) = (old.trim(), file.trim());
    if old == file || old.is_ascii() && file.is_ascii() {
        return None;
    }
    let indent = &new[..new.len() - new.trim_start().len()];
    let new = new.trim();
    let cut = |text| token::all(text).take(MAX_TOKENS + 1).collect::<Vec<_>>();
    let (old_tokens, file_tokens, new_tokens) = (cut(old), cut(file), cut(new));
    let stands_for = old_tokens.iter().zip(&file_tokens).all(|(old, file)| alike(old, file) != Alike::No);
    let long = [&old_tokens, &file_tokens, &new_tokens].iter().any(|tokens| tokens.len() > MAX_TOKENS);
    if long || old_tokens.len() != file_tokens.len() || !stands_for {
        return None;
    }
    let mut text = indent.to_owned();
    for op in capture_diff_slices(Algorithm::Myers, &old_tokens, &new_tokens) {
        match op {
            DiffOp::Equal { old_index, new_index, len } => {
                for at in 0..len {
                    let (file, new) = (file_tokens[old_index + at], new_tokens[new_index + at]);
                    let plain_space = file.starts_with(char::is_whitespace) && file.is_ascii();
                    text.push_str(if plain_space { new } else { file });
                }
            }
            DiffOp::Delete { .. } => {}
            DiffOp::Insert { new_index, new_len, .. } | DiffOp::Replace { new_index, new_len, .. } => {
                text.push_str(&in_form_of(file, &new_tokens[new_index..new_index + new_len].concat()));
            }
        }
    }
    Some(text)
}

/// `text` with its accents put together as in `file`, where that has them in one way only.
fn in_form_of(file: &str, text: &str) -> String {
    match (is_nfc(file), is_nfd(file)) {
        (false, true) => text.nfd().collect(),
        (true, false) => text.nfc().collect(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_the_file_stay() {
        for (new, old, file, want) in [
            ("say(\"b\")", "say(\"a\")", "say(\u{201c}a\u{201d})", Some("say(\u{201c}b\u{201d})")),
            ("  x - z", "x - y", "\tx \u{2014} y", Some("  x \u{2014} z")),
            ("caf\u{e9}_x", "caf\u{e9}", "cafe\u{301}", Some("cafe\u{301}_x")),
            ("\u{e9}caf\u{e9}", "caf\u{e9}", "cafe\u{301}", Some("e\u{301}cafe\u{301}")),
            ("a  c", "a  b", "a\u{a0}b", Some("a\u{a0}c")),
            ("a b\u{e9}", "a  \u{e9}", "a   \u{e9}", Some("a b\u{e9}")),
            ("b", "a", "a", None),
            ("caf\u{e9} b", "caf\u{e9} a", "other \u{e9}", None),
        ] {
            assert_eq!(respell(new, old, file).as_deref(), want, "{new}");
        }
    }
}
