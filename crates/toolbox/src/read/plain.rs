//! A text file: the page of it that was asked for, decoded from whatever it is encoded in.

use std::ops::ControlFlow;

use encoding_rs::Encoding;
use haft_permission::Grant;
use haft_project::{Files, Reading, Target};
use haft_tool::{Output, TellModel, ToolError};
use serde_json::json;

use super::page::{Page, Pager, Wants};
use super::{Wanted, metadata};
use crate::text::{Text, count_lines, encoding, on_one_line};

/// Larger files than this, in bytes, are not read to their end just to count their lines, nor looked through for signs
/// of their encoding.
const COUNTED: u64 = 8 * 1024 * 1024;

/// What a page was decoded from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoded {
    Utf8,
    Otherwise(&'static Encoding),
    /// In nothing that could be written back as it was; shown as UTF-8.
    Unknown,
}

/// The page of `reading` that is wanted; `start` has been read of it.
pub(super) async fn page(
    files: &Files,
    grant: &Grant,
    target: &Target,
    reading: &mut Reading,
    start: Option<Vec<u8>>,
    wanted: Wanted,
) -> Result<(Page, Encoded), ToolError> {
    let start = start.unwrap_or_default();
    let mut pager = Pager::new(wanted.first, wanted.limit, reading.len() <= COUNTED);
    let sixteen = encoding::sixteen(&start);
    if let Some(encoding) = sixteen {
        pager = pager.decoding(encoding);
    }
    if pager.push(&start) == Wants::More {
        let take = |pager: &mut Pager, piece: &[u8]| match pager.push(piece) {
            Wants::More => ControlFlow::Continue(()),
            Wants::Nothing => ControlFlow::Break(()),
        };
        pager = reading.pour(pager, take).await.tell_model()?;
    }
    let page = pager.finish();
    let Some(raw) = &page.raw else { return Ok((page, sixteen.map_or(Encoded::Utf8, Encoded::Otherwise))) };
    let encoding = if reading.len() <= COUNTED {
        let bytes = files.read(grant, target, COUNTED).await.tell_model()?;
        Text::read_beside(bytes).await.1.map(|text| text.encoding)
    } else {
        encoding::legacy(raw)
    };
    Ok(match encoding {
        Some(encoding) => (page.decoded(encoding), Encoded::Otherwise(encoding)),
        None => (page, Encoded::Unknown),
    })
}

/// `page` for the model, of a file of `size` bytes, with a word about it.
pub(super) fn output(
    target: &Target,
    page: &Page,
    encoded: &Encoded,
    size: u64,
    note: Option<&str>,
) -> Result<Output, ToolError> {
    let path = target.path().display().to_string();
    if page.is_past_the_end() {
        let (offset, total) = (page.first, count_lines(page.seen));
        return Err(ToolError::Failed(format!("offset {offset} is past the end of {path}, which has {total}")));
    }
    let numbered: Vec<String> =
        (page.first..).zip(&page.lines).map(|(number, line)| format!("{number}: {line}")).collect();
    let encoding = match encoded {
        Encoded::Utf8 => String::new(),
        Encoded::Otherwise(encoding) => format!("<encoding>{}</encoding>\n", encoding.name()),
        Encoded::Unknown => "<encoding>unknown; what is no UTF-8 is shown as \u{fffd}</encoding>\n".to_owned(),
    };
    let note = note.map(|note| format!("\n({note})")).unwrap_or_default();
    let text = format!(
        "<path>{}</path>\n<type>file</type>\n{encoding}<content>\n{}\n\n{}{note}\n</content>",
        on_one_line(&path),
        numbered.join("\n"),
        page.remark(size)
    );
    let display = json!({
        "type": "file", "path": path, "text": page.lines.join("\n"), "lineStart": page.first, "lineEnd": page.last(),
        "totalLines": page.seen, "truncated": page.is_cut(),
    });
    Ok(Output { metadata: metadata(&page.lines, page.is_cut(), display), ..Output::new(target.title(), text) })
}
