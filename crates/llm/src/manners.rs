//! What single vendors want in each request, which depends on the request and so cannot stand in what [`crate::vendors`]
//! gives once. Pure.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::dialect::answering::affinity;
use crate::dialect::media;
use crate::{Content, Message, Request, Secret};

/// How a vendor wants to be asked, beyond its dialect. Every dialect heeds what concerns it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Manners {
    /// As its dialect says.
    #[default]
    Plain,
    /// GitHub Copilot: headers say who asks and whether there are pictures to look at, and marks for its cache have a
    /// name of their own.
    Copilot,
    /// What a ChatGPT subscription pays for: the system prompt is a field of its own, and a header names the session.
    ChatGpt,
}

/// Who pays a request of Copilot: the user's words count against the quota, what follows from them does not.
const INITIATOR: HeaderName = HeaderName::from_static("x-initiator");

/// What Copilot is asked for.
const INTENT: HeaderName = HeaderName::from_static("openai-intent");

/// Without it, Copilot refuses pictures.
const VISION: HeaderName = HeaderName::from_static("copilot-vision-request");

/// The session, for ChatGPT's endpoint.
const SESSION: HeaderName = HeaderName::from_static("session_id");

impl Manners {
    /// Whether a subscription pays, so that a request costs nothing more.
    pub fn is_paid(self) -> bool {
        match self {
            Manners::Plain => false,
            Manners::Copilot | Manners::ChatGpt => true,
        }
    }

    /// The headers of `request` that others of its server have not.
    pub(crate) fn headers(self, request: &Request) -> HeaderMap {
        let mut headers = common(request);
        match self {
            Manners::Plain => {}
            Manners::Copilot => {
                let asked = matches!(request.messages.last().map(|last| &**last), Some(Message::User { .. }) | None);
                headers.insert(INITIATOR, HeaderValue::from_static(if asked { "user" } else { "agent" }));
                headers.insert(INTENT, HeaderValue::from_static("conversation-edits"));
                if request.messages.iter().any(|message| shows(message)) {
                    headers.insert(VISION, HeaderValue::from_static("true"));
                }
            }
            Manners::ChatGpt => {
                let session = request.session.as_deref().and_then(|session| HeaderValue::from_str(session).ok());
                headers.extend(session.map(|session| (SESSION, session)));
            }
        }
        headers
    }
}

/// Headers that belong to the connection, and not to whoever adds some.
const CONNECTION: [&str; 7] =
    ["host", "content-length", "content-type", "transfer-encoding", "connection", "upgrade", "te"];

/// The headers of `request` whatever the vendor: those that name its session, and those that were added to it.
pub(crate) fn common(request: &Request) -> HeaderMap {
    let mut headers = affinity(request.session.as_deref());
    headers.extend(added(request));
    headers
}

/// The headers that were added to `request`.
pub(crate) fn added(request: &Request) -> HeaderMap {
    let read = |(name, value): &(String, Secret)| {
        let (name, mut value) = (HeaderName::try_from(name).ok()?, HeaderValue::from_str(value.expose()).ok()?);
        // It may be a key.
        value.set_sensitive(true);
        (!CONNECTION.contains(&name.as_str())).then_some((name, value))
    };
    request.headers.iter().filter_map(read).collect()
}

/// Whether a message shows a picture.
fn shows(message: &Message) -> bool {
    let is_picture = |content: &Content| match content {
        Content::Text { .. } => false,
        Content::Media { mime, .. } => media::kind(mime) == Some("image"),
    };
    match message {
        Message::User { content } => content.iter().any(is_picture),
        Message::Tools { results } => results.iter().flat_map(|result| &result.content).any(is_picture),
        Message::Assistant { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolResult;

    fn picture() -> Content {
        Content::Media { mime: "image/png".to_owned(), data: "AAAA".to_owned(), name: None }
    }

    fn user(content: Content) -> Message {
        Message::User { content: vec![content] }
    }

    fn result(content: Content) -> Message {
        let result =
            ToolResult { id: "a".to_owned(), name: "read".to_owned(), content: vec![content], is_error: false };
        Message::Tools { results: vec![result] }
    }

    #[track_caller]
    fn check(manners: Manners, messages: Vec<Message>, session: Option<&str>, want: &[&str]) {
        let messages = messages.into_iter().map(Into::into).collect();
        let request = Request { messages, session: session.map(str::to_owned), ..Request::default() };
        let headers = manners.headers(&request);
        let mut lines: Vec<_> =
            headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        lines.sort_unstable();
        assert_eq!(lines, want);
    }

    #[test]
    fn most_vendors_hear_only_of_the_session() {
        check(Manners::Plain, vec![user(picture())], Some("ses_1"), &["x-session-affinity: ses_1"]);
        check(Manners::Plain, vec![], None, &[]);
        check(Manners::Plain, vec![], Some("no\nheader"), &[]);
    }

    #[test]
    fn headers_may_be_added_but_not_those_of_the_connection() {
        let add = |name: &str, value: &str| (name.to_owned(), Secret::new(value));
        let headers = vec![add("X-Team", "a"), add("Host", "evil"), add("no name", "b"), add("x-b", "no\nvalue")];
        let headers = common(&Request { headers, ..Request::default() });
        assert_eq!(headers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["x-team"]);
    }

    #[test]
    fn copilot_hears_who_asks_and_of_pictures() {
        let (intent, text) = ("openai-intent: conversation-edits", || Content::text("Hi."));
        check(Manners::Copilot, vec![user(text())], None, &[intent, "x-initiator: user"]);
        check(Manners::Copilot, vec![user(text()), result(text())], None, &[intent, "x-initiator: agent"]);
        let seen = |initiator| ["copilot-vision-request: true", intent, initiator];
        check(Manners::Copilot, vec![user(text()), result(picture())], None, &seen("x-initiator: agent"));
        // Also where the picture came long before.
        check(Manners::Copilot, vec![user(picture()), user(text())], None, &seen("x-initiator: user"));
    }

    #[test]
    fn chatgpt_hears_of_the_session_in_its_own_words() {
        let want = ["session_id: ses_1", "x-session-affinity: ses_1"];
        check(Manners::ChatGpt, vec![user(picture())], Some("ses_1"), &want);
    }
}
