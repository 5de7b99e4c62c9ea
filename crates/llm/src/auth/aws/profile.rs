//! What a profile says about its keys. Pure.

use super::files::{Profiles, Section};
use super::role::{Role, Token};
use super::sources::Must;
use super::sso::Sso;
use super::{Failure, Keys};

/// Most roles that are taken one after the other.
const MAX_ROLES: usize = 5;

/// How the keys of a profile are got.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum How {
    Keys(Keys),
    Process(String),
    Token(Token),
    Sso(Sso),
    /// With other keys, by roles, the first one first.
    Roles(Base, Vec<Role>),
}

/// What the first role is taken with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Base {
    Keys(Keys),
    Process(String),
    Token(Token),
    Sso(Sso),
    Environment,
    Container,
    Machine,
}

/// How the keys of the profile `name` are got. `None`: it is not there or says nothing, and need not.
pub(super) fn how(profiles: &Profiles, name: &str, must: Must) -> Result<Option<How>, Failure> {
    let mut roles: Vec<Role> = Vec::new();
    let (mut name, mut must) = (name.to_owned(), must);
    let mut seen: Vec<String> = Vec::new();
    loop {
        let Some(section) = profiles.profiles.get(&name) else {
            return match must {
                Must::MayBe => Ok(None),
                Must::Be => Err(Failure::wrong(format!(
                    "there is no profile {name} in ~/.aws/config and ~/.aws/credentials; it has {}",
                    listed(profiles)
                ))),
            };
        };
        // A role may be taken with the keys that stand beside it.
        let again = seen.contains(&name);
        let found = match role(section, &name)? {
            Some((role, next)) if !again => {
                roles.push(role);
                if roles.len() > MAX_ROLES {
                    return Err(Failure::wrong(format!(
                        "the profile {name} is the end of more than {MAX_ROLES} roles"
                    )));
                }
                match next {
                    Next::Base(base) => Some(base),
                    Next::Profile(next) => {
                        seen.push(name);
                        (name, must) = (next, Must::Be);
                        continue;
                    }
                }
            }
            Some(_) if keys(section).is_none() => {
                return Err(Failure::wrong(format!("the roles of the profile {name} lead back to itself")));
            }
            Some(_) => keys(section).map(Base::Keys),
            None => base(profiles, section, &name)?,
        };
        roles.reverse();
        return match (found, roles.is_empty(), must) {
            (None, true, Must::MayBe) => Ok(None),
            (None, _, _) => Err(Failure::wrong(format!("the profile {name} says nothing about keys"))),
            (Some(base), false, _) => Ok(Some(How::Roles(base, roles))),
            (Some(Base::Keys(keys)), true, _) => Ok(Some(How::Keys(keys))),
            (Some(Base::Process(command)), true, _) => Ok(Some(How::Process(command))),
            (Some(Base::Token(token)), true, _) => Ok(Some(How::Token(token))),
            (Some(Base::Sso(sso)), true, _) => Ok(Some(How::Sso(sso))),
            // These stand beside a role only.
            (Some(Base::Environment | Base::Container | Base::Machine), true, _) => Ok(None),
        };
    }
}

/// What comes before a role.
enum Next {
    Base(Base),
    Profile(String),
}

fn text<'a>(section: &'a Section, key: &str) -> Option<&'a str> {
    section.get(key).map(String::as_str).filter(|value| !value.is_empty())
}

fn keys(section: &Section) -> Option<Keys> {
    let get = |key: &str| text(section, key);
    Keys::lasting(get("aws_access_key_id"), get("aws_secret_access_key"), get("aws_session_token"))
}

fn role(section: &Section, name: &str) -> Result<Option<(Role, Next)>, Failure> {
    let get = |key: &str| text(section, key).map(str::to_owned);
    let Some(arn) = get("role_arn").filter(|_| get("web_identity_token_file").is_none()) else { return Ok(None) };
    let wrong = |what: String| Failure::wrong(format!("the profile {name} {what}"));
    if get("mfa_serial").is_some() {
        return Err(wrong(
            "wants a code of a device, which haft cannot ask for; get keys with `aws sts get-session-token`".to_owned(),
        ));
    }
    let next = match (get("source_profile"), get("credential_source").as_deref()) {
        (Some(profile), None) => Next::Profile(profile),
        (None, Some("Environment")) => Next::Base(Base::Environment),
        (None, Some("EcsContainer")) => Next::Base(Base::Container),
        (None, Some("Ec2InstanceMetadata")) => Next::Base(Base::Machine),
        (None, Some(other)) => return Err(wrong(format!("has the credential_source {other}, which there is not"))),
        (Some(_), Some(_)) => {
            return Err(wrong("has both source_profile and credential_source; leave one out".to_owned()));
        }
        (None, None) => {
            return Err(wrong("has a role_arn; give it a source_profile or a credential_source".to_owned()));
        }
    };
    let seconds = get("duration_seconds")
        .map(|seconds| seconds.parse().map_err(|_| wrong("has duration_seconds that are no number".to_owned())));
    let role = Role {
        arn,
        session: get("role_session_name"),
        external_id: get("external_id"),
        seconds: seconds.transpose()?,
        region: get("region"),
    };
    Ok(Some((role, next)))
}

/// Keys without a role before them, in the order of Amazon's own programs.
fn base(profiles: &Profiles, section: &Section, name: &str) -> Result<Option<Base>, Failure> {
    let get = |key: &str| text(section, key).map(str::to_owned);
    if let (Some(file), Some(role)) = (get("web_identity_token_file"), get("role_arn")) {
        let (session, region) = (get("role_session_name"), get("region"));
        return Ok(Some(Base::Token(Token { file: file.into(), role, session, region })));
    }
    if get("sso_account_id").is_some() || get("sso_session").is_some() || get("sso_start_url").is_some() {
        return sso(profiles, section, name).map(|sso| Some(Base::Sso(sso)));
    }
    Ok(keys(section).map(Base::Keys).or_else(|| get("credential_process").map(Base::Process)))
}

fn sso(profiles: &Profiles, section: &Section, name: &str) -> Result<Sso, Failure> {
    let missing = |key: &str| Failure::wrong(format!("the profile {name} has no {key}; run `aws configure sso`"));
    let need = |section: &Section, key: &str| text(section, key).map(str::to_owned).ok_or_else(|| missing(key));
    let (kept_as, section_of_session) = match text(section, "sso_session") {
        Some(session) => {
            let found = profiles.sso_sessions.get(session);
            (session.to_owned(), found.ok_or_else(|| missing(&format!("section [sso-session {session}]")))?)
        }
        None => (need(section, "sso_start_url")?, section),
    };
    Ok(Sso {
        profile: name.to_owned(),
        kept_as,
        region: need(section_of_session, "sso_region")?,
        account: need(section, "sso_account_id")?,
        role: need(section, "sso_role_name")?,
    })
}

/// The names of the profiles, as many as fit a line.
fn listed(profiles: &Profiles) -> String {
    const SHOWN: usize = 8;
    let names: Vec<&str> = profiles.profiles.keys().map(String::as_str).take(SHOWN).collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

#[cfg(test)]
mod tests;
