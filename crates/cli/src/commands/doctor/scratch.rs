//! The place where promises are tried: a project, and somebody else's files, sockets and process beside it.

use std::fs::File;
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

use crate::folders::{self, Folders};

/// How long one command may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// How long what was killed may take to go.
const GOING: Duration = Duration::from_secs(2);
/// The number from which a handle that commands might inherit is looked for: they have none of their own so high.
const HANDLE: i32 = 200;
/// Most disks that are tried.
const MAX_DISKS: usize = 16;

/// Files of the project, with what they hold before each check.
const PROJECT: &[(&str, &str)] = &[
    (".git/HEAD", "ref: refs/heads/main\n"),
    (".git/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"),
    (".git/objects/info/alternates", ""),
    (".git/refs/heads/.keep", ""),
    (".git/hooks/pre-commit.sample", "#!/bin/sh\n"),
    ("nested/.git/HEAD", "ref: refs/heads/main\n"),
    ("nested/.git/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"),
    ("nested/.git/objects/info/alternates", ""),
    ("nested/.git/refs/heads/.keep", ""),
    ("src/main.c", "int main(void) { return 0; }\n"),
    ("opencode.json", "{}\n"),
    (".haft/agent/one.md", "An agent.\n"),
    (".vscode/tasks.json", "{}\n"),
    (".env", "KEY=not really\n"),
];

/// The place. It goes away with everything in it.
pub(super) struct Scratch {
    root: PathBuf,
    home: PathBuf,
    own_secret: PathBuf,
    exe: PathBuf,
    nonce: u64,
    tcp: TcpListener,
    udp: UdpSocket,
    socket: UnixListener,
    #[cfg(target_os = "linux")]
    hidden: UnixListener,
    handle: OwnedFd,
    victim: Child,
}

impl Scratch {
    /// Makes it in haft's own folder.
    pub(super) fn make(folders: &Folders) -> Result<Self> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // Also a number of seconds that nothing else sleeps for.
        let nonce = u64::from(std::process::id()) * 1_000_000 + u64::from(since.subsec_micros());
        let root = folders.state.join(format!("doctor-{nonce}"));
        folders::make(&folders.data)?;
        folders::make(&root)?;
        let root = root.canonicalize().with_context(|| format!("cannot work in {}", root.display()))?;
        let own_secret = folders.data.join(format!("doctor-{nonce}.txt"));
        let made = Self::furnish(&root, &own_secret, &folders.home, nonce);
        if made.is_err() {
            clear(&root, &own_secret);
        }
        made.with_context(|| format!("cannot make a scratch project in {}", root.display()))
    }

    fn furnish(root: &Path, own_secret: &Path, home: &Path, nonce: u64) -> io::Result<Self> {
        for folder in ["project", "outside", "outputs"] {
            std::fs::create_dir(root.join(folder))?;
        }
        std::fs::write(root.join("outside/notes.txt"), "untouched\n")?;
        std::fs::write(own_secret, "not really\n")?;
        symlink("../outside", root.join("project/way"))?;
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        let udp = UdpSocket::bind("127.0.0.1:0")?;
        let socket = UnixListener::bind(root.join("agent.sock"))?;
        tcp.set_nonblocking(true)?;
        udp.set_nonblocking(true)?;
        socket.set_nonblocking(true)?;
        let open = File::open(root.join("outside/notes.txt"))?;
        let handle = rustix::io::fcntl_dupfd_cloexec(&open, HANDLE)?;
        // On purpose: whoever is started after this gets it, unless the cage takes it away.
        rustix::io::fcntl_setfd(&handle, rustix::io::FdFlags::empty())?;
        let victim = Command::new("sleep")
            .arg("600")
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("DOCTOR_WORD", "not really")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self {
            root: root.to_owned(),
            home: home.to_owned(),
            own_secret: own_secret.to_owned(),
            exe: std::env::current_exe()?,
            nonce,
            tcp,
            udp,
            socket,
            #[cfg(target_os = "linux")]
            hidden: hidden_socket(nonce)?,
            handle,
            victim,
        })
    }

    pub(super) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    pub(super) fn outputs(&self) -> PathBuf {
        self.root.join("outputs")
    }

    /// Makes the project as it is before a check. What cannot be made is for the check to find out.
    pub(super) fn prepare(&self) {
        let _ = std::fs::remove_file(self.project().join(".git/hooks/pre-commit"));
        let _ = std::fs::remove_dir_all(self.project().join("new"));
        let _ = std::fs::remove_dir_all(self.project().join(".haft/tool"));
        for (name, text) in PROJECT {
            let path = self.project().join(name);
            if std::fs::read(&path).is_ok_and(|found| found == text.as_bytes()) {
                continue;
            }
            if let Some(folder) = path.parent() {
                let _ = std::fs::create_dir_all(folder);
            }
            let _ = std::fs::write(&path, text);
        }
        let _ = std::fs::remove_file(self.made());
        let _ = std::fs::write(self.notes(), "untouched\n");
        let _ = std::fs::set_permissions(self.notes(), std::fs::Permissions::from_mode(0o600));
    }

    /// What the next command is to run.
    pub(super) fn write_script(&self, text: &str) -> io::Result<()> {
        std::fs::write(self.project().join("try.sh"), text)
    }

    /// A command line that has this program try `what` with `words`.
    pub(super) fn attempt(&self, what: &str, words: &[&str]) -> String {
        let words: Vec<PathBuf> = words.iter().map(PathBuf::from).collect();
        self.attempt_all(what, &words)
    }

    pub(super) fn attempt_at(&self, what: &str, path: &Path) -> String {
        self.attempt_all(what, &[path.to_owned()])
    }

    pub(super) fn attempt_all(&self, what: &str, words: &[PathBuf]) -> String {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        format!("{} doctor --attempt {what} {}", quoted(&self.exe), words.join(" "))
    }

    /// A file outside that is not there.
    pub(super) fn made(&self) -> PathBuf {
        self.root.join("outside/made")
    }

    /// A file outside that is there.
    pub(super) fn notes(&self) -> PathBuf {
        self.root.join("outside/notes.txt")
    }

    pub(super) fn outside_touched(&self) -> bool {
        self.made().exists() || std::fs::read(self.notes()).is_ok_and(|text| text != b"untouched\n")
    }

    pub(super) fn notes_opened(&self) -> bool {
        std::fs::metadata(self.notes()).is_ok_and(|about| about.permissions().mode() & 0o077 != 0)
    }

    pub(super) fn is_setuid(&self, name: &str) -> bool {
        std::fs::metadata(self.project().join(name)).is_ok_and(|about| about.permissions().mode() & 0o4000 != 0)
    }

    /// Whether an attempt changed a file of the project.
    pub(super) fn was_written(&self, name: &str) -> bool {
        std::fs::read_to_string(self.project().join(name)).is_ok_and(|text| text.contains("doctor"))
    }

    /// Whether the folders are in one for temporary files.
    pub(super) fn is_temporary(&self) -> bool {
        let temporary = [PathBuf::from("/tmp"), PathBuf::from("/var/tmp"), std::env::temp_dir()];
        temporary.iter().filter_map(|folder| folder.canonicalize().ok()).any(|folder| self.root.starts_with(folder))
    }

    /// A file in the folder where haft keeps keys and sessions.
    pub(super) fn own_secret(&self) -> &Path {
        &self.own_secret
    }

    /// Private keys of the user.
    pub(super) fn ssh_keys(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.home.join(".ssh")).into_iter().flatten().flatten();
        let keys = entries.map(|entry| entry.path()).filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("id_") && !name.ends_with(".pub")
        });
        readable(keys.collect())
    }

    /// Files of the user that keys are kept in.
    pub(super) fn credentials(&self) -> Vec<PathBuf> {
        let names = [
            ".aws/credentials",
            ".netrc",
            ".npmrc",
            ".pypirc",
            ".cargo/credentials.toml",
            ".config/gh/hosts.yml",
            ".docker/config.json",
            ".kube/config",
            ".git-credentials",
        ];
        readable(names.map(|name| self.home.join(name)).to_vec())
    }

    pub(super) fn shadow(&self) -> Vec<PathBuf> {
        readable(vec!["/etc/shadow".into()])
    }

    /// The disks of this machine that its user can read.
    pub(super) fn disks(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
        let disks = entries.map(|entry| Path::new("/dev").join(entry.file_name()));
        readable(disks.take(MAX_DISKS).collect())
    }

    /// A file about somebody else's process.
    pub(super) fn victim(&self, name: &str) -> String {
        format!("/proc/{}/{name}", self.victim.id())
    }

    /// The path of a file that is open here.
    pub(super) fn handle(&self) -> String {
        let folder =
            if cfg!(target_os = "linux") { Path::new("/proc/self/fd").into() } else { Path::new("/dev").join("fd") };
        folder.join(self.handle.as_raw_fd().to_string()).display().to_string()
    }

    pub(super) fn tcp_address(&self) -> String {
        self.tcp.local_addr().map(|address| address.to_string()).unwrap_or_default()
    }

    pub(super) fn udp_address(&self) -> String {
        self.udp.local_addr().map(|address| address.to_string()).unwrap_or_default()
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.root.join("agent.sock")
    }

    pub(super) fn tcp_reached(&self) -> bool {
        self.tcp.accept().is_ok()
    }

    pub(super) fn udp_reached(&self) -> bool {
        self.udp.recv(&mut [0]).is_ok()
    }

    pub(super) fn socket_reached(&self) -> bool {
        self.socket.accept().is_ok()
    }

    #[cfg(target_os = "linux")]
    pub(super) fn abstract_name(&self) -> String {
        abstract_name(self.nonce)
    }

    #[cfg(target_os = "linux")]
    pub(super) fn abstract_reached(&self) -> bool {
        self.hidden.accept().is_ok()
    }

    /// A number that only this place knows.
    #[cfg(target_os = "linux")]
    pub(super) fn nonce(&self) -> u64 {
        self.nonce
    }

    /// Whether anything goes on that was told to sleep for [`Scratch::nonce`] seconds. It is ended then.
    #[cfg(target_os = "linux")]
    pub(super) fn survivors(&self) -> bool {
        let left = sleepers(self.nonce);
        for pid in &left {
            let _ = rustix::process::kill_process(*pid, rustix::process::Signal::KILL);
        }
        !left.is_empty()
    }

    /// Waits until what was killed is gone, as long as that may take.
    pub(super) async fn settle(&self) {
        let until = std::time::Instant::now() + GOING;
        while !sleepers(self.nonce).is_empty() && std::time::Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        clear(&self.root, &self.own_secret);
    }
}

fn clear(root: &Path, own_secret: &Path) {
    let _ = std::fs::remove_dir_all(root);
    let _ = std::fs::remove_file(own_secret);
}

/// Those of `paths` that this program can read.
fn readable(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths
        .retain(|path| File::open(path).is_ok_and(|mut file| io::Read::read(&mut file, &mut [0]).is_ok_and(|n| n > 0)));
    paths
}

#[cfg(target_os = "linux")]
fn abstract_name(nonce: u64) -> String {
    format!("haft-doctor-{nonce}")
}

#[cfg(target_os = "linux")]
fn hidden_socket(nonce: u64) -> io::Result<UnixListener> {
    use std::os::linux::net::SocketAddrExt;
    let address = std::os::unix::net::SocketAddr::from_abstract_name(abstract_name(nonce))?;
    let socket = UnixListener::bind_addr(&address)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// The processes that sleep for `nonce` seconds.
#[cfg(target_os = "linux")]
fn sleepers(nonce: u64) -> Vec<rustix::process::Pid> {
    let wanted = format!("sleep\0{nonce}\0");
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let sleeps = |pid: &i32| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == wanted.as_bytes());
    pids.filter(sleeps).filter_map(rustix::process::Pid::from_raw).collect()
}

/// Elsewhere nothing is tried that could go on.
#[cfg(not(target_os = "linux"))]
fn sleepers(_: u64) -> Vec<rustix::process::Pid> {
    Vec::new()
}

/// `path` as one word for a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word() {
        let row = |path: &str, want: &str| assert_eq!(quoted(Path::new(path)), want);
        row("/a b/c", "'/a b/c'");
        row("/it's", "'/it'\\''s'");
        row("$(x)", "'$(x)'");
    }
}
