//! What the cage stopped, from how a command ended and what it wrote. Pure.

use std::path::{Component, Path, PathBuf};

/// Lines at the end of the output that are looked at.
const MAX_LINES: usize = 300;
/// How much of a line is looked at, in bytes.
const MAX_LINE: usize = 2_000;
/// Lines before the one that tells of a refusal in which the path may stand.
const BEFORE: usize = 4;
/// Most things that are named.
const MAX_NAMED: usize = 3;

/// How programs say that something was refused. In small letters.
const REFUSED: [&str; 10] = [
    "permission denied",
    "permissionerror",
    "read-only file system",
    "readonly file system",
    "operation not permitted",
    "access denied",
    "device or resource busy",
    "eacces",
    "erofs",
    "eperm",
];
/// How they say that there is no network. In small letters.
const UNREACHED: [&str; 37] = [
    "could not resolve host",
    "couldn't resolve host",
    "could not resolve proxy",
    "unable to resolve host",
    "unable to resolve address",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "name or service not known",
    "nodename nor servname",
    "name does not resolve",
    "failed to lookup address",
    "server misbehaving",
    "no such host",
    "unknown host",
    "unknownhostexception",
    "getaddrinfo",
    "eai_again",
    "enotfound",
    "dns error",
    "network is unreachable",
    "network unreachable",
    "enetunreach",
    "no route to host",
    "ehostunreach",
    "cannot assign requested address",
    "couldn't connect to server",
    "failed to connect to",
    "could not connect to",
    "unable to connect to",
    "unable to access 'http",
    "could not read from remote repository",
    "failed to establish a new connection",
    "dial tcp",
    "dial udp",
    "error sending request for url",
    "spurious network error",
    "connection refused",
];
/// Programs that only read: what is refused to them was not to be written.
const READERS: [&str; 17] = [
    "cat", "ls", "head", "tail", "grep", "egrep", "rg", "find", "wc", "diff", "stat", "du", "less", "more", "tree",
    "file", "cmp",
];
/// The exit code of a shell that found a program it may not run.
const NOT_RUN: i32 = 126;

/// What the cage of a command closes, as far as it would be open without.
pub(crate) trait Closed {
    /// Whether it keeps this absolute path from being changed.
    fn writing(&self, path: &Path) -> bool;
    /// Whether it keeps this absolute path from being read.
    fn reading(&self, path: &Path) -> bool;
    /// Whether it has no network.
    fn network(&self) -> bool;
}

/// Something that was stopped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Blocked {
    /// A change of this path.
    Write(PathBuf),
    /// Reading this path.
    Read(PathBuf),
    /// The network.
    Network,
}

/// What of `output` tells of something that the cage stopped. The command ran in `dir` and ended with `code`.
pub(crate) fn blocked(output: &str, code: Option<i32>, dir: &Path, closed: &dyn Closed) -> Vec<Blocked> {
    let mut lines: Vec<&str> = output.lines().rev().take(MAX_LINES).map(short).collect();
    lines.reverse();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let small = line.to_lowercase();
        // What ended well may have shown a text in which such words stand.
        if code == Some(0) && !is_complaint(&small) {
            continue;
        }
        let before = &lines[at.saturating_sub(BEFORE)..at];
        let refused = REFUSED.iter().any(|words| small.contains(words));
        let socket = refused && is_of_socket(&small, before);
        if closed.network() && (socket || UNREACHED.iter().any(|words| small.contains(words))) {
            found.push(Blocked::Network);
        } else if refused && !(code == Some(NOT_RUN) && is_shells(&small)) {
            found.extend(path(line, before, dir, closed));
        }
    }
    let mut told: Vec<Blocked> = Vec::new();
    for one in found {
        if told.len() < MAX_NAMED && !told.contains(&one) {
            told.push(one);
        }
    }
    told
}

/// A line for the model about each thing that was stopped, and how to ask for it. Paths are as seen from `dir`.
pub(crate) fn lines(blocked: &[Blocked], dir: &Path) -> Vec<String> {
    let line = |one: &Blocked| match one {
        Blocked::Write(path) => {
            let name = seen_from(dir, path);
            format!("The cage stopped writing to {name}: call bash again with write: [{name:?}] to ask for it.")
        }
        Blocked::Read(path) => {
            format!("The cage keeps {} from commands; the read tool can ask for it.", seen_from(dir, path))
        }
        Blocked::Network => "The cage has no network: call bash again with network: true to ask for it.".to_owned(),
    };
    blocked.iter().map(line).collect()
}

/// What programs are told of it.
pub(crate) fn words(blocked: &[Blocked]) -> Vec<String> {
    let word = |one: &Blocked| match one {
        Blocked::Write(path) => format!("write {}", path.display()),
        Blocked::Read(path) => format!("read {}", path.display()),
        Blocked::Network => "network".to_owned(),
    };
    blocked.iter().map(word).collect()
}

/// `path` as a name in the folder `dir`, where it is in it.
pub(super) fn seen_from(dir: &Path, path: &Path) -> String {
    match path.strip_prefix(dir) {
        Ok(below) if !below.as_os_str().is_empty() => below.display().to_string(),
        Ok(_) | Err(_) => path.display().to_string(),
    }
}

fn short(line: &str) -> &str {
    &line[..line.floor_char_boundary(MAX_LINE)]
}

/// Whether `line` begins with the name of a program, as complaints do: `curl: (6) …`.
fn is_complaint(line: &str) -> bool {
    let plain =
        |name: &str| !name.is_empty() && name.chars().all(|sign| sign.is_alphanumeric() || "-_+ ".contains(sign));
    let words = ["fatal", "error", "npm error", "npm err!", "warning"];
    line.split_once(": ").is_some_and(|(name, _)| plain(name) && name.split(' ').count() <= 2)
        || words.iter().any(|word| line.trim_start().starts_with(word))
}

/// Whether a shell complains.
fn is_shells(line: &str) -> bool {
    ["sh: ", "bash: ", "zsh: ", "dash: ", "ksh: "].iter().any(|shell| line.contains(shell))
}

/// Whether what was refused is a socket.
fn is_of_socket(line: &str, before: &[&str]) -> bool {
    let speaks =
        |line: &str| ["socket", "listen ", "connect ", "bind: ", "bind("].iter().any(|word| line.contains(word));
    speaks(line) || (line.contains("permissionerror") && before.iter().any(|line| speaks(&line.to_lowercase())))
}

/// The path that was refused: in the line itself, or in one of those before.
fn path(line: &str, before: &[&str], dir: &Path, closed: &dyn Closed) -> Option<Blocked> {
    let mut all = std::iter::once(&line).chain(before.iter().rev());
    all.find_map(|line| {
        let reads_only = line.split_once(": ").is_some_and(|(name, _)| READERS.contains(&name));
        names(line).into_iter().find_map(|name| {
            let path = absolute(name, dir)?;
            if closed.reading(&path) {
                Some(Blocked::Read(path))
            } else {
                (!reads_only && closed.writing(&path)).then_some(Blocked::Write(path))
            }
        })
    })
}

/// What in `line` may be a path, most certain first.
fn names(line: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for (open, close) in [('\'', '\''), ('"', '"'), ('`', '`'), ('`', '\''), ('\u{2018}', '\u{2019}')] {
        let mut rest = line;
        while let Some((_, behind)) = rest.split_once(open)
            && let Some((inside, after)) = behind.split_once(close)
        {
            names.push(inside);
            rest = after;
        }
    }
    // In front stand the program, often with its folder, and the number of a line: `/bin/bash: line 1: x: Permission denied`.
    let mut parts: Vec<&str> = line.split(": ").map(str::trim).filter(|part| !says_refused(part)).collect();
    parts.reverse();
    if parts.len() > 1 && is_numbered(parts[parts.len() - 2]) {
        parts.truncate(parts.len() - 2);
    }
    names.extend(parts.into_iter().flat_map(named));
    let around = |sign: char| "\"'`,;:()[]<>".contains(sign);
    names.extend(line.split_whitespace().map(|word| word.trim_matches(around)).filter(|word| word.contains('/')));
    names.retain(|name| !name.is_empty() && !name.contains("://"));
    names
}

fn says_refused(part: &str) -> bool {
    let small = part.to_lowercase();
    REFUSED.iter().any(|words| small.contains(words))
}

/// Whether `part` is the number of a line: `line 1`, `1`.
fn is_numbered(part: &str) -> bool {
    let number = part.strip_prefix("line ").unwrap_or(part);
    !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
}

/// What in a part of a line may be a path: all of it, its last word. After words that say what failed only the latter.
fn named(part: &str) -> impl Iterator<Item = &str> {
    let says = ["cannot ", "can't ", "could not ", "couldn't ", "unable to ", "failed to ", "open ", "error "];
    let whole = (!says.iter().any(|words| part.to_lowercase().contains(words))).then_some(part);
    whole.into_iter().chain(part.split_whitespace().last())
}

/// `name` as an absolute path without `.` and `..`.
fn absolute(name: &str, dir: &Path) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for component in dir.join(name).components() {
        match component {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => path.push(component),
        }
    }
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cage in which `/p` is open but for `/p/.git/hooks`, `/h/.ssh` and `/p/.env` are hidden, and the network is as said.
    struct Fake {
        network: bool,
    }

    impl Closed for Fake {
        fn writing(&self, path: &Path) -> bool {
            !path.starts_with("/p") && path.starts_with("/") && (path.starts_with("/etc") || path.starts_with("/h"))
                || path.starts_with("/p/.git/hooks")
        }

        fn reading(&self, path: &Path) -> bool {
            path.starts_with("/h/.ssh") || path == Path::new("/p/.env")
        }

        fn network(&self) -> bool {
            self.network
        }
    }

    #[track_caller]
    fn row(output: &str, code: i32, want: &[&str]) {
        let found = blocked(output, Some(code), Path::new("/p"), &Fake { network: true });
        assert_eq!(words(&found), want, "{output}");
        let open = blocked(output, Some(code), Path::new("/p"), &Fake { network: false });
        assert!(!open.contains(&Blocked::Network), "{output}");
    }

    #[test]
    fn writes_that_were_stopped_are_found() {
        let etc: &[&str] = &["write /etc/x"];
        row("touch: cannot touch '/etc/x': Read-only file system", 1, etc);
        row("/bin/sh: 1: cannot create /etc/x: Permission denied", 2, etc);
        row("bash: line 1: /etc/x: Permission denied", 1, etc);
        row("bash: /etc/x: Read-only file system\nmore\n", 0, etc);
        row("PermissionError: [Errno 13] Permission denied: '/etc/x'", 1, etc);
        row("OSError: [Errno 30] Read-only file system: '/etc/x'", 1, etc);
        row("Error: EROFS: read-only file system, open '/etc/x'\n    at Object.openSync (node:fs:1:1)", 1, etc);
        row("open /etc/x: permission denied", 1, etc);
        row("/etc/bash: line 1: /etc/x: Permission denied", 1, etc);
        row("/etc/bash: line 12: .git/hooks/a: Read-only file system", 1, &["write /p/.git/hooks/a"]);
        row("/etc/sh: 1: cannot create /etc/x: Permission denied", 2, etc);
        row("/etc/tee: /etc/x: Permission denied", 1, etc);
        row("/etc/x: Permission denied", 1, etc);
        row("error: failed to write `/etc/x`\n\nCaused by:\n  Read-only file system (os error 30)", 101, etc);
        row("cp: cannot create regular file '../etc/x': Permission denied", 1, etc);
        row("mkdir: cannot create directory \u{2018}/etc/x\u{2019}: Permission denied", 1, etc);
        row("tee: /etc/x: Permission denied", 1, etc);
        row("error: could not write file .git/hooks/a: Device or resource busy", 4, &["write /p/.git/hooks/a"]);
        row(
            "fatal: cannot open .git/hooks/pre-commit: Operation not permitted",
            128,
            &["write /p/.git/hooks/pre-commit"],
        );
    }

    #[test]
    fn where_nothing_may_be_written_the_file_is_named_and_not_the_program() {
        struct Shut;
        impl Closed for Shut {
            fn writing(&self, _: &Path) -> bool {
                true
            }
            fn reading(&self, _: &Path) -> bool {
                false
            }
            fn network(&self) -> bool {
                false
            }
        }
        for line in [
            "/bin/bash: line 1: x: Read-only file system",
            "/bin/sh: 1: cannot create x: Read-only file system",
            "tee: x: Read-only file system",
            "touch: cannot touch x: Read-only file system",
            "error: failed to open: /p/x: Read-only file system (os error 30)",
            "Error: EROFS: read-only file system, open 'x'",
        ] {
            let found = blocked(line, Some(1), Path::new("/p"), &Shut);
            assert_eq!(words(&found), ["write /p/x"], "{line}");
        }
    }

    #[test]
    fn reads_that_were_stopped_are_found() {
        row("cat: /h/.ssh/id: Permission denied", 1, &["read /h/.ssh/id"]);
        row("cat: .env: Permission denied", 1, &["read /p/.env"]);
        // That was not the cage.
        row("cat: /etc/other: Permission denied", 1, &[]);
    }

    #[test]
    fn a_network_that_is_not_there_is_found() {
        for line in [
            "curl: (6) Could not resolve host: example.com",
            "fatal: unable to access 'https://x.example/r.git/': Could not resolve host: x.example",
            "ssh: Could not resolve hostname x: Temporary failure in name resolution",
            "npm error code EAI_AGAIN",
            "npm error request to https://packages.example/x failed, reason: getaddrinfo EAI_AGAIN packages.example",
            "wget: unable to resolve host address 'x.example'",
            "dial tcp: lookup modules.example: no such host",
            "OSError: [Errno 101] Network is unreachable",
            "Error: listen EPERM: operation not permitted 127.0.0.1:3000",
            "socket: Operation not permitted",
            "ERROR: Could not connect to the index",
            "  sock = socket.socket(af, kind)\nPermissionError: [Errno 1] Operation not permitted",
            "warning: spurious network error (3 tries remaining): [6] Could not resolve hostname",
        ] {
            row(line, 1, &["network"]);
        }
    }

    #[test]
    fn what_only_shows_such_words_is_none() {
        row("src/a.rs:12: \"Network is unreachable\"", 0, &[]);
        row("log/x.txt:Could not resolve host: a", 0, &[]);
        row("    let text = \"Permission denied: /etc/x\";", 0, &[]);
        row("all is well", 1, &[]);
        row("", 1, &[]);
    }

    #[test]
    fn what_no_cage_stopped_is_none() {
        row("rm: cannot remove 'x': Permission denied", 1, &[]);
        row("sh: 1: ./run.sh: Permission denied", 126, &[]);
        row("sh: 1: /etc/x: Permission denied", 126, &[]);
        row("kill: (1) - Operation not permitted", 1, &[]);
    }

    #[test]
    fn little_is_told_and_each_thing_once() {
        let many: String = (0..10).map(|at| format!("touch: cannot touch '/etc/{at}': Permission denied\n")).collect();
        row(&many.repeat(3), 1, &["write /etc/0", "write /etc/1", "write /etc/2"]);
        let far = format!("touch: '/etc/x': Permission denied\n{}", "x\n".repeat(MAX_LINES));
        row(&far, 1, &[]);
        let long = format!("{} '/etc/x': Permission denied", "\u{e9}".repeat(MAX_LINE));
        row(&long, 1, &[]);
    }

    #[test]
    fn the_model_reads_what_to_ask_for() {
        let told = [Blocked::Write("/p/.git/hooks/x".into()), Blocked::Write("/etc/a b".into()), Blocked::Network];
        assert_eq!(
            lines(&told, Path::new("/p")).join("\n"),
            "The cage stopped writing to .git/hooks/x: call bash again with write: [\".git/hooks/x\"] to ask for it.\n\
             The cage stopped writing to /etc/a b: call bash again with write: [\"/etc/a b\"] to ask for it.\n\
             The cage has no network: call bash again with network: true to ask for it."
        );
        assert_eq!(
            lines(&[Blocked::Read("/h/.ssh/id".into())], Path::new("/p")),
            ["The cage keeps /h/.ssh/id from commands; the read tool can ask for it."]
        );
    }
}
