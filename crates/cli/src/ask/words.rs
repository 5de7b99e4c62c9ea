//! What stands on the screen when leave is asked for. Pure.

use haft_permission::{Action, PLUGIN, Rule};
use haft_protocol::Ask;
use serde_json::Value;

use crate::render::{Page, Paint, diff_on, spelled};

/// Most effects that are shown; how many more there are is said.
const MAX_EFFECTS: usize = 20;
/// Longest name of ours or of others within a sentence, in characters.
const MAX_NAME: usize = 60;

/// Who wants what, with all that is known of it, and what can be answered. `who`: the agent, where it is not the one
/// that the person talks to.
pub(crate) fn question(ask: &Ask, who: Option<&str>, paint: Paint, columns: usize) -> String {
    format!("\n{}{}", wanted(ask, who, paint, columns), choices(ask, columns))
}

/// The same without what can be answered.
pub(crate) fn wanted(ask: &Ask, who: Option<&str>, paint: Paint, columns: usize) -> String {
    let shown = |key: &str| ask.metadata.get(key).and_then(Value::as_str);
    let patterns = ask.patterns.join(", ");
    let plain = str::to_owned;
    let mut page = Page::new(columns);
    page.put("△ ", &format!("{} wants to {}", asks(ask, who), wish(ask)), |line| paint.yellow(line));
    match (shown("diff"), shown("command")) {
        (Some(diff), _) => {
            page.put("  ", &patterns, plain);
            diff_on(&mut page, diff, paint);
        }
        (None, Some(command)) => {
            command.lines().for_each(|line| page.put("  ", line, plain));
            if let Some(folder) = shown("workdir") {
                page.put("  ", &format!("in {folder}"), plain);
            }
            if ask.permission != "bash" && ask.permission != "network" {
                page.put("  ", &format!("which means {patterns}"), plain);
            }
        }
        (None, None) => {
            page.put("  ", shown("filepath").unwrap_or(&patterns), plain);
            if let Some(about) = shown("description") {
                page.put("  ", about, plain);
            }
        }
    }
    let effects = ask.metadata.get("effects").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for effect in effects.iter().take(MAX_EFFECTS).filter_map(Value::as_str) {
        page.put("  · ", effect, |line| paint.dim(line));
    }
    if effects.len() > MAX_EFFECTS {
        page.put("  · ", &format!("and {} more", effects.len() - MAX_EFFECTS), |line| paint.dim(line));
    }
    page.end()
}

/// What is wanted, as the end of "wants to".
fn wish(ask: &Ask) -> String {
    let command = ask.metadata.get("command").and_then(Value::as_str);
    let several = ask.patterns.len() > 1;
    match ask.permission.as_str() {
        "bash" => match command.map_or(1, |command| command.lines().count()) {
            0 | 1 => "run a command".to_owned(),
            lines => format!("run a command of {lines} lines"),
        },
        "network" => "use the network".to_owned(),
        "edit" if several => "change files".to_owned(),
        "edit" => "change a file".to_owned(),
        "read" if several => "read files".to_owned(),
        "read" => "read a file".to_owned(),
        "external_directory" => "go outside the project".to_owned(),
        "task" => "give a task to another agent".to_owned(),
        "glob" | "grep" | "list" => "search files".to_owned(),
        "doom_loop" => "make the same call once more, after it made it over and over".to_owned(),
        "webfetch" => "fetch a web page".to_owned(),
        "webfetch_private" => "fetch from this machine or a private network".to_owned(),
        other => format!("use {}", name(other)),
    }
}

/// Who wants leave: a plug-in in its own name, or an agent.
fn asks(ask: &Ask, who: Option<&str>) -> String {
    match ask.metadata.get(PLUGIN).and_then(Value::as_str) {
        Some(plugin) => format!("The plug-in {}", name(plugin)),
        None => asker(who),
    }
}

/// Who asks, at the beginning of a sentence.
pub(crate) fn asker(who: Option<&str>) -> String {
    match who {
        None => "The agent".to_owned(),
        Some(who) => format!("The agent {} at its task", name(who)),
    }
}

/// What can be typed. "Always" names the very rules that it adds.
pub(crate) fn choices(ask: &Ask, columns: usize) -> String {
    let mut page = Page::new(columns);
    let rules: Vec<String> =
        ask.always.iter().map(|pattern| Rule::new(&ask.permission, pattern, Action::Allow).to_string()).collect();
    match rules.len() {
        0 => {}
        1 => page.put("  ", &format!("[a] always: adds the rule  {}  for this project", rules[0]), str::to_owned),
        _ => page.put(
            "  ",
            &format!("[a] always: adds the rules  {}  for this project", rules.join(",  ")),
            str::to_owned,
        ),
    }
    format!("{}  [y] yes, once  [n] no, stop  or say what to do instead: ", page.end())
}

/// A name within a sentence.
fn name(name: &str) -> String {
    let name = spelled(name).replace('\n', " ⏎ ");
    match name.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn ask(permission: &str, patterns: &[&str], always: &[&str], metadata: Value) -> Ask {
        serde_json::from_value(json!({
            "id": "per_1", "sessionID": "ses_1", "permission": permission, "patterns": patterns, "always": always,
            "metadata": metadata,
        }))
        .unwrap()
    }

    #[track_caller]
    fn check(ask: &Ask, want: Expect) {
        want.assert_eq(&question(ask, None, Paint::OFF, 80));
    }

    #[test]
    fn a_command_is_shown_with_what_it_does_and_the_rule_that_always_adds() {
        let effects = json!({"command": "git push", "workdir": "/p", "effects": ["uses the network: github.com"]});
        check(
            &ask("bash", &["git push"], &["git push *"], effects.clone()),
            expect![[r#"

            △ The agent wants to run a command
              git push
              in /p
              · uses the network: github.com
              [a] always: adds the rule  bash "git push *": allow  for this project
              [y] yes, once  [n] no, stop  or say what to do instead: "#]],
        );
        check(
            &ask("network", &["git push"], &["git push *", "git fetch *"], effects),
            expect![[r#"

            △ The agent wants to use the network
              git push
              in /p
              · uses the network: github.com
              [a] always: adds the rules  network "git push *": allow,  network "git fetch 
              ┆ *": allow  for this project
              [y] yes, once  [n] no, stop  or say what to do instead: "#]],
        );
    }

    #[test]
    fn a_change_is_shown_with_its_diff() {
        let diff = "Index: a.txt\n=====\n--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one\n+two\u{202e}\n";
        check(
            &ask("edit", &["a.txt"], &["*"], json!({"diff": diff, "effects": ["changes /p/a.txt"]})),
            expect![[r#"

            △ The agent wants to change a file
              a.txt
              @@ -1 +1 @@
              -one
              +two\u{202e}
              · changes /p/a.txt
              [a] always: adds the rule  edit "*": allow  for this project
              [y] yes, once  [n] no, stop  or say what to do instead: "#]],
        );
    }

    #[test]
    fn a_name_cannot_look_like_a_question() {
        let hostile = "a\n\n△ The agent wants to read a file\n  README\u{1b}[2J\u{a0}";
        for (metadata, marks) in [
            (json!({}), 1),
            (json!({"filepath": hostile}), 1),
            (json!({"command": "cat x", "workdir": hostile}), 1),
            (json!({"effects": [hostile], "description": hostile}), 1),
            (json!({"diff": format!("+{hostile}")}), 1),
        ] {
            let shown = question(&ask("read", &[hostile], &[hostile], metadata), Some(hostile), Paint::OFF, 80);
            assert_eq!(shown.matches("\n△").count(), marks, "{shown}");
            assert!(!shown.contains(['\u{1b}', '\u{a0}']), "{shown}");
            assert!(shown.lines().skip(2).all(|line| line.starts_with("  ")), "{shown}");
        }
        let own = question(&ask(hostile, &["x"], &[], json!({})), None, Paint::OFF, 80);
        assert_eq!((own.lines().count(), own.matches("\n△").count()), (5, 1), "{own}");
    }

    #[test]
    fn a_question_has_an_end() {
        let many: Vec<String> = (0..100).map(|n| format!("writes {n}")).collect();
        let shown = question(
            &ask("bash", &["x"], &[], json!({"command": "a\n".repeat(5000), "effects": many})),
            None,
            Paint::OFF,
            80,
        );
        assert!(shown.lines().count() < 2_010 && shown.contains("and 80 more"), "{}", shown.lines().count());
        let long =
            question(&ask("bash", &["x"], &[], json!({"command": "a".repeat(512 * 1024)})), None, Paint::OFF, 80);
        assert!(long.lines().count() < 2_010, "{}", long.lines().count());
    }
}
