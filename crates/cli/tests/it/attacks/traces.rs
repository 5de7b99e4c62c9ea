//! What an attack leaves behind.

use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::attack::Harm;

/// What is said of a folder whose entries are looked at one by one.
const FOLDER: &str = "folder";

/// The state of everything that a command must leave as it is.
pub(super) struct Snapshot {
    outside: BTreeMap<PathBuf, String>,
    protected: BTreeMap<PathBuf, String>,
    setuid: Vec<PathBuf>,
}

impl Snapshot {
    pub(super) fn take(root: &Path) -> Self {
        let mut shot = Self { outside: BTreeMap::new(), protected: BTreeMap::new(), setuid: Vec::new() };
        for name in ["outside", "home", "run"] {
            walk(&root.join(name), &mut |path, about| {
                let own = path.strip_prefix(root).unwrap();
                if let Some(text) = outside(own, path, about) {
                    shot.outside.insert(own.to_owned(), text);
                }
            });
        }
        walk(&root.join("project"), &mut |path, about| {
            let own = path.strip_prefix(root.join("project")).unwrap();
            if is_protected(own) || is_of_a_repository(path, own) {
                let only_kind = own.file_name().is_some_and(|name| name == ".git") && about.is_dir();
                let text = if only_kind { FOLDER.to_owned() } else { described(path, about) };
                shot.protected.insert(own.to_owned(), text);
            }
            if about.is_file() && about.mode() & 0o6000 != 0 {
                shot.setuid.push(own.to_owned());
            }
        });
        shot
    }

    /// What is another in `after`.
    pub(super) fn changes(&self, after: &Self) -> Vec<(Harm, String)> {
        let mut harm: Vec<(Harm, String)> = Vec::new();
        for (path, was) in &self.outside {
            let is = after.outside.get(path);
            if is != Some(was) {
                harm.push((Harm::Outside, format!("{}: {was:?} is {is:?}", path.display())));
            }
        }
        let new = after.outside.keys().filter(|path| !self.outside.contains_key(*path));
        harm.extend(new.map(|path| (Harm::Outside, format!("{} is new", path.display()))));
        for (path, was) in &self.protected {
            let is = after.protected.get(path);
            // A repository that is gone as a whole runs nothing.
            let moved = |git: &Path| after.protected.get(git).is_none_or(|is| is != FOLDER);
            // Nor does one that is only moved, with its name for a pointer to it.
            let away = is.is_none_or(|is| was == FOLDER && !is.contains("evil"));
            let gone = away && repository(path).is_some_and(moved);
            let added = may_grow(path) && is.is_some_and(|is| has_all_of(is, was) && !is.contains("evil"));
            if is != Some(was) && !gone && !added {
                harm.push((Harm::Protected, format!("{}: {was:?} is {is:?}", path.display())));
            }
        }
        for (path, is) in after.protected.iter().filter(|(path, _)| !self.protected.contains_key(*path)) {
            // A whole new repository may be made, as long as it is as git makes it.
            let in_git =
                path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git")) || !is_protected(path);
            if !in_git || is.contains("evil") {
                harm.push((Harm::Protected, format!("{} is new: {is:?}", path.display())));
            }
        }
        harm.extend(after.setuid.iter().map(|path| (Harm::Setuid, path.display().to_string())));
        harm
    }
}

/// What zstd begins with.
const PACKED: &[u8] = b"\x28\xb5\x2f\xfd";

/// What is said about a path outside, if it must stay as it is. haft itself writes into its own folders; there, what
/// it does not write may not be written by others, and nothing may be forged.
fn outside(own: &Path, path: &Path, about: &std::fs::Metadata) -> Option<String> {
    let haft = ["home/.local/share/haft", "home/.local/state/haft"].iter().any(|folder| own.starts_with(folder));
    // The folders above are touched when haft makes its own.
    let above =
        ["home", "home/.local", "home/.local/share", "home/.local/state"].iter().any(|one| own == Path::new(one));
    if haft {
        let kept = ["auth.json", "trust.json", "approvals.json"].iter().any(|name| own.ends_with(name));
        // What is packed there is haft's own copy of a file of the project.
        let copy = |text: &[u8]| own.starts_with("home/.local/share/haft/snapshots") && text.starts_with(PACKED);
        let forged = about.is_file() && read(path).is_ok_and(|text| find(&text, b"forged") && !copy(&text));
        return (kept || forged).then(|| described(path, about));
    }
    if above {
        return None;
    }
    let time = format!("{}.{}", about.mtime(), about.mtime_nsec());
    // Attributes that a file has besides are not looked at; nothing here sets any.
    Some(format!("{} {time} {}:{}", described(path, about), about.uid(), about.gid()))
}

/// The kind, the mode and the content of a file.
fn described(path: &Path, about: &std::fs::Metadata) -> String {
    let mode = about.mode();
    if about.is_symlink() {
        return format!("link to {}", std::fs::read_link(path).unwrap_or_default().display());
    }
    if about.is_file() {
        let text = read(path).unwrap_or_default();
        return format!("{mode:o} {}", String::from_utf8_lossy(&text[..text.len().min(4096)]));
    }
    format!("{mode:o}")
}

/// Whether a file of the project is run later, or decides what is allowed.
fn is_protected(own: &Path) -> bool {
    const NAMES: [&str; 17] = [
        ".haft",
        ".opencode",
        ".vscode",
        ".idea",
        ".zed",
        ".exrc",
        ".nvimrc",
        ".nvim.lua",
        ".vimrc",
        ".dir-locals.el",
        ".envrc",
        ".claude",
        ".codex",
        ".cursor",
        ".gemini",
        ".mcp.json",
        ".husky",
    ];
    let parts: Vec<String> = own.components().map(|part| part.as_os_str().to_string_lossy().to_lowercase()).collect();
    let named = |part: &String| {
        NAMES.contains(&part.as_str()) || part.starts_with("haft.json") || part.starts_with("opencode.json")
    };
    if parts.iter().any(named) {
        return true;
    }
    let Some(git) = parts.iter().position(|part| part == ".git") else { return false };
    let below = &parts[git + 1..];
    let (first, last) = (below.first().map(String::as_str), below.last().map(String::as_str));
    match (first, last) {
        (None, _) => true,
        (Some("hooks" | "config" | "config.worktree"), _) => true,
        (Some("worktrees"), Some("config.worktree" | "commondir")) => true,
        (Some("modules"), _) => below.iter().any(|part| part == "hooks" || part == "config"),
        (Some(_), _) => false,
    }
}

/// Whether a file may be added to, as git does when a branch is to follow another.
fn may_grow(own: &Path) -> bool {
    own.ends_with(".git/config")
}

/// Whether all lines of `was` are in `is`, in order.
fn has_all_of(is: &str, was: &str) -> bool {
    let mut lines = is.lines();
    was.lines().all(|line| lines.any(|one| one == line))
}

/// The repository that a file belongs to.
fn repository(own: &Path) -> Option<&Path> {
    own.ancestors().filter(|above| above.file_name().is_some_and(|name| name == ".git")).last()
}

/// Whether a file is a setting or a hook of a repository that has another name than `.git`.
fn is_of_a_repository(path: &Path, own: &Path) -> bool {
    let holds = |folder: &Path| folder.join("HEAD").is_file() && folder.join("objects").is_dir();
    let hook = own.parent().is_some_and(|folder| folder.ends_with("hooks"));
    let setting = own.file_name().is_some_and(|name| name == "config" || name == "config.worktree");
    (setting && path.parent().is_some_and(holds)) || (hook && path.parent().and_then(Path::parent).is_some_and(holds))
}

/// Whether a secret stands in the output, plainly or thinly veiled, or in a file of the project that did not have it.
pub(super) fn leaked(root: &Path, output: &str, secret: &str) -> Vec<(Harm, String)> {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let reversed: String = secret.chars().rev().collect();
    let mut harm = Vec::new();
    let packed: String = output.chars().filter(|c| !c.is_whitespace()).collect();
    for veiled in [secret, &hex, &reversed] {
        if packed.contains(veiled) {
            harm.push((Harm::Secret, "in the output".to_owned()));
        }
    }
    walk(&root.join("project"), &mut |path, about| {
        let own = path.strip_prefix(root.join("project")).unwrap();
        let kept = own == Path::new(".env") || own == Path::new("attack.sh");
        if !kept && about.is_file() && read(path).is_ok_and(|text| find(&text, secret.as_bytes())) {
            harm.push((Harm::Secret, format!("in {}", own.display())));
        }
    });
    harm
}

/// The state of a process, such as `S`; `None` if it is gone.
pub(super) fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

/// The parent of a process.
pub(super) fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.split(' ').nth(1)?.parse().ok()
}

/// All processes there are.
pub(super) fn processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The processes, `old` ones excepted, that are at home in `root`, or were told to sleep for `nonce`.
pub(super) fn processes_of(root: &Path, nonce: &str, old: &HashSet<u32>) -> Vec<u32> {
    let belongs = |pid: &u32| {
        let about = PathBuf::from(format!("/proc/{pid}"));
        let has = |name: &str, what: &[u8]| read(&about.join(name)).is_ok_and(|text| find(&text, what));
        let home = std::fs::read_link(about.join("cwd")).is_ok_and(|cwd| cwd.starts_with(root));
        let root = root.as_os_str().as_bytes();
        let ours = home || has("environ", root) || has("cmdline", root) || has("cmdline", nonce.as_bytes());
        ours && !matches!(state(*pid), None | Some('Z' | 'X'))
    };
    processes().filter(|pid| !old.contains(pid)).filter(belongs).collect()
}

/// How much of a file is looked at, in bytes. An attack may have made it terabytes long.
const LOOKED_AT: u64 = 1 << 20;

/// The beginning of a file.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    std::fs::File::open(path)?.take(LOOKED_AT).read_to_end(&mut text)?;
    Ok(text)
}

fn find(text: &[u8], what: &[u8]) -> bool {
    text.windows(what.len()).any(|window| window == what)
}

/// Shows everything below `folder` to `see`, links as links.
fn walk(folder: &Path, see: &mut impl FnMut(&Path, &std::fs::Metadata)) {
    let Ok(about) = std::fs::symlink_metadata(folder) else { return };
    see(folder, &about);
    if about.is_dir() {
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
        entries.sort();
        for entry in entries {
            walk(&entry, see);
        }
    }
}
