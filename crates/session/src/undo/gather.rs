//! What was changed since a point: by the session itself, and by all those below it.

use std::collections::HashSet;

use haft_protocol::{Clock, History, Id, Part, PartKind, SessionId, ToolState, Turned};
use haft_store::{Journal, Lease};

use super::point::Point;
use crate::error::SessionError;
use crate::hands::TASK;
use crate::kin::{MAX_CHILDREN, MAX_DEPTH};
use crate::snapshots::past::Past;

/// Most sessions below one that are looked at.
const MAX_BELOW: usize = 1000;

/// A call that changed files.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Patch {
    /// The part that says so.
    pub part: Part,
    /// The name of the list of its changes.
    pub hash: String,
    /// The files, absolute.
    pub files: Vec<String>,
    /// When the call began, in Unix milliseconds.
    pub began: u64,
    /// When they had been changed, in Unix milliseconds.
    pub time: u64,
    /// Whether it is the session's own, or that of one which it began itself.
    pub is_ours: bool,
}

/// What was changed since a point, and by whom.
#[derive(Default)]
pub(crate) struct Gathered {
    /// The latest first.
    pub patches: Vec<Patch>,
    /// Held so that none of the sessions below goes on meanwhile.
    pub leases: Vec<Lease>,
    /// The session itself and those below it.
    pub sessions: HashSet<SessionId>,
    /// Since when, in Unix milliseconds.
    pub since: u64,
}

impl Gathered {
    /// Without what others than the session `id` did after the time `until`, in Unix milliseconds.
    pub(super) fn until(mut self, id: &SessionId, until: Option<u64>) -> Self {
        let is_later = |patch: &Patch| patch.part.session_id != *id && until.is_some_and(|until| patch.time > until);
        self.patches.retain(|patch| !is_later(patch));
        self
    }
}

/// What is done with the sessions below.
#[derive(Clone, Copy)]
pub(crate) enum Below<'a> {
    /// They are read as they are.
    Read,
    /// None of them may be at work, or go to work meanwhile; what a killed process left of one is settled first, as its own
    /// opening would.
    Hold(&'a Clock, Option<&'a Past>),
}

/// What `history` and the sessions below it changed since `point`; all of it where that is `None`.
///
/// # Errors
///
/// [`haft_store::StoreError::Busy`] where a session below is at work that is to be held; when the store cannot be read, or
/// written where something is settled.
pub(crate) async fn gather(
    journal: &Journal,
    id: &SessionId,
    history: &History,
    point: Option<&Point>,
    how: Below<'_>,
) -> Result<Gathered, SessionError> {
    let from = point.map_or(0, |point| point.at);
    let since = since(history, point);
    let sessions = HashSet::from([id.clone()]);
    let mut gathered = Gathered { patches: own(history, from, point, true), leases: Vec::new(), sessions, since };
    let mut levels: Vec<(SessionId, bool, u32)> = Vec::new();
    for (below, is_ours) in below(journal, id, history.messages().get(from..).unwrap_or_default()).await? {
        levels.push((below, is_ours, 1));
    }
    while let Some((id, is_ours, level)) = levels.pop() {
        if level > MAX_DEPTH || gathered.sessions.len() > MAX_BELOW || !gathered.sessions.insert(id.clone()) {
            continue;
        }
        let Some(record) = journal.session(&id).await?.filter(|record| record.time.updated >= since) else { continue };
        let history = match how {
            Below::Read => journal.history(&record.id).await?,
            Below::Hold(clock, past) => {
                gathered.leases.push(journal.claim(&record.id)?);
                let mut history = journal.history(&record.id).await?;
                if let Some(past) = past {
                    past.settle(journal, clock, &record.id, &mut history).await?;
                }
                history
            }
        };
        gathered.patches.extend(own(&history, 0, None, is_ours).into_iter().filter(|patch| patch.time >= since));
        for (below, by_parent) in below(journal, &record.id, history.messages()).await? {
            levels.push((below, is_ours && by_parent, level + 1));
        }
    }
    // Those of one session stand in order already.
    gathered.patches.sort_by_key(|patch| std::cmp::Reverse(patch.time));
    Ok(gathered)
}

/// What the messages of one session say, the latest first.
pub(super) fn own(history: &History, from: usize, point: Option<&Point>, is_ours: bool) -> Vec<Patch> {
    let mut patches = Vec::new();
    let mut latest = 0;
    for (at, turned) in history.messages().iter().enumerate().skip(from) {
        latest = latest.max(turned.info.created());
        for (within, part) in turned.parts.iter().enumerate() {
            let PartKind::Patch { hash, files, call_id, time } = &part.kind else { continue };
            // In their own order, also where a clock was set back.
            latest = latest.max(time.map_or(0, |time| time.created));
            if point.is_none_or(|point| point.covers(at, turned, within)) {
                let began = call_id.as_deref().and_then(|call| began(turned, call));
                let began = began.unwrap_or_else(|| turned.info.created());
                let (part, hash, files) = (part.clone(), hash.clone(), files.clone());
                patches.push(Patch { part, hash, files, began, time: latest, is_ours });
            }
        }
    }
    patches.reverse();
    patches
}

/// When the call `call` of a message began, in Unix milliseconds.
fn began(turned: &Turned, call: &str) -> Option<u64> {
    turned.parts.iter().find_map(|part| match &part.kind {
        PartKind::Tool { call_id, state, .. } if call_id == call => match &**state {
            ToolState::Pending { .. } => None,
            ToolState::Running { time, .. } => Some(time.start),
            ToolState::Completed { time, .. } | ToolState::Error { time, .. } => Some(time.start),
        },
        _ => None,
    })
}

/// When what is taken back began, in Unix milliseconds.
fn since(history: &History, point: Option<&Point>) -> u64 {
    let Some(point) = point else { return 0 };
    let Some(turned) = history.messages().get(point.at) else { return u64::MAX };
    let Some((_, within)) = &point.part else { return turned.info.created() };
    let began = turned.parts[*within..].iter().find_map(|part| match &part.kind {
        PartKind::Tool { state, .. } => match &**state {
            ToolState::Pending { .. } => None,
            ToolState::Running { time, .. } => Some(time.start),
            ToolState::Completed { time, .. } | ToolState::Error { time, .. } => Some(time.start),
        },
        PartKind::Text { time: Some(time), .. } | PartKind::Reasoning { time, .. } => Some(time.start),
        _ => None,
    });
    began.unwrap_or_else(|| turned.info.created())
}

/// The sessions that a session began, and those that it was copied with, which are not its own.
async fn below(journal: &Journal, id: &SessionId, messages: &[Turned]) -> Result<Vec<(SessionId, bool)>, SessionError> {
    let children = journal.children(id, MAX_CHILDREN).await?;
    let parts = messages.iter().flat_map(|turned| &turned.parts);
    // The last ones are looked at first, and each once.
    let named = parts.filter_map(task_of).map(|id| (id, false));
    Ok(named.chain(children.into_iter().map(|child| (child.id, true))).collect())
}

/// The session that a call began. What other tools call so in their metadata is no word of ours.
fn task_of(part: &Part) -> Option<SessionId> {
    let PartKind::Tool { tool, state, .. } = &part.kind else { return None };
    if tool != TASK {
        return None;
    }
    let metadata = match &**state {
        ToolState::Completed { metadata, .. } => metadata,
        ToolState::Running { metadata: Some(metadata), .. } | ToolState::Error { metadata: Some(metadata), .. } => {
            metadata
        }
        ToolState::Running { metadata: None, .. }
        | ToolState::Error { metadata: None, .. }
        | ToolState::Pending { .. } => return None,
    };
    SessionId::parse(metadata.get("sessionId")?.as_str()?).ok()
}
