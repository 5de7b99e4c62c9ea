//! When a run is killed.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use portable_pty::{PtySize, native_pty_system};
use rustix::fs::OFlags;
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
/// A run that said so many times what it may say is killed, whatever else it waits for.
const MOST_SAID: u64 = 8;
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
    /// When one of its threads makes the N-th of these system calls, and when it said so many bytes without that.
    Call { kind: &'static str, number: u64, most_said: usize },
}

/// How far a run may get before it is killed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reach {
    /// Bytes that it says.
    pub(crate) bytes: u64,
    /// How long it lives on after that.
    pub(crate) then: Duration,
    /// Of how many system calls of a kind a long run may make, this one makes one in so many.
    pub(crate) calls: u64,
}

impl Blow {
    pub(crate) fn choose(dice: &mut Dice, reach: Reach) -> Self {
        let small = |number: u64| usize::try_from(number).unwrap();
        if can_trace() && dice.below(5) < 2 {
            let (kind, most) = CALLS[small(dice.below(CALLS.len() as u64))];
            let number = 1 + dice.below(most.div_ceil(reach.calls));
            return Self::Call { kind, number, most_said: small(reach.bytes * MOST_SAID) };
        }
        let then = Duration::from_micros(dice.below(u64::try_from(reach.then.as_micros()).unwrap()));
        Self::Said { bytes: small(dice.below(reach.bytes)), then }
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
    /// Up to which byte of `text` had come when.
    heard: Vec<(usize, Instant)>,
    /// When it was over.
    until: Instant,
}

impl Said {
    /// How long before the end the byte at `place` was there at the latest.
    pub(crate) fn age(&self, place: usize) -> Duration {
        let heard = self.heard.iter().find(|(end, _)| place < *end);
        heard.map_or(Duration::ZERO, |(_, at)| self.until.saturating_duration_since(*at))
    }
}

/// Runs `command` until `blow`. What is to be `typed` is typed at once, at a terminal.
pub(crate) fn strike(command: &Command, typed: Option<&str>, blow: Blow) -> Said {
    let mut command = match blow {
        Blow::Said { .. } => again(command, Command::new(command.get_program())),
        Blow::Call { kind, number, .. } => {
            let mut traced = Command::new("strace");
            traced.args(["-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-e", &format!("trace={kind}"), "-e"]);
            traced.arg(format!("inject={kind}:signal=KILL:when={number}")).arg(command.get_program());
            again(command, traced)
        }
    };
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Its keyboard, which is there as long as the program may read from it.
    let keyboard = typed.map(|typed| {
        let pair = native_pty_system().openpty(PtySize::default()).unwrap();
        let mut options = File::options();
        options.read(true).write(true).custom_flags(OFlags::NOCTTY.bits().cast_signed());
        command.stdin(options.open(pair.master.tty_name().unwrap()).unwrap());
        let mut keys = pair.master.take_writer().unwrap();
        keys.write_all(typed.as_bytes()).unwrap();
        (pair, keys)
    });
    let mut child = command.spawn().unwrap();
    let (out, err) = (listen(child.stdout.take().unwrap()), listen(child.stderr.take().unwrap()));
    // Who sits there is told everything as remarks.
    let (pipe, complained) = if typed.is_some() { (err, out) } else { (out, err) };
    let mut said = Heard::default();
    wait(blow, &pipe, &mut said);
    let until = Instant::now();
    kill_all(&child);
    let status = child.wait().unwrap();
    // What was in the pipe had been told.
    pipe.iter().for_each(|more| said.add(&more));
    let errors: Vec<u8> = complained.iter().flatten().collect();
    drop(keyboard);
    Said {
        text: String::from_utf8(said.bytes).unwrap(),
        killed: status.signal() == Some(Signal::KILL.as_raw()),
        errors: String::from_utf8_lossy(&errors).into_owned(),
        heard: said.at,
        until,
    }
}

#[derive(Default)]
struct Heard {
    bytes: Vec<u8>,
    at: Vec<(usize, Instant)>,
}

impl Heard {
    fn add(&mut self, more: &[u8]) {
        self.bytes.extend(more);
        self.at.push((self.bytes.len(), Instant::now()));
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
fn wait(blow: Blow, pipe: &Receiver<Vec<u8>>, said: &mut Heard) {
    let (bytes, then) = match blow {
        Blow::Said { bytes, then } => (bytes, then),
        Blow::Call { most_said, .. } => (most_said, Duration::ZERO),
    };
    while said.bytes.len() < bytes {
        match pipe.recv_timeout(PATIENCE) {
            Ok(more) => said.add(&more),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                panic!("silent for {PATIENCE:?}: {}", String::from_utf8_lossy(&said.bytes))
            }
        }
    }
    let until = Instant::now() + then;
    // Not for anything to happen: the moment is to fall anywhere between two of them.
    while let Ok(more) = pipe.recv_timeout(until.saturating_duration_since(Instant::now())) {
        said.add(&more);
    }
}
