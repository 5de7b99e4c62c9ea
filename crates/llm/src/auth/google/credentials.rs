//! What tokens are got with, in the forms of Google's files. Pure.

use std::path::PathBuf;

use reqwest::Url;
use serde_json::Value;

use super::LIFETIME;
use crate::Secret;
use crate::auth::is_loopback;

/// Where tokens come from unless a file says otherwise.
const TOKEN_URL: &str = "https://oauth2.googleapis.com/token";
const EXCHANGE_URL: &str = "https://sts.googleapis.com/v1/token";

/// Servers for machines of other clouds, which answer without TLS and are on no network beyond the machine.
const LINK_LOCAL: &str = "169.254.169.254";

/// What tokens are got with.
#[derive(Clone)]
pub(super) enum Credentials {
    /// The key of a service account.
    Service(Service),
    /// What `gcloud auth application-default login` keeps of a person.
    Person(Person),
    /// Somebody whom another system vouches for.
    Elsewhere(Box<Elsewhere>),
    /// A service account in whose name others ask.
    Acting(Box<Credentials>, Acting),
    /// The machine itself: the host of its server.
    Machine(String),
}

/// The key of a service account.
#[derive(Clone)]
pub(super) struct Service {
    pub(super) email: String,
    pub(super) key: Secret,
    pub(super) key_id: Option<String>,
    pub(super) token_url: Url,
}

/// A person, by what their sign-in left.
#[derive(Clone)]
pub(super) struct Person {
    pub(super) client_id: String,
    pub(super) client_secret: Secret,
    pub(super) refresh: Secret,
    pub(super) token_url: Url,
    payer: Option<String>,
}

/// Somebody whom another system vouches for: workload and workforce identity.
#[derive(Clone)]
pub(super) struct Elsewhere {
    pub(super) audience: String,
    pub(super) kind: String,
    pub(super) source: Voucher,
    /// The field of it that holds the token, where it is JSON.
    pub(super) field: Option<String>,
    pub(super) token_url: Url,
    /// How the client of the exchange shows who it is.
    pub(super) client: Option<(String, Secret)>,
    /// The project that is billed for people of a company.
    pub(super) user_project: Option<String>,
    payer: Option<String>,
}

/// Where the other system's token is found.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Voucher {
    File(PathBuf),
    Url(Url, Vec<(String, Secret)>),
}

/// The service account in whose name requests are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Acting {
    pub(super) url: Url,
    pub(super) delegates: Vec<String>,
    /// How long its tokens last, in seconds.
    pub(super) lifetime: u64,
}

impl Credentials {
    /// Those of a file.
    ///
    /// # Errors
    ///
    /// What is wrong with them, as the end of a sentence.
    pub(super) fn of(file: &Value) -> Result<Self, String> {
        Self::nested(file, true)
    }

    fn nested(file: &Value, outermost: bool) -> Result<Self, String> {
        let kind = match file["type"].as_str() {
            // Settings leave it out.
            None if file["private_key"].is_string() => "service_account",
            None => return Err("do not say what they are: `type` is missing".to_owned()),
            Some(kind) => kind,
        };
        match kind {
            "service_account" => Ok(Self::Service(Service {
                email: text(file, "client_email")?,
                key: Secret::new(text(file, "private_key")?),
                key_id: file["private_key_id"].as_str().map(str::to_owned),
                token_url: address(file, "token_uri", TOKEN_URL)?,
            })),
            "authorized_user" => Ok(Self::Person(Person {
                client_id: text(file, "client_id")?,
                client_secret: Secret::new(text(file, "client_secret")?),
                refresh: Secret::new(text(file, "refresh_token")?),
                token_url: address(file, "token_uri", TOKEN_URL)?,
                payer: payer(file),
            })),
            "external_account" => elsewhere(file),
            "impersonated_service_account" if outermost => {
                let source = Self::nested(&file["source_credentials"], false)?;
                Ok(Self::Acting(Box::new(source), acting(file)?))
            }
            kind => Err(format!(
                "are of the type {kind:?}, which is not known here; use service_account, authorized_user, \
                 external_account with a file or an address, or impersonated_service_account"
            )),
        }
    }

    /// What must not stand in messages.
    pub(super) fn secrets(&self) -> Vec<Secret> {
        match self {
            Self::Service(Service { key, .. }) => vec![key.clone()],
            Self::Person(Person { client_secret, refresh, .. }) => vec![client_secret.clone(), refresh.clone()],
            Self::Elsewhere(one) => one.client.iter().map(|(_, secret)| secret.clone()).collect(),
            Self::Acting(source, _) => source.secrets(),
            Self::Machine(_) => Vec::new(),
        }
    }

    /// The project that pays for requests, where it is not the one that is asked.
    pub(super) fn payer(&self) -> Option<&str> {
        match self {
            Self::Person(Person { payer, .. }) => payer.as_deref(),
            Self::Elsewhere(one) => one.payer.as_deref(),
            Self::Acting(source, _) => source.payer(),
            Self::Service(_) | Self::Machine(_) => None,
        }
    }
}

fn elsewhere(file: &Value) -> Result<Credentials, String> {
    let source = &file["credential_source"];
    let voucher = match (source["file"].as_str(), source["url"].as_str()) {
        (Some(file), _) => Voucher::File(file.into()),
        (None, Some(url)) => {
            let url = trusted(url, "credential_source.url", true)?;
            let headers = source["headers"].as_object().into_iter().flatten();
            let headers = headers.filter_map(|(name, value)| Some((name.clone(), Secret::new(value.as_str()?))));
            Voucher::Url(url, headers.collect())
        }
        (None, None) => {
            return Err(
                "have a credential_source that is neither a file nor an address; others are not known here".to_owned()
            );
        }
    };
    let field = match source["format"]["type"].as_str() {
        Some("json") => Some(text(&source["format"], "subject_token_field_name")?),
        _ => None,
    };
    let client = file["client_id"].as_str().zip(file["client_secret"].as_str());
    let one = Credentials::Elsewhere(Box::new(Elsewhere {
        audience: text(file, "audience")?,
        kind: text(file, "subject_token_type")?,
        source: voucher,
        field,
        token_url: address(file, "token_url", EXCHANGE_URL)?,
        client: client.map(|(id, secret)| (id.to_owned(), Secret::new(secret))),
        user_project: file["workforce_pool_user_project"].as_str().map(str::to_owned),
        payer: payer(file),
    }));
    Ok(match file["service_account_impersonation_url"].is_string() {
        true => Credentials::Acting(Box::new(one), acting(file)?),
        false => one,
    })
}

fn acting(file: &Value) -> Result<Acting, String> {
    let url = trusted(&text(file, "service_account_impersonation_url")?, "service_account_impersonation_url", false)?;
    let delegates = file["delegates"].as_array().into_iter().flatten();
    let delegates = delegates.filter_map(|one| one.as_str().map(str::to_owned)).collect();
    let lifetime = file["service_account_impersonation"]["token_lifetime_seconds"].as_u64();
    Ok(Acting { url, delegates, lifetime: lifetime.unwrap_or(LIFETIME.as_secs()) })
}

fn payer(file: &Value) -> Option<String> {
    file["quota_project_id"].as_str().map(str::to_owned)
}

fn text(file: &Value, name: &str) -> Result<String, String> {
    match file[name].as_str() {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(format!("have no `{name}`")),
    }
}

fn address(file: &Value, name: &str, usual: &str) -> Result<Url, String> {
    trusted(file[name].as_str().unwrap_or(usual), name, false)
}

/// An address that a secret may be sent to: with TLS, or on this machine.
fn trusted(address: &str, name: &str, link_local: bool) -> Result<Url, String> {
    let url = Url::parse(address).map_err(|error| format!("have a `{name}` that is no address: {error}"))?;
    let here = is_loopback(&url) || link_local && url.host_str() == Some(LINK_LOCAL);
    match url.scheme() {
        "https" => Ok(url),
        "http" if here => Ok(url),
        _ => Err(format!("have a `{name}` that is not safe to ask: it must begin with https://")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wrong(file: Value) -> String {
        Credentials::of(&file).err().unwrap_or_default()
    }

    #[test]
    fn files_say_how_tokens_are_got() {
        let service =
            json!({"type": "service_account", "client_email": "me@p", "private_key": "PEM", "private_key_id": "k1"});
        let Ok(Credentials::Service(one)) = Credentials::of(&service) else { panic!() };
        assert_eq!(
            (one.email.as_str(), one.key_id.as_deref(), one.token_url.as_str()),
            ("me@p", Some("k1"), TOKEN_URL)
        );
        let settings = json!({"client_email": "me@p", "private_key": "PEM"});
        assert!(matches!(Credentials::of(&settings), Ok(Credentials::Service(_))));
        let person = json!({"type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "r", "quota_project_id": "q"});
        let person = Credentials::of(&person).ok().unwrap();
        assert_eq!((person.payer(), person.secrets()), (Some("q"), vec![Secret::new("s"), Secret::new("r")]));
        let elsewhere = json!({
            "type": "external_account", "audience": "//iam", "subject_token_type": "jwt",
            "credential_source": {"url": "http://169.254.169.254/x", "headers": {"Metadata": "True", "odd": 1},
                "format": {"type": "json", "subject_token_field_name": "access_token"}},
            "service_account_impersonation_url": "https://iamcredentials.googleapis.com/v1/x:generateAccessToken",
            "service_account_impersonation": {"token_lifetime_seconds": 600},
        });
        let Ok(Credentials::Acting(source, acting)) = Credentials::of(&elsewhere) else { panic!() };
        assert_eq!(acting.lifetime, 600);
        let Credentials::Elsewhere(one) = *source else { panic!() };
        let url = Url::parse("http://169.254.169.254/x").unwrap();
        assert_eq!(one.source, Voucher::Url(url, vec![("Metadata".to_owned(), Secret::new("True"))]));
        assert_eq!(one.field.as_deref(), Some("access_token"));
        let acting = json!({
            "type": "impersonated_service_account", "delegates": ["d"], "source_credentials": service,
            "service_account_impersonation_url": "https://iamcredentials.googleapis.com/v1/x:generateAccessToken",
        });
        let Ok(Credentials::Acting(source, acting)) = Credentials::of(&acting) else { panic!() };
        assert_eq!((acting.delegates, acting.lifetime), (vec!["d".to_owned()], 3600));
        assert!(matches!(*source, Credentials::Service(_)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert_eq!(wrong(json!({})), "do not say what they are: `type` is missing");
        assert_eq!(wrong(json!("text")), "do not say what they are: `type` is missing");
        assert_eq!(wrong(json!({"type": "service_account", "client_email": ""})), "have no `client_email`");
        assert!(
            wrong(json!({"type": "gdch_service_account"})).starts_with(r#"are of the type "gdch_service_account""#)
        );
        let deep = json!({"type": "impersonated_service_account", "source_credentials": {"type": "impersonated_service_account"}});
        assert!(wrong(deep).starts_with("are of the type"));
        let odd = json!({"type": "external_account", "credential_source": {"environment_id": "aws1"}});
        assert!(wrong(odd).starts_with("have a credential_source that is neither"));
    }

    #[test]
    fn secrets_go_only_where_nobody_listens() {
        let row = |address: &str, link_local: bool, want: bool| {
            assert_eq!(trusted(address, "token_uri", link_local).is_ok(), want, "{address}");
        };
        row("https://oauth2.googleapis.com/token", false, true);
        row("http://127.0.0.1:1/token", false, true);
        row("http://[::1]:1/token", false, true);
        row("http://localhost/token", false, false);
        row("http://127.0.0.1.evil.example/token", false, false);
        row("http://oauth2.googleapis.com/token", false, false);
        row("http://169.254.169.254/x", false, false);
        row("http://169.254.169.254/x", true, true);
        row("file:///etc/passwd", true, false);
        row("no address", false, false);
    }
}
