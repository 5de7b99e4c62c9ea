//! Indenting new lines as the file does, where a model wrote a hunk with other white space in front. Pure.
//!
//! A model shifts a whole hunk, or writes spaces where the file has tabs. Then each indentation of its old lines stands
//! for one of the file, and new lines are read the same way. A model that lost the indentation of its old lines and not
//! that of the new ones is found out by new lines that are indented as the file is: they stay as they are.

use std::borrow::Cow;
use std::collections::HashMap;

/// How the indentation of a hunk's old lines maps to that of the file.
pub(super) struct Shift<'a> {
    /// In the hunk, in the file; shortest first. Only where no two say different things.
    pairs: Option<Vec<(&'a str, &'a str)>>,
    /// What is indented so in the file.
    in_file: Vec<&'a str>,
}

impl<'a> Shift<'a> {
    /// Learns from `lines`, each as the hunk has it and as the file does. `None` where they are indented alike.
    pub(super) fn learn(lines: impl Iterator<Item = (&'a str, &'a str)>) -> Option<Self> {
        let mut map: HashMap<&str, &str> = HashMap::new();
        let mut clear = true;
        let mut in_file = Vec::new();
        for (wanted, there) in lines.filter(|(_, there)| !there.trim().is_empty()) {
            let (wanted, there) = (indent(wanted), indent(there));
            clear &= *map.entry(wanted).or_insert(there) == there;
            in_file.push(there);
        }
        if clear && map.iter().all(|(wanted, there)| wanted == there) {
            return None;
        }
        let mut pairs: Vec<_> = map.into_iter().collect();
        pairs.sort_unstable_by_key(|(wanted, _)| (wanted.len(), *wanted));
        Some(Self { pairs: clear.then_some(pairs), in_file })
    }

    /// The new line `line` as it is to be written. `replaced` is the old line that it stands for, if it is known: as the
    /// hunk has it and as the file does.
    pub(super) fn apply<'l>(&self, line: &'l str, replaced: Option<(&str, &str)>) -> Cow<'l, str> {
        let own = indent(line);
        if own.len() == line.len() {
            return line.into();
        }
        let moved = match &self.pairs {
            Some(pairs) => self.map(pairs, own),
            // Old lines lost theirs in different ways; the one that this replaces may still say what it is.
            None => replaced.filter(|(wanted, _)| indent(wanted) == own).map(|(_, there)| indent(there).to_owned()),
        };
        match moved {
            Some(moved) if moved != own => (moved + &line[own.len()..]).into(),
            Some(_) | None => line.into(),
        }
    }

    fn map(&self, pairs: &[(&str, &str)], own: &str) -> Option<String> {
        if let Some((_, there)) = pairs.iter().find(|(wanted, _)| *wanted == own) {
            return Some((*there).to_owned());
        }
        // Old lines without any are more likely to have lost it than to be shifted.
        let lost = matches!(pairs, [("", _)]);
        if lost && self.in_file.contains(&own) {
            return None;
        }
        // Deeper than a line that is known: what is more is more in the file too.
        if let Some((wanted, there)) = pairs.iter().rev().find(|(wanted, _)| own.starts_with(wanted)) {
            return Some((*there).to_owned() + &convert(&own[wanted.len()..], pairs));
        }
        // Less deep than all: what is less is less in the file too.
        let (wanted, there) = pairs.iter().find(|(wanted, _)| wanted.starts_with(own))?;
        let less = convert(&wanted[own.len()..], pairs);
        there.strip_suffix(less.as_str()).map(str::to_owned)
    }
}

/// White space of the hunk in the file's kind, where the pairs say how many spaces a tab is.
fn convert(space: &str, pairs: &[(&str, &str)]) -> String {
    let all = |text: &str, sign: u8| !text.is_empty() && text.bytes().all(|byte| byte == sign);
    let unit = |spaces: &str, tabs: &str| {
        let whole = all(spaces, b' ') && all(tabs, b'\t') && spaces.len().is_multiple_of(tabs.len());
        whole.then(|| spaces.len() / tabs.len())
    };
    for (wanted, there) in pairs {
        if let Some(unit) = unit(wanted, there)
            && all(space, b' ')
        {
            let rest = " ".repeat(space.len() % unit);
            return "\t".repeat(space.len() / unit) + &rest;
        }
        if let Some(unit) = unit(there, wanted)
            && all(space, b'\t')
        {
            return " ".repeat(space.len() * unit);
        }
    }
    space.to_owned()
}

/// The white space that `line` begins with.
fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `old` are lines of the hunk and of the file.
    #[track_caller]
    fn check(old: &[(&str, &str)], new: &str, want: &str) {
        let got = Shift::learn(old.iter().copied()).map_or(new.into(), |shift| shift.apply(new, old.first().copied()));
        assert_eq!(got, want);
    }

    #[test]
    fn a_hunk_that_is_indented_as_the_file_changes_nothing() {
        assert!(Shift::learn([("  a", "  a"), ("b", "b"), ("", "   ")].into_iter()).is_none());
        assert!(Shift::learn(std::iter::empty()).is_none());
    }

    #[test]
    fn a_shifted_hunk_is_shifted_back() {
        let old = [("a {", "    a {"), ("    b", "        b")];
        check(&old, "c", "    c");
        check(&old, "    c", "        c");
        check(&old, "        c", "            c");
        check(&[("        b", "    b")], "    c", "c");
        check(&[("        b", "    b")], "  c", "  c");
        check(&old, "", "");
        check(&old, "   ", "   ");
    }

    #[test]
    fn spaces_become_tabs_and_tabs_spaces() {
        check(&[("    return 1", "\treturn 1")], "    return 2", "\treturn 2");
        check(&[("    a", "\ta")], "          b", "\t\t  b");
        check(&[("f", "f"), ("\ta", "  a")], "\t\tb", "    b");
        check(&[("\ta", "    a")], "b", "b");
    }

    #[test]
    fn new_lines_that_are_indented_as_the_file_stay() {
        check(&[("a", "    a"), ("b", "    b")], "    c", "    c");
        check(&[("a", "    a"), ("b", "        b")], "        c", "        c");
    }

    #[test]
    fn where_indentation_was_lost_only_a_replaced_line_says_what_it_was() {
        check(&[("a", "    a"), ("b", "        b")], "c", "    c");
        let shift = Shift::learn([("a", "    a"), ("b", "        b")].into_iter()).unwrap();
        assert_eq!(shift.apply("c", None), "c");
    }
}
