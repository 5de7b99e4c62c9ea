//! Whole sign-ins against scripted servers on this machine.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use haft_vault::{OAuth, Vault};
use reqwest::header::HeaderMap;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::{Asked, Key, LlmError, Sign};

/// The time in all of these tests, in milliseconds since the Unix epoch.
const NOW: u64 = 1_000_000_000;

/// A request that came.
#[derive(Debug, Clone)]
struct Came {
    path: String,
    head: String,
    body: String,
}

impl Came {
    fn form(&self) -> HashMap<String, String> {
        let url = Url::parse(&format!("http://h/?{}", self.body)).unwrap();
        url.query_pairs().into_owned().collect()
    }
}

/// A server that plays answers in turn, the last one for ever.
struct Server {
    url: String,
    came: Arc<Mutex<Vec<Came>>>,
}

impl Server {
    async fn plays(answers: Vec<(u16, Value)>) -> Self {
        Self::says(answers.into_iter().map(|(status, body)| (status, body.to_string())).collect()).await
    }

    /// The same with bodies as they are; one of a redirect is where it points.
    async fn says(answers: Vec<(u16, String)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let came = Arc::new(Mutex::new(Vec::new()));
        let seen = came.clone();
        tokio::spawn(async move {
            let mut next = 0;
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut asked = Vec::new();
                let (head, body) = loop {
                    socket.read_buf(&mut asked).await.unwrap();
                    let text = String::from_utf8_lossy(&asked).into_owned();
                    let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                    let length = head
                        .to_lowercase()
                        .split_once("content-length: ")
                        .map_or(0, |(_, rest)| rest.split("\r\n").next().unwrap().parse().unwrap());
                    if body.len() >= length {
                        break (head.to_owned(), body.to_owned());
                    }
                };
                let path = head.split(' ').nth(1).unwrap().to_owned();
                seen.lock().unwrap().push(Came { path, head, body });
                let (status, body) = &answers[next.min(answers.len() - 1)];
                next += 1;
                let place = if (300..400).contains(status) { format!("location: {body}\r\n") } else { String::new() };
                let answer = format!(
                    "HTTP/1.1 {status} X\r\n{place}content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
                drop(socket.write_all(answer.as_bytes()).await);
            }
        });
        Self { url, came }
    }

    fn came(&self) -> Vec<Came> {
        self.came.lock().unwrap().clone()
    }

    /// A world with this server in the place of all, and the pauses that were made in it, in seconds.
    fn context(&self) -> (Context, Arc<Mutex<Vec<u64>>>) {
        let places = Places::from_variable(Some(&self.url)).unwrap();
        let pauses = Arc::new(Mutex::new(Vec::new()));
        let made = pauses.clone();
        let context = Context::new(places).unwrap().scripted(
            || NOW,
            move |time| {
                made.lock().unwrap().push(time.as_secs());
                Box::pin(tokio::task::yield_now())
            },
        );
        (context, pauses)
    }
}

fn answers(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn oauth(entry: Entry) -> OAuth {
    let Entry::OAuth(tokens) = entry else { panic!("{entry:?}") };
    tokens
}

fn device(more: Value) -> (u16, Value) {
    let mut body = json!({
        "device_code": "device-secret", "user_code": "AB-12", "verification_uri": "https://github.com/login/device",
        "expires_in": 900, "interval": 2
    });
    body.as_object_mut().unwrap().extend(answers(more));
    (200, body)
}

#[test]
fn only_this_machine_takes_the_place_of_servers() {
    for wrong in [
        "x",
        "https://evil.example",
        "http://localhost.evil.example",
        "http://localhost:1",
        "ftp://127.0.0.1",
        "http://127.0.0.1.evil.example",
    ] {
        assert!(Places::from_variable(Some(wrong)).is_err(), "{wrong}");
    }
    let there = |value: Option<&str>| Places::from_variable(value).unwrap().at("https://github.com/login?a=b").unwrap();
    assert_eq!(there(None).as_str(), "https://github.com/login?a=b");
    assert_eq!(there(Some("")).as_str(), "https://github.com/login?a=b");
    assert_eq!(there(Some("http://127.0.0.1:9")).as_str(), "http://127.0.0.1:9/github.com/login?a=b");
    assert_eq!(there(Some("http://[::1]:9")).as_str(), "http://[::1]:9/github.com/login?a=b");
}

#[tokio::test]
async fn github_is_asked_as_often_as_it_says_until_the_code_was_typed() {
    let pending = (200, json!({"error": "authorization_pending"}));
    let slow = (200, json!({"error": "slow_down", "interval": 7}));
    let token = (200, json!({"access_token": "gho_token", "token_type": "bearer", "scope": "read:user"}));
    let server = Server::plays(vec![device(json!({})), pending.clone(), slow, pending, token]).await;
    let (context, pauses) = server.context();
    let started = start(Way::CopilotDevice, &Map::new(), &context).await.unwrap();
    assert_eq!((started.code.as_deref(), started.url.as_str()), (Some("AB-12"), "https://github.com/login/device"));
    assert_eq!(started.lasts, Duration::from_secs(900));
    assert!(!format!("{started:?}").contains("AB-12"));
    let tokens = oauth(started.done.await.unwrap());
    assert_eq!((tokens.access.as_str(), tokens.refresh.as_str(), tokens.expires), ("gho_token", "gho_token", 0));
    assert_eq!(tokens.enterprise_url, None);
    // What it says and a second more; five more from the moment that it wants so.
    assert_eq!(*pauses.lock().unwrap(), [3, 8, 8]);
    let came = server.came();
    assert_eq!(came[0].path, "/github.com/login/device/code");
    assert_eq!(
        (came[0].form()["client_id"].as_str(), came[0].form()["scope"].as_str()),
        ("Ov23li8tweQw6odWQebz", "read:user")
    );
    assert_eq!(came[1].path, "/github.com/login/oauth/access_token");
    assert_eq!(came[1].form()["device_code"], "device-secret");
    assert_eq!(came[1].form()["grant_type"], "urn:ietf:params:oauth:grant-type:device_code");
}

#[tokio::test]
async fn an_enterprise_signs_in_at_its_own_server() {
    let token = (200, json!({"access_token": "t"}));
    let server = Server::plays(vec![device(json!({})), token]).await;
    let (context, _) = server.context();
    let typed = answers(json!({"deploymentType": "enterprise", "enterpriseUrl": "https://Company.ghe.com/"}));
    let started = start(Way::CopilotDevice, &typed, &context).await.unwrap();
    let tokens = oauth(started.done.await.unwrap());
    assert_eq!(tokens.enterprise_url.as_deref(), Some("company.ghe.com"));
    assert_eq!(server.came()[1].path, "/company.ghe.com/login/oauth/access_token");
}

#[tokio::test]
async fn a_code_that_ends_is_said_so() {
    for (answer, want) in [
        (json!({"error": "expired_token"}), "nobody signed in before the code or the page expired; start again"),
        (json!({"error": "access_denied"}), "the sign-in was refused in the browser"),
        (
            json!({"error": "incorrect_device_code", "error_description": "no such device-secret"}),
            "says: no such … (incorrect_device_code)",
        ),
        (json!({"hello": "there"}), "answered with something that is not a token"),
    ] {
        let server = Server::plays(vec![device(json!({})), (200, answer)]).await;
        let (context, _) = server.context();
        let error = start(Way::CopilotDevice, &Map::new(), &context).await.unwrap().done.await.unwrap_err().to_string();
        assert!(error.ends_with(want), "{error}");
    }
    let server =
        Server::plays(vec![device(json!({"expires_in": 0})), (200, json!({"error": "authorization_pending"}))]).await;
    let (context, _) = server.context();
    let error = start(Way::CopilotDevice, &Map::new(), &context).await.unwrap().done.await.unwrap_err();
    assert!(matches!(error, AuthError::Expired), "{error}");
}

#[tokio::test]
async fn a_server_cannot_send_people_anywhere() {
    for more in [
        json!({"verification_uri": "http://evil.example/"}),
        json!({"verification_uri": "file:///etc/passwd"}),
        json!({"verification_uri_complete": "javascript:alert(1)"}),
        json!({"user_code": "\u{1b}[2J"}),
        json!({"user_code": "x".repeat(65)}),
        json!({"user_code": ""}),
    ] {
        let server = Server::plays(vec![device(more.clone())]).await;
        let (context, _) = server.context();
        let error = start(Way::CopilotDevice, &Map::new(), &context).await.unwrap_err();
        assert!(matches!(error, AuthError::Malformed { .. }), "{more}: {error}");
    }
    let server = Server::says(vec![(200, "x".repeat(300 * 1024))]).await;
    let (context, _) = server.context();
    let error = start(Way::CopilotDevice, &Map::new(), &context).await.unwrap_err().to_string();
    assert!(error.contains("at most 256 KiB"), "{error}");
}

fn id_token() -> String {
    format!("e30.{}.sig", BASE64_URL_SAFE_NO_PAD.encode(r#"{"chatgpt_account_id":"account-1"}"#))
}

#[tokio::test]
async fn chatgpts_page_comes_back_with_a_code_that_is_of_use_here_alone() {
    let tokens = json!({"access_token": "a1", "refresh_token": "r1", "id_token": id_token(), "expires_in": 600});
    let server = Server::plays(vec![(200, tokens)]).await;
    let (context, _) = server.context();
    let started = start(Way::ChatGptBrowser, &Map::new(), &context).await.unwrap();
    let url = Url::parse(&started.url).unwrap();
    assert_eq!(url.path(), "/auth.openai.com/oauth/authorize");
    let asked: HashMap<_, _> = url.query_pairs().into_owned().collect();
    assert_eq!((asked["code_challenge_method"].as_str(), asked["response_type"].as_str()), ("S256", "code"));
    assert_eq!(asked["scope"], "openid profile email offline_access");
    assert!(asked["state"].len() >= 16, "{}", asked["state"]);
    let back = asked["redirect_uri"].clone();
    assert!(back.starts_with("http://localhost:") && back.ends_with("/auth/callback"), "{back}");
    let state = asked["state"].clone();
    // The browser, sent there by the vendor's page.
    let knock = back.replace("localhost", "127.0.0.1").replace("/auth", "");
    let port = Url::parse(&knock).unwrap().port().unwrap();
    let visit = tokio::spawn(async move {
        let mut socket = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let head = format!("GET /auth/callback?code=c1&state={state} HTTP/1.1\r\nhost: localhost:{port}\r\n\r\n");
        socket.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.unwrap();
        answer
    });
    let entry = oauth(started.done.await.unwrap());
    assert!(visit.await.unwrap().contains("You are signed in"));
    assert_eq!((entry.access.as_str(), entry.refresh.as_str(), entry.expires), ("a1", "r1", NOW + 600_000));
    assert_eq!(entry.account_id.as_deref(), Some("account-1"));
    let came = server.came();
    let form = came[0].form();
    assert_eq!((came[0].path.as_str(), form["code"].as_str()), ("/auth.openai.com/oauth/token", "c1"));
    assert_eq!(form["redirect_uri"], back);
    // Only who began it knows what the challenge was made from.
    let digest = ring::digest::digest(&ring::digest::SHA256, form["code_verifier"].as_bytes());
    assert_eq!(BASE64_URL_SAFE_NO_PAD.encode(digest), asked["code_challenge"]);
}

#[tokio::test]
async fn chatgpt_takes_a_code_from_any_device() {
    let code = json!({"device_auth_id": "d1", "user_code": "WX-99", "interval": "4"});
    let typed = json!({"authorization_code": "c2", "code_challenge": "x", "code_verifier": "v2"});
    let tokens = json!({"access_token": "a2", "refresh_token": "r2", "token_type": "Bearer"});
    let none = || (403, json!({"error": {"code": "pending"}}));
    let server = Server::plays(vec![(200, code), none(), (404, json!({})), (200, typed), (200, tokens)]).await;
    let (context, pauses) = server.context();
    let started = start(Way::ChatGptDevice, &Map::new(), &context).await.unwrap();
    assert_eq!(
        (started.code.as_deref(), started.url.as_str()),
        (Some("WX-99"), "https://auth.openai.com/codex/device")
    );
    let entry = oauth(started.done.await.unwrap());
    assert_eq!((entry.access.as_str(), entry.expires), ("a2", NOW + 3_600_000));
    assert_eq!(*pauses.lock().unwrap(), [4, 4]);
    let came = server.came();
    assert_eq!(came[0].path, "/auth.openai.com/api/accounts/deviceauth/usercode");
    let asked: Value = serde_json::from_str(&came[1].body).unwrap();
    assert_eq!(asked, json!({"device_auth_id": "d1", "user_code": "WX-99"}));
    assert_eq!((came[4].form()["code"].as_str(), came[4].form()["code_verifier"].as_str()), ("c2", "v2"));
    for (status, answer) in [(404, json!({})), (200, json!({"user_code": "x"})), (200, json!([]))] {
        let server = Server::plays(vec![(status, answer)]).await;
        let (context, _) = server.context();
        start(Way::ChatGptDevice, &Map::new(), &context).await.unwrap_err();
    }
}

/// A request that needs a signature.
async fn signed(sign: &dyn Sign) -> Result<HashMap<String, String>, LlmError> {
    let url = Url::parse("https://chatgpt.com/backend-api/codex/responses").unwrap();
    let headers = sign.sign(Asked { url: &url, headers: &HeaderMap::new(), body: b"{}" }).await?;
    assert!(headers.iter().all(|(_, value)| value.is_sensitive()));
    Ok(headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect())
}

struct Signer {
    folder: tempfile::TempDir,
    sign: Arc<dyn Sign>,
}

impl Signer {
    fn vault(&self) -> Vault {
        Vault::at(self.folder.path().join("auth.json"))
    }
}

fn signer_for(vendor: &str, entry: &Entry, context: &Context) -> Signer {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::at(folder.path().join("auth.json"));
    vault.put(vendor, entry).unwrap();
    let Key::Signed(sign) = credential(vendor, entry, &vault, context).unwrap().unwrap().key else { panic!() };
    Signer { folder, sign }
}

fn tokens(access: &str, expires: u64) -> Entry {
    Entry::OAuth(OAuth {
        access: access.to_owned(),
        refresh: "refresh-1".to_owned(),
        expires,
        account_id: Some("account-1".to_owned()),
        more: answers(json!({"note": "kept"})),
        ..OAuth::default()
    })
}

#[tokio::test]
async fn good_tokens_are_sent_as_they_are() {
    let server = Server::plays(vec![(500, json!({}))]).await;
    let (context, _) = server.context();
    let signer = signer_for("openai", &tokens("a1", NOW + 61_000), &context);
    let headers = signed(&*signer.sign).await.unwrap();
    assert_eq!((headers["authorization"].as_str(), headers["chatgpt-account-id"].as_str()), ("Bearer a1", "account-1"));
    assert!(server.came().is_empty());
    let secrets: Vec<_> = signer.sign.secrets().iter().map(|secret| secret.expose().to_owned()).collect();
    assert_eq!(secrets, ["a1", "refresh-1"]);
    assert!(!format!("{:?}", signer.sign).contains("refresh-1"));
}

#[tokio::test]
async fn tokens_are_replaced_before_they_end_and_kept() {
    let new = json!({"access_token": "a2", "refresh_token": "refresh-2", "expires_in": 3600});
    let server = Server::plays(vec![(200, new)]).await;
    let (context, _) = server.context();
    let signer = signer_for("openai", &tokens("a1", NOW + 60_000), &context);
    for _ in 0..2 {
        assert_eq!(signed(&*signer.sign).await.unwrap()["authorization"], "Bearer a2");
    }
    let form = server.came()[0].form();
    assert_eq!((form["grant_type"].as_str(), form["refresh_token"].as_str()), ("refresh_token", "refresh-1"));
    let kept = oauth(signer.vault().get("openai").unwrap().unwrap());
    assert_eq!((kept.access.as_str(), kept.refresh.as_str(), kept.expires), ("a2", "refresh-2", NOW + 3_600_000));
    assert_eq!((kept.account_id.as_deref(), kept.more["note"].as_str()), (Some("account-1"), Some("kept")));
    assert_eq!(server.came().len(), 1, "once is enough");
}

#[tokio::test]
async fn many_at_once_ask_for_new_tokens_once() {
    let new = json!({"access_token": "a2", "refresh_token": "refresh-2", "expires_in": 3600});
    let server = Server::plays(vec![(200, new)]).await;
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::at(folder.path().join("auth.json"));
    let waits = vault.clone();
    // Who waits for another process waits here until it is done.
    let context = server.context().0.scripted(
        || NOW,
        move |_| {
            let vault = waits.clone();
            Box::pin(async move {
                while vault.hold().unwrap().is_none() {
                    tokio::task::yield_now().await;
                }
            })
        },
    );
    let entry = tokens("a1", 1);
    vault.put("openai", &entry).unwrap();
    // Two that read the same file before, as two processes would.
    let signer = || {
        let made = credential("openai", &entry, &vault, &context).unwrap().unwrap();
        let Key::Signed(sign) = made.key else { panic!() };
        sign
    };
    let (first, other) = (signer(), signer());
    let all = (0..8).map(|n| {
        let sign = if n % 2 == 0 { first.clone() } else { other.clone() };
        async move { signed(&*sign).await.unwrap()["authorization"].clone() }
    });
    assert!(futures::future::join_all(all).await.iter().all(|header| header == "Bearer a2"));
    assert_eq!(server.came().len(), 1, "a token for new tokens is good once");
}

#[tokio::test]
async fn a_request_that_is_given_up_does_not_lose_new_tokens() {
    let new = json!({"access_token": "a2", "refresh_token": "refresh-2", "expires_in": 3600});
    let server = Server::plays(vec![(200, new)]).await;
    let (context, _) = server.context();
    let signer = signer_for("openai", &tokens("a1", 1), &context);
    {
        let request = signed(&*signer.sign);
        tokio::pin!(request);
        // Once is enough to begin.
        assert!(futures::poll!(request.as_mut()).is_pending());
    }
    while oauth(signer.vault().get("openai").unwrap().unwrap()).refresh != "refresh-2" {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_the_vendor_does_not_take_is_replaced_once() {
    let new = json!({"access_token": "a2", "expires_in": 3600});
    let server = Server::plays(vec![(200, new)]).await;
    let (context, _) = server.context();
    let signer = signer_for("openai", &tokens("a1", NOW + 3_600_000), &context);
    assert_eq!(signed(&*signer.sign).await.unwrap()["authorization"], "Bearer a1");
    assert!(signer.sign.refused().await, "it is worth another try");
    assert_eq!(signed(&*signer.sign).await.unwrap()["authorization"], "Bearer a2");
    let kept = oauth(signer.vault().get("openai").unwrap().unwrap());
    assert_eq!(kept.refresh, "refresh-1", "what was not replaced stays");
}

#[tokio::test]
async fn a_failed_renewal_says_what_to_do() {
    let check = async |answer: (u16, Value), want: &str| {
        let server = Server::plays(vec![answer]).await;
        let (context, _) = server.context();
        let signer = signer_for("openai", &tokens("a1", 1), &context);
        let error = signed(&*signer.sign).await.unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(text.contains(want) && !text.contains("refresh-1"), "{text}");
        error
    };
    let refused = (400, json!({"error": "invalid_grant", "error_description": "refresh-1 was used before"}));
    let error = check(refused, "… was used before (invalid_grant); run `haft auth login openai`").await;
    assert!(matches!(error, LlmError::Unauthorized { .. }));
    let error = check((503, json!({})), "trouble of its own").await;
    assert!(matches!(error, LlmError::Server { status: Some(503), .. }), "it may work later");
    check((200, json!({"token": "refresh-1"})), "run `haft auth login openai`").await;
    check((302, json!({})), "run `haft auth login openai`").await;

    let (context, _) = Server::plays(vec![(200, json!({}))]).await.context();
    let signer = signer_for("openai", &tokens("a1", 1), &context);
    signer.vault().remove("openai").unwrap();
    let error = signed(&*signer.sign).await.unwrap_err().to_string();
    assert!(error.contains("you signed out") && error.contains("haft auth login openai"), "{error}");
}

#[tokio::test]
async fn who_has_waited_long_enough_for_another_process_says_so() {
    let server = Server::plays(vec![(200, json!({}))]).await;
    let (context, pauses) = server.context();
    let signer = signer_for("openai", &tokens("a1", 1), &context);
    let vault = signer.vault();
    let _held = vault.hold().unwrap().unwrap();
    let error = signed(&*signer.sign).await.unwrap_err().to_string();
    assert!(error.contains("for a minute"), "{error}");
    assert_eq!(pauses.lock().unwrap().len(), 600);
}

#[tokio::test]
async fn snowflake_is_asked_at_the_account_that_signed_in() {
    let new = json!({"access_token": "a2", "token_type": "Bearer", "expires_in": 600});
    let server = Server::plays(vec![(200, new)]).await;
    let (context, _) = server.context();
    let Entry::OAuth(before) = tokens("a1", 1) else { panic!() };
    let before = Entry::OAuth(OAuth { account_id: Some("org-acc".to_owned()), ..before });
    let signer = signer_for("snowflake-cortex", &before, &context);
    let headers = signed(&*signer.sign).await.unwrap();
    assert_eq!(headers.into_iter().collect::<Vec<_>>(), [("authorization".to_owned(), "Bearer a2".to_owned())]);
    let came = &server.came()[0];
    assert_eq!(came.path, "/org-acc.snowflakecomputing.com/oauth/token-request");
    let basic = BASE64_STANDARD.encode("LOCAL_APPLICATION:LOCAL_APPLICATION");
    assert!(came.head.contains(&format!("Basic {basic}")), "{}", came.head);
    let asked =
        start(Way::SnowflakeBrowser, &answers(json!({"account": "org-acc", "role": "R 1"})), &context).await.unwrap();
    let url = Url::parse(&asked.url).unwrap();
    assert_eq!(url.path(), "/org-acc.snowflakecomputing.com/oauth/authorize");
    assert!(
        url.query_pairs().any(|(name, value)| name == "scope" && value == "refresh_token session:role-encoded:R%201")
    );
    assert!(start(Way::SnowflakeBrowser, &Map::new(), &context).await.is_err());
}

#[tokio::test]
async fn sap_gives_a_token_for_its_service_key() {
    let new = |token: &str| (200, json!({"access_token": token, "token_type": "bearer", "expires_in": 3600}));
    let server = Server::plays(vec![new("t1"), new("t2")]).await;
    let now = Arc::new(AtomicU64::new(NOW));
    let clock = now.clone();
    let (context, _) = server.context();
    let context = context.scripted(move || clock.load(Ordering::Relaxed), |_| Box::pin(async {}));
    let key = json!({
        "clientid": "id|1", "clientsecret": "sap-secret", "url": "https://a.authentication.example",
        "serviceurls": {"AI_API_URL": "https://api.ai.example"}
    });
    // The address of the key's own server is data of the user's; tests name one on this machine.
    let mut key = key;
    key["url"] = server.url.clone().into();
    let Key::Signed(sign) = sap::ServiceKey::parse(&key.to_string()).unwrap().key(context) else { panic!() };
    for _ in 0..2 {
        assert_eq!(signed(&*sign).await.unwrap()["authorization"], "Bearer t1");
    }
    let came = server.came();
    assert_eq!((came.len(), came[0].path.as_str()), (1, "/oauth/token"));
    assert_eq!(came[0].form()["grant_type"], "client_credentials");
    assert!(came[0].head.contains(&BASE64_STANDARD.encode("id%7C1:sap-secret")), "{}", came[0].head);
    now.fetch_add(3_540_000, Ordering::Relaxed);
    assert_eq!(signed(&*sign).await.unwrap()["authorization"], "Bearer t2", "a minute before its end");
    assert!(sign.refused().await);
    assert!(!sign.refused().await, "there is nothing left that could be replaced");
}

#[test]
fn what_is_stored_becomes_a_key() {
    let (context, vault) = (Context::new(Places::default()).unwrap(), Vault::given("{}").unwrap());
    let check = |vendor: &str, entry: Value, want: Result<Option<(&str, Value)>, &str>| {
        let got = credential(vendor, &Entry::from_json(&entry), &vault, &context);
        let got = got.map(|found| {
            found.map(|Credential { key, stored }| {
                let key = match key {
                    Key::Plain(key) => format!("plain {}", key.expose()),
                    Key::Bearer(key) => format!("bearer {}", key.expose()),
                    Key::Header(..) => "header".to_owned(),
                    Key::Signed(_) => "signed".to_owned(),
                };
                (key, Value::Object(stored))
            })
        });
        match (got, want) {
            (Ok(got), Ok(want)) => assert_eq!(got, want.map(|(key, stored)| (key.to_owned(), stored)), "{vendor}"),
            (Err(error), Err(want)) => assert!(error.to_string().contains(want), "{error}"),
            (got, want) => panic!("{vendor}: {got:?}, {want:?}"),
        }
    };
    let api = json!({"type": "api", "key": "k", "metadata": {"accountId": "a"}});
    check("anthropic", api, Ok(Some(("plain k", json!({"accountId": "a", "type": "api"})))));
    check("anthropic", json!({"type": "api", "key": ""}), Ok(None));
    let both = json!({"type": "oauth", "refresh": "r", "access": "a", "expires": 0, "enterpriseUrl": "e.example"});
    check(
        "github-copilot",
        both.clone(),
        Ok(Some(("bearer r", json!({"enterpriseUrl": "e.example", "type": "oauth"})))),
    );
    check("openai", both.clone(), Ok(Some(("signed", json!({"enterpriseUrl": "e.example", "type": "oauth"})))));
    check("poe", both, Ok(Some(("bearer a", json!({"enterpriseUrl": "e.example", "type": "oauth"})))));
    let old = json!({"type": "oauth", "refresh": "r", "access": "a", "expires": 5});
    check("poe", old, Err("haft auth login poe"));
    check("https://org.example", json!({"type": "wellknown", "key": "N", "token": "t"}), Ok(None));
    check("x", json!({"type": "passkey"}), Ok(None));
    let snow = json!({"type": "oauth", "refresh": "r", "access": "a", "expires": 0, "accountId": "org-acc"});
    let want = json!({"accountId": "org-acc", "account": "org-acc", "type": "oauth"});
    check("snowflake-cortex", snow, Ok(Some(("signed", want))));
    let service = json!({
        "clientid": "i", "clientsecret": "s", "url": "https://a.example", "serviceurls": {"AI_API_URL": "https://api.example"}
    });
    let want = json!({"type": "api", "baseURL": "https://api.example"});
    check("sap-ai-core", json!({"type": "api", "key": service.to_string()}), Ok(Some(("signed", want))));
    check("sap-ai-core", json!({"type": "api", "key": "{}"}), Err("no url"));
}

#[tokio::test]
async fn an_organisation_is_asked_at_its_own_server() {
    let said = json!({"auth": {"command": ["login"], "env": "ORG_TOKEN"}, "config": {"model": "a/b"}}).to_string();
    let ask = async |answers: Vec<(u16, String)>| {
        let server = Server::says(answers).await;
        let (context, _) = server.context();
        let url = organisation::address(&format!("{}/team/", server.url)).unwrap();
        (organisation::fetch(&url, &context).await, server)
    };
    let (found, server) = ask(vec![(302, "/there".to_owned()), (200, said.clone())]).await;
    let found = found.unwrap();
    assert_eq!((found.url.as_str(), found.variable.as_str()), (format!("{}/team", server.url).as_str(), "ORG_TOKEN"));
    let paths: Vec<_> = server.came().into_iter().map(|came| came.path).collect();
    assert_eq!(paths, ["/team/.well-known/opencode", "/there"]);

    for (answers, want) in [
        (vec![(302, "http://127.0.0.2:9/there".to_owned())], "points to another server"),
        (vec![(302, "https://evil.example/".to_owned())], "points to another server"),
        (vec![(302, "/again".to_owned())], "only points to itself"),
        (vec![(404, said.clone())], "status 404"),
        (vec![(200, "<html>".to_owned())], "an organisation's"),
        (vec![(200, "{}".to_owned())], "an organisation's"),
    ] {
        let error = ask(answers).await.0.unwrap_err().to_string();
        assert!(error.contains(want), "{error}");
    }
}

#[test]
fn who_will_never_be_reached_for_a_token_is_not_tried_again() {
    let row = |source: Box<dyn std::error::Error + Send + Sync>, want: &str, again: bool| {
        let error = fresh::told("v", AuthError::Unreachable { at: "https://a".to_owned(), source });
        assert_eq!((error.to_string().as_str(), matches!(error, LlmError::Transport { .. })), (want, again));
    };
    row(Box::new(Hopeless("offline".to_owned())), "v at https://a cannot be reached: offline", false);
    row("it broke".into(), "the connection to v at https://a failed", true);
}
