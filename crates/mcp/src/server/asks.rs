//! The gate's questions as forms, and filled-in forms as answers. Pure.
//!
//! Only a clear yes is a yes: a form that comes back empty, or with what was not offered, is a no.

use haft_protocol::{Answers, Ask, Inquiry, Question, Reply};
use rmcp::model::{ElicitResult, ElicitationAction};
use serde_json::{Map, Value, json};

/// Most characters of a message, so that no diff fills a client's screen for ever.
pub const MAX_MESSAGE: usize = 8_000;

/// The answer of who wants to say what to do instead.
const INSTEAD: &str = "instead";
/// The answer of who does not take what is offered.
const OWN: &str = "In my own words";

/// The form for a request for leave: one choice, so that a yes takes no more than a key.
pub fn leave(ask: &Ask) -> Value {
    let always = ask.always.join(", ");
    let mut words = vec![("once", "Yes, this once".to_owned())];
    if !always.is_empty() {
        words.push(("always", shortened(&format!("Yes, and from now on: {} {always}", ask.permission), 200)));
    }
    words.push(("reject", "No".to_owned()));
    words.push((INSTEAD, "No, and say what to do instead".to_owned()));
    let (values, names): (Vec<_>, Vec<_>) = words.into_iter().unzip();
    form([("answer".to_owned(), json!({ "type": "string", "title": "Answer", "enum": values, "enumNames": names }))])
}

/// What a person said to the form for `ask`; `None` where they want to say what to do instead, for which there is
/// [`instead`].
pub fn reply(ask: &Ask, filled: &ElicitResult) -> Option<Reply> {
    match (&filled.action, text(filled, "answer")) {
        (ElicitationAction::Accept, Some("once")) => Some(Reply::Once),
        (ElicitationAction::Accept, Some("always")) if !ask.always.is_empty() => Some(Reply::Always),
        (ElicitationAction::Accept, Some(INSTEAD)) => None,
        _ => Some(Reply::Reject { advice: None }),
    }
}

/// The message and the form for what to do instead.
pub fn instead() -> (&'static str, Value) {
    let field = json!({ "type": "string", "title": "Instead", "description": "The agent reads this and goes on" });
    ("What should the agent do instead?", form([("reason".to_owned(), field)]))
}

/// The no of a person who filled in the form for what to do instead, or did not.
pub fn advised(filled: &ElicitResult) -> Reply {
    Reply::Reject { advice: accepted(filled).then(|| text(filled, "reason").map(str::to_owned)).flatten() }
}

/// The message and the form for questions of a tool. Where own words are welcome, that is one of the choices.
pub fn questions(inquiry: &Inquiry) -> (String, Value) {
    let mut message = Vec::new();
    for question in &inquiry.questions {
        message.push(question.question.clone());
        let told = question.options.iter().filter(|option| !option.description.is_empty());
        message.extend(told.map(|option| format!("- {}: {}", option.label, option.description)));
    }
    let fields = inquiry.questions.iter().enumerate().map(|(at, question)| {
        let labels: Vec<&str> = question.options.iter().map(|option| option.label.as_str()).collect();
        let choices: Vec<&str> = labels.iter().copied().chain(takes_words(question).then_some(OWN)).collect();
        let field = match question.multiple {
            _ if labels.is_empty() => json!({ "type": "string" }),
            Some(true) => json!({ "type": "array", "items": { "type": "string", "enum": choices } }),
            Some(false) | None => json!({ "type": "string", "enum": choices }),
        };
        (name(at), titled(field, &question.header))
    });
    (shortened(&message.join("\n"), MAX_MESSAGE), form(fields))
}

/// What a person answered; `None` where they did not want to.
pub fn answers(inquiry: &Inquiry, filled: &ElicitResult) -> Option<Answers> {
    if !accepted(filled) {
        return None;
    }
    let answers = inquiry.questions.iter().enumerate().map(|(at, question)| {
        let offered = |label: &str| question.options.iter().any(|option| option.label == label);
        match question.options.is_empty() {
            true => text(filled, &name(at)).map(str::to_owned).into_iter().collect(),
            false => chosen(filled, at).filter(|label| offered(label)).map(str::to_owned).collect(),
        }
    });
    Some(answers.collect())
}

/// The places of the questions that a person wants to answer in their own words, for which there is [`own_words`].
pub fn open(inquiry: &Inquiry, filled: &ElicitResult) -> Vec<usize> {
    let is_open = |(at, question): &(usize, &Question)| {
        takes_words(question) && accepted(filled) && chosen(filled, *at).any(|label| label == OWN)
    };
    inquiry.questions.iter().enumerate().filter(is_open).map(|(at, _)| at).collect()
}

/// The message and the form for the questions at `open`.
pub fn own_words(inquiry: &Inquiry, open: &[usize]) -> (String, Value) {
    let asked = open.iter().filter_map(|&at| Some((at, inquiry.questions.get(at)?)));
    let message: Vec<&str> = asked.clone().map(|(_, question)| question.question.as_str()).collect();
    let fields = asked.map(|(at, question)| (name(at), titled(json!({ "type": "string" }), &question.header)));
    (shortened(&message.join("\n"), MAX_MESSAGE), form(fields))
}

/// `answers` with what a person said to the questions at `open`; `None` where they did not want to.
pub fn with_own(mut answers: Answers, open: &[usize], filled: &ElicitResult) -> Option<Answers> {
    for &at in open {
        if let (Some(answer), Some(words)) = (answers.get_mut(at), text(filled, &name(at))) {
            answer.push(words.to_owned());
        }
    }
    accepted(filled).then_some(answers)
}

/// A form of `fields`. What is no list must be filled in: some clients let nobody past a field that is left empty.
fn form(fields: impl IntoIterator<Item = (String, Value)>) -> Value {
    let fields: Map<String, Value> = fields.into_iter().collect();
    let must = fields.iter().filter(|(_, field)| field["type"] != "array").map(|(name, _)| name);
    let required: Vec<&String> = must.collect();
    json!({ "type": "object", "properties": fields, "required": required })
}

/// Whether a question with choices may be answered in own words.
fn takes_words(question: &Question) -> bool {
    let is_taken = question.options.iter().any(|option| option.label == OWN);
    !question.options.is_empty() && question.custom.unwrap_or(true) && !is_taken
}

fn accepted(filled: &ElicitResult) -> bool {
    filled.action == ElicitationAction::Accept && filled.content.is_some()
}

/// The words in a field, if there are any.
fn text<'a>(filled: &'a ElicitResult, name: &str) -> Option<&'a str> {
    let text = filled.content.as_ref()?.get(name)?.as_str()?.trim();
    (!text.is_empty()).then_some(text)
}

/// What was chosen in the field of the question at `at`.
fn chosen(filled: &ElicitResult, at: usize) -> impl Iterator<Item = &str> {
    let field = filled.content.as_ref().and_then(|content| content.get(name(at)));
    let several = field.and_then(Value::as_array).into_iter().flatten();
    field.into_iter().chain(several).filter_map(Value::as_str)
}

/// The name of a question's field.
fn name(at: usize) -> String {
    format!("q{}", at + 1)
}

fn titled(mut field: Value, title: &str) -> Value {
    field["title"] = title.into();
    field
}

/// `text`, or its beginning where it has more than `most` characters.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::{Choice, Clock, Question};

    use super::*;

    fn ask(always: &[&str]) -> Ask {
        let clock = Clock::scripted(1);
        Ask {
            id: clock.mint(),
            session_id: clock.mint(),
            permission: "edit".to_owned(),
            patterns: vec!["a.rs".to_owned()],
            always: always.iter().map(|&pattern| pattern.to_owned()).collect(),
            metadata: Map::new(),
            tool: None,
        }
    }

    fn filled(action: ElicitationAction, content: Value) -> ElicitResult {
        ElicitResult::new(action).with_content(content)
    }

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        use ElicitationAction::{Accept, Cancel, Decline};
        let no = || Some(Reply::Reject { advice: None });
        let check = |always: &[&str], action: ElicitationAction, content: Value, want: Option<Reply>| {
            assert_eq!(reply(&ask(always), &filled(action, content.clone())), want, "{content}");
        };
        check(&["*"], Accept, json!({ "answer": "once" }), Some(Reply::Once));
        check(&["*"], Accept, json!({ "answer": "always" }), Some(Reply::Always));
        check(&["*"], Accept, json!({ "answer": "reject" }), no());
        check(&["*"], Accept, json!({ "answer": "instead" }), None);
        // What was not offered, what says nothing, and a yes that was not sent.
        check(&[], Accept, json!({ "answer": "always" }), no());
        check(&["*"], Accept, json!({}), no());
        check(&["*"], Accept, json!({ "answer": true }), no());
        check(&["*"], Accept, json!("once"), no());
        check(&["*"], Decline, json!({ "answer": "once" }), no());
        check(&["*"], Cancel, json!({ "answer": "instead" }), no());
    }

    #[test]
    fn what_to_do_instead_is_part_of_a_no() {
        let check = |action: ElicitationAction, content: Value, want: Option<&str>| {
            let want = Reply::Reject { advice: want.map(str::to_owned) };
            assert_eq!(advised(&filled(action, content.clone())), want, "{content}");
        };
        check(ElicitationAction::Accept, json!({ "reason": " use b.rs " }), Some("use b.rs"));
        check(ElicitationAction::Accept, json!({ "reason": " " }), None);
        check(ElicitationAction::Decline, json!({ "reason": "use b.rs" }), None);
        serde_json::from_value::<rmcp::model::ElicitationSchema>(instead().1).unwrap();
    }

    #[test]
    fn always_is_offered_where_there_is_something_to_allow() {
        let offered = |always: &[&str]| leave(&ask(always))["properties"]["answer"]["enum"].clone();
        assert_eq!(offered(&["*"]), json!(["once", "always", "reject", "instead"]));
        assert_eq!(offered(&[]), json!(["once", "reject", "instead"]));
        // A form that fills itself in must not say yes.
        assert_eq!(leave(&ask(&["*"]))["properties"]["answer"].get("default"), None);
    }

    fn inquiry(multiple: Option<bool>, custom: Option<bool>, labels: &[&str]) -> Inquiry {
        let clock = Clock::scripted(1);
        let options = labels
            .iter()
            .map(|label| Choice { label: (*label).to_owned(), description: format!("As {label} as can be") })
            .collect();
        let question =
            Question { question: "Which colour?".to_owned(), header: "Colour".to_owned(), options, multiple, custom };
        Inquiry { id: clock.mint(), session_id: clock.mint(), questions: vec![question], tool: None }
    }

    #[test]
    fn a_question_is_one_field_that_a_form_can_have() {
        let check = |inquiry: &Inquiry, want: Value, required: Value| {
            let (_, schema) = questions(inquiry);
            // What the protocol takes for a form.
            serde_json::from_value::<rmcp::model::ElicitationSchema>(schema.clone()).unwrap();
            let mut want = want;
            want["title"] = "Colour".into();
            assert_eq!((&schema["properties"], &schema["required"]), (&json!({ "q1": want }), &required));
        };
        let must = json!(["q1"]);
        let closed = json!({ "type": "string", "enum": ["Red", "Blue"] });
        check(&inquiry(None, Some(false), &["Red", "Blue"]), closed, must.clone());
        check(&inquiry(None, None, &["Red"]), json!({ "type": "string", "enum": ["Red", OWN] }), must.clone());
        check(&inquiry(None, None, &[OWN]), json!({ "type": "string", "enum": [OWN] }), must.clone());
        let several = json!({ "type": "array", "items": { "type": "string", "enum": ["Red", OWN] } });
        check(&inquiry(Some(true), None, &["Red"]), several, json!([]));
        check(&inquiry(None, None, &[]), json!({ "type": "string" }), must);
        serde_json::from_value::<rmcp::model::ElicitationSchema>(leave(&ask(&["*"]))).unwrap();
        let (message, _) = questions(&inquiry(None, None, &["Red"]));
        assert_eq!(message, "Which colour?\n- Red: As Red as can be");
    }

    #[test]
    fn answers_are_what_was_offered() {
        let check = |inquiry: &Inquiry, content: Value, want: &[&str], is_open: bool| {
            let filled = filled(ElicitationAction::Accept, content.clone());
            assert_eq!(answers(inquiry, &filled), Some(vec![want.iter().map(|&word| word.to_owned()).collect()]));
            assert_eq!(open(inquiry, &filled) == [0], is_open, "{content}");
        };
        let one = inquiry(None, None, &["Red", "Blue"]);
        check(&one, json!({ "q1": "Blue" }), &["Blue"], false);
        check(&one, json!({ "q1": "Violet" }), &[], false);
        check(&one, json!({ "q1": OWN }), &[], true);
        check(&inquiry(None, Some(false), &["Red"]), json!({ "q1": OWN }), &[], false);
        check(&inquiry(None, None, &[OWN]), json!({ "q1": OWN }), &[OWN], false);
        check(&inquiry(None, None, &[]), json!({ "q1": " green " }), &["green"], false);
        let several = inquiry(Some(true), None, &["Red", "Blue"]);
        check(&several, json!({ "q1": ["Red", OWN, "Violet"] }), &["Red"], true);
        check(&several, json!({}), &[], false);
        let declined = filled(ElicitationAction::Decline, json!({ "q1": OWN }));
        assert_eq!((answers(&one, &declined), open(&one, &declined)), (None, Vec::new()));
    }

    #[test]
    fn own_words_stand_behind_what_was_chosen() {
        let several = inquiry(Some(true), None, &["Red", "Blue"]);
        let (message, form) = own_words(&several, &[0, 7]);
        assert_eq!((message.as_str(), &form["required"]), ("Which colour?", &json!(["q1"])));
        let chosen = || vec![vec!["Red".to_owned()]];
        let said = filled(ElicitationAction::Accept, json!({ "q1": " green " }));
        assert_eq!(with_own(chosen(), &[0, 7], &said), Some(vec![vec!["Red".to_owned(), "green".to_owned()]]));
        assert_eq!(with_own(chosen(), &[0], &filled(ElicitationAction::Accept, json!({}))), Some(chosen()));
        assert_eq!(with_own(chosen(), &[0], &filled(ElicitationAction::Cancel, json!({ "q1": "green" }))), None);
    }
}
