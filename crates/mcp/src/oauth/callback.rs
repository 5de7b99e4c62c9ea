//! The page that a sign-in comes back to: a server for one answer, on this machine alone.
//!
//! Anybody on this machine, and any page in the browser, can knock. What does not carry the state that only the sign-in
//! page was given is turned away, and does not end the waiting. The answer is plain text and repeats nothing.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, HOST, REFERRER_POLICY};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::IntoResponse;
use haft_net::Url;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};

use super::OAuthError;

/// Longest a person may take on the page.
pub const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// Most visitors at once.
pub const MAX_VISITORS: usize = 16;

/// The path that pages come back to.
pub(super) const PATH: &str = "/mcp/oauth/callback";

/// Listens for a page to come back.
pub(super) struct Callback {
    listener: TcpListener,
    address: Url,
}

/// What one visitor brings.
#[derive(Debug, PartialEq, Eq)]
enum Visit {
    /// What was waited for: the whole address.
    Back(String),
    /// The page says no, in these words.
    Refused(String),
    /// Somebody else, or something else.
    Other(u16, &'static str),
}

impl Callback {
    /// Listens where `redirect` leads, if that is this machine; at any port where it names 0.
    pub(super) async fn listen(redirect: &str) -> Result<Self, OAuthError> {
        let wrong = |why: String| OAuthError::Callback(why);
        let mut address =
            Url::parse(redirect).map_err(|error| wrong(format!("redirectUri {redirect} is no address: {error}")))?;
        if address.scheme() != "http" || !matches!(address.host_str(), Some("127.0.0.1" | "localhost")) {
            return Err(wrong(format!(
                "redirectUri {redirect} does not lead to this machine; use http://127.0.0.1:PORT{PATH}"
            )));
        }
        let port = address.port().unwrap_or(80);
        let failed = |error: std::io::Error| {
            wrong(format!(
                "cannot listen on 127.0.0.1:{port}, where the sign-in comes back ({error}); end the program that does, or \
                 set oauth.callbackPort"
            ))
        };
        let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        address.set_port(Some(port)).map_err(|()| wrong(format!("redirectUri {redirect} cannot have a port")))?;
        Ok(Self { listener, address })
    }

    /// Where pages come back to.
    pub(super) fn address(&self) -> &Url {
        &self.address
    }

    /// Waits for the page that comes back with `state`, at most five minutes; gives its whole address. Dropping the future
    /// stops listening.
    pub(super) async fn back(self, state: &str) -> Result<String, OAuthError> {
        let (tell, told) = oneshot::channel();
        let desk = Desk {
            address: self.address,
            state: state.to_owned(),
            seats: Semaphore::new(MAX_VISITORS),
            tell: Mutex::new(Some(tell)),
        };
        let router = Router::new().fallback(receive).with_state(Arc::new(desk));
        let serving = axum::serve(self.listener, router);
        tokio::select! {
            back = tokio::time::timeout(PATIENCE, told) => {
                // Who is told is told last, so that their page is answered first.
                tokio::task::yield_now().await;
                back.map_err(|_| OAuthError::Late)?.unwrap_or(Err(OAuthError::Late))
            }
            served = serving => Err(OAuthError::Callback(format!("the sign-in cannot come back: {served:?}"))),
        }
    }
}

struct Desk {
    address: Url,
    state: String,
    seats: Semaphore,
    tell: Mutex<Option<oneshot::Sender<Result<String, OAuthError>>>>,
}

async fn receive(State(desk): State<Arc<Desk>>, request: Request) -> impl IntoResponse {
    let answer = |status: u16, text: &'static str| {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
        (status, [(CACHE_CONTROL, "no-store"), (REFERRER_POLICY, "no-referrer")], text)
    };
    let Ok(_seat) = desk.seats.try_acquire() else { return answer(503, "There are too many visitors.") };
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    let (status, text, told) = match understand(request.method(), target, request.headers(), &desk.address, &desk.state)
    {
        Visit::Back(address) => (200, "You are signed in. You can close this page and go back to haft.", Ok(address)),
        Visit::Refused(why) => {
            (200, "You are not signed in; haft says why. You can close this page.", Err(OAuthError::Refused(why)))
        }
        Visit::Other(status, why) => return answer(status, why),
    };
    if let Some(tell) = desk.tell.lock().unwrap_or_else(PoisonError::into_inner).take() {
        // Who began may have given up.
        let _ = tell.send(told);
    }
    answer(status, text)
}

/// What a request means, where pages come back to `address` with `state`. Pure.
fn understand(method: &Method, target: &str, headers: &HeaderMap, address: &Url, state: &str) -> Visit {
    let port = address.port().unwrap_or(80);
    let ours = [format!("localhost:{port}"), format!("127.0.0.1:{port}")];
    let mut hosts = headers.get_all(HOST).iter().filter_map(|host| host.to_str().ok());
    // A name that leads here and is not ours belongs to somebody who wants to look like this machine.
    if !hosts.next().is_some_and(|host| ours.iter().any(|ours| host.eq_ignore_ascii_case(ours)))
        || hosts.next().is_some()
    {
        return Visit::Other(421, "This is not the machine that you want.");
    }
    if method != Method::GET {
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
        return Visit::Other(400, "This is not the sign-in that haft began. Start again with haft mcp auth.");
    }
    match (field("error"), field("code")) {
        (Some(error), _) => {
            let why = field("error_description").map_or_else(|| error.clone(), |why| format!("{why} ({error})"));
            Visit::Refused(why.chars().filter(|char| !char.is_control()).take(300).collect())
        }
        (None, Some(_)) => Visit::Back(url.into()),
        (None, None) => Visit::Other(400, "The code is missing. Start again with haft mcp auth."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(method: &Method, target: &str, hosts: &[&str]) -> Visit {
        let address = Url::parse("http://127.0.0.1:19876/mcp/oauth/callback").unwrap();
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, host.parse().unwrap());
        }
        understand(method, target, &headers, &address, "s1")
    }

    fn get(target: &str) -> Visit {
        visit(&Method::GET, target, &["127.0.0.1:19876"])
    }

    #[test]
    fn only_what_was_waited_for_ends_it() {
        let back = "/mcp/oauth/callback?code=c1&state=s1&iss=https%3A%2F%2Fa.example";
        assert_eq!(get(back), Visit::Back(format!("http://127.0.0.1:19876{back}")));
        let refused = get("/mcp/oauth/callback?error=access_denied&error_description=no+%1Bplan&state=s1");
        assert_eq!(refused, Visit::Refused("no plan (access_denied)".to_owned()));
        let status =
            |visit: Visit, want: u16| assert!(matches!(visit, Visit::Other(got, _) if got == want), "{visit:?}");
        for wrong in ["", "?code=c1", "?code=c1&state=s2", "?code=c1&state=s1&state=s1", "?error=x", "?state=s1"] {
            status(get(&format!("/mcp/oauth/callback{wrong}")), 400);
        }
        for elsewhere in
            ["/", "/mcp/oauth/callback/x?code=c1&state=s1", "//evil.example/mcp/oauth/callback?code=c1&state=s1"]
        {
            status(get(elsewhere), 404);
        }
        status(visit(&Method::POST, back, &["127.0.0.1:19876"]), 405);
        for hosts in [&[][..], &["evil.example"], &["127.0.0.1"], &["127.0.0.1:19876", "evil.example"]] {
            status(visit(&Method::GET, back, hosts), 421);
        }
    }

    #[tokio::test]
    async fn strangers_do_not_end_the_waiting() {
        let callback = Callback::listen("http://127.0.0.1:0/mcp/oauth/callback").await.unwrap();
        let at = callback.address().clone();
        assert!(callback.listener.local_addr().unwrap().ip().is_loopback());
        let waiting = tokio::spawn(callback.back("s1"));
        let client = haft_net::client(haft_net::Options::default()).unwrap();
        let visit = async |query: &str| {
            let answer = client.get(format!("{at}?{query}")).send().await.unwrap();
            (answer.status().as_u16(), answer.text().await.unwrap())
        };
        assert_eq!(visit("code=evil&state=guess").await.0, 400);
        let (status, text) = visit("code=c1&state=s1").await;
        assert!(status == 200 && !text.contains("c1"), "{text}");
        assert_eq!(waiting.await.unwrap().unwrap(), format!("{at}?code=c1&state=s1"));
    }

    #[tokio::test]
    async fn pages_come_back_to_this_machine_alone() {
        for wrong in ["https://127.0.0.1:1/x", "http://evil.example/x", "nonsense", "http://0.0.0.0:1/"] {
            assert!(Callback::listen(wrong).await.is_err(), "{wrong}");
        }
    }
}
