//! Commands in namespaces: the numbers inside are others, the first process is not the command, and how the command ended
//! is told by somebody else.

use super::*;

/// The command, as a launcher starts it: `bwrap` leads the group, the command a session of its own.
async fn caged(text: &str) -> Option<Running> {
    let quoted = text.replace('\'', "'\\''");
    let bwrap = "bwrap --unshare-user --unshare-pid --ro-bind / / --dev /dev --proc /proc --";
    let is_here = std::process::Command::new("sh").args(["-c", &format!("{bwrap} true")]).output();
    if !is_here.is_ok_and(|output| output.status.success()) {
        eprintln!("not here: bwrap does not work");
        return None;
    }
    Some(start(&format!("exec {bwrap} setsid sh -c '{quoted}'")).await)
}

#[tokio::test]
async fn how_it_ended_is_known_also_when_it_was_asked_to() {
    let Some(mut running) = caged("trap 'echo last words; exit 3' TERM; echo ready; sleep 600 & wait").await else {
        return;
    };
    lines(&mut running, 1).await;
    running.stop(Duration::from_secs(20));
    assert_eq!(all(&mut running).await, "last words\n");
    assert_eq!(running.end().await, End { code: Some(3), signal: None, left_running: false });
}

#[tokio::test]
async fn what_is_left_running_is_named_and_nothing_else() {
    let Some(mut running) = caged("sleep 600 & echo done").await else { return };
    assert_eq!(all(&mut running).await, "done\n");
    assert_eq!(running.left().await, ["sleep 600"]);
    assert_eq!(running.end().await, End { code: Some(0), signal: None, left_running: true });
}

#[tokio::test]
async fn with_the_last_command_the_cage_ends() {
    let Some(mut running) = caged("echo done").await else { return };
    assert_eq!(all(&mut running).await, "done\n");
    assert_eq!(running.left().await, [""; 0]);
    assert_eq!(running.end().await, End { code: Some(0), signal: None, left_running: false });
}

#[tokio::test]
async fn what_is_left_running_can_be_followed_to_its_end() {
    let Some(mut running) = caged("mkfifo /dev/shm/p; (read line < /dev/shm/p; echo $line) & echo done").await else {
        return;
    };
    lines(&mut running, 1).await;
    while running.so_far().code.is_none() {
        // What it reads is nothing yet; then its shell has ended.
        assert!(tokio::time::timeout(Duration::from_secs(20), running.read(&mut Vec::new())).await.is_ok());
    }
    assert_eq!(running.left().await.len(), 1);
    running.follow();
    running.stop(Duration::from_secs(20));
    all(&mut running).await;
    assert_eq!(running.end().await, End { code: Some(0), signal: None, left_running: false });
}

/// In a session of its own, without its environment, and with a parent that has ended: in namespaces even that is found.
#[tokio::test]
async fn dropping_it_ends_also_what_hid() {
    let Some(mut running) = caged("(setsid env -i sleep 600 &); echo ready; sleep 600").await else { return };
    lines(&mut running, 1).await;
    let scope = running.tree.scope().unwrap();
    while !scope.left().await.iter().any(|words| words == "sleep 600") {}
    let seen = scope.left().await;
    drop(running);
    scope.gone().await;
    assert!(seen.len() >= 2, "{seen:?}");
}
