//! The examples of `docs/scenarios.md` can be played.

use haft_llm::{parse_recording, parse_scenario};

#[test]
fn the_documented_files_are_read() {
    let page = include_str!("../../../../docs/scenarios.md");
    let mut files = page.split("```json\n").skip(1).map(|rest| rest.split_once("```").unwrap().0);
    let scenario = parse_scenario("the scenario of the page", files.next().unwrap()).unwrap();
    assert_eq!(scenario.len(), 3);
    let recording = parse_recording("the recording of the page", files.next().unwrap()).unwrap();
    assert_eq!(recording[0].chunks().count(), 5);
    assert_eq!(files.next(), None);
}
