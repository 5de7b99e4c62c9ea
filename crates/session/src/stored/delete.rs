//! Removing sessions, with all that they started.

use haft_protocol::{Event, Session, SessionId};
use haft_store::{Journal, Lease};

use crate::error::SessionError;

/// Most sessions that one session may have started and that are removed with it.
const MAX_BELOW: usize = 10_000;

/// The session `id` and those that it started as tasks, and these in turn; the given one first.
///
/// # Errors
///
/// When there is no such session or the store fails.
pub async fn family(journal: &Journal, id: &SessionId) -> Result<Vec<Session>, SessionError> {
    let first = journal.session(id).await?.ok_or_else(|| SessionError::Unknown(id.clone()))?;
    let mut all = vec![first];
    let mut looked = 0;
    while let Some(above) = all.get(looked).map(|session| session.id.clone()) {
        looked += 1;
        let room = MAX_BELOW.saturating_sub(all.len());
        for below in journal.children(&above, room).await? {
            // A circle, which only a foreign hand can have made, ends here.
            if !all.iter().any(|known| known.id == below.id) {
                all.push(below);
            }
        }
    }
    Ok(all)
}

/// Removes the session `id` with its [`family`], and gives their records. None of them may be at work.
///
/// # Errors
///
/// When there is no such session, somebody works on one of them, or the store fails. Then none was removed, or only
/// some that others had started.
pub async fn delete(journal: &Journal, id: &SessionId) -> Result<Vec<Session>, SessionError> {
    let all = family(journal, id).await?;
    // Held until the end: nobody may begin to work on what is about to go.
    let _held: Vec<Lease> = all.iter().map(|session| journal.claim(&session.id)).collect::<Result<_, _>>()?;
    for session in all.iter().rev() {
        let info = Box::new(session.clone());
        journal.record(Event::SessionDeleted { session_id: session.id.clone(), info }).await?;
    }
    Ok(all)
}
