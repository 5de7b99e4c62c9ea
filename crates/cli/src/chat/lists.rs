//! What a person chooses from, and what an old session ended with. Pure.

use haft_protocol::{FileDiff, Id, Message, PartKind, Session as Record, Todo, TurnSummary, Turned};
use haft_session::Agent;

use super::commands::OWN;
use crate::commands::session::ago;
use crate::render::{self, Page, Paint, clean};

/// Most names of a list that are shown.
pub(super) const MOST: usize = 20;

/// `text` in one line that no terminal obeys.
pub(super) fn one_line(text: &str) -> String {
    clean(text).replace('\n', " ")
}

/// Sessions, numbered from 1; the `current` one is marked.
pub(super) fn sessions(records: &[Record], current: Option<&str>, paint: Paint) -> Vec<String> {
    let row = |(at, record): (usize, &Record)| {
        let mark = mark(current == Some(record.id.as_str()));
        let when = paint.dim(&format!("{:>12}", ago(record.time.updated)));
        let id = paint.dim(record.id.as_str());
        format!("{mark}{:>3}  {when}  {}  {id}", at + 1, one_line(&record.title))
    };
    records.iter().enumerate().map(row).collect()
}

/// Names, numbered from 1; the `current` one is marked, and how many are left out is said.
pub(super) fn names(names: &[String], current: &str, paint: Paint) -> Vec<String> {
    let row = |(at, name): (usize, &String)| format!("{}{:>3}  {}", mark(name == current), at + 1, one_line(name));
    let mut lines: Vec<String> = names.iter().take(MOST).enumerate().map(row).collect();
    if names.len() > MOST {
        lines.push(paint.dim(&format!("     … and {} more; say a part of a name", names.len() - MOST)));
    }
    lines
}

/// The agents that answer a person.
pub(super) fn agents<'a>(agents: impl Iterator<Item = &'a Agent>, current: &str, paint: Paint) -> Vec<String> {
    let row = |agent: &Agent| {
        let about = agent.description.as_deref().map(|about| format!("  {}", paint.dim(&one_line(about))));
        format!("{}{:<10}{}", mark(agent.name == current), one_line(&agent.name), about.unwrap_or_default())
    };
    agents.map(row).collect()
}

fn mark(is_current: bool) -> &'static str {
    if is_current { "● " } else { "  " }
}

/// A list of things to do.
pub(super) fn todos(todos: &[Todo], paint: Paint) -> Vec<String> {
    let row = |todo: &Todo| {
        let content = one_line(&todo.content);
        match todo.status.as_str() {
            "completed" => paint.dim(&format!("[✓] {content}")),
            "in_progress" => paint.bold(&format!("[•] {content}")),
            "cancelled" => paint.dim(&format!("[-] {content}")),
            _ => format!("[ ] {content}"),
        }
    };
    todos.iter().take(MOST).map(row).collect()
}

/// What a turn came to.
pub(crate) fn summary(summary: &TurnSummary, paint: Paint) -> Vec<String> {
    let title = summary.title.as_deref().map(|title| paint.bold(&one_line(title)));
    let body = clean(summary.body.as_deref().unwrap_or_default());
    title.into_iter().chain(body.lines().map(str::to_owned)).collect()
}

/// How files differ, one after the other.
pub(super) fn diffs(files: &[FileDiff], columns: usize, paint: Paint) -> Vec<String> {
    let mut page = Page::new(columns);
    for FileDiff { file, patch, additions, deletions, .. } in files {
        page.put("", &format!("{file} +{additions} -{deletions}"), |line| paint.bold(line));
        render::diff_on(&mut page, patch, paint);
    }
    page.end().lines().map(str::to_owned).collect()
}

/// The commands and keys. `prompts`: commands that are prompts, with what they do.
pub(super) fn help(prompts: &[(String, String)], paint: Paint) -> Vec<String> {
    let mut lines = vec![paint.bold("Commands")];
    for own in OWN {
        let head = format!("/{} {}", own.name, own.arguments);
        let also = own.also.iter().map(|also| format!("/{also}")).collect::<Vec<_>>().join(" ");
        let also = if also.is_empty() { also } else { paint.dim(&format!("  ({also})")) };
        lines.push(format!("  {head:<36}{}{also}", own.help));
    }
    for (name, about) in prompts {
        lines.push(format!("  {:<36}{}", one_line(&format!("/{name} [WORDS]")), one_line(about)));
    }
    lines.push(paint.bold("Keys"));
    for (key, does) in KEYS {
        lines.push(format!("  {key:<36}{does}"));
    }
    lines
}

/// What the keys do.
const KEYS: [(&str, &str); 11] = [
    ("!COMMAND", "run a command line yourself; the agent reads what came of it"),
    ("@FILE, @FOLDER, @AGENT", "show a file, or hand the work to an agent"),
    ("Tab", "complete a command, a file, an agent; where nothing is typed: the next agent answers"),
    ("Ctrl-T", "the next set of the model's options, such as high"),
    ("Up, Ctrl-R", "what you said before, or look for words in it"),
    ("Alt-Enter, Ctrl-J, \\ and Enter", "a new line"),
    ("Ctrl-X Ctrl-E", "go on in $VISUAL or $EDITOR"),
    ("Enter while the agent works", "it reads your words after the step that runs"),
    ("Ctrl-Q while the agent works", "it reads your words once it is done"),
    ("Ctrl-C", "stop the agent; twice: leave"),
    ("Ctrl-D", "leave"),
];

/// The last `most` prompts of a session with what came of them.
pub(super) fn replay(messages: &[Turned], most: usize, paint: Paint) -> Vec<String> {
    let prompts = messages.iter().enumerate().filter(|(_, turned)| matches!(turned.info, Message::User(_)));
    let Some((from, _)) = prompts.rev().take(most).last() else { return Vec::new() };
    let mut lines = Vec::new();
    for turned in &messages[from..] {
        let is_prompt = matches!(turned.info, Message::User(_));
        for part in &turned.parts {
            if let PartKind::Text { text, synthetic: false, .. } = &part.kind
                && !text.trim().is_empty()
            {
                lines.push(String::new());
                if let Some(plugin) = turned.plugin() {
                    lines.push(paint.dim(&one_line(&format!("the plug-in {plugin} says:"))));
                }
                match is_prompt {
                    true => lines.extend(clean(text).lines().map(|line| paint.bold(&format!("› {line}")))),
                    false => lines.extend(render::answer(text.trim_end(), paint).lines().map(str::to_owned)),
                }
            }
            if let PartKind::Tool { tool, state, .. } = &part.kind {
                lines.extend(render::tool_lines(tool, state, paint).into_iter().take(1));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(title: &str) -> Record {
        serde_json::from_value(json!({
            "id": "ses_000000000001AAAAAAAAAAAAAA", "slug": "s", "projectID": "p", "directory": "/", "title": title,
            "version": "1", "time": {"created": 0, "updated": haft_protocol::Clock::system().now_ms()},
        }))
        .unwrap()
    }

    #[test]
    fn a_title_is_one_line_that_obeys_nothing() {
        let lines = sessions(&[record("fix\nit\u{1b}[2J"), record("b")], None, Paint::OFF);
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("    1       0 s ago  fix it") && !lines[0].contains('\u{1b}'), "{lines:?}");
        let id = record("b").id;
        assert!(sessions(&[record("b")], Some(id.as_str()), Paint::OFF)[0].starts_with("●   1"));
    }

    #[test]
    fn a_long_list_says_what_it_leaves_out() {
        let many: Vec<String> = (0..MOST + 3).map(|n| format!("v/m{n}")).collect();
        let lines = names(&many, "v/m1", Paint::OFF);
        assert_eq!((lines.len(), lines[1].as_str()), (MOST + 1, "●   2  v/m1"));
        assert!(lines[MOST].contains("3 more"), "{lines:?}");
    }

    #[test]
    fn help_names_every_command() {
        let lines = help(&[("init".to_owned(), "write AGENTS.md".to_owned())], Paint::OFF).join("\n");
        for own in OWN {
            assert!(lines.contains(&format!("/{} ", own.name)) && lines.contains(own.help), "{}", own.name);
        }
        assert!(lines.contains("/init [WORDS]") && lines.contains("Ctrl-D"), "{lines}");
    }
}
