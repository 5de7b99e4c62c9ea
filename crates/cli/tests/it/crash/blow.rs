//! When a run is killed.

use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// The system calls that change what is kept, each kind with how many of them a run may make before it is killed.
const CALLS: [(&str, u64); 6] = [
    ("pwrite64", 120),
    ("write", 160),
    ("rename,renameat,renameat2", 5),
    ("fsync,fdatasync,ftruncate", 3),
    ("openat", 150),
    ("unlink,unlinkat,mkdir,mkdirat", 8),
];
/// A run that said so much is killed, whatever else it waits for.
const MOST_SAID: usize = 60_000;
/// Nothing that is done between two bytes of what is said takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Numbers that look random and are the same for the same seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }
}

/// A point at which a run is killed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Blow {
    /// When it has said so many bytes, and then after a while.
    Said { bytes: usize, then: Duration },
    /// When one of its threads makes the N-th of these system calls.
    Call { kind: &'static str, number: u64 },
}

impl Blow {
    pub(crate) fn choose(dice: &mut Dice) -> Self {
        if can_trace() && dice.below(5) < 2 {
            let (kind, most) = CALLS[usize::try_from(dice.below(CALLS.len() as u64)).unwrap()];
            return Self::Call { kind, number: 1 + dice.below(most) };
        }
        let bytes = usize::try_from(dice.below(5_000)).unwrap();
        Self::Said { bytes, then: Duration::from_micros(dice.below(20_000)) }
    }

    pub(crate) fn is_call(self) -> bool {
        matches!(self, Self::Call { .. })
    }
}

/// Whether `strace` is here and may look at what this user runs.
pub(crate) fn can_trace() -> bool {
    static CAN: LazyLock<bool> = LazyLock::new(|| {
        let mut tried = Command::new("strace");
        tried.args(["-qq", "-e", "inject=getpid:signal=KILL", "true"]).stdout(Stdio::null()).stderr(Stdio::null());
        tried.status().is_ok_and(|status| status.success())
    });
    *CAN
}

/// What a run said until it was killed, or until it ended by itself.
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) killed: bool,
    /// What it complained of.
    pub(crate) errors: String,
}

/// Runs `command` until `blow`.
pub(crate) fn strike(command: &Command, blow: Blow) -> Said {
    let mut command = match blow {
        Blow::Said { .. } => again(command, Command::new(command.get_program())),
        Blow::Call { kind, number } => {
            let mut traced = Command::new("strace");
            traced.args(["-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-e", &format!("trace={kind}"), "-e"]);
            traced.arg(format!("inject={kind}:signal=KILL:when={number}")).arg(command.get_program());
            again(command, traced)
        }
    };
    let mut child =
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let heard = listen(child.stdout.take().unwrap());
    let complained = listen(child.stderr.take().unwrap());
    let mut said = Vec::new();
    wait(blow, &heard, &mut said);
    kill_all(&child);
    let status = child.wait().unwrap();
    // What was in the pipe had been told.
    said.extend(heard.iter().flatten());
    let errors: Vec<u8> = complained.iter().flatten().collect();
    Said {
        text: String::from_utf8(said).unwrap(),
        killed: status.signal() == Some(Signal::KILL.as_raw()),
        errors: String::from_utf8_lossy(&errors).into_owned(),
    }
}

/// `command` with the same arguments and surroundings, behind what `first` begins with.
fn again(command: &Command, mut first: Command) -> Command {
    first
        .args(command.get_args())
        .env_clear()
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    first.current_dir(command.get_current_dir().unwrap());
    first
}

/// Kills a program and all that it began in its group.
fn kill_all(child: &Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).unwrap();
    // It may all be over.
    let _ = kill_process_group(group, Signal::KILL);
}

/// Sends on what comes, as it comes.
fn listen(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (tell, heard) = channel();
    std::thread::spawn(move || {
        let mut room = [0; 4096];
        while let Ok(count @ 1..) = pipe.read(&mut room) {
            if tell.send(room[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    heard
}

/// Waits for `blow`, or for the end.
fn wait(blow: Blow, heard: &Receiver<Vec<u8>>, said: &mut Vec<u8>) {
    let (bytes, then) = match blow {
        Blow::Said { bytes, then } => (bytes, then),
        Blow::Call { .. } => (MOST_SAID, Duration::ZERO),
    };
    while said.len() < bytes {
        match heard.recv_timeout(PATIENCE) {
            Ok(more) => said.extend(more),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => panic!("silent for {PATIENCE:?}: {}", String::from_utf8_lossy(said)),
        }
    }
    let until = Instant::now() + then;
    // Not for anything to happen: the moment is to fall anywhere between two of them.
    while let Ok(more) = heard.recv_timeout(until.saturating_duration_since(Instant::now())) {
        said.extend(more);
    }
}
