//! Fetching pages.

use super::{Difference, when};
use crate::record::{Asked, Facet};

pub(super) fn explain(difference: &Difference<'_>) -> Vec<&'static str> {
    let Difference { record, wanted, got, facet } = difference;
    if record.tool != "webfetch" {
        return Vec::new();
    }
    match facet {
        Facet::Asks => {
            let public = |ask: &&Asked| ask.permission != "webfetch_private";
            when(got.asks.iter().filter(public).eq(&wanted.asks), "private-addresses-ask")
        }
        Facet::Output if !wanted.failed && !got.failed => output(&wanted.output, &got.output),
        _ => Vec::new(),
    }
}

fn output(theirs: &str, ours: &str) -> Vec<&'static str> {
    let told = ours.strip_prefix("(Redirected to ").and_then(|rest| rest.split_once("\n\n"));
    if told.is_some_and(|(_, page)| page == theirs) {
        return when(true, "redirects-are-told");
    }
    // The server answers with what it was told.
    let named = |line: &str| line.starts_with("user-agent: haft/") || line.starts_with("ua=haft/");
    if ours.lines().any(named) {
        return when(ours.lines().filter(|line| !named(line)).all(|line| theirs.contains(line)), "own-name");
    }
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    // Links lead somewhere from wherever they are read.
    let whole = theirs.replace("](/", "](http://127.0.0.1:PORT/");
    when(bare(&whole) == bare(ours) && ours.lines().count() >= theirs.lines().count(), "readable-pages")
}
