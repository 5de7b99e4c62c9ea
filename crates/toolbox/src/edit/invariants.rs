//! What holds for every edit, whatever the texts are: for property tests and fuzzers.

use super::engine::{Reason, Replacement, apply};

/// Signs that no text of a test has.
const GUARD: &str = "\u{e000}\u{e001}";

/// Checks what must hold for putting `new` in the place of `old` in `content`.
///
/// # Panics
///
/// When it does not.
#[doc(hidden)]
pub fn hold(content: &str, old: &str, new: &str) {
    for all in [false, true] {
        let edit = Replacement { old: old.to_owned(), new: new.to_owned(), all };
        let done = apply(content, std::slice::from_ref(&edit));
        let plain = ![content, old, new].iter().any(|text| text.contains("\r\n")) && !old.starts_with('\u{feff}');
        if plain && old != new && !old.is_empty() {
            let last = content.rfind(old);
            let one = last.is_some() && content.find(old) == last;
            match &done {
                Ok(done) if one => assert_eq!(done.content, content.replacen(old, new, 1)),
                Ok(done) if last.is_some() && all => assert_eq!(done.content, content.replace(old, new)),
                Ok(_) => assert!(last.is_none(), "one of several exact places was picked"),
                Err(refusal) => assert!(!one, "an exact place was refused: {refusal:?}"),
            }
        }
        if let Ok(done) = &done {
            assert!(all || done.places == 1);
            assert_eq!(done.how.len(), 1);
        }
        outside_stays(content, &edit);
        nothing_is_half_done(content, &edit);
    }
}

/// Lines before and after keep their bytes, line ends of either kind, too.
fn outside_stays(content: &str, edit: &Replacement) {
    // White space alone may well mean that around the content.
    let blank = edit.old.trim_start_matches('\u{feff}').trim().is_empty();
    if blank || [content, &edit.old, &edit.new].iter().any(|text| text.contains(['\u{e000}', '\u{e001}'])) {
        return;
    }
    let (head, tail) = (format!("{GUARD}  \r\n{GUARD}\t\n{GUARD}"), format!("{GUARD} \n{GUARD}\r\n{GUARD}"));
    let guarded = format!("{head}\n{content}\n{tail}");
    if let Ok(done) = apply(&guarded, std::slice::from_ref(edit)) {
        assert!(done.content.starts_with(&head), "{:?}", done.content);
        assert!(done.content.ends_with(&tail), "{:?}", done.content);
    }
}

/// An edit that cannot be made keeps those before it from being made, and is named.
fn nothing_is_half_done(content: &str, edit: &Replacement) {
    if content.contains(GUARD) || edit.new.contains(GUARD) {
        return;
    }
    let absent = Replacement { old: GUARD.to_owned(), new: String::new(), all: false };
    match apply(content, &[edit.clone(), absent]) {
        Ok(_) => panic!("what is not there was found"),
        Err(refusal) if refusal.edit == 1 => assert!(matches!(refusal.reason, Reason::NotFound { .. })),
        Err(refusal) => assert_eq!(refusal.edit, 0),
    }
}
