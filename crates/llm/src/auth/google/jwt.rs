//! What a service account says to get a token: a claim signed with its key, as in RFC 7523. Pure but for chance.

use haft_vault::{BadKey, Signer};
use serde_json::{Map, json};

use super::credentials::Service;
use super::{LIFETIME, SCOPE};

/// The claim of `service` at the time `now`, in seconds since the Unix epoch.
///
/// # Errors
///
/// What is wrong with its key, as the end of a sentence.
pub(super) fn assertion(service: &Service, now: u64) -> Result<String, String> {
    let wrong = |why: BadKey| format!("have a `private_key` that {why}");
    let signer = Signer::of(service.key.expose()).map_err(wrong)?;
    let mut head = Map::new();
    head.insert("typ".to_owned(), "JWT".into());
    if let Some(id) = &service.key_id {
        head.insert("kid".to_owned(), id.as_str().into());
    }
    let claim = json!({
        "iss": service.email,
        "scope": SCOPE,
        "aud": service.token_url.as_str(),
        "iat": now,
        "exp": now.saturating_add(LIFETIME.as_secs()),
    });
    signer.token(head, &claim).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use reqwest::Url;
    use ring::rsa::KeyPair;
    use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
    use serde_json::Value;

    use super::*;
    use crate::Secret;

    /// Made for these tests, and good for nothing else.
    const PKCS8: &str = include_str!("testdata/service.pem");
    const PKCS1: &str = include_str!("testdata/service-rsa.pem");

    fn service(key: &str) -> Service {
        Service {
            email: "me@p.iam.gserviceaccount.com".to_owned(),
            key: Secret::new(key),
            key_id: Some("k1".to_owned()),
            token_url: Url::parse("https://oauth2.googleapis.com/token").unwrap(),
        }
    }

    #[test]
    fn a_claim_is_signed_with_the_key() {
        for key in [PKCS8.to_owned(), PKCS1.to_owned(), PKCS8.replace('\n', "\\n")] {
            let claim = assertion(&service(&key), 1_700_000_000).unwrap();
            let parts: Vec<_> = claim.split('.').collect();
            let decode =
                |part: &str| -> Value { serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap() };
            assert_eq!(decode(parts[0]), json!({"alg": "RS256", "typ": "JWT", "kid": "k1"}));
            let want = json!({
                "iss": "me@p.iam.gserviceaccount.com",
                "scope": "https://www.googleapis.com/auth/cloud-platform",
                "aud": "https://oauth2.googleapis.com/token",
                "iat": 1_700_000_000,
                "exp": 1_700_003_600,
            });
            assert_eq!(decode(parts[1]), want);
            let body: String = PKCS8.lines().filter(|line| !line.starts_with("-----")).collect();
            let public = KeyPair::from_pkcs8(&STANDARD.decode(body).unwrap()).unwrap().public().as_ref().to_vec();
            let signature = URL_SAFE_NO_PAD.decode(parts[2]).unwrap();
            let said = format!("{}.{}", parts[0], parts[1]);
            UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public).verify(said.as_bytes(), &signature).unwrap();
        }
    }

    #[test]
    fn a_key_that_is_none_is_named_and_not_shown() {
        let row = |key: &str, want: &str| {
            let why = assertion(&service(key), 0).unwrap_err();
            assert!(why.starts_with(want), "{why}");
            assert!(!why.contains("QUJD"), "{why}");
        };
        row("QUJD", "have a `private_key` that is no PEM text");
        row(
            "-----BEGIN PRIVATE KEY-----\nQUJD\n-----END PRIVATE KEY-----\n",
            "have a `private_key` that cannot be used",
        );
        row("-----BEGIN PRIVATE KEY-----\n%\n-----END PRIVATE KEY-----\n", "have a `private_key` that is no PEM text");
    }
}
