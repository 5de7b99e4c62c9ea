use std::path::PathBuf;

use haft_snapshot::Hash;

use super::*;

/// `-` is nothing, `/` a folder, `?` not kept; else a file, an executable one with a `!` behind it.
fn state(word: &str) -> State {
    match word {
        "-" => State::Absent,
        "/" => State::Folder { mode: 0o755 },
        "?" => State::unkept("big"),
        file => {
            let (text, mode) = file.strip_suffix('!').map_or((file, 0o644), |text| (text, 0o755));
            State::File { content: Hash::of(text.as_bytes()), size: text.len() as u64, mode }
        }
    }
}

fn word(state: &State) -> &'static str {
    let words = ["-", "/", "a", "b", "c", "d", "u", "a!", "b!", "c!"];
    words.into_iter().find(|word| self::state(word) == *state).unwrap_or("?")
}

fn path() -> PathBuf {
    "/top/f".into()
}

/// Plays what happens to one path and says what the command is blamed for, look by look, as `BEFORE>AFTER`.
///
/// `+1 a b` announces the first edit, from `a` to `b`; `=1 b` says that it happened; `!1` that it did not. `[` begins a look,
/// and `] a b` ends it, where the path was `a` at the look before and is found as `b`; `] .` ends one that did not find that
/// the path had changed.
#[track_caller]
fn check(events: &str, want: &str) {
    let (mut edits, mut blamed) = (Edits::default(), Vec::new());
    edits.command_begins();
    for event in events.split(", ") {
        let words: Vec<&str> = event.split(' ').collect();
        let number = |word: &str| word[1..].parse::<u64>().unwrap();
        let change = |before: &str, after: &str| Change::new(path(), state(before), state(after));
        match (words[0].as_bytes()[0], &words[1..]) {
            (b'+', [before, after]) => edits.announced(number(words[0]), &[change(before, after)]),
            (b'=', [after]) => edits.happened(number(words[0]), &[change("-", after)]),
            (b'!', []) => edits.happened(number(words[0]), &[]),
            (b'[', []) => edits.look_begins(),
            (b']', ["."]) => edits.look_ends(),
            (b']', [before, now]) => {
                let shown = edits.shown(&path(), &state(now));
                let changes = between(&path(), state(before), shown, state(now));
                let told = |change: &Change| format!("{}>{}", word(&change.before), word(&change.after));
                blamed.push(changes.iter().map(told).collect::<Vec<_>>().join("+"));
                edits.look_ends();
            }
            _ => panic!("{event}"),
        }
    }
    assert_eq!(blamed.join(" "), want, "{events}");
}

#[test]
fn an_edit_between_two_looks_is_no_commands() {
    check("+1 a b, =1 b, [, ] a b", "");
    check("+1 - b, =1 b!, [, ] - b!", "");
    check("+1 a -, =1 -, [, ] a -", "");
    check("+1 a b, =1 b, +2 b c, =2 c, [, ] a c", "");
}

#[test]
fn however_an_edit_and_a_look_fall_together_it_is_no_commands() {
    // The look begins, or finds the file, before, in and after the edit.
    check("[, +1 a b, =1 b, ] a b, [, ] .", "");
    check("+1 a b, [, ] a b, =1 b, [, ] .", "");
    check("+1 a b, [, =1 b, ] a b, [, ] .", "");
    check("+1 a b, [, ] ., =1 b, [, ] a b", "");
    check("[, +1 a b, ] ., =1 b, [, ] a b", "");
    check("[, +1 a b, =1 b, ] ., [, ] a b", "");
    // A command had changed it before; the look finds that and not the edit.
    check("[, +1 c b, =1 b, ] a c, [, ] c b", "a>c ");
    check("+1 c b, [, ] a c, =1 b, [, ] c b", "a>c ");
    // The mode of a new file is known when it is there.
    check("+1 - b, [, ] - b!, =1 b!, [, ] .", "");
}

#[test]
fn what_a_command_did_before_between_and_behind_edits_is_the_commands() {
    check("+1 b c, =1 c, [, ] a c", "a>b");
    check("+1 a b, =1 b, [, ] a c", "b>c");
    check("+1 b c, =1 c, +2 d a, =2 a, [, ] a b", "a>b+c>d+a>b");
    // It put back what had been there before the edit.
    check("+1 a b, =1 b, [, ] a a", "b>a");
    check("+1 a b, =1 b, [, ] a -", "b>-");
    check("+1 a b, =1 b, [, ] a b!", "b>b!");
    check("[, +1 a b, =1 b, ] a c", "b>c");
}

#[test]
fn an_edit_that_failed_is_none() {
    check("+1 a b, !1, [, ] a c", "a>c");
    check("+1 a b, [, ] a c, !1, [, ] c d", "a>c c>d");
}

#[test]
fn what_is_not_kept_is_no_change_of_its_own() {
    check("+1 a b, =1 b, [, ] ? b", "");
    check("+1 a b, =1 b, [, ] a ?", "b>?");
}

#[test]
fn what_no_look_finds_is_forgotten_and_there_is_room_for_so_many() {
    let mut edits = Edits::default();
    edits.command_begins();
    let change = |at: usize| Change::new(format!("/{at}"), State::Absent, state("a"));
    let changes: Vec<Change> = (0..MAX_EDITS + 5).map(change).collect();
    edits.announced(1, &changes);
    assert_eq!((edits.count, edits.has(&changes[MAX_EDITS].path)), (MAX_EDITS, false));
    edits.look_begins();
    edits.look_ends();
    assert_eq!(edits.count, MAX_EDITS, "they may still happen");
    edits.happened(1, &changes);
    edits.look_begins();
    edits.look_ends();
    assert_eq!((edits.count, edits.paths.len()), (0, 0));
}

#[test]
fn what_is_done_while_no_command_runs_is_not_remembered() {
    let mut edits = Edits::default();
    let change = Change::new(path(), State::Absent, state("a"));
    edits.command_begins();
    edits.announced(1, std::slice::from_ref(&change));
    edits.command_ended();
    edits.happened(1, std::slice::from_ref(&change));
    assert_eq!(edits.count, 0);
    // A command may begin before it is done.
    edits.announced(2, std::slice::from_ref(&change));
    edits.command_begins();
    edits.happened(2, &[change]);
    assert_eq!(edits.count, 1);
}
