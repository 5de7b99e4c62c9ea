//! What no command can read: keys, and what other programs keep to themselves.

use std::path::{Path, PathBuf};

use rustix::process::geteuid;

/// Below a home.
const AT_HOME: &[&str] = &[
    // Keys and tokens of programs for other machines.
    ".ssh",
    ".gnupg",
    ".pki",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/doctl",
    ".config/hcloud",
    ".config/rclone",
    ".kube",
    ".docker/config.json",
    ".config/containers/auth.json",
    ".oci",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".fly",
    ".netlify",
    ".vercel",
    ".config/netlify",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".s3cfg",
    ".boto",
    // Those of registries of packages.
    ".npmrc",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".config/uv/credentials",
    ".local/share/uv/credentials",
    // Passwords, browsers, mail.
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".config/keepassxc",
    ".config/Bitwarden",
    ".config/1Password",
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/opera",
    ".config/vivaldi",
    ".var/app",
    "snap",
    "Library/Keychains",
    "Library/Cookies",
    "Library/Mail",
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/Firefox",
    // Other agents, and settings that may hold keys of ours.
    ".config/haft",
    ".config/opencode",
    ".local/share/opencode",
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".config/github-copilot",
    ".copilot",
    ".aider.conf.yml",
    ".continue",
    ".config/goose",
    ".qwen",
    // What was typed.
    ".bash_history",
    ".zsh_history",
    ".histfile",
    ".local/share/fish/fish_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".lesshst",
];
/// The system's own.
const SYSTEM: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/security/opasswd",
    "/etc/ssl/private",
    "/etc/krb5.keytab",
    "/etc/wireguard",
    "/etc/NetworkManager/system-connections",
    "/etc/kubernetes",
    "/etc/rancher",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/var/lib/kubelet",
    "/var/spool/cron",
    "/var/mail",
    "/var/run/secrets",
    "/run/secrets",
    "/proc/kcore",
    "/proc/kmem",
];
/// Names in `/etc/ssh` of the machine's own keys end with this.
const HOST_KEY: &str = "_key";
/// Where homes are.
const HOMES: [&str; 2] = ["/home", "/Users"];
/// The home of the superuser.
const ROOT: &str = "/root";
/// The list of users.
const PASSWD: &str = "/etc/passwd";
/// Most homes, and most keys of the machine, that are looked for.
const MOST: usize = 1_000;

/// What a user whose home is `home` hides from commands. Not everything of it is there.
pub(super) fn of(home: &Path) -> Vec<PathBuf> {
    let homes = homes(home);
    let others = HOMES.into_iter().flat_map(inside).chain([PathBuf::from(ROOT)]);
    let others = others.filter(|other| homes.iter().all(|home| is_others(other, home)));
    secrets_of(&homes).chain(others).collect()
}

/// Keys, and what other programs keep to themselves, of a user whose home is `home`: what is hidden from commands without
/// the homes of other users. Not everything of it is there. Looks at the disk.
pub fn secrets(home: &Path) -> Vec<PathBuf> {
    secrets_of(&homes(home)).collect()
}

/// `home`, and the one that the system's list names: who runs this under another home has two.
fn homes(home: &Path) -> Vec<PathBuf> {
    let named = std::fs::read_to_string(PASSWD).ok().and_then(|text| home_of(&text, geteuid().as_raw()));
    [Some(home.to_owned()), named].into_iter().flatten().collect()
}

fn secrets_of(homes: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    let own = homes.iter().flat_map(|home| AT_HOME.iter().map(|name| home.join(name)));
    let system = SYSTEM.iter().map(PathBuf::from);
    let keys = inside("/etc/ssh").filter(|path| path.to_string_lossy().ends_with(HOST_KEY));
    own.chain(system).chain(keys)
}

/// The home of the user with this number, as the system's list `passwd` has it.
fn home_of(passwd: &str, user: u32) -> Option<PathBuf> {
    let line = passwd.lines().find(|line| line.split(':').nth(2).is_some_and(|number| number == user.to_string()))?;
    line.split(':').nth(5).map(PathBuf::from).filter(|home| home.is_absolute() && home.parent().is_some())
}

/// Whether `other` is the home of somebody else than who lives in `home`.
fn is_others(other: &Path, home: &Path) -> bool {
    !home.starts_with(other) && !other.starts_with(home)
}

fn inside(folder: &str) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().take(MOST).filter_map(|entry| Some(entry.ok()?.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden() {
        let hidden = of(Path::new("/home/u"));
        for path in ["/home/u/.ssh", "/home/u/.aws", "/home/u/.config/gh", "/etc/shadow"] {
            assert!(hidden.contains(&PathBuf::from(path)), "{path}");
        }
        assert!(hidden.iter().all(|path| path.is_absolute()));
    }

    #[test]
    fn the_systems_list_names_a_second_home() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\nu:x:1000:1000:U,,,:/data/u:/bin/sh\nno:x:1:1::/:/bin/false\nx\n";
        let row = |user: u32, want: Option<&str>| assert_eq!(home_of(passwd, user), want.map(PathBuf::from), "{user}");
        row(0, Some("/root"));
        row(1000, Some("/data/u"));
        row(1, None);
        row(100, None);
    }

    #[test]
    fn ones_own_home_is_not() {
        for home in ["/root", "/home/u", "/home/u/deep"] {
            let hidden = of(Path::new(home));
            assert!(!hidden.iter().any(|hidden| Path::new(home).starts_with(hidden)), "{home}");
        }
        assert!(is_others(Path::new("/root"), Path::new("/home/u")));
        assert!(!is_others(Path::new("/home/u"), Path::new("/home/u")));
        // Who lives at the top of it all hides nobody.
        assert!(!is_others(Path::new("/home/u"), Path::new("/home")));
    }
}
