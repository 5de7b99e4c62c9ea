//! Asking Google's servers for tokens: one bounded question, one bounded answer.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE};
use reqwest::{RequestBuilder, Url};
use serde_json::{Value, json};

use super::credentials::{Acting, Credentials, Elsewhere, Voucher};
use super::{LIFETIME, SCOPE, Token, jwt, read};
use crate::auth::shown;
use crate::failure::{Told, excerpt, hide};
use crate::{LlmError, Secret};

/// Longest that a server may take for a whole answer.
const DEADLINE: Duration = Duration::from_secs(30);

/// Longest answer, in bytes.
const MAX_ANSWER: usize = 256 * 1024;

/// What tells somebody whose sign-in no longer holds.
const AGAIN: &str = "run `gcloud auth application-default login` again, or get a new key file";

/// The header that shows a machine's server that it is not asked by a page, and us that it is one.
const FLAVOR: (&str, &str) = ("metadata-flavor", "Google");

/// Asks for tokens.
pub(super) struct Teller<'a> {
    provider: &'a str,
    client: reqwest::Client,
    secrets: Vec<Secret>,
}

impl<'a> Teller<'a> {
    /// Asks in the name of `provider`. Nothing of `secrets` is told.
    pub(super) fn new(provider: &'a str, secrets: Vec<Secret>) -> Result<Self, LlmError> {
        let client = haft_net::client(haft_net::Options::default()).map_err(|error| LlmError::Unauthorized {
            provider: provider.to_owned(),
            status: None,
            message: error.to_string(),
        })?;
        Ok(Self { provider, client, secrets })
    }

    /// A new token.
    pub(super) async fn token(&self, credentials: &Credentials) -> Result<Token, LlmError> {
        match credentials {
            Credentials::Acting(source, acting) => {
                let token = self.plain(source).await?;
                self.act(acting, &token).await
            }
            other => self.plain(other).await,
        }
    }

    /// A new token for credentials that act for nobody else.
    async fn plain(&self, credentials: &Credentials) -> Result<Token, LlmError> {
        match credentials {
            Credentials::Service(service) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
                let claim = jwt::assertion(service, now).map_err(|why| self.wrong(format!("the credentials {why}")))?;
                let form = [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", &claim)];
                self.form(&service.token_url, &form, None).await
            }
            Credentials::Person(person) => {
                let form = [
                    ("grant_type", "refresh_token"),
                    ("client_id", &person.client_id),
                    ("client_secret", person.client_secret.expose()),
                    ("refresh_token", person.refresh.expose()),
                ];
                self.form(&person.token_url, &form, None).await
            }
            Credentials::Elsewhere(one) => self.exchange(one).await,
            Credentials::Machine(host) => {
                let url = format!("http://{host}/computeMetadata/v1/instance/service-accounts/default/token");
                let url = Url::parse(&url).map_err(|error| self.wrong(format!("{host} is no host: {error}")))?;
                let asked = self.client.get(url.clone()).header(FLAVOR.0, FLAVOR.1);
                let answer = self.send(&url, asked).await?;
                if !answer.flavored {
                    return Err(self.wrong(format!("{host} is no server of Google's cloud")));
                }
                self.granted(&url, &answer.body)
            }
            // A file cannot hold one within the other.
            Credentials::Acting(..) => Err(self.wrong("the credentials act for others twice".to_owned())),
        }
    }

    /// A token of Google's for one of another system.
    async fn exchange(&self, one: &Elsewhere) -> Result<Token, LlmError> {
        let subject = self.subject(one).await?;
        let mut form = vec![
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("audience", &*one.audience),
            ("scope", SCOPE),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ("subject_token", subject.expose()),
            ("subject_token_type", &*one.kind),
        ];
        let project = one.user_project.as_ref().filter(|_| one.client.is_none());
        let options = project.map(|project| json!({"userProject": project}).to_string());
        form.extend(options.iter().map(|options| ("options", options.as_str())));
        let client = one
            .client
            .as_ref()
            .map(|(id, secret)| format!("Basic {}", STANDARD.encode(format!("{id}:{}", secret.expose()))));
        let hiding = Self { provider: self.provider, client: self.client.clone(), secrets: vec![subject.clone()] };
        hiding.form(&one.token_url, &form, client).await
    }

    /// The token of the other system.
    async fn subject(&self, one: &Elsewhere) -> Result<Secret, LlmError> {
        let (text, at) = match &one.source {
            Voucher::File(path) => {
                let at = path.display().to_string();
                let text = read(path.clone()).await.map_err(|why| self.wrong(format!("the token in {at} {why}")))?;
                (text.ok_or_else(|| self.wrong(format!("there is no token in {at}, which the credentials name")))?, at)
            }
            Voucher::Url(url, headers) => {
                let asked = self.client.get(url.clone());
                let asked = headers.iter().fold(asked, |asked, (name, value)| asked.header(name, value.expose()));
                (self.send(url, asked).await?.body, shown(url))
            }
        };
        let token = match &one.field {
            None => Some(text.trim().to_owned()),
            Some(field) => {
                let value: Value = serde_json::from_str(&text).unwrap_or_default();
                value[field].as_str().map(str::to_owned)
            }
        };
        token
            .filter(|token| !token.is_empty())
            .map(Secret::new)
            .ok_or_else(|| self.wrong(format!("{at} has no token in it")))
    }

    /// A token of the service account that `token` may act for.
    async fn act(&self, acting: &Acting, token: &Token) -> Result<Token, LlmError> {
        let Acting { url, delegates, lifetime } = acting;
        let body = json!({"scope": [SCOPE], "lifetime": format!("{lifetime}s"), "delegates": delegates});
        let asked = self.client.post(url.clone()).header(CONTENT_TYPE, "application/json");
        let asked = asked.header(AUTHORIZATION, format!("Bearer {}", token.access.expose())).body(body.to_string());
        let hiding = Self { provider: self.provider, client: self.client.clone(), secrets: vec![token.access.clone()] };
        let answer = hiding.send(url, asked).await?;
        let value: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        let access = value["accessToken"].as_str().filter(|access| !access.is_empty());
        // The end comes as a date; it is the one that was asked for.
        access.map(|access| Token::new(access, Duration::from_secs(*lifetime))).ok_or_else(|| self.tokenless(url))
    }

    async fn form(&self, url: &Url, fields: &[(&str, &str)], client: Option<String>) -> Result<Token, LlmError> {
        let mut form = url.clone();
        form.set_query(None);
        form.query_pairs_mut().extend_pairs(fields);
        let asked = self.client.post(url.clone()).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let asked = client.into_iter().fold(asked, |asked, client| asked.header(AUTHORIZATION, client));
        let answer = self.send(url, asked.body(form.query().unwrap_or_default().to_owned())).await?;
        self.granted(url, &answer.body)
    }

    fn granted(&self, url: &Url, body: &str) -> Result<Token, LlmError> {
        let value: Value = serde_json::from_str(body).unwrap_or_default();
        let access = value["access_token"].as_str().filter(|access| !access.is_empty());
        let access = access.ok_or_else(|| self.tokenless(url))?;
        let seconds = &value["expires_in"];
        let seconds = seconds.as_u64().or_else(|| seconds.as_str()?.parse().ok());
        Ok(Token::new(access, seconds.map_or(LIFETIME, Duration::from_secs)))
    }

    fn tokenless(&self, url: &Url) -> LlmError {
        self.wrong(format!("{} answered without a token", shown(url)))
    }

    /// Sends one question and reads the whole answer.
    async fn send(&self, url: &Url, asked: RequestBuilder) -> Result<Said, LlmError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| LlmError::Transport {
            provider: self.provider.to_owned(),
            address: shown(url),
            source,
        };
        let ask = async {
            let mut answer = asked.send().await?;
            let body = haft_net::body(&mut answer, MAX_ANSWER).await?;
            let flavored = answer.headers().get(FLAVOR.0).is_some_and(|flavor| flavor == FLAVOR.1);
            Ok::<_, reqwest::Error>((answer.status(), flavored, body))
        };
        let late = |_| failed("it did not answer in 30 seconds".into());
        let came = tokio::time::timeout(DEADLINE, ask).await.map_err(late)?;
        let (status, flavored, body) = came.map_err(|error| failed(error.without_url().into()))?;
        let long = || self.wrong(format!("{} answered with more than 256 KiB", shown(url)));
        let body = body.ok_or_else(long)?;
        let body = String::from_utf8_lossy(&body).into_owned();
        match status.as_u16() {
            200..=299 => Ok(Said { flavored, body }),
            408 | 429 | 500.. => {
                let (provider, status) = (self.provider, Some(status.as_u16()));
                Err(Told { provider, model: "", status, after: None, body: &body, secrets: &self.secrets }.classify())
            }
            status => Err(LlmError::Unauthorized {
                provider: self.provider.to_owned(),
                status: Some(status),
                message: format!("{} says {}; {AGAIN}", shown(url), self.reason(&body)),
            }),
        }
    }

    /// Why a server says no.
    fn reason(&self, body: &str) -> String {
        let value: Value = serde_json::from_str(body).unwrap_or_default();
        let words = [&value["error"], &value["error_description"], &value["error"]["message"]];
        let words: Vec<&str> = words.into_iter().filter_map(Value::as_str).collect();
        match &words[..] {
            [] => "no".to_owned(),
            words => excerpt(&hide(&words.join(": "), &self.secrets)),
        }
    }

    fn wrong(&self, message: String) -> LlmError {
        LlmError::Unauthorized { provider: self.provider.to_owned(), status: None, message }
    }
}

/// The answer of a server.
struct Said {
    /// It says that it is one of Google's cloud.
    flavored: bool,
    body: String,
}
