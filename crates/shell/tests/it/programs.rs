//! What single programs write, where they go on the network, and what they run.

use crate::look;

/// `(command, what it writes in the project or outside)`.
#[test]
fn what_programs_write_is_told() {
    let rows: &[(&str, &[&str])] = &[
        ("gofmt -w a.go", &["a.go"]),
        ("gofmt a.go", &[]),
        ("prettier --write src", &["src"]),
        ("black a.py", &["a.py"]),
        ("black --check a.py", &[]),
        ("ruff format a.py", &["a.py"]),
        ("eslint --fix src", &["src"]),
        ("eslint src", &[]),
        ("clang-format -i a.c", &["a.c"]),
        ("awk -i inplace '{print}' f", &["f"]),
        ("perl -pi -e s/a/b/ f", &["f"]),
        ("sqlite3 /opt/a.db 'select 1'", &["/opt/a.db"]),
        ("openssl req -keyout /opt/k -out c", &["/opt/k", "c"]),
        ("ssh-keygen -t ed25519 -f /opt/k", &["/opt/k", "/opt/k.pub"]),
        ("ssh-keygen -lf /opt/k", &[]),
        ("split -b 1m f /opt/p", &["/opt/p"]),
        ("shuf -o /opt/x f", &["/opt/x"]),
        ("zip -r /opt/a.zip src", &["/opt/a.zip"]),
        ("gunzip -c f.gz", &[]),
        ("gzip f", &["f"]),
        ("unzip -l a.zip", &[]),
        ("curl -O https://h.x/dir/f.tgz", &["f.tgz"]),
        ("curl -sSo /opt/f https://h.x", &["/opt/f"]),
        ("wget -P /opt https://h.x/f", &["/opt", "/opt/f"]),
        ("wget -O- https://h.x/f", &[]),
        ("make -C /opt all", &["/opt"]),
        ("cargo build --target-dir=/opt/t", &["/opt/t"]),
        ("npm --prefix /opt run x", &["/opt"]),
        ("gcc -o/opt/x a.c", &["/opt/x"]),
        ("go build -o /opt/x", &["/opt/x"]),
        ("ffmpeg -i a /opt/b.mp4", &["/opt/b.mp4"]),
        ("git checkout -- a b", &["a", "b"]),
        ("git checkout main", &[]),
        ("git restore -s HEAD a", &["a"]),
        ("git clean -fd", &[""]),
        ("git clone https://h.x/a/b.git", &["b"]),
        ("git -C /opt commit -m x", &["/opt"]),
        ("git -C /opt log", &[]),
        ("git worktree add w", &["w"]),
        ("patch -p1 -i p.diff -o out", &["out"]),
        ("rsync -a a/ h:/b", &[]),
        ("rsync -a h:/b c", &["c"]),
        ("strace -o /opt/x ls", &["/opt/x"]),
        ("flock lock rm x", &["lock", "x"]),
        ("rm {fd}> out x", &["out", "x"]),
    ];
    for (command, want) in rows {
        let found = look(command);
        let mut writes: Vec<String> = found
            .writes()
            .iter()
            .map(|path| path.strip_prefix(crate::PROJECT).unwrap_or(path).display().to_string())
            .collect();
        writes.sort();
        let mut want: Vec<String> = want.iter().map(|path| (*path).to_owned()).collect();
        want.sort();
        assert_eq!(writes, want, "{command} {:?}", found.unknown);
    }
}

/// `(command, the machines)`.
#[test]
fn the_network_is_seen_with_its_machines() {
    let rows: &[(&str, &[&str])] = &[
        ("curl -s https://example.com/x | jq .a", &["example.com"]),
        ("curl -sL example.com/x", &["example.com"]),
        ("curl --resolve a.b:443:6.6.6.6 https://a.b", &[]),
        ("curl $X", &[]),
        ("wget https://u:p@example.com:8/f", &["example.com"]),
        ("git clone git@github.com:a/b", &["github.com"]),
        ("git -C src push origin main:dev", &[]),
        ("git fetch https://example.com/a", &["example.com"]),
        ("git clone ssh://git@h.x/a", &["h.x"]),
        ("ssh -p 22 u@h.x ls", &["h.x"]),
        ("scp a u@h.x:b", &["h.x"]),
        ("rsync -a a h.x:b", &["h.x"]),
        ("psql -h localhost -c 'select 1'", &["localhost"]),
        ("redis-cli -h h.x ping", &["h.x"]),
        ("ping -c 1 h.x", &["h.x"]),
        ("nc -l 80", &[]),
        ("dig @h.x a.b", &["h.x"]),
        ("echo x > /dev/tcp/h.x/80", &["h.x"]),
        ("bash -c 'curl https://a.b'", &["a.b"]),
        ("timeout 5 env A=1 curl https://a.b", &["a.b"]),
        ("strace curl https://a.b", &["a.b"]),
        ("find . -exec curl https://a.b \\;", &["a.b"]),
        ("npm ci", &[]),
        ("npx cowsay", &[]),
        ("pnpm dlx x", &[]),
        ("python3 -m pip install x", &[]),
        ("python -m http.server", &[]),
        ("pip install x", &[]),
        ("cargo install x", &[]),
        ("go install a.b/c@latest", &[]),
        ("docker ps", &[]),
        ("kubectl get pods", &[]),
        ("gh pr view", &[]),
        ("git submodule update --init", &[]),
        ("yarn", &[]),
        ("openssl s_client -connect h.x:443", &["h.x"]),
        ("dbus-send --session --dest=a.b /a a.b.c", &[]),
        ("logger -n h.x hi", &[]),
        ("logger -t tag --server=h.x hi", &[]),
    ];
    for (command, hosts) in rows {
        let found = look(command);
        assert!(found.network, "{command}");
        assert_eq!(found.hosts, *hosts, "{command}");
    }
    for command in [
        "git status",
        "git clone ../a b",
        "git log origin/main",
        "docker --version",
        "curl --version",
        "gh --version",
        "npm run build",
        "npm test",
        "npm run install-all",
        "go build ./...",
        "go install ./...",
        "cargo build",
        "cargo test update",
        "pip list",
        "uv pip list",
        "python -m venv v",
        "python -m pytest",
        "rsync -a a b",
        "kubectl config view",
        "echo https://example.com",
        "node app.js",
        "openssl x509 -in c -text",
        "logger -t nn hi",
        "logger -tnn --socket-errors hi",
    ] {
        assert!(!look(command).network, "{command}");
    }
}

/// What runs something shows it as a command, also where the rest of it cannot be told.
#[test]
fn what_programs_run_is_told() {
    for command in [
        "strace -f rm -rf x",
        "ltrace rm -rf x",
        "taskset -c 0 rm -rf x",
        "chrt -f 1 rm -rf x",
        "xvfb-run -a rm -rf x",
        "unbuffer rm -rf x",
        "parallel -j4 rm -rf ::: x",
        "chroot / rm -rf x",
        "unshare -r rm -rf x",
        "nsenter -t 1 -m rm -rf x",
        "systemd-run --user rm -rf x",
        "gdb --args rm -rf x",
        "ls | entr rm -rf x",
        "flock -n l rm -rf x",
        "flock l -c 'rm -rf x'",
        "script -qc 'rm -rf x' log",
        "sg g -c 'rm -rf x'",
        "nix-shell --run 'rm -rf x'",
        "watch -n1 rm -rf x",
        "ssh h 'rm -rf x'",
        "docker exec -it c rm -rf x",
        "docker run --rm -v /:/h i rm -rf x",
        "kubectl exec p -- rm -rf x",
        "rustup run nightly rm -rf x",
        "conda run rm -rf x",
        "pkexec rm -rf x",
        "{fd}> f rm -rf x",
    ] {
        let found = look(command);
        let shown = found.commands.iter().any(|one| one.words.starts_with(&["rm".to_owned(), "-rf".to_owned()]));
        assert!(shown, "{command}: {:?}", found.commands);
    }
}

#[test]
fn what_bash_reads_twice_or_otherwise_is_unknown() {
    for command in [
        // Words behind this sign are expanded again.
        "ls >& '$(rm -rf x)'",
        "ls >& \\'a",
        // The sign ends behind the dash.
        "ls >&-rf x",
        // `$xa $xb`
        "x=/etc; cat $x{a,b}",
        "cat a<(ls)b",
        // A shell that knows no such quotes.
        "sh -c 'cat $'\\''\\x2fetc'\\'",
    ] {
        assert!(!look(command).is_known(), "{command}");
    }
    assert_eq!(look("dd of=~/x").writes(), [std::path::Path::new("/home/u/x")]);
    assert_eq!(look("rm {~/x,y}").writes()[0], std::path::Path::new("/home/u/x"));
    let found = look("seq {a,b}{1,2} {,x}");
    assert_eq!(found.commands[0].words, ["seq", "a1", "a2", "b1", "b2", "x"]);
}

#[test]
fn broken_is_told_from_unknown() {
    for command in ["echo 'x", "echo $(x", "(a", "if a; then b", "eval 'a ('", "a | | b"] {
        assert!(look(command).broken, "{command}");
    }
    for command in ["ls", "cat $x", "python -c x", "eval \"$x\"", "coproc ls"] {
        assert!(!look(command).broken, "{command}");
    }
}

#[test]
fn so_many_machines_are_listed_and_no_more() {
    let urls: String = (0..100).map(|at| format!(" https://h{at}.x/")).collect();
    assert_eq!(look(&format!("curl{urls}")).hosts.len(), 64);
}
