//! What people and models write all day: it must be known, or rules are of no use.

use crate::look;

#[test]
fn everyday_commands_are_known() {
    let all = [
        "ls -la",
        "git status --short",
        "git add -A && git commit -m 'Fix: the (thing)'",
        "git commit -m \"$(cat <<'EOF'\nmsg\n\nit's done\nEOF\n)\"",
        "gh pr create --title \"t\" --body \"$(cat <<'EOF'\n## Summary\n- x\nEOF\n)\"",
        "git diff HEAD~1 -- src | head -n 50",
        "git log --oneline -n 5",
        "git -C src log",
        "git -c core.pager=cat log",
        "git stash push -m \"wip: $(date)\"",
        "cargo test -p foo 2>&1 | tail -n 20",
        "cargo build --release > /dev/null 2>&1 && echo ok",
        "npm ci && npm run build",
        "NODE_ENV=test npm test",
        "RUST_LOG=debug cargo run -- --flag",
        "for f in src/*.rs; do wc -l \"$f\"; done",
        "for i in 1 2 3; do echo $i; done",
        "for i in {1..3}; do touch file$i; done",
        "DIR=build; mkdir -p \"$DIR\" && rm -rf \"$DIR\"/x",
        "cd src && ls",
        "mkdir -p a/b && cd a/b && touch x",
        "if [ -f a ]; then cat a; else echo none; fi",
        "[[ -d src ]] && ls src",
        "test -f a || exit 1",
        "while true; do sleep 1; done",
        "i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done",
        "((count++)); echo $count",
        "echo \"$(git rev-parse HEAD)\"",
        "echo $? $$ $#",
        "printf '%s\\n' a b",
        "grep -rn 'foo(' src --include='*.rs'",
        "grep -c -e \"$x\" file",
        "rg -n 'fn main' -g '*.rs' src",
        "find . -name '*.rs' -not -path './target/*' | head",
        "find src -type f -exec wc -l {} +",
        "sed -n '1,20p' a.txt",
        "sed -i 's/a/b/g' a.txt",
        "awk '{print $1}' a.txt",
        "sort a | uniq -c | sort -rn",
        "cat > f.txt <<'EOF'\n$(not run)\nEOF",
        "cat <<EOF > f.txt\nplain\nEOF",
        "diff <(sort a) <(sort b)",
        "tar -czf a.tgz src",
        "tar xf a.tar -C src",
        "curl -s https://example.com/x | jq .a",
        "python script.py --flag",
        "python -m pytest tests",
        "node app.js",
        "make -j8 test",
        "make build VERSION=1.2",
        "docker compose up -d",
        "timeout 60 cargo test",
        "env FOO=1 npm test",
        "command -v git",
        "set -euo pipefail; ls",
        "export FOO=1; npm test",
        "which node; node --version",
        "kill -9 123",
        "echo 'it''s' | tr a-z A-Z",
        "ls *.rs && cat a{1,2}.txt",
        "f() { echo hi; }; f",
        "(cd src && ls)",
        "chmod +x run.sh && ./run.sh",
        "bash run.sh",
        "bash -c 'ls && pwd'",
        "ls -d */ | xargs -n1 echo",
        "ps aux | grep node",
        "ln -s a b",
        "head -5 a; tail -n +3 b",
        "sleep 1 & wait",
        "trap 'echo bye' EXIT",
        "",
        "# only a comment",
        "\n\n",
    ];
    let all = all.into_iter().map(|command| (command, look(command).unknown));
    let unknown: Vec<_> = all.filter(|(_, why)| !why.is_empty()).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn patterns_are_the_commands_as_written() {
    let patterns = |command: &str, want: &[&str]| assert_eq!(look(command).patterns, want, "{command}");
    patterns(
        "git status && npm run build; echo $(whoami)",
        &["git status", "npm run build", "echo $(whoami)", "whoami"],
    );
    patterns("FOO=1 git commit -m 'x' > out 2>&1", &["FOO=1 git commit -m 'x' > out 2>&1"]);
    patterns("cd src", &[]);
    patterns("cd src && rm x", &["rm x"]);
    patterns("sudo rm x", &["sudo rm x", "rm x"]);
    patterns("bash -c 'a; b'", &["bash -c 'a; b'", "a", "b"]);
    patterns("export A=1; [ -f x ]", &[]);
}

#[test]
fn a_plain_spelling_is_given_beside_another() {
    let spellings = |command: &str, want: &[&str]| assert_eq!(look(command).spellings, want, "{command}");
    spellings("git status", &[]);
    spellings("git  status", &["git status"]);
    spellings("'git' push \"--force\"", &["git push --force"]);
    spellings("X=1 rm y", &["rm y"]);
    spellings("> f rm y", &["rm y"]);
    spellings("/bin/rm y", &["rm y"]);
    spellings("./rm y", &[]);
    spellings("git commit -m 'a b; c'", &[]);
    spellings("cat <<EOF\nx\nEOF", &[]);
}

#[test]
fn always_never_covers_what_runs_anything() {
    let always = |command: &str, want: &[&str]| assert_eq!(look(command).always, want, "{command}");
    always("npm run build --if-present", &["npm run build *"]);
    always("timeout 5 cargo test x", &["timeout 5 cargo test *", "cargo test *"]);
    always("sudo cargo test", &["cargo test *"]);
    always("bash -c 'git status'", &["git status *"]);
    always("find . -name x", &["find *"]);
    always("find . -delete", &[]);
    always("find . -exec cat {} \\;", &["cat *"]);
    always("git -c alias.x=!sh x", &[]);
    always("tar cf x --checkpoint-action=exec=sh .", &[]);
    always("echo hi | sh", &["echo *"]);
    always("python -c x", &[]);
    always("xargs rm", &["xargs rm *", "rm *"]);
}

#[test]
fn the_network_is_seen() {
    for command in [
        "curl x",
        "git fetch",
        "git -C src push",
        "npm install",
        "pip install x",
        "echo x > /dev/tcp/a/1",
        "sudo apt update",
        "ssh a",
    ] {
        assert!(look(command).network, "{command}");
    }
    for command in ["git status", "npm test", "cargo test", "ls", "rsync a b", "echo curl"] {
        assert!(!look(command).network, "{command}");
    }
}
