//! What is seen to need the network.

use crate::judge::Command;
use crate::text::Arg;

/// Programs that do nothing without it.
const ALWAYS: &[&str] = &[
    "curl",
    "wget",
    "wget2",
    "aria2c",
    "http",
    "https",
    "xh",
    "nc",
    "ncat",
    "netcat",
    "socat",
    "telnet",
    "ftp",
    "sftp",
    "scp",
    "ssh",
    "mosh",
    "ping",
    "ping6",
    "dig",
    "nslookup",
    "host",
    "whois",
    "traceroute",
    "gh",
    "glab",
    "hub",
    "aws",
    "gcloud",
    "az",
    "doctl",
    "flyctl",
    "heroku",
    "vercel",
    "kubectl",
    "npx",
    "bunx",
    "uvx",
    "pipx",
    "rclone",
    "s3cmd",
    "twine",
    "ollama",
    "docker-compose",
];

/// Programs and those of their works that do.
const WORKS: &[(&str, &[&str])] = &[
    ("git", &["clone", "fetch", "pull", "push", "ls-remote", "submodule", "send-email", "svn", "lfs"]),
    (
        "npm",
        &[
            "install", "i", "ci", "add", "update", "publish", "view", "info", "audit", "outdated", "search", "exec",
            "init", "create",
        ],
    ),
    ("pnpm", &["install", "i", "add", "update", "publish", "dlx", "audit", "outdated", "create"]),
    ("yarn", &["install", "add", "upgrade", "publish", "dlx", "audit", "create"]),
    ("bun", &["install", "i", "add", "update", "x", "create", "publish"]),
    ("deno", &["install", "add", "cache", "publish", "upgrade"]),
    ("cargo", &["install", "add", "update", "publish", "search", "login", "fetch", "yank", "vendor"]),
    ("rustup", &["update", "install", "toolchain", "component", "target", "self"]),
    ("pip", &["install", "download", "index", "search"]),
    ("pip3", &["install", "download", "index", "search"]),
    ("uv", &["pip", "add", "sync", "lock", "tool", "python"]),
    ("poetry", &["install", "add", "update", "lock", "publish"]),
    ("pipenv", &["install", "update", "sync", "lock"]),
    ("conda", &["install", "update", "create", "search"]),
    ("gem", &["install", "update", "push", "fetch"]),
    ("bundle", &["install", "update", "add"]),
    ("composer", &["install", "update", "require", "create-project"]),
    ("go", &["get", "install", "mod"]),
    ("docker", &["pull", "push", "login", "build", "run", "search", "compose"]),
    ("podman", &["pull", "push", "login", "build", "run", "search"]),
    ("helm", &["install", "upgrade", "repo", "pull", "push"]),
    ("terraform", &["init", "apply", "plan", "destroy"]),
    ("brew", &["install", "update", "upgrade", "search", "fetch", "tap"]),
    ("apt", &["install", "update", "upgrade", "full-upgrade", "dist-upgrade", "search"]),
    ("apt-get", &["install", "update", "upgrade", "dist-upgrade", "download", "source"]),
    ("dnf", &["install", "update", "upgrade", "search"]),
    ("yum", &["install", "update", "upgrade", "search"]),
    ("apk", &["add", "update", "upgrade", "search"]),
    ("pacman", &["-S", "-Sy", "-Syu"]),
    ("dotnet", &["restore", "add", "publish", "tool"]),
    ("nvm", &["install"]),
    ("pyenv", &["install"]),
];

/// Whether `command` is seen to need the network.
pub(crate) fn is_used(command: Command<'_>) -> bool {
    if ALWAYS.contains(&command.name) {
        return true;
    }
    let works = |name: &str| WORKS.iter().find(|(program, _)| *program == name).map(|(_, works)| *works);
    if let Some(works) = works(command.name) {
        // Options may stand before it, and their values: any word counts.
        return command.args.iter().filter_map(Arg::known).any(|word| works.contains(&word.as_str()));
    }
    // `rsync host:path`
    let far = |word: String| word.split_once(':').is_some_and(|(host, _)| !host.is_empty() && !host.contains('/'));
    command.name == "rsync" && command.args.iter().filter_map(Arg::known).any(far)
}
