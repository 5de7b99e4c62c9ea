//! Taking out of new lines the white space that a model put into the old ones, too. Pure.

use std::borrow::Cow;
use std::collections::HashMap;

/// White space that a model writes where the file has less, or none.
#[derive(Debug, Default)]
pub(super) struct Noise<'a> {
    /// Whether it writes some at the end of lines that have none.
    ends: bool,
    /// What the file has for each run of white space within lines; `None` where that differs.
    runs: HashMap<&'a str, Option<&'a str>>,
}

impl<'a> Noise<'a> {
    /// Learns from pairs of the same line, as the model wrote it and as the file has it.
    pub(super) fn learn(pairs: impl IntoIterator<Item = (usize, &'a str, &'a str)>) -> Self {
        let mut noise = Self::default();
        for (_, model, file) in pairs {
            noise.ends |= model.trim_end().len() < model.len() && file.trim_end().len() == file.len();
            if model.split_whitespace().eq(file.split_whitespace()) {
                for (model, file) in runs(model.trim()).zip(runs(file.trim())) {
                    let known = noise.runs.entry(model).or_insert(Some(file));
                    *known = known.filter(|known| *known == file);
                }
            }
        }
        noise.runs.retain(|model, file| file.is_some_and(|file| file.len() < model.len()));
        noise
    }

    /// `line` without it.
    pub(super) fn clear<'b>(&self, line: Cow<'b, str>) -> Cow<'b, str> {
        let bare = line.trim();
        let known = |run| self.runs.get(run).copied().flatten();
        if !bare.is_empty() && runs(bare).any(|run| known(run).is_some()) {
            let start = line.len() - line.trim_start().len();
            let mut text = line[..start].to_owned();
            let mut done = 0;
            for run in runs(bare) {
                let at = run.as_ptr() as usize - bare.as_ptr() as usize;
                text.push_str(&bare[done..at]);
                text.push_str(known(run).unwrap_or(run));
                done = at + run.len();
            }
            text.push_str(&bare[done..]);
            if !self.ends {
                text.push_str(&line[line.trim_end().len()..]);
            }
            return text.into();
        }
        if self.ends { line.trim_end().to_owned().into() } else { line }
    }
}

/// The runs of white space in `line`, which neither begins nor ends with one.
fn runs(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let start = rest.find(char::is_whitespace)?;
        let run = &rest[start..];
        let run = &run[..run.len() - run.trim_start().len()];
        rest = &rest[start + run.len()..];
        Some(run)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(model: &str, file: &str, line: &str, want: &str) {
        assert_eq!(Noise::learn([(0, model, file)]).clear(line.into()), want, "{model:?} {file:?}");
    }

    #[test]
    fn what_the_model_adds_everywhere_goes() {
        check("  a  =  1", "a = 1", "  a  =  2  +  3", "  a = 2 + 3");
        check("a  ", "a", "b  ", "b");
        check("a  =  1  ", "a = 1", "b  =  1  ", "b = 1");
    }

    #[test]
    fn what_it_means_stays() {
        check("a = 1", "a  = 1", "a = 2", "a = 2");
        check("a  = 1", "a  = 1", "b  = 1 ", "b  = 1 ");
        check("a  =  1", "a  = 1", "b  =  1", "b  =  1");
        check("a  b", "c d", "e  f", "e  f");
        check("a ", "a ", "b ", "b ");
    }
}
