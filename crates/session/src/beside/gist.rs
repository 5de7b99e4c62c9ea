//! What a turn came to, in words: a small model says it behind the turn, where the settings want that.

use std::future::pending;

use haft_llm::Purpose;
use haft_protocol::{Event, History, Message, MessageId, PartKind, Session, TurnSummary, Turned};
use tokio_util::task::AbortOnDropHandle;

use crate::agents::agent::DESCRIBES;
use crate::beside::title::title;
use crate::beside::{Heard, Helper, spoken};
use crate::compact::transcript;
use crate::error::{SessionError, TurnError};
use crate::kin::Kin;
use crate::setup::Setup;
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
        Self::of(&messages[at..], Helper::find(setup, &record.id, DESCRIBES, Purpose::Summary, kin)?)
    }

    /// Begins to sum up the turn that answers `prompt`, or the last one, because somebody asked for it.
    ///
    /// # Errors
    ///
    /// When there is no such turn, or nobody to ask.
    pub(crate) fn asked(
        setup: &Setup,
        record: &Session,
        history: &History,
        prompt: Option<&MessageId>,
        kin: &Kin,
    ) -> Result<Self, SessionError> {
        let messages = history.messages();
        let at = match prompt {
            Some(prompt) => messages.iter().rposition(|turned| turned.info.id() == prompt),
            None => messages.iter().rposition(begins),
        };
        let at = at.ok_or_else(|| match prompt {
            Some(prompt) => SessionError::NoMessage { session: record.id.clone(), message: prompt.clone() },
            None => SessionError::Turn(TurnError::NothingToSumUp),
        })?;
        let turn = messages.get(at..).unwrap_or_default();
        let next = turn.iter().skip(1).position(begins).map_or(turn.len(), |next| next + 1);
        let nobody = || {
            let why = "no model is there for it: `agent.summary.model` or `small_model` in the settings names one";
            SessionError::NoSummary(why.to_owned())
        };
        let helper = Helper::for_somebody(setup, &record.id, DESCRIBES, Purpose::Summary, kin).ok_or_else(nobody)?;
        let turn = turn.get(..next).unwrap_or_default();
        Self::of(turn, helper).ok_or(SessionError::Turn(TurnError::NothingToSumUp))
    }

    /// Has `helper` sum up `turn`. `None`: nothing was said in it.
    fn of(turn: &[Turned], helper: Helper) -> Option<Self> {
        let shown = transcript(turn.iter(), MAX_SHOWN);
        let prompt = turn.first().filter(|_| !shown.is_empty())?.info.id().clone();
        let text = format!("Sum up what was done here:\n\n<conversation>\n{shown}</conversation>");
        let work = AbortOnDropHandle::new(tokio::spawn(helper.ask(text)));
        Some(Self { prompt, work })
    }
}

/// Whether a person said something with this message, which a turn then answers.
pub fn begins(turned: &Turned) -> bool {
    let is_words = |kind: &PartKind| {
        matches!(kind, PartKind::Text { synthetic: false, ignored: false, .. } | PartKind::Subtask { .. })
    };
    let is_prompt = matches!(turned.info, Message::User(_)) && turned.plugin().is_none();
    is_prompt && turned.parts.iter().any(|part| is_words(&part.kind))
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
    /// Puts the text beside its prompt, if that is still there, and books what it cost. Returns what stands there now;
    /// `None` where nothing was said.
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
    ) -> Result<Option<TurnSummary>, TurnError> {
        let Self { prompt, heard } = self;
        let session_id = record.id.clone();
        let mut events = Vec::new();
        if heard.charge(record, kin) {
            events.push(Event::SessionUpdated { session_id: session_id.clone(), info: Box::new(record.clone()) });
        }
        let mut kept = None;
        let asked = history.message(&prompt).map(|turned| &turned.info);
        if let (Some(Message::User(user)), Some((title, body))) = (asked, heard.text.as_deref().and_then(parted)) {
            let mut user = user.clone();
            kept = Some(TurnSummary { title, body: Some(body), ..user.summary.clone().unwrap_or_default() });
            user.summary.clone_from(&kept);
            events.push(Event::MessageUpdated { session_id, info: Box::new(Message::User(user)) });
        }
        record_all(setup, history, events).await?;
        Ok(kept)
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
