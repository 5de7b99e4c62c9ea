use super::*;

/// A cage as words: `w` write, `f` frozen, `h` hidden, `s` shown.
fn cage(text: &str) -> Cage {
    let mut cage = Cage::default();
    for line in text.split_whitespace() {
        let (letter, path) = line.split_once(':').unwrap();
        let list = match letter {
            "w" => &mut cage.write,
            "f" => &mut cage.frozen,
            "h" => &mut cage.hidden,
            "s" => &mut cage.shown,
            other => panic!("{other}"),
        };
        list.push(PathBuf::from(path));
    }
    cage
}

/// What ends in `.f` is a file, in `.l` a link; what has `gone` in its name is not there.
fn look(path: &Path) -> Option<Kind> {
    let text = path.to_string_lossy();
    match text.contains("gone") {
        true => None,
        false if text.ends_with(".f") => Some(Kind::File),
        false if text.ends_with(".l") => Some(Kind::Link),
        false => Some(Kind::Folder),
    }
}

#[track_caller]
fn row(text: &str, want: &str) {
    let mounts = plan(&cage(text), look).unwrap();
    let word = |mount: &Mount| {
        let what = match mount.what {
            What::Writable => "write",
            What::Frozen => "frozen",
            What::Pinned => "pin",
            What::NoFolder { passable: false } => "none",
            What::NoFolder { passable: true } => "pass",
            What::NoFile => "nofile",
            What::Shown { writable: false } => "show",
            What::Shown { writable: true } => "showw",
        };
        format!("{what}:{}", mount.path.display())
    };
    let got: Vec<String> = mounts.iter().map(word).collect();
    assert_eq!(got.join(" "), want, "{text}");
}

#[test]
fn the_nearest_above_decides() {
    row("", "");
    row("w:/p", "write:/p");
    row("f:/p/x", "");
    row("w:/p f:/p/x", "write:/p frozen:/p/x");
    row("f:/p/x w:/p", "write:/p frozen:/p/x");
    row("w:/p f:/p/x w:/p/x/y", "write:/p frozen:/p/x write:/p/x/y");
    row("w:/p f:/p/x w:/p/x/y f:/p/x/y/z.f", "write:/p frozen:/p/x write:/p/x/y frozen:/p/x/y/z.f");
    row("w:/p f:/p", "");
    row("w:/p f:/p/a f:/p/a/b", "write:/p frozen:/p/a");
    row("w:/p/ f:/p//x/.", "write:/p frozen:/p/x");
    row("w:/", "write:/");
}

#[test]
fn what_is_hidden_shows_nothing_of_itself() {
    row("h:/h", "none:/h");
    row("h:/h.f", "nofile:/h.f");
    row("h:/h h:/h/x h:/h/y.f", "none:/h");
    row("w:/p h:/p/.env.f", "write:/p nofile:/p/.env.f");
    row("w:/p h:/p", "none:/p");
    row("w:/p h:/p f:/p", "none:/p");
    row("h:/h f:/h/x", "none:/h");
}

#[test]
fn what_is_shown_is_shown_within_what_is_hidden() {
    row("h:/h s:/h/a/b.f", "pass:/h show:/h/a/b.f");
    row("h:/h s:/h", "none:/h");
    row("h:/h s:/h/a h:/h/a/b s:/h/a/b/c", "pass:/h show:/h/a pass:/h/a/b show:/h/a/b/c");
    row("h:/h h:/h/a s:/h/a/b", "pass:/h show:/h/a/b");
    row("h:/h w:/h/p", "pass:/h showw:/h/p");
    row("h:/h w:/h/p f:/h/p/x", "pass:/h showw:/h/p frozen:/h/p/x");
    row("w:/p h:/p/h s:/p/h/a", "write:/p pass:/p/h showw:/p/h/a");
    row("w:/p h:/p/h s:/p/h/a f:/p/h", "write:/p pass:/p/h show:/p/h/a");
    row("s:/a", "");
}

#[test]
fn a_link_can_only_be_shown() {
    row("w:/w.l h:/h.l f:/f.l", "");
    row("h:/h s:/h/s.l", "pass:/h show:/h/s.l");
}

#[test]
fn what_is_not_there_needs_nothing() {
    row("w:/gone f:/gone/x h:/gone.f", "");
    row("w:/p f:/p/gone/x f:/p/y", "write:/p frozen:/p/y");
    row("h:/gone s:/a h:/b", "none:/b");
}

#[test]
fn devices_and_processes_are_left_alone() {
    row("w:/dev w:/dev/shm h:/proc h:/proc/1 f:/proc/sys", "");
    row("w:/device", "write:/device");
    row("w:relative h:", "");
}

#[test]
fn what_a_frozen_thing_belongs_to_cannot_be_moved() {
    row("w:/p f:/p/.git/hooks", "write:/p pin:/p/.git frozen:/p/.git/hooks");
    row(
        "w:/p f:/p/.git/modules/m/config.f",
        "write:/p pin:/p/.git pin:/p/.git/modules pin:/p/.git/modules/m frozen:/p/.git/modules/m/config.f",
    );
    row("w:/p f:/p/a/b/.git/hooks", "write:/p pin:/p/a/b/.git frozen:/p/a/b/.git/hooks");
    row("w:/p f:/p/a/b.git/hooks", "write:/p pin:/p/a/b.git frozen:/p/a/b.git/hooks");
    // Everyday folders can still be moved, and take along what is frozen in them.
    row("w:/p f:/p/a/b/.envrc.f", "write:/p frozen:/p/a/b/.envrc.f");
    // What is above the folder that may be written cannot be moved anyway.
    row("w:/h/.config/p f:/h/.config/p/.vscode", "write:/h/.config/p frozen:/h/.config/p/.vscode");
    row("w:/h h:/h/.config/gh", "write:/h pin:/h/.config none:/h/.config/gh");
    row("w:/p h:/p/a/.env.f", "write:/p nofile:/p/a/.env.f");
    row("h:/h/.config/gh", "none:/h/.config/gh");
    row("h:/h s:/h/.x/s h:/h/.x/s/.y/z", "pass:/h show:/h/.x/s none:/h/.x/s/.y/z");
    row("w:/p f:/p/.git f:/p/.git/hooks", "write:/p frozen:/p/.git");
}

#[test]
fn a_folder_that_may_be_written_stays_where_it_is() {
    row("w:/tmp w:/tmp/a/b", "write:/tmp pin:/tmp/a pin:/tmp/a/b");
    row(
        "w:/tmp w:/tmp/a/b f:/tmp/a/b/.git/hooks",
        "write:/tmp pin:/tmp/a pin:/tmp/a/b pin:/tmp/a/b/.git frozen:/tmp/a/b/.git/hooks",
    );
}

#[test]
fn there_is_a_limit() {
    let hidden =
        |count: usize| Cage { hidden: (0..count).map(|one| format!("/h/{one}").into()).collect(), ..Cage::default() };
    assert_eq!(plan(&hidden(MAX_MOUNTS), look).unwrap().len(), MAX_MOUNTS);
    let error = plan(&hidden(MAX_MOUNTS + 1), look).unwrap_err();
    assert!(error.contains("4097") && error.contains("4096"), "{error}");
}
