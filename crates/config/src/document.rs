//! The text of one settings file, read into a tree: JSON with comments and trailing commas.

use std::collections::BTreeSet;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::{CollectOptions, ParseOptions};
use serde_json::{Number, Value};

use crate::error::{ConfigError, Place};
use crate::node::{Entry, Node, Shape, distinct};
use crate::secret::is_secret;
use crate::substitute::{self, Filler};

/// No liberty but comments and trailing commas: what a file means must not depend on who reads it.
const FORM: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Reads `text`, with what `{env:}` and `{file:}` stand for put in by `filler`.
///
/// An empty text says nothing and is an empty object.
pub(crate) fn read(text: &str, filler: &mut Filler<'_>) -> Result<Node, ConfigError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.is_empty() {
        return Ok(Node { at: 0, shape: Shape::Object(Vec::new()) });
    }
    let (quoted, bare) = quote_bare(text);
    let options = CollectOptions::default();
    let parsed = jsonc_parser::parse_to_ast(&quoted, &options, &FORM).map_err(|error| {
        let kind = error.kind();
        let place = Place { line: error.line_display(), column: error.column_display() };
        let message = kind.to_string();
        ConfigError::Syntax { origin: filler.origin.to_owned(), place, message: lower(&message), hint: hint(kind) }
    })?;
    let Some(root) = parsed.value else {
        let wrong = "there is nothing in it";
        return Err(syntax(filler.origin, text, text.len(), wrong, "write {} or take the file away"));
    };
    let mut reader = Reader { text, bare, filler };
    reader.node(&root, false)
}

/// An error of syntax in `text`.
fn syntax(origin: &str, text: &str, at: usize, message: &str, hint: &'static str) -> ConfigError {
    ConfigError::Syntax { origin: origin.to_owned(), place: Place::of(text, at), message: message.to_owned(), hint }
}

/// Turns each `{env:NAME}` and `{file:PATH}` that stands outside of strings and comments into a string of the same
/// length, so that the text can be read before anything is put in. Also where these strings begin.
fn quote_bare(text: &str) -> (String, BTreeSet<usize>) {
    let mut bare = BTreeSet::new();
    let mut out = text.to_owned().into_bytes();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        if rest[0] == b'"' {
            at = string_end(bytes, at);
        } else if rest.starts_with(b"//") {
            at = rest.iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |end| at + end);
        } else if rest.starts_with(b"/*") {
            let end = rest[2..].windows(2).position(|window| window == b"*/");
            at = end.map_or(bytes.len(), |end| at + 2 + end + 2);
        } else if let Some(length) = substitute::bare(rest) {
            bare.insert(at);
            out[at] = b'"';
            out[at + length - 1] = b'"';
            at += length;
        } else {
            at += 1;
        }
    }
    // Braces were changed for quotes, a byte for a byte; so it still is a text.
    (String::from_utf8(out).unwrap_or_else(|_| text.to_owned()), bare)
}

/// The byte after the string that begins at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

struct Reader<'a, 'f, 's> {
    text: &'a str,
    bare: BTreeSet<usize>,
    filler: &'f mut Filler<'s>,
}

impl Reader<'_, '_, '_> {
    /// `secret`: whether a key above says that what stands here is nobody else's business.
    fn node(&mut self, value: &ast::Value<'_>, secret: bool) -> Result<Node, ConfigError> {
        let at = value.start();
        let shape = match value {
            ast::Value::NullKeyword(_) => Shape::Null,
            ast::Value::BooleanLit(lit) => Shape::Bool(lit.value),
            ast::Value::NumberLit(lit) => Shape::Number(self.number(lit.value, at)?),
            ast::Value::StringLit(lit) if self.bare.contains(&at) => return self.bare_token(&lit.value, at, secret),
            ast::Value::StringLit(lit) => Shape::Text(self.filler.fill(&lit.value, self.text, at, secret)?),
            ast::Value::Array(list) => {
                Shape::List(list.elements.iter().map(|item| self.node(item, secret)).collect::<Result<_, _>>()?)
            }
            ast::Value::Object(object) => {
                let entry = |property: &ast::ObjectProp<'_>| {
                    let at = property.range.start;
                    let key = self.filler.fill_key(property.name.as_str(), self.text, at)?;
                    let secret = secret || is_secret(&key);
                    Ok(Entry { at, value: self.node(&property.value, secret)?, key })
                };
                Shape::Object(distinct(object.properties.iter().map(entry).collect::<Result<_, ConfigError>>()?))
            }
        };
        Ok(Node { at, shape })
    }

    fn number(&self, text: &str, at: usize) -> Result<Number, ConfigError> {
        text.parse().map_err(|_| {
            let hint = "write it with fewer digits";
            syntax(self.filler.origin, self.text, at, "the number is too large", hint)
        })
    }

    /// A token without quotes stands for a whole value, such as a number.
    fn bare_token(&mut self, inner: &str, at: usize, secret: bool) -> Result<Node, ConfigError> {
        let token = format!("{{{inner}}}");
        let text = self.filler.fill(&token, self.text, at, secret)?;
        if text == token {
            return Ok(Node { at, shape: Shape::Text(text) });
        }
        if text.is_empty() && self.filler.withheld {
            return Ok(Node { at, shape: Shape::Null });
        }
        let value: Value = serde_json::from_str(&text).map_err(|_| {
            let message = format!("{token} stands for something that is no JSON value");
            syntax(self.filler.origin, self.text, at, &message, "put quotes around it to have it as a string")
        })?;
        Ok(Node::of(value, at))
    }
}

fn lower(message: &str) -> String {
    let mut letters = message.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// What to do about a mistake.
fn hint(kind: &ParseErrorKind) -> &'static str {
    use ParseErrorKind as K;
    match kind {
        K::ExpectedComma => "put a comma between the two entries",
        K::UnterminatedObject => "close the object with }",
        K::UnterminatedArray => "close the list with ]",
        K::UnterminatedCommentBlock => "close the comment with */",
        K::ExpectedStringObjectProperty | K::UnexpectedWord | K::SingleQuotedStringsNotAllowed => {
            "keys and strings stand in double quotes"
        }
        K::ExpectedColonAfterObjectKey => "put a colon between the key and its value",
        K::ExpectedObjectValue => "write a value after the colon",
        K::MultipleRootJsonValues => "take away what stands after the closing }",
        K::String(_) => "close the string with a double quote on the same line, and write \\\\ for a backslash",
        K::NestingDepthExceeded => "nest less deep; 256 objects in each other are the most",
        _ => "look at this line and the one above it",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::Sources;
    use std::path::Path;

    fn with(text: &str, environment: &[(&str, &str)]) -> Result<Value, String> {
        let environment = environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let sources = Sources { environment, ..Sources::default() };
        let mut filler = Filler::new(&sources, "f", Path::new("/nowhere"));
        read(text, &mut filler).map(|node| node.to_value()).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn gives(text: &str, want: &str) {
        assert_eq!(with(text, &[("N", "7"), ("Q", "a\"}]"), ("T", "{env:N}")]).unwrap().to_string(), want);
    }

    #[track_caller]
    fn fails(text: &str, want: &str) {
        assert_eq!(with(text, &[("Q", "a\"")]).unwrap_err(), want);
    }

    #[test]
    fn comments_and_trailing_commas_are_no_matter() {
        gives("// {env:NO}\n{\"a\": [1,], /* {file:no} \" */ \"b\": 2,} // {env:", r#"{"a":[1],"b":2}"#);
        gives("", "{}");
        gives("\u{feff}{}", "{}");
        gives("{\"a//b\": \"/* x\"}", r#"{"a//b":"/* x"}"#);
    }

    #[test]
    fn the_last_of_two_equal_keys_counts() {
        gives(r#"{"a": 1, "b": 2, "a": {"__proto__": 1, "c": 3}}"#, r#"{"a":{"c":3},"b":2}"#);
    }

    #[test]
    fn what_a_token_stands_for_cannot_break_out() {
        gives(r#"{"a": "{env:Q}", "{env:N}": 1}"#, r#"{"a":"a\"}]","7":1}"#);
        gives(r#"{"a": {env:N}, "b": [{env:N}]}"#, r#"{"a":7,"b":[7]}"#);
        gives(r#"{"a": "{env:T}", "b": "{env:}", "c": "{x:y}"}"#, r#"{"a":"{env:N}","b":"{env:}","c":"{x:y}"}"#);
    }

    #[test]
    fn a_mistake_has_a_place_and_a_hint() {
        fails("{\"a\": 1\n \"b\": 2}", "f, line 1, column 8: expected comma; put a comma between the two entries");
        fails(
            "{'a': 1}",
            "f, line 1, column 2: single-quoted strings are not allowed; keys and strings stand in double quotes",
        );
        fails(" \n", "f, line 2, column 1: there is nothing in it; write {} or take the file away");
        fails(
            "{\n\"a\": {env:Q}}",
            "f, line 2, column 6: {env:Q} stands for something that is no JSON value; put quotes around it to have it as a string",
        );
        fails(r#"{"a": "{env:Q"}"#, "f, line 1, column 7: {env: is not closed; write } after the name");
        fails("{\"a\": 1e999}", "f, line 1, column 7: the number is too large; write it with fewer digits");
    }

    #[test]
    fn nesting_is_bounded() {
        for open in ["[", "{\"a\":"] {
            assert!(
                with(&open.repeat(100_000), &[])
                    .unwrap_err()
                    .contains("nest less deep; 256 objects in each other are the most")
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_strange(text in "[ \\n\"{}\\[\\]:,/*\\\\a1é]{0,60}|\\PC{0,40}|(\\{(env|file):[a\"}]{0,3}){0,5}") {
            let _ = with(&text, &[("a", "1")]);
            let _ = crate::front_matter(&format!("---{text}"), "f");
            let _ = crate::front_matter(&format!("---\n{text}\n---\n"), "f");
        }
    }
}
