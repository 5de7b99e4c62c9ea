//! A terminal session of its own.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::process::{Pid, getpid, setpgid, setsid};

use crate::cage::Session;

/// Makes this process the leader of a new session, unless it was started in one for it.
pub(super) fn enter(session: Session) -> Result<(), String> {
    match session {
        Session::Kept => Ok(()),
        Session::New => lead().map_err(|why| format!("it cannot have a terminal session of its own: {why}")),
    }
}

fn lead() -> Result<(), String> {
    if setsid().is_ok() || leads_its_session() {
        return Ok(());
    }
    // Who leads a group cannot begin a session. As a member of another one we lead none, and the group that comes with
    // the session has the number of the one that we left. The group of our parent will not do: seen from a PID namespace
    // that was entered from outside it may have no number.
    let mut other = another_group().map_err(|error| format!("no other group was begun: {error}"))?;
    let joined =
        Pid::from_raw(other.id().cast_signed()).ok_or(Errno::SRCH).and_then(|group| setpgid(None, Some(group)));
    let led = joined.and_then(|()| setsid());
    // Only until it is waited for is its group there for certain.
    let _ = other.wait();
    led.map(|_| ()).map_err(|errno| errno.to_string())
}

/// Whether the session is this process's own already. Asked of `/proc`, because a session that was begun outside of this
/// PID namespace has the number 0 here, which `getsid` of rustix does not take.
fn leads_its_session() -> bool {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else { return false };
    session_of(&stat) == Some(getpid().as_raw_nonzero().get())
}

/// The session in a line of `/proc/PID/stat`: the fourth field behind the name, which may hold spaces and brackets.
fn session_of(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(3)?.parse().ok()
}

/// A process that leads a group in our session, and does nothing: this binary, asked for what it does not understand.
fn another_group() -> std::io::Result<std::process::Child> {
    Command::new("/proc/self/exe")
        .arg(crate::launcher::ASKED)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_is_the_fourth_field_behind_the_name() {
        for (stat, session) in [
            ("12 (sh) S 1 12 7 34816 12 4194304", Some(7)),
            ("12 (a ) 1 2 (b) S 1 12 0 0 -1 4194304", Some(0)),
            ("12 (sh) S 1", None),
            ("", None),
        ] {
            assert_eq!(session_of(stat), session, "{stat}");
        }
    }
}
