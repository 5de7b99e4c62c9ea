//! The list of skills that stands at an address, and which of its names may become files here. Pure.

use std::collections::BTreeSet;

use serde_json::Value;

/// Most bytes of a list.
pub(super) const MAX_INDEX: usize = 1024 * 1024;
/// Most skills of an address.
const MAX_SKILLS: usize = 100;
/// Most files of all skills of an address.
const MAX_FILES: usize = 500;
/// Longest name of a skill, in bytes.
const MAX_NAME: usize = 64;
/// Longest path of a file below its skill, in bytes.
const MAX_PATH: usize = 200;
/// Most folders of a path, the file among them.
const MAX_DEPTH: usize = 8;

/// A skill that is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub name: String,
    /// Paths below the skill's folder, `/` between their parts, its `SKILL.md` among them.
    pub files: Vec<String>,
}

/// What a list says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Index {
    pub entries: Vec<Entry>,
    /// What is left out, and why.
    pub left_out: Vec<String>,
}

/// Reads the list `text`: `{"skills": [{"name": …, "files": […]}]}`.
///
/// # Errors
///
/// Why it is no such list, or longer than one may be.
pub(super) fn read(text: &str) -> Result<Index, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON ({error})"))?;
    let listed = value["skills"].as_array().ok_or("it has no list \"skills\"")?;
    if listed.len() > MAX_SKILLS {
        return Err(format!("it lists {} skills; {MAX_SKILLS} is the most", listed.len()));
    }
    let mut index = Index::default();
    for value in listed {
        match entry(value) {
            Ok(one) if index.entries.iter().any(|other| other.name.eq_ignore_ascii_case(&one.name)) => {
                index.left_out.push(format!("{:?} is listed twice; the first counts", one.name));
            }
            Ok(one) => index.entries.push(one),
            Err(why) => index.left_out.push(why),
        }
    }
    let files: usize = index.entries.iter().map(|entry| entry.files.len()).sum();
    if files > MAX_FILES {
        return Err(format!("its skills have {files} files; {MAX_FILES} is the most"));
    }
    Ok(index)
}

fn entry(value: &Value) -> Result<Entry, String> {
    let name = value["name"].as_str().ok_or("a skill without a name")?;
    let no = |why: &str| Err(format!("{:?} {why}", name.chars().take(MAX_NAME).collect::<String>()));
    if !is_name(name) {
        return no("is no name for a folder");
    }
    let listed = value["files"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(files) = listed.iter().map(Value::as_str).collect::<Option<Vec<&str>>>() else {
        return no("lists files that are no texts");
    };
    if let Some(path) = files.iter().find(|path| !is_path(path)) {
        return no(&format!(
            "lists {:?}, which is no path below its folder",
            path.chars().take(MAX_PATH).collect::<String>()
        ));
    }
    // What differs in nothing but case is one file on some systems.
    let lower: BTreeSet<String> = files.iter().map(|path| path.to_lowercase()).collect();
    let is_both = |path: &String| {
        lower.range(format!("{path}/")..).next().is_some_and(|next| next.starts_with(&format!("{path}/")))
    };
    if lower.len() != files.len() || lower.iter().any(is_both) {
        return no("lists two files that are one");
    }
    if !files.contains(&"SKILL.md") {
        return no("has no SKILL.md");
    }
    Ok(Entry { name: name.to_owned(), files: files.into_iter().map(str::to_owned).collect() })
}

/// Whether a folder of this name may be made for a skill.
pub(super) fn is_name(name: &str) -> bool {
    name.len() <= MAX_NAME
        && name.starts_with(char::is_alphanumeric)
        && !name.ends_with(['.', ' '])
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' '))
}

/// Whether `path` stays below the folder that it is relative to, on every system, and makes no repository there.
pub(super) fn is_path(path: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.ends_with(['.', ' '])
            && !part.eq_ignore_ascii_case(".git")
            && !part.contains(|c: char| c.is_control() || matches!(c, '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|'))
    };
    path.len() <= MAX_PATH && path.split('/').count() <= MAX_DEPTH && path.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_names_skills_and_their_files() {
        let text = json!({"skills": [
            {"name": "pdf", "description": "x", "files": ["SKILL.md", "scripts/a b.py", ".hidden/ü.md"]},
            {"name": "PDF", "files": ["SKILL.md"]},
            {"name": "none", "files": ["README.md"]},
            {"name": "nothing"},
            {"files": ["SKILL.md"]},
        ]});
        let index = read(&text.to_string()).unwrap();
        assert_eq!(index.entries.len(), 1);
        assert_eq!(index.entries[0].files, ["SKILL.md", "scripts/a b.py", ".hidden/ü.md"]);
        assert_eq!(
            index.left_out,
            [
                "\"PDF\" is listed twice; the first counts",
                "\"none\" has no SKILL.md",
                "\"nothing\" has no SKILL.md",
                "a skill without a name"
            ]
        );
    }

    #[test]
    fn no_name_leads_out_of_its_folder() {
        for name in [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            "a\\b",
            "/a",
            ".hidden",
            "a\0",
            "a\n",
            "c:",
            "a.",
            "a ",
            "-a",
            &"x".repeat(65),
        ] {
            assert!(!is_name(name), "{name:?}");
        }
        for name in ["a", "my-skill", "My Skill 2", "v1.2", "名前"] {
            assert!(is_name(name), "{name:?}");
        }
        let deep = ["d"; MAX_DEPTH + 1].join("/");
        let long = "x".repeat(MAX_PATH + 1);
        for path in [
            "",
            "/etc/passwd",
            "../x",
            "a/../../x",
            "a//b",
            "a/",
            "./a",
            "a/.",
            "a\\..\\b",
            "C:/x",
            "a\0b",
            "a\nb",
            "x..",
            ".git/config",
            "a/.GIT/hooks/x",
            "file?x",
            &deep,
            &long,
        ] {
            assert!(!is_path(path), "{path:?}");
            let text = json!({"skills": [{"name": "a", "files": ["SKILL.md", path]}]}).to_string();
            let index = read(&text).unwrap();
            assert!(index.entries.is_empty() && index.left_out.len() == 1, "{path:?}: {index:?}");
        }
    }

    #[test]
    fn two_files_that_are_one_are_refused() {
        for files in [["a", "A"], ["a", "a/b"], ["A/b", "a"], ["a", "a"]] {
            let text = json!({"skills": [{"name": "s", "files": ["SKILL.md", files[0], files[1]]}]}).to_string();
            assert_eq!(read(&text).unwrap().left_out, ["\"s\" lists two files that are one"], "{files:?}");
        }
        let fine = json!({"skills": [{"name": "s", "files": ["SKILL.md", "a", "a-b", "a.c/d"]}]}).to_string();
        assert_eq!(read(&fine).unwrap().entries.len(), 1);
    }

    #[test]
    fn what_is_no_list_or_too_long_is_said() {
        let row = |text: &str, want: &str| {
            let error = read(text).unwrap_err();
            assert!(error.contains(want), "{error}");
        };
        row("<html>", "it is no JSON");
        row("{}", "it has no list \"skills\"");
        let one = |n: usize, files: usize| {
            let files: Vec<String> = (1..files).map(|n| format!("f{n}")).chain(["SKILL.md".to_owned()]).collect();
            json!({"name": format!("s{n}"), "files": files})
        };
        let many: Vec<Value> = (0..=MAX_SKILLS).map(|n| one(n, 1)).collect();
        row(&json!({"skills": many}).to_string(), "it lists 101 skills; 100 is the most");
        let large: Vec<Value> = (0..3).map(|n| one(n, 200)).collect();
        row(&json!({"skills": large}).to_string(), "600 files; 500 is the most");
    }
}
