//! Line mode: a chat in the terminal's own scroll-back. What is printed stays as it is; only what moves, and below it
//! the line that is typed, is drawn anew.
//!
//! `talk` is the loop, `commands` what a line means, `deeds` what the chat's own commands do, `asks` what waits for an
//! answer, `editor` where lines come from, `known` what it completes, `rewind` what is taken back, `lists` and `status` what is shown.

mod asks;
pub(crate) mod commands;
mod deeds;
pub(crate) mod editor;
mod known;
mod lists;
mod rewind;
mod status;
mod talk;

pub(crate) use self::lists::summary;

use std::io::IsTerminal;
use std::sync::Arc;

use anyhow::Result;
use haft_session::Session;

use self::editor::{Complete, Editor, Habits, LineSource, Plain, can_edit};
use self::talk::{Chosen, Opening, Talk};
use crate::args::Chat;
use crate::commands::run::{folder, is_of, resumed};
use crate::folders::Folders;
use crate::render::{self, Console, Looks, Paint, Render, Terminal, Text, WholeLines};
use crate::report::{Exit, Usage};
use crate::trust::Asking;
use crate::wire::{Ground, clock, journal, place};
use crate::{agents, ask};

/// Whether there is somebody, or something, to talk with: a terminal, or a pipe that brings lines.
pub(crate) fn can_talk() -> bool {
    std::io::stdin().is_terminal() || !crate::stdin::is_device()
}

pub(crate) async fn run(args: Chat) -> Result<Exit> {
    if let Some(dir) = args.dir.as_deref().filter(|dir| !dir.is_dir()) {
        return Err(Usage(no_folder(&dir.display().to_string())).into());
    }
    let (folders, here) = (Folders::find()?, place(args.dir.as_deref())?);
    let journal = journal(&folders).await?;
    let opening = open(&args, folders, here, &journal).await;
    let end = match opening {
        Ok(opening) => talk(args, opening).await,
        Err(error) => Err(error),
    };
    // What is told is stored; this writes what was still growing.
    let closed = journal.close().await;
    let end = end?;
    closed?;
    Ok(end)
}

/// What to say where the first word is no folder: it may have been meant for a command, or for the agent.
fn no_folder(word: &str) -> String {
    let names = <crate::args::Cli as clap::CommandFactory>::command();
    let names = names.get_subcommands().map(clap::Command::get_name);
    let alike = |name: &str| strsim::normalized_damerau_levenshtein(word, name);
    let near = names.filter(|name| alike(name) >= 0.6).max_by(|one, other| alike(one).total_cmp(&alike(other)));
    let meant = near.map_or_else(String::new, |near| format!("; did you mean `haft {near}`?"));
    let prompt = if word.contains(' ') { "; a prompt follows `haft run` or `haft --prompt`" } else { "" };
    format!("there is neither a folder nor a command called {word:?}{meant}{prompt}")
}

/// Finds out about what the chat is, and with whom.
async fn open(
    args: &Chat,
    folders: Folders,
    here: haft_project::Place,
    journal: &haft_store::Journal,
) -> Result<Opening> {
    let mut resumed = resumed(args.session.as_deref(), args.r#continue, &here, journal).await?;
    if let Some(record) = resumed.as_ref().filter(|_| args.dir.is_some()) {
        is_of(record, &here)?;
    }
    if let Some(record) = resumed.as_ref().filter(|_| !args.fork) {
        crate::commands::session::follow::offer(journal, record).await?;
    }
    let answerer = if std::io::stdin().is_terminal() || args.auto {
        ask::answerer(args.auto)
    } else {
        // Lines that come from a pipe are prompts; none of them answers a question.
        haft_permission::Answerer::Nobody
    };
    let asking = if answerer == haft_permission::Answerer::Person { Asking::Person } else { Asking::Nobody };
    let ground = Ground::of(folders, resumed.as_ref().map_or(Ok(here), folder)?, asking)?.heard().await?;
    let retention = ground.config.retention;
    crate::retention::apply(journal, retention, resumed.as_ref(), &ground.folders.data, clock()?.now_ms()).await;
    if let Some(record) = resumed.as_mut().filter(|_| args.fork) {
        let copy = Session::fork(journal, &clock()?, &record.id, None).await?;
        let unknown = || haft_session::SessionError::Unknown(copy.clone());
        *record = journal.session(&copy).await?.ok_or_else(unknown)?;
    }
    let agents = agents::all(&ground)?;
    let kept = resumed.as_ref().and_then(|record| record.agent.clone());
    let agent = agents::choose(&agents, args.agent.as_deref().or(kept.as_deref()));
    agents::warn_of_open_plan(&agent);
    let named = args.model.clone().or_else(|| std::env::var("HAFT_MODEL").ok()).filter(|named| !named.is_empty());
    let kept = resumed.as_ref().and_then(|record| record.model.as_ref());
    let kept = kept.map(|model| format!("{}/{}", model.provider_id, model.id));
    let chosen = Chosen { is_named: named.is_some(), name: named.or(kept), variant: args.variant.clone() };
    Ok(Opening { ground, journal: journal.clone(), answerer, agents, agent, chosen, resumed })
}

/// Talks until the person leaves.
async fn talk(args: Chat, opening: Opening) -> Result<Exit> {
    let is_terminal = std::io::stdin().is_terminal();
    let usual = Paint::new(!args.plain && render::out_is_terminal());
    // What somebody named for the full screen may be known here too; nothing paints where nothing may be painted.
    let theme = opening.ground.config.screen.get("theme").and_then(|theme| theme.as_str()).and_then(deeds::theme);
    let paint = theme.filter(|_| usual.is_on()).unwrap_or(usual);
    let looks = Looks { thinking: false, details: true, paint };
    let Faces { mut source, face, complete } = faces(&args, looks, &opening)?;
    let mut talk = Talk::new(opening, face, looks, complete, is_terminal);
    let replay = if args.no_replay { 0 } else { args.replay_limit };
    talk.greet(replay).await?;
    let end = talk.run(source.as_mut(), args.prompt).await;
    source.release();
    end
}

/// Where lines come from, and who shows what happens.
struct Faces {
    source: Box<dyn LineSource>,
    face: Box<dyn Render>,
    /// What the editor completes, if there is one.
    complete: Option<Arc<Complete>>,
}

fn faces(args: &Chat, looks: Looks, opening: &Opening) -> Result<Faces> {
    if args.plain || !can_edit() {
        let out = WholeLines::new(render::out());
        let shown = Text::new(out, render::errors(), render::out_is_terminal(), looks.thinking, looks.paint, clock()?);
        return Ok(Faces { source: Box::new(Plain::new()), face: Box::new(shown), complete: None });
    }
    // However the program ends, the terminal is as it was.
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        editor::give_back();
        told(panic);
    }));
    let ground = &opening.ground;
    let complete = Arc::new(Complete::new(ground.place.directory.clone()));
    let habits = Habits {
        summary: !ground.config.experimental.disable_paste_summary,
        paint: looks.paint,
        state: ground.folders.state.clone(),
    };
    let source = Editor::new(habits, Arc::<Complete>::clone(&complete));
    let face = Terminal::new(Console::here(), looks.thinking, looks.paint, clock()?);
    Ok(Faces { source: Box::new(source), face: Box::new(face), complete: Some(complete) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_in_a_command_is_answered_with_the_command() {
        let row = |word: &str, want: &str| assert_eq!(no_folder(word), want);
        row("rnu", "there is neither a folder nor a command called \"rnu\"; did you mean `haft run`?");
        row(
            "fix it",
            "there is neither a folder nor a command called \"fix it\"; a prompt follows `haft run` or `haft --prompt`",
        );
        row("xyzzy", "there is neither a folder nor a command called \"xyzzy\"");
    }
}
