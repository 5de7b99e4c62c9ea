//! Why haft differs where it does. Each reason has a name, a row in `docs/differences.md`, and a test here of what it
//! claims: a difference counts as explained only if what ours gives is the other's but for that.

mod delegating;
mod errors;
mod files;
mod foreign;
mod search;
mod shell;
mod web;

use crate::record::{Facet, Record, Seen};
use crate::run::needs_servers;

/// One difference: what the call was, what it gave then and what ours gives, and in what the two differ.
pub(crate) struct Difference<'a> {
    pub(crate) record: &'a Record,
    pub(crate) wanted: &'a Seen,
    pub(crate) got: &'a Seen,
    pub(crate) facet: Facet,
}

/// More is told than the other told, under names of its own.
fn more(difference: &Difference<'_>) -> Vec<&'static str> {
    let Difference { wanted, got, facet, .. } = difference;
    let all = wanted.metadata.keys().all(|key| got.metadata.contains_key(key));
    when(*facet == Facet::Keys && all && !got.failed && !wanted.failed, "more-metadata")
}

/// Finds the reasons that together explain a difference; none where they do not.
type Explain = fn(&Difference<'_>) -> Vec<&'static str>;

const ALL: &[Explain] = &[
    errors::explain,
    delegating::explain,
    files::explain,
    foreign::explain,
    search::explain,
    shell::explain,
    web::explain,
    more,
];

/// The reasons for `difference`. Empty where nobody knows one.
pub(crate) fn explain(difference: &Difference<'_>) -> Vec<&'static str> {
    ALL.iter().map(|explain| explain(difference)).find(|reasons| !reasons.is_empty()).unwrap_or_default()
}

/// What is not compared here, if the call is about that.
pub(crate) fn later(record: &Record, can_serve: bool) -> Option<&'static str> {
    let argument = |key: &str| record.args[key].as_str().unwrap_or_default();
    Some(match record.tool.as_str() {
        "websearch" => "later-websearch",
        "lsp" => "later-language-servers",
        _ if needs_servers(record) && !can_serve => "later-mcp",
        "write" | "edit" if argument("filePath").ends_with(".lspx") => "later-language-servers",
        _ => return None,
    })
}

/// The names in backticks that begin the rows of the tables in `text`.
pub(crate) fn declared(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(name, _)| name).collect()
}

/// `true` as `one`, `false` as nothing.
fn when(fits: bool, one: &'static str) -> Vec<&'static str> {
    if fits { vec![one] } else { Vec::new() }
}
