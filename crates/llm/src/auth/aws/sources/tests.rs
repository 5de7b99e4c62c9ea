use super::*;

fn settings(pairs: &[(&str, &str)]) -> Settings {
    let env = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    Settings {
        provider: "v".to_owned(),
        service: "bedrock",
        region: "us-east-1".to_owned(),
        keys: None,
        profile: None,
        env: Environment::of(&env),
    }
}

fn keys(id: &str) -> Keys {
    Keys::lasting(Some(id), Some("secret-key"), None).unwrap()
}

const ID: (&str, &str) = ("AWS_ACCESS_KEY_ID", "env");
const SECRET: (&str, &str) = ("AWS_SECRET_ACCESS_KEY", "secret-key");
const PROFILE: (&str, &str) = ("AWS_PROFILE", "work");
const FILE: (&str, &str) = ("AWS_WEB_IDENTITY_TOKEN_FILE", "/token");
const ROLE: (&str, &str) = ("AWS_ROLE_ARN", "arn");
const CONTAINER: (&str, &str) = ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x");
const ALONE: (&str, &str) = ("AWS_EC2_METADATA_DISABLED", "True");

#[test]
fn keys_are_looked_for_in_order() {
    let row = |pairs: &[(&str, &str)], want: &str| {
        let found: Vec<_> = sources(&settings(pairs))
            .iter()
            .map(|source| match source {
                Source::Here(keys) => format!("here {}", keys.id),
                Source::Token(token) => format!("token {} {}", token.file.display(), token.role),
                Source::Profile(name, must) => format!("profile {name} {must:?}"),
                Source::Container(container) => format!("container {}", container.url),
                Source::Machine => "machine".to_owned(),
            })
            .collect();
        assert_eq!(found.join(", "), want);
    };
    row(&[], "profile default MayBe, machine");
    row(&[ALONE], "profile default MayBe");
    row(&[ID], "profile default MayBe, machine");
    row(&[ID, SECRET, PROFILE, CONTAINER], "here env");
    row(&[PROFILE, ALONE], "profile work Be");
    row(&[("AWS_DEFAULT_PROFILE", "old"), ALONE], "profile old Be");
    row(&[FILE, ALONE], "profile default MayBe");
    row(&[FILE, ROLE, CONTAINER], "token /token arn, profile default MayBe, container http://169.254.170.2/x, machine");
}

#[test]
fn the_settings_come_before_the_environment() {
    let all = settings(&[ID, SECRET]);
    let profile = Settings { profile: Some("mine".to_owned()), ..all.clone() };
    assert_eq!(sources(&profile), [Source::Profile("mine".to_owned(), Must::Be)]);
    let own = Settings { keys: Some(keys("own")), ..profile };
    assert_eq!(sources(&own), [Source::Here(keys("own"))]);
}

#[test]
fn addresses_can_be_set() {
    let row = |pairs: &[(&str, &str)], want: &str| {
        assert_eq!(settings(pairs).env.endpoint("AWS_ENDPOINT_URL_STS", "usual".to_owned()), want);
    };
    let (own, all) = (("AWS_ENDPOINT_URL_STS", "own"), ("AWS_ENDPOINT_URL", "all"));
    row(&[], "usual");
    row(&[all], "all");
    row(&[own, all], "own");
    row(&[own, all, ("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")], "usual");
}

#[test]
fn nothing_secret_shows_in_debug() {
    let settings = Settings { keys: Some(keys("own")), ..settings(&[ID, SECRET]) };
    let text = format!("{settings:?}");
    assert!(!text.contains("secret-key"), "{text}");
    let secrets = settings.secrets();
    assert!(secrets.iter().any(|secret| secret.expose() == "secret-key"));
}

#[tokio::test]
async fn where_there_are_none_it_is_said_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let pairs = [("HOME", folder.path().to_str().unwrap()), ALONE];
    let Err(Failure::Wrong(text)) = find(&settings(&pairs), SystemTime::now()).await else { panic!() };
    for part in ["AWS_BEARER_TOKEN_BEDROCK", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"] {
        assert!(text.contains(part), "{text}");
    }
}
