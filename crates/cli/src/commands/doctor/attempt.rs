//! What a command in the cage does: this program again, trying one thing.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::verdict::Answer;

/// How long somebody is waited for who does not answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Tries what `words` say: a name, and what belongs to it.
pub(super) fn attempt(words: &[OsString]) -> Answer {
    let words: Vec<&OsStr> = words.iter().map(OsString::as_os_str).collect();
    let Some((what, with)) = words.split_first() else { return Answer::Lost("nothing was asked for".to_owned()) };
    let text = |at: usize| with.get(at).map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    let path = |at: usize| with.get(at).map_or(Path::new(""), |word| Path::new(word));
    match what.to_str().unwrap_or_default() {
        "write" => answer(write(path(0))),
        "read" => answer(read(path(0))),
        "link" => answer(std::fs::hard_link(path(0), path(1)).and_then(|()| write(path(1)))),
        "open-up" => answer(set_mode(path(0), 0o666)),
        "setuid" => setuid(path(0)),
        "first-readable" => first_readable(with),
        "tcp" => answer(tcp(&text(0))),
        "udp" => answer(UdpSocket::bind("0.0.0.0:0").and_then(|own| own.send_to(b"x", text(0))).map(drop)),
        "unix" => answer(UnixStream::connect(path(0)).map(drop)),
        #[cfg(target_os = "linux")]
        "abstract" => answer(abstract_socket(&text(0))),
        "signal" => signal(&text(0)),
        "memory" => answer(std::fs::OpenOptions::new().read(true).write(true).open(path(0)).map(drop)),
        "terminal" => answer(std::fs::OpenOptions::new().read(true).write(true).open("/dev/tty").map(drop)),
        "limits" => limits(),
        "run" => ran(with),
        other => Answer::Lost(format!("there is no attempt called {other}")),
    }
}

fn answer(result: io::Result<()>) -> Answer {
    match result {
        Ok(()) => Answer::Done,
        Err(error) => Answer::Refused(error.to_string()),
    }
}

fn write(path: &Path) -> io::Result<()> {
    std::fs::OpenOptions::new().append(true).create(true).open(path)?.write_all(b"\n[alias]\n\tdoctor = !true\n")
}

/// Reads a byte, and forgets it.
fn read(path: &Path) -> io::Result<()> {
    std::fs::File::open(path)?.read_exact(&mut [0])
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

fn setuid(path: &Path) -> Answer {
    let made = std::fs::write(path, "").and_then(|()| set_mode(path, 0o4755)).and_then(|()| std::fs::metadata(path));
    match made {
        Ok(about) if about.permissions().mode() & 0o4000 == 0 => Answer::Refused("the mark does not stay".to_owned()),
        other => answer(other.map(drop)),
    }
}

/// Whether one of these can be read; nothing where none is there.
fn first_readable(paths: &[&OsStr]) -> Answer {
    let there: Vec<&Path> =
        paths.iter().map(Path::new).filter(|path| std::fs::symlink_metadata(path).is_ok()).collect();
    if paths.is_empty() {
        return Answer::Nothing("there is none here".to_owned());
    }
    let mut why = "it is not to be seen".to_owned();
    for path in there {
        match read(path) {
            Ok(()) => return Answer::Done,
            Err(error) => why = error.to_string(),
        }
    }
    Answer::Refused(why)
}

fn tcp(address: &str) -> io::Result<()> {
    let address = address.parse().map_err(io::Error::other)?;
    TcpStream::connect_timeout(&address, PATIENCE).map(drop)
}

#[cfg(target_os = "linux")]
fn abstract_socket(name: &str) -> io::Result<()> {
    use std::os::linux::net::SocketAddrExt;
    UnixStream::connect_addr(&std::os::unix::net::SocketAddr::from_abstract_name(name)?).map(drop)
}

/// Asks whether a process could be sent a signal, and sends none.
fn signal(pid: &str) -> Answer {
    let pid = pid.parse().ok().and_then(rustix::process::Pid::from_raw);
    match pid.map(rustix::process::test_kill_process) {
        Some(result) => answer(result.map_err(Into::into)),
        None => Answer::Lost("no process was named".to_owned()),
    }
}

/// Whether memory, the size of files and open files are without a limit.
fn limits() -> Answer {
    use rustix::process::{Resource, getrlimit};
    let what = [(Resource::Data, "memory"), (Resource::Fsize, "size of files"), (Resource::Nofile, "open files")];
    let open: Vec<&str> =
        what.iter().filter(|(resource, _)| getrlimit(*resource).maximum.is_none()).map(|(_, name)| *name).collect();
    match open.is_empty() {
        true => Answer::Refused("memory, the size of files and open files have a limit".to_owned()),
        false => Answer::Done,
    }
}

/// Whether a program ends well; nothing where it is not there.
fn ran(words: &[&OsStr]) -> Answer {
    let Some((program, args)) = words.split_first() else { return Answer::Lost("no program was named".to_owned()) };
    match std::process::Command::new(program).args(args).output() {
        Ok(output) if output.status.success() => Answer::Done,
        Ok(output) => Answer::Refused(String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Answer::Nothing(format!("there is no program {}", program.to_string_lossy()))
        }
        Err(error) => Answer::Refused(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[&str], want: &Answer) {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        assert_eq!(attempt(&words), *want);
    }

    #[test]
    fn what_succeeds_is_done_and_what_does_not_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        check(&["write", &at("a")], &Answer::Done);
        check(&["read", &at("a")], &Answer::Done);
        check(&["link", &at("a"), &at("b")], &Answer::Done);
        check(&["open-up", &at("a")], &Answer::Done);
        check(&["read", &at("none")], &Answer::Refused("No such file or directory (os error 2)".to_owned()));
        check(&["run", "true"], &Answer::Done);
        check(&["run", "no-such-program"], &Answer::Nothing("there is no program no-such-program".to_owned()));
        check(&["first-readable"], &Answer::Nothing("there is none here".to_owned()));
        check(&["first-readable", &at("none"), &at("a")], &Answer::Done);
        check(&["signal", &std::process::id().to_string()], &Answer::Done);
    }

    #[test]
    fn nonsense_is_never_held() {
        for words in [&[][..], &["fly"], &["signal"], &["signal", "0"], &["run"]] {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert!(matches!(attempt(&words), Answer::Lost(_)), "{words:?}");
        }
    }
}
