//! `haft permission`: what was allowed for always, and taking it back.

use anyhow::Result;

use crate::approvals::{Approvals, Home, Kept};
use crate::args::Permission;
use crate::folders::Folders;
use crate::render::{self, spelled};
use crate::report::{Exit, Usage};
use crate::wire;

pub(crate) fn run(command: Permission) -> Result<Exit> {
    let approvals = Approvals::in_folder(&Folders::find()?.data);
    match command {
        Permission::List { json, all, dir } => {
            let here = Home::of(&wire::place(dir.as_deref())?);
            let mut kept = approvals.read()?;
            kept.retain(|kept| all || here.as_ref() == Some(&kept.home));
            list(&kept, json, all)
        }
        Permission::Revoke { permission, pattern, all, dir } => {
            let here = Home::of(&wire::place(dir.as_deref())?);
            let chosen = Chosen { permission, pattern, all };
            revoke(&approvals, here.as_ref(), &chosen)
        }
    }
}

fn list(kept: &[Kept], json: bool, all: bool) -> Result<Exit> {
    if json {
        let rows: Vec<_> = kept.iter().map(Kept::to_json).collect();
        render::say_json(&serde_json::Value::from(rows), false)?;
        return Ok(Exit::Done);
    }
    if kept.is_empty() {
        let place = if all { "" } else { " in this project; --all shows those of others" };
        render::complain(&format!("nothing was allowed for always{place}"));
    }
    let wide = kept.iter().map(|kept| kept.id.chars().count()).max().unwrap_or_default();
    for kept in kept {
        let folder = if all { format!("  ({})", kept.home.folder) } else { String::new() };
        // As it was spelled, without what a terminal would obey.
        render::say(&spelled(&format!("{:wide$}  {}{folder}", kept.id, kept.rule())))?;
    }
    Ok(Exit::Done)
}

/// Which approvals are to go: one by its id, or those of a project that the words name.
struct Chosen {
    permission: Option<String>,
    pattern: Option<String>,
    all: bool,
}

impl Chosen {
    fn holds(&self, kept: &Kept, here: Option<&Home>) -> bool {
        let ours = here == Some(&kept.home);
        match (&self.permission, &self.pattern) {
            (None, _) => self.all && ours,
            (Some(named), None) => *named == kept.id || ours && *named == kept.permission,
            (Some(permission), Some(pattern)) => ours && *permission == kept.permission && *pattern == kept.pattern,
        }
    }
}

fn revoke(approvals: &Approvals, here: Option<&Home>, chosen: &Chosen) -> Result<Exit> {
    let gone = approvals.revoke(|kept| chosen.holds(kept, here))?;
    if gone.is_empty() && !chosen.all {
        return Err(
            Usage("nothing was allowed for always under that name; see `haft permission list`".to_owned()).into()
        );
    }
    for kept in &gone {
        render::complain(&spelled(&format!("haft asks again; taken back: {}", kept.rule())));
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_one_of_any_project_and_words_those_of_this_one() {
        let home = |project: &str| Home { project: project.to_owned(), folder: "/p".to_owned() };
        let row = |words: [Option<&str>; 2], all: bool, project: &str, want: bool| {
            let [permission, pattern] = words.map(|word| word.map(str::to_owned));
            let chosen = Chosen { permission, pattern, all };
            let kept = Kept {
                id: "a7".to_owned(),
                home: home(project),
                permission: "bash".to_owned(),
                pattern: "git *".to_owned(),
                created: 1,
            };
            assert_eq!(chosen.holds(&kept, Some(&home("here"))), want, "{words:?} {all} {project}");
        };
        row([Some("a7"), None], false, "other", true);
        row([Some("a71"), None], false, "here", false);
        row([Some("bash"), None], false, "here", true);
        row([Some("bash"), None], false, "other", false);
        row([Some("bash"), Some("git *")], false, "here", true);
        row([Some("bash"), Some("git")], false, "here", false);
        row([Some("a7"), Some("git *")], false, "here", false);
        row([None, None], true, "here", true);
        row([None, None], true, "other", false);
        row([None, None], false, "here", false);
    }
}
