//! Sessions at random, as they may be stored: all kinds of parts in all states, answers that failed and that were stopped,
//! models and vendors that change in the middle, and no end, because the program was killed.

use haft_protocol::{
    Assistant, Clock, Event, Failure, History, Id, Message, MessageId, MessageTime, ModelRef, Object, Part, PartId,
    PartKind, Paths, RetryTime, SessionId, Span, Subtask, Tokens, ToolSpan, ToolState, User,
};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

/// Vendors and models of theirs.
pub(crate) const MODELS: [(&str, &str); 7] = [
    ("openai", "gpt-5.2"),
    ("anthropic", "claude-sonnet-4-5"),
    ("google", "gemini-3-pro"),
    ("amazon-bedrock", "us.anthropic.claude-sonnet-4-5-v1:0"),
    ("mistral", "devstral-2"),
    ("deepseek", "deepseek-v3.2"),
    ("own", "m1"),
];

/// What stands in everything that only this model may be given back.
pub(crate) fn mark((vendor, model): (&str, &str)) -> String {
    format!("made-by({vendor}/{model})")
}

/// A session as it might have been.
#[derive(Debug, Clone)]
pub(crate) struct Stored(Vec<Turn>);

#[derive(Debug, Clone)]
enum Turn {
    Prompt(Vec<Shown>),
    Answer((&'static str, &'static str), Vec<Said>, End),
}

#[derive(Debug, Clone)]
enum Shown {
    Words { text: &'static str, synthetic: bool, ignored: bool },
    File(&'static str, &'static str, Option<&'static str>),
    Agent,
    Subtask,
}

#[derive(Debug, Clone)]
enum Said {
    Words(&'static str, Option<usize>),
    Thought(&'static str, Option<usize>),
    Vendor,
    Call { id: &'static str, tool: &'static str, arguments: &'static str, how: How, item: Option<usize> },
    Retry,
}

#[derive(Debug, Clone)]
enum How {
    Pending,
    Running,
    Done { output: &'static str, files: Vec<Shown>, dropped: bool },
    Failed { error: &'static str, interrupted: bool },
}

#[derive(Debug, Clone, Copy)]
enum End {
    Finished(&'static str),
    Stopped,
    Failed,
    /// Nobody wrote its end.
    None,
}

/// Sessions.
pub(crate) fn sessions() -> impl Strategy<Value = Stored> {
    let models = prop_oneof![3 => Just(MODELS[6]), 4 => select(&MODELS[..])];
    let ends = select(vec![
        End::Finished("stop"),
        End::Finished("tool-calls"),
        End::Finished("tool-calls"),
        End::Finished("length"),
        End::Finished("other"),
        End::Stopped,
        End::Failed,
        End::None,
    ]);
    let answer = (models, prop::collection::vec(said(), 0..6), ends)
        .prop_map(|(model, said, end)| Turn::Answer(model, said, end));
    let prompt = prop::collection::vec(shown(), 0..4).prop_map(Turn::Prompt);
    let exchange = (prompt, prop::collection::vec(answer, 0..4))
        .prop_map(|(prompt, answers)| std::iter::once(prompt).chain(answers).collect::<Vec<_>>());
    prop::collection::vec(exchange, 1..5).prop_map(|turns| Stored(turns.concat()))
}

/// A session, and where it is cut off.
pub(crate) fn cut_sessions() -> impl Strategy<Value = (Stored, Index)> {
    (sessions(), any::<Index>())
}

fn words() -> impl Strategy<Value = &'static str> {
    select(vec!["", " \n", "word", "a blank behind it \n ", "é \"quoted\" \\ \u{1} \u{2028}", "```json\n{}\n```"])
}

fn shown() -> impl Strategy<Value = Shown> {
    let files = select(vec![
        ("image/png", "data:image/png;base64,iVBORw0KGgo=", Some("a.png")),
        ("image/png", "data:image/png;base64,", None),
        ("image/svg+xml", "data:image/svg+xml;base64,AAAA", None),
        ("application/pdf", "data:application/pdf;base64,JVBERi0=", Some("some file (1).pdf")),
        ("audio/wav", "data:audio/wav;base64,AAAA", None),
        ("text/plain", "file:///project/a.rs", Some("a.rs")),
        ("image/png", "data:image/png,broken", None),
    ]);
    prop_oneof![
        5 => (words(), any::<bool>(), prop::bool::weighted(0.2))
            .prop_map(|(text, synthetic, ignored)| Shown::Words { text, synthetic, ignored }),
        3 => files.prop_map(|(mime, url, name)| Shown::File(mime, url, name)),
        1 => Just(Shown::Agent),
        1 => Just(Shown::Subtask),
    ]
}

fn said() -> impl Strategy<Value = Said> {
    let item = || prop::option::of(0..ITEMS);
    let ids = select(vec![
        "call_1",
        "call_1",
        "call.with odd:chars",
        "",
        "toolu_01AbCdEfGhIjKlMnOp1",
        "toolu_01AbCdEfGhIjKlMnOp2",
    ]);
    let tools = select(vec!["read", "read", "bash", "invalid", "functions.read", "a name with blanks", ""]);
    let arguments = select(vec!["{}", "{\"filePath\":\"a.rs\"}", "", "[1, {", "3", "{\"a\":{\"b\":null}}"]);
    let how = prop_oneof![
        Just(How::Pending),
        Just(How::Running),
        (words(), prop::collection::vec(shown(), 0..3), prop::bool::weighted(0.2))
            .prop_map(|(output, files, dropped)| How::Done { output, files, dropped }),
        (words(), any::<bool>()).prop_map(|(error, interrupted)| How::Failed { error, interrupted }),
    ];
    let call = (ids, tools, arguments, how, item()).prop_map(|(id, tool, arguments, how, item)| Said::Call {
        id,
        tool,
        arguments,
        how,
        item,
    });
    prop_oneof![
        3 => (words(), item()).prop_map(|(text, item)| Said::Words(text, item)),
        2 => (words(), item()).prop_map(|(text, item)| Said::Thought(text, item)),
        1 => Just(Said::Vendor),
        5 => call,
        1 => Just(Said::Retry),
    ]
}

/// Most forms of items that a vendor has.
const ITEMS: usize = 3;

/// The forms of items that the dialect of `vendor` keeps beside words, thoughts and calls, and for themselves.
fn forms(vendor: &str) -> (&'static [usize], Option<usize>) {
    match vendor {
        "openai" => (&[6, 7], Some(5)),
        "anthropic" => (&[2, 3, 4], Some(5)),
        "amazon-bedrock" => (&[2, 3, 4], None),
        "google" => (&[8], Some(9)),
        _ => (&[0, 1], None),
    }
}

/// An item that `model` made, which holds its mark.
fn item(model: (&str, &str), form: usize) -> Object {
    let mark = mark(model);
    let value = match form {
        0 => json!({"field": "reasoning_content"}),
        1 => json!({"field": "reasoning_details", "details": [{"type": "reasoning.text", "text": mark}]}),
        2 => json!({"signature": mark}),
        3 => json!({"redacted": mark}),
        4 => json!({"citations": [{"type": "char_location", "cited_text": mark}]}),
        5 => json!({"type": "web_search_call", "id": mark, "status": "completed"}),
        6 => json!({"type": "reasoning", "id": mark, "summary": [], "encrypted_content": mark}),
        7 => json!({"type": "message", "id": mark, "phase": "final_answer"}),
        8 => json!({"thought": true, "thoughtSignature": mark}),
        _ => json!({"part": {"executableCode": {"language": "PYTHON", "code": mark}}}),
    };
    let all = json!({"vendor": model.0, "model": model.1, "value": value});
    all.as_object().cloned().unwrap_or_default()
}

/// Writes a session down.
struct Writer {
    clock: Clock,
    session: SessionId,
    events: Vec<Event>,
}

impl Stored {
    /// Everything that was told while it was stored.
    pub(crate) fn events(&self) -> Vec<Event> {
        let clock = Clock::scripted(1_000);
        let session = clock.mint();
        let mut writer = Writer { clock, session, events: Vec::new() };
        let mut asked: MessageId = writer.clock.mint();
        for turn in &self.0 {
            match turn {
                Turn::Prompt(shown) => asked = writer.prompt(shown),
                Turn::Answer(model, said, end) => writer.answer(*model, said, *end, &asked),
            }
        }
        writer.events
    }

    /// What is left where only the part of the events up to `cut` was written, with a prompt behind it.
    pub(crate) fn history(&self, cut: &Index) -> History {
        let events = self.events();
        let mut history = History::default();
        let until = cut.index(events.len() + 1);
        events[..until].iter().for_each(|event| history.apply(event));
        go_on(&mut history);
        history
    }
}

/// Adds a prompt.
pub(crate) fn go_on(history: &mut History) {
    let clock = Clock::scripted(900_000_000);
    let session = history.messages().first().map_or_else(|| clock.mint(), |turned| turned.info.session_id().clone());
    let mut writer = Writer { clock, session, events: Vec::new() };
    writer.prompt(&[Shown::Words { text: "go on", synthetic: false, ignored: false }]);
    writer.events.iter().for_each(|event| history.apply(event));
}

impl Writer {
    fn message(&mut self, info: Message) {
        self.events.push(Event::MessageUpdated { session_id: self.session.clone(), info: Box::new(info) });
    }

    fn part(&mut self, id: &PartId, message: &MessageId, kind: PartKind) {
        let (session_id, time) = (self.session.clone(), self.clock.now_ms());
        let part = Part { id: id.clone(), session_id: session_id.clone(), message_id: message.clone(), kind };
        self.events.push(Event::PartUpdated { session_id, part: Box::new(part), time });
    }

    fn prompt(&mut self, shown: &[Shown]) -> MessageId {
        let id: MessageId = self.clock.mint();
        let time = MessageTime { created: self.clock.now_ms(), completed: None };
        let model = reference(MODELS[6]);
        let session_id = self.session.clone();
        self.message(Message::User(User {
            id: id.clone(),
            session_id,
            time,
            agent: "build".to_owned(),
            model,
            variant: Some("high".to_owned()),
            format: None,
            summary: None,
            system: None,
        }));
        for one in shown {
            let part = self.clock.mint();
            self.part(&part, &id, kind(one));
        }
        id
    }

    fn answer(&mut self, model: (&'static str, &'static str), said: &[Said], end: End, asked: &MessageId) {
        let id: MessageId = self.clock.mint();
        let reference = reference(model);
        let mut info = Assistant {
            id: id.clone(),
            session_id: self.session.clone(),
            parent_id: asked.clone(),
            time: MessageTime { created: self.clock.now_ms(), completed: None },
            model_id: reference.model_id,
            provider_id: reference.provider_id,
            mode: "build".to_owned(),
            agent: "build".to_owned(),
            path: Paths { cwd: String::new(), root: String::new() },
            cost: 0.0,
            tokens: Tokens::default(),
            finish: None,
            error: None,
            structured: None,
            summary: false,
            variant: None,
        };
        self.message(Message::Assistant(info.clone()));
        let part = self.clock.mint();
        self.part(&part, &id, PartKind::StepStart {});
        for one in said {
            self.say(model, &id, one);
        }
        match end {
            End::Finished(word) => info.finish = Some(word.to_owned()),
            End::Stopped => info.error = Some(Box::new(Failure::aborted("stopped"))),
            End::Failed => info.error = Some(Box::new(Failure::new("APIError", "it broke"))),
            End::None => return,
        }
        info.time.completed = Some(self.clock.now_ms());
        let part = self.clock.mint();
        let kind = PartKind::StepFinish { reason: String::new(), cost: 0.0, tokens: Tokens::default() };
        self.part(&part, &id, kind);
        self.message(Message::Assistant(info));
    }

    fn say(&mut self, model: (&str, &str), message: &MessageId, said: &Said) {
        let id: PartId = self.clock.mint();
        let start = self.clock.now_ms();
        let (open, closed) = (Span { start, end: None }, Span { start, end: Some(start) });
        let (beside, alone) = forms(model.0);
        let kept = |form: &Option<usize>| form.map(|form| Box::new(item(model, beside[form % beside.len()])));
        match said {
            Said::Words(text, form) => {
                let words = |text: &str, time, metadata| PartKind::Text {
                    text: text.to_owned(),
                    synthetic: false,
                    ignored: false,
                    time: Some(time),
                    metadata,
                };
                self.part(&id, message, words("", open, None));
                self.part(&id, message, words(text, closed, kept(form)));
            }
            Said::Thought(text, form) => {
                // Thoughts are for the model that thought them.
                // Some vendors keep the words to themselves; those without items of their own have nothing else to send.
                let silent = text.trim().is_empty() && alone.is_some();
                let text = if silent { (*text).to_owned() } else { format!("{text} {}", mark(model)) };
                self.part(&id, message, PartKind::Reasoning { text: String::new(), time: open, metadata: None });
                self.part(&id, message, PartKind::Reasoning { text, time: closed, metadata: kept(form) });
            }
            Said::Vendor => {
                if let Some(form) = alone {
                    self.part(&id, message, PartKind::Vendor { metadata: item(model, form) });
                }
            }
            Said::Retry => {
                let error = Failure::new("APIError", "busy");
                let time = RetryTime { created: start };
                self.part(&id, message, PartKind::Retry { attempt: 1, error: Box::new(error), time });
            }
            Said::Call { id: call, tool, arguments, how, item: form } => {
                let metadata = kept(form);
                let mut tell = |state: ToolState| {
                    let (call_id, tool, metadata) = ((*call).to_owned(), (*tool).to_owned(), metadata.clone());
                    let state = Box::new(state);
                    self.part(&id, message, PartKind::Tool { call_id, tool, state, metadata });
                };
                let pending = |raw: &str| ToolState::Pending { input: Object::new(), raw: raw.to_owned() };
                let input: Value = serde_json::from_str(arguments).unwrap_or(Value::Null);
                tell(pending(""));
                tell(pending(arguments));
                if matches!(how, How::Pending) {
                    return;
                }
                tell(ToolState::Running { input: input.clone(), title: None, metadata: None, time: open });
                let time = |dropped: bool| ToolSpan { start, end: start, compacted: dropped.then_some(start) };
                match how {
                    How::Pending | How::Running => {}
                    How::Done { output, files, dropped } => {
                        let file = |one: &Shown| Part {
                            id: Id::parse("prt_0000000000f1AAAAAAAAAAAAAA").unwrap(),
                            session_id: Id::parse("ses_0000000000f1AAAAAAAAAAAAAA").unwrap(),
                            message_id: message.clone(),
                            kind: kind(one),
                        };
                        tell(ToolState::Completed {
                            input,
                            output: (*output).to_owned(),
                            title: String::new(),
                            metadata: Object::new(),
                            time: time(*dropped),
                            attachments: files.iter().map(file).collect(),
                        });
                    }
                    How::Failed { error, interrupted } => {
                        let mut metadata = Object::new();
                        metadata.insert("interrupted".to_owned(), (*interrupted).into());
                        metadata.insert("output".to_owned(), "so far".into());
                        let error = (*error).to_owned();
                        tell(ToolState::Error { input, error, metadata: Some(metadata), time: time(false) });
                    }
                }
            }
        }
    }
}

fn reference((vendor, model): (&str, &str)) -> ModelRef {
    ModelRef { provider_id: vendor.to_owned(), model_id: model.to_owned() }
}

fn kind(shown: &Shown) -> PartKind {
    match shown {
        Shown::Words { text, synthetic, ignored } => PartKind::Text {
            text: (*text).to_owned(),
            synthetic: *synthetic,
            ignored: *ignored,
            time: None,
            metadata: None,
        },
        Shown::File(mime, url, name) => PartKind::File {
            mime: (*mime).to_owned(),
            filename: name.map(str::to_owned),
            url: (*url).to_owned(),
            source: None,
        },
        Shown::Agent => PartKind::Agent { name: "explore".to_owned(), source: None },
        Shown::Subtask => PartKind::Subtask(Box::new(Subtask {
            prompt: "look".to_owned(),
            description: "a look".to_owned(),
            agent: "explore".to_owned(),
            command: None,
            model: None,
            variant: None,
        })),
    }
}
