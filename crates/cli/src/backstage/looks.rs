//! What `client` shows of sessions and files.

use haft_protocol::{Id, MessageId, Session as Record};
use haft_session::Session;
use haft_store::{Filter, Journal};
use serde_json::{Value, json};

use super::args::Args;
use super::{Asked, Backstage, Failed, MAX_ANSWER, no_session};

/// Most sessions or messages of one answer.
const MAX_LISTED: usize = 100;

impl Backstage {
    /// What is to be seen; `None`: it is no such function.
    pub(super) async fn looked(&self, asked: Asked<'_>) -> Option<Result<Value, Failed>> {
        let Asked { path, args, .. } = asked;
        Some(match path {
            "session.list" => self.sessions().await,
            "session.get" => self.session(args).await.map(|(_, record)| json!(record)),
            "session.children" => self.children(args).await,
            "session.messages" => self.messages(args).await,
            "session.message" => self.message(args).await,
            "session.todo" => self.todo(args).await,
            "session.diff" => self.diff(args).await,
            "session.status" => Ok(json!(self.roster.at_work())),
            "file.read" => self.file(asked).await,
            "find.text" => self.find(asked, "find.text", json!({ "pattern": args.text("pattern") })).await,
            "find.files" => {
                let query = json!({ "query": args.text("query"), "limit": args.number("limit") });
                self.find(asked, "find.files", query).await
            }
            _ => return None,
        })
    }

    /// The session that is named, if it is one of this project.
    async fn session(&self, args: &Args) -> Result<(Journal, Record), Failed> {
        let (journal, id) = (self.journal()?, args.session()?);
        let record = journal.session(&id).await?.filter(|record| record.project_id == self.place.project_id);
        Ok((journal, record.ok_or_else(|| no_session(&id))?))
    }

    async fn sessions(&self) -> Result<Value, Failed> {
        let directory = Some(self.place.directory.display().to_string());
        let filter = Filter { directory, limit: MAX_LISTED, ..Filter::default() };
        Ok(json!(self.journal()?.sessions(&filter).await?))
    }

    async fn children(&self, args: &Args) -> Result<Value, Failed> {
        let (journal, record) = self.session(args).await?;
        Ok(json!(journal.children(&record.id, MAX_LISTED).await?))
    }

    async fn messages(&self, args: &Args) -> Result<Value, Failed> {
        let (journal, record) = self.session(args).await?;
        let limit = args.number("limit").unwrap_or(MAX_LISTED).min(MAX_LISTED);
        let messages = journal.messages(&record.id, None, limit).await?;
        Ok(newest(messages.iter().map(|turned| json!(turned)).collect()))
    }

    async fn message(&self, args: &Args) -> Result<Value, Failed> {
        let (journal, record) = self.session(args).await?;
        let missing = || Failed::Missing(format!("session {} has no such message", record.id));
        let id = message_id(args).ok_or_else(missing)?;
        let history = journal.history(&record.id).await?;
        history.message(&id).map(|turned| json!(turned)).ok_or_else(missing)
    }

    async fn todo(&self, args: &Args) -> Result<Value, Failed> {
        let (journal, record) = self.session(args).await?;
        Ok(json!(journal.todos(&record.id).await?))
    }

    async fn diff(&self, args: &Args) -> Result<Value, Failed> {
        let (journal, record) = self.session(args).await?;
        let Some(past) = self.house()?.setup.options.past else { return Ok(json!([])) };
        Ok(json!(Session::diffs(&journal, &past, &record.id, message_id(args).as_ref()).await?))
    }

    async fn file(&self, asked: Asked<'_>) -> Result<Value, Failed> {
        let path = self.place.directory.join(asked.args.text("path").unwrap_or_default());
        let read = asked.world.perform("fs.read", json!({ "path": path, "as": "text" })).await?;
        Ok(json!({ "type": "text", "content": read.get("text") }))
    }

    async fn find(&self, asked: Asked<'_>, effect: &str, query: Value) -> Result<Value, Failed> {
        Ok(asked.world.perform(effect, query).await?)
    }
}

fn message_id(args: &Args) -> Option<MessageId> {
    MessageId::parse(&args.text("messageID")?).ok()
}

/// As many of `messages` from the end as an answer may have.
fn newest(mut messages: Vec<Value>) -> Value {
    // The brackets and commas take some, too.
    let mut room = MAX_ANSWER - MAX_LISTED * 2;
    let fits = messages.iter().rev().take_while(|message| {
        let size = message.to_string().len();
        let fits = size <= room;
        room = room.saturating_sub(size);
        fits
    });
    let kept = fits.count();
    messages.drain(..messages.len() - kept);
    messages.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_messages_are_kept() {
        let long = |n: usize| json!({ "n": n, "text": "x".repeat(MAX_ANSWER / 2) });
        let got = newest((0..3).map(long).collect());
        let kept: Vec<u64> = got.as_array().unwrap().iter().map(|one| one["n"].as_u64().unwrap()).collect();
        assert_eq!(kept, [2]);
        assert_eq!(newest(vec![json!(1), json!(2)]), json!([1, 2]));
    }
}
