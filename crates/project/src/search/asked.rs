//! Folders that the system asks its user about as soon as a program looks into them. Pure.

use std::path::Path;

/// Those of a home folder on macOS, as `.gitignore` writes them.
const OF_MACOS: [&str; 12] = [
    "/Desktop/",
    "/Documents/",
    "/Downloads/",
    "/Library/Calendars/",
    "/Library/Containers/",
    "/Library/Group Containers/",
    "/Library/Mail/",
    "/Library/Messages/",
    "/Library/Safari/",
    "/Movies/",
    "/Music/",
    "/Pictures/",
];

/// What a search of `root` leaves out: a search of a whole home would put a question on the screen for each of these. Who
/// searches in one of them means it.
pub(super) fn about(root: &Path, home: Option<&Path>, macos: bool) -> &'static [&'static str] {
    if macos && home == Some(root) { &OF_MACOS } else { &[] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::names::left_out;

    #[test]
    fn a_home_on_macos_is_searched_without_what_asks() {
        let row = |root: &str, home: Option<&str>, macos: bool, want: bool| {
            let found = about(Path::new(root), home.map(Path::new), macos);
            assert_eq!(!found.is_empty(), want, "{root} {home:?} {macos}");
        };
        row("/Users/u", Some("/Users/u"), true, true);
        row("/Users/u", Some("/Users/u"), false, false);
        row("/Users/u/Music", Some("/Users/u"), true, false);
        row("/Users/u/p", Some("/Users/u"), true, false);
        row("/Users/u", None, true, false);
    }

    #[test]
    fn only_the_folders_of_the_home_itself_are_meant() {
        let home = Path::new("/Users/u");
        let patterns: Vec<String> = about(home, Some(home), true).iter().map(|&name| name.to_owned()).collect();
        let rules = left_out(home, &patterns).unwrap();
        let row = |path: &str, want: bool| {
            assert_eq!(rules.matched(Path::new(path), true).is_ignore(), want, "{path}");
        };
        row("/Users/u/Music", true);
        row("/Users/u/Library/Mail", true);
        row("/Users/u/Library", false);
        row("/Users/u/p/Music", false);
        row("/Users/u/Library/Caches", false);
    }
}
