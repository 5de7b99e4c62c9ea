//! The order in which a model wants to be told things.

use std::sync::{Arc, LazyLock};

use super::Quirks;
use crate::dialect::media::attached;
use crate::{AssistantPart, Content, Message, ToolResult};

/// What stands in a result for files that come behind it.
const BEHIND: &str = "(shown in the next message)";

/// The pieces of a message, where it must be taken apart: each call and each result by itself, files of results behind
/// them.
pub(super) fn apart(quirks: &Quirks, message: &Message) -> Option<Vec<Message>> {
    match message {
        Message::User { .. } => None,
        Message::Assistant { parts } => (quirks.one_call && calls(parts) > 1).then(|| one_by_one(parts)),
        Message::Tools { results } => {
            let shown = quirks.files_behind_results.then(|| behind(results)).flatten();
            let (results, shown) = match shown {
                Some((results, shown)) => (results, Some(shown)),
                None if quirks.one_call && results.len() > 1 => (results.clone(), None),
                None => return None,
            };
            let told = match quirks.one_call {
                true => results.into_iter().map(|result| Message::Tools { results: vec![result] }).collect(),
                false => vec![Message::Tools { results }],
            };
            Some(told.into_iter().chain(shown).collect())
        }
    }
}

fn calls(parts: &[AssistantPart]) -> usize {
    parts.iter().filter(|part| matches!(part, AssistantPart::ToolCall { .. })).count()
}

/// An answer for each call. What is said before one goes with it, what is said behind the last with that.
fn one_by_one(parts: &[AssistantPart]) -> Vec<Message> {
    let mut left = calls(parts);
    let mut answers = Vec::new();
    let mut answer = Vec::new();
    for part in parts {
        answer.push(part.clone());
        if matches!(part, AssistantPart::ToolCall { .. }) {
            left -= 1;
            if left > 0 {
                answers.push(Message::Assistant { parts: std::mem::take(&mut answer) });
            }
        }
    }
    answers.push(Message::Assistant { parts: answer });
    answers
}

/// The results without their files, and the files as words of the user.
fn behind(results: &[ToolResult]) -> Option<(Vec<ToolResult>, Message)> {
    let is_file = |content: &Content| matches!(content, Content::Media { .. });
    let showing = results.iter().filter(|result| result.content.iter().any(is_file)).count();
    (showing > 0).then_some(())?;
    let mut shown = Vec::new();
    let told = results.iter().map(|result| {
        let (files, mut words): (Vec<_>, Vec<_>) = result.content.iter().cloned().partition(is_file);
        if !files.is_empty() {
            let ToolResult { id, name, .. } = result;
            shown.push(Content::text(attached(showing == 1, name, id)));
            shown.extend(files);
            if words.is_empty() {
                words.push(Content::text(BEHIND));
            }
        }
        ToolResult { content: words, ..result.clone() }
    });
    let told = told.collect();
    Some((told, Message::User { content: shown }))
}

/// The messages in their order, where each of `groups` stands for one: calls that were taken apart are each followed by
/// what came of them.
pub(super) fn in_order(groups: &[Arc<Vec<Arc<Message>>>]) -> Vec<Arc<Message>> {
    let mut list = Vec::with_capacity(groups.len());
    let mut groups = groups.iter().peekable();
    while let Some(group) = groups.next() {
        let takes_turns = group.len() > 1 && matches!(**group.first().unwrap_or(&DONE), Message::Assistant { .. });
        let results = takes_turns
            .then(|| groups.next_if(|next| next.first().is_some_and(|one| matches!(**one, Message::Tools { .. }))))
            .flatten();
        let Some(results) = results else {
            list.extend(group.iter().cloned());
            continue;
        };
        let mut results: Vec<Option<&Arc<Message>>> = results.iter().map(Some).collect();
        for answer in group.iter() {
            list.push(answer.clone());
            let mine = results.iter_mut().find(|one| one.is_some_and(|one| answers(one, answer)));
            list.extend(mine.and_then(Option::take).cloned());
        }
        list.extend(results.into_iter().flatten().cloned());
    }
    list
}

/// Whether `result` is what came of the call in `answer`.
fn answers(result: &Message, answer: &Message) -> bool {
    let (Message::Tools { results }, Message::Assistant { parts }) = (result, answer) else { return false };
    let called =
        |id: &str| parts.iter().any(|part| matches!(part, AssistantPart::ToolCall { id: one, .. } if one == id));
    results.iter().any(|result| called(&result.id))
}

/// Always the same, like the messages around it.
static DONE: LazyLock<Arc<Message>> = LazyLock::new(|| {
    let parts = vec![AssistantPart::Text { text: "Done.".to_owned(), item: None }];
    Arc::new(Message::Assistant { parts })
});

/// A word of the model between each result and words of the user.
pub(super) fn answered(messages: Vec<Arc<Message>>) -> Vec<Arc<Message>> {
    let mut list: Vec<Arc<Message>> = Vec::with_capacity(messages.len());
    for message in messages {
        let behind = list.last().is_some_and(|last| matches!(**last, Message::Tools { .. }));
        if behind && matches!(*message, Message::User { .. }) {
            list.push(DONE.clone());
        }
        list.push(message);
    }
    list
}
