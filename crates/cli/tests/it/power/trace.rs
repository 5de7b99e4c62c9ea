//! The changes of files that a program makes, as `strace` tells them.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::Machine;
use crate::terminal::{Terminal, WIDE};

/// A change of a file below haft's data folder, or that one was forced to the disk. Paths are relative to it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Op {
    /// It is there from now on, empty if it was not there before.
    Make(PathBuf),
    Write {
        path: PathBuf,
        at: At,
        bytes: Vec<u8>,
    },
    Cut {
        path: PathBuf,
        length: usize,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Unlink(PathBuf),
    /// A file, or the names in a folder.
    Sync(PathBuf),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    End,
    Place(usize),
}

impl Op {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Op::Make(path) | Op::Write { path, .. } | Op::Cut { path, .. } | Op::Unlink(path) | Op::Sync(path) => path,
            Op::Rename { to, .. } => to,
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Write { path, at, bytes } => write!(f, "write {} bytes to {} at {at:?}", bytes.len(), path.display()),
            other => write!(f, "{other:?}"),
        }
    }
}

const CALLS: &str = "openat,write,pwrite64,ftruncate,rename,renameat,renameat2,link,linkat,unlink,unlinkat,fsync,fdatasync,\
    writev,pwritev,pwritev2,fallocate,copy_file_range,sendfile";

/// Runs haft with `args` and `input`, and gives back what it changed.
pub(crate) fn record(machine: &Machine, args: &[&str], input: &str) -> Vec<Op> {
    let mut child = machine.start(traced(machine, args).stdin(Stdio::piped()));
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
    let ran = child.wait_with_output().unwrap();
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    changes(machine)
}

/// The same at a terminal, where somebody says `answer` to the one question that haft asks.
pub(crate) fn record_answered(machine: &Machine, args: &[&str], answer: &str) -> Vec<Op> {
    let mut terminal = Terminal::open(&traced(machine, args), WIDE);
    terminal.answer(answer);
    assert_eq!(terminal.wait_exit(), 0, "{}", terminal.screen());
    changes(machine)
}

fn traced(machine: &Machine, args: &[&str]) -> Command {
    let command = machine.command(args);
    let mut traced = Command::new("strace");
    // Nothing is cut, and every byte is written in the same way.
    traced.args(["-f", "-y", "-xx", "-s", "16777216", "-qq", "--seccomp-bpf", "-e", &format!("trace={CALLS}"), "-o"]);
    traced.arg(log(machine)).arg(command.get_program()).args(command.get_args()).env_clear();
    traced.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    traced.current_dir(machine.project());
    traced
}

fn log(machine: &Machine) -> PathBuf {
    machine.root().join("strace.log")
}

fn changes(machine: &Machine) -> Vec<Op> {
    read(&std::fs::read_to_string(log(machine)).unwrap(), &machine.data())
}

/// The changes below `root` in a log of `strace`.
fn read(log: &str, root: &Path) -> Vec<Op> {
    let mut begun: HashMap<&str, &str> = HashMap::new();
    let mut ops = Vec::new();
    for line in log.lines() {
        let (thread, rest) = line.split_once(' ').unwrap();
        let rest = rest.trim_start();
        if let Some(first) = rest.strip_suffix("<unfinished ...>") {
            begun.insert(thread, first);
            continue;
        }
        // What was interrupted by other threads counts when it is done.
        let whole = match rest.strip_prefix("<... ").and_then(|rest| rest.split_once(" resumed>")) {
            Some((_, rest)) => format!("{}{rest}", begun.remove(thread).unwrap_or_default()),
            None => rest.to_owned(),
        };
        ops.extend(op(&whole, root));
    }
    ops
}

fn op(line: &str, root: &Path) -> Option<Op> {
    let (call, rest) = line.split_once('(')?;
    let (args, result) = rest.rsplit_once(" = ")?;
    let args = args.trim_end().strip_suffix(')')?;
    if result.starts_with('-') {
        return None;
    }
    let args: Vec<&str> = args.split(", ").map(str::trim).collect();
    let below = |path: PathBuf| path.strip_prefix(root).ok().map(Path::to_owned);
    // `11<…path…>`
    let of_number = |arg: &str| Some(PathBuf::from(plain(arg.split_once('<')?.1.strip_suffix('>')?)));
    let file = |at: usize| of_number(args.get(at)?).and_then(below);
    // `"…name…"`, in the folder `dir` where it is not absolute.
    let named = |dir: Option<usize>, at: usize| {
        let name = plain(args.get(at)?.strip_prefix('"')?.strip_suffix('"')?);
        let folder = dir.and_then(|dir| of_number(args[dir])).unwrap_or_default();
        below(folder.join(name))
    };
    let place = |at: usize| args.get(at)?.parse::<usize>().ok();
    Some(match call {
        "openat" if line.contains("O_CREAT") || line.contains("O_TRUNC") => {
            let path = named(Some(0), 1)?;
            match line.contains("O_TRUNC") {
                true => Op::Cut { path, length: 0 },
                false => Op::Make(path),
            }
        }
        "write" => Op::Write { path: file(0)?, at: At::End, bytes: bytes(args[1])? },
        "pwrite64" => Op::Write { path: file(0)?, at: At::Place(place(3)?), bytes: bytes(args[1])? },
        "ftruncate" => Op::Cut { path: file(0)?, length: place(1)? },
        "rename" => Op::Rename { from: named(None, 0)?, to: named(None, 1)? },
        "renameat" | "renameat2" => Op::Rename { from: named(Some(0), 1)?, to: named(Some(2), 3)? },
        "unlink" => Op::Unlink(named(None, 0)?),
        "unlinkat" => Op::Unlink(named(Some(0), 1)?),
        "fsync" | "fdatasync" => Op::Sync(file(0)?),
        // A way to change files that the model does not know would make it prove nothing.
        "writev" | "pwritev" | "pwritev2" | "fallocate" | "copy_file_range" | "sendfile" | "link" | "linkat" => {
            let touched = (0..args.len()).find_map(|at| file(at).or_else(|| named(None, at)));
            assert!(touched.is_none(), "the model of the disk does not know {call}: {touched:?}");
            return None;
        }
        _ => return None,
    })
}

/// `\x61\x62` as text.
fn plain(escaped: &str) -> String {
    String::from_utf8(unescaped(escaped).unwrap_or_default()).unwrap_or_default()
}

fn bytes(arg: &str) -> Option<Vec<u8>> {
    unescaped(arg.strip_prefix('"')?.strip_suffix('"').unwrap_or_else(|| panic!("strace cut something: {arg:.80}")))
}

fn unescaped(text: &str) -> Option<Vec<u8>> {
    text.split("\\x").skip(1).map(|digits| u8::from_str_radix(digits, 16).ok()).collect()
}

#[test]
fn a_log_is_read() {
    let log = r#"
7 openat(AT_FDCWD<\x2f>, "\x2f\x64\x2f\x61", O_WRONLY|O_CREAT|O_CLOEXEC, 0600) = 3<\x2f\x64\x2f\x61>
7 pwrite64(3<\x2f\x64\x2f\x61>, "\x41\x2c\x20", 3, 9 <unfinished ...>
8 write(3<\x2f\x64\x2f\x61>, "\x42", 1) = 1
7 <... pwrite64 resumed>)            = 3
8 renameat2(4<\x2f\x64>, "\x61", 4<\x2f\x64>, "\x62", RENAME_NOREPLACE) = 0
8 unlink("\x2f\x65\x2f\x62") = 0
8 fsync(4<\x2f\x64>) = 0
8 unlink("\x2f\x64\x2f\x63") = -1 ENOENT (No such file or directory)
"#;
    let path = PathBuf::from;
    let want = [
        Op::Make(path("a")),
        Op::Write { path: path("a"), at: At::End, bytes: b"B".to_vec() },
        Op::Write { path: path("a"), at: At::Place(9), bytes: b"A, ".to_vec() },
        Op::Rename { from: path("a"), to: path("b") },
        Op::Sync(path("")),
    ];
    assert_eq!(read(log.trim_start(), Path::new("/d")), want);
}
