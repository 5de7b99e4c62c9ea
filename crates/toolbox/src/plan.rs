//! `plan_enter` and `plan_exit`: ask the user to change between planning and doing.

use std::borrow::Cow;

use haft_permission::{Access, Denied};
use haft_protocol::{Choice, Question};
use haft_tool::{Call, Output, PlanFile, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

const YES: &str = "Yes";

pub(crate) struct PlanEnter;

pub(crate) struct PlanExit;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Nothing {}

impl Tool for PlanEnter {
    const NAME: &'static str = "plan_enter";
    const OFFERED: bool = false;
    type Input = Nothing;

    fn description(&self) -> Cow<'static, str> {
        include_str!("plan_enter.md").into()
    }

    async fn run(&self, _input: Nothing, call: &Call) -> Result<Output, ToolError> {
        call.ask(Access::new("plan_enter", "*")).await?;
        let PlanFile { path, exists } = call.plan_file().await?;
        let there = if exists { ", which is there already" } else { "" };
        let question = Question {
            question: format!("Let the plan agent plan this first? Nothing changes meanwhile but {path}."),
            header: "Plan Agent".to_owned(),
            options: vec![choice(YES, "Plan first"), choice("No", "Go on without a plan")],
            multiple: None,
            custom: Some(false),
        };
        agreed(call, question).await?;
        let text = format!(
            "The user wants a plan first. Work it out and write it to {path}{there}; then call plan_exit. Change nothing \
             else."
        );
        call.switch_agent("plan", text)?;
        Ok(done("The plan agent goes on"))
    }
}

impl Tool for PlanExit {
    const NAME: &'static str = "plan_exit";
    const OFFERED: bool = false;
    type Input = Nothing;

    fn description(&self) -> Cow<'static, str> {
        include_str!("plan_exit.md").into()
    }

    async fn run(&self, _input: Nothing, call: &Call) -> Result<Output, ToolError> {
        call.ask(Access::new("plan_exit", "*")).await?;
        let PlanFile { path, exists } = call.plan_file().await?;
        let (what, order) = match exists {
            true => (format!("The plan at {path} is complete."), format!("The user agreed to the plan at {path}.")),
            false => ("The plan is complete.".to_owned(), "The user agreed to the plan.".to_owned()),
        };
        let question = Question {
            question: format!("{what} Let the build agent carry it out now?"),
            header: "Build Agent".to_owned(),
            options: vec![choice(YES, "Change files as planned"), choice("No", "Go on with the plan")],
            multiple: None,
            custom: Some(false),
        };
        agreed(call, question).await?;
        call.switch_agent("build", format!("{order} You may change files now: carry it out."))?;
        Ok(done("The build agent goes on"))
    }
}

fn choice(label: &str, description: &str) -> Choice {
    Choice { label: label.to_owned(), description: description.to_owned() }
}

/// Asks, and fails where the answer is no.
async fn agreed(call: &Call, question: Question) -> Result<(), ToolError> {
    let answers = call.question(vec![question]).await?;
    let yes = answers.first().is_some_and(|chosen| chosen.iter().any(|label| label == YES));
    if yes { Ok(()) } else { Err(Denied::Dismissed.into()) }
}

fn done(title: &str) -> Output {
    Output::new(title, format!("The user agreed. {title}; do nothing more now.")).meta("truncated", false)
}

#[cfg(test)]
mod tests {
    use haft_permission::Action;
    use serde_json::json;

    use super::*;
    use crate::scene::Scene;

    fn scene(exists: bool) -> Scene {
        let scene = Scene::new();
        scene.bench.plan(PlanFile { path: ".haft/plans/1-calm-lathe.md".to_owned(), exists });
        scene
    }

    #[tokio::test]
    async fn a_yes_hands_over() {
        let scene = scene(true);
        scene.bench.answer(vec![vec!["Yes".to_owned()]]);
        let output = scene.run("plan_exit", json!({})).await.unwrap();
        assert_eq!(output.title, "The build agent goes on");
        scene.bench.answer(vec![vec!["Yes".to_owned()]]);
        scene.run("plan_enter", json!({})).await.unwrap();
        let [(build, carry), (plan, think)] = &scene.bench.switched()[..] else { panic!("two were to go on") };
        assert_eq!((build.as_str(), plan.as_str()), ("build", "plan"));
        assert!(carry.starts_with("The user agreed to the plan at .haft/plans/1-calm-lathe.md."), "{carry}");
        assert!(think.contains("write it to .haft/plans/1-calm-lathe.md, which is there already;"), "{think}");
    }

    #[tokio::test]
    async fn a_plan_that_is_not_written_down_is_not_named() {
        let scene = scene(false);
        scene.bench.answer(vec![vec!["Yes".to_owned()]]);
        scene.run("plan_exit", json!({})).await.unwrap();
        assert!(scene.bench.switched()[0].1.starts_with("The user agreed to the plan. You may"));
    }

    #[tokio::test]
    async fn a_no_changes_nothing_and_ends_the_turn() {
        let scene = scene(true);
        for tool in ["plan_exit", "plan_enter"] {
            for answer in [vec![vec!["No".to_owned()]], vec![vec![]], vec![]] {
                scene.bench.answer(answer);
                let error = scene.run(tool, json!({})).await.unwrap_err();
                assert_eq!(error.to_string(), "the user dismissed this question");
            }
            // And where nobody is there.
            assert_eq!(scene.run(tool, json!({})).await.unwrap_err().kind(), "denied");
        }
        assert!(scene.bench.switched().is_empty());
    }

    #[tokio::test]
    async fn a_rule_keeps_it_closed() {
        let scene = Scene::with_rules(&[("*", "*", Action::Allow), ("plan_exit", "*", Action::Deny)]);
        assert_eq!(scene.run("plan_exit", json!({})).await.unwrap_err().kind(), "denied");
    }
}
