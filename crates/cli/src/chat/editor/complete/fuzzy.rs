//! Which names are like what is typed. Pure.

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// Most names that are offered.
pub(super) const MAX_OFFERED: usize = 100;

/// The places of the names that are like `typed`, the likest first; all, in their order, where nothing is typed.
pub(super) fn ranked<'a>(typed: &str, names: impl Iterator<Item = &'a str>, paths: bool) -> Vec<usize> {
    if typed.is_empty() {
        return (0..names.take(MAX_OFFERED).count()).collect();
    }
    let config = if paths { Config::DEFAULT.match_paths() } else { Config::DEFAULT };
    let mut matcher = Matcher::new(config);
    let pattern = Pattern::new(typed, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy);
    let mut buffer = Vec::new();
    let scored = names.enumerate().filter_map(|(at, name)| {
        let score = pattern.score(Utf32Str::new(name, &mut buffer), &mut matcher)?;
        // What is typed out comes before what only begins like it.
        let begins = name.strip_prefix(typed).map_or(usize::MAX, str::len);
        Some((begins, std::cmp::Reverse(score), name.len(), at))
    });
    let mut scored: Vec<_> = scored.collect();
    scored.sort_unstable();
    scored.into_iter().take(MAX_OFFERED).map(|(.., at)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(typed: &str, names: &[&str], want: &[&str]) {
        let found: Vec<&str> = ranked(typed, names.iter().copied(), true).into_iter().map(|at| names[at]).collect();
        assert_eq!(found, want, "{typed:?}");
    }

    #[test]
    fn the_likest_comes_first() {
        check("", &["b", "a"], &["b", "a"]);
        check("help", &["hello", "help", "help-me"], &["help", "help-me"]);
        check("mrs", &["src/main.rs", "src/other.rs", "x"], &["src/main.rs"]);
        check(
            "main",
            &["a/b/main_menu.rs", "src/main.rs", "m/a/i/n.rs"],
            &["src/main.rs", "a/b/main_menu.rs", "m/a/i/n.rs"],
        );
        check("zzz", &["a"], &[]);
        let many = vec!["a"; MAX_OFFERED + 1];
        assert_eq!(ranked("a", many.iter().copied(), false).len(), MAX_OFFERED);
        assert_eq!(ranked("", many.iter().copied(), false).len(), MAX_OFFERED);
    }
}
