//! The tables of `docs/models.md`, made from the list of models and from the tests that show what a dialect does.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use expect_test::expect_file;
use haft_llm::auth::{self, methods};

use super::super::super::offered::is_shown;
use super::walk::everything;
use super::*;

/// What a dialect does, and the file and the test that show it. `None`: it has no place for that.
type Shown = Option<(&'static str, &'static str)>;

/// The features, in the order of the columns.
const FEATURES: [&str; 8] =
    ["streaming", "tools", "thinking kept", "images", "PDFs", "cache marks", "JSON schema", "errors told apart"];

fn dialects() -> Vec<(Dialect, [Shown; 8])> {
    let shown = |file: &'static str, test: &'static str| Some((file, test));
    let chat = [
        shown("chat/tests.rs", "words_come_as_they_are_written"),
        shown("chat/tests.rs", "calls_are_told_apart"),
        shown("chat/body/tests.rs", "thinking_goes_back_to_whom_it_came_from_and_as_it_came"),
        shown("chat/body/tests.rs", "one_text_is_a_string_and_more_are_parts"),
        shown("chat/body/tests.rs", "the_medium_of_one_result_needs_no_name"),
        shown("chat/body/tests.rs", "prefixes_are_marked_for_models_that_are_kept_only_then"),
        shown("chat/body/tests.rs", "openai_is_held_to_schemas_and_forms"),
        shown("chat/tests.rs", "an_error_ends_the_answer"),
    ];
    let responses = [
        shown("responses/tests.rs", "words_come_as_they_are_written"),
        shown("responses/tests.rs", "calls_are_told_apart"),
        shown("responses/body/tests.rs", "only_who_made_a_thought_gets_it_back"),
        shown("responses/body/tests.rs", "files_are_shown_where_they_belong"),
        shown("responses/body/tests.rs", "files_are_shown_where_they_belong"),
        // The vendor keeps prefixes by itself.
        None,
        shown("responses/format.rs", "a_model_is_held_to_what_it_can_be_held_to"),
        shown("responses/tests.rs", "a_failure_is_told_by_its_kind"),
    ];
    let messages = [
        shown("messages/tests.rs", "words_come_as_they_are_written"),
        shown("messages/tests.rs", "calls_are_told_apart"),
        shown("messages/body/tests.rs", "items_go_back_to_whom_they_came_from_unchanged"),
        shown("messages/body/tests.rs", "results_show_pictures_and_say_when_they_failed"),
        shown("messages/body/tests.rs", "files_are_shown_or_named"),
        shown("messages/body/tests.rs", "the_last_two_messages_carry_a_mark"),
        shown("messages/options.rs", "an_answer_has_the_form_that_is_asked_for"),
        shown("messages/tests.rs", "an_error_ends_the_answer"),
    ];
    let gemini = [
        shown("gemini/tests.rs", "words_come_as_they_are_written"),
        shown("gemini/tests.rs", "calls_come_in_one_piece"),
        shown("gemini/tests.rs", "an_answer_goes_back_as_it_came_to_whom_it_came_from"),
        shown("gemini/body/tests.rs", "files_are_shown_where_they_can_be"),
        shown("gemini/body/tests.rs", "files_are_shown_where_they_can_be"),
        None,
        shown("gemini/options.rs", "a_form_is_asked_for_where_the_model_takes_it"),
        shown("gemini/tests.rs", "an_error_ends_the_answer"),
    ];
    let converse = [
        shown("converse/tests.rs", "words_come_as_they_are_written"),
        shown("converse/tests.rs", "calls_come_in_pieces"),
        shown("converse/tests.rs", "thinking_keeps_its_place_and_its_signature"),
        shown("converse/body/tests.rs", "files_are_blocks_of_their_kinds"),
        shown("converse/body/tests.rs", "files_are_blocks_of_their_kinds"),
        shown("converse/body/tests.rs", "marks_stand_at_the_end_of_the_last_two_turns"),
        shown("converse/body/tests.rs", "a_form_is_asked_for_where_a_model_can_be_held_to_one"),
        shown("converse/tests.rs", "failures_in_the_middle_are_told_apart"),
    ];
    vec![
        (Dialect::Chat, chat),
        (Dialect::Responses, responses),
        (Dialect::Messages, messages),
        (Dialect::Gemini, gemini),
        (Dialect::Converse, converse),
    ]
}

/// What holds for all dialects: in words, the file below the root, and the test.
const KEYS: [(&str, &str, &str); 7] = [
    (
        "a key is sent where its dialect has it, and stands in no message",
        "crates/llm/tests/it/chat.rs",
        "a_request_carries_key_headers_and_session",
    ),
    (
        "the settings' key, then what is stored, then the environment's",
        "crates/cli/src/models/way/tests.rs",
        "what_is_stored_pays_before_what_the_environment_has",
    ),
    (
        "addresses, headers and keys that single vendors want",
        "crates/llm/src/vendors/tests.rs",
        "others_have_addresses_made_of_settings",
    ),
    (
        "GitHub Copilot: a code that is typed in at GitHub",
        "crates/llm/src/auth/tests.rs",
        "github_is_asked_as_often_as_it_says_until_the_code_was_typed",
    ),
    (
        "ChatGPT: a page in the browser",
        "crates/llm/src/auth/tests.rs",
        "chatgpts_page_comes_back_with_a_code_that_is_of_use_here_alone",
    ),
    (
        "Vertex AI: tokens of Google's credentials",
        "crates/llm/tests/it/vertex.rs",
        "a_service_account_signs_for_a_token_that_lasts",
    ),
    (
        "models that cost nothing, without a key",
        "crates/cli/src/models/way/tests.rs",
        "models_that_cost_nothing_need_no_key",
    ),
];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Panics where the test that a table names is not there.
#[track_caller]
fn there(file: &str, test: &str) {
    let text = std::fs::read_to_string(root().join(file)).unwrap_or_default();
    assert!(text.contains(&format!("fn {test}(")), "{file} has no test {test}");
}

fn dialect_table() -> String {
    let mut table = String::from(
        "| feature | chat | responses | messages | gemini | converse |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    let dialects = dialects();
    for (at, feature) in FEATURES.iter().enumerate() {
        let cells = dialects.iter().map(|(_, shown)| match shown[at] {
            None => "–".to_owned(),
            Some((file, test)) => {
                there(&format!("crates/llm/src/dialect/{file}"), test);
                format!("`{}::{test}`", file.trim_end_matches(".rs").replace('/', "::"))
            }
        });
        writeln!(table, "| {feature} | {} |", cells.collect::<Vec<_>>().join(" | ")).unwrap();
    }
    table
}

fn key_table() -> String {
    let mut table = String::from("| what | test |\n| --- | --- |\n");
    for (what, file, test) in KEYS {
        there(file, test);
        writeln!(table, "| {what} | `{test}` in `{file}` |").unwrap();
    }
    table
}

fn vendor_table() -> String {
    let mut table = String::from(
        "| vendor | name | speaks | key | models | tools | think | images | PDFs | schema | cached |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let config = Config::default();
    everything(&config, |world| {
        for vendor in world.catalogue.vendors() {
            let entry = Entry::of(&vendor.id, world).unwrap();
            let mut models = entry.models(world);
            models.retain(|(_, facts)| is_shown(&facts.model, world.config));
            let count =
                |has: &dyn Fn(&Model) -> bool| match models.iter().filter(|(_, facts)| has(&facts.model)).count() {
                    0 => String::new(),
                    count => count.to_string(),
                };
            let cells = [
                count(&|_| true),
                count(&|model| model.tool_call == Some(true)),
                count(&|model| model.reasoning == Some(true)),
                count(&|model| model.reads("image") == Some(true)),
                count(&|model| model.reads("pdf") == Some(true)),
                count(&|model| model.structured_output == Some(true)),
                count(&|model| model.cost.as_ref().is_some_and(|cost| cost.usual.cache_read > 0.0)),
            ];
            let ways = models.iter().filter_map(|(id, facts)| reach(&entry, id, facts.clone(), None, world).ok());
            let spoken: BTreeSet<String> = ways.map(|way| format!("{:?}", way.dialect).to_lowercase()).collect();
            let spoken: Vec<String> = match (spoken.is_empty(), models.is_empty()) {
                // What a server has, nobody knows before it is asked.
                (true, true) => vec!["chat".to_owned()],
                (true, false) => vec!["–".to_owned()],
                (false, _) => spoken.into_iter().collect(),
            };
            let keys: Vec<String> = vendor.keys().map(|key| format!("`{key}`")).collect();
            let mut keys = if vendor.is_local() { "on this machine".to_owned() } else { keys.join(" ") };
            if methods(&vendor.id).iter().any(|method| method.way != auth::Way::Key) {
                keys.push_str(", sign-in");
            }
            let (id, name) = (&vendor.id, &vendor.name);
            writeln!(table, "| `{id}` | {name} | {} | {keys} | {} |", spoken.join(" "), cells.join(" | ")).unwrap();
        }
    });
    table
}

fn missed_table() -> String {
    let config = Config::default();
    let mut missed: BTreeMap<String, usize> = BTreeMap::new();
    everything(&config, |world| {
        for vendor in world.catalogue.vendors() {
            let entry = Entry::of(&vendor.id, world).unwrap();
            for (id, facts) in entry.models(world) {
                if let Err(Usage(why)) = reach(&entry, &id, facts, None, world) {
                    let why = why.split_once(" cannot be asked: ").map_or(why.as_str(), |(_, why)| why).to_owned();
                    *missed.entry(format!("| `{}` | {why} |", vendor.id)).or_default() += 1;
                }
            }
        }
    });
    if missed.is_empty() {
        return "Nobody: each model of the list has a way to it that haft can go.\n".to_owned();
    }
    let mut table = String::from("| vendor | why | models |\n| --- | --- | --- |\n");
    for (line, count) in missed {
        writeln!(table, "{line} {count} |").unwrap();
    }
    table
}

/// `page` with the generated part called `name` in its place.
fn with(page: &str, name: &str, table: &str) -> String {
    let (begin, end) = (format!("<!-- generated: {name} -->\n"), "<!-- end -->");
    let (before, rest) = page.split_once(&begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    format!("{before}{begin}\n{table}\n{end}{after}")
}

#[test]
fn the_tables_of_the_documentation_are_those_of_the_list() {
    let path = root().join("docs/models.md");
    let mut page = std::fs::read_to_string(&path).unwrap();
    for (name, table) in
        [("missed", missed_table()), ("dialects", dialect_table()), ("keys", key_table()), ("vendors", vendor_table())]
    {
        page = with(&page, name, &table);
    }
    // UPDATE_EXPECT=1 writes the page anew.
    expect_file![path].assert_eq(&page);
}
