//! The setting `retention`: which sessions are removed when haft starts.

use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use haft_config::Retention;
use haft_protocol::{Object, Session};
use haft_store::{Filter, Journal};

use crate::render;

/// How often it is looked at most.
const EVERY: Duration = Duration::from_secs(60 * 60);
/// Most sessions that are removed at once; the next start takes more.
const MAX_AT_ONCE: usize = 500;
/// Most sessions that are looked at.
const MAX_LOOKED_AT: usize = 100_000;
/// The file whose time says when it was looked last.
const MARK: &str = ".retention";
/// What a session that is always kept says in its `metadata`.
const PINNED: &str = "pinned";

/// Says that `session` is always kept, or no longer.
pub(crate) fn pin(session: &mut Session, pinned: bool) {
    let metadata = session.metadata.get_or_insert_with(Object::new);
    metadata.remove(PINNED);
    if pinned {
        metadata.insert(PINNED.to_owned(), true.into());
    }
    if metadata.is_empty() {
        session.metadata = None;
    }
}

fn is_pinned(session: &Session) -> bool {
    session.metadata.as_ref().and_then(|metadata| metadata.get(PINNED)).is_some_and(|pinned| pinned == true)
}

/// Removes the sessions that are kept no longer, at most once an hour, and says how many. One that somebody works on
/// stays, and so do one that is pinned and the one that is `resumed` now. What fails is left to the next time.
pub(crate) async fn apply(journal: &Journal, kept: Retention, resumed: Option<&Session>, data: &Path, now_ms: u64) {
    if (kept.sessions.is_none() && kept.count.is_none()) || !is_due(data) {
        return;
    }
    match remove(journal, kept, resumed, now_ms).await {
        Ok(0) => {}
        Ok(removed) => {
            let sessions = if removed == 1 { "session" } else { "sessions" };
            render::complain(&format!("(removed {removed} old {sessions}, as the setting `retention` says)"));
        }
        Err(error) => tracing::warn!(%error, "old sessions could not be removed"),
    }
}

fn is_due(data: &Path) -> bool {
    let mark = data.join(MARK);
    let looked = std::fs::symlink_metadata(&mark).and_then(|meta| meta.modified());
    let age = looked.map(|looked| SystemTime::now().duration_since(looked).unwrap_or_default());
    if age.is_ok_and(|age| age < EVERY) {
        return false;
    }
    // Where it cannot be written nothing could be removed either.
    std::fs::write(mark, "").is_ok()
}

async fn remove(journal: &Journal, kept: Retention, resumed: Option<&Session>, now_ms: u64) -> Result<usize> {
    let filter = Filter { roots: true, limit: MAX_LOOKED_AT, archived: true, ..Filter::default() };
    let sessions = journal.sessions(&filter).await?;
    let mut removed = 0;
    let is_resumed = |session: &&Session| {
        resumed.is_some_and(|resumed| session.id == resumed.id || Some(&session.id) == resumed.parent_id.as_ref())
    };
    let old = old(&sessions, kept, now_ms).into_iter().filter(|session| !is_resumed(session));
    for session in old.take(MAX_AT_ONCE) {
        match haft_session::delete(journal, &session.id).await {
            Ok(_) => removed += 1,
            Err(error) => tracing::info!(%error, session = %session.id, "an old session stays"),
        }
    }
    Ok(removed)
}

/// Those of `sessions`, which come latest first, that are kept no longer. Pinned ones stay, and do not count. Pure.
fn old(sessions: &[Session], kept: Retention, now_ms: u64) -> Vec<&Session> {
    let count = kept.count.map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX));
    let age = kept.sessions.map_or(u128::MAX, |age| age.as_millis());
    let open = sessions.iter().filter(|session| !is_pinned(session)).enumerate();
    open.filter(|(place, session)| *place >= count || u128::from(now_ms.saturating_sub(session.time.updated)) > age)
        .map(|(_, session)| session)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(n: u64, days_ago: u64) -> Session {
        let updated = NOW - days_ago * DAY;
        let record = serde_json::json!({
            "id": format!("ses_{n}"), "slug": "", "projectID": "global", "directory": "/p", "title": "", "version": "",
            "time": {"created": 0, "updated": updated}
        });
        serde_json::from_value(record).unwrap()
    }

    const DAY: u64 = 24 * 60 * 60 * 1000;
    const NOW: u64 = 1000 * DAY;

    #[test]
    fn the_oldest_and_the_superfluous_go_and_pinned_ones_stay() {
        let mut sessions: Vec<Session> = (0..6).map(|n| session(n, n * 10)).collect();
        pin(&mut sessions[5], true);
        let days = |days: u64| Some(Duration::from_millis(days * DAY));
        let rows = [
            (Retention { sessions: None, count: None }, vec![]),
            (Retention { sessions: days(30), count: None }, vec!["ses_4"]),
            (Retention { sessions: days(15), count: None }, vec!["ses_2", "ses_3", "ses_4"]),
            (Retention { sessions: None, count: Some(2) }, vec!["ses_2", "ses_3", "ses_4"]),
            (Retention { sessions: days(35), count: Some(4) }, vec!["ses_4"]),
            (Retention { sessions: None, count: Some(10) }, vec![]),
        ];
        for (kept, want) in rows {
            let gone: Vec<String> = old(&sessions, kept, NOW).iter().map(|session| session.id.to_string()).collect();
            assert_eq!(gone, want, "{kept:?}");
        }
        pin(&mut sessions[5], false);
        assert_eq!((sessions[5].metadata.clone(), is_pinned(&sessions[5])), (None, false));
    }

    #[tokio::test]
    async fn one_that_somebody_works_on_or_goes_on_with_stays() {
        let journal = Journal::memory();
        for n in 0..3 {
            let info = session(n, 10);
            let event = haft_protocol::Event::SessionCreated { session_id: info.id.clone(), info: Box::new(info) };
            journal.record(event).await.unwrap();
        }
        let busy = session(1, 10).id;
        let _lease = journal.claim(&busy).unwrap();
        let kept = Retention { sessions: Some(Duration::from_millis(DAY)), count: None };
        let folder = tempfile::tempdir().unwrap();
        let resumed = session(2, 10);
        apply(&journal, kept, Some(&resumed), folder.path(), NOW).await;
        let left = journal.sessions(&Filter::default()).await.unwrap();
        let mut left: Vec<_> = left.iter().map(|session| &session.id).collect();
        left.sort();
        assert_eq!(left, [&busy, &resumed.id]);
        // Not again within the hour.
        assert!(!is_due(folder.path()));
    }
}
