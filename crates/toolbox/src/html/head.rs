//! What a page says about itself: title, base, scripts, and where it sends its readers.

use super::element::{Kind, is_hidden};
use super::tree::{Element, Id, ROOT, Tree, Visitor, Walk};

/// Longest title, in bytes; of a longer one the beginning.
const MAX_TITLE: usize = 500;
/// With fewer letters than these a page with scripts shows nothing without them.
const FEW: usize = 60;
/// A page that asks for scripts in more letters than these has something to read besides.
const SHORT: usize = 1500;

/// What a page says about itself.
#[derive(Debug, Default)]
pub(super) struct Head {
    title: Option<String>,
    heading: Option<String>,
    pub(super) base: Option<String>,
    pub(super) refresh: Option<String>,
    pub(super) scripts: bool,
}

impl Head {
    pub(super) fn of(tree: &Tree) -> Self {
        let mut head = Self::default();
        tree.walk(ROOT, &mut head);
        head
    }

    /// The title, where the page does not begin with it anyway.
    pub(super) fn own_title(&self) -> Option<&str> {
        self.title.as_deref().filter(|&title| self.heading.as_deref() != Some(title))
    }

    fn meta(&mut self, element: &Element) {
        if element.get("http-equiv").is_some_and(|name| name.trim().eq_ignore_ascii_case("refresh")) {
            let goal = element.get("content").and_then(goal);
            self.refresh = self.refresh.take().or(goal);
        }
    }
}

impl Visitor for Head {
    fn enter(&mut self, tree: &Tree, id: Id) -> Walk {
        let Some(element) = tree.element(id) else { return Walk::Past };
        match (element.html(), Kind::of(element)) {
            (Some("title"), _) if self.title.is_none() => self.title = one_line(&tree.words(id)),
            (Some("base"), _) if self.base.is_none() => self.base = element.get("href").map(str::to_owned),
            (Some("meta"), _) => self.meta(element),
            (Some("script"), _) => self.scripts = true,
            (_, Kind::Heading(_)) if self.heading.is_none() && !is_hidden(element) => {
                self.heading = Some(one_line(&tree.words(id)).unwrap_or_default());
            }
            _ => {}
        }
        Walk::Into
    }
}

/// `text` in one line of at most [`MAX_TITLE`] bytes; `None` where it has no words.
fn one_line(text: &str) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then(|| line[..line.floor_char_boundary(MAX_TITLE)].to_owned())
}

/// The address in `0; url='/x'`.
fn goal(content: &str) -> Option<String> {
    let (_, rest) = content.split_once([';', ','])?;
    let rest = rest.trim_start();
    let url = match rest.get(..3) {
        Some(word) if word.eq_ignore_ascii_case("url") => rest[3..].trim_start().strip_prefix('=')?,
        _ => rest,
    };
    let url = url.trim().trim_matches(['"', '\'']).trim();
    (!url.is_empty()).then(|| url.to_owned())
}

/// Whether `words`, all that is on a page with scripts, are no content.
pub(super) fn is_empty_shell(words: &str) -> bool {
    let letters = words.chars().filter(|sign| sign.is_alphanumeric()).take(SHORT + 1).count();
    if letters < FEW {
        return true;
    }
    if letters > SHORT {
        return false;
    }
    let words = words.to_lowercase();
    let asks = ["enable", "disabled", "require", "turn on", "activate", "need", "without", "support"];
    words.contains("javascript") && asks.iter().any(|word| words.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_names_its_goal_in_many_ways() {
        for (content, want) in [
            ("0; url=/x", Some("/x")),
            ("5;URL='https://a.b/c?d=e'", Some("https://a.b/c?d=e")),
            ("0,\"/x\"", Some("/x")),
            ("0; /x", Some("/x")),
            ("30", None),
            ("0; url=", None),
            ("0; ürl", Some("ürl")),
        ] {
            assert_eq!(goal(content).as_deref(), want, "{content}");
        }
    }

    #[test]
    fn a_shell_is_empty_or_asks_for_scripts() {
        let article = "Words that somebody wrote. ".repeat(10);
        assert!(is_empty_shell("") && is_empty_shell("Loading…"));
        assert!(is_empty_shell("You need to enable JavaScript to run this app. It is a very good app, with many parts."));
        assert!(!is_empty_shell(&article));
        assert!(is_empty_shell(&format!("{article} Please enable JavaScript")));
        assert!(!is_empty_shell(&format!("{} This page works best with JavaScript enabled", article.repeat(10))));
    }
}
