//! Tasks in the background, and programs.

use super::{Difference, when};
use crate::record::{Facet, changed};

pub(super) fn explain(difference: &Difference<'_>) -> Vec<&'static str> {
    let Difference { record, .. } = difference;
    match record.tool.as_str() {
        "task" if record.args["background"] == true => behind(difference),
        "execute" => program(difference),
        _ => Vec::new(),
    }
}

/// A task that goes on by itself does so here without a switch, and is told of in other words.
fn behind(Difference { wanted, got, facet, .. }: &Difference<'_>) -> Vec<&'static str> {
    let begun = got.output.starts_with("<task id=\"ses_<ID>\" state=\"running\">\n<summary>");
    let told = match facet {
        Facet::Keys if !wanted.failed => {
            wanted.metadata.keys().all(|key| key == "jobId" || got.metadata.contains_key(key))
        }
        Facet::Output if !wanted.failed => got.output.len() < wanted.output.len(),
        Facet::Failed | Facet::Output | Facet::Title | Facet::Keys => wanted.failed,
        _ => false,
    };
    when(!got.failed && begun && told, "background-tasks")
}

/// The calls of a program bear the names that calls have everywhere, and an error its kind.
fn program(Difference { wanted, got, facet, .. }: &Difference<'_>) -> Vec<&'static str> {
    let calls =
        |seen: &crate::record::Seen| seen.metadata.get("toolCalls").map(|calls| calls.to_string().replace('.', "_"));
    let told = match facet {
        Facet::Values => changed(wanted, got) == ["toolCalls"] && calls(wanted) == calls(got),
        Facet::Keys => wanted.failed && got.failed && got.metadata.contains_key("kind"),
        _ => false,
    };
    when(told, "calls-of-programs")
}
