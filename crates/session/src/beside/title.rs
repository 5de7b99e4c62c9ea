//! Titles: a small model names a session after its first prompt, beside the turn that answers it.

use std::future::pending;

use haft_llm::Purpose;
use haft_protocol::{Event, History, PartKind, Session};
use tokio_util::task::AbortOnDropHandle;

use crate::agents::agent::TITLES;
use crate::beside::{Heard, Helper, spoken};
use crate::error::TurnError;
use crate::kin::Kin;
use crate::setup::Setup;
use crate::turn::record_all;

/// Longest title, in characters.
const LONGEST: usize = 100;
/// Most characters of a prompt that are shown to whoever names the session.
const MAX_SHOWN: usize = 8_000;

/// A title that is being found. Dropping it gives it up.
pub(crate) struct Titling {
    /// The title that it is to take the place of.
    instead: String,
    work: AbortOnDropHandle<Heard>,
}

/// What came of it.
pub(crate) struct Titled {
    instead: String,
    heard: Heard,
}

impl Titling {
    /// Begins to find a title for a session that begins with `parts`. `None`: nobody is there to find one, or no money.
    pub(crate) fn begin(setup: &Setup, record: &Session, parts: &[PartKind], kin: &Kin) -> Option<Self> {
        let words = said(parts);
        if record.parent_id.is_some() || words.is_empty() {
            return None;
        }
        let helper = Helper::find(setup, &record.id, TITLES, Purpose::Title, kin)?;
        let text = format!("Name the conversation that begins with this message:\n\n<message>\n{words}\n</message>");
        let work = AbortOnDropHandle::new(tokio::spawn(helper.ask(text)));
        Some(Self { instead: record.title.clone(), work })
    }

    /// Whether it is found, or will not be.
    pub(crate) fn is_finished(&self) -> bool {
        self.work.is_finished()
    }
}

/// Waits until a title is found, and takes it; for ever where none is looked for.
pub(crate) async fn found(titling: &mut Option<Titling>) -> Titled {
    let Some(Titling { work, instead }) = titling else { return pending().await };
    let heard = work.await.unwrap_or_default();
    let instead = instead.clone();
    *titling = None;
    Titled { instead, heard }
}

impl Titled {
    /// Gives the session its title, unless somebody named it meanwhile, and books what it cost.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    pub(crate) async fn keep(
        self,
        setup: &Setup,
        record: &mut Session,
        history: &mut History,
        kin: &Kin,
    ) -> Result<(), TurnError> {
        let Self { instead, heard } = self;
        let title = heard.text.as_deref().and_then(title).filter(|_| record.title == instead);
        let costs = heard.charge(record, kin);
        if title.is_none() && !costs {
            return Ok(());
        }
        if let Some(title) = title {
            record.title = title;
        }
        let info = Box::new(record.clone());
        record_all(setup, history, vec![Event::SessionUpdated { session_id: record.id.clone(), info }]).await
    }
}

/// The words of a first prompt.
fn said(parts: &[PartKind]) -> String {
    let words = parts.iter().filter_map(|part| match part {
        PartKind::Text { text, synthetic: false, ignored: false, .. } => Some(text.trim()),
        PartKind::Subtask(task) => Some(task.prompt.trim()),
        _ => None,
    });
    words.collect::<Vec<_>>().join("\n").chars().take(MAX_SHOWN).collect::<String>().trim().to_owned()
}

/// The title that `answer` gives: its first line without thoughts, marks around it and control characters.
pub(crate) fn title(answer: &str) -> Option<String> {
    let line = |line: &str| {
        let line: String = line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        line.trim().trim_matches(['"', '*', '#', '`', '“', '”', ' ']).to_owned()
    };
    let line = spoken(answer).lines().map(line).find(|line| !line.is_empty())?;
    if line.chars().count() <= LONGEST {
        return Some(line);
    }
    let cut: String = line.chars().take(LONGEST - 3).collect();
    Some(format!("{cut}..."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_line_of_what_is_no_thought() {
        let row = |answer: &str, want: Option<&str>| assert_eq!(title(answer).as_deref(), want, "{answer:?}");
        row("Login fails", Some("Login fails"));
        row("\n  \n\"Login fails\"\nMore.", Some("Login fails"));
        row("<think>Hm.\nWhat?</think>\n\nLogin fails", Some("Login fails"));
        row("a <think>b</think>c", Some("a c"));
        row("Hm.</think>Login fails", Some("Login fails"));
        row("<think>never ends", None);
        row("", None);
        row("**Login** fails\u{1b}[2J", Some("Login** fails [2J"));
        row(&"é".repeat(100), Some(&"é".repeat(100)));
        row(&"é".repeat(101), Some(&format!("{}...", "é".repeat(97))));
    }
}
