use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::*;
use crate::chat::editor::keys::act;

/// A line of 20 columns with a history, and all that came of it.
struct Desk {
    line: Line,
    history: History,
    busy: bool,
    outcomes: Vec<Outcome>,
}

fn desk(kind: Kind) -> Desk {
    let mut history = History::default();
    for (mode, text) in [(Mode::Prompt, "fix the bug"), (Mode::Shell, "ls -l"), (Mode::Prompt, "add a test")] {
        history.add(Entry { mode, text: text.to_owned(), pasted: Vec::new() });
    }
    Desk { line: Line::new(kind), history, busy: false, outcomes: Vec::new() }
}

fn chat() -> Desk {
    desk(Kind::Chat)
}

impl Desk {
    fn around(&self) -> Around<'_> {
        Around { busy: self.busy, columns: 20, summary: true, history: &self.history }
    }

    /// Presses keys: letters are typed, `^x` is Ctrl-X, and names in angle brackets are other keys.
    fn press(mut self, keys: &str) -> Self {
        let mut rest = keys;
        while let Some(c) = rest.chars().next() {
            let (key, length) = match c {
                '^' => (KeyEvent::new(KeyCode::Char(rest.chars().nth(1).unwrap()), KeyModifiers::CONTROL), 2),
                '<' => {
                    let end = rest.find('>').unwrap();
                    let code = match &rest[1..end] {
                        "up" => KeyCode::Up,
                        "down" => KeyCode::Down,
                        "left" => KeyCode::Left,
                        "tab" => KeyCode::Tab,
                        "enter" => KeyCode::Enter,
                        "esc" => KeyCode::Esc,
                        "back" => KeyCode::Backspace,
                        other => panic!("no key {other}"),
                    };
                    (KeyEvent::from(code), end + 1)
                }
                c => (KeyEvent::from(KeyCode::Char(c)), c.len_utf8()),
            };
            rest = &rest[length..];
            let wanted = act(&key, self.line.is_prefixed());
            let around = Around { busy: self.busy, columns: 20, summary: true, history: &self.history };
            let outcome = self.line.act(wanted, around);
            if outcome != Outcome::Typed {
                self.outcomes.push(outcome);
            }
        }
        self
    }

    fn paste(mut self, text: &str) -> Self {
        let around = Around { busy: false, columns: 20, summary: true, history: &self.history };
        self.line.paste(text, around, |path| path.starts_with("/there"));
        self
    }

    /// Answers the wish that waits with `words`, each in the place of the last word.
    fn offer(mut self, words: &[(&str, Then)]) -> Self {
        let wish = self.line.take_wish().expect("nothing was wished for");
        let text = self.line.buffer.text();
        let start = text.rfind(' ').map_or(0, |at| at + 1);
        let candidate = |(word, then): &(&str, Then)| Candidate {
            insert: (*word).to_owned(),
            label: String::new(),
            help: String::new(),
            then: *then,
        };
        let completion = Completion { range: start..text.len(), candidates: words.iter().map(candidate).collect() };
        self.line.offer(&wish, completion);
        self
    }

    /// The text with its cursor.
    #[track_caller]
    fn shows(self, want: &str) -> Self {
        let text = self.line.buffer.text();
        let (before, after) = text.split_at(self.line.buffer.cursor());
        let shown = |text| self.line.blocks.shown(text);
        assert_eq!(format!("{}|{}", shown(before), shown(after)), want);
        self
    }

    #[track_caller]
    fn sent(self, mode: Mode, text: &str) -> Self {
        match self.outcomes.last() {
            Some(Outcome::Input(Input::Submit(draft))) => assert_eq!((draft.mode, draft.text.as_str()), (mode, text)),
            other => panic!("not sent: {other:?}"),
        }
        self
    }

    #[track_caller]
    fn came(self, want: &[Outcome]) -> Self {
        assert_eq!(self.outcomes, want);
        self
    }
}

#[test]
fn enter_sends_what_is_typed() {
    chat().press("fix it<enter>").sent(Mode::Prompt, "fix it");
    chat().press("<enter>  <enter>").came(&[]);
    chat().press("a\\<enter>b^jc<enter>").sent(Mode::Prompt, "a\nb\nc");
    desk(Kind::Answer).press("<enter>").sent(Mode::Prompt, "");
    desk(Kind::Answer).press("y^j").sent(Mode::Prompt, "y");
}

#[test]
fn a_mark_at_the_beginning_is_a_line_for_the_shell() {
    chat().press("!ls<enter>").sent(Mode::Shell, "ls");
    chat().press("!<back>ls<enter>").sent(Mode::Prompt, "ls");
    chat().press("!ls<esc><enter>").sent(Mode::Prompt, "ls");
    chat().press("a!<enter>").sent(Mode::Prompt, "a!");
    chat().paste("!rm x").press("<enter>").sent(Mode::Prompt, "!rm x");
    desk(Kind::Answer).press("!ls<enter>").sent(Mode::Prompt, "!ls");
}

#[test]
fn ctrl_c_takes_the_line_away_and_then_is_told_of() {
    let gone = chat().press("abc^c").shows("|").came(&[]);
    gone.press("^7").shows("abc|").press("^c^c").came(&[Outcome::Input(Input::Interrupt)]);
    let busy = Desk { busy: true, ..chat() };
    busy.press("abc^c").shows("abc|").came(&[Outcome::Input(Input::Interrupt)]);
    chat().press("!^c").came(&[]).press("x").shows("x|");
    chat().press("^d").came(&[Outcome::Input(Input::Eof)]);
    chat().press("ab<left>^d").shows("a|").came(&[]);
    chat().press("<esc>").came(&[Outcome::Input(Input::Escape)]);
}

#[test]
fn keys_lead_out_of_the_line() {
    chat().press("a^z^l").came(&[Outcome::Suspend, Outcome::ClearScreen]).shows("a|");
    chat().press("^x^e").came(&[Outcome::External]);
    chat().press("ab^xuc").shows("c|").came(&[]);
}

#[test]
fn earlier_lines_of_the_same_kind_come_back() {
    let old = chat().press("new<up>").shows("add a test|").press("<up>").shows("fix the bug|");
    old.press("<up>").shows("fix the bug|").press("<down><down>").shows("new|").press("<down>").shows("new|");
    chat().press("!<up><up>").shows("ls -l|").press("<enter>").sent(Mode::Shell, "ls -l");
    // What was changed is a line of its own.
    chat().press("<up>s<up>").shows("add a test|");
    desk(Kind::Answer).press("<up>").shows("|");
}

#[test]
fn rows_are_gone_through_before_the_history() {
    let two = chat().press("0123456789012345678901234");
    let two = two.shows("0123456789012345678901234|").press("<up>").shows("01234|56789012345678901234");
    two.press("<up>").shows("add a test|");
    chat().press("long line^jx^jlonger line<up><up>").shows("long line|\nx\nlonger line");
}

#[test]
fn the_history_is_searched() {
    let found = chat().press("draft^rT").shows("add a test|").press("h").shows("fix the bug|");
    found.press("<enter>").shows("fix the bug|").came(&[]).press("<enter>").sent(Mode::Prompt, "fix the bug");
    chat().press("draft^rt^r").shows("fix the bug|").press("<esc>").shows("draft|");
    let none = chat().press("draft^rzzz").shows("draft|");
    assert!(none.line.notice.is_some());
    chat().press("^rbug^a").shows("|fix the bug");
    chat().press("^r^r").shows("add a test|").press("^r").shows("fix the bug|");
}

#[test]
fn long_pastes_are_labels_and_sent_whole() {
    let long = chat().press("see ").paste("1\r\n2\r3").shows("see [Pasted ~3 lines]|");
    let back = long.press("!<enter>").sent(Mode::Prompt, "see 1\n2\n3!");
    back.press("<back><back>").shows("see |");
    chat().paste("a\r\nb").shows("a\nb|");
    chat().paste("a\u{1b}[31mb\u{7}\u{202e}c").shows("abc|");
    chat().paste("\u{10fe00}").shows("\u{fffd}|");
    chat().paste("/there/a.png").shows("[Image 1]|");
    chat().paste("/gone/a.png").shows("/gone/a.png|");
    desk(Kind::Answer).paste("y\nn\nrm\n").shows("y n rm|");
}

#[test]
fn what_is_too_long_is_refused_and_nothing_is_lost() {
    let refused = chat().press("a").paste(&"x".repeat(MAX_INPUT + 1)).shows("a|");
    assert!(refused.line.notice.unwrap().contains("4 MiB"));
    let full = chat().paste(&"x".repeat(MAX_INPUT - 100)).paste(&"y".repeat(200));
    assert!(full.line.notice.is_some());
    assert!(chat().paste(&"x\n".repeat(500_000)).line.draft().text.len() == 1_000_000);
}

#[test]
fn what_was_pasted_comes_back_with_the_history() {
    let mut desk = chat().paste("1\n2\n3");
    let entry = desk.line.sent();
    desk.history.add(entry);
    let back = desk.shows("|").press("<up>").shows("[Pasted ~3 lines]|");
    back.press("<enter>").sent(Mode::Prompt, "1\n2\n3");
}

#[test]
fn a_list_opens_by_itself_and_one_of_it_is_chosen() {
    use Then::{More, Space, Submit};
    let open = || chat().press("/he").offer(&[("/help", Submit), ("/hello", Space)]);
    open().press("<enter>").sent(Mode::Prompt, "/help");
    open().press("<down><tab>").shows("/hello |").came(&[]);
    open().press("<up><enter>").shows("/hello |").came(&[]);
    open().press("<esc><enter>").sent(Mode::Prompt, "/he");
    // What is typed out needs no choice.
    chat()
        .press("/help")
        .offer(&[("/help", Submit), ("/help-me", Submit)])
        .press("<enter>")
        .sent(Mode::Prompt, "/help");
    let folder = chat().press("see @s").offer(&[("@src/", More)]).press("<tab>").shows("see @src/|");
    folder.offer(&[("@src/a.rs", Space)]).press("<tab>x").shows("see @src/a.rs x|");
}

#[test]
fn tab_goes_as_far_as_it_is_clear() {
    use Then::Space;
    chat().press("a<tab>").offer(&[("abc", Space)]).shows("abc |");
    let two = chat().press("a<tab>").offer(&[("abcd", Space), ("abce", Space)]).shows("abc|");
    two.press("<down><enter>").shows("abce |").came(&[]);
    chat().press("a<tab>").offer(&[]).shows("a|");
}

#[test]
fn an_answer_about_an_earlier_text_is_not_taken() {
    let mut desk = chat().press("/a");
    let wish = desk.line.take_wish().unwrap();
    let mut desk = desk.press("b");
    let candidate =
        Candidate { insert: "/abc".to_owned(), label: String::new(), help: String::new(), then: Then::Space };
    desk.line.offer(&wish, Completion { range: 0..2, candidates: vec![candidate] });
    assert!(desk.line.menu.is_none());
    let quick = chat().press("/").offer(&[("/help", Then::Submit)]).press("mo<tab>").shows("/mo|");
    quick.offer(&[("/models", Then::Space)]).shows("/models |");
    chat().press("/").offer(&[("/help", Then::Submit)]).press("mo<enter>").sent(Mode::Prompt, "/mo");
    assert!(chat().press("plain").line.take_wish().is_none());
    assert!(chat().press("!/usr").line.take_wish().is_none());
    assert!(desk.press("^u").line.menu.is_none());
}

#[test]
fn a_hostile_name_is_put_in_as_harmless_text() {
    chat().press("@<tab>").offer(&[("@a\u{1b}[2Jb\u{202e}.rs", Then::Space)]).shows("@ab.rs |");
}

#[test]
fn what_was_written_elsewhere_can_be_changed_and_sent() {
    let mut desk = chat().press("!x");
    desk.line.fill("one\ntwo");
    desk.shows("one\ntwo|").press("<enter>").sent(Mode::Prompt, "one\ntwo");
    let mut desk = chat();
    desk.line.fill(&"x".repeat(blocks::MAX_INLINE + 1));
    assert_eq!(desk.line.draft().text.len(), blocks::MAX_INLINE + 1);
    assert_eq!(desk.around().columns, 20);
}
