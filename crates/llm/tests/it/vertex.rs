//! Vertex AI over HTTP: tokens from a scripted server, and what is asked with them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use expect_test::expect;
use futures::StreamExt;
use haft_llm::auth::google::{Google, Lookup, Metadata};
use haft_llm::dialect::gemini::Gemini;
use haft_llm::dialect::messages::Messages;
use haft_llm::{Asked, Chunk, Content, Key, LlmError, Message, Place, Provider, Request, Sign};
use reqwest::Url;
use reqwest::header::HeaderMap;
use ring::rsa::KeyPair;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::server::Server;

/// Made for these tests, and good for nothing else.
const KEY: &str = include_str!("../../src/auth/google/testdata/service.pem");

const HI: &str =
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hi.\"}]},\"finishReason\":\"STOP\"}]}\r\n\r\n";

fn answer(status: &str, kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn token(access: &str, lifetime: u64) -> String {
    let body = json!({"access_token": access, "expires_in": lifetime, "token_type": "Bearer"}).to_string();
    answer("200 OK", "application/json", &body)
}

fn hi() -> String {
    answer("200 OK", "text/event-stream", HI)
}

/// Answers one request after the other and says what was asked.
async fn serve(server: &Server, answers: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut asked = Vec::new();
    for answer in answers {
        let mut connection = server.accept().await;
        asked.push(connection.request().await);
        connection.send(answer.as_bytes()).await;
    }
    asked
}

/// A folder with one file of credentials in it.
fn file(credentials: &Value) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key.json");
    std::fs::write(&path, credentials.to_string()).unwrap();
    (folder, path)
}

fn google(path: &Path) -> Google {
    Google::new(
        "google-vertex",
        Lookup { named: Some(path.to_owned()), metadata: Metadata::Never, ..Lookup::default() },
    )
}

/// The headers that a request is signed with.
async fn sign(google: &Google) -> Result<String, LlmError> {
    let url = Url::parse("https://example.invalid").unwrap();
    let made = google.sign(Asked { url: &url, headers: &HeaderMap::new(), body: b"" }).await?;
    Ok(made.iter().map(|(name, value)| format!("{name}: {}\n", value.to_str().unwrap())).collect())
}

fn form(asked: &str) -> Vec<(String, String)> {
    let body = asked.split_once("\r\n\r\n").unwrap().1;
    let url = Url::parse(&format!("form:?{body}")).unwrap();
    url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

fn person(server: &Server) -> Value {
    json!({
        "type": "authorized_user", "client_id": "client-1", "client_secret": "very-secret-client",
        "refresh_token": "very-secret-refresh", "quota_project_id": "payer-1",
        "token_uri": format!("{}/token", server.url()),
    })
}

fn request(model: &str) -> Request {
    let messages = vec![Message::User { content: vec![Content::text("Hello?")] }.into()];
    Request { model: model.to_owned(), messages: messages.into(), ..Request::default() }
}

#[tokio::test]
async fn a_service_account_signs_for_a_token_that_lasts() {
    let server = Server::start().await;
    let (_folder, path) = file(&json!({
        "type": "service_account", "client_email": "me@p.iam.gserviceaccount.com", "private_key": KEY,
        "private_key_id": "k1", "token_uri": format!("{}/token", server.url()),
    }));
    let key = Some(Key::Signed(Arc::new(google(&path))));
    let base_url = format!("{}/projects/p/locations/global/publishers/google", server.url());
    let provider = "google-vertex".to_owned();
    let asking = haft_llm::Server { provider, base_url, key, ..haft_llm::Server::default() };
    let gemini = Gemini::at(&asking, Place::Vertex).unwrap();
    let both = async {
        for _ in 0..2 {
            let all: Vec<Result<Chunk, LlmError>> = gemini.stream(request("gemini-2.5-pro")).collect().await;
            assert!(all.iter().all(Result::is_ok), "{all:?}");
        }
    };
    let answers = [token("very-secret-access", 3600), hi(), hi()];
    let (asked, ()) = tokio::join!(serve(&server, answers), both);

    assert!(asked[0].starts_with("POST /v1/token HTTP/1.1\r\n"), "{}", asked[0]);
    let form = form(&asked[0]);
    assert_eq!(form[0], ("grant_type".to_owned(), "urn:ietf:params:oauth:grant-type:jwt-bearer".to_owned()));
    let (said, signature) = form[1].1.rsplit_once('.').unwrap();
    let der = pem(KEY);
    let public = KeyPair::from_pkcs8(&der).unwrap().public().as_ref().to_vec();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public).verify(said.as_bytes(), &signature).unwrap();
    let claim = URL_SAFE_NO_PAD.decode(said.split_once('.').unwrap().1).unwrap();
    let claim: Value = serde_json::from_slice(&claim).unwrap();
    assert_eq!(claim["aud"], format!("{}/token", server.url()));
    assert_eq!(claim["exp"].as_u64().unwrap() - claim["iat"].as_u64().unwrap(), 3600);

    for asked in &asked[1..] {
        let line = asked.lines().next().unwrap();
        let path =
            "/v1/projects/p/locations/global/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse";
        assert_eq!(line, format!("POST {path} HTTP/1.1"));
        assert!(asked.contains("\r\nauthorization: Bearer very-secret-access\r\n"), "{asked}");
        assert!(!asked.contains("x-goog"), "{asked}");
    }
}

fn pem(text: &str) -> Vec<u8> {
    let lines: String = text.lines().filter(|line| !line.starts_with("-----")).collect();
    base64::engine::general_purpose::STANDARD.decode(lines).unwrap()
}

#[tokio::test]
async fn a_person_is_known_by_what_their_sign_in_left() {
    let server = Server::start().await;
    let (_folder, path) = file(&person(&server));
    let google = google(&path);
    let (asked, headers) = tokio::join!(serve(&server, [token("very-secret-access", 3600)]), sign(&google));
    assert_eq!(headers.unwrap(), "authorization: Bearer very-secret-access\nx-goog-user-project: payer-1\n");
    let form: String = form(&asked[0]).iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    expect![[r#"
        grant_type=refresh_token
        client_id=client-1
        client_secret=very-secret-client
        refresh_token=very-secret-refresh
    "#]]
    .assert_eq(&form);
    let text = format!("{google:?} {:?}", google.secrets());
    assert!(!text.contains("very-secret"), "{text}");
    assert_eq!(google.secrets().len(), 3);
}

#[tokio::test]
async fn many_requests_wait_for_one_token() {
    let server = Server::start().await;
    let (_folder, path) = file(&person(&server));
    let google = google(&path);
    let all = futures::future::join_all((0..8).map(|_| sign(&google)));
    let (_, all) = tokio::join!(serve(&server, [token("one", 3600)]), all);
    for headers in all {
        assert!(headers.unwrap().contains("Bearer one\n"));
    }
}

#[tokio::test]
async fn a_token_is_replaced_before_its_end_and_when_it_was_refused() {
    let server = Server::start().await;
    let (_folder, path) = file(&person(&server));
    let google = google(&path);
    let signs = async {
        let mut all = String::new();
        assert!(!google.refused().await, "there was none");
        for refused in [false, false, true, false] {
            all.push_str(sign(&google).await.unwrap().lines().next().unwrap());
            all.push('\n');
            if refused {
                assert!(google.refused().await);
            }
        }
        all
    };
    // The first lasts for less than the minute that a request is given.
    let answers = [token("short", 59), token("long", 3600), token("next", 3600)];
    let (_, all) = tokio::join!(serve(&server, answers), signs);
    expect![[r#"
        authorization: Bearer short
        authorization: Bearer long
        authorization: Bearer long
        authorization: Bearer next
    "#]]
    .assert_eq(&all);
}

#[tokio::test]
async fn a_request_is_sent_once_more_with_a_new_token() {
    let server = Server::start().await;
    let (_folder, path) = file(&person(&server));
    let key = Some(Key::Signed(Arc::new(google(&path))));
    let (provider, base_url) = ("google-vertex".to_owned(), format!("{}/publishers/google", server.url()));
    let asking = haft_llm::Server { provider, base_url, key, ..haft_llm::Server::default() };
    let gemini = Gemini::at(&asking, Place::Vertex).unwrap();
    let refused = || {
        let body = r#"{"error":{"code":401,"message":"revoked: very-secret-access","status":"UNAUTHENTICATED"}}"#;
        answer("401 Unauthorized", "application/json", body)
    };
    let answers = [token("very-secret-access", 3600), refused(), token("next", 3600), hi()];
    let stream = gemini.stream(request("gemini-2.5-pro"));
    let (asked, all) = tokio::join!(serve(&server, answers), stream.collect::<Vec<_>>());
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    assert!(asked[3].contains("\r\nauthorization: Bearer next\r\n"), "{}", asked[3]);
    // Once, and no more.
    let answers = [refused(), token("very-secret-access", 3600), refused()];
    let stream = gemini.stream(request("gemini-2.5-pro"));
    let (_, all) = tokio::join!(serve(&server, answers), stream.collect::<Vec<_>>());
    let [Err(error)] = &all[..] else { panic!("{all:?}") };
    assert_eq!(error.to_string(), "google-vertex rejected the credentials (status 401): revoked: …");
}

#[tokio::test]
async fn somebody_from_elsewhere_exchanges_their_token_and_acts_for_an_account() {
    let server = Server::start().await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token"), r#"{"value": "very-secret-subject"}"#).unwrap();
    let (_folder, path) = file(&json!({
        "type": "external_account", "audience": "//iam.googleapis.com/x",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": format!("{}/sts", server.url()),
        "credential_source": {"file": folder.path().join("token"), "format": {"type": "json", "subject_token_field_name": "value"}},
        "service_account_impersonation_url": format!("{}/acting:generateAccessToken", server.url()),
    }));
    let google = google(&path);
    let acting =
        answer("200 OK", "application/json", r#"{"accessToken":"acting","expireTime":"2030-01-01T00:00:00Z"}"#);
    let answers = [token("between", 3600), acting];
    let (asked, headers) = tokio::join!(serve(&server, answers), sign(&google));
    assert_eq!(headers.unwrap(), "authorization: Bearer acting\n");
    let form: String = form(&asked[0]).iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    expect![[r#"
        grant_type=urn:ietf:params:oauth:grant-type:token-exchange
        audience=//iam.googleapis.com/x
        scope=https://www.googleapis.com/auth/cloud-platform
        requested_token_type=urn:ietf:params:oauth:token-type:access_token
        subject_token=very-secret-subject
        subject_token_type=urn:ietf:params:oauth:token-type:jwt
    "#]]
    .assert_eq(&form);
    assert!(asked[1].starts_with("POST /v1/acting:generateAccessToken HTTP/1.1\r\n"));
    assert!(asked[1].contains("\r\nauthorization: Bearer between\r\n"));
    let body: Value = serde_json::from_str(asked[1].split_once("\r\n\r\n").unwrap().1).unwrap();
    let scope = "https://www.googleapis.com/auth/cloud-platform";
    assert_eq!(body, json!({"scope": [scope], "lifetime": "3600s", "delegates": []}));
}

#[tokio::test]
async fn a_machine_of_the_cloud_is_asked_for_its_token() {
    let server = Server::start().await;
    let host = server.url().trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    let machine = || Google::new("google-vertex", Lookup { metadata: Metadata::At(host.clone()), ..Lookup::default() });
    let flavored = token("machine", 3600).replace("connection: close", "connection: close\r\nMetadata-Flavor: Google");
    let google = machine();
    let (asked, headers) = tokio::join!(serve(&server, [flavored]), sign(&google));
    assert_eq!(headers.unwrap(), "authorization: Bearer machine\n");
    let line = asked[0].lines().next().unwrap();
    assert_eq!(line, "GET /computeMetadata/v1/instance/service-accounts/default/token HTTP/1.1");
    assert!(asked[0].contains("\r\nmetadata-flavor: Google\r\n"), "{}", asked[0]);
    // Anybody can sit behind a name; a server of the cloud says what it is.
    let google = machine();
    let (_, error) = tokio::join!(serve(&server, [token("anybody", 3600)]), sign(&google));
    assert!(error.unwrap_err().to_string().ends_with("is no server of Google's cloud"));
}

#[tokio::test]
async fn a_token_that_cannot_be_had_is_told_with_what_to_do() {
    let server = Server::start().await;
    let (_folder, path) = file(&person(&server));
    let google = google(&path);
    let refused = r#"{"error":"invalid_grant","error_description":"very-secret-refresh was revoked"}"#;
    let refused = answer("400 Bad Request", "application/json", refused);
    let (_, error) = tokio::join!(serve(&server, [refused]), sign(&google));
    let error = error.unwrap_err();
    let want = format!(
        "google-vertex rejected the credentials (status 400): {}/token says invalid_grant: … was revoked; \
         run `gcloud auth application-default login` again, or get a new key file",
        server.url()
    );
    assert_eq!(error.to_string(), want);
    assert!(!error.is_passing());

    let trouble = answer("503 Service Unavailable", "text/html", "<html><title>Down</title>");
    let (_, error) = tokio::join!(serve(&server, [trouble]), sign(&google));
    assert!(error.unwrap_err().is_passing());
    let odd = answer("200 OK", "application/json", r#"{"token_type":"Bearer"}"#);
    let (_, error) = tokio::join!(serve(&server, [odd]), sign(&google));
    assert!(error.unwrap_err().to_string().ends_with("/token answered without a token"));
    let long = answer("200 OK", "application/json", &"x".repeat(256 * 1024 + 1));
    let (_, error) = tokio::join!(serve(&server, [long]), sign(&google));
    assert!(error.unwrap_err().to_string().ends_with("answered with more than 256 KiB"));
    // Nothing of that is kept.
    let (_, headers) = tokio::join!(serve(&server, [token("good", 3600)]), sign(&google));
    assert!(headers.unwrap().contains("Bearer good"));
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    let server = Server::start().await;
    let (_folder, path) = file(&person(&server));
    let google = google(&path);
    let silent = async {
        let mut connection = server.accept().await;
        connection.request().await;
        tokio::time::pause();
        tokio::time::advance(std::time::Duration::from_secs(31)).await;
        connection
    };
    let (_connection, error) = tokio::join!(silent, sign(&google));
    let error = error.unwrap_err();
    assert!(error.is_passing(), "{error}");
    let LlmError::Transport { address, source, .. } = error else { panic!("{error:?}") };
    assert_eq!(address, format!("{}/token", server.url()));
    assert_eq!(source.to_string(), "it did not answer in 30 seconds");
}

#[tokio::test]
async fn files_that_are_no_credentials_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key.json");
    let error = |lookup: Lookup| async move { sign(&Google::new("v", lookup)).await.unwrap_err().to_string() };
    let named = || Lookup { named: Some(path.clone()), metadata: Metadata::Never, ..Lookup::default() };
    let before = format!("v rejected the credentials: the credentials in {} ", path.display());
    assert_eq!(error(named()).await, format!("{before}are not there; GOOGLE_APPLICATION_CREDENTIALS names them"));
    std::fs::write(&path, "no json").unwrap();
    assert_eq!(error(named()).await, format!("{before}are no JSON"));
    std::fs::write(&path, "x".repeat(256 * 1024 + 1)).unwrap();
    assert_eq!(error(named()).await, format!("{before}are longer than 256 KiB"));
    std::fs::write(&path, r#"{"type":"service_account"}"#).unwrap();
    assert_eq!(error(named()).await, format!("{before}have no `client_email`"));
    let usual = Lookup { usual: Some(folder.path().join("none")), metadata: Metadata::Never, ..Lookup::default() };
    expect![[r#"v rejected the credentials: there are no Google credentials; run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account"#]]
        .assert_eq(&error(usual).await);
}

#[tokio::test]
async fn claude_is_asked_by_its_name_in_the_address() {
    let server = Server::start().await;
    let (_folder, path) = file(&person(&server));
    let key = Some(Key::Signed(Arc::new(google(&path))));
    let base_url = format!("{}/projects/p/locations/global/publishers/anthropic", server.url());
    let asking = haft_llm::Server { provider: "v".to_owned(), base_url, key, ..haft_llm::Server::default() };
    let stream = Messages::at(&asking, Place::Vertex).unwrap().stream(request("claude-sonnet-4-5@20250929"));
    let body = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n\
        event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let answers = [token("access", 3600), answer("200 OK", "text/event-stream", body)];
    let (asked, all) = tokio::join!(serve(&server, answers), stream.collect::<Vec<_>>());
    assert!(matches!(&all[..], [Ok(Chunk::Finish(_))]), "{all:?}");
    let (head, body) = asked[1].split_once("\r\n\r\n").unwrap();
    let path =
        "/v1/projects/p/locations/global/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict";
    assert_eq!(head.lines().next().unwrap(), format!("POST {path} HTTP/1.1"));
    assert!(head.contains("\r\nanthropic-beta: interleaved-thinking-2025-05-14\r\n"), "{head}");
    assert!(!head.contains("anthropic-version"), "{head}");
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!((&body["anthropic_version"], &body["model"]), (&json!("vertex-2023-10-16"), &Value::Null));
}
