//! The entries of a folder as text. Pure.

use haft_project::{Entry, Listing, Target};
use haft_tool::Output;
use serde_json::json;

use super::metadata;
use crate::text::on_one_line;

/// Most bytes of names in one answer.
const MAX_BYTES: usize = 50 * 1024;
/// How much alike names must be spelled, from 0 to 1, that one may have been meant by the other.
const ALIKE: f64 = 0.65;
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
    let lines: Vec<_> = shown.iter().map(|name| on_one_line(name)).collect();
    let text = format!(
        "<path>{}</path>\n<type>directory</type>\n<entries>\n{}\n\n{remark}\n</entries>",
        on_one_line(&path),
        lines.join("\n")
    );
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

/// Names that may have been meant by `name`: those that contain it or that it contains, then those spelled alike.
pub(crate) fn near(entries: &[Entry], name: &str) -> Vec<String> {
    let wanted = name.to_lowercase();
    let mut near: Vec<(u32, &str)> = entries
        .iter()
        .filter_map(|entry| {
            let name = entry.name.to_lowercase();
            if !wanted.is_empty() && (name.contains(&wanted) || wanted.contains(&name)) {
                return Some((0, entry.name.as_str()));
            }
            // Names of very different length are not alike, and comparing them is dear.
            if name.len().abs_diff(wanted.len()) > name.len().max(wanted.len()) / 2 {
                return None;
            }
            let alike = strsim::normalized_damerau_levenshtein(&name, &wanted);
            // Rank by hundredths, so that equal ones come by name.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between 0 and 1")]
            (alike >= ALIKE).then_some((100 - (alike * 100.0) as u32 + 1, entry.name.as_str()))
        })
        .collect();
    near.sort_unstable();
    near.into_iter().take(MAX_NEAR).map(|(_, name)| name.to_owned()).collect()
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

    #[test]
    fn near_names_are_spelled_alike() {
        let there = entries(&["config.rs", "confirm.rs", "main.rs", "confgi.rs.bak"]);
        assert_eq!(near(&there, "confgi.rs"), ["confgi.rs.bak", "config.rs", "confirm.rs"]);
        assert_eq!(near(&entries(&["README.md", "LICENSE"]), "raedme.md"), ["README.md"]);
        assert_eq!(near(&entries(&["a", "b"]), "zzz.qq"), [] as [&str; 0]);
        assert_eq!(near(&entries(&["x"]), ""), [] as [&str; 0]);
    }
}
