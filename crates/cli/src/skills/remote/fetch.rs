//! Fetches the skills of an address: its list, then each file that the list names.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use haft_net::{Url, Web};

use super::index::{self, MAX_INDEX};
use super::pins::{File, Pin, Skill, hash};
use crate::pages;

/// How long all of it may take.
const TIME: Duration = Duration::from_secs(120);
/// Most bytes of a file.
const MAX_FILE: usize = 4 * 1024 * 1024;
/// Most bytes of a `SKILL.md`, which models read whole.
const MAX_SKILL: usize = 1024 * 1024;
/// Most bytes of all files of an address.
const MAX_ALL: usize = 32 * 1024 * 1024;
/// How many files are fetched at once.
const AT_ONCE: usize = 4;

/// A skill that was fetched.
#[derive(Debug)]
pub(super) struct Fetched {
    pub name: String,
    /// What it says of itself.
    pub description: Option<String>,
    /// Paths below its folder, and what stands there.
    pub files: Vec<(String, Vec<u8>)>,
}

/// What was fetched from an address.
#[derive(Debug)]
pub(super) struct Got {
    pub skills: Vec<Fetched>,
    /// What is left out, and why.
    pub left_out: Vec<String>,
}

impl Got {
    /// What is remembered of it.
    pub(super) fn pin(&self, url: &str) -> Pin {
        let file = |(path, bytes): &(String, Vec<u8>)| File { path: path.clone(), hash: hash(bytes) };
        let skill = |skill: &Fetched| {
            let mut files: Vec<File> = skill.files.iter().map(file).collect();
            files.sort_by(|one, other| one.path.cmp(&other.path));
            Skill { name: skill.name.clone(), files }
        };
        let mut skills: Vec<Skill> = self.skills.iter().map(skill).collect();
        skills.sort_by(|one, other| one.name.cmp(&other.name));
        Pin { url: url.to_owned(), skills }
    }
}

/// Fetches all that is listed at `url`. `by_user`: the user's own settings name it, so it may be one of their own
/// network. Dropping the future ends it.
///
/// # Errors
///
/// Why there is nothing, with the address that failed. All or nothing: a list whose files cannot all be had is not used.
pub(super) async fn fetch(web: &Web, url: &str, by_user: bool) -> Result<Got, String> {
    let all = tokio::time::timeout(TIME, all(web, url, by_user)).await;
    all.unwrap_or_else(|_| Err(format!("it took longer than {} s", TIME.as_secs())))
}

async fn all(web: &Web, url: &str, by_user: bool) -> Result<Got, String> {
    let base = base(url)?;
    let place = web.place(&base).await.map_err(|error| error.to_string())?;
    if base.scheme() == "http" && place.inside().is_none() {
        return Err("it is http, so anybody on the way could change what the skills say; use https".to_owned());
    }
    let list = below(&base, ["index.json"]);
    let text = pages::fetch(web, list.as_str(), by_user, MAX_INDEX).await?;
    let index = index::read(&text).map_err(|why| format!("{list}: {why}"))?;
    let mut got = Got { skills: Vec::new(), left_out: index.left_out };
    let mut room = MAX_ALL;
    for entry in index.entries {
        let one = async |path: String| -> Result<(String, Vec<u8>), String> {
            let at = below(&base, [entry.name.as_str()].into_iter().chain(path.split('/')));
            let most = if path == "SKILL.md" { MAX_SKILL } else { MAX_FILE };
            Ok((path, pages::fetch_bytes(web, at.as_str(), by_user, most).await?))
        };
        let files = stream::iter(entry.files).map(one).buffered(AT_ONCE);
        let files: Vec<(String, Vec<u8>)> = files
            .and_then(|file| {
                let left = room.checked_sub(file.1.len());
                room = left.unwrap_or(0);
                let too_much = || format!("its files have more than {} MiB together", MAX_ALL >> 20);
                std::future::ready(left.map(|_| file).ok_or_else(too_much))
            })
            .try_collect()
            .await?;
        match description(&entry.name, &files) {
            Ok(description) => got.skills.push(Fetched { name: entry.name, description, files }),
            Err(why) => got.left_out.push(why),
        }
    }
    Ok(got)
}

/// What the `SKILL.md` among the `files` of the skill `name` says when to use it.
fn description(name: &str, files: &[(String, Vec<u8>)]) -> Result<Option<String>, String> {
    let path = format!("{name}/SKILL.md");
    let file = files.iter().find(|(path, _)| path == "SKILL.md").map(|(_, bytes)| bytes.as_slice());
    let text = std::str::from_utf8(file.unwrap_or_default()).map_err(|_| format!("{path} is no text"))?;
    haft_config::Skill::of(text, path.as_ref()).map(|skill| skill.description)
}

/// The address that names in a list are below.
fn base(url: &str) -> Result<Url, String> {
    let mut url = Url::parse(url).map_err(|error| format!("it is no address ({error})"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err("it is no address of the web; write https://…".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it has a name or a password in it, which are never sent; take them out".to_owned());
    }
    url.set_query(None);
    url.set_fragment(None);
    let path = url.path().strip_suffix("/index.json").unwrap_or(url.path()).trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

/// `base` with further `parts` of a path, whatever stands in them.
fn below<'a>(base: &Url, parts: impl IntoIterator<Item = &'a str>) -> Url {
    let mut url = base.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(parts);
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_looked_for_below_the_address() {
        let row = |url: &str, parts: &[&str], want: &str| {
            assert_eq!(below(&base(url).unwrap(), parts.iter().copied()).as_str(), want);
        };
        row("https://s.example", &["index.json"], "https://s.example/index.json");
        row("https://s.example/", &["a", "SKILL.md"], "https://s.example/a/SKILL.md");
        row("https://s.example/x/", &["a"], "https://s.example/x/a");
        row("https://s.example/x/index.json?v=1#y", &["index.json"], "https://s.example/x/index.json");
        row("http://127.0.0.1:80/x", &["My Skill", "a#b?c%.md"], "http://127.0.0.1/x/My%20Skill/a%23b%3Fc%25.md");
    }

    #[test]
    fn what_is_no_address_of_the_web_is_refused() {
        let row = |url: &str, want: &str| assert!(base(url).unwrap_err().contains(want), "{url}");
        row("skills", "no address");
        row("file:///etc", "write https://…");
        row("ftp://s.example", "write https://…");
        row("https://me:secret@s.example", "take them out");
    }
}
