//! How commands are caged: what holds for all of them, and the cage of each.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use haft_permission::Grant;
use haft_sandbox::{Cage, Limits, Network, Options, Rung, Sandbox};

use super::hidden;
use super::presets::{self, Preset};
use super::repository;
use super::scratch;
use super::walls::{Walls, real};
use super::{Command, ProcessError};
use crate::protected::{Guarded, Held, Protection, Repair, Secrets};

/// What a cage lets a command change that was granted to change the project.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// The project, its work tree, the folders of [`Caging::write`], those for temporary files.
    #[default]
    WorkspaceWrite,
    /// Nothing of these.
    ReadOnly,
}

/// What holds for the cages of all commands. Folders are absolute; those that are not there do not count.
#[derive(Debug, Clone, Default)]
pub struct Caging {
    /// What may be changed.
    pub mode: Mode,
    /// The user's home.
    pub home: PathBuf,
    /// The folder that is worked in, and its work tree.
    pub roots: Vec<PathBuf>,
    /// Further folders that may be changed.
    pub write: Vec<PathBuf>,
    /// Our own folders with what decides about commands, and the record of them: hidden, and never changed by any.
    pub own: Vec<PathBuf>,
    /// Further files and folders that cannot be read.
    pub hidden: Vec<PathBuf>,
    /// What can be read all the same.
    pub shown: Vec<PathBuf>,
    /// Where commands have a folder for each project that they may always fill. Made where it is missing.
    pub scratch: PathBuf,
    /// The names of the sets of further leaves that hold; all that there are where nothing is said.
    pub presets: Option<Vec<String>>,
    /// Hold cages with this rung, or not at all.
    pub only: Option<Rung>,
}

impl Caging {
    /// What the rung is chosen with: no `bwrap` counts that a command could have put there.
    pub fn options(&self) -> Options {
        let not_from = self.roots.iter().chain(&self.write).cloned().collect();
        Options { only: self.only, not_from, ..Options::default() }
    }
}

/// The cages of one program.
#[derive(Debug)]
pub(super) struct Cages {
    caging: Caging,
    sandbox: OnceLock<Sandbox>,
    protection: Protection,
    presets: Vec<Preset>,
    /// The folder in `scratch` that is this project's, once it is made.
    scratch: Mutex<Option<PathBuf>>,
}

/// A command's cage, ready to be entered.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) sandbox: Sandbox,
    pub(super) cage: Cage,
    pub(super) walls: Walls,
    pub(super) guarded: Guarded,
    /// Variables to set, behind those that the command has otherwise.
    pub(super) env: Vec<(String, String)>,
}

/// What a grant opens for what runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Leave {
    changes: Vec<PathBuf>,
    network: bool,
}

impl Leave {
    pub(super) fn of(grant: &Grant) -> Self {
        Self { changes: grant.changes().map(Path::to_path_buf).collect(), network: grant.covers_network() }
    }
}

impl Cages {
    pub(super) fn new(caging: Caging) -> Self {
        let protection = Protection::new(Some(&caging.home));
        let presets = presets::all(caging.presets.as_deref());
        Self { caging, sandbox: OnceLock::new(), protection, presets, scratch: Mutex::default() }
    }

    /// What may be changed.
    pub(super) fn mode(&self) -> Mode {
        self.caging.mode
    }

    /// What looks after what is protected.
    pub(super) fn protection(&self) -> &Protection {
        &self.protection
    }

    /// The folders that commands work in.
    pub(super) fn roots(&self) -> &[PathBuf] {
        &self.caging.roots
    }

    /// What holds cages here. Blocks for some 10 to 50 ms the first time.
    pub(super) fn sandbox(&self) -> &Sandbox {
        self.sandbox.get_or_init(|| Sandbox::find(&self.caging.options()))
    }

    /// Gets everything ready for `command`. Blocks. `None` where no rung holds here.
    ///
    /// # Errors
    ///
    /// [`ProcessError::NoScratch`], [`ProcessError::Moved`].
    pub(super) fn prepare(&self, leave: &Leave, command: &Command) -> Result<Option<Prepared>, ProcessError> {
        let sandbox = self.sandbox().clone();
        if sandbox.rung() == Rung::None {
            return Ok(None);
        }
        let scratch = self.scratch()?;
        let caging = &self.caging;
        let roots = caging.roots.iter().map(|root| as_asked(root)).collect::<Result<Vec<_>, _>>()?;
        let roots: Vec<PathBuf> = roots.into_iter().flatten().filter(|root| self.may_open(root)).collect();
        // Nothing opens the scratch folders of other projects: what is left there would be run by their commands.
        let changes = leave.changes.iter().map(|path| as_asked(path)).collect::<Result<Vec<_>, _>>()?;
        let mut changes: Vec<PathBuf> = changes.into_iter().flatten().filter(|path| self.may_open(path)).collect();
        let base = scratch.parent().map(Path::to_path_buf);
        changes.retain(|path| base.as_ref().is_none_or(|base| !path.starts_with(base) || path.starts_with(&scratch)));
        let works = caging.mode == Mode::WorkspaceWrite && caging.roots.iter().any(|root| leave.changes.contains(root));
        // Of what is named but not there yet too: leave for something protected is leave for that.
        let mut trees: Vec<PathBuf> = leave.changes.iter().filter(|path| self.may_open(path)).cloned().collect();
        let mut write = changes.clone();
        if works {
            let open: Vec<PathBuf> = roots.iter().cloned().chain(temporary()).collect();
            let further =
                caging.write.iter().filter_map(|path| further(path, &open)).filter(|path| self.may_open(path));
            let further: Vec<PathBuf> = further.collect();
            let further: Vec<PathBuf> = roots.iter().filter_map(|root| repository::of(root)).chain(further).collect();
            write.extend(further.iter().cloned().chain(temporary()));
            trees.extend(further);
        }
        write.push(scratch.clone());
        let named: Vec<&Preset> = match leave.network {
            true => self.presets.iter().filter(|preset| preset.is_for(&command.programs)).collect(),
            false => Vec::new(),
        };
        let at = |path: &presets::Path| path.at(&caging.home, &|name| std::env::var_os(name));
        if works {
            write.extend(named.iter().flat_map(|preset| preset.writable(&at)).filter_map(|path| real(&path)));
        }
        let shown = caging.shown.iter().chain(&caging.roots).cloned();
        let shown = shown.chain(named.iter().flat_map(|preset| preset.shown.iter().filter_map(&at)));
        let shown: Vec<PathBuf> = shown.filter_map(|path| real(&path)).chain([scratch.clone()]).collect();
        let sockets = named.iter().flat_map(|preset| preset.sockets.iter().filter_map(&at));
        let sockets: Vec<PathBuf> = sockets.filter_map(|path| real(&path)).collect();

        // Where all programs make files, others' would be taken for the command's.
        let shared = temporary();
        let is_shared = |tree: &PathBuf| {
            shared.contains(tree) || (!roots.contains(tree) && shared.iter().any(|folder| folder.starts_with(tree)))
        };
        trees.retain(|tree| !is_shared(tree));
        trees.sort();
        trees.dedup();
        let hidden = hidden::of(&caging.home).into_iter().chain(caging.hidden.iter().chain(&caging.own).cloned());
        let hidden: Vec<PathBuf> = hidden.filter_map(|path| real(&path)).collect();
        let secrets = command.secrets.clone().map(|secrets| beside(secrets, &hidden));
        let guarded = self.protection.guard(&trees, secrets.as_ref());
        // Listed in what is open, they are mounted on themselves, and cannot be moved away.
        write.extend(guarded.pinned().iter().cloned());
        let secrets = match sandbox.rung() {
            Rung::Namespaces | Rung::Seatbelt => guarded.hidden(),
            // It knows no exceptions: what a command makes beside a hidden file could not be read by it either.
            Rung::Landlock | Rung::None => &[],
        };
        let hidden = unique(hidden.into_iter().chain(secrets.iter().cloned()).collect());
        changes.retain(|path| !roots.contains(path) && !guarded.pinned().contains(path));
        let write = without_open(unique(write), &changes, &[guarded.frozen(), &hidden]);
        let cage = Cage {
            write,
            frozen: guarded.frozen().to_vec(),
            hidden,
            shown: unique(shown),
            network: if leave.network { Network::Open } else { Network::Closed },
            sockets,
            limits: Limits::default_for_commands(),
        };
        let env = scratch::environment(&scratch, &caging.home, &self.presets);
        let walls = Walls::of(&cage, sandbox.rung(), guarded.gaps());
        Ok(Some(Prepared { sandbox, cage, walls, guarded, env }))
    }

    /// Whether a command may be let change all of `path`. Not everything there is, which is nobody's project. And where
    /// what is hidden can be overwritten all the same, no folder that what decides about our commands lies in.
    fn may_open(&self, path: &Path) -> bool {
        let held = match self.sandbox().rung() {
            Rung::Namespaces | Rung::Seatbelt => true,
            Rung::Landlock | Rung::None => false,
        };
        let ours = || self.caging.own.iter().filter_map(|own| real(own)).any(|own| own.starts_with(path));
        path.parent().is_some() && (held || !ours())
    }

    /// The scratch folder of this project, made if need be.
    fn scratch(&self) -> Result<PathBuf, ProcessError> {
        let mut made = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = made.as_ref().filter(|folder| folder.is_dir()) {
            scratch::used(folder);
            return Ok(folder.clone());
        }
        let folder = scratch::make(&self.caging.scratch, &self.caging.roots)?;
        *made = Some(folder.clone());
        Ok(folder)
    }
}

/// What is looked after while a command runs, to be put back when it has ended.
#[derive(Debug)]
pub(super) struct Watch {
    guarded: std::sync::Arc<Guarded>,
    held: Held,
}

impl Watch {
    pub(super) fn new(guarded: Guarded, rung: Rung) -> Self {
        let held = match rung {
            Rung::Namespaces | Rung::Seatbelt => Held::Frozen,
            Rung::Landlock | Rung::None => Held::Nothing,
        };
        Self { guarded: guarded.into(), held }
    }

    /// Puts back what was changed. Blocks.
    pub(super) fn put_back(&self) -> Vec<Repair> {
        self.guarded.put_back(self.held)
    }
}

/// `path`, which was asked for without links, if something is there.
///
/// # Errors
///
/// [`ProcessError::Moved`] where a link leads somewhere else by now: an earlier command, which may still run, put it there,
/// and leave was not given for that.
fn as_asked(path: &Path) -> Result<Option<PathBuf>, ProcessError> {
    match real(path) {
        Some(real) if real != path => Err(ProcessError::Moved { path: path.to_owned() }),
        there => Ok(there),
    }
}

/// `secrets` without what lies in one of `hidden`, which is hidden as a whole.
fn beside(secrets: Secrets, hidden: &[PathBuf]) -> Secrets {
    let (Secrets { id, hides }, hidden) = (secrets, hidden.to_vec());
    let hides = move |path: &Path| hides(path) && !hidden.iter().any(|hidden| path.starts_with(hidden));
    Secrets { id, hides: Arc::new(hides) }
}

/// Where a folder of the settings is. Below one of the folders `open`, where commands can put a link in its place, only
/// what is no link.
fn further(path: &Path, open: &[PathBuf]) -> Option<PathBuf> {
    let real = real(path)?;
    (real == path || !open.iter().any(|open| path.starts_with(open))).then_some(real)
}

/// The folders for temporary files of all programs, which commands in a cage may write.
pub fn temporary() -> Vec<PathBuf> {
    // The last but one holds the locks of programs of several processes.
    let folders = ["/tmp".into(), "/var/tmp".into(), "/dev/shm".into(), std::env::temp_dir()];
    // The top of everything is none, whoever says so.
    unique(folders.iter().filter_map(|folder| real(folder)).filter(|folder| folder.parent().is_some()).collect())
}

/// `write` without those of `changes` that are open anyway, because what they are in is. On its own each would be a mount,
/// and could be neither replaced, which is how git and editors write a file, nor moved.
fn without_open(write: Vec<PathBuf>, changes: &[PathBuf], closed: &[&[PathBuf]]) -> Vec<PathBuf> {
    let is_open = |path: &PathBuf| {
        let mut around = write.iter().filter(|around| *around != path && path.starts_with(around));
        let nearest = around.next_back();
        nearest.is_some_and(|around| {
            let between = |closed: &PathBuf| path.starts_with(closed) && closed.starts_with(around);
            !closed.iter().copied().flatten().any(between)
        })
    };
    write.iter().filter(|path| !changes.contains(path) || !is_open(path)).cloned().collect()
}

fn unique(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort();
    paths.dedup();
    paths
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_is_open_anyway_is_no_mount_of_its_own() {
        let paths = |list: &str| -> Vec<PathBuf> { list.split_whitespace().map(PathBuf::from).collect() };
        let row = |write: &str, changes: &str, closed: &str, want: &str| {
            let left = without_open(paths(write), &paths(changes), &[&paths(closed), &[]]);
            assert_eq!(left, paths(want), "{write} but {closed}");
        };
        row("/p /p/.git /p/.git/config", "/p/.git/config", "/p/.git/hooks", "/p /p/.git");
        row("/p /p/src", "/p/src", "", "/p");
        row("/p /q", "/q", "", "/p /q");
        row("/p /p/.vscode/a", "/p/.vscode/a", "/p/.vscode", "/p /p/.vscode/a");
        row("/p /p/.env", "/p/.env", "/p/.env", "/p /p/.env");
        row("/p /p/a /p/a/b", "/p/a /p/a/b", "", "/p");
        row("/p /p/own", "", "", "/p /p/own");
        row("/ /p", "/p", "/p2", "/");
    }
    /// A cage for `changes`, with the project `p` in a folder that holds it, `o`, and our own data in `own`.
    fn prepared(top: &Path, only: Rung, own: &str, changes: &[&str]) -> Option<Result<Cage, ProcessError>> {
        let at = |name: &str| top.join(name);
        let caging = Caging {
            home: at("home"),
            roots: vec![at("p")],
            write: vec![at("p/further"), at("o/further")],
            own: vec![at(own)],
            scratch: at("scratch"),
            presets: Some(Vec::new()),
            only: Some(only),
            ..Caging::default()
        };
        let leave = Leave { changes: changes.iter().map(|name| at(name)).collect(), network: false };
        let prepared = Cages::new(caging).prepare(&leave, &Command::default());
        prepared.map(|prepared| prepared.map(|prepared| prepared.cage)).transpose()
    }

    /// Does `check` on each rung that this machine has.
    fn each(check: impl Fn(&Path, Rung)) {
        for rung in [Rung::Namespaces, Rung::Landlock] {
            let folder = tempfile::tempdir().unwrap();
            let top = folder.path().canonicalize().unwrap();
            ["home", "p", "o", "own", "x"].iter().for_each(|name| std::fs::create_dir(top.join(name)).unwrap());
            check(&top, rung);
        }
    }

    #[test]
    fn a_link_that_took_the_place_of_what_was_asked_for_opens_nothing() {
        each(|top, rung| {
            symlink("o", top.join("link")).unwrap();
            let Some(opened) = prepared(top, rung, "own", &["p", "x"]) else { return };
            assert!(opened.unwrap().write.contains(&top.join("x")));
            for changes in [["p", "link"], ["p", "link/further"]] {
                std::fs::create_dir_all(top.join("o/further")).unwrap();
                let failed = prepared(top, rung, "own", &changes).unwrap().unwrap_err();
                assert!(matches!(&failed, ProcessError::Moved { path } if *path == top.join(changes[1])), "{failed}");
            }
            // The project too.
            std::fs::rename(top.join("p"), top.join("moved")).unwrap();
            symlink("o", top.join("p")).unwrap();
            let failed = prepared(top, rung, "own", &["p"]).unwrap().unwrap_err();
            assert!(matches!(&failed, ProcessError::Moved { path } if *path == top.join("p")), "{failed}");
        });
    }

    #[test]
    fn a_link_in_the_project_does_not_say_what_the_settings_open() {
        each(|top, rung| {
            std::fs::create_dir_all(top.join("x/further")).unwrap();
            symlink("../x", top.join("p/further")).unwrap();
            std::fs::create_dir(top.join("o/further")).unwrap();
            let Some(opened) = prepared(top, rung, "own", &["p"]) else { return };
            let write = opened.unwrap().write;
            assert!(!write.contains(&top.join("x")) && write.contains(&top.join("o/further")), "{write:?}");
        });
    }

    #[test]
    fn what_decides_about_commands_is_never_open_to_them() {
        each(|top, rung| {
            std::fs::create_dir(top.join("p/own")).unwrap();
            let Some(opened) = prepared(top, rung, "p/own", &["p", "x"]) else { return };
            let cage = opened.unwrap();
            assert!(cage.hidden.contains(&top.join("p/own")) && cage.write.contains(&top.join("x")));
            // Mounts close it there; else the whole folder stays as it is.
            assert_eq!(cage.write.contains(&top.join("p")), rung == Rung::Namespaces);
            let mut everything = Caging { roots: vec!["/".into()], ..Caging::default() };
            everything.only = Some(rung);
            assert!(!Cages::new(everything).may_open(Path::new("/")));
        });
    }

    #[test]
    fn what_lies_in_something_hidden_is_not_hidden_once_more() {
        let secrets = Secrets { id: 7, hides: Arc::new(|path| path.ends_with("secret")) };
        let secrets = beside(secrets, &["/h/.ssh".into()]);
        let row = |path: &str, want: bool| assert_eq!((secrets.hides)(Path::new(path)), want, "{path}");
        row("/h/a/secret", true);
        row("/h/.ssh/secret", false);
        row("/h/.sshx/secret", true);
        row("/h/other", false);
    }
}
