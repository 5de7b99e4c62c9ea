//! What was allowed for always, kept in a file of the user's data folder: one for all projects, and never one that a
//! project brings along.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use futures::future::BoxFuture;
use haft_permission::{Action, Approval, Keeper, Rule};
use haft_project::Place;
use haft_protocol::Clock;
use serde_json::{Value, json};

use crate::own_file::{self, Content as _, MAX_FILE, OwnFile};
use crate::render;

/// The name of the file.
pub(crate) const FILE: &str = "approvals.json";
/// Most approvals of all projects; the oldest give way.
const MAX_KEPT: usize = 1_000;
/// Longest pattern that is kept, in bytes. A longer one holds until haft ends.
const MAX_PATTERN: usize = 512;

/// One approval as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Names it to the person: `a7`. Never used again.
    pub id: String,
    pub home: Home,
    pub permission: String,
    pub pattern: String,
    /// When it was given, in Unix milliseconds.
    pub created: u64,
}

/// What an approval belongs to: a project *in its folder*. A repository can say which project it is, and not where
/// it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Home {
    pub project: String,
    /// The work tree, or the working folder where there is none; absolute and without links.
    pub folder: String,
}

impl Home {
    /// `None` where the folder's name is no text: two such names might look alike.
    pub(crate) fn of(place: &Place) -> Option<Self> {
        let folder = place.worktree.as_ref().unwrap_or(&place.directory).to_str()?;
        Some(Self { project: place.project_id.clone(), folder: folder.to_owned() })
    }
}

/// The file.
#[derive(Debug, Clone)]
pub(crate) struct Approvals {
    file: OwnFile<Content>,
}

/// What the file says.
#[derive(Debug, Clone, PartialEq)]
struct Content {
    /// The number of the next id.
    next: u64,
    kept: Vec<Kept>,
}

impl Approvals {
    /// The file in the folder `data`, which need not be there yet.
    pub(crate) fn in_folder(data: &Path) -> Self {
        Self { file: OwnFile::at(data.join(FILE)) }
    }

    /// All that is kept, oldest first. A file that cannot be made out is put aside and told of.
    ///
    /// # Errors
    ///
    /// When it cannot be read, belongs to others, or was made by a newer haft.
    pub(crate) fn read(&self) -> Result<Vec<Kept>> {
        Ok(self.file.read()?.kept)
    }

    /// Keeps more approvals for `home`. What is kept already is not kept twice.
    pub(crate) fn add(&self, home: &Home, approvals: &[Approval], now: u64) -> Result<()> {
        self.file.change(|content| {
            for Approval { permission, pattern } in approvals {
                let same =
                    |kept: &Kept| kept.home == *home && kept.permission == *permission && kept.pattern == *pattern;
                if pattern.len() > MAX_PATTERN || permission.len() > MAX_PATTERN || content.kept.iter().any(same) {
                    continue;
                }
                content.kept.push(Kept {
                    id: format!("a{}", content.next),
                    home: home.clone(),
                    permission: permission.clone(),
                    pattern: pattern.clone(),
                    created: now,
                });
                content.next += 1;
            }
            let over = content.kept.len().saturating_sub(MAX_KEPT);
            content.kept.drain(..over);
            while content.to_text().len() as u64 > MAX_FILE {
                content.kept.drain(..content.kept.len().div_ceil(4));
            }
        })
    }

    /// Takes back those that `chosen` picks, and gives them back.
    pub(crate) fn revoke(&self, chosen: impl Fn(&Kept) -> bool) -> Result<Vec<Kept>> {
        let mut gone = Vec::new();
        self.file.change(|content| gone = content.kept.extract_if(.., |kept| chosen(kept)).collect())?;
        Ok(gone)
    }
}

impl own_file::Content for Content {
    const VERSION: u64 = 1;
    const WITHOUT: &'static str = "haft asks again";

    fn empty() -> Self {
        Self { next: 1, kept: Vec::new() }
    }

    fn from_json(value: &Value) -> Option<Self> {
        let one = |value: &Value| {
            let text = |key: &str| value[key].as_str().map(str::to_owned);
            Some(Kept {
                id: text("id")?,
                home: Home { project: text("project")?, folder: text("folder")? },
                permission: text("permission")?,
                pattern: text("pattern")?,
                created: value["created"].as_u64()?,
            })
        };
        let kept = value["approvals"].as_array()?.iter().map(one).collect::<Option<_>>()?;
        Some(Self { next: value["next"].as_u64()?, kept })
    }

    fn to_text(&self) -> String {
        let approvals: Vec<Value> = self.kept.iter().map(Kept::to_json).collect();
        json!({ "version": Self::VERSION, "next": self.next, "approvals": approvals }).to_string()
    }
}

impl Kept {
    /// The rule that it is.
    pub(crate) fn rule(&self) -> Rule {
        Rule::new(&self.permission, &self.pattern, Action::Allow)
    }

    /// As `haft permission list --json` and the file have it.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "project": self.home.project,
            "folder": self.home.folder,
            "permission": self.permission,
            "pattern": self.pattern,
            "created": self.created,
        })
    }
}

/// Keeps the approvals of one project for its gate.
pub(crate) struct Keeping {
    approvals: Approvals,
    home: Home,
    clock: Clock,
    /// What went wrong, told once.
    told: Mutex<bool>,
}

impl Keeping {
    pub(crate) fn new(approvals: Approvals, home: Home, clock: Clock) -> Self {
        Self { approvals, home, clock, told: Mutex::default() }
    }

    fn tell(&self, what: &str, error: &anyhow::Error) {
        tracing::warn!(error = format!("{error:#}"), "approvals");
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut *told, true) {
            render::complain(&format!("warning: {what}: {error:#}"));
        }
    }
}

impl Keeper for Keeping {
    fn load(&self) -> BoxFuture<'_, Vec<Approval>> {
        Box::pin(async {
            let approvals = self.approvals.clone();
            let read = tokio::task::spawn_blocking(move || approvals.read()).await;
            let kept = read.unwrap_or_else(|error| Err(error.into())).unwrap_or_else(|error| {
                self.tell("what was allowed for always cannot be read, so haft asks again", &error);
                Vec::new()
            });
            let ours = kept.into_iter().filter(|kept| kept.home == self.home);
            ours.map(|Kept { permission, pattern, .. }| Approval { permission, pattern }).collect()
        })
    }

    fn add(&self, approvals: &[Approval]) {
        if let Err(error) = self.approvals.add(&self.home, approvals, self.clock.now_ms()) {
            self.tell("this was allowed for always, and holds only until haft ends", &error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folders;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    fn home(project: &str, folder: &str) -> Home {
        Home { project: project.to_owned(), folder: folder.to_owned() }
    }

    fn approval(permission: &str, pattern: &str) -> Approval {
        Approval { permission: permission.to_owned(), pattern: pattern.to_owned() }
    }

    struct Scene {
        _folder: tempfile::TempDir,
        approvals: Approvals,
    }

    fn scene() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let approvals = Approvals::in_folder(&folder.path().join("data"));
        Scene { _folder: folder, approvals }
    }

    impl Scene {
        fn add(&self, home: &Home, permission: &str, pattern: &str) {
            self.approvals.add(home, &[approval(permission, pattern)], 7).unwrap();
        }

        fn keeping(&self, home: &Home) -> Keeping {
            Keeping::new(self.approvals.clone(), home.clone(), Clock::scripted(1))
        }

        fn rows(&self) -> Vec<String> {
            let kept = self.approvals.read().unwrap();
            kept.iter().map(|kept| format!("{} {} {}", kept.id, kept.permission, kept.pattern)).collect()
        }

        /// Writes the file as somebody else would.
        fn write(&self, text: &str) {
            folders::make(self.approvals.file.path().parent().unwrap()).unwrap();
            fs::write(self.approvals.file.path(), text).unwrap();
            fs::set_permissions(self.approvals.file.path(), fs::Permissions::from_mode(0o600)).unwrap();
        }
    }

    #[tokio::test]
    async fn what_is_kept_is_there_for_the_same_project_in_the_same_folder_alone() {
        let scene = scene();
        assert!(scene.rows().is_empty());
        let ours = home("p", "/code/p");
        let keeping = scene.keeping(&ours);
        keeping.add(&[approval("bash", "git *"), approval("edit", "*")]);
        assert_eq!(keeping.load().await, [approval("bash", "git *"), approval("edit", "*")]);
        assert_eq!(scene.keeping(&ours).load().await.len(), 2);
        for other in [home("p", "/code/q"), home("q", "/code/p"), home("p", "/code"), home("p", "/code/p/sub")] {
            assert!(scene.keeping(&other).load().await.is_empty(), "{other:?}");
        }
    }

    #[test]
    fn nothing_is_kept_twice_and_no_id_is_used_twice() {
        let scene = scene();
        let ours = home("p", "/p");
        for pattern in ["a", "b", "a"] {
            scene.add(&ours, "bash", pattern);
        }
        scene.add(&home("q", "/p"), "bash", "a");
        assert_eq!(scene.rows(), ["a1 bash a", "a2 bash b", "a3 bash a"]);
        let gone = scene.approvals.revoke(|kept| kept.id == "a3" || kept.id == "a1").unwrap();
        assert_eq!(gone.len(), 2);
        scene.add(&ours, "bash", "c");
        assert_eq!(scene.rows(), ["a2 bash b", "a4 bash c"]);
    }

    #[test]
    fn only_the_user_can_read_it_and_nothing_is_left_beside_it() {
        let scene = scene();
        scene.add(&home("p", "/p"), "bash", "a");
        let folder = scene.approvals.file.path().parent().unwrap();
        assert_eq!(fs::metadata(scene.approvals.file.path()).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(folder).unwrap().mode() & 0o777, 0o700);
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["approvals.json", "approvals.lock"]);
    }

    #[test]
    fn a_broken_file_is_put_aside_and_what_comes_next_is_kept() {
        let long = format!("{{\"version\":1,\"x\":\"{}\"}}", "y".repeat(usize::try_from(MAX_FILE).unwrap()));
        for text in
            ["", "{", "[]", "{\"version\":0}", "{\"version\":1,\"next\":1,\"approvals\":[{\"id\":1}]}", "\u{0}", &long]
        {
            let scene = scene();
            scene.write(text);
            assert!(scene.rows().is_empty(), "{text:.20}");
            let aside = scene.approvals.file.path().with_extension("json.broken");
            assert_eq!(fs::read_to_string(&aside).unwrap(), text);
            scene.add(&home("p", "/p"), "bash", "a");
            assert_eq!(scene.rows(), ["a1 bash a"]);
            scene.write(text);
            scene.add(&home("p", "/p"), "bash", "b");
            assert_eq!(scene.rows(), ["a1 bash b"]);
        }
    }

    #[tokio::test]
    async fn a_newer_file_and_one_that_others_can_write_are_left_alone() {
        let scene = scene();
        scene.write("{\"version\":2}");
        assert!(scene.approvals.read().unwrap_err().to_string().contains("newer haft"));
        assert!(scene.approvals.add(&home("p", "/p"), &[approval("bash", "a")], 1).is_err());
        assert_eq!(fs::read_to_string(scene.approvals.file.path()).unwrap(), "{\"version\":2}");
        let open = "{\"version\":1,\"next\":2,\"approvals\":[]}";
        scene.write(open);
        fs::set_permissions(scene.approvals.file.path(), fs::Permissions::from_mode(0o622)).unwrap();
        assert!(scene.approvals.read().unwrap_err().to_string().contains("others can write"));
        fs::rename(scene.approvals.file.path(), scene.approvals.file.path().with_extension("real")).unwrap();
        std::os::unix::fs::symlink("approvals.real", scene.approvals.file.path()).unwrap();
        assert!(scene.approvals.read().is_err(), "a link is not followed");
        // The gate asks again, and says so once.
        let keeping = scene.keeping(&home("p", "/p"));
        assert!(keeping.load().await.is_empty());
        keeping.add(&[approval("bash", "a")]);
        assert!(*keeping.told.lock().unwrap());
    }

    #[test]
    fn the_oldest_give_way_and_endless_patterns_are_not_kept() {
        let scene = scene();
        let many: Vec<Approval> = (0..MAX_KEPT + 2).map(|n| approval("bash", &n.to_string())).collect();
        let ours = home("p", "/p");
        scene.approvals.add(&ours, &many, 1).unwrap();
        let rows = scene.rows();
        assert_eq!((rows.len(), rows[0].as_str()), (MAX_KEPT, "a3 bash 2"));
        scene.add(&ours, "bash", &"x".repeat(MAX_PATTERN + 1));
        scene.add(&ours, "bash", &"x".repeat(MAX_PATTERN));
        assert!(scene.rows().last().unwrap().ends_with(&format!(" {}", "x".repeat(MAX_PATTERN))));
        assert_eq!(scene.rows().len(), MAX_KEPT);
    }

    #[test]
    fn no_file_is_written_that_is_too_long_to_be_read() {
        let scene = scene();
        // Nothing takes more room in JSON than what is escaped.
        let long = "\u{1}".repeat(MAX_PATTERN - 4);
        let many: Vec<Approval> = (0..MAX_KEPT).map(|n| approval("bash", &format!("{long}{n}"))).collect();
        scene.approvals.add(&home("p", "/p"), &many, u64::MAX).unwrap();
        let kept = scene.approvals.read().unwrap();
        assert!((MAX_KEPT / 8..MAX_KEPT).contains(&kept.len()), "{}", kept.len());
        assert_eq!(kept.last().unwrap().pattern, many.last().unwrap().pattern);
    }

    #[test]
    fn processes_that_write_at_once_lose_nothing() {
        let scene = scene();
        let ours = home("p", "/p");
        std::thread::scope(|threads| {
            for thread in 0..4 {
                let (approvals, ours) = (&scene.approvals, &ours);
                threads.spawn(move || {
                    for n in 0..5 {
                        approvals.add(ours, &[approval("bash", &format!("{thread} {n}"))], 1).unwrap();
                    }
                });
            }
        });
        assert_eq!(scene.rows().len(), 20);
    }
}
