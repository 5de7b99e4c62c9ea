//! Schemas in, schemas out.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const OPENAI: Fits = Fits { openai: true, moonshot: false, gemini: false, strict: false };
const MOONSHOT: Fits = Fits { openai: false, moonshot: true, gemini: false, strict: false };
const GEMINI: Fits = Fits { openai: false, moonshot: false, gemini: true, strict: false };
const STRICT: Fits = Fits { openai: true, moonshot: false, gemini: false, strict: true };

/// Each row is the schema of an argument.
#[track_caller]
fn check(fits: Fits, given: Value, want: Value) {
    assert_eq!(fits.fit(given.clone()), want, "{given}");
}

#[track_caller]
fn same(fits: Fits, given: Value) {
    check(fits, given.clone(), given);
}

#[test]
fn who_wants_what() {
    let row = |vendor: &str, model: &str, driver: Option<&str>, want: Fits| {
        assert_eq!(Fits::of(vendor, model, driver), want, "{vendor} {model} {driver:?}");
    };
    row("openai", "gpt-5", None, OPENAI);
    row("mine", "gpt-5", Some("@ai-sdk/openai"), OPENAI);
    row("azure", "gpt-4.1", Some("@ai-sdk/azure"), OPENAI);
    row("openai", "gpt-5", Some("@ai-sdk/openai-compatible"), Fits::default());
    row("openrouter", "moonshotai/Kimi-K2", Some("@openrouter/ai-sdk-provider"), MOONSHOT);
    row("moonshotai-cn", "m", None, MOONSHOT);
    row("google", "learnlm", Some("@ai-sdk/google"), GEMINI);
    row("openrouter", "google/Gemini-2.5-flash", None, GEMINI);
    row("azure", "kimi-k2", Some("@ai-sdk/azure"), Fits { moonshot: true, ..OPENAI });
    row("anthropic", "claude-sonnet-4-5", Some("@ai-sdk/anthropic"), Fits::default());
}

#[test]
fn openai_hears_what_it_knows() {
    check(OPENAI, json!({"const": 3}), json!({"enum": [3], "type": "string"}));
    check(OPENAI, json!({"enum": [1, 2], "const": 1, "type": "integer"}), json!({"enum": [1], "type": "integer"}));
    check(OPENAI, json!({"const": 1, "enum": [1, 2], "type": "integer"}), json!({"enum": [1], "type": "integer"}));
    check(OPENAI, json!(false), json!({"type": "string"}));
    check(OPENAI, json!({"type": "array"}), json!({"items": {"type": "string"}, "type": "array"}));
    check(OPENAI, json!({"required": ["a", 7]}), json!({"required": ["a"], "properties": {}, "type": "object"}));
    check(OPENAI, json!({"type": ["date"], "anyOf": [true]}), json!({"anyOf": [{"type": "string"}]}));
    check(OPENAI, json!({"description": "all", "title": "t"}), json!({}));
    check(OPENAI, json!({"multipleOf": 2, "description": "even"}), json!({"description": "even", "type": "number"}));
    check(OPENAI, json!({"type": ["null"]}), json!({"type": "null"}));
    // Keywords that hold no schema where one belongs say nothing.
    check(OPENAI, json!({"anyOf": 7, "enum": "x"}), json!({}));
}

#[test]
fn moonshot_hears_one_thing_at_a_time() {
    check(MOONSHOT, json!({"items": [{"type": "string"}, {"type": "number"}]}), json!({"items": {"type": "string"}}));
    check(MOONSHOT, json!({"items": []}), json!({"items": {}}));
    check(MOONSHOT, json!({"anyOf": [{"$ref": "#/a", "title": "t"}]}), json!({"anyOf": [{"$ref": "#/a"}]}));
    same(MOONSHOT, json!({"properties": {"$ref": {"type": "string"}, "items": {"type": "array"}}}));
    // What a default holds is no schema.
    same(MOONSHOT, json!({"default": {"$ref": "x", "items": [1, 2]}, "enum": [{"items": [1]}]}));
}

#[test]
fn gemini_hears_words_and_one_type() {
    check(
        GEMINI,
        json!({"enum": [1, 2.0, 0.5, true, null, "a"]}),
        json!({"enum": ["1", "2", "0.5", "true", "null", "a"]}),
    );
    check(GEMINI, json!({"enum": [1], "type": "integer"}), json!({"enum": ["1"], "type": "string"}));
    check(GEMINI, json!({"type": "number", "enum": [1]}), json!({"type": "string", "enum": ["1"]}));
    check(
        GEMINI,
        json!({"type": ["string", "null", "number"]}),
        json!({"anyOf": [{"type": "string"}, {"type": "number"}], "nullable": true}),
    );
    check(GEMINI, json!({"type": ["string"]}), json!({"anyOf": [{"type": "string"}]}));
    check(
        GEMINI,
        json!({"type": "array", "items": [{"type": "string"}, {"type": "number"}, {"type": "string"}]}),
        json!({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "number"}]}}),
    );
    check(
        GEMINI,
        json!({"type": "array", "items": [{"type": "string"}]}),
        json!({"type": "array", "items": {"type": "string"}}),
    );
    check(
        GEMINI,
        json!({"type": "array", "items": {"description": "x"}}),
        json!({"type": "array", "items": {"description": "x", "type": "string"}}),
    );
    check(
        GEMINI,
        json!({"$defs": {"A": {"type": "array"}}, "not": {"enum": [1]}}),
        json!({"$defs": {"A": {"type": "array", "items": {"type": "string"}}}, "not": {"enum": ["1"]}}),
    );
    same(GEMINI, json!({"default": {"enum": [1], "type": ["string"]}, "examples": [{"type": "array"}]}));
}

#[test]
fn arguments_are_not_lost_for_their_names() {
    let properties = json!({
        "type": {"type": "string"}, "properties": {"type": "object"}, "required": {"type": "boolean"},
        "enum": {"type": "string"}, "items": {"type": "array", "items": {"type": "string"}}, "nullable": {"type": "string"},
        "anyOf": {"type": "string"}, "$ref": {"type": "string"}, "const": {"type": "string"},
    });
    for fits in [OPENAI, MOONSHOT, GEMINI, STRICT] {
        let given = json!({"type": "object", "properties": properties, "required": ["type", "required"]});
        let fitted = fits.sent(given);
        let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&fitted["properties"]), names(&properties), "{fits:?}");
    }
}

#[test]
fn strict_mode_asks_for_everything() {
    check(
        STRICT,
        json!({"type": "object", "properties": {
            "a": {"type": "string"},
            "b": {"type": "integer", "enum": [1]},
            "c": {"anyOf": [{"type": "string"}, {"type": "number"}]},
            "d": {"$ref": "#/$defs/D"},
            "e": {"type": "object", "properties": {"f": {"type": ["string", "number"]}}},
        }, "required": ["a"]}),
        json!({"properties": {
            "a": {"type": "string"},
            "b": {"enum": [1, null], "type": ["integer", "null"]},
            "c": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}]},
            "d": {"anyOf": [{"$ref": "#/$defs/D"}, {"type": "null"}]},
            "e": {
                "properties": {"f": {"type": ["string", "number", "null"]}},
                "type": ["object", "null"], "required": ["f"], "additionalProperties": false,
            },
        }, "required": ["a", "b", "c", "d", "e"], "type": "object", "additionalProperties": false}),
    );
    check(
        STRICT,
        json!({"type": "object"}),
        json!({"properties": {}, "type": "object", "required": [], "additionalProperties": false}),
    );
}

#[test]
fn what_leaves_something_open_is_not_strict() {
    let row = |schema: Value, want: bool| assert_eq!(is_strict(&schema), want, "{schema}");
    let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    row(closed.clone(), true);
    let around = |inner: Value| json!({"type": "object", "properties": {"a": inner}, "required": ["a"], "additionalProperties": false});
    row(around(json!({"type": "array", "items": closed})), true);
    row(json!({"type": "array", "items": closed}), false);
    row(around(json!({"oneOf": [{"type": "string"}]})), false);
    row(around(json!({"description": "anything"})), false);
    row(json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}), false);
    let text = json!({"type": "string"});
    row(json!({"type": "object", "properties": {"a": text}, "required": [], "additionalProperties": false}), false);
    row(json!({"type": "object", "additionalProperties": false}), false);
    row(around(json!({"type": "array", "items": {"type": "object", "properties": {}}})), false);
    row(around(json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true})), false);
    row((0..MAX_DEPTH).fold(closed, |inner, _| around(inner)), false);
    row(json!(true), false);
    row(
        STRICT.fit(json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": text}}}})),
        true,
    );
}

#[test]
fn a_list_of_schemas_is_sent_to_nobody_as_items() {
    let row = |given: Value, want: Value| assert_eq!(Fits::default().sent(given), want);
    row(json!({"items": []}), json!({"items": {}}));
    row(json!({"items": [{"type": "string"}, true]}), json!({"items": {"anyOf": [{"type": "string"}, true]}}));
    row(json!({"type": "array"}), json!({"type": "array", "items": {}}));
    row(json!({"type": "array", "prefixItems": [{}]}), json!({"type": "array", "prefixItems": [{}]}));
    row(json!({"properties": {"items": {"items": [{}]}}}), json!({"properties": {"items": {"items": {}}}}));
}

/// Anything that could stand where a schema is wanted.
fn anything() -> impl Strategy<Value = Value> {
    let words = vec![
        "type",
        "items",
        "properties",
        "required",
        "enum",
        "const",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "$defs",
        "not",
        "additionalProperties",
        "prefixItems",
        "default",
        "a",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i8>().prop_map(Value::from),
        any::<f32>().prop_map(Value::from),
        proptest::sample::select(vec!["string", "object", "array", "null", "x"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::hash_map(proptest::sample::select(words.clone()), inner, 0..6)
                .prop_map(|fields| fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_sent_is_sent_as_it_is_once_more(given in anything()) {
        for fits in [Fits::default(), OPENAI, MOONSHOT, GEMINI, STRICT] {
            let once = fits.sent(given.clone());
            let fitted = format!("{fits:?} {given}");
            prop_assert_eq!(fits.sent(once.clone()), once, "{}", fitted);
        }
    }
}

#[test]
fn a_schema_without_a_bottom_is_left_alone_there() {
    let mut deep = json!({"type": "array"});
    for _ in 0..MAX_DEPTH + 10 {
        deep = json!({"type": "array", "items": deep});
    }
    for fits in [OPENAI, MOONSHOT, GEMINI, STRICT] {
        let mut left = fits.sent(deep.clone());
        for _ in 0..MAX_DEPTH + 10 {
            left = left["items"].take();
        }
        assert_eq!(left, json!({"type": "array"}), "{fits:?}");
    }
}
