//! Text that may leave the machine: without keys, and without who wrote it.

mod blocks;
mod keys;
mod lines;
mod named;
mod span;
mod who;
mod words;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value};

pub(crate) use self::named::is_secret_variable;
pub(crate) use self::who::names;

use self::named::is_secret_heading;
use self::span::{KEY, Spot, places, without};
use self::words::is_telling;

/// What stands for the name of the user.
const USER: &str = "[user]";
/// Shortest text that is taken out because it is a secret.
const MIN_SECRET: usize = 6;
/// Fewest digits of a number that is a secret.
const MIN_DIGITS: usize = 4;
/// Most secrets that are looked for wherever they stand.
const MAX_LEARNED: usize = 2000;
/// Fields of records that say how these belong together: what stands there is made by haft, or has to stay for a replay.
const FRAME: [&str; 17] = [
    "id",
    "sessionID",
    "messageID",
    "parentID",
    "callID",
    "projectID",
    "providerID",
    "modelID",
    "type",
    "role",
    "status",
    "tool",
    "agent",
    "mode",
    "finish",
    "hash",
    "mime",
];
/// Fields of records below which nothing belongs to their frame.
const CONTENTS: [&str; 6] = ["input", "metadata", "structured", "files", "data", "format"];

/// What is taken out.
#[derive(Debug, Default, Clone)]
pub(crate) struct Redact {
    known: Vec<Known>,
}

/// A text that is taken out wherever it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    text: String,
    instead: &'static str,
    /// Only where it is no part of another word.
    word: bool,
}

impl Redact {
    /// Takes out `secrets`, the `names` of who and where this user is, and where they are at `home`.
    pub(crate) fn new(
        secrets: impl IntoIterator<Item = String>,
        home: &Path,
        names: impl IntoIterator<Item = String>,
    ) -> Self {
        let secrets = secrets.into_iter().filter(|secret| secret.len() >= MIN_SECRET);
        let mut known: Vec<Known> = secrets.map(|text| Known { text, instead: KEY, word: false }).collect();
        if home.parent().is_some() {
            known.push(Known { text: home.display().to_string(), instead: "~", word: true });
        }
        known.extend(names.into_iter().map(|text| Known { text, instead: USER, word: true }));
        let mut redact = Self { known };
        redact.sort();
        redact
    }

    /// The longest first, so that what is part of another one does not leave the rest of it.
    fn sort(&mut self) {
        self.known.sort_by_key(|known| (std::cmp::Reverse(known.text.len()), known.text.clone()));
        self.known.dedup();
    }

    /// Also takes out, wherever it stands, what is told to be a secret anywhere in `value`.
    pub(crate) fn learn(&mut self, value: &Value) {
        let mut found = BTreeSet::new();
        learned(value, false, &mut found);
        let found = found.into_iter().filter(|text| is_telling(text)).take(MAX_LEARNED);
        self.known.extend(found.map(|text| Known { text, instead: KEY, word: true }));
        self.sort();
    }

    /// `value` with all texts in it redacted, also the names of fields. It is a record, or has some in it: what these are held
    /// together by stays.
    pub(crate) fn value(&self, value: &Value) -> Value {
        self.within(value, true, false)
    }

    fn within(&self, value: &Value, in_frame: bool, is_secret: bool) -> Value {
        match value {
            Value::String(text) if is_secret && !text.is_empty() => KEY.into(),
            Value::Number(number) if is_secret && number.to_string().len() >= MIN_DIGITS => KEY.into(),
            Value::String(text) => self.text(text).into(),
            Value::Array(list) => self.list(list, in_frame, is_secret),
            Value::Object(fields) => {
                let field = |(name, value): (&String, &Value)| {
                    if in_frame && FRAME.contains(&name.as_str()) && value.as_str().is_some_and(is_one_word) {
                        return (name.clone(), value.clone());
                    }
                    let is_frame = in_frame && !CONTENTS.contains(&name.as_str());
                    (self.text(name), self.within(value, is_frame, is_secret || is_secret_heading(name)))
                };
                fields.iter().map(field).collect::<Map<_, _>>().into()
            }
            other => other.clone(),
        }
    }

    /// A list, which may be a command line.
    fn list(&self, list: &[Value], in_frame: bool, is_secret: bool) -> Value {
        let behind = flagged(list);
        list.iter().zip(behind).map(|(one, flagged)| self.within(one, in_frame, is_secret || flagged)).collect()
    }

    /// `text` without secrets, addresses of people, and the names of this user and of their home.
    pub(crate) fn text(&self, text: &str) -> String {
        if text.starts_with("data:") && text.len() > 200 {
            return format!("data:[{} bytes left out]", text.len());
        }
        let mut spots = spots(text);
        for Known { text: known, instead, word } in self.known.iter().filter(|known| known.instead != USER) {
            let spot = |range| Spot { range, instead, spreads: false };
            match word {
                true => spots.extend(places(text, known).map(spot)),
                false => spots.extend(text.match_indices(known.as_str()).map(|(at, _)| spot(at..at + known.len()))),
            }
        }
        // Behind addresses, which often begin with it.
        let text = without(text, spots);
        let names = self.known.iter().filter(|known| known.instead == USER);
        let spots = names.flat_map(|known| places(&text, &known.text));
        without(&text, spots.map(|range| Spot { range, instead: USER, spreads: false }).collect())
    }
}

/// Whether `text` is a word as ids and kinds are, and no path.
fn is_one_word(text: &str) -> bool {
    text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.:".contains(letter))
}

/// What is a secret in `text` by itself.
fn spots(text: &str) -> Vec<Spot> {
    [keys::spots, named::spots, blocks::spots, lines::spots].into_iter().flat_map(|look| look(text)).collect()
}

/// For each of `list` whether it stands behind a flag that says that it is a secret.
fn flagged(list: &[Value]) -> impl Iterator<Item = bool> + '_ {
    let is_flag = |one: &Value| one.as_str().is_some_and(lines::is_secret_flag);
    let starts = |one: &Value| one.as_str().is_some_and(|text| text.starts_with('-'));
    let behind = list.windows(2).map(move |two| is_flag(&two[0]) && !starts(&two[1]));
    std::iter::once(false).chain(behind)
}

/// Gathers what is told to be a secret in `value`.
fn learned(value: &Value, is_secret: bool, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if is_secret => {
            found.insert(text.clone());
        }
        Value::String(text) => {
            let secrets = spots(text).into_iter().filter(|spot| spot.spreads);
            found.extend(secrets.map(|spot| text[spot.range].to_owned()));
            // The same as text.
            if text.starts_with(['{', '['])
                && let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text)
            {
                learned(&value, false, found);
            }
        }
        Value::Array(list) => {
            list.iter().zip(flagged(list)).for_each(|(one, flagged)| learned(one, is_secret || flagged, found));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| learned(value, is_secret || is_secret_heading(name), found));
        }
        Value::Number(number) if is_secret => {
            found.insert(number.to_string());
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn redact() -> Redact {
        let names = ["ada", "Ada Lovelace", "ada@analytical", "engine-1"].map(str::to_owned);
        Redact::new(["my-vault-key".to_owned()], Path::new("/home/ada"), names)
    }

    #[test]
    fn keys_and_names_go() {
        let row = |text: &str, want: &str| assert_eq!(redact().text(text), want, "{text}");
        row("in /home/ada/p by ada, not by adamant", "in ~/p by [user], not by adamant");
        row("in /home/adam", "in /home/adam");
        row("Ada Lovelace <ada@analytical> on engine-1", "[user] <[user]> on [user]");
        row("key my-vault-key.", "key [key].");
        row("export OPENAI_API_KEY=sk-abcdefghij0123456789", "export OPENAI_API_KEY=[key]");
        row("see sk-abcdefghij0123456789", "see [key]");
        row("ghp_abcdefghijklmnopqrstuvwxyz", "[key]");
        row("Authorization: Bearer abcdefgh12", "Authorization: Bearer [key]");
        row("curl -H 'X-Any: Bearer abcdefgh1234'", "curl -H 'X-Any: Bearer [key]'");
        row(r#"{"password": "hunter22"}"#, r#"{"password": "[key]"}"#);
        row(r#"{"password": "a\"b", "x": 1}"#, r#"{"password": "[key]", "x": 1}"#);
        row(r#""{\"password\": \"two words\", \"x\": 1}""#, r#""{\"password\": \"[key]\", \"x\": 1}""#);
        row(r#"{"password": 123456, "x": 1}"#, r#"{"password": "[key]", "x": 1}"#);
        row("db_password=hunter22 port=5432", "db_password=[key] port=5432");
        row("password: a,b;c\nport: 5432", "password: [key]\nport: 5432");
        row("passphrase: correct horse battery", "passphrase: [key]");
        row("https://x.org/?token=abcdef12&a=1", "https://x.org/?token=[key]&a=1");
        row("write to ada.l@example.org now", "write to [mail] now");
        row("DATABASE_URL=postgres://bob:Sup3rPw99@db:5432/x", "DATABASE_URL=postgres://[key]@db:5432/x");
        row("REDIS_URL=redis://:pw@cache/0", "REDIS_URL=redis://[key]@cache/0");
        row("DB_PASS=a!b\nAWS_SECRET_ACCESS_KEY=wJalr/K7\nA=1", "DB_PASS=[key]\nAWS_SECRET_ACCESS_KEY=[key]\nA=1");
        row("SECRET_KEY_BASE=0123 ENCRYPTION_KEY='two words' x", "SECRET_KEY_BASE=[key] ENCRYPTION_KEY='[key]' x");
        row("DEPLOY_KEY=$OTHER_KEY; PASSWORD=\"p@ss w0rd\"", "DEPLOY_KEY=$OTHER_KEY; PASSWORD=\"[key]\"");
        row("password: \"two words\" and more", "password: \"[key]\" and more");
        row("AbCdEfGh0123456789AbCdEfGh0123456789", "[key]");
        row("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nx", "[key]\nx");
    }

    #[test]
    fn secrets_on_command_lines_go() {
        let row = |text: &str, want: &str| assert_eq!(redact().text(text), want, "{text}");
        row("deploy --password hunter22 --to x", "deploy --password [key] --to x");
        row("deploy --token x", "deploy --token [key]");
        row("deploy --api-key=x7 y", "deploy --api-key=[key] y");
        row("deploy --token='two words' y", "deploy --token='[key]' y");
        row("deploy --password \\\n  hunter22", "deploy --password \\\n  [key]");
        row("deploy --password '$ecret' x", "deploy --password '[key]' x");
        row(r#"["deploy", "--token", "abc123"]"#, r#"["deploy", "--token", "[key]"]"#);
        row("(run `deploy --auth-token abc123`)", "(run `deploy --auth-token [key]`)");
        row("mysql -u root -phunter22 db", "mysql -u root -p[key] db");
        row("/usr/bin/mysqldump -p'two words' db", "/usr/bin/mysqldump -p'[key]' db");
        row("mysql -u root -p hunter22", "mysql -u root -p [key]");
        row("sshpass -p hunter22 ssh -p 22 x", "sshpass -p [key] ssh -p 22 x");
        row("docker login -u bob -p hunter22", "docker login -u bob -p [key]");
        row("curl -u bob:hunter22 https://x.org", "curl -u bob:[key] https://x.org");
        row("machine h login y password z", "machine h login y password [key]");
        row(
            "1: machine h\n2:   login y\n3:   password hunter22\n",
            "1: machine h\n2:   login y\n3:   password [key]\n",
        );
        row("default login y password a!b", "default login y password [key]");
    }

    #[test]
    fn values_below_their_names_go() {
        let row = |text: &str, want: &str| assert_eq!(redact().text(text), want, "{text}");
        row("secret: |\n  one\n  two\nport: 1", "secret: |\n  [key]\n  [key]\nport: 1");
        row("a:\n  api_key: >-\n    one\n\n    two\n  port: 1", "a:\n  api_key: >-\n    [key]\n\n    [key]\n  port: 1");
        row("password:\n  hunter22\nport: 1", "password:\n  [key]\nport: 1");
        row(
            "secrets:\n  db: abc\n  mail:\n    smtp: 'x y'\nport: 1",
            "secrets:\n  db: [key]\n  mail:\n    smtp: '[key]'\nport: 1",
        );
        row("credentials:\n- abc1\n- def2", "credentials:\n- abc1\n- def2");
        row("credentials:\n  - abc1\n  - def2", "credentials:\n  - [key]\n  - [key]");
        row("- secret: |\n    one\n  port: 1", "- secret: |\n    [key]\n  port: 1");
        row("1: secret: |\n2:   one\n3: port: 1", "1: secret: |\n2:   [key]\n3: port: 1");
        row("+secret: |\n+  one\n+port: 1", "+secret: |\n+  [key]\n+port: 1");
    }

    #[test]
    fn what_is_no_secret_stays() {
        let row = |text: &str| assert_eq!(redact().text(text), text);
        row("a token is a word; tokens: 123456789, max_tokens=4096");
        row("Enter the password, then the token: both are needed");
        row("The --token flag is required, --password is not; --no-password asks");
        row("  --token TOKEN     the token\n  --password <password>  the password");
        row("deploy --password \"$PASSWORD\" --token=${TOKEN}");
        row("--password-stdin and --token-file x.txt");
        row("mkdir -p hunter22 && ssh -p 22 x; cp -pr a b; docker run -p 80:80 x");
        row("mysql -u root -p");
        row("this machine is default, login and password are asked for");
        row("see https://example.org/a:b@c");
        row("sort_key = 'name'; let key = map[\"a\"];");
        row("let token = parser.next_token(); fn new(token: String, secret: Option<u8>)");
        row("password: string;\n  token?: string\n  secret: required");
        row("f(password=user.password, token=access_token)");
        row("password:\n  type: string\n  description: the word");
        row("secrets:\n  never commit these to git\n  db:\n    file: ./db.txt\n    external: true");
        row("if token:\n    go()\n");
        row("commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad");
        row("ses_ffe5dfc516cdeffeDn8wYAEJ52VB6r in trees/task_h01a20af1c284001B7qRRUUXNuzxX5/a.rs");
        row("fn main() { let a = b + c; }");
        row("Token::new(a) and secret::Key and password == \"\"");
    }

    #[test]
    fn values_are_redacted_at_any_depth() {
        let row = |value: Value, want: Value| assert_eq!(redact().value(&value), want);
        row(
            json!({"apiKey": "short", "headers": {"x-token": "abc"}, "list": ["/home/ada/x", 1], "tokens": {"input": 3}}),
            json!({"apiKey": "[key]", "headers": {"x-token": "[key]"}, "list": ["~/x", 1], "tokens": {"input": 3}}),
        );
        row(
            json!({"secrets": {"db": "abc", "port": 1}, "password": 1234}),
            json!({"secrets": {"db": "[key]", "port": 1}, "password": "[key]"}),
        );
        row(json!(["x", "--token", "abc", "--token", "-v"]), json!(["x", "--token", "[key]", "--token", "-v"]));
        let long = "AbCdEfGh0123456789AbCdEfGh0123456789";
        row(json!({"callID": long, "input": {"id": long}}), json!({"callID": long, "input": {"id": "[key]"}}));
        let picture = format!("data:image/png;base64,{}", "A".repeat(400));
        assert_eq!(redact().text(&picture), format!("data:[{} bytes left out]", picture.len()));
    }

    #[test]
    fn what_is_a_secret_once_goes_everywhere() {
        let row = |told: Value, text: &str, want: &str| {
            let mut redact = redact();
            redact.learn(&json!([told, text]));
            assert_eq!(redact.text(text), want, "{told}");
        };
        row(json!("password: hunter22"), "it is hunter22, or \"hunter22\".", "it is [key], or \"[key]\".");
        row(json!("password: hunter22"), "hunter223 is another", "hunter223 is another");
        row(json!({"db_password": "swordfish"}), "say swordfish", "say [key]");
        row(json!("{\"secrets\": {\"db\": \"x1y2z3\"}}"), "a\\nx1y2z3\\nb", "a\\n[key]\\nb");
        row(json!("secret: |\n  abc-def\n"), "abc-def", "[key]");
        row(json!("mysql -phunter22 x"), "hunter22", "[key]");
        row(json!("postgres://bob:Sup3rPw99@db/x"), "Sup3rPw99", "[key]");
        row(json!("machine h login y password hunter22"), "hunter22", "[key]");
        row(json!(["--token", "abc123"]), "abc123", "[key]");
        row(json!({"password": "short"}), "not for short words", "not for short words");
        row(json!({"password": "password", "token": "Required"}), "password required", "password required");
        row(json!({"token": "/etc/tokens"}), "see /etc/tokens", "see /etc/tokens");
    }
}
