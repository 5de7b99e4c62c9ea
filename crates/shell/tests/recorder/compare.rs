//! Whether what was recorded is what the analysis says.

use std::path::Path;

use haft_shell::{Analysis, Touching};

/// Whether `call` is one of the commands of the analysis. Words that are not known before the run stand for any.
pub(crate) fn is_told(call: &[String], found: &Analysis) -> bool {
    // What these run gets words at its end that the text does not hold.
    let more = found.commands.iter().any(|one| {
        one.words.first().is_some_and(|name| name == "xargs" || name == "find")
            || one.words.iter().any(|word| word == "xargs")
    });
    found.commands.iter().any(|one| {
        let (name, rest) = one.words.split_first().map_or(("", &[][..]), |(name, rest)| (name.as_str(), rest));
        let same = call.first().is_some_and(|called| called == name.rsplit('/').next().unwrap_or_default());
        same && fits(call.get(1..).unwrap_or_default(), rest, more)
    })
}

fn fits(call: &[String], words: &[String], more: bool) -> bool {
    let Some((word, rest)) = words.split_first() else { return more || call.is_empty() };
    if is_open(word) {
        // Any number of words stands here.
        return (0..=call.len()).any(|taken| fits(&call[taken..], rest, more));
    }
    call.split_first().is_some_and(|(first, behind)| first == word && fits(behind, rest, more))
}

/// Whether a word of the analysis may not be what the program gets: a variable, a substitution, a pattern.
fn is_open(word: &str) -> bool {
    let elsewhere = word.starts_with("~+") || word.starts_with("~-") || word.starts_with("/dev/fd/");
    let elsewhere = elsewhere || (word.contains('~') && word.contains('{'));
    elsewhere
        || word.contains(['$', '`', '*', '?', '['])
        || word.contains("<(")
        || word.contains(">(")
        || word.contains("{}")
}

/// Whether the analysis says that `path` is written.
pub(crate) fn is_written(path: &Path, found: &Analysis) -> bool {
    found.writes().iter().any(|written| written == path)
        || found.touches.iter().any(|touch| {
            matches!(touch.how, Touching::Write | Touching::Fill)
                && !touch.rest.is_empty()
                && path.as_os_str().as_encoded_bytes().starts_with(touch.path.as_os_str().as_encoded_bytes())
        })
}
