//! What each key does. Pure.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::buffer::{Cut, Motion};

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Type(char),
    /// Sends, or chooses.
    Enter,
    /// Sends what is to wait for the end of the turn that runs.
    Later,
    /// Another set of the model's options.
    Variant,
    Newline,
    DeleteLeft,
    DeleteRight,
    Cut(Cut),
    Yank,
    YankOther,
    Undo,
    Redo,
    Go(Motion),
    /// A row up, or an older entry of the history.
    Up,
    Down,
    Older,
    Newer,
    Tab,
    BackTab,
    Escape,
    Interrupt,
    /// Deletes to the right, or ends the input where nothing is typed.
    DeleteOrEnd,
    ClearScreen,
    Suspend,
    Search,
    /// To the user's own editor.
    External,
    /// The next key belongs to this one.
    Prefix,
    Nothing,
}

/// What `key` asks for; `prefixed`: whether it follows Ctrl-X.
pub(super) fn act(key: &KeyEvent, prefixed: bool) -> Act {
    if key.kind == KeyEventKind::Release {
        return Act::Nothing;
    }
    let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    if prefixed {
        return match key.code {
            KeyCode::Char('e') => Act::External,
            KeyCode::Char('u') => Act::Undo,
            _ => Act::Nothing,
        };
    }
    match key.code {
        KeyCode::Char(c) if ctrl => with_ctrl(c, alt),
        KeyCode::Char(c) if alt => with_alt(c),
        KeyCode::Char(c) => Act::Type(c),
        KeyCode::Enter if alt || key.modifiers.contains(KeyModifiers::SHIFT) => Act::Newline,
        KeyCode::Enter => Act::Enter,
        KeyCode::Backspace if alt || ctrl => Act::Cut(Cut::WordLeft),
        KeyCode::Backspace => Act::DeleteLeft,
        KeyCode::Delete if alt || ctrl => Act::Cut(Cut::WordRight),
        KeyCode::Delete => Act::DeleteRight,
        KeyCode::Left if alt || ctrl => Act::Go(Motion::WordLeft),
        KeyCode::Right if alt || ctrl => Act::Go(Motion::WordRight),
        KeyCode::Left => Act::Go(Motion::Left),
        KeyCode::Right => Act::Go(Motion::Right),
        KeyCode::Home if ctrl => Act::Go(Motion::Start),
        KeyCode::End if ctrl => Act::Go(Motion::End),
        KeyCode::Home => Act::Go(Motion::LineStart),
        KeyCode::End => Act::Go(Motion::LineEnd),
        KeyCode::Up => Act::Up,
        KeyCode::Down => Act::Down,
        KeyCode::Tab => Act::Tab,
        KeyCode::BackTab => Act::BackTab,
        KeyCode::Esc => Act::Escape,
        _ => Act::Nothing,
    }
}

fn with_ctrl(c: char, alt: bool) -> Act {
    match c {
        'a' => Act::Go(Motion::LineStart),
        'b' => Act::Go(Motion::Left),
        'c' => Act::Interrupt,
        'd' => Act::DeleteOrEnd,
        'e' => Act::Go(Motion::LineEnd),
        'f' => Act::Go(Motion::Right),
        'g' => Act::Escape,
        'h' => Act::DeleteLeft,
        'j' => Act::Newline,
        'k' => Act::Cut(Cut::LineEnd),
        'l' => Act::ClearScreen,
        'm' => Act::Enter,
        'n' => Act::Newer,
        'p' => Act::Older,
        'q' => Act::Later,
        'r' => Act::Search,
        't' => Act::Variant,
        'u' => Act::Cut(Cut::LineStart),
        'w' => Act::Cut(Cut::BlankLeft),
        'x' => Act::Prefix,
        'y' => Act::Yank,
        'z' => Act::Suspend,
        // Terminals send the same byte for Ctrl-7, Ctrl-/ and Ctrl-_.
        '7' | '/' | '_' if alt => Act::Redo,
        '7' | '/' | '_' => Act::Undo,
        _ => Act::Nothing,
    }
}

fn with_alt(c: char) -> Act {
    match c.to_ascii_lowercase() {
        'b' => Act::Go(Motion::WordLeft),
        'd' => Act::Cut(Cut::WordRight),
        'f' => Act::Go(Motion::WordRight),
        'y' => Act::YankOther,
        '<' => Act::Go(Motion::Start),
        '>' => Act::Go(Motion::End),
        _ => Act::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: KeyCode, modifiers: KeyModifiers, want: Act) {
        assert_eq!(act(&KeyEvent::new(code, modifiers), false), want, "{modifiers:?} {code:?}");
    }

    #[test]
    fn keys_do_what_fingers_know() {
        const CTRL: KeyModifiers = KeyModifiers::CONTROL;
        const ALT: KeyModifiers = KeyModifiers::ALT;
        const NONE: KeyModifiers = KeyModifiers::NONE;
        for (letter, want) in [
            ('a', Act::Go(Motion::LineStart)),
            ('e', Act::Go(Motion::LineEnd)),
            ('w', Act::Cut(Cut::BlankLeft)),
            ('u', Act::Cut(Cut::LineStart)),
            ('k', Act::Cut(Cut::LineEnd)),
            ('y', Act::Yank),
            ('j', Act::Newline),
            ('r', Act::Search),
            ('q', Act::Later),
            ('t', Act::Variant),
            ('c', Act::Interrupt),
            ('d', Act::DeleteOrEnd),
            ('l', Act::ClearScreen),
            ('z', Act::Suspend),
            ('7', Act::Undo),
        ] {
            check(KeyCode::Char(letter), CTRL, want);
        }
        check(KeyCode::Char('7'), CTRL | ALT, Act::Redo);
        check(KeyCode::Char('É'), KeyModifiers::SHIFT, Act::Type('É'));
        check(KeyCode::Char('b'), ALT, Act::Go(Motion::WordLeft));
        check(KeyCode::Left, CTRL, Act::Go(Motion::WordLeft));
        check(KeyCode::Backspace, ALT, Act::Cut(Cut::WordLeft));
        check(KeyCode::Enter, ALT, Act::Newline);
        check(KeyCode::Enter, NONE, Act::Enter);
        check(KeyCode::F(5), NONE, Act::Nothing);
    }

    #[test]
    fn a_key_may_follow_another_one() {
        let after = |c, modifiers| act(&KeyEvent::new(KeyCode::Char(c), modifiers), true);
        assert_eq!(after('e', KeyModifiers::CONTROL), Act::External);
        assert_eq!(after('u', KeyModifiers::NONE), Act::Undo);
        assert_eq!(after('c', KeyModifiers::NONE), Act::Nothing);
    }
}
