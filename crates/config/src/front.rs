//! The header of a Markdown file: YAML between two lines `---`. Pure.

use serde_json::{Map, Number, Value};
use serde_norway::Value as Yaml;

use crate::error::{ConfigError, Place};
use crate::node::{Entry, Node, Shape};

/// A Markdown file taken apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrontMatter {
    /// What its header says; empty without one.
    pub data: Map<String, Value>,
    /// The text below the header, without blanks and empty lines around it.
    pub body: String,
    /// The byte at which the header's YAML begins.
    start: usize,
}

/// Takes `text`, the content of the file `origin`, apart.
///
/// A value with a colon in it that should stand in quotes is read as if it did, because people forget them.
///
/// # Errors
///
/// When the header is never closed, is no YAML, or is no map. Tags and code are refused like broken YAML.
pub fn front_matter(text: &str, origin: &str) -> Result<FrontMatter, ConfigError> {
    let whole = text;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let none = || FrontMatter { body: text.trim().to_owned(), ..FrontMatter::default() };
    let Some(after) = text.strip_prefix("---").filter(|after| !after.starts_with('-')) else { return Ok(none()) };
    let (language, _) = after.split_once('\n').unwrap_or((after, ""));
    let wrong = |at: usize, message: String| ConfigError::Header {
        origin: origin.to_owned(),
        place: Some(Place::of(whole, at)),
        message,
    };
    let language = language.split('#').next().unwrap_or_default().trim();
    if !matches!(language, "" | "yaml" | "yml") {
        return Err(wrong(0, "must be YAML; write only --- in the first line".to_owned()));
    }
    let Some(close) = after.find("\n---") else {
        // Three dots end a YAML document, so this is one of its own and no header.
        if after.lines().any(|line| line.trim_end() == "...") {
            return Ok(none());
        }
        return Err(wrong(0, "is never closed; write a line --- below it".to_owned()));
    };
    let start = whole.len() - after.len() + language_length(after);
    // With the line end before the closing dashes: block text ends in one.
    let header = &whole[start..whole.len() - after.len() + (close + 1).max(language_length(after))];
    let data = parse(header).map_err(|broken| {
        let at = broken.line.map_or(start, |line| start + line_start(header, line));
        wrong(at, broken.message)
    })?;
    let body = after[close + "\n---".len()..].trim().to_owned();
    Ok(FrontMatter { data, body, start })
}

/// The length of the rest of the opening line, its end included.
fn language_length(after: &str) -> usize {
    after.find('\n').map_or(after.len(), |end| end + 1)
}

/// The byte at which the line `line`, counted from 0, of `text` begins.
fn line_start(text: &str, line: usize) -> usize {
    text.split_inclusive('\n').take(line).map(str::len).sum()
}

/// Longest header, in bytes.
const MAX_HEADER: usize = 64 * 1024;

/// How many brackets may be open at once. The reader's time grows with the square of it.
const MAX_DEPTH: usize = 64;

/// Longest header in which parts are repeated by name, in bytes: what it stands for grows with the square of it.
const MAX_REPEATING: usize = 4 * 1024;

/// Whether a word of `header` begins with `&`.
fn has_anchor(header: &str) -> bool {
    let starts = |c: char| c.is_whitespace() || matches!(c, '[' | '{' | ',' | ':' | '-' | '?');
    header.split('&').zip(header.split('&').skip(1)).any(|(before, after)| {
        before.chars().next_back().is_none_or(starts) && after.starts_with(|c: char| !c.is_whitespace())
    })
}

/// How many brackets are open at once in `header` at most, those in texts among them.
fn depth(header: &str) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    for byte in header.bytes() {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most
}

struct Broken {
    /// Counted from 0, in the header.
    line: Option<usize>,
    message: String,
}

fn parse(header: &str) -> Result<Map<String, Value>, Broken> {
    if header.len() > MAX_HEADER || depth(header) > MAX_DEPTH {
        return Err(Broken {
            line: None,
            message: "is longer than 64 KiB, or nested too deep; make it simpler".to_owned(),
        });
    }
    if header.len() > MAX_REPEATING && has_anchor(header) {
        let message = "is longer than 4 KiB and has an anchor (a word that begins with &); write out what it repeats";
        return Err(Broken { line: None, message: message.to_owned() });
    }
    let yaml = read(header).or_else(|first| read(&with_blocks(header)).map_err(|_| first));
    let yaml = yaml.map_err(|error| {
        let message = error.to_string();
        // Its own places count from the beginning of the header.
        let message = message.split(" at line ").next().unwrap_or_default();
        let line = error.location().map(|place| place.line().saturating_sub(1));
        Broken { line, message: format!("is no YAML: {message}; put the value in quotes") }
    })?;
    let broken = |message: &str| Broken { line: None, message: message.to_owned() };
    match json(yaml).map_err(broken)? {
        Value::Null => Ok(Map::new()),
        Value::Object(data) => Ok(data),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(broken("must be a map; write lines of the form `key: value`"))
        }
    }
}

fn read(header: &str) -> Result<Yaml, serde_norway::Error> {
    let mut yaml: Yaml = serde_norway::from_str(header)?;
    yaml.apply_merge()?;
    Ok(yaml)
}

/// `header` with each value that has a colon in it and no quotes around it as block text.
fn with_blocks(header: &str) -> String {
    let mut out = String::with_capacity(header.len() + 16);
    for line in header.lines() {
        let pair = line.split_once(':').filter(|(key, _)| is_plain_key(key.trim_end()));
        match pair.map(|(key, value)| (key, value.trim())) {
            Some((key, value)) if value.contains(':') && !value.starts_with(['"', '\'', '|', '>', '[', '{']) => {
                out.push_str(key);
                out.push_str(": |-\n  ");
                out.push_str(value);
            }
            Some(_) | None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

fn is_plain_key(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

fn json(yaml: Yaml) -> Result<Value, &'static str> {
    Ok(match yaml {
        Yaml::Null => Value::Null,
        Yaml::Bool(on) => Value::Bool(on),
        Yaml::Number(number) => number_of(&number).map_or(Value::Null, Value::Number),
        Yaml::String(text) => Value::String(text),
        Yaml::Sequence(items) => Value::Array(items.into_iter().map(json).collect::<Result<_, _>>()?),
        Yaml::Mapping(pairs) => {
            let pair = |(key, value): (Yaml, Yaml)| {
                let key = match json(key)? {
                    Value::String(key) => key,
                    key @ (Value::Null | Value::Bool(_) | Value::Number(_)) => key.to_string(),
                    Value::Array(_) | Value::Object(_) => return Err("has a key that is no text; write a plain key"),
                };
                Ok((key, json(value)?))
            };
            Value::Object(pairs.into_iter().map(pair).collect::<Result<_, _>>()?)
        }
        Yaml::Tagged(_) => return Err("has a tag (a word that begins with !); put the value in quotes"),
    })
}

/// `1.0` and `1` are the same number.
fn number_of(number: &serde_norway::Number) -> Option<Number> {
    /// The largest number below which a fraction is never lost.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = number.as_u64().map(Number::from).or_else(|| number.as_i64().map(Number::from));
    whole.or_else(|| {
        let float = number.as_f64()?;
        if float.fract() == 0.0 && float.abs() < EXACT {
            return Some(Number::from(float as i64));
        }
        Number::from_f64(float)
    })
}

impl FrontMatter {
    /// What the header says, each key and all below it standing where `text` has the key.
    pub(crate) fn node(&self, text: &str) -> Node {
        let place = |key: &str| {
            let header = text.get(self.start..).unwrap_or_default();
            let mut at = self.start;
            for line in header.split_inclusive('\n') {
                let found = line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
                if found || line.starts_with("---") {
                    return if found { at } else { self.start };
                }
                at += line.len();
            }
            self.start
        };
        let entry = |(key, value): (&String, &Value)| {
            let at = place(key);
            Entry { key: key.clone(), at, value: Node::of(value.clone(), at) }
        };
        let entries = self.data.iter().take(MAX_KEYS).map(entry).collect();
        Node { at: self.start, shape: Shape::Object(entries) }
    }
}

/// Most keys of a header that are looked at: each is searched for.
const MAX_KEYS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn gives(text: &str, data: &str, body: &str) {
        let got = front_matter(text, "f.md").unwrap();
        assert_eq!((Value::Object(got.data).to_string().as_str(), got.body.as_str()), (data, body));
    }

    #[track_caller]
    fn fails(text: &str, want: &str) {
        assert_eq!(front_matter(text, "f.md").unwrap_err().to_string(), format!("f.md, {want}"));
    }

    #[test]
    fn a_header_is_what_stands_between_the_first_two_lines_of_dashes() {
        gives("---\na: 1\n---\n\nbody\n---\nmore\n", r#"{"a":1}"#, "body\n---\nmore");
        gives("\u{feff}--- \r\na: x\r\n---\r\nbody", r#"{"a":"x"}"#, "body");
        gives("---\n---\nbody", "{}", "body");
        gives("---yaml\n# nothing\n---\n", "{}", "");
    }

    #[test]
    fn other_texts_have_no_header() {
        for text in ["", "body", "----\na: 1\n---", " ---\na: 1\n---", "a\n---\nb: 1\n---"] {
            gives(text, "{}", text.trim());
        }
    }

    #[test]
    fn numbers_and_keys_are_those_of_json() {
        gives(
            "---\na: 1.0\nb: 0.5\nc: -3\nd: .nan\n1: x\ntrue: y\n---",
            r#"{"a":1,"b":0.5,"c":-3,"d":null,"1":"x","true":"y"}"#,
            "",
        );
        gives("---\nbase: &b {x: 1}\nm: {<<: *b, y: 2}\n---", r#"{"base":{"x":1},"m":{"y":2,"x":1}}"#, "");
    }

    #[test]
    fn forgotten_quotes_are_forgiven() {
        gives("---\ndescription: Use when: asked\nn: 1\n---", r#"{"description":"Use when: asked","n":1}"#, "");
        gives("---\nallowed-tools: a: b\n---", r#"{"allowed-tools":"a: b"}"#, "");
    }

    #[test]
    fn a_broken_header_names_its_line_and_what_to_do() {
        fails(
            "---\na: 1\nbody",
            "line 1, column 1: the header between the two lines --- is never closed; write a line --- below it",
        );
        fails(
            "---\na: 1\nb: [x] y\n---",
            "line 3, column 1: the header between the two lines --- is no YAML: did not find expected key; put the value in quotes",
        );
        fails(
            "---\n- a\n---",
            "line 2, column 1: the header between the two lines --- must be a map; write lines of the form `key: value`",
        );
        fails(
            "---\na: !x y\n---",
            "line 2, column 1: the header between the two lines --- has a tag (a word that begins with !); put the value in quotes",
        );
        for language in ["js", "json", "javascript", "coffee", "toml", "yaml!eval", " js # yaml"] {
            fails(
                &format!("---{language}\n{{\"a\": require(\"x\")}}\n---"),
                "line 1, column 1: the header between the two lines --- must be YAML; write only --- in the first line",
            );
        }
        // A tag of YAML's own form says of which kind a value is; whatever kind it names, this is a text.
        gives("---\na: !!js/function 'x()'\n---", r#"{"a":"x()"}"#, "");
        fails(
            "---\na: 1\na: 2\n---",
            "line 2, column 1: the header between the two lines --- is no YAML: duplicate entry with key \"a\"; put the value in quotes",
        );
    }

    #[test]
    fn small_texts_that_stand_for_large_ones_are_refused() {
        let mut text = "---\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..12 {
            let before = format!("*a{}", n - 1);
            text.push_str(&format!("a{n}: &a{n} [{}]\n", vec![before; 10].join(", ")));
        }
        text.push_str("---\n");
        assert!(front_matter(&text, "f.md").is_err());
        let repeating = |n: usize| format!("---\na: &a [{}]\nb: [{}]\n---", "x,".repeat(n), "*a,".repeat(n));
        assert!(front_matter(&repeating(1_000), "f.md").is_err());
        assert!(front_matter(&repeating(10), "f.md").is_ok());
        let long = format!("---\na: R&D & more{}\n---", " &".repeat(4_000));
        assert!(front_matter(&long, "f.md").is_ok(), "these are no anchors");
        assert!(front_matter(&format!("---\na: {}\n---", "[".repeat(60_000)), "f.md").is_err());
        assert!(front_matter(&format!("---\na: {}{}\n---", "[".repeat(64), "]".repeat(64)), "f.md").is_ok());
        assert!(front_matter(&format!("---\na: {}\n---", "x".repeat(64 * 1024)), "f.md").is_err());
    }

    #[test]
    fn keys_stand_where_the_text_has_them() {
        let text = "---\na: 1\nb:\n  c: 2\n---\nd: 3";
        let node = front_matter(text, "f.md").unwrap().node(text);
        let Shape::Object(entries) = node.shape else { panic!() };
        let places: Vec<usize> = entries.iter().map(|entry| Place::of(text, entry.value.at).line).collect();
        assert_eq!(places, [2, 3]);
    }
}
