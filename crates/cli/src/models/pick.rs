//! Which model is asked when none is named. Pure.

use haft_llm::catalogue::Model;

use super::entry::{Entry, Facts};
use super::offered::{is_offered, is_shown};
use super::way::{is_free, reach};
use super::world::World;

/// Pieces of names that tell a good model, the best first.
const GOOD: [&str; 5] = ["gpt-5", "claude-sonnet-4", "big-pickle", "gemini-3-pro", "gemini-3.1-pro"];

/// Words in the names of models that are made for something else than work on code, or for less of it.
const LESSER: [&str; 9] = ["haiku", "flash", "lite", "nano", "mini", "chat", "spark", "fast", "customtools"];

/// What an answer may cost, in dollars for a million tokens, for a model to be chosen before others that nobody named.
const DEAR: f64 = 60.0;

/// Vendors whose key is most likely to be meant, where several are there.
const FIRST: [&str; 6] = ["opencode", "anthropic", "openai", "google", "openrouter", "github-copilot"];

/// Variables that hold a key to much else than models. Whoever has one there has not said that models are to be asked.
pub(super) const AMBIENT: [&str; 8] = [
    "GITHUB_TOKEN",
    "GITLAB_TOKEN",
    "HF_TOKEN",
    "DIGITALOCEAN_ACCESS_TOKEN",
    "DATABRICKS_TOKEN",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
];

/// Variables that say how to sign in to a vendor without holding a key of it. They serve much else, too.
const SIGNS_IN: [(&str, &str); 5] = [
    ("amazon-bedrock", "AWS_PROFILE"),
    ("amazon-bedrock", "AWS_WEB_IDENTITY_TOKEN_FILE"),
    ("amazon-bedrock", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
    ("amazon-bedrock", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
    ("google-vertex", "GOOGLE_CLOUD_PROJECT"),
];

/// Why a vendor can be asked now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Because {
    /// The settings name it.
    Configured,
    /// The user signed in.
    Stored,
    /// This variable holds its key, or says where it is.
    Key(String),
    /// Some of its models cost nothing.
    Free,
}

impl Because {
    /// The name that OpenCode has for where a vendor's key comes from, or our own.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Because::Configured => "config",
            Because::Stored => "api",
            Because::Key(_) => "env",
            Because::Free => "free",
        }
    }
}

/// Why a vendor can be asked now, if it can; its models may still need more than a key. Servers on this machine are not
/// among them: they are asked whether they are there.
pub(super) fn because(entry: &Entry<'_>, world: &World<'_>) -> Option<Because> {
    if entry.own.is_some() {
        return Some(Because::Configured);
    }
    if (world.stored)(entry.id).is_some() {
        return Some(Because::Stored);
    }
    let signs_in = SIGNS_IN.iter().filter(|(vendor, _)| *vendor == entry.id).map(|(_, name)| *name);
    if let Some(name) = entry.keys().into_iter().chain(signs_in).find(|name| (world.env)(name).is_some()) {
        return Some(Because::Key(name.to_owned()));
    }
    (entry.id == "opencode").then_some(Because::Free)
}

/// The vendors that can be asked now, those of the settings first, then those that are meant most likely.
pub(super) fn usable<'a>(world: &World<'a>) -> Vec<(Entry<'a>, Because)> {
    let known = world.catalogue.vendors().iter().map(|vendor| vendor.id.as_str());
    let own = world.config.providers.keys().map(String::as_str);
    let ids = own.clone().chain(known.filter(|id| !world.config.providers.contains_key(*id)));
    let entries = ids.filter(|id| is_offered(id, world.config)).filter_map(|id| Entry::of(id, world).ok());
    let mut usable: Vec<_> = entries.filter_map(|entry| Some((entry, because(&entry, world)?))).collect();
    let place = |entry: &Entry<'_>| FIRST.iter().position(|id| *id == entry.id).unwrap_or(FIRST.len());
    usable.sort_by_key(|(entry, because)| match because {
        Because::Configured => (0, 0),
        Because::Stored => (1, place(entry)),
        Because::Key(_) => (2, place(entry)),
        Because::Free => (3, 0),
    });
    usable
}

/// Those that the user has something to do with: not those whose key is there for something else, or that are free to all.
pub(super) fn meant<'a>(world: &World<'a>) -> Vec<(Entry<'a>, Because)> {
    let mut usable = usable(world);
    usable.retain(|(_, because)| match because {
        Because::Configured | Because::Stored => true,
        Because::Key(name) => !is_ambient(name),
        Because::Free => false,
    });
    usable
}

/// The first vendor that can be asked by name alone, and the variable that says so.
pub(super) fn by_name<'a>(world: &World<'a>) -> Option<(&'a str, String)> {
    usable(world).into_iter().find_map(|(entry, because)| match because {
        Because::Key(name) if is_ambient(&name) => Some((entry.id, name)),
        Because::Configured | Because::Stored | Because::Key(_) | Because::Free => None,
    })
}

/// Whether a variable is likely to be there for something else than models.
fn is_ambient(name: &str) -> bool {
    AMBIENT.contains(&name) || SIGNS_IN.iter().any(|(_, known)| *known == name)
}

/// The models of a vendor that can be asked now, as they stand in lists.
pub(super) fn askable(entry: &Entry<'_>, because: &Because, world: &World<'_>) -> Vec<(String, Facts)> {
    let mut models = entry.models(world);
    models.retain(|(_, facts)| facts.configured || is_shown(&facts.model, world.config));
    if *because == Because::Free {
        models.retain(|(_, facts)| is_free(entry, &facts.model));
    }
    models
}

/// A model that nobody named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Picked {
    /// As `VENDOR/MODEL`.
    pub(super) named: String,
    /// What a person should know about it; `None` where they said it themselves.
    pub(super) told: Option<String>,
}

/// The configured model, else the one named last that can be asked, else the best one of the first vendor that can be.
/// Of those that were never named, nothing of a vendor whose key is there for something else, or that the user has nothing
/// to do with.
pub(super) fn pick(world: &World<'_>, recent: &[String]) -> Option<Picked> {
    if let Some(model) = world.config.model.as_ref().filter(|model| !model.is_empty()) {
        return Some(Picked { named: model.clone(), told: None });
    }
    // Who named a model meant its vendor's key.
    let any = if recent.is_empty() { Vec::new() } else { usable(world) };
    let can = |named: &&String| {
        let (vendor, id) = named.split_once('/')?;
        let (entry, _) = any.iter().find(|(entry, _)| entry.id == vendor)?;
        let facts = entry.model(id, world).ok()?;
        reach(entry, id, facts, None, world).ok()
    };
    if let Some(named) = recent.iter().find(|named| can(named).is_some()) {
        let told = told(named, "it is the one that you named last");
        return Some(Picked { named: named.clone(), told: Some(told) });
    }
    meant(world).iter().find_map(|(entry, because)| {
        let models = askable(entry, because, world);
        let id = best(&models)?;
        let facts = models.iter().find(|(one, _)| one == id).map(|(_, facts)| facts.clone())?;
        // A vendor that the settings name may lack its key.
        reach(entry, id, facts, None, world).ok()?;
        let named = format!("{}/{id}", entry.id);
        let why = match because {
            Because::Configured => None,
            Because::Stored => Some(format!("you are signed in to {}", entry.name())),
            Because::Key(name) => Some(format!("{name} is set")),
            Because::Free => None,
        };
        let told = why.map(|why| told(&named, &why));
        Some(Picked { named, told })
    })
}

/// What to say of a model that is asked without being named.
fn told(named: &str, why: &str) -> String {
    format!(
        "no model is configured, so {named} is asked, because {why}. \
         Choose with --model, or pin it with \"model\": \"{named}\" in haft.json; haft models lists others."
    )
}

/// Vendors that the user can ask without any settings and has something to do with: those that they signed in to or have
/// a key of, and servers on this machine.
pub(super) fn reachable<'a>(world: &World<'a>) -> Vec<&'a str> {
    let vendors =
        world.catalogue.vendors().iter().map(|vendor| Entry { id: vendor.id.as_str(), known: Some(vendor), own: None });
    let reached = |entry: &Entry<'_>| match because(entry, world) {
        Some(Because::Stored) => true,
        Some(Because::Key(name)) => !is_ambient(&name),
        Some(Because::Configured | Because::Free) | None => entry.known.is_some_and(|known| known.is_local()),
    };
    vendors.filter(reached).map(|entry| entry.id).collect()
}

/// The one to be asked of several that can work: a good one that is not too dear and none of the lesser ones of its
/// family, then the latest, then the last by name.
fn best(models: &[(String, Facts)]) -> Option<&str> {
    let can = models.iter().filter(|(_, facts)| facts.model.can_work());
    let place = |id: &str| GOOD.iter().position(|piece| id.contains(piece)).unwrap_or(GOOD.len());
    let dear = |model: &Model| model.cost.as_ref().is_some_and(|cost| cost.usual.output > DEAR);
    let lesser = |id: &str| id.split(|sign: char| !sign.is_alphanumeric()).any(|word| LESSER.contains(&word));
    can.min_by(|(a, one), (b, other)| {
        let rank = |id: &str, facts: &Facts| (dear(&facts.model), place(id), lesser(id), !id.contains("latest"));
        rank(a, one).cmp(&rank(b, other)).then_with(|| b.cmp(a))
    })
    .map(|(id, _)| id.as_str())
}

/// The model for titles and the like beside `main`, both as `VENDOR/MODEL`: the configured one where it can be asked,
/// else the newest one of a small family of the same vendor, else `main` itself.
pub(super) fn small(main: &str, world: &World<'_>) -> String {
    if let Some(named) = world.config.small_model.as_ref()
        && let Some((vendor, id)) = named.split_once('/')
        && super::way::way(vendor, id, None, world).is_ok()
    {
        return named.clone();
    }
    let Some((vendor, id)) = main.split_once('/') else { return main.to_owned() };
    let Ok(entry) = Entry::of(vendor, world) else { return main.to_owned() };
    let Some(because) = because(&entry, world) else { return main.to_owned() };
    let models = askable(&entry, &because, world);
    small_of(vendor, id, &models).map_or_else(|| main.to_owned(), |id| format!("{vendor}/{id}"))
}

/// Words in the names of small families, those of the better ones first.
const SMALL: [&[&str]; 4] = [&["haiku"], &["flash"], &["nano"], &["mini"]];

fn small_of<'a>(vendor: &str, main: &str, models: &'a [(String, Facts)]) -> Option<&'a str> {
    let families: &[&[&str]] = match vendor {
        "opencode" => &[&["gpt", "nano"]],
        "github-copilot" => &[&["gpt", "mini"], &["claude", "haiku"]],
        _ => &SMALL,
    };
    // A model of Amazon's stays in its part of the world.
    let region = |id: &str| match id.split_once('.') {
        Some((region @ ("us" | "eu" | "jp" | "apac" | "au" | "global"), _)) => Some(region.to_owned()),
        Some(_) | None => None,
    };
    let fits = |words: &[&str], facts: &Facts| {
        let family = facts.model.family.as_deref().unwrap_or_default();
        words.iter().all(|word| family.split('-').any(|part| part == *word)) && facts.model.can_work()
    };
    let same_region = |id: &str| vendor != "amazon-bedrock" || region(id) == region(main);
    families.iter().find_map(|words| {
        let fitting = models.iter().filter(|(id, facts)| fits(words, facts) && same_region(id));
        let newest = fitting.max_by(|(a, one), (b, other)| {
            // Of the same day the shortest name is the plainest one.
            one.model
                .release_date
                .cmp(&other.model.release_date)
                .then_with(|| b.len().cmp(&a.len()))
                .then_with(|| b.cmp(a))
        });
        newest.map(|(id, _)| id.as_str())
    })
}

#[cfg(test)]
mod tests;
