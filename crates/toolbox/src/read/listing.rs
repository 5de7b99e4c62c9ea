//! The entries of a folder as text. Pure.

use haft_project::{Entry, Listing, Target};
use haft_tool::Output;
use serde_json::json;

use super::metadata;

/// Most bytes of names in one answer.
const MAX_BYTES: usize = 50 * 1024;
/// How many names are proposed for one that does not exist.
const MAX_NEAR: usize = 3;

/// Entries from the one numbered `offset` (from 1) on, at most `limit` of them.
pub(super) fn output(target: &Target, listing: Listing, offset: usize, limit: usize) -> Output {
    let names = names(listing.entries);
    let total = names.len();
    let shown = page(&names, offset, limit);
    let path = target.path().display().to_string();
    let cut = !shown.is_empty() && offset - 1 + shown.len() < total;
    let remark = if cut {
        let next = offset + shown.len();
        format!("(Showing {} of {total} entries. Use 'offset' parameter to read beyond entry {next})", shown.len())
    } else if listing.complete {
        format!("({total} entries)")
    } else {
        format!("({total} entries, and more that were not listed)")
    };
    let text =
        format!("<path>{path}</path>\n<type>directory</type>\n<entries>\n{}\n\n{remark}\n</entries>", shown.join("\n"));
    let display = json!({
        "type": "directory", "path": path, "entries": shown, "offset": offset, "totalEntries": total, "truncated": cut,
    });
    Output { metadata: metadata(shown, cut, display), ..Output::new(target.title(), text) }
}

/// Names in the order people expect, those of folders with a slash.
fn names(mut entries: Vec<Entry>) -> Vec<String> {
    entries.sort_by_cached_key(|entry| (entry.name.to_lowercase(), entry.name.clone()));
    entries.into_iter().map(|entry| if entry.folder { format!("{}/", entry.name) } else { entry.name }).collect()
}

fn page(names: &[String], offset: usize, limit: usize) -> &[String] {
    let from = (offset - 1).min(names.len());
    let mut size = 0;
    let fits = |name: &&String| {
        size += name.len() + 1;
        size <= MAX_BYTES
    };
    let count = names[from..].iter().take(limit).take_while(fits).count();
    &names[from..from + count]
}

/// The first names that contain `name`, or that it contains.
pub(super) fn near(entries: &[Entry], name: &str) -> Vec<String> {
    let wanted = name.to_lowercase();
    let mut near: Vec<&Entry> = entries
        .iter()
        .filter(|entry| {
            let name = entry.name.to_lowercase();
            name.contains(&wanted) || wanted.contains(&name)
        })
        .collect();
    near.sort();
    near.iter().take(MAX_NEAR).map(|entry| entry.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(names: &[&str]) -> Vec<Entry> {
        let entry = |name: &&str| Entry { name: name.trim_end_matches('/').to_owned(), folder: name.ends_with('/') };
        names.iter().map(entry).collect()
    }

    #[test]
    fn names_are_sorted_without_regard_to_case() {
        assert_eq!(names(entries(&["b", "README.md", "src/", ".git/", "a"])), [".git/", "a", "b", "README.md", "src/"]);
    }

    #[track_caller]
    fn pages(offset: usize, limit: usize, want: &[&str]) {
        let names: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
        assert_eq!(page(&names, offset, limit), want);
    }

    #[test]
    fn pages_begin_at_the_offset() {
        pages(1, 9, &["a", "b", "c"]);
        pages(2, 1, &["b"]);
        pages(3, 9, &["c"]);
        pages(4, 9, &[]);
        pages(99, 9, &[]);
        pages(1, 0, &[]);
    }

    #[test]
    fn long_names_are_bounded_too() {
        let names = vec!["x".repeat(255); 2000];
        assert_eq!(page(&names, 1, 2000).len(), MAX_BYTES / 256);
    }

    #[test]
    fn near_names_contain_each_other() {
        let there = entries(&["app.ts", "APP.css", "ap", "other", "my_app"]);
        assert_eq!(near(&there, "app"), ["APP.css", "ap", "app.ts"]);
        assert_eq!(near(&there, "zzz"), [] as [&str; 0]);
        assert_eq!(near(&entries(&["a1", "a2", "a3", "a4"]), "a"), ["a1", "a2", "a3"]);
    }
}
