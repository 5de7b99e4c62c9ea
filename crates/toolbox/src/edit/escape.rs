//! Finding an old text that was escaped once too often: `\n` for a line break, `\"` for a quote. Pure.
//!
//! The same text may hold escapes that the file has, too. So each backslash is compared both ways, and what was found
//! says which escapes of the new text are meant as they are.

use std::ops::Range;

use super::document::Change;
use super::find::MAX_PUT;
use super::walk::MAX_COMPARED;
use super::windows::is_little;

/// One character, or what may be one that was escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Plain(char),
    /// The letter behind the backslash.
    Escape(char),
}

impl Unit {
    fn all(text: &str) -> Vec<(usize, Self)> {
        let mut units = Vec::with_capacity(text.len());
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let escaped = chars.peek().map(|(_, next)| *next).filter(|next| c == '\\' && meaning(*next).is_some());
            if escaped.is_some() {
                chars.next();
            }
            units.push((at, escaped.map_or(Unit::Plain(c), Unit::Escape)));
        }
        units
    }
}

/// The letters that stand for something behind a backslash.
const LETTERS: [char; 9] = ['n', 't', 'r', '"', '\'', '`', '$', '\\', '/'];

/// What a backslash and `letter` stand for.
fn meaning(letter: char) -> Option<char> {
    Some(match letter {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        '"' | '\'' | '`' | '$' | '\\' | '/' => letter,
        _ => return None,
    })
}

/// What `text` stands for when every escape in it is one too many; `None` where there is none.
pub(super) fn unescape(text: &str) -> Option<String> {
    let units = Unit::all(text);
    let plain = |unit: &Unit| match unit {
        Unit::Plain(c) => *c,
        Unit::Escape(letter) => meaning(*letter).unwrap_or(*letter),
    };
    let any = units.iter().any(|(_, unit)| matches!(unit, Unit::Escape(_)));
    any.then(|| units.iter().map(|(_, unit)| plain(unit)).collect())
}

/// What is known of each letter behind a backslash: whether the file has what it stands for, and whether it has it with
/// the backslash.
#[derive(Debug, Clone, Copy, Default)]
struct Use {
    meant: [bool; LETTERS.len()],
    literal: [bool; LETTERS.len()],
}

/// The changes that `new` for `old` comes to, one for each place where `old` is.
pub(super) fn escaped(text: &str, old: &str, new: &str) -> Vec<Change> {
    let bare = old.trim();
    // Where the new text has none, only the place is in question.
    if !bare.contains('\\') || is_little(&[bare]) && new.contains('\\') {
        return Vec::new();
    }
    let units = Unit::all(bare);
    // White space around the old text is around the new one, too, or does not matter.
    let new = new.strip_prefix(&old[..old.len() - old.trim_start().len()]).unwrap_or(new.trim_start());
    let new = new.strip_suffix(&old[old.trim_end().len()..]).unwrap_or(new.trim_end());
    let Some(anchor) = anchor(bare, &units) else { return Vec::new() };
    let (mut left, mut put) = (MAX_COMPARED, 0);
    let mut changes: Vec<Change> = Vec::new();
    for (hit, _) in text.match_indices(&bare[anchor.clone()]) {
        let mut at = |own| Found::at(text, &units, &anchor, hit, own, &mut left);
        let Some(found) = at(true).or_else(|| at(false)) else { continue };
        let Some(change) = found.change(text, bare, &units, new) else { return Vec::new() };
        put += change.text.len();
        if put > MAX_PUT {
            return Vec::new();
        }
        if changes.last().is_none_or(|last| last.range.end <= change.range.start) {
            changes.push(change);
        }
    }
    if left == 0 { Vec::new() } else { changes }
}

/// The longest piece without escapes.
fn anchor(text: &str, units: &[(usize, Unit)]) -> Option<Range<usize>> {
    let escapes = units.iter().filter(|(_, unit)| matches!(unit, Unit::Escape(_))).map(|(at, _)| *at);
    let mut start = 0;
    let mut pieces = Vec::new();
    for at in escapes {
        pieces.push(start..at);
        start = at + 2;
    }
    pieces.push(start..text.len());
    pieces.into_iter().filter(|piece| !piece.is_empty()).max_by_key(Range::len)
}

/// A place that fits.
struct Found {
    /// Where each unit begins in the file, and where the last one ends.
    at: Vec<usize>,
    used: Use,
}

impl Found {
    /// Two backslashes may be two of the file's or one: `own` says what is tried.
    fn at(
        text: &str,
        units: &[(usize, Unit)],
        anchor: &Range<usize>,
        hit: usize,
        own: bool,
        left: &mut usize,
    ) -> Option<Self> {
        let from = units.partition_point(|(at, _)| *at < anchor.start);
        let mut used = Use::default();
        let mut at = vec![0; units.len() + 1];
        let mut pos = hit;
        at[from] = pos;
        for (number, (_, unit)) in units.iter().enumerate().skip(from) {
            *left = left.checked_sub(1)?;
            pos += used.fits(*unit, own, |piece| text[pos..].starts_with(piece))?;
            at[number + 1] = pos;
        }
        let mut pos = hit;
        for (number, (_, unit)) in units.iter().enumerate().take(from).rev() {
            *left = left.checked_sub(1)?;
            pos -= used.fits(*unit, own, |piece| text[..pos].ends_with(piece))?;
            at[number] = pos;
        }
        Some(Self { at, used })
    }

    /// What `new` comes to here; `None` where that is in doubt.
    fn change(&self, text: &str, old: &str, units: &[(usize, Unit)], new: &str) -> Option<Change> {
        let wanted = Unit::all(new);
        let most = units.len().min(wanted.len());
        let same = |(one, other): &(&(usize, Unit), &(usize, Unit))| one.1 == other.1;
        let before = units.iter().zip(&wanted).take_while(same).count();
        let after = units.iter().rev().zip(wanted.iter().rev()).take(most - before).take_while(same).count();
        let range = self.at[before]..self.at[units.len() - after];
        let raw = |letter: char| {
            let meant = meaning(letter);
            units.iter().chain(&wanted).any(|(_, unit)| matches!(unit, Unit::Plain(c) if Some(*c) == meant))
        };
        let mut put = String::new();
        for (_, unit) in &wanted[before..wanted.len() - after] {
            let letter = match unit {
                Unit::Plain(c) => {
                    put.push(*c);
                    continue;
                }
                Unit::Escape(letter) => *letter,
            };
            let number = LETTERS.iter().position(|known| *known == letter)?;
            let meant = match (self.used.meant[number], self.used.literal[number]) {
                (true, true) => return None,
                (true, false) => true,
                (false, true) => false,
                (false, false) => !raw(letter),
            };
            if !meant {
                put.push('\\');
            }
            put.push(if meant { meaning(letter)? } else { letter });
        }
        debug_assert!(
            old.is_char_boundary(units.get(before).map_or(old.len(), |(at, _)| *at)) && range.end <= text.len()
        );
        Some(Change { range, text: put })
    }
}

impl Use {
    /// The bytes of the file that `unit` stands for, if it is there.
    fn fits(&mut self, unit: Unit, own: bool, there: impl Fn(&str) -> bool) -> Option<usize> {
        let letter = match unit {
            Unit::Plain(c) => return there(c.encode_utf8(&mut [0; 4])).then(|| c.len_utf8()),
            Unit::Escape(letter) => letter,
        };
        let number = LETTERS.iter().position(|known| *known == letter)?;
        if (own || letter != '\\') && there(std::str::from_utf8(&[b'\\', letter as u8]).ok()?) {
            self.literal[number] = true;
            return Some(2);
        }
        let meant = meaning(letter)?;
        let fits = there(meant.encode_utf8(&mut [0; 4]));
        self.meant[number] |= fits;
        fits.then(|| meant.len_utf8())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, old: &str, new: &str, want: Option<&str>) {
        let got = match escaped(text, old, new).as_slice() {
            [Change { range, text: put }] => Some(format!("{}{put}{}", &text[..range.start], &text[range.end..])),
            _ => None,
        };
        assert_eq!(got.as_deref(), want, "{old:?} {new:?}");
    }

    #[test]
    fn escapes_are_taken_back() {
        let text = "let a = \"one\";\nlet b = two;\n";
        check(text, r#"let a = \"one\";\nlet b"#, r#"let a = \"1\";\nlet b"#, Some("let a = \"1\";\nlet b = two;\n"));
        check(
            text,
            r#"\"one\";\nlet b"#,
            r#"\"one\";\nlet c;\nlet b"#,
            Some("let a = \"one\";\nlet c;\nlet b = two;\n"),
        );
    }

    #[test]
    fn those_of_the_file_stay() {
        let text = "print(\"one\\n\")\nprint(two)";
        let (old, mixed) = (r#"print("one\n")\nprint(two)"#, r#"print("one\n")\nprint(three\n)"#);
        check(text, old, r#"print("one\n")\nprint(three)"#, Some("print(\"one\\n\")\nprint(three)"));
        // What the new one means cannot be told.
        check(text, old, mixed, None);
        check(text, r#"print(\"one\n\")"#, r#"print(\"one\n\", x)"#, Some("print(\"one\\n\", x)\nprint(two)"));
    }

    #[test]
    fn little_text_is_no_evidence() {
        check("a\nb", r"a\nb", r"A\nB", None);
    }

    #[test]
    fn two_backslashes_may_be_one() {
        check(r"C:\dir", r"C:\\dir", "D:", Some("D:"));
        check(
            r"path = C:\dir",
            r"path = C:\dir
",
            r"path = D:\dir
",
            Some(r"path = D:\dir"),
        );
    }

    #[test]
    fn all_are_taken_back_at_once() {
        assert_eq!(unescape(r"a\n\tb \\ \q").as_deref(), Some("a\n\tb \\ \\q"));
        assert_eq!(unescape("a\nb"), None);
    }
}
