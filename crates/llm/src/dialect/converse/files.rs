//! Files in the kinds that the interface has. Pure.

use serde::Serialize;

/// What a file is sent as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Image(&'static str),
    Document(&'static str),
    Video(&'static str),
    Audio(&'static str),
}

/// What a file of this MIME type is sent as, with the word for its format. `None`: not at all.
pub(super) fn kind(mime: &str) -> Option<Kind> {
    let mime = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    Some(match mime.as_str() {
        "image/png" => Kind::Image("png"),
        "image/jpeg" | "image/jpg" => Kind::Image("jpeg"),
        "image/gif" => Kind::Image("gif"),
        "image/webp" => Kind::Image("webp"),
        "application/pdf" => Kind::Document("pdf"),
        "text/csv" => Kind::Document("csv"),
        "text/html" => Kind::Document("html"),
        "text/plain" => Kind::Document("txt"),
        "text/markdown" => Kind::Document("md"),
        "application/msword" => Kind::Document("doc"),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document" => Kind::Document("docx"),
        "application/vnd.ms-excel" => Kind::Document("xls"),
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" => Kind::Document("xlsx"),
        "video/mp4" => Kind::Video("mp4"),
        "video/quicktime" => Kind::Video("mov"),
        "video/x-matroska" => Kind::Video("mkv"),
        "video/webm" => Kind::Video("webm"),
        "video/x-flv" => Kind::Video("flv"),
        "video/mpeg" => Kind::Video("mpeg"),
        "video/x-ms-wmv" => Kind::Video("wmv"),
        "video/3gpp" => Kind::Video("three_gp"),
        "audio/mpeg" | "audio/mp3" => Kind::Audio("mp3"),
        "audio/wav" | "audio/x-wav" => Kind::Audio("wav"),
        "audio/flac" => Kind::Audio("flac"),
        "audio/ogg" => Kind::Audio("ogg"),
        "audio/opus" => Kind::Audio("opus"),
        "audio/aac" => Kind::Audio("aac"),
        "audio/mp4" | "audio/x-m4a" => Kind::Audio("m4a"),
        "audio/webm" => Kind::Audio("webm"),
        _ => return None,
    })
}

/// A picture, a film, a sound.
#[derive(Serialize)]
pub(super) struct File<'a> {
    pub(super) format: &'static str,
    pub(super) source: Source<'a>,
}

#[derive(Serialize)]
pub(super) struct Document<'a> {
    pub(super) format: &'static str,
    pub(super) name: String,
    pub(super) source: Source<'a>,
}

/// The bytes of a file, in base64.
#[derive(Serialize)]
pub(super) struct Source<'a> {
    pub(super) bytes: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_their_type() {
        let row = |mime: &str, want| assert_eq!(kind(mime), want, "{mime}");
        row("image/jpeg", Some(Kind::Image("jpeg")));
        row("Image/PNG", Some(Kind::Image("png")));
        row("image/bmp", None);
        row("application/pdf", Some(Kind::Document("pdf")));
        row("text/plain; charset=utf-8", Some(Kind::Document("txt")));
        row("video/3gpp", Some(Kind::Video("three_gp")));
        row("audio/wav", Some(Kind::Audio("wav")));
        row("application/zip", None);
        row("", None);
    }
}
