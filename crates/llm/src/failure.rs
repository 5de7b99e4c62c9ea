//! What kind of failure an answer is: status, headers and body in, [`LlmError`] out. Pure.

mod details;
mod phrases;
mod spoken;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::time::Duration;

use serde_json::Value;

use crate::retry::MAX_WAIT;
use crate::{LlmError, Secret};
use details::Details;
use phrases::{
    KEY_CODES, LIMIT_CODES, LIMIT_TEXTS, QUOTA_CODES, QUOTA_TEXTS, SERVER_CODES, SERVER_TEXTS, TOO_LONG_CODES,
    TOO_LONG_TEXTS,
};

/// Longest piece of a foreign text in a message, in characters.
const MAX_EXCERPT: usize = 300;

impl LlmError {
    /// The error that an answer of `provider` means when it is no answer: `body` with this HTTP `status`, or in the
    /// middle of a stream.
    pub fn of_answer(provider: &str, model: &str, status: Option<u16>, body: &str) -> Self {
        Told { provider, model, status, after: None, body, secrets: &[] }.classify()
    }
}

/// A failure as a vendor tells it.
pub(crate) struct Told<'a> {
    pub(crate) provider: &'a str,
    pub(crate) model: &'a str,
    /// The HTTP status; `None` in the middle of a stream.
    pub(crate) status: Option<u16>,
    /// What the headers ask to wait.
    pub(crate) after: Option<Duration>,
    /// The body, or the event.
    pub(crate) body: &'a str,
    /// What must not stand in a message: some vendors repeat the key that they reject.
    pub(crate) secrets: &'a [Secret],
}

impl Told<'_> {
    /// The error that the caller acts on.
    pub(crate) fn classify(self) -> LlmError {
        let body = hide(self.body, self.secrets);
        // Read from the body as it came: within JSON a key may be spelled with escapes.
        let told = Words::of(self.body, self.secrets);
        let after = self.after.or(told.wait);
        let kind = kind(self.status, after, &told);
        let message = told.message.unwrap_or_else(|| match self.status {
            Some(_) if body.trim().is_empty() => "it gave no reason".to_owned(),
            _ => page(&body).unwrap_or_else(|| excerpt(&body)),
        });
        let provider = self.provider.to_owned();
        let status = self.status;
        match kind {
            Kind::RateLimited => LlmError::RateLimited { provider, message, after },
            Kind::Server => LlmError::Server { provider, status, message, after },
            Kind::TooLong => LlmError::TooLong { model: self.model.to_owned(), message },
            Kind::Unauthorized => LlmError::Unauthorized { provider, status, message },
            Kind::Quota => LlmError::Quota { provider, message },
            Kind::Rejected => LlmError::Rejected { provider, status, message },
        }
    }
}

/// `text` without the secrets in it.
pub(crate) fn hide<'a>(text: &'a str, secrets: &[Secret]) -> Cow<'a, str> {
    let mut hidden = Cow::Borrowed(text);
    let mut longest_first: Vec<&Secret> = secrets.iter().collect();
    // One may be the beginning of another, whose end would stay.
    longest_first.sort_by_key(|secret| Reverse(secret.expose().len()));
    for secret in longest_first {
        if hidden.contains(secret.expose()) {
            hidden = hidden.replace(secret.expose(), "…").into();
        }
    }
    hidden
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    RateLimited,
    Server,
    TooLong,
    Unauthorized,
    Quota,
    Rejected,
}

/// What a body says, in the forms that vendors use.
#[derive(Debug, Default)]
struct Words {
    message: Option<String>,
    /// Everything it says, in lower case: the message, or a body that is no JSON and no page.
    text: String,
    /// `code`, `type` and `status`, in lower case.
    codes: Vec<String>,
    /// A code that is a number from 400 to 599.
    number: Option<u16>,
    /// How long it asks to wait.
    wait: Option<Duration>,
    /// A limit for the whole day was reached.
    daily: bool,
}

impl Words {
    fn of(body: &str, secrets: &[Secret]) -> Self {
        let Ok(body) = serde_json::from_str::<Value>(body) else {
            let text = if page(body).is_some() { String::new() } else { excerpt(body).to_lowercase() };
            return Self { text, ..Self::default() };
        };
        // Some vendors put it into a list.
        let body = body.get(0).unwrap_or(&body);
        let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
        let message = message(error, secrets).or_else(|| message(body, secrets));
        let text = message.as_deref().unwrap_or_default().to_lowercase();
        let Details { wait, daily, reasons } = Details::of(error);
        // More than a day is a day, as it is in headers.
        let wait = wait.or_else(|| spoken::wait(&text)).map(|wait| wait.min(MAX_WAIT));
        let mut words = Self { message, text, codes: reasons, wait, daily, ..Self::default() };
        for key in ["code", "type", "status"] {
            for place in [error, body] {
                match place.get(key) {
                    Some(Value::String(code)) => words.code(code),
                    Some(Value::Number(code)) => words.code(&code.to_string()),
                    _ => {}
                }
            }
        }
        words
    }

    fn code(&mut self, code: &str) {
        match code.parse() {
            Ok(number @ 400..=599) => self.number = self.number.or(Some(number)),
            _ => self.codes.push(code.to_lowercase()),
        }
    }
}

fn message(error: &Value, secrets: &[Secret]) -> Option<String> {
    let text = match error {
        Value::String(text) => Some(text.as_str()),
        _ => ["message", "detail", "msg", "error"].into_iter().find_map(|key| match &error[key] {
            Value::String(text) => Some(text.as_str()),
            Value::Array(list) => list.first().and_then(|first| first["msg"].as_str()),
            _ => None,
        }),
    };
    text.filter(|text| !text.trim().is_empty()).map(|text| excerpt(&hide(text, secrets)))
}

fn kind(status: Option<u16>, after: Option<Duration>, told: &Words) -> Kind {
    let status = status.filter(|status| *status != 200).or(told.number);
    let code = |wanted: &[&str]| told.codes.iter().any(|code| wanted.iter().any(|wanted| code.contains(wanted)));
    let says = |wanted: &[&str]| wanted.iter().any(|wanted| told.text.contains(wanted));

    if matches!(status, None | Some(400 | 413 | 422 | 500)) && (code(&TOO_LONG_CODES) || says(&TOO_LONG_TEXTS)) {
        return Kind::TooLong;
    }
    if code(&KEY_CODES) {
        return Kind::Unauthorized;
    }
    if told.daily || code(&QUOTA_CODES) || matches!(status, Some(400 | 403)) && says(&["credit balance"]) {
        return Kind::Quota;
    }
    match status {
        Some(401 | 403) => Kind::Unauthorized,
        Some(402) => Kind::Quota,
        Some(413) => Kind::TooLong,
        // Who names a time means a limit that passes, whatever it is called.
        Some(429) if after.is_none() && says(&QUOTA_TEXTS) => Kind::Quota,
        Some(429) => Kind::RateLimited,
        Some(408 | 425 | 500..) => Kind::Server,
        None if code(&["authentication", "permission", "invalid_api_key", "unauthorized"]) => Kind::Unauthorized,
        None if says(&QUOTA_TEXTS) => Kind::Quota,
        // Gateways pass on what the vendor behind them said under a status, or none, of their own.
        _ if code(&LIMIT_CODES) || says(&LIMIT_TEXTS) => Kind::RateLimited,
        _ if code(&SERVER_CODES) || passes(&told.text) => Kind::Server,
        None if says(&["exhausted", "unavailable"]) => Kind::Server,
        _ => Kind::Rejected,
    }
}

/// Whether a text tells of trouble that passes: at the vendor's, or on the way there.
fn passes(text: &str) -> bool {
    SERVER_TEXTS.iter().any(|phrase| text.contains(phrase)) || text == "timeout" || names_status(text)
}

/// Whether a text names a status of a server in trouble as one, such as `HTTP 503`. A number alone is none.
fn names_status(text: &str) -> bool {
    ["status", "status code", "http", "http error", "error code"].into_iter().any(|before| {
        text.match_indices(before).any(|(at, _)| {
            let rest = text[at + before.len()..].trim_start_matches([' ', ':', '=']);
            let number = rest.split(|letter: char| !letter.is_ascii_alphanumeric()).next();
            matches!(number, Some("429" | "500" | "502" | "503" | "504" | "524" | "529"))
        })
    })
}

/// What a web page says it is, if `body` is one.
pub(crate) fn page(body: &str) -> Option<String> {
    let start = body.trim_start_matches('\u{feff}').trim_start();
    let begins = |tag: &str| start.get(..tag.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(tag));
    if !["<!doctype", "<html", "<head", "<body", "<!--"].into_iter().any(begins) {
        return None;
    }
    let title = start.find("<title>").and_then(|at| start[at + 7..].split_once("</title>"));
    Some(match title {
        Some((title, _)) if !title.trim().is_empty() => format!("a web page (“{}”)", excerpt(title)),
        _ => "a web page".to_owned(),
    })
}

/// The beginning of `text` on one line, without what no reader sees.
pub(crate) fn excerpt(text: &str) -> String {
    let mut short = String::new();
    let words = text.split_whitespace().flat_map(|word| [" ", word]).skip(1);
    for (at, letter) in words.flat_map(str::chars).filter(|letter| !letter.is_control()).enumerate() {
        if at == MAX_EXCERPT {
            short.pop();
            short.push('…');
            break;
        }
        short.push(letter);
    }
    short
}

#[cfg(test)]
mod tests;
