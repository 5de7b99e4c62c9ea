use std::collections::BTreeMap;

use serde_json::Map;

use super::*;

fn wanted(model: &str, driver: Option<&str>, options: Value, pairs: &[(&str, &str)]) -> Result<Wants, String> {
    let pairs: BTreeMap<_, _> = pairs.iter().copied().collect();
    let env = |name: &str| pairs.get(name).map(|value| (*value).to_owned());
    let (stored, options) = (Map::new(), options.as_object().unwrap().clone());
    wants(&Wanted { vendor: VENDOR, model, driver, options: &options, stored: &stored, env: &env })
}

const MODEL: &str = "anthropic.claude-sonnet-4-5-20250929-v1:0";

#[test]
fn a_model_is_asked_where_the_region_is() {
    let row = |options: Value, pairs: &[(&str, &str)], url: &str, model: &str| {
        let got = wanted(MODEL, None, options, pairs).unwrap();
        assert_eq!((got.base_url.unwrap().as_str(), got.model.unwrap().as_str()), (url, model));
        assert_eq!((got.dialect, got.place), (Some(Dialect::Converse), Place::Own));
    };
    let us = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
    let eu = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0";
    let env = ("AWS_REGION", "eu-west-1");
    row(json!({}), &[], "https://bedrock-runtime.us-east-1.amazonaws.com", us);
    row(json!({}), &[env], "https://bedrock-runtime.eu-west-1.amazonaws.com", eu);
    row(json!({}), &[("AWS_DEFAULT_REGION", "eu-north-1")], "https://bedrock-runtime.eu-north-1.amazonaws.com", eu);
    row(json!({"region": "us-west-2"}), &[env], "https://bedrock-runtime.us-west-2.amazonaws.com", us);
    row(json!({"region": "cn-north-1"}), &[], "https://bedrock-runtime.cn-north-1.amazonaws.com.cn", MODEL);
    row(
        json!({"endpoint": "https://vpce.example", "baseURL": "https://b.example"}),
        &[env],
        "https://vpce.example",
        eu,
    );
    row(json!({"baseURL": "https://b.example/x"}), &[env], "https://b.example/x", eu);
    let other = ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "http://127.0.0.1:1");
    row(json!({}), &[env, other], "http://127.0.0.1:1", eu);
}

#[test]
fn a_profile_may_name_the_region() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    std::fs::write(&path, "[default]\nregion = eu-central-1\n[profile work]\nregion = ap-northeast-1\n").unwrap();
    let file = ("AWS_CONFIG_FILE", path.to_str().unwrap());
    let row = |options: Value, pairs: &[(&str, &str)], region: &str| {
        let got = wanted(MODEL, None, options, pairs).unwrap().base_url.unwrap();
        assert_eq!(got, format!("https://bedrock-runtime.{region}.amazonaws.com"));
    };
    row(json!({}), &[file], "eu-central-1");
    row(json!({}), &[file, ("AWS_PROFILE", "work")], "ap-northeast-1");
    row(json!({"profile": "work"}), &[file], "ap-northeast-1");
    row(json!({"profile": "work"}), &[file, ("AWS_REGION", "us-west-2")], "us-west-2");
    row(json!({"profile": "gone"}), &[file], "us-east-1");
}

#[test]
fn a_driver_is_a_way_in() {
    let messages = wanted(MODEL, Some(ANTHROPIC), json!({}), &[]).unwrap();
    assert_eq!((messages.dialect, messages.place), (Some(Dialect::Messages), Place::Bedrock));
    assert_eq!(messages.extra["anthropic_beta"], json!([BETA]));
    let old = wanted("anthropic.claude-3-5-haiku-20241022-v1:0", Some(ANTHROPIC), json!({}), &[]).unwrap();
    assert!(old.extra.is_empty());
    let row = |model: &str, url: &str| {
        let got = wanted(model, Some(MANTLE), json!({}), &[("AWS_REGION", "us-west-2")]).unwrap();
        assert_eq!((got.dialect, got.model, got.base_url.as_deref()), (Some(Dialect::Responses), None, Some(url)));
    };
    row("openai.gpt-oss-120b", "https://bedrock-mantle.us-west-2.api.aws/v1");
    row("openai.gpt-5.4", "https://bedrock-mantle.us-west-2.api.aws/openai/v1");
    for (vendor, driver, want) in [
        (VENDOR, None, true),
        ("mine", Some(DRIVER), true),
        ("mine", Some(ANTHROPIC), true),
        ("mine", Some(MANTLE), true),
        // Somebody put another server in its place.
        (VENDOR, Some("@ai-sdk/openai-compatible"), false),
        ("openai", None, false),
    ] {
        assert_eq!(is_it(vendor, driver), want, "{vendor} {driver:?}");
    }
}

#[test]
fn a_token_comes_before_keys() {
    let token = ("AWS_BEARER_TOKEN_BEDROCK", " from-the-environment ");
    let row = |options: Value, pairs: &[(&str, &str)], want: Option<&str>| match (
        wanted(MODEL, None, options, pairs).unwrap().key.unwrap(),
        want,
    ) {
        (Key::Bearer(got), Some(want)) => assert_eq!(got.expose(), want),
        (Key::Signed(_), None) => {}
        (got, want) => panic!("{got:?} {want:?}"),
    };
    row(json!({"apiKey": "own", "profile": "p"}), &[token], Some("own"));
    row(json!({"accessKeyId": "a", "secretAccessKey": "b"}), &[token], Some("from-the-environment"));
    row(json!({"accessKeyId": "a", "secretAccessKey": "b"}), &[], None);
    row(json!({}), &[], None);
    // The name of a key pair is no token.
    let pair = [("AWS_ACCESS_KEY_ID", "AKID"), ("AWS_SECRET_ACCESS_KEY", "b"), ("AWS_REGION", "us-east-1")];
    row(json!({"apiKey": "AKID"}), &pair, None);
    row(json!({"apiKey": "us-east-1"}), &pair, None);
    row(json!({"apiKey": "own"}), &pair, Some("own"));
}

#[test]
fn what_cannot_work_is_refused_with_the_reason() {
    let row = |options: Value, want: &str| {
        let error = wanted(MODEL, None, options, &[]).unwrap_err();
        assert!(error.contains(want), "{error}");
    };
    row(json!({"region": "evil.example/"}), "\"evil.example/\" is no region");
    row(json!({"accessKeyId": "a"}), "set provider.amazon-bedrock.options.secretAccessKey");
    row(json!({"secretAccessKey": "b"}), "set provider.amazon-bedrock.options.accessKeyId");
}

#[test]
fn models_answer_to_the_name_of_their_group() {
    let row = |region: &str, model: &str, want: &str| {
        let want = if want.is_empty() { model.to_owned() } else { format!("{want}.{model}") };
        assert_eq!(prefixed(model, region), want, "{region}");
    };
    let (old, new) = ("anthropic.claude-3-5-sonnet-20241022-v2:0", "anthropic.claude-opus-4-8");
    let (nova, nova2) = ("amazon.nova-pro-v1:0", "amazon.nova-2-lite-v1:0");
    for region in ["us-east-1", "us-west-2"] {
        for model in [old, new, nova, nova2, "deepseek.r1-v1:0", "meta.llama4-scout-17b-instruct-v1:0"] {
            row(region, model, "us");
        }
        for model in ["deepseek.v3-v1:0", "zai.glm-5", "mistral.devstral-2-123b", "anthropic.claude-v2:1"] {
            row(region, model, "");
        }
    }
    row("us-gov-west-1", new, "");
    for model in [old, new, nova, nova2, "mistral.pixtral-large-2502-v1:0"] {
        row("eu-central-1", model, "eu");
    }
    row("eu-west-3", "deepseek.r1-v1:0", "");
    row("ap-southeast-2", new, "au");
    row("ap-southeast-2", old, "apac");
    row("ap-southeast-2", nova, "apac");
    row("ap-northeast-1", new, "jp");
    row("ap-northeast-1", "anthropic.claude-sonnet-4-20250514-v1:0", "apac");
    row("ap-northeast-1", nova2, "jp");
    row("ap-northeast-1", nova, "apac");
    row("ap-south-1", old, "apac");
    row("ap-south-1", "meta.llama3-3-70b-instruct-v1:0", "");
    row("sa-east-1", new, "");
    row("nowhere", new, "");
    for model in [
        "global.anthropic.claude-opus-4-8",
        "us.amazon.nova-pro-v1:0",
        "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-8",
    ] {
        for region in ["us-east-1", "eu-west-1", "ap-northeast-1"] {
            row(region, model, "");
        }
    }
}

#[test]
fn hosts_end_as_their_part_of_the_cloud_does() {
    let row = |region: &str, want: &str| assert_eq!(suffix(region), want);
    row("us-gov-west-1", "amazonaws.com");
    row("us-iso-east-1", "c2s.ic.gov");
    row("us-isob-east-1", "sc2s.sgov.gov");
    row("eusc-de-east-1", "amazonaws.eu");
}
