//! Whether a project's own settings count: what was answered before, the person, the command line.

mod file;
mod shown;

use std::sync::OnceLock;

use haft_config::{Config, Sources, Stakes, Trust};
use haft_project::Place;
use haft_protocol::Clock;

pub(crate) use self::file::{Answer, FILE, Kept, Trusted};
pub(crate) use self::shown::{brief, full, in_short, item_json};
use crate::folders::Folders;
use crate::{ask, network, render};

/// Whether the command line, or `HAFT_TRUST` with `1` or `true`, says that the project is trusted while this program
/// runs. Set once by `main`, before anything asks.
static GIVEN: OnceLock<bool> = OnceLock::new();

/// Takes the command line's word.
pub(crate) fn give(by_flag: bool) {
    let by_variable = std::env::var("HAFT_TRUST").is_ok_and(|word| word == "1" || word.eq_ignore_ascii_case("true"));
    // A second word changes nothing.
    let _ = GIVEN.set(by_flag || by_variable);
}

/// Who is asked where nobody has answered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    /// The person at the terminal, once for each content.
    Person,
    Nobody,
}

/// The folder that an answer belongs to: the work tree, or the working folder where there is none. `None` where its name
/// is no text: two such names might look alike.
pub(crate) fn folder(place: &Place) -> Option<&str> {
    place.worktree.as_deref().unwrap_or(&place.directory).to_str()
}

/// Reads the settings that hold in `place`, with those of the project as far as it is trusted, and says what does not
/// count of them.
///
/// # Errors
///
/// Those of [`haft_config::load`].
pub(crate) fn load(folders: &Folders, place: &Place, sources: &Sources, asking: Asking) -> anyhow::Result<Config> {
    let decided = |stakes: &Stakes| decide(folders, place, stakes, asking);
    let mut config = haft_config::load(sources, trust(&decided))?;
    network::follow(&mut config);
    if !config.trusted && !config.stakes.is_empty() {
        render::complain(&format!("! {}", in_short(&config.stakes)));
    }
    Ok(config)
}

/// The trust of this run: given by the command line, else by what `decided` says.
pub(crate) fn trust<'a>(decided: &'a dyn Fn(&Stakes) -> bool) -> Trust<'a> {
    if GIVEN.get().copied().unwrap_or(false) { Trust::Given } else { Trust::Asked(decided) }
}

/// Whether the project in `place` is trusted with what is at stake. What cannot be read or kept is a no, and told.
pub(crate) fn decide(folders: &Folders, place: &Place, stakes: &Stakes, asking: Asking) -> bool {
    let Some(folder) = folder(place) else { return false };
    let trusted = Trusted::in_folder(&folders.data);
    let kept = match trusted.read() {
        Ok(kept) => kept,
        Err(error) => {
            render::complain(&format!("warning: nothing is trusted: {error:#}"));
            return false;
        }
    };
    if let Some(kept) = kept.iter().find(|kept| kept.folder == folder && kept.digest == stakes.digest) {
        return kept.answer == Answer::Yes;
    }
    if asking == Asking::Nobody {
        return false;
    }
    let Some(answer) = ask_person(stakes, &kept, folder) else { return false };
    if let Err(error) = keep(&trusted, folder, stakes, answer) {
        render::complain(&format!("warning: the answer holds for this run alone: {error:#}"));
    }
    answer == Answer::Yes
}

/// Remembers an answer.
pub(crate) fn keep(trusted: &Trusted, folder: &str, stakes: &Stakes, answer: Answer) -> anyhow::Result<()> {
    let now = crate::wire::clock().unwrap_or_else(|_| Clock::system()).now_ms();
    trusted.answer(folder, stakes, answer, now)
}

/// Puts the question until the answer is clear. `None` where nobody answers.
pub(crate) fn ask_person(stakes: &Stakes, kept: &[Kept], folder: &str) -> Option<Answer> {
    let known = known(kept, folder);
    let mut shown = brief(stakes, &known);
    loop {
        let line = ask::read_line(&format!("{shown}{CHOICES}")).ok().flatten()?;
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return Some(Answer::Yes),
            "n" | "no" => return Some(Answer::No),
            "l" | "look" => shown = full(stakes, &known),
            _ => shown = String::new(),
        }
    }
}

/// The digests of all items that were trusted in `folder` before.
pub(crate) fn known<'a>(kept: &'a [Kept], folder: &str) -> Vec<&'a str> {
    let yes = kept.iter().filter(|kept| kept.folder == folder && kept.answer == Answer::Yes);
    yes.flat_map(|kept| kept.items.iter().map(String::as_str)).collect()
}

const CHOICES: &str = "  [y] yes, trust it as it is now  [n] no, go on without  [l] look at all of it: ";
