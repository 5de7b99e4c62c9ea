//! Working folders, and what is outside.

use std::path::Path;

use crate::{PROJECT, look};

#[track_caller]
fn check(command: &str, want: &[&str]) {
    let found = look(command);
    let is_dir =
        |path: &Path| ["/tmp", "/etc", "/home/u", "/", "/home/u/p/src"].iter().any(|dir| Path::new(dir) == path);
    let outside = found.outside(&[Path::new(PROJECT)], &is_dir);
    let want: Vec<&Path> = want.iter().map(Path::new).collect();
    assert_eq!(outside, want, "{command} {:?}", found.unknown);
}

#[test]
fn a_path_begins_where_the_shell_is() {
    check("cat ../x", &["/home/u"]);
    check("cd src && cat ../x", &[]);
    check("cd src && cat ../../x", &["/home/u"]);
    // It is a folder, and nothing ran that could have taken it away.
    check("cd src; cat ../x", &[]);
    check("cd none; cat ../x", &["/home/u"]);
    check("rm -rf src; cd src; cat ../x", &["/home/u"]);
    check("cd none || cat ../x", &["/home/u"]);
    check("cd none && true; cat ../x", &["/home/u"]);
    check("(cd none && cat ../x); cat y", &[]);
    check("cd /tmp && cat x", &["/tmp"]);
    check("cd /tmp; cat x", &["/tmp"]);
    check("pushd /tmp && popd && cat ../x", &["/tmp", "/home/u", "/"]);
    check("cd /tmp && cd - && cat x", &["/tmp"]);
    check("cd && cat x", &["/home/u"]);
    check("true | cd /tmp; cat x", &["/tmp"]);
    check("if true; then cd src; fi; cat ../x", &["/home/u"]);
    check("cd src & cat ../x", &["/home/u"]);
    check("! cd none && cat ../x", &["/home/u"]);
    check("echo $(cd /tmp) && cat x", &["/tmp"]);
    check("git -C /tmp status", &["/tmp"]);
    check("bash -c 'cd /tmp && cat x'", &["/tmp"]);
}

#[test]
fn folders_that_cannot_be_told_are_unknown() {
    for command in [
        "cd $x && cat y",
        "cd - && cat y",
        "cd +1; cat y",
        "cd a b; cat y",
        "while cd ..; do rm x; done",
        "f() { cd ..; }; f; f; cat x",
    ] {
        assert!(!look(command).is_known(), "{command:?}");
    }
}

#[test]
fn a_cd_alone_asks_for_nothing_but_its_folder() {
    let found = look("cd src");
    assert!(found.patterns.is_empty() && found.always.is_empty() && found.is_known());
    assert_eq!(found.touches.len(), 1);
}
