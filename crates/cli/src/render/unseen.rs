//! Characters that do not look like what they are. Pure.

/// Whether a terminal acts on `c`: control characters but for the line break and the tab, and what turns the direction
/// of writing or breaks a line by itself.
pub(super) fn is_obeyed(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}');
    let breaks = matches!(c, '\u{2028}' | '\u{2029}');
    turns || breaks || (c.is_control() && c != '\n' && c != '\t')
}

/// Whether `c` is one that nobody sees: those that Unicode lets a reader ignore, and blanks that are no blanks.
pub(super) fn is_ignored(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Whether `c` joins letters or pictures, or keeps them apart: invisible, and needed by some writings.
pub(super) fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Whether `c` chooses between text and picture.
pub(super) fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

/// Whether `c` can be taken for something else, or has no look that all agree on: blanks of other kinds, letters of
/// private use, and code points that are no characters.
pub(super) fn is_unclear(c: char) -> bool {
    let blank = c.is_whitespace() && !matches!(c, ' ' | '\n' | '\t') || c == '\u{2800}';
    let private = matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}');
    let none = u32::from(c) & 0xfffe == 0xfffe || matches!(c, '\u{fdd0}'..='\u{fdef}');
    blank || private || none
}
