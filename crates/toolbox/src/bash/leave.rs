//! What a command line needs leave for: the folders outside that it goes to, the files it reads and writes, the network,
//! itself. In a cage, what it was granted is also all that it can do.

use std::collections::hash_map::DefaultHasher;
use std::ffi::OsStr;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_permission::{Access, Action, Builtin, Effect, Grant};
use haft_project::{Files, Mode, Processes, Secrets, temporary};
use haft_shell::{Analysis, Dialect, Surroundings, Touch, Touching, analyse};
use haft_tool::{Call, ToolError};

use super::touched::Touched;
use crate::reach::{Border, reach_all};

/// Hosts that are this machine: in a closed network a command still has itself to talk to.
const LOOPBACK: [&str; 4] = ["localhost", "127.0.0.1", "::1", "0.0.0.0"];

/// Who asks, and in which world.
pub(super) struct Asking<'a> {
    pub(super) files: &'a Files,
    pub(super) processes: &'a Processes,
    pub(super) call: &'a Call,
}

/// What a command line is to be asked for.
pub(super) struct Wish<'a> {
    pub(super) command: &'a str,
    pub(super) dir: &'a Path,
    /// Whether the model says that it needs the network.
    pub(super) network: bool,
    /// What the model says that it must change outside or of what is protected.
    pub(super) write: &'a [String],
}

/// What it got.
#[derive(Debug)]
pub(super) struct Leave {
    pub(super) grant: Grant,
    /// The programs that it is seen to run.
    pub(super) programs: Vec<String>,
    /// The files that it cannot read.
    pub(super) secrets: Option<Secrets>,
}

/// Asks for running a command: first for folders outside the project, then for files that rules do not simply allow to be
/// read or written, then for the network, then for the commands.
///
/// # Errors
///
/// [`ToolError::Denied`], or [`ToolError::BadInput`] where a path of the model's leads nowhere.
pub(super) async fn ask(asking: &Asking<'_>, wish: &Wish<'_>) -> Result<Leave, ToolError> {
    let Asking { files, processes, call } = asking;
    let &Wish { command, dir, .. } = wish;
    let mode = mode(processes).await;
    let found = look(command, dir, dialect(processes.shell())).await;
    let mut touched = Touched::default();
    for touch in &found.touches {
        touched.add(files, call, touch).await;
    }
    // What a cage keeps as it is, nothing that fills a folder changes.
    let kept = |path: &Path| mode.is_some() && path.file_name().is_some_and(haft_project::is_protected);
    touched.writes.extend(std::mem::take(&mut touched.filled).into_iter().filter(|(_, path)| !kept(path)));
    let wanted = wanted(asking, wish, &mut touched).await?;
    let shown = Shown { command, effects: effects(&found, wish, files, processes) };

    // For the folder to run in, leave was asked before, if nothing is to be changed there.
    let entered = touched.outside.iter().filter(|(folder, changed)| *folder != dir || !changed.is_empty());
    let mut proofs = Vec::new();
    let borders: Vec<Border> = entered
        .map(|(folder, changed)| Border {
            folder: folder.clone(),
            changed: changed.clone(),
            // What all programs may fill, the cage lets be filled too.
            free: mode.is_some() && is_temporary(folder),
        })
        .collect();
    for free in [false, true] {
        let borders: Vec<&Border> = borders.iter().filter(|border| border.free == free).collect();
        proofs.extend(reach_all(call, &borders, |access| shown.on(access)).await?);
    }
    for (permission, touched) in [("read", &touched.reads), ("edit", &touched.writes)] {
        let allowed = call.allowing(permission);
        let asked =
            touched.iter().filter(|(title, path)| !allowed(title) || permission == "edit" && wanted.contains(path));
        let (patterns, paths): (Vec<String>, Vec<PathBuf>) =
            asked.map(|(title, path)| (title.clone(), path.clone())).unzip();
        if !patterns.is_empty() {
            let filepath = patterns.join(", ");
            let effects =
                if permission == "edit" { paths.into_iter().map(Effect::Change).collect() } else { Vec::new() };
            let access = Access { always: named(&patterns), patterns, effects, ..Access::new(permission, "") };
            proofs.push(call.ask(shown.on(access.show("filepath", filepath))).await?);
        }
    }
    let opaque = touched.lost || is_opaque(command, &found);
    if mode.is_some() {
        proofs.extend(network(call, wish, &found, opaque, &shown).await?);
    }
    let mut access = access(wish, &found, opaque);
    if mode.is_some() && found.broken {
        access.builtin = Builtin::NeverAllows;
    }
    if mode == Some(Mode::WorkspaceWrite) && call.general("edit") != Action::Deny {
        access.effects.extend(processes.roots().iter().cloned().map(Effect::Change));
    }
    let access = if dir == files.root() { access } else { access.show("workdir", dir.display().to_string()) };
    let grant = call.ask(shown.on(access)).await?;
    let grant = proofs.into_iter().fold(grant, Grant::and);
    let secrets = mode.map(|_| secrets(files, call, touched.reads.into_values().collect()));
    Ok(Leave { grant, programs: programs(&found), secrets })
}

/// What cages let commands change; `None` where there are none. The first time it may take a while to know.
async fn mode(processes: &Processes) -> Option<Mode> {
    let processes = processes.clone();
    // A defect in finding out must not run anything with more rights: without an answer everything is asked for.
    tokio::task::spawn_blocking(move || processes.mode()).await.unwrap_or_default()
}

/// Adds what the model says must be changed to what is touched, and gives back where it is.
async fn wanted(asking: &Asking<'_>, wish: &Wish<'_>, touched: &mut Touched) -> Result<Vec<PathBuf>, ToolError> {
    let Asking { files, call, .. } = asking;
    let mut wanted = Touched::default();
    for name in wish.write {
        let path = match name.strip_prefix("~/").zip(home()) {
            Some((below, home)) => home.join(below),
            None => wish.dir.join(name),
        };
        if !name.trim().is_empty() {
            wanted.add(files, call, &Touch { how: Touching::Write, path, rest: String::new() }).await;
        }
        if name.trim().is_empty() || wanted.lost {
            return Err(ToolError::BadInput(format!("write: {name:?} leads nowhere; name a file or folder")));
        }
    }
    for (folder, changed) in wanted.outside {
        touched.outside.entry(folder).or_default().extend(changed);
    }
    let paths = wanted.writes.values().cloned().collect();
    touched.writes.extend(wanted.writes);
    Ok(paths)
}

/// What is shown with each question about a command.
struct Shown<'a> {
    command: &'a str,
    /// What it does, in words.
    effects: Vec<String>,
}

impl Shown<'_> {
    fn on(&self, access: Access) -> Access {
        let access = access.show("command", self.command);
        if self.effects.is_empty() { access } else { access.show("effects", self.effects.clone()) }
    }
}

/// What the command does and what is wished for it, in words for a person.
fn effects(found: &Analysis, wish: &Wish<'_>, files: &Files, processes: &Processes) -> Vec<String> {
    let mut inside: Vec<&Path> = processes.roots().iter().map(PathBuf::as_path).collect();
    inside.push(files.root());
    let mut words = found.in_words(&inside, &|path| path.is_dir());
    if wish.network && !found.network {
        words.push("uses the network, as the agent says".to_owned());
    }
    if !wish.write.is_empty() {
        let named: Vec<String> = wish.write.iter().map(|name| name.escape_debug().to_string()).collect();
        words.push(format!("changes, as the agent says: {}", named.join(", ")));
    }
    words
}

/// Asks for the network where the command needs it. Where rules of the user's open it anyway there is no question. `None`:
/// it stays closed.
async fn network(
    call: &Call,
    wish: &Wish<'_>,
    found: &Analysis,
    opaque: bool,
    shown: &Shown<'_>,
) -> Result<Option<Grant>, ToolError> {
    let itself = !found.hosts.is_empty() && found.hosts.iter().all(|host| LOOPBACK.contains(&host.as_str()));
    let needed = wish.network || (found.network && !itself);
    let asked = Access { effects: vec![Effect::Network], ..access(wish, found, opaque) };
    let asked = shown.on(Access { permission: "network".to_owned(), ..asked });
    if needed {
        return Ok(Some(call.ask(asked).await?));
    }
    let allowed = call.allowing("network");
    let open = match opaque {
        true => call.general("network") == Action::Allow,
        false => !asked.patterns.is_empty() && asked.patterns.iter().all(|pattern| allowed(pattern)),
    };
    // It was not seen to need it: without leave it does without.
    Ok(if open { call.ask(asked).await.ok() } else { None })
}

/// Which files of the project a caged command cannot read: what rules do not allow, but for `granted`.
pub(crate) fn secrets(files: &Files, call: &Call, granted: Vec<PathBuf>) -> Secrets {
    let (allowed, files) = (call.allowing("read"), files.clone());
    let mut hasher = DefaultHasher::new();
    (call.rules_id(), &granted).hash(&mut hasher);
    let hides = move |path: &Path| !granted.iter().any(|granted| path == granted) && !allowed(&files.title(path));
    Secrets { id: hasher.finish(), hides: Arc::new(hides) }
}

/// Whether `folder` is one that all programs may fill.
fn is_temporary(folder: &Path) -> bool {
    temporary().iter().any(|one| folder.starts_with(one))
}

/// The names of the programs, without folders.
fn programs(found: &Analysis) -> Vec<String> {
    let name = |words: &Vec<String>| Some(Path::new(words.first()?).file_name()?.to_str()?.to_owned());
    let mut programs: Vec<String> = found.commands.iter().filter_map(|simple| name(&simple.words)).collect();
    programs.sort();
    programs.dedup();
    programs
}

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

/// What "always" covers of files that a command touches: those files and no others, because the question is about a
/// command. A name that would be a pattern is none of them.
fn named(patterns: &[String]) -> Vec<String> {
    if patterns.iter().any(|title| title.contains(['*', '?', '\\'])) { Vec::new() } else { patterns.to_vec() }
}

/// Looks at the command on a thread of its own, because it may take a while.
async fn look(command: &str, dir: &Path, dialect: Dialect) -> Analysis {
    let (text, dir) = (command.to_owned(), dir.to_owned());
    let home = home();
    let work = move || {
        let around = Surroundings::new(&dir).dialect(dialect).is_dir(&|path| path.is_dir());
        analyse(&text, &Surroundings { home: home.as_deref(), ..around })
    };
    // A mistake in the analysis must not let a command pass.
    let failed = |_| Analysis { unknown: vec!["it could not be looked into".to_owned()], ..Analysis::default() };
    tokio::task::spawn_blocking(work).await.unwrap_or_else(failed)
}

fn dialect(shell: &Path) -> Dialect {
    match shell.file_name().and_then(OsStr::to_str) {
        Some("bash") => Dialect::Bash,
        Some("zsh") => Dialect::Zsh,
        Some(_) | None => Dialect::Posix,
    }
}

/// Whether rules for the beginning of the command say nothing about the rest.
fn is_opaque(command: &str, found: &Analysis) -> bool {
    // Of what runs no command nothing would be asked; in expressions and expansions it may show what variables hold.
    let bare = found.patterns.is_empty() && command.contains(['$', '`', '<', '>', '(']);
    bare || !found.is_known()
}

/// Asks for the commands. Of an unknown text the whole is asked for, and its parts, so that a rule against one of them
/// holds; "always" is not offered, because it would cover what is not known.
fn access(wish: &Wish<'_>, found: &Analysis, opaque: bool) -> Access {
    let &Wish { command, dir, .. } = wish;
    let run = Effect::Run { command: command.to_owned(), dir: dir.to_owned() };
    let mut patterns: Vec<String> = Vec::new();
    let whole = opaque.then(|| command.to_owned());
    for pattern in whole.into_iter().chain(found.patterns.iter().chain(&found.spellings).cloned()) {
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    let always = if opaque { Vec::new() } else { found.always.clone() };
    let access = Access { patterns, always, opaque, ..Access::new("bash", "") }.with(run);
    if found.is_known() { access } else { access.show("unknown", found.unknown.clone()) }
}
