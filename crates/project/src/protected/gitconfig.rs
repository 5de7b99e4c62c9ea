//! A repository's settings, as git reads them. Pure.

use std::fmt;

/// Largest settings file that is taken apart, in bytes.
pub(super) const MAX_BYTES: usize = 256 * 1024;

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Setting {
    /// In small letters.
    pub(super) section: String,
    /// The part in quotes, as it is written.
    pub(super) part: Option<String>,
    /// In small letters.
    pub(super) name: String,
    /// `None` where nothing is said, which means yes.
    pub(super) value: Option<String>,
}

impl Setting {
    /// What it is called: `branch.main.remote`.
    pub(super) fn key(&self) -> String {
        match &self.part {
            Some(part) => format!("{}.{part}.{}", self.section, self.name),
            None => format!("{}.{}", self.section, self.name),
        }
    }
}

impl fmt::Display for Setting {
    /// As a file that says only this.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        match &self.part {
            Some(part) => writeln!(f, "[{} \"{}\"]", self.section, quoted(part))?,
            None => writeln!(f, "[{}]", self.section)?,
        }
        match &self.value {
            Some(value) => {
                let value = quoted(value).replace('\n', "\\n").replace('\t', "\\t").replace('\u{8}', "\\b");
                writeln!(f, "\t{} = \"{value}\"", self.name)
            }
            None => writeln!(f, "\t{}", self.name),
        }
    }
}

/// All settings of a file, in order; `None` if it is too large or git would not read it either. Nothing in it is followed.
pub(super) fn parse(bytes: &[u8]) -> Option<Vec<Setting>> {
    if bytes.len() > MAX_BYTES || bytes.contains(&0) || bytes.starts_with("\u{feff}".as_bytes()) {
        return None;
    }
    // A line may end in a carriage return too.
    let text = std::str::from_utf8(bytes).ok()?.replace("\r\n", "\n");
    let mut signs = text.chars().peekable();
    let (mut settings, mut section) = (Vec::new(), None);
    while let Some(sign) = signs.next() {
        match sign {
            '#' | ';' => while signs.next_if(|sign| *sign != '\n').is_some() {},
            '[' => section = Some(head(&mut signs)?),
            sign if space(sign) => {}
            sign if sign.is_ascii_alphabetic() => {
                let (section, part): &(String, Option<String>) = section.as_ref()?;
                let mut name = String::from(sign.to_ascii_lowercase());
                while let Some(sign) = signs.next_if(|sign| sign.is_ascii_alphanumeric() || *sign == '-') {
                    name.push(sign.to_ascii_lowercase());
                }
                while signs.next_if(|sign| matches!(sign, ' ' | '\t')).is_some() {}
                let value = match signs.next() {
                    None | Some('\n') => None,
                    Some('=') => Some(value(&mut signs)?),
                    Some(_) => return None,
                };
                settings.push(Setting { section: section.clone(), part: part.clone(), name, value });
            }
            _ => return None,
        }
    }
    Some(settings)
}

type Signs<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// What stands in brackets: a section, and a part of it in quotes.
fn head(signs: &mut Signs<'_>) -> Option<(String, Option<String>)> {
    let mut section = String::new();
    loop {
        match signs.next()? {
            // The old way of writing a part.
            ']' => {
                let (section, part) = match section.split_once('.') {
                    Some((section, part)) => (section.to_owned(), Some(part.to_owned())),
                    None => (section, None),
                };
                return (!section.is_empty()).then_some((section, part));
            }
            ' ' | '\t' => break,
            sign if sign.is_ascii_alphanumeric() || matches!(sign, '-' | '.') => {
                section.push(sign.to_ascii_lowercase())
            }
            _ => return None,
        }
    }
    while signs.next_if(|sign| matches!(sign, ' ' | '\t')).is_some() {}
    if signs.next()? != '"' {
        return None;
    }
    let mut part = String::new();
    loop {
        match signs.next()? {
            '"' => break,
            '\n' => return None,
            '\\' => part.push(signs.next().filter(|sign| *sign != '\n')?),
            sign => part.push(sign),
        }
    }
    (signs.next()? == ']' && !section.is_empty()).then_some((section, Some(part)))
}

/// What stands after `=`.
fn value(signs: &mut Signs<'_>) -> Option<String> {
    let (mut value, mut quoted) = (String::new(), false);
    // Blanks at the end count only in quotes.
    let mut kept = 0;
    loop {
        match signs.next() {
            None | Some('\n') => {
                value.truncate(kept);
                return (!quoted).then_some(value);
            }
            Some('#' | ';') if !quoted => while signs.next_if(|sign| *sign != '\n').is_some() {},
            Some(sign) if space(sign) && !quoted => {
                if !value.is_empty() {
                    value.push(sign);
                }
            }
            Some('"') => {
                quoted = !quoted;
                kept = value.len();
            }
            Some(sign) => {
                match sign {
                    '\\' => match signs.next()? {
                        '\n' => continue,
                        't' => value.push('\t'),
                        'n' => value.push('\n'),
                        'b' => value.push('\u{8}'),
                        sign @ ('"' | '\\') => value.push(sign),
                        _ => return None,
                    },
                    sign => value.push(sign),
                }
                kept = value.len();
            }
        }
    }
}

fn space(sign: char) -> bool {
    matches!(sign, ' ' | '\t' | '\n' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Vec<(String, Option<String>)>> {
        Some(parse(text.as_bytes())?.into_iter().map(|setting| (setting.key(), setting.value)).collect())
    }

    #[track_caller]
    fn check(text: &str, want: &[(&str, Option<&str>)]) {
        let want = want.iter().map(|(key, value)| ((*key).to_owned(), value.map(str::to_owned))).collect();
        assert_eq!(read(text), Some(want), "{text:?}");
    }

    #[test]
    fn settings_are_read_as_git_reads_them() {
        check("", &[]);
        check("[core]\n\tbare = false\n", &[("core.bare", Some("false"))]);
        check("[Core] Bare\n", &[("core.bare", None)]);
        check("[core]bare=\n", &[("core.bare", Some(""))]);
        check("[branch \"A.b\"]\r\n remote = o\r\n", &[("branch.A.b.remote", Some("o"))]);
        check("[branch.Main]\nmerge = x", &[("branch.main.merge", Some("x"))]);
        check("[a \"x\\\"y\\\\z\"]\nb = 1", &[("a.x\"y\\z.b", Some("1"))]);
        check("# c\n; c\n[a] ; c\nb = 1 # c\nc = \"1 # c\" ; d\n", &[("a.b", Some("1")), ("a.c", Some("1 # c"))]);
        check("[a]\nb =  x  y  \nc = \"  x \" z \n", &[("a.b", Some("x  y")), ("a.c", Some("  x  z"))]);
        check("[a]\nb = 1\\\n  2\nc = x\\ny\\t\\\"\\\\", &[("a.b", Some("1  2")), ("a.c", Some("x\ny\t\"\\"))]);
        check("[a]\nb = a\"b\"c\"d e\"\n", &[("a.b", Some("abcd e"))]);
    }

    #[test]
    fn what_git_does_not_read_is_nothing() {
        for text in [
            "a = 1",
            "[a",
            "[a \"b]",
            "[a \"b\" ]\nc",
            "[a b]",
            "[]",
            "[a]\n1b = 1",
            "[a]\nb c",
            "[a]\nb = \"x\n\"",
            "[a]\nb = \\x",
            "[a_b]\nc",
            "[a]\n=1",
            "[a]\nb = \0",
            "\u{feff}[a]\nb",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
        assert!(parse(b"[a]\nb = \xff").is_none());
        let long = |size: usize| format!("#{}", "x".repeat(size - 1));
        assert!(parse(long(MAX_BYTES).as_bytes()).is_some());
        assert!(parse(long(MAX_BYTES + 1).as_bytes()).is_none());
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = "[a]\nb\nc = \"x # y\\n\\t\\\\ \\\" \"\n[d \"e\\\\f\\\"g.h\"]\ni = \n[j]\nk = 1";
        let settings = parse(text.as_bytes()).unwrap();
        let written: String = settings.iter().map(Setting::to_string).collect();
        assert_eq!(parse(written.as_bytes()).unwrap(), settings);
    }

    /// What git itself reads from `text`; `None` if it does not read it.
    fn by_git(file: &std::path::Path, text: &str) -> Option<Vec<(String, Option<String>)>> {
        std::fs::write(file, text).unwrap();
        let listed = ["config", "-z", "--list", "--no-includes", "--file"];
        let output = std::process::Command::new("git").args(listed).arg(file).output().unwrap();
        let text = output.status.success().then(|| String::from_utf8(output.stdout).unwrap())?;
        let entry = |entry: &str| match entry.split_once('\n') {
            Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
            None => (entry.to_owned(), None),
        };
        Some(text.split_terminator('\0').map(entry).collect())
    }

    #[test]
    fn git_itself_agrees() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        let texts = [
            "[a]\nb = 1\\\n  2\nc = x\\ny\\t\\\"\\\\\n",
            "[a \"x\\\"y\\\\z\"]\nb =  1  2 \" 3\"  # no\n",
            "[A.B]\n C-d = \"q\"w\n e\n[f]g=h;i\n",
            "[a]\nb = x\ty  \n\n;\n[c \"\"]\nd=\"\"\n",
            "[a]\nb = 1\u{c}\r\n",
            "[a]\n\u{b}b = 1\r\n",
            "[a]\r\n\tb = 1 \r\n\r\n[c]d\r\n",
        ];
        for text in texts {
            assert_eq!(read(text), by_git(&file, text), "{text:?}");
        }
        // Pieces that mean something, put together at random, the same ones each time.
        let pieces = [
            "[",
            "]",
            "[a]\n",
            "[b \"c\"]",
            "\"",
            "\\",
            "\n",
            "\r\n",
            "\r",
            " ",
            "\t",
            "#",
            ";",
            "=",
            "x = 1",
            "y",
            ".",
            "-",
            "\\\n",
            "\\n",
            "Z9",
            "é",
            "!x\n",
        ];
        let mut state = 1u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % below
        };
        for _ in 0..300 {
            let text: String = (0..next(12)).map(|_| pieces[next(pieces.len())]).collect();
            let text = format!("[s]\n{text}");
            let (own, git) = (read(&text), by_git(&file, &text));
            // To read less than git is safe: what cannot be read is not left standing.
            assert!(own.is_none() || own == git, "{text:?}: {own:?}, git: {git:?}");
        }
    }
}
