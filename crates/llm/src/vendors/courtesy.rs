//! Headers by which vendors like to know which program asks. They carry nothing of the user.

/// Our name, as programs are called there.
const NAME: &str = "haft";

/// What `vendor` likes to hear.
pub(super) fn headers(vendor: &str) -> Vec<(String, String)> {
    let names: &[&str] = match vendor {
        "kilo" | "nvidia" | "openrouter" | "vercel" | "zenmux" => &["x-title"],
        "llmgateway" => &["x-title", "x-source"],
        "cerebras" => &["x-cerebras-3rd-party-integration"],
        _ => &[],
    };
    names.iter().map(|name| ((*name).to_owned(), NAME.to_owned())).collect()
}
