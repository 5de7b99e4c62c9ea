//! `trust.json` in the user's data folder: which contents of which projects were trusted, and which were not. Never a
//! file that a project brings along.

use std::path::Path;

use anyhow::Result;
use haft_config::Stakes;
use serde_json::{Value, json};

use crate::own_file::{self, Content as _, MAX_FILE, OwnFile};

/// The name of the file.
pub(crate) const FILE: &str = "trust.json";
/// Most answers of all projects; the oldest give way.
const MAX_KEPT: usize = 500;
/// Most answers of one project: its branches and folders may each say something else.
const MAX_OF_ONE: usize = 16;
/// How much of an item's digest is kept, in letters. It only tells what is new; the whole digest decides.
const SHORT: usize = 16;

/// What was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    /// The person is not asked again about the same content.
    No,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Names it to the person: `t7`. Never used again.
    pub id: String,
    /// The work tree, or the working folder where there is none; absolute and without links.
    pub folder: String,
    /// What it was about: [`Stakes::digest`].
    pub digest: String,
    pub answer: Answer,
    /// The beginnings of the digests of the items.
    pub items: Vec<String>,
    /// When it was given, in Unix milliseconds.
    pub created: u64,
}

/// The file.
#[derive(Debug, Clone)]
pub(crate) struct Trusted {
    file: OwnFile<Content>,
}

/// What the file says.
#[derive(Debug, Clone, PartialEq)]
struct Content {
    /// The number of the next id.
    next: u64,
    kept: Vec<Kept>,
}

impl Trusted {
    /// The file in the folder `data`, which need not be there yet.
    pub(crate) fn in_folder(data: &Path) -> Self {
        Self { file: OwnFile::at(data.join(FILE)) }
    }

    /// All answers, oldest first. A file that cannot be made out is put aside and told of.
    ///
    /// # Errors
    ///
    /// When it cannot be read, belongs to others, or was made by a newer haft.
    pub(crate) fn read(&self) -> Result<Vec<Kept>> {
        Ok(self.file.read()?.kept)
    }

    /// Keeps the answer about `stakes`, in place of an earlier one about the same.
    pub(crate) fn answer(&self, folder: &str, stakes: &Stakes, answer: Answer, now: u64) -> Result<()> {
        self.file.change(|content| {
            content.kept.retain(|kept| kept.folder != folder || kept.digest != stakes.digest);
            content.kept.push(Kept {
                id: format!("t{}", content.next),
                folder: folder.to_owned(),
                digest: stakes.digest.clone(),
                answer,
                items: stakes.items.iter().map(|item| item.digest.chars().take(SHORT).collect()).collect(),
                created: now,
            });
            content.next += 1;
            let of_one = content.kept.iter().filter(|kept| kept.folder == folder).count();
            let mut over = of_one.saturating_sub(MAX_OF_ONE);
            content.kept.retain(|kept| {
                let goes = kept.folder == folder && over > 0;
                over -= usize::from(goes);
                !goes
            });
            let over = content.kept.len().saturating_sub(MAX_KEPT);
            content.kept.drain(..over);
            while content.kept.len() > 1 && content.to_text().len() as u64 > MAX_FILE {
                content.kept.drain(..content.kept.len().div_ceil(4).min(content.kept.len() - 1));
            }
        })
    }

    /// Forgets those answers that `chosen` picks, and gives them back.
    pub(crate) fn revoke(&self, chosen: impl Fn(&Kept) -> bool) -> Result<Vec<Kept>> {
        let mut gone = Vec::new();
        self.file.change(|content| gone = content.kept.extract_if(.., |kept| chosen(kept)).collect())?;
        Ok(gone)
    }
}

impl own_file::Content for Content {
    const VERSION: u64 = 1;
    const WITHOUT: &'static str = "no project is trusted before its question is answered again";

    fn empty() -> Self {
        Self { next: 1, kept: Vec::new() }
    }

    fn from_json(value: &Value) -> Option<Self> {
        let one = |value: &Value| {
            let text = |key: &str| value[key].as_str().map(str::to_owned);
            let items = value["items"].as_array()?.iter().map(|item| item.as_str().map(str::to_owned));
            Some(Kept {
                id: text("id")?,
                folder: text("folder")?,
                digest: text("digest").filter(|digest| !digest.is_empty())?,
                answer: if value["trusted"].as_bool()? { Answer::Yes } else { Answer::No },
                items: items.collect::<Option<_>>()?,
                created: value["created"].as_u64()?,
            })
        };
        let kept = value["answers"].as_array()?.iter().map(one).collect::<Option<_>>()?;
        Some(Self { next: value["next"].as_u64()?, kept })
    }

    fn to_text(&self) -> String {
        let one = |kept: &Kept| {
            let mut value = kept.to_json();
            value["items"] = json!(kept.items);
            value
        };
        let answers: Vec<Value> = self.kept.iter().map(one).collect();
        json!({ "version": Self::VERSION, "next": self.next, "answers": answers }).to_string()
    }
}

impl Kept {
    /// As `haft trust --list --json` has it.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "folder": self.folder,
            "trusted": self.answer == Answer::Yes,
            "digest": self.digest,
            "created": self.created,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_config::{Effect, Stake};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn stakes(name: &str) -> Stakes {
        let digest = format!("{name}{}", "0".repeat(64 - name.len()));
        let item = Stake {
            effect: Effect::Runs,
            key: "shell".to_owned(),
            origin: "/p/haft.json".to_owned(),
            why: String::new(),
            text: String::new(),
            digest: digest.clone(),
        };
        Stakes { items: vec![item], digest, unseen: None }
    }

    fn rows(trusted: &Trusted) -> Vec<String> {
        let row = |kept: Kept| format!("{} {} {} {:?}", kept.id, kept.folder, &kept.digest[..3], kept.answer);
        trusted.read().unwrap().into_iter().map(row).collect()
    }

    #[test]
    fn answers_are_kept_for_a_folder_and_a_content() {
        let folder = tempfile::tempdir().unwrap();
        let trusted = Trusted::in_folder(&folder.path().join("data"));
        assert!(rows(&trusted).is_empty());
        trusted.answer("/p", &stakes("one"), Answer::No, 1).unwrap();
        trusted.answer("/p", &stakes("two"), Answer::Yes, 2).unwrap();
        trusted.answer("/q", &stakes("one"), Answer::Yes, 3).unwrap();
        trusted.answer("/p", &stakes("one"), Answer::Yes, 4).unwrap();
        assert_eq!(rows(&trusted), ["t2 /p two Yes", "t3 /q one Yes", "t4 /p one Yes"]);
        assert_eq!(trusted.read().unwrap()[0].items, ["two0000000000000"]);
        let mode = fs::metadata(trusted.file.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(trusted.revoke(|kept| kept.folder == "/p").unwrap().len(), 2);
        assert_eq!(rows(&trusted), ["t3 /q one Yes"]);
    }

    #[test]
    fn the_oldest_give_way() {
        let folder = tempfile::tempdir().unwrap();
        let trusted = Trusted::in_folder(folder.path());
        trusted.answer("/other", &stakes("one"), Answer::Yes, 1).unwrap();
        for n in 0..MAX_OF_ONE + 2 {
            trusted.answer("/p", &stakes(&format!("n{n:02}")), Answer::Yes, 1).unwrap();
        }
        let rows = rows(&trusted);
        assert_eq!((rows.len(), rows[1].as_str()), (MAX_OF_ONE + 1, "t4 /p n02 Yes"));
    }

    #[test]
    fn no_file_is_written_that_is_too_long_to_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let trusted = Trusted::in_folder(folder.path());
        let mut large = stakes("one");
        large.items = vec![large.items[0].clone(); 5_000];
        let folder_name = "x".repeat(4_096);
        for n in 0..18 {
            trusted.answer(&format!("/{n}{folder_name}"), &large, Answer::Yes, 1).unwrap();
        }
        let kept = trusted.read().unwrap();
        assert!(kept.len() > 5 && kept.len() < 18 && kept.last().unwrap().folder.starts_with("/17"), "{}", kept.len());
    }

    #[test]
    fn a_file_of_somebody_else_or_of_a_newer_haft_trusts_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let trusted = Trusted::in_folder(folder.path());
        for broken in ["", "{", "[]", "{\"version\":1}", "{\"version\":1,\"next\":1,\"answers\":[{}]}"] {
            fs::write(trusted.file.path(), broken).unwrap();
            fs::set_permissions(trusted.file.path(), fs::Permissions::from_mode(0o600)).unwrap();
            assert!(rows(&trusted).is_empty(), "{broken}");
        }
        trusted.answer("/p", &stakes("one"), Answer::Yes, 1).unwrap();
        assert_eq!(rows(&trusted), ["t1 /p one Yes"]);
        assert!(trusted.file.path().with_extension("json.broken").is_file());
        fs::set_permissions(trusted.file.path(), fs::Permissions::from_mode(0o622)).unwrap();
        assert!(trusted.read().unwrap_err().to_string().contains("others can write"));
        fs::write(trusted.file.path(), "{\"version\":2}").unwrap();
        fs::set_permissions(trusted.file.path(), fs::Permissions::from_mode(0o600)).unwrap();
        assert!(trusted.read().unwrap_err().to_string().contains("newer haft"));
        fs::rename(trusted.file.path(), folder.path().join("real")).unwrap();
        std::os::unix::fs::symlink("real", trusted.file.path()).unwrap();
        assert!(trusted.read().is_err(), "a link is not followed");
    }
}
