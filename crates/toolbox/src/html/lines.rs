//! Lines of Markdown: what stands before each line, and what must stand between blocks. Knows nothing of pages.

use super::MAX_OUTPUT;

/// How deep quotations and items are shown in each other; those further in look like the last of these.
pub(super) const MAX_CONTAINERS: usize = 32;

/// Text that grows line by line.
#[derive(Debug, Default)]
pub(super) struct Lines {
    text: String,
    containers: Vec<Container>,
    /// How many were opened beyond those.
    beyond: usize,
    /// How few containers were open since something was written: a blank line belongs to those only.
    shared: usize,
    gap: Gap,
    space: bool,
    /// A list ended, and nothing was written since.
    after_list: bool,
    /// Where the words of the line begin that is being written.
    words_at: usize,
    /// Everything goes on one line: the cell of a table.
    in_cell: bool,
}

/// What must come before the next words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    #[default]
    None,
    /// A line break inside a paragraph.
    Break,
    /// A new line.
    Line,
    /// A blank line.
    Blank,
}

#[derive(Debug)]
enum Container {
    Quote,
    /// A list item; the marker stands before its first line only, and is gone when it was written.
    Item {
        marker: Option<String>,
        width: usize,
    },
}

impl Lines {
    /// Those of a cell, which become one.
    pub(super) fn cell() -> Self {
        Self { in_cell: true, ..Self::default() }
    }

    pub(super) fn is_cell(&self) -> bool {
        self.in_cell
    }

    /// Whether there is more than anybody will read.
    pub(super) fn is_full(&self) -> bool {
        self.text.len() >= MAX_OUTPUT
    }

    /// Everything that was written.
    pub(super) fn finish(self) -> String {
        self.text
    }

    /// Asks for `gap` before the next words. What has just begun has its own place already.
    pub(super) fn gap(&mut self, gap: Gap) {
        self.space = false;
        if !self.is_fresh() {
            self.gap = self.gap.max(gap);
        }
    }

    /// The next item of a list comes, however much room the last one wanted behind it.
    pub(super) fn next_item(&mut self) {
        self.space = false;
        if !self.is_fresh() {
            self.gap = Gap::Line;
        }
        self.after_list = false;
    }

    /// A line break in a paragraph; the second one ends it. Says whether it did.
    pub(super) fn line_break(&mut self) -> bool {
        self.space = false;
        if self.is_fresh() || self.text.is_empty() {
            return false;
        }
        let second = self.gap == Gap::Break;
        self.gap = self.gap.max(if second { Gap::Blank } else { Gap::Break });
        second
    }

    /// White space stands here, if words stand on both sides.
    pub(super) fn space(&mut self) {
        self.space = true;
    }

    /// A quotation begins.
    pub(super) fn open_quote(&mut self) {
        self.open(Container::Quote);
    }

    /// An item begins.
    pub(super) fn open_item(&mut self, marker: String) {
        let width = marker.len();
        self.open(Container::Item { marker: Some(marker), width });
    }

    fn open(&mut self, container: Container) {
        if self.in_cell || self.containers.len() >= MAX_CONTAINERS {
            self.beyond += 1;
        } else {
            self.containers.push(container);
        }
    }

    /// The last quotation or item ends.
    pub(super) fn close(&mut self) {
        if self.beyond > 0 {
            self.beyond -= 1;
            return;
        }
        self.containers.pop();
        self.shared = self.shared.min(self.containers.len());
    }

    /// A list ended: words after it must not be taken for its last item's.
    pub(super) fn list_ended(&mut self) {
        self.after_list = true;
    }

    /// Whether the innermost container has nothing in it yet.
    fn is_fresh(&self) -> bool {
        self.shared < self.containers.len()
    }

    /// The last character of the line so far, `None` where it has none.
    pub(super) fn last(&self) -> Option<char> {
        (self.gap == Gap::None && !self.is_fresh()).then(|| self.text[self.words_at..].chars().next_back()).flatten()
    }

    /// The same, white space that waits counted.
    pub(super) fn before(&self) -> Option<char> {
        let last = self.last()?;
        Some(if self.space { ' ' } else { last })
    }

    /// The words of the line so far.
    pub(super) fn line(&self) -> &str {
        if self.gap == Gap::None && !self.is_fresh() { &self.text[self.words_at..] } else { "" }
    }

    /// Makes the place for words: line ends, what stands before the line, white space.
    pub(super) fn begin(&mut self) {
        let fresh = self.is_fresh();
        if self.text.is_empty() {
            self.prefix();
        } else if self.in_cell {
            match self.gap {
                Gap::None => self.waiting_space(),
                Gap::Break | Gap::Line | Gap::Blank => self.text.push_str("<br>"),
            }
        } else {
            let blank = self.gap == Gap::Blank || self.after_list && self.gap == Gap::Line && !fresh;
            match self.gap {
                Gap::None if !fresh => self.waiting_space(),
                Gap::Break => {
                    self.text.push_str("  ");
                    self.new_line();
                }
                Gap::None | Gap::Line | Gap::Blank => {
                    if blank {
                        self.text.push('\n');
                        let from = self.text.len();
                        self.continued(self.shared);
                        self.text.truncate(from + self.text[from..].trim_end().len());
                    }
                    self.new_line();
                }
            }
        }
        (self.gap, self.space, self.after_list) = (Gap::None, false, false);
        self.shared = self.containers.len();
    }

    fn waiting_space(&mut self) {
        if self.space && self.words_at < self.text.len() {
            self.text.push(' ');
        }
    }

    /// Ends the line and begins the next one.
    fn new_line(&mut self) {
        self.text.push('\n');
        self.prefix();
    }

    /// What stands before a line, markers that were not written yet among it.
    fn prefix(&mut self) {
        for container in &mut self.containers {
            match container {
                Container::Quote => self.text.push_str("> "),
                Container::Item { marker, width } => match marker.take() {
                    Some(marker) => self.text.push_str(&marker),
                    None => self.text.extend(std::iter::repeat_n(' ', *width)),
                },
            }
        }
        self.words_at = self.text.len();
    }

    /// What stands before a further line of the outer `count` containers.
    fn continued(&mut self, count: usize) {
        for container in &self.containers[..count] {
            match container {
                Container::Quote => self.text.push_str("> "),
                Container::Item { width, .. } => self.text.extend(std::iter::repeat_n(' ', *width)),
            }
        }
    }

    /// Writes as it is, at the place that [`Lines::begin`] made.
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Writes a sign as it is.
    pub(super) fn push_char(&mut self, sign: char) {
        self.text.push(sign);
    }

    /// Puts a backslash before the last sign of the line, if it is this one.
    pub(super) fn escape_last(&mut self, sign: char) {
        if self.line().ends_with(sign) {
            self.text.insert(self.text.len() - sign.len_utf8(), '\\');
        }
    }

    /// Whole lines as they are, each after what stands before it.
    pub(super) fn push_lines(&mut self, lines: &str) {
        for (number, line) in lines.split('\n').enumerate() {
            if number == 0 {
                self.begin();
            } else {
                self.new_line();
            }
            if line.is_empty() {
                let bare = self.text.trim_end_matches(' ').len();
                self.text.truncate(bare);
                self.words_at = bare;
            }
            self.text.push_str(line);
            if self.is_full() {
                return;
            }
        }
    }

    /// Where the next word will stand; see [`Lines::cut_back`].
    pub(super) fn mark(&self) -> usize {
        self.text.len()
    }

    /// What was written since `mark`.
    pub(super) fn since(&self, mark: usize) -> &str {
        self.text.get(mark..).unwrap_or_default()
    }

    /// Takes back what was written since `mark`, and the white space before it.
    pub(super) fn cut_back(&mut self, mark: usize) {
        self.text.truncate(mark.max(self.words_at));
        let bare = self.text[self.words_at..].trim_end_matches(' ').len();
        self.text.truncate(self.words_at + bare);
        self.space = true;
    }
}
