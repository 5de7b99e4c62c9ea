//! Secrets on command lines and in netrc files. Pure.

use std::ops::Range;

use super::named::is_secret_name;
use super::span::{Spot, Value, value};
use super::words::{is_ordinary, is_stand_in};

/// Flags behind which a value is a secret, besides those that end as its names do.
const FLAGS: [&str; 11] = [
    "access-key",
    "secret-key",
    "auth-key",
    "account-key",
    "encryption-key",
    "license-key",
    "master-key",
    "-pass",
    "-pwd",
    "api-secret",
    "passcode",
];
/// What ends a value on a command line.
const ENDS: &str = "\"'`;|)<>,";

/// How a program takes a secret behind a flag of one letter.
enum Takes {
    /// At once, and some at once only.
    Glued,
    /// At once, or as the next word.
    Either,
    /// Behind the name of the user and this.
    Behind(char),
}

/// Programs, what must stand behind their name if anything, their flag, and how it is followed.
const PROGRAMS: [(&str, &str, &str, Takes); 16] = [
    ("mysql", "", "-p", Takes::Either),
    ("mysqldump", "", "-p", Takes::Either),
    ("mysqladmin", "", "-p", Takes::Either),
    ("mysqlimport", "", "-p", Takes::Either),
    ("mariadb", "", "-p", Takes::Either),
    ("mariadb-dump", "", "-p", Takes::Either),
    ("mongo", "", "-p", Takes::Either),
    ("mongosh", "", "-p", Takes::Either),
    ("sshpass", "", "-p", Takes::Either),
    ("docker", "login", "-p", Takes::Either),
    ("podman", "login", "-p", Takes::Either),
    ("redis-cli", "", "-a", Takes::Either),
    ("ldapsearch", "", "-w", Takes::Either),
    ("7z", "", "-p", Takes::Glued),
    ("curl", "", "-u", Takes::Behind(':')),
    ("smbclient", "", "-U", Takes::Behind('%')),
];

/// The secrets on command lines, and of netrc files, in `text`.
pub(super) fn spots(text: &str) -> Vec<Spot> {
    let mut spots = long(text);
    let mut begin = 0;
    for line in text.split_inclusive('\n') {
        spots.extend(short(text, begin..begin + line.len()));
        begin += line.len();
    }
    spots.extend(netrc(text));
    spots
}

/// Whether the value behind the flag `flag` is a secret: `--api-key`, `-password`.
pub(super) fn is_secret_flag(flag: &str) -> bool {
    let Some(name) = flag.strip_prefix('-').map(|flag| flag.trim_start_matches('-').to_ascii_lowercase()) else {
        return false;
    };
    let plain = ["pass", "pwd"].contains(&name.as_str()) && flag.starts_with("--");
    !name.starts_with("no-") && (plain || is_secret_name(&name) || FLAGS.iter().any(|end| name.ends_with(end)))
}

/// What stands behind flags with a name.
fn long(text: &str) -> Vec<Spot> {
    let mut spots = Vec::new();
    for (at, _) in text.match_indices('-') {
        let begins =
            text[..at].chars().next_back().is_none_or(|before| before.is_whitespace() || "\"'`([,=".contains(before));
        let rest = &text[at..];
        let flag = &rest[..rest
            .find(|letter: char| !letter.is_ascii_alphanumeric() && !"-_".contains(letter))
            .unwrap_or(rest.len())];
        if !begins || !is_secret_flag(flag) {
            continue;
        }
        let end = at + flag.len();
        let found = match &text[end..] {
            glued if glued.starts_with('=') => value(text, end + 1, ENDS),
            _ => next(text, end),
        };
        spots.extend(found.filter(|found| is_secret(text, found)).map(|found| Spot::key(found.range)));
    }
    spots
}

/// The next word of the command line that goes on at `end`, or of a list of them.
fn next(text: &str, end: usize) -> Option<Value> {
    let rest = &text[end..];
    let gap = rest.find(|letter: char| !letter.is_whitespace() && !"\\\",'".contains(letter))?;
    // The line may go on on the next one.
    let blank = &rest[..gap];
    let is_gap = blank.starts_with(' ') && (!blank.contains('\n') || blank.contains("\\\n")) || blank.contains(',');
    if !is_gap {
        return None;
    }
    // A quote at its end is the value's.
    let quote = blank.trim_end_matches(['"', '\'', '\\']).len();
    let start = if blank.contains("\\\n") { end + gap } else { end + quote };
    value(text, start, ENDS).filter(|found| found.quoted || !text[found.range.clone()].starts_with('-'))
}

fn is_secret(text: &str, found: &Value) -> bool {
    let word = &text[found.range.clone()];
    let literal = text[..found.range.start].ends_with('\'');
    !word.is_empty() && !is_ordinary(word) && (!is_stand_in(word) || literal && word.starts_with('$'))
}

/// What stands behind flags of one letter, on the line at `line`.
fn short(text: &str, line: Range<usize>) -> Vec<Spot> {
    let (mut spots, mut program) = (Vec::new(), None::<&(&str, &str, &str, Takes)>);
    let mut said = true;
    for (at, word) in words(text, line) {
        let bare = word.trim_matches(['"', '\'', '`', '(', ')', '$', '\\']);
        let name = bare.rsplit('/').next().unwrap_or_default();
        if let Some(known) = PROGRAMS.iter().find(|(program, ..)| *program == name) {
            (program, said) = (Some(known), known.1.is_empty());
            continue;
        }
        let Some((_, behind, flag, takes)) = program else { continue };
        said |= bare == *behind;
        let found = follows(text, at + flag.len(), takes).filter(|_| said && word.starts_with(flag));
        // What comes behind may be another program's.
        if found.is_some() || word.ends_with(['|', ';', '&']) {
            program = None;
        }
        spots.extend(found);
    }
    spots
}

/// The secret that follows at `at`, behind a flag.
fn follows(text: &str, at: usize, takes: &Takes) -> Option<Spot> {
    text.get(at..)?;
    let glued = !text[at..].starts_with(|letter: char| letter.is_whitespace() || "\"',`".contains(letter))
        || text[at..].starts_with(['\'', '"'])
            && value(text, at, ENDS).is_some_and(|found| found.quoted && found.range.start == at + 1);
    let found = match (takes, glued) {
        (_, true) => value(text, at, ENDS),
        (Takes::Glued, false) => None,
        (Takes::Either | Takes::Behind(_), false) => next(text, at),
    }?;
    let found = match takes {
        Takes::Behind(sign) => {
            let within = text[found.range.clone()].find(*sign)? + sign.len_utf8();
            Value { range: found.range.start + within..found.range.end, ..found }
        }
        Takes::Glued | Takes::Either => found,
    };
    // Where it is a word of its own it may be a name all the same.
    let spot = Spot::key(found.range.clone());
    is_secret(text, &found).then(|| if glued || matches!(takes, Takes::Behind(_)) { spot } else { spot.only_here() })
}

/// The passwords of a netrc file.
fn netrc(text: &str) -> Vec<Spot> {
    let mut spots = Vec::new();
    // Listings put numbers before lines.
    let is_number = |word: &str| {
        word.ends_with(':') && word.len() > 1 && word[..word.len() - 1].bytes().all(|byte| byte.is_ascii_digit())
    };
    let all: Vec<(usize, &str)> = words(text, 0..text.len()).filter(|(_, word)| !is_number(word)).collect();
    let mut at = 0;
    while at < all.len() {
        let begin = all[at].1.trim_start_matches(['"', '\'', '`', '(']);
        let mut pair = match begin {
            "machine" => at + 2,
            "default" => at + 1,
            _ => {
                at += 1;
                continue;
            }
        };
        while let (Some((_, key)), Some((place, _))) = (all.get(pair), all.get(pair + 1)) {
            if !["login", "password", "account", "port"].contains(key) {
                break;
            }
            let found = value(text, *place, "\"'`").filter(|found| is_secret(text, found));
            spots.extend(found.filter(|_| *key == "password").map(|found| Spot::key(found.range)));
            pair += 2;
        }
        at = pair.max(at + 1);
    }
    spots
}

/// The words in `range` of `text`, with their places.
fn words(text: &str, range: Range<usize>) -> impl Iterator<Item = (usize, &str)> {
    let begin = text.as_ptr() as usize;
    text[range].split_whitespace().map(move |word| (word.as_ptr() as usize - begin, word))
}
