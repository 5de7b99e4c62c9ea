//! `{env:NAME}` and `{file:path}` in values.
//!
//! They are put in after the JSON was read, into text values alone, so what they stand for can hold anything; and it
//! is not looked through again, so it cannot name further files.

use std::path::{Path, PathBuf};

use crate::border::Border;
use crate::disk::Disk;
use crate::error::{ConfigError, Place};
use crate::sources::Sources;

/// Largest file that may stand in a value, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// Most that all tokens of one file may stand for together, in bytes.
const MAX_FILLED: usize = 16 * 1024 * 1024;

/// What becomes of tokens.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tokens<'a> {
    /// All are put in.
    Filled,
    /// Those of files are put in; those of variables stay as they are written.
    Named,
    /// Those of files within the border are put in; all others stay as they are written.
    Written(&'a Border),
    /// Those of files within the border are put in; all others are empty.
    Withheld(&'a Border),
}

/// Puts in what tokens stand for, and takes down what should be known about it.
pub(crate) struct Filler<'a> {
    pub sources: &'a Sources,
    /// The file or variable that is read.
    pub origin: &'a str,
    /// Where relative paths begin.
    pub base: &'a Path,
    pub tokens: Tokens<'a>,
    /// Where files are read.
    pub disk: Option<&'a Disk>,
    /// Whether a token stands in the name of a key.
    pub in_keys: bool,
    /// Whether something was kept back that would be put in.
    pub withheld: bool,
    /// Variables that are named and not set, and the byte of the text where.
    pub missing: Vec<(usize, String)>,
    /// Names of the variables that stand for secrets.
    pub secrets: Vec<String>,
    left: usize,
}

impl<'a> Filler<'a> {
    pub(crate) fn new(sources: &'a Sources, origin: &'a str, base: &'a Path) -> Self {
        let (missing, secrets) = (Vec::new(), Vec::new());
        let (tokens, disk) = (Tokens::Filled, None);
        Self {
            sources,
            origin,
            base,
            tokens,
            disk,
            in_keys: false,
            withheld: false,
            missing,
            secrets,
            left: MAX_FILLED,
        }
    }

    /// The name of a key, with its tokens filled.
    pub(crate) fn fill_key(&mut self, key: &str, text: &str, at: usize) -> Result<String, ConfigError> {
        self.in_keys |= key.contains("{env:") || key.contains("{file:");
        self.fill(key, text, at, false)
    }

    /// `value`, which stands at the byte `at` of `text`, with its tokens filled.
    pub(crate) fn fill(&mut self, value: &str, text: &str, at: usize, secret: bool) -> Result<String, ConfigError> {
        let mut out = String::with_capacity(value.len());
        let mut rest = value;
        while let Some(start) = rest.find('{') {
            let (before, from) = rest.split_at(start);
            out.push_str(before);
            rest = match token(from) {
                Token::None => {
                    out.push('{');
                    &from[1..]
                }
                Token::Open(kind) => {
                    return Err(ConfigError::Syntax {
                        origin: self.origin.to_owned(),
                        place: Place::of(text, at),
                        message: format!("{kind} is not closed"),
                        hint: "write } after the name",
                    });
                }
                Token::Env(name, after) => {
                    self.env(name, at, secret, &mut out);
                    after
                }
                Token::File(named, after) => {
                    out.push_str(&self.file(named, text, at)?);
                    after
                }
            };
            if out.len() > value.len() + MAX_FILLED {
                return Err(self.too_much(text, at));
            }
        }
        out.push_str(rest);
        match self.left.checked_sub(out.len().saturating_sub(value.len())) {
            Some(left) => self.left = left,
            None => return Err(self.too_much(text, at)),
        }
        Ok(out)
    }

    fn env(&mut self, name: &str, at: usize, secret: bool, out: &mut String) {
        if secret {
            self.secrets.push(name.to_owned());
        }
        match self.tokens {
            Tokens::Filled => {}
            Tokens::Named | Tokens::Written(_) => {
                out.push_str(&format!("{{env:{name}}}"));
                return;
            }
            Tokens::Withheld(_) => {
                self.withheld = true;
                return;
            }
        }
        match self.sources.environment.get(name) {
            Some(value) => out.push_str(value),
            None => self.missing.push((at, name.to_owned())),
        }
    }

    fn file(&mut self, named: &str, text: &str, at: usize) -> Result<String, ConfigError> {
        let path: PathBuf = match named.strip_prefix("~/") {
            Some(below) => self.sources.home.join(below),
            None => self.base.join(named),
        };
        match self.tokens {
            Tokens::Written(border) if !border.holds(&path) => return Ok(format!("{{file:{named}}}")),
            Tokens::Withheld(border) if !border.holds(&path) => {
                self.withheld = true;
                return Ok(String::new());
            }
            Tokens::Filled | Tokens::Named | Tokens::Written(_) | Tokens::Withheld(_) => {}
        }
        let read = match self.disk {
            Some(disk) => disk.read(&path, MAX_FILE),
            None => crate::file::read(&path, MAX_FILE),
        };
        let read = read.map_err(|source| ConfigError::File {
            origin: self.origin.to_owned(),
            place: Place::of(text, at),
            named: named.to_owned(),
            path,
            source,
        })?;
        Ok(read.trim().to_owned())
    }

    fn too_much(&self, text: &str, at: usize) -> ConfigError {
        ConfigError::Syntax {
            origin: self.origin.to_owned(),
            place: Place::of(text, at),
            message: "what {env:} and {file:} stand for is more than 16 MiB in this file".to_owned(),
            hint: "name smaller files",
        }
    }
}

enum Token<'t> {
    /// A brace that begins no token.
    None,
    /// The beginning of a token that has no end.
    Open(&'static str),
    Env(&'t str, &'t str),
    File(&'t str, &'t str),
}

/// The token at the beginning of `from`, its name, and the rest after it.
fn token(from: &str) -> Token<'_> {
    let (kind, inner) = match (from.strip_prefix("{env:"), from.strip_prefix("{file:")) {
        (Some(inner), _) => ("{env:", inner),
        (None, Some(inner)) => ("{file:", inner),
        (None, None) => return Token::None,
    };
    match inner.split_once('}') {
        None => Token::Open(kind),
        Some((name, _)) if name.trim().is_empty() => Token::None,
        Some((name, after)) if kind == "{env:" => Token::Env(name, after),
        Some((name, after)) => Token::File(name, after),
    }
}

/// Longest token that may stand without quotes, in bytes.
const MAX_BARE: usize = 4096;

/// The length of the token that `bytes` begin with, if it could stand without quotes.
pub(crate) fn bare(bytes: &[u8]) -> Option<usize> {
    if !bytes.starts_with(b"{env:") && !bytes.starts_with(b"{file:") {
        return None;
    }
    let end = bytes.iter().take(MAX_BARE).position(|byte| matches!(byte, b'}' | b'"' | b'\\' | b'\n'))?;
    (bytes[end] == b'}').then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[track_caller]
    fn check(value: &str, want: Result<&str, &str>) {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        fs::create_dir_all(&home).unwrap();
        fs::write(folder.path().join("key.txt"), "  line \"1\"\n{env:A}\n").unwrap();
        fs::write(home.join("h.txt"), "at home").unwrap();
        fs::write(folder.path().join("big"), vec![b'x'; 1024 * 1024]).unwrap();
        fs::write(folder.path().join("bigger"), vec![b'x'; 1024 * 1024 + 1]).unwrap();
        let environment = [("A".to_owned(), "{file:key.txt}".to_owned())].into();
        let sources = Sources { home, environment, ..Sources::default() };
        let mut filler = Filler::new(&sources, "f", folder.path());
        let got = filler.fill(value, value, 0, false).map_err(|error| error.to_string());
        let got = got.map_err(|error| error.replace(&folder.path().display().to_string(), "DIR"));
        assert_eq!(got.as_deref().map_err(String::as_str), want);
    }

    #[test]
    fn tokens_are_put_in_once_and_not_looked_through() {
        check("a{env:A}b", Ok("a{file:key.txt}b"));
        check("{file:key.txt}", Ok("line \"1\"\n{env:A}"));
        check("{file:./key.txt}{file:~/h.txt}", Ok("line \"1\"\n{env:A}at home"));
        check("{env:NONE}{ env:A}{", Ok("{ env:A}{"));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let absent = "f, line 1, column 1: {file:no} stands for DIR/no, which cannot be read: No such file or directory (os error 2)";
        check("{file:no}", Err(absent));
        let big = "f, line 1, column 1: {file:bigger} stands for DIR/bigger, which cannot be read: it is not a file of at most 1 MiB";
        check("{file:bigger}", Err(big));
    }

    #[test]
    fn all_tokens_of_a_file_together_are_bounded() {
        let big = "f, line 1, column 1: what {env:} and {file:} stand for is more than 16 MiB in this file; name smaller files";
        check(&"{file:big}".repeat(17), Err(big));
    }

    #[test]
    fn unset_variables_and_those_of_secrets_are_taken_down() {
        let sources = Sources { environment: [("A".to_owned(), String::new())].into(), ..Sources::default() };
        let mut filler = Filler::new(&sources, "f", Path::new("/"));
        assert_eq!(filler.fill("{env:A}{env:B}", "", 3, true).unwrap(), "");
        assert_eq!((filler.missing, filler.secrets), (vec![(3, "B".to_owned())], vec!["A".to_owned(), "B".to_owned()]));
    }
}
