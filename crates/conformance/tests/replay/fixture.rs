//! The project that the calls were made in, and what came after the name of a fixture in words.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use base64::Engine;
use haft_permission::{Action, Rule};
use serde_json::Value;

/// What each place is called in the records.
pub(crate) const PROJECT: &str = "<PROJECT>";
const OUTSIDE: &str = "<OUTSIDE>";

/// The project as it is before every call, to be copied.
pub(crate) struct Fixture {
    folder: tempfile::TempDir,
}

/// A copy of it, which is put back to what it was before each call.
pub(crate) struct Ground {
    _folder: tempfile::TempDir,
    /// Without links.
    pub(crate) base: PathBuf,
}

impl Fixture {
    /// Builds what `described` describes.
    pub(crate) fn build(described: &Value) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let (project, outside) = (folder.path().join("project"), folder.path().join("outside"));
        for file in described["base"]["files"].as_array().context("no files")? {
            put(&project, file).with_context(|| file.to_string())?;
        }
        for file in described["base"]["outside"].as_array().context("no outside")? {
            let name = file["path"].as_str().and_then(|path| path.strip_prefix(OUTSIDE)).context("path")?;
            write(&outside.join(name.trim_start_matches('/')), file["text"].as_str().context("text")?.as_bytes())?;
        }
        commit(&project)?;
        let mut files = Vec::new();
        list(&project, &mut files)?;
        files.sort();
        let begin = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        for (at, path) in (0u64..).zip(&files) {
            std::fs::File::options().write(true).open(path)?.set_modified(begin + Duration::from_secs(10 * at))?;
        }
        Ok(Self { folder })
    }

    /// A fresh copy, with times and links as they are.
    pub(crate) fn copy(&self) -> Result<Ground> {
        let folder = tempfile::tempdir()?;
        let base = folder.path().canonicalize()?;
        let ground = Ground { _folder: folder, base };
        self.restore(&ground)?;
        Ok(ground)
    }

    /// Makes `ground` a fresh copy again.
    pub(crate) fn restore(&self, ground: &Ground) -> Result<()> {
        restore(self.folder.path(), &ground.base)?;
        Ok(std::fs::create_dir(ground.base.join("outputs"))?)
    }
}

impl Ground {
    /// The project's folder.
    pub(crate) fn project(&self) -> PathBuf {
        self.base.join("project")
    }

    /// `text` of a record with this copy's places in it.
    pub(crate) fn place(&self, text: &str, port: u16) -> String {
        text.replace(PROJECT, &self.project().display().to_string())
            .replace(OUTSIDE, &self.base.join("outside").display().to_string())
            // haft's own folder stands where the other's would.
            .replace(".opencode/plans", ".haft/plans")
            .replace("127.0.0.1:PORT", &format!("127.0.0.1:{port}"))
    }

    /// `text` of ours with the names of the records in it.
    pub(crate) fn unplace(&self, text: &str, port: u16) -> String {
        let text = text
            .replace(&self.base.join("outputs").display().to_string(), "<DATA>/tool-output")
            .replace(&self.project().display().to_string(), PROJECT)
            .replace(&self.base.join("outside").display().to_string(), OUTSIDE)
            .replace(".haft/plans", ".opencode/plans")
            .replace(&format!("127.0.0.1:{port}"), "127.0.0.1:PORT");
        let text = match std::env::var("HOME") {
            Ok(home) if home.len() > 1 => text.replace(&home, "<HOME>"),
            _ => text,
        };
        blank_ids(&blank_ids(&text, "tool_"), "ses_")
    }
}

/// `text` with `<ID>` for what follows each `prefix`.
fn blank_ids(text: &str, prefix: &str) -> String {
    let mut pieces = text.split(prefix);
    let mut blanked = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let id = piece.len() - piece.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).len();
        // Ids are long; words such as `tool_calls` are not.
        let is_id = id >= 20;
        blanked.push_str(prefix);
        blanked.push_str(if is_id { "<ID>" } else { &piece[..id] });
        blanked.push_str(&piece[id..]);
    }
    blanked
}

fn put(project: &Path, file: &Value) -> Result<()> {
    let name = file["path"].as_str().context("no path")?;
    let path = project.join(name);
    if let Some(text) = file["text"].as_str() {
        return write(&path, text.as_bytes());
    }
    if let Some(base64) = file["base64"].as_str() {
        return write(&path, &base64::engine::general_purpose::STANDARD.decode(base64)?);
    }
    if let Some(target) = file["symlink"].as_str() {
        return Ok(std::os::unix::fs::symlink(target, &path)?);
    }
    // What is told in words.
    let lines = |range: std::ops::RangeInclusive<usize>, line: &dyn Fn(usize) -> String| {
        range.map(|number| line(number) + "\n").collect::<String>()
    };
    match name {
        "data/big.txt" => write(&path, lines(1..=2500, &|number| format!("line {number}")).as_bytes()),
        "data/wide.txt" => write(&path, format!("{}\nshort\n", "x".repeat(3000)).as_bytes()),
        "data/huge.txt" => {
            write(&path, lines(1..=600, &|number| format!("{number:05} {}", "y".repeat(113))).as_bytes())
        }
        many if many.starts_with("many/") => (1..=120).try_for_each(|number| {
            write(&project.join(format!("many/f{number:03}.txt")), format!("item {number} token\n").as_bytes())
        }),
        other => bail!("nobody knows how to make {other}"),
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::create_dir_all(path.parent().context("no folder")?)?;
    Ok(std::fs::write(path, bytes)?)
}

/// A repository in which everything is committed that is not ignored.
fn commit(project: &Path) -> Result<()> {
    let git = |arguments: &[&str]| -> Result<()> {
        let mut command = Command::new("git");
        command.current_dir(project).args(["-c", "user.name=a", "-c", "user.email=a@a"]).args(arguments);
        // Nobody's own settings, hooks or helpers.
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        let done = command.output().context("git is needed for the replay")?;
        ensure!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        Ok(())
    };
    git(&["init", "-q", "-b", "master"])?;
    // Hooks that never run would only be copied again and again.
    std::fs::remove_dir_all(project.join(".git/hooks")).ok();
    git(&["add", "-A"])?;
    git(&["commit", "-q", "-m", "fixture"])?;
    git(&["gc", "-q"])
}

/// The files below `folder` that are no repository's own.
fn list(folder: &Path, into: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && entry.file_name() != ".git" {
            list(&entry.path(), into)?;
        } else if kind.is_file() {
            into.push(entry.path());
        }
    }
    Ok(())
}

/// Makes the folder `to` what `from` is. A file of the same size and time is left as it is.
fn restore(from: &Path, to: &Path) -> Result<()> {
    let wanted: BTreeMap<OsString, Metadata> = std::fs::read_dir(from)?
        .map(|entry| entry.and_then(|entry| Ok((entry.file_name(), entry.metadata()?))))
        .collect::<std::io::Result<_>>()?;
    for entry in std::fs::read_dir(to)? {
        let (entry, there) = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?)))?;
        let kept = entry.file_name().and_then(|name| wanted.get(name)).is_some_and(|wanted| is_same(wanted, &there));
        if there.is_dir() && !kept {
            std::fs::remove_dir_all(&entry)?;
        } else if !kept {
            std::fs::remove_file(&entry)?;
        }
    }
    for (name, metadata) in wanted {
        let (from, to) = (from.join(&name), to.join(&name));
        if metadata.is_dir() {
            std::fs::create_dir_all(&to)?;
            restore(&from, &to)?;
        } else if to.symlink_metadata().is_ok() {
        } else if metadata.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(from)?, to)?;
        } else {
            std::fs::copy(&from, &to)?;
            // What git keeps is read-only, and nobody asks for its times.
            if let Ok(file) = std::fs::File::options().write(true).open(&to) {
                file.set_modified(metadata.modified()?)?;
            }
        }
    }
    Ok(())
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    one.file_type() == other.file_type()
        && (!one.is_file() || (one.len() == other.len() && one.modified().ok() == other.modified().ok()))
}

/// The rules that a fixture names in words: `PERMISSION=ACTION`, `PERMISSION 'PATTERN' ACTION`, and
/// `PERMISSION *=ACTION, 'PATTERN'=ACTION`.
pub(crate) fn rules(words: &str, permissions: &[&str]) -> Vec<Rule> {
    let mut rules = Vec::new();
    let mut about: Option<&str> = None;
    let mut pattern: Option<&str> = None;
    for token in tokens(words) {
        let (left, action) = match token.rsplit_once('=') {
            Some((left, action)) => (left, Action::from_word(action)),
            None => (token, Action::from_word(token)),
        };
        match (action, about) {
            (Some(action), _) if permissions.contains(&left) => rules.push(Rule::new(left, "*", action)),
            (Some(action), Some(about)) if left != token => rules.push(Rule::new(about, unquote(left), action)),
            (Some(action), Some(about)) => {
                rules.extend(pattern.take().map(|pattern| Rule::new(about, pattern, action)))
            }
            (Some(_), None) => {}
            (None, _) if permissions.contains(&token) => about = Some(token),
            (None, _) if token.starts_with('\'') => pattern = Some(unquote(token)),
            (None, _) => {}
        }
    }
    rules
}

fn unquote(text: &str) -> &str {
    text.trim_matches('\'')
}

/// Words, where what stands in single quotes is one with what it touches.
fn tokens(words: &str) -> Vec<&str> {
    let mut quoted = false;
    let ends = |c: char| {
        quoted ^= c == '\'';
        !quoted && matches!(c, ' ' | ',' | ';')
    };
    words.split(ends).filter(|token| !token.is_empty()).collect()
}

/// Holds the reading of rules in words against examples.
pub(crate) fn check_rules() -> Result<()> {
    let row = |words: &str, want: &[&str]| {
        let got: Vec<String> =
            rules(words, &["bash", "edit", "external_directory"]).iter().map(Rule::to_string).collect();
        ensure!(got == want, "{words}: {got:?}");
        Ok(())
    };
    let rule = |permission: &str, pattern: &str, action| Rule::new(permission, pattern, action).to_string();
    row("session rule edit=ask", &[&rule("edit", "*", Action::Ask)])?;
    row("cd only filtered; bash=ask", &[&rule("bash", "*", Action::Ask)])?;
    row("bash 'rm *' deny, bare rm", &[&rule("bash", "rm *", Action::Deny)])?;
    row("session rule edit 'perm*' deny", &[&rule("edit", "perm*", Action::Deny)])?;
    let two = [rule("bash", "*", Action::Deny), rule("bash", "git *", Action::Allow)];
    row("bash *=deny, 'git *'=allow", &[&two[0], &two[1]])?;
    row("external_directory=deny", &[&rule("external_directory", "*", Action::Deny)])?;
    row("file outside the project; external_directory asked, replied once", &[])
}
