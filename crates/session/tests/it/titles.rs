//! Titles that a small model finds.

use haft_llm::{FailKind, Failing, Purpose, Step, Usage};
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
