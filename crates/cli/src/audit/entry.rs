//! What happened, as an entry of the log. Pure.

use std::path::Path;

use haft_permission::{By, Done, Effect, Matter, Note, Noted};
use haft_protocol::Id;
use serde_json::{Map, Value, json};

/// Longest text of an entry, in bytes; of a longer one the beginning is kept, and how long it was.
const MAX_TEXT: usize = 8 * 1024;
/// Most patterns, effects or rules of one entry; of more, how many there were.
const MAX_ITEMS: usize = 64;
/// Most bytes of all texts of an entry together.
const MAX_TEXTS: usize = 32 * 1024;

/// The fields of the entry for `note`.
pub(super) fn fields(note: &Note) -> Map<String, Value> {
    let mut texts = Texts { left: MAX_TEXTS };
    let mut fields = Map::new();
    fields.insert("session".to_owned(), note.asker.session.as_str().into());
    let call = note.asker.call.as_ref().map(|call| texts.cut(&call.call_id));
    fields.insert("call".to_owned(), call.into());
    if let Some(plugin) = &note.plugin {
        fields.insert("plugin".to_owned(), texts.cut(plugin).into());
    }
    let (kind, more) = match &note.noted {
        Noted::Asked(matter) => ("ask", texts.matter(matter)),
        Noted::Granted(matter, by) => ("grant", texts.decision(matter, by)),
        Noted::Denied(matter, by) => ("denial", texts.decision(matter, by)),
        Noted::Done(done) => ("effect", texts.done(done)),
    };
    fields.insert("kind".to_owned(), kind.into());
    if let Value::Object(more) = more {
        fields.extend(more);
    }
    fields
}

/// Cuts texts so that an entry stays small.
struct Texts {
    left: usize,
}

impl Texts {
    fn cut(&mut self, text: &str) -> String {
        let most = MAX_TEXT.min(self.left);
        let kept = &text[..text.floor_char_boundary(most)];
        self.left -= kept.len();
        match text.len() - kept.len() {
            0 => kept.to_owned(),
            more => format!("{kept}… {more} bytes more"),
        }
    }

    fn list<T>(&mut self, items: &[T], one: impl Fn(&mut Self, &T) -> Value) -> Value {
        let mut list: Vec<Value> = items.iter().take(MAX_ITEMS).map(|item| one(self, item)).collect();
        if items.len() > MAX_ITEMS {
            list.push(format!("… {} more", items.len() - MAX_ITEMS).into());
        }
        list.into()
    }

    fn strings(&mut self, items: &[String]) -> Value {
        self.list(items, |texts, item| texts.cut(item).into())
    }

    fn path(&mut self, path: &Path) -> String {
        self.cut(&path.to_string_lossy())
    }

    fn matter(&mut self, matter: &Matter) -> Value {
        json!({
            "permission": self.cut(&matter.permission),
            "patterns": self.strings(&matter.patterns),
            "effects": self.list(&matter.effects, |texts, effect| texts.effect(effect)),
        })
    }

    fn decision(&mut self, matter: &Matter, by: &By) -> Value {
        let mut value = self.matter(matter);
        let (who, rules) = match by {
            By::Rules(rules) => ("rule", Some(("rules", rules.as_slice()))),
            By::Approval => ("approval", None),
            By::Person => ("person", None),
            By::Always(patterns) => ("person", Some(("always", patterns.as_slice()))),
            By::Beside => ("person, of a call beside it", None),
            By::Advance => ("--auto", None),
            By::Hook(name) => ("hook", Some(("hooks", std::slice::from_ref(name)))),
            By::Nobody => ("nobody there", None),
            By::Stopped => ("nobody, stopped", None),
        };
        value["by"] = who.into();
        if let Some((key, rules)) = rules {
            value[key] = self.strings(rules);
        }
        value
    }

    fn effect(&mut self, effect: &Effect) -> Value {
        match effect {
            Effect::Read(path) => json!({ "read": self.path(path) }),
            Effect::Write(path) => json!({ "write": self.path(path) }),
            Effect::Enter(path) => json!({ "enter": self.path(path) }),
            Effect::Run { command, dir } => json!({ "run": self.cut(command), "dir": self.path(dir) }),
            Effect::Delegate(agent) => json!({ "delegate": self.cut(agent) }),
            Effect::Change(path) => json!({ "change": self.path(path) }),
            Effect::Network => json!({ "network": true }),
            Effect::Host(host) => json!({ "host": self.cut(host) }),
        }
    }

    fn done(&mut self, done: &Done) -> Value {
        match done {
            Done::Started { command, dir, rung, cage } => json!({
                "did": "started", "command": self.cut(command), "dir": self.path(dir),
                "rung": self.cut(rung), "cage": self.cut(cage),
            }),
            Done::Ended { command, exit } => json!({ "did": "ended", "command": self.cut(command), "exit": exit }),
            Done::Wrote(path) => json!({ "did": "wrote", "path": self.path(path) }),
            Done::Removed(path) => json!({ "did": "removed", "path": self.path(path) }),
            Done::Spoke(host) => json!({ "did": "spoke", "host": self.cut(host) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_permission::Asker;
    use haft_protocol::{AskedBy, Clock};

    fn note(noted: Noted) -> Map<String, Value> {
        let clock = Clock::scripted(1);
        let call = Some(AskedBy { message_id: clock.mint(), call_id: "call_1".to_owned() });
        let mut fields = fields(&Note { asker: Asker { session: clock.mint(), call }, plugin: None, noted });
        assert!(fields.remove("session").unwrap().as_str().unwrap().starts_with("ses_"));
        assert_eq!(fields.remove("call").unwrap(), "call_1");
        fields
    }

    #[track_caller]
    fn check(noted: Noted, want: Value) {
        assert_eq!(Value::Object(note(noted)), want);
    }

    fn matter(effects: Vec<Effect>) -> Matter {
        Matter { permission: "bash".to_owned(), patterns: vec!["ls".to_owned()], effects }
    }

    #[test]
    fn decisions_say_what_they_are_about_and_who_made_them() {
        let ask = json!({"kind": "ask", "permission": "bash", "patterns": ["ls"], "effects": [{"network": true}]});
        check(Noted::Asked(matter(vec![Effect::Network])), ask);
        let run = Effect::Run { command: "ls".to_owned(), dir: "/p".into() };
        check(
            Noted::Granted(matter(vec![run, Effect::Change("/p".into())]), By::Always(vec!["ls *".to_owned()])),
            json!({
                "kind": "grant", "permission": "bash", "patterns": ["ls"],
                "effects": [{"run": "ls", "dir": "/p"}, {"change": "/p"}], "by": "person", "always": ["ls *"],
            }),
        );
        check(
            Noted::Denied(matter(Vec::new()), By::Rules(vec!["bash \"*\": deny".to_owned()])),
            json!({
                "kind": "denial", "permission": "bash", "patterns": ["ls"], "effects": [], "by": "rule",
                "rules": ["bash \"*\": deny"],
            }),
        );
    }

    #[test]
    fn effects_say_what_was_done() {
        check(
            Noted::Done(Done::Started {
                command: "ls".to_owned(),
                dir: "/p".into(),
                rung: "landlock".to_owned(),
                cage: "writes /p".to_owned(),
            }),
            json!({"kind": "effect", "did": "started", "command": "ls", "dir": "/p", "rung": "landlock", "cage": "writes /p"}),
        );
        let ended = Done::Ended { command: "ls".to_owned(), exit: None };
        check(Noted::Done(ended), json!({"kind": "effect", "did": "ended", "command": "ls", "exit": null}));
        check(Noted::Done(Done::Wrote("/p/a".into())), json!({"kind": "effect", "did": "wrote", "path": "/p/a"}));
    }

    #[test]
    fn an_entry_is_small_whatever_is_asked() {
        let long = "é".repeat(MAX_TEXT);
        let cut =
            note(Noted::Asked(Matter { permission: long.clone(), patterns: vec![long; 1000], effects: Vec::new() }));
        let text = Value::Object(cut.clone()).to_string();
        assert!(text.len() < 2 * MAX_TEXTS, "{}", text.len());
        assert!(cut["permission"].as_str().unwrap().ends_with(&format!("é… {MAX_TEXT} bytes more")));
        assert_eq!(cut["patterns"].as_array().unwrap().last().unwrap(), "… 936 more");
    }
}
