//! What a small model writes beside the turns: titles, and what a turn came to.

use haft_llm::{FailKind, Failing, Purpose, Step, Usage};
use haft_protocol::{Message, TurnSummary};
use haft_session::{NewSession, Prompt, Session, TurnEnd};

use crate::scene::{Scene, agent, says, words};

/// A scene with an agent for titles.
fn scene() -> Scene {
    let mut scene = Scene::with(&[]);
    scene.agents.push(haft_session::Draft { prompt: Some("Name it.".to_owned()), ..agent("title") });
    scene.model(vec![says("One.")]).model(vec![says("Two.")]);
    scene
}

async fn title(scene: &Scene, session: &Session) -> String {
    scene.journal.session(session.id()).await.unwrap().unwrap().title
}

fn asked(scene: &Scene) -> usize {
    scene.requests.lock().unwrap().iter().filter(|request| request.purpose == Purpose::Title).count()
}

#[tokio::test]
async fn a_session_is_named_beside_its_first_step_and_never_again() {
    let mut scene = scene();
    let usage = Usage { input: 7, output: 2, ..Usage::default() };
    scene.cost = Some(haft_session::Cost { input: 1_000_000.0, ..haft_session::Cost::default() });
    scene.serving(Purpose::Title, vec![says("<think>Hm.</think>Login fails\nmore"), Step::Usage(usage)]);
    let session = scene.session().await;
    session.prompt(Prompt::text("the login fails since yesterday")).await.unwrap();
    session.settle().await;
    assert_eq!(title(&scene, &session).await, "Login fails");
    session.prompt(Prompt::text("and now?")).await.unwrap();
    session.settle().await;
    assert_eq!((title(&scene, &session).await.as_str(), asked(&scene)), ("Login fails", 1));
    let requests = scene.requests.lock().unwrap().clone();
    let request = requests.iter().find(|request| request.purpose == Purpose::Title).unwrap();
    assert!(request.tools.is_empty());
    assert_eq!(request.system, "Name it.");
    assert!(words(request).concat().contains("the login fails since yesterday"));
    let record = scene.journal.session(session.id()).await.unwrap().unwrap();
    assert_eq!((record.tokens.input, record.tokens.output, record.cost), (7, 2, 7.0));
}

#[tokio::test(start_paused = true)]
async fn a_title_that_does_not_come_holds_nothing_up() {
    for steps in [vec![Step::Hang], vec![Step::Fail(Failing::new(FailKind::Quota, "no"))], vec![says(" \n ")]] {
        let mut scene = scene();
        scene.serving(Purpose::Title, steps);
        let session = scene.session().await;
        let end = session.prompt(Prompt::text("the login fails")).await.unwrap();
        assert_eq!(end, TurnEnd::Finished("stop".to_owned()));
        session.settle().await;
        assert_eq!((title(&scene, &session).await.as_str(), asked(&scene)), ("the login fails", 1));
    }
}

#[tokio::test]
async fn nobody_is_asked_where_there_is_a_title_or_nobody_to_ask() {
    // Nothing is written down for titles.
    let silent = scene();
    let session = silent.session().await;
    session.prompt(Prompt::text("the login fails")).await.unwrap();
    assert_eq!(asked(&silent), 0);

    let mut named = scene();
    named.serving(Purpose::Title, vec![says("never")]);
    let new = NewSession { title: Some("Mine".to_owned()) };
    let session = Session::create(named.setup(), new).await.unwrap();
    session.prompt(Prompt::text("the login fails")).await.unwrap();
    session.settle().await;
    assert_eq!((title(&named, &session).await.as_str(), asked(&named)), ("Mine", 0));

    // No agent for it.
    let mut without = Scene::with(&[]);
    without.model(vec![says("One.")]).serving(Purpose::Title, vec![says("never")]);
    let session = without.session().await;
    session.prompt(Prompt::text("the login fails")).await.unwrap();
    assert_eq!(asked(&without), 0);
}

/// What stands beside the prompts of a session.
async fn summaries(scene: &Scene, session: &Session) -> Vec<Option<TurnSummary>> {
    let history = scene.journal.history(session.id()).await.unwrap();
    let prompts = history.messages().iter().filter_map(|turned| match &turned.info {
        Message::User(user) => Some(user.summary.clone()),
        Message::Assistant(_) => None,
    });
    prompts.collect()
}

#[tokio::test]
async fn what_a_turn_came_to_is_said_where_that_is_wanted() {
    for (wanted, comes) in [(true, true), (true, false), (false, true)] {
        let mut scene = Scene::with(&[]);
        scene.agents.push(haft_session::Draft { prompt: Some("Sum it up.".to_owned()), ..agent("summary") });
        scene.options.gists = wanted;
        scene.model(vec![says("One.")]).model(vec![says("Two.")]);
        let usage = Usage { input: 7, output: 2, ..Usage::default() };
        let fails = Step::Fail(Failing::new(FailKind::Quota, "no"));
        let said = if comes { says("Login\n\nI mended the login.") } else { fails };
        scene.serving(Purpose::Summary, vec![said, Step::Usage(usage)]);
        let session = scene.session().await;
        for words in ["the login fails", "and now?"] {
            session.prompt(Prompt::text(words)).await.unwrap();
            session.settle().await;
        }
        let (title, body) = (Some("Login".to_owned()), Some("I mended the login.".to_owned()));
        let want = (wanted && comes).then_some(TurnSummary { title, body, ..TurnSummary::default() });
        let costs = want.is_some();
        assert_eq!(summaries(&scene, &session).await, [want.clone(), want]);
        let requests = scene.requests.lock().unwrap().clone();
        let asked: Vec<_> = requests.iter().filter(|request| request.purpose == Purpose::Summary).collect();
        assert_eq!(asked.len(), if wanted { 2 } else { 0 });
        let record = scene.journal.session(session.id()).await.unwrap().unwrap();
        assert_eq!(record.tokens.input, if costs { 14 } else { 0 });
        for (request, said) in asked.iter().zip(["the login fails\n[Assistant]: One.", "and now?\n[Assistant]: Two."]) {
            let words = words(request).concat();
            assert!(request.tools.is_empty() && words.contains(said), "{words}");
        }
        // Of the second turn, only what belongs to it.
        assert!(asked.get(1).is_none_or(|request| !words(request).concat().contains("One.")));
    }
}
