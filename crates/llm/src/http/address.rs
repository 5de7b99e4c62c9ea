//! Addresses: where a request goes, how messages show it, and what in it is secret. Pure.

use reqwest::Url;

use crate::Secret;

/// Shortest word that counts as a secret. A shorter one would blot out words of messages.
const MIN_SECRET: usize = 8;

pub(super) fn base(base_url: &str) -> Result<Url, String> {
    let named = || format!("baseURL {:?}", bare(base_url));
    let unfit = || format!("{} does not begin with https:// or http://", named());
    if !base_url.contains("://") {
        return Err(unfit());
    }
    let url = Url::parse(base_url).map_err(|error| format!("{} is no address: {error}", named()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(unfit());
    }
    Ok(url)
}

/// `path`, which may end in a query of its own, below `base`.
pub(super) fn below(base: &Url, path: &str) -> Url {
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let mut url = base.clone();
    let whole = format!("{}/{path}", url.path().trim_end_matches('/'));
    url.set_path(&whole);
    if let Some(query) = query {
        let whole = url.query().map_or_else(|| query.to_owned(), |old| format!("{old}&{query}"));
        url.set_query(Some(&whole));
    }
    url
}

/// What is no address as messages show it: without what may be a password or a query.
fn bare(base_url: &str) -> &str {
    let whole = base_url.split(['?', '#']).next().unwrap_or_default();
    whole.rsplit('@').next().unwrap_or_default()
}

/// An address as messages show it: without user, password and query.
pub(crate) fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

/// Everything in the settings that may be a key or a password.
pub(super) fn secrets(key: Option<Secret>, url: &Url, headers: &[(String, String)]) -> Vec<Secret> {
    // A key may stand behind a word that says what it is.
    let words = |text: &str| text.split_whitespace().map(Secret::new).collect::<Vec<_>>();
    let mut secrets: Vec<_> = key.iter().flat_map(|key| words(key.expose())).collect();
    secrets.extend(headers.iter().flat_map(|(_, value)| words(value)));
    secrets.extend(url.query_pairs().map(|(_, value)| Secret::new(value)));
    // As they are sent, too, where that differs.
    secrets.extend(url.query().into_iter().flat_map(|query| query.split(['&', '='])).map(Secret::new));
    secrets.extend([Some(url.username()), url.password()].into_iter().flatten().map(Secret::new));
    secrets.retain(|secret| secret.expose().len() >= MIN_SECRET);
    secrets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_put_behind_the_base() {
        let row = |base: &str, url: &str, shown: &str| {
            let found = below(&super::base(base).unwrap(), "chat/completions");
            assert_eq!((found.as_str(), super::shown(&found).as_str()), (url, shown));
        };
        let plain = "https://api.example/v1/chat/completions";
        row("https://api.example/v1", plain, plain);
        row("https://api.example/v1/", plain, plain);
        row(
            "http://127.0.0.1:8080",
            "http://127.0.0.1:8080/chat/completions",
            "http://127.0.0.1:8080/chat/completions",
        );
        row("https://me:pass@api.example/v1?key=k", "https://me:pass@api.example/v1/chat/completions?key=k", plain);
        let both = below(&Url::parse("https://a.example/v1?key=k").unwrap(), "models/m:stream?alt=sse");
        assert_eq!(both.as_str(), "https://a.example/v1/models/m:stream?key=k&alt=sse");
    }

    #[test]
    fn whatever_may_be_a_key_is_a_secret() {
        let url = Url::parse("https://user-token:pass-word@h/v1?key=query%2Fkey&v=1").unwrap();
        let headers = [("authorization".to_owned(), "Basic header-key".to_owned())];
        let found = secrets(Some(Secret::new("the-own-key")), &url, &headers);
        let mut found: Vec<_> = found.iter().map(Secret::expose).collect();
        found.sort_unstable();
        let want = ["header-key", "pass-word", "query%2Fkey", "query/key", "the-own-key", "user-token"];
        assert_eq!(found, want);
        let behind_a_word = secrets(Some(Secret::new("Bearer the-own-key")), &Url::parse("https://h").unwrap(), &[]);
        assert_eq!(behind_a_word.iter().map(Secret::expose).collect::<Vec<_>>(), ["the-own-key"]);
    }
}
