//! `haft session fork`: a copy that can go another way.

use anyhow::Result;
use haft_protocol::{Id, SessionId};
use haft_session::Session;

use crate::args::Fork;
use crate::folders::Folders;
use crate::render;
use crate::report::{Exit, Usage};
use crate::wire::{clock, journal};

pub(crate) async fn run(args: Fork) -> Result<Exit> {
    let id = SessionId::parse(&args.id).map_err(|error| Usage(error.to_string()))?;
    let at = args.at.as_deref().map(super::undo::message).transpose()?;
    let journal = journal(&Folders::find()?).await?;
    let copy = Session::fork(&journal, &clock()?, &id, at.as_ref()).await;
    journal.close().await?;
    render::say(copy?.as_str())?;
    Ok(Exit::Done)
}
