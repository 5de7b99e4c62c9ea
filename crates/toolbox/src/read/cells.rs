//! A Jupyter notebook: its cells, and the images in them as attachments.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use haft_permission::Grant;
use haft_project::{Files, Reading, Target};
use haft_tool::image::{self, ImageLimits};
use haft_tool::{Attachment, Call, Output, TellModel, ToolError};
use serde_json::json;

use super::{Wanted, metadata};
use crate::beside::beside;
use crate::notebook::{self, Image, MAX_NOTEBOOK, Rendered};
use crate::seen::saw;
use crate::text::{Text, on_one_line};

/// What came of showing a file as cells.
pub(super) enum Cells {
    Shown(Output),
    /// It is to be read as any text; for a notebook with a word why.
    Not {
        note: Option<String>,
    },
}

/// The cells that are wanted of the notebook at `target`, if it is one.
pub(super) async fn output(
    files: &Files,
    call: &Call,
    grant: &Grant,
    target: &Target,
    reading: &Reading,
    wanted: Wanted,
    limits: &ImageLimits,
) -> Result<Cells, ToolError> {
    let ending = target.path().extension().map(|ending| ending.to_ascii_lowercase());
    if wanted.raw || reading.is_empty() || ending.is_none_or(|ending| ending != "ipynb") {
        return Ok(Cells::Not { note: None });
    }
    if reading.len() > MAX_NOTEBOOK {
        let note = format!("A notebook of more than {MAX_NOTEBOOK} bytes is shown as the JSON it is.");
        return Ok(Cells::Not { note: Some(note) });
    }
    let (bytes, stamp) = files.read_stamped(grant, target, MAX_NOTEBOOK).await.tell_model()?;
    // A large one takes a tenth of a second to read.
    let rendered: Result<Rendered, String> = beside(move || {
        let text = Text::read(&bytes).ok_or("it is no text")?.text;
        notebook::render(&text, wanted.first, wanted.limit).map_err(|error| error.to_string())
    })
    .await;
    let rendered = match rendered {
        Ok(rendered) => rendered,
        Err(why) => {
            let note = format!("This is no valid notebook ({why}), so it is shown as plain text.");
            return Ok(Cells::Not { note: Some(note) });
        }
    };
    if rendered.is_past_the_end() {
        let (offset, total, path) = (rendered.first, rendered.total, target.path().display());
        return Err(ToolError::Failed(format!("offset {offset} is past the end of {path}, which has {total} cells")));
    }
    saw(call, target, stamp);
    Ok(Cells::Shown(said(target, rendered, limits).await))
}

async fn said(target: &Target, rendered: Rendered, limits: &ImageLimits) -> Output {
    let path = target.path().display().to_string();
    let remark = remark(&rendered);
    let cut = rendered.is_cut();
    let lines: Vec<String> = rendered.text.lines().map(str::to_owned).collect();
    let display = json!({
        "type": "file", "path": path, "text": rendered.text, "lineStart": 1, "lineEnd": lines.len(),
        "totalLines": lines.len(), "truncated": cut,
    });
    let (attachments, omitted) = fitted(rendered.images, limits).await;
    let omitted = match omitted.as_slice() {
        [] => String::new(),
        names => format!("\n{} ({})", image::omitted(names.len()), names.join(", ")),
    };
    let text = format!(
        "<path>{}</path>\n<type>notebook</type>\n<content>\n{}\n{remark}{omitted}\n</content>",
        on_one_line(&path),
        rendered.text
    );
    let output = Output::new(target.title(), text);
    Output { attachments, metadata: metadata(&lines, cut, display), ..output }
}

/// The images within the limits, and the names of those that cannot be brought there.
async fn fitted(images: Vec<Image>, limits: &ImageLimits) -> (Vec<Attachment>, Vec<String>) {
    let (mut attachments, mut omitted) = (Vec::new(), Vec::new());
    for one in images {
        let fitted = match STANDARD.decode(one.base64) {
            Ok(bytes) => image::fit(bytes, one.mime, limits).await.ok(),
            Err(_) => None,
        };
        match fitted {
            Some(fitted) => attachments.push(Attachment {
                mime: fitted.mime.to_owned(),
                filename: Some(one.name),
                url: format!("data:{};base64,{}", fitted.mime, STANDARD.encode(fitted.bytes)),
            }),
            None => omitted.push(one.name),
        }
    }
    (attachments, omitted)
}

fn remark(rendered: &Rendered) -> String {
    let Rendered { first, last, total, .. } = *rendered;
    let language = rendered.language.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
    let where_we_are = if rendered.is_cut() {
        format!("Showing cells {first}-{last} of {total}{language}. Use offset={} to continue.", last + 1)
    } else {
        format!("End of notebook - total {total} cells{language}.")
    };
    format!(
        "({where_we_are} `N: ` is the line of the file, in which the cell's line is a JSON string. To change it, read \
         the JSON first, with raw=true and offset=N.)"
    )
}
