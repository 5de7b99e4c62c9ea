use super::*;
use haft_protocol::{Assistant, Clock, Id, MessageTime, ModelRef, Paths, SessionId, Tokens, User};

/// A history of which each word is a message: `p` a prompt, `s` words of the program's own, `P` those of a plug-in, `!` a command by hand, `c` and
/// `C` compactions that were wanted by the person and by the program, `a` an answer with words and a change of a file.
fn history(words: &str) -> History {
    let (clock, session) = (Clock::scripted(1000), SessionId::parse("ses_1").unwrap());
    let turned = words.split(' ').enumerate().map(|(at, word)| {
        let id: MessageId = Id::parse(&format!("msg_{at}")).unwrap();
        let time = MessageTime { created: clock.now_ms(), completed: Some(clock.now_ms()) };
        let text = |text: &str, synthetic| PartKind::Text {
            text: text.to_owned(),
            synthetic,
            ignored: false,
            time: None,
            metadata: None,
        };
        let by_plugin = || PartKind::Text {
            text: "look".to_owned(),
            synthetic: false,
            ignored: false,
            time: None,
            metadata: Some(Box::new(haft_protocol::Object::from_iter([("plugin".to_owned(), "p".into())]))),
        };
        let compaction = |auto| PartKind::Compaction { auto, overflow: None, tail_start_id: None, focus: None };
        let kinds = match word {
            "p" => vec![text("do it", false)],
            "s" => vec![text("go on", true)],
            "P" => vec![by_plugin()],
            "!" => vec![text(BY_HAND, true)],
            "c" => vec![compaction(false)],
            "C" => vec![compaction(true)],
            _ => {
                let patch = PartKind::Patch { hash: String::new(), files: Vec::new(), call_id: None, time: None };
                vec![PartKind::StepStart {}, text("done", false), patch, text("all", false)]
            }
        };
        let model = || ModelRef { provider_id: "v".to_owned(), model_id: "m".to_owned() };
        let info = match word {
            "a" => Message::Assistant(Assistant {
                id: id.clone(),
                session_id: session.clone(),
                parent_id: id.clone(),
                time,
                model_id: "m".to_owned(),
                provider_id: "v".to_owned(),
                mode: "build".to_owned(),
                agent: "build".to_owned(),
                path: Paths { cwd: "/".to_owned(), root: "/".to_owned() },
                cost: 0.0,
                tokens: Tokens::default(),
                finish: None,
                error: None,
                structured: None,
                summary: false,
                variant: None,
            }),
            _ => Message::User(User {
                id: id.clone(),
                session_id: session.clone(),
                time,
                agent: "build".to_owned(),
                model: model(),
                variant: None,
                format: None,
                summary: None,
                system: None,
            }),
        };
        let part = |(within, kind)| Part {
            id: Id::parse(&format!("prt_{at}x{within}")).unwrap(),
            session_id: session.clone(),
            message_id: id.clone(),
            kind,
        };
        Turned { info, parts: kinds.into_iter().enumerate().map(part).collect() }
    });
    turned.collect()
}

fn before(message: usize, part: Option<usize>) -> To {
    let part = part.map(|within| Id::parse(&format!("prt_{message}x{within}")).unwrap());
    To::Before(Id::parse(&format!("msg_{message}")).unwrap(), part)
}

/// `want` is the message, perhaps with a part, or `end`, or what is wrong.
#[track_caller]
fn check(words: &str, stands: Option<usize>, to: &To, want: &str) {
    let history = history(words);
    let stands = stands.map(|at| Point { message: Id::parse(&format!("msg_{at}")).unwrap(), at, part: None });
    let got = match find(&history, stands.as_ref(), to) {
        Ok(None) => "end".to_owned(),
        Ok(Some(Point { at, part: None, .. })) => at.to_string(),
        Ok(Some(Point { at, part: Some((_, within)), .. })) => format!("{at}.{within}"),
        Err(none) => format!("{none:?}"),
    };
    assert_eq!(got, want, "{words}");
}

#[test]
fn back_goes_prompt_by_prompt() {
    check("p a p a", None, &To::Back, "2");
    check("p a p a", Some(2), &To::Back, "0");
    check("p a p a", Some(0), &To::Back, "Nothing");
    check("p a", None, &To::Back, "0");
}

#[test]
fn words_of_the_program_are_part_of_their_turn() {
    check("p a s a", None, &To::Back, "0");
    check("p a C a s a", None, &To::Back, "0");
    check("p a P a", None, &To::Back, "0");
    check("P a", None, &To::Back, "Nothing");
    // What the person wanted is a turn of its own, also without a word of theirs.
    check("p a c a", None, &To::Back, "2");
    check("p a ! a", None, &To::Back, "2");
}

#[test]
fn forth_goes_the_same_way() {
    check("p a p a p a", Some(0), &To::Forth, "2");
    check("p a p a p a", Some(4), &To::Forth, "end");
    check("p a s a", Some(0), &To::Forth, "end");
    check("p a", None, &To::Forth, "Nothing");
    check("p a p a", Some(0), &To::End, "end");
    check("p a", None, &To::End, "Nothing");
}

#[test]
fn an_answer_stands_for_its_prompt_and_a_part_for_itself() {
    check("p a p a", None, &before(2, None), "2");
    check("p a s a", None, &before(3, None), "0");
    check("p a", None, &before(1, Some(0)), "0");
    check("p a", None, &before(1, Some(1)), "0");
    check("p a", None, &before(1, Some(2)), "1.2");
    check("p a", None, &before(1, Some(3)), "1.3");
    check("p a", None, &before(7, None), "Message(MessageId(\"msg_7\"))");
    check("p a", None, &before(1, Some(9)), "Part(PartId(\"prt_1x9\"))");
}

#[test]
fn what_is_taken_back_is_all_behind_the_point() {
    let history = history("p a p");
    let Ok(Some(point)) = find(&history, None, &before(1, Some(2))) else { panic!("none") };
    let covered =
        [(0, 0), (1, 1), (1, 2), (1, 3), (2, 0)].map(|(at, within)| point.covers(at, &history.messages()[at], within));
    assert_eq!(covered, [false, false, true, true, true]);
    assert_eq!(point.first_whole(), 2);
}

#[test]
fn what_was_asked_is_told_as_it_would_be_typed() {
    let history = history("p a ! a c s a");
    let words = |at| super::words(history.messages(), at);
    assert_eq!(words(1), None, "a model wrote it");
    assert_eq!(words(2).as_deref(), Some("!"), "no call is behind it");
    assert_eq!(words(4).as_deref(), Some("/compact"));
    assert_eq!(words(5), None, "the program wrote it");
    assert!(words(0).is_some_and(|words| !words.is_empty()));
}
