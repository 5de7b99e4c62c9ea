//! Programs of which it is known what they write: by options, in place, or as their last word.

mod known;

use self::known::{ROWS, Words};
use crate::analysis::Touching;
use crate::judge::Command;
use crate::text::Arg;
use crate::walk::Walk;

pub(crate) fn is_known(name: &str) -> bool {
    ROWS.iter().any(|row| row.names.contains(&name))
}

/// Looks at a program of this table. `false`: it is none.
pub(crate) fn run(walk: &mut Walk<'_>, command: Command<'_>) -> bool {
    let Some(row) = ROWS.iter().find(|row| row.names.contains(&command.name)) else {
        return special(walk, command);
    };
    let mut words: Vec<&Arg> = Vec::new();
    let mut folders: Vec<Arg> = Vec::new();
    let mut args = command.args.iter();
    while let Some(arg) = args.next() {
        let text = arg.known().unwrap_or_else(|| arg.start.clone());
        if !text.starts_with('-') || text == "-" {
            words.push(arg);
            continue;
        }
        let valued = |options: &'static [&'static str]| options.iter().find_map(|option| value(&text, option));
        let (found, is_folder) = match valued(row.file) {
            Some(found) => (Some(found), false),
            None => (valued(row.folder), true),
        };
        if found.is_none() && valued(row.other) == Some(None) {
            super::mention(walk, arg);
            args.next().into_iter().for_each(|value| super::mention(walk, value));
            continue;
        }
        let goal = match found {
            None => {
                super::mention(walk, arg);
                continue;
            }
            Some(Some(_)) if arg.dynamic => {
                super::mention(walk, arg);
                continue;
            }
            Some(Some(value)) => Some(Arg::plain(value)),
            Some(None) => args.next().cloned(),
        };
        let Some(goal) = goal else { continue };
        walk.touch(&goal, Touching::Write);
        if is_folder {
            // Behind `-` and `.`, what is built stays where it is.
            folders.push(goal);
        }
    }
    let has = |options: &[&str]| {
        command.texts().iter().flatten().any(|text| options.iter().any(|option| holds(text, option)))
    };
    let writes = (row.only_with.is_empty() || has(row.only_with)) && !has(row.never_with);
    let last = words.len().saturating_sub(1);
    for (at, word) in words.iter().enumerate() {
        let written = match row.words {
            Words::Any => false,
            Words::Written => at >= row.skip,
            Words::FirstWritten => at == 0,
            Words::LastWritten => at == last && last > 0,
        };
        if written && writes {
            walk.touch(word, Touching::Write);
        } else if row.words == Words::Written && at >= row.skip {
            walk.touch(word, Touching::Read);
        } else {
            super::mention(walk, word);
        }
    }
    downloads(walk, command, &folders);
    true
}

/// The value of `option` in `text`: `None` where it is another option, `Some(None)` where it is the next word.
fn value<'t>(text: &'t str, option: &str) -> Option<Option<&'t str>> {
    let rest = text.strip_prefix(option)?;
    if rest.is_empty() {
        return Some(None);
    }
    if let Some(value) = rest.strip_prefix('=') {
        return Some(Some(value));
    }
    // `-ofile`; and `-sSo file` is found by its last letter.
    (option.len() == 2 && !option.starts_with("--")).then_some(Some(rest))
}

fn holds(text: &str, option: &str) -> bool {
    let grouped = option.len() == 2
        && !text.starts_with("--")
        && text.strip_prefix('-').is_some_and(|letters| letters.len() < 5 && letters.contains(&option[1..]));
    text == option || grouped || (option.starts_with("--") && text.starts_with(&format!("{option}=")))
}

/// What `curl -O` and `wget` save: a file named as the end of the address, in a folder or here.
fn downloads(walk: &mut Walk<'_>, command: Command<'_>, folders: &[Arg]) {
    let texts: Vec<String> = command.texts().into_iter().flatten().collect();
    let grouped =
        |letter: char| move |text: &String| text.starts_with('-') && !text.starts_with("--") && text.contains(letter);
    let saves = match command.name {
        "curl" => texts.iter().any(|text| grouped('O')(text) || text.starts_with("--remote-name")),
        "wget" | "wget2" => {
            !texts.iter().any(|text| grouped('O')(text) || text.starts_with("--output-d") || text == "--spider")
        }
        _ => false,
    };
    // `-sSo file`: the last letter of a group has its value in the next word.
    for (at, text) in texts.iter().enumerate() {
        let file = match command.name {
            "curl" => "oDc",
            "wget" | "wget2" => "Ooa",
            _ => "",
        };
        let letters = text.strip_prefix('-').filter(|letters| letters.len() > 1 && !letters.starts_with('-'));
        let ends = letters
            .is_some_and(|letters| letters.ends_with(|c| file.contains(c)) && letters.chars().all(char::is_alphabetic));
        if let Some(goal) = texts.get(at + 1).filter(|_| ends) {
            walk.touch_path(goal, Touching::Write);
        }
    }
    if !saves {
        return;
    }
    let recursive = command.name != "curl"
        && texts.iter().any(|text| {
            grouped('r')(text)
                || grouped('m')(text)
                || grouped('p')(text)
                || grouped('i')(text)
                || text == "--recursive"
                || text == "--mirror"
        });
    let folder = folders.last().and_then(Arg::literal);
    if recursive {
        return walk.fill(&Arg::plain(folder.as_deref().unwrap_or(".")));
    }
    for address in texts.iter().filter(|text| text.contains("://")) {
        let path = address.split(['?', '#']).next().unwrap_or_default();
        let name = path.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
        let name = name.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("index.html");
        walk.touch_path(&format!("{}/{name}", folder.as_deref().unwrap_or(".")), Touching::Write);
    }
}

/// Those with rules of their own.
fn special(walk: &mut Walk<'_>, command: Command<'_>) -> bool {
    match command.name {
        "ssh-keygen" => {
            let looks = command.has(&["-l", "-y", "-F", "-B", "-e", "-i", "-lf", "-yf", "-ef", "-if", "-E"]);
            let file = command
                .args
                .iter()
                .position(|arg| arg.known().is_some_and(|text| text.starts_with('-') && text.ends_with('f')));
            match file.and_then(|at| command.args.get(at + 1)) {
                Some(file) if looks => walk.touch(file, Touching::Read),
                Some(file) => {
                    walk.touch(file, Touching::Write);
                    if let Some(file) = file.literal() {
                        walk.touch_path(&format!("{file}.pub"), Touching::Write);
                    }
                }
                None if looks => {}
                None => walk.touch_path("~/.ssh", Touching::Write),
            }
            super::mention_all(walk, command.args);
        }
        "split" => {
            super::mention_all(walk, command.args);
            let mut words: Vec<&Arg> = Vec::new();
            let mut args = command.args.iter();
            while let Some(arg) = args.next() {
                let valued = ["-a", "-b", "-C", "-l", "-n", "-t", "--bytes", "--lines", "--number", "--suffix-length"];
                match arg.start.starts_with('-') && arg.start.len() > 1 {
                    true if valued.contains(&arg.start.as_str()) => drop(args.next()),
                    true => {}
                    false => words.push(arg),
                }
            }
            let prefix = words.get(1).and_then(|arg| arg.known()).unwrap_or_else(|| "x".to_owned());
            walk.touch(&Arg::beginning(&prefix), Touching::Write);
        }
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_program_stands_here_twice() {
        let mut all: Vec<&str> = ROWS.iter().flat_map(|row| row.names).copied().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn values_are_found_in_and_behind_options() {
        assert_eq!(value("-o", "-o"), Some(None));
        assert_eq!(value("-ofile", "-o"), Some(Some("file")));
        assert_eq!(value("--out=file", "--out"), Some(Some("file")));
        assert_eq!(value("--output", "--out"), None);
        assert_eq!(value("-out", "-out"), Some(None));
        assert_eq!(value("-x", "-o"), None);
    }
}
