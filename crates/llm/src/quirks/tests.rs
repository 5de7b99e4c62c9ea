//! Requests in, requests out: a table for each rewrite, and what holds for all of them.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::dialect::histories::requests;
use crate::{AssistantPart, Content, ToolChoice, ToolResult};

fn media(mime: &str) -> Content {
    Content::Media { mime: mime.to_owned(), data: "AAAA".to_owned(), name: Some("a.x".to_owned()) }
}

fn call(id: &str) -> AssistantPart {
    AssistantPart::ToolCall { id: id.to_owned(), name: "ls".to_owned(), arguments: "{}".to_owned(), item: None }
}

fn says(text: &str) -> AssistantPart {
    AssistantPart::Text { text: text.to_owned(), item: None }
}

fn user(text: &str) -> Message {
    Message::User { content: vec![Content::text(text)] }
}

fn answer(parts: Vec<AssistantPart>) -> Message {
    Message::Assistant { parts }
}

fn request(messages: Vec<Message>) -> Request {
    Request { messages: messages.into_iter().map(Arc::new).collect(), ..Request::default() }
}

fn result(id: &str, content: Vec<Content>) -> ToolResult {
    ToolResult { id: id.to_owned(), name: "ls".to_owned(), content, is_error: false }
}

fn tools(id: &str, content: Vec<Content>) -> Message {
    Message::Tools { results: vec![result(id, content)] }
}

fn fields(extra: Value) -> Map<String, Value> {
    extra.as_object().unwrap().clone()
}

#[track_caller]
fn becomes(quirks: &Quirks, given: Vec<Message>, want: Vec<Message>) {
    assert_eq!(quirks.apply(request(given)).messages, request(want).messages);
}

#[test]
fn files_that_a_model_cannot_be_shown_become_words() {
    let quirks = Quirks { accepts: Some(Accepts { image: true, ..Accepts::default() }), ..Quirks::default() };
    let told = |kind: &str| {
        Content::text(format!(
            "ERROR: Cannot read \"a.x\" (this model does not support {kind} input). Inform the user."
        ))
    };
    let row = |mime: &str, want: Content| {
        let contents = || vec![Content::text("look"), media(mime)];
        let wanted = vec![Content::text("look"), want];
        let given = vec![Message::User { content: contents() }, tools("a", contents())];
        becomes(&quirks, given, vec![Message::User { content: wanted.clone() }, tools("a", wanted)]);
    };
    row("image/png", media("image/png"));
    row("application/pdf", told("pdf"));
    row("audio/wav", told("audio"));
    row("video/mp4", told("video"));
    row("text/plain", media("text/plain"));
}

#[test]
fn ids_are_made_to_fit_in_calls_and_results() {
    let row = |quirks: &Quirks, id: &str, want: &str| {
        let of = |id: &str| vec![answer(vec![call(id)]), tools(id, vec![Content::text("a")])];
        becomes(quirks, of(id), of(want));
    };
    let (mistral, claude) = (Quirks::of("x", "Devstral-2"), Quirks::of("openrouter", "anthropic/claude-x"));
    row(&mistral, "call_with.odd:chars", "callwitho");
    row(&mistral, "ab", "ab0000000");
    row(&mistral, "abcdefgh1", "abcdefgh1");
    row(&claude, "call.1", "call_1");
    row(&claude, "toolu_01-A", "toolu_01-A");
    row(&Quirks::of("v", "m"), "call.1", "call.1");
}

#[test]
fn a_word_stands_between_a_result_and_the_user() {
    let result = || tools("abcdefgh1", vec![]);
    let got = vec![user("a"), result(), answer(vec![says("Done.")]), user("b")];
    becomes(&Quirks::of("mistral", "m"), vec![user("a"), result(), user("b")], got);
}

#[test]
fn a_text_holds_no_nul() {
    let quirks = Quirks::of("v", "m");
    let reasoning = |text: &str| AssistantPart::Reasoning { text: text.to_owned(), item: None };
    let of = |text: &str| {
        vec![
            Message::User { content: vec![Content::text(text), media("image/png")] },
            answer(vec![says(text), reasoning(text), call("c")]),
            tools("c", vec![Content::text(text)]),
        ]
    };
    becomes(&quirks, of("a\0b"), of("a\u{fffd}b"));
    let system = Request { system: "\0".to_owned(), ..Request::default() };
    assert_eq!(quirks.apply(system).system, "\u{fffd}");
}

#[test]
fn a_result_says_something_where_it_must() {
    let claude = Quirks::of("openrouter", "anthropic/claude-x");
    let said = || vec![Content::text("(no output)")];
    becomes(&claude, vec![tools("c", vec![])], vec![tools("c", said())]);
    becomes(&claude, vec![tools("c", vec![Content::text(" \n")])], vec![tools("c", said())]);
    becomes(&claude, vec![tools("c", vec![media("image/png")])], vec![tools("c", vec![media("image/png")])]);
    let own = About { vendor: "anthropic", model: "claude-x", driver: Some("@ai-sdk/anthropic"), ..About::default() };
    becomes(&Quirks::about(&own), vec![tools("c", vec![])], vec![tools("c", vec![])]);
}

#[test]
fn calls_are_told_one_after_the_other() {
    let quirks = Quirks::of("v", "meta/Llama-3.3-70b");
    let text = |text: &str| vec![Content::text(text)];
    let results = || vec![result("b", text("of b")), result("a", text("of a")), result("x", text("of nobody"))];
    becomes(
        &quirks,
        vec![
            answer(vec![says("one"), call("a"), says("two"), call("b"), says("end")]),
            Message::Tools { results: results() },
            user("go on"),
        ],
        vec![
            answer(vec![says("one"), call("a")]),
            tools("a", text("of a")),
            answer(vec![says("two"), call("b"), says("end")]),
            tools("b", text("of b")),
            tools("x", text("of nobody")),
            user("go on"),
        ],
    );
    let single = || vec![answer(vec![call("a")]), tools("a", text("of a")), answer(vec![says("end")])];
    becomes(&quirks, single(), single());
    // Without results they stay apart, and nothing is made up.
    becomes(
        &quirks,
        vec![answer(vec![call("a"), call("b")]), user("stop")],
        vec![answer(vec![call("a")]), answer(vec![call("b")]), user("stop")],
    );
}

#[test]
fn files_of_results_stand_behind_them_where_only_the_user_shows_some() {
    let about = About { vendor: "minimax", model: "MiniMax-M2", driver: Some("@ai-sdk/anthropic"), ..About::default() };
    let shown = |label: &str| vec![Content::text(label), media("image/png")];
    becomes(
        &Quirks::about(&about),
        vec![Message::Tools {
            results: vec![result("a", vec![media("image/png")]), result("b", vec![Content::text("w")])],
        }],
        vec![
            Message::Tools {
                results: vec![
                    result("a", vec![Content::text("(shown in the next message)")]),
                    result("b", vec![Content::text("w")]),
                ],
            },
            Message::User { content: shown("Attached media from tool result:") },
        ],
    );
    let both = vec![result("a", vec![media("image/png")]), result("b", vec![Content::text("w"), media("image/png")])];
    let quirks = Quirks { files_behind_results: true, one_call: true, ..Quirks::default() };
    becomes(
        &quirks,
        vec![answer(vec![call("a"), call("b")]), Message::Tools { results: both }],
        vec![
            answer(vec![call("a")]),
            tools("a", vec![Content::text("(shown in the next message)")]),
            answer(vec![call("b")]),
            tools("b", vec![Content::text("w")]),
            Message::User {
                content: [
                    shown("Attached media from tool result (ls, call a):"),
                    shown("Attached media from tool result (ls, call b):"),
                ]
                .concat(),
            },
        ],
    );
}

#[test]
fn a_tool_that_does_nothing_stands_for_none() {
    let names = |quirks: &Quirks, request: Request| {
        let tools = quirks.apply(request).tools;
        tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>()
    };
    let spec = || vec![ToolSpec { name: "ls".to_owned(), description: String::new(), parameters: json!({}) }].into();
    let called = || request(vec![answer(vec![call("a")])]);
    let litellm = Quirks::of("my-litellm", "m");
    assert_eq!(names(&litellm, called()), ["_noop"]);
    assert_eq!(names(&litellm, request(vec![user("a")])), [""; 0]);
    assert_eq!(names(&litellm, Request { tools: spec(), ..called() }), ["ls"]);
    assert_eq!(names(&litellm, Request { tools: spec(), tool_choice: ToolChoice::None, ..called() }), ["_noop"]);
    assert_eq!(names(&Quirks::of("github-copilot", "m"), called()), ["_noop"]);
    assert_eq!(names(&Quirks::of("v", "m"), called()), [""; 0]);
    let options = fields(json!({"litellmProxy": true}));
    let told = About { vendor: "v", model: "m", options: Some(&options), ..About::default() };
    assert_eq!(names(&Quirks::about(&told), called()), ["_noop"]);
    let asked = Request { extra: options.clone(), ..called() };
    assert_eq!(names(&Quirks::of("v", "m"), asked), ["_noop"]);
    let none = Quirks { no_tools: true, ..Quirks::default() };
    assert_eq!(names(&none, Request { tools: spec(), ..called() }), [""; 0]);
}

#[test]
fn schemas_are_rewritten_on_the_way() {
    let spec = |parameters: Value| ToolSpec { name: "a".to_owned(), description: String::new(), parameters };
    let given = || json!({"type": "object", "properties": {"a": {"const": 1, "type": "integer"}}});
    let sent = |quirks: &Quirks, extra: Value| {
        let request = Request { tools: vec![spec(given())].into(), extra: fields(extra), ..Request::default() };
        quirks.apply(request).tools[0].parameters.clone()
    };
    let openai = Quirks::of("openai", "gpt-5");
    assert_eq!(sent(&openai, json!({}))["properties"]["a"], json!({"enum": [1], "type": "integer"}));
    assert_eq!(sent(&openai, json!({"strict": true}))["properties"]["a"]["enum"], json!([1, null]));
    assert_eq!(sent(&Quirks::of("v", "m"), json!({"strict": true})), given());
}

#[test]
fn families_are_sampled_as_their_makers_say() {
    let row = |model: &str, temperature: Option<f64>, top_p: Option<f64>, top_k: Option<u64>| {
        assert_eq!(Sampling::of(model), Sampling { temperature, top_p, top_k }, "{model}");
    };
    row("claude-sonnet-4-5", None, None, None);
    row("google/gemini-3-pro", Some(1.0), Some(0.95), Some(64));
    row("GLM-4.6", Some(1.0), None, None);
    row("glm-4.5", None, None, None);
    row("MiniMax-M2", Some(1.0), Some(0.95), Some(20));
    row("MiniMax-M2.5", Some(1.0), Some(0.95), Some(40));
    row("moonshotai/Kimi-K2-Instruct", Some(0.6), None, None);
    row("kimi-k2-thinking", Some(1.0), None, None);
    row("kimi-k2.5", Some(1.0), Some(0.95), None);
    row("qwen3-coder", Some(0.55), Some(1.0), None);
    row("gpt-5", None, None, None);
}

#[test]
fn what_is_said_wins_over_what_is_usual() {
    let kimi = Quirks::of("v", "kimi-k2");
    assert_eq!(kimi.apply(Request::default()).temperature, Some(0.6));
    let told = Request { temperature: Some(0.1), ..Request::default() };
    assert_eq!(kimi.apply(told).temperature, Some(0.1));
    let fixed = About { vendor: "v", model: "kimi-k2", temperature: Some(false), ..About::default() };
    assert_eq!(Quirks::about(&fixed).apply(Request::default()).temperature, None);
}

#[test]
fn vendors_get_the_fields_that_they_want() {
    let about = |vendor: &'static str, model: &'static str, driver: Option<&'static str>| About {
        vendor,
        model,
        driver,
        reasoning: Some(true),
        output: Some(20_000),
        ..About::default()
    };
    let row = |about: About<'_>, want: Value| {
        let request = Request { session: Some("ses_1".to_owned()), ..Request::default() };
        let got = Quirks::about(&about).apply(request);
        assert_eq!(Value::Object(got.extra), want, "{about:?}");
    };
    let compatible = Some("@ai-sdk/openai-compatible");
    row(about("openrouter", "m", None), json!({"usage": {"include": true}, "promptCacheKey": "ses_1"}));
    row(
        about("x", "google/gemini-3-pro", Some("@llmgateway/ai-sdk-provider")),
        json!({"usage": {"include": true}, "reasoning": {"effort": "high"}}),
    );
    row(
        about("zai-coding-plan", "glm-4.6", compatible),
        json!({"thinking": {"type": "enabled", "clear_thinking": false}}),
    );
    row(about("alibaba-cn", "qwen-plus", compatible), json!({"enable_thinking": true}));
    row(about("alibaba-cn", "kimi-k2-thinking", compatible), json!({}));
    row(About { reasoning: Some(false), ..about("alibaba-cn", "qwen-plus", compatible) }, json!({}));
    row(about("venice", "m", Some("venice-ai-sdk-provider")), json!({"promptCacheKey": "ses_1"}));
    row(about("vercel", "m", None), json!({"providerOptions": {"gateway": {"caching": "auto"}}}));
    row(about("baseten", "m", compatible), json!({"chat_template_args": {"enable_thinking": true}}));
    row(
        about("v", "kimi-k2.5", Some("@ai-sdk/anthropic")),
        json!({"thinking": {"type": "enabled", "budgetTokens": 9_999}}),
    );
    row(about("v", "MiniMax-M3", Some("@ai-sdk/anthropic")), json!({"thinking": {"type": "adaptive"}}));
    row(about("v", "m", compatible), json!({}));
}

#[test]
fn settings_are_laid_over_what_vendors_want() {
    let row = |vendor: &str, extra: Value, want: Value| {
        let request = Request { session: Some("s".to_owned()), extra: fields(extra), ..Request::default() };
        assert_eq!(Value::Object(Quirks::of(vendor, "m").apply(request).extra), want);
    };
    let usage = json!({"include": true});
    row("openrouter", json!({"usage": null}), json!({"usage": null, "promptCacheKey": "s"}));
    row("openrouter", json!({"promptCacheKey": "mine"}), json!({"promptCacheKey": "mine", "usage": usage}));
    row("openrouter", json!({"prompt_cache_key": "mine"}), json!({"prompt_cache_key": "mine", "usage": usage}));
    row("openrouter", json!({"setCacheKey": false}), json!({"setCacheKey": false, "usage": usage}));
    row("v", json!({"setCacheKey": true}), json!({"setCacheKey": true, "promptCacheKey": "s"}));
}

#[test]
fn text_calls_are_read_where_models_are_weak_and_settings_say_so() {
    let row = |about: About<'_>, want: Rescue| assert_eq!(Quirks::about(&about).rescue, want, "{about:?}");
    let of = |vendor: &'static str, model: &'static str| About { vendor, model, ..About::default() };
    row(of("openai", "gpt-5"), Rescue::Off);
    row(of("anthropic", "claude-sonnet-4-5"), Rescue::Off);
    row(of("openrouter", "Qwen/Qwen3-Coder"), Rescue::Marked);
    row(of("ollama", "anything"), Rescue::Any);
    row(About { own: true, ..of("mine", "m1") }, Rescue::Any);
    for (setting, want) in [
        (json!(false), Rescue::Off),
        (json!("off"), Rescue::Off),
        (json!(true), Rescue::Marked),
        (json!("any"), Rescue::Any),
        (json!("odd"), Rescue::Any),
    ] {
        let options = fields(json!({"textToolCalls": setting}));
        row(About { options: Some(&options), ..of("ollama", "m") }, want);
    }
}

#[test]
fn what_needs_no_change_is_shared() {
    let text = || vec![Content::text("a")];
    let asked = request(vec![answer(vec![call("abcdefgh1")]), tools("abcdefgh1", text())]);
    let quirks = Quirks { accepts: Some(Accepts::default()), ..all(Ids::Nine) };
    let got = quirks.apply(asked.clone());
    assert!(got.messages.iter().zip(&asked.messages).all(|(got, asked)| Arc::ptr_eq(got, asked)));
}

/// Everything at once.
fn all(ids: Ids) -> Quirks {
    Quirks {
        accepts: Some(Accepts { image: true, ..Accepts::default() }),
        ids,
        answer_results: true,
        one_call: true,
        files_behind_results: true,
        words_in_results: true,
        ..Quirks::of("litellm", "gemini-kimi-k2")
    }
}

#[test]
fn what_was_rewritten_is_the_same_in_the_next_request() {
    let mut asked = request(vec![
        answer(vec![call("a.1"), call("b")]),
        Message::Tools { results: vec![result("a.1", vec![media("image/png")]), result("b", vec![])] },
        user("go on"),
    ]);
    let (quirks, rewritten) = (all(Ids::Nine), Kept::default());
    let first = quirks.apply_with(asked.clone(), &rewritten);
    asked.messages.push(Arc::new(user("more")));
    let second = quirks.apply_with(asked, &rewritten);
    assert_eq!((first.messages.len(), second.messages.len()), (7, 8));
    assert!(first.messages.iter().zip(&second.messages).all(|(first, second)| Arc::ptr_eq(first, second)));
}

/// Each quirk alone, and all of them.
fn each() -> Vec<Quirks> {
    let accepts = Some(Accepts { image: true, ..Accepts::default() });
    let none = Quirks::default;
    vec![
        Quirks { accepts, ..none() },
        Quirks { ids: Ids::Plain, ..none() },
        Quirks { ids: Ids::Nine, ..none() },
        Quirks { answer_results: true, ..none() },
        Quirks { one_call: true, ..none() },
        Quirks { files_behind_results: true, ..none() },
        Quirks { words_in_results: true, ..none() },
        Quirks { no_nul: true, ..none() },
        Quirks { placeholder: true, ..none() },
        Quirks { cache_key: Some("promptCacheKey"), ..none() },
        all(Ids::Any),
        all(Ids::Nine),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_request_does_not_depend_on_those_before_it(requests in requests()) {
        for quirks in each() {
            let rewritten = Kept::default();
            for request in &requests {
                prop_assert_eq!(quirks.apply_with(request.clone(), &rewritten), quirks.apply(request.clone()));
            }
        }
    }

    #[test]
    fn a_longer_conversation_begins_with_what_the_shorter_one_gave(requests in requests(), at in any::<prop::sample::Index>()) {
        for quirks in each() {
            for request in &requests {
                // A request ends with what the model is to answer: not with its own calls.
                let ends: Vec<usize> = (0..=request.messages.len())
                    .filter(|&end| end == 0 || !matches!(*request.messages[end - 1], Message::Assistant { .. }))
                    .collect();
                let end = ends[at.index(ends.len())];
                let short = Request { messages: request.messages[..end].to_vec().into(), ..request.clone() };
                let (short, long) = (quirks.apply(short), quirks.apply(request.clone()));
                prop_assert!(long.messages.starts_with(&short.messages));
            }
        }
    }

    #[test]
    fn calls_and_results_are_neither_lost_nor_made_up(requests in requests()) {
        let count = |request: &Request| request.messages.iter().fold((0, 0), |(calls, results), message| match &**message {
            Message::User { .. } => (calls, results),
            Message::Assistant { parts } => {
                (calls + parts.iter().filter(|part| matches!(part, AssistantPart::ToolCall { .. })).count(), results)
            }
            Message::Tools { results: more } => (calls, results + more.len()),
        });
        for quirks in each() {
            for request in &requests {
                prop_assert_eq!(count(&quirks.apply(request.clone())), count(request));
            }
        }
    }
}
