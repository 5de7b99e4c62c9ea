//! Tools of servers, and tools in files.

use serde_json::Value;

use super::{Difference, when};
use crate::record::Facet;
use crate::run::is_served;
use crate::scripts::is_scripted;

/// Begins what stands behind the lines that are shown of an output that is cut.
const CUT: &str = "\n\n...";

pub(super) fn explain(difference: &Difference<'_>) -> Vec<&'static str> {
    let Difference { record, wanted, got, facet } = difference;
    if !(is_served(record) || is_scripted(record)) || wanted.failed {
        return Vec::new();
    }
    if got.failed {
        // Neither a server nor a file sees what its own schema does not allow.
        let told = got.output.starts_with(&format!("bad arguments for {}:\n- ", record.tool));
        let facets = [Facet::Failed, Facet::Output, Facet::Keys, Facet::Title, Facet::Attachments];
        return when(told && facets.contains(facet), "schemas-hold");
    }
    if *facet != Facet::Output {
        return Vec::new();
    }
    if texts_of(&wanted.output).is_some_and(|texts| texts == got.output) {
        return when(wanted.attachments == got.attachments && !got.attachments.is_empty(), "files-beside-text");
    }
    let (theirs, ours) = (wanted.output.split_once(CUT), got.output.split_once(CUT));
    let same = theirs.zip(ours).is_some_and(|((theirs, _), (ours, rest))| {
        theirs == ours && wanted.metadata["outputPath"].as_str().is_some_and(|path| rest.contains(path))
    });
    when(same, "kept-outputs")
}

/// The texts of a list of texts and files, where `output` is one.
fn texts_of(output: &str) -> Option<String> {
    let list: Vec<Value> = serde_json::from_str(output).ok()?;
    let texts = list.iter().filter(|item| item["type"] == "text");
    Some(texts.filter_map(|item| item["text"].as_str()).collect())
}
