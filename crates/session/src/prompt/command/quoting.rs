//! Puts arguments into a command line as words of it, so that no argument is more than that. Pure.

use super::{Place, at, places};

/// How the shell reads what stands at a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    None,
    Single,
    Double,
}

/// Fills `given` into `line`. `None` where an argument is more than a plain word and it cannot be told how the shell
/// would read it there.
pub(super) fn fill(line: &str, given: &[String], highest: Option<usize>) -> Option<String> {
    let mut filled = String::with_capacity(line.len());
    let mut quote = Quote::None;
    for place in places(line) {
        let words = match place {
            Place::Text(text) => {
                quote = after(text, quote);
                filled.push_str(text);
                continue;
            }
            Place::All => given,
            Place::One(number) => at(given, number, highest),
        };
        if !words.iter().all(|word| is_plain(word)) && is_intricate(line) {
            return None;
        }
        let words: Vec<String> = words.iter().map(|word| quoted(word, quote)).collect();
        filled.push_str(&words.join(" "));
    }
    Some(filled)
}

/// Whether more than quotes decides how the shell reads a place in `line`.
fn is_intricate(line: &str) -> bool {
    ["$(", "${", "$'", "$\"", "<<", "<(", ">(", "#", "`"].iter().any(|mark| line.contains(mark))
}

/// How the shell reads what follows `text`.
fn after(text: &str, mut quote: Quote) -> Quote {
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        quote = match (quote, letter) {
            (Quote::None, '\'') => Quote::Single,
            (Quote::None, '"') => Quote::Double,
            (Quote::Single, '\'') | (Quote::Double, '"') => Quote::None,
            (Quote::None | Quote::Double, '\\') => {
                letters.next();
                quote
            }
            (same, _) => same,
        };
    }
    quote
}

/// Whether the shell reads `word` as itself wherever it stands.
fn is_plain(word: &str) -> bool {
    !word.is_empty()
        && word
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | '@' | '%' | '+' | ',' | '='))
}

fn quoted(word: &str, quote: Quote) -> String {
    match quote {
        Quote::None if is_plain(word) => word.to_owned(),
        Quote::None => format!("'{}'", word.replace('\'', r"'\''")),
        Quote::Single => word.replace('\'', r"'\''"),
        Quote::Double => {
            let escaped = |c: char| if matches!(c, '"' | '$' | '`' | '\\') { vec!['\\', c] } else { vec![c] };
            word.chars().flat_map(escaped).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, argument: &str, want: Option<&str>) {
        assert_eq!(fill(line, &[argument.to_owned()], Some(1)).as_deref(), want, "{line} with {argument}");
    }

    #[test]
    fn a_word_is_quoted_for_where_it_stands() {
        check("ls $1", "a b", Some("ls 'a b'"));
        check("ls $1", "it's", Some(r"ls 'it'\''s'"));
        check("ls '$1'", "it's;", Some(r"ls 'it'\''s;'"));
        check("ls \"$1\"", "`id` \\ \"x\"", Some(r#"ls "\`id\` \\ \"x\"""#));
        check(r"ls \'$1", "a;b", Some(r"ls \''a;b'"));
        check(r#"ls "\"$1""#, "a;b", Some(r#"ls "\"a;b""#));
        check("ls $1", "", Some("ls ''"));
        check("ls $1", "a\nb", Some("ls 'a\nb'"));
    }

    #[test]
    fn where_quotes_are_not_all_only_plain_words_are_filled_in() {
        for line in ["a $(b $1)", "a ${x:-$1}", "a <<E\n$1", "a # it's $1", "a $'$1'", "a <(b $1)"] {
            check(line, "x;y", None);
            check(line, "x.y", Some(&line.replace("$1", "x.y")));
        }
    }
}
