//! The page that a vendor's sign-in comes back to: a server for one answer, on this machine alone.
//!
//! Anybody on this machine, and any page in the browser, can knock. What does not carry the state that only the vendor's
//! page was given is turned away, and does not end the waiting. The answer is plain text and repeats nothing.

use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use reqwest::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::AuthError;
use super::web::words;

/// Longest head of a request, in bytes. Codes have a few hundred.
const MAX_HEAD: usize = 16 * 1024;

/// Longest that one visitor may take to say what they want. Browsers open connections before they need them.
const MAX_VISIT: Duration = Duration::from_secs(10);

/// Most visitors at once.
const MAX_VISITORS: usize = 16;

/// Listens for a page to come back.
#[derive(Debug)]
pub(super) struct Callback {
    listener: TcpListener,
    address: Url,
}

/// What one visitor brings.
#[derive(Debug, PartialEq, Eq)]
enum Visit {
    /// What was waited for.
    Code(String),
    /// The vendor's page says no, in these words; the first is its code.
    Refused(String, Option<String>),
    /// Somebody else, or something else.
    Other(u16, &'static str),
}

impl Callback {
    /// Listens on `port` of this machine, or on any where it is 0. Pages come back to `host` and `path`.
    pub(super) async fn listen(port: u16, host: &'static str, path: &'static str) -> Result<Self, AuthError> {
        let failed = |error: std::io::Error| {
            AuthError::Setup(format!(
                "cannot listen on 127.0.0.1:{port}, where the sign-in comes back ({error}); end the program that does, or \
                 choose a method with a code"
            ))
        };
        let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let address = Url::parse(&format!("http://{host}:{port}{path}"));
        let address = address.map_err(|error| AuthError::Setup(error.to_string()))?;
        Ok(Self { listener, address })
    }

    /// Where pages come back to.
    pub(super) fn address(&self) -> &Url {
        &self.address
    }

    /// Waits for the code that comes with `state`. Dropping the future stops listening.
    pub(super) async fn code(self, state: &str) -> Result<String, AuthError> {
        let mut visitors = FuturesUnordered::new();
        loop {
            let visit = tokio::select! {
                accepted = self.listener.accept(), if visitors.len() < MAX_VISITORS => {
                    if let Ok((visitor, _)) = accepted {
                        let visit = receive(visitor, &self.address, state);
                        visitors.push(tokio::time::timeout(MAX_VISIT, visit));
                    }
                    continue;
                }
                Some(visit) = visitors.next(), if !visitors.is_empty() => visit,
            };
            match visit {
                Ok(Some(Visit::Code(code))) => return Ok(code),
                Ok(Some(Visit::Refused(code, _))) if code == "access_denied" => return Err(AuthError::Denied),
                Ok(Some(Visit::Refused(code, why))) => {
                    let at = "the sign-in page".to_owned();
                    return Err(AuthError::Refused { at, message: words(&code, why.as_deref()) });
                }
                Ok(Some(Visit::Other(..)) | None) | Err(_) => {}
            }
        }
    }
}

/// Hears one visitor out and answers. `None`: they went away.
async fn receive(mut visitor: TcpStream, address: &Url, state: &str) -> Option<Visit> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > MAX_HEAD {
            answer(&mut visitor, 431, "That is too much.").await;
            return Some(Visit::Other(431, "too much"));
        }
        if visitor.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let visit = understand(&String::from_utf8_lossy(&head), address, state);
    match &visit {
        Visit::Code(_) => {
            answer(&mut visitor, 200, "You are signed in. You can close this page and go back to haft.").await
        }
        Visit::Refused(..) => {
            answer(&mut visitor, 200, "You are not signed in; haft says why. You can close this page.").await
        }
        Visit::Other(status, why) => answer(&mut visitor, *status, why).await,
    }
    Some(visit)
}

async fn answer(visitor: &mut TcpStream, status: u16, text: &str) {
    let reason = if status == 200 { "OK" } else { "No" };
    let whole = format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\nx-content-type-options: nosniff\r\n\
         connection: close\r\n\r\n{text}",
        text.len()
    );
    // Who does not wait for the answer has brought what they brought.
    drop(visitor.write_all(whole.as_bytes()).await);
    drop(visitor.shutdown().await);
}

/// What the `head` of a request means, where pages come back to `address` with `state`. Pure.
fn understand(head: &str, address: &Url, state: &str) -> Visit {
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let hosts: Vec<&str> = lines
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| name.eq_ignore_ascii_case("host"))
        .map(|(_, host)| host.trim())
        .collect();
    let port = address.port().unwrap_or(80);
    let ours = [format!("localhost:{port}"), format!("127.0.0.1:{port}")];
    // A name that leads here and is not ours belongs to somebody who wants to look like this machine.
    if !matches!(hosts[..], [host] if ours.iter().any(|ours| host.eq_ignore_ascii_case(ours))) {
        return Visit::Other(421, "This is not the machine that you want.");
    }
    if method != "GET" {
        return Visit::Other(405, "This page can only be looked at.");
    }
    let Some(url) = target.starts_with('/').then(|| address.join(target).ok()).flatten() else {
        return Visit::Other(400, "This is no address.");
    };
    if url.path() != address.path() || url.host() != address.host() {
        return Visit::Other(404, "There is nothing here.");
    }
    let field = |name: &str| {
        let mut found = url.query_pairs().filter(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        found.next().filter(|value| !value.is_empty() && found.next().is_none())
    };
    if field("state").as_deref() != Some(state) {
        return Visit::Other(400, "This is not the sign-in that haft began. Start again with haft auth login.");
    }
    match (field("error"), field("code")) {
        (Some(error), _) => Visit::Refused(error, field("error_description")),
        (None, Some(code)) => Visit::Code(code),
        (None, None) => Visit::Other(400, "The code is missing. Start again with haft auth login."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(head: &str, want: Visit) {
        let address = Url::parse("http://localhost:1455/auth/callback").unwrap();
        assert_eq!(understand(head, &address, "s1"), want, "{head}");
    }

    fn get(target: &str) -> String {
        format!("GET {target} HTTP/1.1\r\nHost: localhost:1455\r\nAccept: */*\r\n\r\n")
    }

    #[test]
    fn only_what_was_waited_for_ends_it() {
        check(&get("/auth/callback?code=c1&state=s1"), Visit::Code("c1".to_owned()));
        check(&get("/auth/callback?state=s1&code=a%2Fb%20c"), Visit::Code("a/b c".to_owned()));
        check(&get("/auth/callback?error=access_denied&state=s1"), Visit::Refused("access_denied".to_owned(), None));
        let why = Some("no plan".to_owned());
        check(&get("/auth/callback?error=e&error_description=no+plan&state=s1"), Visit::Refused("e".to_owned(), why));
        let status = |head: &str, want: u16| {
            let address = Url::parse("http://localhost:1455/auth/callback").unwrap();
            let Visit::Other(status, _) = understand(head, &address, "s1") else { panic!("{head}") };
            assert_eq!(status, want, "{head}");
        };
        for wrong in [
            "",
            "?code=c1",
            "?code=c1&state=s2",
            "?code=c1&state=s1&state=s1",
            "?error=x",
            "?state=s1",
            "?code=&state=s1",
        ] {
            status(&get(&format!("/auth/callback{wrong}")), 400);
        }
        for elsewhere in ["/", "/auth/callback/x?code=c1&state=s1", "//evil.example/auth/callback?code=c1&state=s1"] {
            status(&get(elsewhere), 404);
        }
        status(&get("http://localhost:1455/auth/callback?code=c1&state=s1"), 400);
        status("POST /auth/callback?code=c1&state=s1 HTTP/1.1\r\nHost: localhost:1455\r\n\r\n", 405);
    }

    #[test]
    fn a_name_that_is_not_this_machines_is_turned_away() {
        let head = |hosts: &str| format!("GET /auth/callback?code=c1&state=s1 HTTP/1.1\r\n{hosts}\r\n");
        for fine in ["Host: localhost:1455\r\n", "host: 127.0.0.1:1455\r\n", "HOST: LOCALHOST:1455\r\n"] {
            check(&head(fine), Visit::Code("c1".to_owned()));
        }
        let away = || Visit::Other(421, "This is not the machine that you want.");
        for wrong in
            ["", "Host: evil.example\r\n", "Host: localhost\r\n", "Host: localhost:1455\r\nHost: evil.example\r\n"]
        {
            check(&head(wrong), away());
        }
    }

    #[test]
    fn any_bytes_are_only_turned_away() {
        for head in ["", "\r\n\r\n", "GET", "GET  ", "\u{0}\u{1}", "GET / HTTP/1.1\r\n:\r\n: :\r\nHost\r\n"] {
            let address = Url::parse("http://localhost:1455/auth/callback").unwrap();
            assert!(matches!(understand(head, &address, "s1"), Visit::Other(..)), "{head:?}");
        }
    }

    async fn visit(port: u16, request: String) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        // It may close while we still write.
        drop(stream.read_to_string(&mut answer).await);
        answer
    }

    #[tokio::test]
    async fn strangers_do_not_end_the_waiting() {
        let callback = Callback::listen(0, "localhost", "/auth/callback").await.unwrap();
        let port = callback.address().port().unwrap();
        assert!(callback.listener.local_addr().unwrap().ip().is_loopback());
        let waiting = tokio::spawn(async move { callback.code("s1").await });
        // Opened, as browsers do, and never used.
        let _idle = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let ask = |target: &str| format!("GET {target} HTTP/1.1\r\nhost: localhost:{port}\r\n\r\n");
        assert!(visit(port, ask("/favicon.ico")).await.starts_with("HTTP/1.1 404"));
        assert!(visit(port, ask("/auth/callback?code=evil&state=guess")).await.starts_with("HTTP/1.1 400"));
        assert!(visit(port, format!("GET /{} HTTP/1.1", "x".repeat(2 * MAX_HEAD))).await.starts_with("HTTP/1.1 431"));
        let answer = visit(port, ask("/auth/callback?code=<b>c1&state=s1")).await;
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.contains("text/plain") && !answer.contains("c1"),
            "{answer}"
        );
        assert_eq!(waiting.await.unwrap().unwrap(), "<b>c1");
        assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err(), "nobody listens any more");
    }

    #[tokio::test]
    async fn what_the_page_says_is_told() {
        let callback = Callback::listen(0, "127.0.0.1", "/").await.unwrap();
        let port = callback.address().port().unwrap();
        let waiting = tokio::spawn(async move { callback.code("s1").await });
        let head = format!(
            "GET /?error=invalid_scope&error_description=no%20plan&state=s1 HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n"
        );
        visit(port, head).await;
        let error = waiting.await.unwrap().unwrap_err();
        assert_eq!(error.to_string(), "the sign-in page says: no plan (invalid_scope)");
    }
}
