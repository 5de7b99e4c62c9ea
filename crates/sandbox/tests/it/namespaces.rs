//! The rung of namespaces: what mounts, processes and a network of its own hold, tried from inside.

mod files;
mod others;
mod where_not;

use std::process::Command;

use crate::scene::{Scene, Who, done, is_root};

/// The variable that says that the rung must be here, and that a test which cannot be made is a failure.
const NEEDED: &str = "HAFT_NEEDS_NAMESPACES";

/// Runs `test` on this rung as whoever runs the tests, and as an ordinary user if that is root. Says why where the rung
/// cannot be had.
#[track_caller]
fn each(test: impl Fn(&Scene)) {
    for who in [Who::Self_, Who::Nobody] {
        if who == Who::Nobody && !is_root() {
            continue;
        }
        let scene = Scene::new(who, "namespaces");
        match why_not(&scene) {
            None => test(&scene),
            Some(why) if std::env::var_os(NEEDED).is_none() => eprintln!("not here: {why}"),
            Some(why) => panic!("{NEEDED} is set, and for {who:?} the rung is not here: {why}"),
        }
    }
}

/// Why the rung cannot be had here.
fn why_not(scene: &Scene) -> Option<String> {
    let tried = scene.run(&[], &["true"]);
    (tried.code != 0).then_some(tried.err)
}

/// Options that name paths of the scene: `frozen project/a`.
fn options(scene: &Scene, words: &str) -> Vec<String> {
    let one = |(at, word): (usize, &str)| if at % 2 == 0 { format!("--{word}") } else { scene.text(word) };
    words.split_whitespace().enumerate().map(one).collect()
}

/// Runs a line of the shell in a cage with such options.
fn shell(scene: &Scene, words: &str, line: &str) -> crate::scene::Done {
    let options = options(scene, words);
    scene.shell(&options.iter().map(String::as_str).collect::<Vec<_>>(), line)
}

/// Whether a program can be run at all here; says so where not.
fn missing(program: &str) -> bool {
    let missing = Command::new(program).arg("--version").output().is_err();
    if missing {
        eprintln!("not here: {program} is not installed");
    }
    missing
}

/// The programs that carry `mark` in their environment and have not ended.
fn alive(mark: &str) -> Vec<i32> {
    let numbers =
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let carries = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|one| one == mark.as_bytes())
    };
    numbers.filter(carries).collect()
}

/// Runs a command of the scene and waits for it.
fn output(mut command: Command) -> crate::scene::Done {
    done(command.output().unwrap())
}
