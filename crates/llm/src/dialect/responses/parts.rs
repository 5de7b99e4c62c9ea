//! Words and files as the interface takes them.

use std::borrow::Cow;

use serde::Serialize;

use crate::Content;
use crate::dialect::media::{EMPTY_IMAGE, unsupported};

/// A piece of what the model is told.
#[derive(Serialize)]
#[serde(tag = "type")]
pub(super) enum Part<'a> {
    #[serde(rename = "input_text")]
    Text { text: Cow<'a, str> },
    #[serde(rename = "input_image")]
    Image { image_url: DataUrl<'a>, detail: &'static str },
    #[serde(rename = "input_file")]
    File { filename: &'a str, file_data: DataUrl<'a> },
}

/// Written into the body without a copy of the picture in between.
pub(super) struct DataUrl<'a> {
    mime: &'a str,
    data: &'a str,
}

impl Serialize for DataUrl<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("data:{};base64,{}", self.mime, self.data))
    }
}

/// What the user says and shows. Never empty, because the interface refuses that.
pub(super) fn said(content: &[Content]) -> Vec<Part<'_>> {
    match content {
        [] => vec![words("")],
        content => content.iter().map(part).collect(),
    }
}

/// What came of a call: a string, which every server reads, where it is only words.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Told<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

pub(super) fn told(content: &[Content]) -> Told<'_> {
    let texts: Option<Vec<&str>> = content
        .iter()
        .map(|content| match content {
            Content::Text { text } => Some(text.as_str()),
            Content::Media { .. } => None,
        })
        .collect();
    match texts.as_deref() {
        Some([text]) => Told::Text((*text).into()),
        Some(texts) => Told::Text(texts.join("\n").into()),
        None => Told::Parts(content.iter().map(part).collect()),
    }
}

fn words<'a>(text: impl Into<Cow<'a, str>>) -> Part<'a> {
    Part::Text { text: text.into() }
}

fn part(content: &Content) -> Part<'_> {
    let (mime, data, name) = match content {
        Content::Text { text } => return words(text),
        Content::Media { mime, data, name } => (mime.as_str(), data.as_str(), name.as_deref()),
    };
    match mime {
        "application/pdf" => Part::File { filename: name.unwrap_or("document.pdf"), file_data: DataUrl { mime, data } },
        _ if mime.starts_with("image/") && data.is_empty() => words(EMPTY_IMAGE),
        _ if mime.starts_with("image/") => Part::Image { image_url: DataUrl { mime, data }, detail: "auto" },
        // Left out without a word, it would be looked for.
        _ => words(unsupported(mime, name)),
    }
}
