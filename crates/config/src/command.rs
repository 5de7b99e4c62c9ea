//! Slash commands as files define them.

use std::collections::BTreeSet;

use serde_json::Value;

/// A slash command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandConfig {
    /// What is typed after the slash.
    pub name: String,
    /// What is sent, with `$1`, `$ARGUMENTS`, `` !`command` `` and `@file` still in it.
    pub template: String,
    /// What it does, for people.
    pub description: Option<String>,
    /// The agent that answers.
    pub agent: Option<String>,
    /// The model, as `vendor/model`.
    pub model: Option<String>,
    /// The variant of that model.
    pub variant: Option<String>,
    /// Whether it is answered in a session of its own; the agent's kind decides if left out.
    pub subtask: Option<bool>,
    /// The file that said something about it last.
    pub origin: String,
}

impl CommandConfig {
    /// From the checked `value`.
    pub(crate) fn of(name: &str, value: &Value, origin: String) -> Self {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        Self {
            name: name.to_owned(),
            template: text("template").unwrap_or_default(),
            description: text("description"),
            agent: text("agent"),
            model: text("model"),
            variant: text("variant"),
            subtask: value.get("subtask").and_then(Value::as_bool),
            origin,
        }
    }

    /// The places in the template that arguments are put into.
    pub fn hints(&self) -> Vec<String> {
        hints(&self.template)
    }
}

/// The places in `template` that arguments are put into: `$1`, `$2`, … in order, then `$ARGUMENTS`.
pub fn hints(template: &str) -> Vec<String> {
    let numbers: BTreeSet<u32> = template.split('$').skip(1).filter_map(leading_number).collect();
    let mut hints: Vec<String> = numbers.iter().map(|number| format!("${number}")).collect();
    if template.contains("$ARGUMENTS") {
        hints.push("$ARGUMENTS".to_owned());
    }
    hints
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_the_places_of_arguments_in_order() {
        let check = |template: &str, want: &[&str]| {
            let command = CommandConfig { template: template.to_owned(), ..CommandConfig::default() };
            assert_eq!(command.hints(), want, "{template}");
        };
        check("", &[]);
        check("$ARGUMENTS $10 $2$2 $x $", &["$2", "$10", "$ARGUMENTS"]);
        check("$99999999999999999999", &[]);
    }
}
