//! The page that a sign-in comes back to: a server for one answer, on this machine alone.
//!
//! Anybody on this machine, and any page in the browser, can knock. What does not carry the state that only the page of
//! the sign-in was given is turned away, and does not end the waiting. The answer is plain text and repeats nothing.

use std::net::Ipv4Addr;
use std::time::Duration;
use std::{fmt, io};

use reqwest::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Longest head of a request, in bytes. Codes have a few hundred.
const MAX_HEAD: usize = 16 * 1024;

/// Longest that one visitor may take to say what they want. Browsers open connections before they need them.
const MAX_VISIT: Duration = Duration::from_secs(10);

/// Most visitors at once.
pub const MAX_VISITORS: usize = 16;

/// Listens for a page to come back.
#[derive(Debug)]
pub struct Callback {
    listener: TcpListener,
    address: Url,
}

/// What the page brought.
#[derive(PartialEq, Eq)]
pub enum Came {
    /// A yes.
    Back {
        /// The code that gets tokens.
        code: String,
        /// The whole address that it came with.
        address: Url,
    },
    /// A no.
    Refused {
        /// The word for it that programs read.
        error: String,
        /// The same in words.
        why: Option<String>,
    },
}

impl fmt::Debug for Came {
    /// Leaves out the code, and the address that holds it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Came::Back { .. } => f.write_str("Back(…)"),
            Came::Refused { error, why } => f.debug_struct("Refused").field("error", error).field("why", why).finish(),
        }
    }
}

/// What one visitor brings.
#[derive(Debug, PartialEq, Eq)]
enum Visit {
    /// What was waited for.
    Came(Came),
    /// Somebody else, or something else.
    Other(u16, String),
}

impl Callback {
    /// Listens on the port of `address` on this machine, or on any where it is 0. Pages come back to that host and path.
    ///
    /// # Errors
    ///
    /// When nobody may listen there, or somebody does already.
    pub async fn listen(mut address: Url) -> io::Result<Self> {
        let port = address.port_or_known_default().unwrap_or(80);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let port = listener.local_addr()?.port();
        address.set_port(Some(port)).map_err(|()| io::Error::other("this address cannot have a port"))?;
        Ok(Self { listener, address })
    }

    /// Where pages come back to.
    pub fn address(&self) -> &Url {
        &self.address
    }

    /// Waits for the page that comes with `state`, without a limit. `again` is the command that starts another sign-in,
    /// for whoever comes with something else. Dropping the future stops listening.
    pub async fn wait(self, state: &str, again: &str) -> Came {
        let mut visitors = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if visitors.len() < MAX_VISITORS => {
                    if let Ok((visitor, _)) = accepted {
                        let visit = receive(visitor, self.address.clone(), state.to_owned(), again.to_owned());
                        visitors.spawn(tokio::time::timeout(MAX_VISIT, visit));
                    }
                }
                Some(visit) = visitors.join_next(), if !visitors.is_empty() => {
                    if let Ok(Ok(Some(Visit::Came(came)))) = visit {
                        return came;
                    }
                }
            }
        }
    }
}

/// Hears one visitor out and answers. `None`: they went away.
async fn receive(mut visitor: TcpStream, address: Url, state: String, again: String) -> Option<Visit> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > MAX_HEAD {
            answer(&mut visitor, 431, "That is too much.").await;
            return None;
        }
        if visitor.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let visit = understand(&String::from_utf8_lossy(&head), &address, &state, &again);
    match &visit {
        Visit::Came(Came::Back { .. }) => {
            answer(&mut visitor, 200, "You are signed in. You can close this page and go back to haft.").await;
        }
        Visit::Came(Came::Refused { .. }) => {
            answer(&mut visitor, 200, "You are not signed in; haft says why. You can close this page.").await;
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
fn understand(head: &str, address: &Url, state: &str, again: &str) -> Visit {
    let other = |status: u16, why: &str| Visit::Other(status, why.to_owned());
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let hosts: Vec<&str> = lines
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| name.eq_ignore_ascii_case("host"))
        .map(|(_, host)| host.trim())
        .collect();
    let port = address.port_or_known_default().unwrap_or(80);
    let ours = [format!("localhost:{port}"), format!("127.0.0.1:{port}")];
    // A name that leads here and is not ours belongs to somebody who wants to look like this machine.
    if !matches!(hosts[..], [host] if ours.iter().any(|ours| host.eq_ignore_ascii_case(ours))) {
        return other(421, "This is not the machine that you want.");
    }
    if method != "GET" {
        return other(405, "This page can only be looked at.");
    }
    let Some(url) = target.starts_with('/').then(|| address.join(target).ok()).flatten() else {
        return other(400, "This is no address.");
    };
    if url.path() != address.path() || url.host() != address.host() {
        return other(404, "There is nothing here.");
    }
    let field = |name: &str| {
        let mut found = url.query_pairs().filter(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        found.next().filter(|value| !value.is_empty() && found.next().is_none())
    };
    if field("state").as_deref() != Some(state) {
        return Visit::Other(400, format!("This is not the sign-in that haft began. Start again with {again}."));
    }
    match (field("error"), field("code")) {
        (Some(error), _) => Visit::Came(Came::Refused { error, why: field("error_description") }),
        (None, Some(code)) => Visit::Came(Came::Back { code, address: url }),
        (None, None) => Visit::Other(400, format!("The code is missing. Start again with {again}.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGAIN: &str = "haft auth login";

    fn seen(head: &str) -> Visit {
        let address = Url::parse("http://localhost:1455/auth/callback").unwrap();
        understand(head, &address, "s1", AGAIN)
    }

    fn get(target: &str) -> String {
        format!("GET {target} HTTP/1.1\r\nHost: localhost:1455\r\nAccept: */*\r\n\r\n")
    }

    fn back(code: &str, target: &str) -> Visit {
        let address = Url::parse(&format!("http://localhost:1455{target}")).unwrap();
        Visit::Came(Came::Back { code: code.to_owned(), address })
    }

    fn refused(error: &str, why: Option<&str>) -> Visit {
        Visit::Came(Came::Refused { error: error.to_owned(), why: why.map(str::to_owned) })
    }

    #[track_caller]
    fn status(head: &str, want: u16) {
        let Visit::Other(status, _) = seen(head) else { panic!("{head}") };
        assert_eq!(status, want, "{head}");
    }

    #[test]
    fn only_what_was_waited_for_ends_it() {
        let row = |target: &str, want: Visit| assert_eq!(seen(&get(target)), want, "{target}");
        let target = "/auth/callback?code=c1&state=s1&iss=https%3A%2F%2Fa.example";
        row(target, back("c1", target));
        let target = "/auth/callback?state=s1&code=a%2Fb%20c";
        row(target, back("a/b c", target));
        row("/auth/callback?error=access_denied&state=s1", refused("access_denied", None));
        row("/auth/callback?error=e&error_description=no+plan&state=s1", refused("e", Some("no plan")));
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
        let target = "/auth/callback?code=c1&state=s1";
        let head = |hosts: &str| format!("GET {target} HTTP/1.1\r\n{hosts}\r\n");
        for fine in ["Host: localhost:1455\r\n", "host: 127.0.0.1:1455\r\n", "HOST: LOCALHOST:1455\r\n"] {
            assert_eq!(seen(&head(fine)), back("c1", target), "{fine}");
        }
        for wrong in
            ["", "Host: evil.example\r\n", "Host: localhost\r\n", "Host: localhost:1455\r\nHost: evil.example\r\n"]
        {
            status(&head(wrong), 421);
        }
    }

    #[test]
    fn any_bytes_are_only_turned_away() {
        for head in ["", "\r\n\r\n", "GET", "GET  ", "\u{0}\u{1}", "GET / HTTP/1.1\r\n:\r\n: :\r\nHost\r\n"] {
            assert!(matches!(seen(head), Visit::Other(..)), "{head:?}");
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
        let callback = Callback::listen(Url::parse("http://localhost:0/auth/callback").unwrap()).await.unwrap();
        let port = callback.address().port().unwrap();
        assert!(callback.listener.local_addr().unwrap().ip().is_loopback());
        let waiting = tokio::spawn(async move { callback.wait("s1", AGAIN).await });
        // Opened, as browsers do, and never used.
        let _idle = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let ask = |target: &str| format!("GET {target} HTTP/1.1\r\nhost: localhost:{port}\r\n\r\n");
        assert!(visit(port, ask("/favicon.ico")).await.starts_with("HTTP/1.1 404"));
        let stranger = visit(port, ask("/auth/callback?code=evil&state=guess")).await;
        assert!(stranger.starts_with("HTTP/1.1 400") && stranger.ends_with("Start again with haft auth login."));
        assert!(visit(port, format!("GET /{} HTTP/1.1", "x".repeat(2 * MAX_HEAD))).await.starts_with("HTTP/1.1 431"));
        let answer = visit(port, ask("/auth/callback?code=<b>c1&state=s1")).await;
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.contains("text/plain") && !answer.contains("c1"),
            "{answer}"
        );
        let Came::Back { code, .. } = waiting.await.unwrap() else { panic!("refused") };
        assert_eq!(code, "<b>c1");
        assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err(), "nobody listens any more");
    }

    #[test]
    fn no_code_is_printed() {
        let printed = format!("{:?}", back("s3cret", "/auth/callback?code=s3cret&state=s1"));
        assert!(!printed.contains("s3cret") && printed.contains("Back"), "{printed}");
    }
}
