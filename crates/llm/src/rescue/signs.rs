//! Where a text may hold a call: the signs that calls begin with, and the places at which one counts.

use super::Rescue;

/// Longest indentation of a line that is no code, in columns.
const MAX_INDENT: usize = 3;

/// Where a sign counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Anywhere outside of code: nobody writes it by hand.
    Anywhere,
    /// At the beginning of a line, or behind the end of a sentence.
    Sentence,
    /// At the beginning of a line.
    Line,
    /// At the beginning of the answer.
    Answer,
}

/// The signs, where each counts, and from which [`Rescue`] on.
const SIGNS: [(&str, Place, Rescue); 21] = [
    ("<tool_call>", Place::Sentence, Rescue::Marked),
    ("<function=", Place::Sentence, Rescue::Marked),
    ("<minimax:tool_call>", Place::Sentence, Rescue::Marked),
    ("<function_calls>", Place::Sentence, Rescue::Marked),
    ("<｜DSML｜function_calls>", Place::Anywhere, Rescue::Marked),
    ("<|DSML|function_calls>", Place::Anywhere, Rescue::Marked),
    ("<|python_tag|>", Place::Anywhere, Rescue::Marked),
    ("[TOOL_CALLS]", Place::Anywhere, Rescue::Marked),
    ("<｜tool▁calls▁begin｜>", Place::Anywhere, Rescue::Marked),
    ("<｜tool▁call▁begin｜>", Place::Anywhere, Rescue::Marked),
    ("<|tool_calls_section_begin|>", Place::Anywhere, Rescue::Marked),
    ("<|tool_call_begin|>", Place::Anywhere, Rescue::Marked),
    ("<|channel|>", Place::Anywhere, Rescue::Marked),
    ("<|start|>assistant", Place::Anywhere, Rescue::Marked),
    ("<|tool_call|>", Place::Anywhere, Rescue::Marked),
    ("```tool_code", Place::Line, Rescue::Any),
    ("```tool_call", Place::Line, Rescue::Any),
    ("```json\n", Place::Answer, Rescue::Any),
    ("```\n", Place::Answer, Rescue::Any),
    ("{", Place::Answer, Rescue::Any),
    ("[", Place::Answer, Rescue::Any),
];

/// How far a text has come, as its signs count.
#[derive(Debug, Clone, Default)]
pub(super) struct Context {
    /// Whether anything but blanks was said.
    said: bool,
    /// The fence that is open.
    fence: Option<char>,
    line: Line,
}

/// The line that a text is in.
#[derive(Debug, Clone, Default)]
struct Line {
    /// Columns before the first letter.
    indent: usize,
    /// How many equal letters the line begins with, and which.
    begins: Option<(char, usize)>,
    /// Whether the beginning is still being counted.
    beginning: bool,
    /// Backticks so far.
    ticks: usize,
    /// The last letter that is no blank.
    last: Option<char>,
}

/// What a text holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sight {
    /// A sign, at this place. `bare`: it is none of its own, but the beginning of the answer.
    Sign { at: usize, bare: bool },
    /// What may become one, from this place on.
    Perhaps(usize),
    /// None.
    Clear,
}

impl Context {
    /// Looks for the first sign in `text`, which goes on where this context has come to, from byte `from` on. The
    /// context then stands at what was found, else behind the text.
    pub(super) fn look(&mut self, text: &str, from: usize, mode: Rescue) -> Sight {
        for (offset, letter) in text[from..].char_indices() {
            let at = from + offset;
            if matches!(letter, '<' | '[' | '`' | '{')
                && let Some(sight) = self.sign(&text[at..], at, mode)
            {
                return sight;
            }
            self.feed(letter);
        }
        Sight::Clear
    }

    /// Goes over `text` without looking.
    pub(super) fn pass(&mut self, text: &str) {
        text.chars().for_each(|letter| self.feed(letter));
    }

    fn sign(&self, rest: &str, at: usize, mode: Rescue) -> Option<Sight> {
        let mut perhaps = None;
        for (sign, place, from) in SIGNS {
            if (from == Rescue::Any && mode != Rescue::Any) || !self.counts(place) {
                continue;
            }
            if rest.starts_with(sign) {
                return Some(Sight::Sign { at, bare: from == Rescue::Any });
            }
            if sign.starts_with(rest) {
                perhaps = Some(Sight::Perhaps(at));
            }
        }
        perhaps
    }

    fn counts(&self, place: Place) -> bool {
        let quoted = self.line.begins.is_some_and(|(first, _)| first == '>');
        if self.fence.is_some() || self.line.ticks % 2 == 1 || quoted {
            return false;
        }
        let begins = self.line.last.is_none();
        // A line that is indented far is code, and behind a word it is not called but talked about.
        let line = begins && self.line.indent <= MAX_INDENT;
        match place {
            Place::Anywhere => !begins || line,
            Place::Sentence => {
                line || self.line.last.is_some_and(|last| matches!(last, '.' | '!' | '?' | ':' | '…' | '>'))
            }
            Place::Line => line,
            Place::Answer => !self.said && line,
        }
    }

    fn feed(&mut self, letter: char) {
        if letter == '\n' {
            self.end_line();
            return;
        }
        let line = &mut self.line;
        if letter.is_whitespace() {
            if line.last.is_none() {
                line.indent += if letter == '\t' { 4 } else { 1 };
            }
            line.beginning = false;
            return;
        }
        match &mut line.begins {
            None => (line.begins, line.beginning) = (Some((letter, 1)), true),
            Some((first, count)) if line.beginning && *first == letter => *count += 1,
            Some(_) => line.beginning = false,
        }
        line.ticks += usize::from(letter == '`');
        line.last = Some(letter);
        self.said = true;
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let Some((letter @ ('`' | '~'), 3..)) = line.begins.filter(|_| line.indent <= MAX_INDENT) else { return };
        self.fence = match self.fence {
            None => Some(letter),
            Some(open) if open == letter => None,
            Some(open) => Some(open),
        };
    }
}
