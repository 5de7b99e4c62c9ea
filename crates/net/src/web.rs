//! Fetching what anybody may have named, one step at a time.
//!
//! A name is looked up once. The caller sees where it leads and decides; then the connection goes to exactly the
//! addresses that were seen, so that a name cannot lead elsewhere between the look and the step. Redirects are handed
//! back: each is a step of its own. No cookies are kept or sent, no credentials, no word of where one comes from.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, LOCATION};

use crate::address::{Inside, inside, is_own_name};
use crate::names;
use crate::network::{Identified, Network};
use crate::reach::Offline;

/// Most addresses of one name that are looked at and tried.
const MAX_ADDRESSES: usize = 16;
/// Longest that one address may take to open a connection, where others are left to try.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Finds the addresses of a name.
pub trait Lookup: Send + Sync {
    /// The addresses of `host`. Dropping the future ends the wait.
    fn lookup<'a>(&'a self, host: &'a str) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;
}

/// The system's own way.
struct System;

impl Lookup for System {
    fn lookup<'a>(&'a self, host: &'a str) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// What fetches. A handle, cheap to clone and to make: settings and certificates are read when they are first needed.
#[derive(Clone)]
pub struct Web {
    lookup: Arc<dyn Lookup>,
    network: Network,
}

impl fmt::Debug for Web {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Web")
    }
}

impl Default for Web {
    fn default() -> Self {
        Self { lookup: Arc::new(System), network: Network::default() }
    }
}

/// Where a URL leads.
#[derive(Debug, Clone)]
pub struct Place {
    url: Url,
    route: Route,
    inside: Option<(Option<IpAddr>, Inside)>,
}

#[derive(Debug, Clone)]
enum Route {
    /// To one of these addresses.
    Direct(Vec<IpAddr>),
    /// To the system's proxy, which finds the address itself.
    Proxy,
}

impl Place {
    /// The first of its addresses that is not the public internet, and why; `None` where all are. Behind a proxy this
    /// is what this machine finds; what the proxy finds is the proxy's affair. Where this machine finds nothing, the
    /// name decides, and there is no address to tell.
    pub fn inside(&self) -> Option<(Option<IpAddr>, Inside)> {
        self.inside
    }
}

/// Why there is no answer. Names the host; says nothing of what to do.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// Haft is offline, and this is elsewhere.
    #[error(transparent)]
    Offline(#[from] Offline),
    /// The name has no address.
    #[error("the host {host} was not found ({reason})")]
    NotFound {
        /// The name.
        host: String,
        /// What the system says.
        reason: String,
    },
    /// Nobody listens there, or the way is closed.
    #[error("no connection to {host} ({reason})")]
    NoConnection {
        /// The host.
        host: String,
        /// What the system says.
        reason: String,
    },
    /// Its certificate or its way of encrypting is not to be trusted.
    #[error("no secure connection to {host} ({reason})")]
    Tls {
        /// The host.
        host: String,
        /// What was wrong.
        reason: String,
    },
    /// The connection opened, and what came was cut off or no HTTP.
    #[error("{host} broke off its answer ({reason})")]
    Broken {
        /// The host.
        host: String,
        /// What was wrong.
        reason: String,
    },
    /// The answer is longer than was wanted.
    #[error("the answer of {host} is larger than {limit} bytes")]
    TooLarge {
        /// The host.
        host: String,
        /// What was wanted at most.
        limit: usize,
    },
    /// The answer is packed in a way that nobody asked for.
    #[error("{host} packed its answer as {encoding:?}, which was not asked for")]
    Packed {
        /// The host.
        host: String,
        /// How it says.
        encoding: String,
    },
    /// The client itself.
    #[error("the HTTP client could not be set up ({0})")]
    Setup(String),
}

/// An answer whose body has not been read.
#[derive(Debug)]
pub struct Answer {
    host: String,
    response: reqwest::Response,
}

impl Web {
    /// The same with another way to find addresses.
    #[must_use]
    pub fn with_lookup(self, lookup: Arc<dyn Lookup>) -> Self {
        Self { lookup, ..self }
    }

    /// The same on another network than that of the process.
    #[must_use]
    pub fn on(self, network: Network) -> Self {
        Self { network, ..self }
    }

    /// Finds out where `url` leads, without going there. Takes as long as the system's search for a name.
    ///
    /// # Errors
    ///
    /// [`WebError::NotFound`], and [`WebError::Offline`] before anything is looked up.
    pub async fn place(&self, url: &Url) -> Result<Place, WebError> {
        self.network.check(url)?;
        let host = host(url);
        let proxied = self.network.proxies().hop(url).is_some();
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
        let found = match (literal, names::here(&host)) {
            (Some(address), _) => Ok(vec![address]),
            (None, Some(here)) => Ok(here.to_vec()),
            (None, None) => self.lookup.lookup(&host).await,
        };
        let addresses = match found {
            // Beyond a proxy there may be names that this machine does not know.
            Err(_) if proxied => Vec::new(),
            Err(error) => return Err(WebError::NotFound { host, reason: error.to_string() }),
            Ok(addresses) => addresses,
        };
        if addresses.is_empty() && !proxied {
            return Err(WebError::NotFound { host, reason: "it has no address".to_owned() });
        }
        let addresses: Vec<IpAddr> = addresses.into_iter().take(MAX_ADDRESSES).collect();
        let by_name = || (addresses.is_empty() && is_own_name(&host)).then_some((None, Inside::Named));
        let inside = addresses.iter().find_map(|&address| inside(address).map(|why| (Some(address), why)));
        let inside = inside.or_else(by_name);
        let route = if proxied { Route::Proxy } else { Route::Direct(addresses) };
        Ok(Place { url: url.clone(), route, inside })
    }

    /// Goes to `place` and asks for it with `headers`. Redirects and refusals are answers like others.
    ///
    /// There is no limit on how long it takes: dropping the future ends it.
    ///
    /// # Errors
    ///
    /// [`WebError`], all but `NotFound` and `TooLarge`.
    pub async fn get(&self, place: &Place, headers: &[(&'static str, &str)]) -> Result<Answer, WebError> {
        let host = host(&place.url);
        let client = self.client(place)?;
        let request =
            headers.iter().fold(client.get(place.url.clone()), |request, (name, value)| request.header(*name, *value));
        let response = request.send().await.map_err(|error| explain(&error, host.clone()))?;
        let answer = Answer { host, response };
        match answer.header(&CONTENT_ENCODING) {
            Some(encoding) if !matches!(encoding.trim(), "" | "identity") => {
                Err(WebError::Packed { encoding: encoding.to_owned(), host: answer.host })
            }
            _ => Ok(answer),
        }
    }

    /// The same with a method and a body. Headers that say how a connection is made, or whom it is for, are left out.
    ///
    /// # Errors
    ///
    /// Those of [`Web::get`], and [`WebError::Setup`] for what is no method or header.
    pub async fn send(
        &self,
        place: &Place,
        method: &str,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Result<Answer, WebError> {
        const OURS: [&str; 7] =
            ["host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "accept-encoding"];
        let host = host(&place.url);
        let method = if method.is_empty() { "GET" } else { method };
        let method = method.parse().map_err(|_| WebError::Setup(format!("{method:?} is no method")))?;
        let mut request = self.client(place)?.request(method, place.url.clone());
        for (name, value) in headers.iter().filter(|(name, _)| !OURS.contains(&name.to_ascii_lowercase().as_str())) {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.body(body);
        }
        // A header that cannot be sent is told by the builder.
        let response = request.send().await.map_err(|error| explain(&error, host.clone()))?;
        Ok(Answer { host, response })
    }

    /// A client for one step: a shared one would keep connections to addresses that nobody looked at this time.
    fn client(&self, place: &Place) -> Result<reqwest::Client, WebError> {
        // Who the user is, is nobody's business there.
        let builder = self.network.builder(CONNECT_TIMEOUT, Identified::No);
        let builder = builder.map_err(|error| WebError::Setup(causes(&error)))?;
        let builder = builder.referer(false).redirect(reqwest::redirect::Policy::none());
        let builder = match &place.route {
            Route::Direct(addresses) => builder.dns_resolver(Pinned(addresses.clone())),
            Route::Proxy => builder,
        };
        builder.build().map_err(|error| WebError::Setup(causes(&error)))
    }
}

/// `error` and what caused it.
fn causes(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |&cause| cause.source()).take(16);
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Answers every question with the addresses that were looked at.
struct Pinned(Vec<IpAddr>);

impl Resolve for Pinned {
    fn resolve(&self, name: Name) -> Resolving {
        let addresses: Vec<SocketAddr> = self.0.iter().map(|&address| SocketAddr::new(address, 0)).collect();
        let refused = names::refused(name.as_str());
        Box::pin(async move {
            refused?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

impl Answer {
    /// The number that says how it went.
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// What the number means, if it is a known one.
    pub fn reason(&self) -> &'static str {
        self.response.status().canonical_reason().unwrap_or_default()
    }

    /// A header, where it is text.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// All headers that are text, names in small letters.
    pub fn headers(&self) -> impl Iterator<Item = (String, String)> {
        let text = |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        };
        self.response.headers().iter().filter_map(text)
    }

    fn header(&self, name: &reqwest::header::HeaderName) -> Option<&str> {
        let headers: &HeaderMap = self.response.headers();
        headers.get(name)?.to_str().ok()
    }

    /// What the body is said to be, as it is said.
    pub fn content_type(&self) -> Option<&str> {
        self.header(&CONTENT_TYPE)
    }

    /// Where a redirect points, as it is said; bytes that are no text are read as UTF-8.
    pub fn location(&self) -> Option<String> {
        let value = self.response.headers().get(LOCATION)?;
        Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
    }

    /// Reads the body, unpacked, to its end.
    ///
    /// Dropping the future ends the connection.
    ///
    /// # Errors
    ///
    /// [`WebError::TooLarge`] as soon as it has more than `limit` bytes or says so, [`WebError::Broken`].
    pub async fn body(self, limit: usize) -> Result<Vec<u8>, WebError> {
        let said = self.header(&CONTENT_LENGTH).and_then(|length| length.trim().parse::<u64>().ok());
        let too_large = |host: String| WebError::TooLarge { host, limit };
        if said.is_some_and(|length| length > limit as u64) {
            return Err(too_large(self.host));
        }
        let Self { mut response, host } = self;
        match crate::body(&mut response, limit).await {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(too_large(host)),
            Err(error) => Err(explain(&error, host)),
        }
    }

    /// Reads the beginning of the body, at most `limit` bytes of it, and whatever came until it broke.
    pub async fn beginning(self, limit: usize) -> Vec<u8> {
        let Self { mut response, .. } = self;
        let mut bytes = Vec::new();
        while bytes.len() < limit
            && let Ok(Some(piece)) = response.chunk().await
        {
            bytes.extend_from_slice(&piece);
        }
        bytes.truncate(limit);
        bytes
    }
}

/// The host of `url`, as it stands there.
fn host(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

/// What became of a request, from the causes of its error.
fn explain(error: &reqwest::Error, host: String) -> WebError {
    let causes: Vec<&(dyn Error + 'static)> =
        std::iter::successors(error.source(), |&cause| cause.source()).take(16).collect();
    let reason = causes.last().map_or_else(|| "no reason given".to_owned(), ToString::to_string);
    if causes.iter().any(|cause| is_tls(*cause)) {
        WebError::Tls { host, reason }
    } else if error.is_connect() {
        WebError::NoConnection { host, reason }
    } else {
        WebError::Broken { host, reason }
    }
}

/// Whether `error` comes from TLS. An I/O error does not name the one in it as its cause, so it is looked into.
fn is_tls(error: &(dyn Error + 'static)) -> bool {
    let mut at = error;
    for _ in 0..8 {
        if at.is::<rustls::Error>() {
            return true;
        }
        match at.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => at = inner,
            None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Knows the address of one host.
    struct One(&'static str, IpAddr);

    impl Lookup for One {
        fn lookup<'a>(&'a self, host: &'a str) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
            let found = if host == self.0 { Ok(vec![self.1]) } else { Err(io::Error::other("no such name")) };
            Box::pin(async { found })
        }
    }

    #[test]
    fn behind_a_proxy_names_decide_where_no_address_is_known() {
        let proxy = crate::Proxy::At("http://proxy.example:3128".to_owned());
        let known = One("known.corp", IpAddr::from([10, 0, 0, 7]));
        let network = Network::new(crate::Settings { proxy, ..crate::Settings::default() });
        let web = Web::default().on(network).with_lookup(Arc::new(known));
        let row = |url: &str, want: Option<(Option<IpAddr>, Inside)>| {
            let url = Url::parse(url).unwrap();
            let mut place = std::pin::pin!(web.place(&url));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            let std::task::Poll::Ready(place) = place.as_mut().poll(&mut context) else { panic!("nothing waits") };
            assert_eq!(place.unwrap().inside(), want, "{url}");
        };
        row("http://docs.example/", None);
        row("http://wiki/", Some((None, Inside::Named)));
        row("http://metadata.google.internal/", Some((None, Inside::Named)));
        row("http://known.corp/", Some((Some(IpAddr::from([10, 0, 0, 7])), Inside::Private)));
        row("http://192.168.0.1/", Some((Some(IpAddr::from([192, 168, 0, 1])), Inside::Private)));
    }
}
