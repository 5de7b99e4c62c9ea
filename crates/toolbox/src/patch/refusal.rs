//! Why a file cannot be changed as a patch says, worded for the model that wrote it.

use std::fmt;

/// Why the hunks of a patch cannot be applied to a text. The message is for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Which of the hunks, from 1.
    pub hunk: usize,
    /// What is wrong with it.
    pub why: Why,
}

/// What is wrong with a hunk. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The line that shall be above it is not in the text, or not where it may be.
    NoAbove {
        /// The line.
        above: String,
        /// Where it is, before the place of the hunk before this one.
        earlier: Option<usize>,
        /// A line that looks like it.
        near: Option<String>,
    },
    /// Its old lines are not in the text.
    NoLines {
        /// What comes nearest, in words.
        nearest: String,
    },
    /// Its old lines are too far up.
    Earlier {
        /// Where they are.
        line: usize,
        /// The line that they should be below, where the patch names one.
        above: Option<usize>,
    },
    /// It fits in more than one place.
    Several {
        /// Some of the lines that it may begin on.
        lines: Vec<usize>,
        /// Whether there are more.
        more: bool,
    },
    /// Finding its place takes too long.
    TooMuch,
}

const READ_AGAIN: &str = "Read the file again and copy the lines exactly.";

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hunk {}", self.hunk)?;
        match &self.why {
            Why::NoAbove { above, earlier: Some(line), .. } => write!(
                f,
                ": `@@ {above}` is on line {line}, not below the hunk before it. Hunks must stand in the order of the \
                 file; for several changes below one line write them as one hunk"
            ),
            Why::NoAbove { above, earlier: None, near } => {
                write!(f, ": no line of the file is `{above}`, which `@@` names. ")?;
                if let Some(near) = near {
                    write!(f, "The nearest is {near}. ")?;
                }
                f.write_str("Behind `@@` write a whole line of the file, or nothing")
            }
            Why::NoLines { nearest } => write!(f, ": its lines are not in the file. {nearest} {READ_AGAIN}"),
            Why::Earlier { line, above: None } => write!(
                f,
                ": its lines are on line {line}, above the end of the hunk before it. Hunks must stand in the order of \
                 the file and share no lines"
            ),
            Why::Earlier { line, above: Some(above) } => write!(
                f,
                ": its lines are on line {line}, and not below line {above}, where `@@` puts them. Correct what stands \
                 behind `@@`, or leave it out"
            ),
            Why::Several { lines, more } => {
                let named: Vec<String> = lines.iter().map(usize::to_string).collect();
                let more = if *more { ", …" } else { "" };
                write!(
                    f,
                    " fits in several places, on lines {}{more}. Take in lines around the one you mean until only it \
                     fits, or write a line above it behind `@@`, such as that of its function",
                    named.join(", ")
                )
            }
            Why::TooMuch => f.write_str(
                ": its place cannot be found in reasonable time, as its lines are all over the file. Take in lines \
                 that are only there",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_names_the_hunk_and_the_next_step() {
        #[track_caller]
        fn check(why: Why, want: &str) {
            let text = Refusal { hunk: 2, why }.to_string();
            assert!(text.starts_with("hunk 2") && text.contains(want), "{text}");
        }
        let above = "fn a".to_owned();
        check(Why::NoAbove { above: above.clone(), earlier: Some(3), near: None }, "`@@ fn a` is on line 3, not below");
        let near = Some("line 4: `fn ab`".to_owned());
        check(Why::NoAbove { above, earlier: None, near }, "The nearest is line 4: `fn ab`. Behind `@@` write a whole");
        check(Why::NoLines { nearest: "Nothing is like it.".into() }, "Nothing is like it. Read the file again");
        check(Why::Earlier { line: 3, above: None }, "are on line 3, above the end of the hunk before it");
        check(Why::Earlier { line: 3, above: Some(5) }, "not below line 5, where `@@` puts them");
        check(Why::Several { lines: vec![1, 5], more: true }, "on lines 1, 5, …. Take in lines");
        check(Why::TooMuch, "Take in lines that are only there");
    }
}
