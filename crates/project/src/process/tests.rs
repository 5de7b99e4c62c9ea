//! Real shells, each with its end. Processes are watched by handles that only Linux has.
#![cfg(target_os = "linux")]

use haft_permission::{Access, Action, Answerer, Asker, Effect, Gate, Rule, Rules};
use haft_protocol::Clock;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::*;

mod namespaces;

async fn grant(text: &str, dir: &Path) -> Grant {
    let clock = Clock::scripted(1);
    let asker = Asker { session: clock.mint(), call: None };
    let gate = Gate::new(clock, Answerer::Nobody, |_| {});
    let rules = Rules::from(vec![Rule::new("*", "*", Action::Allow)]);
    let run = Effect::Run { command: text.to_owned(), dir: dir.to_owned() };
    gate.ask(&asker, &rules, Access::new("bash", "*").with(run)).await.unwrap()
}

async fn start_in(dir: &Path, text: &str, env: &[(&str, &str)]) -> Result<Running, ProcessError> {
    let env = env.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let command = Command { text: text.to_owned(), dir: dir.to_owned(), env, ..Command::default() };
    Processes::new("/bin/sh".into(), Vec::new()).spawn(&grant(text, dir).await, &command).await
}

async fn start(text: &str) -> Running {
    start_in(Path::new("/"), text, &[]).await.unwrap()
}

async fn start_on(streams: Streams, text: &str) -> Running {
    let command = Command { text: text.to_owned(), dir: "/".into(), streams, ..Command::default() };
    Processes::new("/bin/sh".into(), Vec::new()).spawn(&grant(text, Path::new("/")).await, &command).await.unwrap()
}

async fn all(running: &mut Running) -> String {
    let (mut bytes, mut piece) = (Vec::new(), Vec::new());
    while running.read(&mut piece).await {
        bytes.extend(&piece);
    }
    String::from_utf8(bytes).unwrap()
}

/// Output until there are `count` whole lines.
async fn lines(running: &mut Running, count: usize) -> Vec<String> {
    let (mut text, mut piece) = (String::new(), Vec::new());
    while text.matches('\n').count() < count {
        assert!(running.read(&mut piece).await, "more output");
        text.push_str(std::str::from_utf8(&piece).unwrap());
    }
    text.lines().map(str::to_owned).collect()
}

/// Handles that tell when these processes end, whoever their parents are.
fn watch(pids: &[String]) -> Vec<OwnedFd> {
    let watch = |pid: &String| {
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        pidfd_open(pid, PidfdFlags::empty()).unwrap()
    };
    pids.iter().map(watch).collect()
}

async fn all_gone(watched: Vec<OwnedFd>) {
    let wait = move || {
        for process in watched {
            poll(&mut [PollFd::new(&process, PollFlags::IN)], None).unwrap();
        }
    };
    tokio::task::spawn_blocking(wait).await.unwrap();
}

#[tokio::test]
async fn a_command_that_is_spoken_with_has_its_outputs_apart() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut running = start_on(Streams::Apart, "read -r line; echo \"said $line\"; echo why >&2; cat").await;
    let Talk { mut input, mut output } = running.talk().unwrap();
    assert!(running.talk().is_none());
    input.write_all(b"hello\nmore").await.unwrap();
    drop(input);
    let mut said = String::new();
    output.read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "said hello\nmore");
    assert_eq!(all(&mut running).await, "why\n");
    assert_eq!(running.end().await, End { code: Some(0), signal: None, left_running: false });
}

#[tokio::test]
async fn both_outputs_come_in_the_order_they_were_written() {
    let mut running = start("echo a; echo b >&2; echo c; printf d >&2").await;
    assert_eq!(all(&mut running).await, "a\nb\nc\nd");
    assert_eq!(running.end().await, End { code: Some(0), signal: None, left_running: false });
}

#[tokio::test]
async fn the_end_says_code_or_signal() {
    assert_eq!(start("exit 7").await.end().await, End { code: Some(7), signal: None, left_running: false });
    assert_eq!(start("kill -9 $$").await.end().await, End { code: None, signal: Some(9), left_running: false });
}

#[tokio::test]
async fn standard_input_is_empty() {
    assert_eq!(all(&mut start("cat; echo done").await).await, "done\n");
}

#[tokio::test]
async fn the_folder_and_added_variables_are_given() {
    let dir = tempfile::tempdir().unwrap();
    let dir = std::fs::canonicalize(dir.path()).unwrap();
    let text = "pwd; echo $HAFT$AGENT$OPENCODE $MY_TOKEN";
    let mut running = start_in(&dir, text, &[("MY_TOKEN", "given")]).await.unwrap();
    assert_eq!(all(&mut running).await, format!("{}\n111 given\n", dir.display()));
}

#[tokio::test]
async fn a_folder_that_is_none_or_has_become_a_link_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let dir = std::fs::canonicalize(dir.path()).unwrap();
    std::os::unix::fs::symlink("/", dir.join("link")).unwrap();
    for name in ["none", "link"] {
        let result = start_in(&dir.join(name), "true", &[]).await;
        assert!(matches!(result, Err(ProcessError::NoFolder { .. })), "{name}");
    }
}

#[tokio::test]
async fn only_the_command_that_was_granted_runs() {
    let granted = grant("true", Path::new("/")).await;
    let processes = Processes::new("/bin/sh".into(), Vec::new());
    for (text, dir) in [("false", "/"), ("true", "/tmp")] {
        let command = Command { text: text.to_owned(), dir: dir.into(), ..Command::default() };
        assert!(
            matches!(processes.spawn(&granted, &command).await, Err(ProcessError::NotGranted { .. })),
            "{text} {dir}"
        );
    }
}

#[tokio::test]
async fn a_shell_that_is_missing_is_named() {
    let command = Command { text: "true".to_owned(), dir: "/".into(), ..Command::default() };
    let result =
        Processes::new("/no/shell".into(), Vec::new()).spawn(&grant("true", Path::new("/")).await, &command).await;
    assert_eq!(result.unwrap_err().to_string(), "cannot start /no/shell");
}

#[test]
fn secrets_are_not_passed_on() {
    let secret = [
        "OPENAI_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "API_KEY",
        "KEY",
        "signing_key",
        "gh_token",
        "TOKEN",
        "X_SECRET",
        "PASSWORD",
        "PGPASSWORD",
        "DB_PASSWD",
        "GPG_PASSPHRASE",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "DB_PASS",
        "GITHUB_PAT",
        "OPENAI_APIKEY",
        "Listed",
    ];
    let plain = [
        "PATH",
        "TOKENS",
        "NOTOKEN",
        "MONKEY",
        "COMPASS",
        "CDPATH",
        "KEYS",
        "KEY_FILE",
        "SECRET_NAME",
        "PASSWORD_STORE_DIR",
        "SSH_AUTH_SOCK",
        "GPG_TTY",
        "GPG_AGENT_INFO",
        "HAFT",
    ];
    let ours = plain.into_iter().chain(secret).map(|name| (OsString::from(name), OsString::from("ours")));
    let added = [("DEPLOY_TOKEN".to_owned(), "given".to_owned())];
    let got: Vec<_> = environment(ours, &["LISTED".to_owned()], &added)
        .into_iter()
        .map(|(name, value)| format!("{}={}", name.to_string_lossy(), value.to_string_lossy()))
        .collect();
    let plain = plain.map(|name| format!("{name}=ours"));
    let given = ["HAFT=1", "AGENT=1", "OPENCODE=1", "DEPLOY_TOKEN=given"].map(str::to_owned);
    assert_eq!(got, [&plain[..], &given].concat());
}

const TREE: &str = "sh -c 'sh -c \"echo \\$\\$; sleep 1000\" & echo $$; wait' & echo $$; wait";

#[tokio::test]
async fn dropping_it_ends_the_whole_tree() {
    let mut running = start(TREE).await;
    let tree = watch(&lines(&mut running, 3).await);
    drop(running);
    all_gone(tree).await;
}

#[tokio::test]
async fn stopping_it_ends_the_whole_tree() {
    let mut running = start(TREE).await;
    let tree = watch(&lines(&mut running, 3).await);
    running.stop(Duration::from_secs(60));
    let end = running.end().await;
    all_gone(tree).await;
    assert_eq!((end.signal, end.left_running), (Some(15), false));
}

#[tokio::test]
async fn what_ignores_the_request_to_end_is_killed() {
    let mut running = start("trap '' TERM; echo $$; while :; do sleep 1000; done").await;
    let tree = watch(&lines(&mut running, 1).await);
    running.stop(Duration::from_millis(10));
    let end = running.end().await;
    all_gone(tree).await;
    assert_eq!(end, End { code: None, signal: Some(9), left_running: false });
}

#[tokio::test]
async fn what_was_left_in_the_background_does_not_hold_the_call_and_is_ended() {
    for background in ["sleep 1000 &", "sleep 1000 >/dev/null 2>&1 &", "(trap '' TERM HUP; sleep 1000) &"] {
        let mut running = start(&format!("{background} echo $!")).await;
        let tree = watch(&lines(&mut running, 1).await);
        assert_eq!(all(&mut running).await, "");
        let end = running.end().await;
        all_gone(tree).await;
        assert_eq!(end, End { code: Some(0), signal: None, left_running: true }, "{background}");
    }
}

#[tokio::test]
async fn a_flood_from_the_background_does_not_hold_the_call() {
    let mut running = start("yes & echo started").await;
    while running.read(&mut Vec::new()).await {}
    assert_eq!(running.left().await, ["yes"]);
    assert!(running.end().await.left_running);
}

#[tokio::test]
async fn last_words_from_the_background_are_heard() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut running = start(&format!("(read x < {}; echo $x) & echo first", fifo.display())).await;
    running.linger = Duration::from_secs(60);
    assert_eq!(lines(&mut running, 1).await, ["first"]);
    std::fs::write(&fifo, "last\n").unwrap();
    assert_eq!(all(&mut running).await, "last\n");
    assert!(!running.end().await.left_running);
}

#[tokio::test]
async fn no_zombie_is_left() {
    let mut running = start("echo $$").await;
    let pid = lines(&mut running, 1).await.remove(0);
    running.end().await;
    assert!(!Path::new("/proc").join(pid).exists());
}

#[tokio::test]
async fn output_waits_in_the_pipe_for_whoever_reads() {
    let mut running = start("yes | head -c 3000000").await;
    let (mut total, mut piece) = (0, Vec::new());
    while running.read(&mut piece).await {
        assert!((1..=running::PIECE).contains(&piece.len()) && piece.capacity() <= 2 * running::PIECE);
        total += piece.len();
    }
    assert_eq!(total, 3_000_000);
}

/// Each starts something that the shell knows no more of, and says its number.
const AWAY: [&str; 4] = [
    "setsid sh -c 'echo $$; exec sleep 1000' & wait",
    "(setsid sh -c 'echo $$; exec >/dev/null 2>&1; exec sleep 1000' &); sleep 1000",
    "(setsid sh -c '(setsid sh -c \"trap : TERM; echo \\$\\$; while :; do sleep 1000; done\" &)' &); sleep 1000",
    "env -i setsid sleep 1000 & echo $!; sleep 1000",
];

#[tokio::test]
async fn dropping_it_ends_what_went_away() {
    for text in AWAY {
        let mut running = start(text).await;
        let tree = watch(&lines(&mut running, 1).await);
        drop(running);
        all_gone(tree).await;
    }
}

#[tokio::test]
async fn stopping_it_ends_what_went_away() {
    for text in AWAY {
        let mut running = start(text).await;
        let tree = watch(&lines(&mut running, 1).await);
        running.stop(Duration::from_millis(10));
        let end = running.end().await;
        all_gone(tree).await;
        assert!(!end.left_running, "{text}");
    }
}

#[tokio::test]
async fn what_went_away_is_told() {
    let mut running = start("setsid sleep 1000 >/dev/null 2>&1 & echo $!; exit 3").await;
    let tree = watch(&lines(&mut running, 1).await);
    assert_eq!(all(&mut running).await, "");
    assert_eq!(running.left().await, ["sleep 1000"]);
    assert_eq!(running.end().await, End { code: Some(3), signal: None, left_running: true });
    all_gone(tree).await;
}

#[tokio::test]
async fn what_changes_its_program_all_the_time_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("again");
    std::fs::write(&script, "exec sh \"$0\"\n").unwrap();
    let mut running = start(&format!("setsid sh {0} >/dev/null 2>&1 & echo $!; exit 0", script.display())).await;
    let tree = watch(&lines(&mut running, 1).await);
    assert_eq!(all(&mut running).await, "");
    for look in 0..20 {
        assert_eq!(running.left().await.len(), 1, "look {look}");
    }
    assert!(running.end().await.left_running);
    all_gone(tree).await;
}

#[tokio::test]
async fn what_was_left_can_be_followed_to_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut running = start(&format!("setsid sh -c 'read x < {0}; echo $x; exit 4' & exit 3", fifo.display())).await;
    assert_eq!(all(&mut running).await, "");
    assert_eq!(running.left().await.len(), 1);
    running.follow();
    let write = tokio::task::spawn_blocking(move || std::fs::write(&fifo, "last\n").unwrap());
    assert_eq!(all(&mut running).await, "last\n");
    write.await.unwrap();
    assert_eq!(running.end().await, End { code: Some(3), signal: None, left_running: false });
}

#[tokio::test]
async fn a_terminal_is_one() {
    let command = "test -t 0 && test -t 1 && test -t 2 && echo $TERM && stty size < /dev/tty && exit 7";
    let mut running = start_on(Streams::Terminal, command).await;
    assert_eq!(all(&mut running).await, format!("xterm-256color\r\n{ROWS} {COLUMNS}\r\n"));
    assert_eq!(running.end().await, End { code: Some(7), signal: None, left_running: false });
}

#[tokio::test]
async fn what_runs_on_a_terminal_is_ended() {
    let mut running = start_on(Streams::Terminal, "echo $$; exec sleep 1000").await;
    let tree = watch(&lines(&mut running, 1).await);
    drop(running);
    all_gone(tree).await;
    let mut running = start_on(Streams::Terminal, "trap '' HUP; sleep 1000 & echo $!").await;
    let tree = watch(&lines(&mut running, 1).await);
    assert_eq!(all(&mut running).await, "");
    assert!(running.end().await.left_running);
    all_gone(tree).await;
    let mut running = start_on(Streams::Terminal, "kill -9 $$").await;
    assert_eq!(all(&mut running).await, "");
    assert_eq!(running.end().await.signal, Some(9));
}

#[tokio::test]
async fn a_mark_stands_behind_those_of_others() {
    assert_eq!(marks(None, "b.1"), "b.1");
    assert_eq!(marks(Some("".into()), "b.1"), "b.1");
    assert_eq!(marks(Some("a.7".into()), "b.1"), "a.7 b.1");
    assert_eq!(marks(Some("a".repeat(MAX_MARKS + 1).into()), "b.1"), "b.1");
    let processes = Processes::new("/bin/sh".into(), Vec::new());
    let text = "echo $HAFT_COMMAND";
    for count in 0..2 {
        let command = Command { text: text.to_owned(), dir: "/".into(), ..Command::default() };
        let mut running = processes.spawn(&grant(text, Path::new("/")).await, &command).await.unwrap();
        let told = all(&mut running).await;
        assert!(told.trim().ends_with(&format!("{}.{count}", processes.inner.mark)), "{told}");
    }
}

/// Does to the guard what the system does when this program is killed: nobody writes the line any more.
#[tokio::test]
async fn if_we_are_killed_nothing_goes_on() {
    let processes = Processes::new("/bin/sh".into(), Vec::new());
    let text = "echo $$; setsid sh -c 'echo $$; exec sleep 1000' & sleep 1000";
    let command = Command { text: text.to_owned(), dir: "/".into(), ..Command::default() };
    let mut running = processes.spawn(&grant(text, Path::new("/")).await, &command).await.unwrap();
    let tree = watch(&lines(&mut running, 2).await);
    let guard = processes.inner.guard.get().unwrap().as_ref().unwrap();
    guard.lose();
    all_gone(tree).await;
    assert_eq!(running.end().await.signal, Some(9));
}

#[tokio::test]
async fn the_guard_goes_with_us() {
    let processes = Processes::new("/bin/sh".into(), Vec::new());
    let command = Command { text: "true".to_owned(), dir: "/".into(), ..Command::default() };
    let running = processes.spawn(&grant("true", Path::new("/")).await, &command).await.unwrap();
    let guard = processes.inner.guard.get().unwrap().as_ref().unwrap().id();
    let guard = watch(&[guard.to_string()]);
    drop((processes, running));
    all_gone(guard).await;
}

#[test]
fn of_a_commands_variables_the_names_are_printed() {
    let env = vec![("TOKEN".to_owned(), "s3cret".to_owned())];
    let printed = format!("{:?}", Command { env, ..Command::default() });
    assert!(!printed.contains("s3cret") && printed.contains("TOKEN"), "{printed}");
}
