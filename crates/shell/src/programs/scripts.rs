//! Programs with a language of their own: `sed`, `awk`, `make`, interpreters.

use crate::analysis::Touching;
use crate::judge::Command;
use crate::text::Arg;
use crate::variables::is_dangerous;
use crate::walk::Walk;
use crate::word::short;

const INTERPRETERS: [&str; 17] = [
    "python",
    "python2",
    "python3",
    "pypy",
    "pypy3",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "php",
    "lua",
    "luajit",
    "Rscript",
    "tclsh",
    "osascript",
    "ts-node",
    "tsx",
];
/// Options behind which a program stands, or a file that is run too.
const INLINE: [&str; 16] = [
    "-c",
    "-e",
    "-E",
    "-p",
    "-r",
    "-n",
    "-i",
    "-l",
    "-x",
    "--eval",
    "--print",
    "--require",
    "--import",
    "--loader",
    "--run",
    "--interactive",
];

pub(crate) fn is_known(name: &str) -> bool {
    is_interpreter(name)
}

fn is_interpreter(name: &str) -> bool {
    // `python3.12`
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&plain)
}

/// Looks at an interpreter: a file is a program with a name, everything else may do anything. `false`: it is none.
pub(crate) fn interpreter(walk: &mut Walk<'_>, command: Command<'_>) -> bool {
    if !is_interpreter(command.name) {
        return false;
    }
    let mut args = command.args.iter();
    while let Some(arg) = args.next() {
        let Some(text) = arg.literal().filter(|_| arg.one && !arg.choice) else {
            walk.unknown("what the interpreter runs is not known before the run");
            return true;
        };
        match text.as_str() {
            "--version" | "--help" | "-V" | "-h" | "-v" => return true,
            "-m" if command.name.starts_with("py") => {
                let module = args.next();
                const RUNNERS: [&str; 8] =
                    ["timeit", "pdb", "cProfile", "profile", "trace", "code", "runpy", "asyncio"];
                let module = module.and_then(Arg::literal);
                if module.is_none_or(|module| RUNNERS.contains(&module.as_str())) {
                    walk.unknown("what the interpreter runs is not known before the run");
                }
                super::mention_all(walk, args.as_slice());
                return true;
            }
            "-u" | "-B" | "-O" | "-s" | "-S" | "-I" | "-w" | "--test" | "--watch" | "--check" => {}
            _ if text.starts_with('-') => {
                let inline = INLINE.iter().any(|option| text.starts_with(option)) || text == "-";
                let why = match inline {
                    true => format!("{} {} runs a program text that nobody has read", command.name, short(&text)),
                    false => format!("what {} does with {} cannot be told", command.name, short(&text)),
                };
                walk.unknown(&why);
                in_place(walk, command, &text);
                return true;
            }
            _ => {
                super::shells::script_file(walk, arg);
                super::mention_all(walk, args.as_slice());
                return true;
            }
        }
    }
    walk.unknown("the interpreter runs what it is given to read");
    true
}

/// `perl -pi -e … file`: the files are written. Otherwise they are only given to the program.
fn in_place(walk: &mut Walk<'_>, command: Command<'_>, first: &str) {
    if !matches!(command.name, "perl" | "ruby") {
        return;
    }
    let texts = command.texts();
    let in_place = |text: &str| text.starts_with('-') && !text.starts_with("--") && text.contains('i');
    let writes = in_place(first) || texts.iter().flatten().any(|text| in_place(text));
    let mut program = false;
    for (arg, text) in command.args.iter().zip(&texts) {
        let text = text.clone().unwrap_or_else(|| arg.start.clone());
        if std::mem::take(&mut program) {
            continue;
        }
        if text.starts_with('-') {
            program = text.ends_with(['e', 'E']);
        } else {
            walk.touch(arg, if writes { Touching::Write } else { Touching::Read });
        }
    }
}

pub(crate) fn sed(walk: &mut Walk<'_>, command: Command<'_>) {
    let (mut script, mut in_place, mut files) = (false, false, Vec::new());
    let mut args = command.args.iter();
    while let Some(arg) = args.next() {
        let text = arg.known().unwrap_or_default();
        let option = arg.start.starts_with('-') && arg.start.len() > 1;
        if arg.dynamic && (arg.may_be_option() || !arg.one) {
            walk.unknown(&format!("what sed does with {} is not known before the run", short(&arg.raw)));
        } else if option && (text == "-e" || text == "--expression") {
            script = true;
            check_sed(walk, args.next());
        } else if option && text.starts_with("--expression=") {
            script = true;
            check_sed(walk, Some(&Arg::plain(text.get(13..).unwrap_or_default())));
        } else if option && !text.starts_with("--") {
            // `-i.bak`, `-ni`, `-n`: everything behind an i is its ending.
            let letters = text.get(1..).unwrap_or_default();
            let plain: String = letters.chars().take_while(|c| *c != 'i').collect();
            in_place |= letters.contains('i');
            if !plain.chars().all(|c| "nrEsuz".contains(c)) {
                walk.unknown("the options of sed cannot be told");
            }
        } else if option {
            in_place |= text.starts_with("--in-place");
            let known = ["--in-place", "--quiet", "--silent", "--regexp-extended", "--separate", "--null-data"];
            if !known.iter().any(|known| text == *known || text.starts_with(&format!("{known}="))) {
                walk.unknown("the options of sed cannot be told");
            }
        } else if script {
            files.push(arg);
        } else {
            script = true;
            check_sed(walk, Some(arg));
        }
    }
    for file in files {
        walk.touch(file, if in_place { Touching::Write } else { Touching::Read });
    }
}

fn check_sed(walk: &mut Walk<'_>, script: Option<&Arg>) {
    if !script.and_then(Arg::known).is_some_and(|script| is_plain_sed(&script)) {
        walk.unknown("what the sed script does cannot be told");
    }
}

/// Whether a script only prints, deletes and replaces: it runs, reads and writes nothing.
fn is_plain_sed(script: &str) -> bool {
    let chars: Vec<char> = script.chars().collect();
    let mut at = 0;
    let mut marks = vec!['/'];
    let skip = |at: &mut usize, set: &str| {
        while chars.get(*at).is_some_and(|c| set.contains(*c)) {
            *at += 1;
        }
    };
    // To behind the next `mark` that is not escaped.
    let to_mark = |at: &mut usize, mark: char| -> bool {
        while let Some(&c) = chars.get(*at) {
            *at += if c == '\\' { 2 } else { 1 };
            if c == mark {
                return true;
            }
        }
        false
    };
    loop {
        skip(&mut at, " \t\n;{}");
        if at >= chars.len() {
            break;
        }
        for _ in 0..2 {
            match chars.get(at) {
                Some('/') => {
                    at += 1;
                    if !to_mark(&mut at, '/') {
                        return false;
                    }
                    skip(&mut at, "IM");
                }
                Some(c) if c.is_ascii_digit() || *c == '$' => skip(&mut at, "0123456789$~+"),
                _ => break,
            }
            if chars.get(at) == Some(&',') {
                at += 1;
                skip(&mut at, " +~");
            } else {
                break;
            }
        }
        skip(&mut at, " \t!");
        match chars.get(at) {
            Some('p' | 'd' | 'D' | 'P' | '=' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x') => at += 1,
            Some('q' | 'Q' | 'l') => {
                at += 1;
                skip(&mut at, " 0123456789");
            }
            Some('{') => {
                at += 1;
                continue;
            }
            Some('s') => {
                let Some(&mark) = chars.get(at + 1).filter(|mark| !mark.is_alphanumeric() && !"\\\n ".contains(**mark))
                else {
                    return false;
                };
                marks.push(mark);
                at += 2;
                if !to_mark(&mut at, mark) || !to_mark(&mut at, mark) {
                    return false;
                }
                skip(&mut at, "gpiIMm0123456789");
            }
            _ => return false,
        }
        skip(&mut at, " \t");
        if !matches!(chars.get(at), None | Some(';' | '\n' | '}')) {
            return false;
        }
    }
    // In brackets a mark does not end the expression, so the above may have read it otherwise than sed will.
    script.match_indices('[').all(|(open, _)| {
        let inner = script.get(open + 1..).unwrap_or_default();
        let first = inner.trim_start_matches('^').strip_prefix(']').unwrap_or(inner);
        !first.split(']').next().unwrap_or_default().contains(marks.as_slice())
    })
}

pub(crate) fn awk(walk: &mut Walk<'_>, command: Command<'_>) {
    let mut args = command.args.iter();
    let (mut program, mut in_place) = (false, false);
    while let Some(arg) = args.next() {
        let Some(text) = arg.known().filter(|_| !arg.dynamic) else {
            walk.unknown(&format!("what awk does with {} is not known before the run", short(&arg.raw)));
            continue;
        };
        if !program && text.starts_with('-') && text.len() > 1 {
            match text.as_str() {
                "-F" | "-v" => {
                    args.next();
                }
                _ if text.starts_with("-F") || text.starts_with("-v") => {}
                "-i" if args.clone().next().and_then(Arg::literal).as_deref() == Some("inplace") => {
                    args.next();
                    in_place = true;
                }
                "--version" | "--help" => return,
                _ => walk.unknown("the options of awk cannot be told"),
            }
        } else if program {
            walk.touch(arg, if in_place { Touching::Write } else { Touching::Read });
        } else {
            program = true;
            if !is_plain_awk(&text) {
                walk.unknown("what the awk program does cannot be told");
            }
        }
    }
}

/// Whether a program only looks at its input and prints.
fn is_plain_awk(program: &str) -> bool {
    let words = ["system", "getline", "close", "fflush", "ARGV", "@", "\\\n"];
    let pipes = program.replace("||", "").contains('|');
    let target = program.contains('>') && program.contains("print");
    !words.iter().any(|word| program.contains(word)) && !pipes && !target
}

pub(crate) fn make(walk: &mut Walk<'_>, command: Command<'_>) {
    for arg in command.args {
        let text = arg.known().unwrap_or_default();
        if text.starts_with("--ev")
            || text.starts_with("-E")
            || matches!(text.as_str(), "-f-" | "--file=-" | "--makefile=-")
        {
            walk.unknown("make is given a program among its arguments");
        }
        if let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.starts_with('-')) {
            let plain = |c: char| c.is_ascii_alphanumeric() || "_./:,+- ".contains(c);
            if is_dangerous(name) || name.ends_with(['!', ':', '+']) || !value.chars().all(plain) {
                walk.unknown(&format!("{} may decide what make runs", short(&text)));
            }
        }
    }
    if command.has(&["-"]) {
        walk.unknown("make runs what it is given to read");
    }
    super::outputs::run(walk, command);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sed_scripts_that_only_change_text_are_plain() {
        for script in [
            "s/a/b/",
            "s/a/b/g",
            "s|a|b|gi",
            "1,5p",
            "/x/d",
            "$d",
            "s/a/b/;s/c/d/2",
            "/a/,/b/p",
            "10q",
            "s,/a,/b,",
            "1!G;h;$!d",
            "s/[^a]/b/g",
            "/x/{s/a/b/;p}",
            "s/a\\/b/c/",
            "5,+3p",
        ] {
            assert!(is_plain_sed(script), "{script}");
        }
        for script in [
            "s/x/rm/e",
            "e rm x",
            "1e rm x",
            "w /etc/x",
            "s/a/b/w /etc/x",
            "r /etc/passwd",
            "s/a/b/ge",
            "s/[/]/p;/e;s/p",
            "b x",
            "s/a/b",
            "y/a/b/",
            "$!N;s/a/b/e",
            "a\\text",
            "s/[]/]/p;/e",
            "W f",
            "s a b e",
        ] {
            assert!(!is_plain_sed(script), "{script}");
        }
    }

    #[test]
    fn awk_programs_that_only_print_are_plain() {
        for program in ["{print $1}", "/x/", "$1 > 5", "NR==1 || NR==2", "BEGIN{FS=\":\"}{print $2}"] {
            assert!(is_plain_awk(program), "{program}");
        }
        for program in
            ["BEGIN{system(\"rm x\")}", "{print > \"/etc/x\"}", "{print | \"sh\"}", "\"ls\" | getline", "@load \"x\""]
        {
            assert!(!is_plain_awk(program), "{program}");
        }
    }
}
