//! How a program is started in a cage.

use std::process::Command;

use haft_sandbox::{Cage, CageError, Options, Rung, Sandbox, Session};

use crate::scene::{Scene, Who, done, each};

fn cage() -> Command {
    Command::new(env!("CARGO_BIN_EXE_haft-cage"))
}

fn sandbox() -> Sandbox {
    let launcher = Some(env!("CARGO_BIN_EXE_haft-cage").into());
    Sandbox::find(&Options { only: Some(Rung::Landlock), launcher, ..Options::default() })
}

#[test]
fn the_rung_is_found_and_tells_of_its_gaps() {
    let sandbox = sandbox();
    assert_eq!(sandbox.rung(), Rung::Landlock, "{:?}", sandbox.tried());
    assert!(sandbox.tried().is_empty());
    assert!(sandbox.gaps().iter().any(|gap| gap.promise == "frozen"));
}

#[test]
fn without_a_rung_nothing_is_launched() {
    let sandbox = Sandbox::find(&Options { only: Some(Rung::None), ..Options::default() });
    let error = sandbox.launch(&Cage::default(), Session::New, "true".as_ref(), &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "this machine has nothing to hold commands in a cage with: no way is known on this system"
    );
}

#[test]
fn a_program_that_is_no_launcher_is_found_out() {
    let options = Options { only: Some(Rung::Landlock), launcher: Some("/bin/false".into()), ..Options::default() };
    let sandbox = Sandbox::find(&options);
    assert_eq!(sandbox.rung(), Rung::None);
    assert_eq!(sandbox.tried()[0].why_not, "a program in it ended with exit status: 1");
}

#[test]
fn a_description_that_is_too_long_is_refused() {
    let write = (0..2000).map(|n| format!("/{n}/{}", "x".repeat(100)).into()).collect();
    let cage = Cage { write, ..Cage::default() };
    let error = sandbox().launch(&cage, Session::New, "true".as_ref(), &[]).unwrap_err();
    assert!(matches!(&error, CageError::Description(why) if why.contains("name fewer")), "{error}");
}

#[test]
fn a_description_that_is_not_understood_runs_nothing() {
    let sandbox = sandbox();
    let launch = sandbox.launch(&Cage::default(), Session::New, "echo".as_ref(), &["ran".into()]).unwrap();
    let ran = |args: &[std::ffi::OsString]| done(cage().args(args).output().unwrap());
    assert_eq!(ran(&launch.args).out, "ran");
    for spec in ["", "{}", "null", "{\"layer\":\"Alone\"}", "[[[["] {
        let mut args = launch.args.clone();
        args[1] = spec.into();
        let got = ran(&args);
        assert_eq!((got.code, got.out.as_str()), (126, ""), "{spec}");
        assert!(got.err.starts_with("haft: the cage could not be set up, so nothing was run: "), "{}", got.err);
    }
    // A right that this program does not know may be one to be withheld.
    let mut args = launch.args.clone();
    args[1] = args[1].to_str().unwrap().replacen("{\"write\"", "{\"new\":1,\"write\"", 1).into();
    assert_ne!(args, launch.args);
    assert_eq!(ran(&args).code, 126);
    assert_eq!(ran(&launch.args[..2]).code, 126);
    assert_eq!(ran(&launch.args[..1]).code, 126);
}

#[test]
fn it_ends_as_the_program_does() {
    each(|scene| {
        assert_eq!(scene.shell(&[], "exit 7").code, 7);
        assert_eq!(scene.shell(&[], "kill -9 $$").code, 137);
        let missing = scene.run(&[], &["/no/such/program"]);
        assert_eq!((missing.code, missing.err.contains("/no/such/program")), (127, true), "{}", missing.err);
        assert_eq!(scene.run(&[], &["/etc/passwd"]).code, 126);
    });
}

#[test]
fn folder_environment_and_arguments_are_the_programs() {
    each(|scene| {
        let mut command = scene.caged(&[], &["sh", "-c", "echo \"$PWD|$A|$0|$1\"", "--", "two words"]);
        let got = done(command.env("A", "b c").output().unwrap());
        assert_eq!(got.out, format!("{}|b c|--|two words", scene.text("project")));
    });
}

#[test]
fn a_cage_in_a_cage_is_no_way_out() {
    each(|scene| {
        scene.file("outside/f", "old");
        scene.file("project/sub/g", "");
        let (cage, outside, sub) = (scene.text("haft-cage"), scene.text("outside"), scene.text("project/sub"));
        let inner = "echo new > $O/f; echo new > $P/f; echo new > $P/sub/g; exec 3<> /dev/tcp/127.0.0.1/9; echo ran";
        let line = format!("{cage} --rung landlock --network --write {outside} --write {sub} -- bash -c '{inner}'");
        let got = scene.shell(&[], &line);
        assert_eq!(got.out, "ran", "{}", got.err);
        let files = ["outside/f", "project/f", "project/sub/g"].map(|path| scene.read(path));
        assert_eq!(files, [Some("old".to_owned()), None, Some("new\n".to_owned())]);
        assert!(got.err.contains("socket: Operation not permitted"), "{}", got.err);
    });
}

/// Signals that whoever started the tests ignores. That of a closed pipe is not one of them: Rust ignores it itself.
fn ignored_by_these_tests() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(line.trim(), 16).unwrap() & !(1 << (13 - 1))
}

#[test]
fn signals_are_as_a_program_expects_them() {
    each(|scene| {
        let got = scene.shell(&[], "grep -E '^Sig(Ign|Blk):' /proc/self/status | cut -f 2").out;
        // What comes after the 31 classic ones is the C library's own. What the tests were started with, as by `nohup`,
        // stays ignored.
        let classic = |line: &str| u64::from_str_radix(line, 16).unwrap() & 0x7fff_ffff & !ignored_by_these_tests();
        assert_eq!(got.lines().map(classic).collect::<Vec<_>>(), [0, 0], "{got}");
    });
}

#[test]
fn more_beside_the_hidden_than_there_may_be_rules_runs_nothing() {
    let scene = Scene::new(Who::Self_, "landlock");
    std::fs::create_dir(scene.path("outside/many")).unwrap();
    for n in 0..10_001 {
        std::fs::File::create(scene.path("outside/many").join(n.to_string())).unwrap();
    }
    let (hidden, folder) = (scene.text("outside/many/7"), scene.text("outside/many"));
    let got = scene.shell(&["--hide", &hidden], "echo ran");
    assert_eq!((got.code, got.out.as_str()), (126, ""));
    assert!(got.err.contains("more than 10000 files and folders lie beside what is hidden"), "{}", got.err);
    assert_eq!(scene.shell(&["--hide", &folder], "echo ran").out, "ran");
}
