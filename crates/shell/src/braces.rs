//! `{a,b}` and `{1..3}`, as bash expands them.

use crate::text::{Kind, Text};

/// Most words that one word may become; beyond that it counts as unknown.
pub(crate) const MAX_WORDS: usize = 64;

/// The words that `text` becomes; `None` for more than [`MAX_WORDS`].
pub(crate) fn expand(text: &Text) -> Option<Vec<Text>> {
    let mut done = Vec::new();
    let mut todo = vec![text.clone()];
    // Each round takes the first braces out of one word. Words without braces are done.
    while let Some(text) = todo.pop() {
        match first(&text) {
            None => done.push(text),
            Some((before, middles, after)) => {
                for middle in middles?.into_iter().rev() {
                    let parts = [&before[..], &middle.0[..], &after[..]];
                    todo.push(Text(parts.concat()));
                }
            }
        }
        if done.len() + todo.len() > MAX_WORDS {
            return None;
        }
    }
    Some(done)
}

type Chars = Vec<(char, Kind)>;

/// The first braces that mean something: what is before, what may stand there (`None`: too many), what is after.
fn first(text: &Text) -> Option<(Chars, Option<Vec<Text>>, Chars)> {
    let chars = &text.0;
    let plain = |at: usize, c: char| chars.get(at) == Some(&(c, Kind::Plain));
    for open in (0..chars.len()).filter(|&at| plain(at, '{')) {
        if open > 0 && chars[open - 1].0 == '$' {
            continue;
        }
        let (mut depth, mut commas, mut close) = (0usize, Vec::new(), None);
        for at in open..chars.len() {
            if plain(at, '{') {
                depth += 1;
            } else if plain(at, '}') {
                depth -= 1;
                if depth == 0 {
                    close = Some(at);
                    break;
                }
            } else if depth == 1 && plain(at, ',') {
                commas.push(at);
            }
        }
        let Some(close) = close else { continue };
        let inner = &chars[open + 1..close];
        let middles = if commas.is_empty() {
            match sequence(&Text(inner.to_vec()).string()) {
                Some(words) => words,
                None => continue,
            }
        } else {
            let mut middles = Vec::new();
            let mut start = open + 1;
            for end in commas.into_iter().chain([close]) {
                middles.push(Text(chars[start..end].to_vec()));
                start = end + 1;
            }
            Some(middles)
        };
        // What follows may not be looked at twice as a brace of its own, and is: later rounds find it.
        return Some((chars[..open].to_vec(), middles, chars[close + 1..].to_vec()));
    }
    None
}

/// `1..3`, `a..e`, with a step perhaps. `None`: it is no sequence. `Some(None)`: it is too long.
fn sequence(inner: &str) -> Option<Option<Vec<Text>>> {
    let mut parts = inner.split("..");
    let (from, to, step, rest) = (parts.next()?, parts.next()?, parts.next(), parts.next());
    if rest.is_some() {
        return None;
    }
    let step = match step {
        Some(step) => step.parse::<i64>().ok()?.unsigned_abs().max(1),
        None => 1,
    };
    let letter = |text: &str| {
        let mut chars = text.chars();
        let first = chars.next().filter(char::is_ascii_alphabetic)?;
        chars.next().is_none().then_some(i64::from(u32::from(first)))
    };
    let (from, to, letters) = match (from.parse::<i64>(), to.parse::<i64>()) {
        (Ok(from), Ok(to)) => (from, to, false),
        _ => (letter(from)?, letter(to)?, true),
    };
    let count = (from.abs_diff(to) / step).saturating_add(1);
    if count > MAX_WORDS as u64 {
        return Some(None);
    }
    let step = i64::try_from(step).ok()? * if from <= to { 1 } else { -1 };
    let word = |at: u64| {
        let value = from + step * i64::try_from(at).unwrap_or(0);
        let text = match u32::try_from(value).ok().and_then(char::from_u32).filter(|_| letters) {
            Some(letter) => letter.to_string(),
            None => value.to_string(),
        };
        // Between `Z` and `a` there are `[`, `\` and others: they count as they stand.
        Text::new(&text, Kind::Expanded)
    };
    Some(Some((0..count).map(word).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: Option<&[&str]>) {
        let got = expand(&Text::new(text, Kind::Plain));
        let got: Option<Vec<String>> = got.map(|texts| texts.iter().map(Text::string).collect());
        let want: Option<Vec<String>> = want.map(|texts| texts.iter().map(|text| (*text).to_owned()).collect());
        assert_eq!(got, want, "{text}");
    }

    #[test]
    fn braces_are_expanded_as_bash_does() {
        check("a", Some(&["a"]));
        check("a{b,c}d", Some(&["abd", "acd"]));
        check("{a,b}{1,2}", Some(&["a1", "a2", "b1", "b2"]));
        check("{a,{b,c}}", Some(&["a", "b", "c"]));
        check("/e{t..t}c", Some(&["/etc"]));
        check("f{1..3}", Some(&["f1", "f2", "f3"]));
        check("f{3..1..2}", Some(&["f3", "f1"]));
        check("{}", Some(&["{}"]));
        check("{a}", Some(&["{a}"]));
        check("a}", Some(&["a}"]));
        check("{a,b", Some(&["{a,b"]));
        check("{,x}", Some(&["", "x"]));
        check("{{a,b}", Some(&["{a", "{b"]));
        check("${a,b}", Some(&["${a,b}"]));
        check("{1..1000}", None);
        check(&"{a,b}".repeat(7), None);
        check("{9223372036854775807..-9223372036854775808}", None);
    }

    #[test]
    fn quoted_braces_stand_for_themselves() {
        assert_eq!(expand(&Text::new("{a,b}", Kind::Quoted)).map(|words| words.len()), Some(1));
    }
}
