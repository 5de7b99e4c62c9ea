//! `haft stats`: what sessions used and cost.

mod show;

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use anyhow::Result;
use haft_protocol::{Clock, History, Message, PartKind, Session, Tokens, Turned};
use haft_store::{Filter, Journal};
use serde_json::{Value, json};

use crate::args::Stats;
use crate::folders::Folders;
use crate::render;
use crate::report::Exit;
use crate::wire::{journal, place};

const DAY: u64 = 24 * 60 * 60 * 1000;
/// Most sessions that are counted.
const MAX_SESSIONS: usize = 1_000_000;

/// What a model was used for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Used {
    messages: u64,
    cost: f64,
    tokens: Tokens,
}

/// The sums.
#[derive(Debug, Default, PartialEq)]
struct Sums {
    sessions: u64,
    messages: u64,
    cost: f64,
    tokens: Tokens,
    /// Tokens of each session.
    each: Vec<u64>,
    tools: BTreeMap<String, u64>,
    models: BTreeMap<String, Used>,
    /// The first and the last time anything happened, in Unix milliseconds.
    first: Option<u64>,
    last: u64,
    /// The messages that were counted, so that none is twice.
    seen: HashSet<u64>,
}

impl Sums {
    /// Adds a session. What stands in it as a copy of what was added before, or was said before it began, is not counted
    /// again.
    fn add(&mut self, session: &Session, history: &History) {
        let is_new = |turned: &&Turned| {
            let is_copied = turned.info.created() < session.time.created;
            self.seen.insert(mark(turned)) && !is_copied
        };
        let new: Vec<&Turned> = history.messages().iter().filter(is_new).collect();
        self.sessions += 1;
        let (cost, tokens) = spent(session, history.messages(), &new);
        self.cost += cost;
        self.tokens += tokens;
        self.each.push(all(&tokens));
        self.first = Some(self.first.map_or(session.time.created, |first| first.min(session.time.created)));
        self.last = self.last.max(session.time.updated);
        for turned in new {
            self.messages += 1;
            if let Message::Assistant(answer) = &turned.info
                && !answer.model_id.is_empty()
            {
                let used = self.models.entry(format!("{}/{}", answer.provider_id, answer.model_id)).or_default();
                used.messages += 1;
                used.cost += answer.cost;
                used.tokens += answer.tokens;
            }
            for part in &turned.parts {
                if let PartKind::Tool { tool, .. } = &part.kind {
                    *self.tools.entry(tool.clone()).or_default() += 1;
                }
            }
        }
    }

    /// Days from the first to the last, both counted.
    fn days(&self) -> u64 {
        self.first.map_or(0, |first| self.last.saturating_sub(first).div_ceil(DAY).max(1))
    }

    fn median(&self) -> u64 {
        let mut each = self.each.clone();
        each.sort_unstable();
        let middle = each.len() / 2;
        match each.len() {
            0 => 0,
            even if even % 2 == 0 => u64::midpoint(each[middle - 1], each[middle]),
            _ => each[middle],
        }
    }

    /// The tools that were used most, each with its count.
    fn tools(&self, most: Option<usize>) -> Vec<(&str, u64)> {
        let mut tools: Vec<(&str, u64)> = self.tools.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        tools.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
        tools.truncate(most.unwrap_or(usize::MAX));
        tools
    }

    /// The models that answered most.
    fn models(&self, most: usize) -> Vec<(&str, Used)> {
        let mut models: Vec<(&str, Used)> = self.models.iter().map(|(name, used)| (name.as_str(), *used)).collect();
        models.sort_by_key(|(name, used)| (std::cmp::Reverse(used.messages), *name));
        models.truncate(most);
        models
    }
}

/// What a message is told from others by, also where a copy of it has other names.
fn mark(turned: &Turned) -> u64 {
    let mut hash = DefaultHasher::new();
    turned.info.created().hash(&mut hash);
    if let Message::Assistant(answer) = &turned.info {
        (&answer.provider_id, &answer.model_id, answer.time.completed, all(&answer.tokens)).hash(&mut hash);
        answer.cost.to_bits().hash(&mut hash);
    }
    for part in &turned.parts {
        match &part.kind {
            PartKind::Text { text, .. } | PartKind::Reasoning { text, .. } => text.hash(&mut hash),
            PartKind::Tool { call_id, tool, .. } => (call_id, tool).hash(&mut hash),
            PartKind::File { .. }
            | PartKind::Vendor { .. }
            | PartKind::Agent { .. }
            | PartKind::Subtask(_)
            | PartKind::Patch { .. }
            | PartKind::Compaction { .. }
            | PartKind::Retry { .. }
            | PartKind::StepStart {}
            | PartKind::StepFinish { .. } => {}
        }
    }
    hash.finish()
}

/// What `session` used and cost, of whose `messages` these are `new`: all of it, or where some are copies, what the
/// others did.
fn spent(session: &Session, messages: &[Turned], new: &[&Turned]) -> (f64, Tokens) {
    if new.len() == messages.len() {
        return (session.cost, session.tokens);
    }
    let mut sum = (0.0, Tokens::default());
    for turned in new {
        if let Message::Assistant(answer) = &turned.info {
            sum.0 += answer.cost;
            sum.1 += answer.tokens;
        }
    }
    sum
}

/// Everything that was processed.
fn all(tokens: &Tokens) -> u64 {
    tokens.input + tokens.output + tokens.reasoning + tokens.cache.read + tokens.cache.write
}

pub(crate) async fn run(args: Stats) -> Result<Exit> {
    let journal = journal(&Folders::find()?).await?;
    let sums = counted(&args, &journal, Clock::system().now_ms()).await?;
    if args.json {
        render::say_json(&value(&sums, &args), true)?;
        return Ok(Exit::Done);
    }
    for line in show::lines(&sums, args.tools, args.models) {
        render::say(&line)?;
    }
    Ok(Exit::Done)
}

async fn counted(args: &Stats, journal: &Journal, now: u64) -> Result<Sums> {
    // A path is a folder, whether there is anything or not; anything else is the name of a project.
    let folder = args.project.as_deref().filter(|project| project.contains(['/', '.']));
    let directory = folder.map(|folder| place(Some(folder.as_ref()))).transpose()?;
    let directory = directory.map(|place| place.directory.display().to_string());
    let project = args.project.as_deref().filter(|_| folder.is_none());
    let since = match args.days {
        None => 0,
        // Since midnight, as this machine's universal clock has it.
        Some(0) => now - now % DAY,
        Some(days) => now.saturating_sub(days.saturating_mul(DAY)),
    };
    let filter = Filter { directory, limit: MAX_SESSIONS, archived: true, ..Filter::default() };
    let mut sums = Sums::default();
    let mut sessions = journal.sessions(&filter).await?;
    // What is copied goes before its copies.
    sessions.sort_by(|one, other| (one.time.created, &other.id).cmp(&(other.time.created, &one.id)));
    for session in sessions {
        if session.time.updated < since || project.is_some_and(|project| session.project_id != project) {
            continue;
        }
        let history = journal.history(&session.id).await?;
        sums.add(&session, &history);
    }
    Ok(sums)
}

fn value(sums: &Sums, args: &Stats) -> Value {
    let models: Vec<Value> = sums
        .models(args.models.unwrap_or(usize::MAX))
        .into_iter()
        .map(|(name, used)| json!({"model": name, "messages": used.messages, "cost": used.cost, "tokens": used.tokens}))
        .collect();
    let tools: Vec<Value> =
        sums.tools(args.tools).into_iter().map(|(name, count)| json!({"tool": name, "count": count})).collect();
    json!({
        "sessions": sums.sessions, "messages": sums.messages, "days": sums.days(), "cost": sums.cost,
        "tokens": sums.tokens, "medianTokensPerSession": sums.median(), "models": models, "tools": tools,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_days() {
        let row = |each: &[u64], want: u64| assert_eq!(Sums { each: each.to_vec(), ..Sums::default() }.median(), want);
        row(&[], 0);
        row(&[5], 5);
        row(&[9, 1], 5);
        row(&[9, 1, 2], 2);
        let row = |first: Option<u64>, last: u64, want: u64| {
            assert_eq!(Sums { first, last, ..Sums::default() }.days(), want);
        };
        row(None, 0, 0);
        row(Some(5), 5, 1);
        row(Some(0), DAY + 1, 2);
    }
}
