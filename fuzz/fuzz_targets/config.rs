//! Settings: layers of JSON with comments, rules in them, and front matter. Whatever they hold, there is an answer.
#![no_main]

use std::path::{Path, PathBuf};

use haft_config::{Sources, Trust, agent, front_matter, load, rules_from};
use libfuzzer_sys::fuzz_target;

// Layers are separated by zero bytes, which no JSON holds.
fuzz_target!(|text: &str| {
    let layers: Vec<&str> = text.split('\0').take(4).collect();
    let nowhere = PathBuf::from("/nonexistent");
    let sources = Sources {
        home: nowhere.clone(),
        config_home: nowhere.clone(),
        directory: nowhere.clone(),
        organisation: layers.iter().map(|layer| ("fuzz.json".to_owned(), (*layer).to_owned())).collect(),
        ..Sources::default()
    };
    // An error is an answer.
    let _ = load(&sources, Trust::Given);
    let _ = rules_from(&layers, Path::new("/home/user"));
    let _ = agent("fuzz", text, "fuzz.md");
    let _ = front_matter(text, "fuzz.md");
});
