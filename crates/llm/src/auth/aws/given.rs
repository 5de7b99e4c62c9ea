//! Keys that a container or a machine of Amazon's is given by a server beside it.

use std::path::PathBuf;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};

use super::fetch::{Distance, ask};
use super::keys::Written;
use super::sources::Environment;
use super::{Failure, Keys, files};
use crate::auth::is_loopback;
use crate::failure::excerpt;

/// The server of containers, for those that are told a path alone.
const CONTAINERS: &str = "http://169.254.170.2";

/// The servers of machines, in the two forms of addresses.
const MACHINES: [&str; 2] = ["http://169.254.169.254", "http://[fd00:ec2::254]"];

/// How long a machine's pass lasts, in seconds: long enough for the three questions.
const PASS: HeaderValue = HeaderValue::from_static("300");

/// What a container is told of its keys.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Container {
    pub(super) url: String,
    pub(super) pass: Pass,
}

/// What lets a container in.
#[derive(PartialEq, Eq)]
pub(super) enum Pass {
    Nothing,
    Text(String),
    File(PathBuf),
}

impl std::fmt::Debug for Pass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Pass::Nothing => "Nothing",
            Pass::Text(_) => "Text",
            Pass::File(_) => "File",
        })
    }
}

impl Container {
    /// What the environment says, if it says something.
    pub(super) fn of(env: &Environment) -> Option<Self> {
        let relative = env.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").map(|path| format!("{CONTAINERS}{path}"));
        let url = relative.or_else(|| env.get("AWS_CONTAINER_CREDENTIALS_FULL_URI").map(str::to_owned))?;
        let file = env.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE").map(|path| Pass::File(path.into()));
        let text = || env.get("AWS_CONTAINER_AUTHORIZATION_TOKEN").map(|text| Pass::Text(text.to_owned()));
        Some(Self { url, pass: file.or_else(text).unwrap_or(Pass::Nothing) })
    }
}

/// Whether a server may be told a container's pass: over TLS any, else this machine and Amazon's two.
fn may_be_asked(url: &Url) -> bool {
    const OURS: [&str; 3] = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"];
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    url.scheme() == "https" || is_loopback(url) || url.scheme() == "http" && OURS.contains(&host)
}

/// The keys of a container.
pub(super) async fn to_container(container: &Container) -> Result<Keys, Failure> {
    let Container { url, pass } = container;
    let wrong = |what: &str| Failure::wrong(format!("the container's keys cannot be asked for: {what}"));
    let url = Url::parse(url).ok().filter(may_be_asked);
    let url =
        url.ok_or_else(|| wrong("AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor an address of this machine"))?;
    let pass = match pass {
        Pass::Nothing => None,
        Pass::Text(text) => Some(text.clone()),
        Pass::File(path) => {
            let (path, shown) = (path.clone(), path.display().to_string());
            let read = tokio::task::spawn_blocking(move || files::small(&path)).await;
            let read = read.map_err(|error| Failure::Passing(error.to_string()))??;
            Some(read.ok_or_else(|| wrong(&format!("there is no token at {shown}")))?)
        }
    };
    let mut headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
    if let Some(pass) = pass {
        let mut value = HeaderValue::from_str(pass.trim()).map_err(|_| wrong("its token cannot be sent"))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    let distance = if url.scheme() == "https" { Distance::Far } else { Distance::Near };
    written("the container", ask(Method::GET, &url, headers, Vec::new(), distance).await?)
}

/// The keys of this machine. [`Failure::Passing`] where nobody answers: it is none of Amazon's.
pub(super) async fn to_machine(env: &Environment) -> Result<Keys, Failure> {
    let six = env.get("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE").is_some_and(|mode| mode.eq_ignore_ascii_case("ipv6"));
    let base = env.get("AWS_EC2_METADATA_SERVICE_ENDPOINT").unwrap_or(MACHINES[usize::from(six)]);
    let base = base.trim_end_matches('/');
    let get = |path: &str| {
        let url = format!("{base}/latest/{path}");
        Url::parse(&url).map_err(|error| {
            Failure::wrong(format!("{base:?} of AWS_EC2_METADATA_SERVICE_ENDPOINT is no address: {error}"))
        })
    };
    let lasts = HeaderMap::from_iter([(HeaderName::from_static("x-aws-ec2-metadata-token-ttl-seconds"), PASS)]);
    let url = get("api/token")?;
    let pass = match ask(Method::PUT, &url, lasts, Vec::new(), Distance::Near).await? {
        (200, pass) => pass,
        // Something else lives there.
        (status, _) => return Err(Failure::Passing(format!("the machine gives no pass (status {status})"))),
    };
    let value = HeaderValue::from_str(pass.trim());
    let mut value = value.map_err(|_| Failure::Passing("the machine's pass cannot be sent".to_owned()))?;
    value.set_sensitive(true);
    let pass = HeaderMap::from_iter([(HeaderName::from_static("x-aws-ec2-metadata-token"), value)]);
    let roles = "meta-data/iam/security-credentials/";
    let role = match ask(Method::GET, &get(roles)?, pass.clone(), Vec::new(), Distance::Near).await? {
        (200, names) => names.lines().next().unwrap_or_default().trim().to_owned(),
        (404, _) => String::new(),
        (status, _) => return Err(Failure::Passing(format!("the machine does not name its role (status {status})"))),
    };
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "+=,.@_-".contains(letter);
    if role.is_empty() || !role.chars().all(is_name) {
        return Err(Failure::wrong(
            "this machine of Amazon's has no role, and so no keys; give it one, or set AWS_PROFILE",
        ));
    }
    let url = get(&format!("{roles}{role}"))?;
    written("the machine", ask(Method::GET, &url, pass, Vec::new(), Distance::Near).await?)
}

fn written(whose: &str, (status, body): (u16, String)) -> Result<Keys, Failure> {
    if status != 200 {
        let text = format!("the keys of {whose} were not given (status {status}): {}", excerpt(&body));
        return Err(if status >= 500 || status == 429 { Failure::Passing(text) } else { Failure::Wrong(text) });
    }
    let keys = serde_json::from_str::<Written>(&body).ok().and_then(Written::keys);
    keys.ok_or_else(|| Failure::wrong(format!("the answer about the keys of {whose} holds none")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_is_shown_to_few() {
        let row = |url: &str, want: bool| assert_eq!(may_be_asked(&Url::parse(url).unwrap()), want, "{url}");
        row("http://169.254.170.2/v2/credentials/x", true);
        row("http://169.254.170.23/v1/credentials", true);
        row("http://[fd00:ec2::23]/v1/credentials", true);
        row("http://127.0.0.1:8080/x", true);
        row("http://[::1]/x", true);
        row("https://keys.example/x", true);
        row("http://keys.example/x", false);
        row("http://169.254.170.3/x", false);
        row("http://127.0.0.1.evil.net/x", false);
        row("http://localhost/x", false);
        row("ftp://127.0.0.1/x", false);
    }

    #[test]
    fn a_container_is_known_by_its_environment() {
        let row = |pairs: &[(&str, &str)], want: Option<Container>| {
            let env = Environment::of(&|name| {
                pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            });
            assert_eq!(Container::of(&env), want);
        };
        let full = ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "https://a.example/x");
        let token = ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "t");
        row(&[token], None);
        row(&[full], Some(Container { url: full.1.to_owned(), pass: Pass::Nothing }));
        row(&[full, token], Some(Container { url: full.1.to_owned(), pass: Pass::Text("t".to_owned()) }));
        let (relative, file) =
            (("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x"), ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/t"));
        let want = Container { url: "http://169.254.170.2/v2/x".to_owned(), pass: Pass::File("/t".into()) };
        row(&[full, relative, token, file], Some(want));
    }
}
