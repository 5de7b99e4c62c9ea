//! Rules of the house: who may depend on whom.

use std::collections::BTreeMap;

use cargo_metadata::{DependencyKind, MetadataCommand};

/// What each crate may use, as in ARCHITECTURE.md. Dependencies point down; what is not listed is not allowed.
const MAY_USE: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("shell", &[]),
    ("permission", &["protocol"]),
    ("net", &[]),
    ("config", &["permission"]),
    ("project", &["permission"]),
    ("llm", &["net"]),
    ("store", &["protocol"]),
    ("tool", &["protocol", "permission"]),
    ("toolbox", &["protocol", "tool", "permission", "project", "shell", "net"]),
    ("session", &["protocol", "permission", "llm", "store", "tool", "project"]),
    (
        "cli",
        &["protocol", "permission", "shell", "net", "config", "project", "llm", "store", "tool", "toolbox", "session"],
    ),
    ("conformance", &["protocol", "permission", "shell", "config", "project", "tool", "toolbox", "session"]),
    ("bench", &["llm", "permission", "project", "protocol", "tool", "toolbox"]),
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
