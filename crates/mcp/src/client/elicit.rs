//! What a server wants to know from the person, as questions, and their answers as the server wants them.

use haft_permission::Denied;
use haft_protocol::{Answers, Choice, Question};
use haft_tool::Call;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value};

use super::naming::{clean, line};

/// Most fields that a form may have: so many questions can be asked at once.
const MAX_FIELDS: usize = 10;
/// Most answers that can be chosen from; a list of more is asked for as text.
const MAX_CHOICES: usize = 50;
/// How often the person is asked for what they wrote in a way that the server does not take.
const TRIES: usize = 3;
/// What declines a form.
const NO: &str = "Decline";
/// What accepts one that has nothing to fill in, or says that an address was opened.
const YES: &str = "Accept";

/// Asks the person what `server` wants to know.
///
/// Nobody there to be asked: `cancel`. A question that they put away: `decline`.
pub(super) async fn ask(call: &Call, server: &str, asked: &ElicitRequestParams) -> ElicitResult {
    let (message, schema) = match asked {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            (message, serde_json::to_value(requested_schema).unwrap_or_default())
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            return open(call, server, message, url).await;
        }
        _ => return ElicitResult::new(ElicitationAction::Decline),
    };
    let Some(form) = Form::of(server, message, &schema) else {
        tracing::warn!(server, "asked for more than can be asked for at once");
        return ElicitResult::new(ElicitationAction::Decline);
    };
    let mut why = None;
    for _ in 0..TRIES {
        let answers = match call.question(form.questions(why.as_deref())).await {
            Ok(answers) => answers,
            Err(denied) => return ElicitResult::new(refusal(&denied)),
        };
        match form.content(&answers) {
            Ok(Some(content)) => return ElicitResult::new(ElicitationAction::Accept).with_content(content.into()),
            Ok(None) => return ElicitResult::new(ElicitationAction::Decline),
            Err(wrong) => why = Some(wrong),
        }
    }
    ElicitResult::new(ElicitationAction::Cancel)
}

fn refusal(denied: &Denied) -> ElicitationAction {
    match denied {
        Denied::Rule { .. } | Denied::Hook { .. } | Denied::Rejected | Denied::Advised(_) | Denied::Dismissed => {
            ElicitationAction::Decline
        }
        Denied::Nobody { .. } | Denied::Along | Denied::Closed => ElicitationAction::Cancel,
    }
}

/// Shows the person an address to go to. Nothing is opened by itself.
async fn open(call: &Call, server: &str, message: &str, url: &str) -> ElicitResult {
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    if !is_web || url.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return ElicitResult::new(ElicitationAction::Decline);
    }
    let question = Question {
        question: format!("{}\n\nOpen this address yourself if you know it:\n{}", intro(server, message), clean(url)),
        header: line(server),
        options: vec![choice(YES, "it is open"), choice(NO, "do not go there")],
        multiple: None,
        custom: Some(false),
    };
    let action = match call.question(vec![question]).await {
        Ok(answers) if chosen(&answers, 0).first().is_some_and(|one| one == YES) => ElicitationAction::Accept,
        Ok(_) => ElicitationAction::Decline,
        Err(denied) => refusal(&denied),
    };
    ElicitResult::new(action)
}

fn intro(server: &str, message: &str) -> String {
    format!("The MCP server {:?} asks: {}", clean(server), clean(message))
}

fn choice(label: &str, description: &str) -> Choice {
    Choice { label: label.to_owned(), description: description.to_owned() }
}

fn chosen(answers: &Answers, at: usize) -> &[String] {
    answers.get(at).map(Vec::as_slice).unwrap_or_default()
}

/// What a server wants to know.
struct Form<'s> {
    intro: String,
    fields: Vec<Field<'s>>,
}

struct Field<'s> {
    name: &'s str,
    schema: &'s Value,
    required: bool,
    /// What can be chosen: the value, and what it is called.
    choices: Vec<(Value, String)>,
    multiple: bool,
}

impl<'s> Form<'s> {
    fn of(server: &str, message: &str, schema: &'s Value) -> Option<Self> {
        let properties = schema["properties"].as_object();
        let fields: Vec<_> = properties.into_iter().flatten().map(|(name, one)| Field::of(name, one, schema)).collect();
        (fields.len() <= MAX_FIELDS).then(|| Self { intro: intro(server, message), fields })
    }

    fn questions(&self, why: Option<&str>) -> Vec<Question> {
        let mut intro = self.intro.clone();
        if let Some(why) = why {
            intro = format!("{intro}\n\n{why}");
        }
        if self.fields.is_empty() {
            let options = vec![choice(YES, ""), choice(NO, "")];
            let header = "Confirm".to_owned();
            return vec![Question { question: intro, header, options, multiple: None, custom: Some(false) }];
        }
        self.fields.iter().map(|field| field.question(&intro)).collect()
    }

    /// The answers as the server wants them; `None` where the person declined.
    ///
    /// # Errors
    ///
    /// What is wrong with them, for the person.
    fn content(&self, answers: &Answers) -> Result<Option<Map<String, Value>>, String> {
        if self.fields.is_empty() {
            let yes = chosen(answers, 0).first().is_some_and(|one| one == YES);
            return Ok(yes.then(Map::new));
        }
        let mut content = Map::new();
        for (at, field) in self.fields.iter().enumerate() {
            match field.value(chosen(answers, at))? {
                Some(value) => {
                    content.insert(field.name.to_owned(), value);
                }
                // Nothing was said where something must be: they do not want to.
                None if field.required => return Ok(None),
                None => {}
            }
        }
        Ok(Some(content))
    }
}

impl<'s> Field<'s> {
    fn of(name: &'s str, schema: &'s Value, form: &Value) -> Self {
        let required = form["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
        let multiple = schema["type"] == "array";
        let options = if multiple { &schema["items"] } else { schema };
        let titled = [&options["oneOf"], &options["anyOf"]].into_iter().find_map(Value::as_array);
        let choices = if let Some(titled) = titled {
            let one = |one: &Value| {
                let value = one.get("const")?.clone();
                let title = one["title"].as_str().map_or_else(|| label(&value), line);
                Some((value, title))
            };
            titled.iter().filter_map(one).collect()
        } else if let Some(words) = options["enum"].as_array() {
            let name = |at: usize| options["enumNames"].get(at).and_then(Value::as_str).map(line);
            let one = |(at, value): (usize, &Value)| (value.clone(), name(at).unwrap_or_else(|| label(value)));
            words.iter().enumerate().map(one).collect()
        } else if options["type"] == "boolean" {
            vec![(Value::Bool(true), "Yes".to_owned()), (Value::Bool(false), "No".to_owned())]
        } else {
            Vec::new()
        };
        Self { name, schema, required, choices, multiple }
    }

    fn question(&self, intro: &str) -> Question {
        let text = |key: &str| self.schema[key].as_str().map(clean);
        let mut question = format!("{intro}\n\n{}", text("title").unwrap_or_else(|| clean(self.name)));
        if let Some(about) = text("description") {
            question = format!("{question}: {about}");
        }
        let default = self.schema.get("default");
        let mut options: Vec<Choice> =
            self.choices.iter().take(MAX_CHOICES).map(|(_, title)| choice(title, "")).collect();
        match default {
            Some(default) if self.choices.is_empty() => options.push(choice(&label(default), "as it is")),
            Some(default) => question = format!("{question} (left out: {})", self.title(default)),
            None if !self.required => question.push_str(" (may be left out)"),
            None => {}
        }
        let header: String = line(self.schema["title"].as_str().unwrap_or(self.name)).chars().take(24).collect();
        let fixed = !self.choices.is_empty() && self.choices.len() <= MAX_CHOICES;
        Question { question, header, options, multiple: self.multiple.then_some(true), custom: Some(!fixed) }
    }

    /// What `value` is called.
    fn title(&self, value: &Value) -> String {
        let titles = |value: &Value| {
            let known = self.choices.iter().find(|(one, _)| one == value);
            known.map_or_else(|| label(value), |(_, title)| title.clone())
        };
        match value {
            Value::Array(values) => values.iter().map(titles).collect::<Vec<_>>().join(", "),
            value => titles(value),
        }
    }

    /// What was answered, or else what stands for no answer.
    fn value(&self, said: &[String]) -> Result<Option<Value>, String> {
        let said: Vec<&str> = said.iter().map(|one| one.trim()).filter(|one| !one.is_empty()).collect();
        let Some(first) = said.first() else { return Ok(self.schema.get("default").cloned()) };
        if self.multiple {
            let values: Result<Vec<Value>, String> = said.iter().map(|one| self.choice(one)).collect();
            return values.map(|values| Some(values.into()));
        }
        if !self.choices.is_empty() {
            return self.choice(first).map(Some);
        }
        let whole = said.join(" ");
        let wrong = |what: &str| format!("{} must be {what}, not {whole:?}.", clean(self.name));
        let value = match self.schema["type"].as_str() {
            Some("integer") => whole.parse::<i64>().map(Value::from).map_err(|_| wrong("a whole number"))?,
            Some("number") => {
                let number = whole.parse::<f64>().ok().and_then(serde_json::Number::from_f64);
                number.map(Value::Number).ok_or_else(|| wrong("a number"))?
            }
            _ => Value::from(whole.as_str()),
        };
        let bounds = [("minimum", std::cmp::Ordering::Less), ("maximum", std::cmp::Ordering::Greater)];
        for (key, beyond) in bounds {
            let (Some(bound), Some(number)) = (self.schema[key].as_f64(), value.as_f64()) else { continue };
            if number.partial_cmp(&bound) == Some(beyond) {
                return Err(wrong(&format!("no {} than {bound}", if key == "minimum" { "less" } else { "more" })));
            }
        }
        let length = whole.chars().count() as u64;
        if self.schema["minLength"].as_u64().is_some_and(|least| length < least)
            || self.schema["maxLength"].as_u64().is_some_and(|most| length > most)
        {
            return Err(wrong("of another length"));
        }
        Ok(Some(value))
    }

    fn choice(&self, said: &str) -> Result<Value, String> {
        let known = self.choices.iter().find(|(value, title)| title == said || label(value) == said);
        known.map(|(value, _)| value.clone()).ok_or_else(|| format!("{said:?} is none of the answers."))
    }
}

/// A value as an answer that can be chosen.
fn label(value: &Value) -> String {
    match value {
        Value::String(text) => line(text),
        value => line(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(schema: &Value, answers: &[&[&str]]) -> Result<Option<Value>, String> {
        let form = Form::of("s", "m", schema).unwrap();
        let answers = answers.iter().map(|one| one.iter().map(|text| (*text).to_owned()).collect()).collect();
        form.content(&answers).map(|content| content.map(Value::from))
    }

    #[test]
    fn each_field_is_a_question() {
        let schema = json!({"properties": {
            "name": {"type": "string", "title": "Name", "description": "of \u{1b}you"},
            "colour": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"], "default": "g"},
            "sure": {"type": "boolean"},
            "many": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b"}]}},
            "age": {"type": "integer", "default": 7},
        }, "required": ["name"]});
        let form = Form::of("srv", "Who?", &schema).unwrap();
        let told: Vec<String> = form
            .questions(None)
            .into_iter()
            .map(|question| {
                let options: Vec<String> = question.options.into_iter().map(|one| one.label).collect();
                let last = question.question.lines().last().unwrap_or_default().to_owned();
                format!("{last} [{}] multiple={:?} custom={:?}", options.join(","), question.multiple, question.custom)
            })
            .collect();
        assert_eq!(
            told,
            [
                "Name: of you [] multiple=None custom=Some(true)",
                "colour (left out: Green) [Red,Green] multiple=None custom=Some(false)",
                "sure (may be left out) [Yes,No] multiple=None custom=Some(false)",
                "many (may be left out) [A,b] multiple=Some(true) custom=Some(false)",
                "age [7] multiple=None custom=Some(true)",
            ]
        );
        assert!(form.questions(Some("No."))[0].question.starts_with("The MCP server \"srv\" asks: Who?\n\nNo.\n\n"));
    }

    #[test]
    fn answers_become_what_the_server_wants() {
        let row = |schema: Value, answers: &[&[&str]], want: Value| {
            assert_eq!(filled(&schema, answers), Ok(Some(want)), "{schema}");
        };
        let one = |schema: Value| json!({"properties": {"x": schema}});
        row(one(json!({"type": "string"})), &[&["hi there"]], json!({"x": "hi there"}));
        row(one(json!({"type": "integer"})), &[&["5"]], json!({"x": 5}));
        row(one(json!({"type": "number"})), &[&["1.5"]], json!({"x": 1.5}));
        row(one(json!({"type": "boolean"})), &[&["No"]], json!({"x": false}));
        row(one(json!({"enum": ["a", "b"], "enumNames": ["A", "B"]})), &[&["B"]], json!({"x": "b"}));
        row(one(json!({"type": "array", "items": {"enum": ["a", "b"]}})), &[&["a", "b"]], json!({"x": ["a", "b"]}));
        // What is left out is what the server says it is then.
        row(one(json!({"type": "string", "default": "d"})), &[&[]], json!({"x": "d"}));
        row(one(json!({"type": "boolean", "default": true})), &[], json!({"x": true}));
        row(one(json!({"type": "string"})), &[&[]], json!({}));
        row(json!({"properties": {}}), &[&[YES]], json!({}));
    }

    #[test]
    fn what_does_not_fit_is_asked_again_and_what_is_not_given_declines() {
        let one = |schema: Value| json!({"properties": {"x": schema}, "required": ["x"]});
        let wrong = |schema: Value, said: &str| filled(&one(schema), &[&[said]]).unwrap_err();
        assert_eq!(wrong(json!({"type": "integer"}), "five"), "x must be a whole number, not \"five\".");
        assert_eq!(wrong(json!({"type": "integer", "maximum": 3}), "5"), "x must be no more than 3, not \"5\".");
        assert_eq!(wrong(json!({"type": "number", "minimum": 3}), "1"), "x must be no less than 3, not \"1\".");
        assert_eq!(wrong(json!({"type": "string", "minLength": 3}), "ab"), "x must be of another length, not \"ab\".");
        assert_eq!(wrong(json!({"enum": ["a"]}), "c"), "\"c\" is none of the answers.");
        assert_eq!(filled(&one(json!({"type": "string"})), &[&[]]), Ok(None));
        assert_eq!(filled(&json!({"properties": {}}), &[&[NO]]), Ok(None));
        let many: Map<String, Value> = (0..=MAX_FIELDS).map(|n| (n.to_string(), json!({}))).collect();
        assert!(Form::of("s", "m", &json!({ "properties": many })).is_none());
    }
}
