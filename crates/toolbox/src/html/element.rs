//! What an element of a page is for, and whether readers see it. Pure.

use super::tree::{Element, Id, Tree};

/// What an element is to somebody who reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// 1 to 6.
    Heading(u8),
    Paragraph,
    /// Any other part of a page that stands by itself.
    Block,
    List,
    NumberedList,
    Item,
    Quote,
    Preformatted,
    Code,
    Strong,
    Emphasis,
    Struck,
    Raised,
    Link,
    Image,
    Break,
    Rule,
    Table,
    /// `thead`, `tbody` and the like.
    RowGroup,
    Row,
    Cell,
    Terms,
    Term,
    Definition,
    Input,
    Choice,
    Quoted,
    Reading,
    /// Something that plays or is shown in a frame.
    Media,
    /// Content for readers that cannot do what the page wants.
    Fallback,
    Math,
    /// A part of a line without a meaning of its own.
    Plain,
    /// Nothing that is read.
    Gone,
}

impl Kind {
    /// What `element` is.
    pub(super) fn of(element: &Element) -> Self {
        let Some(name) = element.html() else {
            return match element.local() {
                "math" => Kind::Math,
                "svg" | "annotation" | "annotation-xml" => Kind::Gone,
                _ => Kind::Plain,
            };
        };
        match name {
            "h1" => Kind::Heading(1),
            "h2" => Kind::Heading(2),
            "h3" => Kind::Heading(3),
            "h4" => Kind::Heading(4),
            "h5" => Kind::Heading(5),
            "h6" => Kind::Heading(6),
            "p" => Kind::Paragraph,
            "address" | "article" | "aside" | "body" | "caption" | "center" | "details" | "dialog" | "div"
            | "fieldset" | "figcaption" | "figure" | "footer" | "form" | "frameset" | "head" | "header" | "hgroup"
            | "html" | "legend" | "main" | "nav" | "optgroup" | "search" | "section" | "select" | "summary"
            | "template" | "textarea" => Kind::Block,
            "ul" | "menu" | "dir" => Kind::List,
            "ol" => Kind::NumberedList,
            "li" => Kind::Item,
            "blockquote" => Kind::Quote,
            "pre" | "listing" | "plaintext" | "xmp" => Kind::Preformatted,
            "code" | "kbd" | "samp" | "tt" => Kind::Code,
            "b" | "strong" => Kind::Strong,
            "em" | "i" => Kind::Emphasis,
            "del" | "s" | "strike" => Kind::Struck,
            "sup" => Kind::Raised,
            "a" => Kind::Link,
            "img" => Kind::Image,
            "br" => Kind::Break,
            "hr" => Kind::Rule,
            "table" => Kind::Table,
            "tbody" | "tfoot" | "thead" => Kind::RowGroup,
            "tr" => Kind::Row,
            "td" | "th" => Kind::Cell,
            "dl" => Kind::Terms,
            "dt" => Kind::Term,
            "dd" => Kind::Definition,
            "input" => Kind::Input,
            "option" => Kind::Choice,
            "q" => Kind::Quoted,
            "rt" => Kind::Reading,
            "audio" | "embed" | "frame" | "iframe" | "video" => Kind::Media,
            "noscript" | "object" => Kind::Fallback,
            "area" | "base" | "col" | "colgroup" | "datalist" | "link" | "meta" | "noembed" | "noframes" | "param"
            | "rp" | "script" | "source" | "style" | "title" | "track" => Kind::Gone,
            _ => Kind::Plain,
        }
    }

    /// Whether it stands on lines of its own.
    pub(super) fn is_block(self) -> bool {
        match self {
            Kind::Heading(_)
            | Kind::Paragraph
            | Kind::Block
            | Kind::List
            | Kind::NumberedList
            | Kind::Item
            | Kind::Quote
            | Kind::Preformatted
            | Kind::Rule
            | Kind::Table
            | Kind::RowGroup
            | Kind::Row
            | Kind::Cell
            | Kind::Terms
            | Kind::Term
            | Kind::Definition
            | Kind::Choice => true,
            Kind::Code
            | Kind::Strong
            | Kind::Emphasis
            | Kind::Struck
            | Kind::Raised
            | Kind::Link
            | Kind::Image
            | Kind::Break
            | Kind::Input
            | Kind::Quoted
            | Kind::Reading
            | Kind::Media
            | Kind::Fallback
            | Kind::Math
            | Kind::Plain
            | Kind::Gone => false,
        }
    }
}

/// Whether the page hides `element` from its readers, as far as its own markup says.
pub(super) fn is_hidden(element: &Element) -> bool {
    // Many pages show themselves by a script only; hiding all of them would leave nothing.
    if matches!(element.html(), Some("html" | "body")) {
        return false;
    }
    let attribute = element.get("hidden").is_some_and(|value| !value.eq_ignore_ascii_case("until-found"));
    let spoken = element.get("aria-hidden").is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
    let closed = match element.html() {
        Some("dialog") => element.get("open").is_none(),
        // What a template holds is shown where it is the inside of the element that it stands in.
        Some("template") => element.get("shadowrootmode").is_none(),
        _ => false,
    };
    attribute || spoken || closed || element.get("style").is_some_and(styles_away)
}

/// Whether a `style` makes its element disappear.
fn styles_away(style: &str) -> bool {
    style.split(';').filter_map(|one| one.split_once(':')).any(|(name, value)| {
        let value = value.trim().trim_end_matches("!important").trim_end();
        let is = |wanted: &str| value.eq_ignore_ascii_case(wanted);
        match name.trim().to_ascii_lowercase().as_str() {
            "display" => is("none"),
            "visibility" => is("hidden") || is("collapse"),
            _ => false,
        }
    })
}

/// The language of a block of code, looked for on the block, what it holds and what holds it.
pub(super) fn language(tree: &Tree, id: Id) -> Option<String> {
    let above = std::iter::successors(Some(id), |&id| tree.parent(id)).take(3);
    above.filter_map(|id| tree.element(id)).find_map(named_language)
}

/// The language that an element names.
pub(super) fn named_language(element: &Element) -> Option<String> {
    let said = element.get("data-lang").or_else(|| element.get("data-language"));
    let class = element.get("class").unwrap_or_default();
    let after = |prefix: &str| class.split_ascii_whitespace().find_map(|word| word.strip_prefix(prefix));
    let word = said
        .or_else(|| after("language-"))
        .or_else(|| after("lang-"))
        .or_else(|| after("highlight-source-"))
        .or_else(|| after("highlight-"))
        .or_else(|| after("brush:").filter(|word| !word.is_empty()))
        .or_else(|| follows(class, "brush:"))
        .or_else(|| follows(class, "sourceCode"))?;
    let word = word.trim_end_matches(';').to_ascii_lowercase();
    let fits = |c: char| c.is_ascii_alphanumeric() || "+#_.-".contains(c);
    let nothing = ["default", "nohighlight", "none", "notranslate", "plain", "plaintext", "text"];
    (!word.is_empty() && word.len() <= 30 && word.chars().all(fits) && !nothing.contains(&word.as_str()))
        .then_some(word)
}

fn follows<'a>(class: &'a str, word: &str) -> Option<&'a str> {
    let mut words = class.split_ascii_whitespace();
    words.find(|one| *one == word)?;
    words.next()
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::super::tree::{ROOT, Visitor, Walk};
    use super::*;

    /// The first element called `x-y` or `pre`.
    struct First(Option<Id>);

    impl Visitor for First {
        fn enter(&mut self, tree: &Tree, id: Id) -> Walk {
            let found = tree.element(id).is_some_and(|element| matches!(element.local(), "pre" | "x-y" | "dialog"));
            if found {
                self.0 = Some(id);
                return Walk::Stop;
            }
            Walk::Into
        }
    }

    fn with_first<T>(html: &str, look: impl FnOnce(&Tree, Id) -> T) -> T {
        let tree = parse(html);
        let mut first = First(None);
        tree.walk(ROOT, &mut first);
        look(&tree, first.0.unwrap())
    }

    #[test]
    fn what_the_markup_hides_is_hidden() {
        for (html, want) in [
            ("<x-y hidden>", true),
            ("<x-y hidden=until-found>", false),
            ("<x-y aria-hidden=true>", true),
            ("<x-y aria-hidden=false>", false),
            ("<x-y style='color: red; DISPLAY : none !important'>", true),
            ("<x-y style='visibility:hidden'>", true),
            ("<x-y style='display:block'>", false),
            ("<x-y style='background: url(display:none)'>", false),
            ("<dialog>", true),
            ("<dialog open>", false),
        ] {
            assert_eq!(with_first(html, |tree, id| is_hidden(tree.element(id).unwrap())), want, "{html}");
        }
    }

    #[test]
    fn languages_are_found_where_pages_put_them() {
        for (html, want) in [
            ("<pre class='language-js'>", Some("js")),
            ("<pre class='hljs lang-C++'>", Some("c++")),
            ("<div class='highlight highlight-source-rust'><pre>", Some("rust")),
            ("<div class='highlight-python notranslate'><div class=highlight><pre>", Some("python")),
            ("<pre class='brush: java; gutter: false'>", Some("java")),
            ("<pre class='brush:xml;'>", Some("xml")),
            ("<pre class='sourceCode haskell'>", Some("haskell")),
            ("<pre data-lang=go>", Some("go")),
            ("<pre class='language-none'>", None),
            ("<pre class='language-`x`'>", None),
            ("<pre>", None),
        ] {
            assert_eq!(with_first(html, language).as_deref(), want, "{html}");
        }
    }
}
