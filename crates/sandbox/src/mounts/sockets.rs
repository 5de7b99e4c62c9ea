//! Sockets of other programs: where they are, so that a cage can hide them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::cage::Cage;

/// Folders that hold the sockets of services, of the desktop and of container engines, among little else.
const RUN: [&str; 2] = ["/run", "/var/run"];
/// What programs need of those all the same, and what is no service's: where names are resolved, where some systems
/// keep their programs, and the disks that were put in.
const NEEDED: [&str; 11] = [
    "/run/systemd/resolve/resolv.conf",
    "/run/systemd/resolve/stub-resolv.conf",
    "/run/NetworkManager/resolv.conf",
    "/run/NetworkManager/no-stub-resolv.conf",
    "/run/resolvconf/resolv.conf",
    "/run/connman/resolv.conf",
    "/run/current-system",
    "/run/booted-system",
    "/run/opengl-driver",
    "/run/wrappers",
    "/run/media",
];
/// Sockets, and folders of sockets, that are elsewhere.
const ELSEWHERE: [&str; 8] = [
    "/var/lib/lxd/unix.socket",
    "/var/snap/lxd/common/lxd/unix.socket",
    "/var/lib/incus/unix.socket",
    "/var/lib/mysql/mysql.sock",
    "/var/lib/sss/pipes",
    "/var/lib/libvirt/qemu",
    "/var/spool/postfix/public",
    "/var/spool/postfix/private",
];
/// The same, in the home folder.
const AT_HOME: [&str; 13] = [
    ".docker/run",
    ".docker/desktop",
    ".colima",
    ".lima",
    ".orbstack/run",
    ".rd/docker.sock",
    ".local/share/containers/podman/machine",
    ".local/share/libvirt",
    ".gnupg",
    ".1password",
    ".bitwarden-ssh-agent.sock",
    ".cache/keyring",
    ".emacs.d/server",
];
/// Folders of sockets in the folder for temporary files, by how their names begin.
const IN_TEMP: [&str; 14] = [
    ".X11-unix",
    ".ICE-unix",
    ".XIM-unix",
    ".font-unix",
    ".Test-unix",
    "tmux-",
    "ssh-",
    "dbus-",
    "gpg-",
    "keyring-",
    "emacs",
    "vscode-",
    "snap-private-tmp",
    "systemd-private-",
];
/// Most entries of the folder for temporary files that are looked at.
pub(crate) const MAX_ENTRIES: usize = 20_000;

/// What is looked at to find sockets.
#[derive(Debug, Default)]
pub(crate) struct Around {
    /// The variables that the program will have.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// What is in `/tmp`: the name, and whether it is a socket.
    pub(crate) temp: Vec<(OsString, bool)>,
}

/// `cage`, with all sockets of other programs hidden that it does not list. Pure.
pub(crate) fn hide(cage: &Cage, around: &Around) -> Cage {
    let mut cage = cage.clone();
    let home = around.variables.iter().find(|(name, _)| name == "HOME").map(|(_, value)| PathBuf::from(value));
    let home = home.filter(|home| home.is_absolute());
    let found = (RUN.iter().chain(&ELSEWHERE).map(PathBuf::from))
        .chain(home.iter().flat_map(|home| AT_HOME.iter().map(|name| home.join(name))))
        .chain(around.variables.iter().filter_map(|(name, value)| named(name, value)))
        .chain(in_temp(&around.temp));
    let given = |path: &PathBuf| cage.sockets.contains(path) || cage.write.contains(path);
    let found: Vec<PathBuf> = found.filter(|path| !given(path)).collect();
    cage.hidden.extend(found);
    cage.shown.extend(NEEDED.map(PathBuf::from));
    cage
}

/// The socket that a variable names: `/run/user/0/bus`, `unix:path=/run/user/0/bus,guid=1`, `unix:///run/docker.sock`,
/// `/tmp/tmux-0/default,12,0`.
fn named(name: &OsStr, value: &OsStr) -> Option<PathBuf> {
    /// Variables that name a socket, or end so.
    const NAMES: [&str; 14] = [
        "SSH_AUTH_SOCK",
        "_SOCK",
        "_SOCKET",
        "_HOST",
        "_ADDRESS",
        "_IPC_HOOK_CLI",
        "TMUX",
        "NVIM",
        "STY",
        "GPG_AGENT_INFO",
        "WSL_INTEROP",
        "_HOOK",
        "_BUS",
        "_URI",
    ];
    let name = name.to_str()?;
    if !NAMES.iter().any(|ending| name.ends_with(ending)) {
        return None;
    }
    let value = value.as_bytes();
    let value = value.strip_prefix(b"unix:").unwrap_or(value);
    let value = value.strip_prefix(b"path=").unwrap_or(value);
    let value = value.strip_prefix(b"//").unwrap_or(value);
    let end = value.iter().position(|byte| matches!(byte, b',' | b';')).unwrap_or(value.len());
    let path = Path::new(OsStr::from_bytes(&value[..end]));
    // `/` and folders right below it are no sockets, and hiding them would hide everything.
    (path.is_absolute() && path.components().count() > 2).then(|| path.components().collect())
}

fn in_temp(temp: &[(OsString, bool)]) -> impl Iterator<Item = PathBuf> {
    let is_foreign = |name: &OsStr| IN_TEMP.iter().any(|begin| name.as_bytes().starts_with(begin.as_bytes()));
    let found: Vec<PathBuf> = (temp.iter())
        .filter(|(name, is_socket)| *is_socket || is_foreign(name))
        .map(|(name, _)| Path::new("/tmp").join(name))
        .collect();
    found.into_iter()
}

/// Looks around: the variables of this process, and `/tmp`.
#[cfg(target_os = "linux")]
pub(crate) fn look() -> Around {
    use std::os::unix::fs::FileTypeExt;
    let entries = std::fs::read_dir("/tmp").into_iter().flatten().flatten().take(MAX_ENTRIES);
    let temp = entries.map(|entry| (entry.file_name(), entry.file_type().is_ok_and(|kind| kind.is_socket()))).collect();
    // Whatever else a variable names is no socket, and stays.
    let is_socket = |path: PathBuf| std::fs::metadata(path).is_ok_and(|found| found.file_type().is_socket());
    let variables =
        std::env::vars_os().filter(|(name, value)| name == "HOME" || named(name, value).is_some_and(is_socket));
    Around { variables: variables.collect(), temp }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn a_variable_names_a_socket() {
        let row = |name: &str, value: &str, want: Option<&str>| {
            assert_eq!(named(name.as_ref(), value.as_ref()).as_deref(), want.map(Path::new), "{name}={value}");
        };
        row("SSH_AUTH_SOCK", "/home/u/.x/agent.1", Some("/home/u/.x/agent.1"));
        row("DBUS_SESSION_BUS_ADDRESS", "unix:path=/a/b/bus,guid=00", Some("/a/b/bus"));
        row("DBUS_SESSION_BUS_ADDRESS", "unix:abstract=/tmp/dbus-x", None);
        row("DOCKER_HOST", "unix:///a/docker.sock", Some("/a/docker.sock"));
        row("DOCKER_HOST", "tcp://localhost:1", None);
        row("TMUX", "/opt/tmux/default,12,0", Some("/opt/tmux/default"));
        row("SSH_AUTH_SOCK", "/tmp", None);
        row("SSH_AUTH_SOCK", "/", None);
        row("SSH_AUTH_SOCK", "a/b", None);
        row("HOME", "/home/u", None);
        row("PATH", "/usr/bin", None);
    }

    #[test]
    fn what_the_cage_lists_is_not_hidden() {
        let around = Around {
            variables: variables(&[
                ("HOME", "/home/u"),
                ("SSH_AUTH_SOCK", "/home/u/agent/s"),
                ("X_SOCK", "/home/u/x/s"),
            ]),
            temp: vec![("plain".into(), false), (".s.5432".into(), true), ("tmux-1000".into(), false)],
        };
        let agent = PathBuf::from("/home/u/agent/s");
        let cage = Cage { sockets: vec![agent.clone()], ..Cage::default() };
        let got = hide(&cage, &around);
        let hides = |path: &str| got.hidden.contains(&PathBuf::from(path));
        for path in ["/run", "/var/run", "/home/u/.docker/run", "/home/u/x/s", "/tmp/.s.5432", "/tmp/tmux-1000"] {
            assert!(hides(path), "{path}");
        }
        assert!(!got.hidden.contains(&agent) && !hides("/tmp/plain"), "{:?}", got.hidden);
        assert!(got.shown.contains(&PathBuf::from("/run/current-system")));
        assert!(hide(&Cage::default(), &around).hidden.contains(&agent));
    }
}
