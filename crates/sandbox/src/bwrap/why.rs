//! Why `bwrap` does not work here, in plain words.

use std::fs;

/// What the system says about namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Facts {
    /// `user.max_user_namespaces` is 0.
    no_namespaces: bool,
    /// `kernel.unprivileged_userns_clone` is 0.
    administrators_only: bool,
    /// `kernel.apparmor_restrict_unprivileged_userns` is 1.
    apparmor: bool,
    /// This process runs under a filter of system calls.
    filtered: bool,
}

impl Facts {
    fn here() -> Self {
        let says = |file: &str, word: &str| fs::read_to_string(file).is_ok_and(|text| text.trim() == word);
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        Self {
            no_namespaces: says("/proc/sys/user/max_user_namespaces", "0"),
            administrators_only: says("/proc/sys/kernel/unprivileged_userns_clone", "0"),
            apparmor: says("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
            filtered: status.lines().any(|line| line.split_whitespace().eq(["Seccomp:", "2"])),
        }
    }
}

/// Why `bwrap` failed, from what it said on standard error, as the end of "cannot be used, because ".
pub(crate) fn why_not(said: &str) -> String {
    explain(said, Facts::here())
}

fn explain(said: &str, facts: Facts) -> String {
    // Newer ones say which namespace, older ones only that.
    let is_refused = ["namespace", "uid map", "gid map", "unshare"].iter().any(|word| said.contains(word));
    let why = if said.contains("Unknown option") {
        "bwrap is too old"
    } else if is_refused && facts.no_namespaces {
        "the system allows no user namespaces (user.max_user_namespaces is 0)"
    } else if is_refused && facts.administrators_only {
        "the system allows user namespaces to its administrator alone (kernel.unprivileged_userns_clone is 0)"
    } else if is_refused && facts.apparmor {
        "AppArmor allows user namespaces to chosen programs alone (kernel.apparmor_restrict_unprivileged_userns is 1, \
         and no profile lets bwrap make them)"
    } else if is_refused && facts.filtered {
        "this program runs in a container or service whose filter of system calls refuses namespaces"
    } else if is_refused {
        "the system refuses namespaces"
    } else if said.contains("loopback") {
        "the system refuses to set up a network of the cage's own"
    } else if said.contains("/proc") && said.contains("mount") {
        "the system refuses to mount /proc"
    } else if said.is_empty() {
        "bwrap failed and did not say why"
    } else {
        return said.to_owned();
    };
    if said.is_empty() { why.to_owned() } else { format!("{why}; it said: {said}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_setting_that_would_have_to_change() {
        let none = Facts::default();
        let row = |said: &str, facts: Facts, want: &str| {
            let got = explain(said, facts);
            assert!(got.contains(want) && got.contains(said), "{said}: {got}");
        };
        let refused = "bwrap: No permissions to create new namespace, likely because the kernel does not allow it";
        row(refused, Facts { no_namespaces: true, filtered: true, ..none }, "max_user_namespaces");
        row(refused, Facts { administrators_only: true, ..none }, "unprivileged_userns_clone");
        row("bwrap: setting up uid map: Permission denied", Facts { apparmor: true, ..none }, "AppArmor");
        row(refused, Facts { filtered: true, ..none }, "filter");
        row(refused, none, "the system refuses namespaces");
        row("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", none, "mount /proc");
        row("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", none, "network");
        row("bwrap: Unknown option --perms", none, "too old");
        row("", none, "did not say");
        row("something else", Facts { apparmor: true, ..none }, "something else");
    }
}
