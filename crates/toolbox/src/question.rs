//! `question`: asks the user.

use std::borrow::Cow;

use haft_protocol::{Choice, Question as Asked};
use haft_tool::{Call, Output, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// Most questions of one call.
const MAX_QUESTIONS: usize = 10;
/// Most options of one question.
const MAX_OPTIONS: usize = 20;
/// Longest text of a question, an option or its description, in bytes.
const MAX_TEXT: usize = 2000;

pub(crate) struct Question;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    questions: Vec<One>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct One {
    /// The whole question.
    question: String,
    /// The same in at most 30 characters.
    header: String,
    options: Vec<Opt>,
    /// Whether several may be chosen.
    multiple: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Opt {
    /// One to five words.
    label: String,
    /// What choosing it means.
    description: String,
}

impl Tool for Question {
    const NAME: &'static str = "question";
    type Input = Input;

    fn description(&self) -> Cow<'static, str> {
        include_str!("question.md").into()
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Output, ToolError> {
        let questions = checked(input.questions)?;
        let asked: Vec<String> = questions.iter().map(|one| one.question.clone()).collect();
        let answers = call.question(questions).await?;
        let units = if asked.len() == 1 { "question" } else { "questions" };
        Ok(Output::new(format!("Asked {} {units}", asked.len()), text(&asked, &answers))
            .meta("answers", json!(answers))
            .meta("truncated", false))
    }
}

/// Each question with its answer.
fn text(asked: &[String], answers: &[Vec<String>]) -> String {
    let answer = |at: usize| match answers.get(at).map(Vec::as_slice) {
        None | Some([]) => "Unanswered".to_owned(),
        Some(chosen) => chosen.join(", "),
    };
    let pairs: Vec<String> =
        asked.iter().enumerate().map(|(at, question)| format!("\"{question}\"=\"{}\"", answer(at))).collect();
    format!(
        "User has answered your questions: {}. You can now continue with the user's answers in mind.",
        pairs.join(", ")
    )
}

fn checked(questions: Vec<One>) -> Result<Vec<Asked>, ToolError> {
    let bad = |problem: String| Err(ToolError::BadInput(format!("{problem}. The user was not asked.")));
    if questions.is_empty() || questions.len() > MAX_QUESTIONS {
        let count = questions.len();
        return bad(format!("questions must be a list of 1 to {MAX_QUESTIONS}, not of {count}"));
    }
    for (at, one) in questions.iter().enumerate() {
        if one.question.trim().is_empty() {
            return bad(format!("questions.{at}.question is empty"));
        }
        if one.options.len() > MAX_OPTIONS {
            return bad(format!("questions.{at}.options has {} entries, more than {MAX_OPTIONS}", one.options.len()));
        }
        let options = one.options.iter().flat_map(|option| [&option.label, &option.description]);
        if options.chain([&one.question, &one.header]).any(|text| text.len() > MAX_TEXT) {
            return bad(format!("questions.{at} holds a text of more than {MAX_TEXT} bytes; say it shorter"));
        }
        if one.options.iter().any(|option| option.label.trim().is_empty()) {
            return bad(format!("questions.{at} has an option without a label"));
        }
    }
    let choice = |option: Opt| Choice { label: option.label, description: option.description };
    let asked = |one: One| Asked {
        question: one.question,
        header: one.header,
        options: one.options.into_iter().map(choice).collect(),
        multiple: one.multiple,
        custom: None,
    };
    Ok(questions.into_iter().map(asked).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::scene::Scene;

    fn one(question: &str, labels: &[&str]) -> Value {
        let options: Vec<Value> = labels.iter().map(|label| json!({"label": label, "description": "d"})).collect();
        json!({"question": question, "header": "H", "options": options})
    }

    #[tokio::test]
    async fn answers_come_back_beside_their_questions() {
        let scene = Scene::new();
        let input = json!({"questions": [one("Pick?", &["A", "B"]), one("More?", &["X"])]});
        let said = |pairs: &str| {
            format!("User has answered your questions: {pairs}. You can now continue with the user's answers in mind.")
        };
        scene.bench.answer(vec![vec!["A".into()], vec!["X".into(), "free".into()]]);
        let output = scene.run("question", input.clone()).await.unwrap();
        assert_eq!(
            (output.title.as_str(), output.text),
            ("Asked 2 questions", said(r#""Pick?"="A", "More?"="X, free""#))
        );
        assert_eq!(output.metadata["answers"], json!([["A"], ["X", "free"]]));
        scene.bench.answer(vec![vec!["B".into()], vec![]]);
        let output = scene.run("question", input).await.unwrap();
        assert_eq!(output.text, said(r#""Pick?"="B", "More?"="Unanswered""#));
        scene.bench.answer(vec![vec!["A".into()]]);
        let output = scene.run("question", json!({"questions": [one("Pick?", &["A"])]})).await.unwrap();
        assert_eq!(output.title, "Asked 1 question");
        // No leave is asked: the user decides by answering.
        assert!(scene.bench.asked().is_empty());
    }

    #[tokio::test]
    async fn with_nobody_there_it_says_so() {
        let scene = Scene::new();
        let error = scene.run("question", json!({"questions": [one("Pick?", &["A"])]})).await.unwrap_err();
        assert!(error.kind() == "denied" && error.to_string().contains("nobody is there"), "{error}");
    }

    #[tokio::test]
    async fn what_nobody_could_answer_is_not_asked() {
        let scene = Scene::new();
        let labels = |count: usize| vec!["A"; count];
        let long = "x".repeat(MAX_TEXT + 1);
        for (questions, want) in [
            (json!([]), "must be a list of 1 to 10, not of 0"),
            (json!(vec![one("Q", &["A"]); MAX_QUESTIONS + 1]), "must be a list of 1 to 10, not of 11"),
            (json!([one(" ", &["A"])]), "questions.0.question is empty"),
            (json!([one("Q", &["A"]), one("Q", &labels(MAX_OPTIONS + 1))]), "questions.1.options has 21 entries"),
            (json!([one(&long, &["A"])]), "a text of more than 2000 bytes"),
            (json!([one("Q", &[&long])]), "a text of more than 2000 bytes"),
            (json!([one("Q", &[""])]), "an option without a label"),
            (json!([{"question": "Q"}]), "questions.0.header is missing"),
        ] {
            scene.fails("question", json!({ "questions": questions }), want).await;
        }
        scene.bench.answer(Vec::new());
        let most = json!(vec![one(&"x".repeat(MAX_TEXT), &labels(MAX_OPTIONS)); MAX_QUESTIONS]);
        scene.run("question", json!({ "questions": most })).await.unwrap();
    }
}
