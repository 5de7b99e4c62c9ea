//! Text that may leave the machine: without keys, and without who wrote it.

use serde_json::Value;

/// What stands for the name of the user.
const USER: &str = "[user]";

/// Shortest text that is taken out because it is a secret.
const MIN_SECRET: usize = 6;
/// Shortest run of letters and digits in a row that counts as a key where nothing else says so.
const MIN_RANDOM: usize = 32;
/// What keys of vendors begin with, and how long they are at least.
const BEGINNINGS: [(&str, usize); 20] = [
    ("sk-", 16),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("pk_live_", 16),
    ("gsk_", 16),
    ("xai-", 16),
    ("hf_", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("eyJ", 30),
];
/// Names behind which a value is a secret.
const NAMES: [&str; 9] =
    ["password", "passwd", "secret", "token", "api_key", "apikey", "api-key", "authorization", "credential"];
/// With what else the names of variables end whose values are secrets.
const VARIABLES: [&str; 6] = ["_key", "_pass", "_pwd", "passphrase", "_key_base", "_salt"];

/// What is taken out.
#[derive(Debug, Default, Clone)]
pub(crate) struct Redact {
    /// Texts, with what stands for them; the longest first.
    known: Vec<(String, &'static str)>,
}

impl Redact {
    /// Takes out `secrets`, and who and where this user is.
    pub(crate) fn new(secrets: impl IntoIterator<Item = String>, home: &std::path::Path) -> Self {
        let mut known: Vec<(String, &'static str)> =
            secrets.into_iter().filter(|secret| secret.len() >= MIN_SECRET).map(|secret| (secret, "[key]")).collect();
        known.push((home.display().to_string(), "~"));
        let user = home.file_name().map(|user| user.to_string_lossy().into_owned());
        let names = [user, std::env::var("USER").ok(), std::env::var("LOGNAME").ok()];
        // Names of those that everybody has would take half of every text away.
        let plain = |name: &String| name.len() > 2 && !["root", "user", "home", "admin"].contains(&name.as_str());
        known.extend(names.into_iter().flatten().filter(plain).map(|name| (name, "[user]")));
        known.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        known.dedup();
        Self { known }
    }

    /// `value` with all texts in it redacted, also the names of fields.
    pub(crate) fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(list) => list.iter().map(|one| self.value(one)).collect(),
            Value::Object(fields) => {
                let secret = |name: &str| is_secret_name(name);
                let field = |(name, value): (&String, &Value)| match value {
                    Value::String(text) if secret(name) && !text.is_empty() => (self.text(name), "[key]".into()),
                    value => (self.text(name), self.value(value)),
                };
                fields.iter().map(field).collect::<serde_json::Map<_, _>>().into()
            }
            other => other.clone(),
        }
    }

    /// `text` without secrets, addresses of people, and the names of this user and of their home.
    pub(crate) fn text(&self, text: &str) -> String {
        if text.starts_with("data:") && text.len() > 200 {
            return format!("data:[{} bytes left out]", text.len());
        }
        let mut text = without_set_secrets(&without_passwords_of_addresses(&without_private_keys(text)));
        for (known, instead) in self.known.iter().filter(|(_, instead)| *instead != USER) {
            text = text.replace(known.as_str(), instead);
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        let mut named = false;
        while let Some(first) = rest.chars().next() {
            let end = rest.find(|letter| is_word(letter) != is_word(first)).unwrap_or(rest.len());
            let (piece, behind) = rest.split_at(end);
            rest = behind;
            if !is_word(first) {
                // `token: x` and `"token": "x"`, not a sentence about tokens.
                named &=
                    piece.len() <= 4 && (piece.contains([':', '=']) || !piece.contains(['\n', ',', '.', ';', ')']));
                out.push_str(piece);
                continue;
            }
            let is_value = named && !piece.eq_ignore_ascii_case("bearer") && !piece.eq_ignore_ascii_case("basic");
            if is_mail(piece) {
                out.push_str("[mail]");
            } else if (is_value
                && piece.len() >= MIN_SECRET
                && out.trim_end_matches(['"', '\'', ' ']).ends_with([':', '=', 'r', 'c']))
                || is_key(piece)
            {
                out.push_str("[key]");
            } else {
                out.push_str(piece);
            }
            named = is_secret_name(piece) || (named && !is_value);
        }
        // Behind addresses, which often begin with it. Part of another word it is no name.
        let names = self.known.iter().filter(|(_, instead)| *instead == USER);
        names.fold(out, |text, (name, instead)| replace_word(&text, name, instead))
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || "_-.+@/".contains(letter)
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // `tokens` counts them.
    NAMES.iter().any(|secret| name.ends_with(secret))
}

/// Whether a variable of this name holds a secret.
pub(crate) fn is_secret_variable(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    is_secret_name(&lower) || VARIABLES.iter().any(|end| lower.ends_with(end))
}

/// `text` without what names and passwords addresses carry (`postgres://user:password@host`).
fn without_passwords_of_addresses(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, behind)) = rest.split_once("://") {
        out.push_str(before);
        out.push_str("://");
        let ends = |letter: char| letter.is_whitespace() || "/?#\"'`<>\\".contains(letter);
        let authority = &behind[..behind.find(ends).unwrap_or(behind.len())];
        let host = authority.rfind('@').filter(|at| authority[..*at].contains(':'));
        if host.is_some() {
            out.push_str("[key]");
        }
        rest = &behind[host.unwrap_or_default()..];
    }
    out + rest
}

/// `text` without the values of secret variables (`DB_PASS=x`, `export KEY='x y'`) and of quoted ones behind secret names.
fn without_set_secrets(text: &str) -> String {
    let is_name = |letter: char| letter.is_alphanumeric() || "_-".contains(letter);
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find([':', '=']) {
        let (before, behind) = (&rest[..at], &rest[at + 1..]);
        let named = before.trim_end_matches([' ', '"', '\'']);
        let name = named.rsplit(|letter| !is_name(letter)).next().unwrap_or_default();
        let is_variable = rest[at..].starts_with('=') && before.ends_with(name) && name.contains('_');
        let value = behind.trim_start_matches(' ');
        let quoted = value.strip_prefix(['"', '\'']).and_then(|inner| {
            let end = inner.find(|letter| value.starts_with(letter) || letter == '\n')?;
            inner[end..].starts_with(|letter| value.starts_with(letter)).then_some(end)
        });
        out.push_str(&rest[..=at]);
        rest = behind;
        match quoted {
            Some(end) if end > 0 && (is_secret_name(name) || (is_variable && is_secret_variable(name))) => {
                out.push_str(&behind[..behind.len() - value.len() + 1]);
                out.push_str("[key]");
                rest = &value[1 + end..];
            }
            None if is_variable && is_secret_variable(name) && name.chars().all(|letter| !letter.is_lowercase()) => {
                let end = behind.find(|letter: char| letter.is_whitespace() || "\"'`;".contains(letter));
                let end = end.unwrap_or(behind.len());
                // What only names another variable is none.
                if end > 0 && !behind.starts_with('$') {
                    out.push_str("[key]");
                    rest = &behind[end..];
                }
            }
            _ => {}
        }
    }
    out + rest
}

fn is_mail(word: &str) -> bool {
    let Some((name, host)) = word.trim_end_matches('.').split_once('@') else { return false };
    !name.is_empty() && host.split_once('.').is_some_and(|(one, other)| !one.is_empty() && !other.is_empty())
}

/// Whether a word looks like a key.
fn is_key(word: &str) -> bool {
    let begins = BEGINNINGS.iter().any(|(begin, least)| word.starts_with(begin) && word.len() >= *least);
    begins || word.split(['/', '.', '@', '+']).any(is_random)
}

/// A long run of letters of both kinds and digits. Hashes, in one kind of letters, and ids of haft are none.
fn is_random(word: &str) -> bool {
    const IDS: [&str; 6] = ["ses_", "msg_", "prt_", "tool_", "per_", "que_"];
    let has = |kind: fn(&u8) -> bool| word.as_bytes().iter().filter(|byte| kind(byte)).count() >= 3;
    word.len() >= MIN_RANDOM
        && !IDS.iter().any(|id| word.starts_with(id))
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
}

fn without_private_keys(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(begin) = rest.find("-----BEGIN ") {
        let block = &rest[begin..];
        let Some(head) = block.find("PRIVATE KEY-----").filter(|head| *head < 60) else {
            out.push_str(&rest[..begin + 5]);
            rest = &rest[begin + 5..];
            continue;
        };
        out.push_str(&rest[..begin]);
        out.push_str("[key]");
        let behind = &block[head + "PRIVATE KEY-----".len()..];
        let end = behind.find("PRIVATE KEY-----").map_or(behind.len(), |end| end + "PRIVATE KEY-----".len());
        rest = &behind[end..];
    }
    out + rest
}

fn replace_word(text: &str, word: &str, instead: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(word) {
        let before = rest[..at].chars().next_back().or_else(|| out.chars().next_back());
        let behind = rest[at + word.len()..].chars().next();
        let inside = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
        out.push_str(&rest[..at]);
        out.push_str(if inside(before) || inside(behind) { word } else { instead });
        rest = &rest[at + word.len()..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn redact() -> Redact {
        let mut redact = Redact::new(["my-vault-key".to_owned()], std::path::Path::new("/home/ada"));
        // Whoever runs the test has a name too.
        redact.known.retain(|(_, instead)| *instead != "[user]");
        redact.known.push(("ada".to_owned(), "[user]"));
        redact
    }

    #[test]
    fn keys_and_names_go() {
        let row = |text: &str, want: &str| assert_eq!(redact().text(text), want, "{text}");
        row("in /home/ada/p by ada, not by adamant", "in ~/p by [user], not by adamant");
        row("key my-vault-key.", "key [key].");
        row("export OPENAI_API_KEY=sk-abcdefghij0123456789", "export OPENAI_API_KEY=[key]");
        row("see sk-abcdefghij0123456789", "see [key]");
        row("ghp_abcdefghijklmnopqrstuvwxyz", "[key]");
        row("Authorization: Bearer abcdefgh12", "Authorization: Bearer [key]");
        row(r#"{"password": "hunter22"}"#, r#"{"password": "[key]"}"#);
        row("db_password=hunter22 port=5432", "db_password=[key] port=5432");
        row("a token is a word; tokens: 123456789", "a token is a word; tokens: 123456789");
        row("write to ada.l@example.org now", "write to [mail] now");
        row("DATABASE_URL=postgres://bob:Sup3rPw99@db:5432/x", "DATABASE_URL=postgres://[key]@db:5432/x");
        row("REDIS_URL=redis://:pw@cache/0", "REDIS_URL=redis://[key]@cache/0");
        row("see https://example.org/a:b@c", "see https://example.org/a:b@c");
        row("DB_PASS=a!b\nAWS_SECRET_ACCESS_KEY=wJalr/K7\nA=1", "DB_PASS=[key]\nAWS_SECRET_ACCESS_KEY=[key]\nA=1");
        row("SECRET_KEY_BASE=0123 ENCRYPTION_KEY='two words' x", "SECRET_KEY_BASE=[key] ENCRYPTION_KEY='[key]' x");
        row("DEPLOY_KEY=$OTHER_KEY; PASSWORD=\"p@ss w0rd\"", "DEPLOY_KEY=$OTHER_KEY; PASSWORD=\"[key]\"");
        row("password: \"two words\" and more", "password: \"[key]\" and more");
        row("sort_key = 'name'; let key = map[\"a\"];", "sort_key = 'name'; let key = map[\"a\"];");
        row("AbCdEfGh0123456789AbCdEfGh0123456789", "[key]");
        row("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nx", "[key]\nx");
        row("commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad", "commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad");
        row("ses_ffe5dfc516cdeffeDn8wYAEJ52VB6r", "ses_ffe5dfc516cdeffeDn8wYAEJ52VB6r");
        row("fn main() { let a = b + c; }", "fn main() { let a = b + c; }");
    }

    #[test]
    fn values_are_redacted_at_any_depth() {
        let value = json!({"apiKey": "short", "headers": {"x-token": "abc"}, "list": ["/home/ada/x", 1], "tokens": {"input": 3}});
        let want =
            json!({"apiKey": "[key]", "headers": {"x-token": "[key]"}, "list": ["~/x", 1], "tokens": {"input": 3}});
        assert_eq!(redact().value(&value), want);
        let picture = format!("data:image/png;base64,{}", "A".repeat(400));
        assert_eq!(redact().text(&picture), format!("data:[{} bytes left out]", picture.len()));
    }
}
