//! Model servers on this machine, for a user who has configured nothing.

use haft_config::Config;
use haft_llm::catalogue;
use haft_llm::local::{Found, discover, places};

use super::way::{Environment, is_offered};

/// The servers that answer here, or that of `vendor` alone, as far as the settings let them be asked.
pub(super) async fn servers(vendor: Option<&str>, config: &Config, env: Environment<'_>) -> Vec<Found> {
    let mut asked = places(env("OLLAMA_HOST").as_deref());
    asked.retain(|place| is_offered(place.vendor, config) && vendor.is_none_or(|vendor| vendor == place.vendor));
    discover(&asked).await
}

/// The first model of the first server that has one, as `VENDOR/MODEL`, and what a person should know about it.
pub(super) fn first(found: &[Found]) -> Option<(String, String)> {
    let (server, model) = found.iter().find_map(|server| Some((server, server.models.first()?)))?;
    let named = format!("{}/{model}", server.vendor);
    let name = catalogue::vendor(server.vendor).map_or(server.vendor, |vendor| vendor.name);
    let told = format!(
        "no model is configured, so {named} is asked: {name} on this machine, at {}. \
         Pin it with --model {named}, or with \"model\": \"{named}\" in haft.json.",
        server.base_url
    );
    Some((named, told))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(vendor: &'static str, models: &[&str]) -> Found {
        let models = models.iter().map(|model| (*model).to_owned()).collect();
        Found { vendor, base_url: "http://127.0.0.1:1/v1".to_owned(), models }
    }

    #[test]
    fn the_first_model_there_is_is_taken_and_named() {
        assert_eq!(first(&[]), None);
        assert_eq!(first(&[server("ollama", &[])]), None);
        let (named, told) = first(&[server("ollama", &[]), server("lmstudio", &["gemma", "qwen"])]).unwrap();
        assert_eq!(named, "lmstudio/gemma");
        for part in ["LM Studio", "http://127.0.0.1:1/v1", "--model lmstudio/gemma", "haft.json"] {
            assert!(told.contains(part), "{part} is not in {told}");
        }
    }
}
