//! A server at an address: streamable HTTP, and the older way with one stream of events for servers that know only
//! that.

use std::collections::HashMap;
use std::error::Error;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use haft_net::Options;
use haft_vault::Secret;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::ServiceExt;
use rmcp::service::{ClientInitializeError, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{StreamableHttpClient, StreamableHttpClientTransportConfig};

use super::settings::Remote;
use super::sse::EventStream;
use super::status::Failure;
use super::stdio::MAX_MESSAGE;
use super::traffic::{Handler, Traffic};
use crate::oauth::{self, Account, OAuthError, Store};

/// A connection that has been made.
pub(super) type Service = RunningService<RoleClient, Handler>;

/// Speaks to `remote`, in the way that it knows. What is kept of `signing` is shown to it.
pub(super) async fn connect(
    remote: &Remote,
    signing: Option<&(Store, Account)>,
    traffic: &Arc<Traffic>,
    limit: Duration,
) -> Result<Service, Failure> {
    let headers = headers(remote)?;
    let url = haft_net::Url::parse(&remote.url)
        .map_err(|error| Failure::Broken(format!("{} is no address: {error}", remote.url)))?;
    // A stream of events may be silent for long.
    let options = Options { connect_timeout: limit, idle_timeout: Duration::MAX, ..Options::default() };
    let client = haft_net::client(options).map_err(|error| Failure::Broken(haft_tool::with_causes(&error)))?;
    let current = async || match signing {
        None => streamable(client.clone(), remote, headers.clone(), traffic).await,
        Some((store, account)) => {
            let client = oauth::authorized(store, account, client.clone()).await;
            let client = client.map_err(|error| Missed::Unreached(haft_tool::with_causes(&error)))?;
            streamable(client, remote, headers.clone(), traffic).await
        }
    };
    let mut first = within(limit, current()).await;
    // Tokens that nobody has to sign in for are got once more: the server may have forgotten those that it gave.
    if let (Err(Missed::Refused(challenge)), Some((store, account))) = (&first, signing)
        && oauth::renewed(store, account, challenge.as_deref())
    {
        first = within(limit, current()).await;
    }
    let first = match first {
        Ok(service) => return Ok(service),
        Err(failure) => failure,
    };
    match &first {
        Missed::Refused(challenge) => Err(refused(signing, challenge.as_deref(), limit).await),
        // Then it is not there at all.
        Missed::Unreached(why) => Err(Failure::Broken(why.clone())),
        Missed::Otherwise(why) => {
            let older = async {
                let signing = match signing {
                    None => None,
                    // What it refuses then says more than why there is no token.
                    Some((store, account)) => oauth::authorized(store, account, client.clone()).await.ok(),
                };
                let stream = EventStream::open(client, signing, url, headers).await?;
                Handler(Arc::clone(traffic)).serve(stream).await.map_err(|error| missed(&error))
            };
            match within(limit, older).await {
                Ok(service) => Ok(service),
                Err(Missed::Refused(challenge)) => Err(refused(signing, challenge.as_deref(), limit).await),
                Err(Missed::Unreached(_) | Missed::Otherwise(_)) => Err(Failure::Broken(why.clone())),
            }
        }
    }
}

/// Why a way did not lead to a server.
pub(super) enum Missed {
    /// It wants something of us first.
    Refused(Option<String>),
    /// Nobody is there.
    Unreached(String),
    /// Who is there does not speak so.
    Otherwise(String),
}

/// What a server that refuses a request wants: that the user signs in, or first has us registered.
async fn refused(signing: Option<&(Store, Account)>, challenge: Option<&str>, limit: Duration) -> Failure {
    let Some((store, account)) = signing else { return Failure::NeedsAuth };
    if !account.is_a_persons() {
        return Failure::Broken("it refuses the token that was given for it".to_owned());
    }
    if let Some(challenge) = challenge {
        oauth::challenged(store, account, challenge);
    }
    let needs = oauth::needs_registration(store, account, challenge);
    match tokio::time::timeout(limit, needs).await {
        Ok(true) => Failure::NeedsRegistration(OAuthError::NeedsRegistration(account.name.clone()).to_string()),
        Ok(false) | Err(_) => Failure::NeedsAuth,
    }
}

async fn within(limit: Duration, connecting: impl Future<Output = Result<Service, Missed>>) -> Result<Service, Missed> {
    let late = || Missed::Unreached(format!("it did not answer within {} s", limit.as_secs_f64()));
    tokio::time::timeout(limit, connecting).await.unwrap_or_else(|_| Err(late()))
}

/// Speaks the current way, by `client`.
async fn streamable<C: StreamableHttpClient + Sync>(
    client: C,
    remote: &Remote,
    headers: HashMap<HeaderName, HeaderValue>,
    traffic: &Arc<Traffic>,
) -> Result<Service, Missed> {
    let config = StreamableHttpClientTransportConfig::with_uri(remote.url.as_str())
        .custom_headers(headers)
        .max_sse_event_size(MAX_MESSAGE)
        .max_json_response_size(MAX_MESSAGE)
        .reinit_on_expired_session(true);
    let transport = StreamableHttpClientTransport::with_client(client, config);
    Handler(Arc::clone(traffic)).serve(transport).await.map_err(|error| missed(&error))
}

fn missed(error: &ClientInitializeError) -> Missed {
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        return Missed::Refused(error.auth_challenge().map(str::to_owned));
    }
    if let Some(why) = haft_net::hopeless(error) {
        return Missed::Unreached(why);
    }
    let why = haft_tool::with_causes(error);
    let mut causes = std::iter::successors(Some(error as &(dyn Error + 'static)), |&cause| cause.source());
    let is_away = |cause: &(dyn Error + 'static)| {
        cause.downcast_ref::<reqwest::Error>().is_some_and(|error| error.is_connect() || error.is_timeout())
    };
    match causes.any(is_away) {
        true => Missed::Unreached(why),
        false => Missed::Otherwise(why),
    }
}

fn headers(remote: &Remote) -> Result<HashMap<HeaderName, HeaderValue>, Failure> {
    let header = |(name, value): &(String, Secret)| {
        // The value may be a key.
        let wrong = || Failure::Broken(format!("the header {name:?} of the settings is none"));
        let mut held = HeaderValue::from_str(value.expose()).map_err(|_| wrong())?;
        held.set_sensitive(true);
        Ok((HeaderName::from_str(name).map_err(|_| wrong())?, held))
    };
    remote.headers.iter().map(header).collect()
}
