//! What a page says about itself: title, base, scripts, and where it sends its readers.

use super::element::{Kind, is_hidden};
use super::tree::{Element, Id, ROOT, Tree, Visitor, Walk};

/// Longest title, in bytes; of a longer one the beginning.
const MAX_TITLE: usize = 500;
/// With fewer letters than these a page with such scripts shows nothing without them.
const FEW: usize = 60;
/// A page that asks for scripts in more letters than these has something to read besides.
const SHORT: usize = 1500;
/// A script in the page of as many bytes may write the page.
const LONG: usize = 2000;

/// What a page says about itself.
#[derive(Debug, Default)]
pub(super) struct Head {
    title: Option<String>,
    heading: Option<String>,
    pub(super) base: Option<String>,
    pub(super) refresh: Option<String>,
    /// Whether there is any script.
    scripts: bool,
    /// Whether there is one that could write a page: from elsewhere, or long.
    program: bool,
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

    /// Whether `words`, all that is to be read, come short of what the page's scripts would show.
    pub(super) fn is_shell(&self, words: &str) -> bool {
        let letters = words.chars().filter(|sign| sign.is_alphanumeric()).take(SHORT + 1).count();
        self.program && letters < FEW || self.scripts && letters <= SHORT && asks_for_scripts(words)
    }

    fn script(&mut self, tree: &Tree, id: Id, element: &Element) {
        self.scripts = true;
        self.program |= element.get("src").is_some() || tree.words(id).len() >= LONG;
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
            (Some("script"), _) => self.script(tree, id, element),
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

fn asks_for_scripts(words: &str) -> bool {
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
        let row = |scripts: bool, program: bool, words: &str, want: bool| {
            let head = Head { scripts, program, ..Head::default() };
            assert_eq!(head.is_shell(words), want, "{words}");
        };
        row(true, true, "Loading…", true);
        row(true, false, "Hello", false);
        row(true, true, &article, false);
        let asks = format!("{article} Please enable JavaScript");
        row(true, false, &asks, true);
        row(false, false, &asks, false);
        row(true, true, &format!("{} works best with JavaScript enabled", article.repeat(10)), false);
    }
}
