//! Values that stand on the lines below their name, as YAML has them. Pure.

use std::ops::Range;

use super::named::{is_secret_heading, is_secret_variable};
use super::span::{Spot, value};
use super::words::{is_code, is_ordinary, is_stand_in};

/// Names below a heading that describe a secret, and hold none.
const DESCRIBE: [&str; 22] = [
    "type",
    "description",
    "title",
    "format",
    "name",
    "file",
    "path",
    "external",
    "required",
    "items",
    "source",
    "target",
    "environment",
    "secretname",
    "example",
    "minlength",
    "maxlength",
    "in",
    "scheme",
    "label",
    "summary",
    "mountpath",
];

/// A line of a text, without what listings and differences put before it.
struct Line {
    /// What it says, without the blanks around.
    said: Range<usize>,
    /// How far it is moved in, in characters.
    column: usize,
}

/// What is below a heading.
enum Below {
    /// Each line, as it is.
    Text,
    /// Names with values, or a list.
    Values,
}

/// The values below secret names in `text`.
pub(super) fn spots(text: &str) -> Vec<Spot> {
    let (mut spots, mut open) = (Vec::new(), None::<(usize, Below)>);
    for line in lines(text) {
        let said = &text[line.said.clone()];
        if let Some((column, below)) = &open {
            if said.is_empty() {
                continue;
            }
            if line.column > *column {
                spots.extend(match below {
                    Below::Text => Some(Spot::key(line.said.clone())),
                    Below::Values => of_line(text, &line),
                });
                continue;
            }
        }
        open = heading(said).map(|(moved, below)| (line.column + moved, below));
    }
    spots
}

fn lines(text: &str) -> impl Iterator<Item = Line> + '_ {
    let mut begin = 0;
    text.split_inclusive('\n').map(move |whole| {
        let at = begin + before(whole);
        let line = &text[at..begin + whole.len()];
        begin += whole.len();
        let said = line.trim();
        let column = line.len() - line.trim_start().len();
        let start = at + if said.is_empty() { 0 } else { column };
        Line { said: start..start + said.len(), column }
    })
}

/// How much of `line` is the number that a listing gives it, or the sign of a difference.
fn before(line: &str) -> usize {
    let blanks = line.len() - line.trim_start_matches(' ').len();
    let digits = line[blanks..].bytes().take_while(u8::is_ascii_digit).count();
    let behind = &line[blanks + digits..];
    let sign = [": ", "|", "\t", "→", ":"].into_iter().find(|sign| behind.starts_with(sign));
    match sign {
        Some(sign) if digits > 0 => blanks + digits + sign.len(),
        _ if line.starts_with('+') || line.starts_with('-') && !line.starts_with("- ") => 1,
        _ => 0,
    }
}

/// How much further in than its line the name stands, and what is below it, if a line is the heading of secrets.
fn heading(said: &str) -> Option<(usize, Below)> {
    let item = said.strip_prefix("- ").map_or(said, str::trim_start);
    let (name, rest) = item.split_once(':')?;
    let name = name.trim_matches(['"', '\'']);
    if name.is_empty() || !name.chars().all(|letter| letter.is_alphanumeric() || "_-.".contains(letter)) {
        return None;
    }
    let rest = rest.split(" #").next().unwrap_or_default().trim();
    // A mark by which it is named elsewhere, or its kind.
    let rest = if rest.starts_with(['&', '!']) { rest.split_once(' ').map_or("", |(_, rest)| rest) } else { rest };
    let is_text =
        rest.strip_prefix(['|', '>']).is_some_and(|rest| rest.chars().all(|sign| "+-0123456789".contains(sign)));
    let moved = said.len() - item.len();
    match rest {
        "" if is_secret_heading(name) => Some((moved, Below::Values)),
        _ if is_text && (is_secret_heading(name) || is_secret_variable(name)) => Some((moved, Below::Text)),
        _ => None,
    }
}

/// The value on a line below a heading: of one word, or quoted. Sentences are none.
fn of_line(text: &str, line: &Line) -> Option<Spot> {
    let said = &text[line.said.clone()];
    let item = said.trim_start_matches("- ");
    let named = item.split_once(": ").filter(|(name, _)| !name.contains(' '));
    let rest = named.map_or(item, |(_, rest)| rest).trim();
    let describes = |name: &str| DESCRIBE.contains(&name.trim_matches(['"', '\'']).to_ascii_lowercase().as_str());
    if named.is_some_and(|(name, _)| describes(name)) || rest.ends_with(':') {
        return None;
    }
    let at = line.said.end - rest.len();
    let found = value(text, at, "")?;
    let word = &text[found.range.clone()];
    let whole = found.quoted || found.range.end == line.said.end;
    let is_count = word.len() < 4 && word.chars().all(|letter| letter.is_ascii_digit());
    let plain = word.starts_with(['{', '[', '|', '>', '(', '&', '*', '}', ']', '#', '<']) || is_code(word);
    let is_secret = whole && !word.is_empty() && !is_ordinary(word) && !is_stand_in(word) && !is_count;
    (is_secret && (found.quoted || !plain)).then(|| Spot::key(found.range))
}
