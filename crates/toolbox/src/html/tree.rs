//! A page as a tree, in one vector: nothing about it is recursive, so no page can be too deep to walk or to drop.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::{Attribute, ExpandedName, QualName, local_name, ns};

/// Where a node is in its tree.
pub(super) type Id = u32;

/// No node.
const NONE: Id = Id::MAX;

/// The document, the first node of each tree.
pub(super) const ROOT: Id = 0;

/// Attributes that somebody reads. The others are dropped at once.
const READ: &[&str] = &[
    "alt",
    "alttext",
    "aria-hidden",
    "aria-label",
    "checked",
    "class",
    "colspan",
    "content",
    "data-lang",
    "data-language",
    "data-src",
    "encoding",
    "height",
    "hidden",
    "href",
    "http-equiv",
    "open",
    "role",
    "rowspan",
    "shadowrootmode",
    "src",
    "start",
    "style",
    "title",
    "type",
    "value",
    "width",
];

/// A parsed page.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// Whether the page was too much and only its beginning is here.
    pub(super) cut: bool,
}

#[derive(Debug)]
struct Node {
    parent: Id,
    previous: Id,
    next: Id,
    first: Id,
    last: Id,
    depth: u32,
    data: Data,
}

#[derive(Debug)]
enum Data {
    Element(Box<Element>),
    Text(StrTendril),
    /// The document, comments, instructions.
    Other,
}

/// An element.
#[derive(Debug)]
pub(super) struct Element {
    name: Rc<QualName>,
    attributes: Vec<(QualName, StrTendril)>,
}

impl Element {
    /// The name, which says what it is only in HTML itself: SVG has a `title` of its own.
    pub(super) fn html(&self) -> Option<&str> {
        (self.name.ns == ns!(html)).then_some(&*self.name.local)
    }

    /// The name, whatever language it is of.
    pub(super) fn local(&self) -> &str {
        &self.name.local
    }

    /// The value of an attribute.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(own, _)| &*own.local == name).map(|(_, value)| &**value)
    }
}

impl Tree {
    /// The element at `id`, if it is one.
    pub(super) fn element(&self, id: Id) -> Option<&Element> {
        match &self.nodes.get(id as usize)?.data {
            Data::Element(element) => Some(element),
            Data::Text(_) | Data::Other => None,
        }
    }

    /// The text at `id`, if it is one.
    pub(super) fn text(&self, id: Id) -> Option<&str> {
        match &self.nodes.get(id as usize)?.data {
            Data::Text(text) => Some(text),
            Data::Element(_) | Data::Other => None,
        }
    }

    /// The node that holds `id`.
    pub(super) fn parent(&self, id: Id) -> Option<Id> {
        self.link(id, |node| node.parent)
    }

    fn link(&self, id: Id, which: impl Fn(&Node) -> Id) -> Option<Id> {
        self.nodes.get(id as usize).map(which).filter(|&id| id != NONE)
    }

    /// Walks what is below `from`, in the order of the page. `visitor` says where not to go.
    pub(super) fn walk(&self, from: Id, visitor: &mut impl Visitor) {
        let Some(mut at) = self.link(from, |node| node.first) else { return };
        loop {
            let into = match visitor.enter(self, at) {
                Walk::Into => self.link(at, |node| node.first),
                Walk::Past => None,
                Walk::Stop => return,
            };
            if let Some(child) = into {
                at = child;
                continue;
            }
            visitor.leave(self, at);
            loop {
                if let Some(next) = self.link(at, |node| node.next) {
                    at = next;
                    break;
                }
                match self.parent(at) {
                    Some(parent) if parent != from => at = parent,
                    _ => return,
                }
                visitor.leave(self, at);
            }
        }
    }
}

/// Somebody who walks a tree.
pub(super) trait Visitor {
    /// A node begins.
    fn enter(&mut self, tree: &Tree, id: Id) -> Walk;
    /// A node that was entered ends, also one that was gone past.
    fn leave(&mut self, _tree: &Tree, _id: Id) {}
}

/// Where a walk goes from a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Walk {
    /// To what it holds.
    Into,
    /// To what comes after it.
    Past,
    /// Nowhere.
    Stop,
}

/// What the parser builds a tree with.
pub(super) struct Sink {
    nodes: RefCell<Vec<Node>>,
    /// How deep the last node was put.
    depth: Cell<u32>,
    /// Nodes made and moved, all there is to do in building a tree.
    work: Cell<usize>,
}

/// What the parser knows a node by.
#[derive(Debug, Clone)]
pub(super) struct Handle {
    id: Id,
    name: Rc<QualName>,
}

impl Sink {
    pub(super) fn new() -> Self {
        let sink = Self { nodes: RefCell::default(), depth: Cell::new(0), work: Cell::new(0) };
        sink.make(Data::Other);
        sink
    }

    /// How deep the last node was put.
    pub(super) fn depth(&self) -> u32 {
        self.depth.get()
    }

    /// How much was done so far: nodes that were made or moved.
    pub(super) fn work(&self) -> usize {
        self.work.get()
    }

    /// What was built; `cut` where not everything was read.
    pub(super) fn into_tree(self, cut: bool) -> Tree {
        Tree { nodes: self.nodes.into_inner(), cut }
    }

    fn make(&self, data: Data) -> Id {
        self.work.set(self.work.get() + 1);
        let mut nodes = self.nodes.borrow_mut();
        let id = Id::try_from(nodes.len()).unwrap_or(NONE);
        nodes.push(Node { parent: NONE, previous: NONE, next: NONE, first: NONE, last: NONE, depth: 0, data });
        id
    }

    fn other(&self) -> Handle {
        Handle { id: self.make(Data::Other), name: no_name() }
    }

    /// Puts `id`, which stands nowhere, into `parent` before `next`, or last of all.
    fn put(&self, id: Id, parent: Id, next: Id) {
        let mut nodes = self.nodes.borrow_mut();
        let previous = if next == NONE { nodes[parent as usize].last } else { nodes[next as usize].previous };
        let depth = nodes[parent as usize].depth + 1;
        let node = &mut nodes[id as usize];
        (node.parent, node.previous, node.next, node.depth) = (parent, previous, next, depth);
        match previous {
            NONE => nodes[parent as usize].first = id,
            previous => nodes[previous as usize].next = id,
        }
        match next {
            NONE => nodes[parent as usize].last = id,
            next => nodes[next as usize].previous = id,
        }
        self.depth.set(depth);
    }

    fn take_out(&self, id: Id) {
        self.work.set(self.work.get() + 1);
        let mut nodes = self.nodes.borrow_mut();
        let Node { parent, previous, next, .. } = nodes[id as usize];
        if parent == NONE {
            return;
        }
        match previous {
            NONE => nodes[parent as usize].first = next,
            previous => nodes[previous as usize].next = next,
        }
        match next {
            NONE => nodes[parent as usize].last = previous,
            next => nodes[next as usize].previous = previous,
        }
        let node = &mut nodes[id as usize];
        (node.parent, node.previous, node.next) = (NONE, NONE, NONE);
    }

    fn insert(&self, parent: Id, next: Id, child: NodeOrText<Handle>) {
        match child {
            NodeOrText::AppendNode(node) => {
                self.take_out(node.id);
                self.put(node.id, parent, next);
            }
            NodeOrText::AppendText(text) => {
                let mut nodes = self.nodes.borrow_mut();
                let before = if next == NONE { nodes[parent as usize].last } else { nodes[next as usize].previous };
                if let Some(Node { data: Data::Text(old), depth, .. }) = nodes.get_mut(before as usize) {
                    self.depth.set(*depth);
                    old.push_tendril(&text);
                    return;
                }
                drop(nodes);
                let id = self.make(Data::Text(text));
                self.put(id, parent, next);
            }
        }
    }
}

fn no_name() -> Rc<QualName> {
    Rc::new(QualName::new(None, ns!(), local_name!("")))
}

impl TreeSink for Sink {
    type Handle = Handle;
    type Output = Self;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Self {
        self
    }

    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        Handle { id: ROOT, name: no_name() }
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> ExpandedName<'a> {
        target.name.expanded()
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, _flags: ElementFlags) -> Handle {
        let name = Rc::new(name);
        let read = |one: &Attribute| READ.contains(&&*one.name.local);
        let attributes = attributes.into_iter().filter(read).map(|one| (one.name, one.value)).collect();
        let id = self.make(Data::Element(Box::new(Element { name: Rc::clone(&name), attributes })));
        Handle { id, name }
    }

    fn create_comment(&self, _text: StrTendril) -> Handle {
        self.other()
    }

    fn create_pi(&self, _target: StrTendril, _data: StrTendril) -> Handle {
        self.other()
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        self.insert(parent.id, NONE, child);
    }

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        let parent = self.nodes.borrow()[sibling.id as usize].parent;
        if parent != NONE {
            self.insert(parent, sibling.id, child);
        }
    }

    fn append_based_on_parent_node(&self, element: &Handle, previous: &Handle, child: NodeOrText<Handle>) {
        if self.nodes.borrow()[element.id as usize].parent == NONE {
            self.append(previous, child);
        } else {
            self.append_before_sibling(element, child);
        }
    }

    fn append_doctype_to_document(&self, _name: StrTendril, _public: StrTendril, _system: StrTendril) {}

    /// What a template holds stands in the tree like everything else; who walks decides whether to look at it.
    fn get_template_contents(&self, target: &Handle) -> Handle {
        target.clone()
    }

    fn same_node(&self, one: &Handle, other: &Handle) -> bool {
        one.id == other.id
    }

    fn set_quirks_mode(&self, _mode: QuirksMode) {}

    fn add_attrs_if_missing(&self, _target: &Handle, _attributes: Vec<Attribute>) {}

    fn remove_from_parent(&self, target: &Handle) {
        self.take_out(target.id);
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        loop {
            let first = self.nodes.borrow()[node.id as usize].first;
            if first == NONE {
                return;
            }
            self.take_out(first);
            self.put(first, new_parent.id, NONE);
        }
    }
}

impl Tree {
    /// The words in `id` and below it, blanks as they are.
    pub(super) fn words(&self, id: Id) -> String {
        struct Words(String);
        impl Visitor for Words {
            fn enter(&mut self, tree: &Tree, id: Id) -> Walk {
                self.0.push_str(tree.text(id).unwrap_or_default());
                Walk::Into
            }
        }
        let mut words = Words(String::new());
        self.walk(id, &mut words);
        words.0
    }

    /// Where what plays at `id` comes from, if it does not say so itself.
    pub(super) fn first_source(&self, id: Id) -> Option<&str> {
        let mut child = self.link(id, |node| node.first);
        while let Some(at) = child {
            let source = self.element(at).filter(|element| element.html() == Some("source"));
            if let Some(url) = source.and_then(|element| element.get("src")) {
                return Some(url);
            }
            child = self.link(at, |node| node.next);
        }
        None
    }

    /// The formula at `id` in TeX, where the page gives it beside the drawn one.
    pub(super) fn tex(&self, id: Id) -> Option<String> {
        struct Search(Option<Id>);
        impl Visitor for Search {
            fn enter(&mut self, tree: &Tree, id: Id) -> Walk {
                let tex = |element: &Element| {
                    element.local() == "annotation"
                        && element
                            .get("encoding")
                            .is_some_and(|encoding| encoding.eq_ignore_ascii_case("application/x-tex"))
                };
                if tree.element(id).is_some_and(tex) {
                    self.0 = Some(id);
                    return Walk::Stop;
                }
                Walk::Into
            }
        }
        let mut search = Search(None);
        self.walk(id, &mut search);
        search.0.map(|id| self.words(id))
    }
}
