//! The corpus: what is tried, what it is after, and where it is known to succeed.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Attacks that are after the same.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    harm: Harm,
    attacks: Vec<Attack>,
}

/// A command line that must not get what it is after.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Attack {
    pub id: String,
    /// The command line. `{outside}` and the like stand for places of the machine it runs on; see `Ground::fill`.
    pub run: String,
    /// What it is after, where that is not what its whole file is after.
    harm: Option<Harm>,
    /// Programs it needs; `root`, `user` and names of processors stand for themselves.
    #[serde(default)]
    pub needs: Vec<String>,
    /// It acts some time after it has ended.
    #[serde(default)]
    pub later: bool,
    /// It wants a terminal.
    #[serde(default)]
    pub pty: bool,
    /// Why it is not tried without a cage.
    pub never_free: Option<String>,
    /// Why it may come to nothing even without a cage, on some machines.
    pub may_fail: Option<String>,
    /// Why the analysis need not see it.
    pub unseen: Option<String>,
    /// Where it is known to succeed, by rung, with the reason.
    #[serde(default)]
    pub gap: BTreeMap<String, String>,
}

/// What an attack is after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Harm {
    /// Something outside the project is another than before.
    Outside,
    /// Something in the project that would be run later, or that decides what is allowed, is another than before.
    Protected,
    /// A secret stands in the output, or in a file of the project.
    Secret,
    /// A socket of somebody else was reached.
    Contact,
    /// Something goes on after haft has ended.
    Alive,
    /// Somebody else's process was ended or stopped.
    Victim,
    /// Who started it was ended.
    Died,
    /// A program of the project runs with the rights of its owner, whoever starts it.
    Setuid,
    /// It says so itself: what it tried was not refused.
    Said,
}

impl Attack {
    pub(super) fn harm(&self) -> Harm {
        self.harm.expect("filled in when the corpus was read")
    }

    /// What this machine lacks for it.
    pub(super) fn lacks(&self, path: &str) -> Option<&str> {
        let root = is_root();
        self.needs.iter().map(String::as_str).find(|need| match *need {
            "root" => !root,
            "user" => root,
            "x86_64" | "aarch64" => std::env::consts::ARCH != *need,
            program => !path.split(':').any(|folder| std::path::Path::new(folder).join(program).exists()),
        })
    }
}

/// Whether this is root, by whom a process of ours belongs to.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// All attacks of a file.
pub(super) fn read(text: &str) -> Vec<Attack> {
    let group: Group = serde_norway::from_str(text).unwrap();
    let harm = group.harm;
    group.attacks.into_iter().map(|attack| Attack { harm: attack.harm.or(Some(harm)), ..attack }).collect()
}
