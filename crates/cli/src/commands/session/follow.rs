//! `haft session show --follow`: what another process does in a session, as it does it.

use std::time::Duration;

use anyhow::Result;
use haft_protocol::{Clock, Event, Session};
use haft_store::{Journal, Owner};

use super::delete::asked;
use crate::render::{self, Paint, Render, Text, errors, out, out_is_terminal};
use crate::report::Exit;

/// How often it is looked whether anybody still works on it.
const LOOK_FOR_OWNER: Duration = Duration::from_millis(500);

/// Says who works on `record`, if somebody does, and offers to watch until that ends.
pub(crate) async fn offer(journal: &Journal, record: &Session) -> Result<()> {
    let Some(owner) = journal.owner(&record.id) else { return Ok(()) };
    let who = who(owner, Clock::system().now_ms());
    let question = format!("Another haft is at work on this session: {who}. Watch until that ends? [Y/n] ");
    if asked(&question, true)? == Some(true) {
        follow(journal, record, false).await?;
    }
    Ok(())
}

/// Shows what changes in `id` until nobody works on it any more, or it is removed.
pub(super) async fn follow(journal: &Journal, record: &Session, json: bool) -> Result<Exit> {
    let id = &record.id;
    let Some(mut watch) = journal.watch(id).await? else {
        return Err(haft_session::SessionError::Unknown(id.clone()).into());
    };
    if !json {
        super::show(watch.session(), watch.history(), None, false)?;
    }
    let clock = Clock::system();
    match journal.owner(id) {
        Some(owner) => render::complain(&format!("(watching {})", who(owner, clock.now_ms()))),
        None => {
            render::complain("(nobody works on it now)");
            return Ok(Exit::Done);
        }
    }
    let paint = Paint::new(out_is_terminal());
    let mut shown = Text::new(out(), errors(), out_is_terminal(), true, paint, clock);
    loop {
        let events = tokio::select! {
            events = watch.next() => events?,
            () = tokio::time::sleep(LOOK_FOR_OWNER) => {
                if journal.owner(id).is_some() {
                    continue;
                }
                // What was stored last may not have been seen yet.
                match watch.look().await? {
                    Some(events) => Some(events),
                    None => {
                        if !json {
                            shown.end(id, false)?;
                        }
                        render::complain("(nobody works on it any more)");
                        return Ok(Exit::Done);
                    }
                }
            }
        };
        let Some(events) = events else {
            render::complain("(the session was removed)");
            return Ok(Exit::Done);
        };
        for event in events {
            show(&event, json, &mut shown)?;
        }
    }
}

fn show(event: &Event, json: bool, shown: &mut dyn Render) -> Result<()> {
    if json {
        render::say_json(&serde_json::to_value(event)?, false)?;
    } else {
        shown.show(event);
    }
    Ok(())
}

/// The process that works on a session, and since when.
fn who(owner: Owner, now: u64) -> String {
    let minutes = now.saturating_sub(owner.since) / 60_000;
    let since = match minutes {
        0 => "for less than a minute".to_owned(),
        1..120 => format!("for {minutes} min"),
        _ => format!("for {} h", minutes / 60),
    };
    format!("process {} {since}", owner.pid)
}
