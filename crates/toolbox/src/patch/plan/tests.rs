//! What several sections come to.

use super::*;
use crate::patch::parse;

/// Files `a`, `b`, `c` hold their name and a line end, if `old` names them. Says what becomes of each.
fn outcome(old: &str, body: &str) -> Result<String, String> {
    let patch = parse(&format!("*** Begin Patch\n{body}\n*** End Patch")).unwrap();
    let names = ["a", "b", "c"].map(str::to_owned);
    let number = |name: &str| names.iter().position(|other| other == name).unwrap();
    let step = |section: &Section| {
        let file = number(section.path());
        let to = match section {
            Section::Update { to: Some(to), .. } => number(to),
            Section::Update { .. } | Section::Add { .. } | Section::Delete { .. } => file,
        };
        Step { file, to }
    };
    let steps: Vec<Step> = patch.sections.iter().map(step).collect();
    let contents = names.clone().map(|name| old.contains(&name).then(|| format!("{name}\n").into_bytes()));
    let outcomes = plan(&patch.sections, &steps, &contents, &names)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    let said = outcomes.iter().map(|Outcome { file, what }| {
        let name = &names[*file];
        match what {
            What::Add(bytes) => format!("add {name}={}", text(bytes)),
            What::Update(bytes) => format!("update {name}={}", text(bytes)),
            What::Move { from, bytes } => format!("move {}>{name}={}", names[*from], text(bytes)),
            What::Delete => format!("delete {name}"),
        }
    });
    Ok(said.collect::<Vec<_>>().join(", "))
}

#[track_caller]
fn check(old: &str, body: &str, want: &str) {
    assert_eq!(outcome(old, body).as_deref(), Ok(want));
}

#[track_caller]
fn refused(old: &str, body: &str, want: &str) {
    let error = outcome(old, body).expect_err(want);
    assert!(error.contains(want), "{error}");
}

const UPDATE_A: &str = "*** Update File: a\n@@\n-a\n+A\n";

#[test]
fn each_section_alone() {
    check("a", UPDATE_A, "update a=A");
    check("", "*** Add File: a\n+x", "add a=x");
    check("a", "*** Add File: a\n+x", "add a=x");
    check("a", "*** Delete File: a", "delete a");
    check("a", "*** Update File: a\n*** Move to: b\n@@\n-a\n+A", "move a>b=A");
    check("ab", "*** Update File: a\n*** Move to: b", "move a>b=a");
}

#[test]
fn sections_for_one_file_follow_each_other() {
    check("a", &format!("{UPDATE_A}*** Update File: a\n@@\n-A\n+x"), "update a=x");
    check("", "*** Add File: a\n+1\n*** Add File: a\n+2", "add a=2");
    check("", "*** Add File: a\n+1\n*** Update File: a\n@@\n-1\n+2", "add a=2");
    check("a", &format!("{UPDATE_A}*** Delete File: a"), "delete a");
    check("a", "*** Delete File: a\n*** Add File: a\n+x", "add a=x");
    check("", "*** Add File: a\n+x\n*** Delete File: a", "");
    check("a", "*** Update File: a\n*** Move to: a\n@@\n-a\n+A", "update a=A");
    check("a", "*** Update File: a\n*** Move to: a", "");
}

#[test]
fn moves_follow_each_other() {
    check("a", "*** Update File: a\n*** Move to: b\n*** Update File: b\n@@\n-a\n+A", "move a>b=A");
    check("a", "*** Update File: a\n*** Move to: b\n*** Update File: b\n*** Move to: c", "move a>c=a");
    check("a", "*** Update File: a\n*** Move to: b\n*** Update File: b\n*** Move to: a", "");
    check("a", "*** Update File: a\n*** Move to: b\n*** Add File: a\n+new", "add a=new, move a>b=a");
    check(
        "ab",
        "*** Update File: a\n*** Move to: c\n*** Update File: b\n*** Move to: a\n*** Update File: c\n*** Move to: b",
        "move b>a=b, move a>b=a",
    );
    check("a", "*** Update File: a\n*** Move to: b\n*** Delete File: b", "delete a");
    check("", "*** Add File: a\n+x\n*** Update File: a\n*** Move to: b", "add b=x");
}

#[test]
fn what_cannot_be_done_is_refused() {
    refused("", UPDATE_A, "a does not exist; look for the right path, or make it with `*** Add File:");
    refused("", "*** Delete File: a", "a does not exist, so it cannot be deleted");
    refused("a", "*** Delete File: a\n*** Delete File: a", "a is not there any more: a section above");
    refused("a", "*** Update File: a\n*** Move to: b\n*** Delete File: a", "a is not there any more");
    refused("ab", &format!("{UPDATE_A}*** Update File: b\n@@\n-x"), "b, hunk 1: its lines are not in the file");
}

#[test]
fn what_is_no_text_is_moved_and_not_changed() {
    let patch = |body: &str| parse(&format!("*** Begin Patch\n*** Update File: a\n{body}\n*** End Patch")).unwrap();
    let names = ["a".to_owned(), "b".to_owned()];
    // An odd number of bytes with zeros among them is text in no encoding.
    let old = [Some(b"\x00\xff\xfe\x00\x80".to_vec()), None];
    let moved = plan(&patch("*** Move to: b").sections, &[Step { file: 0, to: 1 }], &old, &names).unwrap();
    assert_eq!(moved[0].what, What::Move { from: 0, bytes: old[0].clone().unwrap() });
    let changed = plan(&patch("@@\n-x").sections, &[Step { file: 0, to: 0 }], &old, &names);
    assert!(changed.unwrap_err().contains("a is no text, or in no encoding"));
}
