//! The settings of npm that say where packages come from: the user's own alone.

use std::collections::BTreeMap;
use std::path::Path;

use haft_net::Url;

/// The registry that is asked where nobody says otherwise.
const DEFAULT: &str = "https://registry.npmjs.org/";
/// Largest settings file of npm that is read, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// Where packages come from.
#[derive(Clone)]
pub struct Settings {
    registry: Url,
    /// Registries of their own for scopes.
    scopes: BTreeMap<String, Url>,
    /// Tokens, by the address without its scheme that they are for.
    tokens: BTreeMap<String, String>,
}

impl Settings {
    /// From the variables `npm_config_registry` and `npm_config_userconfig`, and from the user's `.npmrc`. A project's is
    /// not read: a project does not say which hosts are asked.
    pub fn find(home: &Path, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let lower =
            |name: &str| variable(name).or_else(|| variable(&name.to_uppercase())).filter(|text| !text.is_empty());
        let file = lower("npm_config_userconfig").map_or_else(|| home.join(".npmrc"), Into::into);
        let small = std::fs::metadata(&file).is_ok_and(|meta| meta.len() <= MAX_FILE);
        let text = if small { std::fs::read_to_string(&file).unwrap_or_default() } else { String::new() };
        let mut settings = Self::read(&text, variable);
        if let Some(url) = lower("npm_config_registry").and_then(|text| address(&text)) {
            settings.registry = url;
        }
        settings
    }

    /// What the text of an `.npmrc` says.
    fn read(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        // The default is an address.
        let mut registry = address(DEFAULT);
        let (mut scopes, mut tokens) = (BTreeMap::new(), BTreeMap::new());
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
            let Some((key, value)) = line.split_once('=') else { continue };
            let (key, value) = (key.trim(), filled(value.trim().trim_matches('"'), variable));
            if key == "registry" {
                registry = address(&value).or(registry);
            } else if let Some(scope) = key.strip_suffix(":registry") {
                scopes.extend(address(&value).map(|url| (scope.to_owned(), url)));
            } else if let Some(place) = key.strip_prefix("//").and_then(|key| key.strip_suffix(":_authToken")) {
                tokens.insert(place.trim_end_matches('/').to_owned(), value);
            }
        }
        let registry = registry.unwrap_or_else(|| unreachable!("the default is an address"));
        Self { registry, scopes, tokens }
    }

    /// The registry of the package `name`, with a slash at its end.
    pub fn registry(&self, name: &str) -> &Url {
        let scope = name.split_once('/').map_or("", |(scope, _)| scope);
        self.scopes.get(scope).unwrap_or(&self.registry)
    }

    /// All addresses that may be asked.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.registry.as_str()).chain(self.scopes.values().map(Url::as_str))
    }

    /// The token for `url`: only where the settings give one for exactly this host and a path above it.
    pub(crate) fn token(&self, url: &Url) -> Option<&str> {
        let host = url.host_str()?;
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let place = format!("{host}{port}{}", url.path());
        let above =
            |known: &str| place.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.tokens.iter().find(|(known, _)| above(known)).map(|(_, token)| token.as_str())
    }
}

impl std::fmt::Debug for Settings {
    /// Leaves out the tokens.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("registry", &self.registry.as_str()).finish_non_exhaustive()
    }
}

/// An address over HTTP that ends with a slash.
fn address(text: &str) -> Option<Url> {
    let text = text.trim();
    let text = if text.ends_with('/') { text.to_owned() } else { format!("{text}/") };
    Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some())
}

/// `${NAME}` filled in.
fn filled(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        let Some((name, after)) = behind.split_once('}') else { break };
        whole.push_str(before);
        whole.push_str(&variable(name).unwrap_or_default());
        rest = after;
    }
    whole + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn npms_own_settings_are_followed() {
        let home = tempfile::tempdir().unwrap();
        let none = |_: &str| None;
        assert_eq!(Settings::find(home.path(), &none).registry("a").as_str(), DEFAULT);
        let text = "; mine\nregistry = https://r.example/npm\n@s:registry=http://127.0.0.1:9\n//r.example/npm/:_authToken=${T}\n";
        std::fs::write(home.path().join(".npmrc"), text).unwrap();
        let variable = |name: &str| (name == "T").then(|| "secret".to_owned());
        let settings = Settings::find(home.path(), &variable);
        assert_eq!(settings.registry("a").as_str(), "https://r.example/npm/");
        assert_eq!(settings.registry("@s/a").as_str(), "http://127.0.0.1:9/");
        let token = |url: &str| settings.token(&Url::parse(url).unwrap()).map(str::to_owned);
        assert_eq!(token("https://r.example/npm/a").as_deref(), Some("secret"));
        assert_eq!((token("https://r.example/npmx"), token("https://r.example.evil/npm/")), (None, None));
        assert!(!format!("{settings:?}").contains("secret"));
        let over = |name: &str| (name == "NPM_CONFIG_REGISTRY").then(|| "http://127.0.0.1:8".to_owned());
        assert_eq!(Settings::find(home.path(), &over).registry("a").as_str(), "http://127.0.0.1:8/");
    }
}
