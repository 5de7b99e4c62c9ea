//! Rules of the house: who may depend on whom, and who may write to the terminal.

use std::collections::BTreeMap;
use std::path::Path;

use cargo_metadata::{DependencyKind, MetadataCommand};

/// What each crate may use, as in ARCHITECTURE.md. Dependencies point down; what is not listed is not allowed.
const MAY_USE: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("shell", &[]),
    ("permission", &["protocol"]),
    ("net", &[]),
    ("vault", &[]),
    ("config", &["permission", "vault"]),
    ("sandbox", &[]),
    ("project", &["permission", "sandbox"]),
    ("snapshot", &[]),
    ("llm", &["net", "vault"]),
    ("store", &["protocol"]),
    ("tool", &["protocol", "permission"]),
    ("toolbox", &["protocol", "tool", "permission", "project", "shell", "net"]),
    ("mcp", &["protocol", "tool", "permission", "project", "net", "vault"]),
    ("script", &["protocol", "tool", "permission", "project", "net"]),
    ("hook", &["protocol", "tool", "permission", "project"]),
    ("package", &["net"]),
    ("session", &["protocol", "permission", "llm", "store", "snapshot", "tool", "project"]),
    (
        "cli",
        &[
            "protocol",
            "permission",
            "shell",
            "net",
            "config",
            "sandbox",
            "project",
            "snapshot",
            "llm",
            "store",
            "tool",
            "toolbox",
            "mcp",
            "script",
            "hook",
            "package",
            "session",
            "vault",
        ],
    ),
    ("conformance", &["protocol", "permission", "shell", "config", "project", "tool", "toolbox", "session"]),
    (
        "bench",
        &[
            "llm",
            "permission",
            "project",
            "protocol",
            "sandbox",
            "session",
            "shell",
            "snapshot",
            "store",
            "tool",
            "toolbox",
        ],
    ),
];

#[test]
fn dependencies_point_down() {
    let metadata = MetadataCommand::new().no_deps().exec().unwrap();
    let allowed: BTreeMap<&str, &[&str]> = MAY_USE.iter().copied().collect();
    let mut seen = Vec::new();
    for package in &metadata.packages {
        let name = package.name.strip_prefix("haft-").expect("packages are called haft-*");
        seen.push(name.to_owned());
        let may_use = allowed.get(name).unwrap_or_else(|| panic!("{name} is not in the table of ARCHITECTURE.md"));
        for dependency in package.dependencies.iter().filter(|one| one.kind == DependencyKind::Normal) {
            let Some(used) = dependency.name.strip_prefix("haft-") else { continue };
            assert!(may_use.contains(&used), "{name} uses {used}, which the table does not allow");
        }
    }
    seen.sort();
    let mut listed: Vec<&str> = allowed.keys().copied().collect();
    listed.sort_unstable();
    assert_eq!(seen, listed, "the table and the workspace name different crates");
}

#[test]
fn the_table_is_the_one_that_is_documented() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../ARCHITECTURE.md")).unwrap();
    for (name, may_use) in MAY_USE {
        let row = text
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}` |")))
            .unwrap_or_else(|| panic!("ARCHITECTURE.md has no row for {name}"));
        let cell = row.trim_end_matches('|').rsplit('|').next().unwrap().trim();
        let mut documented: Vec<&str> =
            cell.split(", ").map(|used| used.trim_matches('`')).filter(|used| *used != "–").collect();
        let mut wanted = may_use.to_vec();
        documented.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(documented, wanted, "the row of {name} in ARCHITECTURE.md");
    }
}

#[test]
fn one_file_writes_to_the_terminal() {
    let mut folders = vec![Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).to_path_buf()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    assert!(files.len() > 50, "the sources are where they were");
    for path in files.iter().filter(|path| !path.ends_with("render/screen.rs")) {
        let text = std::fs::read_to_string(path).unwrap();
        for door in [
            "stdout()",
            "stderr()",
            "Stdout",
            "Stderr",
            "print!(",
            "println!(",
            "/dev/stdout",
            "/dev/stderr",
            "/dev/fd",
        ] {
            // Text that is shown, as code of somebody else, is in the tests of those who show it.
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let tests = path.file_name().is_some_and(|name| name == "tests.rs");
            let named = code.matches(door).count();
            // clap says which of the two it means.
            let allowed = door == "stderr()" && code.matches("use_stderr()").count() == named;
            assert!(
                tests || allowed || named == 0,
                "{} names {door}; everything that is shown goes through render::screen",
                path.display()
            );
        }
    }
}
