//! What holds for any patch and any text.

use proptest::prelude::*;
use similar::{Algorithm, ChangeTag, TextDiff};

use super::*;

/// Lines of which many are equal, and some are made to be mistaken for something else.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ab ]{0,3}",
        1 => "[\t ]{0,4}[a-c(){};*@+-]{0,6}[ \t\r]{0,2}",
        1 => proptest::sample::select(vec!["*** End Patch", "@@", "@@ a @@", "*** Add File: x", "\\ No newline", "--- a", "}"])
            .prop_map(str::to_owned),
        1 => "\\PC{0,12}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(line(), 0..20).prop_map(|lines| {
        // A carriage return at the end of a line belongs to the line's end.
        lines.iter().map(|line| line.trim_end_matches('\r').replace('\n', "") + "\n").collect()
    })
}

/// Something like a patch: its words in any order.
fn patch_text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        6 => "[ +-]?[a-c]{0,2}",
        1 => line(),
        2 => proptest::sample::select(vec![
            "@@", "@@ a", "@@ -1,2 +3 @@", "@@ -2 @@ x", "*** End of File", "*** Move to: b", "\\ No newline at end of file",
        ])
        .prop_map(str::to_owned),
        3 => proptest::sample::select(vec!["*** Add File: a", "*** Update File: a", "*** Delete File: a", "  *** Update File: b "])
            .prop_map(str::to_owned),
    ];
    proptest::collection::vec(word, 0..14)
        .prop_map(|lines| format!("*** Begin Patch\n{}\n*** End Patch", lines.join("\n")))
}

/// The change from `old` to `new` as hunks with `around` lines on either side.
fn difference(old: &str, new: &str, around: usize, numbers: bool) -> Vec<Hunk> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).diff_slices(&old, &new);
    let hunk = |group: Vec<similar::DiffOp>| {
        let row = |change: similar::Change<&str>| match change.tag() {
            ChangeTag::Equal => Row::Keep(change.value().to_owned()),
            ChangeTag::Delete => Row::Remove(change.value().to_owned()),
            ChangeTag::Insert => Row::Add(change.value().to_owned()),
        };
        let line = group.first().map(|op| op.old_range().start + 1).filter(|_| numbers);
        let rows = group.iter().flat_map(|op| diff.iter_changes(op)).map(row).collect();
        Hunk { line, rows, ..Hunk::default() }
    };
    diff.grouped_ops(around).into_iter().map(hunk).collect()
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*|[*@+ \\-\nA-z:]{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn what_is_printed_is_read_as_it_was(text in patch_text()) {
        if let Ok(patch) = parse(&text) {
            let printed = patch.to_string();
            prop_assert_eq!(parse(&printed), Ok(patch), "{}", printed);
        }
    }

    #[test]
    fn any_hunks_apply_to_any_text_or_are_refused(text in text(), patch in patch_text(), ends in any::<bool>()) {
        let text = if ends { text.replace('\n', "\r\n") } else { text };
        if let Ok(patch) = parse(&patch) {
            for section in &patch.sections {
                if let Section::Update { hunks, .. } = section {
                    let _ = apply(&text, hunks);
                }
            }
        }
    }

    #[test]
    fn a_difference_that_shows_everything_makes_the_new_text(old in text(), new in text()) {
        let hunks = difference(&old, &new, usize::MAX / 4, false);
        prop_assert_eq!(apply(&old, &hunks), Ok(new));
    }

    #[test]
    fn a_difference_with_line_numbers_makes_the_new_text(old in text(), new in text(), around in 1..4_usize) {
        let hunks = difference(&old, &new, around, true);
        // Lines that only come have nothing that the number could be held against.
        prop_assume!(hunks.iter().all(|hunk| hunk.old().next().is_some()));
        prop_assert_eq!(apply(&old, &hunks), Ok(new));
    }

    #[test]
    fn a_difference_without_them_makes_the_new_text_or_is_ambiguous(old in text(), new in text(), around in 1..4_usize) {
        let hunks = difference(&old, &new, around, false);
        prop_assume!(hunks.iter().all(|hunk| hunk.old().next().is_some()));
        match apply(&old, &hunks) {
            Ok(text) => prop_assert_eq!(text, new),
            Err(Refusal { why: Why::Several { .. }, .. }) => {}
            Err(refusal) => prop_assert!(false, "{refusal}"),
        }
    }

    #[test]
    fn a_difference_survives_being_printed(old in text(), new in text()) {
        let hunks = difference(&old, &new, usize::MAX / 4, false);
        prop_assume!(!hunks.is_empty());
        let patch = Patch { sections: vec![Section::Update { path: "a".into(), to: None, hunks }] };
        let read = parse(&patch.to_string()).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(read, patch);
    }

    #[test]
    fn lines_that_stay_keep_their_bytes(old in text(), new in text()) {
        // As if every line had been read with other ends and other white space.
        let other: String = old.lines().map(|line| format!("{line} \r\n")).collect();
        let hunks = difference(&old, &new, usize::MAX / 4, false);
        if let Ok(changed) = apply(&other, &hunks) {
            let kept = hunks.iter().flat_map(|hunk| &hunk.rows).filter(|row| matches!(row, Row::Keep(_))).count();
            let there = changed.split_inclusive('\n').filter(|line| line.ends_with(" \r\n")).count();
            prop_assert!(there >= kept, "{} of {}", there, kept);
        }
    }
}
