//! Giving new lines the indentation of the lines they go among. Pure.
//!
//! A model may have written a block one level deeper than it stands in the file, or with tabs for spaces. The lines that
//! it repeated from the file show how: each is a pair of an indentation as the model writes it and as the file has it.
//!
//! A model that lost the indentation of all old lines and not that of the new ones is found out by new lines none of which
//! stand less deep than the file's: those are already as the file would have them.

use std::borrow::Cow;
use std::collections::HashMap;

/// How wide a tab is taken to be where the file does not show it.
const TAB: usize = 4;

/// The white space that `line` begins with.
pub(crate) fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// How a model's indentation becomes that of a file.
#[derive(Debug, Default)]
pub(crate) struct Indents<'a> {
    /// Where each indentation of the model's stands, in order, and what the file has there.
    known: HashMap<&'a str, Vec<(usize, &'a str)>>,
    scale: Scale,
    changed: bool,
}

/// How many characters of the file's indentation stand for how many of the model's.
#[derive(Debug, Clone, Copy)]
struct Scale {
    file: usize,
    model: usize,
    /// What the file indents with, where that is not what the model does.
    with: Option<char>,
}

impl Default for Scale {
    fn default() -> Self {
        Self { file: 1, model: 1, with: None }
    }
}

impl<'a> Indents<'a> {
    /// Learns from pairs of the same line: its number, as the model wrote it, as the file has it; and from all lines of
    /// the new text. Blank ones teach nothing.
    pub(crate) fn learn<'n>(
        pairs: impl IntoIterator<Item = (usize, &'a str, &'a str)>,
        new: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        let mut known: HashMap<&str, Vec<(usize, &str)>> = HashMap::new();
        let mut all = Vec::new();
        for (at, model, file) in pairs {
            if model.trim().is_empty() || file.trim().is_empty() {
                continue;
            }
            let pair = (indent(model), indent(file));
            known.entry(pair.0).or_default().push((at, pair.1));
            all.push(pair);
        }
        let least = all.iter().map(|(_, file)| *file).min_by_key(|file| file.len()).unwrap_or_default();
        let mut new = new.into_iter().filter(|line| !line.trim().is_empty());
        let lost = !least.is_empty()
            && all.iter().all(|(model, _)| model.is_empty())
            && new.all(|line| line.starts_with(least));
        let changed = !lost && all.iter().any(|(model, file)| model != file);
        Self { known, scale: if changed { Scale::of(&all) } else { Scale::default() }, changed }
    }

    /// Whether each indentation of the model's stands for one of the file's only.
    pub(crate) fn is_clear(&self) -> bool {
        self.known.values().all(|there| there.iter().all(|(_, file)| *file == there[0].1))
    }

    /// `line`, which is to stand near line `near` of those learned from, with its indentation as the file would have it.
    pub(crate) fn apply<'b>(&self, near: usize, line: &'b str) -> Cow<'b, str> {
        if !self.changed || line.trim().is_empty() {
            return line.into();
        }
        let own = indent(line);
        let to = self.nearest(own, near).map_or_else(|| self.derived(own, near), Cow::Borrowed);
        if to == own { line.into() } else { format!("{to}{}", &line[own.len()..]).into() }
    }

    /// What the file has for just this indentation, nearest to `near`.
    fn nearest(&self, own: &str, near: usize) -> Option<&'a str> {
        let places = self.known.get(own)?;
        let at = places.partition_point(|(at, _)| *at < near);
        let around = [at.checked_sub(1), Some(at)].into_iter().flatten().filter_map(|at| places.get(at));
        around.min_by_key(|(at, _)| at.abs_diff(near)).map(|(_, file)| *file)
    }

    /// What the file would have for an indentation that no line shows: that of the line whose own comes next to it, and
    /// the rest of it in the file's manner.
    fn derived(&self, own: &str, near: usize) -> Cow<'a, str> {
        let shorter = self.known.keys().filter(|known| own.starts_with(**known)).max_by_key(|known| known.len());
        if let Some((known, base)) = shorter.and_then(|known| Some((known, self.nearest(known, near)?))) {
            return format!("{base}{}", self.scale.convert(&own[known.len()..])).into();
        }
        let longer = self.known.keys().filter(|known| known.starts_with(own)).min_by_key(|known| known.len());
        if let Some((known, base)) = longer.and_then(|known| Some((known, self.nearest(known, near)?))) {
            let less = self.scale.convert(&known[own.len()..]).chars().count();
            let left = base.chars().count().saturating_sub(less);
            return base.chars().take(left).collect::<String>().into();
        }
        self.scale.convert(own).into()
    }
}

impl Scale {
    fn of(pairs: &[(&str, &str)]) -> Self {
        let main = |indents: &mut dyn Iterator<Item = &str>| {
            let (mut tabs, mut spaces) = (0, 0);
            for indent in indents {
                tabs += usize::from(indent.starts_with('\t'));
                spaces += usize::from(indent.starts_with(' '));
            }
            (tabs + spaces > 0).then_some(if tabs > spaces { '\t' } else { ' ' })
        };
        let model = main(&mut pairs.iter().map(|(model, _)| *model));
        let file = main(&mut pairs.iter().map(|(_, file)| *file));
        let count = |indent: &str| indent.chars().count();
        let depths = pairs.iter().map(|(model, file)| (count(model), count(file)));
        // Two lines of different depth show it best; the same step of both is shown by a deeper line, too.
        let steps = depths.clone().zip(depths.clone().skip(1)).filter_map(|(one, next)| {
            let (model, file) = (next.0 as isize - one.0 as isize, next.1 as isize - one.1 as isize);
            (model * file > 0).then(|| (model.unsigned_abs(), file.unsigned_abs()))
        });
        let mut votes: HashMap<(usize, usize), usize> = HashMap::new();
        for (model, file) in steps {
            let by = gcd(model, file);
            *votes.entry((model / by, file / by)).or_default() += 1;
        }
        let voted = votes.into_iter().max_by_key(|&(ratio, votes)| (votes, std::cmp::Reverse(ratio)));
        let with = file.filter(|file| model != Some(*file));
        let usual = match (model, file) {
            (None | Some(' '), Some('\t')) => (TAB, 1),
            (Some('\t'), Some(' ')) => (1, TAB),
            _ => (1, 1),
        };
        let whole = || {
            let whole = depths.clone().find(|(model, file)| *model > 0 && *file > 0 && with.is_some())?;
            let by = gcd(whole.0, whole.1);
            let ratio = (whole.0 / by, whole.1 / by);
            (ratio.0 == 1 || ratio.1 == 1).then_some(ratio)
        };
        let (model, file) = voted.map(|(ratio, _)| ratio).or_else(whole).unwrap_or(usual);
        Self { file, model, with }
    }

    /// A piece of the model's indentation in the file's manner. What is left over stays as it is.
    fn convert(self, piece: &str) -> String {
        let Some(first) = piece.chars().next() else { return String::new() };
        if piece.chars().any(|c| c != first) {
            return piece.to_owned();
        }
        let count = piece.chars().count();
        let with = self.with.unwrap_or(first);
        if with == first && self.with.is_some() {
            return piece.to_owned();
        }
        let mut text: String = std::iter::repeat_n(with, count / self.model * self.file).collect();
        text.extend(std::iter::repeat_n(first, count % self.model));
        text
    }
}

fn gcd(one: usize, other: usize) -> usize {
    if other == 0 { one } else { gcd(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Learns from the lines of both texts, one by one, and indents `line` as if it stood after the last.
    #[track_caller]
    fn check(model: &str, file: &str, line: &str, want: &str) {
        let pairs = model.lines().zip(file.lines()).enumerate().map(|(at, (model, file))| (at, model, file));
        // What the model repeats stands in the new text, too.
        let indents = Indents::learn(pairs, model.lines().chain([line]));
        assert_eq!(indents.apply(model.lines().count(), line), want, "{model:?} {file:?}");
    }

    #[test]
    fn new_lines_that_are_indented_as_the_file_stay() {
        #[track_caller]
        fn check(old: &[(&str, &str)], new: &[&str], want: &[&str]) {
            let pairs = old.iter().enumerate().map(|(at, (model, file))| (at, *model, *file));
            let indents = Indents::learn(pairs, new.iter().copied());
            let got: Vec<_> = new.iter().map(|line| indents.apply(0, line)).collect();
            assert_eq!(got, want);
        }
        check(&[("a", "    a"), ("b", "    b")], &["    c"], &["    c"]);
        check(&[("a", "    a"), ("b", "        b")], &["    c", "", "        d"], &["    c", "", "        d"]);
        // One that stands less deep shows that all stand as the old ones do.
        check(&[("if a:", "    if a:")], &["if b:", "    c"], &["    if b:", "        c"]);
        check(&[("a", "\ta")], &["    c"], &["\t\tc"]);
        // What is too deep is no less deep than the file's, either.
        check(&[("        a", "    a")], &["        c"], &["    c"]);
        check(&[("  a", "    a")], &["    c"], &["      c"]);
        check(&[("a", "a"), ("  b", "    b")], &["a", "  c"], &["a", "    c"]);
    }

    #[test]
    fn what_stands_as_the_model_wrote_it_stays() {
        check("  a", "  a", "    b", "    b");
        check("", "", "\tb", "\tb");
        check("a", "  a", "   ", "   ");
    }

    #[test]
    fn a_shift_is_undone() {
        check("a\n  b", "    a\n      b", "  c", "      c");
        check("a\n  b", "    a\n      b", "    c", "        c");
        check("    a\n      b", "a\n  b", "      c", "  c");
        check("      b", "   b", "    c", " c");
        check("      b", "  b", "c", "c");
    }

    #[test]
    fn tabs_and_spaces_are_those_of_the_file() {
        check("    a\n        b", "\ta\n\t\tb", "            c", "\t\t\tc");
        check("  a\n    b", "\ta\n\t\tb", "      c", "\t\t\tc");
        check("\ta\n\t\tb", "  a\n    b", "\t\t\tc", "      c");
        check("    a", "\ta", "        b", "\t\tb");
        check("a\n    b", "\ta\n\t\tb", "     * c", "\t\t * c");
        check("a", "\ta", "    b", "\t\tb");
        check("a", "\ta", "\tb", "\t\tb");
    }

    #[test]
    fn the_step_of_the_file_counts() {
        check("  a\n    b", "    a\n        b", "      c", "            c");
        check("    a\n        b", "  a\n    b", "            c", "      c");
    }

    #[test]
    fn of_several_lines_with_one_indentation_the_nearest_counts() {
        let indents = Indents::learn([(0, "a", "a"), (1, "b", "  b"), (2, "c", "    c"), (3, "d", "d")], ["x"]);
        for (near, want) in [(0, "x"), (1, "  x"), (2, "    x"), (9, "x")] {
            assert_eq!(indents.apply(near, "x"), want, "{near}");
        }
        assert!(!indents.is_clear() && Indents::learn([(0, "a", " a"), (1, "  b", "  b")], []).is_clear());
    }
}
