//! Model servers on this machine: who listens, and which models there are.
//!
//! Nothing but this machine's own addresses is ever asked.

use std::net::IpAddr;
use std::time::Duration;

use futures::future::join_all;
use reqwest::Url;
use serde::Deserialize;

use crate::failure::excerpt;

/// Longest a server may take to accept a connection. On this machine it takes a millisecond, or nobody is there.
const CONNECT: Duration = Duration::from_millis(300);

/// Longest all servers together may take to answer.
const ANSWER: Duration = Duration::from_secs(1);

/// Most of an answer that is read, in bytes.
const MAX_BODY: usize = 1024 * 1024;

/// Most models of one server.
const MAX_MODELS: usize = 200;

/// Longest name of a model, in bytes.
const MAX_NAME: usize = 200;

/// A server that may be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its vendor in [`crate::catalogue`].
    pub vendor: &'static str,
    /// Its address: scheme, host and port.
    pub origin: String,
}

/// A server that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its vendor in [`crate::catalogue`].
    pub vendor: &'static str,
    /// Its address, above the path of the dialect.
    pub base_url: String,
    /// Its models that can talk, in its own order. May be none.
    pub models: Vec<String>,
}

/// Where servers are looked for: Ollama, LM Studio and llama.cpp at their usual ports. `ollama_host` is the variable
/// by which Ollama's own programs are told another address; one that is not on this machine is not used.
pub fn places(ollama_host: Option<&str>) -> Vec<Place> {
    let ollama = ollama_host.and_then(ollama_origin).unwrap_or_else(|| "http://127.0.0.1:11434".to_owned());
    vec![
        Place { vendor: "ollama", origin: ollama },
        Place { vendor: "lmstudio", origin: "http://127.0.0.1:1234".to_owned() },
        Place { vendor: "llamacpp", origin: "http://127.0.0.1:8080".to_owned() },
    ]
}

/// The address in `OLLAMA_HOST`, in any of the forms that Ollama takes, if it is on this machine.
///
/// `0.0.0.0` and `::` are what a server listens on; on this machine it is reached at the loopback address.
pub fn ollama_origin(host: &str) -> Option<String> {
    let host = host.trim().trim_matches(['"', '\'']);
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let default_port = match scheme {
        "http" if host.contains("://") => 80,
        "https" => 443,
        "http" => 11434,
        _ => return None,
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let authority = match authority {
        "" => "127.0.0.1".to_owned(),
        // A bare address of the new kind is full of colons.
        bare if bare.parse::<std::net::Ipv6Addr>().is_ok() => format!("[{bare}]"),
        port if port.starts_with(':') => format!("127.0.0.1{port}"),
        authority => authority.to_owned(),
    };
    let url = Url::parse(&format!("{scheme}://{authority}")).ok()?;
    let bracketed = url.host_str()?;
    let name = bracketed.trim_start_matches('[').trim_end_matches(']');
    let host = match name.parse::<IpAddr>() {
        Ok(ip) if ip.is_unspecified() => "127.0.0.1",
        Ok(ip) if ip.is_loopback() => bracketed,
        Err(_) if name == "localhost" => bracketed,
        Ok(_) | Err(_) => return None,
    };
    // The parser hides a port that is the scheme's own.
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let port = url.port().unwrap_or(if has_port { url.port_or_known_default()? } else { default_port });
    Some(format!("{scheme}://{host}:{port}"))
}

/// Asks all `places` at once. Who does not answer within a second, or answers with something else, is not there.
pub async fn discover(places: &[Place]) -> Vec<Found> {
    let options = haft_net::Options { connect_timeout: CONNECT, idle_timeout: ANSWER, ..haft_net::Options::default() };
    let Ok(client) = haft_net::client(options) else { return Vec::new() };
    let asked = places.iter().map(|place| {
        let client = client.clone();
        async move {
            let found = tokio::time::timeout(ANSWER, ask(&client, place)).await.ok().flatten();
            if found.is_none() {
                tracing::debug!(vendor = place.vendor, origin = place.origin, "no model server answers here");
            }
            found
        }
    });
    join_all(asked).await.into_iter().flatten().collect()
}

async fn ask(client: &reqwest::Client, place: &Place) -> Option<Found> {
    let Place { vendor, origin } = place;
    if !is_on_this_machine(origin) {
        return None;
    }
    let path = if *vendor == "ollama" { "/api/tags" } else { "/v1/models" };
    let mut response = client.get(format!("{origin}{path}")).send().await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.ok()? {
        body.extend_from_slice(&bytes);
        if body.len() > MAX_BODY {
            return None;
        }
    }
    Some(Found { vendor, base_url: format!("{origin}/v1"), models: models(&body)? })
}

fn is_on_this_machine(origin: &str) -> bool {
    let url = Url::parse(origin).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.parse::<IpAddr>().map_or(host == "localhost", |ip| ip.is_loopback())
}

#[derive(Deserialize)]
struct Listed {
    /// Ollama's list.
    models: Option<Vec<Model>>,
    /// The list of everyone else.
    data: Option<Vec<Model>>,
}

#[derive(Deserialize)]
struct Model {
    #[serde(alias = "id", alias = "model")]
    name: Option<String>,
    details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    family: Option<String>,
}

/// The models in an answer; `None` if it is no list of models.
fn models(body: &[u8]) -> Option<Vec<String>> {
    // A name may stand there twice, under two keys, which a struct refuses.
    let mut listed: serde_json::Value = serde_json::from_slice(body).ok()?;
    for list in ["models", "data"] {
        for model in listed.get_mut(list).and_then(serde_json::Value::as_array_mut).into_iter().flatten() {
            let Some(model) = model.as_object_mut() else { continue };
            let names = ["id", "model", "name"].map(|key| model.remove(key));
            if let Some(name) = names.into_iter().flatten().find(serde_json::Value::is_string) {
                model.insert("name".to_owned(), name);
            }
        }
    }
    let listed: Listed = serde_json::from_value(listed).ok()?;
    // Where both are given, they are the same list; the second is the one that requests go by.
    let list = listed.data.or(listed.models)?;
    let talks = list.into_iter().filter(|model| {
        let family = model.details.as_ref().and_then(|details| details.family.as_deref());
        can_talk(model.name.as_deref().unwrap_or_default(), family.unwrap_or_default())
    });
    Some(talks.filter_map(|model| model.name).filter(|name| is_name(name)).take(MAX_MODELS).collect())
}

/// Models that only measure, sort, hear or draw are no use here.
fn can_talk(name: &str, family: &str) -> bool {
    let name = name.to_lowercase();
    let mute = ["embed", "rerank", "whisper", "bge-", "all-minilm", "stable-diffusion", "tts"];
    !mute.into_iter().any(|word| name.contains(word)) && !family.contains("bert")
}

/// A name that is one line of text. Another process wrote it, and people will see it.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME && excerpt(name) == name && !name.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ollama_is_looked_for_where_its_variable_says_if_that_is_here() {
        let row = |host: &str, want: Option<&str>| assert_eq!(ollama_origin(host).as_deref(), want, "{host}");
        row("", Some("http://127.0.0.1:11434"));
        row("127.0.0.1", Some("http://127.0.0.1:11434"));
        row("127.0.0.1:9999", Some("http://127.0.0.1:9999"));
        row(" \"localhost:9999\" ", Some("http://localhost:9999"));
        row(":9999", Some("http://127.0.0.1:9999"));
        row("0.0.0.0", Some("http://127.0.0.1:11434"));
        row("0.0.0.0:80", Some("http://127.0.0.1:80"));
        row("[::]:9999", Some("http://127.0.0.1:9999"));
        row("::1", Some("http://[::1]:11434"));
        row("[::1]:9999", Some("http://[::1]:9999"));
        row("http://localhost", Some("http://localhost:80"));
        row("https://localhost/path", Some("https://localhost:443"));
        row("http://127.0.0.1:9999/", Some("http://127.0.0.1:9999"));
        row("192.168.1.7", None);
        row("ollama.example:11434", None);
        row("localhost.example", None);
        row("127.0.0.1@evil.example", None);
        row("ftp://127.0.0.1", None);
        row("127.0.0.1:99999", None);
        assert_eq!(places(Some("10.0.0.1"))[0].origin, "http://127.0.0.1:11434");
        assert_eq!(places(Some(":7"))[0].origin, "http://127.0.0.1:7");
    }

    #[test]
    fn models_are_read_from_each_kind_of_list() {
        let row = |body: &str, want: Option<&[&str]>| {
            let got = models(body.as_bytes());
            let got: Option<Vec<&str>> = got.as_ref().map(|names| names.iter().map(String::as_str).collect());
            assert_eq!(got.as_deref(), want, "{body}");
        };
        row(
            r#"{"models":[{"name":"qwen3:8b","model":"qwen3:8b","details":{"family":"qwen3"}},{"name":"x:latest","details":{"family":"nomic-bert"}}]}"#,
            Some(&["qwen3:8b"]),
        );
        row(r#"{"data":[{"id":"text-embedding-nomic"},{"id":"gemma-3"}],"object":"list"}"#, Some(&["gemma-3"]));
        row(r#"{"models":[{"name":"a.gguf","model":"a.gguf"}],"data":[{"id":"a"}]}"#, Some(&["a"]));
        row(r#"{"data":[]}"#, Some(&[]));
        row(r#"{"data":[{"id":7},{"id":""},{"id":"a\nb"},{"id":"\u001b[2J"}]}"#, Some(&[]));
        row(r#"{"hello":"world"}"#, None);
        row("<html>", None);
        let many = (0..MAX_MODELS + 1).map(|at| format!(r#"{{"id":"m{at}"}}"#)).collect::<Vec<_>>().join(",");
        assert_eq!(models(format!(r#"{{"data":[{many}]}}"#).as_bytes()).unwrap().len(), MAX_MODELS);
        assert!(is_name(&"x".repeat(MAX_NAME)) && !is_name(&"x".repeat(MAX_NAME + 1)));
    }
}
