//! The way to an answer: leave for each step, the step, and on where a redirect points.

use std::time::{Duration, Instant};

use haft_net::{Answer, Place, Url, Web, WebError};
use haft_permission::{Access, Done, Effect, Grant};
use haft_tool::{Call, ToolError};

/// Most redirects in a row.
pub(super) const MAX_HOPS: usize = 10;

/// One fetch: what it may still use up, and where it has been.
pub(super) struct Journey<'a> {
    pub(super) web: &'a Web,
    pub(super) call: &'a Call,
    pub(super) format: &'static str,
    /// As the model gave it, for the person who is asked.
    pub(super) timeout: Option<f64>,
    pub(super) accept: &'static str,
    /// What is left of the time. A person's thinking does not count.
    pub(super) left: Duration,
    /// Where it was redirected to, in order.
    pub(super) hops: Vec<Url>,
}

impl Journey<'_> {
    /// Goes to `url` and on, until there is an answer that is no redirect.
    ///
    /// # Errors
    ///
    /// [`ToolError::Denied`] for a step that has no leave, or what was in the way.
    pub(super) async fn go(&mut self, url: Url) -> Result<(Url, Answer), ToolError> {
        let mut url = url;
        let mut grant = self.ask(&url).await?;
        loop {
            let place = self.timed(&url, self.web.place(&url)).await?;
            self.ask_inside(&url, &place).await?;
            grant.note(Done::Spoke(spoken_to(&url)));
            let headers = [("accept", self.accept), ("accept-language", "en-US,en;q=0.9")];
            let answer = self.timed(&url, self.web.get(&place, &headers)).await?;
            let Some(next) = onward(&url, &answer)? else { return Ok((url, answer)) };
            if self.hops.len() == MAX_HOPS {
                return Err(ToolError::Failed(format!(
                    "{url} redirects again after {MAX_HOPS} redirects; it may want cookies or a sign-in, which webfetch \
                     does not do. Try another address"
                )));
            }
            // Leave for one spelling is leave for it with encryption, unless a rule tells them apart.
            if !is_upgrade(&url, &next) || !self.call.allowing("webfetch")(next.as_str()) {
                grant = self.ask(&next).await?;
            }
            self.hops.push(next.clone());
            url = next;
        }
    }

    /// Asks for leave to fetch `url`.
    async fn ask(&self, url: &Url) -> Result<Grant, ToolError> {
        let mut access = Access::new("webfetch", url.as_str())
            .with(Effect::Host(spoken_to(url)))
            .show("url", url.as_str())
            .show("format", self.format);
        if let Some(timeout) = self.timeout {
            access = access.show("timeout", timeout);
        }
        Ok(self.call.ask(access).await?)
    }

    /// Asks for leave to go to a place that is not the public internet.
    async fn ask_inside(&self, url: &Url, place: &Place) -> Result<(), ToolError> {
        let Some((address, why)) = place.inside() else { return Ok(()) };
        let origin = url.origin().ascii_serialization();
        // In a pattern these signs would cover other hosts.
        let always = if origin.contains(['*', '?', '\\']) { Vec::new() } else { vec![format!("{origin}/*")] };
        let mut access = Access { always, ..Access::new("webfetch_private", url.as_str()) }.show("url", url.as_str());
        if let Some(address) = address {
            access = access.show("address", address.to_string());
        }
        let access = access.show("reason", why.words());
        self.call.ask(access).await?;
        Ok(())
    }

    /// Waits for `work`, as long as there is time and the user wants it.
    pub(super) async fn timed<T>(
        &mut self,
        url: &Url,
        work: impl Future<Output = Result<T, WebError>>,
    ) -> Result<T, ToolError> {
        let began = Instant::now();
        let done = tokio::select! {
            biased;
            () = self.call.cancel.cancelled() => return Err(ToolError::Cancelled),
            done = tokio::time::timeout(self.left, work) => done,
        };
        self.left = self.left.saturating_sub(began.elapsed());
        match done {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => Err(ToolError::Failed(format!("{url}: {error}. {}", advice(&error)))),
            Err(_) => Err(ToolError::Failed(format!(
                "{url} timed out. Try once more with a longer timeout (at most {} seconds), or another address",
                super::MAX_TIMEOUT
            ))),
        }
    }
}

/// What the model may do about `error`.
fn advice(error: &WebError) -> &'static str {
    match error {
        WebError::Offline(_) => "Do without the web, or ask the user",
        WebError::NotFound { .. } => "Check the spelling of the host; if it is right, there may be no network",
        WebError::NoConnection { .. } => "Check host and port, or try again later",
        WebError::Tls { .. } => {
            "webfetch does not go on without a secure connection; tell the user, or use another address"
        }
        WebError::Broken { .. } => "Try once more",
        WebError::TooLarge { .. } => "Fetch a smaller page, or download it with curl in bash and read it there",
        WebError::Packed { .. } => "Download it with curl --compressed in bash",
        WebError::Setup(_) => "This is a fault of the program; tell the user",
    }
}

/// The host of `url` and its port.
fn spoken_to(url: &Url) -> String {
    let port = url.port_or_known_default().map_or_else(String::new, |port| format!(":{port}"));
    format!("{}{port}", url.host_str().unwrap_or_default())
}

/// Where `answer`, which came from `url`, sends on to; `None` where it does not.
fn onward(url: &Url, answer: &Answer) -> Result<Option<Url>, ToolError> {
    if !matches!(answer.status(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = answer.location().unwrap_or_default();
    if location.trim().is_empty() {
        return Err(ToolError::Failed(format!("{url} redirects without saying where to. Try another address")));
    }
    next(url, location.trim()).map(Some).map_err(ToolError::Failed)
}

/// The URL that `location` means on `url`, if webfetch goes there.
fn next(url: &Url, location: &str) -> Result<Url, String> {
    let mut next =
        url.join(location).map_err(|error| format!("{url} redirects to {location:?}, which is no URL ({error})"))?;
    // What follows `#` goes along unless the redirect has its own.
    if next.fragment().is_none() {
        next.set_fragment(url.fragment());
    }
    if url.scheme() == "https" && next.scheme() == "http" {
        return Err(format!(
            "{url} redirects to {next}, which is not encrypted. If that is good enough, fetch that address itself"
        ));
    }
    allowed(&next).map_err(|problem| format!("{url} redirects to {next}: {problem}"))?;
    Ok(plain(next))
}

/// Whether webfetch goes to `url` at all.
///
/// # Errors
///
/// What is wrong with it, for the model.
pub(super) fn allowed(url: &Url) -> Result<(), String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err("URL must start with http:// or https://".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the URL holds a user name or a password, which webfetch does not send; leave them out".to_owned());
    }
    Ok(())
}

/// Whether `next` is `url` with encryption and nothing else: leave for one is leave for the other.
fn is_upgrade(url: &Url, next: &Url) -> bool {
    let mut upgraded = url.clone();
    upgraded.set_scheme("https").is_ok() && url.scheme() == "http" && upgraded == *next
}

/// Reads what the model wrote.
///
/// # Errors
///
/// [`ToolError::BadInput`] that says what is wrong.
pub(super) fn parse(text: &str) -> Result<Url, ToolError> {
    let starts = ["http://", "https://"]
        .iter()
        .any(|start| text.trim_start().get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start)));
    if !starts {
        return Err(ToolError::BadInput("URL must start with http:// or https://".to_owned()));
    }
    let url = Url::parse(text.trim()).map_err(|error| ToolError::BadInput(format!("{text:?} is no URL: {error}")))?;
    allowed(&url).map_err(ToolError::BadInput)?;
    Ok(plain(url))
}

/// `url` in the spelling that rules are written for: no dot behind the host, and no sign written as a number that may
/// stand for itself. `http://a.b./%78` is the same page as `http://a.b/x`, so a rule for one must hold for the other.
fn plain(mut url: Url) -> Url {
    if let Some(bare) = url.domain().and_then(|host| host.strip_suffix('.')).map(str::to_owned) {
        // A host that is dots alone stays what it is: no host.
        let _ = url.set_host(Some(&bare));
    }
    if let Some(path) = unescaped(url.path()) {
        url.set_path(&path);
    }
    if let Some(query) = url.query().and_then(unescaped) {
        url.set_query(Some(&query));
    }
    url
}

/// `text` with each `%XX` that stands for a letter, a digit or one of `-._~` as that sign; `None` where there is none.
fn unescaped(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut plain = pieces.next()?.to_owned();
    let mut changed = false;
    for piece in pieces {
        let byte = piece.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte.filter(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(byte)) {
            // A sign before the digits would be read as part of the number.
            Some(byte) if !piece.starts_with('+') => {
                changed = true;
                plain.push(char::from(byte));
                plain.push_str(&piece[2..]);
            }
            Some(_) | None => {
                plain.push('%');
                plain.push_str(piece);
            }
        }
    }
    changed.then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_lead_to_where_they_may() {
        let row = |from: &str, location: &str, want: Result<&str, &str>| {
            let got = next(&Url::parse(from).unwrap(), location);
            match (&got, want) {
                (Ok(got), Ok(want)) => assert_eq!(got.as_str(), want),
                (Err(got), Err(want)) => assert!(got.contains(want), "{got}"),
                _ => panic!("{from} {location}: {got:?}"),
            }
        };
        row("http://a/b#c", "/d", Ok("http://a/d#c"));
        row("http://a/b", "//c.d/e#f", Ok("http://c.d/e#f"));
        row("http://a/b", "https://a/b", Ok("https://a/b"));
        row("https://a/b", "http://a/b", Err("not encrypted"));
        row("http://a/b", "file:///etc/passwd", Err("must start with http://"));
        row("http://a/b", "javascript:x", Err("must start with http://"));
        row("http://a/b", "http://me@c/", Err("user name"));
        row("http://a/b", "http://[x/", Err("is no URL"));
    }

    #[test]
    fn only_encryption_may_be_added_without_asking() {
        let row = |from: &str, to: &str, want| {
            assert_eq!(is_upgrade(&Url::parse(from).unwrap(), &Url::parse(to).unwrap()), want, "{from} {to}");
        };
        row("http://a/b", "https://a/b", true);
        row("http://a/b", "https://a/c", false);
        row("http://a/b", "https://b/b", false);
        row("https://a/b", "https://a/b", false);
        row("http://a:81/b", "https://a/b", false);
    }

    #[test]
    fn a_page_has_one_spelling() {
        for (text, want) in [
            ("http://b.example./x", "http://b.example/x"),
            ("http://B.Example.:80/x", "http://b.example/x"),
            ("http://ｂ.example/x", "http://b.example/x"),
            ("http://b%2eexample/x", "http://b.example/x"),
            ("http://b.example\\x", "http://b.example/x"),
            ("http://b.example/%61dmin/%2E%2e/x", "http://b.example/x"),
            ("http://b.example/%61%64min?%74oken=%7e#%61", "http://b.example/admin?token=~#%61"),
            // These are not the same.
            ("http://b.example/%2fx%3F%25%zz%", "http://b.example/%2fx%3F%25%zz%"),
            ("http://b.example/%2561", "http://b.example/%2561"),
            ("http://b.example/%+1%é", "http://b.example/%+1%%C3%A9"),
            ("http://127.0.0.1./", "http://127.0.0.1/"),
        ] {
            assert_eq!(parse(text).unwrap().as_str(), want, "{text}");
        }
        let from = Url::parse("http://a/").unwrap();
        assert_eq!(next(&from, "//b.example./%61").unwrap().as_str(), "http://b.example/a");
    }

    #[test]
    fn odd_spellings_of_hosts_come_to_addresses() {
        for (text, want) in [
            ("http://2130706433/", "127.0.0.1"),
            ("http://0x7f.1/", "127.0.0.1"),
            ("http://0177.0.0.01/", "127.0.0.1"),
            ("http://[::ffff:127.0.0.1]/", "[::ffff:7f00:1]"),
            ("HTTP://EXAMPLE.com/", "example.com"),
            ("http://ⓛocalhost/", "localhost"),
        ] {
            assert_eq!(parse(text).unwrap().host_str(), Some(want), "{text}");
        }
        for text in ["ftp://x", "x.y", "", "http://", "https://u:p@x/", "http://%"] {
            assert_eq!(parse(text).unwrap_err().kind(), "bad_input", "{text}");
        }
    }
}
