//! Each place that gives keys, played by a server on this machine.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

use reqwest::Url;
use reqwest::header::HeaderMap;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;

/// When these tests are: 2023-11-14T22:13:20Z.
const NOW: u64 = 1_700_000_000;

/// Gives `answers`, each to one connection, and says what was asked.
struct Server {
    url: String,
    asked: JoinHandle<Vec<String>>,
}

impl Server {
    async fn start(answers: Vec<(u16, String)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = tokio::spawn(async move {
            let mut all = Vec::new();
            for (status, body) in answers {
                let (mut socket, _) = listener.accept().await.unwrap();
                let mut asked = Vec::new();
                loop {
                    let text = String::from_utf8_lossy(&asked).into_owned();
                    if let Some((head, body)) = text.split_once("\r\n\r\n") {
                        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                        if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                            all.push(text);
                            break;
                        }
                    }
                    assert_ne!(socket.read_buf(&mut asked).await.unwrap(), 0);
                }
                let head =
                    format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
                socket.write_all((head + &body).as_bytes()).await.unwrap();
            }
            all
        });
        Self { url, asked }
    }

    async fn asked(self) -> Vec<String> {
        self.asked.await.unwrap()
    }
}

/// A home with the two files, and an environment.
struct Home {
    folder: TempDir,
    pairs: Vec<(&'static str, String)>,
    clock: Arc<AtomicU64>,
}

impl Home {
    fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(".aws/sso/cache")).unwrap();
        let path = folder.path().join(".aws/config");
        haft_vault::own::replace(&path, config.as_bytes()).unwrap();
        let home = folder.path().to_str().unwrap().to_owned();
        let pairs = vec![("HOME", home), ("AWS_EC2_METADATA_DISABLED", "true".to_owned())];
        Self { folder, pairs, clock: Arc::new(AtomicU64::new(NOW)) }
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.pairs.retain(|(known, _)| *known != name);
        self.pairs.push((name, value.into()));
        self
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn aws(&self) -> Aws {
        let env = |name: &str| self.pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone());
        let settings = Settings {
            provider: "v".to_owned(),
            service: "bedrock",
            region: "us-east-1".to_owned(),
            keys: None,
            profile: None,
            env: Environment::of(&env),
        };
        let clock = self.clock.clone();
        Aws::at(settings, Arc::new(move || UNIX_EPOCH + Duration::from_secs(clock.load(Ordering::SeqCst))))
    }

    fn later(&self, seconds: u64) {
        self.clock.fetch_add(seconds, Ordering::SeqCst);
    }
}

/// The key that a request is signed with, or why it is not.
async fn signs(aws: &Aws) -> Result<String, String> {
    let url = Url::parse("https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse-stream").unwrap();
    let made = aws.sign(Asked { url: &url, headers: &HeaderMap::new(), body: b"{}" }).await;
    let made = made.map_err(|error| error.to_string())?;
    let get = |name: &str| made.iter().find(|(made, _)| made == name).map(|(_, value)| value.to_str().unwrap());
    let id = get("authorization").unwrap().split(['=', '/']).nth(1).unwrap();
    Ok(format!("{id} {}", get("x-amz-security-token").unwrap_or("-")))
}

/// Keys as servers of machines give them, which last an hour.
fn given(id: &str) -> (u16, String) {
    let keys = format!(
        r#"{{"AccessKeyId":"{id}","SecretAccessKey":"very-secret","Token":"token-{id}","Expiration":"2023-11-14T23:13:20Z"}}"#
    );
    (200, keys)
}

/// Keys as the token service gives them, which last an hour.
fn assumed(id: &str) -> (u16, String) {
    let keys = format!(
        "<AccessKeyId>{id}</AccessKeyId><SecretAccessKey>very-secret</SecretAccessKey>\
         <SessionToken>token-{id}</SessionToken><Expiration>2023-11-14T23:13:20Z</Expiration>"
    );
    (200, keys)
}

const KEYS: &str = "[profile keys]\naws_access_key_id = AK\naws_secret_access_key = SK\n";

fn head(asked: &str) -> &str {
    asked.lines().next().unwrap()
}

fn body(asked: &str) -> &str {
    asked.split_once("\r\n\r\n").unwrap().1
}

fn has(asked: &str, header: &str) -> bool {
    asked.lines().any(|line| line.starts_with(header))
}

#[tokio::test]
async fn keys_of_the_environment_sign() {
    let home = Home::new("").with("AWS_ACCESS_KEY_ID", "AK").with("AWS_SECRET_ACCESS_KEY", "SK");
    assert_eq!(signs(&home.aws()).await, Ok("AK -".to_owned()));
    let home = home.with("AWS_SESSION_TOKEN", "ST");
    let aws = home.aws();
    assert_eq!(signs(&aws).await, Ok("AK ST".to_owned()));
    assert!(!aws.refused().await, "nothing else will be given");
}

#[tokio::test]
async fn a_profile_is_read_when_it_is_needed() {
    let home = Home::new(KEYS).with("AWS_PROFILE", "keys");
    let aws = home.aws();
    assert_eq!(signs(&aws).await, Ok("AK -".to_owned()));
    assert!(!aws.refused().await, "the file says the same");
    std::fs::write(home.path(".aws/config"), KEYS.replace("AK", "NEW")).unwrap();
    assert_eq!(signs(&aws).await, Ok("AK -".to_owned()));
    assert!(aws.refused().await, "the file was written anew");
    assert_eq!(signs(&aws).await, Ok("NEW -".to_owned()));
}

#[tokio::test]
async fn a_role_is_taken_with_other_keys_and_kept_until_its_end() {
    let server = Server::start(vec![assumed("ROLE1"), assumed("ROLE2")]).await;
    let config =
        format!("{KEYS}[profile role]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = keys\nregion = eu-west-1\n");
    let home = Home::new(&config).with("AWS_PROFILE", "role").with("AWS_ENDPOINT_URL_STS", &server.url);
    let aws = home.aws();
    assert_eq!(signs(&aws).await, Ok("ROLE1 token-ROLE1".to_owned()));
    home.later(3000);
    assert_eq!(signs(&aws).await, Ok("ROLE1 token-ROLE1".to_owned()));
    // Two minutes before the end.
    home.later(500);
    assert_eq!(signs(&aws).await, Ok("ROLE2 token-ROLE2".to_owned()));
    let secrets: Vec<_> = aws.secrets().iter().map(|secret| secret.expose().to_owned()).collect();
    for secret in ["very-secret", "token-ROLE1", "token-ROLE2"] {
        assert!(secrets.iter().any(|known| known == secret), "{secret}");
    }
    let asked = server.asked().await;
    assert_eq!(head(&asked[0]), "POST / HTTP/1.1");
    assert!(has(&asked[0], "authorization: AWS4-HMAC-SHA256 Credential=AK/20231114/eu-west-1/sts/aws4_request"));
    assert_eq!(
        body(&asked[0]),
        "Action=AssumeRole&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fx&RoleSessionName=haft-1700000000&Version=2011-06-15"
    );
}

#[tokio::test]
async fn many_requests_at_once_ask_for_keys_once() {
    let server = Server::start(vec![assumed("ROLE")]).await;
    let config = format!("{KEYS}[profile role]\nrole_arn = r\nsource_profile = keys\n");
    let home = Home::new(&config).with("AWS_PROFILE", "role").with("AWS_ENDPOINT_URL_STS", &server.url);
    let aws = home.aws();
    let all = futures::future::join_all((0..8).map(|_| signs(&aws))).await;
    assert!(all.iter().all(|one| *one == Ok("ROLE token-ROLE".to_owned())));
    assert_eq!(server.asked().await.len(), 1);
}

#[tokio::test]
async fn a_refusal_is_worth_a_try_with_other_keys() {
    let server = Server::start(vec![assumed("ONE"), assumed("TWO"), assumed("TWO")]).await;
    let config = format!("{KEYS}[profile role]\nrole_arn = r\nsource_profile = keys\n");
    let home = Home::new(&config).with("AWS_PROFILE", "role").with("AWS_ENDPOINT_URL_STS", &server.url);
    let aws = home.aws();
    assert!(!aws.refused().await, "nothing was given yet");
    assert_eq!(signs(&aws).await, Ok("ONE token-ONE".to_owned()));
    assert!(aws.refused().await);
    assert_eq!(signs(&aws).await, Ok("TWO token-TWO".to_owned()));
    assert!(!aws.refused().await, "the same was given");
    assert_eq!(server.asked().await.len(), 3);
}

#[tokio::test]
async fn a_token_in_a_file_takes_a_role() {
    let server = Server::start(vec![assumed("WEB")]).await;
    let home = Home::new("").with("AWS_ENDPOINT_URL_STS", &server.url).with("AWS_ROLE_ARN", "arn:role");
    std::fs::write(home.path("token"), "header.body.sig\n").unwrap();
    let path = home.path("token").to_str().unwrap().to_owned();
    let home = home.with("AWS_WEB_IDENTITY_TOKEN_FILE", path).with("AWS_ROLE_SESSION_NAME", "me");
    assert_eq!(signs(&home.aws()).await, Ok("WEB token-WEB".to_owned()));
    let asked = server.asked().await;
    assert!(!has(&asked[0], "authorization"), "there is nothing to sign with");
    assert_eq!(
        body(&asked[0]),
        "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Arole&RoleSessionName=me&WebIdentityToken=header.body.sig&Version=2011-06-15"
    );
}

#[tokio::test]
async fn a_token_that_is_not_there_is_named() {
    let home = Home::new("").with("AWS_ROLE_ARN", "arn:role").with("AWS_WEB_IDENTITY_TOKEN_FILE", "/nowhere/token");
    let error = signs(&home.aws()).await.unwrap_err();
    assert_eq!(error, "v rejected the credentials: there is no token at /nowhere/token for the role arn:role");
}

const SSO: &str = "[profile sso]\nsso_session = corp\nsso_account_id = 123\nsso_role_name = dev\n\
                   [sso-session corp]\nsso_start_url = https://start.example\nsso_region = eu-west-1\n";

/// Where Amazon's programs keep the token of the session `corp`: the SHA-1 of the name.
const KEPT: &str = ".aws/sso/cache/ee0bfd2552fbd840c02cc48b6e823320543c450f.json";

fn signed_in(home: &Home, ends: &str, more: &str) {
    let kept =
        format!(r#"{{"startUrl":"https://start.example","accessToken":"sso-token","expiresAt":"{ends}"{more}}}"#);
    haft_vault::own::replace(&home.path(KEPT), kept.as_bytes()).unwrap();
}

fn portal(id: &str) -> (u16, String) {
    let ends = (NOW + 3600) * 1000;
    let keys = format!(
        r#"{{"roleCredentials":{{"accessKeyId":"{id}","secretAccessKey":"very-secret","sessionToken":"token-{id}","expiration":{ends}}}}}"#
    );
    (200, keys)
}

#[tokio::test]
async fn who_signed_in_with_amazons_program_has_keys() {
    let server = Server::start(vec![portal("SSO")]).await;
    let home = Home::new(SSO).with("AWS_PROFILE", "sso").with("AWS_ENDPOINT_URL_SSO", &server.url);
    signed_in(&home, "2023-11-15T00:00:00Z", "");
    assert_eq!(signs(&home.aws()).await, Ok("SSO token-SSO".to_owned()));
    let asked = server.asked().await;
    assert_eq!(head(&asked[0]), "GET /federation/credentials?role_name=dev&account_id=123 HTTP/1.1");
    assert!(has(&asked[0], "x-amz-sso_bearer_token: sso-token"));
}

#[tokio::test]
async fn a_sign_in_that_ended_is_told() {
    let home = Home::new(SSO).with("AWS_PROFILE", "sso");
    let want = "v rejected the credentials: nobody is signed in to the profile sso; run `aws sso login --profile sso`";
    assert_eq!(signs(&home.aws()).await, Err(want.to_owned()));
    signed_in(&home, "2023-11-14T22:00:00Z", "");
    assert_eq!(signs(&home.aws()).await, Err(want.to_owned()));
    std::fs::write(home.path(KEPT), "no json").unwrap();
    assert_eq!(signs(&home.aws()).await, Err(want.to_owned()));
}

#[tokio::test]
async fn a_sign_in_is_renewed_and_kept_for_amazons_programs() {
    let fresh = (200, r#"{"accessToken":"new-token","expiresIn":3600,"refreshToken":"new-refresh"}"#.to_owned());
    let server = Server::start(vec![fresh, portal("SSO")]).await;
    let home = Home::new(SSO).with("AWS_PROFILE", "sso").with("AWS_ENDPOINT_URL", &server.url);
    signed_in(
        &home,
        "2023-11-14T22:00:00Z",
        r#","clientId":"ci","clientSecret":"cs","refreshToken":"old-refresh","region":"x""#,
    );
    assert_eq!(signs(&home.aws()).await, Ok("SSO token-SSO".to_owned()));
    let asked = server.asked().await;
    assert_eq!(head(&asked[0]), "POST /token HTTP/1.1");
    assert_eq!(
        body(&asked[0]),
        r#"{"clientId":"ci","clientSecret":"cs","grantType":"refresh_token","refreshToken":"old-refresh"}"#
    );
    assert!(has(&asked[1], "x-amz-sso_bearer_token: new-token"));
    let kept: serde_json::Value = serde_json::from_slice(&std::fs::read(home.path(KEPT)).unwrap()).unwrap();
    let text = |key: &str| kept[key].as_str().unwrap().to_owned();
    assert_eq!(
        [text("accessToken"), text("refreshToken"), text("expiresAt")],
        ["new-token", "new-refresh", "2023-11-14T23:13:20Z"]
    );
    assert_eq!(text("region"), "x", "what is not understood is kept");
}

#[tokio::test]
async fn a_container_is_given_keys() {
    let server = Server::start(vec![given("BOX")]).await;
    let home = Home::new("").with("AWS_CONTAINER_CREDENTIALS_FULL_URI", format!("{}/v2/keys?id=1", server.url));
    std::fs::write(home.path("pass"), "pass-token\n").unwrap();
    let path = home.path("pass").to_str().unwrap().to_owned();
    let home = home.with("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", path);
    assert_eq!(signs(&home.aws()).await, Ok("BOX token-BOX".to_owned()));
    let asked = server.asked().await;
    assert_eq!(head(&asked[0]), "GET /v2/keys?id=1 HTTP/1.1");
    assert!(has(&asked[0], "authorization: pass-token"));
}

#[tokio::test]
async fn a_container_tells_its_pass_to_nobody_else() {
    let home = Home::new("").with("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://keys.example/x");
    let error = signs(&home.aws()).await.unwrap_err();
    assert!(error.contains("neither https nor an address of this machine"), "{error}");
}

#[tokio::test]
async fn what_was_shown_to_a_server_is_not_told_when_it_is_refused() {
    let server = Server::start(vec![(403, "pass-token is not good".to_owned())]).await;
    let home = Home::new("").with("AWS_CONTAINER_CREDENTIALS_FULL_URI", format!("{}/keys", server.url));
    let home = home.with("AWS_CONTAINER_AUTHORIZATION_TOKEN", "pass-token");
    let error = signs(&home.aws()).await.unwrap_err();
    assert!(error.contains("… is not good") && !error.contains("pass-token"), "{error}");

    let said = "<Error><Code>InvalidIdentityToken</Code><Message>header.body.sig is old</Message></Error>";
    let server = Server::start(vec![(400, said.to_owned())]).await;
    let home = Home::new("").with("AWS_ROLE_ARN", "arn:role").with("AWS_ENDPOINT_URL_STS", &server.url);
    std::fs::write(home.path("token"), "header.body.sig\n").unwrap();
    let path = home.path("token").to_str().unwrap().to_owned();
    let error = signs(&home.with("AWS_WEB_IDENTITY_TOKEN_FILE", path).aws()).await.unwrap_err();
    assert!(error.contains("… is old") && !error.contains("header.body.sig"), "{error}");
}

fn machine(url: &str) -> Home {
    Home::new("").with("AWS_EC2_METADATA_DISABLED", "false").with("AWS_EC2_METADATA_SERVICE_ENDPOINT", url)
}

#[tokio::test]
async fn a_machine_is_given_keys() {
    let answers = vec![(200, "pass".to_owned()), (200, "my-role\n".to_owned()), given("VM")];
    let server = Server::start(answers).await;
    assert_eq!(signs(&machine(&server.url).aws()).await, Ok("VM token-VM".to_owned()));
    let asked = server.asked().await;
    let heads: Vec<_> = asked.iter().map(|asked| head(asked)).collect();
    assert_eq!(
        heads,
        [
            "PUT /latest/api/token HTTP/1.1",
            "GET /latest/meta-data/iam/security-credentials/ HTTP/1.1",
            "GET /latest/meta-data/iam/security-credentials/my-role HTTP/1.1",
        ]
    );
    assert!(has(&asked[0], "x-aws-ec2-metadata-token-ttl-seconds: 300"));
    assert!(has(&asked[1], "x-aws-ec2-metadata-token: pass") && has(&asked[2], "x-aws-ec2-metadata-token: pass"));
}

#[tokio::test]
async fn a_machine_without_a_role_is_told() {
    let server = Server::start(vec![(200, "pass".to_owned()), (404, String::new())]).await;
    let error = signs(&machine(&server.url).aws()).await.unwrap_err();
    assert!(error.contains("has no role"), "{error}");
    // A name that is none leads nowhere else.
    let server = Server::start(vec![(200, "pass".to_owned()), (200, "../../x".to_owned())]).await;
    let error = signs(&machine(&server.url).aws()).await.unwrap_err();
    assert!(error.contains("has no role"), "{error}");
}

#[tokio::test]
async fn where_nobody_gives_keys_it_is_said_what_to_do() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = signs(&machine(&url).aws()).await.unwrap_err();
    assert!(error.contains("set AWS_BEARER_TOKEN_BEDROCK"), "{error}");
}

#[tokio::test]
async fn trouble_that_passes_is_worth_another_try() {
    let server = Server::start(vec![(503, String::new())]).await;
    let config = format!("{KEYS}[profile role]\nrole_arn = r\nsource_profile = keys\n");
    let home = Home::new(&config).with("AWS_PROFILE", "role").with("AWS_ENDPOINT_URL_STS", &server.url);
    let url = Url::parse("https://a.example").unwrap();
    let aws = home.aws();
    let error = aws.sign(Asked { url: &url, headers: &HeaderMap::new(), body: b"" }).await.unwrap_err();
    assert!(error.is_passing(), "{error}");
}

#[tokio::test]
async fn an_answer_has_a_limit() {
    let server = Server::start(vec![(200, "x".repeat(256 * 1024 + 1))]).await;
    let home = Home::new("").with("AWS_CONTAINER_CREDENTIALS_FULL_URI", &server.url);
    let error = signs(&home.aws()).await.unwrap_err();
    assert!(error.contains("longer than 256 KiB"), "{error}");
}

fn program(home: &Home, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = home.path("my keys.sh");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

fn name_program(home: &Home, path: &str) {
    let config = format!("[default]\ncredential_process = \"{path}\" --for 'x y'\n");
    haft_vault::own::replace(&home.path(".aws/config"), config.as_bytes()).unwrap();
}

const SAYS: &str =
    r#"printf '{"Version":1,"AccessKeyId":"PROC%s","SecretAccessKey":"very-secret","SessionToken":"%s"}' "$#" "$2""#;

#[tokio::test]
async fn a_program_of_the_users_own_gives_keys() {
    let home = Home::new("");
    name_program(&home, &program(&home, SAYS));
    assert_eq!(signs(&home.aws()).await, Ok("PROC2 x y".to_owned()));
}

#[tokio::test]
async fn a_program_that_others_could_name_is_not_run() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new("");
    let path = program(&home, &format!("touch {}; {SAYS}", home.path("was-run").display()));
    name_program(&home, &path);
    std::fs::set_permissions(home.path(".aws/config"), std::fs::Permissions::from_mode(0o666)).unwrap();
    let error = signs(&home.aws()).await.unwrap_err();
    assert!(error.contains("credential_process is not run") && error.contains("others can write to it"), "{error}");
    assert!(!Path::new(&home.path("was-run")).exists());
}

#[tokio::test]
async fn a_program_that_fails_is_told_and_what_it_says_is_not() {
    let home = Home::new("");
    for (script, want) in [
        ("echo secret-in-a-text; exit 3", "failed (exit status: 3); run it by hand"),
        ("echo secret-in-a-text", "does not answer with keys"),
        ("head -c 70000 /dev/zero", "says more than 64 KiB"),
    ] {
        name_program(&home, &program(&home, script));
        let error = signs(&home.aws()).await.unwrap_err();
        assert!(error.contains(want) && !error.contains("secret-in"), "{error}");
    }
}

#[test]
fn nothing_secret_shows_in_debug() {
    let home = Home::new("").with("AWS_ACCESS_KEY_ID", "AK").with("AWS_SECRET_ACCESS_KEY", "very-secret");
    let text = format!("{:?}", home.aws());
    assert!(!text.contains("very-secret"), "{text}");
}
