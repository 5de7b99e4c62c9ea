//! The programs that run what stands behind their options, and those options.

/// How the arguments of such a program are told from the command it runs.
pub(crate) struct Wrapper {
    pub(super) names: &'static [&'static str],
    /// Options without a value.
    pub(super) flags: &'static [&'static str],
    /// Options whose value is the next word, or stands behind them.
    pub(super) valued: &'static [&'static str],
    /// How many words stand before the command.
    pub(super) operands: usize,
    /// `NAME=value` may stand before the command.
    pub(super) assignments: bool,
    /// "always" may cover it together with the beginning of what it runs.
    pub(super) always: bool,
    /// The command gets further arguments that are not known.
    pub(super) more: bool,
    /// With these options there is no command.
    pub(super) about: &'static [&'static str],
    /// Options with a value that is a file it writes.
    pub(super) writes: &'static [&'static str],
    /// It does more than run the command, which cannot be told: with other rights, in another root, once for each of
    /// something.
    pub(super) dark: bool,
    /// What it runs is asked for in a shell, as one text.
    pub(super) text: bool,
}

const NONE: Wrapper = Wrapper {
    names: &[],
    flags: &[],
    valued: &[],
    operands: 0,
    assignments: false,
    always: true,
    more: false,
    about: &["--help", "--version"],
    writes: &[],
    dark: false,
    text: false,
};

pub(super) const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: &["env", "genv"],
        flags: &["-i", "-", "-0", "-v", "--ignore-environment", "--null", "--debug"],
        valued: &["-u", "--unset"],
        assignments: true,
        ..NONE
    },
    Wrapper {
        names: &["sudo"],
        flags: &["-E", "-n", "-k", "-H", "-b", "-P", "-S", "--preserve-env", "--non-interactive", "--set-home"],
        valued: &["-u", "-g", "-p", "-h", "-C", "-r", "-t", "-T", "--user", "--group", "--prompt", "--host"],
        assignments: true,
        always: false,
        about: &["--help", "--version", "-V", "-l", "--list", "-v", "--validate", "-K"],
        ..NONE
    },
    Wrapper { names: &["doas"], flags: &["-n", "-L"], valued: &["-u"], always: false, ..NONE },
    Wrapper { names: &["nohup", "busybox", "toybox"], ..NONE },
    // They only choose how it is run.
    Wrapper {
        names: &["chronic", "eatmydata", "catchsegv", "linux32", "linux64", "i386", "x86_64", "unbuffer", "dumb-init"],
        flags: &["-R", "-e", "-v", "-p", "--single-child", "--verbose"],
        ..NONE
    },
    Wrapper {
        names: &["setarch"],
        flags: &["-R", "--addr-no-randomize", "-v", "--verbose", "-3", "--3gb", "-L", "-X", "-Z"],
        operands: 1,
        ..NONE
    },
    Wrapper { names: &["taskset"], flags: &["-a", "-c", "--all-tasks", "--cpu-list"], operands: 1, ..NONE },
    Wrapper {
        names: &["chrt"],
        flags: &["-b", "-f", "-i", "-o", "-r", "-R", "--batch", "--fifo", "--idle", "--other", "--rr"],
        operands: 1,
        ..NONE
    },
    Wrapper {
        names: &["numactl"],
        flags: &["-l", "--localalloc"],
        valued: &["-N", "-C", "-m", "-i", "--cpunodebind", "--physcpubind", "--membind", "--interleave"],
        ..NONE
    },
    Wrapper { names: &["caffeinate"], flags: &["-d", "-i", "-m", "-s", "-u"], valued: &["-t"], ..NONE },
    Wrapper { names: &["tini"], flags: &["-s", "-g", "-v", "-w"], valued: &["-p", "-e"], ..NONE },
    Wrapper { names: &["faketime"], flags: &["-m", "-f"], operands: 1, ..NONE },
    Wrapper {
        names: &["xvfb-run"],
        flags: &["-a", "-l", "--auto-servernum", "--listen-tcp"],
        valued: &["-n", "-s", "-w", "-p", "--server-num", "--server-args", "--wait", "--xauth-protocol"],
        writes: &["-e", "-f", "--error-file", "--auth-file"],
        ..NONE
    },
    Wrapper {
        names: &["dbus-run-session", "dbus-launch"],
        flags: &["--exit-with-session"],
        valued: &["--config-file"],
        ..NONE
    },
    Wrapper {
        names: &["rlwrap"],
        flags: &["-a", "-A", "-c", "-i", "-n", "-r", "-R"],
        valued: &["-b", "-D", "-e", "-f", "-l", "-m", "-O", "-p", "-P", "-q", "-s", "-S", "-t", "-w"],
        writes: &["-H"],
        dark: true,
        ..NONE
    },
    // They look at what it does, or change what it can do.
    Wrapper {
        names: &["strace", "ltrace"],
        flags: &[
            "-c", "-C", "-d", "-f", "-ff", "-F", "-h", "-i", "-k", "-q", "-qq", "-r", "-t", "-tt", "-T", "-v", "-w",
            "-x", "-y", "-yy", "-z", "-Z", "-S", "-n",
        ],
        valued: &["-a", "-b", "-e", "-E", "-I", "-O", "-p", "-P", "-s", "-u", "-X", "-l"],
        writes: &["-o", "--output"],
        dark: true,
        ..NONE
    },
    Wrapper { names: &["valgrind"], flags: &["-v", "-q", "--verbose", "--quiet"], dark: true, ..NONE },
    Wrapper {
        names: &["gdb"],
        flags: &["--args", "-q", "-batch", "--batch", "-nx"],
        valued: &["-ex", "-x"],
        dark: true,
        always: false,
        ..NONE
    },
    Wrapper {
        names: &["chroot"],
        valued: &["--userspec", "--groups"],
        flags: &["--skip-chdir"],
        operands: 1,
        dark: true,
        always: false,
        ..NONE
    },
    Wrapper {
        names: &["unshare", "nsenter"],
        flags: &[
            "-r",
            "-m",
            "-u",
            "-i",
            "-n",
            "-p",
            "-U",
            "-C",
            "-T",
            "-f",
            "-c",
            "-a",
            "-F",
            "--map-root-user",
            "--map-current-user",
            "--mount",
            "--uts",
            "--ipc",
            "--net",
            "--pid",
            "--user",
            "--fork",
            "--all",
            "--mount-proc",
            "--kill-child",
        ],
        valued: &["-t", "-S", "-G", "-R", "-w", "--target", "--setuid", "--setgid", "--root", "--wd"],
        dark: true,
        always: false,
        ..NONE
    },
    Wrapper {
        names: &["systemd-run"],
        flags: &[
            "-t",
            "-P",
            "-q",
            "-G",
            "-d",
            "--user",
            "--system",
            "--scope",
            "--wait",
            "--pty",
            "--pipe",
            "--quiet",
            "--collect",
            "--no-block",
            "--same-dir",
        ],
        valued: &[
            "-u",
            "-p",
            "-E",
            "-M",
            "-H",
            "--unit",
            "--property",
            "--setenv",
            "--slice",
            "--uid",
            "--gid",
            "--working-directory",
            "--on-active",
            "--on-calendar",
        ],
        dark: true,
        always: false,
        ..NONE
    },
    Wrapper {
        names: &["pkexec", "gosu", "su-exec", "setuidgid", "s6-setuidgid", "chpst", "softlimit", "run0"],
        flags: &["--disable-internal-agent"],
        valued: &["--user", "-u"],
        dark: true,
        always: false,
        ..NONE
    },
    Wrapper {
        names: &["setpriv", "runcon", "aa-exec", "prlimit", "cgexec"],
        flags: &["--no-new-privs", "--clear-groups", "--keep-groups", "--init-groups"],
        valued: &["-p", "-u", "-r", "-t", "-l", "-g"],
        dark: true,
        always: false,
        ..NONE
    },
    Wrapper {
        names: &[
            "firejail",
            "proot",
            "fakeroot",
            "fakechroot",
            "proxychains",
            "proxychains4",
            "torsocks",
            "torify",
            "ifne",
            "mispipe",
        ],
        flags: &["-q", "-n", "-0"],
        valued: &["-f", "-i", "-s", "-r", "-b", "-w"],
        dark: true,
        always: false,
        ..NONE
    },
    Wrapper {
        names: &["parallel"],
        flags: &[
            "-0",
            "-k",
            "-m",
            "-q",
            "-t",
            "-v",
            "-X",
            "--bar",
            "--dry-run",
            "--keep-order",
            "--null",
            "--progress",
            "--quote",
            "--verbose",
            "--will-cite",
            "--eta",
            "--lb",
            "--line-buffer",
            "--no-notice",
            "--ungroup",
            "-u",
            "--xargs",
        ],
        valued: &[
            "-a",
            "-d",
            "-I",
            "-j",
            "-n",
            "-N",
            "-L",
            "-S",
            "--jobs",
            "--colsep",
            "--delay",
            "--halt",
            "--timeout",
            "--arg-file",
            "--max-args",
            "--joblog",
            "--retries",
            "--tmpdir",
            "--results",
            "--workdir",
        ],
        dark: true,
        always: false,
        text: true,
        ..NONE
    },
    Wrapper {
        names: &["entr"],
        flags: &["-a", "-c", "-cc", "-d", "-dd", "-n", "-p", "-r", "-rr", "-s", "-x", "-z"],
        dark: true,
        always: false,
        ..NONE
    },
    Wrapper { names: &["setsid"], flags: &["-c", "-f", "-w", "--ctty", "--fork", "--wait"], ..NONE },
    Wrapper {
        names: &["timeout", "gtimeout"],
        flags: &["-v", "-f", "-p", "--preserve-status", "--foreground", "--verbose"],
        valued: &["-k", "-s", "--kill-after", "--signal"],
        operands: 1,
        ..NONE
    },
    Wrapper {
        names: &["time", "gtime"],
        flags: &["-p", "-v", "-q", "-a", "--portability", "--verbose", "--quiet", "--append"],
        valued: &["-f", "--format"],
        writes: &["-o", "--output"],
        ..NONE
    },
    Wrapper { names: &["nice"], valued: &["-n", "--adjustment"], ..NONE },
    Wrapper { names: &["ionice"], flags: &["-t", "--ignore"], valued: &["-c", "-n", "--class", "--classdata"], ..NONE },
    Wrapper { names: &["stdbuf"], valued: &["-i", "-o", "-e", "--input", "--output", "--error"], ..NONE },
    Wrapper { names: &["command"], flags: &["-p"], about: &["-v", "-V", "-pv", "-pV"], ..NONE },
    // All but the first are words of zsh.
    Wrapper { names: &["builtin", "noglob", "nocorrect", "-"], ..NONE },
    Wrapper { names: &["exec"], flags: &["-c", "-l", "-cl"], valued: &["-a"], ..NONE },
    Wrapper {
        names: &["xargs", "gxargs"],
        flags: &["-0", "-r", "-t", "-p", "-x", "-o", "--null", "--no-run-if-empty", "--verbose", "--exit", "-i", "-l"],
        valued: &[
            "-n",
            "-P",
            "-I",
            "-L",
            "-s",
            "-d",
            "-E",
            "--max-args",
            "--max-procs",
            "--replace",
            "--max-lines",
            "--max-chars",
            "--delimiter",
            "--eof",
        ],
        more: true,
        ..NONE
    },
];
