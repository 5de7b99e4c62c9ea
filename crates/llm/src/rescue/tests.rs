//! Answers with calls in them, and answers that only talk about calls.

use std::collections::VecDeque;
use std::sync::Arc;

use expect_test::expect;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{AssistantPart, Chunk, Finish, Message, Request, ToolChoice, Usage};

fn tool(name: &str, required: &[&str], properties: Value) -> ToolSpec {
    let parameters = json!({"type": "object", "properties": properties, "required": required});
    ToolSpec { name: name.to_owned(), description: String::new(), parameters }
}

fn request() -> Request {
    let text = || json!({"type": "string"});
    Request {
        tools: vec![
            tool("bash", &["command"], json!({"command": text(), "timeout": {"type": "integer"}})),
            tool("read", &["filePath"], json!({"filePath": text(), "limit": {"type": "integer"}})),
            tool(
                "write",
                &["filePath", "content"],
                json!({"filePath": text(), "content": text(), "limit": {"type": ["integer", "null"]}, "all": {"type": "boolean"}}),
            ),
        ]
        .into(),
        ..Request::default()
    }
}

fn pass(mode: Rescue, request: &Request, chunks: impl IntoIterator<Item = Chunk>) -> Vec<Chunk> {
    let Some(mut watch) = Watch::of(mode, request) else { return chunks.into_iter().collect() };
    let mut out = VecDeque::new();
    chunks.into_iter().for_each(|chunk| watch.push(chunk, &mut out));
    out.into()
}

/// An answer that says `text` in pieces.
fn said<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Vec<Chunk> {
    let pieces = pieces.into_iter().filter(|piece| !piece.is_empty()).map(|piece| Chunk::Text(piece.to_owned()));
    let end = [Chunk::TextEnd { item: None }, Chunk::Usage(Usage::default()), Chunk::Finish(Finish::Stop)];
    pieces.chain(end).collect()
}

/// What is left of an answer, one line for what it says and one for each call.
fn told(chunks: &[Chunk]) -> String {
    let (mut lines, mut words) = (String::new(), String::new());
    for chunk in chunks {
        match chunk {
            Chunk::Text(text) => words.push_str(text),
            Chunk::TextEnd { .. } => lines.push_str(&format!("text {:?}\n", std::mem::take(&mut words))),
            Chunk::ToolCall { id, name, arguments, .. } => lines.push_str(&format!("{id} {name} {arguments}\n")),
            Chunk::ToolInput { .. } | Chunk::Usage(_) => {}
            other => lines.push_str(&format!("{other:?}\n")),
        }
    }
    assert_eq!(words, "", "words without an end");
    lines
}

macro_rules! fixtures {
    ($($name:ident $mode:ident $want:expr;)*) => {
        $(#[test]
        fn $name() {
            let text = include_str!(concat!("fixtures/", stringify!($name), ".txt"));
            let got = pass(Rescue::$mode, &request(), said([text]));
            $want.assert_eq(&told(&got));
            // Without its sign being looked for it stays what it is.
            let less = if Rescue::$mode == Rescue::Any { Rescue::Marked } else { Rescue::Off };
            assert_eq!(pass(less, &request(), said([text])), said([text]));
        })*
        const ALL: &[&str] = &[$(include_str!(concat!("fixtures/", stringify!($name), ".txt"))),*];
    };
}

fixtures! {
    hermes Marked expect![[r#"
        text "I will look at it.\n"
        call_1_1 read {"filePath":"src/main.rs","limit":20}
        Finish(ToolCalls)
    "#]];
    hermes_several Marked expect![[r#"
        call_1_1 read {"filePath":"a.rs"}
        call_1_2 bash {"command":"ls -la"}
        Finish(ToolCalls)
    "#]];
    hermes_slips Marked expect![[r#"
        call_1_1 bash {"command":"echo '</tool_call>'","timeout":null}
        Finish(ToolCalls)
    "#]];
    qwen_coder Marked expect![[r#"
        text "Let me change that.\n\n"
        call_1_1 write {"filePath":"src/a.html","content":"<b>\"quoted\" & {braced}</b>\n  </parameter> is not the end\n","limit":12,"all":true}
        Finish(ToolCalls)
    "#]];
    functionary Marked expect![[r#"
        call_1_1 bash {"command":"cargo test"}
        Finish(ToolCalls)
    "#]];
    llama3_tag Marked expect![[r#"
        call_1_1 bash {"command":"ls"}
        call_1_2 read {"filePath":"a"}
        Finish(ToolCalls)
    "#]];
    llama3_python Marked expect![[r#"
        call_1_1 bash {"command":"ls -la"}
        Finish(ToolCalls)
    "#]];
    mistral Marked expect![[r#"
        call_1_1 read {"filePath":"a.rs"}
        call_1_2 bash {"command":"ls"}
        Finish(ToolCalls)
    "#]];
    mistral_args Marked expect![[r#"
        text "I'll check. "
        call_1_1 read {"filePath":"a.rs"}
        Finish(ToolCalls)
    "#]];
    deepseek_v3 Marked expect![[r#"
        call_1_1 read {"filePath":"a.rs"}
        call_1_2 bash {"command":"ls"}
        Finish(ToolCalls)
    "#]];
    deepseek_v31 Marked expect![[r#"
        text "I look."
        call_1_1 read {"filePath":"a.rs"}
        Finish(ToolCalls)
    "#]];
    deepseek_v32 Marked expect![[r#"
        call_1_1 read {"filePath":"a.rs","limit":10}
        Finish(ToolCalls)
    "#]];
    glm Marked expect![[r#"
        call_1_1 write {"filePath":"a.txt","content":"{\"a\": 1}","limit":5}
        Finish(ToolCalls)
    "#]];
    kimi Marked expect![[r#"
        text "I'll run both."
        call_1_1 bash {"command":"ls"}
        call_1_2 read {"filePath":"a"}
        Finish(ToolCalls)
    "#]];
    minimax Marked expect![[r#"
        call_1_1 bash {"command":"ls && echo \"<done>\""}
        call_1_2 read {"filePath":"a.rs"}
        Finish(ToolCalls)
    "#]];
    harmony Marked expect![[r#"
        call_1_1 read {"filePath":"a.rs"}
        Finish(ToolCalls)
    "#]];
    harmony_start Marked expect![[r#"
        call_1_1 bash {"command":"ls"}
        Finish(ToolCalls)
    "#]];
    phi Marked expect![[r#"
        call_1_1 read {"filePath":"a.rs"}
        Finish(ToolCalls)
    "#]];
    gemma_code Any expect![[r#"
        call_1_1 read {"file_path":"a.rs","filePath":"b.rs","limit":3}
        Finish(ToolCalls)
    "#]];
    gemma_json Any expect![[r#"
        call_1_1 read {"filePath":"a.rs"}
        Finish(ToolCalls)
    "#]];
    llama3_bare Any expect![[r#"
        call_1_1 bash {"command":"ls"}
        Finish(ToolCalls)
    "#]];
    llama4_list Any expect![[r#"
        call_1_1 read {"filePath":"a.rs","limit":5}
        call_1_2 bash {"command":"ls"}
        Finish(ToolCalls)
    "#]];
    openai_shape Any expect![[r#"
        call_1_1 read {"filePath":"a.rs"}
        Finish(ToolCalls)
    "#]];
}

/// What `text` is taken for.
#[track_caller]
fn row(text: &str, calls: usize) {
    let got = pass(Rescue::Any, &request(), said([text]));
    let found = got.iter().filter(|chunk| matches!(chunk, Chunk::ToolCall { .. })).count();
    assert_eq!(found, calls, "{}", &text[..text.len().min(500)]);
    if calls == 0 {
        let words: String = got.iter().map(|chunk| if let Chunk::Text(text) = chunk { text } else { "" }).collect();
        assert_eq!(words, text);
        assert_eq!(got.last(), Some(&Chunk::Finish(Finish::Stop)));
    }
}

const CALL: &str = r#"<tool_call>{"name": "read", "arguments": {"filePath": "a"}}</tool_call>"#;

#[test]
fn a_call_stands_at_the_end_and_is_not_quoted() {
    row(CALL, 1);
    row(&format!("Let me look.\n\n{CALL}\n\n"), 1);
    row(&format!("Let me look: {CALL}"), 1);
    row(&format!("</think>{CALL}"), 1);
    row(&format!("```sh\nls\n```\n{CALL}"), 1);
    row(&format!("Use <tool_call> for that. Like so:\n{CALL}"), 1);
    // Something follows.
    row(&format!("{CALL}\nThat is how a call looks."), 0);
    row(&format!("{CALL}\n```\nthe output\n```"), 0);
    // It is quoted.
    row(&format!("So:\n```\n{CALL}\n```"), 0);
    row(&format!("So:\n```xml\n{CALL}"), 0);
    row(&format!("~~~\n{CALL}\n~~~"), 0);
    row(&format!("So: `{CALL}`"), 0);
    row(&format!("    {CALL}"), 0);
    row(&format!("\t{CALL}"), 0);
    row(&format!("> {CALL}"), 0);
    row(&format!("> So. {CALL}"), 0);
    row(&format!("It writes {CALL}"), 0);
    row(&format!("- {CALL}"), 0);
}

#[test]
fn a_call_is_whole_and_of_a_tool_that_was_offered() {
    row(r#"<tool_call>{"name": "rm", "arguments": {}}</tool_call>"#, 0);
    row(r#"<tool_call>{"name": "READ", "arguments": {"filePath": "a"}}</tool_call>"#, 1);
    row(r#"<tool_call>{"name": "functions.read", "arguments": {"filePath": "a"}}</tool_call>"#, 1);
    row(r#"<tool_call>{"name": "read", "arguments": {"filePath": "a"}}"#, 1);
    row(r#"<tool_call>{"name": "read", "arguments": {"filePath": "a"}</tool_call>"#, 1);
    row(r#"<tool_call>{"name": "write", "arguments": {"filePath": "a", "content": "half of it"#, 0);
    row("<tool_call>write\n<arg_key>filePath</arg_key>\n<arg_value>a", 0);
    row("<function=write>\n<parameter=content>\nhalf", 0);
    row(r#"<tool_call>{"name": "read"}</tool_call>"#, 0);
    row(r#"<tool_call>{"name": "read", "arguments": {}, "why": "so"}</tool_call>"#, 0);
    row("<tool_call>", 0);
    row("<tool_call></tool_call>", 0);
    // One that nobody offered, and none is made.
    row(&format!("{CALL}{}", CALL.replace("read", "rm")), 0);
    row(&format!("{}{CALL}", CALL.replace("read", "rm")), 0);
    row(&CALL.repeat(2), 2);
    row(&CALL.repeat(MAX_CALLS), MAX_CALLS);
    row(&CALL.repeat(MAX_CALLS + 1), 0);
}

#[test]
fn what_has_no_sign_is_all_that_is_said_and_complete() {
    let json = r#"{"name": "read", "arguments": {"filePath": "a"}}"#;
    row(json, 1);
    row(&format!("\n{json}\n"), 1);
    row(&format!("```json\n{json}\n```"), 1);
    row(&format!("```\n{json}\n```"), 1);
    row(&format!("[{json}]"), 1);
    row(&format!("Here it is:\n{json}"), 0);
    row(&format!("Here it is:\n```json\n{json}\n```"), 0);
    row(&format!("```json\n{json}\n```\nDone."), 0);
    row(&format!("```python\n{json}\n```"), 0);
    row(r#"{"name": "read", "arguments": {}}"#, 0);
    row(r#"{"name": "read", "version": "1.0"}"#, 0);
    row(r#"{"filePath": "a"}"#, 0);
    row("[1] is the first", 0);
    row("[read the file](a.md)", 0);
    row("{curly} beginnings", 0);
    row(
        r#"```tool_code
read("a")
```"#,
        0,
    );
}

#[test]
fn what_cannot_be_a_call_is_not_held_back() {
    let mut held = Vec::new();
    for text in [
        "{\"na",
        "{\"nam\"",
        "{\"version\"",
        "{ x",
        "[1",
        "[read(",
        "[",
        "```json\n{\"x\"",
        "```json\n{\"tool\"",
        "<tool",
        "<b",
    ] {
        let request = request();
        let mut watch = Watch::of(Rescue::Any, &request).unwrap();
        let mut out = VecDeque::new();
        watch.push(Chunk::Text(text.to_owned()), &mut out);
        held.push((text, out.is_empty()));
    }
    let want = [true, false, false, false, false, true, true, false, true, true, false];
    assert_eq!(held.iter().map(|(_, held)| *held).collect::<Vec<_>>(), want, "{held:?}");
}

#[test]
fn a_real_call_and_an_answer_that_was_cut_off_are_left_alone() {
    let real = || {
        vec![
            Chunk::Text(CALL.to_owned()),
            Chunk::TextEnd { item: None },
            Chunk::ToolInput { id: "c".to_owned(), name: "read".to_owned(), delta: String::new() },
            Chunk::ToolCall { id: "c".to_owned(), name: "read".to_owned(), arguments: "{}".to_owned(), item: None },
            Chunk::Finish(Finish::ToolCalls),
        ]
    };
    assert_eq!(pass(Rescue::Any, &request(), real()), real());
    for finish in [Finish::Length, Finish::ContentFilter, Finish::Other("pause_turn".to_owned())] {
        let cut = || vec![Chunk::Text(CALL.to_owned()), Chunk::TextEnd { item: None }, Chunk::Finish(finish.clone())];
        assert_eq!(pass(Rescue::Any, &request(), cut()), cut());
    }
    let none = Request { tool_choice: ToolChoice::None, ..request() };
    assert_eq!(pass(Rescue::Any, &none, said([CALL])), said([CALL]));
    let form = Request { format: Some(crate::Format { name: "f".to_owned(), schema: json!({}) }), ..request() };
    assert_eq!(pass(Rescue::Any, &form, said([CALL])), said([CALL]));
}

#[test]
fn thoughts_are_looked_at_where_nothing_is_said() {
    let thought = |text: &str, words: &str| {
        let mut chunks = vec![Chunk::Reasoning(text.to_owned()), Chunk::ReasoningEnd { item: None }];
        chunks.extend(said([words]));
        if words.is_empty() {
            chunks.retain(|chunk| !matches!(chunk, Chunk::TextEnd { .. }));
        }
        told(&pass(Rescue::Any, &request(), chunks))
    };
    let found = |told: &str| told.contains("call_1_1 read");
    assert!(found(&thought(&format!("Hm. I will look.\n{CALL}"), "")));
    assert!(found(&thought(&format!("Hm. I will look.\n{CALL}"), "\n")));
    assert!(!found(&thought(&format!("Hm. I will look.\n{CALL}"), "No, I will not.")));
    assert!(!found(&thought(&format!("{CALL} would be wrong."), "")));
    assert!(!found(&thought(r#"{"name": "read", "arguments": {"filePath": "a"}}"#, "")));
}

#[test]
fn who_reads_out_what_was_shown_calls_nothing() {
    let several = "<tool_call>\n{\"name\": \"bash\",\n \"arguments\": {\"command\": \"rm x\"}}\n</tool_call>";
    let bare = r#"{"name": "bash", "arguments": {"command": "rm x"}}"#;
    let text = |text: String| vec![crate::Content::Text { text }];
    let made = |content: Vec<crate::Content>, answer: &str| {
        let result = crate::ToolResult {
            id: "c".to_owned(),
            name: "read".to_owned(),
            content: content.clone(),
            is_error: false,
        };
        let shown = [Message::Tools { results: vec![result] }, Message::User { content }];
        let made = shown.map(|message| {
            let request = Request { messages: vec![Arc::new(message)].into(), ..request() };
            told(&pass(Rescue::Any, &request, said([answer]))).contains("call_1_1")
        });
        assert_eq!(made[0], made[1], "{answer}");
        made[0]
    };
    for call in [CALL, several, bare] {
        let numbered: Vec<_> = call.lines().enumerate().map(|(at, line)| format!("{at:05}| {line}\n")).collect();
        for shown in [call.to_owned(), format!("before\n{call}\nbehind"), numbered.concat()] {
            assert!(!made(text(shown), call), "{call}");
        }
        // Half of it is another one.
        assert!(made(text(call.replace('}', "]")), call), "{call}");
        assert!(made(text("rm x".to_owned()), call), "{call}");
    }
    assert!(!made(text(format!("1: {CALL}")), &format!("It says:\n\n{CALL}\n")));
    // What the model itself said before it may say again.
    let parts = vec![AssistantPart::Text { text: CALL.to_owned(), item: None }];
    let request = Request { messages: vec![Arc::new(Message::Assistant { parts })].into(), ..request() };
    assert!(told(&pass(Rescue::Any, &request, said([CALL]))).contains("call_2_1"));
    let thought =
        vec![Chunk::Reasoning(CALL.to_owned()), Chunk::ReasoningEnd { item: None }, Chunk::Finish(Finish::Stop)];
    let user = Message::User { content: text(CALL.to_owned()) };
    let request = Request { messages: vec![Arc::new(user)].into(), ..request };
    assert!(!told(&pass(Rescue::Any, &request, thought)).contains("call_"));
}

#[test]
fn ids_are_those_of_no_other_answer() {
    let answer = Arc::new(Message::Assistant { parts: vec![AssistantPart::Text { text: "a".to_owned(), item: None }] });
    let request = Request { messages: vec![answer.clone(), answer].into(), ..request() };
    let got = told(&pass(Rescue::Marked, &request, said([CALL.repeat(2).as_str()])));
    assert!(got.contains("call_3_1 read") && got.contains("call_3_2 read"), "{got}");
}

#[test]
fn what_is_held_back_has_a_limit() {
    let long =
        format!(r#"<tool_call>{{"name": "read", "arguments": {{"filePath": "{}"}}}}</tool_call>"#, "x".repeat(2 << 20));
    let got = pass(Rescue::Marked, &request(), said([long.as_str()]));
    assert_eq!(got, said([long.as_str()]));
    let pieces: Vec<&str> = long.as_bytes().chunks(1000).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
    let mut watch = Watch::of(Rescue::Marked, &request()).unwrap();
    let mut out = VecDeque::new();
    let most = pieces.iter().position(|piece| {
        watch.push(Chunk::Text((*piece).to_owned()), &mut out);
        !out.is_empty()
    });
    assert!(most.is_some_and(|most| most * 1000 <= (1 << 20) + 1000), "{most:?}");
}

#[test]
fn an_error_gives_back_what_was_held() {
    use futures::StreamExt;
    let error = || crate::LlmError::CutOff { provider: "v".to_owned() };
    let chunks = futures::stream::iter([Ok(Chunk::Text("See <tool_".to_owned())), Err(error())]).boxed();
    let watched = Watch::of(Rescue::Marked, &request()).unwrap().over(chunks);
    let got: Vec<_> = futures::executor::block_on(watched.collect());
    let words: String = got
        .iter()
        .filter_map(|next| match next {
            Ok(Chunk::Text(text)) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(words, "See <tool_");
    assert!(got.last().unwrap().is_err());
}

/// A text in pieces, cut anywhere between letters.
fn cut(text: String) -> impl Strategy<Value = (String, Vec<String>)> {
    prop::collection::vec(any::<proptest::sample::Index>(), 0..8).prop_map(move |cuts| {
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let mut places: Vec<usize> =
            cuts.iter().map(|cut| ends[cut.index(ends.len())]).chain([0, text.len()]).collect();
        places.sort_unstable();
        let pieces = places.windows(2).map(|place| text[place[0]..place[1]].to_owned()).collect();
        (text.clone(), pieces)
    })
}

fn answers() -> impl Strategy<Value = String> {
    let mut pieces: Vec<String> = ALL.iter().map(|text| (*text).to_owned()).collect();
    pieces.extend([CALL, "Words. ", "\n", "```\n", "`", "<tool_", "{", "[TOOL", "    ", "é｜"].map(str::to_owned));
    prop::collection::vec(proptest::sample::select(pieces), 1..4).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn pieces_make_no_difference((text, pieces) in answers().prop_flat_map(cut)) {
        let whole = pass(Rescue::Any, &request(), said([text.as_str()]));
        let cut = pass(Rescue::Any, &request(), said(pieces.iter().map(String::as_str)));
        prop_assert_eq!(told(&cut), told(&whole));
        let calls = whole.iter().any(|chunk| matches!(chunk, Chunk::ToolCall { .. }));
        if !calls {
            let words: String = cut.iter().map(|chunk| if let Chunk::Text(text) = chunk { text } else { "" }).collect();
            prop_assert_eq!(words, text);
        }
    }

    #[test]
    fn anything_is_read_without_an_end_in_tears(text in "(<|>|\\||tool_call|function=|parameter|name|=|\\{|\\}|\\[|\\]|\"|'|`|read|a|\n| |/|:|\\(|\\)|｜){0,40}") {
        pass(Rescue::Any, &request(), said([text.as_str()]));
        calls(&text, &request().tools, false);
    }
}
