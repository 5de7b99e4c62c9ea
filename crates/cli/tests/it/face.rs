//! Help, completion, manual pages: what the binary says about itself.

use crate::support::Machine;

#[test]
fn each_shell_gets_its_completion() {
    let machine = Machine::with(&[]);
    for (shell, word) in [("bash", "_haft()"), ("zsh", "#compdef haft"), ("fish", "complete -c haft")] {
        let ran = machine.haft(&["completion", shell]).ok();
        assert!(ran.out.contains(word) && ran.out.contains("continue"), "{shell}: {}", ran.out);
    }
    machine.haft(&["completion", "tcl"]).ends(2);
}

#[test]
fn each_command_has_a_manual_page() {
    let machine = Machine::with(&[]);
    let page = machine.haft(&["man"]).ok().out;
    assert!(page.contains(".TH haft 1") && page.contains("haft\\-run(1)"), "{page}");
    let page = machine.haft(&["man", "run"]).ok().out;
    assert!(page.contains("haft run") && page.contains("\\-\\-fork"), "{page}");
    machine.haft(&["man", "walk"]).ends(2).says(&["no command \"walk\""]);
}

#[test]
fn arguments_that_contradict_each_other_are_wrong_usage() {
    let machine = Machine::with(&[]);
    let wrong: [&[&str]; 7] = [
        &["run", "go", "--fork"],
        &["run", "go", "--continue", "--session", "ses_x"],
        &["debug", "shell"],
        &["debug", "shell", "ls", "--jsonl"],
        &["debug", "rules", "bash"],
        &["permission", "revoke"],
        &["permission", "revoke", "bash", "--all"],
    ];
    for args in wrong {
        machine.haft(args).ends(2);
    }
}
