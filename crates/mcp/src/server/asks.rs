//! The gate's questions as forms, and filled-in forms as answers. Pure.
//!
//! Only a clear yes is a yes: a form that comes back empty, or with what was not offered, is a no.

use haft_protocol::{Answers, Ask, Inquiry, Reply};
use rmcp::model::{ElicitResult, ElicitationAction};
use serde_json::{Map, Value, json};

/// Most characters of a message, so that no diff fills a client's screen for ever.
pub const MAX_MESSAGE: usize = 8_000;

/// The form for a request for leave.
pub fn leave(ask: &Ask) -> Value {
    let always = ask.always.join(", ");
    let mut words = vec![("once", "Yes, this once".to_owned())];
    if !always.is_empty() {
        words.push(("always", shortened(&format!("Yes, and from now on: {} {always}", ask.permission), 200)));
    }
    words.push(("reject", "No".to_owned()));
    let (values, names): (Vec<_>, Vec<_>) = words.into_iter().unzip();
    json!({
        "type": "object",
        "properties": {
            "answer": { "type": "string", "title": "Answer", "enum": values, "enumNames": names },
            "reason": {
                "type": "string",
                "title": "If not, what instead?",
                "description": "The agent reads this and goes on",
            },
        },
        "required": ["answer"],
    })
}

/// What a person said to the form for `ask`.
pub fn reply(ask: &Ask, filled: &ElicitResult) -> Reply {
    let field = |name: &str| filled.content.as_ref().and_then(|content| content.get(name)).and_then(Value::as_str);
    let advice = field("reason").map(str::trim).filter(|reason| !reason.is_empty()).map(str::to_owned);
    match (&filled.action, field("answer")) {
        (ElicitationAction::Accept, Some("once")) => Reply::Once,
        (ElicitationAction::Accept, Some("always")) if !ask.always.is_empty() => Reply::Always,
        _ => Reply::Reject { advice },
    }
}

/// The message and the form for questions of a tool.
pub fn questions(inquiry: &Inquiry) -> (String, Value) {
    let mut fields = Map::new();
    let mut message = Vec::new();
    for (at, question) in inquiry.questions.iter().enumerate() {
        let labels: Vec<&str> = question.options.iter().map(|option| option.label.as_str()).collect();
        let (name, own) = names(at);
        message.push(question.question.clone());
        message.extend(
            question
                .options
                .iter()
                .filter(|option| !option.description.is_empty())
                .map(|option| format!("- {}: {}", option.label, option.description)),
        );
        if !labels.is_empty() {
            let choice = match question.multiple {
                Some(true) => json!({ "type": "array", "items": { "type": "string", "enum": labels } }),
                _ => json!({ "type": "string", "enum": labels }),
            };
            fields.insert(name, titled(choice, &question.header));
        }
        if labels.is_empty() || question.custom.unwrap_or(true) {
            let title = if labels.is_empty() {
                question.header.clone()
            } else {
                format!("{}: in your own words", question.header)
            };
            fields.insert(own, titled(json!({ "type": "string" }), &title));
        }
    }
    let message = shortened(&message.join("\n"), MAX_MESSAGE);
    (message, json!({ "type": "object", "properties": fields, "required": [] }))
}

/// What a person answered; `None` where they did not want to.
pub fn answers(inquiry: &Inquiry, filled: &ElicitResult) -> Option<Answers> {
    if filled.action != ElicitationAction::Accept {
        return None;
    }
    let content = filled.content.as_ref()?;
    let answers = inquiry.questions.iter().enumerate().map(|(at, question)| {
        let (name, own) = names(at);
        let offered = |label: &str| question.options.iter().any(|option| option.label == label);
        let mut chosen: Vec<String> = match content.get(&name) {
            Some(Value::String(label)) => vec![label.clone()],
            Some(Value::Array(labels)) => labels.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        chosen.retain(|label| offered(label));
        if let Some(words) = content.get(&own).and_then(Value::as_str).map(str::trim).filter(|words| !words.is_empty())
        {
            // An answer of one's own takes the place of a choice; beside several it is one more.
            if question.multiple != Some(true) {
                chosen.clear();
            }
            chosen.push(words.to_owned());
        }
        chosen
    });
    Some(answers.collect())
}

/// The names of a question's fields: the choice, and the person's own words.
fn names(at: usize) -> (String, String) {
    (format!("q{}", at + 1), format!("q{}_own", at + 1))
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
        let no = || Reply::Reject { advice: None };
        let check = |always: &[&str], action: ElicitationAction, content: Value, want: Reply| {
            assert_eq!(reply(&ask(always), &filled(action, content.clone())), want, "{content}");
        };
        check(&["*"], Accept, json!({ "answer": "once" }), Reply::Once);
        check(&["*"], Accept, json!({ "answer": "always" }), Reply::Always);
        let advice = Reply::Reject { advice: Some("use b.rs".to_owned()) };
        check(&["*"], Accept, json!({ "answer": "reject", "reason": " use b.rs " }), advice);
        // What was not offered, what says nothing, and a yes that was not sent.
        check(&[], Accept, json!({ "answer": "always" }), no());
        check(&["*"], Accept, json!({}), no());
        check(&["*"], Accept, json!({ "answer": true }), no());
        check(&["*"], Accept, json!("once"), no());
        check(&["*"], Decline, json!({ "answer": "once" }), no());
        check(&["*"], Cancel, json!({ "answer": "once" }), no());
    }

    #[test]
    fn always_is_offered_where_there_is_something_to_allow() {
        let offered = |always: &[&str]| leave(&ask(always))["properties"]["answer"]["enum"].clone();
        assert_eq!(offered(&["*"]), json!(["once", "always", "reject"]));
        assert_eq!(offered(&[]), json!(["once", "reject"]));
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
    fn a_question_becomes_fields_that_a_form_can_have() {
        let fields = |inquiry: &Inquiry| {
            let (_, schema) = questions(inquiry);
            // What the protocol takes for a form.
            serde_json::from_value::<rmcp::model::ElicitationSchema>(schema.clone()).unwrap();
            schema["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(fields(&inquiry(None, Some(false), &["Red", "Blue"])), "q1");
        assert_eq!(fields(&inquiry(Some(true), None, &["Red", "Blue"])), "q1 q1_own");
        assert_eq!(fields(&inquiry(None, None, &[])), "q1_own");
        serde_json::from_value::<rmcp::model::ElicitationSchema>(leave(&ask(&["*"]))).unwrap();
        let (message, _) = questions(&inquiry(None, None, &["Red"]));
        assert_eq!(message, "Which colour?\n- Red: As Red as can be");
    }

    #[test]
    fn answers_are_what_was_offered_or_ones_own_words() {
        let check = |inquiry: &Inquiry, content: Value, want: Option<&[&str]>| {
            let got = answers(inquiry, &filled(ElicitationAction::Accept, content.clone()));
            let want = want.map(|words| vec![words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>()]);
            assert_eq!(got, want, "{content}");
        };
        let one = inquiry(None, None, &["Red", "Blue"]);
        check(&one, json!({ "q1": "Blue" }), Some(&["Blue"]));
        check(&one, json!({ "q1": "Violet" }), Some(&[]));
        check(&one, json!({ "q1": "Blue", "q1_own": "green" }), Some(&["green"]));
        let several = inquiry(Some(true), None, &["Red", "Blue"]);
        check(&several, json!({ "q1": ["Red", "Blue"], "q1_own": "green" }), Some(&["Red", "Blue", "green"]));
        check(&several, json!({}), Some(&[]));
        assert_eq!(answers(&one, &filled(ElicitationAction::Decline, json!({ "q1": "Red" }))), None);
    }
}
