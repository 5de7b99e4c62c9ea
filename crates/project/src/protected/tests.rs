use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Command;

use super::*;

/// A project with a repository, and a home beside it.
struct Project {
    base: tempfile::TempDir,
    protection: Protection,
}

impl Project {
    fn new() -> Self {
        Self::limited(Limits::default())
    }

    fn limited(limits: Limits) -> Self {
        let base = tempfile::tempdir().unwrap();
        let top = base.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("p/src")).unwrap();
        fs::create_dir_all(top.join("home")).unwrap();
        let project = Self { base, protection: Protection::limited(Some(&top.join("home")), limits) };
        project.run("git init -q . && git config user.name a && git config user.email a@b && echo 1 > a && git add . && git commit -qm a");
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.base.path().canonicalize().unwrap().join("p").join(name)
    }

    fn put(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn get(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn has(&self, name: &str) -> bool {
        self.path(name).symlink_metadata().is_ok()
    }

    /// Runs a command line in the project; it must work.
    fn run(&self, text: &str) {
        let home = self.path("../home");
        let mut command = Command::new("sh");
        command.args(["-ec", text]).current_dir(self.path("")).env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("GIT_ALLOW_PROTOCOL", "file").env("GIT_CONFIG_COUNT", "0");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn guard(&self) -> Guarded {
        self.protection.guard(&[self.path("").components().collect()], None)
    }

    /// What is repaired after `text`, as `what path [keys]`.
    fn after(&self, text: &str) -> Vec<String> {
        let guarded = self.guard();
        self.run(text);
        self.told(guarded.put_back(Held::Nothing))
    }

    fn told(&self, repairs: Vec<Repair>) -> Vec<String> {
        let top = self.path("");
        let told = |repair: Repair| {
            let path = repair.path.strip_prefix(&top).unwrap_or(&repair.path).display().to_string();
            let keys = if repair.keys.is_empty() { String::new() } else { format!(" {}", repair.keys.join(",")) };
            let failed = repair.failed.map(|why| format!(" failed: {why}")).unwrap_or_default();
            format!("{:?} {path}{keys}{failed}", repair.what)
        };
        repairs.into_iter().map(told).collect()
    }

    /// `text` leads to exactly these repairs, and then none is left.
    #[track_caller]
    fn check(&self, text: &str, want: &[&str]) {
        assert_eq!(self.after(text), want, "{text}");
        assert_eq!(self.told(self.guard().put_back(Held::Nothing)), [""; 0], "again after {text}");
    }

    fn frozen(&self) -> Vec<String> {
        let top = self.path("");
        let guarded = self.guard();
        guarded.frozen().iter().map(|path| path.strip_prefix(&top).unwrap_or(path).display().to_string()).collect()
    }
}

#[test]
fn what_is_there_is_frozen_at_any_depth() {
    let project = Project::new();
    project.run("mkdir -p sub/deep && cd sub/deep && git init -q . && cd ../.. && git worktree add -q side");
    project.put(".vscode/tasks.json", "{}");
    project.put("c/b/.envrc", "");
    project.put("haft.json", "{}");
    project.put("node_modules/x/.vscode/settings.json", "{}");
    project.run("mkdir -p node_modules/y && cd node_modules/y && git init -q .");
    project.run("git init -q --bare store");
    let want = [
        ".git/config",
        ".git/hooks",
        ".git/worktrees/side/commondir",
        ".vscode",
        "c/b/.envrc",
        "haft.json",
        "side/.git",
        "store/config",
        "store/hooks",
        "sub/deep/.git/config",
        "sub/deep/.git/hooks",
    ];
    assert_eq!(project.frozen(), want);
}

#[test]
fn everyday_git_goes_through() {
    let project = Project::new();
    project.run("git clone -q . ../up && git -C ../up branch feature");
    project.run("git remote add origin ../up && git fetch -q");
    for text in [
        "echo 2 >> a && git commit -qam b",
        "git switch -q feature",
        "git checkout -q -b x origin/feature",
        "git branch -m x y && git branch -d y 2>/dev/null || git checkout -q feature && git branch -D y",
        "git config user.email c@d || true",
        "git stash -q || true; git tag v1; git gc -q",
        "git branch -q z && git branch -q -u origin/feature z",
        "git worktree add -q -b wt .side && cd .side && git commit -q --allow-empty -m c && cd .. && git worktree remove .side",
        "git rebase -q feature && git pull -q --rebase",
        "git checkout -q -b pushed && git push -q -u origin pushed",
        "rm -rf src && mkdir src",
    ] {
        let want: &[&str] = if text.contains("user.email") { &["Changed .git/config user.email"] } else { &[] };
        project.check(text, want);
    }
    assert!(project.get(".git/config").contains("[branch \"feature\"]"));
    assert!(project.get(".git/config").contains("email = a@b"));
}

#[test]
fn a_new_repository_keeps_what_git_writes() {
    let project = Project::new();
    project.check("git init -q new && cd new && git config user.name x && git remote add origin https://a/b", &[]);
    assert!(project.has("new/.git/hooks/pre-commit.sample"));
    project.check("git clone -q . cloned && cd cloned && git checkout -q -b y", &[]);
    project.check("git init -q --bare bare && git clone -q --mirror . mirror.git", &[]);
    project.check("git -c protocol.file.allow=always submodule --quiet add ./cloned sub && git commit -qm sub", &[]);
    assert!(project.has("sub/.git") && project.has(".git/modules/sub/config"));
    project.check("git worktree add -q -b wt .side", &[]);
    project.run("git -C cloned status && git -C sub status && git -C .side status && git -C bare log --all");
}

#[test]
fn what_would_run_is_taken_out_of_a_new_repository() {
    let project = Project::new();
    let text = "git init -q new && cd new && git config core.fsmonitor ./x && git config alias.st '!x' && \
                git config user.name y && echo x > .git/hooks/pre-commit && echo x > .git/hooks/z.sample";
    project.check(text, &["New new/.git/config alias.st,core.fsmonitor", "New new/.git/hooks/pre-commit"]);
    let config = project.get("new/.git/config");
    assert!(config.contains("name = \"y\"") && config.contains("bare") && !config.contains("fsmonitor"), "{config}");
    project.run("git -C new status");
    // Not called .git, but one all the same.
    let text = "mkdir -p x/objects x/refs && printf 'ref: refs/heads/m' > x/HEAD && \
                printf '[core]\\nfsmonitor = y\\n' > x/config && mkdir x/hooks && echo > x/hooks/post-checkout";
    project.check(text, &["New x/config core.fsmonitor", "New x/hooks/post-checkout"]);
    // First everything but the one file that makes it a repository.
    project.run("mkdir -p w/objects w/refs && printf '[core]\\nfsmonitor = y\\n' > w/config");
    project.check("cp x/HEAD w/HEAD", &["New w/config core.fsmonitor"]);
    // In folders that are ignored, too.
    project.put(".gitignore", "target\n");
    project.check("git init -q target/z && echo > target/z/.git/hooks/pre-push", &["New target/z/.git/hooks/pre-push"]);
    project
        .check("mkdir -p node_modules/m && printf 'gitdir: /tmp' > node_modules/m/.git", &["New node_modules/m/.git"]);
}

#[test]
fn what_was_there_gets_its_old_content_and_mode() {
    let project = Project::new();
    project.put(".git/hooks/pre-commit", "good");
    project.put(".vscode/tasks.json", "good");
    project.put(".envrc", "good");
    fs::set_permissions(project.path(".git/hooks/pre-commit"), fs::Permissions::from_mode(0o755)).unwrap();
    let config = project.get(".git/config");
    project.check("echo bad > .git/hooks/pre-commit", &["Changed .git/hooks/pre-commit"]);
    project.check(
        "chmod 644 .git/hooks/pre-commit && echo bad > .git/hooks/post-merge",
        &["New .git/hooks/post-merge", "Changed .git/hooks/pre-commit"],
    );
    project.check("git config core.hooksPath src", &["Changed .git/config core.hookspath"]);
    project.check("echo 'not git' > .git/config", &["Changed .git/config"]);
    project.check("rm .envrc && rm -r .vscode && mkdir .vscode", &["Removed .envrc", "Removed .vscode/tasks.json"]);
    project.check("rm -r .vscode && echo > .vscode", &["Changed .vscode"]);
    project.check("rm -rf .git/hooks && ln -s ../src .git/hooks", &["Changed .git/hooks"]);
    project.check("mkdir x && mv .git/config x/ && ln x/config .git/config", &["Changed .git/config"]);
    project.check("mkdir .haft && echo > .haft/haft.json && echo > .mcp.json", &["New .haft", "New .mcp.json"]);
    project.check(
        "echo .. > .git/commondir && printf 'x diff=y' > .git/info/attributes",
        &["New .git/commondir", "New .git/info/attributes"],
    );
    project.check("mkfifo .exrc && ln -s /etc/passwd .bashrc && chmod 0 .vscode", &["New .bashrc", "New .exrc"]);
    assert_eq!((project.get(".git/config"), project.get(".vscode/tasks.json")), (config, "good".to_owned()));
    assert_eq!(project.get(".git/hooks/pre-commit"), "good");
    assert_eq!(project.path(".git/hooks/pre-commit").metadata().unwrap().mode() & 0o777, 0o755);
    assert!(project.has("src") && !fs::exists("/etc/x").unwrap());
}

#[test]
fn what_is_moved_copied_or_removed_as_a_whole_is_let_be() {
    let project = Project::new();
    project.run("mkdir sub && cd sub && git init -q . && git config core.fsmonitor ./own");
    project.put("sub/.git/hooks/pre-commit", "good");
    project.put("sub/.envrc", "good");
    project.check("cp -r sub copy", &[]);
    project.check("mv sub moved", &[]);
    assert!(project.get("moved/.git/config").contains("own") && project.has("copy/.git/hooks/pre-commit"));
    project.check("rm -rf copy", &[]);
    project.check("cp moved/.git/hooks/pre-commit .git/hooks/", &["New .git/hooks/pre-commit"]);
    project.check("mkdir q && echo bad > q/.envrc && cp moved/.envrc q/ok", &["New q/.envrc"]);
    // Its folder was put in the place of another.
    project.check(
        "mv moved away && mkdir -p moved/.git && echo '[alias]' > moved/.git/config",
        &[
            "Removed moved/.envrc",
            "Changed moved/.git/config core.bare,core.filemode,core.fsmonitor,core.logallrefupdates",
            "Removed moved/.git/hooks",
        ],
    );
}

#[test]
fn what_settings_name_is_protected_too() {
    let project = Project::new();
    project.run("git config core.hooksPath tools/hooks && git config include.path ../shared.config");
    project.put("tools/hooks/pre-commit", "good");
    project.put("shared.config", "[core]\n\tattributesFile = x\n");
    project.put("dot/zsh", "good");
    symlink("dot/zsh", project.path(".zshrc")).unwrap();
    assert_eq!(project.frozen(), [".git/config", ".git/hooks", "dot/zsh", "shared.config", "tools/hooks"]);
    project.check("echo bad > tools/hooks/pre-commit", &["Changed tools/hooks/pre-commit"]);
    project.check("echo bad > tools/hooks/pre-push", &["New tools/hooks/pre-push"]);
    project.check("echo bad >> shared.config && echo bad > dot/zsh", &["Changed dot/zsh", "Changed shared.config"]);
    // In an added work tree hooks are looked for there.
    project.check(
        "git worktree add -q side && mkdir -p side/tools/hooks && echo bad > side/tools/hooks/pre-push",
        &["New side/tools/hooks/pre-push"],
    );
    // A folder that a command names as one of hooks is only a folder.
    let other = Project::new();
    other.put("src/main.rs", "");
    other.check("git config core.hooksPath src", &["Changed .git/config core.hookspath"]);
    assert!(other.has("src/main.rs"));
}

#[test]
fn the_home_folder_has_more_to_protect() {
    let project = Project::new();
    let home = project.path("../home").canonicalize().unwrap();
    fs::create_dir_all(home.join(".config/fish")).unwrap();
    let guarded = project.protection.guard(std::slice::from_ref(&home), None);
    assert_eq!(guarded.frozen(), [home.join(".config/fish")]);
    for name in [".local/bin", ".ssh"] {
        fs::create_dir_all(home.join(name)).unwrap();
    }
    fs::write(home.join(".local/bin/ls"), "").unwrap();
    fs::write(home.join(".zshenv"), "").unwrap();
    fs::write(home.join(".config/other"), "").unwrap();
    let repairs = guarded.put_back(Held::Nothing);
    let gone: Vec<&Path> = repairs.iter().map(|repair| repair.path.strip_prefix(&home).unwrap()).collect();
    assert_eq!(gone, [".local/bin", ".ssh", ".zshenv"].map(Path::new));
    assert!(home.join(".config/other").exists() && !home.join(".local/bin").exists());
    // Leave for exactly that is leave.
    let ssh = [project.path("").components().collect(), home.join(".ssh")];
    let guarded = project.protection.guard(&ssh, None);
    fs::create_dir(home.join(".ssh")).unwrap();
    fs::write(home.join(".ssh/config"), "").unwrap();
    assert_eq!(guarded.put_back(Held::Nothing), []);
}

#[test]
fn what_the_system_froze_is_left_to_others() {
    let project = Project::new();
    project.put(".envrc", "good");
    let guarded = project.guard();
    project.run("echo mine > .envrc && echo bad > .exrc && rm -r .git/hooks");
    assert_eq!(project.told(guarded.put_back(Held::Frozen)), ["New .exrc"]);
    assert_eq!(project.get(".envrc"), "mine\n");
}

#[test]
fn what_is_frozen_is_not_got_round_by_moving_the_folder_it_is_in() {
    let project = Project::new();
    project.put(".git/hooks/pre-commit", "good");
    project.run("mkdir sub && cd sub && git init -q .");
    let guarded = project.guard();
    assert_eq!(guarded.pinned(), [project.path(".git"), project.path("sub/.git")]);
    project.run("mv .git g && git init -q . && git config core.fsmonitor bad && echo bad > .git/hooks/post-merge");
    project.run("mv sub s && mkdir -p sub/.git && cp s/.git/HEAD sub/.git && echo '[alias]' > sub/.git/config");
    let told = project.told(guarded.put_back(Held::Frozen));
    assert!(told.iter().any(|told| told.starts_with("Changed .git/config")), "{told:?}");
    assert!(told.contains(&"New .git/hooks/post-merge".to_owned()), "{told:?}");
    assert!(told.iter().any(|told| told.starts_with("Changed sub/.git/config")), "{told:?}");
    assert!(!project.get(".git/config").contains("bad") && project.get(".git/hooks/pre-commit") == "good");
}

#[test]
fn files_that_are_not_to_be_read_are_found() {
    let project = Project::new();
    for name in [".env", "sub/prod.env", ".env.example", "node_modules/x/.env", "src/env"] {
        project.put(name, "");
    }
    let root = [project.path("").components().collect::<PathBuf>()];
    let secrets = |id, end: &'static str| Secrets {
        id,
        hides: Arc::new(move |path| path.to_str().is_some_and(|path| path.ends_with(end))),
    };
    let hidden = |secrets| {
        let guarded = project.protection.guard(&root, Some(&secrets));
        guarded
            .hidden()
            .iter()
            .map(|path| path.strip_prefix(&root[0]).unwrap().display().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(hidden(secrets(1, ".env")), [".env", "node_modules/x/.env", "sub/prod.env"]);
    assert_eq!(hidden(secrets(2, "src/env")), ["src/env"]);
    project.put("new.env", "");
    assert_eq!(hidden(secrets(2, ".env")), [".env", "new.env", "node_modules/x/.env", "sub/prod.env"]);
}

#[test]
fn a_link_is_never_followed_out() {
    let project = Project::new();
    let outside = project.path("../home/kept");
    fs::create_dir_all(outside.join("hooks")).unwrap();
    fs::write(outside.join("config"), "kept").unwrap();
    fs::write(outside.join("hooks/pre-commit"), "kept").unwrap();
    project.put(".vscode/tasks.json", "good");
    let to = outside.display();
    project.run("true");
    let guarded = project.guard();
    project.run(&format!("mv .git gone && ln -s {to} .git && rm -r .vscode && ln -s {to} .vscode && ln -s {to} .idea"));
    let told = project.told(guarded.put_back(Held::Nothing));
    assert_eq!(told, ["New .git", "New .idea", "Changed .vscode"]);
    assert_eq!(fs::read_to_string(outside.join("config")).unwrap(), "kept");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 2);
    assert_eq!(fs::read_to_string(outside.join("hooks/pre-commit")).unwrap(), "kept");
    assert_eq!(project.get(".vscode/tasks.json"), "good");
}

#[test]
fn a_rebase_may_go_on_but_run_nothing_new() {
    let project = Project::new();
    project.run("git checkout -q -b x && echo 2 > a && git commit -qam b && git checkout -q - && echo 3 > a && git commit -qam c");
    project.run("git checkout -q x");
    project.check("git rebase -q - || true", &[]);
    assert!(project.has(".git/rebase-merge/git-rebase-todo"));
    project.check(
        "echo 'exec ./evil' >> .git/rebase-merge/git-rebase-todo",
        &["Changed .git/rebase-merge/git-rebase-todo"],
    );
    project.check("echo 4 > a && git add a && GIT_EDITOR=true git rebase --continue", &[]);
    assert!(!project.has(".git/rebase-merge"));
    project.check(
        "mkdir .git/rebase-merge && echo 'x evil' > .git/rebase-merge/git-rebase-todo",
        &["New .git/rebase-merge/git-rebase-todo"],
    );
}

/// A program that did not end with the command, and swaps a protected folder with a link that leads out.
#[cfg(target_os = "linux")]
#[test]
fn whoever_races_with_the_repair_gets_nobody_out() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let project = Project::new();
    let outside = project.path("../home/kept");
    fs::create_dir_all(outside.join("deep")).unwrap();
    for name in ["tasks.json", "other", "deep/x"] {
        fs::write(outside.join(name), "kept").unwrap();
    }
    project.put(".vscode/tasks.json", "good");
    project.put(".vscode/deep/x", "good");
    let guarded = project.guard();
    symlink("../home/kept", project.path("link")).unwrap();
    let (stop, one, other) = (std::sync::atomic::AtomicBool::new(false), project.path(".vscode"), project.path("link"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                // One of them may be gone for a moment.
                let _ = renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE);
            }
        });
        for _ in 0..300 {
            guarded.put_back(Held::Nothing);
            let _ = symlink("../home/kept", &other);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 3);
    assert_eq!(fs::read_to_string(outside.join("other")).unwrap(), "kept");
    assert_eq!(fs::read_to_string(outside.join("deep/x")).unwrap(), "kept");
    guarded.put_back(Held::Nothing);
    assert_eq!(
        (project.get(".vscode/tasks.json"), project.get(".vscode/deep/x")),
        ("good".to_owned(), "good".to_owned())
    );
}

#[test]
fn what_is_beyond_a_limit_is_said() {
    let limits = Limits {
        survey: survey::Limits { folders: 44, hidden: 2 },
        shape: shape::Limits { file: 1000, bytes: 2000, entries: 60 },
    };
    let project = Project::limited(limits);
    let gaps = |project: &Project| {
        let secrets = Secrets { id: 7, hides: Arc::new(|path| path.extension().is_some_and(|end| end == "env")) };
        let guarded = project.protection.guard(&[project.path("").components().collect()], Some(&secrets));
        (guarded.hidden().len(), guarded.gaps().join("\n"))
    };
    project.run("rm .git/hooks/*");
    assert_eq!(gaps(&project), (0, String::new()));
    project.put(".envrc", &"x".repeat(1001));
    assert!(gaps(&project).1.ends_with(".envrc is too large to be put back if it is changed"));
    project.check("true", &[]);
    let guarded = project.guard();
    project.run("echo bad > .envrc");
    let told = project.told(guarded.put_back(Held::Nothing));
    assert_eq!(told, ["Changed .envrc failed: it is too large to be remembered"]);
    (0..3).for_each(|number| project.put(&format!("{number}.env"), ""));
    let (hidden, told) = gaps(&project);
    assert!(hidden == 2 && told.contains("more files that are not to be read"), "{told}");
    (0..30).for_each(|number| project.put(&format!("d/{number}/x/.envrc"), &number.to_string()));
    assert!(gaps(&project).1.contains("more folders than are looked at"));
    // What was not looked at and is old is not taken for new.
    let mut guarded = project.guard();
    assert!(guarded.shapes.len() < 30);
    project.run("rm -r d/1*");
    guarded.moment += 3_600_000_000_000;
    assert_eq!(guarded.put_back(Held::Nothing), []);
    guarded.moment -= 3_600_000_000_000;
    assert_ne!(guarded.put_back(Held::Nothing), []);
}

#[test]
fn so_much_is_frozen_and_the_rest_put_back() {
    let project = Project::new();
    (0..=MAX_FROZEN).for_each(|number| project.put(&format!("d/{number}/.envrc"), "good"));
    let guarded = project.guard();
    assert_eq!(guarded.frozen().len(), MAX_FROZEN);
    assert!(guarded.gaps().iter().any(|gap| gap.contains("more protected than can be frozen")));
    project.run("for x in d/*; do echo bad > $x/.envrc; done");
    let repairs = guarded.put_back(Held::Frozen);
    // The two of the repository are frozen too.
    assert_eq!(repairs.len(), 3);
}

#[test]
fn what_haft_writes_meanwhile_is_no_damage() {
    let project = Project::new();
    project.put(".vscode/tasks.json", "old");
    project.put(".envrc", "old");
    project.put(".exrc", "old");
    let guarded = project.guard();
    let wrote = |name: &str, text: &str| {
        project.put(name, text);
        project.protection.wrote(&project.path(name));
    };
    wrote(".haft/plans/next.md", "plan");
    wrote(".vscode/tasks.json", "new");
    wrote(".mcp.json", "new");
    wrote(".envrc", "new");
    fs::remove_file(project.path(".exrc")).unwrap();
    project.protection.wrote(&project.path(".exrc"));
    // Ours stay; what a command does to them does not.
    project
        .run("echo bad > .haft/haft.json && echo bad > .envrc && echo bad > .vscode/other && echo bad > .haft/plans/x");
    let want = ["Changed .envrc", "New .haft/haft.json", "New .haft/plans/x", "New .vscode/other"];
    assert_eq!(project.told(guarded.put_back(Held::Nothing)), want);
    for (name, text) in
        [(".haft/plans/next.md", "plan"), (".vscode/tasks.json", "new"), (".mcp.json", "new"), (".envrc", "new")]
    {
        assert_eq!(project.get(name), text, "{name}");
    }
    assert!(!project.has(".exrc"));
    // Before the next command it is there like everything else.
    project.check("rm .mcp.json && echo > .exrc", &["New .exrc", "Removed .mcp.json"]);
    // So many are remembered.
    let guarded = project.guard();
    (0..=own::MAX_OWN).for_each(|number| wrote(&format!("d/{number}/.envrc"), &number.to_string()));
    assert_eq!(project.told(guarded.put_back(Held::Nothing)), ["New d/0/.envrc"]);
}

#[test]
fn so_much_is_told_and_no_more() {
    let project = Project::new();
    let guarded = project.guard();
    (0..=after::MAX_TOLD).for_each(|number| project.put(&format!("d/{number}/.envrc"), "new"));
    assert_eq!(guarded.put_back(Held::Nothing).len(), after::MAX_TOLD);
    assert!((0..=after::MAX_TOLD).all(|number| !project.has(&format!("d/{number}/.envrc"))));
    // Words about what is too large.
    let tight = shape::Limits { file: 1, ..shape::Limits::default() };
    let project = Project::limited(Limits { shape: tight, ..Limits::default() });
    (0..=MAX_GAPS).for_each(|number| project.put(&format!("d/{number}/.envrc"), "large"));
    assert_eq!(project.guard().gaps().len(), MAX_GAPS);
}

#[test]
fn so_much_is_remembered_and_no_more() {
    let limited = |limits| {
        let project = Project::limited(Limits { shape: limits, ..Limits::default() });
        project.run("rm -rf .git && mkdir .haft");
        project
    };
    let named = |project: &Project| {
        let told = project.guard().gaps().join("\n");
        told.replace(project.path("").to_str().unwrap(), "").lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let project = limited(shape::Limits { bytes: 10, ..shape::Limits::default() });
    project.put(".haft/a", "12345");
    project.put(".haft/b", "12345");
    assert_eq!(named(&project), [""; 0]);
    project.put(".haft/c", "1");
    assert_eq!(named(&project).len(), 1);
    // A folder, and what is in it.
    let project = limited(shape::Limits { entries: 4, ..shape::Limits::default() });
    ["a", "b", "c"].iter().for_each(|name| project.put(&format!(".haft/{name}"), ""));
    assert_eq!(named(&project), [""; 0]);
    project.put(".haft/d", "");
    assert_eq!(named(&project), [".haft is too large to be put back if it is changed"]);
    // What is not remembered is not taken for new.
    assert_eq!(project.guard().put_back(Held::Nothing), []);
    let project = limited(shape::Limits::default());
    let deep = |depth: usize| format!(".haft/{}x", "d/".repeat(depth - 1));
    project.put(&deep(shape::MAX_DEPTH), "");
    assert_eq!(named(&project), [""; 0]);
    project.put(&deep(shape::MAX_DEPTH + 1), "");
    assert_eq!(named(&project).len(), 1);
}

#[test]
fn so_many_included_settings_are_read_and_no_more() {
    let project = Project::new();
    (1..=links::MAX_INCLUDES + 1).for_each(|number| {
        project.put(&format!("c{number}"), &format!("[include]\npath = c{}\n", number + 1));
    });
    project.run("git config include.path ../c1");
    let frozen = project.frozen();
    assert!(frozen.contains(&format!("c{}", links::MAX_INCLUDES)), "{frozen:?}");
    assert!(!frozen.contains(&format!("c{}", links::MAX_INCLUDES + 1)), "{frozen:?}");
    let project = Project::new();
    (0..links::MAX_INCLUDED + 5).for_each(|number| {
        project.put(&format!("c{number}"), "");
        project.run(&format!("printf '[include]\\npath = ../c{number}\\n' >> .git/config"));
    });
    let included = project.frozen().iter().filter(|name| name.starts_with('c')).count();
    assert_eq!(included, links::MAX_INCLUDED);
}

/// With leave for `name` in the project, beside the project.
fn with_leave(project: &Project, name: &str) -> Guarded {
    project.protection.guard(&[project.path("").components().collect(), project.path(name)], None)
}

#[test]
fn leave_for_a_file_in_a_protected_folder_is_leave_for_that_file() {
    let project = Project::new();
    project.put(".vscode/settings.json", "old");
    for held in [Held::Frozen, Held::Nothing] {
        for (granted, other) in
            [(".git/hooks/pre-commit", ".git/hooks/pre-push"), (".vscode/tasks.json", ".vscode/launch.json")]
        {
            let guarded = with_leave(&project, granted);
            let folder = project.path(granted).parent().unwrap().to_owned();
            assert!(!guarded.frozen().contains(&folder), "nothing could be made in it");
            project.put(granted, "new");
            project.put(other, "new");
            project.put(".vscode/settings.json", "new");
            let repaired: Vec<PathBuf> = guarded.put_back(held).into_iter().map(|repair| repair.path).collect();
            assert!(project.has(granted) && !project.has(other), "{granted}: {repaired:?}");
            assert!(repaired.contains(&project.path(other)) && !repaired.contains(&project.path(granted)));
            fs::remove_file(project.path(granted)).unwrap();
            project.put(".vscode/settings.json", "old");
        }
    }
}

#[test]
fn leave_for_a_file_is_leave_to_make_the_folder_it_is_in() {
    let project = Project::new();
    let guarded = with_leave(&project, ".vscode/tasks.json");
    project.put(".vscode/tasks.json", "new");
    project.put(".vscode/deep/x", "new");
    guarded.put_back(Held::Frozen);
    assert!(project.has(".vscode/tasks.json") && !project.has(".vscode/deep"));
}

#[test]
fn what_leave_was_given_for_may_be_replaced_and_removed() {
    let project = Project::new();
    project.put(".vscode/settings.json", "old");
    let guarded = with_leave(&project, ".vscode/settings.json");
    project.run("echo new > .vscode/x; mv .vscode/x .vscode/settings.json");
    assert!(guarded.put_back(Held::Frozen).is_empty());
    assert_eq!(project.get(".vscode/settings.json"), "new\n");
    let guarded = with_leave(&project, ".vscode/settings.json");
    project.run("rm .vscode/settings.json");
    assert!(guarded.put_back(Held::Nothing).is_empty() && !project.has(".vscode/settings.json"));
}
