//! `haft trust`: what a project's own settings would do, and whether they may.

use std::cell::RefCell;

use anyhow::Result;
use haft_config::{Stakes, Trust as Given};
use haft_permission::Answerer;
use serde_json::{Value, json};

use crate::args::Trust;
use crate::folders::Folders;
use crate::render::{self, spelled};
use crate::report::{Exit, Usage};
use crate::trust::{self, Answer, Kept, Trusted};
use crate::{ask, wire};

pub(crate) fn run(args: Trust) -> Result<Exit> {
    let folders = Folders::find()?;
    let trusted = Trusted::in_folder(&folders.data);
    if args.list {
        return list(&trusted.read()?, args.json);
    }
    let place = wire::place(args.dir.as_deref())?;
    let Some(folder) = trust::folder(&place) else {
        return Err(Usage("the name of this folder is no text, so no answer can be kept for it".to_owned()).into());
    };
    if let Some(id) = args.revoke {
        return revoke(&trusted, folder, &id);
    }
    let kept = trusted.read()?;
    let earlier = |stakes: &Stakes| {
        let same = |kept: &&Kept| kept.folder == folder && kept.digest == stakes.digest;
        kept.iter().find(same).map(|kept| kept.answer)
    };
    let put = RefCell::new(None);
    // What is shown is what was read, and only that is trusted.
    let decide = |stakes: &Stakes| {
        let known = trust::known(&kept, folder);
        if !args.json {
            render::complain(trust::full(stakes, &known).trim_end());
        }
        let answer = match (earlier(stakes), args.yes) {
            (Some(Answer::Yes), _) | (_, true) => Some(Answer::Yes),
            _ if args.json || ask::answerer(false) != Answerer::Person => None,
            _ => trust::ask_person(stakes, &kept, folder),
        };
        // What was trusted before needs no answer again.
        *put.borrow_mut() = answer.filter(|_| earlier(stakes) != Some(Answer::Yes));
        answer == Some(Answer::Yes)
    };
    let config = haft_config::load(&wire::sources(&folders, &place), Given::Asked(&decide))?;
    let answer = put.into_inner();
    if let Some(answer) = answer {
        trust::keep(&trusted, folder, &config.stakes, answer)?;
    }
    if args.json {
        let items: Vec<Value> = config.stakes.items.iter().map(trust::item_json).collect();
        let digest = &config.stakes.digest;
        let value = json!({ "folder": folder, "trusted": config.trusted, "digest": digest, "items": items });
        render::say_json(&value, false)?;
        return Ok(Exit::Done);
    }
    Ok(tell(&config.stakes, config.trusted, answer))
}

/// Says how it ended.
fn tell(stakes: &Stakes, trusted: bool, answer: Option<Answer>) -> Exit {
    let (text, exit) = match (trusted, answer) {
        _ if stakes.is_empty() => ("there is nothing here that needs trust", Exit::Done),
        (true, Some(_)) => ("trusted as it is now; haft asks again when any of it changes", Exit::Done),
        (true, None) => ("all of this is trusted already; `haft trust --revoke` takes it back", Exit::Done),
        (false, Some(_)) => ("not trusted; haft does not ask again as long as it stays the same", Exit::Done),
        (false, None) if stakes.unseen.is_some() => {
            render::complain(&trust::in_short(stakes));
            return Exit::Failed;
        }
        (false, None) => ("not trusted: nobody is there to answer; --yes is a yes", Exit::Denied),
    };
    render::complain(text);
    exit
}

fn list(kept: &[Kept], json: bool) -> Result<Exit> {
    if json {
        let rows: Vec<Value> = kept.iter().map(Kept::to_json).collect();
        render::say_json(&Value::from(rows), false)?;
        return Ok(Exit::Done);
    }
    if kept.is_empty() {
        render::complain("no project is trusted yet");
    }
    let wide = kept.iter().map(|kept| kept.id.len()).max().unwrap_or_default();
    for Kept { id, folder, answer, digest, .. } in kept {
        let word = match answer {
            Answer::Yes => "trusted",
            Answer::No => "refused",
        };
        let short = digest.get(..12).unwrap_or(digest);
        render::say(&spelled(&format!("{id:wide$}  {word}  {short}  {folder}")))?;
    }
    Ok(Exit::Done)
}

/// Forgets the answer called `id`, or all of `folder` where that is empty.
fn revoke(trusted: &Trusted, folder: &str, id: &str) -> Result<Exit> {
    let gone = trusted.revoke(|kept| if id.is_empty() { kept.folder == folder } else { kept.id == id })?;
    if gone.is_empty() {
        return Err(Usage("there is no such answer to take back; see `haft trust --list`".to_owned()).into());
    }
    for Kept { id, folder, .. } in &gone {
        render::complain(&spelled(&format!("{id} is forgotten: {folder} is asked about again")));
    }
    Ok(Exit::Done)
}
