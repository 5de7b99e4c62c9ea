//! Model servers on this machine, for a user who has configured nothing.

use haft_config::{Config, Modalities};
use haft_llm::local::{Found, KNOWN, LocalModel, discover, models_at, places};

use haft_protocol::ModelRef;

use super::offered::is_offered;
use super::way::way;
use super::world::World;

/// The servers that answer here, or that of `vendor` alone, as far as the settings let them be asked.
pub(super) async fn servers(vendor: Option<&str>, world: &World<'_>) -> Vec<Found> {
    let offered = |id: &str| is_offered(id, world.config) && vendor.is_none_or(|vendor| vendor == id);
    let mut asked = places((world.env)("OLLAMA_HOST").as_deref());
    asked.retain(|place| KNOWN.iter().any(|known| place.may_be(known.id) && offered(known.id)));
    let mut found = discover(&asked).await;
    found.retain(|server| offered(&server.vendor));
    // Servers of the user's own that are here, too, and have models that the settings do not name.
    for (id, own) in &world.config.providers {
        let url = own.options.base_url.as_deref().or(own.api.as_deref());
        if let Some(url) = url.filter(|_| own.models.is_empty() && offered(id))
            && !found.iter().any(|server| server.vendor == *id)
        {
            found.extend(models_at(id, url).await);
        }
    }
    found
}

/// What the server of `model` says of it, if it is on this machine and the one that is going to be asked.
pub(super) async fn told(model: &ModelRef, world: &World<'_>) -> Option<LocalModel> {
    let ModelRef { provider_id, model_id } = model;
    let way = way(provider_id, model_id, None, world).ok()?;
    let servers = servers(Some(provider_id), world).await;
    let server = servers.into_iter().find(|server| is_same(&server.base_url, &way.server.base_url))?;
    server.models.into_iter().find(|found| is_called(&found.id, &way.api_id))
}

/// The settings with what a server on this machine says of `model` laid under what they say.
pub(super) fn laid_under(config: &Config, model: &ModelRef, facts: &LocalModel) -> Config {
    let mut config = config.clone();
    let provider = config.providers.entry(model.provider_id.clone()).or_default();
    let own = provider.models.entry(model.model_id.clone()).or_default();
    if own.limit.context == 0 {
        own.limit.context = facts.context.unwrap_or(0);
    }
    own.tool_call = own.tool_call.or(facts.tools);
    if let (None, Some(images)) = (&own.modalities, facts.images) {
        let input = if images { vec!["text", "image"] } else { vec!["text"] };
        let input = input.into_iter().map(str::to_owned).collect();
        own.modalities = Some(Modalities { input, output: Vec::new() });
    }
    config
}

/// Whether two addresses of servers on this machine are one.
fn is_same(one: &str, other: &str) -> bool {
    let plain = |url: &str| url.trim_end_matches('/').replacen("//localhost", "//127.0.0.1", 1);
    plain(one) == plain(other)
}

/// Whether a server's model is the one that is named; Ollama's may be named without their tag.
fn is_called(id: &str, named: &str) -> bool {
    id == named || id.strip_suffix(":latest") == Some(named)
}

/// The one of `recent` that is there, else the first model of the first server that has one, and what a person should know
/// about it. One that is said to call no tools only where there is no other.
pub(super) fn first<'a>(found: &'a [Found], recent: &[String]) -> Option<(ModelRef, String, &'a LocalModel)> {
    let models = || found.iter().flat_map(|server| server.models.iter().map(move |model| (server, model)));
    let name = |server: &Found, model: &LocalModel| format!("{}/{}", server.vendor, model.id);
    let named = recent.iter().find_map(|named| models().find(|(server, model)| name(server, model) == *named));
    let works = || models().find(|(_, model)| model.tools != Some(false));
    let (server, model) = named.or_else(works).or_else(|| models().next())?;
    let named = name(server, model);
    let name = KNOWN.iter().find(|known| known.id == server.vendor).map_or(&*server.vendor, |known| known.name);
    let told = format!(
        "no model is configured, so {named} is asked: {name} on this machine, at {}. \
         Pin it with --model {named}, or with \"model\": \"{named}\" in haft.json.",
        server.base_url
    );
    Some((ModelRef { provider_id: server.vendor.clone(), model_id: model.id.clone() }, told, model))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(vendor: &str, models: &[(&str, Option<bool>)]) -> Found {
        let model = |(id, tools): &(&str, Option<bool>)| {
            let mut model = LocalModel::default();
            model.id = (*id).to_owned();
            model.tools = *tools;
            model
        };
        let models = models.iter().map(model).collect();
        Found { vendor: vendor.to_owned(), base_url: "http://127.0.0.1:1/v1".to_owned(), models }
    }

    #[test]
    fn the_first_model_that_can_work_is_taken_and_named() {
        assert_eq!(first(&[], &[]), None);
        assert_eq!(first(&[server("ollama", &[])], &[]), None);
        let found = [server("ollama", &[("old", Some(false))]), server("lmstudio", &[("gemma", None), ("qwen", None)])];
        let (named, told, _) = first(&found, &[]).unwrap();
        assert_eq!((&*named.provider_id, &*named.model_id), ("lmstudio", "gemma"));
        for part in ["LM Studio", "http://127.0.0.1:1/v1", "--model lmstudio/gemma", "haft.json"] {
            assert!(told.contains(part), "{part} is not in {told}");
        }
        assert_eq!(first(&found[..1], &[]).unwrap().0.model_id, "old");
        let recent = ["ollama/gone", "lmstudio/qwen", "lmstudio/gemma"].map(str::to_owned);
        assert_eq!(first(&found, &recent).unwrap().0.model_id, "qwen");
    }

    #[test]
    fn a_server_is_the_one_that_is_asked_only_at_the_same_address() {
        for (one, other, want) in [
            ("http://127.0.0.1:11434/v1", "http://localhost:11434/v1/", true),
            ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11435/v1", false),
            ("http://127.0.0.1:11434/v1", "https://gpu.example:11434/v1", false),
        ] {
            assert_eq!(is_same(one, other), want, "{one} {other}");
        }
        assert!(is_called("qwen3:latest", "qwen3") && is_called("qwen3:8b", "qwen3:8b"));
        assert!(!is_called("qwen3:8b", "qwen3"));
    }

    #[test]
    fn the_settings_know_better_than_the_server() {
        let model = ModelRef { provider_id: "ollama".to_owned(), model_id: "m".to_owned() };
        let mut facts = LocalModel::default();
        (facts.context, facts.tools, facts.images) = (Some(4096), Some(false), Some(false));
        let laid = |config: &Config| laid_under(config, &model, &facts).providers["ollama"].models["m"].clone();
        let own = laid(&Config::default());
        assert_eq!((own.limit.context, own.tool_call), (4096, Some(false)));
        assert_eq!(own.modalities.unwrap().input, ["text"]);
        let mut config = Config::default();
        let said = config.providers.entry("ollama".to_owned()).or_default().models.entry("m".to_owned()).or_default();
        (said.limit.context, said.tool_call) = (9, Some(true));
        let own = laid(&config);
        assert_eq!((own.limit.context, own.tool_call), (9, Some(true)));
    }
}
