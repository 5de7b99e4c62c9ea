//! Images and PDFs, which go to the model as they are or smaller.

use std::ops::ControlFlow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use haft_project::{Reading, Target};
use haft_tool::image::{self, ImageLimits};
use haft_tool::{Attachment, Output, TellModel, ToolError};
use serde_json::json;

/// Largest image or PDF that is read, in bytes.
pub(super) const MAX_MEDIA: u64 = 20 * 1024 * 1024;

/// The file as an attachment, of which `first` has been read. An image that cannot be brought within `limits` is left
/// out, and the text says so.
pub(super) async fn output(
    target: &Target,
    reading: Reading,
    first: Option<Vec<u8>>,
    mime: &str,
    limits: &ImageLimits,
) -> Result<Output, ToolError> {
    let bytes = whole(target, reading, first).await?;
    let (said, file) = if mime == "application/pdf" {
        ("PDF read successfully", Some((bytes, mime)))
    } else {
        let fitted = image::fit(bytes, mime, limits).await;
        ("Image read successfully", fitted.ok().map(|fitted| (fitted.bytes, fitted.mime)))
    };
    let text = if file.is_some() { said.to_owned() } else { format!("{said}\n\n{}", image::omitted(1)) };
    let attachments = file.map(|(bytes, mime)| Attachment {
        mime: mime.to_owned(),
        filename: target.path().file_name().map(|name| name.to_string_lossy().into_owned()),
        url: format!("data:{mime};base64,{}", STANDARD.encode(bytes)),
    });
    Ok(Output { attachments: attachments.into_iter().collect(), ..Output::new(target.title(), text) }
        .meta("preview", said)
        .meta("truncated", false)
        .meta("loaded", json!([])))
}

async fn whole(target: &Target, mut reading: Reading, first: Option<Vec<u8>>) -> Result<Vec<u8>, ToolError> {
    let take = |bytes: &mut Vec<u8>, piece: &[u8]| {
        bytes.extend_from_slice(piece);
        if bytes.len() as u64 > MAX_MEDIA { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut bytes = first.unwrap_or_default();
    if reading.len() <= MAX_MEDIA {
        bytes = reading.pour(bytes, take).await.tell_model()?;
    }
    let size = reading.len().max(bytes.len() as u64);
    if size > MAX_MEDIA {
        let path = target.path().display();
        return Err(ToolError::Failed(format!(
            "{path} has {size} bytes; read takes images and PDFs of up to {MAX_MEDIA}. Make a smaller one with a \
             program in bash"
        )));
    }
    Ok(bytes)
}
