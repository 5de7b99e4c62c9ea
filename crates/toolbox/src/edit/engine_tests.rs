//! Tables of texts for the engine.

use proptest::prelude::*;

use super::find::{MAX_PLACES, MAX_PUT};
use super::invariants::hold;
use super::{How, MAX_EDITS, Reason, Replacement, apply};

fn edit(old: &str, new: &str, all: bool) -> Replacement {
    Replacement { old: old.to_owned(), new: new.to_owned(), all }
}

/// What the edit comes to: how it was found and the new content, or the reason why not.
fn one(content: &str, old: &str, new: &str, all: bool) -> Result<(How, String), Reason> {
    let done = apply(content, &[edit(old, new, all)]);
    done.map(|done| (done.how[0], done.content)).map_err(|refusal| refusal.reason)
}

/// Checks one place, and that the same edit changes both where there are two.
#[track_caller]
fn check(how: How, content: &str, old: &str, new: &str, want: &str) {
    assert_eq!(one(content, old, new, false), Ok((how, want.to_owned())), "{old:?}");
    let twice = |text: &str| format!("{text}\n== + ==\n{text}");
    assert_eq!(one(&twice(content), old, new, true), Ok((how, twice(want))), "replaceAll {old:?}");
    let several = one(&twice(content), old, new, false);
    assert!(matches!(several, Err(Reason::Several { count: 2, .. })), "twice: {several:?}");
}

#[track_caller]
fn refused(content: &str, old: &str, new: &str) {
    let got = one(content, old, new, false);
    assert!(matches!(got, Err(Reason::NotFound { .. } | Reason::Several { .. })), "{got:?}");
}

const BLOCK: &str = "fn area(w: u32, h: u32) -> u32 {\n    let size = w * h;\n    log(\"size\", size);\n    size\n}";

#[test]
fn strategy_simple() {
    check(How::Exact, "a b c", "b", "x", "a x c");
    check(How::Exact, BLOCK, "w * h", "w + h", &BLOCK.replace("w * h", "w + h"));
    check(How::Exact, "x é漢", "é漢", "$& $1 \\1 $$", "x $& $1 \\1 $$");
}

#[test]
fn strategy_line_trimmed() {
    let old = "let size = w * h;   \nlog(\"size\", size);";
    let new = "let size = w + h;   \nlog(\"size\", size);";
    check(How::Indentation, BLOCK, old, new, &BLOCK.replace("w * h", "w + h"));
}

#[test]
fn strategy_block_anchor() {
    let old = BLOCK.replace("w * h", "w * height");
    let new = old.replace("    size\n", "    size + 1\n");
    check(How::Words, BLOCK, &old, &new, &BLOCK.replace("    size\n", "    size + 1\n"));
}

#[test]
fn strategy_whitespace_normalized() {
    let old = "let  size =   w * h;\n    log(\"size\",  size);";
    check(
        How::Spaces,
        BLOCK,
        &format!("    {old}"),
        "    let size = 1;\n    log(\"size\", size);",
        &BLOCK.replace("w * h", "1"),
    );
    // In a part of a line, too.
    check(How::Spaces, "let   x  =  f( 1 ,  2 );", "x = f( 1 , 2 )", "y", "let   y;");
}

#[test]
fn strategy_indentation_flexible() {
    let deeper = BLOCK.replace("    ", "\t").lines().map(|line| format!("\t{line}")).collect::<Vec<_>>().join("\n");
    let new = BLOCK.replace("    size\n", "    if size > 9 {\n        return 9;\n    }\n    size\n");
    let want = deeper.replace("\t\tsize\n", "\t\tif size > 9 {\n\t\t\treturn 9;\n\t\t}\n\t\tsize\n");
    check(How::Indentation, &deeper, BLOCK, &new, &want);
}

#[test]
fn strategy_escape_normalized() {
    let old = r#"let size = w * h;\n    log(\"size\", size);"#;
    let new = r#"let size = w + h;\n    log(\"size\", size);"#;
    check(How::Escapes, BLOCK, old, new, &BLOCK.replace("w * h", "w + h"));
}

#[test]
fn strategy_trimmed_boundary() {
    let old = "\n\n    let size = w * h;\n    log(\"size\", size);\n\n";
    check(How::BlankEdges, BLOCK, old, &old.replace('*', "+"), &BLOCK.replace("w * h", "w + h"));
    // The file goes on in the line that the old text ends, and which the edit leaves alone.
    let content = "list: [\n  one,\n  two,\n],\n";
    check(
        How::Spaces,
        content,
        "list: [\n  one,\n  two,\n]\n",
        "list: [\n  1,\n  two,\n]\n",
        &content.replace("one", "1"),
    );
}

#[test]
fn strategy_context_aware() {
    let old = BLOCK.replace("\"size\"", "'size'");
    let new = old.replace("    size\n", "    size + 1\n");
    check(How::Words, BLOCK, &old, &new, &BLOCK.replace("    size\n", "    size + 1\n"));
}

#[test]
fn strategy_multi_occurrence() {
    let got = one("a\nb\na\n", "a", "x", false);
    assert_eq!(got, Err(Reason::Several { count: 2, lines: vec![1, 3], how: How::Exact }));
    assert_eq!(one("a\nb\na\n", "a", "x", true), Ok((How::Exact, "x\nb\nx\n".to_owned())));
}

#[test]
fn several_places_are_named_and_none_is_picked() {
    #[track_caller]
    fn check(content: &str, old: &str, count: usize, lines: Vec<usize>) {
        assert_eq!(one(content, old, "x", false), Err(Reason::Several { count, lines, how: How::Exact }));
    }
    check("aa", "a", 2, vec![1, 1]);
    check("x\naba\n", "a", 2, vec![2, 2]);
    check("}\n}\n}\n", "}\n}\n", 2, vec![1, 2]);
    check(&"a\n".repeat(99), "a", 99, (1..=10).collect());
    // What is there exactly, and twice, is not looked for in other ways.
    check("foo(a)\nfoo(a)\n  foo(b)\n", "foo(a)\n", 2, vec![1, 2]);
    // Places that differ in what was overlooked are as good as each other.
    refused("\tif a {\n\t\tb();\n\n    if a {\n        b();\n", "if a {\n  b();", "x");
}

#[test]
fn line_numbers_and_fences_go() {
    check(
        How::LineNumbers,
        BLOCK,
        "2:     let size = w * h;\n3:     log(\"size\", size);",
        "2:     let size = 1;\n3:     log(\"size\", size);",
        &BLOCK.replace("w * h", "1"),
    );
    check(How::LineNumbers, BLOCK, "00002|     let size = w * h;", "    let size = 1;", &BLOCK.replace("w * h", "1"));
    check(
        How::Fence,
        BLOCK,
        "```rust\n    let size = w * h;\n```",
        "```rust\n    let size = 1;\n```",
        &BLOCK.replace("w * h", "1"),
    );
}

#[test]
fn other_signs_mean_the_same_and_stay() {
    check(
        How::Signs,
        "say(\u{201c}hello\u{201d}); // a \u{2014} b",
        "say(\"hello\"); // a - b",
        "say(\"bye\"); // a - b",
        "say(\u{201c}bye\u{201d}); // a \u{2014} b",
    );
    check(
        How::Signs,
        "let cafe\u{301}_one = 1;\nnext",
        "let caf\u{e9}_one = 1;",
        "let caf\u{e9}_one = 2;",
        "let cafe\u{301}_one = 2;\nnext",
    );
    // Too little to tell.
    refused("it\u{2019}s\n", "it's", "its");
}

#[test]
fn blank_lines_may_differ_where_nothing_changes() {
    let content = "one();\n\ntwo();\nthree();\nfour();\n";
    check(
        How::BlankLines,
        content,
        "one();\ntwo();\nthree();\nfour();",
        "one();\ntwo();\nthree();\n4();",
        &content.replace("four", "4"),
    );
    // Whether the blank line should stay beside what changes cannot be told.
    refused(content, "one();\ntwo();\nthree();", "one();\n2();\nthree();");
    // Nor what taking away a blank line means that is not there.
    refused("one\ntwo\n", "\n  one\n", "1\n");
}

#[test]
fn line_ends_stay() {
    let (old, new) = ("two\nthree", "2\nnew\nthree");
    for (content, want) in [
        ("one\r\ntwo\r\nthree\r\n", "one\r\n2\r\nnew\r\nthree\r\n"),
        ("one\r\ntwo\nthree\r\n", "one\r\n2\nnew\nthree\r\n"),
        ("one\ntwo\r\nthree", "one\n2\r\nnew\r\nthree"),
    ] {
        assert_eq!(one(content, old, new, false), Ok((How::Exact, want.to_owned())), "{content:?}");
    }
    // No line end is added to the last line, and none taken away.
    assert_eq!(one("a\nb", "b\n", "c\n", false), Ok((How::LineEnds, "a\nc".to_owned())));
}

#[test]
fn what_cannot_be_meant_is_refused() {
    for (content, old, new) in [
        ("a", "b", "c"),
        ("Name", "name", "x"),
        ("", "a", "b"),
        ("a\n", "  ", "b"),
        // Lines in between are left out, or others.
        ("start {\n    one();\n    two();\n}\n", "start {\n    // existing code\n    two();\n}", "x"),
        ("start {\n    one();\n    two();\n}\n", "start {\n    two();\n    one();\n}", "x"),
        // Within a word, but not exactly.
        ("let  maximum = 1;", "let max", "let min"),
    ] {
        refused(content, old, new);
    }
    assert_eq!(one("a", "a", "a", false), Err(Reason::Same));
    assert_eq!(one("a", "", "a", false), Err(Reason::Empty));
    let spread = format!("one{}two\n", " ".repeat(2000));
    assert_eq!(one(&spread, "one two", "x", false), Err(Reason::TooLarge { line: 1 }));
}

#[test]
fn edits_follow_each_other_all_or_none() {
    let edits = [edit("one", "1", false), edit("1\ntwo", "1\n2", false), edit("3", "three", true)];
    let done = apply("one\ntwo\n3 3\n", &edits).unwrap();
    assert_eq!((done.content.as_str(), done.places), ("1\n2\nthree three\n", 4));
    let refusal = apply("one\ntwo\n", &edits).unwrap_err();
    assert_eq!(refusal.edit, 2);
    let many = vec![edit("a", "b", false); MAX_EDITS + 1];
    assert_eq!(apply("a", &many).unwrap_err().reason, Reason::TooMany);
}

/// Texts with much in common and all the traps.
fn text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "b",
        "foo(x)",
        "let value = 1;",
        "\n",
        "\n",
        "\r\n",
        " ",
        "    ",
        "\t",
        "\\n",
        "\\\"",
        "\"",
        "'",
        "\u{2019}",
        "é",
        "e\u{301}",
        "漢",
        "-",
        "\u{2014}",
        "\u{a0}",
        "1: ",
        "2: ",
        "```\n",
        "{",
        "}",
        "\\",
        "\u{feff}",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_texts_are_the_rest_stays(content in text(), old in text(), new in text()) {
        hold(&content, &old, &new);
    }

    #[test]
    fn a_piece_of_the_text_spelled_otherwise_too(content in text(), cut in 0.0..1.0f64, len in 1..20usize, new in text()) {
        let chars: Vec<char> = content.chars().collect();
        let start = (chars.len() as f64 * cut) as usize;
        let piece: String = chars[start..(start + len).min(chars.len())].iter().collect();
        for old in [piece.clone(), piece.replace(' ', "  "), piece.replace('\n', " \n"), piece.replace('\n', "\n  "), piece.replace('"', "\\\"")] {
            hold(&content, &old, &new);
            hold(&content, &old, &old.replace("value", "other"));
        }
    }

    #[test]
    fn any_sequence_keeps_what_is_outside(content in "[abc\r\n ]{0,40}", edits in prop::collection::vec(("[abc\n ]{1,4}", "[abc\n ]{0,4}", any::<bool>()), 1..6)) {
        // White space alone may well mean that around the content.
        let edits = edits.into_iter().filter(|(old, ..)| !old.trim().is_empty());
        let guard = "\u{e000}k \r\n\u{e000}k\t";
        let edits: Vec<Replacement> = edits.map(|(old, new, all)| edit(&old, &new, all)).collect();
        if let Ok(done) = apply(&format!("{guard}\n{content}\n{guard}"), &edits) {
            prop_assert!(done.content.starts_with(guard) && done.content.ends_with(guard), "{:?}", done.content);
        }
    }
}

#[test]
fn what_grows_beyond_reason_is_refused() {
    let all = |content: &str, old: &str, new: &str| one(content, old, new, true).map(|(_, content)| content.len());
    let commas = ",".repeat(MAX_PLACES + 1);
    assert_eq!(all(&commas[1..], ",", ";;"), Ok(2 * MAX_PLACES));
    assert_eq!(all(&commas, ",", ";;"), Err(Reason::TooMuch { count: MAX_PLACES + 1 }));
    // Asked for one, it is told of all of them.
    let several = Reason::Several { count: MAX_PLACES + 1, lines: vec![1; 10], how: How::Exact };
    assert_eq!(one(&commas, ",", ";", false), Err(several));
    let long = "x".repeat(MAX_PUT / 1000);
    assert!(all(&commas[..1000], ",", &long).is_ok());
    assert_eq!(all(&commas[..1001], ",", &long), Err(Reason::TooMuch { count: 1001 }));
    // The same where the old text is not exact, and where one edit after the other makes it grow.
    let lines = "  some_line\n".repeat(1100);
    assert_eq!(all(&lines, "some_line  \n", &format!("{long}\n")), Err(Reason::TooMuch { count: 1100 }));
    let twice = edit("a", &"a".repeat(2), true);
    let more = apply("aaaa", &vec![twice; 40]).unwrap_err();
    assert_eq!((more.edit, more.reason), (15, Reason::TooMuch { count: 4 << 15 }));
}
