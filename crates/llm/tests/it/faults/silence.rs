//! Servers that say nothing, or too little.

use std::time::Duration;

use expect_test::expect;
use haft_llm::Deadlines;

use super::{Act, begun, check, check_within, head, send};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn before_the_first_byte() {
    check(|_| vec![Act::Stall], expect![[r#"
        all: error, again: v did not begin its answer within 300s; that limit is headerTimeout of the provider's options, in milliseconds
    "#]]).await;
    check(|_| vec![send("HTTP/1.1 200 OK\r\ncontent-ty"), Act::Stall], expect![[r#"
        all: error, again: v did not begin its answer within 300s; that limit is headerTimeout of the provider's options, in milliseconds
    "#]]).await;
    check(|spoken| vec![head(spoken), Act::Stall], expect![[r#"
        all: error, again: v said no more of its answer within 300s; that limit is chunkTimeout of the provider's options, in milliseconds
    "#]]).await;
    check(|_| vec![send("HTTP/1.1 200 OK\r\n\r\n"), Act::Stall], expect![[r#"
        all: error, again: v said no more of its answer within 300s; that limit is chunkTimeout of the provider's options, in milliseconds
    "#]]).await;
    let short = Deadlines { first_byte: Some(SECOND), ..Deadlines::default() };
    check_within(short, |spoken| vec![head(spoken), Act::Stall], expect![[r#"
        all: error, again: v did not begin its answer within 1s; that limit is headerTimeout of the provider's options, in milliseconds
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn in_the_middle() {
    let stalls = |spoken: &crate::spoken::Spoken| [begun(spoken), vec![Act::Stall]].concat();
    check(stalls, expect![[r#"
        all: Text("Hi.") | error, again: v said no more of its answer within 300s; that limit is chunkTimeout of the provider's options, in milliseconds
    "#]]).await;
    let short = Deadlines { idle: Some(SECOND), ..Deadlines::default() };
    check_within(short, stalls, expect![[r#"
        all: Text("Hi.") | error, again: v said no more of its answer within 1s; that limit is chunkTimeout of the provider's options, in milliseconds
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn bytes_that_drip_and_make_no_line() {
    let drips = |spoken: &crate::spoken::Spoken| {
        let mut acts = begun(spoken);
        acts.push(Act::Forever(b"x".to_vec(), SECOND));
        acts
    };
    check(drips, expect![[r#"
        chat: Text("Hi.") | error, again: v said no more of its answer within 300s; that limit is chunkTimeout of the provider's options, in milliseconds
        messages: Text("Hi.") | error, again: v said no more of its answer within 300s; that limit is chunkTimeout of the provider's options, in milliseconds
        responses: Text("Hi.") | error, again: v said no more of its answer within 300s; that limit is chunkTimeout of the provider's options, in milliseconds
        gemini: Text("Hi.") | error, again: v said no more of its answer within 300s; that limit is chunkTimeout of the provider's options, in milliseconds
        converse: Text("Hi.") | error, final: v answered with something that is not a stream of events of at most 16 MiB: an event that is larger
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_drips_is_an_answer() {
    check(
        |spoken| vec![head(spoken), Act::Drip(spoken.answer("Hi."), Duration::from_millis(200))],
        expect![[r#"
        all: Text("Hi.") | 3 in, 2 out | Finish(Stop)
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn signs_of_life_without_end_have_one_where_it_is_set() {
    let alive = |spoken: &crate::spoken::Spoken| {
        let mut acts = begun(spoken);
        acts.push(Act::Forever(b": still here\n\n".to_vec(), 60 * SECOND));
        acts
    };
    let hour = Deadlines { whole: Some(3600 * SECOND), ..Deadlines::default() };
    check_within(hour, alive, expect![[r#"
        chat: Text("Hi.") | error, again: v did not end its answer within 3600s; that limit is timeout of the provider's options, in milliseconds
        messages: Text("Hi.") | error, again: v did not end its answer within 3600s; that limit is timeout of the provider's options, in milliseconds
        responses: Text("Hi.") | error, again: v did not end its answer within 3600s; that limit is timeout of the provider's options, in milliseconds
        gemini: Text("Hi.") | error, again: v did not end its answer within 3600s; that limit is timeout of the provider's options, in milliseconds
        converse: Text("Hi.") | error, final: v answered with something that is not a stream of events of at most 16 MiB: an event that is larger
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_only_says_what_went_wrong() {
    let stalls = |_: &crate::spoken::Spoken| {
        vec![send("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 99\r\n\r\n{\"error\":\"bu"), Act::Stall]
    };
    check(
        stalls,
        expect![[r#"
        all: error, again: v failed with status 503: {"error":"bu
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn no_limit_is_no_limit() {
    let none = Deadlines { first_byte: None, idle: None, ..Deadlines::default() };
    let late = |spoken: &crate::spoken::Spoken| {
        let mut acts = vec![Act::Drip(vec![], SECOND), head(spoken)];
        acts.push(Act::Drip(spoken.answer("Hi."), Duration::from_secs(600)));
        acts
    };
    check_within(
        none,
        late,
        expect![[r#"
        all: Text("Hi.") | 3 in, 2 out | Finish(Stop)
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_never_opens() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    // The listener accepts in the kernel, and says nothing of how to encrypt.
    let url = format!("https://{}/v1", listener.local_addr().unwrap());
    for spoken in crate::spoken::all() {
        let said = super::read(spoken.at(&url, Deadlines::default())).await;
        let want = "error, again: v could not be connected to within 30s; that limit is connectTimeout of the \
                    provider's options, in milliseconds";
        assert_eq!(said, want, "{}", spoken.name);
    }
}
