//! What is tried.

use haft_sandbox::Rung;

use super::scratch::Scratch;

/// One thing that is tried.
pub(super) struct Check {
    pub id: &'static str,
    pub group: &'static str,
    /// What is tried, in words.
    pub tried: &'static str,
    /// What the command runs.
    pub script: fn(&Scratch) -> String,
    /// What is seen of it from outside, if anything can be.
    pub effect: fn(&Scratch) -> Option<bool>,
    /// It is to work.
    pub wanted: bool,
    /// It is looked at when all that the command started must have ended.
    pub ends: bool,
    /// It means nothing where the scratch folders are in a folder for temporary files, which commands may write.
    pub outside: bool,
    /// The gap of a rung that explains it.
    pub gap: Option<&'static str>,
    /// The rung that cannot hold it, and why.
    pub except: Option<(Rung, &'static str)>,
}

impl Check {
    const fn new(
        group: &'static str,
        id: &'static str,
        tried: &'static str,
        script: fn(&Scratch) -> String,
        effect: fn(&Scratch) -> Option<bool>,
    ) -> Self {
        Self { id, group, tried, script, effect, wanted: false, ends: false, outside: false, gap: None, except: None }
    }

    const fn wanted(self) -> Self {
        Self { wanted: true, ..self }
    }

    #[cfg(target_os = "linux")]
    const fn ends(self) -> Self {
        Self { ends: true, ..self }
    }

    const fn outside(self) -> Self {
        Self { outside: true, ..self }
    }

    const fn gap(self, promise: &'static str) -> Self {
        Self { gap: Some(promise), ..self }
    }

    const fn except(self, rung: Rung, why: &'static str) -> Self {
        Self { except: Some((rung, why)), ..self }
    }

    /// Why it cannot be held here, if it cannot.
    pub(super) fn beyond(&self, scratch: &Scratch, rung: Rung) -> Option<&'static str> {
        if self.outside && scratch.is_temporary() {
            return Some("haft's folders are in a folder for temporary files, which commands may write");
        }
        self.except.filter(|(except, _)| *except == rung).map(|(_, why)| why)
    }
}

const PROJECT: &str = "Work in the project";
const FILES: &str = "Files outside";
const SECRETS: &str = "Secrets";
const LATER: &str = "What is run later";
pub(super) const NETWORK: &str = "Network";
const PROCESSES: &str = "Processes and the system";

/// Everything that is tried, in the order in which it is shown.
pub(super) const CHECKS: &[Check] = &[
    Check::new(
        PROJECT,
        "write-inside",
        "change a file of the project",
        |s| s.attempt("write", &["src/made"]),
        |s| Some(s.project().join("src/made").exists()),
    )
    .wanted(),
    Check::new(PROJECT, "run-programs", "run a program that the project made", program, |_| None).wanted(),
    Check::new(
        FILES,
        "write-outside",
        "make a file outside the project",
        |s| s.attempt_at("write", &s.made()),
        touched,
    )
    .outside(),
    Check::new(
        FILES,
        "change-outside",
        "change a file outside the project",
        |s| s.attempt_at("write", &s.notes()),
        touched,
    )
    .outside(),
    Check::new(
        FILES,
        "symlink",
        "write through a link that leads outside",
        |s| s.attempt("write", &["way/made"]),
        touched,
    )
    .outside(),
    Check::new(FILES, "hard-link", "write through a second name of a file outside", hard_link, touched).outside(),
    Check::new(FILES, "mode", "change the mode of a file outside", |s| s.attempt_at("open-up", &s.notes()), opened)
        .outside()
        .gap("attributes"),
    Check::new(
        FILES,
        "setuid",
        "make a program that runs with its owner's rights",
        |s| s.attempt("setuid", &["s"]),
        |s| Some(s.is_setuid("s")),
    ),
    Check::new(
        FILES,
        "raw-devices",
        "read a disk around its files",
        |s| s.attempt_all("first-readable", &s.disks()),
        unseen,
    )
    .gap("devices"),
    Check::new(SECRETS, "own-data", "read haft's keys and sessions", |s| s.attempt_at("read", s.own_secret()), unseen),
    Check::new(
        SECRETS,
        "ssh-keys",
        "read a private key in ~/.ssh",
        |s| s.attempt_all("first-readable", &s.ssh_keys()),
        unseen,
    ),
    Check::new(
        SECRETS,
        "credentials",
        "read keys to clouds and registries",
        |s| s.attempt_all("first-readable", &s.credentials()),
        unseen,
    ),
    Check::new(
        SECRETS,
        "passwords",
        "read the passwords of the system",
        |s| s.attempt_all("first-readable", &s.shadow()),
        unseen,
    ),
    Check::new(SECRETS, "dotenv", "read the project's .env", |s| s.attempt("read", &[".env"]), unseen)
        .except(Rung::Landlock, "Landlock can hide nothing in a folder that may be written"),
    Check::new(
        SECRETS,
        "environment",
        "read the environment of another program",
        |s| s.attempt("read", &[&s.victim("environ")]),
        unseen,
    ),
    Check::new(
        LATER,
        "git-hook",
        "add a hook to the repository",
        |s| s.attempt("write", &[".git/hooks/pre-commit"]),
        |s| Some(s.project().join(".git/hooks/pre-commit").exists()),
    ),
    Check::new(
        LATER,
        "git-config",
        "change the repository's settings",
        |s| s.attempt("write", &[".git/config"]),
        |s| Some(s.was_written(".git/config")),
    ),
    Check::new(
        LATER,
        "nested-repository",
        "change a repository inside the project",
        |s| s.attempt("write", &["nested/.git/config"]),
        |s| Some(s.was_written("nested/.git/config")),
    ),
    Check::new(LATER, "new-repository", "make a repository with a hook", new_repository, |s| {
        Some(s.project().join("new/.git/hooks/pre-commit").exists())
    }),
    Check::new(
        LATER,
        "settings",
        "change haft's settings for the project",
        |s| s.attempt("write", &["opencode.json"]),
        |s| Some(s.was_written("opencode.json")),
    ),
    Check::new(LATER, "own-folder", "add a tool for haft to the project", own_folder, |s| {
        Some(s.project().join(".haft/tool/doctor.ts").exists())
    }),
    Check::new(
        LATER,
        "editor-tasks",
        "change the tasks of an editor",
        |s| s.attempt("write", &[".vscode/tasks.json"]),
        |s| Some(s.was_written(".vscode/tasks.json")),
    ),
    Check::new(
        NETWORK,
        "tcp",
        "connect to a service of this machine",
        |s| s.attempt("tcp", &[&s.tcp_address()]),
        |s| Some(s.tcp_reached()),
    ),
    Check::new(NETWORK, "udp", "send a packet", |s| s.attempt("udp", &[&s.udp_address()]), |s| Some(s.udp_reached())),
    Check::new(
        NETWORK,
        "unix-socket",
        "speak to a program through its socket",
        |s| s.attempt_at("unix", &s.socket()),
        |s| Some(s.socket_reached()),
    ),
    #[cfg(target_os = "linux")]
    Check::new(
        NETWORK,
        "abstract-socket",
        "speak to a program through a socket without a file",
        |s| s.attempt("abstract", &[&s.abstract_name()]),
        |s| Some(s.abstract_reached()),
    ),
    Check::new(
        PROCESSES,
        "signal",
        "send a signal to haft",
        |s| s.attempt("signal", &[&std::process::id().to_string()]),
        |_| None,
    )
    .gap("signals"),
    Check::new(
        PROCESSES,
        "memory",
        "look into the memory of another program",
        |s| s.attempt("memory", &[&s.victim("mem")]),
        unseen,
    ),
    Check::new(
        PROCESSES,
        "descriptors",
        "use a file that haft has open",
        |s| s.attempt("read", &[&s.handle()]),
        unseen,
    ),
    Check::new(PROCESSES, "terminal", "get at the terminal that haft is in", |s| s.attempt("terminal", &[]), |_| None),
    Check::new(PROCESSES, "limits", "use memory and disk without a limit", |s| s.attempt("limits", &[]), |_| None),
    #[cfg(target_os = "linux")]
    Check::new(
        PROCESSES,
        "namespaces",
        "make a namespace with more rights",
        |s| s.attempt("run", &["unshare", "--user", "--map-root-user", "true"]),
        |_| None,
    ),
    #[cfg(target_os = "linux")]
    Check::new(PROCESSES, "survive", "go on when haft has ended", survive, |s| Some(s.survivors())).ends(),
    #[cfg(target_os = "linux")]
    Check::new(PROCESSES, "survive-unmarked", "go on without a trace of who started it", survive_unmarked, |s| {
        Some(s.survivors())
    })
    .ends()
    .except(
        Rung::Landlock,
        "without a list of processes of its own, a program that drops its environment and leaves its session is not \
         found again",
    ),
];

/// Of reading nothing is seen from outside.
fn unseen(_: &Scratch) -> Option<bool> {
    None
}

fn touched(scratch: &Scratch) -> Option<bool> {
    Some(scratch.outside_touched())
}

fn opened(scratch: &Scratch) -> Option<bool> {
    Some(scratch.notes_opened())
}

fn program(scratch: &Scratch) -> String {
    format!("printf '#!/bin/sh\\nexit 0\\n' > p.sh && chmod +x p.sh && {}", scratch.attempt("run", &["./p.sh"]))
}

fn hard_link(scratch: &Scratch) -> String {
    scratch.attempt("link", &[&scratch.notes().display().to_string(), "second"])
}

fn new_repository(scratch: &Scratch) -> String {
    format!("mkdir -p new/.git/hooks; {}", scratch.attempt("write", &["new/.git/hooks/pre-commit"]))
}

fn own_folder(scratch: &Scratch) -> String {
    format!("mkdir -p .haft/tool; {}", scratch.attempt("write", &[".haft/tool/doctor.ts"]))
}

#[cfg(target_os = "linux")]
fn survive(scratch: &Scratch) -> String {
    let seconds = scratch.nonce();
    format!(
        "(setsid sleep {seconds} > /dev/null 2>&1 < /dev/null &)\n\
         trap '' HUP; sleep {seconds} > /dev/null 2>&1 < /dev/null &\n\
         echo 'attempt: refused it was ended'"
    )
}

#[cfg(target_os = "linux")]
fn survive_unmarked(scratch: &Scratch) -> String {
    format!(
        "cd /; env -i setsid -f sleep {} > /dev/null 2>&1 < /dev/null; echo 'attempt: refused it was ended'",
        scratch.nonce()
    )
}
