use super::*;
use crate::Hash;

/// A state in a word: `-` nothing, `/` a folder, `?` not kept, `@x` a link, `x` a file; `x!` an executable one.
fn state(word: &str) -> State {
    match word {
        "-" => State::Absent,
        "/" => State::Folder { mode: 0o755 },
        "?" => State::Unkept { why: "it is big".to_owned() },
        link if link.starts_with('@') => State::Link { to: Hash::of(link.as_bytes()) },
        file => {
            let mode = if file.ends_with('!') { 0o755 } else { 0o644 };
            let text = file.trim_end_matches('!');
            State::File { content: Hash::of(text.as_bytes()), size: text.len() as u64, mode }
        }
    }
}

/// Changes as `path before after`, the latest last; what is there now as `path state`; what comes of it as
/// `path now to left`.
#[track_caller]
fn check(changes: &[&str], now: &[&str], forced: &[&str], want: &[&str]) {
    let changes = changes.iter().rev().map(|row| {
        let words: Vec<&str> = row.split(' ').collect();
        Step::back(Change::new(words[0], state(words[1]), state(words[2])))
    });
    let stands = |path: &Path| {
        let row = now.iter().find(|row| Path::new(row.split(' ').next().unwrap()) == path);
        state(row.map_or("-", |row| row.split(' ').nth(1).unwrap()))
    };
    let plan = plan(changes, stands, |path| forced.iter().any(|name| Path::new(name) == path));
    let named = |state: &State| {
        let words = ["-", "/", "?", "a", "b", "c", "d", "a!", "b!", "@x", "@y"];
        words.into_iter().find(|word| self::state(word) == *state).unwrap().to_owned()
    };
    let rows: Vec<String> = plan
        .iter()
        .map(|planned| {
            let to = planned.to.as_ref().map_or("stays".to_owned(), named);
            let left = match &planned.left {
                None => "",
                Some(Left::Theirs) => " theirs",
                Some(Left::Doubtful { .. }) => " doubtful",
                Some(Left::Uncovered { .. }) => " uncovered",
            };
            format!("{} {to}{left}", planned.path.display())
        })
        .collect();
    assert_eq!(rows, want);
}

#[test]
fn what_nobody_touched_since_goes_back() {
    check(&["/f a b"], &["/f b"], &[], &["/f a"]);
    check(&["/f - b"], &["/f b"], &[], &["/f -"]);
    check(&["/f a -"], &[], &[], &["/f a"]);
    check(&["/f a a!"], &["/f a!"], &[], &["/f a"]);
    check(&["/f @x @y"], &["/f @y"], &[], &["/f @x"]);
    check(&["/f a @x"], &["/f @x"], &[], &["/f a"]);
}

#[test]
fn changes_of_one_path_are_taken_back_as_one() {
    check(&["/f a b", "/f b c", "/f c d"], &["/f d"], &[], &["/f a"]);
    check(&["/f - b", "/f b -"], &[], &[], &["/f stays"]);
    check(&["/f a b", "/f b a"], &["/f a"], &[], &["/f stays"]);
}

#[test]
fn what_somebody_else_changed_since_stays() {
    check(&["/f a b"], &["/f c"], &[], &["/f stays theirs"]);
    check(&["/f a b"], &[], &[], &["/f stays theirs"]);
    check(&["/f a b"], &["/f b!"], &[], &["/f stays theirs"]);
    check(&["/f a -"], &["/f c"], &[], &["/f stays theirs"]);
    check(&["/f a b"], &["/f @x"], &[], &["/f stays theirs"]);
    check(&["/f a b"], &["/f /"], &[], &["/f stays theirs"]);
}

#[test]
fn what_somebody_wrote_between_two_changes_comes_back_and_stays() {
    check(&["/f a b", "/f c d"], &["/f d"], &[], &["/f c theirs"]);
    check(&["/f a b", "/f - d"], &["/f d"], &[], &["/f - theirs"]);
}

#[test]
fn what_was_written_side_by_side_goes_back_in_the_order_that_fits() {
    check(&["/f b c", "/f a b"], &["/f c"], &[], &["/f a"]);
    check(&["/f c d", "/f a b", "/f b c"], &["/f d"], &[], &["/f a"]);
    check(&["/f b -", "/f - b", "/f a b", "/f b c"], &["/f c"], &[], &["/f a"]);
    // Also where one of them had made something that was there before.
    check(&["/f b a", "/f a c", "/f a b"], &["/f c"], &[], &["/f a"]);
    check(&["/f b a", "/f a b"], &["/f a"], &[], &["/f stays"]);
    check(&["/d / -", "/d - /"], &["/d -"], &[], &["/d stays"]);
}

#[test]
fn no_order_makes_what_somebody_else_did_in_between_go_away() {
    // They wrote `b`, over what the first had left.
    check(&["/f b c", "/f a d"], &["/f c"], &[], &["/f stays theirs"]);
    // They changed it last.
    check(&["/f b c", "/f a b"], &["/f d"], &[], &["/f stays theirs"]);
    // They put back what had been there, which another call then changed.
    check(&["/f a c", "/f a b"], &["/f c"], &[], &["/f stays theirs"]);
    // Two went apart: a step leads nowhere.
    check(&["/f c d", "/f d c", "/f a b"], &["/f b"], &[], &["/f a theirs"]);
    check(&["/f b ?", "/f a b"], &["/f c"], &[], &["/f stays theirs"]);
}

#[test]
fn what_somebody_took_back_by_hand_is_no_trouble() {
    check(&["/f a b"], &["/f a"], &[], &["/f stays"]);
    check(&["/f - b"], &[], &[], &["/f stays"]);
    // Also the later of two changes.
    check(&["/f a b", "/f b c"], &["/f b"], &[], &["/f a"]);
    check(&["/f a -", "/f - b"], &[], &[], &["/f a"]);
    check(&["/f a b", "/f b c", "/f c d"], &["/f b"], &[], &["/f stays theirs"]);
    check(&["/f a b", "/f c b"], &["/f b"], &[], &["/f c theirs"]);
}

#[test]
fn force_goes_all_the_way() {
    check(&["/f a b"], &["/f c"], &["/f"], &["/f a"]);
    check(&["/f a b", "/f c d"], &["/f d"], &["/f"], &["/f a"]);
    check(&["/f a b", "/g a b"], &["/f c", "/g c"], &["/g"], &["/f stays theirs", "/g a"]);
}

#[test]
fn what_was_not_kept_stays_and_says_so() {
    check(&["/f ? b"], &["/f b"], &[], &["/f stays uncovered"]);
    // Nobody knows who made it what it is; what it was can be forced.
    check(&["/f a ?"], &["/f b"], &[], &["/f stays doubtful"]);
    check(&["/f a ?"], &["/f a"], &[], &["/f stays"]);
    check(&["/f a ?", "/f b c"], &["/f c"], &[], &["/f b doubtful"]);
    check(&["/f a b"], &["/f ?"], &[], &["/f stays uncovered"]);
    check(&["/f ? b", "/f b c"], &["/f c"], &[], &["/f b uncovered"]);
    // Nobody knows what it would go back to.
    check(&["/f ? b"], &["/f c"], &["/f"], &["/f stays uncovered"]);
    // Here it is known, but what is there now would be lost.
    check(&["/f a ?"], &["/f ?"], &["/f"], &["/f stays uncovered"]);
    check(&["/f a ?"], &["/f c"], &["/f"], &["/f a"]);
}

#[test]
fn what_goes_makes_room_for_what_comes() {
    // A file became a folder with files in it.
    check(
        &["/d a -", "/d - /", "/d/e - /", "/d/e/f - b"],
        &["/d /", "/d/e /", "/d/e/f b"],
        &[],
        &["/d/e/f -", "/d/e -", "/d a"],
    );
    // And the other way round.
    check(&["/d/e/f b -", "/d/e / -", "/d / -", "/d - a"], &["/d a"], &[], &["/d /", "/d/e /", "/d/e/f b"]);
}

#[test]
fn changes_add_up() {
    let change = |row: &str| {
        let words: Vec<&str> = row.split(' ').collect();
        Change::new(words[0], state(words[1]), state(words[2]))
    };
    let list = |rows: &[&str]| rows.iter().map(|row| change(row)).collect::<Vec<_>>();
    let done = together(list(&["/f b c", "/g - a"]), list(&["/f c a", "/g a -", "/h - b"]));
    assert_eq!(done, list(&["/f b a", "/h - b"]));
}

#[test]
fn nothing_is_made_to_run_as_somebody_else() {
    let file = |text: &str, mode| State::File { content: Hash::of(text.as_bytes()), size: 1, mode };
    let row = |steps: &[(u32, u32)], now: State, want: Option<State>| {
        let path = |_: &(u32, u32)| PathBuf::from("/f");
        let steps = steps.iter().map(|step| Step { path: path(step), from: file("a", step.0), to: file("a", step.1) });
        let plan = plan(steps, |_| now.clone(), |_| false);
        assert_eq!((&plan[0].to, &plan[0].left), (&want, &None), "{now:?}");
    };
    row(&[(0o755, 0o4755)], file("a", 0o755), None);
    row(&[(0o644, 0o6755)], file("a", 0o644), Some(file("a", 0o755)));
    // In between it counts, and what is so already stays so.
    row(&[(0o700, 0o4755), (0o4755, 0o1644)], file("a", 0o700), Some(file("a", 0o1644)));
    row(&[(0o4700, 0o4755), (0o4755, 0o4700)], file("a", 0o4700), None);
}
