//! Reading a page into a tree, with a bound on all that a page can make grow.
//!
//! The parser follows the standard, and by the standard a page of a few megabytes can ask for billions of steps: by
//! nesting without an end, by formatting that is opened anew in each paragraph, by tags with a million attributes. What
//! goes over a bound here is no page that somebody meant to be read.

use std::cell::Cell;

use html5ever::TokenizerResult;
use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::{SliceExt, StrTendril};
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};

use super::tree::{Handle, Sink, Tree};

/// How deep elements may stand in each other. A tag deeper down is passed over, what it holds is not.
pub(super) const MAX_DEPTH: u32 = 256;
/// Most nodes that are made or moved; the page ends there.
pub(super) const MAX_WORK: usize = 1_000_000;
/// Most attributes of one tag; the page ends there.
pub(super) const MAX_ATTRIBUTES: usize = 256;
/// How many bytes are handed over at once, between two looks at the bounds.
const PIECE: usize = 512;

/// Elements whose content is no markup. They are never passed over: what they hold would turn into text.
const RAW: &[&str] = &["iframe", "noembed", "noframes", "plaintext", "script", "style", "textarea", "title", "xmp"];

/// Reads `html` into a tree. Never fails: the standard gives every text a meaning.
pub(super) fn parse(html: &str) -> Tree {
    let options = TreeBuilderOpts { scripting_enabled: false, drop_doctype: true, ..TreeBuilderOpts::default() };
    let guard = Guard { builder: TreeBuilder::new(Sink::new(), options), told: Cell::new(0), full: Cell::new(false) };
    let tokenizer = Tokenizer::new(guard, TokenizerOpts::default());
    let whole = feed(&tokenizer, html);
    tokenizer.end();
    let cut = !whole || tokenizer.sink.full.get();
    tokenizer.sink.builder.sink.into_tree(cut)
}

/// Hands `html` over piece by piece. Says whether all of it was taken.
///
/// A piece begins at each `<`, so that it is known where a tag that does not end began: the parser compares each
/// attribute with all before it, and nothing is heard of a tag until it ends.
fn feed(tokenizer: &Tokenizer<Guard>, html: &str) -> bool {
    let html: StrTendril = html.to_tendril();
    let queue = BufferQueue::default();
    let sink = &tokenizer.sink;
    let mut open = Open::Nothing;
    let mut at = 0;
    let take = |from: usize, to: usize| {
        let before = sink.told.get();
        queue.push_back(html.subtendril(from as u32, (to - from) as u32));
        // Nothing runs here, so a script is no reason to wait.
        while let TokenizerResult::Script(_) = tokenizer.feed(&queue) {}
        sink.told.get() != before
    };
    while at < html.len() {
        if sink.full.get() {
            return false;
        }
        if html.as_bytes()[at] == b'<' {
            // A token told at `<` itself ended what was before it.
            if take(at, at + 1) || matches!(open, Open::Nothing) {
                open = Open::at(&html[at + 1..]);
            }
            at += 1;
        }
        let rest = &html.as_bytes()[at..];
        let far = rest.iter().take(PIECE).position(|&byte| byte == b'<').unwrap_or(rest.len().min(PIECE));
        let end = html.ceil_char_boundary(at + far);
        if end == at {
            continue;
        }
        if let Open::Tag(attributes) = &mut open {
            attributes.add(&html[at..end]);
        }
        if take(at, end) {
            open = Open::Nothing;
        }
        if matches!(&open, Open::Tag(attributes) if attributes.count > MAX_ATTRIBUTES) {
            return false;
        }
        at = end;
    }
    true
}

/// What the tokenizer is in the middle of.
enum Open {
    /// Text; all before it was told.
    Nothing,
    Tag(Attributes),
    /// A comment or a declaration, which may be as long as they like.
    Other,
}

impl Open {
    /// What may begin at a `<` that `rest` follows.
    fn at(rest: &str) -> Self {
        let name = rest.strip_prefix('/').unwrap_or(rest);
        if name.starts_with(|first: char| first.is_ascii_alphabetic()) {
            // The name of the tag counts for one.
            Open::Tag(Attributes { count: 0, state: State::Between })
        } else {
            Open::Other
        }
    }
}

/// Counts the attributes of a tag as it comes in.
struct Attributes {
    count: usize,
    state: State,
}

enum State {
    Between,
    Name,
    /// After the equals sign.
    Value,
    Quoted(u8),
    Bare,
}

impl Attributes {
    fn add(&mut self, text: &str) {
        for byte in text.bytes() {
            let blank = byte.is_ascii_whitespace() || byte == b'/';
            self.state = match &self.state {
                State::Quoted(quote) if byte == *quote => State::Between,
                State::Quoted(quote) => State::Quoted(*quote),
                State::Value if byte.is_ascii_whitespace() => State::Value,
                State::Value if byte == b'"' || byte == b'\'' => State::Quoted(byte),
                State::Value => State::Bare,
                State::Bare if byte.is_ascii_whitespace() => State::Between,
                State::Bare => State::Bare,
                State::Name if byte == b'=' => State::Value,
                State::Name | State::Between if blank => State::Between,
                State::Name => State::Name,
                // A blank may stand before the equals sign of the attribute that was just counted.
                State::Between if byte == b'=' && self.count > 0 => State::Value,
                State::Between => {
                    self.count += 1;
                    State::Name
                }
            };
        }
    }
}

/// Stands between the tokenizer and the builder of the tree, and holds back what is too much.
struct Guard {
    builder: TreeBuilder<Handle, Sink>,
    /// How many tokens came.
    told: Cell<usize>,
    /// No more is taken.
    full: Cell<bool>,
}

impl TokenSink for Guard {
    type Handle = Handle;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Handle> {
        if matches!(token, Token::ParseError(_)) {
            return TokenSinkResult::Continue;
        }
        self.told.set(self.told.get() + 1);
        if self.builder.sink.work() >= MAX_WORK {
            self.full.set(true);
        }
        let end = matches!(token, Token::EOFToken);
        if !end && (self.full.get() || self.is_too_deep(&token)) {
            return TokenSinkResult::Continue;
        }
        self.builder.process_token(token, line)
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

impl Guard {
    fn is_too_deep(&self, token: &Token) -> bool {
        match token {
            Token::TagToken(Tag { kind: TagKind::StartTag, name, .. }) => {
                self.builder.sink.depth() >= MAX_DEPTH && !RAW.contains(&&**name)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::{Id, ROOT, Visitor, Walk};
    use super::*;

    /// How deep a tree is, and how many nodes it has.
    #[derive(Default)]
    struct Measure {
        depth: usize,
        deepest: usize,
        nodes: usize,
    }

    impl Visitor for Measure {
        fn enter(&mut self, _tree: &Tree, _id: Id) -> Walk {
            self.depth += 1;
            self.nodes += 1;
            self.deepest = self.deepest.max(self.depth);
            Walk::Into
        }

        fn leave(&mut self, _tree: &Tree, _id: Id) {
            self.depth -= 1;
        }
    }

    fn measure(html: &str) -> (Measure, bool) {
        let tree = parse(html);
        let mut measure = Measure::default();
        tree.walk(ROOT, &mut measure);
        assert_eq!(measure.depth, 0, "what is entered is left");
        (measure, tree.cut)
    }

    #[test]
    fn nesting_has_a_floor_and_what_lies_below_is_kept() {
        let (measured, cut) = measure(&format!("{}x<script>y</script>", "<div>".repeat(5000)));
        assert!(measured.deepest <= MAX_DEPTH as usize + 3, "{}", measured.deepest);
        assert!(!cut);
    }

    #[test]
    fn formatting_that_is_opened_again_and_again_ends_the_page() {
        let open: String = (0..200).map(|number| format!("<p><b id={number}></p>")).collect();
        let (measured, cut) = measure(&format!("{open}{}", "<p>x".repeat(100_000)));
        assert!(measured.nodes <= MAX_WORK + 2000, "{}", measured.nodes);
        assert!(cut);
    }

    #[test]
    fn a_tag_with_too_many_attributes_ends_the_page() {
        for open in ["<p", "</p", "a &amp <p x='<'", "<!-- <p --><p"] {
            let many: String = (0..100_000).map(|number| format!(" a{number}")).collect();
            assert!(measure(&format!("{open}{many}>text")).1, "{open}");
        }
    }

    #[test]
    fn much_that_is_no_attribute_does_not_end_it() {
        let words = "a b=c ".repeat(100_000);
        for page in [
            format!("<p title=\"{words}\">x"),
            format!("<p title='{words}' class = \"{words}\">x"),
            format!("<!-- <p {words} -->x"),
            format!("<script>if (a<b) {{ {words} }}</script>x"),
            format!("<textarea><p {words}</textarea>x"),
            format!("1 < 2 {words}"),
            format!("<p>{words}</p>"),
        ] {
            assert!(!measure(&page).1, "{}", &page[..20]);
        }
    }
}
