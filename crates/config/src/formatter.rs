//! Programs that tidy files after a change, as the settings want them. Pure.

use serde_json::Value;

/// Whether programs tidy a file after it was changed, and which.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Formatters {
    /// None does.
    #[default]
    Off,
    /// Those that are known, changed and added to by these, in the order in which they were first named.
    On(Vec<FormatterConfig>),
}

/// What the settings say of one of them. What is left out is as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FormatterConfig {
    /// What it is called.
    pub name: String,
    /// Whether it is not used.
    pub disabled: bool,
    /// The program and its arguments, in which `$FILE` stands for the file; at least the program.
    pub command: Option<Vec<String>>,
    /// Variables that it is given beside those that commands have.
    pub environment: Vec<(String, String)>,
    /// The ends of the names of files that it is for, such as `.rs`.
    pub extensions: Option<Vec<String>>,
}

impl Formatters {
    /// From the checked and merged `value`.
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Bool(true) => Self::On(Vec::new()),
            Value::Object(all) => Self::On(all.iter().map(|(name, value)| FormatterConfig::of(name, value)).collect()),
            _ => Self::Off,
        }
    }
}

impl FormatterConfig {
    fn of(name: &str, value: &Value) -> Self {
        let texts = |key: &str| -> Option<Vec<String>> {
            let items = value.get(key)?.as_array()?;
            Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        };
        let environment = value.get("environment").and_then(Value::as_object).into_iter().flatten();
        let pair = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
        Self {
            name: name.to_owned(),
            disabled: value.get("disabled").and_then(Value::as_bool).unwrap_or(false),
            command: texts("command").filter(|command| !command.is_empty()),
            environment: environment.filter_map(pair).collect(),
            extensions: texts("extensions"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn they_are_off_unless_somebody_says_otherwise() {
        let names = |value: Value| match Formatters::of(&value) {
            Formatters::Off => None,
            Formatters::On(all) => Some(all.into_iter().map(|one| one.name).collect::<Vec<_>>()),
        };
        assert_eq!(names(Value::Null), None);
        assert_eq!(names(json!(false)), None);
        assert_eq!(names(json!(true)), Some(Vec::new()));
        assert_eq!(names(json!({})), Some(Vec::new()));
        assert_eq!(names(json!({"b": {}, "a": {"disabled": true}})), Some(vec!["b".to_owned(), "a".to_owned()]));
    }

    #[test]
    fn what_is_left_out_is_left_to_what_is_known() {
        let one = |value: Value| FormatterConfig::of("x", &value);
        let bare = one(json!({"command": [], "disabled": false}));
        assert_eq!(bare, FormatterConfig { name: "x".to_owned(), ..FormatterConfig::default() });
        let whole = one(json!({"command": ["f", "$FILE"], "environment": {"A": "b"}, "extensions": [".x"]}));
        assert_eq!(whole.command.as_deref(), Some(&["f".to_owned(), "$FILE".to_owned()][..]));
        assert_eq!(whole.environment, [("A".to_owned(), "b".to_owned())]);
        assert_eq!(whole.extensions, Some(vec![".x".to_owned()]));
    }
}
