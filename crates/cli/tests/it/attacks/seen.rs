//! What the analysis says about each attack: it must see what it is after, or own that it cannot know.

use std::path::Path;

use serde_json::{Value, json};

use super::FILES;
use super::attack::{Attack, Harm, read};
use super::ground::Ground;
use crate::support::Machine;

#[test]
fn the_analysis_sees_what_is_tried_or_owns_that_it_cannot_know() {
    let ground = Ground::new(false);
    let attacks: Vec<Attack> = FILES.into_iter().flat_map(read).collect();
    let project = ground.project();
    let line = |attack: &Attack| json!({"command": ground.fill(&attack.run), "cwd": project}).to_string();
    let lines: Vec<String> = attacks.iter().map(line).collect();
    let machine = Machine::with(&[]);
    let ran = machine.piped(&["debug", "shell", "--jsonl"], &lines.join("\n")).ok().lines();
    assert_eq!(ran.len(), attacks.len());
    let missed: Vec<String> = attacks
        .iter()
        .zip(&ran)
        .filter(|(attack, answer)| attack.unseen.is_none() && !sees(answer, attack.harm(), &ground))
        .map(|(attack, answer)| format!("{}: {answer}\n    {}", attack.id, attack.run))
        .collect();
    assert!(missed.is_empty(), "{} were missed\n{}", missed.len(), missed.join("\n"));
}

/// Whether `answer` tells of `harm`.
fn sees(answer: &Value, harm: Harm, ground: &Ground) -> bool {
    let project = ground.project();
    let any = |key: &str, is: &dyn Fn(&Path) -> bool| {
        answer[key].as_array().unwrap().iter().any(|path| is(Path::new(path.as_str().unwrap())))
    };
    let linked = ["way", "note"].map(|link| project.join(link));
    let outside = |path: &Path| !path.starts_with(&project) || linked.iter().any(|link| path.starts_with(link));
    // Of a pattern the answer has what it begins with.
    let dotenv = project.join(".env").display().to_string();
    let secret = |path: &Path| outside(path) || dotenv.starts_with(&path.display().to_string());
    let known = answer["unknown"] == false;
    !known
        || match harm {
            // What a program that nobody knows does with a file outside is asked for at the border all the same.
            Harm::Outside => any("writes", &outside) || any("reads", &outside),
            Harm::Protected | Harm::Setuid => any("writes", &|_| true),
            Harm::Secret => any("reads", &secret),
            Harm::Contact => answer["network"] == true || any("reads", &outside) || any("writes", &outside),
            // What goes on afterwards is haft's to end, and what the kernel is asked for no text tells for certain.
            Harm::Alive | Harm::Victim | Harm::Died | Harm::Said => true,
        }
}
