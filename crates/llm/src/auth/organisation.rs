//! What an organisation says at a well-known address: how its people get a token, and the settings that they share.
//!
//! `GET URL/.well-known/opencode` gives `{"auth": {"command": [..], "env": "NAME"}, "config": {..}}`. The command is run
//! only after a person has seen it; that is not done here.

use http::Request;
use http::header::{ACCEPT, LOCATION};
use reqwest::Url;
use serde_json::Value;

use super::{AuthError, Context, is_loopback, shown};

/// Where it stands, below the organisation's address.
const PATH: &str = "/.well-known/opencode";

/// Most redirects within the same server.
const MAX_REDIRECTS: usize = 5;

/// Most words of a command, and most bytes of all of them.
const MAX_COMMAND: (usize, usize) = (64, 8 * 1024);

/// What an organisation says.
#[derive(Debug, Clone, PartialEq)]
pub struct Organisation {
    /// Its address, without a slash at the end: the name under which its token is kept.
    pub url: String,
    /// The program that prints a token, and its arguments. Foreign text.
    pub command: Vec<String>,
    /// The variable in which programs look for the token.
    pub variable: String,
    /// The settings, an object. Foreign text.
    pub config: Value,
    /// Whether it points to further settings elsewhere, which are not fetched.
    pub points_elsewhere: bool,
}

/// The address of an organisation, if `text` is one: with https, or on this machine.
///
/// # Errors
///
/// What is wrong with it.
pub fn address(text: &str) -> Result<Url, AuthError> {
    let wrong =
        |why: &str| AuthError::Setup(format!("the address of an organisation {why}, such as https://example.com"));
    let url = Url::parse(text.trim_end_matches('/')).map_err(|error| wrong(&format!("is one ({error})")))?;
    if url.scheme() != "https" && !is_loopback(&url) {
        return Err(wrong("begins with https://"));
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("has no user, no query and no #"));
    }
    Ok(url)
}

/// Asks the organisation at `url`.
///
/// # Errors
///
/// When it cannot be reached, points to another server, or does not say what it should.
pub async fn fetch(url: &Url, context: &Context) -> Result<Organisation, AuthError> {
    let base = url.as_str().trim_end_matches('/').to_owned();
    let first = Url::parse(&format!("{base}{PATH}")).map_err(|error| AuthError::Setup(error.to_string()))?;
    let mut asked = first.clone();
    for _ in 0..=MAX_REDIRECTS {
        let request = Request::get(asked.as_str()).header(ACCEPT, "application/json").body(Vec::new());
        let answer = context.send(request.map_err(|error| AuthError::Setup(error.to_string()))?).await?;
        if answer.status().is_redirection() {
            let target = answer.headers().get(LOCATION).and_then(|target| target.to_str().ok());
            let target = target.and_then(|target| asked.join(target).ok());
            let same = |target: &Url| target.origin() == first.origin();
            asked = target.filter(same).ok_or_else(|| AuthError::Refused {
                at: shown(&asked),
                message: "it points to another server; sign in to that one if you trust it".to_owned(),
            })?;
            continue;
        }
        if answer.status().as_u16() != 200 {
            let message = format!("status {}", answer.status().as_u16());
            return Err(AuthError::Refused { at: shown(&asked), message });
        }
        let found = serde_json::from_slice(answer.body()).ok().and_then(|said| read(base.clone(), &said));
        let wanted = "an organisation's {\"auth\": {\"command\", \"env\"}, \"config\"}";
        return found.ok_or_else(|| AuthError::Malformed { at: shown(&asked), wanted });
    }
    Err(AuthError::Refused { at: shown(&asked), message: "it only points to itself".to_owned() })
}

/// What `said` means. Pure.
fn read(url: String, said: &Value) -> Option<Organisation> {
    let auth = &said["auth"];
    let words = auth["command"].as_array()?.iter().map(|word| word.as_str().map(str::to_owned));
    let command: Vec<String> = words.collect::<Option<_>>()?;
    let (most, bytes) = MAX_COMMAND;
    let long = command.len() > most || command.iter().map(String::len).sum::<usize>() > bytes;
    let odd = command.iter().any(|word| word.contains('\0'));
    if long || odd || command.first().is_none_or(String::is_empty) {
        return None;
    }
    let variable = auth["env"].as_str().filter(|name| is_variable(name))?.to_owned();
    let config = match said.get("config") {
        None | Some(Value::Null) => Value::Object(serde_json::Map::new()),
        Some(config @ Value::Object(_)) => config.clone(),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => return None,
    };
    let points_elsewhere = said.get("remote_config").is_some_and(|remote| !remote.is_null());
    Some(Organisation { url, command, variable, config, points_elsewhere })
}

/// Whether `name` can be the variable of a token. What says how programs run is none.
pub fn is_variable(name: &str) -> bool {
    let plain = name.len() <= 128
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.bytes().next().is_none_or(|first| first.is_ascii_digit());
    let upper = name.to_ascii_uppercase();
    let ours = ["HAFT_", "OPENCODE_", "XDG_", "LD_", "DYLD_"].iter().any(|start| upper.starts_with(start));
    let others = ["PATH", "HOME", "SHELL", "USER", "NO_PROXY"].contains(&upper.as_str()) || upper.ends_with("_PROXY");
    plain && !ours && !others
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_address_is_one_of_a_server() {
        for (text, want) in [
            ("https://example.com", "https://example.com/"),
            ("https://example.com/team//", "https://example.com/team"),
            ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/"),
        ] {
            assert_eq!(address(text).unwrap().as_str(), want);
        }
        for wrong in [
            "example.com",
            "http://example.com",
            "https://u:p@example.com",
            "https://example.com?x",
            "file:///etc",
            "https://a#b",
            "",
        ] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_an_organisation_says_is_whole_or_nothing() {
        let said = |auth: Value| read("u".to_owned(), &json!({"auth": auth, "config": {"model": "a/b"}}));
        let found = said(json!({"command": ["login", "--now"], "env": "TOKEN"})).unwrap();
        assert_eq!((found.command, found.variable), (vec!["login".to_owned(), "--now".to_owned()], "TOKEN".to_owned()));
        assert_eq!(found.config, json!({"model": "a/b"}));
        for wrong in [
            json!({"command": [], "env": "T"}),
            json!({"command": [""], "env": "T"}),
            json!({"command": "login", "env": "T"}),
            json!({"command": ["a", 1], "env": "T"}),
            json!({"command": ["a\u{0}b"], "env": "T"}),
            json!({"command": vec!["a"; 65], "env": "T"}),
            json!({"command": ["a".repeat(9000)], "env": "T"}),
            json!({"command": ["a"]}),
            json!({"command": ["a"], "env": "PATH"}),
            json!({"command": ["a"], "env": "A B"}),
        ] {
            assert_eq!(said(wrong.clone()), None, "{wrong}");
        }
        let auth = json!({"command": ["a"], "env": "T"});
        assert_eq!(read(String::new(), &json!({"auth": auth, "config": [1]})), None);
        assert!(read(String::new(), &json!({"auth": auth, "remote_config": {"url": "x"}})).unwrap().points_elsewhere);
    }

    #[test]
    fn a_token_has_a_variable_of_its_own() {
        for fine in ["TOKEN", "my_org_token", "_T1"] {
            assert!(is_variable(fine), "{fine}");
        }
        for wrong in
            ["", "1T", "A-B", "PATH", "home", "HTTPS_PROXY", "HAFT_TRUST", "opencode_config", "LD_PRELOAD", "A=B"]
        {
            assert!(!is_variable(wrong), "{wrong}");
        }
    }
}
