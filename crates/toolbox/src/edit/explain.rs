//! Telling the model why nothing was changed, and what to do about it. Pure.

use super::engine::{MAX_EDITS, Reason, Refusal};

/// The whole text. `count` is the number of edits in the call.
pub(super) fn explain(path: &str, refusal: &Refusal, count: usize) -> String {
    let text = reason(path, &refusal.reason);
    let Refusal { edit, .. } = refusal;
    if count == 1 || refusal.reason == Reason::TooMany {
        return text;
    }
    let before = if *edit == 0 { "" } else { " after those before it" };
    format!("edit {} of {count} cannot be made{before}, so none was: {text}", edit + 1)
}

fn reason(path: &str, reason: &Reason) -> String {
    match reason {
        Reason::Same => "oldString and newString come to the same here, so there is nothing to change".to_owned(),
        Reason::Empty => format!(
            "{path} exists, so oldString cannot be empty; put there what is to be replaced, or replace the whole file \
             with write"
        ),
        Reason::NotFound { advice } => format!("{path} does not contain oldString. {advice}"),
        Reason::Several { count, lines, how } => {
            let named: Vec<String> = lines.iter().map(usize::to_string).collect();
            let more = if *count > lines.len() { ", …" } else { "" };
            let apart = how.overlooked().map(|what| format!(" (apart from {what})")).unwrap_or_default();
            format!(
                "{path} contains oldString{apart} in {count} places, on lines {}{more}. Take in lines around the one you \
                 mean until only it fits, or set replaceAll to change them all.",
                named.join(", ")
            )
        }
        Reason::TooLarge { line } => format!(
            "what oldString seems to mean, from line {line} of {path} on, is much longer than it; read that part of the \
             file and copy all of the text that is to be replaced"
        ),
        Reason::TooMuch { count } => format!(
            "{path} contains oldString in {}, and what would come of replacing it is too much for edit; change the file \
             with a program in bash (sed, perl)",
            if *count == 1 { "1 place".to_owned() } else { format!("{count} places") }
        ),
        Reason::TooMany => format!("a call takes up to {MAX_EDITS} edits; make the others in another"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::edit::How;

    #[track_caller]
    fn check(edit: usize, reason: Reason, count: usize, want: Expect) {
        want.assert_eq(&explain("src/a", &Refusal { edit, reason }, count));
    }

    #[test]
    fn one_of_several_is_named() {
        check(
            0,
            Reason::Same,
            1,
            expect!["oldString and newString come to the same here, so there is nothing to change"],
        );
        check(
            0,
            Reason::Same,
            2,
            expect![
                "edit 1 of 2 cannot be made, so none was: oldString and newString come to the same here, so there is nothing to change"
            ],
        );
        check(
            2,
            Reason::NotFound { advice: "Advice.".to_owned() },
            3,
            expect![
                "edit 3 of 3 cannot be made after those before it, so none was: src/a does not contain oldString. Advice."
            ],
        );
        check(
            MAX_EDITS,
            Reason::TooMany,
            MAX_EDITS + 1,
            expect!["a call takes up to 200 edits; make the others in another"],
        );
    }

    #[test]
    fn each_reason_says_what_to_do() {
        check(
            0,
            Reason::Empty,
            1,
            expect![
                "src/a exists, so oldString cannot be empty; put there what is to be replaced, or replace the whole file with write"
            ],
        );
        check(
            0,
            Reason::Several { count: 2, lines: vec![3, 7], how: How::Exact },
            1,
            expect![
                "src/a contains oldString in 2 places, on lines 3, 7. Take in lines around the one you mean until only it fits, or set replaceAll to change them all."
            ],
        );
        check(
            0,
            Reason::Several { count: 11, lines: (1..=10).collect(), how: How::Indentation },
            1,
            expect![
                "src/a contains oldString (apart from indentation) in 11 places, on lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …. Take in lines around the one you mean until only it fits, or set replaceAll to change them all."
            ],
        );
        check(
            0,
            Reason::TooMuch { count: 100_001 },
            1,
            expect![
                "src/a contains oldString in 100001 places, and what would come of replacing it is too much for edit; change the file with a program in bash (sed, perl)"
            ],
        );
        check(
            0,
            Reason::TooLarge { line: 3 },
            1,
            expect![
                "what oldString seems to mean, from line 3 of src/a on, is much longer than it; read that part of the file and copy all of the text that is to be replaced"
            ],
        );
    }
}
