//! Instructions that stand at an address: fetched through the one gate to the network, and kept for a while.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use haft_net::{Url, Web};
use haft_session::Pages;

/// How long one may take, redirects included.
const TIME: Duration = Duration::from_secs(5);
/// Most redirects in a row.
const MAX_HOPS: usize = 5;
/// How long what an address said is good, also that it said nothing.
const GOOD_FOR: Duration = Duration::from_secs(3600);
/// Most addresses that are remembered.
const MAX_KEPT: usize = 32;

/// When a page was read, and what came of it.
type Kept = (Instant, Result<String, String>);

/// What addresses said lately: tasks are told the same as the session that hands them on.
#[derive(Default)]
pub(crate) struct Fetched {
    web: Web,
    kept: Mutex<BTreeMap<String, Kept>>,
}

impl Pages for Fetched {
    fn read<'a>(&'a self, url: &'a str, by_user: bool, limit: usize) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            if let Some(known) = self.known(url) {
                return known;
            }
            let read = tokio::time::timeout(TIME, fetch(&self.web, url, by_user, limit)).await;
            let read = read.unwrap_or_else(|_| Err(format!("it took longer than {} s", TIME.as_secs())));
            self.keep(url, read.clone());
            read
        })
    }
}

impl Fetched {
    fn known(&self, url: &str) -> Option<Result<String, String>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(url).filter(|(when, _)| when.elapsed() < GOOD_FOR).map(|(_, said)| said.clone())
    }

    fn keep(&self, url: &str, said: Result<String, String>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, (when, _)| when.elapsed() < GOOD_FOR);
        if kept.len() < MAX_KEPT {
            kept.insert(url.to_owned(), (Instant::now(), said));
        }
    }
}

/// What stands at `url`, of at most `limit` bytes. An address that the user named (`by_user`) may be one of their own
/// network; one that it redirects to on another host may not.
pub(crate) async fn fetch(web: &Web, url: &str, by_user: bool, limit: usize) -> Result<String, String> {
    let text = String::from_utf8(fetch_bytes(web, url, by_user, limit).await?).ok();
    text.filter(|text| !text.contains('\0')).ok_or_else(|| format!("{url} is no text"))
}

/// The same, whatever stands there.
pub(crate) async fn fetch_bytes(web: &Web, url: &str, by_user: bool, limit: usize) -> Result<Vec<u8>, String> {
    let mut url = Url::parse(url).map_err(|error| error.to_string())?;
    let named = url.clone();
    for _ in 0..=MAX_HOPS {
        let place = web.place(&url).await.map_err(|error| error.to_string())?;
        let is_named =
            by_user && (url.host(), url.port_or_known_default()) == (named.host(), named.port_or_known_default());
        if let Some((_, why)) = place.inside().filter(|_| !is_named) {
            return Err(format!("{url} is not the public internet ({})", why.words()));
        }
        let headers = [("accept", "text/markdown, text/plain;q=0.9, */*;q=0.1")];
        let answer = web.get(&place, &headers).await.map_err(|error| error.to_string())?;
        match answer.status() {
            301 | 302 | 303 | 307 | 308 => {
                let next = answer.location().and_then(|next| url.join(&next).ok());
                let next = next.ok_or_else(|| format!("{url} redirects to nowhere"))?;
                let is_web = matches!(next.scheme(), "http" | "https");
                if !is_web || (url.scheme() == "https" && next.scheme() == "http") {
                    return Err(format!("{url} redirects to {next}, which is less safe"));
                }
                url = next;
            }
            200 => return answer.body(limit).await.map_err(|error| format!("{url}: {error}")),
            status => return Err(format!("{url} answered {status} {}", answer.reason())),
        }
    }
    Err(format!("{url} redirects more than {MAX_HOPS} times"))
}
