//! Vertex AI: addresses made of project and location, tokens that are fetched, and three dialects by whose model it is.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use super::google::thinking;
use super::{Wanted, Wants};
use crate::auth::google::{Google, Lookup, Metadata};
use crate::catalogue::Dialect;
use crate::{Key, Place, Secret};

/// The address for keys that need no project.
const EXPRESS: &str = "https://aiplatform.googleapis.com/v1/publishers/google";

/// Variables that name the project, the first that is set counts.
const PROJECT: [&str; 4] = ["GOOGLE_VERTEX_PROJECT", "GOOGLE_CLOUD_PROJECT", "GCP_PROJECT", "GCLOUD_PROJECT"];

/// The same for the location.
const LOCATION: [&str; 3] = ["GOOGLE_VERTEX_LOCATION", "GOOGLE_CLOUD_LOCATION", "VERTEX_LOCATION"];

/// Variables that only Google's own machines for short-lived programs set.
const MACHINES: [&str; 4] = ["K_SERVICE", "CLOUD_RUN_JOB", "GAE_SERVICE", "FUNCTION_TARGET"];

/// Whose model it is, and thus what is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Publisher {
    Google,
    Anthropic,
    /// Somebody else, behind the address that speaks chat completions.
    Other,
}

/// What Vertex AI wants otherwise.
pub(super) fn wants(wanted: &Wanted<'_>) -> Result<Wants, String> {
    let publisher = publisher(wanted);
    let (dialect, place, extra) = match publisher {
        Publisher::Google => (Dialect::Gemini, Place::Vertex, thinking(wanted.model)),
        Publisher::Anthropic => (Dialect::Messages, Place::Vertex, Default::default()),
        Publisher::Other => (Dialect::Chat, Place::Own, Default::default()),
    };
    let wants = Wants { dialect: Some(dialect), place, extra, ..Wants::default() };
    let written = text(wanted, "baseURL").map(|address| match publisher {
        // The driver wants this one with the models, which this dialect adds itself.
        Publisher::Anthropic => address.trim_end_matches('/').trim_end_matches("/models").to_owned(),
        Publisher::Google | Publisher::Other => address,
    });
    // The variable that names a file looks like one that holds a key, and is listed among those.
    let file = (wanted.env)("GOOGLE_APPLICATION_CREDENTIALS");
    let key = text(wanted, "apiKey").filter(|key| Some(key) != file.as_ref());
    let key = key.or_else(|| (wanted.env)("GOOGLE_VERTEX_API_KEY"));
    if let (Some(key), Publisher::Google) = (key, publisher) {
        let base_url = Some(written.unwrap_or_else(|| EXPRESS.to_owned()));
        return Ok(Wants { base_url, key: Some(Key::Plain(Secret::new(key))), ..wants });
    }
    let base_url = Some(written.map_or_else(|| address(wanted, publisher), Ok)?);
    let tokens = Google::new(wanted.vendor, lookup(wanted));
    Ok(Wants { base_url, key: Some(Key::Signed(Arc::new(tokens))), ..wants })
}

fn publisher(wanted: &Wanted<'_>) -> Publisher {
    let model = wanted.model.to_lowercase();
    if wanted.driver == Some("@ai-sdk/google-vertex/anthropic")
        || wanted.vendor == "google-vertex-anthropic"
        || model.starts_with("claude")
    {
        Publisher::Anthropic
    } else if model.contains('/') && !model.starts_with("endpoints/") {
        Publisher::Other
    } else {
        Publisher::Google
    }
}

fn address(wanted: &Wanted<'_>, publisher: Publisher) -> Result<String, String> {
    let vendor = wanted.vendor;
    let project = wanted.setting("project", &PROJECT).ok_or_else(|| {
        format!(
            "{vendor} needs a project; set GOOGLE_CLOUD_PROJECT, or provider.{vendor}.options.project in opencode.json"
        )
    })?;
    let location = wanted.setting("location", &LOCATION);
    let location = location.unwrap_or_else(|| usual(wanted.model, publisher).to_owned());
    // They become parts of a host and of a path.
    for (name, value) in [("project", &project), ("location", &location)] {
        // A colon stands in the projects of companies: `example.com:project`.
        let fits = |byte: u8| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'-' | b'_')
                || name == "project" && matches!(byte, b'.' | b':')
        };
        let begins = value.starts_with(|letter: char| letter.is_ascii_alphanumeric());
        if !begins || !value.bytes().all(fits) || value.contains("..") {
            return Err(format!("{value:?} is no {name} of Google's cloud; correct the {name} of {vendor}"));
        }
    }
    let host = match location.as_str() {
        "global" => "aiplatform.googleapis.com".to_owned(),
        "us" | "eu" => format!("aiplatform.{location}.rep.googleapis.com"),
        _ => format!("{location}-aiplatform.googleapis.com"),
    };
    let below = match publisher {
        // Models of one's own are nobody's.
        Publisher::Google if wanted.model.starts_with("endpoints/") => "",
        Publisher::Google => "/publishers/google",
        Publisher::Anthropic => "/publishers/anthropic",
        Publisher::Other => "/endpoints/openapi",
    };
    Ok(format!("https://{host}/v1/projects/{project}/locations/{location}{below}"))
}

/// Where a model is asked if nobody says: Claude and the newest Gemini are found everywhere, or nowhere else.
fn usual(model: &str, publisher: Publisher) -> &'static str {
    match publisher {
        Publisher::Anthropic => "global",
        Publisher::Google if model.to_lowercase().starts_with("gemini-3") => "global",
        Publisher::Google | Publisher::Other => "us-central1",
    }
}

/// Where the credentials are looked for.
fn lookup(wanted: &Wanted<'_>) -> Lookup {
    let env = wanted.env;
    let given = wanted.options.get("googleAuthOptions").unwrap_or(&Value::Null);
    let written = given["credentials"].as_object().map(|fields| Value::Object(fields.clone())).or_else(|| {
        let own = wanted.options.get("googleCredentials")?;
        let (email, key) = (own["clientEmail"].as_str()?, own["privateKey"].as_str()?);
        Some(json!({"client_email": email, "private_key": key, "private_key_id": own["privateKeyId"]}))
    });
    let file = given["keyFilename"].as_str().or_else(|| given["keyFile"].as_str()).map(str::to_owned);
    let named = file.or_else(|| env("GOOGLE_APPLICATION_CREDENTIALS")).map(PathBuf::from);
    let metadata = match env("GCE_METADATA_HOST") {
        Some(host) => Metadata::At(host),
        None if MACHINES.into_iter().any(|name| env(name).is_some()) => Metadata::Ask,
        None => Metadata::Detect,
    };
    Lookup { written, named, usual: usual_file(env), metadata }
}

/// The file that `gcloud auth application-default login` writes.
fn usual_file(env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let folder = match (env("CLOUDSDK_CONFIG"), env("APPDATA").filter(|_| cfg!(windows)), env("HOME")) {
        (Some(folder), ..) => PathBuf::from(folder),
        (None, Some(data), _) => PathBuf::from(data).join("gcloud"),
        (None, None, Some(home)) => PathBuf::from(home).join(".config/gcloud"),
        (None, None, None) => return None,
    };
    Some(folder.join("application_default_credentials.json"))
}

fn text(wanted: &Wanted<'_>, name: &str) -> Option<String> {
    wanted.options.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    /// What is wanted for `model`, with these options and variables.
    fn asked(vendor: &str, model: &str, options: Value, env: &[(&str, &str)]) -> Result<Wants, String> {
        let options = options.as_object().unwrap();
        let env = |name: &str| env.iter().find(|(one, _)| *one == name).map(|(_, value)| (*value).to_owned());
        wants(&Wanted { vendor, model, driver: None, options, stored: &Map::new(), env: &env })
    }

    #[test]
    fn addresses_are_made_of_project_and_location() {
        let row = |vendor: &str, model: &str, options: Value, env: &[(&str, &str)], want: &str, dialect: Dialect| {
            let wants = asked(vendor, model, options, env).unwrap();
            assert_eq!((wants.base_url.as_deref(), wants.dialect), (Some(want), Some(dialect)));
            assert!(matches!(wants.key, Some(Key::Signed(_))));
        };
        let project = [("GOOGLE_CLOUD_PROJECT", "p1")];
        row(
            "google-vertex",
            "gemini-2.5-pro",
            json!({}),
            &project,
            "https://us-central1-aiplatform.googleapis.com/v1/projects/p1/locations/us-central1/publishers/google",
            Dialect::Gemini,
        );
        row(
            "google-vertex",
            "gemini-3-pro-preview",
            json!({}),
            &project,
            "https://aiplatform.googleapis.com/v1/projects/p1/locations/global/publishers/google",
            Dialect::Gemini,
        );
        row(
            "google-vertex",
            "gemini-3-pro-preview",
            json!({"project": "p2", "location": "europe-west4"}),
            &project,
            "https://europe-west4-aiplatform.googleapis.com/v1/projects/p2/locations/europe-west4/publishers/google",
            Dialect::Gemini,
        );
        row(
            "google-vertex-anthropic",
            "claude-sonnet-4-5@20250929",
            json!({}),
            &[("GCLOUD_PROJECT", "p1")],
            "https://aiplatform.googleapis.com/v1/projects/p1/locations/global/publishers/anthropic",
            Dialect::Messages,
        );
        row(
            "google-vertex",
            "claude-opus-4-1@20250805",
            json!({}),
            &[("GCP_PROJECT", "example.com:p1"), ("VERTEX_LOCATION", "eu")],
            "https://aiplatform.eu.rep.googleapis.com/v1/projects/example.com:p1/locations/eu/publishers/anthropic",
            Dialect::Messages,
        );
        row(
            "google-vertex",
            "zai-org/glm-4.7-maas",
            json!({}),
            &[("GOOGLE_VERTEX_PROJECT", "p1"), ("GCP_PROJECT", "p2"), ("GOOGLE_VERTEX_LOCATION", "us-east5")],
            "https://us-east5-aiplatform.googleapis.com/v1/projects/p1/locations/us-east5/endpoints/openapi",
            Dialect::Chat,
        );
        row(
            "google-vertex",
            "endpoints/123",
            json!({}),
            &project,
            "https://us-central1-aiplatform.googleapis.com/v1/projects/p1/locations/us-central1",
            Dialect::Gemini,
        );
        row(
            "google-vertex-anthropic",
            "claude-m",
            json!({"baseURL": "http://127.0.0.1:1/x/publishers/anthropic/models/"}),
            &[],
            "http://127.0.0.1:1/x/publishers/anthropic",
            Dialect::Messages,
        );
    }

    #[test]
    fn what_is_missing_or_odd_is_named() {
        let wrong = |options: Value, env: &[(&str, &str)]| asked("google-vertex", "m", options, env).unwrap_err();
        assert_eq!(
            wrong(json!({}), &[]),
            "google-vertex needs a project; set GOOGLE_CLOUD_PROJECT, or provider.google-vertex.options.project in \
             opencode.json"
        );
        let odd = wrong(json!({"project": "p", "location": "evil.example/"}), &[]);
        assert_eq!(odd, r#""evil.example/" is no location of Google's cloud; correct the location of google-vertex"#);
        assert!(wrong(json!({"project": ".."}), &[]).starts_with(r#"".." is no project"#));
        assert!(wrong(json!({"project": "p", "location": "-"}), &[]).starts_with(r#""-" is no location"#));
        let odd = wrong(json!({"project": "a/../b"}), &[]);
        assert_eq!(odd, r#""a/../b" is no project of Google's cloud; correct the project of google-vertex"#);
    }

    #[test]
    fn a_key_needs_no_project() {
        let wants = asked("google-vertex", "gemini-2.5-pro", json!({}), &[("GOOGLE_VERTEX_API_KEY", "k")]).unwrap();
        assert_eq!(wants.base_url.as_deref(), Some(EXPRESS));
        assert!(matches!(wants.key, Some(Key::Plain(key)) if key.expose() == "k"));
        // A file is no key, whoever takes it for one.
        let file = [("GOOGLE_APPLICATION_CREDENTIALS", "/k.json"), ("GCP_PROJECT", "p")];
        let wants = asked("google-vertex", "gemini-2.5-pro", json!({"apiKey": "/k.json"}), &file).unwrap();
        assert!(matches!(wants.key, Some(Key::Signed(_))));
        // It is none for Claude.
        assert!(asked("google-vertex", "claude-m", json!({"apiKey": "k"}), &[]).is_err());
    }

    #[test]
    fn credentials_are_looked_for_where_everybody_does() {
        let found = |options: Value, env: &[(&str, &str)]| {
            let options = options.as_object().unwrap();
            let env = |name: &str| env.iter().find(|(one, _)| *one == name).map(|(_, value)| (*value).to_owned());
            lookup(&Wanted {
                vendor: "google-vertex",
                model: "m",
                driver: None,
                options,
                stored: &Map::new(),
                env: &env,
            })
        };
        let lookup = found(json!({}), &[("HOME", "/h"), ("GOOGLE_APPLICATION_CREDENTIALS", "/k.json")]);
        assert_eq!(lookup.named, Some("/k.json".into()));
        assert_eq!(lookup.usual, Some("/h/.config/gcloud/application_default_credentials.json".into()));
        assert_eq!((lookup.metadata, lookup.written), (Metadata::Detect, None));
        let lookup = found(json!({}), &[("CLOUDSDK_CONFIG", "/c"), ("K_SERVICE", "s")]);
        assert_eq!(lookup.usual, Some("/c/application_default_credentials.json".into()));
        assert_eq!((lookup.named, lookup.metadata), (None, Metadata::Ask));
        let given = json!({"googleAuthOptions": {"credentials": {"client_email": "e", "private_key": "k"}, "keyFilename": "/f"}});
        let lookup = found(given, &[("GCE_METADATA_HOST", "127.0.0.1:1")]);
        assert_eq!(lookup.written, Some(json!({"client_email": "e", "private_key": "k"})));
        assert_eq!((lookup.named, lookup.metadata), (Some("/f".into()), Metadata::At("127.0.0.1:1".to_owned())));
        let given = json!({"googleCredentials": {"clientEmail": "e", "privateKey": "SECRET-KEY"}});
        let lookup = found(given, &[]);
        assert_eq!(lookup.written.as_ref().unwrap()["private_key"], "SECRET-KEY");
        assert!(!format!("{lookup:?}").contains("SECRET-KEY"));
    }
}
