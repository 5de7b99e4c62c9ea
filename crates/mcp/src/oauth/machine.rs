//! Tokens that need no person: for a program that has credentials of its own, and for a person whose organisation says
//! who they are.
//!
//! The first is the grant `client_credentials`; who we are is proved with a secret, or with a claim that a private key
//! signs (RFC 7523). In the second the organisation's sign-in changes its own token into one for the server's, and that
//! one into an access token (RFC 8693, RFC 7523).
//!
//! None of them can be renewed: when one has run out, or the server refuses it, another one is got the same way.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::http::{Request, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use haft_net::Url;
use haft_vault::{Secret, Signer};
use oauth2::ClientSecret;
use ring::rand::{SecureRandom, SystemRandom};
use rmcp::transport::auth::AuthorizationMetadata;
use rmcp::transport::auth::enterprise::{
    EmaAuthorizationServer, EmaClientAssertion, EmaClientAssertionProvider, EmaClientAuthentication, EmaExchangeRequest,
};
use serde_json::{Map, Value, json};

use super::exchange::Exchange;
use super::sign_in::scopes;
use super::store::{Client, Kept, Tokens, now};
use super::{Account, OAuthError, Store};

/// Longest file of a key or of a token, in bytes.
pub const MAX_SECRET_FILE: u64 = 64 * 1024;
/// How long before its end a token is no longer shown, in seconds; of a short life, half of it.
const MARGIN: u64 = 60;
/// How long a signed claim holds, in seconds.
const CLAIM: u64 = 300;
/// What such a claim is, in a request.
const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// How tokens are got.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Grant {
    /// A person signs in on a page.
    #[default]
    Person,
    /// The program has credentials of its own.
    Client,
    /// The person's organisation says who they are.
    Organisation(Organisation),
}

/// Who signs people in at the person's organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Organisation {
    /// Its name: the address under which it describes itself.
    pub issuer: String,
    /// Where it gives tokens; what it says itself, if left out.
    pub token_url: Option<String>,
    /// Who we are there.
    pub client_id: String,
    /// The proof of it.
    pub client_secret: Option<Secret>,
    /// The file with the token that says who the person is. Another program keeps it fresh.
    pub id_token_file: PathBuf,
}

/// What is kept of `account`, with tokens that hold now: those that are there, or new ones. Of several that want new
/// ones at once, in whatever process, one gets them.
///
/// # Errors
///
/// When nobody gives any.
pub(super) async fn current(store: &Store, account: &Account) -> Result<Kept, OAuthError> {
    let there = |kept: &Kept| kept.tokens.as_ref().is_some_and(|tokens| holds(tokens, now()));
    let kept = store.get(&account.name, &account.url)?.unwrap_or_default();
    if there(&kept) {
        return Ok(kept);
    }
    let holding = store.clone();
    let held = tokio::task::spawn_blocking(move || holding.hold()).await;
    let _held = held.map_err(|error| no_token(account, error.to_string()))??;
    let kept = store.get(&account.name, &account.url)?.unwrap_or_default();
    if there(&kept) {
        return Ok(kept);
    }
    let kept = fetched(store, account, kept).await?;
    store.put(&account.name, &kept)?;
    Ok(kept)
}

/// Forgets the tokens of `account`, which the server refuses, and remembers what it wants.
///
/// # Errors
///
/// When the store cannot be written.
pub(super) fn refused(store: &Store, account: &Account, challenge: Option<&str>) -> Result<(), OAuthError> {
    let kept = store.get(&account.name, &account.url)?.unwrap_or_default();
    let challenge = challenge.map(str::to_owned).or_else(|| kept.challenge.clone());
    store.put(&account.name, &Kept { url: account.url.clone(), tokens: None, challenge, ..kept })
}

/// Whether `tokens` can be shown at `now`.
fn holds(tokens: &Tokens, now: u64) -> bool {
    tokens.expires.is_none_or(|expires| expires > now)
}

fn no_token(account: &Account, why: impl Into<String>) -> OAuthError {
    OAuthError::NoToken { name: account.name.clone(), why: why.into() }
}

async fn fetched(store: &Store, account: &Account, kept: Kept) -> Result<Kept, OAuthError> {
    let setting = |key: &str| no_token(account, format!("mcp.{}.oauth.{key} is missing", account.name));
    let id = account.client_id.as_deref().ok_or_else(|| setting("clientId"))?;
    let (mut manager, exchange) = super::manager(store, account).await?;
    let challenge = kept.challenge.as_deref();
    let found = super::discover(&manager, &exchange, account, challenge).await;
    let found = found.map_err(|error| no_token(account, haft_tool::with_causes(&error)))?;
    manager.set_metadata(found.metadata.clone());
    let scopes = scopes(&manager, account, Some(&kept), challenge).await;
    let server = found.metadata;
    let tokens = match &account.grant {
        Grant::Person => return Err(no_token(account, "a person signs in there")),
        Grant::Client => client(account, id, &server, &scopes, &exchange).await?,
        Grant::Organisation(organisation) => {
            by_organisation(account, id, organisation, &server, &scopes, &exchange).await?
        }
    };
    let client = Some(Client { id: id.to_owned(), secret: None, secret_expires: None });
    Ok(Kept { url: account.url.clone(), tokens: Some(tokens), client, issuer: server.issuer, challenge: None })
}

/// How we prove to a server who we are.
enum Proof {
    Secret(String),
    Key(Arc<Signer>),
    Nothing,
}

fn proof(account: &Account) -> Result<Proof, OAuthError> {
    match (&account.key_file, &account.client_secret) {
        (Some(path), _) => {
            let wrong = |why: String| no_token(account, format!("the key in {} {why}", path.display()));
            let signer = Signer::of(&read(path).map_err(&wrong)?).map_err(|why| wrong(why.to_string()))?;
            Ok(Proof::Key(Arc::new(signer)))
        }
        (None, Some(secret)) => Ok(Proof::Secret(secret.expose().to_owned())),
        (None, None) => Ok(Proof::Nothing),
    }
}

/// The text of a file with a secret.
fn read(path: &Path) -> Result<String, String> {
    let length = std::fs::metadata(path).map_err(|error| format!("cannot be read: {error}"))?.len();
    if length > MAX_SECRET_FILE {
        return Err(format!("has more than {MAX_SECRET_FILE} bytes"));
    }
    std::fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"))
}

/// Whether a server takes a secret in the body of a request only.
fn wants_post(server: &AuthorizationMetadata) -> bool {
    let methods = server.additional_fields.get("token_endpoint_auth_methods_supported").and_then(Value::as_array);
    let knows = |word: &str| methods.is_some_and(|all| all.iter().any(|one| one == word));
    knows("client_secret_post") && !knows("client_secret_basic")
}

/// The claim that we are `id`, for the server called `audience`, at the time `now`.
fn claim(signer: &Signer, id: &str, audience: &str, now: u64) -> Result<String, String> {
    let mut chance = [0; 16];
    SystemRandom::new().fill(&mut chance).map_err(|_| "the system has no random numbers to give".to_owned())?;
    let once: String = chance.iter().map(|byte| format!("{byte:02x}")).collect();
    let claims = json!({"iss": id, "sub": id, "aud": audience, "iat": now, "exp": now + CLAIM, "jti": once});
    let head: Map<String, Value> = [("typ".to_owned(), "JWT".into())].into_iter().collect();
    signer.token(head, &claims).map_err(|why| format!("its key {why}"))
}

/// Tokens for the program itself.
async fn client(
    account: &Account,
    id: &str,
    server: &AuthorizationMetadata,
    scopes: &[String],
    exchange: &Exchange,
) -> Result<Tokens, OAuthError> {
    let endpoint = endpoint(account, &server.token_endpoint)?;
    let mut form = vec![("grant_type", "client_credentials".to_owned()), ("resource", account.url.clone())];
    if !scopes.is_empty() {
        form.push(("scope", scopes.join(" ")));
    }
    let mut authorization = None;
    match proof(account)? {
        Proof::Key(signer) => {
            let audience = server.issuer.as_deref().unwrap_or(endpoint.as_str());
            let claim = claim(&signer, id, audience, now()).map_err(|why| no_token(account, why))?;
            form.extend([("client_assertion_type", ASSERTION.to_owned()), ("client_assertion", claim)]);
        }
        Proof::Secret(secret) if wants_post(server) => {
            form.extend([("client_id", id.to_owned()), ("client_secret", secret)]);
        }
        Proof::Secret(secret) => authorization = Some(basic(id, &secret)),
        Proof::Nothing => {
            let name = &account.name;
            let why =
                format!("mcp.{name}.oauth.clientSecret and privateKeyFile are missing; one of them proves who we are");
            return Err(no_token(account, why));
        }
    }
    let answer = ask(exchange, &endpoint, &form, authorization.as_deref()).await;
    answer.and_then(|answer| tokens(&answer, scopes, now())).map_err(|why| no_token(account, why))
}

/// Tokens for the person, whom their organisation knows.
async fn by_organisation(
    account: &Account,
    id: &str,
    organisation: &Organisation,
    server: &AuthorizationMetadata,
    scopes: &[String],
    exchange: &Exchange,
) -> Result<Tokens, OAuthError> {
    let wrong = |why: String| no_token(account, why);
    let path = &organisation.id_token_file;
    let said = read(path).map_err(|why| wrong(format!("the token in {} {why}", path.display())))?;
    let issuer = server.issuer.clone().ok_or_else(|| wrong("who gives its tokens has no name".to_owned()))?;
    let there = match &organisation.token_url {
        Some(url) => url.clone(),
        None => described(exchange, &organisation.issuer).await.map_err(&wrong)?,
    };
    let secret = |secret: String, post: bool| match post {
        true => EmaClientAuthentication::ClientSecretPost(ClientSecret::new(secret)),
        false => EmaClientAuthentication::ClientSecretBasic(ClientSecret::new(secret)),
    };
    let proved = match proof(account)? {
        Proof::Secret(text) => secret(text, wants_post(server)),
        Proof::Key(signer) => EmaClientAuthentication::JwtAssertion(Arc::new(Claims(signer))),
        Proof::Nothing => EmaClientAuthentication::None,
    };
    let ours = EmaAuthorizationServer::new(&organisation.issuer, there, &organisation.client_id);
    let ours = match &organisation.client_secret {
        Some(text) => ours.with_client_authentication(secret(text.expose().to_owned(), false)),
        None => ours,
    };
    let theirs = EmaAuthorizationServer::new(issuer, &server.token_endpoint, id).with_client_authentication(proved);
    let request = EmaExchangeRequest::new_with_id_token(ours, theirs, &account.url, said.trim());
    let got = request.with_scopes(scopes.iter().cloned()).exchange(exchange, exchange).await;
    let got = got.map_err(|error| wrong(error.to_string()))?;
    let mut scopes: Vec<String> = got.scopes.into_iter().collect();
    scopes.sort();
    Ok(Tokens {
        access: got.access_token.secret().clone(),
        refresh: None,
        expires: got.expires_in.map(|left| ends(now(), left.as_secs())),
        scope: Some(scopes.join(" ")).filter(|scope| !scope.is_empty()),
    })
}

/// A key, as the library wants it.
struct Claims(Arc<Signer>);

#[async_trait::async_trait]
impl EmaClientAssertionProvider for Claims {
    async fn create_assertion(
        &self,
        server: &EmaAuthorizationServer,
    ) -> Result<EmaClientAssertion, Box<dyn std::error::Error + Send + Sync>> {
        Ok(EmaClientAssertion::new(claim(&self.0, &server.client_id, &server.issuer, now())?))
    }
}

/// Where the one called `issuer` gives tokens, as it describes itself.
async fn described(exchange: &Exchange, issuer: &str) -> Result<String, String> {
    let at = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
    let request = Request::get(&at).header(header::ACCEPT, "application/json").body(Vec::new());
    let request = request.map_err(|error| format!("{at} is no address: {error}"))?;
    let answer = exchange.send(request).await;
    let answer = answer.map_err(|error| format!("{at} does not answer: {error}"))?;
    let said: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
    // Whoever calls itself by another name was not meant.
    if said["issuer"].as_str().map(|one| one.trim_end_matches('/')) != Some(issuer.trim_end_matches('/')) {
        return Err(format!("{at} does not describe {issuer}; set oauth.idp.tokenUrl"));
    }
    let there = said["token_endpoint"].as_str().map(str::to_owned);
    there.ok_or_else(|| format!("{at} does not say where tokens are given; set oauth.idp.tokenUrl"))
}

/// Where tokens are given: nobody on the way may read what is shown there.
fn endpoint(account: &Account, text: &str) -> Result<Url, OAuthError> {
    let url = Url::parse(text).map_err(|error| no_token(account, format!("{text} is no address: {error}")))?;
    let here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    match url.scheme() == "https" || url.scheme() == "http" && here {
        true => Ok(url),
        false => Err(no_token(account, format!("tokens are given at {text}, which is not encrypted"))),
    }
}

/// `Basic`, with both words written as in a form first (RFC 6749, 2.3.1).
fn basic(id: &str, secret: &str) -> String {
    let word = |word: &str| -> String { form(&[("", word.to_owned())]).split_off(1) };
    format!("Basic {}", STANDARD.encode(format!("{}:{}", word(id), word(secret))))
}

fn form(fields: &[(&str, String)]) -> String {
    let Ok(mut url) = Url::parse("http://localhost") else { return String::new() };
    url.query_pairs_mut().extend_pairs(fields);
    url.query().unwrap_or_default().to_owned()
}

/// What the server at `endpoint` answers.
async fn ask(
    exchange: &Exchange,
    endpoint: &Url,
    fields: &[(&str, String)],
    authorization: Option<&str>,
) -> Result<Value, String> {
    let mut request = Request::post(endpoint.as_str())
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::ACCEPT, "application/json");
    if let Some(authorization) = authorization {
        request = request.header(header::AUTHORIZATION, authorization);
    }
    let request = request.body(form(fields).into_bytes()).map_err(|error| error.to_string())?;
    let answer = exchange.send(request).await;
    let answer = answer.map_err(|error| format!("{endpoint} does not answer: {error}"))?;
    let said: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
    if answer.status().is_success() {
        return Ok(said);
    }
    // It may repeat what it was shown.
    let shown = |text: &str| fields.iter().any(|(_, value)| value.len() > 7 && text.contains(value.as_str()));
    let word = |key: &str| said[key].as_str().filter(|text| !shown(text)).map(crate::client::naming::line);
    let why = match (word("error"), word("error_description")) {
        (Some(error), Some(why)) => format!(": {why} ({error})"),
        (Some(error), None) => format!(": {error}"),
        (None, _) => String::new(),
    };
    let why: String = why.chars().take(300).collect();
    Err(format!("{endpoint} answered {}{why}", answer.status().as_u16()))
}

/// Until when a token is shown that is given at `now` and lives for `left` seconds.
fn ends(now: u64, left: u64) -> u64 {
    now.saturating_add(left - MARGIN.min(left / 2))
}

/// The tokens of an answer at `now` to a wish for `scopes`.
fn tokens(answer: &Value, scopes: &[String], now: u64) -> Result<Tokens, String> {
    let access = answer["access_token"].as_str().filter(|token| !token.is_empty());
    let access = access.ok_or("the answer has no access_token")?.to_owned();
    let kind = answer["token_type"].as_str().unwrap_or("Bearer");
    if !kind.eq_ignore_ascii_case("bearer") {
        return Err(format!("the token is a {}, not a Bearer", crate::client::naming::line(kind)));
    }
    let expires = answer["expires_in"].as_u64().map(|left| ends(now, left));
    let given = answer["scope"].as_str().map(str::to_owned);
    let scope = given.or_else(|| Some(scopes.join(" "))).filter(|scope| !scope.is_empty());
    Ok(Tokens { access, refresh: None, expires, scope })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_written_as_in_a_form_before_they_are_put_together() {
        assert_eq!(basic("me", "a b:c/é"), format!("Basic {}", STANDARD.encode("me:a+b%3Ac%2F%C3%A9")));
        let fields = [("grant_type", "client_credentials".to_owned()), ("scope", "a b".to_owned())];
        assert_eq!(form(&fields), "grant_type=client_credentials&scope=a+b");
    }

    #[test]
    fn a_token_is_one_that_can_be_shown() {
        let row = |answer: Value, want: Result<(&str, Option<u64>, Option<&str>), &str>| {
            let got = tokens(&answer, &["a".to_owned(), "b".to_owned()], 1000);
            let got = got.as_ref().map(|got| (got.access.as_str(), got.expires, got.scope.as_deref()));
            assert_eq!(got.map_err(String::as_str), want, "{answer}");
        };
        row(
            json!({"access_token": "t", "token_type": "bearer", "expires_in": 3600}),
            Ok(("t", Some(4540), Some("a b"))),
        );
        row(json!({"access_token": "t", "scope": "a"}), Ok(("t", None, Some("a"))));
        row(json!({"access_token": "t", "expires_in": 30}), Ok(("t", Some(1015), Some("a b"))));
        row(json!({"access_token": ""}), Err("the answer has no access_token"));
        row(json!({"access_token": "t", "token_type": "DPoP"}), Err("the token is a DPoP, not a Bearer"));
    }

    #[test]
    fn secrets_go_only_where_nobody_reads_along() {
        let account = Account { name: "s".to_owned(), ..Account::default() };
        for fine in ["https://a.example/token", "http://localhost:1/token", "http://127.0.0.1/t", "http://[::1]:9/t"] {
            assert!(endpoint(&account, fine).is_ok(), "{fine}");
        }
        for wrong in ["http://a.example/token", "ftp://localhost/t", "nonsense", "http://localhost.evil.example/"] {
            assert!(endpoint(&account, wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_secret_is_sent_as_the_server_wants_it() {
        let row = |methods: Value, want: bool| {
            let mut server = AuthorizationMetadata::default();
            server.additional_fields.insert("token_endpoint_auth_methods_supported".to_owned(), methods.clone());
            assert_eq!(wants_post(&server), want, "{methods}");
        };
        row(json!(["client_secret_post"]), true);
        row(json!(["client_secret_post", "client_secret_basic"]), false);
        row(json!(["client_secret_basic"]), false);
        row(json!("nonsense"), false);
        assert!(!wants_post(&AuthorizationMetadata::default()));
    }
}
