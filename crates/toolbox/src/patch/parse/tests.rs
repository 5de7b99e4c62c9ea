//! What is read from a text, written down again; and what is refused.

use expect_test::{Expect, expect};

use super::*;

/// The patch between its markers, as it is understood.
#[track_caller]
fn check(body: &str, want: Expect) {
    check_whole(&format!("{BEGIN}\n{body}{END}"), want);
}

#[track_caller]
fn check_whole(text: &str, want: Expect) {
    let patch = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let printed = patch.to_string();
    assert_eq!(parse(&printed).as_ref(), Ok(&patch), "{printed}");
    let inner =
        printed.strip_prefix("*** Begin Patch\n").and_then(|rest| rest.strip_suffix("*** End Patch\n")).unwrap();
    want.assert_eq(inner);
}

#[track_caller]
fn refused(body: &str, want: &str) {
    refused_whole(&format!("{BEGIN}\n{body}{END}"), want);
}

#[track_caller]
fn refused_whole(text: &str, want: &str) {
    let error = parse(text).expect_err(want).to_string();
    assert!(error.contains(want), "{error}");
}

#[test]
fn each_kind_of_section() {
    check(
        "*** Add File: a\n+one\n+\n+two\n*** Delete File: b\n*** Update File: c\n*** Move to: d/e\n@@ fn f\n keep\n-old\n+new\n*** End of File\n*** Update File: g\n*** Move to: h\n",
        expect![[r#"
            *** Add File: a
            +one
            +
            +two
            *** Delete File: b
            *** Update File: c
            *** Move to: d/e
            @@ fn f
             keep
            -old
            +new
            *** End of File
            *** Update File: g
            *** Move to: h
        "#]],
    );
}

#[test]
fn what_stands_around_the_patch_is_overlooked() {
    let patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch";
    for text in [
        patch.to_owned(),
        format!("cat <<'EOF'\n{patch}\nEOF\n"),
        format!("apply_patch <<\"X\"\n{patch}\nX"),
        format!("<<EOF\n{patch}"),
        format!("Here it is:\n\n```diff\n{patch}\n```\nDone."),
        format!("\n  {}  ", patch.replace('\n', "  \n")),
        patch.replace('\n', "\r\n"),
        format!("\u{feff}{patch}"),
        patch.replace("*** D", "*** Environment ID: local\n*** D"),
    ] {
        check_whole(
            &text,
            expect![[r#"
            *** Delete File: a
        "#]],
        );
    }
}

#[test]
fn blanks_where_none_belong_do_no_harm() {
    check(
        "\n  *** Update File:   a b  \n\n*** Move to:c\n\n@@\n-x\n+y\n\n*** Add File: d\n\n+one\n\n+two\n\n\n  *** Delete File: e\n\n",
        expect![[r#"
            *** Update File: a b
            *** Move to: c
            @@
            -x
            +y
             
            *** Add File: d
            +one
            +
            +two
            *** Delete File: e
        "#]],
    );
}

#[test]
fn a_hunk_needs_no_header_and_lines_that_stay_no_sign() {
    check(
        "*** Update File: a\nfn f() {\n-  x\n+  y\n\n\ttab\n}\n",
        expect![[r#"
            *** Update File: a
            @@
             fn f() {
            -  x
            +  y
             
             	tab
             }
        "#]],
    );
    // With a blank in front a line of stars is one of the file.
    check(
        "*** Update File: a\n@@\n *** title\n *** End Patch\n-x\n",
        expect![[r#"
            *** Update File: a
            @@
             *** title
             *** End Patch
            -x
        "#]],
    );
}

#[test]
fn what_stands_behind_the_signs_of_a_hunk() {
    #[track_caller]
    fn head(text: &str, above: &[&str], line: Option<usize>) {
        let patch = parse(&format!("{BEGIN}\n*** Update File: a\n{text}\n-x\n{END}")).unwrap();
        let Section::Update { hunks, .. } = &patch.sections[0] else { panic!("{patch}") };
        assert_eq!((hunks[0].above.as_slice(), hunks[0].line), (above.map_strings().as_slice(), line), "{text}");
        assert_eq!(parse(&patch.to_string()), Ok(patch));
    }
    head("@@", &[], None);
    head("@@ @@", &[], None);
    head("@@fn a() {", &["fn a() {"], None);
    head("@@   fn a() { @@", &["fn a() {"], None);
    head("@@ a@@", &["a@@"], None);
    head("@@ class A\n@@ fn b", &["class A", "fn b"], None);
    head("@@\n@@ fn b", &["fn b"], None);
    head("@@ -12,3 +14,5 @@", &[], Some(12));
    head("@@ -12,3 +14,5 @@ fn a() {", &[], Some(12));
    head("@@ -1 +1 @@", &[], Some(1));
    head("@@ -7,2 +7,2", &[], Some(7));
    head("@@ -7 @@", &[], Some(7));
    head("@@ -0,0 +1,3 @@", &[], None);
    head("@@ -99999999999999999999 +1 @@", &[], None);
    head("@@ -7 @@\n@@ fn a", &["fn a"], Some(7));
    head("@@ -1 + x", &["-1 + x"], None);
    head("@@ 12", &["12"], None);
}

trait MapStrings {
    fn map_strings(&self) -> Vec<String>;
}

impl MapStrings for [&str] {
    fn map_strings(&self) -> Vec<String> {
        self.iter().map(|text| (*text).to_owned()).collect()
    }
}

#[test]
fn what_a_unified_diff_adds_is_overlooked() {
    check(
        "*** Update File: a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n x\n-y\n\\ No newline at end of file\n+z\n\\ No newline at end of file\n",
        expect![[r#"
            *** Update File: a
            @@ -1 @@
             x
            -y
            +z
        "#]],
    );
    // Elsewhere such lines are a change.
    check(
        "*** Update File: a\n@@\n--- x\n+++ y\n@@\n-z\n",
        expect![[r#"
            *** Update File: a
            @@
            --- x
            +++ y
            @@
            -z
        "#]],
    );
}

#[test]
fn what_is_no_patch_is_refused_with_the_line_and_the_next_step() {
    refused_whole("", "must begin with a line `*** Begin Patch`");
    refused_whole("hello", "must begin with a line `*** Begin Patch`");
    refused_whole("*** Add File: a\n+x\n*** End Patch", "must begin with a line");
    refused_whole("*** Begin Patch\n*** Delete File: a\n", "may have been cut off");
    refused_whole(
        &format!("{BEGIN}\n*** Delete File: a\n{END}\n{BEGIN}\n{END}"),
        "line 4 of the patch: a second patch",
    );
    refused("", "the patch is empty");
    refused(
        "*** Frobnicate File: a\n",
        "line 2 of the patch: `*** Frobnicate File: a` is not known; write `*** Add File:",
    );
    refused("*** update file: a\n@@\n-x\n", "line 2 of the patch: `*** update file: a` is not known");
    refused("garbage\n*** Delete File: a\n", "line 2 of the patch: `garbage` belongs to no file");
    refused("*** Delete File: a\n-x\n", "line 3 of the patch: `-x` belongs to no file");
    refused("*** Delete File: a\n*** Environment ID: x\n", "line 3 of the patch");
    refused("*** Add File: \n+x\n", "line 2 of the patch: the path is missing");
    refused("*** Add File: a\n+x\ny\n", "line 4 of the patch: `y` must begin with `+`");
    refused("*** Update File: a\n", "line 2 of the patch: nothing is changed in a; write a hunk");
    refused("*** Update File: a\n\n*** Delete File: b\n", "line 2 of the patch: nothing is changed in a");
    refused("*** Update File: a\n*** Move to: \n@@\n-x\n", "line 3 of the patch: the new path is missing");
    refused(
        "*** Update File: a\n@@\n-x\n*** Move to: b\n",
        "line 5 of the patch: `*** Move to:` belongs directly behind",
    );
    refused("*** Update File: a\n*** Move to: b\n*** Move to: c\n", "only once");
    refused("*** Move to: c\n", "belongs directly behind");
    refused(
        "*** Update File: a\n@@ fn a\n@@ fn b\n\n*** Delete File: b\n",
        "line 3 of the patch: the hunk has no lines",
    );
    refused("*** Update File: a\n@@\n-x\n@@\n", "line 5 of the patch: the hunk has no lines");
    refused("*** Update File: a\n@@\n*** End of File\n", "line 4 of the patch: `*** End of File` belongs behind");
    refused("*** Update File: a\n@@\n-x\n*** End of File\n+y\n", "line 6 of the patch: `+y` stands behind the end");
    let long = "x".repeat(100);
    refused(&format!("{long}\n"), &format!("`{}…` belongs", "x".repeat(80)));
}

#[test]
fn the_limits_hold() {
    let sections = |count: usize| "*** Delete File: a\n".repeat(count);
    assert_eq!(parse(&format!("{BEGIN}\n{}{END}", sections(MAX_SECTIONS))).unwrap().sections.len(), MAX_SECTIONS);
    refused(&sections(MAX_SECTIONS + 1), "more than 500 files");
    let hunks = |count: usize| format!("*** Update File: a\n{}", "@@\n-x\n".repeat(count));
    assert!(parse(&format!("{BEGIN}\n{}{END}", hunks(MAX_HUNKS))).is_ok());
    refused(&hunks(MAX_HUNKS + 1), "more than 5000 hunks");
    let text = |size: usize| {
        let frame = format!("{BEGIN}\n*** Add File: a\n+\n{END}").len();
        format!("{BEGIN}\n*** Add File: a\n+{}\n{END}", "x".repeat(size - frame))
    };
    assert!(parse(&text(MAX_TEXT)).is_ok());
    refused_whole(&text(MAX_TEXT + 1), "more than 8388608; send it in parts");
}
