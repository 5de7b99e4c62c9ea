//! Titles: a small model names a session after its first prompt, beside the turn that answers it.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use haft_llm::{Chunk, Content, Message as Asked, Purpose, Request, Usage};
use haft_protocol::{Event, History, PartKind, Session, Tokens};
use tokio_util::task::AbortOnDropHandle;

use crate::agent::TITLES;
use crate::cast::Cast;
use crate::error::TurnError;
use crate::kin::Kin;
use crate::model::{Model, tokens};
use crate::setup::Setup;
use crate::turn::record_all;

/// Longest title, in characters.
const LONGEST: usize = 100;
/// Most characters of a prompt that are shown to whoever names the session.
const MAX_SHOWN: usize = 8_000;
/// Most bytes of an answer that are looked at for a title.
const MAX_ANSWER: usize = 64 * 1024;
/// Most tokens that an answer may have; models that think need some.
const MAX_OUTPUT: u64 = 4_096;
/// How often a request that failed is tried again.
const RETRIES: u32 = 2;
/// How long it may take in all.
const MAX_TIME: Duration = Duration::from_secs(60);

/// A title that is being found. Dropping it gives it up.
pub(crate) struct Titling {
    /// The title that it is to take the place of.
    instead: String,
    work: AbortOnDropHandle<Titled>,
}

/// What came of it.
pub(crate) struct Titled {
    instead: String,
    title: Option<String>,
    used: Tokens,
    cost: f64,
}

impl Titling {
    /// Begins to find a title for a session that begins with `parts`. `None`: nobody is there to find one, or no money.
    pub(crate) fn begin(setup: &Setup, record: &Session, parts: &[PartKind], kin: &Kin) -> Option<Self> {
        let agent = setup.agents.get(TITLES)?.clone();
        let broke = setup.options.limits.cost.is_some_and(|limit| kin.spent.dollars() >= limit);
        if record.parent_id.is_some() || broke {
            return None;
        }
        let own = agent.model.as_deref().zip(setup.options.models.as_ref());
        let own = own.and_then(|(name, models)| models.find(name, agent.variant.as_deref()).ok());
        let model = own.or_else(|| setup.options.small.clone())?;
        let words = said(parts);
        if words.is_empty() || !model.provider.serves(Purpose::Title) {
            return None;
        }
        let text = format!("Name the conversation that begins with this message:\n\n<message>\n{words}\n</message>");
        let cast = Cast { agent, model: model.clone(), variant: None };
        let request = cast.tuned(Request {
            model: model.api_id.clone(),
            system: cast.agent.voice().to_owned(),
            messages: vec![Arc::new(Asked::User { content: vec![Content::Text { text }] })],
            max_output: model.limits.ask_for().map(|most| most.min(MAX_OUTPUT)),
            extra: model.extra.clone(),
            purpose: Purpose::Title,
            ..Request::default()
        });
        let instead = record.title.clone();
        let default = instead.clone();
        let work = tokio::spawn(async move {
            let mut found = Titled { instead: default, title: None, used: Tokens::default(), cost: 0.0 };
            if tokio::time::timeout(MAX_TIME, found.ask(&model, &request)).await.is_err() {
                tracing::warn!("no title was found in time");
            }
            found
        });
        Some(Self { instead, work: AbortOnDropHandle::new(work) })
    }

    /// Whether it is found, or will not be.
    pub(crate) fn is_finished(&self) -> bool {
        self.work.is_finished()
    }
}

/// Waits until a title is found, and takes it; for ever where none is looked for.
pub(crate) async fn found(titling: &mut Option<Titling>) -> Titled {
    let Some(Titling { work, instead }) = titling else { return pending().await };
    let titled = work.await;
    let instead = instead.clone();
    *titling = None;
    titled.unwrap_or_else(|_| Titled { instead, title: None, used: Tokens::default(), cost: 0.0 })
}

impl Titled {
    async fn ask(&mut self, model: &Model, request: &Request) {
        for attempt in 1..=RETRIES + 1 {
            let mut stream = model.provider.stream(request.clone());
            let (mut text, mut usage, mut broken) = (String::new(), Usage::default(), None);
            while let Some(next) = stream.next().await {
                match next {
                    Ok(Chunk::Text(words)) if text.len() < MAX_ANSWER => text.push_str(&words),
                    Ok(Chunk::Usage(used)) => usage = used,
                    Ok(Chunk::Finish(_)) => break,
                    Ok(_) => {}
                    Err(error) => {
                        broken = Some(error);
                        break;
                    }
                }
            }
            drop(stream);
            let used = tokens(&usage);
            if usage != Usage::default() {
                self.cost += model.cost.as_ref().map_or(0.0, |cost| cost.of(&used));
                self.used += used;
            }
            let Some(error) = broken else {
                self.title = title(&text);
                return;
            };
            tracing::warn!(error = %haft_tool::with_causes(&error), attempt, "no title");
            // Chance would come from the session's clock, and two equal runs would no more be equal.
            let Some(wait) = error.retry_after(attempt, 0.5).filter(|_| attempt <= RETRIES) else { return };
            tokio::time::sleep(wait).await;
        }
    }

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
        let title = self.title.filter(|_| record.title == self.instead);
        if title.is_none() && self.used == Tokens::default() {
            return Ok(());
        }
        if let Some(title) = title {
            record.title = title;
        }
        record.cost += self.cost;
        record.tokens += self.used;
        kin.charge(self.cost, &self.used);
        let info = Box::new(record.clone());
        record_all(setup, history, vec![Event::SessionUpdated { session_id: record.id.clone(), info }]).await
    }
}

/// The words of a first prompt.
fn said(parts: &[PartKind]) -> String {
    let words = parts.iter().filter_map(|part| match part {
        PartKind::Text { text, synthetic: false, ignored: false, .. } => Some(text.trim()),
        PartKind::Subtask { prompt, .. } => Some(prompt.trim()),
        _ => None,
    });
    words.collect::<Vec<_>>().join("\n").chars().take(MAX_SHOWN).collect::<String>().trim().to_owned()
}

/// The title that `answer` gives: its first line without thoughts, marks around it and control characters.
fn title(answer: &str) -> Option<String> {
    let mut rest = answer;
    let mut text = String::new();
    while let Some((before, after)) = rest.split_once("<think>") {
        text.push_str(before);
        rest = after.split_once("</think>").map_or("", |(_, behind)| behind);
    }
    text.push_str(rest);
    // Some begin in the middle of their thoughts.
    let text = text.rsplit_once("</think>").map_or(text.as_str(), |(_, behind)| behind);
    let line = |line: &str| {
        let line: String = line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        line.trim().trim_matches(['"', '*', '#', '`', '“', '”', ' ']).to_owned()
    };
    let line = text.lines().map(line).find(|line| !line.is_empty())?;
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
