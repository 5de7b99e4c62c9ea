//! A reader of JSON that forgives what has one meaning only.

use serde_json::{Map, Number, Value};

/// Deepest nesting.
const MAX_DEPTH: usize = 64;

/// One text that is read from its beginning on.
pub(crate) struct Reader<'a> {
    rest: &'a str,
    depth: usize,
    /// What stands behind the JSON and ends it, beside the end of the text.
    end: Option<&'a str>,
}

/// How a value ended.
#[derive(PartialEq, Eq)]
enum Last {
    /// Nothing came yet.
    Nothing,
    /// In a way that shows that it is whole.
    Whole,
    /// As a number does, of which more could have come.
    Open,
}

impl<'a> Reader<'a> {
    /// Reads `text`, whose JSON may be followed by `end`.
    pub(crate) fn new(text: &'a str, end: Option<&'a str>) -> Self {
        Self { rest: text, depth: 0, end }
    }

    /// What was not read.
    pub(crate) fn rest(&self) -> &'a str {
        self.rest
    }

    /// The next value. `None`: there is none, or what there is has no one meaning.
    pub(crate) fn value(&mut self) -> Option<Value> {
        self.blank();
        match self.rest.chars().next()? {
            '{' => self.nested(Self::object),
            '[' => self.nested(Self::array),
            '"' | '\'' | '“' | '”' | '‘' | '’' => self.text().map(Value::String),
            '0'..='9' | '-' | '+' | '.' => self.number(),
            _ => self.word(),
        }
    }

    /// Whether the next thing is `sign`, which is then read.
    pub(crate) fn takes(&mut self, sign: &str) -> bool {
        self.blank();
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// A name without quotes.
    pub(crate) fn name(&mut self) -> Option<&'a str> {
        self.blank();
        let inner = |one: char| one.is_alphanumeric() || matches!(one, '_' | '-' | '$');
        let end = self.rest.find(|one| !inner(one)).unwrap_or(self.rest.len());
        let name = &self.rest[..end];
        name.starts_with(|one: char| one.is_alphabetic() || matches!(one, '_' | '$')).then(|| {
            self.rest = &self.rest[end..];
            name
        })
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Option<Value>) -> Option<Value> {
        (self.depth < MAX_DEPTH).then_some(())?;
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Option<Value> {
        self.takes("{").then_some(())?;
        let mut fields = Map::new();
        let mut last = Last::Nothing;
        loop {
            while self.takes(",") {
                last = Last::Whole;
            }
            if self.takes("}") || self.ended(&last)? {
                return Some(Value::Object(fields));
            }
            let quoted = self.rest.starts_with(['"', '\'', '“', '”', '‘', '’']);
            let name = if quoted { self.text()? } else { self.name()?.to_owned() };
            self.takes(":").then_some(())?;
            last = self.next(|value| drop(fields.insert(name, value)))?;
        }
    }

    fn array(&mut self) -> Option<Value> {
        self.takes("[").then_some(())?;
        let mut items = Vec::new();
        let mut last = Last::Nothing;
        loop {
            while self.takes(",") {
                last = Last::Whole;
            }
            if self.takes("]") || self.ended(&last)? {
                return Some(Value::Array(items));
            }
            last = self.next(|value| items.push(value))?;
        }
    }

    /// Reads a value into `put`, and says how it ended.
    fn next(&mut self, put: impl FnOnce(Value)) -> Option<Last> {
        let value = self.value()?;
        let open = value.is_number();
        put(value);
        Some(if open { Last::Open } else { Last::Whole })
    }

    /// Whether the text is over where something should be closed. `None`: it is, and something was cut off.
    fn ended(&self, last: &Last) -> Option<bool> {
        let over = self.rest.is_empty() || self.end.is_some_and(|end| self.rest.starts_with(end));
        match over {
            false => Some(false),
            // Behind the sign of an end, nothing is missing but the brace.
            true if self.rest.is_empty() && *last != Last::Whole => None,
            true => Some(true),
        }
    }

    fn blank(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            let comment = match () {
                () if self.rest.starts_with("//") => self.rest.find('\n'),
                () if self.rest.starts_with("/*") => self.rest.find("*/").map(|end| end + 2),
                () => None,
            };
            match comment {
                Some(end) => self.rest = &self.rest[end..],
                None => return,
            }
        }
    }

    fn text(&mut self) -> Option<String> {
        let (ends, body): (&[&str], &str) = match self.rest {
            rest if rest.starts_with("\"\"\"") => (&["\"\"\""], &rest[3..]),
            rest if rest.starts_with("'''") => (&["'''"], &rest[3..]),
            rest if rest.starts_with('"') => (&["\""], &rest[1..]),
            rest if rest.starts_with('\'') => (&["'"], &rest[1..]),
            rest if rest.starts_with(['“', '”']) => (&["”", "“"], &rest['“'.len_utf8()..]),
            rest => (&["’", "‘"], &rest['‘'.len_utf8()..]),
        };
        let mut text = String::new();
        let mut rest = body;
        // Whether backslashes stand for themselves in it.
        let mut raw = false;
        loop {
            if let Some(after) = ends.iter().find_map(|end| rest.strip_prefix(*end)) {
                self.rest = after;
                // Then `\b` is a pattern's, and no control character that nobody writes.
                return Some(if raw { text.replace('\u{8}', "\\b").replace('\u{c}', "\\f") } else { text });
            }
            let one = rest.chars().next()?;
            rest = &rest[one.len_utf8()..];
            match one {
                '\\' => {
                    let before = text.len();
                    rest = escape(rest, &mut text)?;
                    raw |= text[before..].starts_with('\\') && text.len() > before + 1;
                }
                one => text.push(one),
            }
        }
    }

    fn number(&mut self) -> Option<Value> {
        let inner = |one: char| one.is_ascii_digit() || matches!(one, '-' | '+' | '.' | 'e' | 'E' | '_');
        let end = self.rest.find(|one| !inner(one)).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        let number = number.trim_start_matches('+').replace('_', "");
        let value = match number.parse::<i64>() {
            Ok(whole) => Value::from(whole),
            Err(_) => Value::Number(Number::from_f64(number.parse::<f64>().ok()?)?),
        };
        self.rest = rest;
        Some(value)
    }

    fn word(&mut self) -> Option<Value> {
        match self.name()? {
            "true" | "True" => Some(Value::Bool(true)),
            "false" | "False" => Some(Value::Bool(false)),
            "null" | "None" | "undefined" => Some(Value::Null),
            _ => None,
        }
    }
}

/// Reads what stands behind a backslash. An escape that does not exist is a backslash: patterns and paths are full of
/// them.
fn escape<'a>(rest: &'a str, text: &mut String) -> Option<&'a str> {
    let one = rest.chars().next()?;
    let after = &rest[one.len_utf8()..];
    let plain = match one {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        '"' | '\'' | '\\' | '/' => one,
        'u' => {
            let Some((unit, after)) = unit(after) else {
                text.push_str("\\u");
                return Some(after);
            };
            let pair = after.strip_prefix("\\u").and_then(unit_of_pair);
            let (letter, after) = match (char::from_u32(unit), pair) {
                (Some(letter), _) => (letter, after),
                (None, Some((low, behind))) if (0xd800..0xdc00).contains(&unit) => {
                    let joined = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                    (char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER), behind)
                }
                (None, _) => (char::REPLACEMENT_CHARACTER, after),
            };
            text.push(letter);
            return Some(after);
        }
        one => {
            text.push('\\');
            one
        }
    };
    text.push(plain);
    Some(after)
}

/// Four hexadecimal digits.
fn unit(text: &str) -> Option<(u32, &str)> {
    let digits = text.get(..4).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    Some((u32::from_str_radix(digits, 16).ok()?, &text[4..]))
}

/// The second half of a letter.
fn unit_of_pair(text: &str) -> Option<(u32, &str)> {
    unit(text).filter(|(unit, _)| (0xdc00..0xe000).contains(unit))
}
