//! Formatters of others, as a project has them.

use crate::install::prettier;
use crate::support::Machine;

/// A project that depends on prettier, with settings of its own for it.
fn machine() -> Option<Machine> {
    let modules = prettier()?;
    let machine = Machine::with(&[
        ("package.json", r#"{"devDependencies": {"prettier": "3"}}"#),
        (
            ".prettierrc",
            r#"{"singleQuote": true, "overrides": [{"files": "wide/*.ts", "options": {"printWidth": 200}}]}"#,
        ),
        ("opencode.json", r#"{"formatter": true}"#),
    ]);
    std::os::unix::fs::symlink(modules, machine.project().join("node_modules")).unwrap();
    Some(machine)
}

#[test]
fn prettier_tidies_what_is_written_as_the_project_wants_it() {
    let Some(machine) = machine() else { return };
    let listed = machine.haft(&["formatter", "list", "a.ts"]).ok().out;
    assert!(listed.starts_with("prettier  /") && listed.contains("node_modules/.bin/prettier"), "{listed}");
    let written =
        machine.haft(&["tool", "call", "write", r#"{"filePath": "src/a.ts", "content": "let a = { b : \"c\" }"}"#]);
    assert!(written.ok().out.contains("Then prettier formatted it."));
    assert_eq!(machine.read("src/a.ts"), "let a = { b: 'c' };\n");
    let edited = r#"{"filePath": "src/a.ts", "oldString": "'c'", "newString": "'c"}"#;
    let edited = machine.haft(&["tool", "call", "edit", edited]).ok().out;
    assert!(edited.contains("The formatter prettier failed (exit code 2"), "{edited}");
    assert_eq!(machine.read("src/a.ts"), "let a = { b: 'c };\n");
    // The file has its own name and place when it is looked at.
    let long = format!("export const a = [{}];\n", ["1000000"; 15].join(", "));
    for (folder, is_wide) in [("src", false), ("wide", true)] {
        let input = serde_json::json!({ "filePath": format!("{folder}/b.ts"), "content": long });
        machine.haft(&["tool", "call", "write", &input.to_string()]).ok();
        let lines = machine.read(&format!("{folder}/b.ts")).lines().count();
        assert_eq!(lines == 1, is_wide, "{folder}: {lines} lines");
    }
}
