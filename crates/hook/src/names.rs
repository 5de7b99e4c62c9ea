//! Names of tools and arguments as Claude Code spells them. Pure.

use haft_protocol::Object;
use serde_json::Value;

/// The names under which hooks may know a tool, the one that they are told first. `None`: its own.
pub(crate) fn theirs(tool: &str) -> Option<&'static [&'static str]> {
    Some(match tool {
        "bash" => &["Bash"],
        "read" => &["Read", "NotebookRead"],
        "edit" => &["Edit", "NotebookEdit"],
        "multiedit" => &["MultiEdit"],
        "write" => &["Write"],
        // Whoever looks at changes wants to see these too.
        "apply_patch" | "patch" => &["Edit", "Write", "MultiEdit"],
        "glob" => &["Glob"],
        "grep" => &["Grep"],
        "list" => &["LS"],
        "task" => &["Task", "Agent"],
        "webfetch" => &["WebFetch"],
        "websearch" => &["WebSearch"],
        "todowrite" => &["TodoWrite"],
        "todoread" => &["TodoRead"],
        "skill" => &["Skill"],
        "question" => &["AskUserQuestion"],
        "plan_exit" => &["ExitPlanMode"],
        "job_output" => &["BashOutput", "TaskOutput"],
        "job_kill" => &["KillShell", "KillBash"],
        _ => return None,
    })
}

/// Arguments by both names: ours, and theirs.
const ARGUMENTS: [(&str, &str); 6] = [
    ("filePath", "file_path"),
    ("oldString", "old_string"),
    ("newString", "new_string"),
    ("replaceAll", "replace_all"),
    ("background", "run_in_background"),
    ("include", "glob"),
];

/// `input` as hooks are told it: arguments of tools that they know by another name have the names that they know.
pub(crate) fn told(tool: &str, input: &Value) -> Value {
    renamed(tool, input, |name| ARGUMENTS.iter().find(|(ours, _)| *ours == name).map(|(_, theirs)| *theirs))
}

/// What a hook wants `input` to be, in our names.
pub(crate) fn heard(tool: &str, input: &Value) -> Value {
    renamed(tool, input, |name| ARGUMENTS.iter().find(|(_, theirs)| *theirs == name).map(|(ours, _)| *ours))
}

fn renamed(tool: &str, input: &Value, name: impl Fn(&str) -> Option<&'static str>) -> Value {
    let Some(object) = input.as_object().filter(|_| theirs(tool).is_some()) else { return input.clone() };
    let rename = |(key, value): (&String, &Value)| (name(key).unwrap_or(key).to_owned(), value.clone());
    Value::Object(object.iter().map(rename).collect::<Object>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_go_there_and_back() {
        let ours = json!({ "filePath": "a", "oldString": "b", "newString": "c", "replaceAll": true, "other": 1 });
        let theirs = json!({ "file_path": "a", "old_string": "b", "new_string": "c", "replace_all": true, "other": 1 });
        assert_eq!(told("edit", &ours), theirs);
        assert_eq!(heard("edit", &theirs), ours);
        // Tools that nobody knows by another name are told of as they are.
        assert_eq!(told("memory_create", &ours), ours);
        assert_eq!(heard("memory_create", &theirs), theirs);
        assert_eq!(told("edit", &json!("text")), json!("text"));
    }
}
