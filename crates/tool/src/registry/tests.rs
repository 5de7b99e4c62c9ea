use std::borrow::Cow;

use super::*;

struct Shown<const AT: usize>;

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Some2 {
    /// Must be.
    path: String,
    /// May be.
    depth: Option<u32>,
}

struct Looks;

impl Tool for Looks {
    const NAME: &'static str = "look";
    const SMALL: Option<crate::Small> = Some(crate::Small { description: "Looks.", arguments: &["path"] });
    type Input = Some2;

    fn description(&self) -> Cow<'static, str> {
        "Looks for a long time, and says so.".into()
    }

    fn suits(&self, model: &str) -> bool {
        model != "reader"
    }

    async fn run(&self, _input: Some2, _call: &Call) -> Result<Output, ToolError> {
        Ok(Output::new("done", "looked"))
    }
}

#[test]
fn a_weak_model_is_told_of_few_tools_in_few_words() {
    let all = registry().with(Looks);
    let small = all.offered("reader", |_| true).small();
    assert_eq!(told(&small), "look");
    let spec = small.spec("look").unwrap();
    assert_eq!(spec.description, "Looks.");
    assert_eq!(spec.parameters["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["path"]);
    assert_eq!(spec.parameters["required"], serde_json::json!(["path"]));
    // All others can be called, in all words for whoever asks.
    assert_eq!(small.find("write"), Ok("write"));
    assert_eq!(all.spec("look").unwrap().parameters["properties"].as_object().unwrap().len(), 2);
    // What the user wants is offered as it is; what is not allowed is not there.
    let on = Switches(vec![("list".to_owned(), true)]);
    assert_eq!(told(&all.switched(&on).offered("any", |_| true).small()), "list look");
    assert_eq!(told(&all.offered("any", |permission| permission != "look").small()), "");
}

const NAMES: [(&str, &[&str], bool); 3] = [("list", &["ls"], false), ("read", &["view"], true), ("write", &[], true)];

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

impl<const AT: usize> Tool for Shown<AT> {
    const NAME: &'static str = NAMES[AT].0;
    const ALIASES: &'static [&'static str] = NAMES[AT].1;
    const OFFERED: bool = NAMES[AT].2;
    type Input = Nothing;

    fn description(&self) -> Cow<'static, str> {
        "A tool.".into()
    }

    fn suits(&self, model: &str) -> bool {
        model != "reader" || Self::NAME != "write"
    }

    async fn run(&self, _input: Nothing, _call: &Call) -> Result<Output, ToolError> {
        Ok(Output::new("done", Self::NAME))
    }
}

fn registry() -> Registry {
    Registry::default().with(Shown::<0>).with(Shown::<1>).with(Shown::<2>)
}

fn told(registry: &Registry) -> String {
    registry.specs().into_iter().map(|spec| spec.name).collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn what_is_logged_during_a_call_says_which_call_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let call = crate::fake::FakeHost::allowing_all(folder.path()).call();
    let log = folder.path().join("log");
    let file = Arc::new(std::fs::File::create(&log).unwrap());
    // Where there is one subscriber alone, a test beside this one that logs first decides for its own thread, where
    // there is none, whether anything is logged at all.
    let _other = tracing::Dispatch::new(tracing_subscriber::fmt().with_writer(std::io::sink).finish());
    let _here = tracing::subscriber::set_default(tracing_subscriber::fmt().with_writer(file).finish());
    registry().run("read", serde_json::json!({}), &call).await.unwrap();
    let log = std::fs::read_to_string(log).unwrap();
    let Call { session, message, id, .. } = &call;
    let span = format!("tool{{tool.name=\"read\" session.id={session} message.id={message} tool.call_id={id}}}");
    assert!(log.contains(&span) && log.contains("tool ended"), "{log}");
}

#[test]
fn some_tools_are_known_and_not_offered() {
    let registry = registry();
    assert_eq!(told(&registry), "read write");
    assert_eq!(registry.find("list"), Ok("list"));
    assert!(registry.spec("list").is_some());
    assert_eq!(told(&registry.offered("any", |_| true)), "read write");
}

#[test]
fn between_two_that_a_name_may_mean_nobody_chooses() {
    struct Named(&'static str);
    impl AnyTool for Named {
        fn spec(&self) -> Spec {
            Spec { name: self.0.to_owned(), description: String::new(), parameters: Value::Null }
        }
        fn run<'a>(&'a self, _: Value, _: &'a Call) -> futures::future::BoxFuture<'a, Result<Output, ToolError>> {
            Box::pin(async { Err(ToolError::Cancelled) })
        }
    }
    let registry = Registry::default().with_any(Arc::new(Named("a_bc"))).with_any(Arc::new(Named("ab_c")));
    assert_eq!(registry.find("ab_c"), Ok("ab_c"));
    assert_eq!(registry.find("AB_C"), Ok("ab_c"));
    assert!(registry.find("abc").is_err());
}

#[test]
fn what_does_not_suit_a_model_is_served_all_the_same() {
    let all = registry();
    let registry = all.offered("reader", |_| true);
    assert_eq!(told(&registry), "read");
    assert_eq!(registry.find("write"), Ok("write"));
    // Switched on or not: the model would do worse with it.
    let on = Switches(vec![("write".to_owned(), true)]);
    assert_eq!(told(&all.switched(&on).offered("reader", |_| true)), "read");
    let error = registry.find("none").unwrap_err();
    assert!(error.ends_with("Call one of: read"), "{error}");
}

#[test]
fn what_is_not_allowed_is_gone_whoever_the_model_is() {
    for model in ["any", "reader"] {
        let registry = registry().offered(model, |permission| permission != "write");
        assert_eq!(registry.names().collect::<Vec<_>>().join(" "), "list read", "{model}");
        assert!(registry.find("write").is_err(), "{model}");
    }
}

#[test]
fn a_switch_offers_a_tool_or_takes_it_away() {
    #[track_caller]
    fn check(switches: &[(&str, bool)], told_of: &str, known: &str) {
        let switches = Switches(switches.iter().map(|(name, on)| ((*name).to_owned(), *on)).collect());
        let registry = registry().switched(&switches);
        assert_eq!(
            (told(&registry).as_str(), registry.names().collect::<Vec<_>>().join(" ").as_str()),
            (told_of, known)
        );
    }
    check(&[], "read write", "list read write");
    check(&[("list", true)], "list read write", "list read write");
    check(&[("write", false)], "read", "list read");
    check(&[("*", false), ("read", true)], "read", "read");
    check(&[("read", true), ("*", false)], "", "");
    check(&[("other", false)], "read write", "list read write");
}

#[test]
fn a_tool_is_found_by_its_other_names_and_in_any_case() {
    let registry = registry();
    for (asked, want) in [("read", "read"), ("view", "read"), ("READ", "read"), ("View", "read"), ("ls", "list")] {
        assert_eq!(registry.find(asked), Ok(want), "{asked}");
    }
    for (asked, want) in [
        ("functions.read", "read"),
        ("functions.read:0", "read"),
        ("default_api:write", "write"),
        ("tools/Read", "read"),
        ("wri-te", "write"),
        ("WRITE_", "write"),
    ] {
        assert_eq!(registry.find(asked), Ok(want), "{asked}");
    }
    // Another server's tool is not ours of that name.
    for asked in ["other.read", "functions.", "functions.reads", "read:0", "", "_", "functions.functions.read"] {
        assert!(registry.find(asked).is_err(), "{asked}");
    }
    let error = registry.find("reads").unwrap_err();
    assert_eq!(error, "there is no tool called \"reads\". Call one of: read, write");
    assert!(registry.find(&"x".repeat(10_000)).unwrap_err().len() < 200);
    // What is gone is gone under each of its names.
    let off = Switches(vec![("read".to_owned(), false)]);
    assert!(registry.switched(&off).find("view").is_err());
}
