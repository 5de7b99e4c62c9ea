//! What a turn came to, in words: a small model says it behind the turn, where the settings want that.

use std::future::pending;

use haft_llm::Purpose;
use haft_protocol::{Event, History, Message, MessageId, Session, TurnSummary};
use tokio_util::task::AbortOnDropHandle;

use crate::agent::DESCRIBES;
use crate::beside::{Heard, Helper, spoken};
use crate::compact::transcript;
use crate::error::TurnError;
use crate::kin::Kin;
use crate::setup::Setup;
use crate::title::title;
use crate::turn::record_all;

/// Most bytes of a turn that are shown to whoever sums it up.
const MAX_SHOWN: usize = 32 * 1024;
/// Longest text that is kept, in characters.
const LONGEST: usize = 2_000;

/// A text that is being written. Dropping it gives it up.
pub(crate) struct Gist {
    /// The first prompt that the turn answers.
    prompt: MessageId,
    work: AbortOnDropHandle<Heard>,
}

/// What came of it.
pub(crate) struct Written {
    prompt: MessageId,
    heard: Heard,
}

impl Gist {
    /// Begins to sum up the turn that answers `prompt`. `None`: it is not wanted, nobody is there for it, or no money.
    pub(crate) fn begin(
        setup: &Setup,
        record: &Session,
        history: &History,
        prompt: &MessageId,
        kin: &Kin,
    ) -> Option<Self> {
        if !setup.options.gists || record.parent_id.is_some() {
            return None;
        }
        let messages = history.messages();
        let at = messages.iter().rposition(|turned| turned.info.id() == prompt)?;
        let shown = transcript(messages[at..].iter(), MAX_SHOWN);
        if shown.is_empty() {
            return None;
        }
        let helper = Helper::find(setup, DESCRIBES, Purpose::Summary, kin)?;
        let text = format!("Sum up what was done here:\n\n<conversation>\n{shown}</conversation>");
        let work = AbortOnDropHandle::new(tokio::spawn(helper.ask(text)));
        Some(Self { prompt: prompt.clone(), work })
    }
}

/// Waits until a text is written, and takes it; for ever where none is being written.
pub(crate) async fn written(gist: &mut Option<Gist>) -> Written {
    let Some(Gist { work, prompt }) = gist else { return pending().await };
    let heard = work.await.unwrap_or_default();
    let prompt = prompt.clone();
    *gist = None;
    Written { prompt, heard }
}

impl Written {
    /// Puts the text beside its prompt, if that is still there, and books what it cost.
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
        let Self { prompt, heard } = self;
        let session_id = record.id.clone();
        let mut events = Vec::new();
        if heard.charge(record, kin) {
            events.push(Event::SessionUpdated { session_id: session_id.clone(), info: Box::new(record.clone()) });
        }
        let asked = history.message(&prompt).map(|turned| &turned.info);
        if let (Some(Message::User(user)), Some((title, body))) = (asked, heard.text.as_deref().and_then(parted)) {
            let mut user = user.clone();
            user.summary = Some(TurnSummary { title, body: Some(body), ..user.summary.unwrap_or_default() });
            events.push(Event::MessageUpdated { session_id, info: Box::new(Message::User(user)) });
        }
        record_all(setup, history, events).await
    }
}

/// The title and the text that `answer` gives. Where it is a single line, that is the text.
fn parted(answer: &str) -> Option<(Option<String>, String)> {
    let spoken = spoken(answer);
    let clean =
        |line: &str| line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect::<String>();
    let lines = spoken.trim().lines().map(clean).collect::<Vec<_>>().join("\n");
    let (head, body) = match lines.split_once('\n') {
        Some((head, body)) => (title(head), body.trim()),
        None => (None, lines.trim()),
    };
    let body: String = body.chars().take(LONGEST).collect();
    (!body.is_empty()).then_some((head, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_title_and_a_text() {
        let row = |answer: &str, want: Option<(Option<&str>, &str)>| {
            let want = want.map(|(title, body)| (title.map(str::to_owned), body.to_owned()));
            assert_eq!(parted(answer), want, "{answer:?}");
        };
        row("", None);
        row("<think>Hm.\nWell.</think>", None);
        row("I mended it.", Some((None, "I mended it.")));
        row("# Login\n\nI mended it.\nIt works.", Some((Some("Login"), "I mended it.\nIt works.")));
        row("<think>Hm.</think>\nLogin\nMended\u{1b}[2J.", Some((Some("Login"), "Mended [2J.")));
        row(&format!("T\n{}", "é".repeat(LONGEST + 1)), Some((Some("T"), &"é".repeat(LONGEST))));
    }
}
