//! Tools of servers.

use super::{Difference, when};
use crate::record::Facet;
use crate::run::is_served;

/// Begins what stands behind the lines that are shown of an output that is cut.
const CUT: &str = "\n\n...";

pub(super) fn explain(difference: &Difference<'_>) -> Vec<&'static str> {
    let Difference { record, wanted, got, facet } = difference;
    if !is_served(record) || wanted.failed {
        return Vec::new();
    }
    if got.failed {
        // The server never sees what its own schema does not allow.
        let told = got.output.starts_with(&format!("bad arguments for {}:\n- ", record.tool));
        return when(told && matches!(facet, Facet::Failed | Facet::Output | Facet::Keys), "schemas-hold");
    }
    let (theirs, ours) = (wanted.output.split_once(CUT), got.output.split_once(CUT));
    let same = theirs.zip(ours).is_some_and(|((theirs, _), (ours, rest))| {
        theirs == ours && wanted.metadata["outputPath"].as_str().is_some_and(|path| rest.contains(path))
    });
    when(same && *facet == Facet::Output, "kept-outputs")
}
