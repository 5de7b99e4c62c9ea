//! Who owns a session, or a whole store, on a network file system, where a lock may count on one machine alone: a file that
//! says whose it is, and is written again and again for as long as that holds.
//!
//! Only the file server's clock is asked how old a beacon is: those of two machines differ.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::open::private;

/// How often an owner shows that it lives.
const RENEWED: Duration = Duration::from_secs(15);
/// How long one that does not is waited for.
const GIVEN_UP: Duration = Duration::from_secs(60);
/// How long whoever takes an abandoned one over waits to see that nobody did so at the same time.
const SETTLES: Duration = Duration::from_secs(1);
/// How often one is tried to be made whose name is only remembered.
const TRIES: u32 = 3;
/// Longest file that is read, in bytes: more than a host's name and two numbers have.
const MAX_BYTES: u64 = 512;

/// A beacon that is lit. Dropping it puts it out.
#[derive(Debug)]
pub(crate) struct Beacon {
    path: PathBuf,
    text: String,
    /// When it was last renewed, in seconds of [`awake`].
    renewed: Arc<AtomicU64>,
    renewing: Option<(Sender<()>, JoinHandle<()>)>,
    /// Whether dropping it puts it out.
    is_last: bool,
}

/// Why there is none.
#[derive(Debug)]
pub(crate) enum Dark {
    /// Somebody on the machine of that name owns it.
    Held(String),
    Io(io::Error),
}

impl From<io::Error> for Dark {
    fn from(error: io::Error) -> Self {
        Dark::Io(error)
    }
}

/// The name of this machine, and behind it what tells it from another one of that name: which start of it this is. Where
/// that is not told nothing that was left counts as this machine's own, which only takes longer.
pub(crate) fn host() -> String {
    let (name, start) = identity();
    format!("{name} {}", start.unwrap_or_else(|| format!("{:016x}", chance())))
}

/// The same for all processes of this machine: where the start is not told the name alone counts, because each of them
/// would otherwise keep the others out.
pub(crate) fn machine() -> String {
    let (name, start) = identity();
    format!("{name} {}", start.unwrap_or_default())
}

fn identity() -> (String, Option<String>) {
    let line = |path: &str| {
        let text = std::fs::read_to_string(path).ok()?;
        // It stands in a line of its own.
        let line: String = text.trim().chars().filter(|c| !c.is_control() && *c != ' ').take(100).collect();
        (!line.is_empty()).then_some(line)
    };
    let name = line("/proc/sys/kernel/hostname").unwrap_or_else(|| "unknown".to_owned());
    (name, line("/proc/sys/kernel/random/boot_id"))
}

/// A number that nobody else has.
fn chance() -> u64 {
    std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), std::process::id())
}

impl Beacon {
    /// Lights the one at `path` for `host`, whose lock on this machine the caller holds: so one of this machine is left
    /// over, and one of another is only when it is not renewed. Waits a second where one of another machine is taken over.
    pub(crate) fn light(path: &Path, host: &str) -> Result<Self, Dark> {
        Self::light_with(path, host, SETTLES)
    }

    /// The same for all processes of this machine together: each may light it, and the last one puts it out.
    pub(crate) fn light_together(path: &Path, host: &str) -> Result<Self, Dark> {
        Self::light_as(path, host, format!("{host}\n"), SETTLES)
    }

    fn light_with(path: &Path, host: &str, settles: Duration) -> Result<Self, Dark> {
        let text = format!("{host}\n{}\n{:016x}\n", std::process::id(), chance());
        Self::light_as(path, host, text, settles)
    }

    fn light_as(path: &Path, host: &str, text: String, settles: Duration) -> Result<Self, Dark> {
        if !made(path, &text, settles)? {
            let theirs = whose(path)?;
            let is_own = theirs.as_deref() == Some(host);
            if !is_own && !is_old(path)? {
                return Err(Dark::Held(theirs.unwrap_or_default()));
            }
            replace(path, &text)?;
            if !is_own {
                std::thread::sleep(settles);
                if std::fs::read_to_string(path).ok().as_deref() != Some(text.as_str()) {
                    return Err(Dark::Held(whose(path)?.unwrap_or_default()));
                }
            }
        }
        let (stop, stopped) = channel();
        let renewed = Arc::new(AtomicU64::new(awake()));
        let (at, mine, noted) = (path.to_owned(), text.clone(), renewed.clone());
        let renewing = std::thread::spawn(move || {
            while stopped.recv_timeout(RENEWED) == Err(RecvTimeoutError::Timeout) {
                if !still(&at, &mine, &noted) {
                    tracing::error!(path = %at.display(), "another machine works here as well");
                    return;
                }
            }
        });
        Ok(Self { path: path.to_owned(), text, renewed, renewing: Some((stop, renewing)), is_last: true })
    }

    /// Whether it still is whoever lit it that owns what it stands for. Looks at the file when it was not renewed for so
    /// long that another machine might have taken it over, as when this one slept.
    pub(crate) fn shines(&self) -> bool {
        let age = awake().saturating_sub(self.renewed.load(Ordering::Relaxed));
        age < (RENEWED * 2).as_secs() || still(&self.path, &self.text, &self.renewed)
    }

    /// Whoever the file says that it belongs to.
    pub(crate) fn owner(&self) -> String {
        whose(&self.path).ok().flatten().unwrap_or_default()
    }

    /// As if the machine had slept ever since it started.
    #[cfg(test)]
    pub(crate) fn forget_renewal(&mut self) {
        self.renewed.store(0, Ordering::Relaxed);
    }

    /// Ends without putting it out: somebody else of this machine renews it.
    pub(crate) fn leave(mut self) {
        self.is_last = false;
    }
}

/// Seconds since this machine started, with those that it slept.
fn awake() -> u64 {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    // Elsewhere this one goes on as well.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or_default()
}

/// Renews the one at `path` and notes when, unless it says something else by now.
fn still(path: &Path, mine: &str, renewed: &AtomicU64) -> bool {
    if std::fs::read_to_string(path).ok().as_deref() != Some(mine) {
        return false;
    }
    match renew(path, mine) {
        Ok(()) => renewed.store(awake(), Ordering::Relaxed),
        Err(error) => tracing::warn!(path = %path.display(), %error, "it could not be shown that this is in use"),
    }
    true
}

impl Drop for Beacon {
    fn drop(&mut self) {
        if let Some((stop, renewing)) = self.renewing.take() {
            drop(stop);
            let _ = renewing.join();
        }
        // One that somebody took over is theirs.
        if self.is_last && std::fs::read_to_string(&self.path).ok().as_deref() == Some(self.text.as_str()) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Whether a new one could be made at `path`. One that is gone may be told of for a while, because file systems remember
/// names: that is waited for.
fn made(path: &Path, text: &str, settles: Duration) -> io::Result<bool> {
    for _ in 0..TRIES {
        match private().create_new(true).open(path) {
            Ok(mut file) => {
                file.write_all(text.as_bytes())?;
                file.sync_all()?;
                return Ok(true);
            }
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) => match File::open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => std::thread::sleep(settles),
                Ok(_) | Err(_) => return Ok(false),
            },
        }
    }
    Ok(false)
}

/// The machine that lit the one at `path`, if it said.
fn whose(path: &Path) -> io::Result<Option<String>> {
    let mut text = String::new();
    match File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text)) {
        Ok(_) => Ok(text.lines().next().filter(|host| !host.is_empty()).map(str::to_owned)),
        // It was put out just now, or is no text: nobody says that it is theirs.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the one at `path` was not renewed for long. The clock is that of whoever keeps the files.
fn is_old(path: &Path) -> io::Result<bool> {
    let now = path.with_extension(format!("now-{}", std::process::id()));
    let server = private().create(true).truncate(true).open(&now).and_then(|mut file| {
        file.write_all(b"?")?;
        file.sync_all()?;
        file.metadata()?.modified()
    });
    let _ = std::fs::remove_file(&now);
    match std::fs::metadata(path).and_then(|meta| meta.modified()) {
        Ok(renewed) => Ok(server?.duration_since(renewed).is_ok_and(|age| age > GIVEN_UP)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// Puts `text` in the place of the one at `path`, all at once.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.with_extension(format!("new-{}", std::process::id()));
    let mut file = private().create(true).truncate(true).open(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&beside, path)
}

/// Writes the same again, so that the server notes when.
fn renew(path: &Path, text: &str) -> io::Result<()> {
    let mut file = private().open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn light(path: &Path, host: &str) -> Result<Beacon, Dark> {
        Beacon::light_with(path, host, Duration::ZERO)
    }

    #[test]
    fn one_machine_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ses_1.host");
        let first = light(&path, "here").unwrap();
        let held = light(&path, "there").unwrap_err();
        assert!(matches!(&held, Dark::Held(host) if host == "here"), "{held:?}");
        drop(first);
        assert!(!path.exists());
        let _second = light(&path, "there").unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn what_a_machine_left_it_takes_again_and_another_once_it_is_old() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ses_1.host");
        std::fs::write(&path, "there\n7\n0\n").unwrap();
        assert!(matches!(light(&path, "here"), Err(Dark::Held(_))), "it may live");
        drop(light(&path, "there").unwrap());
        std::fs::write(&path, "there\n7\n0\n").unwrap();
        let age = |by: Duration| {
            let then = SystemTime::now() - by;
            File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
        };
        age(GIVEN_UP / 2);
        assert!(matches!(light(&path, "here"), Err(Dark::Held(_))));
        age(GIVEN_UP * 2);
        let mine = light(&path, "here").unwrap();
        // Somebody who took it over keeps it.
        std::fs::write(&path, "third\n1\n2\n").unwrap();
        drop(mine);
        assert_eq!(whose(&path).unwrap().as_deref(), Some("third"));
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(matches!(light(&path, "here"), Err(Dark::Held(_))), "half written by somebody else");
    }

    #[test]
    fn an_owner_that_lives_is_seen_to() {
        assert!(RENEWED * 3 < GIVEN_UP, "two that are late do not lose it");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ses_1.host");
        let beacon = light(&path, "here").unwrap();
        let old = SystemTime::now() - GIVEN_UP * 2;
        File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        assert!(is_old(&path).unwrap());
        renew(&path, &beacon.text).unwrap();
        assert!(!is_old(&path).unwrap());
    }
}
