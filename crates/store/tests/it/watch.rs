//! Following a session that another journal on the same file works on.

use haft_protocol::{Event, Session};
use haft_store::{Journal, Watch};

use crate::samples::{created, prompt, put, said, session, text, to_do, words};

/// Events until the watcher's history is that of the store.
async fn until_same(watch: &mut Watch, journal: &Journal, session: &Session) -> Vec<Event> {
    let mut all = Vec::new();
    while *watch.history() != journal.history(&session.id).await.unwrap() {
        all.extend(watch.next().await.unwrap().expect("the session is there"));
    }
    all
}

async fn follows(writer: Journal, reader: Journal) {
    let session = session("ses_1");
    let (message, other) = (prompt(&session, "msg_1"), prompt(&session, "msg_2"));
    let part = text(&message, "prt_1", "one");
    for event in [created(&session), said(&message), put(&part)] {
        writer.record(event).await.unwrap();
    }
    let mut watch = reader.watch(&session.id).await.unwrap().unwrap();
    assert_eq!(watch.history().messages().len(), 1);
    assert!(watch.look().await.unwrap().is_none(), "nothing happened since");

    writer.record(words(&part, " two")).await.unwrap();
    let told = until_same(&mut watch, &writer, &session).await;
    assert!(matches!(&told[..], [Event::PartDelta { delta, .. }] if delta == " two"), "{told:?}");

    let late = text(&other, "prt_2", "late");
    writer.record_all(vec![said(&other), put(&late)]).await.unwrap();
    let told = until_same(&mut watch, &writer, &session).await;
    assert!(matches!(&told[..], [Event::MessageUpdated { .. }, Event::PartUpdated { .. }]), "{told:?}");

    // Taken away, and another one that gets its number.
    let gone =
        Event::PartRemoved { session_id: session.id.clone(), message_id: other.id().clone(), part_id: late.id.clone() };
    let next = text(&other, "prt_3", "instead");
    writer.record_all(vec![gone, put(&next)]).await.unwrap();
    let told = until_same(&mut watch, &writer, &session).await;
    assert!(matches!(&told[..], [Event::PartRemoved { .. }, Event::PartUpdated { .. }]), "{told:?}");

    let gone = Event::MessageRemoved { session_id: session.id.clone(), message_id: other.id().clone() };
    writer.record(gone).await.unwrap();
    let told = until_same(&mut watch, &writer, &session).await;
    assert!(matches!(&told[..], [Event::MessageRemoved { .. }]), "{told:?}");

    let renamed = Session { title: "Another".to_owned(), ..session.clone() };
    let updated = Event::SessionUpdated { session_id: session.id.clone(), info: Box::new(renamed) };
    writer.record_all(vec![updated, to_do(&session.id, "mend it")]).await.unwrap();
    let told = watch.next().await.unwrap().unwrap();
    assert!(matches!(&told[..], [Event::SessionUpdated { .. }, Event::TodoUpdated { .. }]), "{told:?}");
    assert_eq!(watch.session().title, "Another");

    // Another session is no news.
    writer.record(created(&crate::samples::session("ses_2"))).await.unwrap();
    assert!(watch.look().await.unwrap().is_none());

    let deleted = Event::SessionDeleted { session_id: session.id.clone(), info: Box::new(session.clone()) };
    writer.record(deleted).await.unwrap();
    let told = watch.next().await.unwrap().unwrap();
    assert!(matches!(&told[..], [Event::SessionDeleted { .. }]), "{told:?}");
    assert!(watch.next().await.unwrap().is_none());
    assert!(reader.watch(&session.id).await.unwrap().is_none());
}

#[tokio::test]
async fn a_session_in_a_file_is_followed_from_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("haft.db");
    follows(Journal::open(&path).await.unwrap(), Journal::open(&path).await.unwrap()).await;
}

#[tokio::test]
async fn a_session_in_memory_is_followed_as_well() {
    let journal = Journal::memory();
    follows(journal.clone(), journal).await;
}

#[tokio::test]
async fn a_long_session_is_read_page_by_page() {
    let folder = tempfile::tempdir().unwrap();
    for journal in [Journal::open(&folder.path().join("haft.db")).await.unwrap(), Journal::memory()] {
        let session = session("ses_1");
        let mut events = vec![created(&session)];
        for n in 0..300 {
            let message = prompt(&session, &format!("msg_{n}"));
            events.push(said(&message));
            events.push(put(&text(&message, &format!("prt_{n}"), "words")));
        }
        journal.record_all(events).await.unwrap();
        let all = journal.history(&session.id).await.unwrap();
        let (mut back, mut before) = (Vec::new(), None);
        loop {
            let page = journal.messages(&session.id, before.as_ref(), 70).await.unwrap();
            assert!(page.len() <= 70);
            let Some(first) = page.first() else { break };
            before = Some(first.info.id().clone());
            back = [page, back].concat();
        }
        assert_eq!(back, all.messages());
        let unknown = haft_protocol::Id::parse("msg_unknown").unwrap();
        journal.messages(&session.id, Some(&unknown), 1).await.unwrap_err();
        journal.close().await.unwrap();
    }
}
