//! Options by which programs run other programs.

use crate::judge::Command;
use crate::walk::Walk;
use crate::word::short;

/// A program, letters of such options, and their long names.
const RUNNING: &[(&str, &str, &[&str])] = &[
    (
        "tar",
        "IF",
        &[
            "--use-compress-program",
            "--to-command",
            "--checkpoint-action",
            "--rsh-command",
            "--rmt-command",
            "--info-script",
            "--new-volume-script",
        ],
    ),
    ("bsdtar", "", &["--use-compress-program"]),
    ("gtar", "IF", &["--use-compress-program", "--to-command", "--checkpoint-action", "--rsh-command"]),
    ("rsync", "e", &["--rsh", "--rsync-path", "--files-from"]),
    ("sort", "", &["--compress-program", "--files0-from"]),
    ("wc", "", &["--files0-from"]),
    ("du", "", &["--files0-from"]),
    ("split", "", &["--filter"]),
    ("zip", "TU", &["--unzip-command", "--test"]),
    ("man", "PHC", &["--pager", "--html", "--config-file"]),
    ("nc", "ec", &["--exec", "--sh-exec", "--lua-exec"]),
    ("ncat", "ec", &["--exec", "--sh-exec", "--lua-exec"]),
    ("netcat", "ec", &["--exec", "--sh-exec"]),
    ("bun", "ep", &["--eval", "--print", "--preload"]),
    ("mysql", "", &["--pager", "--tee", "--init-command", "--plugin-dir"]),
    ("rg", "", &["--pre", "--hostname-bin"]),
    ("fd", "xX", &["--exec", "--exec-batch"]),
    ("fdfind", "xX", &["--exec", "--exec-batch"]),
    ("fzf", "", &["--preview", "--bind", "--listen", "--become"]),
    ("bat", "", &["--pager"]),
    ("less", "k", &["--lesskey-src", "--lesskey-file", "--lesskey-content"]),
    ("install", "", &["--strip-program"]),
    ("curl", "K", &["--config", "--engine"]),
    ("wget", "e", &["--execute", "--use-askpass", "--config"]),
    ("scp", "SoF", &[]),
    ("sftp", "SoFb", &[]),
    ("go", "", &["-toolexec", "-exec", "-vettool", "--toolexec", "--exec"]),
    ("cargo", "", &["--config"]),
    ("cmake", "PE", &[]),
    ("rustc", "C", &["--codegen"]),
    ("gcc", "B", &["-wrapper"]),
    ("ctags", "", &["--options"]),
    ("npm", "", &["--script-shell", "--shell", "--git", "--call", "--node-options"]),
    ("npx", "c", &["--call", "--script-shell"]),
    ("pytest", "pc", &["--rootdir", "--confcutdir"]),
    ("psql", "", &["--file"]),
    ("sqlite3", "", &["-cmd", "-init"]),
    ("emacs", "", &["--eval", "--load", "--batch"]),
    ("dpkg", "", &["--pre-invoke", "--post-invoke"]),
    ("apt-get", "o", &["--option"]),
    ("apt", "o", &["--option"]),
    ("nmap", "", &["--script"]),
    ("date", "", &[]),
    ("tcpdump", "z", &[]),
    ("ssh-keygen", "D", &[]),
    ("openssl", "", &["-engine", "-provider"]),
];

/// Programs that run what stands among their arguments, in ways that are not followed here.
const NOT_FOLLOWED: &[&str] = &[
    "lldb",
    "perf",
    "vipe",
    "rush",
    "xe",
    "hyperfine",
    "watchexec",
    "nodemon",
    "newgrp",
    "login",
    "bpftrace",
    "sudoedit",
    "systemd-nspawn",
    "at",
    "batch",
    "bwrap",
    "expect",
    "start-stop-daemon",
    "screen",
    "tmux",
    "dtach",
    "abduco",
    "vim",
    "vimdiff",
    "rvim",
    "gvim",
    "vimtutor",
    "nvim-qt",
    "emacsclient",
    "kak",
    "hx",
    "micro",
    "vi",
    "nvim",
    "view",
    "ex",
    "emacs",
    "ed",
    "red",
    "nano",
    "pico",
    "joe",
    "direnv",
    "nix",
    "guix",
    "scriptreplay",
    "capsh",
    "run-parts",
    "logrotate",
    "cron",
    "crond",
    "anacron",
    "machinectl",
    "ssh-agent",
    "socat",
    "m4",
    "cpio",
    "pax",
    "rpm",
    "dc",
    "bc",
    "byebug",
    "irb",
    "ghci",
    "julia",
    "erl",
    "iex",
    "scala",
    "jshell",
    "groovy",
    "clojure",
    "guile",
    "sbcl",
    "racket",
    "gnuplot",
    "octave",
    "R",
];

/// Programs that do more than their arguments tell, and run none of them.
const DARK: &[&str] = &["launchctl", "xdg-open", "open", "chsh", "rename", "prename", "file-rename", "patch"];

/// Of those that only run something when asked by an option, and are often used to look.
const OFTEN_HARMLESS: &[&str] = &["rpm"];

/// Whether "always" for this program may mean more than it seems when one of its calls is unknown.
pub(crate) fn is_flexible(name: &str) -> bool {
    NOT_FOLLOWED.contains(&name) || RUNNING.iter().any(|row| row.0 == name)
}

/// Notes that the command runs others by its options. Whether it does.
pub(crate) fn run_programs(walk: &mut Walk<'_>, command: Command<'_>) -> bool {
    if command.name.starts_with("ld-linux") || command.name.starts_with("ld-musl") || command.name == "ld.so" {
        walk.unknown("the loader runs what it is given");
        return true;
    }
    if NOT_FOLLOWED.contains(&command.name) && !OFTEN_HARMLESS.contains(&command.name) {
        walk.unknown(&format!("what {} runs is not looked into", command.name));
        return true;
    }
    // Without a table of its own to take, it shows or removes the one that is there.
    let takes = |arg: &crate::text::Arg| arg.dynamic || !matches!(arg.start.as_str(), "-l" | "-r" | "-i");
    if DARK.contains(&command.name) || (command.name == "crontab" && command.args.iter().any(takes)) {
        walk.unknown(&format!("what {} does cannot be told", command.name));
        return false;
    }
    if matches!(command.name, "less" | "more" | "most") && command.texts().iter().flatten().any(|t| t.starts_with('+'))
    {
        walk.unknown(&format!("{} is given a command to run", command.name));
        return true;
    }
    if matches!(command.name, "psql" | "mysql" | "mariadb" | "sqlite3" | "mongosh") && speaks_to_the_system(command) {
        walk.unknown(&format!("{} is given a command to run", command.name));
        return true;
    }
    let Some((_, letters, longs)) = RUNNING.iter().find(|row| row.0 == command.name) else { return false };
    let letters = match command.name {
        "npm" if command.has(&["exec", "x"]) => "c",
        _ => letters,
    };
    let mut found = false;
    for (at, text) in command.texts().into_iter().enumerate() {
        let Some(text) = text else { continue };
        // The first word of tar needs no dash.
        let cluster = text
            .strip_prefix('-')
            .or_else(|| (matches!(command.name, "tar" | "gtar") && at == 0).then_some(text.as_str()));
        let short_form =
            cluster.is_some_and(|cluster| !cluster.starts_with('-') && cluster.contains(|c| letters.contains(c)));
        let name = text.split('=').next().unwrap_or_default();
        if short_form || longs.iter().any(|long| is_abbreviation(name, long)) {
            walk.unknown(&format!("{} of {} names a program that it runs", short(&text), command.name));
            found = true;
        }
    }
    found
}

/// Whether a client of a database is told more than to ask the database: its own commands run programs, and read and
/// write files, and so do some functions. Without a question among its arguments it reads one, which nobody has seen.
fn speaks_to_the_system(command: Command<'_>) -> bool {
    const WORDS: [&str; 14] = [
        "program",
        "system",
        "source",
        "outfile",
        "dumpfile",
        "load_file",
        "load data",
        "readfile",
        "writefile",
        "load_extension",
        "fsdir",
        "attach",
        "vacuum into",
        "edit(",
    ];
    let texts: Vec<String> = command.texts().into_iter().flatten().collect();
    let own = |text: &str| text.contains('\\') || (text.starts_with('.') && command.name == "sqlite3");
    let told = texts.iter().any(|text| {
        let low = text.to_lowercase();
        own(text) || WORDS.iter().any(|word| low.contains(word))
    });
    let asks = match command.name {
        "sqlite3" => command.args.iter().filter(|arg| !arg.start.starts_with('-')).count() > 1,
        _ => texts.iter().any(|text| {
            ["-c", "-e", "-l", "-V"].iter().any(|option| text.starts_with(option))
                || ["--command", "--execute", "--list", "--eval", "--version", "--help"]
                    .iter()
                    .any(|option| text.starts_with(option))
        }),
    };
    told || !asks
}

/// Whether `text` is the option `long`, or the beginning of it, as many programs take it.
pub(crate) fn is_abbreviation(text: &str, long: &str) -> bool {
    let least = if long.starts_with("--") { 4 } else { long.len() };
    text.len() >= least && long.starts_with(text)
}
