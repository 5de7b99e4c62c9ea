use std::fs;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use super::*;

/// What may be read below a folder with these files and folders, when `hidden` and `shown` are marked there.
#[track_caller]
fn check(there: &[&str], hidden: &[&str], shown: &[&str], want: &[&str]) {
    let root = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(root.path()).unwrap();
    for path in there {
        let path = base.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    std::os::unix::fs::symlink(base.join("secret"), base.join("link")).unwrap();
    let mut places = Places::default();
    // Nothing outside is of interest here.
    places.hide(Path::new("/"));
    places.show(&base);
    hidden.iter().for_each(|path| places.hide(&base.join(path)));
    shown.iter().for_each(|path| places.show(&base.join(path)));
    let mut got = Vec::new();
    places
        .visit(&mut |place| {
            let path = fs::read_link(format!("/proc/self/fd/{}", place.as_raw_fd())).unwrap();
            got.push(path.strip_prefix(&base).map_or(path.clone(), PathBuf::from).display().to_string());
            Ok(())
        })
        .unwrap();
    got.sort();
    assert_eq!(got, want);
}

#[test]
fn a_folder_without_anything_hidden_is_read_whole() {
    check(&["a", "b/c"], &[], &[], &[""]);
}

#[test]
fn beside_a_hidden_file_the_others_are_read() {
    check(&["secret", "a", "b/c"], &["secret"], &[], &["a", "b"]);
}

#[test]
fn a_link_to_the_hidden_is_not_followed() {
    check(&["secret/key", "a"], &["secret"], &[], &["a"]);
}

#[test]
fn a_hidden_folder_may_have_something_shown() {
    check(
        &["d/secret/x", "d/secret/open/y", "d/e", "f"],
        &["d/secret"],
        &["d/secret/open"],
        &["d/e", "d/secret/open", "f"],
    );
}

#[test]
fn below_the_shown_something_may_be_hidden_again() {
    check(&["h/s/x/key", "h/s/y"], &["h", "h/s/x"], &["h/s"], &["h/s/y"]);
}

#[test]
fn the_hidden_wins_over_the_same_path_shown() {
    check(&["a/b", "c"], &["a"], &["a"], &["c"]);
}

#[test]
fn what_is_not_there_hides_nothing_else() {
    check(&["a", "b/c"], &["b/none/deep", "gone"], &[], &["a", "b/c"]);
}
