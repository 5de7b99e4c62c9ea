//! Beside the real shell: what it refuses is never known here, and what it takes is read.

use std::process::Command;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::look;

/// Whether bash can read `text`; `None` where there is no bash.
fn bash_reads(text: &str) -> Option<bool> {
    let output = Command::new("bash").args(["--norc", "-n", "-c", text]).output().ok()?;
    // Of an unfinished here-document it only warns.
    Some(output.status.success() && output.stderr.is_empty())
}

const SCRIPTS: &[&str] = &[
    "a | b |& c && d || e; f & g",
    "if a; then b; elif c; then d; else e; fi",
    "for i in a b \"c d\"; do echo \"$i\"; done",
    "for ((i=0; i<3; i++)); do echo $i; done",
    "while read -r line; do echo \"$line\"; done < <(ls)",
    "until a; do b; done > f 2>&1",
    "case \"$x\" in a|b) c ;; (d) e ;& *) f ;;& esac",
    "f() { local x=1; echo $x; }; f a b",
    "function g { a; }; g",
    "cat <<'A' <<B\n$(x)\nA\n$(y)\nB",
    "cat <<-EOF | grep x\n\ta\n\tEOF",
    "echo ${x:-a} ${x##*/} ${#x} ${x/a/b} ${x^^} ${a[@]} ${!a[@]}",
    "echo $((1 + 2 * 3)) $(( x ? 1 : 2 ))",
    "[[ -f a && ! -d b || $x =~ ^a.*$ ]] && c",
    "[ \"$a\" = b ] && c",
    "a=(1 2 3); a+=(4); echo \"${a[@]}\"",
    "declare -A m=([a]=1 [b]=2)",
    "(a; b) | { c; d; }",
    "a > f 2>&1 < g >> h",
    "a &> f; b &>> g",
    "diff <(a) <(b) > >(tee c)",
    "echo `a \\`b\\` c`",
    "echo \"a $(b \"c $(d)\") e\"",
    "! a; time b; time -p c",
    "{ a; } 2> /dev/null",
    "echo a\\\nb # comment\necho c",
    "x=$(a) y=`b` c",
    "echo $'a\\n\\x41' $\"b\"",
    "if ! grep -q x f; then echo no; fi",
    "set -e\ntrap 'rm -f \"$tmp\"' EXIT\ntmp=$(mktemp)\n",
    "echo {a,b}{1..3} *.txt ?x [a-z]*",
    "a; ; b",
    "a && ",
    "if a; fi",
    "for i in; done",
    "case x in a) b",
    "(a",
    "a)",
    "{ a }",
    "echo \"x",
    "echo $((1",
    "do a; done",
    "a | | b",
    "a ;; b",
    "< ; a",
    "function { a; }; }",
];

#[test]
fn what_bash_refuses_is_unknown() {
    for script in SCRIPTS {
        if bash_reads(script) == Some(false) {
            assert!(!look(script).is_known(), "{script:?}");
        }
    }
}

#[test]
fn what_bash_takes_is_read() {
    // Valid, and unknown for what they would do or because the second parser cannot read them; not because this one failed.
    for script in SCRIPTS {
        if bash_reads(script) == Some(true) {
            let found = look(script);
            let failed = found.unknown.iter().any(|why| why == "it is no whole command line");
            assert!(!failed, "{script:?}: {:?}", found.unknown);
        }
    }
}

#[test]
fn random_pieces_that_bash_refuses_are_unknown() {
    let mut runner =
        TestRunner::new(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() });
    let piece = prop::sample::select(vec![
        "a",
        " ",
        ";",
        "&&",
        "|",
        "(",
        ")",
        "{ ",
        "; }",
        "$(",
        "`",
        "\"",
        "'",
        "${x",
        "}",
        "\n",
        "if ",
        "; then ",
        "; fi",
        "for i in b",
        "; do ",
        "; done",
        "<<E\n",
        "\nE\n",
        "> f",
        "[[ ",
        " ]]",
        "((",
        "))",
        "case x in ",
        "esac",
        "!",
        "&",
        "\\",
        "x=",
        "f()",
    ]);
    let texts = prop::collection::vec(piece, 1..12).prop_map(|pieces| pieces.concat());
    let outcome = runner.run(&texts, |text| {
        if bash_reads(&text) == Some(false) {
            prop_assert!(!look(&text).is_known(), "{text:?}");
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
