//! What the system says of processes (`/proc`).

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::time::Duration;

/// Most bytes of a process's environment that are looked through.
const MAX_ENVIRONMENT: u64 = 1024 * 1024;

/// Room for a line of `/proc/PID/stat`, in bytes: some fifty numbers and a name of at most 64 bytes.
const MAX_STAT: usize = 2048;

/// The program that makes the namespaces of a cage.
const BWRAP: &str = "bwrap";

/// How often an environment is looked at, until it is the same twice: while a process changes its program, it has none or
/// only the beginning of one.
const LOOKS: usize = 50;
/// How long between two looks at none.
const LOOK: Duration = Duration::from_millis(1);

/// A process, as it was when it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    parent: i32,
    group: i32,
    /// When it was started, in ticks of the system. With the number it names a process for all time.
    started: u64,
    /// It is named as what makes the namespaces of a cage.
    is_bwrap: bool,
    /// It has ended, and only waits to be noticed. In a container whose first process does not collect them, such
    /// processes stay for ever.
    ended: bool,
}

impl Process {
    /// The process with this number, if there is one.
    pub(crate) fn find(pid: i32) -> Option<Self> {
        let mut line = [0; MAX_STAT];
        // The system gives all of it to the first call that has room, and there is a file for each process.
        let length = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut line).ok()?;
        Self::parse(&String::from_utf8_lossy(line.get(..length)?))
    }

    /// Whether the same process is still there under its number, and has not ended.
    pub(crate) fn is_alive(&self) -> bool {
        Self::find(self.pid).is_some_and(|now| now.started == self.started && !now.ended)
    }

    /// When it was started.
    pub(crate) fn started(&self) -> u64 {
        self.started
    }

    /// Whether it does nothing but hold the namespaces of the cage that `leader` made, and end with what is in it: the
    /// one that waits for the command, and the first one inside. They are members of the tree, and are killed with it; but
    /// asked to end, the one that waits would do so and forget how the command ends, and neither is anything that a
    /// command has left running. A command that takes the name is asked nothing, and killed like all others.
    pub(crate) fn holds_a_cage(&self, leader: i32) -> bool {
        self.is_bwrap && self.group == leader
    }

    /// Whether it is not the one that was started at `begun`, where 0 is not known.
    fn is_other(&self, begun: u64) -> bool {
        begun != 0 && self.started != begun
    }

    /// A line of `/proc/PID/stat`. The name in it may hold anything, also `)`.
    fn parse(stat: &str) -> Option<Self> {
        let (begin, rest) = stat.rsplit_once(") ")?;
        let (pid, name) = begin.split_once(" (")?;
        let pid = pid.parse().ok()?;
        let fields: Vec<&str> = rest.split(' ').take(20).collect();
        let ended = matches!(*fields.first()?, "Z" | "X");
        let number = |at: usize| fields.get(at)?.parse().ok();
        Some(Self {
            pid,
            parent: number(1)?,
            group: number(2)?,
            started: fields.get(19)?.parse().ok()?,
            is_bwrap: name == BWRAP,
            ended,
        })
    }

    /// Its command line in a few words, at most `most` characters.
    pub(crate) fn words(&self, most: usize) -> String {
        let mut bytes = Vec::new();
        if let Ok(file) = File::open(format!("/proc/{}/cmdline", self.pid)) {
            // What cannot be read has no name.
            let _ = file.take(4 * most as u64).read_to_end(&mut bytes);
        }
        let text = String::from_utf8_lossy(&bytes).replace(|sign: char| sign.is_control(), " ");
        text.trim().chars().take(most).collect()
    }

    fn has(&self, mark: &str) -> bool {
        let mut last = Vec::new();
        for _ in 0..LOOKS {
            let environment = match self.environment() {
                Err(error) if error.kind() == ErrorKind::PermissionDenied => return false,
                looked => looked.unwrap_or_default(),
            };
            if contains_mark(&environment, mark) {
                return true;
            }
            // Threads of the system are of no group, and have no environment.
            let is_settled = !environment.is_empty() && environment == last;
            if is_settled || self.group == 0 || !self.is_alive() {
                return false;
            }
            if environment.is_empty() {
                std::thread::sleep(LOOK);
            }
            last = environment;
        }
        false
    }

    fn environment(&self) -> io::Result<Vec<u8>> {
        // With room for all of it, it is read at once, before it can change.
        let mut bytes = Vec::with_capacity(64 * 1024);
        File::open(format!("/proc/{}/environ", self.pid))?.take(MAX_ENVIRONMENT).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Whether an environment, as the system gives it, holds the mark in its variable.
fn contains_mark(environment: &[u8], mark: &str) -> bool {
    environment
        .split(|&byte| byte == 0)
        .filter_map(|variable| variable.strip_prefix(super::MARK.as_bytes())?.strip_prefix(b"="))
        .any(|value| value.split(|&byte| byte == b' ').any(|one| one == mark.as_bytes()))
}

/// What runs of the group `leader` that began at `begun`, of what carries `mark` and was not started before that, and of
/// all that these have started.
pub(crate) fn members(leader: i32, mark: &str, begun: u64) -> Vec<Process> {
    chosen(all(), leader, begun, |one| one.has(mark))
}

/// Whether somebody else got the number `leader` since the group of that number began at `begun`: then the group is
/// theirs, and nothing is left of the one that was. A number is given anew only when neither a process nor a group has it.
pub(crate) fn is_taken(leader: i32, begun: u64) -> bool {
    Process::find(leader).is_some_and(|one| one.is_other(begun))
}

/// Those of `all` that are meant, see [`members`].
fn chosen(all: Vec<Process>, leader: i32, begun: u64, has_mark: impl Fn(&Process) -> bool) -> Vec<Process> {
    let own = std::process::id() as i32;
    let taken = all.iter().any(|one| one.pid == leader && one.is_other(begun));
    let mut found: HashSet<i32> = all
        .iter()
        // What has ended has no environment, and its children have another parent.
        .filter(|one| (one.group == leader && !taken) || (one.started >= begun && !one.ended && has_mark(one)))
        .map(|one| one.pid)
        .collect();
    loop {
        let before = found.len();
        found.extend(all.iter().filter(|one| found.contains(&one.parent)).map(|one| one.pid).collect::<Vec<_>>());
        if found.len() == before {
            break;
        }
    }
    all.into_iter().filter(|one| found.contains(&one.pid) && !one.ended && one.pid != own).collect()
}

fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    entries.flatten().filter_map(number).filter_map(Process::find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_have_any_name() {
        let rest = "0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0";
        let row = |stat: &str, want: Option<(i32, i32, i32, bool)>| {
            let got = Process::parse(&format!("{stat} {rest}"));
            assert_eq!(got.map(|one| (one.pid, one.parent, one.group, one.ended)), want, "{stat}");
            assert!(got.is_none_or(|one| one.started == 4711), "{stat}");
        };
        row("12 (sleep) S 1 77 77", Some((12, 1, 77, false)));
        row("12 (a) R 9 (b) Z 1 77 77", Some((12, 1, 77, true)));
        row("12 (x", None);
        row("", None);
        assert_eq!(Process::parse("12 (sleep) S 1 77 77"), None);
    }

    #[test]
    fn what_holds_a_cage_is_known_by_name_and_group() {
        let row = |name: &str, want: bool| {
            let process =
                Process::parse(&format!("12 ({name}) S 1 77 77 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0")).unwrap();
            assert_eq!(process.holds_a_cage(77), want, "{name}");
            assert!(!process.holds_a_cage(78), "{name}");
        };
        row("bwrap", true);
        row("sh", false);
        row("bwrap) S 1 (x", false);
        row("", false);
    }

    #[test]
    fn a_number_that_was_given_to_somebody_else_is_not_ours() {
        let process =
            |pid, parent, group, started| Process { pid, parent, group, started, is_bwrap: false, ended: false };
        let row = |begun: u64, all: &[Process], want: &[i32]| {
            let got = chosen(all.to_vec(), 70, begun, |one| one.pid == 90);
            assert_eq!(got.iter().map(|one| one.pid).collect::<Vec<_>>(), want);
        };
        let marked = process(90, 1, 90, 500);
        let child = process(91, 90, 91, 501);
        // The shell, one of its group, and what carries the mark with its child.
        row(400, &[process(70, 2, 70, 400), process(71, 1, 70, 400), marked, child], &[70, 71, 90, 91]);
        // The shell is gone, and its group is not.
        row(400, &[process(71, 1, 70, 400), marked], &[71, 90]);
        // A stranger leads a group of that number.
        row(400, &[process(70, 2, 70, 900), process(71, 70, 70, 901), marked, child], &[90, 91]);
        // It is not known when the shell began.
        row(0, &[process(70, 2, 70, 900), marked], &[70, 90]);
    }

    #[test]
    fn a_mark_is_a_word_of_its_own_variable() {
        let row = |environment: &[u8], want: bool| {
            assert_eq!(contains_mark(environment, "ab.1"), want, "{}", String::from_utf8_lossy(environment));
        };
        row(b"A=1\0HAFT_COMMAND=ab.1\0B=2\0", true);
        row(b"HAFT_COMMAND=cd.7 ab.1", true);
        row(b"HAFT_COMMAND=ab.12\0", false);
        row(b"A=HAFT_COMMAND=ab.1\0", false);
        row(b"HAFT_COMMANDS=ab.1\0", false);
        row(b"", false);
    }
}
