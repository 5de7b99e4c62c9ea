//! What single models and servers want otherwise: small rewrites of a [`Request`], before a dialect writes it.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use futures::stream::BoxStream;
use serde_json::Value;

use crate::dialect::media;
use crate::kept::Kept;
use crate::{AssistantPart, Chunk, Content, LlmError, Message, Provider, Request, ToolResult, ToolSpec};

/// What a model wants otherwise. The default changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quirks {
    /// The kinds of files it can be shown. `None`: not known, and everything is tried.
    pub accepts: Option<Accepts>,
    /// What the ids of calls may look like.
    pub ids: Ids,
    /// Whether a model refuses words of the user right behind the result of a call.
    pub answer_results: bool,
    /// Whether it cannot call tools, so that none are offered.
    pub no_tools: bool,
}

/// The kinds of files a model can be shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Accepts {
    /// Pictures.
    pub image: bool,
    /// PDF documents.
    pub pdf: bool,
    /// Sounds.
    pub audio: bool,
    /// Films.
    pub video: bool,
}

/// What the ids of calls may look like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ids {
    /// Like anything.
    #[default]
    Any,
    /// Letters, digits, `_` and `-`.
    Plain,
    /// Exactly nine letters and digits.
    Nine,
}

impl Quirks {
    /// What is known of a model by the name of its vendor and the vendor's name for it.
    pub fn of(vendor: &str, model: &str) -> Self {
        let model = model.to_lowercase();
        let mistral = vendor == "mistral" || ["mistral", "devstral"].into_iter().any(|name| model.contains(name));
        let ids = if mistral {
            Ids::Nine
        } else if model.contains("claude") {
            Ids::Plain
        } else {
            Ids::Any
        };
        Self { accepts: None, ids, answer_results: mistral, no_tools: false }
    }

    /// `provider`, asked in the way that this model wants.
    pub fn around(self, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        match self == Self::default() {
            true => provider,
            false => Arc::new(Quirked { provider, quirks: self, rewritten: Kept::default() }),
        }
    }

    /// Rewrites `request`. Messages that need no change are shared with those of the caller.
    pub fn apply(&self, request: Request) -> Request {
        self.apply_with(request, &Kept::default())
    }

    /// The same. Messages that were rewritten before are those of then, so that whoever gets the request knows them
    /// again. `rewritten` must be used with these quirks only.
    fn apply_with(&self, mut request: Request, rewritten: &Kept<Message>) -> Request {
        request.messages = rewritten.of(&request, |message| match self.message(message) {
            Some(changed) => {
                let bytes = bytes(&changed);
                (Arc::new(changed), bytes)
            }
            None => (message.clone(), bytes(message)),
        });
        if self.no_tools {
            request.tools.clear();
        }
        if self.answer_results {
            request.messages = answered(request.messages);
        }
        request
    }

    fn message(&self, message: &Message) -> Option<Message> {
        Some(match message {
            Message::User { content } => {
                content.iter().any(|content| self.refusal(content).is_some()).then_some(())?;
                Message::User { content: self.contents(content) }
            }
            Message::Assistant { parts } => {
                let renamed = |part: &AssistantPart| match part {
                    AssistantPart::ToolCall { id, name, arguments, item } => match self.id(id) {
                        Cow::Borrowed(_) => None,
                        Cow::Owned(id) => Some(AssistantPart::ToolCall {
                            id,
                            name: name.clone(),
                            arguments: arguments.clone(),
                            item: item.clone(),
                        }),
                    },
                    AssistantPart::Text { .. } | AssistantPart::Reasoning { .. } | AssistantPart::Vendor { .. } => None,
                };
                parts.iter().any(|part| renamed(part).is_some()).then_some(())?;
                let parts = parts.iter().map(|part| renamed(part).unwrap_or_else(|| part.clone())).collect();
                Message::Assistant { parts }
            }
            Message::Tools { results } => {
                let changes = |result: &ToolResult| {
                    matches!(self.id(&result.id), Cow::Owned(_))
                        || result.content.iter().any(|content| self.refusal(content).is_some())
                };
                results.iter().any(changes).then_some(())?;
                let result = |result: &ToolResult| ToolResult {
                    id: self.id(&result.id).into_owned(),
                    name: result.name.clone(),
                    content: self.contents(&result.content),
                    is_error: result.is_error,
                };
                Message::Tools { results: results.iter().map(result).collect() }
            }
        })
    }

    fn contents(&self, contents: &[Content]) -> Vec<Content> {
        contents.iter().map(|content| self.refusal(content).unwrap_or_else(|| content.clone())).collect()
    }

    /// The words that stand for a file which the model cannot be shown.
    fn refusal(&self, content: &Content) -> Option<Content> {
        let (Content::Media { mime, name, .. }, Some(accepts)) = (content, self.accepts) else { return None };
        let accepted = match media::kind(mime) {
            Some("image") => accepts.image,
            Some("pdf") => accepts.pdf,
            Some("audio") => accepts.audio,
            Some("video") => accepts.video,
            // The dialect knows what it can carry.
            Some(_) | None => true,
        };
        (!accepted).then(|| Content::text(media::unsupported(mime, name.as_deref())))
    }

    fn id<'a>(&self, id: &'a str) -> Cow<'a, str> {
        match self.ids {
            Ids::Any => id.into(),
            Ids::Plain => plain(id),
            Ids::Nine => nine(id),
        }
    }
}

/// Letters, digits, `_` and `-`, with `_` for everything else.
pub(crate) fn plain(id: &str) -> Cow<'_, str> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    match id.chars().all(fits) {
        true => id.into(),
        false => id.chars().map(|letter| if fits(letter) { letter } else { '_' }).collect(),
    }
}

/// The first nine letters and digits, filled up with `0`.
fn nine(id: &str) -> Cow<'_, str> {
    const LENGTH: usize = 9;
    match id.len() == LENGTH && id.chars().all(|letter| letter.is_ascii_alphanumeric()) {
        true => id.into(),
        false => {
            let kept = id.chars().filter(char::is_ascii_alphanumeric).chain(std::iter::repeat('0'));
            Cow::Owned(kept.take(LENGTH).collect())
        }
    }
}

/// How long a message is as JSON, in bytes.
fn bytes(message: &Message) -> usize {
    // Texts and JSON: nothing that could fail.
    serde_json::to_vec(message).map_or(0, |json| json.len())
}

/// A word of the model between each result and words of the user.
fn answered(messages: Vec<Arc<Message>>) -> Vec<Arc<Message>> {
    /// Always the same, like the messages around it.
    static DONE: LazyLock<Arc<Message>> = LazyLock::new(|| {
        let parts = vec![AssistantPart::Text { text: "Done.".to_owned(), item: None }];
        Arc::new(Message::Assistant { parts })
    });
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

/// A provider that is asked otherwise.
struct Quirked {
    provider: Arc<dyn Provider>,
    quirks: Quirks,
    rewritten: Kept<Message>,
}

impl Provider for Quirked {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Chunk, LlmError>> {
        self.provider.stream(self.quirks.apply_with(request, &self.rewritten))
    }

    fn body(&self, request: Request) -> Vec<u8> {
        self.provider.body(self.quirks.apply_with(request, &self.rewritten))
    }

    fn tools(&self, specs: &[ToolSpec]) -> Value {
        if self.quirks.no_tools { Value::Array(Vec::new()) } else { self.provider.tools(specs) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dialect::histories::requests;

    fn media(mime: &str) -> Content {
        Content::Media { mime: mime.to_owned(), data: "AAAA".to_owned(), name: Some("a.x".to_owned()) }
    }

    fn call(id: &str) -> AssistantPart {
        AssistantPart::ToolCall { id: id.to_owned(), name: "ls".to_owned(), arguments: "{}".to_owned(), item: None }
    }

    fn request(messages: Vec<Message>) -> Request {
        Request { messages: messages.into_iter().map(Arc::new).collect(), ..Request::default() }
    }

    fn tools(id: &str, content: Vec<Content>) -> Message {
        let result = ToolResult { id: id.to_owned(), name: "ls".to_owned(), content, is_error: false };
        Message::Tools { results: vec![result] }
    }

    #[test]
    fn files_that_a_model_cannot_be_shown_become_words() {
        let quirks = Quirks { accepts: Some(Accepts { image: true, ..Accepts::default() }), ..Quirks::default() };
        let told = |kind: &str| {
            Content::text(format!(
                "ERROR: Cannot read \"a.x\" (this model does not support {kind} input). Inform the user."
            ))
        };
        let row = |mime: &str, want: Content| {
            let contents = || vec![Content::text("look"), media(mime)];
            let got = quirks.apply(request(vec![Message::User { content: contents() }, tools("a", contents())]));
            let wanted = vec![Content::text("look"), want];
            assert_eq!(got, request(vec![Message::User { content: wanted.clone() }, tools("a", wanted)]), "{mime}");
        };
        row("image/png", media("image/png"));
        row("application/pdf", told("pdf"));
        row("audio/wav", told("audio"));
        row("video/mp4", told("video"));
        row("text/plain", media("text/plain"));
    }

    #[test]
    fn ids_are_made_to_fit_in_calls_and_results() {
        let row = |quirks: &Quirks, id: &str, want: &str| {
            let got = quirks.apply(request(vec![Message::Assistant { parts: vec![call(id)] }, tools(id, vec![])]));
            assert_eq!(got, request(vec![Message::Assistant { parts: vec![call(want)] }, tools(want, vec![])]), "{id}");
        };
        let (mistral, claude) = (Quirks::of("x", "Devstral-2"), Quirks::of("openrouter", "anthropic/claude-x"));
        row(&mistral, "call_with.odd:chars", "callwitho");
        row(&mistral, "ab", "ab0000000");
        row(&mistral, "abcdefgh1", "abcdefgh1");
        row(&claude, "call.1", "call_1");
        row(&claude, "toolu_01-A", "toolu_01-A");
        row(&Quirks::of("v", "m"), "call.1", "call.1");
    }

    #[test]
    fn a_word_stands_between_a_result_and_the_user() {
        let user = || Message::User { content: vec![Content::text("go on")] };
        let done = Message::Assistant { parts: vec![AssistantPart::Text { text: "Done.".to_owned(), item: None }] };
        let got = Quirks::of("mistral", "m").apply(request(vec![user(), tools("abcdefgh1", vec![]), user()]));
        assert_eq!(got, request(vec![user(), tools("abcdefgh1", vec![]), done, user()]));
    }

    #[test]
    fn what_needs_no_change_is_shared() {
        let asked = request(vec![Message::Assistant { parts: vec![call("abcdefgh1")] }, tools("abcdefgh1", vec![])]);
        let quirks = Quirks { accepts: Some(Accepts::default()), ..Quirks::of("mistral", "m") };
        let got = quirks.apply(asked.clone());
        assert!(got.messages.iter().zip(&asked.messages).all(|(got, asked)| Arc::ptr_eq(got, asked)));
    }

    #[test]
    fn what_was_rewritten_is_the_same_in_the_next_request() {
        let user = || Message::User { content: vec![Content::text("go on")] };
        let mut asked = request(vec![Message::Assistant { parts: vec![call("a.1")] }, tools("a.1", vec![]), user()]);
        let (quirks, rewritten) = (Quirks::of("mistral", "m"), Kept::default());
        let first = quirks.apply_with(asked.clone(), &rewritten);
        asked.messages.push(Arc::new(user()));
        let second = quirks.apply_with(asked, &rewritten);
        assert_eq!((first.messages.len(), second.messages.len()), (4, 5));
        assert!(first.messages.iter().zip(&second.messages).all(|(first, second)| Arc::ptr_eq(first, second)));
    }

    proptest! {
        #[test]
        fn a_request_does_not_depend_on_those_before_it(requests in requests()) {
            let accepts = Accepts { image: true, ..Accepts::default() };
            let quirks = Quirks { accepts: Some(accepts), ..Quirks::of("mistral", "m") };
            let rewritten = Kept::default();
            for request in requests {
                prop_assert_eq!(quirks.apply_with(request.clone(), &rewritten), quirks.apply(request));
            }
        }
    }
}
