//! The bodies of answers, which nobody but their server knows the length of.

use reqwest::Response;

/// Reads the body of `response`, unpacked, to its end. `None`: it has more than `most` bytes, and is not read on.
///
/// Dropping the future ends the connection.
///
/// # Errors
///
/// When the connection breaks.
pub async fn body(response: &mut Response, most: usize) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await? {
        if bytes.len() + piece.len() > most {
            return Ok(None);
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(Some(bytes))
}
