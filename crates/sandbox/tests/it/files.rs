//! What becomes of files.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use crate::scene::{Scene, done, each, no_python};

/// Runs `line`, which must fail, and must leave `outside/f` as it is and make nothing new there.
#[track_caller]
fn stays(scene: &Scene, line: &str) {
    fs::remove_dir_all(scene.path("outside")).unwrap();
    scene.file("outside/f", "old");
    scene.file("outside/d/g", "deep");
    scene.file("project/own", "own");
    let got = scene.shell(&[], line);
    assert_ne!(got.code, 0, "{line}: {} {}", got.out, got.err);
    assert_eq!(scene.read("outside/f").as_deref(), Some("old"), "{line}");
    assert_eq!(scene.read("outside/d/g").as_deref(), Some("deep"), "{line}");
    let names = fs::read_dir(scene.path("outside")).unwrap().count();
    assert_eq!(names, 2, "{line}");
}

#[test]
fn in_the_project_everything_can_be_done() {
    each(|scene| {
        let line = "mkdir -p a/b && echo x > a/b/f && mv a/b/f a/g && ln a/g h && ln -s h s && rm h && mkfifo p &&
            chmod 750 a/g && touch -d 2001-01-01 a/g && truncate -s 1 a/g && cat a/g && rm -r a";
        let got = scene.shell(&[], line);
        assert_eq!((got.code, got.out.as_str()), (0, "x"), "{}", got.err);
    });
}

#[test]
fn outside_nothing_is_written() {
    each(|scene| {
        symlink(scene.path("outside"), scene.path("project/link")).unwrap();
        symlink(scene.path("outside/f"), scene.path("project/file-link")).unwrap();
        for line in [
            "echo new > $O/f",
            "echo new >> $O/f",
            "echo new > $O/new",
            "echo new > link/f",
            "echo new > link/new",
            "echo new > file-link",
            "echo new > ../outside/f",
            "echo new > /proc/self/root$O/f",
            "cd $O && echo new > /proc/self/cwd/f",
            "exec 3< $O/f; echo new > /proc/self/fd/3",
            "exec 3< $O; echo new > /proc/self/fd/3/f",
            "truncate -s 0 $O/f",
            ": > $O/f",
            "rm $O/f",
            "rm -r $O/d",
            "mkdir $O/new",
            "mkfifo $O/new",
            "ln -s x $O/new",
            "ln $O/f $P/stolen && echo new > $P/stolen",
            "ln $P/own $O/new",
            "mv $O/f $P/stolen",
            "mv -T $O/d $P/stolen",
            "mv $P/own $O/f",
            "mv $P/own $O/new",
            "cp $P/own $O/f",
            "dd if=/dev/zero of=$O/f conv=notrunc",
            "sed -i s/old/new/ $O/f",
            "tee $O/f < $P/own > /dev/null",
        ] {
            stays(scene, line);
        }
    });
}

#[test]
fn all_folders_can_be_written_where_the_root_is_named() {
    each(|scene| {
        let got = scene.shell(&["--write", "/"], "echo new > $O/f; echo 7 > /proc/self/oom_score_adj");
        assert_eq!(scene.read("outside/f").as_deref(), Some("new\n"), "{}", got.err);
        assert_ne!(got.code, 0);
    });
}

#[test]
fn a_link_in_place_of_a_folder_that_may_be_written_opens_nothing() {
    each(|scene| {
        symlink(scene.path("outside"), scene.path("project/worktree")).unwrap();
        let worktree = scene.text("project/worktree");
        let got = scene.shell(&["--write", &worktree], "echo new > $O/new");
        assert_ne!(got.code, 0);
        assert_eq!(scene.read("outside/new"), None);
    });
}

#[test]
fn without_a_folder_to_write_nothing_is_written() {
    each(|scene| {
        let mut command = scene.free(&scene.text("haft-cage"));
        command.args([
            "--rung",
            "landlock",
            "--",
            "sh",
            "-c",
            "echo new > new; cat /etc/passwd > /dev/null && echo read",
        ]);
        let got = done(command.output().unwrap());
        assert_eq!(got.out, "read", "{}", got.err);
        assert_eq!(scene.read("project/new"), None);
    });
}

#[test]
fn the_hidden_is_not_read_by_any_name() {
    each(|scene| {
        scene.file("project/.home/secret/key", "KEY");
        scene.file("project/.home/secret/shown/note", "NOTE");
        scene.file("project/.home/token", "KEY");
        scene.file("project/.home/plain", "PLAIN");
        symlink(scene.path("project/.home/token"), scene.path("outside/token-link")).unwrap();
        let (folder, link) = (scene.text("project/.home/secret"), scene.text("outside/token-link"));
        let shown = scene.text("project/.home/secret/shown");
        let options = ["--hide", folder.as_str(), "--hide", link.as_str(), "--show", shown.as_str()];
        let line = "cat .home/plain .home/secret/shown/note; ls .home/secret > /dev/null && echo listed
            for f in .home/secret/key .home/token $O/token-link /proc/self/root$P/.home/secret/key; do cat $f; done
            cd .home/secret; cat key; cat /proc/self/cwd/key
            cd $P; ln .home/token stolen; cat stolen; mv .home/secret open; cat open/key; cp .home/token copy; cat copy
            mv .home/token .home/moved; cat .home/moved";
        let got = scene.shell(&options, line);
        assert_eq!(got.out.replace('\n', " "), "PLAINNOTElisted", "{}", got.err);
    });
}

#[test]
fn a_hidden_program_is_not_run_and_others_are() {
    each(|scene| {
        scene.file("project/tool", "#!/bin/sh\necho ran");
        fs::set_permissions(scene.path("project/tool"), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(scene.shell(&[], "./tool").out, "ran");
        let tool = scene.text("project/tool");
        assert_eq!(scene.shell(&["--hide", &tool], "./tool; true").out, "");
    });
}

#[test]
fn devices_for_everybody_work_and_others_do_not() {
    each(|scene| {
        let got =
            scene.shell(&[], "echo x > /dev/null && head -c 2 /dev/zero | wc -c && head -c 3 /dev/urandom | wc -c");
        assert_eq!(got.out, "2\n3", "{}", got.err);
        // Not everybody may open the pipes of the tests again.
        let line = "echo out > /dev/stdout; echo err > /dev/stderr";
        let (got, free) = (scene.shell(&[], line), done(scene.free("sh").args(["-c", line]).output().unwrap()));
        assert_eq!((got.out, got.err), (free.out, free.err));
        let line = "for d in $(find /dev -type b -o -type c); do case $d in
            /dev/null|/dev/zero|/dev/full|/dev/tty|/dev/random|/dev/urandom) ;;
            *) (: < $d) 2> /dev/null && echo read $d; (: >> $d) 2> /dev/null && echo wrote $d;; esac; done; true";
        assert_eq!(scene.shell(&[], line).out, "");
        assert_eq!(scene.shell(&["--write", "/"], line).out, "");
    });
}

#[test]
fn shared_memory_is_a_folder_to_be_named() {
    if no_python() {
        return;
    }
    each(|scene| {
        let text = "import multiprocessing\nprint(attempt(multiprocessing.Lock))";
        scene.says(&[], text, "EACCES");
        scene.says(&["--write", "/dev/shm"], text, "done");
    });
}

#[test]
fn no_device_is_made() {
    each(|scene| {
        let got = scene.shell(&[], "mknod disk b 8 0; mknod mem c 1 1; ls");
        assert_eq!(got.out, "");
    });
}

#[test]
fn what_the_system_tells_is_read_and_not_written() {
    each(|scene| {
        let line = "cat /proc/self/status /proc/meminfo /sys/kernel/mm/transparent_hugepage/enabled > /dev/null && echo read
            echo b > /proc/sysrq-trigger; echo 0 > /proc/sys/kernel/randomize_va_space; echo 7 > /proc/self/oom_score_adj
            echo x > /proc/self/attr/current; head -c 1 /proc/kcore; head -c 1 /proc/kmsg; head -c 1 /dev/mem; true";
        let before = fs::read_to_string("/proc/sys/kernel/randomize_va_space").unwrap();
        assert_eq!(scene.shell(&[], line).out, "read");
        assert_eq!(fs::read_to_string("/proc/sys/kernel/randomize_va_space").unwrap(), before);
    });
}

#[test]
fn nothing_runs_as_its_owner_afterwards() {
    if no_python() {
        return;
    }
    each(|scene| {
        let text = "
def make(flags, mode): os.close(os.open('made', flags, mode))
f = os.open('plain', os.O_CREAT | os.O_RDWR, 0o755)
print(attempt(lambda: os.chmod('plain', 0o4755)), attempt(lambda: os.chmod('plain', 0o2755)),
    attempt(lambda: os.fchmod(f, 0o6755)), attempt(lambda: make(os.O_CREAT | os.O_RDWR, 0o4755)),
    attempt(lambda: make(os.O_CREAT, 0o2755)),
    attempt(lambda: os.close(os.open('.', os.O_TMPFILE | os.O_RDWR, 0o4755))),
    attempt(lambda: os.mknod('made', 0o104755)), attempt(lambda: os.chmod('plain', 0o711)), attempt(lambda: os.chmod('.', 0o1755)))
";
        scene.says(&[], text, "EPERM EPERM EPERM EPERM EPERM EPERM EPERM done done");
        assert_eq!(fs::metadata(scene.path("project/plain")).unwrap().mode() & 0o7777, 0o711);
        assert!(!scene.path("project/made").exists());
    });
}

/// Rules on files do not cover these, so they are refused, or done by nobody.
#[test]
fn owners_and_extended_attributes_stay() {
    if no_python() {
        return;
    }
    each(|scene| {
        scene.file("outside/f", "old");
        let before = fs::metadata(scene.path("outside/f")).unwrap();
        let outside = scene.text("outside/f");
        let text = format!(
            "
f = '{outside}'
print(attempt(lambda: os.setxattr(f, 'user.mark', b'x')), attempt(lambda: os.removexattr(f, 'user.mark')))
print(attempt(lambda: os.chown(f, 1, 1)), attempt(lambda: os.fchown(os.open(f, os.O_RDONLY), 1, 1)),
    attempt(lambda: os.lchown(f, 1, 1)))
"
        );
        let chown = if scene.by_root() { "done done done" } else { "EPERM EPERM EPERM" };
        // Their names differ between versions: both are the same number.
        let got = scene.python(&[], &text).out.replace("ENOTSUP", "EOPNOTSUPP");
        assert_eq!(got, format!("EOPNOTSUPP EOPNOTSUPP\n{chown}"));
        let after = fs::metadata(scene.path("outside/f")).unwrap();
        assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
    });
}

/// As `gaps` says: this is what a cage of this rung does not hold.
#[test]
fn modes_and_times_outside_can_be_changed() {
    each(|scene| {
        scene.file("outside/f", "old");
        let got = scene.shell(&[], "chmod 600 $O/f && touch -d 2001-01-01 $O/f");
        assert_eq!(got.code, 0, "{}", got.err);
        assert!(scene.shell(&["--gaps"], "").out.contains("attributes: "));
    });
}

#[test]
fn unpacking_and_copying_work() {
    each(|scene| {
        scene.file("project/a/f", "x");
        let line = "chmod 751 a/f && tar cf t.tar --owner=7:7 --group=7 a && mkdir out && tar xf t.tar -C out &&
            cp -a a copy && stat -c %a out/a/f copy/f && mv copy moved && cat moved/f";
        let got = scene.shell(&[], line);
        assert_eq!((got.code, got.out.as_str()), (0, "751\n751\nx"), "{}", got.err);
    });
}
