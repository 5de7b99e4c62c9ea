//! Jupyter notebooks as cells: what is in a `.ipynb` file, for a model that shall understand and change it. Pure.
//!
//! Each line of a cell comes with the number of the line of the file that it is in, so that it can be found in the JSON.

mod cell;
mod output;

use serde::Deserialize;
use serde_json::value::RawValue;

use self::cell::Places;

/// Largest notebook that is shown as cells, in bytes. A larger one is shown as the JSON it is.
pub const MAX_NOTEBOOK: u64 = 16 * 1024 * 1024;
/// Most bytes of one answer. One cell always fits.
const MAX_PAGE: usize = 50 * 1024;
/// Most images that go with one answer.
pub const MAX_IMAGES: usize = 8;
/// Most bytes of their base64 text together.
pub const MAX_IMAGE_BYTES: usize = 8 * 1024 * 1024;

/// Some cells of a notebook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The cells as text.
    pub text: String,
    /// The number of the first, from 1.
    pub first: usize,
    /// The number of the last; one less than `first` where there are none.
    pub last: usize,
    /// How many the notebook has.
    pub total: usize,
    /// What it is written in, as far as it says so.
    pub language: Option<String>,
    /// The images that the text names, in its order.
    pub images: Vec<Image>,
}

/// An image that a cell shows or has put out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// What the text calls it.
    pub name: String,
    /// Its MIME type as the notebook says it.
    pub mime: &'static str,
    /// Its bytes as base64, which may be broken.
    pub base64: String,
}

/// Why a text is no notebook that can be shown as one.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// It is no JSON, or has not the parts of a notebook.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// Its version is another than 3 and 4, or it says none.
    #[error("nbformat is not 3 or 4")]
    Version,
}

#[derive(Deserialize)]
struct Notebook<'a> {
    nbformat: Option<u64>,
    #[serde(borrow, default)]
    cells: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    worksheets: Vec<Worksheet<'a>>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

/// Where version 3 has its cells.
#[derive(Deserialize)]
struct Worksheet<'a> {
    #[serde(borrow, default)]
    cells: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Metadata {
    language_info: Option<LanguageInfo>,
    kernelspec: Option<Kernel>,
}

#[derive(Deserialize)]
struct LanguageInfo {
    name: Option<String>,
}

#[derive(Deserialize)]
struct Kernel {
    language: Option<String>,
}

/// The cells of the notebook `text` from the one numbered `first` (from 1) on: at most `limit` of them, and no more
/// than a model can take at once. Further images than [`MAX_IMAGES`] are named, not given.
///
/// # Errors
///
/// [`Broken`].
pub fn render(text: &str, first: usize, limit: usize) -> Result<Rendered, Broken> {
    let notebook: Notebook<'_> = serde_json::from_str(text)?;
    if !matches!(notebook.nbformat, Some(3 | 4)) {
        return Err(Broken::Version);
    }
    let cells: Vec<&RawValue> =
        notebook.cells.into_iter().chain(notebook.worksheets.into_iter().flat_map(|sheet| sheet.cells)).collect();
    let first = first.max(1);
    let mut rendered = Rendered {
        text: String::new(),
        first,
        last: first - 1,
        total: cells.len(),
        language: notebook.metadata.and_then(language),
        images: Vec::new(),
    };
    let mut places = Places::new(text);
    for (at, cell) in cells.iter().enumerate().skip(first - 1).take(limit) {
        let mut images = Images::after(&rendered.images);
        let cell = cell::render(at + 1, cell.get(), &mut places, &mut images);
        if !rendered.text.is_empty() && rendered.text.len() + cell.len() + 1 > MAX_PAGE {
            break;
        }
        if !rendered.text.is_empty() {
            rendered.text.push('\n');
        }
        rendered.text.push_str(&cell);
        rendered.last = at + 1;
        rendered.images.append(&mut images.new);
    }
    Ok(rendered)
}

impl Rendered {
    /// Whether there are cells behind these.
    pub fn is_cut(&self) -> bool {
        self.last < self.total
    }

    /// Whether the first one that was wanted is not there.
    pub fn is_past_the_end(&self) -> bool {
        self.first > self.total.max(1)
    }
}

fn language(metadata: &RawValue) -> Option<String> {
    let metadata: Metadata = serde_json::from_str(metadata.get()).ok()?;
    let name = metadata.language_info.and_then(|info| info.name);
    let name = name.or_else(|| metadata.kernelspec.and_then(|kernel| kernel.language))?;
    let plain = name.len() <= 40 && name.chars().all(|c| c.is_alphanumeric() || " .+#-_".contains(c));
    plain.then_some(name)
}

/// The images of one cell, and how many there are already.
struct Images {
    count: usize,
    size: usize,
    new: Vec<Image>,
}

impl Images {
    fn after(images: &[Image]) -> Self {
        Self { count: images.len(), size: images.iter().map(|image| image.base64.len()).sum(), new: Vec::new() }
    }

    /// Takes an image and says what stands for it.
    fn take(&mut self, mime: &'static str, base64: String) -> String {
        if self.count == MAX_IMAGES || self.size + base64.len() > MAX_IMAGE_BYTES {
            return format!("{mime}, not attached: too many images at once; read from this cell on to see it");
        }
        self.count += 1;
        self.size += base64.len();
        let name = format!("image-{}.{}", self.count, mime.trim_start_matches("image/"));
        let said = format!("{mime}, attached as {name}");
        self.new.push(Image { name, mime, base64 });
        said
    }
}

#[cfg(test)]
mod tests;
