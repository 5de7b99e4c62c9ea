//! Who speaks which dialect, where, and which models there are. Data.
//!
//! A [`Catalogue`] is a list of vendors and, packed beside it, the models of each: reading the list costs little, and
//! the models of a vendor are unpacked only when somebody asks for one of them. The list in the program itself is
//! [`Catalogue::built_in`]; a newer one comes from a file or an address that the user names.

mod compare;
mod drivers;
mod fetch;
mod model;
mod packed;
mod source;
mod variants;
mod vendor;

use std::sync::LazyLock;

pub use compare::{Change, changes};
pub use drivers::{Driver, Spoken, driver, drivers};
pub use fetch::{FetchError, fetch};
pub use model::{Cost, Interleaved, Limit, Modalities, Mode, Model, Prices, Reasoning, Shape, Status, Tier, Way};
pub use packed::{Catalogue, CatalogueError, MAX_PACKED};
pub use source::MAX_SOURCE;
pub use variants::{Speaks, Variant, variants};
pub use vendor::{Vendor, is_secret};

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// OpenAI's chat completions: [`crate::dialect::chat`].
    Chat,
    /// OpenAI's responses: [`crate::dialect::responses`].
    Responses,
    /// Anthropic's messages: [`crate::dialect::messages`].
    Messages,
    /// Google's Gemini: [`crate::dialect::gemini`].
    Gemini,
    /// Amazon's Converse: [`crate::dialect::converse`].
    Converse,
}

impl Catalogue {
    /// The list in the program. It is read when it is first asked for.
    pub fn built_in() -> &'static Catalogue {
        static BUILT_IN: LazyLock<Catalogue> = LazyLock::new(|| {
            let packed = include_bytes!("../data/models.pack").as_slice();
            // A test opens it. Without it, what the settings say is all there is.
            Catalogue::open(packed.into()).unwrap_or_else(|error| {
                tracing::error!(%error, "the built-in list of models cannot be read");
                Catalogue::empty()
            })
        });
        &BUILT_IN
    }
}
