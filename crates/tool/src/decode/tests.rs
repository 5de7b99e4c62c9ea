//! What is accepted as what, and what is said about the rest.

use super::*;
use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::json;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "some are only shown")]
struct Input {
    /// The file to read.
    file_path: String,
    /// First line, counted from 1.
    offset: Option<u64>,
    /// Edits in order.
    edits: Option<Vec<Edit>>,
    /// Whether to do all.
    all: Option<bool>,
    /// How it is shown.
    format: Option<Format>,
    /// What is shown.
    mode: Option<Mode>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    Text,
    Html,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// With the lines.
    Content,
    /// Names alone.
    Files,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Edit {
    /// What to look for.
    old: String,
}

#[track_caller]
fn check(input: Value, want: Expect) {
    let got = match decode::<Input>("read", input) {
        Ok(input) => format!("{input:?}"),
        Err(error) => error.to_string(),
    };
    want.assert_eq(&got);
}

#[test]
fn the_schema_says_no_more_than_it_must() {
    expect![[r#"{"type":"object","properties":{"filePath":{"type":"string","description":"The file to read."},"offset":{"type":"integer","description":"First line, counted from 1.","minimum":0},"edits":{"type":"array","items":{"type":"object","properties":{"old":{"description":"What to look for.","type":"string"}},"required":["old"]},"description":"Edits in order."},"all":{"type":"boolean","description":"Whether to do all."},"format":{"type":"string","enum":["text","html"],"description":"How it is shown."},"mode":{"description":"What is shown.","oneOf":[{"type":"string","const":"content","description":"With the lines."},{"type":"string","const":"files","description":"Names alone."}]}},"required":["filePath"]}"#]]
        .assert_eq(&schema::<Input>().to_string());
}

#[test]
fn the_schema_of_no_arguments_says_so() {
    #[derive(JsonSchema)]
    struct Nothing {}
    assert_eq!(schema::<Nothing>(), json!({"type": "object", "properties": {}}));
}

#[test]
fn right_arguments_pass_and_unknown_keys_are_left_out() {
    check(
        json!({"filePath": "a", "offset": 3, "why": 1}),
        expect![[r#"Input { file_path: "a", offset: Some(3), edits: None, all: None, format: None, mode: None }"#]],
    );
}

#[test]
fn what_is_spelled_as_text_is_taken_for_what_it_spells() {
    check(
        json!({"filePath": "12", "offset": "3", "edits": "[{\"old\":\"x\"}]", "all": "true"}),
        expect![[
            r#"Input { file_path: "12", offset: Some(3), edits: Some([Edit { old: "x" }]), all: Some(true), format: None, mode: None }"#
        ]],
    );
    check(
        json!({"filePath": "a", "offset": 3.0, "edits": null}),
        expect![[r#"Input { file_path: "a", offset: Some(3), edits: None, all: None, format: None, mode: None }"#]],
    );
}

#[test]
fn every_problem_is_listed_with_its_place() {
    check(
        json!({"offset": "three", "edits": [{"new": 1}, 2]}),
        expect![[r#"
        bad arguments for read:
        - filePath is missing: The file to read.
        - offset must be an integer, not "three"
        - edits.0.old is missing: What to look for.
        - edits.1 must be an object, not 2
        - edits.0.new is unknown; it takes old
        Correct them and call again."#]],
    );
}

#[test]
fn a_key_in_another_spelling_is_the_key() {
    check(
        json!({"file_path": "a", "OFFSET": 2, "Edits": [{"OLD": "x"}]}),
        expect![[
            r#"Input { file_path: "a", offset: Some(2), edits: Some([Edit { old: "x" }]), all: None, format: None, mode: None }"#
        ]],
    );
    // The right one counts where both are there, and nobody chooses between two wrong ones.
    check(
        json!({"file_path": "a", "filePath": "b"}),
        expect![[r#"Input { file_path: "b", offset: None, edits: None, all: None, format: None, mode: None }"#]],
    );
    check(
        json!({"file_path": "a", "filepath": "b"}),
        expect![[r#"
        bad arguments for read:
        - filePath is missing: The file to read.
        - file_path is unknown; is it filePath?
        - filepath is unknown; is it filePath?
        Correct them and call again."#]],
    );
}

#[test]
fn a_key_that_is_none_is_told_where_one_is_missing() {
    check(
        json!({"path": "a"}),
        expect![[r#"
        bad arguments for read:
        - filePath is missing: The file to read.
        - path is unknown; is it filePath?
        Correct them and call again."#]],
    );
    check(
        json!({"filePath": "a", "edits": [{"oldText": "x"}, {"zzz": 1}]}),
        expect![[r#"
        bad arguments for read:
        - edits.0.old is missing: What to look for.
        - edits.1.old is missing: What to look for.
        - edits.0.oldText is unknown; is it old?
        - edits.1.zzz is unknown; it takes old
        Correct them and call again."#]],
    );
    check(
        json!({"k".repeat(500): "a"}),
        expect![[r#"
        bad arguments for read:
        - filePath is missing: The file to read.
        - kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk… is unknown; read takes filePath, offset, edits, all, format, mode
        Correct them and call again."#]],
    );
}

#[test]
fn a_slip_in_a_key_is_not_passed_over() {
    check(
        json!({"filePath": "a", "ofset": 5}),
        expect![[r#"
        bad arguments for read:
        - ofset is unknown; offset is probably meant
        Correct them and call again."#]],
    );
    check(
        json!({"filePath": "a", "edits": [{"old": "x", "older": 1}], "al": true}),
        expect![[
            r#"Input { file_path: "a", offset: None, edits: Some([Edit { old: "x" }]), all: None, format: None, mode: None }"#
        ]],
    );
    // With the right key there too it can mean nothing else.
    check(
        json!({"filePath": "a", "offset": 5, "offsets": 5, "any": 1}),
        expect![[r#"Input { file_path: "a", offset: Some(5), edits: None, all: None, format: None, mode: None }"#]],
    );
}

#[test]
fn one_of_a_list_is_a_list_of_one() {
    check(
        json!({"filePath": "a", "edits": {"old": "x"}}),
        expect![[
            r#"Input { file_path: "a", offset: None, edits: Some([Edit { old: "x" }]), all: None, format: None, mode: None }"#
        ]],
    );
    check(
        json!({"filePath": "a", "edits": "{\"old\": \"x\"}"}),
        expect![[
            r#"Input { file_path: "a", offset: None, edits: Some([Edit { old: "x" }]), all: None, format: None, mode: None }"#
        ]],
    );
}

#[test]
fn words_are_taken_in_any_case_and_told_where_none_fits() {
    check(
        json!({"filePath": "a", "format": "HTML", "mode": "Files"}),
        expect![[
            r#"Input { file_path: "a", offset: None, edits: None, all: None, format: Some(Html), mode: Some(Files) }"#
        ]],
    );
    check(
        json!({"filePath": "a", "format": "pdf", "mode": "tree"}),
        expect![[r#"
            bad arguments for read:
            - format must be one of text, html, not "pdf"
            - mode must be one of content, files, not "tree"
            Correct them and call again."#]],
    );
}

#[test]
fn a_number_out_of_range_is_a_problem() {
    check(
        json!({"filePath": "a", "offset": -1}),
        expect![[r#"
        bad arguments for read:
        - offset must be at least 0, not -1
        Correct them and call again."#]],
    );
    check(
        json!({"filePath": "a", "offset": 1.5}),
        expect![[r#"
        bad arguments for read:
        - offset must be an integer, not 1.5
        Correct them and call again."#]],
    );
    check(
        json!({"filePath": "a", "offset": 1e300}),
        expect![[r#"
            bad arguments for read:
            - offset is out of range
            Correct them and call again."#]],
    );
    check(
        json!({"filePath": "a", "offset": "1e3", "all": "True"}),
        expect![[
            r#"Input { file_path: "a", offset: Some(1000), edits: None, all: Some(true), format: None, mode: None }"#
        ]],
    );
}

#[test]
fn text_that_is_nearly_a_list_says_where_it_breaks() {
    check(
        json!({"filePath": "a", "edits": "[{\"old\": \"x\"}"}),
        expect![[r#"
        bad arguments for read:
        - edits must be an array; the text given is no JSON: EOF while parsing a list at line 1 column 13
        Correct them and call again."#]],
    );
}

#[test]
fn something_that_is_no_object_is_a_problem() {
    check(
        json!([1]),
        expect![[r#"
        bad arguments for read:
        - the arguments must be an object, not [1]
        Correct them and call again."#]],
    );
    check(
        json!("just a string"),
        expect![[r#"
        bad arguments for read:
        - the arguments must be an object, not "just a string"
        Correct them and call again."#]],
    );
    // Written twice as JSON it is still the object.
    check(
        json!("{\"filePath\": \"a\"}"),
        expect![[r#"Input { file_path: "a", offset: None, edits: None, all: None, format: None, mode: None }"#]],
    );
    check(
        Value::Null,
        expect![[r#"
        bad arguments for read:
        - the arguments must be an object, not null
        Correct them and call again."#]],
    );
}

#[test]
fn long_values_are_quoted_in_part() {
    check(
        json!({"filePath": "a", "all": "x".repeat(500)}),
        expect![[r#"
        bad arguments for read:
        - all must be a boolean, not "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
        Correct them and call again."#]],
    );
}

#[test]
fn an_answer_lists_no_more_problems_than_help() {
    let edits: Vec<Value> = (0..50).map(|_| json!({})).collect();
    let Err(error) = decode::<Input>("read", json!({"filePath": "a", "edits": edits})) else { panic!("it fits") };
    assert_eq!(error.to_string().lines().count(), 12);
}

fn any_json() -> impl Strategy<Value = Value> {
    let key = prop_oneof!["filePath|file_path|offset|ofset|edits|old|all|format|mode", ".{0,8}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "\\[\\{\"old\": ?\"x\"\\}?\\]|[0-9]{1,25}|true|HTML".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(|all| Value::Object(all.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn nothing_panics_and_what_fails_says_why(input in any_json()) {
        if let Err(error) = decode::<Input>("read", input) {
            let text = error.to_string();
            prop_assert!(text.starts_with("bad arguments for read:\n- "), "{text}");
            prop_assert!(text.len() < 8_000, "{} bytes", text.len());
        }
    }

    #[test]
    fn right_arguments_come_through_as_they_are(path in ".*", offset in any::<u32>(), old in ".*") {
        let input = json!({"filePath": path, "offset": offset, "edits": [{"old": old}]});
        let got = decode::<Input>("read", input).unwrap();
        let edits = got.edits.unwrap();
        prop_assert_eq!((got.file_path, got.offset, &edits[0].old), (path, Some(u64::from(offset)), &old));
    }
}
