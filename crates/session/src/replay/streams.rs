//! From histories to what is played: whose answers, what lets a turn go on, and when a task in the background may.

use std::collections::BTreeMap;

use haft_protocol::{History, Id, Message, MessageId, PartKind, SessionId, ToolState, Turned};

use super::acts::words;
use super::answers::{End, answers, elsewhere};
use super::{Moment, Stream, is_models, told_of};
use crate::driver::BY_HAND;
use crate::task::background::unreported;

/// What a session and its tasks play, the session first. Where they name the folder `was` they name `is` instead.
pub fn streams(own: (&SessionId, &History), tasks: &[(&SessionId, &History)], was: &str, is: &str) -> Vec<Stream> {
    let moved = |text: String| if was.is_empty() { text } else { text.replace(was, is) };
    let stream = |id: &SessionId, history: &History, opens: Vec<Moment>| Stream {
        session: id.to_string(),
        begins: moved(history.messages().first().and_then(words).unwrap_or_default()),
        answers: answers(history).into_iter().map(|(answer, _)| elsewhere(answer, was, is)).collect(),
        goes_on: spoken(history),
        opens,
    };
    let above = own.1;
    let below = tasks.iter().map(|(id, history)| stream(id, history, moments(above, id, history)));
    std::iter::once(stream(own.0, above, Vec::new())).chain(below).collect()
}

/// What hooks had a turn go on with that was about to end, by how many answers there were then.
fn spoken(history: &History) -> BTreeMap<usize, String> {
    let ends: Vec<End> = answers(history).into_iter().map(|(_, end)| end).collect();
    let mut spoken = BTreeMap::new();
    let mut behind: usize = 0;
    for pair in history.messages().windows(2) {
        let [before, turned] = pair else { continue };
        behind += usize::from(is_models(before));
        let was_done = behind.checked_sub(1).and_then(|last| ends.get(last)) == Some(&End::Done);
        if is_models(before)
            && was_done
            && let Some(text) = by_hook(turned)
        {
            spoken.insert(behind, text);
        }
    }
    spoken
}

/// The words of a prompt that nobody but a hook can have made where a turn had ended.
fn by_hook(turned: &Turned) -> Option<String> {
    let Message::User(user) = &turned.info else { return None };
    // A model that keeps no form is told so without any hook.
    if user.format.is_some() || told_of(turned).is_some() {
        return None;
    }
    turned.parts.iter().find_map(|part| match &part.kind {
        PartKind::Text { text, synthetic: true, metadata: None, .. } if text != BY_HAND => Some(text.clone()),
        _ => None,
    })
}

/// When each answer of the task `id` may be played, where it went on behind the session `above`: not before that had
/// come as far as it had then; the last one before its end was told not before that.
fn moments(above: &History, id: &SessionId, task: &History) -> Vec<Moment> {
    if !goes_on_behind(above, id) {
        return Vec::new();
    }
    let age = |turned: &Turned| (turned.info.created(), turned.info.id().clone());
    let asked: Vec<(u64, MessageId)> = above.messages().iter().filter(|turned| is_models(turned)).map(age).collect();
    let before = |age: &(u64, MessageId)| asked.iter().filter(|one| *one < age).count();
    let own: Vec<(u64, MessageId)> = task.messages().iter().filter(|turned| is_models(turned)).map(age).collect();
    let mut moments: Vec<Moment> = own.iter().map(|age| Moment::asked(before(age))).collect();
    let told = above.messages().iter().filter(|turned| told_of(turned).as_ref() == Some(id)).map(age);
    for told in told {
        if let Some(last) = own.iter().rposition(|age| *age < told) {
            moments[last] = Moment::told(before(&told));
        }
    }
    // One that nobody was told of ends behind everything.
    let is_left = unreported(above.messages()).iter().any(|(left, _)| left == id);
    if let Some(last) = moments.last_mut().filter(|_| is_left) {
        *last = Moment::told(asked.len());
    }
    moments
}

/// Whether a call in `above` left the task `id` to itself.
fn goes_on_behind(above: &History, id: &SessionId) -> bool {
    let mut parts = above.messages().iter().flat_map(|turned| &turned.parts);
    parts.any(|part| match part.kind.state() {
        Some(ToolState::Completed { metadata, .. }) => {
            metadata.get("background").is_some_and(|behind| behind == true)
                && metadata.get("sessionId").is_some_and(|session| session == id.as_str())
        }
        _ => false,
    })
}
