//! What servers' tools and prompts are called here. Pure.

/// Longest name of a tool, in characters: what all vendors take.
pub const MAX_NAME: usize = 64;
/// How many hexadecimal digits stand for what was cut off a longer one.
const DIGITS: usize = 8;

/// `name` with a `_` in the place of each character that a vendor would not take.
pub fn safe(name: &str) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.chars().map(|c| if keep(c) { c } else { '_' }).collect()
}

/// What the tool `tool` of the server `server` is called. Where that would be longer than [`MAX_NAME`], its end is a
/// digest of it.
pub fn tool_name(server: &str, tool: &str) -> String {
    let whole = format!("{}_{}", safe(server), safe(tool));
    if whole.len() <= MAX_NAME {
        return whole;
    }
    let digest = blake3::hash(whole.as_bytes()).to_hex();
    // All of it is ASCII.
    format!("{}_{}", &whole[..MAX_NAME - DIGITS - 1], &digest[..DIGITS])
}

/// What the command for the prompt `prompt` of the server `server` is called.
pub fn prompt_name(server: &str, prompt: &str) -> String {
    format!("{}:{}", safe(server), safe(prompt))
}

/// Longest text of a server that is shown on one line, in characters.
const MAX_LINE: usize = 500;

/// `text` without what a terminal obeys and without characters that nobody sees: servers could hide words for the model
/// in them.
pub fn clean(text: &str) -> String {
    text.chars().filter(|&c| is_seen(c)).collect()
}

/// The same in one line, cut.
pub fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    clean(&words.join(" ")).chars().take(MAX_LINE).collect()
}

fn is_seen(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        // Directions, joiners that carry no meaning, and the letters of tags.
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => false,
        '\u{e0000}'..='\u{e007f}' => false,
        c => !c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_what_vendors_take() {
        let row = |server: &str, tool: &str, want: &str| assert_eq!(tool_name(server, tool), want);
        row("my server", "echo.it", "my_server_echo_it");
        row("git", "status", "git_status");
        row("a-b", "c_d", "a-b_c_d");
        row("é", "\u{1b}[31m/x", "____31m_x");
        row("", "", "_");
        assert_eq!(prompt_name("my server", "do it"), "my_server:do_it");
    }

    #[test]
    fn a_long_name_is_cut_and_stays_different_from_others() {
        let (one, other) = (tool_name("s", &"x".repeat(100)), tool_name("s", &format!("{}y", "x".repeat(99))));
        assert_eq!((one.len(), other.len()), (MAX_NAME, MAX_NAME));
        assert_ne!(one, other);
        assert_eq!(tool_name("s", &"x".repeat(62)).len(), MAX_NAME);
        assert_eq!(tool_name("s", &"x".repeat(62)), format!("s_{}", "x".repeat(62)));
    }

    #[test]
    fn nothing_unseen_is_left_in_a_text() {
        let row = |text: &str, want: &str| assert_eq!(clean(text), want, "{text:?}");
        row("a\nb\tc", "a\nb\tc");
        row("\u{1b}[2Jgone\u{7}\r", "[2Jgone");
        row("a\u{202e}b\u{200b}c", "abc");
        row("x\u{e0049}\u{e0067}y", "xy");
        row("naïve 漢字 👩‍💻", "naïve 漢字 👩‍💻");
        assert_eq!(line(" a \n b\u{1b} "), "a b");
    }
}
