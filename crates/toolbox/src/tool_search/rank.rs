//! Which tools words are about: BM25 over what is said of each, where its name counts most. Pure.

use std::collections::{BTreeMap, BTreeSet};

/// What is known of a tool.
#[derive(Debug, Clone)]
pub(crate) struct Document<'a> {
    pub name: &'a str,
    /// Who offers it.
    pub source: &'a str,
    pub description: &'a str,
    pub arguments: Vec<&'a str>,
}

/// How much less another mention of a word counts than the one before it (the usual value).
const SATURATION: f64 = 1.2;
/// How much a long text is held against a tool (the usual value).
const LENGTH: f64 = 0.75;
/// How many mentions in the text one in the name is worth.
const NAME_WEIGHT: f64 = 4.0;
/// Most bytes of a query, and of a description, that are looked at.
const MAX_TEXT: usize = 4096;

/// The places of those of `documents` that `query` is about, best first; of equals the one that stands first.
pub(crate) fn rank(query: &str, documents: &[Document<'_>]) -> Vec<usize> {
    let asked = query.trim();
    let wanted: BTreeSet<String> = words(query).collect();
    let counted: Vec<BTreeMap<String, f64>> = documents.iter().map(counts).collect();
    let lengths: Vec<f64> = counted.iter().map(|counts| counts.values().sum()).collect();
    let all = documents.len() as f64;
    let mean = (lengths.iter().sum::<f64>() / all.max(1.0)).max(1.0);
    // What stands everywhere says little.
    let rarity = |word: &String| {
        let holding = counted.iter().filter(|counts| counts.contains_key(word)).count() as f64;
        (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln()
    };
    let wanted: Vec<(&String, f64)> = wanted.iter().map(|word| (word, rarity(word))).collect();
    let score = |at: usize| -> f64 {
        let (Some(counts), Some(length)) = (counted.get(at), lengths.get(at)) else { return 0.0 };
        let one = |(word, rarity): &(&String, f64)| {
            let count = counts.get(*word).copied().unwrap_or_default();
            rarity * count * (SATURATION + 1.0) / (count + SATURATION * (1.0 - LENGTH + LENGTH * length / mean))
        };
        wanted.iter().map(one).sum()
    };
    let mut found: Vec<(usize, f64)> = documents
        .iter()
        .enumerate()
        .map(|(at, document)| {
            let named = document.name.eq_ignore_ascii_case(asked);
            (at, if named { f64::INFINITY } else { score(at) })
        })
        .filter(|(_, score)| *score > 0.0)
        .collect();
    found.sort_by(|one, other| other.1.total_cmp(&one.1));
    found.into_iter().map(|(at, _)| at).collect()
}

/// How often each word is said of a tool.
fn counts(document: &Document<'_>) -> BTreeMap<String, f64> {
    let mut counts = BTreeMap::new();
    let mut add = |text: &str, weight: f64| {
        for word in words(text) {
            *counts.entry(word).or_default() += weight;
        }
    };
    add(document.name, NAME_WEIGHT);
    add(document.source, 1.0);
    add(document.description, 1.0);
    document.arguments.iter().for_each(|name| add(name, 1.0));
    counts
}

/// The words of `text` in small letters and without their usual endings: `createIssues` has `creat` and `issu`.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let end = text.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= MAX_TEXT).last();
    let text = text.get(..end.unwrap_or_default()).unwrap_or_default();
    text.split(|c: char| !c.is_alphanumeric())
        .flat_map(humps)
        .map(|word| stem(&word.to_lowercase()))
        .filter(|word| said(word))
}

/// Words that say nothing of what a tool does.
fn said(word: &str) -> bool {
    const EMPTY: [&str; 22] = [
        "a", "an", "and", "are", "as", "by", "can", "for", "from", "in", "is", "it", "of", "on", "or", "that", "the",
        "thi", "to", "tool", "use", "with",
    ];
    !word.is_empty() && !EMPTY.contains(&word)
}

/// The parts of a word that is written `likeThis`.
fn humps(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, mut before) = (0, None);
    for (at, letter) in word.char_indices() {
        if letter.is_uppercase() && before.is_some_and(char::is_lowercase) {
            parts.extend(word.get(from..at));
            from = at;
        }
        before = Some(letter);
    }
    parts.extend(word.get(from..));
    parts
}

/// `word` without an ending that says nothing of what it means, so that `files` and `creating` are found by `file` and
/// `create`.
fn stem(word: &str) -> String {
    for (ending, least) in [("ing", 6), ("ies", 5), ("ied", 5), ("es", 4), ("ed", 5), ("s", 3), ("e", 3), ("y", 4)] {
        if word.len() > least
            && let Some(stem) = word.strip_suffix(ending)
            && !(ending == "s" && stem.ends_with('s'))
        {
            return stem.to_owned();
        }
    }
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: [(&str, &str, &str, &[&str]); 7] = [
        ("github_create_issue", "github", "Open a new issue in a repository", &["owner", "repo", "title"]),
        ("github_list_issues", "github", "List issues of a repository with filters", &["owner", "repo", "state"]),
        ("github_search_code", "github", "Find code across all repositories", &["query"]),
        ("slack_postMessage", "slack", "Send a message to a channel", &["channel", "text"]),
        ("db_query", "db", "Runs SQL against the database and returns rows", &["sql"]),
        ("files_read_text_file", "files", "Reads a file as text", &["path", "head", "tail"]),
        ("files_directory_tree", "files", "Get a recursive tree view of files", &["path"]),
    ];

    #[track_caller]
    fn check(query: &str, want: &str) {
        let documents: Vec<Document<'_>> = TOOLS
            .iter()
            .map(|&(name, source, description, arguments)| Document {
                name,
                source,
                description,
                arguments: arguments.to_vec(),
            })
            .collect();
        let found = rank(query, &documents);
        let got = found.first().map_or("nothing", |at| TOOLS[*at].0);
        assert_eq!(got, want, "{query:?} of {found:?}");
    }

    #[test]
    fn words_find_what_they_are_about() {
        check("create an issue", "github_create_issue");
        check("open a ticket in a repository", "github_create_issue");
        check("listing issues", "github_list_issues");
        check("post message", "slack_postMessage");
        check("SQL", "db_query");
        check("database queries", "db_query");
        check("channel", "slack_postMessage");
        check("read files", "files_read_text_file");
        check("tree of directories", "files_directory_tree");
        check("search code", "github_search_code");
    }

    #[test]
    fn a_name_is_found_before_everything_that_only_speaks_of_it() {
        for (name, ..) in TOOLS {
            check(name, name);
            check(&format!(" {} ", name.to_uppercase()), name);
        }
    }

    #[test]
    fn what_nothing_is_about_finds_nothing() {
        check("weather", "nothing");
        check("", "nothing");
        check("the of a", "nothing");
        check("\u{0}\u{1F980}", "nothing");
        assert_eq!(rank("x", &[]), [0_usize; 0]);
    }

    #[test]
    fn words_are_taken_apart() {
        let row = |text: &str, want: &str| assert_eq!(words(text).collect::<Vec<_>>().join(" "), want, "{text}");
        row("createIssues", "creat issu");
        row("HTTPServer x2", "httpserver x2");
        row("Directories, naïve Größe", "director naïv größ");
        row("files file creating create strings string", "fil fil creat creat string string");
        row("class glass", "class glass");
        row(&"é".repeat(MAX_TEXT), &"é".repeat(MAX_TEXT / 2));
    }
}
