//! All that one command started: finding it, signalling it, and waiting until it is gone.

#[cfg(target_os = "linux")]
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

#[cfg(target_os = "linux")]
use super::proc::{self, Process};

/// How often those are looked for that were started while others were being killed.
#[cfg(target_os = "linux")]
const ROUNDS: usize = 16;
/// How often is looked whether something has ended where the system does not tell.
const LOOK: Duration = Duration::from_millis(200);
/// Most processes that are waited for, and named, at once.
#[cfg(target_os = "linux")]
const AT_ONCE: usize = 64;
/// How much of a command line is told, in characters.
#[cfg(target_os = "linux")]
const WORDS: usize = 60;

/// The processes that one command started. What is left of them is killed when this is dropped.
///
/// On Linux these are its process group, all that carries its mark in the environment, and all that one of these has
/// started: also what began a session (`setsid`) and whose parents have ended. What has done both *and* has cleared
/// its environment, or may not be looked into, is out of reach. Elsewhere it is the process group alone.
#[derive(Debug)]
pub(crate) struct Tree {
    /// `None` once everything in it is known to be gone: the number may then be given to somebody else.
    scope: Option<Scope>,
}

/// What the processes are known by.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    leader: Pid,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux tells a process by it"))]
    mark: Arc<str>,
    /// When the first of them was started.
    #[cfg(target_os = "linux")]
    begun: u64,
}

impl Tree {
    /// What was started with `leader`, which has not been waited for yet, and carries `mark`.
    pub(crate) fn new(leader: Option<u32>, mark: Arc<str>) -> Self {
        let leader = leader.and_then(|leader| i32::try_from(leader).ok()).and_then(Pid::from_raw);
        let scope = leader.map(|leader| Scope {
            leader,
            mark,
            #[cfg(target_os = "linux")]
            begun: Process::find(leader.as_raw_nonzero().get()).map_or(0, |process| process.started()),
        });
        Self { scope }
    }

    /// Asks all of it to end.
    pub(crate) fn terminate(&self) {
        if let Some(scope) = &self.scope {
            scope.terminate();
        }
    }

    /// Ends all of it.
    pub(crate) fn kill(&self) {
        if let Some(scope) = &self.scope {
            scope.kill();
        }
    }

    /// Ends all of it, and never touches that number again.
    pub(crate) fn finish(&mut self) {
        self.kill();
        self.is_gone();
    }

    /// Notes that nothing is left of it.
    pub(crate) fn is_gone(&mut self) {
        self.scope = None;
    }

    /// What it is known by, unless nothing is left.
    pub(crate) fn scope(&self) -> Option<Scope> {
        self.scope.clone()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.finish();
    }
}

#[cfg(target_os = "linux")]
impl Scope {
    /// What still runs.
    fn members(&self) -> Vec<Process> {
        proc::members(self.leader.as_raw_nonzero().get(), &self.mark, self.begun)
    }

    fn holds_a_cage(&self, one: &Process) -> bool {
        one.holds_a_cage(self.leader.as_raw_nonzero().get())
    }

    fn terminate(&self) {
        let members = self.members();
        // The group of a cage's own processes holds little else.
        if !members.iter().any(|one| self.holds_a_cage(one)) {
            self.send_group(Signal::TERM);
        }
        members.iter().filter(|one| !self.holds_a_cage(one)).for_each(|one| send(one, Signal::TERM));
    }

    fn kill(&self) {
        let mut seen = HashSet::new();
        for _ in 0..ROUNDS {
            let fresh: Vec<Process> = self.members().into_iter().filter(|one| seen.insert(*one)).collect();
            if fresh.is_empty() {
                return;
            }
            self.send_group(Signal::KILL);
            fresh.iter().for_each(|one| send(one, Signal::KILL));
        }
    }

    /// Signals the group in one go, so that nobody in it is missed who was just started.
    fn send_group(&self, signal: Signal) {
        if !proc::is_taken(self.leader.as_raw_nonzero().get(), self.begun) {
            // The only error that can come is that nobody is left.
            let _ = kill_process_group(self.leader, signal);
        }
    }

    /// The command lines of what still runs, in a few words each.
    pub(crate) async fn left(&self) -> Vec<String> {
        let scope = self.clone();
        let look = move || {
            let members = scope.members();
            let left = members.iter().filter(|one| !scope.holds_a_cage(one));
            left.take(AT_ONCE).map(|one| one.words(WORDS)).collect()
        };
        tokio::task::spawn_blocking(look).await.unwrap_or_default()
    }

    /// Waits until nothing runs any more.
    pub(crate) async fn gone(self) {
        loop {
            let scope = self.clone();
            let members = tokio::task::spawn_blocking(move || scope.members()).await.unwrap_or_default();
            if members.is_empty() {
                return;
            }
            for member in members.iter().take(AT_ONCE) {
                ended(member).await;
            }
        }
    }
}

/// Signals this process and none that got its number later.
#[cfg(target_os = "linux")]
fn send(process: &Process, signal: Signal) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let Some(pid) = Pid::from_raw(process.pid) else { return };
    // Whoever has ended meanwhile needs no signal.
    if let Ok(handle) = pidfd_open(pid, PidfdFlags::empty())
        && process.is_alive()
    {
        let _ = pidfd_send_signal(&handle, signal);
    }
}

/// Waits until this process has ended.
#[cfg(target_os = "linux")]
async fn ended(process: &Process) {
    use rustix::process::{PidfdFlags, pidfd_open};
    use tokio::io::{Interest, unix::AsyncFd};
    // Its replacement needs `unsafe`, for handles that are not always the same; one that we own is.
    #[expect(deprecated, reason = "the other way cannot be had without unsafe code")]
    let watch = |handle| AsyncFd::with_interest(handle, Interest::READABLE);
    match Pid::from_raw(process.pid).map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
        Some(Ok(handle)) if process.is_alive() => match watch(handle) {
            Ok(handle) => drop(handle.readable().await),
            Err(_) => tokio::time::sleep(LOOK).await,
        },
        None | Some(Ok(_)) | Some(Err(rustix::io::Errno::SRCH)) => {}
        Some(Err(_)) => tokio::time::sleep(LOOK).await,
    }
}

#[cfg(not(target_os = "linux"))]
impl Scope {
    fn terminate(&self) {
        // The only error that can come is that nobody is left.
        let _ = kill_process_group(self.leader, Signal::TERM);
    }

    fn kill(&self) {
        // As there.
        let _ = kill_process_group(self.leader, Signal::KILL);
    }

    fn runs(&self) -> bool {
        rustix::process::test_kill_process_group(self.leader).is_ok()
    }

    /// One word for each thing that still runs.
    pub(crate) async fn left(&self) -> Vec<String> {
        if self.runs() { vec!["a process".to_owned()] } else { Vec::new() }
    }

    /// Waits until nothing runs any more.
    pub(crate) async fn gone(self) {
        while self.runs() {
            tokio::time::sleep(LOOK).await;
        }
    }
}
