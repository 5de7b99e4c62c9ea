//! The files of a project: what the user does to them, and trying things on a copy.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::support::{Machine, wait_until};

/// Files with what is in them, by their path below the project.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// What only the user writes.
pub(crate) const OWN: [&str; 3] = ["notes.txt", "own/deep/ideas.md", "own.bin"];
/// What the user's lines in a file begin with that commands write too.
pub(crate) const BY_USER: &str = "the user was here ";
/// What haft itself keeps changing, so that a copy needs its own.
const KEPT: [&str; 3] = ["project", "data", "state"];

/// What is in the project now, without what was being written beside its place when haft was killed: nobody takes it for the
/// file.
pub(crate) fn files(machine: &Machine) -> Files {
    let mut files = all_files(machine);
    files.retain(|name, _| !is_passing(name));
    files
}

/// What is there now, with what was half written.
pub(crate) fn all_files(machine: &Machine) -> Files {
    let mut files = Files::new();
    read(&machine.project(), "", &mut files);
    files
}

fn is_passing(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or_default();
    name.starts_with(".haft-") && name.ends_with(".tmp")
}

fn read(folder: &Path, below: &str, files: &mut Files) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}{}", entry.file_name().to_str().unwrap());
        match entry.file_type().unwrap().is_dir() {
            true => read(&entry.path(), &format!("{name}/"), files),
            false => drop(files.insert(name, std::fs::read(entry.path()).unwrap())),
        }
    }
}

/// The user works for the N-th time: on one file of their own, and at the end of one that commands write too.
pub(crate) fn work(machine: &Machine, number: u64) {
    let own = OWN[usize::try_from(number).unwrap() % OWN.len()];
    machine.write(own, &format!("the user's own, for the {number}. time\n"));
    let log = std::fs::read_to_string(machine.project().join("log.txt")).unwrap_or_default();
    machine.write("log.txt", &format!("{log}{BY_USER}{number}\n"));
}

/// Where `now` and `then` differ.
pub(crate) fn differences(now: &Files, then: &Files) -> Vec<String> {
    let shown = |bytes: Option<&Vec<u8>>| {
        bytes.map_or("nothing".to_owned(), |bytes| {
            let end = bytes.len().saturating_sub(80);
            format!("{} bytes that end {:?}", bytes.len(), String::from_utf8_lossy(&bytes[end..]))
        })
    };
    let names: std::collections::BTreeSet<&String> = now.keys().chain(then.keys()).collect();
    let different = names.into_iter().filter(|name| now.get(*name) != then.get(*name));
    different.map(|name| format!("{name}: {} and not {}", shown(now.get(name)), shown(then.get(name)))).collect()
}

/// Waits until nothing works in the project any more: what a killed haft had begun ends a moment after it.
pub(crate) fn wait_until_quiet(machine: &Machine) {
    let project = machine.project();
    let works_there = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.is_ok_and(|entry| std::fs::read_link(entry.path().join("cwd")).is_ok_and(|at| at.starts_with(&project)))
    };
    wait_until("the end of what haft began", || !std::fs::read_dir("/proc").unwrap().any(works_there));
}

/// Does `try_it` with a copy of the project and of all that haft keeps in the places of both, and puts the originals back.
pub(crate) fn in_copy<T>(machine: &Machine, try_it: impl FnOnce() -> T) -> T {
    let (root, aside) = (machine.root(), machine.root().join("aside"));
    std::fs::create_dir(&aside).unwrap();
    let kept: Vec<&str> = KEPT.into_iter().filter(|name| root.join(name).exists()).collect();
    for name in &kept {
        std::fs::rename(root.join(name), aside.join(name)).unwrap();
    }
    let mut copy = Command::new("cp");
    copy.arg("-a").args(kept.iter().map(|name| aside.join(name))).arg(&root);
    assert!(copy.status().unwrap().success(), "{copy:?}");
    let tried = try_it();
    for name in KEPT {
        // It may never have been there.
        let _ = std::fs::remove_dir_all(root.join(name));
    }
    for name in kept {
        std::fs::rename(aside.join(name), root.join(name)).unwrap();
    }
    std::fs::remove_dir(aside).unwrap();
    tried
}
