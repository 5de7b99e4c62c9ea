//! Words: what they become, and what is run on the way.

use brush_parser::word::{Parameter, ParameterExpr, TildeExpr, WordPiece, WordPieceWithSource, parse, parse_heredoc};

use crate::analysis::Dialect;
use crate::braces::{MAX_WORDS, expand};
use crate::parse::options;
use crate::text::{Arg, Kind, Text};
use crate::walk::Walk;

/// Longest that a word may become through variables, in characters; beyond that it counts as unknown.
const MAX_TEXT: usize = 16 * 1024;

/// In what place a word stands, which decides what in it means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Among the words of a command: everything.
    Command,
    /// Behind `=`, in `case`, as the target of a redirection: no braces, and it stays one word.
    Value,
    /// The body of a here-document: quotes stand for themselves.
    Body,
}

/// Where a `~` stands for the home folder, besides at the beginning of a word that is written with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tildes {
    /// At the beginning of a word that braces made.
    First,
    /// Behind `:` in the value of an assignment.
    Value,
    /// Behind `=` and `:` in a word that looks like an assignment.
    Assignment,
}

/// A word while it is put together.
struct Build {
    arg: Arg,
    /// Pieces of it are quoted.
    quoted: bool,
}

impl Walk<'_> {
    /// Reads one word and everything that is run in it.
    pub(crate) fn word(&mut self, raw: &str, place: Place) -> Arg {
        if is_plain(raw) {
            // Most words.
            let texts = vec![Text::new(raw, Kind::Plain)];
            return Arg { raw: raw.to_owned(), texts, one: true, start: raw.to_owned(), ..Arg::default() };
        }
        let one = place != Place::Command;
        let mut build = Build {
            arg: Arg { raw: raw.to_owned(), texts: vec![Text::default()], one: true, ..Arg::default() },
            quoted: place == Place::Body,
        };
        let pieces = if place == Place::Body { parse_heredoc(raw, &options()) } else { parse(raw, &options()) };
        match pieces {
            Ok(pieces) => self.pieces(&pieces, raw, &mut build),
            Err(_) => {
                self.unknown(&format!("{} cannot be read", short(raw)));
                build.arg.dynamic = true;
            }
        }
        let mut arg = build.arg;
        if place == Place::Command {
            let before = arg.texts.len();
            self.braces(&mut arg);
            if arg.texts.len() != before {
                self.tildes(&mut arg, Tildes::First);
            } else if self.dialect == Dialect::Bash {
                // A word that only looks like an assignment counts there, unless braces made it.
                self.tildes(&mut arg, Tildes::Assignment);
            }
        }
        arg.one |= one;
        if !arg.dynamic {
            arg.start = arg.texts.first().map(Text::string).unwrap_or_default();
        }
        arg
    }

    fn braces(&mut self, arg: &mut Arg) {
        let mut all = Vec::new();
        for text in &arg.texts {
            match expand(text) {
                Some(texts) => all.extend(texts),
                None => arg.dynamic = true,
            }
        }
        if all.len() > arg.texts.len() {
            self.only_bash("braces");
            arg.one = false;
            // `$v{a,b}` is `$va $vb`: braces come first.
            let bare = arg.raw.match_indices('$').any(|(at, _)| {
                arg.raw.get(at + 1..).is_some_and(|rest| rest.starts_with(|c: char| c == '_' || c.is_alphanumeric()))
            });
            if arg.dynamic || all.len() > MAX_WORDS || arg.choice || (arg.variable && bare) {
                arg.dynamic = true;
                return;
            }
        }
        if arg.one || all.len() == arg.texts.len() {
            arg.texts = all;
        } else if arg.raw.contains(['\'', '"', '\\']) && all.iter().any(|text| text.len() == 0) {
            // A word of nothing stays where it is quoted, and is none where it is not.
            arg.dynamic = true;
        } else {
            all.retain(|text| text.len() > 0);
            arg.texts = all;
        }
        arg.one &= arg.texts.iter().all(|text| text.glob_at().is_none());
    }

    /// Puts the home folder for each `~` that stands at one of `places`.
    pub(crate) fn tildes(&mut self, arg: &mut Arg, places: Tildes) {
        let home: Option<Vec<char>> =
            self.around.home.and_then(|home| home.to_str()).map(|home| home.chars().collect());
        let mut lost = false;
        for text in arg.texts.iter_mut().filter(|text| text.0.contains(&('~', Kind::Plain))) {
            if places == Tildes::Assignment && !is_assignment(text) {
                continue;
            }
            let mut done: Vec<(char, Kind)> = Vec::new();
            let mut equals = 0;
            for (at, &(c, kind)) in text.0.iter().enumerate() {
                let before = at.checked_sub(1).and_then(|before| text.0.get(before));
                let begins = match (before, places) {
                    (None, Tildes::First) => true,
                    (Some((':', Kind::Plain)), Tildes::Value) => true,
                    (Some((':', Kind::Plain)), Tildes::Assignment) => equals > 0,
                    (Some(('=', Kind::Plain)), Tildes::Assignment) => equals == 1,
                    (_, Tildes::First | Tildes::Value | Tildes::Assignment) => false,
                };
                equals += usize::from((c, kind) == ('=', Kind::Plain));
                if !(begins && (c, kind) == ('~', Kind::Plain)) {
                    done.push((c, kind));
                    continue;
                }
                match (&home, text.0.get(at + 1)) {
                    (Some(home), None | Some(('/', Kind::Plain))) => {
                        done.extend(home.iter().map(|c| (*c, Kind::Quoted)));
                    }
                    (Some(home), Some((':', Kind::Plain))) if places != Tildes::First => {
                        done.extend(home.iter().map(|c| (*c, Kind::Quoted)));
                    }
                    // A quote behind it takes its meaning away.
                    (_, Some((_, Kind::Quoted))) => done.push((c, kind)),
                    (_, _) => lost = true,
                }
            }
            text.0 = done;
        }
        arg.dynamic |= lost;
    }

    fn pieces(&mut self, pieces: &[WordPieceWithSource], raw: &str, build: &mut Build) {
        for piece in pieces {
            let source = raw.get(piece.start_index..piece.end_index).unwrap_or_default();
            let rest = raw.get(piece.end_index..).unwrap_or_default();
            let next = rest.chars().next();
            let turned =
                rest.starts_with('[') || rest.strip_prefix(':').is_some_and(|r| r.starts_with(char::is_alphabetic));
            if self.dialect == Dialect::Zsh && turned && matches!(piece.piece, WordPiece::ParameterExpansion(_)) {
                // `$x[1]` is a part of it there, and `$x:h` the folder it is in.
                self.unknown("a variable with something behind it that zsh understands");
            }
            self.piece(&piece.piece, source, next, raw, build);
        }
    }

    fn piece(&mut self, piece: &WordPiece, source: &str, next: Option<char>, raw: &str, build: &mut Build) {
        match piece {
            WordPiece::Text(text) => {
                self.plain(text, next, build.quoted);
                let kind = if build.quoted { Kind::Quoted } else { Kind::Plain };
                // Also in double quotes, where it is left standing, a line that goes on is one line.
                build.push(&text.replace("\\\n", ""), kind);
            }
            WordPiece::SingleQuotedText(text) => build.push(text, Kind::Quoted),
            WordPiece::AnsiCQuotedText(text) => {
                self.only_bash("$'…'");
                match ansi(text) {
                    Some(text) => build.push(&text, Kind::Quoted),
                    None => {
                        self.unknown("an escape in $'…' that stands for no text");
                        build.lose();
                    }
                }
            }
            WordPiece::DoubleQuotedSequence(inner) => {
                let before = std::mem::replace(&mut build.quoted, true);
                self.pieces(inner, raw, build);
                build.quoted = before;
            }
            WordPiece::GettextDoubleQuotedSequence(inner) => {
                self.only_bash("$\"…\"");
                let before = std::mem::replace(&mut build.quoted, true);
                self.pieces(inner, raw, build);
                build.quoted = before;
                build.lose();
            }
            WordPiece::TildeExpansion(TildeExpr::Home) => match self.around.home.and_then(|home| home.to_str()) {
                Some(home) => build.push(home, Kind::Quoted),
                None => build.lose(),
            },
            WordPiece::TildeExpansion(_) => build.lose(),
            WordPiece::ParameterExpansion(expr) => self.parameter(expr, source, build),
            WordPiece::CommandSubstitution(text) => {
                self.substitution(text);
                build.spread();
            }
            WordPiece::BackquotedCommandSubstitution(_) => {
                let inner = source.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).unwrap_or(source);
                let text = unescape(inner, build.quoted);
                self.substitution(&text);
                build.spread();
            }
            WordPiece::EscapeSequence(text) => {
                let plain = text.strip_prefix('\\').unwrap_or(text);
                if plain != "\n" {
                    build.push(plain, Kind::Quoted);
                }
            }
            WordPiece::ArithmeticExpression(expr) => {
                self.arithmetic(&expr.value);
                build.lose();
            }
        }
    }

    /// Text in which nothing may be left that means something to some shell.
    fn plain(&mut self, text: &str, next: Option<char>, quoted: bool) {
        let mut chars = text.chars().chain(next).peekable();
        let mut before = ' ';
        while let Some(c) = chars.next() {
            let follows = chars.peek().copied();
            let begins = follows.is_some_and(|f| "{([".contains(f) || f == '_' || f.is_ascii_alphanumeric());
            if c == '`' || (c == '$' && begins && before != '\\') {
                self.unknown("a $ or ` that the parser left standing");
            }
            if !quoted && "<>=".contains(c) && follows == Some('(') {
                self.unknown("a process substitution inside a word");
            }
            before = c;
        }
        if self.dialect == Dialect::Zsh && !quoted && text.starts_with('=') {
            self.unknown("a word that begins with =");
        }
    }

    fn parameter(&mut self, expr: &ParameterExpr, source: &str, build: &mut Build) {
        build.arg.variable = true;
        match expr {
            ParameterExpr::Parameter { parameter: Parameter::Named(name), indirect: false } => {
                return self.variable(name, build);
            }
            ParameterExpr::Transform { .. } => self.unknown(&format!("{} may run what it holds", short(source))),
            ParameterExpr::Substring { offset, length, .. } => {
                self.arithmetic(&offset.value);
                if let Some(length) = length {
                    self.arithmetic(&length.value);
                }
            }
            ParameterExpr::AssignDefaultValues { parameter, .. } => match parameter {
                Parameter::Named(name) => self.assigned(name),
                _ => self.variables.any_set = true,
            },
            _ => {}
        }
        let inner = source.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).unwrap_or("");
        if inner.starts_with('!') {
            self.unknown(&format!("{} names its variable by another", short(source)));
        }
        let name = inner.trim_start_matches(['#', '!']).trim_start_matches(|c: char| c == '_' || c.is_alphanumeric());
        if let Some((index, _)) = name.strip_prefix('[').and_then(|rest| rest.split_once(']'))
            && !matches!(index, "@" | "*")
        {
            self.arithmetic(index);
        }
        // What is run in it: quotes mean nothing there when it stands in quotes itself.
        let place = if build.quoted { Place::Body } else { Place::Value };
        if !inner.is_empty() && inner.contains(['$', '`', '<', '>']) {
            self.word(inner, place);
        }
        build.spread();
    }

    fn variable(&mut self, name: &str, build: &mut Build) {
        let texts = match name {
            "HOME" => self.around.home.and_then(|home| home.to_str()).map(|home| vec![Text::new(home, Kind::Quoted)]),
            "PWD" => self.places.only().and_then(|cwd| cwd.to_str()).map(|cwd| vec![Text::new(cwd, Kind::Quoted)]),
            _ if self.disbelieved.contains(name) => None,
            _ => self.variables.get(name),
        };
        let Some(texts) = texts else { return build.spread() };
        let splits = |text: &Text| text.0.iter().any(|(c, _)| c.is_whitespace() || "*?[\\".contains(*c));
        if !build.quoted && name != "HOME" && name != "PWD" && texts.iter().any(splits) {
            return build.spread();
        }
        build.multiply(&texts);
    }
}

impl Build {
    fn push(&mut self, text: &str, kind: Kind) {
        for one in &mut self.arg.texts {
            one.push_str(text, kind);
        }
        if !self.arg.dynamic {
            self.arg.start.push_str(text);
        }
    }

    /// Something stands here that is not known, but no more than one word.
    fn lose(&mut self) {
        self.arg.dynamic = true;
    }

    /// The same, and it is several words unless it is quoted.
    fn spread(&mut self) {
        self.lose();
        self.arg.one &= self.quoted;
    }

    /// One of `texts` stands here.
    fn multiply(&mut self, texts: &[Text]) {
        let longest = |texts: &[Text]| texts.iter().map(Text::len).max().unwrap_or(0);
        if self.arg.texts.len() * texts.len() > MAX_WORDS || longest(&self.arg.texts) + longest(texts) > MAX_TEXT {
            return self.lose();
        }
        self.arg.choice |= texts.len() > 1;
        let mut all = Vec::new();
        for before in &self.arg.texts {
            for text in texts {
                let mut one = before.clone();
                let kind = |kind: Kind| if kind == Kind::Plain { Kind::Expanded } else { kind };
                one.0.extend(text.0.iter().map(|(c, k)| (*c, kind(*k))));
                all.push(one);
            }
        }
        if let [only] = texts
            && !self.arg.dynamic
        {
            self.arg.start.push_str(&only.string());
        }
        self.arg.texts = all;
    }
}

/// Whether a word looks like `NAME=…`.
fn is_assignment(text: &Text) -> bool {
    let name: Vec<char> = text.0.iter().take_while(|one| **one != ('=', Kind::Plain)).map(|(c, _)| *c).collect();
    let name = name.strip_suffix(&['+']).unwrap_or(&name);
    let plain = text.0.iter().take(name.len()).all(|(_, kind)| *kind == Kind::Plain);
    plain
        && name.len() < text.len()
        && name.first().is_some_and(|c| *c == '_' || c.is_ascii_alphabetic())
        && name.iter().all(|c| *c == '_' || c.is_ascii_alphanumeric())
}

/// Whether nothing in a word means anything, in any place and to any shell. Most words are so, and reading them as one
/// that may hold everything is what takes the time.
pub(crate) fn is_plain(raw: &str) -> bool {
    !raw.starts_with('=') && raw.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./,:@%+-=".contains(&byte))
}

/// What stands in backquotes, as the shell reads it a second time.
fn unescape(inner: &str, quoted: bool) -> String {
    let mut text = String::new();
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        let special = |next: &char| matches!(next, '$' | '`' | '\\') || (quoted && *next == '"');
        match chars.next_if(|next| c == '\\' && special(next)) {
            Some(next) => text.push(next),
            None => text.push(c),
        }
    }
    text
}

/// What `$'…'` stands for. `None`: for something that is no text.
fn ansi(inner: &str) -> Option<String> {
    let mut text = String::new();
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        let next = chars.next()?;
        let digits = |chars: &mut std::iter::Peekable<std::str::Chars<'_>>, most: usize, base: u32| {
            let mut value = None;
            for _ in 0..most {
                let Some(digit) = chars.peek().and_then(|c| c.to_digit(base)) else { break };
                value = Some(value.unwrap_or(0u32).wrapping_mul(base).wrapping_add(digit));
                chars.next();
            }
            value
        };
        let plain = |value: u32, ascii: bool| {
            // Bytes above are parts of characters; a zero ends the text early.
            char::from_u32(value).filter(|c| *c != '\0' && (!ascii || c.is_ascii()))
        };
        match next {
            'a' => text.push('\x07'),
            'b' => text.push('\x08'),
            'e' | 'E' => text.push('\x1b'),
            'f' => text.push('\x0c'),
            'n' => text.push('\n'),
            'r' => text.push('\r'),
            't' => text.push('\t'),
            'v' => text.push('\x0b'),
            '\\' | '\'' | '"' | '?' => text.push(next),
            'x' => match digits(&mut chars, 2, 16) {
                Some(value) => text.push(plain(value, true)?),
                None => return None,
            },
            'u' => text.push(plain(digits(&mut chars, 4, 16)?, false)?),
            'U' => text.push(plain(digits(&mut chars, 8, 16)?, false)?),
            '0'..='7' => {
                let rest = digits(&mut chars, 2, 8);
                let first = next.to_digit(8)?;
                // The rest has as many digits as it has; the first stands before all of them.
                text.push(plain(octal(first, rest, inner, chars.clone().count())?, true)?);
            }
            _ => return None,
        }
    }
    Some(text)
}

/// The value of an octal escape that ends `left` characters before the end of `inner`.
fn octal(first: u32, rest: Option<u32>, inner: &str, left: usize) -> Option<u32> {
    if rest.is_none() {
        return Some(first);
    }
    let end = inner.chars().count().checked_sub(left)?;
    let all: Vec<char> = inner.chars().take(end).collect();
    let begin = all.iter().rposition(|c| *c == '\\')? + 1;
    u32::from_str_radix(&all.get(begin..)?.iter().collect::<String>(), 8).ok()
}

/// A piece of text for a reason.
pub(crate) fn short(text: &str) -> String {
    if text.is_empty() {
        return "that it is given".to_owned();
    }
    const LONGEST: usize = 40;
    let line: String = text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(LONGEST).is_some() { format!("{line}…") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_plain_only_if_no_shell_reads_more_into_it() {
        for word in ["a", "--opt=v", "src/a.rs", "HEAD:x", "a@b", "", "50%", "+x"] {
            assert!(is_plain(word), "{word}");
        }
        for word in ["~", "$x", "a*", "'a'", "a\\b", "=ls", "{a,b}", "a b", "é", "a!", "^a", "#", "a;b", "[a]", "a<b"]
        {
            assert!(!is_plain(word), "{word}");
        }
    }

    #[test]
    fn escapes_in_ansi_quotes() {
        let rows = [
            ("a\\x2fb", Some("a/b")),
            ("\\57etc", Some("/etc")),
            ("\\057etc", Some("/etc")),
            ("\\u002f", Some("/")),
            ("\\n\\'", Some("\n'")),
            ("\\162\\155", Some("rm")),
            ("\\0", None),
            ("\\xff", None),
            ("\\cA", None),
            ("\\", None),
        ];
        for (text, want) in rows {
            assert_eq!(ansi(text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn backquotes_are_read_twice() {
        assert_eq!(unescape("echo \\`rm x\\` \\$y \\\\ \\\"", false), "echo `rm x` $y \\ \\\"");
        assert_eq!(unescape("\\\"x\\\"", true), "\"x\"");
    }
}
