//! Edits: whatever the texts are, what holds for every edit holds.
#![no_main]

use haft_toolbox::edit::hold;
use libfuzzer_sys::fuzz_target;

// The content, the old text and the new one, with zero bytes between them.
fuzz_target!(|text: &str| {
    let mut pieces = text.split('\0');
    let content = pieces.next().unwrap_or_default();
    if let (Some(old), Some(new)) = (pieces.next(), pieces.next()) {
        hold(content, old, new);
    }
});
