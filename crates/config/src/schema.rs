//! What settings may look like, and whether they do. Pure.

use std::fmt;

use serde_json::{Number, Value};

use crate::care::Care;
use crate::node::{Entry, Node, Shape};
use crate::units;

/// What a value may be.
pub(crate) enum Kind {
    Any,
    Text,
    Bool,
    /// This one of true and false.
    Only(bool),
    /// A number of at least so much.
    Number(f64),
    /// A whole number from the first to the second.
    Whole(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// `#RRGGBB`, or a colour of the theme.
    Color,
    /// A number of bytes, or a text such as `2 GiB`.
    Size,
    /// A number of days, or a text such as `12h`.
    Span,
    List(&'static Kind),
    /// A list of two.
    Pair(&'static Kind, &'static Kind),
    /// An object with keys of the user's own.
    Map(&'static Kind),
    /// An object with these keys, and keys of the user's own.
    Keyed(&'static [Field], &'static Kind),
    /// An object with these keys. An unknown one is left out.
    Object(&'static [Field]),
    /// An object with these keys and any other.
    Open(&'static [Field]),
    /// The first of these that fits.
    OneOf(&'static [Kind]),
    /// An object whose key of the first name says which of these it is, and what it is without that key.
    Tagged(&'static str, &'static [(&'static str, Kind)], &'static Kind),
}

/// A key of an object.
pub(crate) struct Field {
    pub name: &'static str,
    pub kind: Kind,
    pub required: bool,
    /// What it is for; empty where the name says it.
    pub about: &'static str,
    /// What it may do where nobody has said yet that whoever wrote the file is trusted.
    pub care: Care,
}

/// Something to tell about a place in a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    /// The byte of the text.
    pub at: usize,
    /// The key, with dots.
    pub key: String,
    pub message: String,
}

/// Whether what is wrong is an error, or left as it is because the values are not all there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strict {
    Yes,
    No,
}

/// What `node` says, without the keys that mean nothing, which are added to `told`.
///
/// # Errors
///
/// The first value that is of the wrong kind.
pub(crate) fn check(
    node: &Node,
    kind: &Kind,
    root: &str,
    strict: Strict,
    told: &mut Vec<Finding>,
) -> Result<Value, Finding> {
    let trail = Trail { up: None, key: root };
    Checker { strict, told }.value(node, kind, &trail)
}

/// Most unknown keys that are looked at: each is compared with all that are known.
const MAX_TOLD: usize = 64;

struct Checker<'t> {
    strict: Strict,
    told: &'t mut Vec<Finding>,
}

impl Checker<'_> {
    fn value(&mut self, node: &Node, kind: &Kind, trail: &Trail<'_>) -> Result<Value, Finding> {
        let fits = match (kind, &node.shape) {
            (Kind::Any, _) | (Kind::Text, Shape::Text(_)) | (Kind::Bool, Shape::Bool(_)) => true,
            (Kind::Only(want), Shape::Bool(on)) => want == on,
            (Kind::Number(least), Shape::Number(number)) => number.as_f64().is_some_and(|number| number >= *least),
            (Kind::Whole(least, most), Shape::Number(number)) => {
                if let Some(whole) = whole(number).filter(|whole| (*least..=*most).contains(whole)) {
                    return Ok(Value::from(whole));
                }
                false
            }
            (Kind::Word(words), Shape::Text(text)) => words.contains(&text.as_str()),
            (Kind::Color, Shape::Text(text)) => is_color(text),
            (Kind::Size | Kind::Span, Shape::Number(number)) => whole(number).is_some(),
            (Kind::Size, Shape::Text(text)) => units::bytes(text).is_some(),
            (Kind::Span, Shape::Text(text)) => units::span(text).is_some(),
            (Kind::List(of), Shape::List(items)) => {
                let items = items.iter().enumerate();
                let items = items.map(|(index, item)| self.value(item, of, &trail.below(&index.to_string())));
                return Ok(Value::Array(items.collect::<Result<_, _>>()?));
            }
            (Kind::Pair(first, second), Shape::List(items)) if items.len() == 2 => {
                let first = self.value(&items[0], first, &trail.below("0"))?;
                return Ok(Value::Array(vec![first, self.value(&items[1], second, &trail.below("1"))?]));
            }
            (Kind::Map(of), Shape::Object(entries)) => {
                let pair = |entry: &Entry| {
                    let value = self.value(&entry.value, of, &trail.below(&entry.key))?;
                    Ok((entry.key.clone(), value))
                };
                return Ok(Value::Object(entries.iter().map(pair).collect::<Result<_, _>>()?));
            }
            (Kind::Keyed(fields, other), Shape::Object(entries)) => {
                let pair = |entry: &Entry| {
                    let field = fields.iter().find(|field| field.name == entry.key);
                    let kind = field.map_or(*other, |field| &field.kind);
                    let value = self.value(&entry.value, kind, &trail.below(&entry.key))?;
                    Ok((entry.key.clone(), value))
                };
                return Ok(Value::Object(entries.iter().map(pair).collect::<Result<_, _>>()?));
            }
            (Kind::Object(fields), Shape::Object(entries)) => return self.object(node, fields, false, entries, trail),
            (Kind::Open(fields), Shape::Object(entries)) => return self.object(node, fields, true, entries, trail),
            (Kind::OneOf(kinds), _) => return self.one_of(node, kind, kinds, trail),
            (Kind::Tagged(tag, kinds, bare), Shape::Object(entries)) => {
                let Some(found) = entries.iter().find(|entry| entry.key == *tag) else {
                    return self.value(node, bare, trail);
                };
                let kind =
                    kinds.iter().find(|(name, _)| matches!(&found.value.shape, Shape::Text(text) if text == name));
                let Some((_, kind)) = kind else {
                    let names: Vec<&str> = kinds.iter().map(|(name, _)| *name).collect();
                    return self.wrong(&found.value, &trail.below(tag), format!("must be {}", Choice(&names)));
                };
                return self.value(node, kind, trail);
            }
            (
                Kind::Text
                | Kind::Bool
                | Kind::Only(_)
                | Kind::Number(_)
                | Kind::Whole(..)
                | Kind::Word(_)
                | Kind::Color
                | Kind::Size
                | Kind::Span
                | Kind::List(_)
                | Kind::Pair(..)
                | Kind::Map(_)
                | Kind::Keyed(..)
                | Kind::Object(_)
                | Kind::Open(_)
                | Kind::Tagged(..),
                _,
            ) => false,
        };
        if fits { Ok(node.to_value()) } else { self.wrong(node, trail, format!("must be {kind}{}", found(kind, node))) }
    }

    fn wrong(&self, node: &Node, trail: &Trail<'_>, message: String) -> Result<Value, Finding> {
        match self.strict {
            Strict::Yes => Err(Finding { at: node.at, key: trail.to_string(), message }),
            Strict::No => Ok(node.to_value()),
        }
    }

    fn object(
        &mut self,
        node: &Node,
        fields: &'static [Field],
        open: bool,
        entries: &[Entry],
        trail: &Trail<'_>,
    ) -> Result<Value, Finding> {
        for field in fields.iter().filter(|field| field.required) {
            if !entries.iter().any(|entry| entry.key == field.name) {
                self.wrong(node, &trail.below(field.name), "is missing".to_owned())?;
            }
        }
        let mut kept = serde_json::Map::new();
        for entry in entries {
            let below = trail.below(&entry.key);
            match fields.iter().find(|field| field.name == entry.key) {
                Some(field) => {
                    kept.insert(entry.key.clone(), self.value(&entry.value, &field.kind, &below)?);
                }
                None => {
                    self.unknown(entry, fields, open, trail, &below);
                    if open {
                        kept.insert(entry.key.clone(), entry.value.to_value());
                    }
                }
            }
        }
        Ok(Value::Object(kept))
    }

    fn unknown(&mut self, entry: &Entry, fields: &[Field], open: bool, trail: &Trail<'_>, below: &Trail<'_>) {
        if self.told.len() >= MAX_TOLD {
            return;
        }
        let inside = if trail.is_empty() { String::new() } else { format!(" in {trail}") };
        let message = match (close(&entry.key, fields), open) {
            (Some(meant), false) => {
                format!("there is no key {:?}{inside}; {meant:?} is meant, perhaps", Short(&entry.key))
            }
            (None, false) => format!("there is no key {:?}{inside}; it is left out", Short(&entry.key)),
            (Some(meant), true) => {
                format!("{:?}{inside} is no key of haft's; {meant:?} is meant, perhaps", Short(&entry.key))
            }
            (None, true) => return,
        };
        self.told.push(Finding { at: entry.at, key: below.to_string(), message });
    }

    fn one_of(
        &mut self,
        node: &Node,
        kind: &Kind,
        kinds: &'static [Kind],
        trail: &Trail<'_>,
    ) -> Result<Value, Finding> {
        let mut nearest = None;
        for kind in kinds {
            let mut told = Vec::new();
            match (Checker { strict: Strict::Yes, told: &mut told }).value(node, kind, trail) {
                Ok(value) => {
                    self.told.append(&mut told);
                    return Ok(value);
                }
                // What is wrong inside of it says more than that it is not something else.
                Err(finding) if finding.at != node.at || finding.message == "is missing" => nearest = Some(finding),
                Err(_) => {}
            }
        }
        match (self.strict, nearest) {
            (Strict::Yes, Some(finding)) => Err(finding),
            (Strict::Yes, None) | (Strict::No, _) => {
                self.wrong(node, trail, format!("must be {kind}{}", found(kind, node)))
            }
        }
    }
}

/// The whole number that `number` is, if it is one.
fn whole(number: &Number) -> Option<u64> {
    /// The largest number below which a fraction is never lost.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let exact = |float: &f64| float.fract() == 0.0 && (0.0..EXACT).contains(float);
    number.as_u64().or_else(|| number.as_f64().filter(exact).map(|float| float as u64))
}

fn is_color(text: &str) -> bool {
    let hex = text.strip_prefix('#').is_some_and(|hex| hex.len() == 6 && hex.bytes().all(|b| b.is_ascii_hexdigit()));
    hex || crate::keys::COLORS.contains(&text)
}

/// What stands there instead, where it is not of the shape that is wanted. Never the value, which may be a key.
fn found(kind: &Kind, node: &Node) -> String {
    if has_shape(kind, node) { String::new() } else { format!(", not {}", node.kind()) }
}

fn has_shape(kind: &Kind, node: &Node) -> bool {
    match kind {
        Kind::Any => true,
        Kind::Text | Kind::Word(_) | Kind::Color => matches!(node.shape, Shape::Text(_)),
        Kind::Number(_) | Kind::Whole(..) => matches!(node.shape, Shape::Number(_)),
        Kind::Size | Kind::Span => matches!(node.shape, Shape::Number(_) | Shape::Text(_)),
        Kind::Bool | Kind::Only(_) => matches!(node.shape, Shape::Bool(_)),
        Kind::List(_) | Kind::Pair(..) => matches!(node.shape, Shape::List(_)),
        Kind::Map(_) | Kind::Keyed(..) | Kind::Object(_) | Kind::Open(_) | Kind::Tagged(..) => {
            matches!(node.shape, Shape::Object(_))
        }
        Kind::OneOf(kinds) => kinds.iter().any(|kind| has_shape(kind, node)),
    }
}

/// The field that `key` is a misspelling of, if there is one near enough.
fn close(key: &str, fields: &[Field]) -> Option<&'static str> {
    /// Longest key that is compared, in bytes: the comparison takes time in proportion to its square.
    const LONGEST: usize = 64;
    if key.len() > LONGEST {
        return None;
    }
    let away = |name: &str| strsim::osa_distance(&key.to_lowercase(), &name.to_lowercase());
    // Letters change places more often than they go missing.
    let order = |name: &str| (away(name), name.len().abs_diff(key.len()));
    let nearest = fields.iter().map(|field| field.name).min_by_key(|name| order(name))?;
    // Two letters of a short word make another word of it.
    (away(nearest) <= 2 && away(nearest) * 3 <= key.len()).then_some(nearest)
}

/// Where a value stands: the keys that lead there.
struct Trail<'a> {
    up: Option<&'a Trail<'a>>,
    key: &'a str,
}

impl<'a> Trail<'a> {
    fn below(&'a self, key: &'a str) -> Trail<'a> {
        Trail { up: Some(self), key }
    }

    fn is_empty(&self) -> bool {
        self.up.is_none() && self.key.is_empty()
    }
}

impl fmt::Display for Trail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.up {
            Some(up) if !up.is_empty() => write!(f, "{up}.{}", Short(self.key)),
            Some(_) => write!(f, "{}", Short(self.key)),
            None if self.key.is_empty() => f.write_str("the whole"),
            None => f.write_str(self.key),
        }
    }
}

/// A key of somebody's own, of which at most 80 characters are shown.
struct Short<'a>(&'a str);

impl Short<'_> {
    fn cut(&self) -> &str {
        self.0.char_indices().nth(80).map_or(self.0, |(end, _)| &self.0[..end])
    }
}

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.cut())
    }
}

impl fmt::Debug for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.cut())
    }
}

/// Words to choose from: `"a", "b" or "c"`.
struct Choice<'a>(&'a [&'a str]);

impl fmt::Display for Choice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, word) in self.0.iter().enumerate() {
            let before = match index {
                0 => "",
                index if index + 1 == self.0.len() => " or ",
                _ => ", ",
            };
            write!(f, "{before}{word:?}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Kind {
    /// What is wanted, as the end of a sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Any => f.write_str("anything"),
            Kind::Text => f.write_str("a string"),
            Kind::Bool => f.write_str("true or false"),
            Kind::Only(on) => write!(f, "{on}"),
            Kind::Number(least) if *least == f64::MIN => f.write_str("a number"),
            Kind::Number(least) => write!(f, "a number of at least {least}"),
            Kind::Whole(0, _) => f.write_str("a whole number"),
            Kind::Whole(least, u64::MAX) => write!(f, "a whole number of at least {least}"),
            Kind::Whole(least, most) => write!(f, "a whole number from {least} to {most}"),
            Kind::Word(words) => Choice(words).fmt(f),
            Kind::Color => write!(f, "a colour such as \"#ff8800\", or {}", Choice(&crate::keys::COLORS)),
            Kind::Size => f.write_str("a number of bytes or a size such as \"2 GiB\""),
            Kind::Span => f.write_str("a number of days or a time such as \"12h\""),
            Kind::List(_) => f.write_str("a list in [ ]"),
            Kind::Pair(..) => f.write_str("a list of two"),
            Kind::Map(_) | Kind::Keyed(..) | Kind::Object(_) | Kind::Open(_) | Kind::Tagged(..) => {
                f.write_str("an object in { }")
            }
            Kind::OneOf(kinds) => {
                for (index, kind) in kinds.iter().enumerate() {
                    write!(f, "{}{kind}", if index == 0 { "" } else { " or " })?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests;
