//! What a person says.

use std::path::PathBuf;

/// A prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The words.
    pub text: String,
    /// Text files the person shows with it. Naming a file is the leave to read it.
    pub files: Vec<PathBuf>,
}

impl Prompt {
    /// Words alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), files: Vec::new() }
    }
}

/// A title for a session that begins with `text`: its first line that says something, at most 60 characters.
pub(crate) fn title(text: &str) -> String {
    const LONGEST: usize = 60;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("New session");
    match line.char_indices().nth(LONGEST) {
        None => line.to_owned(),
        Some((end, _)) => {
            let cut = line[..end].rsplit_once(' ').map_or(&line[..end], |(words, _)| words);
            format!("{}…", cut.trim_end())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        assert_eq!(title(text), want);
    }

    #[test]
    fn a_title_is_the_first_line_cut_between_words() {
        check("fix the test", "fix the test");
        check("\n\n  fix it \nmore", "fix it");
        check("", "New session");
        check(
            "please look at every file in the whole project and tell me what you think",
            "please look at every file in the whole project and tell me…",
        );
        check(&"x".repeat(80), &format!("{}…", "x".repeat(60)));
    }
}
