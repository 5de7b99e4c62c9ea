//! What kind of failure an answer is: status, headers and body in, [`LlmError`] out. Pure.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::Value;

use crate::{LlmError, Secret};

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
        let kind = kind(self.status, self.after, &told);
        let message = told.message.unwrap_or_else(|| match self.status {
            Some(_) if body.trim().is_empty() => "it gave no reason".to_owned(),
            _ => page(&body).unwrap_or_else(|| excerpt(&body)),
        });
        let provider = self.provider.to_owned();
        let (status, after) = (self.status, self.after);
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
    for secret in secrets {
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
        let mut words = Self { message, text, ..Self::default() };
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
    if code(&QUOTA_CODES) || matches!(status, Some(400 | 403)) && says(&["credit balance"]) {
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

const TOO_LONG_CODES: [&str; 3] = ["context_length_exceeded", "context_window_exceeded", "request_too_large"];

const TOO_LONG_TEXTS: [&str; 10] = [
    "maximum context length",
    "context length exceeded",
    "exceeds the context window",
    "context window exceeds",
    "exceed context limit",
    "exceed the context size",
    "exceeds the available context size",
    "prompt is too long",
    "input is too long",
    "reduce the length of the messages",
];

const QUOTA_CODES: [&str; 4] = ["insufficient_quota", "insufficient_balance", "billing", "credit"];

const QUOTA_TEXTS: [&str; 7] = [
    "current quota",
    "insufficient balance",
    "insufficient credit",
    "credit balance",
    "out of credit",
    "billing",
    "usage limit reached",
];

const LIMIT_CODES: [&str; 3] = ["rate_limit", "too_many_requests", "resource_exhausted"];

const LIMIT_TEXTS: [&str; 7] = [
    "rate limit",
    "rate-limit",
    "rate_limit",
    "rate increased too quickly",
    "too many requests",
    "too_many_requests",
    "resource exhausted",
];

const SERVER_CODES: [&str; 6] = ["overloaded", "unavailable", "server_error", "internal", "api_error", "timeout"];

const SERVER_TEXTS: [&str; 42] = [
    "overloaded",
    "service unavailable",
    "temporarily unavailable",
    "internal error",
    "internal_error",
    "server error",
    "server_error",
    "server-error",
    "server had an error",
    "provider returned error",
    "at capacity",
    "try again later",
    "try again in",
    "try your request again",
    "retry your request",
    "request timeout",
    "request timed out",
    "response timeout",
    "response timed out",
    "connection timeout",
    "connection timed out",
    "read timeout",
    "read timed out",
    "connection error",
    "connection lost",
    "connection refused",
    "connection reset",
    "broken pipe",
    "getaddrinfo",
    "enotfound",
    "eai_again",
    "connection was closed",
    "network error",
    "upstream connect",
    "reset before headers",
    "socket hang up",
    "fetch failed",
    "failed to fetch",
    "terminated",
    "econnreset",
    "econnrefused",
    "etimedout",
];

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

/// The beginning of `text` on one line.
pub(crate) fn excerpt(text: &str) -> String {
    let mut short = String::new();
    let words = text.split_whitespace().flat_map(|word| [" ", word]).skip(1);
    for (at, letter) in words.flat_map(str::chars).enumerate() {
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
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: impl Into<Option<u16>>, after: Option<u64>, body: &str, want: &str) {
        let after = after.map(Duration::from_secs);
        let error =
            Told { provider: "v", model: "m", status: status.into(), after, body, secrets: &[Secret::new("sk-1/2")] }
                .classify();
        assert_eq!(error.to_string(), want, "{body}");
    }

    #[test]
    fn a_status_decides_with_the_words_of_the_vendor() {
        check(401, None, r#"{"error":{"message":"bad key"}}"#, "v rejected the credentials (status 401): bad key");
        check(403, None, r#"{"error":"no access"}"#, "v rejected the credentials (status 403): no access");
        check(429, None, r#"{"message":"slow down"}"#, "v limits how often it may be asked: slow down");
        check(404, None, r#"{"detail":"no such model"}"#, "v did not take the request (status 404): no such model");
        check(
            422,
            None,
            r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#,
            "v did not take the request (status 422): field required",
        );
        check(500, None, "", "v failed with status 500: it gave no reason");
        check(502, None, "<html><title>Bad gateway</title>", "v failed with status 502: a web page (“Bad gateway”)");
        check(
            529,
            None,
            r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "v failed with status 529: Overloaded",
        );
        check(418, None, "plain\n  words", "v did not take the request (status 418): plain words");
        check(
            400,
            None,
            r#"[{"error":{"code":400,"message":"Bad","status":"INVALID_ARGUMENT"}}]"#,
            "v did not take the request (status 400): Bad",
        );
    }

    #[test]
    fn a_key_is_not_repeated() {
        let rejected = "v rejected the credentials (status 401): … is no key";
        check(401, None, r#"{"error":"sk-1/2 is no key"}"#, rejected);
        check(401, None, r#"{"error":"sk-1\/2 is no key"}"#, rejected);
        check(401, None, r#"{"error":{"message":"\u0073k-1/2 is no key"}}"#, rejected);
        check(400, None, "what is sk-1/2?", "v did not take the request (status 400): what is …?");
        let page = "<html><title>sk-1/2</title>";
        check(502, None, page, "v failed with status 502: a web page (“…”)");
        let far = format!("{}sk-1/2", "x".repeat(MAX_EXCERPT - 3));
        check(400, None, &far, &format!("v did not take the request (status 400): {}…", "x".repeat(MAX_EXCERPT - 3)));
    }

    #[test]
    fn a_history_that_is_too_long_is_told_apart() {
        let want = "the conversation is too long for m: ";
        let row = |status: Option<u16>, code: &str, message: &str| {
            let body = format!(r#"{{"error":{{"message":"{message}","code":"{code}"}}}}"#);
            check(status, None, &body, &format!("{want}{message}"));
        };
        row(Some(400), "context_length_exceeded", "x");
        row(None, "context_length_exceeded", "x");
        row(Some(400), "", "This model's maximum context length is 8192 tokens");
        row(Some(400), "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum");
        row(Some(500), "", "the request exceeds the available context size");
        row(Some(413), "", "Payload Too Large");
    }

    #[test]
    fn money_is_not_a_matter_of_waiting_unless_a_time_is_named() {
        let quota = "v says that the quota is used up: You exceeded your current quota";
        let limited = "v limits how often it may be asked: You exceeded your current quota";
        let plain = r#"{"error":{"message":"You exceeded your current quota"}}"#;
        check(429, None, plain, quota);
        check(429, Some(20), plain, limited);
        let coded = r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#;
        check(429, Some(20), coded, quota);
        check(None, None, coded, quota);
        check(402, None, r#"{"error":{"message":"top up"}}"#, "v says that the quota is used up: top up");
    }

    #[test]
    fn an_error_in_the_stream_has_only_its_words() {
        let row = |body: &str, want: &str| check(None, None, body, want);
        row(r#"{"error":{"message":"busy","type":"server_error"}}"#, "v failed: busy");
        row(r#"{"error":{"message":"busy","code":503}}"#, "v failed: busy");
        row(r#"{"error":{"message":"slow","code":"429"}}"#, "v limits how often it may be asked: slow");
        row(r#"{"error":{"message":"slow","type":"rate_limit_error"}}"#, "v limits how often it may be asked: slow");
        row(r#"{"error":{"message":"key","type":"authentication_error"}}"#, "v rejected the credentials: key");
        row(r#"{"error":{"message":"no","type":"invalid_request_error"}}"#, "v did not take the request: no");
        row(
            r#"{"error":{"message":"there are 500 of them, none fits"}}"#,
            "v did not take the request: there are 500 of them, none fits",
        );
        row(r#"{"error":{}}"#, r#"v did not take the request: {"error":{}}"#);
    }

    #[test]
    fn trouble_that_passes_is_known_by_its_words() {
        let passing = |status: Option<u16>, body: &str, want: bool| {
            let told = Told { provider: "v", model: "m", status, after: None, body, secrets: &[] };
            let error = told.classify();
            assert_eq!(error.is_passing(), want, "{body}: {error}");
        };
        passing(Some(400), r#"{"type":"overloaded_error"}"#, true);
        passing(Some(400), r#"{"error":{"message":"the model is at capacity"}}"#, true);
        passing(Some(400), r#"{"error":{"message":"Rate limit exceeded"}}"#, true);
        passing(Some(400), r#"{"error":{"message":"the prompt has 15023 tokens"}}"#, false);
        passing(Some(400), r#"{"error":{"message":"invalid timeout parameter"}}"#, false);
        passing(Some(401), r#"{"error":{"message":"try again later"}}"#, false);
        passing(Some(404), r#"{"error":{"message":"the model m is unavailable in your region"}}"#, false);
        passing(None, "the model is unavailable", true);
        passing(None, "service unavailable", true);
        passing(None, "connect ECONNREFUSED 127.0.0.1:1", true);
        passing(None, "timeout", true);
        passing(None, "upstream answered with status code: 503", true);
        passing(None, "there are 503 of them", false);
        passing(None, "out of memory", false);
    }

    #[test]
    fn an_excerpt_is_short_and_on_one_line() {
        assert_eq!(excerpt(" a\n\n b\t"), "a b");
        assert_eq!(excerpt(&"ü".repeat(300)), "ü".repeat(300));
        assert_eq!(excerpt(&"ü".repeat(9999)), format!("{}…", "ü".repeat(299)));
        assert_eq!(excerpt(&"a ".repeat(9999)).chars().count(), 300);
    }

    #[test]
    fn pages_are_known_by_how_they_begin() {
        let row = |body: &str, want: Option<&str>| assert_eq!(page(body).as_deref(), want, "{body}");
        row("<!DOCTYPE html><html><head><title> Sign\n in </title>", Some("a web page (“Sign in”)"));
        row("\n<HTML><body>", Some("a web page"));
        row("<html><title>cut", Some("a web page"));
        row("{\"a\":\"<html>\"}", None);
        row("", None);
    }
}
