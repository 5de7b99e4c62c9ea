//! The requests of signing in, through the one client of the program.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use haft_net::{NetError, Options, Web};
use reqwest::Url;
use reqwest::header::LOCATION;
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest,
};

/// Longest answer, in bytes.
pub const MAX_ANSWER: usize = 1024 * 1024;

/// Most answers of the kind "look there" in a row, all within one server.
const MAX_REDIRECTS: usize = 5;

/// Longest an answer may take.
const LIMIT: Duration = Duration::from_secs(30);

/// The path under which a server names who signs people in there.
const RESOURCE: &str = "/.well-known/oauth-protected-resource";

/// The path under which one who does so describes itself at the root of its host.
const ROOT: &str = "/.well-known/oauth-authorization-server";

type Asked = axum::http::Request<Vec<u8>>;
type Answered = axum::http::Response<Vec<u8>>;

/// The requests of one sign-in.
pub(super) struct Exchange {
    client: reqwest::Client,
    web: Web,
    /// The addresses that the user's settings name.
    named: Vec<Url>,
    /// Whether the server named who signs people in there.
    resource: AtomicBool,
    /// A name that one who describes itself at its root has, and the one that stands for it there.
    renamed: Mutex<Option<[String; 2]>>,
}

impl Exchange {
    /// Requests for a server at the first of the addresses `named`, which the settings name.
    pub(super) fn new(named: Vec<String>) -> Result<Self, NetError> {
        let options = Options { connect_timeout: LIMIT, idle_timeout: LIMIT, ..Options::default() };
        let client = haft_net::client(options)?;
        let named = named.iter().filter_map(|address| Url::parse(address).ok()).collect();
        let (web, resource, renamed) = (Web::default(), AtomicBool::new(false), Mutex::new(None));
        Ok(Self { client, web, named, resource, renamed })
    }

    /// Whether `url` may be asked: a server out there does not send us to this machine or into its network.
    async fn check(&self, url: &Url) -> Result<(), OAuthHttpClientError> {
        let is_named = |url: &Url| self.named.iter().any(|named| named.host_str() == url.host_str());
        if is_named(url) {
            return Ok(());
        }
        let Some((_, why)) = self.web.place(url).await?.inside() else { return Ok(()) };
        let at_home = match self.named.first() {
            Some(server) => self.web.place(server).await?.inside().is_some(),
            None => false,
        };
        let host = url.host_str().unwrap_or_default();
        match at_home {
            true => Ok(()),
            false => {
                Err(format!("the server sends the sign-in to {host}, which is {}; it is not asked", why.words()).into())
            }
        }
    }

    /// Whether the server named who signs people in there.
    pub(super) fn has_seen_a_resource(&self) -> bool {
        self.resource.load(Ordering::Relaxed)
    }

    /// From now on whoever is called `name` and describes itself at its root is called `there`.
    pub(super) fn rename(&self, name: &str, there: &str) {
        let mut renamed = self.renamed.lock().unwrap_or_else(PoisonError::into_inner);
        *renamed = Some([name, there].map(str::to_owned));
    }

    /// What `at` answered, with another name where that is wanted.
    fn seen(&self, at: &Url, status: reqwest::StatusCode, body: Vec<u8>) -> Vec<u8> {
        if status.is_success() && at.path().starts_with(RESOURCE) {
            self.resource.store(true, Ordering::Relaxed);
        }
        let renamed = self.renamed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (Some([name, there]), ROOT) = (renamed, at.path()) else { return body };
        match serde_json::from_slice::<serde_json::Value>(&body) {
            Ok(mut said) if said["issuer"] == name => {
                said["issuer"] = there.into();
                said.to_string().into_bytes()
            }
            Ok(_) | Err(_) => body,
        }
    }

    /// What comes back for `request`, in bounds of time and size; one that says "look there" as it is.
    pub(super) async fn send(&self, request: Asked) -> Result<Answered, OAuthHttpClientError> {
        self.within(request, 0).await
    }

    /// The same, after at most `left` answers that say "look there".
    async fn within(&self, request: Asked, left: usize) -> Result<Answered, OAuthHttpClientError> {
        let late = || -> OAuthHttpClientError { format!("no answer within {} s", LIMIT.as_secs()).into() };
        tokio::time::timeout(LIMIT, self.answer(request, left)).await.unwrap_or_else(|_| Err(late()))
    }

    async fn answer(&self, request: Asked, mut left: usize) -> Result<Answered, OAuthHttpClientError> {
        let mut request = reqwest::Request::try_from(request)?;
        loop {
            let (at, again) = (request.url().clone(), request.try_clone());
            self.check(&at).await?;
            let mut response = self.client.execute(request).await?;
            if let (Some(mut next), Some(url), true) = (again, next(&response, &at), left > 0) {
                left -= 1;
                *next.url_mut() = url;
                request = next;
                continue;
            }
            let status = response.status();
            let mut answer = axum::http::Response::builder().status(status);
            if let Some(headers) = answer.headers_mut() {
                headers.clone_from(response.headers());
            }
            let body = haft_net::body(&mut response, MAX_ANSWER).await?;
            let body = body.ok_or_else(|| format!("the answer of {at} has more than {MAX_ANSWER} bytes"))?;
            return Ok(answer.body(self.seen(&at, status, body))?);
        }
    }
}

/// Where an answer to a look at `at` says to look, if that is at the same server.
fn next(response: &reqwest::Response, at: &Url) -> Option<Url> {
    if !response.status().is_redirection() {
        return None;
    }
    let there = at.join(response.headers().get(LOCATION)?.to_str().ok()?).ok()?;
    (there.origin() == at.origin()).then_some(there)
}

impl OAuthHttpClient for Exchange {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let OAuthHttpRequest { request, redirect_policy, .. } = request;
            match redirect_policy {
                OAuthHttpRedirectPolicy::Follow => self.within(request, MAX_REDIRECTS).await,
                // A code or a token is shown to the one it is for.
                _ => self.send(request).await,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::IpAddr;
    use std::pin::Pin;
    use std::sync::Arc;

    use haft_net::Lookup;

    use super::*;

    /// Everything is out there but what begins with `in`.
    struct Names;

    impl Lookup for Names {
        fn lookup<'a>(&'a self, host: &'a str) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
            let address = if host.starts_with("in") { [10, 0, 0, 7] } else { [93, 184, 216, 34] };
            Box::pin(async move { Ok(vec![IpAddr::from(address)]) })
        }
    }

    #[tokio::test]
    async fn a_server_out_there_sends_nobody_into_this_network() {
        async fn row(named: &[&str], url: &str, want: bool) {
            let exchange = Exchange::new(named.iter().map(|one| (*one).to_owned()).collect()).unwrap();
            let exchange = Exchange { web: Web::default().with_lookup(Arc::new(Names)), ..exchange };
            let got = exchange.check(&Url::parse(url).unwrap()).await;
            assert_eq!(got.is_ok(), want, "{named:?} {url}: {got:?}");
        }
        let out = ["https://docs.example/mcp"];
        row(&out, "https://docs.example/token", true).await;
        row(&out, "https://login.example/token", true).await;
        for inside in ["https://in.example/token", "https://169.254.169.254/token", "https://127.0.0.1:8443/token"] {
            row(&out, inside, false).await;
        }
        row(&["https://docs.example/mcp", "https://in.example"], "https://in.example/token", true).await;
        row(&["https://in.example/mcp"], "https://inner.example/token", true).await;
    }
}
