//! Arithmetic: what is run in it.
//!
//! A variable in an expression is read as an expression itself, and an index in that may run a command. So a variable
//! that the text sets to anything but a number makes it unknown, and so does everything that is not simply written.

use brush_parser::word::{Parameter, ParameterExpr, WordPiece, WordPieceWithSource, parse_heredoc};

use crate::parse::options;
use crate::walk::Walk;
use crate::word::{Place, short};

impl Walk<'_> {
    pub(crate) fn arithmetic(&mut self, text: &str) {
        if !is_balanced(text) {
            // `((a) | (b))` is two shells in a shell.
            self.unknown(&format!("{} may be commands in brackets", short(text)));
        }
        match parse_heredoc(text, &options()) {
            Ok(pieces) => {
                if !self.is_calculable(&pieces) {
                    self.word(text, Place::Body);
                    self.unknown(&format!("the expression {} may run what it holds", short(text)));
                }
            }
            Err(_) => self.unknown(&format!("the expression {} cannot be read", short(text))),
        }
    }

    fn is_calculable(&mut self, pieces: &[WordPieceWithSource]) -> bool {
        let mut fine = true;
        for piece in pieces {
            match &piece.piece {
                WordPiece::Text(text) => fine &= self.expression(text),
                WordPiece::ParameterExpansion(ParameterExpr::Parameter { parameter, indirect: false }) => {
                    match parameter {
                        Parameter::Named(name) => self.variables.calculate(name),
                        Parameter::Special(_) => {}
                        Parameter::Positional(_)
                        | Parameter::NamedWithIndex { .. }
                        | Parameter::NamedWithAllIndices { .. } => fine = false,
                    }
                }
                WordPiece::ParameterExpansion(ParameterExpr::ParameterLength {
                    parameter: Parameter::Named(_) | Parameter::Special(_) | Parameter::NamedWithAllIndices { .. },
                    indirect: false,
                }) => {}
                WordPiece::ArithmeticExpression(inner) => self.arithmetic(&inner.value),
                _ => fine = false,
            }
        }
        fine
    }

    /// Notes the variables in `text`. `false` for what is more than numbers, names and signs.
    fn expression(&mut self, text: &str) -> bool {
        let mut name = String::new();
        for c in text.chars().chain([' ']) {
            if c == '_' || c.is_ascii_alphanumeric() {
                name.push(c);
                continue;
            }
            if name.starts_with(|c: char| !c.is_ascii_digit()) {
                // Set or only read: a value that came from arithmetic is a number.
                self.variables.note(&name, true);
                self.variables.calculate(&name);
            }
            name.clear();
            if !(c.is_ascii_whitespace() || "+-*/%<>=!&|^~?:,()#".contains(c)) {
                return false;
            }
        }
        true
    }
}

/// Whether every bracket in `text` that closes was opened in it, and the other way round.
fn is_balanced(text: &str) -> bool {
    let mut depth = 0usize;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            },
            _ => {}
        }
    }
    depth == 0
}
