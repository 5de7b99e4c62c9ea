//! Where keys are looked for, and in which order.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::given::{self, Container};
use super::profile::{self, Base, How};
use super::role::{self, Role, Token};
use super::{Failure, Keys, files, process, sso};
use crate::Secret;

/// The variables that matter here.
pub const VARIABLES: [&str; 25] = [
    "HOME",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_EC2_METADATA_DISABLED",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
    "AWS_ENDPOINT_URL_STS",
    "AWS_ENDPOINT_URL_SSO",
    "AWS_ENDPOINT_URL_SSO_OIDC",
    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    "AWS_ENDPOINT_URL",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
    "AWS_REGION",
];

/// What the environment says of Amazon, as it was when it was asked.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<&'static str, String>);

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Environment {
    /// Of `env`, which gives variables that are set and not empty, those that matter.
    pub fn of(env: &dyn Fn(&str) -> Option<String>) -> Self {
        Self(VARIABLES.into_iter().filter_map(|name| Some((name, env(name)?))).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn home(&self) -> Option<&Path> {
        self.get("HOME").map(Path::new)
    }

    /// The profile that holds where the settings name none.
    pub(super) fn profile(&self) -> &str {
        self.named_profile().unwrap_or("default")
    }

    fn named_profile(&self) -> Option<&str> {
        self.get("AWS_PROFILE").or_else(|| self.get("AWS_DEFAULT_PROFILE"))
    }

    fn says(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// The address of a service: that of its own variable, that of all, or `usual`.
    pub fn endpoint(&self, variable: &str, usual: String) -> String {
        if self.says("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") {
            return usual;
        }
        self.get(variable).or_else(|| self.get("AWS_ENDPOINT_URL")).map_or(usual, str::to_owned)
    }
}

/// What keys are for, and where the settings say they are.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The vendor's name, for messages.
    pub provider: String,
    /// The service, as signatures name it: `bedrock`, `bedrock-mantle`.
    pub service: &'static str,
    /// Its region.
    pub region: String,
    /// Keys that stand in the settings.
    pub keys: Option<Keys>,
    /// A profile that the settings name.
    pub profile: Option<String>,
    /// What the environment says.
    pub env: Environment,
}

impl Settings {
    /// What of it must not stand in messages.
    pub(super) fn secrets(&self) -> Vec<Secret> {
        let names = ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN"];
        let env = names.into_iter().filter_map(|name| self.env.get(name)).map(Secret::new);
        env.chain(self.keys.iter().flat_map(Keys::secrets)).collect()
    }
}

/// A place where keys may be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// In the settings or the environment.
    Here(Keys),
    /// A role, for whoever has the token in a file.
    Token(Token),
    /// A profile. Whether it must be there.
    Profile(String, Must),
    Container(Container),
    /// This machine's own, if it is one of Amazon's.
    Machine,
}

/// Whether something must be where it is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Must {
    Be,
    MayBe,
}

/// Keys that were found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) keys: Keys,
    /// Whether another look may find others.
    pub(super) can_change: bool,
}

/// Where keys are looked for, the first place first. Pure.
pub(super) fn sources(settings: &Settings) -> Vec<Source> {
    let env = &settings.env;
    if let Some(keys) = &settings.keys {
        return vec![Source::Here(keys.clone())];
    }
    if let Some(profile) = &settings.profile {
        return vec![Source::Profile(profile.clone(), Must::Be)];
    }
    let get = |name: &str| env.get(name);
    let keys = Keys::lasting(get("AWS_ACCESS_KEY_ID"), get("AWS_SECRET_ACCESS_KEY"), get("AWS_SESSION_TOKEN"));
    if let Some(keys) = keys {
        return vec![Source::Here(keys)];
    }
    let mut all = Vec::new();
    if let (Some(file), Some(role)) = (get("AWS_WEB_IDENTITY_TOKEN_FILE"), get("AWS_ROLE_ARN")) {
        let session = get("AWS_ROLE_SESSION_NAME").map(str::to_owned);
        all.push(Source::Token(Token { file: PathBuf::from(file), role: role.to_owned(), session, region: None }));
    }
    let must = if env.named_profile().is_some() { Must::Be } else { Must::MayBe };
    all.push(Source::Profile(env.profile().to_owned(), must));
    all.extend(Container::of(env).map(Source::Container));
    if !env.says("AWS_EC2_METADATA_DISABLED") {
        all.push(Source::Machine);
    }
    all
}

/// Keys from the first place that has some.
pub(super) async fn find(settings: &Settings, now: SystemTime) -> Result<Found, Failure> {
    let mut tried = None;
    for source in sources(settings) {
        match source {
            Source::Here(keys) => return Ok(Found { keys, can_change: false }),
            Source::Token(token) => return changing(role::by_token(&token, settings, now).await?),
            Source::Profile(name, must) => {
                if let Some(how) = profile::how(&read(settings).await?, &name, must)? {
                    return by(how, settings, now).await;
                }
            }
            Source::Container(container) => return changing(given::to_container(&container).await?),
            Source::Machine => match given::to_machine(&settings.env).await {
                Ok(keys) => return changing(keys),
                // There is none, on almost all machines.
                Err(Failure::Passing(_)) => {}
                Err(wrong) => tried = Some(wrong),
            },
        }
    }
    Err(tried.unwrap_or_else(|| {
        Failure::wrong(
            "there are no keys for Amazon; set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and \
             AWS_SECRET_ACCESS_KEY, or name a profile of ~/.aws in AWS_PROFILE",
        )
    }))
}

fn changing(keys: Keys) -> Result<Found, Failure> {
    Ok(Found { keys, can_change: true })
}

/// The files of profiles, read away from what waits for the network.
async fn read(settings: &Settings) -> Result<files::Profiles, Failure> {
    let env = settings.env.clone();
    let read = tokio::task::spawn_blocking(move || files::read(&env)).await;
    read.map_err(|error| Failure::Passing(error.to_string()))?
}

async fn by(how: How, settings: &Settings, now: SystemTime) -> Result<Found, Failure> {
    match how {
        // The file may be written anew while this runs.
        How::Keys(keys) => changing(keys),
        How::Process(command) => changing(process::run(&command, settings).await?),
        How::Token(token) => changing(role::by_token(&token, settings, now).await?),
        How::Sso(sso) => changing(sso::keys(&sso, settings, now).await?),
        How::Roles(base, roles) => {
            let mut keys = match base {
                Base::Keys(keys) => keys,
                Base::Process(command) => process::run(&command, settings).await?,
                Base::Token(token) => role::by_token(&token, settings, now).await?,
                Base::Sso(sso) => sso::keys(&sso, settings, now).await?,
                Base::Environment => environment(settings)?,
                Base::Container => given::to_container(&container(settings)?).await?,
                Base::Machine => given::to_machine(&settings.env).await?,
            };
            for one in &roles {
                keys = Role::take(one, &keys, settings, now).await?;
            }
            changing(keys)
        }
    }
}

fn environment(settings: &Settings) -> Result<Keys, Failure> {
    let get = |name: &str| settings.env.get(name);
    Keys::lasting(get("AWS_ACCESS_KEY_ID"), get("AWS_SECRET_ACCESS_KEY"), get("AWS_SESSION_TOKEN")).ok_or_else(|| {
        Failure::wrong("the profile wants the keys of the environment; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    })
}

fn container(settings: &Settings) -> Result<Container, Failure> {
    Container::of(&settings.env).ok_or_else(|| {
        Failure::wrong(
            "the profile wants the keys of a container, and AWS_CONTAINER_CREDENTIALS_RELATIVE_URI is not set",
        )
    })
}

#[cfg(test)]
mod tests;
