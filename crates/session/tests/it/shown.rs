//! What prompts name: files, folders, agents, commands; and commands that the person runs.

use std::sync::Arc;

use expect_test::expect;
use haft_llm::Step;
use haft_permission::Action;
use haft_protocol::{PartKind, Reply};
use haft_session::{Command, Prompt, Session, SessionError, TurnEnd};

use crate::scene::{Scene, says, words};

const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', 13, 10, 26, 10, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0,
    0x90, 0x77, 0x53, 0xde, 0, 0, 0, 12, b'I', b'D', b'A', b'T', 8, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 3, 1, 1, 0,
    0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// What the model reads of `prompt`, and the parts that are stored of it.
async fn sent(scene: &mut Scene, prompt: Prompt) -> (String, Vec<PartKind>) {
    scene.model(vec![says("Seen.")]);
    let session = scene.session().await;
    session.prompt(prompt).await.unwrap();
    let history = scene.journal.history(session.id()).await.unwrap();
    let parts = history.messages()[0].parts.iter().map(|part| part.kind.clone()).collect();
    let read = words(&scene.requests.lock().unwrap()[0]).join("\n");
    (read.replace(&scene.project().display().to_string(), "PROJECT"), parts)
}

#[tokio::test]
async fn a_file_that_is_named_is_shown() {
    let mut scene = Scene::with(&[("a.rs", "one\ntwo\nthree\n")]);
    let (read, parts) = sent(&mut scene, Prompt::text("look at @a.rs#2-3, not at @none or me@a.rs or `@a.rs`")).await;
    assert!(read.contains("Reading it with {\"filePath\":\"PROJECT/a.rs\",\"offset\":2,\"limit\":2}"), "{read}");
    assert!(read.contains("2: two\n3: three") && !read.contains("1: one"), "{read}");
    assert_eq!(parts.len(), 3);
    let PartKind::File { mime, filename, url, .. } = &parts[2] else { panic!("{parts:?}") };
    assert_eq!((mime.as_str(), filename.as_deref()), ("text/plain", Some("a.rs#2-3")));
    assert!(url.ends_with("/a.rs?start=2&end=3"), "{url}");
}

#[tokio::test]
async fn naming_a_file_is_the_leave_to_read_it() {
    let mut scene = Scene::with(&[(".env", "KEY=1\n")]);
    scene.rule("read", Action::Ask).rule("external_directory", Action::Ask);
    let outside = scene.folder.path().join("outside.txt");
    std::fs::write(&outside, "far away").unwrap();
    let (read, _) = sent(&mut scene, Prompt::text("see @.env and @../outside.txt")).await;
    assert!(read.contains("KEY=1") && read.contains("far away"), "{read}");
}

#[tokio::test]
async fn words_that_no_person_wrote_name_nothing() {
    let mut scene = Scene::with(&[("a.rs", "secret")]);
    scene.options.commands.push(Command {
        name: "x".to_owned(),
        template: "Other words".to_owned(),
        ..Command::default()
    });
    let (read, parts) = sent(&mut scene, Prompt::plain("/x @a.rs")).await;
    assert_eq!((read.as_str(), parts.len()), ("user: /x @a.rs", 1));
}

#[tokio::test]
async fn folders_and_sub_agents_are_named_too() {
    let mut scene = Scene::with(&[("a.rs", "")]);
    std::fs::create_dir(scene.project().join("src")).unwrap();
    std::fs::write(scene.project().join("src/b.rs"), "").unwrap();
    let (read, parts) = sent(&mut scene, Prompt::text("(@src) @explore @plan")).await;
    assert!(read.contains("b.rs"), "{read}");
    let agents: Vec<&PartKind> = parts.iter().filter(|part| matches!(part, PartKind::Agent { .. })).collect();
    assert_eq!(agents, [&PartKind::Agent { name: "explore".to_owned(), source: None }]);
    assert!(parts.iter().any(|part| matches!(part, PartKind::File { mime, .. } if mime == "application/x-directory")));
}

#[tokio::test]
async fn pictures_are_sent_as_such() {
    let mut scene = Scene::with(&[]);
    let path = scene.project().join("dot.png");
    std::fs::write(&path, PNG).unwrap();
    let prompt = Prompt::with_files("what is it?", vec![path]).await.unwrap();
    let (read, parts) = sent(&mut scene, prompt).await;
    assert!(read.contains("(image/png)"), "{read}");
    assert!(parts.iter().any(|part| matches!(part, PartKind::File { mime, url, .. }
        if mime == "image/png" && url.starts_with("data:image/png;base64,"))));
}

#[tokio::test]
async fn a_file_that_cannot_be_shown_is_an_error_and_nothing_is_stored() {
    let scene = Scene::with(&[("a.bin", "a\0b")]);
    let session = scene.session().await;
    let prompt = Prompt::with_files("see", vec![scene.project().join("a.bin")]).await.unwrap();
    let error = session.prompt(prompt).await.unwrap_err();
    assert!(matches!(&error, SessionError::Attachment { path, .. } if path.ends_with("a.bin")), "{error}");
    assert!(scene.journal.history(session.id()).await.unwrap().messages().is_empty());
}

fn command(template: &str) -> Command {
    Command { name: "fix".to_owned(), template: template.to_owned(), ..Command::default() }
}

#[tokio::test]
async fn a_command_is_filled_in_and_its_lines_are_run() {
    let mut scene = Scene::with(&[("a.rs", "text of a"), ("b.rs", "text of b")]);
    scene.options.commands.push(command("Mend $1 in @a.rs.\nLog: !`printf '@b.rs %s' done`"));
    let (read, parts) = sent(&mut scene, Prompt::text("/fix it")).await;
    let PartKind::Text { text, .. } = &parts[0] else { panic!("{parts:?}") };
    assert_eq!(text, "Mend it in @a.rs.\nLog: @b.rs done");
    assert!(read.contains("text of a"), "{read}");
    assert!(!read.contains("text of b"), "what a command line writes names nothing: {read}");
}

#[tokio::test]
async fn what_a_template_wants_goes_through_the_gate() {
    let mut scene = Scene::with(&[(".env", "KEY=1")]);
    scene.rule("bash", Action::Deny).rule("read", Action::Deny);
    scene.options.commands.push(command("See @.env and !`touch x`. $ARGUMENTS"));
    let (read, _) = sent(&mut scene, Prompt::command("fix", "")).await;
    assert!(!read.contains("KEY=1") && read.contains("could not be read"), "{read}");
    assert!(read.contains("(`touch x` was not run: "), "{read}");
    assert!(!scene.project().join("x").exists());
    // The person's own arguments are their own words.
    let mut scene = Scene::with(&[(".env", "KEY=1")]);
    scene.rule("read", Action::Deny);
    scene.options.commands.push(command("See $ARGUMENTS"));
    let (read, _) = sent(&mut scene, Prompt::command("fix", "@.env")).await;
    assert!(read.contains("KEY=1"), "{read}");
}

#[tokio::test]
async fn a_command_that_the_user_refuses_is_not_sent() {
    let mut scene = Scene::with(&[]);
    scene.rule("bash", Action::Ask).person(Reply::Reject { advice: None });
    scene.options.commands.push(command("!`touch x`"));
    let session = scene.session().await;
    let error = session.prompt(Prompt::command("fix", "")).await.unwrap_err();
    assert!(matches!(error, SessionError::Refused(_)), "{error}");
    assert!(scene.journal.history(session.id()).await.unwrap().messages().is_empty());
}

#[tokio::test]
async fn a_command_names_its_agent_and_what_is_no_command_is_words() {
    let mut scene = Scene::with(&[]);
    scene.options.commands.push(Command {
        agent: Some("explore".to_owned()),
        subtask: Some(false),
        ..command("Look.")
    });
    scene.model(vec![says("Looked.")]).model(vec![says("Words.")]);
    let session = scene.session().await;
    session.prompt(Prompt::text("/fix")).await.unwrap();
    session.prompt(Prompt::text("/usr/bin is full")).await.unwrap();
    let history = scene.journal.history(session.id()).await.unwrap();
    let agents: Vec<String> = history
        .messages()
        .iter()
        .map(|turned| serde_json::to_value(&turned.info).unwrap()["agent"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(agents, ["explore", "explore", "build", "build"]);
}

#[tokio::test]
async fn a_command_that_the_person_runs_is_kept_and_no_model_is_asked() {
    let mut scene = Scene::with(&[]);
    scene.rule("bash", Action::Ask).model(vec![says("I see.")]);
    let session = scene.session().await;
    let end = session.shell("echo one; echo two").await;
    scene
        .compare(
            &session,
            end,
            expect![[r#"
                user
                  text: The user ran this command.
                model [stop]
                  bash: echo one; echo two
                end: Finished("stop")
            "#]],
        )
        .await;
    assert!(scene.requests.lock().unwrap().is_empty());
    // Nor does the command take the place of an answer.
    let end = session.prompt(Prompt::text("what came out?")).await;
    assert_eq!(end.unwrap(), TurnEnd::Finished("stop".to_owned()));
    let requests = scene.requests.lock().unwrap();
    assert_eq!(
        words(&requests[0]),
        ["user: The user ran this command.", "model: (bash)", "results: 1", "user: what came out?"]
    );
}

#[tokio::test]
async fn a_stop_ends_the_persons_command() {
    let scene = Scene::with(&[]);
    let session = scene.session().await;
    let (end, ()) = tokio::join!(session.shell("echo begun; while :; do sleep 0.01; done"), async {
        crate::scene::until(&scene, &session, crate::ends::runs).await;
        session.abort().await;
    });
    assert_eq!(end.unwrap(), TurnEnd::Aborted);
    let history = scene.journal.history(session.id()).await.unwrap();
    assert!(history.messages().iter().flat_map(|turned| &turned.parts).all(|part| !part.is_open()));
}

#[tokio::test]
async fn the_first_request_can_be_seen_without_sending_it() {
    let mut scene = Scene::with(&[("a.rs", "text of a")]);
    scene.model(vec![says("Seen."), Step::Usage(haft_llm::Usage::default())]);
    let preview = Session::preview(scene.setup(), Prompt::text("see @a.rs")).await.unwrap();
    assert!(scene.requests.lock().unwrap().is_empty());
    assert!(scene.journal.sessions(&haft_store::Filter::default()).await.unwrap().is_empty());
    let session = scene.session().await;
    session.prompt(Prompt::text("see @a.rs")).await.unwrap();
    let mut sent = scene.requests.lock().unwrap()[0].clone();
    sent.session.clone_from(&preview.session);
    assert_eq!((&sent.system, &sent.tools), (&preview.system, &preview.tools));
    assert_eq!(
        sent.messages.iter().map(Arc::as_ref).collect::<Vec<_>>(),
        preview.messages.iter().map(Arc::as_ref).collect::<Vec<_>>()
    );
}
