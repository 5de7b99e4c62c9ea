//! Which settings of a repository run nothing and lead nowhere, so that a command may make them. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::gitconfig::Setting;

/// Settings of a new repository that stay, in small letters; `*` for any part.
const NEW: [(&str, &str, &str); 44] = [
    ("core", "", "autocrlf"),
    ("core", "", "bare"),
    ("core", "", "eol"),
    ("core", "", "filemode"),
    ("core", "", "ignorecase"),
    ("core", "", "logallrefupdates"),
    ("core", "", "longpaths"),
    ("core", "", "precomposeunicode"),
    ("core", "", "protecthfs"),
    ("core", "", "protectntfs"),
    ("core", "", "quotepath"),
    ("core", "", "repositoryformatversion"),
    ("core", "", "sharedrepository"),
    ("core", "", "sparsecheckout"),
    ("core", "", "sparsecheckoutcone"),
    ("core", "", "symlinks"),
    ("core", "", "worktree"),
    ("extensions", "", "objectformat"),
    ("extensions", "", "partialclone"),
    ("extensions", "", "preciousobjects"),
    ("extensions", "", "refstorage"),
    ("extensions", "", "relativeworktrees"),
    ("extensions", "", "worktreeconfig"),
    ("extensions", "", "compatobjectformat"),
    ("index", "", "sparse"),
    ("init", "", "defaultbranch"),
    ("lfs", "", "repositoryformatversion"),
    ("remote", "*", "fetch"),
    ("remote", "*", "mirror"),
    ("remote", "*", "partialclonefilter"),
    ("remote", "*", "promisor"),
    ("remote", "*", "tagopt"),
    ("remote", "*", "url"),
    ("branch", "*", "description"),
    ("branch", "*", "merge"),
    ("branch", "*", "rebase"),
    ("branch", "*", "remote"),
    ("submodule", "", "active"),
    ("submodule", "*", "active"),
    ("submodule", "*", "branch"),
    ("submodule", "*", "shallow"),
    ("submodule", "*", "url"),
    ("user", "", "email"),
    ("user", "", "name"),
];

/// Settings that may be added to a repository that was there before.
const ADDED: [(&str, &str, &str); 10] = [
    ("core", "", "sparsecheckout"),
    ("core", "", "sparsecheckoutcone"),
    ("extensions", "", "worktreeconfig"),
    ("index", "", "sparse"),
    ("submodule", "", "active"),
    ("submodule", "*", "active"),
    ("submodule", "*", "branch"),
    ("submodule", "*", "url"),
    ("user", "", "email"),
    ("user", "", "name"),
];

/// Settings of a branch of such a repository: they may come, change and go.
const BRANCH: [&str; 4] = ["description", "merge", "rebase", "remote"];

/// Whether `setting` may stand in a repository that a command has made. `within` says whether a work tree that is kept
/// there lies where the command may write.
pub(super) fn in_new(setting: &Setting, within: &dyn Fn(&str) -> bool) -> bool {
    let value = setting.value.as_deref().unwrap_or_default();
    let known = listed(&NEW, setting);
    known
        && match (setting.section.as_str(), setting.name.as_str()) {
            ("core", "worktree") => within(value),
            ("remote" | "submodule", "url") | ("branch", "remote") => is_address(value),
            _ => true,
        }
}

/// The settings because of which the change from `old` to `new` may not stand, in a repository that was there before.
///
/// Branches may be made, tracked, renamed and removed, as long as they follow remotes that were there: a new remote, or
/// another address for an old one, is where the user's next push would go.
pub(super) fn refused(old: &[Setting], new: &[Setting]) -> Vec<String> {
    let remotes: BTreeSet<&str> = old
        .iter()
        .filter(|setting| setting.section == "remote")
        .filter_map(|setting| setting.part.as_deref())
        .collect();
    let (before, after) = (by_key(old), by_key(new));
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let refused = keys.into_iter().filter(|key| {
        let was = before.get(*key).map_or(&[][..], Vec::as_slice);
        let is = after.get(*key).map_or(&[][..], Vec::as_slice);
        was != is && !may_change(was, is, &remotes)
    });
    refused.cloned().collect()
}

fn by_key(settings: &[Setting]) -> BTreeMap<String, Vec<&Setting>> {
    let mut by_key: BTreeMap<String, Vec<&Setting>> = BTreeMap::new();
    for setting in settings {
        by_key.entry(setting.key()).or_default().push(setting);
    }
    by_key
}

fn may_change(was: &[&Setting], is: &[&Setting], remotes: &BTreeSet<&str>) -> bool {
    let Some(one) = is.first().or_else(|| was.first()) else { return true };
    let value = |setting: &Setting| setting.value.clone().unwrap_or_default();
    match (one.section.as_str(), one.part.is_some(), one.name.as_str()) {
        ("branch", true, name) if BRANCH.contains(&name) => {
            let follows = |setting: &&Setting| {
                let value = value(setting);
                value == "." || remotes.contains(value.as_str())
            };
            name != "remote" || is.iter().all(follows)
        }
        // It goes with an extension.
        ("core", false, "repositoryformatversion") => is.iter().all(|setting| matches!(&*value(setting), "0" | "1")),
        ("submodule", true, "url") => was.is_empty() && is.iter().all(|setting| is_address(&value(setting))),
        _ => was.is_empty() && is.iter().all(|setting| listed(&ADDED, setting)),
    }
}

fn listed(list: &[(&str, &str, &str)], setting: &Setting) -> bool {
    list.iter().any(|(section, part, name)| {
        *section == setting.section && *name == setting.name && (*part == "*") == setting.part.is_some()
    })
}

/// Whether a rebase whose lines were `old` runs nothing else when they are `new`.
pub(super) fn runs_no_more(old: &[u8], new: &[u8]) -> bool {
    fn programs(text: &[u8]) -> impl Iterator<Item = &[u8]> {
        let runs = |line: &&[u8]| {
            let word = line.split(|byte| byte.is_ascii_whitespace()).find(|word| !word.is_empty()).unwrap_or_default();
            word == b"x" || word == b"exec"
        };
        text.split(|byte| *byte == b'\n').filter(runs)
    }
    programs(new).all(|line| programs(old).any(|known| known == line))
}

/// Whether git takes it for a place, and not for an option or the name of a program: `ext::sh -c …`.
fn is_address(value: &str) -> bool {
    !value.starts_with('-') && !value.contains("::") && !value.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::super::gitconfig::parse;
    use super::*;

    const OLD: &str = "[core]\nbare = false\n[remote \"origin\"]\nurl = https://a/b\nfetch = +refs/*\n\
                       [branch \"main\"]\nremote = origin\nmerge = refs/heads/main\n[alias]\nl = log\n";

    /// `change` after what was there before.
    #[track_caller]
    fn check(change: &str, want: &[&str]) {
        rewritten(&format!("{OLD}{change}"), want);
    }

    #[track_caller]
    fn rewritten(new: &str, want: &[&str]) {
        let (old, new) = (parse(OLD.as_bytes()).unwrap(), parse(new.as_bytes()).unwrap());
        assert_eq!(refused(&old, &new), want);
    }

    #[test]
    fn everyday_work_with_branches_may_change_settings() {
        check("", &[]);
        check("[branch \"x\"]\nremote = origin\nmerge = refs/heads/y\nrebase = true\n", &[]);
        check("[branch \"x\"]\nremote = .\nmerge = refs/heads/main\n", &[]);
        check("[submodule]\nactive = .\n[submodule \"s\"]\nactive = true\nurl = https://x/y\n", &[]);
        check("[user]\nname = A\nemail = a@b\n", &[]);
        check("[extensions]\nworktreeConfig = true\n", &[]);
        rewritten(&OLD.replace("\"main\"", "\"renamed\""), &[]);
        rewritten(OLD.split("[branch").next().unwrap().to_owned().as_str(), &["alias.l"]);
        rewritten(&OLD.replace("[alias]", "[branch \"main\"]\nmerge = x\n[alias]"), &[]);
    }

    #[test]
    fn what_runs_or_leads_elsewhere_may_not() {
        check("[core]\nhooksPath = .x\n", &["core.hookspath"]);
        check("[core]\nfsmonitor = ./x\nsshCommand = x\n", &["core.fsmonitor", "core.sshcommand"]);
        check("[alias]\nst = !x\n", &["alias.st"]);
        check("[alias]\nl = !x\n", &["alias.l"]);
        check("[filter \"x\"]\nclean = x\n", &["filter.x.clean"]);
        check("[include]\npath = ../x\n", &["include.path"]);
        check("[includeIf \"gitdir:/\"]\npath = ../x\n", &["includeif.gitdir:/.path"]);
        check("[core]\nbare = true\n", &["core.bare"]);
        check("[core]\nworktree = /\n", &["core.worktree"]);
        check("[remote \"origin\"]\nurl = https://evil\n", &["remote.origin.url"]);
        check("[remote \"origin\"]\npushurl = https://evil\n", &["remote.origin.pushurl"]);
        check("[remote \"evil\"]\nurl = https://evil\n", &["remote.evil.url"]);
        check("[remote]\npushDefault = evil\n", &["remote.pushdefault"]);
        check("[branch \"x\"]\nremote = https://evil\n", &["branch.x.remote"]);
        check("[branch \"x\"]\npushRemote = origin\n", &["branch.x.pushremote"]);
        check("[url \"https://evil\"]\ninsteadOf = https://a\n", &["url.https://evil.insteadof"]);
        check("[submodule \"s\"]\nupdate = !x\n", &["submodule.s.update"]);
        check("[submodule \"s\"]\nurl = ext::x\n", &["submodule.s.url"]);
        rewritten(&OLD.replace("https://a/b", "https://evil"), &["remote.origin.url"]);
        rewritten("", &["alias.l", "core.bare", "remote.origin.fetch", "remote.origin.url"]);
    }

    #[test]
    fn a_rebase_goes_on_and_runs_nothing_new() {
        let old = b"pick 1 a\nexec make\npick 2 b\n";
        let row = |new: &str, want| assert_eq!(runs_no_more(old, new.as_bytes()), want, "{new}");
        row("pick 2 b\n", true);
        row("exec make\npick 2 b\n", true);
        row("", true);
        row("exec make evil\n", false);
        row("pick 1 x\n  x evil\n", false);
        row("\texec\tevil", false);
        row("pick 1 exec\nfixup 2\nupdate-ref x\n", true);
    }

    #[test]
    fn a_new_repository_has_what_git_itself_writes() {
        let row = |text: &str, want: bool| {
            let settings = parse(text.as_bytes()).unwrap();
            let got = settings.iter().all(|setting| in_new(setting, &|path| path == "../../../sub"));
            assert_eq!(got, want, "{text}");
        };
        row("[core]\nrepositoryformatversion = 0\nfilemode = true\nbare = false\nlogallrefupdates = true\n", true);
        row("[remote \"o\"]\nurl = git@a:b\nfetch = +refs/*\n[branch \"m\"]\nremote = o\nmerge = x\n", true);
        row("[core]\nworktree = ../../../sub\n", true);
        row("[core]\nworktree = /home\n", false);
        row("[remote \"o\"]\nurl = ext::sh\n", false);
        row("[remote \"o\"]\nurl = --upload-pack=x\n", false);
        row("[remote \"o\"]\nuploadpack = x\n", false);
        row("[core]\nfsmonitor = true\n", false);
        row("[core]\nhooksPath = x\n", false);
        row("[core \"x\"]\nbare = true\n", false);
        row("[remote]\nurl = x\n", false);
        row("[credential]\nhelper = x\n", false);
    }
}
