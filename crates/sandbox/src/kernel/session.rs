//! A terminal session of its own.

use rustix::io::Errno;
use rustix::process::{getpgid, getpid, getppid, getsid, setpgid, setsid};

use crate::cage::Session;

/// Makes this process the leader of a new session, unless it was started in one for it.
pub(super) fn enter(session: Session) -> Result<(), String> {
    match session {
        Session::Kept => Ok(()),
        Session::New => lead().map_err(|errno| format!("it cannot have a terminal session of its own: {errno}")),
    }
}

fn lead() -> Result<(), Errno> {
    match setsid() {
        Ok(_) => Ok(()),
        Err(_) if getsid(None)? == getpid() => Ok(()),
        // Who leads a group cannot begin a session. As a member of our parent's group we lead none, and the group that
        // comes with the session has the number of the one that we left.
        Err(_) => {
            setpgid(None, Some(getpgid(getppid())?))?;
            setsid().map(|_| ())
        }
    }
}
