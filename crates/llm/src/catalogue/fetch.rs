//! Fetches a list of models from an address that the user named. Nobody else is asked, and nothing is sent but that.

use reqwest::{StatusCode, Url};

use super::MAX_SOURCE;
use crate::local::is_here;

/// A list of models could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The address is none that may be asked.
    #[error("{0:?} is no address that begins with https:// (http:// only for this machine)")]
    Address(String),
    /// Nobody answers there.
    #[error("cannot ask {0}")]
    Transport(String, #[source] Box<dyn std::error::Error + Send + Sync>),
    /// It answers with something else.
    #[error("{0} answers with status {1}")]
    Status(String, StatusCode),
    /// It does not end.
    #[error("what {0} answers is larger than {most} MiB", most = MAX_SOURCE >> 20)]
    TooLarge(String),
}

/// The list at `address`, which is that of a file, or of a site that has it at `/api.json`.
///
/// Dropping the future ends the request.
///
/// # Errors
///
/// [`FetchError`] when it cannot be had. Whether it is a list of models, [`super::Catalogue::pack`] says.
pub async fn fetch(address: &str) -> Result<Vec<u8>, FetchError> {
    let url = url(address).ok_or_else(|| FetchError::Address(address.to_owned()))?;
    let shown = format!("{}{}", url.host_str().unwrap_or_default(), url.path());
    let broken = |error: Box<dyn std::error::Error + Send + Sync>| FetchError::Transport(shown.clone(), error);
    let client = haft_net::client(haft_net::Options::default()).map_err(|error| broken(error.into()))?;
    let sent = client.get(url).send().await;
    let mut response = sent.map_err(|error| broken(error.without_url().into()))?;
    if !response.status().is_success() {
        return Err(FetchError::Status(shown, response.status()));
    }
    let body = haft_net::body(&mut response, MAX_SOURCE).await;
    body.map_err(|error| broken(error.without_url().into()))?.ok_or(FetchError::TooLarge(shown))
}

/// The address of the file.
fn url(address: &str) -> Option<Url> {
    let mut url = Url::parse(address).ok()?;
    if !(url.scheme() == "https" || is_here(&url)) {
        return None;
    }
    if !url.path().ends_with(".json") {
        let path = format!("{}/api.json", url.path().trim_end_matches('/'));
        url.set_path(&path);
    }
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_that_of_a_file_or_of_its_site() {
        let row =
            |address: &str, want: Option<&str>| assert_eq!(url(address).as_ref().map(Url::as_str), want, "{address}");
        row("https://models.example", Some("https://models.example/api.json"));
        row("https://models.example/x/", Some("https://models.example/x/api.json"));
        row("https://models.example/list.json?a=b", Some("https://models.example/list.json?a=b"));
        row("http://127.0.0.1:9/list.json", Some("http://127.0.0.1:9/list.json"));
        row("http://models.example", None);
        row("file:///etc/passwd", None);
        row("models.example", None);
    }
}
