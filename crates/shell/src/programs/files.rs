//! Programs whose arguments are files, and what they do to them.

use crate::analysis::Touching;
use crate::judge::Command;
use crate::programs::copies;
use crate::programs::options::is_abbreviation;
use crate::text::Arg;
use crate::walk::Walk;
use crate::word::short;

/// What a program does with the words that are no options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    /// Reads them all.
    Read,
    /// Writes, makes or removes them all.
    Write,
    /// Writes them all, unless it is told to write to its output, to test or to list.
    Pack,
    /// Reads all but the last, writes the last.
    Copy,
    /// Takes all but the last away, writes the last.
    Move,
    /// Reads the first, writes the second.
    Convert,
    /// The first is no file; reads the others.
    Search,
    /// The first is no file; changes the others.
    Change,
}

struct Row {
    names: &'static [&'static str],
    does: Does,
    /// Letters of options with a value.
    valued: &'static str,
    /// Long options whose value is the next word.
    long: &'static [&'static str],
    /// Options whose value is written.
    output: &'static [&'static str],
    /// Options whose value is read.
    input: &'static [&'static str],
    /// It has no long option that names a file.
    no_paths: bool,
}

const ROW: Row = Row { names: &[], does: Does::Read, valued: "", long: &[], output: &[], input: &[], no_paths: false };

const ROWS: &[Row] = &[
    Row { names: &["cat", "tac", "rev", "nl"], no_paths: true, ..ROW },
    Row { names: &["head", "tail"], valued: "nc", long: &["--lines", "--bytes", "--pid"], ..ROW },
    Row {
        names: &[
            "less",
            "more",
            "wc",
            "strings",
            "file",
            "stat",
            "du",
            "df",
            "diff",
            "cmp",
            "comm",
            "md5sum",
            "sha1sum",
            "sha256sum",
            "sha512sum",
            "cksum",
            "b2sum",
            "b3sum",
            "base64",
            "base32",
            "readlink",
            "realpath",
            "fold",
            "fmt",
            "paste",
            "join",
            "column",
            "expand",
            "unexpand",
            "hexdump",
            "hd",
            "od",
            "tree",
            "ls",
            "dir",
            "vdir",
            "exa",
            "eza",
            "bat",
            "zcat",
            "bzcat",
            "xzcat",
            "zless",
            "getfacl",
            "lsattr",
            "colordiff",
            "look",
            "tsort",
            "sum",
            "pr",
            "nm",
            "size",
            "objdump",
            "readelf",
            "ldd",
            "lsof",
            "cloc",
            "tokei",
            "scc",
        ],
        valued: "",
        ..ROW
    },
    Row { names: &["cut"], valued: "dfcb", long: &["--delimiter", "--fields", "--characters", "--bytes"], ..ROW },
    Row { names: &["sort"], valued: "ktST", long: &["--key", "--field-separator"], output: &["-o", "--output"], ..ROW },
    Row { names: &["uniq", "xxd"], does: Does::Convert, valued: "fswclsgo", ..ROW },
    Row {
        names: &["grep", "egrep", "fgrep", "zgrep", "ggrep", "rgrep"],
        does: Does::Search,
        valued: "ABCmed",
        long: &["--regexp", "--context", "--after-context", "--before-context", "--max-count"],
        input: &["-f", "--file", "--exclude-from"],
        ..ROW
    },
    Row {
        names: &["rg", "ag", "ack", "ugrep"],
        does: Does::Search,
        valued: "ABCmegtTjrdM",
        long: &[
            "--regexp",
            "--context",
            "--glob",
            "--type",
            "--max-count",
            "--max-depth",
            "--replace",
            "--type-not",
            "--sort",
        ],
        input: &["-f", "--file", "--ignore-file"],
        ..ROW
    },
    Row { names: &["jq", "gojq"], does: Does::Search, input: &["-f", "--from-file", "-L"], ..ROW },
    Row {
        names: &["rm", "rmdir", "unlink", "shred", "mkdir", "mkfifo", "mknod", "tee", "chattr", "sponge"],
        does: Does::Write,
        valued: "mnS",
        long: &["--mode", "--iterations", "--size", "--suffix"],
        ..ROW
    },
    Row {
        names: &["gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd", "lz4", "compress", "uncompress"],
        does: Does::Pack,
        valued: "SM",
        long: &["--suffix"],
        output: &["-o", "--output-dir-flat", "--output-dir-mirror"],
        ..ROW
    },
    Row {
        names: &["touch"],
        does: Does::Write,
        valued: "dtr",
        long: &["--date", "--time"],
        input: &["-r", "--reference"],
        ..ROW
    },
    Row {
        names: &["truncate"],
        does: Does::Write,
        valued: "s",
        long: &["--size"],
        input: &["-r", "--reference"],
        ..ROW
    },
    Row {
        names: &["chmod", "chown", "chgrp", "setfacl", "chcon"],
        does: Does::Change,
        valued: "",
        input: &["--reference"],
        ..ROW
    },
    Row {
        // What it is told of other machines looks like a path, and is none.
        names: &["rsync", "scp"],
        does: Does::Copy,
        valued: "fTBMPicFlo",
        long: &["--exclude", "--include", "--filter", "--chmod", "--chown", "--suffix", "--port", "--timeout"],
        output: &["--log-file", "--write-batch", "--only-write-batch", "--backup-dir", "--partial-dir", "--temp-dir"],
        input: &["--exclude-from", "--include-from", "--password-file", "--read-batch"],
        ..ROW
    },
    Row {
        names: &["cp", "gcp", "ln", "link", "install"],
        does: Does::Copy,
        valued: "mogS",
        long: &["--mode", "--owner", "--group", "--suffix"],
        output: &["-t", "--target-directory"],
        ..ROW
    },
    Row {
        names: &["mv", "gmv", "rename"],
        does: Does::Move,
        valued: "S",
        long: &["--suffix"],
        output: &["-t", "--target-directory"],
        ..ROW
    },
];

pub(crate) fn is_known(name: &str) -> bool {
    find(name).is_some() || matches!(name, "dd" | "tar" | "unzip" | "rsync")
}

fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.names.contains(&name))
}

/// Looks at a program that works on files. `false`: it is none.
pub(crate) fn run(walk: &mut Walk<'_>, command: Command<'_>) -> bool {
    if command.name == "dd" {
        dd(walk, command.args);
    } else if let Some(row) = find(command.name) {
        let (mut operands, goal) = options(walk, row, command);
        if matches!(command.name, "rsync" | "scp") {
            // What is on another machine is no path here.
            let remote = |arg: &&Arg| arg.known().is_some_and(|text| crate::programs::network::is_remote(&text));
            let sends = operands.last().is_some_and(remote);
            operands.retain(|arg| !remote(arg));
            if sends {
                operands.iter().for_each(|arg| walk.touch(arg, Touching::Read));
                return true;
            }
        }
        touch(walk, row, command, &operands);
        if let Some(goal) = goal {
            copies::into(walk, command, &operands, &goal);
        }
    } else {
        return false;
    }
    true
}

/// Looks at the options, and gives what is none, and the folder that is the value of `-t`.
fn options<'c>(walk: &mut Walk<'_>, row: &Row, command: Command<'c>) -> (Vec<&'c Arg>, Option<Arg>) {
    let mut operands = Vec::new();
    let mut goal = None;
    let mut args = command.args.iter();
    let mut over = false;
    while let Some(arg) = args.next() {
        let text = arg.known().unwrap_or_else(|| arg.start.clone());
        let mode = row.does == Does::Change && text.starts_with('+');
        if over || !(text.starts_with('-') && text.len() > 1 || mode) {
            operands.push(arg);
            continue;
        }
        if mode {
            operands.insert(0, arg);
            continue;
        }
        if text == "--" {
            over = true;
            continue;
        }
        let (name, value) = if text.starts_with("--") {
            let (name, value) = text.split_once('=').map_or((text.as_str(), None), |(name, value)| (name, Some(value)));
            (whole_name(row, name), value.map(str::to_owned))
        } else {
            letters(row, &text)
        };
        if arg.dynamic && value.is_none() {
            walk.unknown(&format!("what {} becomes is not known before the run", short(&arg.raw)));
        }
        let how = if row.output.contains(&name.as_str()) {
            Some(Touching::Write)
        } else if row.input.contains(&name.as_str()) {
            Some(Touching::Read)
        } else {
            None
        };
        let takes = how.is_some()
            || row.long.contains(&name.as_str())
            || name.strip_prefix('-').is_some_and(|letter| letter.len() == 1 && row.valued.contains(letter));
        if row.output.contains(&name.as_str()) && matches!(name.as_str(), "-t" | "--target-directory") {
            // Seen as a folder, whatever it is.
            let folder = value.clone().or_else(|| args.clone().next().and_then(Arg::literal)).unwrap_or_default();
            goal = Some(Arg::plain(&format!("{folder}/")));
        }
        match value {
            Some(value) if how.is_some() => walk.touch_path(&value, how.unwrap_or(Touching::Mention)),
            // An option that is not in the table may name a file all the same.
            Some(value) if !takes && !row.no_paths && value.contains('/') => walk.touch_path(&value, Touching::Mention),
            Some(_) => {}
            None if takes => {
                let Some(value) = args.next() else { break };
                match how {
                    Some(how) => walk.touch(value, how),
                    None if value.dynamic && !value.one => {
                        walk.unknown(&format!("what {} becomes is not known before the run", short(&value.raw)));
                    }
                    None => {}
                }
            }
            None => {}
        }
    }
    (operands, goal)
}

/// The name of a long option that may be written by its beginning.
fn whole_name(row: &Row, name: &str) -> String {
    // What is an option itself is no beginning of another: `--exclude` and `--exclude-from` of grep.
    if matches!(name, "--exclude" | "--include") {
        return name.to_owned();
    }
    let mut names = row.output.iter().chain(row.input).chain(row.long);
    // Those whose value is a file come first, and count where it is not clear.
    names.find(|long| is_abbreviation(name, long)).map_or_else(|| name.to_owned(), |long| (*long).to_owned())
}

/// A group of short options: the last one that has a value, and the value where it stands in the same word.
fn letters(row: &Row, text: &str) -> (String, Option<String>) {
    for (at, letter) in text.char_indices().skip(1) {
        let name = format!("-{letter}");
        let names_file = row.output.contains(&name.as_str()) || row.input.contains(&name.as_str());
        if row.valued.contains(letter) || names_file {
            let rest = text.get(at + letter.len_utf8()..).unwrap_or_default();
            return (name, Some(rest.to_owned()).filter(|rest| !rest.is_empty()));
        }
    }
    (text.to_owned(), None)
}

fn touch(walk: &mut Walk<'_>, row: &Row, command: Command<'_>, operands: &[&Arg]) {
    let all = |walk: &mut Walk<'_>, operands: &[&Arg], how| {
        for arg in operands {
            walk.touch(arg, how);
        }
    };
    let given = named_options(row, command);
    let is_goal = |name: &str| matches!(name, "-t" | "--target-directory");
    let is_goal_name = |name: &&str| is_goal(name);
    let has_goal = row.output.iter().any(is_goal_name) && given.iter().any(|name| is_goal(name));
    match row.does {
        Does::Read => all(walk, operands, Touching::Read),
        // `install -d` makes folders.
        Does::Copy if command.name == "install" && given.iter().any(|name| makes_folders(name)) => {
            all(walk, operands, Touching::Write);
        }
        Does::Write => all(walk, operands, Touching::Write),
        Does::Pack => {
            let looks = |text: &String| match text.strip_prefix("--") {
                Some(long) => matches!(long, "stdout" | "to-stdout" | "test" | "list" | "version" | "help"),
                None => text.starts_with('-') && text.contains(['c', 't', 'l']),
            };
            let looks = command.texts().iter().flatten().any(looks);
            all(walk, operands, if looks { Touching::Read } else { Touching::Write });
        }
        Does::Copy | Does::Move => {
            let how = if row.does == Does::Move { Touching::Write } else { Touching::Read };
            match operands.split_last() {
                Some((last, rest)) if !has_goal => {
                    all(walk, rest, how);
                    // What is moved is read too, so that it can be read where it then is.
                    all(walk, rest, Touching::Read);
                    walk.touch(last, Touching::Write);
                    copies::into(walk, command, rest, last);
                }
                _ => {
                    all(walk, operands, how);
                    all(walk, operands, Touching::Read);
                }
            }
        }
        Does::Convert => {
            all(walk, operands.get(..1).unwrap_or_default(), Touching::Read);
            all(walk, operands.get(1..).unwrap_or_default(), Touching::Write);
        }
        Does::Search => {
            let patterns = ["-e", "-f", "--files", "--regexp", "--file", "--from-file"];
            let skip = usize::from(!given.iter().any(|name| patterns.contains(&name.as_str())));
            if let Some(first) =
                operands.first().filter(|first| skip == 1 && first.dynamic && (!first.one || first.may_be_option()))
            {
                walk.unknown(&format!("what {} becomes is not known before the run", short(&first.raw)));
            }
            all(walk, operands.get(skip..).unwrap_or_default(), Touching::Read);
        }
        Does::Change => {
            let reference = command.texts().iter().flatten().any(|text| text.starts_with("--ref"));
            all(walk, operands.get(usize::from(!reference)..).unwrap_or_default(), Touching::Write);
        }
    }
}

fn dd(walk: &mut Walk<'_>, args: &[Arg]) {
    for arg in args {
        let Some(text) = arg.known() else {
            walk.unknown(&format!("what {} becomes is not known before the run", short(&arg.raw)));
            continue;
        };
        if let Some(path) = text.strip_prefix("of=") {
            walk.touch_path(path, Touching::Write);
        } else if let Some(path) = text.strip_prefix("if=") {
            walk.touch_path(path, Touching::Read);
        }
    }
}

/// The options that are given, by their names.
fn named_options(row: &Row, command: Command<'_>) -> Vec<String> {
    let texts = command.texts().into_iter().flatten().take_while(|text| text != "--");
    let name = |text: String| match text.strip_prefix("--") {
        Some(_) => whole_name(row, text.split('=').next().unwrap_or_default()),
        None => letters(row, &text).0,
    };
    texts.filter(|text| text.starts_with('-')).map(name).collect()
}

fn makes_folders(option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(_) => is_abbreviation(option, "--directory"),
        None => option.contains('d'),
    }
}
