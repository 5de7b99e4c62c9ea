//! Patches: what is read can be written and read again, and applying one ends on any file.
#![no_main]

use haft_toolbox::patch::{Section, apply, parse};
use libfuzzer_sys::fuzz_target;

// A file and the patch, with a zero byte between them.
fuzz_target!(|text: &str| {
    let (content, patch) = text.split_once('\0').unwrap_or(("", text));
    let Ok(patch) = parse(patch) else { return };
    assert_eq!(parse(&patch.to_string()).as_ref(), Ok(&patch), "{patch}");
    for section in &patch.sections {
        match section {
            Section::Add { path, .. } | Section::Delete { path } => assert!(!path.is_empty()),
            Section::Update { hunks, to, .. } => {
                assert!(!hunks.is_empty() || to.is_some());
                if let Ok(new) = apply(content, hunks) {
                    assert!(!hunks.is_empty() || new == content, "nothing was to change");
                }
            }
        }
    }
});
