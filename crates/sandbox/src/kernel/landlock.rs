//! Rules on files and on other programs, as far as this kernel knows them.

use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope, make_bitflags,
};
use rustix::fs::{Access, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Uid;

use super::links::without_links;
use super::reading::Places;
use crate::cage::{Cage, Network, Session};

/// The newest rules that are known here. An older kernel holds to those that it knows; `gaps` says what that leaves.
const NEWEST: ABI = ABI::V9;
/// How many rules a cage may have. Each entry of a folder on the way to something hidden is one; a thousand take about
/// four milliseconds.
const MAX_RULES: usize = 10_000;
/// What may be done to a file that may be read.
const READ: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | ReadDir | Execute});
/// What may be done where writing is allowed. No devices: neither making them nor giving them orders.
const WRITE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{
    WriteFile | RemoveDir | RemoveFile | MakeDir | MakeReg | MakeSock | MakeFifo | MakeSym | Refer | Truncate | ResolveUnix
});
/// What may be done with a device that is for everybody, or was named.
const DEVICE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate | IoctlDev});
/// The same, but nothing is written to it.
const SOURCE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | IoctlDev});
/// The devices for everybody. The terminal is the program's own, if it has one; disks and memory are not among them.
const DEVICES: [(&str, BitFlags<AccessFs>); 6] = [
    ("/dev/null", DEVICE),
    ("/dev/zero", DEVICE),
    ("/dev/full", DEVICE),
    ("/dev/tty", DEVICE),
    ("/dev/random", SOURCE),
    ("/dev/urandom", SOURCE),
];
/// Folders that are not of files: they cannot be written even where all can.
const KERNELS: [&str; 3] = ["/dev", "/proc", "/sys"];
/// Hidden in every cage: devices, and for root what the kernel tells of everything that runs.
const ALWAYS_HIDDEN: [&str; 1] = ["/dev"];
const HIDDEN_FROM_ROOT: [&str; 2] = ["/sys/kernel/debug", "/sys/kernel/tracing"];

/// What rules are made about.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ruling<'a> {
    /// Files, network and other programs.
    Everything(&'a Cage, Session),
    /// Other programs, and once more what may be changed: mounts rule over files already, but a pipe with a name can be
    /// written wherever it lies, and one wall more is cheap.
    InNamespaces(&'a Cage),
}

/// Restricts this process and all that come of it.
pub(super) fn restrict(ruling: Ruling<'_>) -> Result<(), String> {
    let (cage, session) = match ruling {
        Ruling::Everything(cage, session) => (cage, session),
        Ruling::InNamespaces(cage) => return in_namespaces(cage),
    };
    let failed = |error: landlock::RulesetError| format!("rules on files cannot be made: {}", chain(&error));
    let mut ruleset = Ruleset::default().handle_access(AccessFs::from_all(NEWEST)).map_err(failed)?;
    ruleset = ruleset.scope(Scope::from_all(NEWEST)).map_err(failed)?;
    if cage.network == Network::Closed {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST)).map_err(failed)?;
    }
    let mut rules = Rules { ruleset: ruleset.create().map_err(failed)?, count: 0 };
    rules.all(cage, session)?;
    let status = rules.ruleset.restrict_self().map_err(failed)?;
    match status.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced if status.no_new_privs => Ok(()),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced | RulesetStatus::NotEnforced => {
            Err("this kernel does not have Landlock, or it is switched off".to_owned())
        }
    }
}

/// Neither signals nor nameless sockets reach programs outside, and nothing is changed but what may be. Where the kernel
/// does not know that, namespaces and mounts do it, and `gaps` tells of the rest.
fn in_namespaces(cage: &Cage) -> Result<(), String> {
    let failed = |error: landlock::RulesetError| format!("rules within namespaces cannot be made: {}", chain(&error));
    let handled = WRITE | AccessFs::MakeChar | AccessFs::MakeBlock;
    let ruleset = Ruleset::default().handle_access(handled).and_then(|rules| rules.scope(Scope::from_all(NEWEST)));
    let mut rules = Rules { ruleset: ruleset.and_then(Ruleset::create).map_err(failed)?, count: 0 };
    // What is in there is the cage's own.
    rules.path(Path::new("/dev"), WRITE)?;
    for path in &cage.write {
        rules.path(path, WRITE)?;
    }
    for path in &cage.sockets {
        rules.path(path, AccessFs::ResolveUnix.into())?;
    }
    rules.ruleset.restrict_self().map(|_| ()).map_err(failed)
}

struct Rules {
    ruleset: RulesetCreated,
    count: usize,
}

impl Rules {
    fn all(&mut self, cage: &Cage, session: Session) -> Result<(), String> {
        // Names are no secret: without them a program could not even say what it may not read.
        self.path(Path::new("/"), AccessFs::ReadDir.into())?;
        self.reading(cage)?;
        for (device, access) in DEVICES {
            self.path(Path::new(device), access)?;
        }
        for path in &cage.write {
            if path.parent().is_none() {
                self.everything()?;
            } else {
                self.path(path, if path.starts_with("/dev") { WRITE | DEVICE } else { WRITE })?;
            }
        }
        for path in &cage.sockets {
            self.path(path, AccessFs::ResolveUnix.into())?;
        }
        match session {
            Session::New => Ok(()),
            Session::Kept => self.own_terminal(),
        }
    }

    fn reading(&mut self, cage: &Cage) -> Result<(), String> {
        let mut places = Places::default();
        let ordinary = !rustix::process::geteuid().is_root();
        // Each that is hidden costs a rule for all that lies beside it.
        let not_empty = |path: &&&str| std::fs::read_dir(path).is_ok_and(|mut names| names.next().is_some());
        let for_root = HIDDEN_FROM_ROOT.iter().filter(|_| !ordinary).filter(not_empty);
        ALWAYS_HIDDEN.iter().chain(for_root).for_each(|path| places.hide(Path::new(path)));
        for path in &cage.hidden {
            match without_links(path) {
                // Where a link leads is what is hidden.
                Ok(real) if !ordinary || !closed_by_others(&real) => places.hide(&real),
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                // It may be there, behind a folder of ours.
                Err(_) => places.hide(path),
            }
        }
        // Who may write somewhere hidden may read there too: it was made for them.
        cage.shown.iter().chain(&cage.write).for_each(|path| places.show(path));
        places.visit(&mut |place| self.add(place, READ))
    }

    /// All folders of the root can be written, but for those that are devices or the kernel's. A rule for the root itself
    /// would be one for them too, so nothing new can be made there.
    fn everything(&mut self) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("/ cannot be listed: {error}");
        for entry in std::fs::read_dir("/").map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if !KERNELS.iter().any(|own| path == Path::new(own)) {
                self.path(&path, WRITE)?;
            }
        }
        Ok(())
    }

    /// The terminal that this program was given is its own.
    fn own_terminal(&mut self) -> Result<(), String> {
        let handles = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
        let mut terminals = handles.into_iter().filter(|handle| rustix::termios::isatty(handle));
        terminals.try_for_each(|handle| self.add(handle, DEVICE))
    }

    /// Allows `access` to `path`, unless that is not there or a link leads to it: then it is not what was named.
    fn path(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), String> {
        match open(path) {
            Ok(place) => self.add(place, access),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => Ok(()),
            Err(errno) => Err(format!("{} cannot be looked at: {errno}", path.display())),
        }
    }

    fn add(&mut self, place: impl std::os::fd::AsFd, access: BitFlags<AccessFs>) -> Result<(), String> {
        self.count += 1;
        if self.count > MAX_RULES {
            let beside = "files and folders lie beside what is hidden; hide their whole folder instead";
            return Err(format!("more than {MAX_RULES} {beside}"));
        }
        let rule = PathBeneath::new(place, access);
        (&mut self.ruleset)
            .add_rule(rule)
            .map(|_| ())
            .map_err(|error| format!("a rule on files cannot be made: {}", chain(&error)))
    }
}

/// Whether `path` belongs to somebody else, who does not let us in: no right that we have could change that.
fn closed_by_others(path: &Path) -> bool {
    let access = match rustix::fs::stat(path) {
        Ok(stat) if Uid::from_raw(stat.st_uid) == rustix::process::geteuid() => return false,
        Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_dir() => Access::EXEC_OK,
        Ok(_) => Access::READ_OK,
        // What keeps us from it may be ours.
        Err(_) => return false,
    };
    rustix::fs::access(path, access) == Err(Errno::ACCESS)
}

/// The place at `path`, which is absolute, if no link leads there. Step by step: a cage in a cage has no call that does
/// it at once.
fn open(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut here = rustix::fs::openat(CWD, "/", flags, Mode::empty())?;
    for step in path.components() {
        here = match step {
            Component::RootDir => continue,
            Component::Normal(name) => rustix::fs::openat(&here, name, flags, Mode::empty())?,
            Component::Prefix(_) | Component::CurDir | Component::ParentDir => return Err(Errno::LOOP),
        };
    }
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&here)?.st_mode);
    if kind == FileType::Symlink { Err(Errno::LOOP) } else { Ok(here) }
}

/// An error with what it comes from.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Which rules this kernel knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holds {
    /// Cutting a file off.
    pub(crate) truncate: bool,
    /// Orders to devices.
    pub(crate) orders: bool,
    /// Signals and nameless sockets.
    pub(crate) scopes: bool,
    /// Sockets with a path.
    pub(crate) sockets: bool,
}

/// Asks the kernel which rules it knows, and restricts nothing.
pub(crate) fn holds() -> Holds {
    let strict = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let knows = |access: AccessFs| strict().handle_access(access).is_ok();
    Holds {
        truncate: knows(AccessFs::Truncate),
        orders: knows(AccessFs::IoctlDev),
        scopes: strict().scope(Scope::from_all(NEWEST)).is_ok(),
        sockets: knows(AccessFs::ResolveUnix),
    }
}
