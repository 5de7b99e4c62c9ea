//! What servers gave: `mcp-auth.json`, in OpenCode's form. What is not understood in it is kept as it is.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use haft_vault::own;
use serde_json::{Map, Value, json};

use super::OAuthError;

/// Longest file, in bytes.
pub const MAX_FILE: u64 = 1024 * 1024;

/// Most servers whose tokens are kept.
pub const MAX_KEPT: usize = 500;

/// The file. A handle, cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    path: PathBuf,
}

/// What a server gave. It does not print.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// The address that it was given for.
    pub url: String,
    /// The tokens.
    pub tokens: Option<Tokens>,
    /// Who we are there.
    pub client: Option<Client>,
    /// Who signs people in there.
    pub issuer: Option<String>,
    /// What it said when it last refused a request: what is to be asked for next.
    pub challenge: Option<String>,
}

/// Tokens.
#[derive(Clone, PartialEq, Eq)]
pub struct Tokens {
    /// What is shown.
    pub access: String,
    /// What gets new ones.
    pub refresh: Option<String>,
    /// When the first ends, in seconds of Unix time; `None`: nobody said.
    pub expires: Option<u64>,
    /// What they allow, its words apart by blanks.
    pub scope: Option<String>,
}

/// Who we are to a server.
#[derive(Clone, PartialEq, Eq)]
pub struct Client {
    /// The name.
    pub id: String,
    /// The proof.
    pub secret: Option<String>,
    /// When the proof ends, in seconds of Unix time; `None` or 0: never.
    pub secret_expires: Option<u64>,
}

/// Whether one is signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Yes, or it can be made so without the person.
    Authenticated,
    /// The tokens have run out, and nothing gets new ones.
    Expired,
    /// No.
    NotAuthenticated,
}

impl State {
    /// The word that programs read.
    pub fn word(self) -> &'static str {
        match self {
            State::Authenticated => "authenticated",
            State::Expired => "expired",
            State::NotAuthenticated => "not_authenticated",
        }
    }
}

impl Kept {
    /// Whether one is signed in at `now`, in seconds of Unix time.
    pub fn state(&self, now: u64) -> State {
        match &self.tokens {
            None => State::NotAuthenticated,
            Some(Tokens { refresh: None, expires: Some(expires), .. }) if *expires <= now => State::Expired,
            Some(_) => State::Authenticated,
        }
    }
}

impl Client {
    /// Whether the proof still holds at `now`, in seconds of Unix time.
    pub(super) fn holds(&self, now: u64) -> bool {
        self.secret_expires.is_none_or(|expires| expires == 0 || expires > now)
    }
}

/// Seconds of Unix time.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

impl Store {
    /// The file at `path`; neither it nor its folder need be there yet.
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// What the server called `name` gave, as long as it is still at `url`.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, belongs to others, or is no JSON object.
    pub fn get(&self, name: &str, url: &str) -> Result<Option<Kept>, OAuthError> {
        Ok(self.read()?.get(name).map(understood).filter(|kept| kept.url == url))
    }

    /// All that is kept, by the names of the servers.
    ///
    /// # Errors
    ///
    /// Those of [`Store::get`].
    pub fn all(&self) -> Result<Vec<(String, Kept)>, OAuthError> {
        Ok(self.read()?.iter().map(|(name, value)| (name.clone(), understood(value))).collect())
    }

    /// Keeps what the server called `name` gave.
    ///
    /// # Errors
    ///
    /// Those of [`Store::get`], and when it cannot be written.
    pub fn put(&self, name: &str, kept: &Kept) -> Result<(), OAuthError> {
        self.change(|all| {
            if all.len() >= MAX_KEPT && !all.contains_key(name) {
                return Err(format!("{MAX_KEPT} servers are in it; haft mcp logout forgets one"));
            }
            write(all.entry(name).or_insert_with(|| json!({})), kept);
            Ok(())
        })
    }

    /// Forgets what the server called `name` gave; says whether there was anything.
    ///
    /// # Errors
    ///
    /// Those of [`Store::put`].
    pub fn forget(&self, name: &str) -> Result<bool, OAuthError> {
        let mut was = false;
        self.change(|all| {
            was = all.shift_remove(name).is_some();
            Ok(())
        })?;
        Ok(was)
    }

    /// The names that [`Store::take_over`] would give now.
    ///
    /// # Errors
    ///
    /// Those of [`Store::get`].
    pub fn look_over(&self, theirs: &Path) -> Result<Vec<String>, OAuthError> {
        let (mine, theirs) = (self.read()?, Self::theirs(theirs)?);
        let room = MAX_KEPT.saturating_sub(mine.len());
        Ok(theirs.into_iter().map(|(name, _)| name).filter(|name| !mine.contains_key(name)).take(room).collect())
    }

    /// What OpenCode keeps in the file at `path` that is of use.
    fn theirs(path: &Path) -> Result<Map<String, Value>, OAuthError> {
        let mut all = Store::at(path.to_owned()).read()?;
        all.retain(|_, value| value.is_object());
        Ok(all)
    }

    /// Takes over what OpenCode keeps in the file at `theirs`, for servers that nothing is kept for; gives their names.
    ///
    /// # Errors
    ///
    /// Those of [`Store::put`].
    pub fn take_over(&self, theirs: &Path) -> Result<Vec<String>, OAuthError> {
        let theirs = Self::theirs(theirs)?;
        let mut taken = Vec::new();
        if theirs.is_empty() {
            return Ok(taken);
        }
        self.change(|all| {
            for (name, value) in theirs {
                if all.len() < MAX_KEPT && !all.contains_key(&name) {
                    all.insert(name.clone(), value);
                    taken.push(name);
                }
            }
            Ok(())
        })?;
        Ok(taken)
    }

    /// Holds the right to get new tokens for the server called `name`, so that no two processes use up one refresh token.
    pub(super) fn hold(&self) -> Result<File, OAuthError> {
        let file = self.beside("refresh.lock")?;
        own::lock(&file).map_err(|error| self.failed(&error))?;
        Ok(file)
    }

    fn change(&self, change: impl FnOnce(&mut Map<String, Value>) -> Result<(), String>) -> Result<(), OAuthError> {
        let lock = self.beside("lock")?;
        own::lock(&lock).map_err(|error| self.failed(&error))?;
        let before = self.read()?;
        let mut after = before.clone();
        change(&mut after).map_err(|why| self.failed(&why))?;
        if after == before {
            return Ok(());
        }
        let text = format!("{:#}\n", Value::Object(after));
        if text.len() as u64 > MAX_FILE {
            return Err(self.failed(&format!("it would have more than {MAX_FILE} bytes")));
        }
        own::replace(&self.path, text.as_bytes()).map_err(|error| self.failed(&error))
    }

    fn read(&self) -> Result<Map<String, Value>, OAuthError> {
        let file = match own::open(&self.path, OpenOptions::new().read(true)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Map::new()),
            opened => opened.map_err(|error| self.failed(&error))?,
        };
        let mut text = Vec::new();
        file.take(MAX_FILE + 1).read_to_end(&mut text).map_err(|error| self.failed(&error))?;
        if text.len() as u64 > MAX_FILE {
            return Err(self.failed(&format!("it has more than {MAX_FILE} bytes")));
        }
        let read = serde_json::from_slice(&text);
        read.map_err(|error| self.failed(&format!("{error}; mend it or move it away, and sign in again")))
    }

    /// A file beside this one to lock, in a folder that is made if needed.
    fn beside(&self, ending: &str) -> Result<File, OAuthError> {
        let made = self.path.parent().map_or(Ok(()), own::folder);
        made.map_err(|error| self.failed(&error))?;
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!(".{ending}"));
        let opened = own::open(Path::new(&name), OpenOptions::new().create(true).truncate(false).write(true));
        opened.map_err(|error| self.failed(&error))
    }

    pub(super) fn failed(&self, why: &dyn std::fmt::Display) -> OAuthError {
        OAuthError::Store { path: self.path.display().to_string(), why: why.to_string() }
    }
}

fn understood(value: &Value) -> Kept {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    // OpenCode writes fractions of a second.
    let number = |value: &Value, key: &str| value.get(key).and_then(Value::as_f64).map(|seconds| seconds as u64);
    let tokens = value.get("tokens").and_then(|tokens| {
        Some(Tokens {
            access: text(tokens, "accessToken")?,
            refresh: text(tokens, "refreshToken"),
            expires: number(tokens, "expiresAt"),
            scope: text(tokens, "scope"),
        })
    });
    let client = value.get("clientInfo").and_then(|client| {
        Some(Client {
            id: text(client, "clientId")?,
            secret: text(client, "clientSecret"),
            secret_expires: number(client, "clientSecretExpiresAt"),
        })
    });
    Kept {
        url: text(value, "serverUrl").unwrap_or_default(),
        tokens,
        client,
        issuer: text(value, "issuer"),
        challenge: text(value, "challenge"),
    }
}

/// Writes `kept` into `value`, whose other fields stay.
fn write(value: &mut Value, kept: &Kept) {
    if !value.is_object() {
        *value = json!({});
    }
    let tokens = kept.tokens.as_ref().map(|tokens| {
        json!({
            "accessToken": tokens.access,
            "refreshToken": tokens.refresh,
            "expiresAt": tokens.expires,
            "scope": tokens.scope,
        })
    });
    let client = kept.client.as_ref().map(|client| {
        json!({
            "clientId": client.id,
            "clientSecret": client.secret,
            "clientSecretExpiresAt": client.secret_expires,
        })
    });
    set(value, "tokens", tokens);
    set(value, "clientInfo", client);
    set(value, "issuer", kept.issuer.clone().map(Value::from));
    set(value, "challenge", kept.challenge.clone().map(Value::from));
    set(value, "serverUrl", Some(kept.url.clone().into()));
}

/// Sets `key`, without what is left out in `part`; nothing takes it away.
fn set(value: &mut Value, key: &str, part: Option<Value>) {
    let Some(fields) = value.as_object_mut() else { return };
    match part {
        None => drop(fields.shift_remove(key)),
        Some(Value::Object(part)) => {
            let filled: Map<_, _> = part.into_iter().filter(|(_, value)| !value.is_null()).collect();
            fields.insert(key.to_owned(), Value::Object(filled));
        }
        Some(part) => drop(fields.insert(key.to_owned(), part)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn kept(url: &str) -> Kept {
        Kept {
            url: url.to_owned(),
            tokens: Some(Tokens {
                access: "a1".to_owned(),
                refresh: Some("r1".to_owned()),
                expires: Some(1000),
                scope: Some("read write".to_owned()),
            }),
            client: Some(Client { id: "c1".to_owned(), secret: None, secret_expires: None }),
            issuer: Some("https://sign.example".to_owned()),
            challenge: None,
        }
    }

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path().join("data/mcp-auth.json"));
        (folder, store)
    }

    #[test]
    fn what_is_put_is_got_for_the_same_address_alone() {
        let (_folder, store) = store();
        assert!(store.get("s", "https://s.example/mcp").unwrap().is_none());
        store.put("s", &kept("https://s.example/mcp")).unwrap();
        assert!(store.get("s", "https://s.example/mcp").unwrap() == Some(kept("https://s.example/mcp")));
        assert!(store.get("s", "https://evil.example/mcp").unwrap().is_none(), "another server gets no token of it");
        assert_eq!(std::fs::metadata(&store.path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(store.forget("s").unwrap() && !store.forget("s").unwrap());
        assert!(store.all().unwrap().is_empty());
    }

    #[test]
    fn opencodes_file_is_read_and_what_is_unknown_in_it_stays() {
        let (_folder, store) = store();
        let theirs = json!({ "s": {
            "tokens": { "accessToken": "a", "expiresAt": 12.75 },
            "clientInfo": { "clientId": "c", "clientSecret": "x", "clientSecretExpiresAt": 0 },
            "codeVerifier": "v",
            "serverUrl": "https://s.example",
        } });
        let path = store.path.with_file_name("theirs.json");
        own::folder(path.parent().unwrap()).unwrap();
        own::replace(&path, theirs.to_string().as_bytes()).unwrap();
        assert_eq!(store.take_over(&path).unwrap(), ["s"]);
        assert!(store.take_over(&path).unwrap().is_empty(), "what is ours stays");
        let mut kept = store.get("s", "https://s.example").unwrap().unwrap();
        assert!(kept.client.as_ref().is_some_and(|client| client.holds(99)));
        assert_eq!(kept.state(12), State::Expired);
        kept.tokens = None;
        store.put("s", &kept).unwrap();
        let text = std::fs::read_to_string(&store.path).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["s"]["codeVerifier"], "v");
        assert!(value["s"].get("tokens").is_none(), "{text}");
    }

    #[test]
    fn one_is_signed_in_as_long_as_something_gets_new_tokens() {
        let state = |change: &dyn Fn(&mut Kept), now: u64| {
            let mut kept = kept("u");
            change(&mut kept);
            kept.state(now).word()
        };
        let no_refresh = |kept: &mut Kept| kept.tokens.as_mut().unwrap().refresh = None;
        assert_eq!(state(&|_| {}, 2000), "authenticated");
        assert_eq!(state(&no_refresh, 999), "authenticated");
        assert_eq!(state(&no_refresh, 1000), "expired");
        assert_eq!(state(&|kept| kept.tokens = None, 0), "not_authenticated");
    }

    #[test]
    fn a_file_that_cannot_be_made_out_is_told_of_and_left() {
        let (_folder, store) = store();
        own::folder(store.path.parent().unwrap()).unwrap();
        own::replace(&store.path, b"[1]").unwrap();
        let told = store.put("s", &kept("u")).unwrap_err().to_string();
        assert!(told.contains("mcp-auth.json") && told.contains("sign in again"), "{told}");
        assert_eq!(std::fs::read(&store.path).unwrap(), b"[1]");
    }
}
