//! Nothing in a text makes the analysis fail, or take for ever.

use haft_shell::{MAX_COMMANDS, MAX_LENGTH, MAX_NESTING, MAX_SCRIPTS};
use proptest::prelude::*;

use crate::look;

#[test]
fn a_text_beyond_its_length_is_unknown() {
    let of = |length: usize| look(&format!("echo {}", "a".repeat(length - 5)));
    assert!(of(MAX_LENGTH).is_known());
    assert!(!of(MAX_LENGTH + 1).is_known());
}

#[test]
fn a_text_that_is_nested_beyond_measure_is_unknown() {
    let of = |depth: usize| look(&format!("{}ls{}", "{ ".repeat(depth), "; }".repeat(depth)));
    assert!(of(MAX_NESTING).is_known());
    assert!(!of(MAX_NESTING + 1).is_known());
}

#[test]
fn too_many_commands_are_unknown() {
    assert!(look(&"ls;".repeat(MAX_COMMANDS)).is_known());
    assert!(!look(&"ls;".repeat(MAX_COMMANDS + 1)).is_known());
}

#[test]
fn too_many_words_before_a_command_are_unknown() {
    assert!(look(&format!("{}ls", "time ".repeat(200))).is_known());
    assert!(!look(&format!("{}ls", "time ".repeat(201))).is_known());
}

#[test]
fn too_many_paths_are_unknown() {
    let of = |count: usize| look(&format!("cat{}", (0..count).map(|at| format!(" f{at}")).collect::<String>()));
    assert!(of(2_000).is_known());
    let many = of(2_001);
    assert!(!many.is_known() && many.touches.len() == 2_000);
}

#[test]
fn not_every_reason_is_told() {
    let text: String = (0..50).map(|at| format!("cat $x{at}; ")).collect();
    assert_eq!(look(&text).unknown.len(), 12);
}

#[test]
fn scripts_in_scripts_end_somewhere() {
    let of = |depth: usize| look(&format!("{}ls", "eval eval ".repeat(depth / 2)));
    assert!(of(MAX_SCRIPTS).is_known());
    assert!(!of(MAX_SCRIPTS + 2).is_known());
}

#[test]
fn hostile_nesting_ends_soon() {
    let openers = [
        "(",
        "( ",
        "{ ",
        "if ",
        "if a; then ",
        "while ",
        "for i in a; do ",
        "case a in b) ",
        "! ",
        "f() ",
        "f() { ",
        "$(",
        "\"$(",
        "${a:-",
        "\"${a:-",
        "$((",
        "[[ ",
        "[[ ! ",
        "[[ ( ",
        "<(",
        "{a,",
        "coproc ",
        "time ",
        "`",
        "\\`",
        "a=(",
        "cat <<E;",
        "\"",
        "'",
        "$'",
        "$",
        "$[",
        "<<",
        ">",
        "&&",
        "function f ",
        "select x in ",
        "until ",
        "${a[",
        "((",
        "a[",
        "elif ",
    ];
    for opener in openers {
        for times in [11, 12, 13, 40, 3_000] {
            look(&opener.repeat(times));
            look(&format!("{}ls", opener.repeat(times)));
            look(&format!("echo '{}'", opener.repeat(times)));
            look(&format!("cat <<'E'\n{}\nE\nls", opener.repeat(times)));
            look(&format!("echo \"{}\"", opener.repeat(times)));
            look(&format!("cat <<E\n{}\nE\nls", opener.repeat(times)));
        }
    }
}

#[test]
fn variables_do_not_grow_without_a_bound() {
    let mut text = "A0=aaaaaaaaaaaaaaaa; ".to_owned();
    for at in 1..60 {
        text.push_str(&format!("A{at}=$A{0}$A{0}; ", at - 1));
    }
    assert!(!look(&format!("{text} cat $A59")).is_known());
}

/// Pieces that mean something, put together anyhow.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "rm", "-rf", "~", " ", " ", " ", "\n", ";", "&&", "||", "|", "&", "(", ")", "{", "}", "$(", "`", "\"", "'",
        "$", "${", "x", "x=1", "$x", "<<EOF\n", "EOF\n", ">", "<", ">>", "2>&1", "<<<", "<(", "if", "then", "fi",
        "for", "in", "do", "done", "case", "esac", "while", "function", "[[", "]]", "((", "))", "\\", "*", "?", "[",
        "]", "{a,b}", "bash", "-c", "eval", "env", "sudo", "xargs", "find", ".", "-exec", ";;", "\\;", "!", "#", "é",
        "\t", "$'", "cd", "..", "/", "git", "sed", "s/a/b/", "tar",
    ]);
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_looked_at(text in ".{0,200}") {
        look(&text);
    }

    #[test]
    fn any_pieces_are_looked_at(text in pieces()) {
        look(&text);
    }

    #[test]
    fn a_command_that_is_added_is_found_or_the_text_is_unknown(text in pieces()) {
        let found = look(&format!("{text}\nshred zz"));
        let shown = found.commands.iter().any(|one| one.source.contains("shred zz"));
        // It may also be text: in quotes, in a here-document, behind a comment.
        let text_in = found.commands.iter().any(|one| one.words.iter().any(|word| word.contains("shred")));
        prop_assert!(shown || text_in || !found.is_known() || text.contains(['<', '#', '\'', '"', '\\', '=']), "{text:?} {found:?}");
    }
}

#[test]
fn numbers_that_the_parser_cannot_hold_are_unknown() {
    for text in [
        "99999999999> out",
        "cat 2147483648<in",
        "a 44444444444444444444>&1",
        "echo $(b 99999999999> x)",
        "ls ~99999999999/a",
    ] {
        assert!(!look(text).is_known(), "{text}");
    }
    assert!(look("cat 2147483647< in").is_known());
    assert!(look("echo 99999999999 > out").is_known());
}
