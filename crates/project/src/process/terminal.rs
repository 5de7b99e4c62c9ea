//! Running a shell on a terminal of its own.

use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::mpsc;

use portable_pty::{Child, CommandBuilder, PtyPair, PtySize, native_pty_system};
use tokio::net::unix::pipe;
use tokio::sync::oneshot;

use super::Start;
use super::running::Shell;

/// How high the terminal is, in lines.
pub const ROWS: u16 = 40;
/// How wide it is, in characters.
pub const COLUMNS: u16 = 120;

/// What a program on the terminal is told beside the others: what the terminal understands, and that nobody is there
/// to turn pages.
const TOLD: [(&str, &str); 5] =
    [("TERM", "xterm-256color"), ("LINES", "40"), ("COLUMNS", "120"), ("PAGER", "cat"), ("GIT_PAGER", "cat")];
/// How much is taken from the terminal at once, in bytes; it gives no more itself.
const PIECE: usize = 4096;

/// Starts what leads a session with a terminal. A thread carries what is written there to a pipe, and another
/// waits for the shell: both end with what runs on the terminal. They are there before the shell, so that none runs that
/// nobody waits for.
pub(super) fn start(start: Start) -> io::Result<(Shell, pipe::Receiver)> {
    let Start { launch, dir, variables, .. } = start;
    let size = PtySize { rows: ROWS, cols: COLUMNS, pixel_width: 0, pixel_height: 0 };
    let PtyPair { slave, master } = native_pty_system().openpty(size).map_err(io::Error::other)?;
    let mut command = CommandBuilder::new(launch.program);
    command.env_clear();
    command.args(launch.args);
    command.cwd(dir);
    for (name, value) in variables {
        command.env(name, value);
    }
    for (name, value) in TOLD {
        command.env(name, value);
    }
    let from = master.try_clone_reader().map_err(io::Error::other)?;
    let (reader, writer) = io::pipe()?;
    let output = pipe::Receiver::from_owned_fd(reader.into())?;
    let (hand, started) = mpsc::channel::<Box<dyn Child + Send + Sync>>();
    let (tell, status) = oneshot::channel();
    let wait = move || {
        // Without one it was not started.
        let Ok(child) = started.recv() else { return };
        let child: Box<dyn Child> = child;
        // Only as the standard library's own child does it tell of signals.
        let status = match child.downcast::<std::process::Child>() {
            Ok(mut child) => child.wait(),
            Err(mut child) => child.wait().map(|status| ExitStatus::from_raw((status.exit_code() as i32 & 0xff) << 8)),
        };
        // Whoever asked may have gone.
        let _ = tell.send(status);
    };
    std::thread::Builder::new().name("terminal-shell".to_owned()).spawn(wait)?;
    std::thread::Builder::new().name("terminal".to_owned()).spawn(move || carry(from, writer))?;
    let child = slave.spawn_command(command).map_err(io::Error::other)?;
    // While we hold it ourselves, the stream would never end.
    drop(slave);
    let id = child.process_id();
    // The thread waits for it.
    let _ = hand.send(child);
    Ok((Shell::Terminal { id, status }, output))
}

/// Carries until nobody holds the terminal any more, or nobody wants to read.
fn carry(mut from: Box<dyn Read + Send>, mut to: io::PipeWriter) {
    let mut piece = [0; PIECE];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return,
            Ok(got) => {
                if to.write_all(&piece[..got]).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
