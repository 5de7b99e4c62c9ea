//! What a command line would do, in words for the person who is asked.

use std::path::Path;

use crate::analysis::{Analysis, Touch, Touching};
use crate::path::normal;

/// Most things that one sentence names; of the others it says how many there are.
const MAX_NAMED: usize = 5;
/// Longest that one thing may be written, in characters.
const MAX_NAME: usize = 100;

impl Analysis {
    /// What the command line would do, a sentence without subject for each kind of thing: "writes 2 files outside the
    /// project: /etc/a, /etc/b". What only stays inside of `inside` and writes nothing needs no words.
    ///
    /// At most eight sentences of bounded length, in which nothing can turn the screen of a terminal: characters
    /// without a shape are written as escapes. `is_dir` says whether a path is a folder; those end with a slash.
    pub fn in_words(&self, inside: &[&Path], is_dir: &dyn Fn(&Path) -> bool) -> Vec<String> {
        let is_inside = |touch: &&Touch| inside.iter().any(|base| normal(&touch.path).starts_with(base));
        let names = |how: Touching, within: bool| {
            let touches = self.touches.iter().filter(|touch| touch.how == how && is_inside(touch) == within);
            let mut names = Vec::new();
            for name in touches.filter(|touch| !self.is_said(touch)).map(|touch| self.name(touch, inside, is_dir)) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            names
        };
        let mut words = Vec::new();
        if self.broken {
            words.push("is no whole command line: quotes, brackets or key words do not fit together".to_owned());
        }
        let reasons: Vec<String> = self.unknown.iter().map(|why| visible(why)).collect();
        // Of a text that is not whole, the other reasons are only that it is not.
        if !reasons.is_empty() && !self.broken {
            words.push(format!("may do more than can be told beforehand: {}", listed(&reasons, "; ")));
        }
        let outside = [
            ("writes", names(Touching::Write, false)),
            ("reads", names(Touching::Read, false)),
            ("goes to", names(Touching::Enter, false)),
            ("names", names(Touching::Mention, false)),
        ];
        for (verb, names) in outside.iter().filter(|(_, names)| !names.is_empty()) {
            words.push(sentence(verb, names, "outside the project"));
        }
        if self.network && self.hosts.is_empty() {
            words.push("uses the network".to_owned());
        } else if self.network {
            let hosts: Vec<String> = self.hosts.iter().map(|host| visible(host)).collect();
            words.push(format!("uses the network: {}", listed(&hosts, ", ")));
        }
        let written = names(Touching::Write, true);
        if !written.is_empty() {
            words.push(sentence("writes", &written, "in the project"));
        }
        words
    }

    /// Whether another touch tells more about the same path: what is written needs not be said to be read too, and of
    /// a folder that is filled only the folder is said.
    fn is_said(&self, touch: &Touch) -> bool {
        let path = normal(&touch.path);
        let more = |other: &Touch| match touch.how {
            Touching::Write | Touching::Fill => false,
            Touching::Read => other.how == Touching::Write,
            Touching::Enter | Touching::Mention => matches!(other.how, Touching::Write | Touching::Read),
        };
        let filled = |other: &Touch| other.how == touch.how && other.rest.is_empty() && touch.rest == "*";
        self.touches.iter().any(|other| {
            let same = normal(&other.path) == path;
            same && ((more(other) && other.rest == touch.rest) || filled(other))
        })
    }

    fn name(&self, touch: &Touch, inside: &[&Path], is_dir: &dyn Fn(&Path) -> bool) -> String {
        let path = normal(&touch.path);
        let below = |base: &&Path| path.strip_prefix(base).ok().filter(|rest| !rest.as_os_str().is_empty());
        let home = self.home.as_deref().filter(|home| *home != Path::new("/"));
        let mut name = match (inside.iter().find_map(below), home.map(|home| path.strip_prefix(home))) {
            (Some(rest), _) => rest.to_string_lossy().into_owned(),
            (None, Some(Ok(rest))) if rest.as_os_str().is_empty() => "~".to_owned(),
            (None, Some(Ok(rest))) => format!("~/{}", rest.to_string_lossy()),
            (None, None | Some(Err(_))) => path.to_string_lossy().into_owned(),
        };
        let ends_in_slash = touch.path.as_os_str().as_encoded_bytes().ends_with(b"/");
        if !name.ends_with('/') && (if touch.rest.is_empty() { is_dir(&path) } else { ends_in_slash }) {
            name.push('/');
        }
        name.push_str(&touch.rest);
        visible(&name)
    }
}

/// `writes 2 files outside the project: a, b`; of one, its name is enough.
fn sentence(verb: &str, names: &[String], place: &str) -> String {
    match names {
        [only] => format!("{verb} {only} {place}"),
        several => format!("{verb} {} files {place}: {}", several.len(), listed(several, ", ")),
    }
}

/// The first of `items`, and how many more there are.
fn listed(items: &[String], between: &str) -> String {
    let mut text = items.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(between);
    if let Some(more) = items.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

/// `text` on one line and not too long, with an escape for each character that a screen would not show as itself:
/// control characters, and those that have no width or turn the direction of writing.
fn visible(text: &str) -> String {
    let mut line = String::new();
    for c in text.chars().take(MAX_NAME) {
        if is_shown(c) { line.push(c) } else { line.extend(c.escape_default()) }
    }
    if text.chars().nth(MAX_NAME).is_some() {
        line.push('…');
    }
    line
}

fn is_shown(c: char) -> bool {
    let unseen = matches!(u32::from(c),
        0xad | 0x34f | 0x61c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f
        | 0x2028..=0x202f | 0x205f..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb
        | 0xe000..=0xf8ff | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff | 0xf0000..);
    !c.is_control() && !unseen && (c == ' ' || !c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use crate::{Surroundings, analyse};

    use super::*;

    #[track_caller]
    fn check(command: &str, want: &[&str]) {
        let is_dir = |path: &Path| ["/etc", "/tmp", "/home/u", "/home/u/.ssh"].iter().any(|dir| Path::new(dir) == path);
        let around = Surroundings::new(Path::new("/home/u/p")).home(Path::new("/home/u")).is_dir(&is_dir);
        let words = analyse(command, &around).in_words(&[Path::new("/home/u/p")], &is_dir);
        assert_eq!(words, want, "{command}");
    }

    #[test]
    fn what_stays_inside_and_changes_nothing_needs_no_words() {
        check("ls -la && cat src/a.rs | head -n 3", &[]);
        check("git status", &[]);
        check("", &[]);
    }

    #[test]
    fn files_outside_are_named() {
        check("tee /etc/a /etc/b", &["writes 2 files outside the project: /etc/a, /etc/b"]);
        check("cat ~/.ssh/id_rsa", &["reads ~/.ssh/id_rsa outside the project"]);
        check("mv /opt/a /opt/b", &["writes 2 files outside the project: /opt/a, /opt/b"]);
        check("ls /etc ~", &["reads 2 files outside the project: /etc/, ~/"]);
        check("cat /etc/*.conf", &["reads /etc/*.conf outside the project"]);
        check("cd /tmp && ls", &["goes to /tmp/ outside the project"]);
        check("cd /tmp && rm x", &["writes /tmp/x outside the project", "goes to /tmp/ outside the project"]);
        check("echo x > a; rm -rf b/c", &["writes 2 files in the project: a, b/c"]);
        check("unheard /opt/x", &["names /opt/x outside the project"]);
    }

    #[test]
    fn the_network_is_told_with_its_hosts() {
        check("curl https://example.com/x", &["uses the network: example.com"]);
        check("npm install", &["uses the network"]);
    }

    #[test]
    fn what_cannot_be_told_is_told_so() {
        check(
            "python3 -c 'import os'",
            &["may do more than can be told beforehand: python3 -c runs a program text that nobody has read"],
        );
        check("echo 'x", &["is no whole command line: quotes, brackets or key words do not fit together"]);
    }

    #[test]
    fn long_lists_and_long_names_are_cut() {
        check("rm a b c d e f g", &["writes 7 files in the project: a, b, c, d, e and 2 more"]);
        check(&format!("rm {}", "x".repeat(200)), &[&format!("writes {}… in the project", "x".repeat(100))]);
    }

    #[test]
    fn nothing_in_a_name_can_turn_a_screen() {
        check("rm $'a\\x1b[2Jb'", &["writes a\\u{1b}[2Jb in the project"]);
        check("rm 'a\nb'", &["writes a\\nb in the project"]);
        check("rm 'a\u{202e}b\u{200b}'", &["writes a\\u{202e}b\\u{200b} in the project"]);
        check("rm 'é…ß'", &["writes é…ß in the project"]);
    }
}
