//! Sessions as files: `{"info", "messages": [{"info", "parts"}]}`, which is also OpenCode's form. Reading one is pure; what
//! has no place here is left out and named.

use std::collections::{BTreeMap, HashMap};

use haft_protocol::{
    Clock, Event, Id, Message, MessageId, Part, PartKind, Session, SessionId, Todo, ToolState, Turned,
};
use haft_store::Journal;
use serde_json::{Map, Value, json};

use crate::error::SessionError;
use crate::session::new_id;
use crate::stored::slug::slug;

/// Events that are stored in one go.
const AT_ONCE: usize = 512;
/// Kinds of things that are named when they are left out. Beyond, they are counted together.
const MAX_NAMED: usize = 64;

/// A session that is no part of a store.
#[derive(Debug, Clone, PartialEq)]
pub struct Portable {
    /// Its record.
    pub info: Session,
    /// Its messages, oldest first.
    pub messages: Vec<Turned>,
    /// Its list of things to do.
    pub todos: Vec<Todo>,
    /// What had no place: what it is, and how often.
    pub left_out: BTreeMap<String, u64>,
}

/// A file that is no session.
#[derive(Debug, thiserror::Error)]
pub enum BadPortable {
    /// It has another form.
    #[error("it is not a session: {0} is missing; `haft session export` and `opencode export` write such files")]
    Missing(&'static str),
    /// Its record cannot be read.
    #[error("the record of its session cannot be read")]
    Info(#[source] serde_json::Error),
}

impl Portable {
    /// A stored session.
    ///
    /// # Errors
    ///
    /// When there is no such session or the store fails.
    pub async fn stored(journal: &Journal, id: &SessionId) -> Result<Self, SessionError> {
        let info = journal.session(id).await?.ok_or_else(|| SessionError::Unknown(id.clone()))?;
        let messages = journal.history(id).await?.messages().to_vec();
        let todos = journal.todos(id).await?;
        Ok(Self { info, messages, todos, left_out: BTreeMap::new() })
    }

    /// The file's form. The list of things to do is there only where it has any.
    pub fn value(&self) -> Value {
        let messages: Vec<Value> =
            self.messages.iter().map(|turned| json!({ "info": turned.info, "parts": turned.parts })).collect();
        let mut value = json!({ "info": self.info, "messages": messages });
        if !self.todos.is_empty() {
            value["todos"] = json!(self.todos);
        }
        value
    }

    /// Reads the file's form. Messages and parts that are of no known kind or broken are left out, and fields without a
    /// place are; each is named in `left_out`. So are the lists of what was done to files, and the sessions that did tasks: undo
    /// would do what they say to files here, and who wrote the file may have made them up. Times behind `now`, in milliseconds
    /// since the Unix epoch, become that; costs and numbers of tokens that cannot be become 0.
    ///
    /// # Errors
    ///
    /// When it is no session, or its record cannot be read.
    pub fn read(mut value: Value, now: u64) -> Result<Self, BadPortable> {
        let mut left = Left::default();
        let info = value.get_mut("info").map(Value::take).ok_or(BadPortable::Missing("`info`"))?;
        let Some(Value::Array(rows)) = value.get_mut("messages").map(Value::take) else {
            return Err(BadPortable::Missing("the list `messages`"));
        };
        let mut info = whole_record(info);
        left.mend("session", &mut info, now);
        let mut record: Session = serde_json::from_value(info.clone()).map_err(BadPortable::Info)?;
        left.compare("session", &info, &json!(record));
        if let Some(revert) = &mut record.revert {
            (revert.snapshot, revert.diff) = (None, Some(String::new()));
        }
        let mut messages = Vec::with_capacity(rows.len());
        let mut prompt: Option<MessageId> = None;
        for mut row in rows {
            let info = row.get_mut("info").map(Value::take).unwrap_or_default();
            let mut info = whole_message(info, &record, prompt.as_ref());
            left.mend("message", &mut info, now);
            let message = match serde_json::from_value::<Message>(info.clone()) {
                Ok(message) => message,
                Err(error) => {
                    left.note(format!("message that cannot be read ({error})"));
                    continue;
                }
            };
            let who = match &message {
                Message::User(user) => {
                    prompt = Some(user.id.clone());
                    "prompt"
                }
                Message::Assistant(_) => "answer",
            };
            left.compare(who, &info, &json!(message));
            let Some(Value::Array(rows)) = row.get_mut("parts").map(Value::take) else {
                messages.push(Turned { info: message, parts: Vec::new() });
                continue;
            };
            let parts = rows.into_iter().filter_map(|part| left.part(part, &record.id, message.id(), now)).collect();
            messages.push(Turned { info: message, parts });
        }
        let todos = value.get_mut("todos").map(Value::take).unwrap_or_default();
        let todos = serde_json::from_value(todos).unwrap_or_default();
        Ok(Self { info: record, messages, todos, left_out: left.named })
    }

    /// The same with ids that no stored session has.
    ///
    /// # Errors
    ///
    /// When the store fails.
    pub async fn anew(mut self, journal: &Journal, clock: &Clock) -> Result<Self, SessionError> {
        let id = new_id(journal, clock).await?;
        let mut ids: HashMap<MessageId, MessageId> = HashMap::new();
        for turned in &mut self.messages {
            let new: MessageId = clock.mint();
            ids.insert(turned.info.id().clone(), new.clone());
            match &mut turned.info {
                Message::User(user) => (user.id, user.session_id) = (new.clone(), id.clone()),
                Message::Assistant(answer) => {
                    (answer.id, answer.session_id) = (new.clone(), id.clone());
                    if let Some(parent) = ids.get(&answer.parent_id) {
                        answer.parent_id = parent.clone();
                    }
                }
            }
            for part in &mut turned.parts {
                rename(part, &id, &new, clock);
                if let PartKind::Compaction { tail_start_id: Some(tail), .. } = &mut part.kind
                    && let Some(new) = ids.get(tail)
                {
                    *tail = new.clone();
                }
            }
        }
        // What was taken back names messages and old contents that are not those of the copy.
        self.info.revert = None;
        self.info.share = None;
        self.info.parent_id = None;
        self.info.slug = slug(&id);
        self.info.id = id;
        Ok(self)
    }

    /// Stores it, in the place of one with the same id. The caller holds the lease of that.
    ///
    /// # Errors
    ///
    /// When the store fails; what was stored before stays.
    pub async fn store(self, journal: &Journal) -> Result<SessionId, SessionError> {
        let id = self.info.id.clone();
        let mut events = Vec::new();
        if let Some(old) = journal.session(&id).await? {
            events.push(Event::SessionDeleted { session_id: id.clone(), info: Box::new(old) });
        }
        events.push(Event::SessionCreated { session_id: id.clone(), info: Box::new(self.info) });
        for Turned { info, parts } in self.messages {
            let time = info.created();
            events.push(Event::MessageUpdated { session_id: id.clone(), info: Box::new(info) });
            for part in parts {
                events.push(Event::PartUpdated { session_id: id.clone(), part: Box::new(part), time });
            }
        }
        if !self.todos.is_empty() {
            events.push(Event::TodoUpdated { session_id: id.clone(), todos: self.todos });
        }
        while !events.is_empty() {
            let rest = events.split_off(events.len().min(AT_ONCE));
            journal.record_all(std::mem::replace(&mut events, rest)).await?;
        }
        Ok(id)
    }
}

fn rename(part: &mut Part, session: &SessionId, message: &MessageId, clock: &Clock) {
    part.id = clock.mint();
    part.session_id = session.clone();
    part.message_id = message.clone();
    if let Some(ToolState::Completed { attachments, .. }) = part.kind.state_mut() {
        attachments.iter_mut().for_each(|file| rename(file, session, message, clock));
    }
}

/// Fills in what older records lack.
fn whole_record(mut info: Value) -> Value {
    let Value::Object(fields) = &mut info else { return info };
    let slug = fields.get("id").and_then(Value::as_str).and_then(|id| SessionId::parse(id).ok()).map(|id| slug(&id));
    put(fields, "slug", json!(slug.unwrap_or_default()));
    put(fields, "projectID", json!("global"));
    put(fields, "directory", json!("/"));
    put(fields, "title", json!(""));
    put(fields, "version", json!(env!("CARGO_PKG_VERSION")));
    put(fields, "time", json!({"created": 0, "updated": 0}));
    info
}

/// Fills in what older messages lack.
fn whole_message(mut info: Value, session: &Session, prompt: Option<&MessageId>) -> Value {
    let Value::Object(fields) = &mut info else { return info };
    put(fields, "time", json!({"created": session.time.created}));
    // A part that moved with its message belongs to this session, whatever it was called there.
    fields.insert("sessionID".to_owned(), json!(session.id));
    put(fields, "agent", fields.get("mode").cloned().unwrap_or_else(|| json!("build")));
    if fields.get("role").and_then(Value::as_str) == Some("user") {
        let model = session.model.as_ref();
        let (vendor, model) = model.map_or(("", ""), |model| (model.provider_id.as_str(), model.id.as_str()));
        put(fields, "model", json!({"providerID": vendor, "modelID": model}));
        return info;
    }
    put(fields, "mode", fields.get("agent").cloned().unwrap_or_default());
    put(fields, "parentID", prompt.map_or_else(|| fields.get("id").cloned().unwrap_or_default(), |id| json!(id)));
    put(fields, "modelID", json!(""));
    put(fields, "providerID", json!(""));
    put(fields, "path", json!({"cwd": session.directory, "root": session.directory}));
    put(fields, "cost", json!(0));
    put(fields, "tokens", json!({"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}));
    info
}

fn put(fields: &mut Map<String, Value>, name: &str, value: Value) {
    if fields.get(name).is_none_or(Value::is_null) {
        fields.insert(name.to_owned(), value);
    }
}

/// What is left out, and how often.
#[derive(Default)]
struct Left {
    named: BTreeMap<String, u64>,
}

impl Left {
    fn note(&mut self, what: String) {
        let what = if self.named.len() < MAX_NAMED { what } else { "more of other kinds".to_owned() };
        *self.named.entry(what).or_default() += 1;
    }

    fn part(&mut self, mut value: Value, session: &SessionId, message: &MessageId, now: u64) -> Option<Part> {
        let kind = value.get("type").and_then(Value::as_str).unwrap_or("nothing").to_owned();
        if let Value::Object(fields) = &mut value {
            fields.insert("sessionID".to_owned(), json!(session));
            fields.insert("messageID".to_owned(), json!(message));
            if kind == "reasoning" {
                put(fields, "time", json!({"start": 0, "end": 0}));
            }
        }
        self.mend("part", &mut value, now);
        if let Some(state) = value.get_mut("state") {
            self.mend("part", state, now);
        }
        // Whom a task was done by is whose changes are taken back with it.
        if let Some(Value::Object(metadata)) = value.pointer_mut("/state/metadata")
            && metadata.remove("sessionId").is_some()
        {
            metadata.remove("jobId");
            self.note("which sessions its tasks were, so that undo leaves those alone".to_owned());
        }
        match serde_json::from_value::<Part>(value.clone()) {
            Ok(Part { kind: PartKind::Patch { .. }, .. }) => {
                self.note("what was done to files, so that undo leaves files alone".to_owned());
                None
            }
            Ok(part) => {
                self.compare(&format!("part {kind:?}"), &value, &json!(part));
                Some(part)
            }
            Err(error) if error.to_string().contains("unknown variant") => {
                self.note(format!("part of kind {kind:?}"));
                None
            }
            Err(error) => {
                self.note(format!("part {kind:?} that cannot be read ({error})"));
                None
            }
        }
    }

    /// Puts what may be in the place of times that have not come yet, and of sums below nothing.
    fn mend(&mut self, what: &str, value: &mut Value, now: u64) {
        let times = value.get_mut("time").and_then(Value::as_object_mut);
        for time in times.into_iter().flat_map(Map::values_mut) {
            if time.as_f64().is_some_and(|time| time > now as f64) {
                *time = json!(now);
                self.note(format!("{what}: a time that has not come yet"));
            }
        }
        if let Some(cost) = value.get_mut("cost")
            && cost.as_f64().is_none_or(|cost| !cost.is_finite() || cost < 0.0)
        {
            *cost = json!(0);
            self.note(format!("{what}: a cost that cannot be"));
        }
        if let Some(tokens) = value.get_mut("tokens") {
            self.counts(what, tokens);
        }
    }

    fn counts(&mut self, what: &str, tokens: &mut Value) {
        for count in tokens.as_object_mut().into_iter().flat_map(Map::values_mut) {
            match count {
                Value::Object(_) => self.counts(what, count),
                Value::Number(number) if number.is_u64() => {}
                _ => {
                    *count = json!(0);
                    self.note(format!("{what}: a number of tokens that cannot be"));
                }
            }
        }
    }

    /// Names the fields of `given` that `kept` has not.
    fn compare(&mut self, what: &str, given: &Value, kept: &Value) {
        let Value::Object(given) = given else { return };
        for (name, value) in given {
            match kept.get(name) {
                Some(kept) => self.compare(&format!("{what}: {name}"), value, kept),
                None if says_nothing(value) => {}
                None => self.note(format!("{what}: {name}")),
            }
        }
    }
}

/// Whether a field may be left away without a loss.
fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opencode() -> Value {
        json!({
            "info": {
                "id": "ses_e003cdf39ffeJES6ATInhuKl0j", "slug": "gentle-rocket", "projectID": "297377b5",
                "workspaceID": "wrk_1", "directory": "/p", "path": "", "title": "Mend it", "agent": "build",
                "model": {"id": "m1", "providerID": "mock", "variant": "default"}, "version": "1.18.33", "cost": 0.5,
                "tokens": {"input": 1, "output": 2, "reasoning": 3, "cache": {"read": 4, "write": 5}},
                "share": {"url": "https://example.org/s/1"}, "metadata": {"kept": [1, 2]},
                "summary": {"additions": 1, "deletions": 2, "files": 3},
                "permission": [{"permission": "bash", "pattern": "*", "action": "deny"}],
                "time": {"created": 1, "updated": 2, "archived": 4}
            },
            "messages": [
                {
                    "info": {"id": "msg_1", "sessionID": "ses_x", "role": "user", "time": {"created": 1}, "agent": "build",
                             "model": {"providerID": "mock", "modelID": "m1", "variant": "high"}},
                    "parts": [
                        {"id": "prt_1", "sessionID": "ses_x", "messageID": "msg_1", "type": "text", "text": "Mend", "synthetic": false},
                        {"id": "prt_2", "sessionID": "ses_x", "messageID": "msg_1", "type": "hologram", "beam": 1},
                        {"id": "prt_3", "sessionID": "ses_x", "messageID": "msg_1", "type": "compaction", "auto": true},
                        {"id": "prt_7", "sessionID": "ses_x", "messageID": "msg_1", "type": "file", "mime": "text/plain",
                         "url": "file:///p/a", "source": {"type": "file", "path": "a", "text": {"value": "@a", "start": 0, "end": 2}}},
                        {"id": "prt_8", "sessionID": "ses_x", "messageID": "msg_1", "type": "agent", "name": "explore",
                         "source": {"value": "@explore", "start": 3, "end": 11}}
                    ]
                },
                {
                    "info": {"id": "msg_2", "sessionID": "ses_x", "role": "assistant", "parentID": "msg_1",
                             "time": {"created": 2, "completed": 3}, "modelID": "m1", "providerID": "mock", "mode": "build",
                             "agent": "build", "path": {"cwd": "/p", "root": "/p"}, "cost": 0.5, "finish": "stop",
                             "tokens": {"input": 1, "output": 2, "reasoning": 3, "cache": {"read": 4, "write": 5}}},
                    "parts": [
                        {"id": "prt_4", "sessionID": "ses_x", "messageID": "msg_2", "type": "step-start", "snapshot": "abc"},
                        {"id": "prt_5", "sessionID": "ses_x", "messageID": "msg_2", "type": "tool", "callID": "c", "tool": "read",
                         "state": {"status": "completed", "input": {"filePath": "a"}, "output": "x", "title": "a",
                                   "metadata": {"n": 1}, "time": {"start": 1, "end": 2}}},
                        {"id": "prt_6", "sessionID": "ses_x", "messageID": "msg_2", "type": "tool", "callID": 7}
                    ]
                },
                {"info": {"role": "nobody"}, "parts": []}
            ]
        })
    }

    #[test]
    fn what_has_a_place_is_kept_and_the_rest_is_named() {
        let read = Portable::read(opencode(), u64::MAX).unwrap();
        let named: Vec<&str> = read.left_out.keys().map(String::as_str).collect();
        expect_test::expect![[r#"
            [
                "message that cannot be read (unknown variant `nobody`, expected `user` or `assistant`)",
                "part \"step-start\": snapshot",
                "part \"tool\" that cannot be read (invalid type: integer `7`, expected a string)",
                "part of kind \"hologram\"",
                "session: workspaceID",
            ]
        "#]]
        .assert_debug_eq(&named);
        assert_eq!(read.info.share.as_ref().unwrap().url, "https://example.org/s/1");
        // What stands in parts of a prompt comes out as it went in.
        for at in [3, 4] {
            assert_eq!(
                read.value()["messages"][0]["parts"][at - 1]["source"],
                opencode()["messages"][0]["parts"][at]["source"]
            );
        }
        let Message::User(user) = &read.messages[0].info else { panic!("{read:?}") };
        assert_eq!(user.variant.as_deref(), Some("high"));
        assert_eq!((read.info.time.archived, read.messages.len()), (Some(4), 2));
        // Written and read once more nothing changes.
        let again = Portable::read(read.value(), u64::MAX).unwrap();
        assert_eq!(again, Portable { left_out: BTreeMap::new(), ..read });
    }

    #[test]
    fn nothing_that_was_imported_tells_undo_what_to_do() {
        let mut hostile = opencode();
        let hash = "6".repeat(64);
        hostile["info"]["revert"] = json!({"messageID": "msg_1", "snapshot": hash, "diff": null});
        let patch = json!({"id": "prt_7", "sessionID": "ses_x", "messageID": "msg_2", "type": "patch", "hash": hash,
                           "files": ["/home/me/.profile"]});
        let task = json!({"id": "prt_8", "sessionID": "ses_x", "messageID": "msg_2", "type": "tool", "callID": "c", "tool": "task",
                          "state": {"status": "completed", "input": {}, "output": "", "title": "", "time": {"start": 0, "end": 1},
                                    "metadata": {"sessionId": "ses_of_somebody_else", "kept": true}}});
        hostile["messages"][1]["parts"] = json!([patch, task]);
        let read = Portable::read(hostile, u64::MAX).unwrap();
        assert_eq!(read.messages[1].parts.len(), 1);
        let task = json!(read.messages[1].parts[0]);
        assert_eq!(task["state"]["metadata"], json!({"kept": true}));
        assert_eq!(read.left_out["which sessions its tasks were, so that undo leaves those alone"], 1);
        assert_eq!(read.left_out["what was done to files, so that undo leaves files alone"], 1);
        let revert = read.info.revert.unwrap();
        assert_eq!((revert.message_id.as_str(), revert.snapshot), ("msg_1", None));
        // It is not as if it had been cut off in the middle, either.
        assert_eq!(revert.diff.as_deref(), Some(""));
    }

    #[test]
    fn what_cannot_be_is_mended_and_named() {
        let mut wrong = opencode();
        wrong["info"]["time"] = json!({"created": 1, "updated": 5_000});
        wrong["info"]["cost"] = json!(-3.5);
        wrong["messages"][1]["info"]["cost"] = Value::Null;
        wrong["messages"][1]["info"]["tokens"] =
            json!({"input": -1, "output": 2, "reasoning": 0.5, "cache": {"read": -4, "write": 5}});
        wrong["messages"][1]["info"]["time"] = json!({"created": 2, "completed": 1e300});
        wrong["messages"][1]["parts"] = json!([
            {"id": "prt_1", "type": "step-finish", "reason": "stop", "cost": "NaN",
             "tokens": {"input": 1, "output": 2, "reasoning": 3, "cache": {"read": 4, "write": 5}}},
            {"id": "prt_2", "type": "tool", "callID": "c", "tool": "read", "state": {"status": "completed",
             "input": {"time": {"at": 9_000}}, "output": "", "title": "", "metadata": {}, "time": {"start": 1, "end": 9_000}}},
        ]);
        let read = Portable::read(wrong, 1_000).unwrap();
        let value = read.value();
        assert_eq!((&value["info"]["time"]["updated"], &value["info"]["cost"]), (&json!(1_000), &json!(0.0)));
        let answer = &value["messages"][1];
        assert_eq!((&answer["info"]["time"]["completed"], &answer["info"]["cost"]), (&json!(1_000), &json!(0.0)));
        let tokens = json!({"input": 0, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 5}});
        assert_eq!(answer["info"]["tokens"], tokens);
        assert_eq!(answer["parts"][0]["cost"], 0.0);
        let state = &answer["parts"][1]["state"];
        assert_eq!((&state["time"]["end"], &state["input"]["time"]["at"]), (&json!(1_000), &json!(9_000)));
        assert_eq!(read.left_out["message: a number of tokens that cannot be"], 3);
        assert_eq!(read.left_out["session: a cost that cannot be"], 1);
        assert_eq!(read.left_out["part: a time that has not come yet"], 1);
    }

    #[test]
    fn what_is_no_session_is_refused() {
        for value in
            [json!({}), json!([]), json!({"info": {}}), json!({"info": {"id": "x"}, "messages": []}), json!(null)]
        {
            assert!(Portable::read(value.clone(), u64::MAX).is_err(), "{value}");
        }
    }

    #[tokio::test]
    async fn a_session_is_stored_again_in_its_place_or_under_new_ids() {
        let journal = Journal::memory();
        let read = Portable::read(opencode(), u64::MAX).unwrap();
        let id = read.clone().store(&journal).await.unwrap();
        let mut changed = read.clone();
        changed.messages.truncate(1);
        changed.clone().store(&journal).await.unwrap();
        let stored = Portable::stored(&journal, &id).await.unwrap();
        assert_eq!(stored.messages, changed.messages);

        let copy = read.clone().anew(&journal, &Clock::scripted(1)).await.unwrap();
        assert_ne!(copy.info.id, id);
        let Message::Assistant(answer) = &copy.messages[1].info else { panic!("{copy:?}") };
        assert_eq!(answer.parent_id, *copy.messages[0].info.id());
        let copied = copy.clone().store(&journal).await.unwrap();
        assert_eq!(Portable::stored(&journal, &copied).await.unwrap().messages, copy.messages);
        assert_eq!(Portable::stored(&journal, &id).await.unwrap().messages, changed.messages);
    }
}
