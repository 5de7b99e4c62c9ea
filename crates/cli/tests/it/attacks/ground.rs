//! A machine to attack: a home with secrets, a project, somebody else's files, sockets and process.

use std::collections::HashSet;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use super::attack::Harm;
use super::traces::{self, Snapshot};
use crate::support::solid_folder;

/// Where programs are looked for: nothing of the one who runs the tests.
pub(super) const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// Files of the home that hold secrets.
const SECRETS: &[&str] = &[
    ".ssh/id_ed25519",
    ".ssh/id_rsa",
    ".gnupg/private-keys-v1.d/k.key",
    ".aws/credentials",
    ".azure/accessTokens.json",
    ".config/gcloud/credentials.db",
    ".kube/config",
    ".docker/config.json",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials.toml",
    ".config/gh/hosts.yml",
    ".git-credentials",
    ".mozilla/firefox/x.default/logins.json",
    ".config/google-chrome/Default/Login Data",
    ".password-store/bank.gpg",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".local/share/opencode/auth.json",
    ".local/share/haft/auth.json",
    ".local/share/haft/trust.json",
    ".local/share/haft/approvals.json",
    "vault/own.txt",
];

/// A machine to attack. It goes away with everything that runs on it.
pub(super) struct Ground {
    folder: tempfile::TempDir,
    /// Tells this machine from all others; also a number that a program can be told to sleep.
    nonce: String,
    tcp: TcpListener,
    udp: UdpSocket,
    unix: UnixListener,
    datagrams: UnixDatagram,
    hidden: UnixListener,
    victim: Child,
    before: Snapshot,
    /// The processes that were there before.
    old: HashSet<u32>,
}

impl Ground {
    /// A machine, with a repository that has a commit if `git` says so.
    pub(super) fn new(git: bool) -> Self {
        let old = traces::processes().collect();
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let folder = tempfile::Builder::new().prefix("haft-ground-").tempdir_in(solid_folder()).unwrap();
        let root = folder.path().canonicalize().unwrap();
        let nonce = format!("{}{:04}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        furnish_home(&root, &secret_of(&nonce));
        furnish_project(&root, &secret_of(&nonce), git);
        let at = |name: &str| root.join("run").join(name);
        std::fs::create_dir(root.join("run")).unwrap();
        let name = SocketAddr::from_abstract_name(format!("haft-ground-{nonce}")).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let unix = UnixListener::bind(at("agent.sock")).unwrap();
        let datagrams = UnixDatagram::bind(at("log.sock")).unwrap();
        let hidden = UnixListener::bind_addr(&name).unwrap();
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        unix.set_nonblocking(true).unwrap();
        datagrams.set_nonblocking(true).unwrap();
        hidden.set_nonblocking(true).unwrap();
        let victim = Command::new("/bin/sleep")
            .arg("1000")
            .current_dir(root.join("outside"))
            .env_clear()
            .env("VICTIM_WORD", secret_of(&nonce))
            .stdin(std::fs::File::open(root.join("home/.ssh/id_rsa")).unwrap())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let before = Snapshot::take(&root);
        Self { folder, nonce, tcp, udp, unix, datagrams, hidden, victim, before, old }
    }

    pub(super) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(super) fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    /// Writes a file below the home.
    pub(super) fn at_home(&self, name: &str, text: &str) {
        write(&self.root().join("home").join(name), text);
    }

    /// Makes the project anew, and takes what is there then for what must stay.
    pub(super) fn renew(&mut self, git: bool, script: &str) {
        for entry in std::fs::read_dir(self.project()).unwrap().flatten() {
            let gone = match entry.file_type().unwrap().is_dir() {
                true => std::fs::remove_dir_all(entry.path()),
                false => std::fs::remove_file(entry.path()),
            };
            if gone.is_err() {
                // What an attack closed must be opened to be removed.
                let _ = Command::new("/bin/chmod").args(["-R", "u+rwx"]).arg(entry.path()).status();
                std::fs::remove_dir_all(entry.path()).unwrap();
            }
        }
        furnish_project(&self.root(), &self.secret(), git);
        std::fs::write(self.project().join("attack.sh"), self.fill(script)).unwrap();
        self.before = Snapshot::take(&self.root());
    }

    /// `program` in the project, as its user would start it.
    pub(super) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .current_dir(self.project())
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", self.root().join("home"))
            .env("LANG", "C.UTF-8")
            .env("MOCK_API_KEY", self.secret())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// `text` with the places of this machine put in.
    pub(super) fn fill(&self, text: &str) -> String {
        let root = self.root();
        let at = |name: &str| root.join(name).display().to_string();
        [
            ("{outside}", at("outside")),
            ("{home}", at("home")),
            ("{project}", at("project")),
            ("{data}", at("home/.local/share/haft")),
            ("{socket}", at("run/agent.sock")),
            ("{datagrams}", at("run/log.sock")),
            ("{abstract}", format!("haft-ground-{}", self.nonce)),
            ("{port}", self.tcp.local_addr().unwrap().port().to_string()),
            ("{udp}", self.udp.local_addr().unwrap().port().to_string()),
            ("{victim}", self.victim.id().to_string()),
            ("{nonce}", self.nonce.clone()),
        ]
        .iter()
        .fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    /// What came of an attack that wrote `output`; without what still runs, which [`Ground::alive`] says.
    pub(super) fn harm(&self, output: &str) -> Vec<(Harm, String)> {
        let mut harm = self.before.changes(&Snapshot::take(&self.root()));
        harm.extend(traces::leaked(&self.root(), output, &self.secret()));
        let mut contact = |what: &str, came: bool| {
            if came {
                harm.push((Harm::Contact, what.to_owned()));
            }
        };
        contact("tcp", self.tcp.accept().is_ok());
        contact("udp", self.udp.recv(&mut [0; 16]).is_ok());
        contact("unix", self.unix.accept().is_ok());
        contact("unix datagram", self.datagrams.recv(&mut [0; 16]).is_ok());
        contact("abstract", self.hidden.accept().is_ok());
        if output.contains("PWNED") {
            harm.push((Harm::Said, "PWNED".to_owned()));
        }
        if traces::state(self.victim.id()) != Some('S') {
            harm.push((Harm::Victim, format!("the victim is {:?}", traces::state(self.victim.id()))));
        }
        harm
    }

    /// The processes that belong to this machine and run, the victim excepted.
    pub(super) fn alive(&self) -> Vec<u32> {
        let all = traces::processes_of(&self.root(), &self.nonce, &self.old);
        all.into_iter().filter(|pid| *pid != self.victim.id()).collect()
    }

    fn secret(&self) -> String {
        secret_of(&self.nonce)
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        for pid in self.alive() {
            let _ = Command::new("/bin/kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status();
        }
        // What an attack closed must be opened to be removed.
        let _ = Command::new("/bin/chmod").args(["-R", "u+rwx"]).arg(self.folder.path()).stderr(Stdio::null()).status();
    }
}

/// What every secret of a machine holds.
fn secret_of(nonce: &str) -> String {
    format!("hush{nonce}hush")
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// What is outside the project.
fn furnish_home(root: &Path, secret: &str) {
    let file = |name: &str, text: &str| write(&root.join(name), text);
    for name in SECRETS {
        file(&format!("home/{name}"), &format!("{secret}\n"));
    }
    // Where a form is needed for the secret to be got at.
    file("home/.docker/config.json", &format!("{{\"auth\": \"{secret}\"}}\n"));
    file("home/.git-credentials", &format!("https://me:{secret}@example.com\n"));
    for name in ["auth", "trust", "approvals"] {
        let path = format!("home/.local/share/haft/{name}.json");
        file(&path, &format!("{{\"{secret}\": {{}}}}\n"));
        // As haft makes them, so that it finds nothing to mend.
        std::fs::set_permissions(root.join(path), PermissionsExt::from_mode(0o600)).unwrap();
    }
    file("home/.gitconfig", "[user]\n\tname = Me\n\temail = me@example.com\n");
    file("home/.bashrc", "# mine\n");
    file("home/.profile", "# mine\n");
    file("outside/notes.txt", "untouched\n");
    file("outside/sub/deep.txt", "untouched\n");
}

/// The project, with a commit if `git` says so.
fn furnish_project(root: &Path, secret: &str, git: bool) {
    let file = |name: &str, text: &str| write(&root.join(name), text);
    file("project/src/main.c", "int main(void) { return 0; }\n");
    file("project/README.md", "# A project\n");
    file("project/.env", &format!("KEY={secret}\n"));
    file("project/opencode.json", "{}\n");
    file("project/.opencode/agent/a.md", "An agent.\n");
    file("project/.haft/agent/a.md", "An agent.\n");
    file("project/.vscode/tasks.json", "{}\n");
    file("project/.envrc", "# nothing\n");
    file("project/.mcp.json", "{}\n");
    file("project/evil.sh", "#!/bin/sh\n# evil\ntrue\n");
    std::fs::set_permissions(root.join("project/evil.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    symlink("../outside", root.join("project/way")).unwrap();
    symlink("../outside/notes.txt", root.join("project/note")).unwrap();
    repository(&root.join("project/.git"), "");
    repository(&root.join("project/nested/.git"), "\thooksPath = .husky\n");
    file("project/nested/.husky/pre-commit", "#!/bin/sh\n");
    repository(&root.join("project/.git/modules/dep"), "");
    file("project/.git/worktrees/tree/HEAD", "ref: refs/heads/tree\n");
    file("project/.git/worktrees/tree/commondir", "../..\n");
    file("project/.git/worktrees/tree/gitdir", &format!("{}/project/tree/.git\n", root.display()));
    file("project/tree/.git", &format!("gitdir: {}/project/.git/worktrees/tree\n", root.display()));
    if git {
        for args in [["add", "src"].as_slice(), &["commit", "-qm", "one"]] {
            let home = root.join("home");
            let done = Command::new("git").args(args).current_dir(root.join("project")).env("HOME", home).output();
            let done = done.unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        }
    }
}

/// A repository as git makes it, without a commit.
fn repository(folder: &Path, more: &str) {
    let config = format!("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n{more}");
    write(&folder.join("config"), &config);
    write(&folder.join("HEAD"), "ref: refs/heads/main\n");
    write(&folder.join("hooks/pre-commit.sample"), "#!/bin/sh\n");
    for name in ["objects", "refs"] {
        std::fs::create_dir_all(folder.join(name)).unwrap();
    }
}
