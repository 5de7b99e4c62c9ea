//! A folder to work in and one to leave alone, and programs run by root and by an ordinary user.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// The ordinary user and group where root runs the tests: nobody.
const NOBODY: u32 = 65534;
/// Where programs are looked for: not in anybody's home, where an ordinary user may not look.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// What every Python program of the tests begins with: `call` makes a system call and tells what came of it.
pub(crate) const PRELUDE: &str = "
import ctypes, errno, os, signal, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(number), *[a if isinstance(a, bytes) else ctypes.c_long(a) for a in args])
    return errno.errorcode[ctypes.get_errno()] if got == -1 else 'done'
def attempt(action):
    try:
        action()
        return 'done'
    except OSError as error:
        return errno.errorcode[error.errno]
";

/// Who runs a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// Whoever runs the tests.
    Self_,
    /// An ordinary user, where root runs the tests.
    Nobody,
}

/// A place for one test and one person: `project` may be written there, `outside` not.
#[derive(Debug)]
pub(crate) struct Scene {
    base: TempDir,
    who: Who,
    rung: &'static str,
}

/// What a program did.
#[derive(Debug)]
pub(crate) struct Done {
    /// Its exit code; more than 128 for a signal, as shells do it.
    pub(crate) code: i32,
    /// Its output, without blanks at the end.
    pub(crate) out: String,
    /// What it said on standard error.
    pub(crate) err: String,
}

/// Runs `test` on the rung of Landlock as whoever runs the tests, and as an ordinary user if that is root.
pub(crate) fn each(test: impl Fn(&Scene)) {
    for who in [Who::Self_, Who::Nobody] {
        if who == Who::Self_ || is_root() {
            test(&Scene::new(who, "landlock"));
        }
    }
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

impl Scene {
    pub(crate) fn new(who: Who, rung: &'static str) -> Self {
        let base = tempfile::tempdir().unwrap();
        fs::set_permissions(base.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let scene = Self { base, who, rung };
        // Where nobody can reach the folder of the build, the program must lie elsewhere. Another process copies it: what a
        // test beside this one starts meanwhile would inherit the open file, and what is open for writing cannot be run.
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_haft-cage")).arg(scene.path("haft-cage")).status();
        assert!(copied.unwrap().success());
        for folder in ["project", "outside"] {
            fs::create_dir(scene.path(folder)).unwrap();
            scene.give(folder);
        }
        scene
    }

    /// Whether programs are run by root.
    pub(crate) fn by_root(&self) -> bool {
        self.who == Who::Self_ && is_root()
    }

    /// A path in this place, without links.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        fs::canonicalize(self.base.path()).unwrap().join(path)
    }

    /// The same as text.
    pub(crate) fn text(&self, path: &str) -> String {
        self.path(path).to_str().unwrap().to_owned()
    }

    /// Makes a file that belongs to whoever runs the programs.
    pub(crate) fn file(&self, path: &str, content: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), content).unwrap();
        let mut at = Path::new(path);
        while at != Path::new("") {
            self.give(at.to_str().unwrap());
            at = at.parent().unwrap();
        }
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path(path)).ok()
    }

    fn give(&self, path: &str) {
        if self.who == Who::Nobody {
            chown(self.path(path), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    /// A command that whoever it is runs, without a cage.
    pub(crate) fn free(&self, program: &str) -> Command {
        let mut command = match self.who {
            Who::Self_ => Command::new(program),
            Who::Nobody => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid=65534", "--regid=65534", "--clear-groups", program]);
                command
            }
        };
        command.current_dir(self.path("project")).env("HOME", self.path("project")).env("PATH", PATH);
        command.stdin(Stdio::null());
        command
    }

    /// A command in a cage that `options` describe, besides that `project` may be written.
    pub(crate) fn caged(&self, options: &[&str], program: &[&str]) -> Command {
        let mut command = self.free(&self.text("haft-cage"));
        command.args(["--rung", self.rung, "--write", &self.text("project")]).args(options).arg("--").args(program);
        command
    }

    /// Runs a program in a cage.
    pub(crate) fn run(&self, options: &[&str], program: &[&str]) -> Done {
        done(self.caged(options, program).output().unwrap())
    }

    /// Runs a line of the shell in a cage. `$P` is the project, `$O` outside.
    pub(crate) fn shell(&self, options: &[&str], line: &str) -> Done {
        let mut command = self.caged(options, &["sh", "-c", line]);
        done(command.env("P", self.path("project")).env("O", self.path("outside")).output().unwrap())
    }

    /// Runs a Python program in a cage.
    pub(crate) fn python(&self, options: &[&str], text: &str) -> Done {
        self.run(options, &["python3", "-c", &format!("{PRELUDE}{text}")])
    }

    /// Runs a Python program without a cage.
    pub(crate) fn free_python(&self, text: &str) -> Done {
        done(self.free("python3").args(["-c", &format!("{PRELUDE}{text}")]).output().unwrap())
    }

    /// Fails unless a Python program says `want` in the cage.
    #[track_caller]
    pub(crate) fn says(&self, options: &[&str], text: &str, want: &str) {
        let got = self.python(options, text);
        assert_eq!(got.out, want, "{:?}: {text}\n{}", self.who, got.err);
    }
}

pub(crate) fn done(output: Output) -> Done {
    use std::os::unix::process::ExitStatusExt;

    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end().to_owned();
    let code = output.status.code().or(output.status.signal().map(|signal| 128 + signal)).unwrap();
    Done { code, out: text(output.stdout), err: text(output.stderr) }
}

/// Whether Python is here; says so where it is not.
pub(crate) fn no_python() -> bool {
    let missing = Command::new("python3").args(["-c", ""]).env("PATH", PATH).output().is_err();
    if missing {
        eprintln!("not here: python3 is not installed, and raw system calls are made with it");
    }
    missing
}
