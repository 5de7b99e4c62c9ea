//! What is at stake, in words for a person. Pure.

use haft_config::{Effect, Stake, Stakes};
use serde_json::{Value, json};

use crate::render::spelled;

/// Most items that a question names before it says how many more there are.
const MAX_NAMED: usize = 12;
/// Most items that a warning names.
const MAX_WARNED: usize = 4;
/// Longest line, in characters.
const MAX_LINE: usize = 400;

/// One line for whoever runs haft where the project is not trusted.
pub(crate) fn in_short(stakes: &Stakes) -> String {
    if let Some(unseen) = &stakes.unseen {
        return format!(
            "this project's settings count only as far as they hold back, and cannot be trusted by their content: there \
             is too much to look at ({}); --trust trusts them for one run",
            line(unseen)
        );
    }
    let mut names: Vec<String> = stakes.items.iter().take(MAX_WARNED).map(|item| line(&item.key)).collect();
    if stakes.items.len() > MAX_WARNED {
        names.push(format!("{} more", stakes.items.len() - MAX_WARNED));
    }
    format!("this project is not trusted, so some of its settings do not count: {}; see `haft trust`", names.join(", "))
}

/// The question: what it is about, an item a line. `known`: the items that were trusted before.
pub(crate) fn brief(stakes: &Stakes, known: &[&str]) -> String {
    let mut text =
        "\n△ This project has settings of its own that give more, or run programs, if you trust it\n".to_owned();
    for item in stakes.items.iter().take(MAX_NAMED) {
        text.push_str(&format!("  {}\n", headline(item, known)));
    }
    if stakes.items.len() > MAX_NAMED {
        text.push_str(&format!("  and {} more\n", stakes.items.len() - MAX_NAMED));
    }
    text
}

/// All of it, as it is written.
pub(crate) fn full(stakes: &Stakes, known: &[&str]) -> String {
    let mut text = String::new();
    for item in &stakes.items {
        text.push_str(&format!("\n{}\n  in {}\n", headline(item, known), line(&item.origin)));
        let pretty =
            serde_json::from_str::<Value>(&item.text).ok().filter(|value| value.is_object() || value.is_array());
        let written = pretty.map_or_else(|| item.text.clone(), |value| format!("{value:#}"));
        for row in written.lines() {
            text.push_str(&format!("    {}\n", spelled(row)));
        }
    }
    text
}

fn headline(item: &Stake, known: &[&str]) -> String {
    let verb = match item.effect {
        Effect::Runs => "runs",
        Effect::Loosens => "gives",
    };
    let old = known.iter().any(|digest| !digest.is_empty() && item.digest.starts_with(digest));
    // Everything is new where nothing was trusted yet.
    let new = if known.is_empty() || old { "" } else { "  (new or changed)" };
    format!("{verb:5}  {} {}{new}", line(&item.key), line(&item.why))
}

/// `item` for programs.
pub(crate) fn item_json(item: &Stake) -> Value {
    json!({
        "effect": item.effect.word(),
        "key": item.key,
        "file": item.origin,
        "why": item.why,
        "text": item.text,
        "digest": item.digest,
    })
}

/// On one line, without what a terminal would obey, and not endless: a project chooses these words.
fn line(text: &str) -> String {
    let text = spelled(&text.replace('\n', " ⏎ ")).into_owned();
    match text.char_indices().nth(MAX_LINE) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn item(effect: Effect, key: &str, text: &str) -> Stake {
        Stake {
            effect,
            key: key.to_owned(),
            origin: "/p/opencode.json".to_owned(),
            why: "does so".to_owned(),
            text: text.to_owned(),
            digest: format!("{key:0<64}"),
        }
    }

    fn stakes() -> Stakes {
        let items = vec![
            item(Effect::Runs, "mcp.docs", r#"{"command":["node","x.mjs"]}"#),
            item(Effect::Loosens, "provider.evil\n  [y] yes\u{1b}[2J", "a\n\u{202e}b"),
        ];
        Stakes { items, digest: "d".to_owned(), unseen: None }
    }

    #[test]
    fn the_question_names_each_item_and_no_item_looks_like_a_question() {
        expect![[r#"

            △ This project has settings of its own that give more, or run programs, if you trust it
              runs   mcp.docs does so
              gives  provider.evil ⏎   [y] yes\u{1b}[2J does so
        "#]]
        .assert_eq(&brief(&stakes(), &[]));
        let changed = brief(&stakes(), &["mcp.docs00000000"]);
        assert_eq!(changed.matches("(new or changed)").count(), 1);
        let many = Stakes { items: vec![item(Effect::Runs, "k", ""); 20], ..Stakes::default() };
        assert!(brief(&many, &[]).ends_with("  and 8 more\n"));
    }

    #[test]
    fn all_of_it_is_shown_as_it_is_written() {
        expect![[r#"

            runs   mcp.docs does so
              in /p/opencode.json
                {
                  "command": [
                    "node",
                    "x.mjs"
                  ]
                }

            gives  provider.evil ⏎   [y] yes\u{1b}[2J does so
              in /p/opencode.json
                a
                \u{202e}b
        "#]]
        .assert_eq(&full(&stakes(), &[]));
    }

    #[test]
    fn the_warning_is_one_line_and_says_what_to_do() {
        let text = in_short(&stakes());
        assert!(
            text.lines().count() == 1 && text.ends_with("; see `haft trust`") && text.contains("mcp.docs, provider")
        );
        let many = Stakes { items: vec![item(Effect::Runs, "k", ""); 6], ..Stakes::default() };
        assert!(in_short(&many).contains("k, k, k, k, 2 more"));
        let unseen = Stakes { unseen: Some("the files in /p/tool".to_owned()), ..Stakes::default() };
        assert!(in_short(&unseen).contains("too much to look at (the files in /p/tool)"));
        let long = Stakes { items: vec![item(Effect::Runs, &"k".repeat(10_000), "")], ..Stakes::default() };
        assert!(in_short(&long).len() < 1_000);
    }
}
