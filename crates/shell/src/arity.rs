//! How much of a command "always" may cover: its name, or its name and the words that say which of its works is meant.

/// How many words name a work of these programs; the longest match counts. Others: one.
const ARITIES: [(usize, &[&str]); 3] = [
    (
        1,
        &[
            "cat", "cd", "chmod", "chown", "cp", "echo", "env", "export", "grep", "kill", "killall", "ln", "ls",
            "mkdir", "mv", "ps", "pwd", "rm", "rmdir", "sleep", "source", "tail", "touch", "unset", "which",
        ],
    ),
    (
        2,
        &[
            "bazel",
            "brew",
            "bun",
            "cargo",
            "cdk",
            "cf",
            "cmake",
            "composer",
            "consul",
            "crictl",
            "deno",
            "docker",
            "eksctl",
            "firebase",
            "flyctl",
            "git",
            "go",
            "gradle",
            "helm",
            "heroku",
            "hugo",
            "ip",
            "kind",
            "kubectl",
            "kustomize",
            "make",
            "mc",
            "minikube",
            "mongosh",
            "mysql",
            "mvn",
            "ng",
            "npm",
            "nvm",
            "nx",
            "openssl",
            "pip",
            "pipenv",
            "pnpm",
            "poetry",
            "podman",
            "psql",
            "pulumi",
            "pyenv",
            "python",
            "rake",
            "rbenv",
            "redis-cli",
            "rustup",
            "serverless",
            "skaffold",
            "sls",
            "sst",
            "swift",
            "systemctl",
            "terraform",
            "tmux",
            "turbo",
            "ufw",
            "vault",
            "vercel",
            "volta",
            "wp",
            "yarn",
        ],
    ),
    (
        3,
        &[
            "aws",
            "az",
            "doctl",
            "gcloud",
            "gh",
            "sfdx",
            "bun run",
            "bun x",
            "cargo add",
            "cargo run",
            "consul kv",
            "deno task",
            "docker builder",
            "docker compose",
            "docker container",
            "docker image",
            "docker network",
            "docker volume",
            "eksctl create",
            "git config",
            "git remote",
            "git stash",
            "ip addr",
            "ip link",
            "ip netns",
            "ip route",
            "kind create",
            "kubectl kustomize",
            "kubectl rollout",
            "mc admin",
            "npm exec",
            "npm init",
            "npm run",
            "npm view",
            "openssl req",
            "openssl x509",
            "pnpm dlx",
            "pnpm exec",
            "pnpm run",
            "podman container",
            "podman image",
            "pulumi stack",
            "terraform workspace",
            "vault auth",
            "vault kv",
            "yarn dlx",
            "yarn run",
        ],
    ),
];

/// Programs that run what their arguments say, whatever it is: no beginning of theirs says anything.
const WRAPPERS: [&str; 56] = [
    "aa-exec",
    "at",
    "batch",
    "bwrap",
    "chpst",
    "fakeroot",
    "gosu",
    "hyperfine",
    "mosh",
    "proot",
    "setpriv",
    "su-exec",
    "xcrun",
    "busybox",
    "builtin",
    "chroot",
    "command",
    "doas",
    "emacs",
    "ed",
    "entr",
    "env",
    "eval",
    "ex",
    "exec",
    "expect",
    "firejail",
    "flock",
    "gdb",
    "ionice",
    "nano",
    "nice",
    "nohup",
    "nsenter",
    "nvim",
    "parallel",
    "pkexec",
    "rsh",
    "runuser",
    "script",
    "setsid",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "time",
    "timeout",
    "toybox",
    "unshare",
    "vi",
    "view",
    "vim",
    "watch",
    "xargs",
];

/// Programs that run the file named first: with that, and without options before it, a beginning says something.
const RUNNERS: [&str; 31] = [
    ".",
    "ash",
    "bash",
    "bunx",
    "csh",
    "dash",
    "fish",
    "gawk",
    "awk",
    "mawk",
    "ksh",
    "lua",
    "node",
    "nodejs",
    "npx",
    "osascript",
    "perl",
    "php",
    "pipx",
    "python",
    "python2",
    "python3",
    "Rscript",
    "ruby",
    "sh",
    "source",
    "tclsh",
    "tcsh",
    "ts-node",
    "uvx",
    "zsh",
];

/// Works that run whatever their arguments say, somewhere or somehow: no beginning of theirs says anything.
const NEVER: [&[&str]; 30] = [
    &["docker", "run"],
    &["docker", "exec"],
    &["docker", "create"],
    &["docker", "compose", "run"],
    &["docker", "compose", "exec"],
    &["docker", "container", "run"],
    &["docker", "container", "exec"],
    &["podman", "run"],
    &["podman", "exec"],
    &["podman", "create"],
    &["podman", "container", "run"],
    &["nerdctl", "run"],
    &["nerdctl", "exec"],
    &["docker-compose", "run"],
    &["docker-compose", "exec"],
    &["kubectl", "exec"],
    &["kubectl", "run"],
    &["kubectl", "debug"],
    &["kubectl", "cp"],
    &["oc", "exec"],
    &["oc", "rsh"],
    &["vagrant", "ssh"],
    &["rails", "runner"],
    &["mvn", "exec:exec"],
    &["mvn", "exec:java"],
    &["npm", "explore"],
    &["rustup", "run"],
    &["cmake", "-E"],
    &["cmake", "-P"],
    &["gcloud", "compute", "ssh"],
];

/// Programs that name their works and do something without one: alone, they may be covered.
const ALONE: [&str; 4] = ["make", "rake", "gradle", "bazel"];

/// Options without a value that may stand before the word that names the work. With others, nothing can be said.
const BEFORE: [(&str, &[&str]); 4] = [
    ("git", &["--no-pager", "-P", "--paginate", "-p", "--bare", "--literal-pathspecs", "--no-optional-locks"]),
    ("make", &["-s", "-k", "-B", "-n", "--silent", "--keep-going", "--always-make", "--dry-run"]),
    ("npm", &["-s", "--silent"]),
    ("cargo", &["-q", "-v", "--quiet", "--verbose", "--locked", "--offline", "--frozen"]),
];

/// The same with a value, which belongs to the beginning then.
const BEFORE_WITH_VALUE: [(&str, &[&str]); 2] = [("git", &["-C"]), ("make", &["-C"])];

/// Options that only make a program tell about itself.
const ABOUT: [&str; 4] = ["--version", "--help", "-V", "-h"];

/// Programs whose options may be part of the beginning: they have no works to name.
const WITHOUT_WORKS: [&str; 6] = ["psql", "mysql", "mongosh", "redis-cli", "openssl", "cmake"];

/// How many of a command's `words` make the beginning that "always" may cover. `None`: there is no safe one.
pub fn prefix(words: &[&str]) -> Option<usize> {
    let name = *words.first()?;
    let base = plain(name);
    if base.is_empty() || is_assignment(name) || WRAPPERS.contains(&base) {
        return None;
    }
    if RUNNERS.contains(&base) {
        return runner(base, words);
    }
    let (count, at) = works(base, words)?;
    Some(count.min(words.len()).max(at))
}

/// The pattern that "always" would allow for a command of these `words`, as written. `None`: there is no safe one.
pub fn always(words: &[&str]) -> Option<String> {
    let count = prefix(words)?;
    let beginning = words.get(..count)?.join(" ");
    // As a pattern, one of these would cover other commands too.
    let is_pattern = beginning.contains(['*', '?', '\\']);
    (!is_pattern).then(|| format!("{beginning} *"))
}

/// The same, and nothing for a beginning that is too wide all the same: a program that names its works without one, and
/// works that run whatever they are given.
pub(crate) fn careful(words: &[&str]) -> Option<String> {
    let base = plain(words.first()?);
    let begins = |rows: &[&[&str]]| {
        rows.iter().any(|row| base == row[0] && words.get(1..).is_some_and(|rest| rest.starts_with(&row[1..])))
    };
    if begins(&NEVER) || (words.len() == 1 && arity(&[base]) > 1 && !ALONE.contains(&base)) {
        return None;
    }
    if begins(&[&["go", "run"], &["deno", "run"]]) {
        let which = words.get(2).filter(|which| !which.starts_with('-') && !which.contains(['*', '?', '\\']))?;
        return Some(format!("{} {} {which} *", words[0], words[1]));
    }
    always(words)
}

/// How many words, for a program that names its works, options before them skipped; and the least of them.
fn works(base: &str, words: &[&str]) -> Option<(usize, usize)> {
    let skip = if WITHOUT_WORKS.contains(&base) { 0 } else { skipped(base, words)? };
    if skip == usize::MAX {
        return Some((2, 2));
    }
    let without: Vec<&str> = std::iter::once(base).chain(words.iter().skip(1 + skip).copied()).collect();
    Some((arity(&without) + skip, 1))
}

/// How many words of options stand before the first work. `usize::MAX`: one that asks about the program itself.
fn skipped(base: &str, words: &[&str]) -> Option<usize> {
    let takes = |table: &[(&str, &[&str])], word: &str| {
        table.iter().any(|(program, options)| *program == base && options.contains(&word))
    };
    if arity(&[base]) < 2 {
        return Some(0);
    }
    let mut skip = 0;
    while let Some(word) = words.get(1 + skip).filter(|word| word.starts_with(['-', '+'])) {
        if ABOUT.contains(word) && skip == 0 {
            return Some(usize::MAX);
        }
        if takes(&BEFORE, word) {
            skip += 1;
        } else if takes(&BEFORE_WITH_VALUE, word) {
            skip += 2;
        } else {
            return None;
        }
    }
    // Options and nothing else would cover every work.
    if skip > 0 && words.len() <= 1 + skip { None } else { Some(skip) }
}

fn arity(words: &[&str]) -> usize {
    let found = |length: usize| {
        let key = words.get(..length)?.join(" ");
        ARITIES.iter().find(|(_, keys)| keys.contains(&key.as_str())).map(|(arity, _)| *arity)
    };
    (1..=words.len().min(2)).rev().find_map(found).unwrap_or(1)
}

/// `python script.py`, `python -m module`, `npx tool`: never less than what is run.
fn runner(base: &str, words: &[&str]) -> Option<usize> {
    match words.get(1..)? {
        ["-m", module, rest @ ..] if base.starts_with("python") && !module.starts_with('-') => match *module {
            "timeit" | "pdb" | "cProfile" | "profile" | "trace" | "code" | "runpy" | "asyncio" => None,
            "pip" | "pip3" | "uv" | "poetry" => rest.first().filter(|work| !work.starts_with('-')).map(|_| 4),
            _ => Some(3),
        },
        ["run", tool, ..] if base == "pipx" => (!tool.starts_with('-')).then_some(3),
        ["run"] if base == "pipx" => None,
        [about] if ABOUT.contains(about) => Some(2),
        [file, ..] if !file.starts_with(['-', '+', '<', '>']) && !file.starts_with("/dev/") => Some(2),
        _ => None,
    }
}

/// A name without quotes and without the folder it is in.
fn plain(name: &str) -> &str {
    let name = name.trim_matches(['\'', '"']);
    name.rsplit('/').next().unwrap_or(name)
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_[]".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, want: impl Into<Option<&'static str>>) {
        let words: Vec<&str> = command.split(' ').collect();
        assert_eq!(always(&words).as_deref(), want.into(), "{command}");
    }

    #[test]
    fn a_work_is_named_by_as_many_words_as_it_takes() {
        check("ls -la", "ls *");
        check("git status --short", "git status *");
        check("git config user.name x", "git config user.name *");
        check("npm run build", "npm run build *");
        check("npm install x", "npm install *");
        check("docker compose up", "docker compose up *");
        check("docker build x", "docker build *");
        check("make", "make *");
        check("unheard of", "unheard *");
        check("./a.sh x", "./a.sh *");
    }

    #[test]
    fn options_before_the_work_do_not_stand_for_it() {
        check("git --no-pager log x", "git --no-pager log *");
        check("git -C /tmp status", "git -C /tmp status *");
        check("git -C /tmp", None);
        check("git -c alias.x=!sh x", None);
        check("git --no-pager", None);
        check("docker --context a run b", None);
        check("cargo +nightly build", None);
        check("cargo --version", "cargo --version *");
        check("python -m pytest x", "python -m pytest *");
        check("psql -c x", "psql -c *");
    }

    #[test]
    fn what_runs_anything_is_never_covered() {
        for command in [
            "sudo ls",
            "/usr/bin/env ls",
            "'bash' -c ls",
            "bash -c ls",
            "bash",
            "sh -s",
            "xargs rm",
            "python -c x",
            "python -",
            "node -e x",
            "npx -y x",
            "eval ls",
            "FOO=1 ls",
            "a[0]=1 ls",
            "command ls",
            "env",
            "vim x",
            "bash /dev/stdin",
            "perl -e x",
            "",
            "pipx run",
            "python -m timeit x",
            "python -m pip",
            "ssh h",
            "watch ls",
            "parallel ls",
            "a* b",
            "a? b",
        ] {
            check(command, None);
        }
        check("bash x.sh y", "bash x.sh *");
        check("python x.py", "python x.py *");
        check("npx cowsay hi", "npx cowsay *");
        check("pipx run cowsay hi", "pipx run cowsay *");
        check("python -m pip install x", "python -m pip install *");
        check("npm run build", "npm run build *");
        check("node app.js", "node app.js *");
    }

    #[test]
    fn what_is_offered_is_never_a_whole_program_with_works() {
        let careful = |command: &str| careful(&command.split(' ').collect::<Vec<_>>());
        for command in [
            "git",
            "docker",
            "npm",
            "docker run x",
            "docker exec c sh",
            "docker compose exec c sh",
            "kubectl exec p -- sh",
            "rustup run nightly sh",
            "cmake -E env sh",
            "go run",
            "deno run -A x",
            "go run *",
        ] {
            assert_eq!(careful(command), None, "{command}");
        }
        assert_eq!(careful("go run ./x y").as_deref(), Some("go run ./x *"));
        assert_eq!(careful("make").as_deref(), Some("make *"));
        assert_eq!(careful("git status").as_deref(), Some("git status *"));
    }

    #[test]
    fn the_table_names_nothing_twice() {
        let all: Vec<&str> = ARITIES.iter().flat_map(|(_, keys)| keys.iter().copied()).collect();
        for (at, key) in all.iter().enumerate() {
            assert!(!all[at + 1..].contains(key), "{key}");
        }
    }
}
