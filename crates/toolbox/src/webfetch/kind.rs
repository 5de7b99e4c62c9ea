//! What an answer is, and what is done with it. Pure.

/// What is done with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is turned into what was asked for.
    Page,
    /// It is shown as it is.
    Text,
    /// It goes with the answer.
    Image,
    /// It goes with the answer.
    Pdf,
    /// Nobody can read it.
    Binary,
}

/// Signs that are looked at to tell text from other bytes.
const SAMPLE: usize = 4096;

/// The type of `said`, without its parameters, in small letters.
pub(super) fn mime(said: &str) -> String {
    said.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The encoding that `said` names, if any.
pub(super) fn charset(said: &str) -> Option<&str> {
    said.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']))
    })
}

/// Whether an answer of the type `mime` need not even be read: it cannot be shown.
pub(super) fn is_hopeless(mime: &str) -> bool {
    let packed = ["application/zip", "application/gzip", "application/x-gzip", "application/x-tar", "application/zstd"];
    ["audio/", "video/", "font/"].iter().any(|start| mime.starts_with(start)) || packed.contains(&mime)
}

/// What an answer is that says to be of the type `mime` and holds `bytes`.
pub(super) fn of(mime: &str, bytes: &[u8]) -> Kind {
    match mime {
        "text/html" | "application/xhtml+xml" => Kind::Page,
        "application/pdf" => Kind::Pdf,
        "image/svg+xml" | "image/vnd.fastbidsheet" => Kind::Text,
        mime if mime.starts_with("image/") => Kind::Image,
        mime if is_hopeless(mime) => Kind::Binary,
        mime if mime.starts_with("text/") || mime.ends_with("json") || mime.ends_with("xml") => Kind::Text,
        // Much that is text is sent as something else, or as nothing in particular.
        mime => guess(mime, bytes),
    }
}

fn guess(mime: &str, bytes: &[u8]) -> Kind {
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    let start = String::from_utf8_lossy(sample).trim_start_matches('\u{feff}').trim_start().to_ascii_lowercase();
    let marked = sample.starts_with(b"\xff\xfe") || sample.starts_with(b"\xfe\xff");
    if sample.starts_with(b"%PDF-") {
        Kind::Pdf
    } else if marked {
        Kind::Text
    } else if sample.contains(&0) || start.chars().filter(|c| is_odd(*c)).count() * 10 > start.len() {
        Kind::Binary
    } else if mime.is_empty() && ["<!doctype html", "<html", "<head", "<body"].iter().any(|tag| start.starts_with(tag))
    {
        Kind::Page
    } else {
        Kind::Text
    }
}

fn is_odd(sign: char) -> bool {
    sign == '\u{fffd}' || sign.is_control() && !sign.is_whitespace() && sign != '\u{1b}'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_lose_their_parameters() {
        assert_eq!(mime(" Text/HTML ; charset=x"), "text/html");
        assert_eq!(charset("text/html; a=b; Charset = \"UTF-8\""), Some("UTF-8"));
        assert_eq!(charset("text/html"), None);
    }

    #[test]
    fn the_type_decides_and_where_it_says_nothing_the_bytes() {
        for (mime, bytes, want) in [
            ("text/html", &b"\0"[..], Kind::Page),
            ("application/xhtml+xml", b"", Kind::Page),
            ("image/png", b"", Kind::Image),
            ("image/svg+xml", b"<svg/>", Kind::Text),
            ("application/json", b"{}", Kind::Text),
            ("application/problem+json", b"{}", Kind::Text),
            ("application/rss+xml", b"<rss/>", Kind::Text),
            ("application/pdf", b"", Kind::Pdf),
            ("application/octet-stream", b"%PDF-1.7", Kind::Pdf),
            ("application/octet-stream", b"fn main() {}", Kind::Text),
            ("application/octet-stream", b"\x7fELF\0\0", Kind::Binary),
            ("application/octet-stream", b"\xff\xd8\xff\xe0\x10\x80\x90\xa0", Kind::Binary),
            ("application/x-yaml", b"a: b", Kind::Text),
            ("video/mp4", b"text", Kind::Binary),
            ("application/zip", b"PK", Kind::Binary),
            ("", b" <!DOCTYPE HTML><p>", Kind::Page),
            ("", b"<p>", Kind::Text),
            ("", b"", Kind::Text),
            ("", b"\xff\xfea\0", Kind::Text),
        ] {
            assert_eq!(of(mime, bytes), want, "{mime} {bytes:?}");
        }
    }
}
