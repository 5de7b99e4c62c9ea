//! Images that models can take: what is too large is made smaller, what is no image is refused.
//!
//! The bytes come from projects and web pages, so nothing in them is trusted: the size is looked at before a pixel is
//! made, and memory and work have bounds.

use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::image::codecs::jpeg::JpegEncoder;
use ::image::imageops::FilterType;
use ::image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits as DecodeLimits};
use tokio::sync::Semaphore;

/// Largest width or height, in pixels, that is decoded at all.
const MAX_SIDE: u32 = 30_000;
/// Most memory, in bytes, that one decoded image may take.
const MAX_DECODED: u64 = 256 * 1024 * 1024;
/// Images that are worked on at once in this process; further ones wait.
const MAX_AT_ONCE: usize = 2;
/// How many sizes are tried, each three quarters of the one before.
const MAX_SIZES: usize = 32;
/// JPEG qualities that are tried for each size, after PNG.
const QUALITIES: [u8; 5] = [80, 85, 70, 55, 40];

static TURNS: Semaphore = Semaphore::const_new(MAX_AT_ONCE);

/// What an image may measure when it goes to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageLimits {
    /// Whether a larger one is made smaller. If not, it is refused.
    pub auto_resize: bool,
    /// Width in pixels.
    pub max_width: u32,
    /// Height in pixels.
    pub max_height: u32,
    /// Length of its base64 text in bytes.
    pub max_base64_bytes: usize,
}

impl Default for ImageLimits {
    fn default() -> Self {
        Self { auto_resize: true, max_width: 2000, max_height: 2000, max_base64_bytes: 4_718_592 }
    }
}

/// An image within the limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What they are: `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub mime: &'static str,
}

/// Why an image cannot go to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It is none, a broken one, or of a kind that models do not take.
    #[error("it is not a PNG, JPEG, GIF or WebP image that can be decoded")]
    Undecodable,
    /// It is over the limits, and must not or cannot be made small enough.
    #[error("it is larger than models take")]
    TooLarge,
}

/// Width and height in pixels of the image that `bytes` are the beginning of, if they say so. No pixel is made.
pub fn size(bytes: &[u8]) -> Option<(u32, u32)> {
    let format = ::image::guess_format(bytes).ok()?;
    ImageReader::with_format(Cursor::new(bytes), format).into_dimensions().ok()
}

/// Brings an image within `limits`. What fits already stays byte for byte as it is.
///
/// The bytes decide what it is, not `mime`, which only tells whether it claims to be an image at all. Takes
/// milliseconds to seconds, beside the runtime; dropping the future ends the work at the next size.
///
/// # Errors
///
/// [`Unfit`].
pub async fn fit(bytes: Vec<u8>, mime: &str, limits: &ImageLimits) -> Result<Fitted, Unfit> {
    if !mime.starts_with("image/") {
        return Err(Unfit::Undecodable);
    }
    // It is never closed.
    let turn = TURNS.acquire().await;
    let limits = *limits;
    let stop = StopOnDrop::default();
    let stopped = Arc::clone(&stop.0);
    let work = move || {
        // Kept until the work ends, which a dropped future only asks it to.
        let _turn = turn;
        fit_now(bytes, &limits, &stopped)
    };
    // A decoder that panics has met an image it cannot decode.
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(Unfit::Undecodable))
}

/// What stands in a text for `count` images that were left out.
pub fn omitted(count: usize) -> String {
    let images = if count == 1 { "image" } else { "images" };
    format!("[{count} {images} omitted: could not be resized below the image size limit.]")
}

/// Tells the work that nobody waits for it any more.
#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn fit_now(bytes: Vec<u8>, limits: &ImageLimits, stop: &AtomicBool) -> Result<Fitted, Unfit> {
    let (image, mime) = decode(&bytes)?;
    let box_fits = image.width() <= limits.max_width && image.height() <= limits.max_height;
    if box_fits && base64_len(bytes.len()) <= limits.max_base64_bytes {
        return Ok(Fitted { bytes, mime });
    }
    drop(bytes);
    if !limits.auto_resize {
        return Err(Unfit::TooLarge);
    }
    shrink(&image, limits, stop)
}

/// The image, as it is meant to be looked at, and its MIME type.
fn decode(bytes: &[u8]) -> Result<(DynamicImage, &'static str), Unfit> {
    let undecodable = |_| Unfit::Undecodable;
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|_| Unfit::Undecodable)?;
    let mime = match reader.format() {
        Some(ImageFormat::Png) => "image/png",
        Some(ImageFormat::Jpeg) => "image/jpeg",
        Some(ImageFormat::Gif) => "image/gif",
        Some(ImageFormat::WebP) => "image/webp",
        _ => return Err(Unfit::Undecodable),
    };
    let mut bounds = DecodeLimits::default();
    bounds.max_image_width = Some(MAX_SIDE);
    bounds.max_image_height = Some(MAX_SIDE);
    bounds.max_alloc = Some(MAX_DECODED);
    reader.limits(bounds);
    let mut decoder = reader.into_decoder().map_err(undecodable)?;
    // Not every decoder counts the picture itself into its bound.
    if decoder.total_bytes() > MAX_DECODED {
        return Err(Unfit::TooLarge);
    }
    let orientation = decoder.orientation().ok();
    let mut image = DynamicImage::from_decoder(decoder).map_err(undecodable)?;
    if image.width() == 0 || image.height() == 0 {
        return Err(Unfit::Undecodable);
    }
    if let Some(orientation) = orientation {
        image.apply_orientation(orientation);
    }
    Ok((image, mime))
}

/// The largest picture of `image` that is within `limits`.
fn shrink(image: &DynamicImage, limits: &ImageLimits, stop: &AtomicBool) -> Result<Fitted, Unfit> {
    let (mut width, mut height) = boxed(image.width(), image.height(), limits);
    for _ in 0..MAX_SIZES {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let same = (width, height) == (image.width(), image.height());
        let smaller = (!same).then(|| image.resize_exact(width, height, FilterType::Lanczos3));
        let picture = smaller.as_ref().unwrap_or(image);
        if let Some(fitted) = encode(picture, limits.max_base64_bytes) {
            return Ok(fitted);
        }
        if (width, height) == (1, 1) {
            break;
        }
        (width, height) = ((width * 3 / 4).max(1), (height * 3 / 4).max(1));
    }
    Err(Unfit::TooLarge)
}

/// The size of a picture made to fit the box of `limits`, its form kept. Never smaller than a pixel, never larger than
/// it was.
fn boxed(width: u32, height: u32, limits: &ImageLimits) -> (u32, u32) {
    let (max_width, max_height) = (limits.max_width.max(1), limits.max_height.max(1));
    if width <= max_width && height <= max_height {
        return (width, height);
    }
    let scale = |side: u32, by: u32, of: u32| {
        let scaled = u64::from(side) * u64::from(by) / u64::from(of);
        u32::try_from(scaled).unwrap_or(u32::MAX).max(1)
    };
    // Which side is the tighter one, without fractions.
    if u64::from(width) * u64::from(max_height) >= u64::from(height) * u64::from(max_width) {
        (max_width, scale(height, max_width, width))
    } else {
        (scale(width, max_height, height), max_height)
    }
}

/// The first form of `image` whose base64 text is short enough.
fn encode(image: &DynamicImage, max_base64: usize) -> Option<Fitted> {
    let short = |bytes: Vec<u8>, mime| (base64_len(bytes.len()) <= max_base64).then_some(Fitted { bytes, mime });
    let mut png = Vec::new();
    let made = image.write_to(&mut Cursor::new(&mut png), ImageFormat::Png);
    if let Some(fitted) = made.ok().and_then(|()| short(png, "image/png")) {
        return Some(fitted);
    }
    let plain = image.to_rgb8();
    QUALITIES.iter().find_map(|&quality| {
        let mut jpeg = Vec::new();
        plain.write_with_encoder(JpegEncoder::new_with_quality(&mut jpeg, quality)).ok()?;
        short(jpeg, "image/jpeg")
    })
}

/// How long `bytes` bytes are as base64.
fn base64_len(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

#[cfg(test)]
mod tests {
    use ::image::{Rgb, RgbImage};

    use super::*;

    /// A picture that compresses badly, so that bytes matter.
    fn noise(width: u32, height: u32) -> DynamicImage {
        let mut seed = 1u32;
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as u8
        };
        DynamicImage::from(RgbImage::from_fn(width, height, |_, _| Rgb([next(), next(), next()])))
    }

    fn bytes(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Vec::new();
        image.write_to(&mut Cursor::new(&mut bytes), format).unwrap();
        bytes
    }

    fn limits(max_width: u32, max_height: u32, max_base64_bytes: usize) -> ImageLimits {
        ImageLimits { auto_resize: true, max_width, max_height, max_base64_bytes }
    }

    fn measure(bytes: &[u8]) -> (u32, u32) {
        let (image, _) = decode(bytes).unwrap();
        (image.width(), image.height())
    }

    #[tokio::test]
    async fn what_fits_stays_as_it_is() {
        let rows = [
            (ImageFormat::Png, "image/png"),
            (ImageFormat::Jpeg, "image/jpeg"),
            (ImageFormat::Gif, "image/gif"),
            (ImageFormat::WebP, "image/webp"),
        ];
        for (format, mime) in rows {
            let png = bytes(&noise(20, 10), format);
            // What it claims to be does not matter.
            let fitted = fit(png.clone(), "image/x-odd", &ImageLimits::default()).await.unwrap();
            assert_eq!(fitted, Fitted { bytes: png, mime });
        }
    }

    #[tokio::test]
    async fn what_is_too_large_in_pixels_is_made_smaller_in_its_form() {
        let png = bytes(&noise(200, 100), ImageFormat::Png);
        let fitted = fit(png.clone(), "image/png", &limits(50, 50, 1 << 20)).await.unwrap();
        assert_eq!((measure(&fitted.bytes), fitted.mime), ((50, 25), "image/png"));
        let fixed = ImageLimits { auto_resize: false, ..limits(50, 50, 1 << 20) };
        assert_eq!(fit(png, "image/png", &fixed).await, Err(Unfit::TooLarge));
    }

    #[tokio::test]
    async fn what_is_too_large_in_bytes_becomes_a_jpeg_and_then_smaller() {
        let png = bytes(&noise(100, 100), ImageFormat::Png);
        let jpeg = fit(png.clone(), "image/png", &limits(100, 100, base64_len(png.len()) / 2)).await.unwrap();
        assert_eq!((measure(&jpeg.bytes), jpeg.mime), ((100, 100), "image/jpeg"));
        let small = fit(png.clone(), "image/png", &limits(100, 100, 1200)).await.unwrap();
        assert!(base64_len(small.bytes.len()) <= 1200 && measure(&small.bytes).0 < 100);
        assert_eq!(fit(png, "image/png", &limits(100, 100, 3)).await, Err(Unfit::TooLarge));
    }

    #[tokio::test]
    async fn what_is_no_image_is_refused() {
        let cut = bytes(&noise(50, 50), ImageFormat::Png)[..100].to_vec();
        let bmp = b"BM\x1a\0\0\0\0\0\0\0".to_vec();
        for broken in [b"text".to_vec(), Vec::new(), cut, bmp, b"\x89PNG\r\n\x1a\n".to_vec()] {
            assert_eq!(fit(broken, "image/png", &ImageLimits::default()).await, Err(Unfit::Undecodable));
        }
        let png = bytes(&noise(1, 1), ImageFormat::Png);
        assert_eq!(fit(png, "application/pdf", &ImageLimits::default()).await, Err(Unfit::Undecodable));
    }

    /// A PNG of a few bytes that says it is `width` times `height` pixels.
    fn bomb(width: u32, height: u32) -> Vec<u8> {
        let mut png = bytes(&noise(1, 1), ImageFormat::Png);
        // The header follows 8 bytes of signature and 8 of length and name; its checksum follows 13 bytes of content.
        png[16..20].copy_from_slice(&width.to_be_bytes());
        png[20..24].copy_from_slice(&height.to_be_bytes());
        let sum = crc(&png[12..29]);
        png[29..33].copy_from_slice(&sum.to_be_bytes());
        png
    }

    fn crc(bytes: &[u8]) -> u32 {
        let step = |sum: u32, _| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
        !bytes.iter().fold(!0u32, |sum, &byte| (0..8).fold(sum ^ u32::from(byte), step))
    }

    #[tokio::test]
    async fn a_small_file_that_says_it_is_huge_is_refused_before_it_takes_memory() {
        assert!(measure_head(&bomb(1, 1)).is_ok());
        for (width, height) in [(MAX_SIDE + 1, 1), (1, MAX_SIDE + 1), (29_000, 29_000), (u32::MAX, u32::MAX)] {
            let refused = fit(bomb(width, height), "image/png", &ImageLimits::default()).await;
            assert!(refused.is_err(), "{width} x {height}: {refused:?}");
        }
    }

    fn measure_head(bytes: &[u8]) -> ::image::ImageResult<(u32, u32)> {
        ImageReader::new(Cursor::new(bytes)).with_guessed_format()?.into_dimensions()
    }

    #[test]
    fn a_box_keeps_the_form_and_a_pixel() {
        let row = |from: (u32, u32), want: (u32, u32)| {
            assert_eq!(boxed(from.0, from.1, &limits(2000, 1000, 0)), want, "{from:?}");
        };
        row((100, 100), (100, 100));
        row((2000, 1000), (2000, 1000));
        row((4000, 1000), (2000, 500));
        row((1000, 4000), (250, 1000));
        row((4000, 4000), (1000, 1000));
        row((100_000, 1), (2000, 1));
        row((1, 100_000), (1, 1000));
        row((u32::MAX, u32::MAX), (1000, 1000));
    }

    #[test]
    fn after_a_stop_no_further_size_is_tried() {
        let stopped = AtomicBool::new(true);
        assert_eq!(shrink(&noise(10, 10), &limits(5, 5, 1 << 20), &stopped), Err(Unfit::TooLarge));
    }

    #[tokio::test]
    async fn nobody_waiting_stops_the_work() {
        let stop = StopOnDrop::default();
        let seen = Arc::clone(&stop.0);
        drop(stop);
        assert!(seen.load(Ordering::Relaxed));
    }

    #[test]
    fn one_image_is_an_image() {
        assert_eq!(omitted(1), "[1 image omitted: could not be resized below the image size limit.]");
        assert!(omitted(2).starts_with("[2 images omitted"));
    }

    #[test]
    fn base64_takes_four_bytes_for_three() {
        assert_eq!([0, 1, 2, 3, 4].map(base64_len), [0, 4, 4, 4, 8]);
    }
}
