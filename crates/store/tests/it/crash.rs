//! Processes that die, and processes that start at the same moment.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Barrier};

use haft_protocol::Session;
use haft_store::{Filter, Journal};

use crate::samples::{created, prompt, put, said, session, text, words};

const KILLS: u32 = 24;
const ROLE: &str = "HAFT_STORE_TEST_DATABASE";

/// Runs the test called `name` once more, in a process of its own that works on the database at `path`.
fn again(name: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(ROLE, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn a_killed_process_loses_nothing_it_was_told_is_stored() {
    if let Some(path) = std::env::var_os(ROLE) {
        return record_for_ever(path.as_ref()).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("haft.db");
    let mut chance = fastrand::Rng::with_seed(7);
    let mut acknowledged = HashMap::new();
    for kill in 0..KILLS {
        let mut child = again("crash::a_killed_process_loses_nothing_it_was_told_is_stored", &path);
        let patience = chance.usize(1..150);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let stored = lines.map(Result::unwrap).filter_map(|line| line.strip_prefix("stored ").map(str::to_owned));
        // The child is at work on the next event when this takes it by surprise.
        let mut seen = stored.inspect(|line| {
            let (session, count) = line.split_once(' ').unwrap();
            acknowledged.insert(session.to_owned(), count.parse::<usize>().unwrap());
        });
        let last = seen.nth(patience);
        child.kill().unwrap();
        // What was acknowledged before the kill and not read yet counts too.
        seen.for_each(drop);
        child.wait().unwrap();
        assert!(last.is_some(), "the process ended by itself");

        let journal = Journal::open(&path).await.unwrap();
        for (id, &count) in &acknowledged {
            let id = haft_protocol::Id::parse(id).unwrap();
            assert!(journal.session(&id).await.unwrap().is_some(), "kill {kill}: {id} is gone");
            let history = journal.history(&id).await.unwrap();
            let found: usize = history.messages().iter().map(|message| 1 + message.parts.len()).sum();
            assert!(found >= count, "kill {kill}: {found} of {count} in {id}");
            let _lease = journal.claim(&id).expect("the owner is dead");
        }
        journal.close().await.unwrap();
    }
    assert_eq!(acknowledged.len(), usize::try_from(KILLS).unwrap());
}

/// Records messages, parts and words, and says so after each message and part, until somebody kills it.
async fn record_for_ever(path: &Path) {
    let journal = Journal::open(path).await.unwrap();
    let info = session(&format!("ses_{}", std::process::id()));
    let _lease = journal.claim(&info.id).unwrap();
    journal.record(created(&info)).await.unwrap();
    let mut count = 0;
    let mut say = || {
        count += 1;
        // Not `println!`: the test runner would keep it.
        std::io::stdout().write_all(format!("stored {} {count}\n", info.id).as_bytes()).unwrap();
    };
    for n in 0.. {
        let message = prompt(&info, &format!("msg_{n}"));
        journal.record(said(&message)).await.unwrap();
        say();
        for m in 0..3 {
            let part = text(&message, &format!("prt_{n}_{m}"), "");
            journal.record(put(&part)).await.unwrap();
            say();
            journal.record(words(&part, "and some words that grow")).await.unwrap();
        }
    }
}

/// Opens, adds one session and closes.
async fn add(path: &Path, info: &Session) {
    let journal = Journal::open(path).await.unwrap();
    journal.record(created(info)).await.unwrap();
    assert!(journal.sessions(&Filter::default()).await.unwrap().contains(info));
    journal.close().await.unwrap();
}

async fn count(path: &Path) -> usize {
    Journal::open(path).await.unwrap().sessions(&Filter::default()).await.unwrap().len()
}

#[tokio::test]
async fn many_threads_may_open_a_new_database_at_once() {
    for round in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/haft.db");
        let gate = Arc::new(Barrier::new(8));
        let threads: Vec<_> = (0..8)
            .map(|n| {
                let (path, gate) = (path.clone(), gate.clone());
                std::thread::spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                    gate.wait();
                    runtime.block_on(add(&path, &session(&format!("ses_{n}"))));
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(count(&path).await, 8, "round {round}");
    }
}

#[tokio::test]
async fn many_processes_may_open_a_new_database_at_once() {
    if let Some(path) = std::env::var_os(ROLE) {
        let info = session(&format!("ses_{}", std::process::id()));
        return add(path.as_ref(), &info).await;
    }
    for round in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("haft.db");
        let name = "crash::many_processes_may_open_a_new_database_at_once";
        let children: Vec<_> = (0..6).map(|_| again(name, &path)).collect();
        for child in children {
            assert!(child.wait_with_output().unwrap().status.success(), "round {round}");
        }
        assert_eq!(count(&path).await, 6, "round {round}");
    }
}
