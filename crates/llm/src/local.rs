//! Model servers on this machine: who listens, and which models there are.
//!
//! Nothing but this machine's own addresses is ever asked.

mod known;
mod read;

use std::time::Duration;

use futures::future::join_all;
use reqwest::Url;
use serde_json::{Value, json};

pub use known::{KNOWN, Known, Place, is_here, ollama_origin, places};
pub use read::LocalModel;

/// Longest a server may take to accept a connection. On this machine it takes a millisecond, or nobody is there.
const CONNECT: Duration = Duration::from_millis(300);

/// Longest all servers together may take to name their models, and as long again to say more of them.
const ANSWER: Duration = Duration::from_secs(1);

/// Most of an answer that is read, in bytes.
const MAX_BODY: usize = 1024 * 1024;

/// Most models that one server is asked about singly.
const MAX_ASKED: usize = 32;

/// A server that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its vendor: one of [`KNOWN`], or the one that it was asked as.
    pub vendor: String,
    /// Its address, above the path of the dialect.
    pub base_url: String,
    /// Its models that can talk, in its own order. May be none.
    pub models: Vec<LocalModel>,
}

/// Asks all `places` at once. Who does not answer within a second, or answers with something else, is not there; who
/// says no more of its models within another second has models of which no more is known.
pub async fn discover(places: &[Place]) -> Vec<Found> {
    if places.is_empty() {
        return Vec::new();
    }
    let Some(client) = client() else { return Vec::new() };
    let asked = places.iter().map(|place| {
        let server = Asked { client: &client, origin: &place.origin };
        async move {
            let found = server.found(place.vendor).await;
            if found.is_none() {
                tracing::debug!(vendor = place.vendor, origin = place.origin, "no model server answers here");
            }
            found
        }
    });
    join_all(asked).await.into_iter().flatten().collect()
}

/// The models of the server at `base_url`, which a person set up as `vendor`; `None` if it is not on this machine, or
/// does not say.
pub async fn models_at(vendor: &str, base_url: &str) -> Option<Found> {
    let client = client()?;
    let server = Asked { client: &client, origin: base_url.trim_end_matches('/') };
    let list = within(server.get("/models")).await??;
    Some(Found { vendor: vendor.to_owned(), base_url: base_url.to_owned(), models: read::list(&list)? })
}

fn client() -> Option<reqwest::Client> {
    let options = haft_net::Options { connect_timeout: CONNECT, idle_timeout: ANSWER, ..haft_net::Options::default() };
    haft_net::client(options).ok()
}

async fn within<T>(asked: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(ANSWER, asked).await.ok()
}

/// A server that is asked.
struct Asked<'a> {
    client: &'a reqwest::Client,
    origin: &'a str,
}

impl Asked<'_> {
    async fn found(&self, vendor: &'static str) -> Option<Found> {
        let (vendor, mut models) = within(self.models(vendor)).await??;
        // What is known so far counts, also where the rest comes too late.
        let _ = within(self.more(vendor, &mut models)).await;
        models.retain(|model| model.talks);
        let vendor = models.iter().find_map(|model| model.server).unwrap_or(vendor).to_owned();
        Some(Found { vendor, base_url: format!("{}/v1", self.origin), models })
    }

    /// The names of its models, and whatever the same answer says of them.
    async fn models(&self, vendor: &'static str) -> Option<(&'static str, Vec<LocalModel>)> {
        if vendor == "ollama" {
            return Some((vendor, read::list(&self.get("/api/tags").await?)?));
        }
        // LM Studio's own list says more than the usual one.
        if vendor == "lmstudio"
            && let Some(list) = self.get("/api/v0/models").await.as_ref().and_then(read::list)
        {
            return Some((vendor, list));
        }
        Some((vendor, read::list(&self.get("/v1/models").await?)?))
    }

    /// Asks further what was not said.
    async fn more(&self, vendor: &'static str, models: &mut [LocalModel]) {
        match vendor {
            "ollama" => {
                let bodies: Vec<_> = models.iter().take(MAX_ASKED).map(|model| json!({"model": model.id})).collect();
                let told = join_all(bodies.iter().map(|body| self.post("/api/show", body))).await;
                for (model, told) in models.iter_mut().zip(told) {
                    told.iter().for_each(|told| read::shown_by_ollama(model, told));
                }
            }
            // Three servers share its port.
            "llamacpp" => {
                if let Some(props) = self.get("/props").await.filter(read::is_llamacpp) {
                    models.iter_mut().for_each(|model| read::props_of_llamacpp(model, &props));
                } else if let Some(info) = self.get("/info").await.filter(read::is_tgi) {
                    models.iter_mut().for_each(|model| read::info_of_tgi(model, &info));
                } else {
                    models.iter_mut().for_each(|model| model.server = Some("localai"));
                }
            }
            _ => {}
        }
    }

    async fn get(&self, path: &str) -> Option<Value> {
        self.answer(self.client.get(self.url(path)?)).await
    }

    async fn post(&self, path: &str, body: &Value) -> Option<Value> {
        self.answer(self.client.post(self.url(path)?).json(body)).await
    }

    fn url(&self, path: &str) -> Option<Url> {
        Url::parse(&format!("{}{path}", self.origin)).ok().filter(is_here)
    }

    async fn answer(&self, request: reqwest::RequestBuilder) -> Option<Value> {
        let mut response = request.send().await.ok()?;
        if !response.status().is_success() {
            return None;
        }
        let body = haft_net::body(&mut response, MAX_BODY).await.ok()??;
        serde_json::from_slice(&body).ok()
    }
}
