//! Words of the model that grow on a terminal: an answer, or what it thinks.

use super::markdown::{Look, Markdown};
use super::style::{Span, Style, painted};
use super::{Paint, clean};

/// A text that grows.
pub(super) struct Words {
    flow: Flow,
    /// How much of the text has come, in bytes.
    taken: usize,
    /// Taken from the store while it grew: which of its deltas are in that is not known, so none counts any more, and
    /// what is missing is shown when it ends.
    stored: bool,
}

enum Flow {
    Answer(Box<Markdown>),
    Thoughts(Thoughts),
}

impl Words {
    pub(super) fn new(thinking: bool, look: Look) -> Self {
        let flow = match thinking {
            true => Flow::Thoughts(Thoughts { paint: look.paint, whole: Vec::new(), partial: String::new() }),
            false => Flow::Answer(Box::new(Markdown::new(look))),
        };
        Self { flow, taken: 0, stored: false }
    }

    pub(super) fn is_thinking(&self) -> bool {
        matches!(self.flow, Flow::Thoughts(_))
    }

    /// Takes what is new of `text`, all there is so far. `stored`: whether it comes from the store.
    pub(super) fn reach(&mut self, text: &str, stored: bool) {
        self.stored |= stored;
        // A text that is not what it was is left as it was shown.
        if let Some(new) = text.get(self.taken..) {
            self.push(new);
        }
    }

    /// Lays out what is not certain yet in so many columns.
    pub(super) fn fit(&mut self, columns: usize) {
        match &mut self.flow {
            Flow::Answer(markdown) => markdown.fit(columns),
            // Thoughts are not laid out.
            Flow::Thoughts(_) => {}
        }
    }

    /// What comes from now on is painted so.
    pub(super) fn paint(&mut self, paint: Paint) {
        match &mut self.flow {
            Flow::Answer(markdown) => markdown.paint(paint),
            Flow::Thoughts(thoughts) => thoughts.paint = paint,
        }
    }

    /// Takes one more piece.
    pub(super) fn grow(&mut self, piece: &str) {
        if !self.stored {
            self.push(piece);
        }
    }

    fn push(&mut self, piece: &str) {
        self.taken += piece.len();
        match &mut self.flow {
            Flow::Answer(markdown) => markdown.push(piece),
            Flow::Thoughts(thoughts) => thoughts.push(piece),
        }
    }

    /// The lines that have become certain since the last time.
    pub(super) fn settle(&mut self) -> Vec<String> {
        match &mut self.flow {
            Flow::Answer(markdown) => markdown.settle(),
            Flow::Thoughts(thoughts) => std::mem::take(&mut thoughts.whole),
        }
    }

    /// The last `most` lines of what is not certain yet.
    pub(super) fn tail(&self, most: usize) -> Vec<String> {
        match &self.flow {
            Flow::Answer(markdown) => markdown.tail(most),
            Flow::Thoughts(thoughts) => thoughts.rest(),
        }
    }

    /// Everything that was not shown yet: nothing more comes.
    pub(super) fn end(self) -> Vec<String> {
        match self.flow {
            Flow::Answer(markdown) => markdown.end(),
            Flow::Thoughts(mut thoughts) => {
                let rest = thoughts.rest();
                thoughts.whole.extend(rest);
                thoughts.whole
            }
        }
    }
}

/// Thoughts are shown as they are, dimmed.
struct Thoughts {
    paint: Paint,
    whole: Vec<String>,
    partial: String,
}

impl Thoughts {
    fn push(&mut self, piece: &str) {
        let mut rest = piece;
        while let Some((line, behind)) = rest.split_once('\n') {
            self.partial.push_str(line);
            self.whole.push(self.shown(&self.partial));
            self.partial.clear();
            rest = behind;
        }
        self.partial.push_str(rest);
    }

    fn rest(&self) -> Vec<String> {
        Vec::from_iter((!self.partial.is_empty()).then(|| self.shown(&self.partial)))
    }

    fn shown(&self, line: &str) -> String {
        painted(&[Span::new(clean(line).replace('\t', "    "), Style::DIM)], self.paint)
    }
}
