//! Reading, writing, editing and patching files.

use serde_json::Value;

use super::{Difference, when};
use crate::record::Facet;

pub(super) fn explain(difference: &Difference<'_>) -> Vec<&'static str> {
    let Difference { record, wanted, got, facet } = difference;
    if wanted.failed || got.failed {
        return Vec::new();
    }
    match (got.tool.as_str(), facet) {
        ("write" | "edit" | "apply_patch", Facet::Output) => when(names_the_files(difference), "success-words"),
        ("read", Facet::Output) if wanted.output.contains("<system-reminder>") => {
            // Their block ends with the line feed of the file and one of its own.
            when(
                wanted.output.replace("\n\n</system-reminder>", "\n</system-reminder>") == got.output,
                "no-empty-lines",
            )
        }
        ("read", Facet::Output | Facet::Title | Facet::Values) => {
            when(same_but_for_the_link(difference), "links-are-followed")
        }
        _ => {
            let _ = record;
            Vec::new()
        }
    }
}

/// Whether ours names each file that was changed, where theirs says only that it went well.
fn names_the_files(difference: &Difference<'_>) -> bool {
    let Difference { record, wanted, got, .. } = difference;
    let path = record.args["filePath"].as_str().unwrap_or_default();
    let path = path.trim_start_matches("<PROJECT>/").trim_start_matches("<OUTSIDE>/");
    let plain = ["Wrote file successfully.", "Edit applied successfully."].contains(&wanted.output.as_str());
    plain && got.output.contains(path)
}

/// Whether ours tells of the place that a link leads to, where theirs tells of the link.
fn same_but_for_the_link(difference: &Difference<'_>) -> bool {
    let Difference { record, wanted, got, facet } = difference;
    let Some(link) = record.args["filePath"].as_str().filter(|path| *path == "<PROJECT>/link") else { return false };
    // The fixture's only link leads to `src`.
    let real = "<PROJECT>/src";
    match facet {
        Facet::Output => wanted.output.replace(link, real) == got.output,
        Facet::Title => (wanted.title.as_str(), got.title.as_str()) == ("link", "src"),
        _ => {
            Value::from(wanted.metadata.clone()).to_string().replace(link, real)
                == Value::from(got.metadata.clone()).to_string()
        }
    }
}
