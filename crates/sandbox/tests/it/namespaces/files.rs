//! What is frozen, hidden and shown.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{each, options, output, shell};
use crate::scene::{Scene, is_root};

/// A repository, and one in it, with what a program must not change in them.
const FROZEN: &str =
    "frozen project/.git/hooks frozen project/.git/config frozen project/a/b/.git/hooks frozen project/a/.envrc";

fn repositories(scene: &Scene) {
    for path in ["project", "project/a/b"] {
        scene.file(&format!("{path}/.git/config"), "old");
        scene.file(&format!("{path}/.git/hooks/pre-commit"), "old");
        scene.file(&format!("{path}/.git/HEAD"), "old");
    }
    scene.file("project/a/.envrc", "old");
    scene.file("project/own", "own");
}

#[test]
fn what_is_frozen_can_be_read_and_stays() {
    each(|scene| {
        repositories(scene);
        for line in [
            "echo new > .git/config",
            "echo new >> .git/config",
            "echo new > .git/hooks/pre-commit",
            "echo new > .git/hooks/other",
            "echo new > a/b/.git/hooks/pre-commit",
            "echo new > a/.envrc",
            "truncate -s 0 .git/config",
            "chmod 777 .git/hooks/pre-commit",
            "touch -d 2001-01-01 .git/config",
            "rm .git/config",
            "rm -rf .git/hooks",
            "rm -rf a",
            "mv .git/config .git/c2",
            "mv .git/hooks .git/h2",
            "mv own .git/config",
            "mkdir n; mv -T n .git/hooks",
            "ln -f own .git/config",
            "ln .git/config linked",
            "ln -sfn /tmp .git/hooks",
            "mv .git .git2",
            "mv -T a/b/.git n2",
            "mv a/.envrc own",
            "cd .git && echo new > config",
            "cd .git && echo new > hooks/pre-commit",
            "cd .git/hooks && echo new > pre-commit",
            "exec 3< .git/config; echo new > /proc/self/fd/3",
            "exec 3< .git; echo new > /proc/self/fd/3/config",
            "echo new > /proc/self/root$P/.git/config",
            "echo new > /proc/self/cwd/.git/config",
            "echo new > /proc/1/root$P/.git/config",
            "echo new > /proc/1/cwd$P/.git/config",
            "ln -s .git link; echo new > link/config",
            "ln -s $P/.git/hooks hooks; echo new > hooks/pre-commit",
            "mount -o remount,rw,bind .git/hooks",
            "umount .git/hooks && echo new > .git/hooks/pre-commit",
            "umount -l .git/config && echo new > .git/config",
        ] {
            let got = shell(scene, FROZEN, line);
            assert_ne!(got.code, 0, "{line}: {}", got.out);
            unchanged(scene, line);
        }
        let got = shell(scene, FROZEN, "cat .git/config a/b/.git/hooks/pre-commit a/.envrc && echo x > .git/HEAD");
        assert_eq!((got.code, got.out.as_str()), (0, "oldoldold"), "{}", got.err);
    });
}

#[track_caller]
fn unchanged(scene: &Scene, line: &str) {
    let frozen = [
        "project/.git/config",
        "project/.git/hooks/pre-commit",
        "project/a/b/.git/hooks/pre-commit",
        "project/a/.envrc",
    ];
    for path in frozen {
        assert_eq!(scene.read(path).as_deref(), Some("old"), "{path} after: {line}");
    }
    assert_eq!(fs::read_dir(scene.path("project/.git/hooks")).unwrap().count(), 1, "{line}");
}

#[test]
fn a_folder_that_is_moved_takes_along_what_is_frozen_in_it() {
    each(|scene| {
        repositories(scene);
        let line = "mv a c && cat c/b/.git/hooks/pre-commit c/.envrc && ! echo new > c/.envrc &&
            ! echo new > c/b/.git/hooks/pre-commit && ! mv c/b/.git c/b/other && mv c a";
        let got = shell(scene, FROZEN, line);
        assert_eq!((got.code, got.out.as_str()), (0, "oldold"), "{}", got.err);
        unchanged(scene, line);
    });
}

#[test]
fn who_starts_in_a_pinned_folder_is_held_too() {
    each(|scene| {
        repositories(scene);
        for (folder, path) in
            [("project/.git", "hooks/new"), ("project/.git/hooks", "new"), ("project/a/b/.git", "hooks/new")]
        {
            let options = options(scene, FROZEN);
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            let mut command = scene.caged(&options, &["sh", "-c", &format!("pwd; echo new > {path}")]);
            command.current_dir(scene.path(folder));
            let got = output(command);
            assert_eq!((got.code, got.out), (2, scene.text(folder)), "{}", got.err);
            assert!(!scene.path(folder).join(path).exists());
        }
    });
}

#[test]
fn what_is_written_below_what_is_frozen_can_be_written() {
    each(|scene| {
        scene.file("project/f/d/x", "old");
        let words = "frozen project/f write project/f/d frozen project/f/d/x";
        let got =
            shell(scene, words, "echo y > f/d/y && ! echo new > f/d/x && ! echo new > f/y && ! mv f g && ! mv f/d f/e");
        assert_eq!(got.code, 0, "{}", got.err);
        assert_eq!(scene.read("project/f/d/x").as_deref(), Some("old"));
        assert_eq!(scene.read("project/f/d/y").as_deref(), Some("y\n"));
    });
}

#[test]
fn names_may_be_odd() {
    each(|scene| {
        let names: [&[u8]; 7] =
            [b"a b", b"\xff\xfe", b"new\nline", b"--bind", b"quote\"'$(x)", "ä".as_bytes(), b"\x1b[1m\\"];
        for name in names {
            let file = Path::new("project").join(OsStr::from_bytes(name)).join("f");
            let path = scene.path("project").join(OsStr::from_bytes(name));
            fs::create_dir(&path).unwrap();
            fs::write(path.join("f"), "old").unwrap();
            let mut command = scene.free(&scene.text("haft-cage"));
            let frozen = path.join("f");
            command.args(["--rung", "namespaces", "--write"]).arg(scene.path("project"));
            command.arg("--frozen").arg(&frozen).args(["--", "sh", "-c", "cat \"$0\"; : > \"$0\""]).arg(&frozen);
            let got = output(command);
            assert_eq!((got.code, got.out.as_str()), (2, "old"), "{file:?}: {}", got.err);
            assert_eq!(fs::read_to_string(&frozen).unwrap(), "old");
        }
    });
}

const HIDDEN: &str =
    "hide project/.env hide project/h hide outside/h show outside/h/a/shown show outside/h/b show outside/h/link";

fn secrets(scene: &Scene) {
    for path in ["project/.env", "project/h/inner", "outside/h/inner", "outside/h/a/inner"] {
        scene.file(path, "secret");
    }
    scene.file("outside/h/a/shown", "shown");
    scene.file("outside/h/b/c/d", "shown");
    symlink("a/shown", scene.path("outside/h/link")).unwrap();
    symlink(scene.path("outside/h"), scene.path("project/way")).unwrap();
}

#[test]
fn what_is_hidden_shows_neither_content_nor_names() {
    each(|scene| {
        secrets(scene);
        for line in [
            "cat .env",
            "cat h/inner",
            "cat $O/h/inner $O/h/a/inner",
            "cat way/inner",
            "grep -rs secret . $O",
            "cat /proc/self/root$O/h/inner",
            "cat /proc/1/root$O/h/inner",
            "cat /proc/*/root$P/.env",
            "cat /proc/*/cwd/.env",
            "ln .env stolen && cat stolen",
            "mv .env stolen; cat stolen",
            "cp -a . /dev/shm/stolen; cat /dev/shm/stolen/.env",
            "mkdir m; mount --bind $O/h m; cat m/inner",
            "umount h && cat h/inner",
            "mv h h2; cat h2/inner",
            "ls -a h $O/h $O/h/a",
            "find . $O",
            "cat /proc/self/mountinfo /proc/self/mounts /proc/1/mountinfo",
            "exec 3< $O; cat /proc/self/fd/3/h/inner",
            "tar cf - .env h $O/h",
        ] {
            let got = shell(scene, HIDDEN, line);
            for word in ["secret", "inner"] {
                let said = format!("{}\n{}", got.out, got.err.replace("/inner", ""));
                assert!(!said.contains(word), "{line}: {said}");
            }
        }
        let got = shell(
            scene,
            HIDDEN,
            "! cat .env && ! echo x > .env && ! rm .env && ! mv .env x && ! echo x > h/new && ! rmdir h",
        );
        assert_eq!(got.code, 0, "{}", got.err);
        assert!(got.err.contains("cat: .env: Permission denied"), "{}", got.err);
        assert_eq!(scene.read("project/.env").as_deref(), Some("secret"));
    });
}

#[test]
fn what_is_shown_can_be_read_and_no_more() {
    each(|scene| {
        secrets(scene);
        let got = shell(scene, HIDDEN, "cat $O/h/a/shown $O/h/b/c/d $O/h/link && ls $O/h/b");
        assert_eq!((got.code, got.out.as_str()), (0, "shownshownshownc"), "{}", got.err);
        let got = shell(
            scene,
            HIDDEN,
            "! echo x > $O/h/a/shown && ! echo x > $O/h/b/c/e && ! echo x > $O/h/new && ! mkdir $O/h/a/new",
        );
        assert_eq!(got.code, 0, "{}", got.err);
        let got = shell(scene, "hide project/h write project/h/w", "echo x > h/w/f");
        assert_ne!(got.code, 0, "it is not there: {}", got.out);
        scene.file("project/h/w/g", "old");
        let got = shell(scene, "hide project/h write project/h/w", "echo x > h/w/f && cat h/w/g && ! cat h/inner");
        assert_eq!((got.code, got.out.as_str()), (0, "old"), "{}", got.err);
        assert_eq!(scene.read("project/h/w/f").as_deref(), Some("x\n"));
    });
}

#[test]
fn the_program_may_lie_in_what_is_hidden() {
    each(|scene| {
        let got = shell(scene, "hide outside/.. show project", "pwd; ls -a $O; ls $O/..");
        assert_eq!(got.out.lines().next(), Some(scene.text("project").as_str()), "{}", got.err);
        assert!(!got.out.contains("haft-cage"), "{}", got.out);
    });
}

#[test]
fn links_do_not_lead_around_it() {
    each(|scene| {
        secrets(scene);
        scene.file("outside/real/config", "old");
        symlink(scene.path("outside/real"), scene.path("outside/way")).unwrap();
        symlink(scene.path("outside"), scene.path("project/out")).unwrap();
        symlink(scene.path("outside/h"), scene.path("project/out-h")).unwrap();
        // What is closed is closed where it leads to.
        let words = "write outside/real frozen outside/way/config hide project/out-h";
        let got = shell(scene, words, "! echo new > $O/real/config && ! cat $O/h/inner && echo x > $O/real/new");
        assert_eq!(got.code, 0, "{}", got.err);
        assert_eq!(scene.read("outside/real/config").as_deref(), Some("old"));
        // Where programs may write, a folder that has become a link was made one.
        let got = shell(scene, "hide project/out/h", "echo run");
        assert_eq!((got.code, got.out.as_str()), (126, ""));
        assert!(got.err.contains("out/h leads through a link now"), "{}", got.err);
        // What is opened must lead nowhere: whoever made the link would choose what is opened.
        for words in ["write project/out", "write project/out/real", "write project/out/../h"] {
            let got = shell(scene, words, "echo x > $O/new; echo x > $O/h/new");
            assert!(
                !scene.path("outside/new").exists() && !scene.path("outside/h/new").exists(),
                "{words}: {}",
                got.err
            );
        }
    });
}

#[test]
fn what_is_not_there_is_as_if_it_had_not_been_named() {
    each(|scene| {
        let words = "write outside/no frozen project/no/.git/hooks hide project/nothing show outside/none";
        let got = shell(scene, words, "mkdir -p no/.git/hooks && ! mkdir $O/no && ls -A");
        assert_eq!((got.code, got.out.as_str()), (0, "no"), "{}", got.err);
        assert_eq!(fs::read_dir(scene.path("outside")).unwrap().count(), 0);
    });
}

#[test]
fn two_hundred_repositories_are_kept() {
    each(|scene| {
        let mut words = String::new();
        for one in 0..200 {
            scene.file(&format!("project/r{one}/.git/hooks/h"), "old");
            words += &format!("frozen project/r{one}/.git/hooks ");
        }
        let got = shell(
            scene,
            &words,
            "for d in r*; do echo new > $d/.git/hooks/h; mv $d/.git $d/x; done 2> /dev/null; ls -d r*/x | wc -l",
        );
        assert_eq!(got.out, "0", "{}", got.err);
        assert!((0..200).all(|one| scene.read(&format!("project/r{one}/.git/hooks/h")).as_deref() == Some("old")));
    });
}

#[test]
fn root_works_on_what_belongs_to_others() {
    if !is_root() {
        eprintln!("not here: only root can work on what belongs to others");
        return;
    }
    each(|scene| {
        scene.file("project/theirs", "old");
        for path in ["project", "project/theirs"] {
            std::os::unix::fs::chown(scene.path(path), Some(65534), Some(65534)).unwrap();
        }
        let got = shell(scene, "", "echo new > theirs && echo new > more && stat -c %u theirs");
        assert_eq!((got.code, got.out.as_str()), (0, "65534"), "{}", got.err);
        assert_eq!(scene.read("project/theirs").as_deref(), Some("new\n"));
    });
}

#[test]
fn a_folder_may_be_written_within_one_that_may() {
    each(|scene| {
        scene.file("project/x/y/f", "old");
        let got = shell(
            scene,
            "write project/x/y",
            "! mv x z && ! mv x/y x/z && echo new > x/y/f && echo new > x/g && mv x/y/f x/f",
        );
        assert_eq!(got.code, 0, "{}", got.err);
        assert_eq!(scene.read("project/x/f").as_deref(), Some("new\n"));
    });
}

/// So that the compiler keeps the odd names and the ordinary ones apart.
#[test]
fn arguments_reach_the_program_as_they_are() {
    each(|scene| {
        let odd: OsString = OsStr::from_bytes(b"\xff a\nb").to_owned();
        let mut command = scene.caged(&[], &["sh", "-c", "printf %s \"$1\" | od -An -tx1", "sh"]);
        command.arg(&odd);
        assert_eq!(output(command).out.trim(), "ff 20 61 0a 62");
    });
}
