//! Emphasis and links: written when the first words in them come, so that nothing empty is written.

use super::lines::Lines;

/// What words stand in.
#[derive(Debug)]
pub(super) enum Style {
    Strong,
    Emphasis,
    Struck,
    Raised,
    Link {
        url: String,
        /// With its quotes.
        title: String,
        /// What is written where there are no words in it.
        label: String,
        /// Whether it leads to a place on the same page.
        to_here: bool,
    },
    Plain,
}

impl Style {
    /// Whether one of them in the other would be said twice.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let repeats = matches!(self, Style::Plain | Style::Raised);
        !repeats && std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    fn fence(&self) -> &'static str {
        match self {
            Style::Strong => "**",
            Style::Emphasis => "*",
            Style::Struck => "~~",
            Style::Raised | Style::Link { .. } | Style::Plain => "",
        }
    }
}

/// One of them that is open on the page.
#[derive(Debug)]
pub(super) struct Inline {
    pub(super) style: Style,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    /// Written, its words begin there.
    Open(usize),
    /// Not to be written (again).
    Done,
}

impl Inline {
    /// `again`: it stands in one of its kind already.
    pub(super) fn new(style: Style, again: bool) -> Self {
        Self { style, state: if again { State::Done } else { State::Waiting } }
    }

    /// Whether words in it are those of a link.
    pub(super) fn is_link(&self) -> bool {
        matches!(self.style, Style::Link { .. }) && self.state != State::Done
    }

    /// What to write into it where it has no words.
    pub(super) fn label_if_empty(&self) -> Option<String> {
        let Style::Link { label, .. } = &self.style else { return None };
        (self.state == State::Waiting && !label.is_empty()).then(|| label.clone())
    }

    /// Writes its beginning, if that was not done.
    pub(super) fn open(&mut self, lines: &mut Lines) {
        if self.state != State::Waiting {
            return;
        }
        match &self.style {
            Style::Link { .. } => {
                // With the mark before it, the link would be a picture.
                lines.escape_last('!');
                lines.push("[");
            }
            Style::Raised => {
                if lines.last().is_some_and(char::is_alphanumeric) {
                    lines.push("^");
                }
            }
            Style::Strong | Style::Emphasis | Style::Struck | Style::Plain => lines.push(self.style.fence()),
        }
        self.state = State::Open(lines.mark());
    }

    /// Writes its end, if its beginning was written. A link is written once, emphasis with each block.
    pub(super) fn close(&mut self, lines: &mut Lines) {
        let State::Open(mark) = self.state else { return };
        self.state = State::Waiting;
        match &self.style {
            Style::Link { url, title, to_here, .. } => {
                self.state = State::Done;
                // The sign beside a heading by which readers link to it.
                if *to_here && matches!(lines.since(mark), "¶" | "#" | "\\#" | "§" | "🔗") {
                    lines.cut_back(mark - 1);
                } else {
                    lines.push(&format!("]({url}{title})"));
                }
            }
            Style::Raised => self.state = State::Done,
            Style::Strong | Style::Emphasis | Style::Struck | Style::Plain => lines.push(self.style.fence()),
        }
    }
}
