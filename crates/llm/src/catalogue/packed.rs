//! A list of models in little space: an index of vendors, and the entry of each packed for itself, so that whoever
//! wants one model unpacks the models of one vendor.
//!
//! The file: `haftmod1`; the length of the index, four bytes, the least first; the index as JSON; the frames of zstd one
//! behind the other, each the text of one vendor's entry as it is published. So the published list comes out of it again,
//! byte for byte.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::model::Model;
use super::source::{self, Entries, MAX_SOURCE, MAX_VENDORS, Published, is_name, may_be_asked};
use super::vendor::Vendor;
use crate::local;

const MAGIC: &[u8] = b"haftmod1";
/// Largest packed list, in bytes. The one of 2026 has a third of a million.
pub const MAX_PACKED: u64 = 16 * 1024 * 1024;
/// How hard it is tried to make it small: the most that pays.
const LEVEL: i32 = 19;

/// What is wrong with a list of models.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CatalogueError {
    /// It is larger than anything that would be a list of models.
    #[error("it is larger than {} MiB", *.0 >> 20)]
    TooLarge(u64),
    /// It is something else, or broken.
    #[error("it is no list of models: {0}")]
    Unreadable(String),
}

/// A list of vendors and their models.
pub struct Catalogue {
    bytes: Cow<'static, [u8]>,
    /// Where the frames begin.
    frames: usize,
    index: Index,
    vendors: Vec<Vendor>,
}

#[derive(Default, Serialize, Deserialize)]
struct Index {
    /// The day of the newest change of a model, as `2026-07-01`.
    newest: String,
    vendors: Vec<Packed>,
}

#[derive(Serialize, Deserialize)]
struct Packed {
    #[serde(flatten)]
    vendor: Vendor,
    /// Where its frame begins behind the index, in bytes.
    at: usize,
    /// How long the frame is.
    packed: usize,
    /// How long its entry is.
    size: usize,
}

impl std::fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Catalogue").field("vendors", &self.vendors.len()).finish_non_exhaustive()
    }
}

impl Catalogue {
    /// A list in which nothing stands but the servers that may run on this machine.
    pub(super) fn empty() -> Self {
        Self { bytes: Cow::Borrowed(&[]), frames: 0, index: Index::default(), vendors: vendors(&Index::default()) }
    }

    /// Reads a packed list. The models in it are not looked at.
    ///
    /// # Errors
    ///
    /// [`CatalogueError`] when it is none.
    pub fn open(bytes: Cow<'static, [u8]>) -> Result<Self, CatalogueError> {
        let wrong = |what: &str| CatalogueError::Unreadable(what.to_owned());
        if bytes.len() as u64 > MAX_PACKED {
            return Err(CatalogueError::TooLarge(MAX_PACKED));
        }
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| wrong("it begins with something else"))?;
        let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(|| wrong("it is cut off"))?;
        let length = u32::from_le_bytes(*length) as usize;
        let index = rest.get(..length).ok_or_else(|| wrong("it is cut off"))?;
        let index: Index = serde_json::from_slice(index).map_err(|error| wrong(&error.to_string()))?;
        let frames = MAGIC.len() + 4 + length;
        for Packed { at, packed, size, vendor } in &index.vendors {
            let end = at.checked_add(*packed).ok_or_else(|| wrong("a frame has no end"))?;
            if bytes.len() - frames < end || *size > MAX_SOURCE || !is_name(&vendor.id) {
                return Err(wrong("a frame is not where it should be"));
            }
            if !vendor.api.as_deref().is_none_or(may_be_asked) {
                return Err(wrong("an address in it is not encrypted"));
            }
        }
        let vendors = vendors(&index);
        Ok(Self { bytes, frames, index, vendors })
    }

    /// Packs a list as it is published.
    ///
    /// # Errors
    ///
    /// [`CatalogueError`] when it is none, or something in it is not what it should be.
    pub fn pack(published: &[u8]) -> Result<Vec<u8>, CatalogueError> {
        let wrong = |what: String| CatalogueError::Unreadable(what);
        if published.len() > MAX_SOURCE {
            return Err(CatalogueError::TooLarge(MAX_SOURCE as u64));
        }
        let Entries(entries) = serde_json::from_slice(published).map_err(|error| wrong(error.to_string()))?;
        if entries.len() > MAX_VENDORS {
            return Err(wrong(format!("it has {} vendors", entries.len())));
        }
        let (mut index, mut frames) = (Index::default(), Vec::new());
        for (id, json) in entries {
            let entry: Published<'_> =
                serde_json::from_str(json.get()).map_err(|error| wrong(format!("the vendor {id:?}: {error}")))?;
            for (_, model) in &entry.models.0 {
                let changed = updated(model.get());
                if changed > index.newest {
                    index.newest = changed;
                }
            }
            let vendor = entry.checked(&id).map_err(wrong)?;
            let frame = zstd::bulk::compress(json.get().as_bytes(), LEVEL).map_err(|error| wrong(error.to_string()))?;
            index.vendors.push(Packed { vendor, at: frames.len(), packed: frame.len(), size: json.get().len() });
            frames.extend(frame);
        }
        if index.vendors.iter().all(|packed| packed.vendor.count == 0) {
            return Err(wrong("there is no model in it".to_owned()));
        }
        let index = serde_json::to_vec(&index).map_err(|error| wrong(error.to_string()))?;
        let length = u32::try_from(index.len()).map_err(|_| wrong("it has too many vendors".to_owned()))?;
        Ok([MAGIC, &length.to_le_bytes(), &index, &frames].concat())
    }

    /// The list as it was published, byte for byte where that had no blanks between its vendors.
    ///
    /// # Errors
    ///
    /// [`CatalogueError`] when a frame is broken.
    pub fn published(&self) -> Result<String, CatalogueError> {
        let mut whole = String::from("{");
        for packed in &self.index.vendors {
            let broken = || CatalogueError::Unreadable(format!("the frame of {} is broken", packed.vendor.id));
            let entry = self.entry(packed).ok_or_else(broken)?;
            let comma = if whole.len() > 1 { "," } else { "" };
            let id = serde_json::Value::from(&*packed.vendor.id);
            whole.push_str(&format!("{comma}{id}:{entry}"));
        }
        whole.push('}');
        Ok(whole)
    }

    /// All vendors, and the servers that may run on this machine.
    pub fn vendors(&self) -> &[Vendor] {
        &self.vendors
    }

    /// The vendor of that id.
    pub fn vendor(&self, id: &str) -> Option<&Vendor> {
        self.vendors.iter().find(|vendor| vendor.id == id)
    }

    /// The day of the newest change of a model in it, as `2026-07-01`.
    pub fn newest(&self) -> &str {
        &self.index.newest
    }

    /// The models of a vendor by the names that they are asked for, their modes behind them; none where there is no such
    /// vendor. Entries that cannot be read are left out.
    pub fn models(&self, vendor: &str) -> Vec<(String, Model)> {
        self.with(vendor, |entries| {
            let models = entries.iter().filter_map(|(id, json)| Some((id.clone().into_owned(), source::model(json)?)));
            models
                .flat_map(|(id, model)| {
                    let modes = model.modes();
                    std::iter::once((id, model)).chain(modes)
                })
                .collect()
        })
        .unwrap_or_default()
    }

    /// One model of a vendor.
    pub fn model(&self, vendor: &str, id: &str) -> Option<Model> {
        self.with(vendor, |entries| {
            if let Some((_, json)) = entries.iter().find(|(name, _)| name == id) {
                return source::model(json);
            }
            let with_mode = |name: &str| id.strip_prefix(name).is_some_and(|mode| mode.starts_with('-'));
            let near = entries.iter().filter(|(name, _)| with_mode(name));
            near.filter_map(|(_, json)| source::model(json))
                .find_map(|model| model.modes().into_iter().find(|(name, _)| name == id))
                .map(|(_, model)| model)
        })?
    }

    /// The names of a vendor's models.
    pub fn ids(&self, vendor: &str) -> Vec<String> {
        self.with(vendor, |entries| entries.iter().map(|(id, _)| id.clone().into_owned()).collect()).unwrap_or_default()
    }

    fn with<T>(
        &self,
        vendor: &str,
        look: impl FnOnce(&[(Cow<'_, str>, &serde_json::value::RawValue)]) -> T,
    ) -> Option<T> {
        let packed = self.index.vendors.iter().find(|packed| packed.vendor.id == vendor)?;
        let entry = self.entry(packed)?;
        let entry: Published<'_> = serde_json::from_str(&entry).ok()?;
        let Entries(mut entries) = entry.models;
        entries.retain(|(id, _)| is_name(id));
        Some(look(&entries))
    }

    fn entry(&self, packed: &Packed) -> Option<String> {
        let Packed { at, packed: length, size, .. } = *packed;
        let range: Range<usize> = self.frames + at..self.frames + at + length;
        String::from_utf8(zstd::bulk::decompress(self.bytes.get(range)?, size).ok()?).ok()
    }
}

/// The vendors of the index, and behind them the servers that may run on this machine, which no list has.
fn vendors(index: &Index) -> Vec<Vendor> {
    let mut vendors: Vec<Vendor> = index.vendors.iter().map(|packed| packed.vendor.clone()).collect();
    for known in local::KNOWN {
        if !vendors.iter().any(|vendor| vendor.id == known.id) {
            vendors.push(Vendor {
                id: known.id.to_owned(),
                name: known.name.to_owned(),
                npm: "@ai-sdk/openai-compatible".to_owned(),
                api: Some(format!("{}/v1", known.origin)),
                ..Vendor::default()
            });
        }
    }
    vendors
}

/// The day on which an entry was last changed.
fn updated(model: &str) -> String {
    #[derive(Deserialize)]
    struct Dated {
        #[serde(default)]
        last_updated: String,
    }
    serde_json::from_str(model).map(|Dated { last_updated }| last_updated).unwrap_or_default()
}

#[cfg(test)]
mod tests;
