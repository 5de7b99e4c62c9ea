//! Variables: which are dangerous to set, and which have a value that is known.

use std::collections::{HashMap, HashSet};

use crate::text::Text;

/// Names and beginnings of names (those with a star) of variables that make other programs run or load something.
const DANGEROUS: &[&str] = &[
    "PATH",
    "path",
    "fpath",
    "FPATH",
    "cdpath",
    "CDPATH",
    "module_path",
    "IFS",
    "ENV",
    "BASH*",
    "ZDOTDIR",
    "SHELL",
    "SHELLOPTS",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "PROMPT*",
    "HOME",
    "PWD",
    "OLDPWD",
    "FUNCNEST",
    "EXECIGNORE",
    "GLOBIGNORE",
    "LD_*",
    "DYLD_*",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "LOCPATH",
    "NLSPATH",
    "HOSTALIASES",
    "RES_OPTIONS",
    "TERMINFO*",
    "GIT_*",
    "SSH_*",
    "SUDO_*",
    "GPG*",
    "GNUPGHOME",
    "XDG_*",
    "EDITOR",
    "VISUAL",
    "FCEDIT",
    "PAGER",
    "MANPAGER",
    "MANOPT",
    "BROWSER",
    "LESS*",
    "MORE",
    "MOST*",
    "LYNX*",
    "RSYNC_*",
    "CVS_RSH",
    "SVN_*",
    "HG*",
    "TAR_OPTIONS",
    "TAPE",
    "GZIP",
    "XZ_*",
    "ZIPOPT",
    "UNZIP",
    "GREP_OPTIONS",
    "CURL_*",
    "WGETRC",
    "NETRC",
    "http_proxy",
    "https_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "all_proxy",
    "PYTHON*",
    "PIP_*",
    "UV_*",
    "VIRTUAL_ENV",
    "PERL*",
    "RUBY*",
    "GEM_*",
    "BUNDLE_*",
    "RAKE*",
    "NODE_*",
    "NPM_*",
    "npm_*",
    "YARN_*",
    "BUN_*",
    "DENO_*",
    "COREPACK_*",
    "JAVA*",
    "JDK_*",
    "_JAVA_OPTIONS",
    "MAVEN_*",
    "GRADLE_*",
    "ANT_*",
    "LUA_*",
    "PHP*",
    "R_*",
    "JULIA_*",
    "GHC*",
    "ERL_*",
    "ELIXIR_*",
    "CARGO*",
    "RUST*",
    "GO*",
    "CGO_*",
    "CC",
    "CXX",
    "CPP",
    "LD",
    "AR",
    "AS",
    "FC",
    "MAKE*",
    "GNUMAKEFLAGS",
    "MFLAGS",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "CMAKE_*",
    "NINJA*",
    "CCACHE*",
    "PKG_CONFIG*",
    "ACLOCAL*",
    "DOCKER_*",
    "KUBECONFIG",
    "KUBE_EDITOR",
    "AWS_*",
    "TF_*",
    "VAULT_*",
    "ANSIBLE_*",
    "FZF_*",
    "RIPGREP_*",
    "BAT_*",
    "DIRENV_*",
    "SYSTEMD_*",
    "DBUS_*",
    "TMUX*",
    "SCREENRC",
    "INPUTRC",
    "TIMEFMT",
    "NULLCMD",
    "READNULLCMD",
    "POSIXLY_CORRECT",
    "OPENSSL_*",
    "VIM*",
    "MYVIMRC",
    "EXINIT",
    "EMACS*",
    "WINE*",
    "OPENCODE_*",
    "HAFT_*",
];

/// Of those, some that are often set and only change how much is said.
const HARMLESS: &[&str] =
    &["NODE_ENV", "NODE_NO_WARNINGS", "RUST_LOG", "RUST_BACKTRACE", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"];

/// Whether setting the variable `name` may change what other commands do.
pub(crate) fn is_dangerous(name: &str) -> bool {
    let matches = |row: &&str| row.strip_suffix('*').map_or(*row == name, |begin| name.starts_with(begin));
    DANGEROUS.iter().any(matches) && !HARMLESS.contains(&name)
}

/// Variables that a shell sets by itself, or that keep their value when they are set.
fn is_the_shells(name: &str) -> bool {
    const NAMES: [&str; 24] = [
        "_",
        "REPLY",
        "MAPFILE",
        "OPTARG",
        "OPTIND",
        "RANDOM",
        "SRANDOM",
        "SECONDS",
        "LINENO",
        "DIRSTACK",
        "GROUPS",
        "UID",
        "EUID",
        "GID",
        "EGID",
        "PPID",
        "SHLVL",
        "FUNCNAME",
        "PIPESTATUS",
        "COPROC",
        "argv",
        "status",
        "pipestatus",
        "dirstack",
    ];
    NAMES.contains(&name) || name.starts_with("EPOCH") || name.starts_with("COMP_") || name.starts_with("HIST")
}

/// What one shell knows of its variables. A guess is used at once and must hold when the whole text is read.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    /// Set once, unconditionally, to these words.
    constants: HashMap<String, Vec<Text>>,
    /// Set by the loops around the place that is looked at, innermost last.
    loops: Vec<(String, Option<Vec<Text>>)>,
    /// How often each is set anywhere.
    set: HashMap<String, usize>,
    /// Set to something else than a number.
    not_numbers: HashSet<String>,
    /// Used where a value would be read as an expression, which may run commands.
    calculated: HashSet<String>,
    /// The value was used.
    used: HashSet<String>,
    /// Something may set any variable.
    pub(crate) any_set: bool,
}

impl Variables {
    /// What `name` is now: one of several words. `None`: not known.
    pub(crate) fn get(&mut self, name: &str) -> Option<Vec<Text>> {
        let inner = self.loops.iter().rev().find(|(set, _)| set == name).map(|(_, values)| values.clone());
        let values = inner.unwrap_or_else(|| self.constants.get(name).cloned())?;
        self.used.insert(name.to_owned());
        Some(values)
    }

    /// Notes that `name` is set, perhaps to a `number`.
    pub(crate) fn note(&mut self, name: &str, number: bool) {
        *self.set.entry(name.to_owned()).or_default() += 1;
        if !number {
            self.not_numbers.insert(name.to_owned());
        }
    }

    /// Notes that `name`, noted before, has this value from here on.
    pub(crate) fn constant(&mut self, name: &str, value: Text) {
        if is_the_shells(name) {
            return;
        }
        self.constants.insert(name.to_owned(), vec![value]);
    }

    pub(crate) fn enter_loop(&mut self, name: &str, values: Option<Vec<Text>>) {
        let values = values.filter(|_| !is_the_shells(name));
        self.loops.push((name.to_owned(), values));
    }

    pub(crate) fn leave_loop(&mut self) {
        self.loops.pop();
    }

    pub(crate) fn calculate(&mut self, name: &str) {
        self.calculated.insert(name.to_owned());
    }

    /// The variables whose value was used, and that are not set exactly once.
    pub(crate) fn mistaken(&self) -> Vec<String> {
        let twice = |name: &&String| self.any_set || self.set.get(*name).copied().unwrap_or(0) != 1;
        self.used.iter().filter(twice).cloned().collect()
    }

    /// A variable that is worked out as an expression, and is set to something that is no number.
    pub(crate) fn miscalculated(&self) -> Option<String> {
        let text = |name: &&String| self.any_set || self.not_numbers.contains(*name);
        self.calculated.iter().filter(text).min().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_run_by_is_dangerous() {
        for name in ["PATH", "LD_PRELOAD", "BASH_ENV", "GIT_SSH_COMMAND", "PAGER", "IFS", "NODE_OPTIONS", "CARGO_HOME"]
        {
            assert!(is_dangerous(name), "{name}");
        }
        for name in ["FOO", "CI", "NODE_ENV", "RUST_LOG", "i", "PATHS", "file", "DEBUG", "PORT"] {
            assert!(!is_dangerous(name), "{name}");
        }
    }
}
