//! `webfetch`: a page of the web, as something to read.

mod charset;
mod journey;
mod kind;
#[cfg(test)]
mod server;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use haft_net::{Answer, Url, Web};
use haft_tool::image::{self, ImageLimits};
use haft_tool::{Attachment, Call, Output, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::beside::beside;
use crate::html::Page;
use crate::text::on_one_line;
use journey::Journey;
use kind::Kind;

/// Largest body, in bytes, unpacked.
const MAX_BODY: usize = 5 * 1024 * 1024;
/// Seconds that a fetch may take when the model does not say, all redirects together.
const TIMEOUT: f64 = 30.0;
/// Most seconds that it may take.
const MAX_TIMEOUT: f64 = 120.0;
/// How much of a refusal's body is read, in bytes.
const MAX_REFUSAL: usize = 64 * 1024;
/// How much of it is shown, in bytes.
const MAX_EXCERPT: usize = 500;

pub(crate) struct WebFetch {
    web: Web,
    images: ImageLimits,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Begins with `http://` or `https://`.
    url: String,
    /// `markdown` if left out.
    format: Option<Format>,
    /// Seconds, 30 if left out, at most 120.
    timeout: Option<f64>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Format {
    Markdown,
    Text,
    Html,
}

impl Format {
    fn word(self) -> &'static str {
        match self {
            Format::Markdown => "markdown",
            Format::Text => "text",
            Format::Html => "html",
        }
    }

    /// What a server is told to prefer.
    fn accept(self) -> &'static str {
        match self {
            Format::Markdown => {
                "text/markdown;q=1.0, text/x-markdown;q=0.9, text/plain;q=0.8, text/html;q=0.7, */*;q=0.1"
            }
            Format::Text => "text/plain;q=1.0, text/markdown;q=0.9, text/html;q=0.8, */*;q=0.1",
            Format::Html => {
                "text/html;q=1.0, application/xhtml+xml;q=0.9, text/plain;q=0.8, text/markdown;q=0.7, */*;q=0.1"
            }
        }
    }
}

impl WebFetch {
    pub(crate) fn new(web: Web, images: ImageLimits) -> Self {
        Self { web, images }
    }

    /// What came, in the form that was asked for.
    async fn shown(&self, bytes: Vec<u8>, said: &str, format: Format, url: &Url) -> Result<Output, ToolError> {
        let mime = kind::mime(said);
        match kind::of(&mime, &bytes) {
            Kind::Image => {
                let fitted = image::fit(bytes, &mime, &self.images).await;
                Ok(match fitted {
                    Ok(fitted) => attached("Image fetched successfully", fitted.mime, &fitted.bytes),
                    Err(_) => Output::new("", format!("Image fetched successfully\n\n{}", image::omitted(1))),
                })
            }
            Kind::Pdf => Ok(attached("PDF fetched successfully", "application/pdf", &bytes)),
            Kind::Binary => Err(unshowable(url, &mime)),
            Kind::Text => {
                let charset = kind::charset(said).map(str::to_owned);
                Ok(Output::new("", beside(move || charset::decode(&bytes, charset.as_deref())).await))
            }
            Kind::Page => {
                let (base, charset) = (url.clone(), kind::charset(said).map(str::to_owned));
                let read = move || page(charset::decode(&bytes, charset.as_deref()), format, &base);
                // A page that makes the reader panic cannot be read.
                let text = tokio::task::spawn_blocking(read).await;
                text.map(|text| Output::new("", text)).map_err(|_| {
                    ToolError::Failed(format!("{url} could not be read as HTML; fetch it with format html"))
                })
            }
        }
    }
}

impl Tool for WebFetch {
    const NAME: &'static str = "webfetch";
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        include_str!("webfetch.md").into()
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        let url = journey::parse(&input.url)?;
        let format = input.format.unwrap_or(Format::Markdown);
        let mut journey = Journey {
            web: &self.web,
            call,
            format: format.word(),
            timeout: input.timeout,
            accept: format.accept(),
            left: time(input.timeout)?,
            hops: Vec::new(),
        };
        let (last, answer) = journey.go(url).await?;
        let said = on_one_line(answer.content_type().unwrap_or_default()).into_owned();
        if !(200..300).contains(&answer.status()) {
            return Err(refused(&mut journey, &last, answer, &said).await);
        }
        let mime = kind::mime(&said);
        if kind::is_hopeless(&mime) {
            return Err(unshowable(&last, &mime));
        }
        let bytes = journey.timed(&last, answer.body(MAX_BODY)).await?;

        let mut output = self.shown(bytes, &said, format, &last).await?;
        output.title = if said.is_empty() { input.url } else { format!("{} ({said})", input.url) };
        if output.text.trim().is_empty() {
            output.text = "(The answer is empty.)".to_owned();
        }
        let hops: Vec<&str> = journey.hops.iter().map(Url::as_str).collect();
        if hops.is_empty() {
            return Ok(output);
        }
        output.text = format!("(Redirected to {}.)\n\n{}", hops.join(", then "), output.text);
        Ok(output.meta("redirects", hops))
    }
}

/// How long a fetch may take.
fn time(seconds: Option<f64>) -> Result<Duration, ToolError> {
    let seconds = seconds.unwrap_or(TIMEOUT);
    if seconds.is_nan() || seconds <= 0.0 {
        return Err(ToolError::BadInput(format!("timeout must be a number of seconds from 1 to {MAX_TIMEOUT}")));
    }
    Ok(Duration::from_secs_f64(seconds.min(MAX_TIMEOUT)))
}

/// A page in the form that was asked for, and what is to be known about it.
fn page(html: String, format: Format, url: &Url) -> String {
    if matches!(format, Format::Html) {
        return html;
    }
    let page = Page::read(&html);
    let mut text = match format {
        Format::Markdown => page.markdown(Some(url)),
        Format::Text | Format::Html => page.text(),
    };
    let mut notes = Vec::new();
    if page.needs_script() {
        notes.push(
            "(This page needs JavaScript to show its content, and webfetch runs none. Look for the same content \
             elsewhere: an API, a feed, a raw file, a static version.)"
                .to_owned(),
        );
    }
    if let Some(goal) = page.refresh().and_then(|goal| url.join(goal).ok()).filter(|goal| goal != url) {
        notes.push(format!("(The page sends its readers on to {goal}.)"));
    }
    if page.is_cut() {
        notes.push("(The page is too large or too broken to be read whole; this is its beginning.)".to_owned());
    }
    for note in notes {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&note);
    }
    text
}

fn attached(text: &str, mime: &str, bytes: &[u8]) -> Output {
    let url = format!("data:{mime};base64,{}", STANDARD.encode(bytes));
    let attachment = Attachment { mime: mime.to_owned(), filename: None, url };
    Output { attachments: vec![attachment], ..Output::new("", text) }
}

fn unshowable(url: &Url, mime: &str) -> ToolError {
    let kind = if mime.is_empty() { "binary" } else { mime };
    ToolError::Failed(format!(
        "{url} is {kind}, which cannot be shown. Download it with curl in bash and look at it there"
    ))
}

/// What an answer means that is no success.
async fn refused(journey: &mut Journey<'_>, url: &Url, answer: Answer, said: &str) -> ToolError {
    let status = answer.status();
    let advice = match status {
        403 if answer.get("cf-mitigated").is_some_and(|value| value.eq_ignore_ascii_case("challenge")) => {
            "The site lets in browsers only and wants them to prove it. Use another source"
        }
        401 | 403 | 407 => "It may need a sign-in; webfetch sends no credentials. Use another source, or ask the user",
        404 | 410 => "Check the address, or search for where the page is now",
        429 => "It was asked too often. Wait, or use another source",
        500.. => "The server has a problem. Try again later",
        _ => "Try another address",
    };
    let line = format!("{status} {}", answer.reason());
    let mut text = format!("{url} answered {}. {advice}", line.trim_end());
    // Whatever comes of the body, the answer is told.
    let body = journey.timed(url, async { Ok(answer.beginning(MAX_REFUSAL).await) }).await;
    let mime = kind::mime(said);
    let words = body.ok().and_then(|bytes| match kind::of(&mime, &bytes) {
        Kind::Page => Some(crate::html::text(&charset::decode(&bytes, kind::charset(said)))),
        Kind::Text => Some(charset::decode(&bytes, kind::charset(said))),
        Kind::Image | Kind::Pdf | Kind::Binary => None,
    });
    let words = words.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    if !words.is_empty() {
        let excerpt = &words[..words.floor_char_boundary(MAX_EXCERPT)];
        let more = if excerpt.len() < words.len() { " …" } else { "" };
        text.push_str(&format!(". It says: {excerpt}{more}"));
    }
    ToolError::Failed(text)
}
