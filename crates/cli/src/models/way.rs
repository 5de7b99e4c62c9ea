//! How a model is reached: what the catalogue, the settings, what was stored and the environment say about it, put
//! together. Pure.

use haft_llm::catalogue::{self, Dialect, Interleaved, Model, Shape, Speaks, Spoken, Status, Vendor};
use haft_llm::quirks::{About, Accepts, Quirks};
use haft_llm::vendors::{Wanted, wants};
use haft_llm::{Deadlines, Key, Place, Secret, Server, local};
use serde_json::{Map, Value};

use super::entry::{Entry, Facts, address_variable};
use super::world::{Environment, World};
use crate::report::Usage;

/// Everything about the way to one model.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) dialect: Dialect,
    /// On whose machines.
    pub(super) place: Place,
    pub(super) server: Server,
    /// What the vendor calls the model.
    pub(super) api_id: String,
    /// Further fields of each request.
    pub(super) extra: Map<String, Value>,
    pub(super) thinking_field: Option<String>,
    pub(super) quirks: Quirks,
    /// What it can do, take and cost.
    pub(super) model: Model,
    /// The variants that can be named.
    pub(super) variants: Vec<catalogue::Variant>,
    /// What a person should know who asks it.
    pub(super) note: Option<String>,
}

/// The key by which OpenCode's own service lets free models be asked.
const FREE_KEY: &str = "public";

/// The way to the model `id` of `vendor`, with the settings that `variant` names laid over its own.
pub(super) fn way(vendor: &str, id: &str, variant: Option<&str>, world: &World<'_>) -> Result<Way, Usage> {
    let entry = Entry::of(vendor, world)?;
    let facts = entry.model(id, world)?;
    reach(&entry, id, facts, variant, world)
}

/// The way to a model of which all is known.
pub(super) fn reach(
    entry: &Entry<'_>,
    id: &str,
    facts: Facts,
    variant: Option<&str>,
    world: &World<'_>,
) -> Result<Way, Usage> {
    let (vendor, env) = (entry.id, world.env);
    let stored = (world.stored)(vendor);
    let driver = entry.driver(&facts.model);
    let spoken = spoken(vendor, driver)?;
    let key = key(entry, stored.as_ref().map(|stored| &stored.key), env);
    let none = Map::new();
    let wants = wants(&Wanted {
        vendor,
        model: &facts.model.id,
        driver,
        options: &options(entry, stored.as_ref().map(|stored| &stored.key), env),
        stored: stored.as_ref().map_or(&none, |stored| &stored.stored),
        env: &env,
    });
    let wants = wants.map_err(Usage)?;
    let variable = |name: &str| wants.variables.iter().find(|(one, _)| *one == name).map(|(_, value)| value.clone());
    let filled = |name: &str| variable(name).or_else(|| env(name));
    let (dialect, base_url) = destination(entry, &facts.model, (wants.dialect, wants.base_url), spoken, &filled)?;
    let own = entry.own.into_iter().flat_map(|own| &own.options.headers);
    let models = facts.model.headers.iter().map(|(name, value)| (name.clone(), value.expose().to_owned()));
    let own: Vec<_> = own.map(|(name, value)| (name.clone(), value.clone())).chain(models).collect();
    let mut key = match (wants.key, key, wants.key_in) {
        (Some(wanted), _, _) => Some(wanted),
        (None, Some(Key::Plain(key)), Some(place)) => Some(place.key(&key)),
        (None, key, Some(_) | None) => key,
    };
    // A free model of OpenCode's own service may be asked by anybody.
    if key.is_none() && is_free(entry, &facts.model) {
        key = Some(Key::Plain(Secret::new(FREE_KEY)));
    }
    let shows_itself = own.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization") || name.contains("key"));
    if key.is_none() && !wants.free && !shows_itself && wants_key(entry, env) {
        return Err(no_key(entry));
    }
    let speaks = Speaks { dialect, driver, model: &facts.model.id };
    let variants = variants(&facts, speaks);
    let mut all = wants.extra;
    all.extend(facts.model.options.clone());
    all.extend(facts.options.clone());
    if let Some(variant) = variant {
        all.extend(variant_of(variant, vendor, id, &variants)?);
    }
    let api_id = wants.model.unwrap_or_else(|| facts.model.id.clone());
    let is_priced = entry.own.and_then(|own| own.models.get(id)).is_some_and(|own| own.cost.is_some());
    let is_paid = wants.manners.is_paid() && !is_priced;
    let deadlines = entry.own.map(|own| Deadlines::from_options(&own.options.other)).unwrap_or_default();
    Ok(Way {
        dialect,
        place: wants.place,
        server: Server {
            provider: vendor.to_owned(),
            base_url,
            key,
            headers: wants.headers.into_iter().chain(own).collect(),
            deadlines,
            manners: wants.manners,
        },
        extra: all,
        thinking_field: thinking_field(facts.model.interleaved.as_ref()),
        quirks: quirks(entry, &api_id, &facts.model, driver),
        note: note(vendor, id, &facts.model),
        api_id,
        model: match is_paid {
            // The list has what it costs those who pay for each request.
            true => Model { cost: Some(catalogue::Cost::default()), ..facts.model },
            false => facts.model,
        },
        variants,
    })
}

/// What a driver speaks; without one it is chat completions.
fn spoken(vendor: &str, driver: Option<&str>) -> Result<Spoken, Usage> {
    let Some(name) = driver else { return Ok(Spoken::As(Dialect::Chat, None)) };
    catalogue::driver(name).map(|driver| driver.spoken).ok_or_else(|| {
        Usage(format!(
            "the provider {vendor} wants the driver {name}, which haft does not know; if it speaks like OpenAI, say \
             \"npm\": \"@ai-sdk/openai-compatible\" and its options.baseURL"
        ))
    })
}

/// What is spoken, and where. Who has something to say: the vendor's own rules, the settings, the model, the vendor's
/// entry, the driver.
fn destination(
    entry: &Entry<'_>,
    model: &Model,
    (dialect, base_url): (Option<Dialect>, Option<String>),
    spoken: Spoken,
    env: Environment<'_>,
) -> Result<(Dialect, String), Usage> {
    let given = entry.own.and_then(|own| own.options.base_url.as_deref()).filter(|url| !url.is_empty());
    let (usual, driver_url) = match spoken {
        Spoken::As(dialect, url) => (dialect, url),
        Spoken::Not(_) if base_url.is_some() || given.is_some() => (Dialect::Chat, None),
        Spoken::Not(why) => return Err(Usage(format!("{}/{} cannot be asked: {why}", entry.id, model.id))),
    };
    let shape = model.provider.as_ref().and_then(|way| way.shape);
    let usual = match (usual, shape) {
        (Dialect::Chat | Dialect::Responses, Some(Shape::Responses)) => Dialect::Responses,
        (Dialect::Chat | Dialect::Responses, Some(Shape::Completions)) => Dialect::Chat,
        (usual, Some(_) | None) => usual,
    };
    let given = given.map(|given| expand(entry.id, given, env)).transpose()?;
    // A vendor may make more of the address that the settings give, but not send anything elsewhere.
    let base_url = base_url.filter(|url| given.as_deref().is_none_or(|given| host(given) == host(url)));
    let base_url = match base_url.or(given) {
        Some(url) => url,
        None => address(entry, model, driver_url, env)?,
    };
    Ok((dialect.unwrap_or(usual), base_url))
}

/// The scheme, host and port of an address.
fn host(url: &str) -> &str {
    let begin = url.find("://").map_or(0, |at| at + "://".len());
    let end = url[begin..].find(['/', '?', '#']).map_or(url.len(), |at| begin + at);
    &url[..end]
}

fn address(entry: &Entry<'_>, model: &Model, driver_url: Option<&str>, env: Environment<'_>) -> Result<String, Usage> {
    let vendor = entry.id;
    let own = entry.own.and_then(|own| own.api.as_deref()).filter(|url| !url.is_empty());
    let single = model.provider.as_ref().and_then(|way| way.api.as_deref());
    if let Some(written) = single.or(own) {
        return expand(vendor, written, env);
    }
    let told = || match vendor {
        "ollama" => Some(format!("{}/v1", local::ollama_origin(&env("OLLAMA_HOST")?)?)),
        "anthropic" => env(address_variable(vendor)?).map(versioned),
        _ => env(address_variable(vendor)?),
    };
    if let Some(told) = told() {
        return Ok(told);
    }
    // Some list the whole path.
    let known = entry.known.and_then(|known| known.api.as_deref());
    let known = known.map(|url| url.trim_end_matches('/').trim_end_matches("/chat/completions"));
    match known.or(driver_url) {
        Some(url) => expand(vendor, url, env),
        None => Err(Usage(format!(
            "the provider {vendor} has no address; set provider.{vendor}.options.baseURL in opencode.json"
        ))),
    }
}

/// Anthropic's own programs take the address of the host alone, others one that ends in the version.
fn versioned(address: String) -> String {
    let bare = address.trim_end_matches('/');
    match bare.split_once("://") {
        Some((_, rest)) if !rest.contains('/') => format!("{bare}/v1"),
        _ => address,
    }
}

/// Puts variables in for `${NAME}`.
fn expand(vendor: &str, address: &str, env: Environment<'_>) -> Result<String, Usage> {
    let mut whole = String::new();
    let mut rest = address;
    while let Some((before, (name, after))) =
        rest.split_once("${").and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        let value = env(name);
        let missing = || Usage(format!("the address of the provider {vendor} needs the variable {name}; set it"));
        whole.push_str(before);
        whole.push_str(&value.ok_or_else(missing)?);
        rest = after;
    }
    whole.push_str(rest);
    Ok(whole)
}

/// The settings' own key, else what is stored, else that of the environment.
fn key(entry: &Entry<'_>, stored: Option<&Key>, env: Environment<'_>) -> Option<Key> {
    let options = entry.own.map(|own| &own.options);
    if let Some(key) = options.and_then(|options| options.api_key.as_ref()).filter(|key| !key.is_empty()) {
        return Some(Key::Plain(Secret::new(key)));
    }
    let token = options.and_then(|options| options.other.get("authToken")).and_then(Value::as_str);
    if let Some(token) = token.filter(|token| !token.is_empty()) {
        return Some(Key::Bearer(Secret::new(token)));
    }
    if let Some(stored) = stored {
        return Some(stored.clone());
    }
    if let Some(key) = entry.keys().into_iter().filter(|name| is_sent(name)).find_map(env) {
        return Some(Key::Plain(Secret::new(key)));
    }
    let token = || env("ANTHROPIC_AUTH_TOKEN").map(|token| Key::Bearer(Secret::new(token)));
    if entry.id == "anthropic" { token() } else { None }
}

/// Whether what such a variable holds is sent as it is: of others, tokens and signatures are made.
fn is_sent(name: &str) -> bool {
    !matches!(
        name,
        "GOOGLE_APPLICATION_CREDENTIALS" | "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" | "AICORE_SERVICE_KEY"
    )
}

/// What the settings say to the vendor's driver, with a key that is stored where they have none.
fn options(entry: &Entry<'_>, stored: Option<&Key>, env: Environment<'_>) -> Map<String, Value> {
    let mut options = entry.own.map(|own| own.options.other.clone()).unwrap_or_default();
    let url = entry.own.and_then(|own| own.options.base_url.as_deref()).filter(|url| !url.is_empty());
    if let Some(url) = url.and_then(|url| expand(entry.id, url, env).ok()) {
        options.insert("baseURL".to_owned(), url.into());
    }
    let own = entry.own.and_then(|own| own.options.api_key.as_deref()).filter(|key| !key.is_empty());
    let key = own.or(match stored {
        Some(Key::Plain(key)) => Some(key.expose()),
        Some(Key::Bearer(_) | Key::Header(..) | Key::Signed(_)) | None => None,
    });
    if let Some(key) = key {
        options.insert("apiKey".to_owned(), key.into());
    }
    options
}

/// Whether a request without a key is bound to fail. At an address of the user's own it is not known.
fn wants_key(entry: &Entry<'_>, env: Environment<'_>) -> bool {
    let own = entry.own.is_some_and(|own| own.options.base_url.is_some() || own.api.is_some());
    let told = address_variable(entry.id).is_some_and(|name| env(name).is_some());
    let known = entry.known.is_some_and(|known| !known.is_local() && known.keys().next().is_some());
    known && !own && !told
}

fn no_key(entry: &Entry<'_>) -> Usage {
    let (vendor, keys) = (entry.id, entry.keys());
    let free = match vendor {
        "opencode" => " (models that cost nothing need none)",
        _ => "",
    };
    let variable = keys.first().map(|name| format!(", set {name}")).unwrap_or_default();
    Usage(format!(
        "there is no key for {vendor}{free}; store one with `haft auth login {vendor}`{variable}, or write it to \
         provider.{vendor}.options.apiKey in opencode.json"
    ))
}

/// Whether a model may be asked without a key.
pub(super) fn is_free(entry: &Entry<'_>, model: &Model) -> bool {
    entry.id == "opencode" && model.cost.as_ref().is_some_and(catalogue::Cost::is_free)
}

/// The variants of a model: those of the catalogue with what the settings say laid over them.
fn variants(facts: &Facts, speaks: Speaks<'_>) -> Vec<catalogue::Variant> {
    let mut all = catalogue::variants(&facts.model, speaks);
    for (name, own) in &facts.variants {
        if own.get("disabled") == Some(&Value::Bool(true)) {
            all.retain(|(one, _)| one != name);
            continue;
        }
        let own = own.iter().filter(|(key, _)| *key != "disabled").map(|(key, value)| (key.clone(), value.clone()));
        match all.iter_mut().find(|(one, _)| one == name) {
            Some((_, known)) => known.extend(own),
            None => all.push((name.clone(), own.collect())),
        }
    }
    all
}

/// The fields that a variant stands for.
fn variant_of(
    variant: &str,
    vendor: &str,
    id: &str,
    variants: &[catalogue::Variant],
) -> Result<Map<String, Value>, Usage> {
    if let Some((_, fields)) = variants.iter().find(|(name, _)| name == variant) {
        return Ok(fields.clone());
    }
    let names: Vec<&str> = variants.iter().map(|(name, _)| name.as_str()).collect();
    let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Err(Usage(format!("{vendor}/{id} has no variant {variant:?}; it has {has}")))
}

fn thinking_field(interleaved: Option<&Interleaved>) -> Option<String> {
    match interleaved? {
        // These are no text: they go back as they came.
        Interleaved::Field { field } if field == "reasoning_details" => None,
        Interleaved::Field { field } => Some(field.clone()).filter(|field| !field.is_empty()),
        Interleaved::Whether(_) => None,
    }
}

/// A model can be shown what is said of it. A model of one's own of which nothing is said reads words alone; of others
/// more is not known, and tried.
fn quirks(entry: &Entry<'_>, api_id: &str, model: &Model, driver: Option<&str>) -> Quirks {
    let accepts = match &model.modalities {
        Some(_) => {
            let has = |kind: &str| model.reads(kind) == Some(true);
            Some(Accepts { image: has("image"), pdf: has("pdf"), audio: has("audio"), video: has("video") })
        }
        None if entry.known.is_none() && entry.own.is_some_and(|own| !own.models.is_empty()) => {
            Some(Accepts::default())
        }
        None => None,
    };
    let about = About {
        vendor: entry.id,
        model: api_id,
        driver,
        reasoning: model.reasoning,
        temperature: model.temperature,
        output: Some(model.limit.output).filter(|output| *output > 0),
        options: entry.own.map(|own| &own.options.other),
        own: entry.known.is_none_or(Vendor::is_local),
    };
    Quirks { accepts, no_tools: model.tool_call == Some(false), ..Quirks::about(&about) }
}

fn note(vendor: &str, id: &str, model: &Model) -> Option<String> {
    match model.status {
        Status::Deprecated => Some(format!(
            "{vendor}/{id} is going to be switched off by its vendor, or is gone already; haft models {vendor} lists others"
        )),
        Status::Alpha | Status::Beta | Status::Active => None,
    }
}

#[cfg(test)]
mod tests;
