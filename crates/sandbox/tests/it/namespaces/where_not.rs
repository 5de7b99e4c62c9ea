//! Machines that do not let this rung be, or not in its best way.

use super::{each, output};
use crate::scene::{Scene, is_root};

/// Runs a line of the shell outside the cage, where `$C` is the program that makes cages.
fn line(scene: &Scene, text: &str) -> crate::scene::Done {
    let mut command = scene.free("sh");
    command.args(["-c", text]).env("C", scene.path("haft-cage")).env("P", scene.path("project"));
    output(command)
}

const CAGE: &str = "$C --rung namespaces --write $P -- sh -c 'echo x > f && cat f; ls /run; echo x > /etc/x'";

#[test]
fn the_reason_is_said_where_there_are_no_user_namespaces() {
    each(|scene| {
        // In a user namespace in which no more can be made, without rights.
        let text = "unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_user_namespaces &&
            exec setpriv --bounding-set=-all --inh-caps=-all $C --rung namespaces -- true'";
        let got = line(scene, text);
        assert_eq!(got.code, 126, "{} {}", got.out, got.err);
        assert!(got.err.contains("user.max_user_namespaces is 0"), "{}", got.err);
    });
}

#[test]
fn the_reason_is_said_where_a_filter_refuses_namespaces() {
    each(|scene| {
        let got = line(scene, "$C --rung landlock --write $P -- $C --rung namespaces -- true");
        assert_eq!(got.code, 126, "{} {}", got.out, got.err);
        assert!(got.err.contains("namespaces cannot be used, because") && got.err.contains("filter"), "{}", got.err);
    });
}

#[test]
fn without_bwrap_there_is_no_such_rung() {
    each(|scene| {
        let got = line(scene, "PATH=/nowhere $C --rung namespaces -- true");
        assert_eq!(got.code, 126, "{} {}", got.out, got.err);
        assert!(got.err.contains("bwrap is not installed"), "{}", got.err);
    });
}

#[test]
fn it_works_within_namespaces() {
    each(|scene| {
        let outer = "bwrap --unshare-user --unshare-pid --bind / / --dev /dev --proc /proc";
        let got = line(scene, &format!("{outer} -- {CAGE}"));
        assert_eq!((got.code, got.out.as_str()), (2, "x"), "{}", got.err);
        assert!(got.err.contains("/etc/x: Read-only file system"), "{}", got.err);
    });
}

#[test]
fn where_proc_cannot_be_mounted_that_of_the_machine_is_shown() {
    each(|scene| {
        // As container engines do it: what covers a part of /proc must not be got around by another /proc.
        let outer = "bwrap --unshare-user --unshare-pid --bind / / --dev /dev --proc /proc \
            --ro-bind /dev/null /proc/kallsyms -- unshare -Urm";
        let got = line(scene, &format!("{outer} -- $C --rung namespaces --gaps"));
        assert!(
            got.out.starts_with("namespaces\n") && got.out.contains("lets nobody mount /proc"),
            "{}{}",
            got.out,
            got.err
        );
        let got = line(scene, &format!("{outer} -- {CAGE}"));
        assert_eq!((got.code, got.out.as_str()), (2, "x"), "{}", got.err);
    });
}

#[test]
fn root_without_privileges_is_an_ordinary_user() {
    if !is_root() {
        eprintln!("not here: only root can give privileges up");
        return;
    }
    each(|scene| {
        if !scene.by_root() {
            return;
        }
        let got = line(scene, &format!("setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin {CAGE}"));
        assert_eq!((got.code, got.out.as_str()), (2, "x"), "{}", got.err);
    });
}

#[test]
fn what_cannot_be_set_up_runs_nothing() {
    each(|scene| {
        // The folder that the program is to stand in is hidden.
        scene.file("project/h/in/f", "");
        let hidden = scene.text("project/h");
        let mut command = scene.caged(&["--hide", &hidden], &["echo", "run"]);
        command.current_dir(scene.path("project/h/in"));
        let got = output(command);
        assert_eq!((got.code, got.out.as_str()), (126, ""), "{}", got.err);
        assert!(got.err.contains("nothing was run") && got.err.contains("h/in cannot be entered"), "{}", got.err);
    });
}

#[test]
fn a_program_that_was_replaced_while_it_runs_goes_on() {
    each(|scene| {
        let text = "cp $C $P/own && exec 3< $P/own && rm $P/own && cp /bin/false $P/own &&
            exec /proc/self/fd/3 --rung namespaces --write $P -- echo run";
        let got = line(scene, text);
        assert_eq!((got.code, got.out.as_str()), (0, "run"), "{}", got.err);
    });
}
