//! Lines that hold nothing but what is known here to the last sign: plain words, quotes, `$name`, lists, pipes and simple
//! redirections behind commands. Most command lines are such, and a parser for everything takes far longer for them.
//!
//! What is met besides is no error: [`read`] gives up, and the parser for everything has a look.

use super::{Second, Seen};

/// Words that, in the place of a command, are more than the name of one.
const KEYWORDS: [&str; 31] = [
    "if",
    "then",
    "elif",
    "else",
    "fi",
    "for",
    "while",
    "until",
    "do",
    "done",
    "case",
    "esac",
    "in",
    "select",
    "function",
    "time",
    "coproc",
    "declare",
    "typeset",
    "export",
    "readonly",
    "local",
    "unset",
    "unsetenv",
    "let",
    "test",
    "repeat",
    "foreach",
    "end",
    "nocorrect",
    "noglob",
];

/// The commands of `text`; `None` where something stands in it that is not known here.
pub(super) fn read(text: &str) -> Option<Second<'_>> {
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0 };
    let mut commands = Vec::new();
    // Whether `&&`, `||` or `|` stands before the command.
    let mut joined = false;
    loop {
        reader.blanks();
        commands.push(reader.command(joined)?);
        joined = match reader.join()? {
            Join::End => return Some(Second { broken: false, nesting: 1, commands }),
            Join::Next => false,
            Join::Chain => true,
        };
    }
}

/// What stands behind a command.
enum Join {
    /// Nothing.
    End,
    /// `;`, `&`, the end of a line.
    Next,
    /// `&&`, `||`, `|`.
    Chain,
}

struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    /// One command, up to what joins it to the next. Where it is `joined` to the one before, its redirections are none of
    /// its text: the parser for everything hangs them at the whole chain.
    fn command(&mut self, joined: bool) -> Option<Seen<'t>> {
        let start = self.at;
        let name = self.word()?;
        // Signs that a name may hold and the parser for everything does not let it begin with.
        let strange = name.starts_with(['-', '+', '@', '%', ':', ',', '*', '?']);
        if strange || name.contains('=') || KEYWORDS.contains(&name) {
            return None;
        }
        let mut words = vec![name];
        let mut end = self.at;
        let mut redirected = false;
        loop {
            self.blanks();
            match self.peek() {
                None | Some(b'\n' | b';' | b'|') => break,
                Some(b'&') if self.bytes.get(self.at + 1) != Some(&b'>') => break,
                _ => {}
            }
            if self.redirection()? {
                redirected = true;
            } else if redirected {
                return None;
            } else {
                words.push(self.word()?);
            }
            if !(joined && redirected) {
                end = self.at;
            }
        }
        let is_word = |word: &&str| !is_variable(word) && !word.bytes().all(|byte| byte.is_ascii_digit());
        words.retain(is_word);
        Some(Seen { name, words, text: self.text.get(start..end)? })
    }

    /// What joins one command to the next, and the blanks behind it.
    fn join(&mut self) -> Option<Join> {
        let first = self.peek();
        let second = self.bytes.get(self.at + 1).copied();
        let (signs, join) = match (first, second) {
            (None, _) => return Some(Join::End),
            (Some(b'&'), Some(b'&')) | (Some(b'|'), Some(b'|')) => (2, Join::Chain),
            (Some(b'|'), second) if second != Some(b'&') => (1, Join::Chain),
            (Some(b';'), second) if !matches!(second, Some(b';' | b'&')) => (1, Join::Next),
            (Some(b'&'), _) | (Some(b'\n'), _) => (1, Join::Next),
            _ => return None,
        };
        self.at += signs;
        if matches!(join, Join::Next) {
            while matches!(self.peek(), Some(b' ' | b'\t' | b'\n')) {
                self.at += 1;
            }
            if self.peek().is_none() {
                return Some(Join::End);
            }
        }
        Some(join)
    }

    /// Passes over a redirection. `false`: here is none.
    fn redirection(&mut self) -> Option<bool> {
        let rest = &self.bytes[self.at..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let sign = &rest[digits..];
        let length = match sign {
            [b'&', b'>', b'>', ..] if digits == 0 => 3,
            [b'&', b'>', ..] if digits == 0 => 2,
            [b'>', b'&', one, ..] if one.is_ascii_digit() => {
                self.at += digits + 2;
                while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                    self.at += 1;
                }
                let ends = matches!(self.peek(), None | Some(b' ' | b'\t' | b'\n' | b';' | b'|' | b'&'));
                return ends.then_some(true);
            }
            [b'>', b'>', ..] => 2,
            [b'>' | b'<', ..] => 1,
            _ => return Some(false),
        };
        self.at += digits + length;
        self.blanks();
        // What is no word here is another sign: `<<`, `>|`, `<(`.
        self.word()?;
        Some(true)
    }

    /// One word, up to a blank or a sign that ends it.
    fn word(&mut self) -> Option<&'t str> {
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' => break,
                b'\'' => self.quoted(b'\'')?,
                b'"' => self.quoted(b'"')?,
                b'$' => self.variable()?,
                _ if byte.is_ascii_alphanumeric() || b"_./,:@%+-=*?".contains(&byte) => self.at += 1,
                // Also `<` and `>`: right behind a word they may stand for a number before them.
                _ => return None,
            }
        }
        (self.at > start).then(|| self.text.get(start..self.at)).flatten()
    }

    /// Passes over what stands between two `mark`s.
    fn quoted(&mut self, mark: u8) -> Option<()> {
        self.at += 1;
        loop {
            match self.peek()? {
                byte if byte == mark => {
                    self.at += 1;
                    return Some(());
                }
                b'$' if mark == b'"' => self.variable()?,
                b'`' | b'\\' if mark == b'"' => return None,
                b'\n' | b' '..=b'~' => self.at += 1,
                _ => return None,
            }
        }
    }

    /// Passes over `$name`.
    fn variable(&mut self) -> Option<()> {
        let name = self.bytes.get(self.at + 1..)?;
        let length = name.iter().take_while(|byte| **byte == b'_' || byte.is_ascii_alphanumeric()).count();
        if length == 0 || name[0].is_ascii_digit() {
            return None;
        }
        self.at += 1 + length;
        // What follows may belong to it, or the parser for everything may think so.
        matches!(self.peek(), None | Some(b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b'"' | b'/')).then_some(())
    }
}

fn is_variable(word: &str) -> bool {
    let name = word.strip_prefix('$').unwrap_or_default();
    !name.is_empty() && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}
