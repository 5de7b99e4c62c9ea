//! Archives: `tar` and its like.

use std::path::Path;

use crate::analysis::Touching;
use crate::judge::Command;
use crate::programs::options::is_abbreviation;
use crate::text::Arg;
use crate::walk::Walk;

/// Programs that unpack into the folder they run in, or the one that the option names.
const UNPACKERS: [(&str, &str); 6] =
    [("unzip", "-d"), ("7z", "-o"), ("7za", "-o"), ("7zz", "-o"), ("unrar", ""), ("ar", "")];

/// Letters of `tar` with a value.
const VALUED: &str = "fCTXgbHKLNVFI";
/// Its long options whose value is a file or a folder, and what happens to that.
const LONG: [(&str, Touching); 7] = [
    ("--file", Touching::Write),
    ("--directory", Touching::Write),
    ("--index-file", Touching::Write),
    ("--listed-incremental", Touching::Write),
    ("--one-top-level", Touching::Write),
    ("--exclude-from", Touching::Read),
    ("--files-from", Touching::Read),
];

/// Looks at a program that unpacks. `false`: it is none.
pub(crate) fn run(walk: &mut Walk<'_>, command: Command<'_>) -> bool {
    if matches!(command.name, "tar" | "gtar" | "bsdtar") {
        tar(walk, command.args);
        return true;
    }
    let Some((_, option)) = UNPACKERS.iter().find(|(name, _)| *name == command.name) else { return false };
    super::mention_all(walk, command.args);
    let first = command.args.first().and_then(Arg::known).unwrap_or_default();
    if !unpacks(command, &first) {
        // Without a folder to unpack to: the archive itself is looked at, or written.
        let writes = match command.name {
            "ar" => !matches!(first.trim_start_matches('-').chars().next(), Some('t' | 'p')),
            "unzip" => false,
            _ => matches!(first.as_str(), "a" | "u" | "d" | "rn" | "m" | "f"),
        };
        let archive = command.args.iter().skip(1).find(|arg| !arg.start.starts_with('-'));
        archive.into_iter().filter(|_| writes).for_each(|archive| walk.touch(archive, Touching::Write));
        return true;
    }
    let mut goal = None;
    let mut args = command.args.iter();
    while let Some(arg) = args.next().filter(|_| !option.is_empty()) {
        let text = arg.known().unwrap_or_default();
        if text == *option && !command.name.starts_with("7z") {
            goal = args.next().cloned();
        } else if let Some(rest) = text.strip_prefix(option).filter(|rest| !rest.is_empty()) {
            goal = Some(Arg::plain(rest));
        }
    }
    walk.fill(&goal.unwrap_or_else(|| Arg::plain(".")));
    true
}

fn unpacks(command: Command<'_>, first: &str) -> bool {
    match command.name {
        "unzip" => !command.texts().iter().flatten().any(|text| {
            text.strip_prefix('-').is_some_and(|letters| letters.contains(['l', 't', 'p', 'c', 'v', 'Z', 'z']))
        }),
        "ar" => first.trim_start_matches('-').starts_with('x'),
        _ => matches!(first, "x" | "e"),
    }
}

/// `tar`: the archive, the folder it goes to, and what is packed. What an archive would unpack is not known: it may be
/// anything in the folder.
fn tar(walk: &mut Walk<'_>, args: &[Arg]) {
    let words: Vec<String> = args.iter().map(|arg| arg.known().unwrap_or_default()).collect();
    let cluster = |at: usize, text: &str| at == 0 && !text.starts_with('-');
    let mode = |letters: &str, long: &[&str]| {
        words.iter().enumerate().any(|(at, text)| {
            let short = cluster(at, text) || (text.starts_with('-') && !text.starts_with("--"));
            (short && before_values(text).contains(|c| letters.contains(c)))
                || long.iter().any(|long| text.starts_with("--") && is_abbreviation(text, long))
        })
    };
    let packs = mode("cruA", &["--create", "--append", "--update", "--concatenate"]);
    let unpacks = mode("x", &["--extract", "--get"]);
    if unpacks && mode("P", &["--absolute-names"]) {
        walk.unknown("tar may unpack to anywhere");
    }
    let mut folders: Vec<Arg> = Vec::new();
    let mut at = 0;
    while let Some((arg, text)) = args.get(at).zip(words.get(at)) {
        at += 1;
        if let Some(long) = text.strip_prefix("--").filter(|long| !long.is_empty()) {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let Some((name, how)) = LONG.iter().find(|(long, _)| is_abbreviation(&format!("--{name}"), long)) else {
                super::mention(walk, arg);
                continue;
            };
            let value = match value {
                Some(value) => Some(Arg::plain(value)),
                None if *name == "--one-top-level" => None,
                None => {
                    at += 1;
                    args.get(at - 1).cloned()
                }
            };
            if let Some(value) = value {
                let letter = match *name {
                    "--directory" | "--one-top-level" => 'C',
                    "--file" => 'f',
                    "--files-from" => 'T',
                    _ => ' ',
                };
                valued(walk, letter, &value, *how, packs, &mut folders);
            }
        } else if cluster(at - 1, text) && !arg.dynamic {
            // Each of these takes one of the next words, in this order.
            for letter in text.chars().filter(|letter| VALUED.contains(*letter)) {
                let Some(value) = args.get(at).cloned() else { break };
                at += 1;
                valued(walk, letter, &value, Touching::Read, packs, &mut folders);
            }
        } else if text.starts_with('-') && text.len() > 1 {
            // The first of these takes what is left of the word, or the next one.
            let Some((place, letter)) = text.char_indices().find(|(_, letter)| VALUED.contains(*letter)) else {
                continue;
            };
            let rest = text.get(place + 1..).filter(|rest| !rest.is_empty()).map(Arg::plain);
            let value = rest.or_else(|| {
                at += 1;
                args.get(at - 1).cloned()
            });
            if let Some(value) = value {
                valued(walk, letter, &value, Touching::Read, packs, &mut folders);
            }
        } else if packs {
            walk.touch(arg, Touching::Read);
            // It is looked for in the folder that was named before.
            for folder in &folders {
                if let (Some(folder), false) = (folder.known(), Path::new(text).is_absolute()) {
                    walk.touch_path(&format!("{folder}/{text}"), Touching::Read);
                }
            }
        } else {
            super::mention(walk, arg);
        }
    }
    if unpacks {
        if folders.is_empty() {
            folders.push(Arg::plain("."));
        }
        folders.iter().for_each(|folder| walk.fill(folder));
    }
}

/// The letters of a group of options up to the first with a value; all of one without a dash.
fn before_values(text: &str) -> &str {
    let Some(letters) = text.strip_prefix('-') else { return text };
    letters.split_inclusive(|c| VALUED.contains(c)).next().unwrap_or_default()
}

fn valued(walk: &mut Walk<'_>, letter: char, value: &Arg, how: Touching, packs: bool, folders: &mut Vec<Arg>) {
    match letter {
        'f' => {
            let text = value.known().unwrap_or_default();
            if text.split('/').next().unwrap_or_default().contains(':') {
                walk.out.network = true;
                walk.unknown("the archive may be on another machine");
            }
            walk.touch(value, if packs { Touching::Write } else { Touching::Read });
        }
        'C' => {
            walk.touch(value, if packs { Touching::Read } else { Touching::Write });
            folders.push(value.clone());
        }
        'g' => walk.touch(value, Touching::Write),
        'T' => {
            walk.touch(value, Touching::Read);
            if packs {
                walk.unknown("which files are packed is told by another file");
            }
        }
        'X' => walk.touch(value, Touching::Read),
        'I' | 'F' | 'b' | 'H' | 'K' | 'L' | 'N' | 'V' => {}
        _ => walk.touch(value, how),
    }
}
