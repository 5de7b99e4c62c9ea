//! Keys from a program that a profile names. Only the user's own files can name one.

use std::fs::OpenOptions;
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use super::keys::Written;
use super::{Failure, Keys, Settings, files};

/// Longest that it may take. Some ask a person.
const DEADLINE: Duration = Duration::from_secs(60);

/// Most that it may say, in bytes.
const MAX_SAID: u64 = 64 * 1024;

/// The variables that it gets, beside those that begin with one of [`PREFIXES`]: enough to find its own files and a
/// person to ask, and no key.
const PASSED: [&str; 19] = [
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TERM",
    "TMPDIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
    "SSH_AUTH_SOCK",
    "GNUPGHOME",
    "GPG_TTY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTPS_PROXY",
    "NO_PROXY",
    "BROWSER",
];

const PREFIXES: [&str; 3] = ["LC_", "XDG_", "AWS_"];

/// Runs `command`, which is split like a line of a shell and given to none.
pub(super) async fn run(command: &str, settings: &Settings) -> Result<Keys, Failure> {
    let env = settings.env.clone();
    let checked = tokio::task::spawn_blocking(move || {
        let mut there = files::places(&env).into_iter().flatten().filter(|path| path.exists());
        there.try_for_each(|path| own(&path))
    });
    checked.await.map_err(|error| Failure::Passing(error.to_string()))??;
    let words = split(command).filter(|words| !words.is_empty());
    let words =
        words.ok_or_else(|| Failure::wrong(format!("credential_process {command:?} has a quote that does not end")))?;
    let said = tokio::time::timeout(DEADLINE, say(&words)).await;
    let said = said.map_err(|_| Failure::wrong(format!("{} gave no keys in 60 seconds", words[0])))??;
    keys(&words[0], &said)
}

/// Whether nobody but the user can change a file.
fn own(path: &std::path::Path) -> Result<(), Failure> {
    let real = std::fs::canonicalize(path).and_then(|path| haft_vault::own::open(&path, OpenOptions::new().read(true)));
    real.map(drop).map_err(|error| Failure::wrong(format!("credential_process is not run: {error}")))
}

async fn say(words: &[String]) -> Result<String, Failure> {
    let program = &words[0];
    let wrong = |what: String| Failure::wrong(format!("{program} of credential_process {what}"));
    let passed = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_passed));
    let mut child = Command::new(program)
        .args(&words[1..])
        .env_clear()
        .envs(passed)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // It is for the program's own screen, which this is not.
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| wrong(format!("cannot be run: {error}")))?;
    let mut said = Vec::new();
    if let Some(out) = child.stdout.take() {
        let read = out.take(MAX_SAID + 1).read_to_end(&mut said).await;
        read.map_err(|error| wrong(format!("cannot be read: {error}")))?;
    }
    if said.len() as u64 > MAX_SAID {
        return Err(wrong("says more than 64 KiB".to_owned()));
    }
    let status = child.wait().await.map_err(|error| wrong(format!("cannot be waited for: {error}")))?;
    match status.success() {
        true => Ok(String::from_utf8_lossy(&said).into_owned()),
        false => Err(wrong(format!("failed ({status}); run it by hand to see why"))),
    }
}

fn is_passed(name: &str) -> bool {
    const SECRET: [&str; 5] = [
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    ];
    let listed = PASSED.contains(&name) || PREFIXES.into_iter().any(|prefix| name.starts_with(prefix));
    listed && !SECRET.contains(&name)
}

fn keys(program: &str, said: &str) -> Result<Keys, Failure> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Said {
        version: u64,
        #[serde(flatten)]
        keys: Written,
    }
    let said = serde_json::from_str::<Said>(said).ok().filter(|said| said.version == 1);
    let keys = said.and_then(|said| said.keys.keys());
    keys.ok_or_else(|| {
        Failure::wrong(format!("{program} of credential_process does not answer with keys (JSON, Version 1)"))
    })
}

/// The words of a line, with `'` and `"` around blanks and `\` before a letter that means nothing else. `None` where a
/// quote does not end.
fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\'', None) | ('"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (letter, Some(open)) if letter == open => quote = None,
            ('\\', None | Some('"')) => word.get_or_insert_default().push(letters.next()?),
            (letter, None) if letter.is_whitespace() => words.extend(word.take()),
            (letter, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_split_like_in_a_shell() {
        let row = |line: &str, want: Option<&[&str]>| {
            let want = want.map(|words| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
            assert_eq!(split(line), want, "{line}");
        };
        row("/bin/keys --for me", Some(&["/bin/keys", "--for", "me"]));
        row(
            r#""/my programs/keys" 'a "b"' c\ d "e\"f" ''"#,
            Some(&["/my programs/keys", r#"a "b""#, "c d", "e\"f", ""]),
        );
        row("a;b $(c)", Some(&["a;b", "$(c)"]));
        row("  ", Some(&[]));
        row("'a", None);
        row("a\\", None);
    }

    #[test]
    fn no_key_is_handed_on() {
        let row = |name: &str, want: bool| assert_eq!(is_passed(name), want, "{name}");
        for name in ["PATH", "HOME", "LC_ALL", "XDG_RUNTIME_DIR", "AWS_PROFILE", "AWS_CONFIG_FILE"] {
            row(name, true);
        }
        for name in
            ["OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_BEARER_TOKEN_BEDROCK", "GITHUB_TOKEN", "LD_PRELOAD"]
        {
            row(name, false);
        }
    }

    #[test]
    fn what_is_said_is_keys_or_not() {
        let good = r#"{"Version":1,"AccessKeyId":"a","SecretAccessKey":"b","SessionToken":"c"}"#;
        assert_eq!(keys("p", good).unwrap().id, "a");
        for bad in ["", "{}", r#"{"Version":2,"AccessKeyId":"a","SecretAccessKey":"b"}"#, "secret-in-a-text"] {
            let Err(Failure::Wrong(text)) = keys("p", bad) else { panic!("{bad}") };
            assert!(!text.contains("secret"), "{text}");
        }
    }
}
