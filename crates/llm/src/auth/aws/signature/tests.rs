//! Against signatures that Amazon's own library (botocore) made of the same requests at the same time.

use std::time::{Duration, UNIX_EPOCH};

use super::*;
use crate::Secret;

const JSON: &str = "application/json";

#[track_caller]
fn check(token: Option<&str>, (service, region): (&str, &str), url: &str, kind: &str, body: &str, want: &str) {
    let keys = Keys {
        id: "AKIDEXAMPLE".to_owned(),
        secret: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
        token: token.map(Secret::new),
        expires: None,
    };
    let mut before = HeaderMap::new();
    before.insert(CONTENT_TYPE, kind.parse().unwrap());
    // What others on the way may change is not signed.
    before.insert("accept", "*/*".parse().unwrap());
    before.insert("x-session-affinity", "ses_1".parse().unwrap());
    let scope = Scope { region, service, time: UNIX_EPOCH + Duration::from_secs(1_700_000_000) };
    let made = headers(&keys, scope, "POST", &Url::parse(url).unwrap(), &before, body.as_bytes()).unwrap();
    assert!(made.iter().all(|(_, value)| value.is_sensitive()));
    let get = |name: &str| made.iter().find(|(made, _)| made == name).map(|(_, value)| value.to_str().unwrap());
    assert_eq!(get("x-amz-date"), Some("20231114T221320Z"));
    assert_eq!(get("x-amz-security-token"), token);
    let signed = if token.is_some() { ";x-amz-security-token" } else { "" };
    let whole = format!(
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20231114/{region}/{service}/aws4_request, \
         SignedHeaders=content-type;host;x-amz-date{signed}, Signature={want}"
    );
    assert_eq!(get("authorization"), Some(whole.as_str()));
}

#[test]
fn signatures_are_those_that_amazons_own_library_makes() {
    check(
        None,
        ("bedrock", "us-east-1"),
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream",
        JSON,
        r#"{"messages":[]}"#,
        "7ff34cddff37d434a6d6e47bbac449950c329e2136c2aba5edc69924bf5ebf7e",
    );
    check(
        Some("token/with+signs="),
        ("bedrock", "eu-west-1"),
        "https://bedrock-runtime.eu-west-1.amazonaws.com/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Fx/invoke-with-response-stream",
        JSON,
        r#"{"text":"Grüße"}"#,
        "de14e6a70ebf463faff697a3a351f72710fc64935452aab5a48d06ac37b71fe4",
    );
    check(
        None,
        ("sts", "us-east-1"),
        "https://sts.us-east-1.amazonaws.com/",
        "application/x-www-form-urlencoded; charset=utf-8",
        "Action=AssumeRole&Version=2011-06-15",
        "13b9252546ea3e2df768ef3d2ddf89f25386cddd4da69deca9126bb957580426",
    );
    check(
        None,
        ("bedrock-mantle", "us-east-1"),
        "http://127.0.0.1:8080/v1/x?b=2&a=1%20z",
        JSON,
        "",
        "809ed173e2774c423ccfae6bf8f425f89739b1f8d2fc1f3bb681b125e12fa535",
    );
}
