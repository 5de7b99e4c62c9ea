//! What is seen to need the network, and which machines it names.

use crate::judge::Command;
use crate::programs::hosts::{of_machine, of_remote, of_url};
use crate::programs::works::{ALWAYS, OFFLINE, WORKS};
use crate::text::Arg;
use crate::walk::Walk;

/// Most machines that are listed; the others are left out.
pub(crate) const MAX_HOSTS: usize = 64;

/// Works of `git` whose first word is where the other repository is.
const REMOTE_WORKS: [&str; 7] = ["clone", "fetch", "pull", "push", "ls-remote", "fetch-pack", "send-pack"];
/// Other works of `git` that go out, by their first words.
const GIT: [&[&str]; 9] = [
    &["submodule", "update"],
    &["submodule", "add"],
    &["remote", "update"],
    &["remote", "prune"],
    &["remote", "show"],
    &["send-email"],
    &["svn"],
    &["lfs"],
    &["http-fetch"],
];
/// Options of `git` before the work that have a value of their own.
const GIT_VALUED: [&str; 6] = ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix"];
/// Modules of Python that go out or wait for others, besides `pip`.
const MODULES: [&str; 11] = [
    "http.server",
    "xmlrpc.server",
    "smtpd",
    "aiosmtpd",
    "uvicorn",
    "gunicorn",
    "hypercorn",
    "flask",
    "twine",
    "pipx",
    "webbrowser",
];
/// Programs whose first word that is no option is a machine, with the letters of options that have a value.
const TO_MACHINE: [(&str, &str); 14] = [
    ("ssh", "BbcDEeFIiJLlmOopQRSWw"),
    ("mosh", "pL"),
    ("telnet", "blnXE"),
    ("ftp", ""),
    ("sftp", "BbcDFiJloPRSsX"),
    ("ping", "cIilMmpQsSTtWwe"),
    ("ping6", "cIilMmpQsSTtWwe"),
    ("traceroute", "fgimNpqstwz"),
    ("tracepath", "lmp"),
    ("mtr", "cFiPsamou"),
    ("nc", "IiMmOPpqsTVWwXxec"),
    ("ncat", "IiMmOPpqsTVWwXxecdgGo"),
    ("netcat", "IiMmOPpqsTVWwXxec"),
    ("whois", ""),
];
/// Programs with an option that names the machine.
const BY_OPTION: [(&str, &[&str]); 12] = [
    ("openssl", &["-connect"]),
    ("psql", &["-h", "--host"]),
    ("pg_dump", &["-h", "--host"]),
    ("pg_restore", &["-h", "--host"]),
    ("createdb", &["-h", "--host"]),
    ("mysql", &["-h", "--host"]),
    ("mariadb", &["-h", "--host"]),
    ("mysqldump", &["-h", "--host"]),
    ("redis-cli", &["-h"]),
    ("mongosh", &["--host"]),
    ("smbclient", &["-I"]),
    ("ldapsearch", &["-h"]),
];
/// Options of `curl` and its like after which an address says nothing about where it goes.
const DETOURS: [&str; 14] = [
    "-x",
    "--proxy",
    "--preproxy",
    "--socks4",
    "--socks4a",
    "--socks5",
    "--socks5-hostname",
    "--resolve",
    "--connect-to",
    "--unix-socket",
    "--abstract-unix-socket",
    "-K",
    "--config",
    "--base",
];
/// Letters of `curl` and `wget` without a value that may stand together.
const CURL_FLAGS: &str = "fsSLkvIgiOJRq46#aNjlpnZrcN";

/// Notes whether `command` is seen to need the network, and where it goes.
pub(crate) fn look(walk: &mut Walk<'_>, command: Command<'_>) {
    if !may_go_out(command.name) {
        return;
    }
    let texts: Vec<Option<String>> = command.texts();
    let first = texts.first().cloned().flatten().unwrap_or_default();
    if matches!(first.as_str(), "--version" | "--help") || (texts.len() == 1 && matches!(first.as_str(), "-V" | "-h")) {
        return;
    }
    let known: Vec<String> = texts.iter().flatten().cloned().collect();
    match command.name {
        "git" => return git(walk, command.args),
        "rsync" | "scp" => {
            let far: Vec<&String> = known.iter().filter(|word| is_remote(word)).collect();
            if far.is_empty() && command.name == "rsync" {
                return;
            }
            walk.out.network = true;
            far.into_iter().filter_map(|word| of_remote(word)).for_each(|host| note(walk, host));
            return;
        }
        _ if command.name.starts_with("python") || command.name.starts_with("pypy") => {
            return python(walk, command);
        }
        "php" => walk.out.network |= known.iter().any(|word| word.starts_with("-S")),
        "deno" => walk.out.network |= known.iter().any(|word| word == "-A" || word.starts_with("--allow-net")),
        "pacman" | "yay" | "paru" => {
            let takes = |word: &String| (word.starts_with("-S") && !word.contains('s')) || word == "--sync";
            walk.out.network |= known.iter().any(takes);
        }
        "logger" => {
            // Up to a letter that has a value.
            let short = |word: &str| {
                word.strip_prefix('-')
                    .unwrap_or_default()
                    .chars()
                    .take_while(|c| !"-fpPtuS".contains(*c))
                    .any(|c| c == 'n')
            };
            let server = |word: &str| word.starts_with("--se") || short(word);
            walk.out.network |= known.iter().any(|word| server(word));
        }
        "go" => {
            let from = |word: &String| word.contains('@') && !word.starts_with('-');
            walk.out.network |=
                first == "get" || (matches!(first.as_str(), "install" | "run") && known.iter().any(from));
        }
        // Without a work it installs.
        "yarn" => walk.out.network |= command.args.iter().all(|arg| arg.start.starts_with('-') && !arg.dynamic),
        _ => {}
    }
    if !(walk_always(command.name, &known) || works(command.name, command.args)) {
        let address = matches!(command.name, "deno" | "node" | "bun") && known.iter().any(|word| is_web(word));
        walk.out.network |= address;
        if !address {
            return;
        }
    }
    walk.out.network = true;
    hosts(walk, command, &known);
}

/// Whether anything here looks for a program of this name.
fn may_go_out(name: &str) -> bool {
    const OTHERS: [&str; 12] =
        ["logger", "git", "rsync", "scp", "php", "deno", "pacman", "yay", "paru", "go", "node", "bun"];
    OTHERS.contains(&name)
        || name.starts_with("py")
        || ALWAYS.contains(&name)
        || WORKS.iter().any(|(names, _)| names.contains(&name))
}

/// Notes a machine, unless there are too many.
pub(crate) fn note(walk: &mut Walk<'_>, host: String) {
    if walk.out.hosts.len() < MAX_HOSTS && !walk.out.hosts.contains(&host) {
        walk.out.hosts.push(host);
    }
}

fn walk_always(name: &str, known: &[String]) -> bool {
    let first = known.iter().find(|word| !word.starts_with('-')).map(String::as_str).unwrap_or_default();
    ALWAYS.contains(&name) && !OFFLINE.iter().any(|(program, works)| *program == name && works.contains(&first))
}

/// Whether one of the program's works is named that go out. Behind an option that is not known to have no value, the
/// work may be any of the words.
fn works(name: &str, args: &[Arg]) -> bool {
    let Some((_, works)) = WORKS.iter().find(|(names, _)| names.contains(&name)) else { return false };
    let words: Vec<String> = args.iter().map(|arg| arg.known().unwrap_or_default()).collect();
    let plain: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    let is = |rest: &[&str], work: &str| {
        work.split(' ')
            .zip(rest.iter().map(|word| Some(*word)).chain([None, None]))
            .all(|(want, got)| got == Some(want))
    };
    let hidden = words.first().is_some_and(|word| word.starts_with('-'));
    let starts = if hidden { plain.len() } else { 1 };
    (0..starts).any(|at| works.iter().any(|work| is(plain.get(at..).unwrap_or_default(), work)))
}

fn git(walk: &mut Walk<'_>, args: &[Arg]) {
    let words: Vec<String> = args.iter().map(|arg| arg.known().unwrap_or_default()).collect();
    let mut at = 0;
    while words.get(at).is_some_and(|word| word.starts_with('-')) {
        at += if GIT_VALUED.contains(&words[at].as_str()) { 2 } else { 1 };
    }
    let Some(work) = words.get(at) else { return };
    let rest = words.get(at..).unwrap_or_default();
    let plain: Vec<&str> = rest.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    if GIT.iter().any(|words| plain.starts_with(words)) || rest.iter().any(|word| word.starts_with("--remote=")) {
        walk.out.network = true;
        plain.iter().filter(|word| is_web(word)).filter_map(|word| of_url(word)).for_each(|host| note(walk, host));
    }
    if !REMOTE_WORKS.contains(&work.as_str()) {
        return;
    }
    // Behind an option that may have a value, the first word may be that.
    let flags = ["-q", "-v", "-f", "-u", "-p", "-n", "--quiet", "--verbose", "--force", "--tags", "--all", "--prune"];
    let others =
        ["--bare", "--mirror", "--set-upstream", "--rebase", "--ff-only", "--recursive", "--no-tags", "--heads"];
    let sure = |word: &&String| {
        !word.starts_with('-')
            || word.contains('=')
            || flags.contains(&word.as_str())
            || others.contains(&word.as_str())
    };
    let certain = rest.iter().skip(1).take_while(sure).find(|word| !word.starts_with('-'));
    let certain = certain.or_else(|| rest.iter().skip(1).find(|word| is_web(word)));
    let below = rest.iter().any(|word| word.starts_with("--recurs"));
    let path = |word: &String| {
        word.starts_with(['/', '.', '~']) || word.starts_with("file://") || (work == "clone" && !word.contains(':'))
    };
    if certain.is_some_and(|word| !word.is_empty() && path(word)) && !below {
        return;
    }
    walk.out.network = true;
    if let Some(host) = certain.and_then(|word| of_remote(word)) {
        note(walk, host);
    }
}

/// `python -m pip install`, `python -m http.server`.
fn python(walk: &mut Walk<'_>, command: Command<'_>) {
    let Some(at) = command.args.iter().position(|arg| arg.start == "-m") else { return };
    let module = command.args.get(at + 1).and_then(Arg::known).unwrap_or_default();
    let rest = command.args.get(at + 2..).unwrap_or_default();
    if matches!(module.as_str(), "pip" | "pip3" | "uv" | "poetry" | "pipenv" | "conda") {
        return look(walk, Command { name: &module, args: rest, ..command });
    }
    walk.out.network |= MODULES.contains(&module.as_str());
}

/// Notes the machines that are certainly meant.
fn hosts(walk: &mut Walk<'_>, command: Command<'_>, known: &[String]) {
    let name = command.name;
    let detour = |word: &String| {
        DETOURS.iter().any(|option| word == option || (option.len() > 2 && word.starts_with(&format!("{option}="))))
    };
    let bare = matches!(name, "curl" | "wget" | "wget2" | "http" | "https" | "xh");
    if bare && (known.iter().any(detour) || command.args.iter().any(|arg| arg.dynamic)) {
        return;
    }
    if let Some((_, valued)) = TO_MACHINE.iter().find(|(program, _)| *program == name) {
        // What listens goes nowhere.
        let listens = name.contains("nc") && known.iter().any(|word| holds_letter(word, 'l'));
        if let Some(host) = first_operand(command.args, valued).filter(|_| !listens).and_then(|word| of_machine(&word))
        {
            note(walk, host);
        }
        return;
    }
    if let Some((_, options)) = BY_OPTION.iter().find(|(program, _)| *program == name) {
        let mut found = None;
        for (at, word) in known.iter().enumerate() {
            for rest in options.iter().filter_map(|option| word.strip_prefix(option)) {
                let value = if rest.is_empty() { known.get(at + 1).map(String::as_str) } else { Some(rest) };
                found = found.or(value.map(|value| value.trim_start_matches('=')));
            }
        }
        // A path is a socket here.
        found.and_then(of_machine).into_iter().for_each(|host| note(walk, host));
    }
    if name == "dig" {
        known.iter().filter_map(|word| of_machine(word.strip_prefix('@')?)).for_each(|host| note(walk, host));
    }
    for (at, word) in known.iter().enumerate() {
        if is_web(word) {
            // The value of an option that is sent is no place to go to.
            let sent = at.checked_sub(1).and_then(|before| known.get(before)).is_some_and(|option| {
                bare && matches!(
                    option.as_str(),
                    "-H" | "--header" | "-d" | "--data" | "-e" | "--referer" | "-A" | "-o"
                )
            });
            of_url(word).filter(|_| !sent).into_iter().for_each(|host| note(walk, host));
        } else if bare && !word.starts_with(['-', '.', '/', ':']) && word.contains('.') {
            let before = at.checked_sub(1).and_then(|before| known.get(before));
            let flag = |option: &String| match option.strip_prefix('-') {
                Some(letters) => letters.chars().all(|c| CURL_FLAGS.contains(c)) && name != "wget",
                None => option.contains("://"),
            };
            if before.is_none_or(flag) {
                of_machine(word.split(['/', '?']).next().unwrap_or_default())
                    .into_iter()
                    .for_each(|host| note(walk, host));
            }
        }
    }
}

fn holds_letter(word: &str, letter: char) -> bool {
    word.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains(letter))
}

/// The first word that is no option, if it can be told from the values of options.
fn first_operand(args: &[Arg], valued: &str) -> Option<String> {
    args.get(operand(args, valued)?).and_then(Arg::known)
}

/// Where that stands.
pub(crate) fn operand(args: &[Arg], valued: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let text = arg.known().filter(|_| arg.one && !arg.choice)?;
        let Some(letters) = text.strip_prefix('-') else { return Some(at) };
        at += 1;
        if let Some(long) = letters.strip_prefix('-') {
            const FLAGS: [&str; 8] = ["rm", "privileged", "detach", "interactive", "tty", "init", "stdin", "read-only"];
            if !(long.is_empty() || long.contains('=') || FLAGS.contains(&long)) {
                return None;
            }
        } else if letters.find(|c| valued.contains(c)).is_some_and(|found| found + 1 == letters.len()) {
            at += 1;
        }
    }
    None
}

fn is_web(word: &str) -> bool {
    word.contains("://") && of_url(word).is_some()
}

/// `host:path`, `user@host:path`, `rsync://host/path`.
pub(crate) fn is_remote(word: &str) -> bool {
    let named = word.split_once(':').is_some_and(|(host, _)| !host.is_empty() && !host.contains('/'));
    !word.starts_with('-') && (named || word.contains("://"))
}
