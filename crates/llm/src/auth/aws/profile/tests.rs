use super::*;
use crate::Secret;

const CONFIG: &str = "
[default]
region = eu-west-1
[profile keys]
aws_access_key_id = AK
aws_secret_access_key = SK
aws_session_token = ST
[profile role]
role_arn = arn:role
source_profile = keys
external_id = x
duration_seconds = 900
region = eu-west-2
[profile chain]
role_arn = arn:second
source_profile = role
[profile itself]
role_arn = arn:role
source_profile = itself
aws_access_key_id = AK
aws_secret_access_key = SK
[profile loop]
role_arn = arn:role
source_profile = pool
[profile pool]
role_arn = arn:role
source_profile = loop
[profile machine]
role_arn = arn:role
credential_source = Ec2InstanceMetadata
[profile nowhere]
role_arn = arn:role
source_profile = gone
[profile both]
role_arn = arn:role
source_profile = keys
credential_source = Environment
[profile neither]
role_arn = arn:role
[profile odd]
role_arn = arn:role
credential_source = Moon
[profile mfa]
role_arn = arn:role
source_profile = keys
mfa_serial = arn:mfa
[profile token]
role_arn = arn:role
web_identity_token_file = /token
[profile process]
credential_process = /bin/keys --x
[profile sso]
sso_session = corp
sso_account_id = 123
sso_role_name = dev
[profile old-sso]
sso_start_url = https://start.example
sso_region = us-west-2
sso_account_id = 123
sso_role_name = dev
[profile half-sso]
sso_session = corp
sso_account_id = 123
[profile lost-sso]
sso_session = gone
sso_account_id = 123
sso_role_name = dev
[profile by-sso]
role_arn = arn:role
source_profile = sso
[sso-session corp]
sso_start_url = https://start.example
sso_region = us-east-2
";

fn found(name: &str, must: Must) -> Result<Option<How>, Failure> {
    how(&Profiles::parse(CONFIG, ""), name, must)
}

#[track_caller]
fn check(name: &str, want: How) {
    assert_eq!(found(name, Must::Be), Ok(Some(want)));
}

fn keys() -> Keys {
    Keys { id: "AK".to_owned(), secret: Secret::new("SK"), token: Some(Secret::new("ST")), expires: None }
}

fn role(arn: &str) -> Role {
    Role { arn: arn.to_owned(), ..Role::default() }
}

fn first() -> Role {
    let (external_id, region) = (Some("x".to_owned()), Some("eu-west-2".to_owned()));
    Role { external_id, seconds: Some(900), region, ..role("arn:role") }
}

fn sso(kept_as: &str, region: &str, profile: &str) -> Sso {
    let text = str::to_owned;
    let (account, role) = (text("123"), text("dev"));
    Sso { profile: text(profile), kept_as: text(kept_as), region: text(region), account, role }
}

#[test]
fn a_profile_has_one_way_to_its_keys() {
    check("keys", How::Keys(keys()));
    check("role", How::Roles(Base::Keys(keys()), vec![first()]));
    // The keys of one role are what the next is taken with.
    check("chain", How::Roles(Base::Keys(keys()), vec![first(), role("arn:second")]));
    check("itself", How::Roles(Base::Keys(Keys { token: None, ..keys() }), vec![role("arn:role")]));
    check("machine", How::Roles(Base::Machine, vec![role("arn:role")]));
    let token = Token { file: "/token".into(), role: "arn:role".to_owned(), session: None, region: None };
    check("token", How::Token(token));
    check("process", How::Process("/bin/keys --x".to_owned()));
    check("sso", How::Sso(sso("corp", "us-east-2", "sso")));
    check("old-sso", How::Sso(sso("https://start.example", "us-west-2", "old-sso")));
    check("by-sso", How::Roles(Base::Sso(sso("corp", "us-east-2", "sso")), vec![role("arn:role")]));
}

#[test]
fn what_is_wrong_with_a_profile_is_told() {
    let row = |name: &str, want: &str| match found(name, Must::Be) {
        Err(Failure::Wrong(text)) => assert!(text.starts_with(want), "{text}"),
        other => panic!("{name}: {other:?}"),
    };
    row(
        "gone",
        "there is no profile gone in ~/.aws/config and ~/.aws/credentials; it has both, by-sso, chain, default,",
    );
    row("nowhere", "there is no profile gone");
    row("loop", "the roles of the profile loop lead back to itself");
    row("both", "the profile both has both source_profile and credential_source");
    row("neither", "the profile neither has a role_arn; give it a source_profile");
    row("odd", "the profile odd has the credential_source Moon");
    row("mfa", "the profile mfa wants a code of a device");
    row("half-sso", "the profile half-sso has no sso_role_name; run `aws configure sso`");
    row("lost-sso", "the profile lost-sso has no section [sso-session gone]");
    row("default", "the profile default says nothing about keys");
}

#[test]
fn the_usual_profile_need_not_be_there() {
    assert_eq!(found("default", Must::MayBe), Ok(None));
    assert_eq!(found("gone", Must::MayBe), Ok(None));
    assert_eq!(found("keys", Must::MayBe), Ok(Some(How::Keys(keys()))));
}

#[test]
fn a_chain_of_roles_has_an_end() {
    let one = |number: usize| format!("[profile p{number}]\nrole_arn = r\nsource_profile = p{}\n", number + 1);
    let chain = |length: usize| {
        let roles: String = (0..length).map(one).collect();
        let keys = format!("[profile p{length}]\naws_access_key_id = AK\naws_secret_access_key = SK\n");
        how(&Profiles::parse(&(roles + &keys), ""), "p0", Must::Be)
    };
    let Ok(Some(How::Roles(_, roles))) = chain(5) else { panic!() };
    assert_eq!(roles.len(), 5);
    assert!(chain(6).is_err());
}
