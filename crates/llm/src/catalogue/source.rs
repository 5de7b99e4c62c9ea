//! The list of models as it is published, and what it must be before it is used.

use std::borrow::Cow;
use std::marker::PhantomData;

use reqwest::Url;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::model::Model;
use super::vendor::Vendor;
use crate::local::is_here;

/// Longest list that is read, in bytes. The one of 2026 has 2.4 million.
pub const MAX_SOURCE: usize = 32 * 1024 * 1024;
/// Most vendors.
pub(super) const MAX_VENDORS: usize = 2_000;
/// Most models of one vendor.
pub(super) const MAX_MODELS: usize = 10_000;
/// Longest id or name, in bytes.
pub(super) const MAX_NAME: usize = 200;
/// Most variables of one vendor.
const MAX_VARIABLES: usize = 16;

/// The entries of an object in their order, unread.
pub(super) struct Entries<'a>(pub(super) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Read<'a> {
            type Value = Entries<'a>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((Name(name), value)) = map.next_entry()? {
                    entries.push((name, value));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Read(PhantomData))
    }
}

#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// A vendor as it is published.
#[derive(Deserialize)]
pub(super) struct Published<'a> {
    #[serde(default)]
    name: Cow<'a, str>,
    #[serde(default)]
    env: Vec<String>,
    npm: Cow<'a, str>,
    #[serde(default)]
    api: Option<String>,
    #[serde(default)]
    doc: String,
    #[serde(borrow)]
    pub(super) models: Entries<'a>,
}

impl Published<'_> {
    /// The vendor called `id`, if it is what it should be.
    ///
    /// # Errors
    ///
    /// What is wrong with it, for a person.
    pub(super) fn checked(self, id: &str) -> Result<Vendor, String> {
        let wrong = |what: &str| format!("the vendor {id:?} has {what}");
        if !is_name(id) {
            return Err(format!("{:?} is no name of a vendor", crate::failure::excerpt(id)));
        }
        if !is_name(&self.npm) {
            return Err(wrong("no driver"));
        }
        if self.env.len() > MAX_VARIABLES || !self.env.iter().all(|name| is_variable(name)) {
            return Err(wrong("variables that cannot be names of variables"));
        }
        if self.models.0.len() > MAX_MODELS {
            return Err(wrong("too many models"));
        }
        if let Some(api) = self.api.as_deref().filter(|api| !may_be_asked(api)) {
            return Err(wrong(&format!("the address {:?}, which is not encrypted", crate::failure::excerpt(api))));
        }
        let read = self.models.0.iter().filter(|(id, json)| is_name(id) && model(json).is_some());
        let count = read.count();
        let name = if is_name(&self.name) { self.name.into_owned() } else { id.to_owned() };
        Ok(Vendor {
            id: id.to_owned(),
            name,
            env: self.env,
            npm: self.npm.into_owned(),
            api: self.api,
            doc: self.doc,
            count,
        })
    }
}

/// The model in an entry. `None` where it is none, or its own address must not be asked.
pub(super) fn model(json: &RawValue) -> Option<Model> {
    let model = Model::read(json.get())?;
    let api = model.provider.as_ref().and_then(|way| way.api.as_deref());
    (api.is_none_or(may_be_asked) && is_name(&model.id)).then_some(model)
}

/// Whether a key may go to an address: it is encrypted, or on this machine, or begins with what the user sets.
pub(super) fn may_be_asked(api: &str) -> bool {
    if api.starts_with("${") || api.starts_with("https://") {
        return true;
    }
    Url::parse(api).is_ok_and(|url| is_here(&url))
}

/// A name that is one line of text.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME && name.trim() == name && !name.chars().any(char::is_control)
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
