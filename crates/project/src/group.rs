//! A process group: signalling all of it, and whether anything of it still runs.

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// The processes that one command started. What is left of them is killed when this is dropped.
///
/// A process that began a session (`setsid`) or a group of its own (`set -m`) has left this one and is out of reach.
#[derive(Debug)]
pub(crate) struct Group {
    /// `None` once everything in it is known to be gone: the number may then be given to somebody else.
    leader: Option<Pid>,
}

impl Group {
    /// The group whose leader has the number `leader`.
    pub(crate) fn new(leader: Option<u32>) -> Self {
        let leader = leader.and_then(|leader| i32::try_from(leader).ok()).and_then(Pid::from_raw);
        Self { leader }
    }

    /// Asks all of it to end.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends all of it.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Ends all of it, and never touches that number again.
    pub(crate) fn finish(&mut self) {
        self.kill();
        self.leader = None;
    }

    /// Whether anything of it still runs. What has ended and only waits to be noticed does not count.
    pub(crate) fn is_alive(&self) -> bool {
        self.leader.is_some_and(|leader| test_kill_process_group(leader).is_ok() && any_running(leader))
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // The only error that can come is that nobody is left.
            let _ = kill_process_group(leader, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Whether a member of the group is more than a zombie. In a container whose first process does not collect them,
/// zombies stay for ever.
#[cfg(target_os = "linux")]
fn any_running(leader: Pid) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else { return true };
    let group = leader.as_raw_nonzero().get();
    entries.flatten().any(|entry| {
        let number = entry.file_name().to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        number
            && std::fs::read(entry.path().join("stat"))
                .ok()
                .and_then(|stat| state_and_group(&String::from_utf8_lossy(&stat)))
                .is_some_and(|(state, of)| of == group && !matches!(state, 'Z' | 'X'))
    })
}

#[cfg(not(target_os = "linux"))]
fn any_running(_leader: Pid) -> bool {
    true
}

/// The state and the group in a line of `/proc/PID/stat`. The name before them may hold anything, also `)`.
#[cfg(target_os = "linux")]
fn state_and_group(stat: &str) -> Option<(char, i32)> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?.chars().next()?;
    let group = fields.nth(1)?.parse().ok()?;
    Some((state, group))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stat: &str, want: Option<(char, i32)>) {
        assert_eq!(state_and_group(stat), want, "{stat}");
    }

    #[test]
    fn a_process_may_have_any_name() {
        check("12 (sleep) S 1 77 77 0 -1", Some(('S', 77)));
        check("12 (a) R 9 (b) Z 1 77 77 0 -1", Some(('Z', 77)));
        check("12 (x", None);
        check("", None);
    }
}
