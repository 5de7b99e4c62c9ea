//! Whether a file can be shown as text. Pure.

use std::path::Path;

use crate::text::encoding::{SAMPLE, sixteen};

/// Endings of files that are never text.
const BINARY: [&str; 29] = [
    "zip", "tar", "gz", "exe", "dll", "so", "class", "jar", "war", "7z", "doc", "docx", "xls", "xlsx", "ppt", "pptx",
    "odt", "ods", "odp", "bin", "dat", "obj", "o", "a", "lib", "wasm", "pyc", "pyo", "rlib",
];

/// How files of a kind begin.
const MAGIC: [(&[u8], &str); 5] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
];

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// An image or a PDF, with its MIME type.
    Media(&'static str),
    Binary,
}

/// Tells from the name and the first bytes.
pub(super) fn of(path: &Path, start: &[u8]) -> Kind {
    let sample = &start[..start.len().min(SAMPLE)];
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    if let Some(mime) = by_content(sample).or_else(|| by_name(&ending)) {
        return Kind::Media(mime);
    }
    // Tab to carriage return are part of texts, other control characters are rare in them.
    let odd = sample.iter().filter(|&&byte| byte < 9 || (14..32).contains(&byte)).count();
    let looks_binary = || sample.contains(&0) || odd * 10 > sample.len() * 3;
    if BINARY.contains(&ending.as_str()) || sixteen(start).is_none() && looks_binary() {
        return Kind::Binary;
    }
    Kind::Text
}

fn by_content(sample: &[u8]) -> Option<&'static str> {
    let webp = sample.starts_with(b"RIFF") && sample.get(8..12) == Some(b"WEBP");
    let magic = || MAGIC.iter().find(|(magic, _)| sample.starts_with(magic)).map(|(_, mime)| *mime);
    if webp { Some("image/webp") } else { magic() }
}

fn by_name(ending: &str) -> Option<&'static str> {
    match ending {
        "png" => Some("image/png"),
        "jpg" | "jpeg" => Some("image/jpeg"),
        "gif" => Some("image/gif"),
        "webp" => Some("image/webp"),
        "pdf" => Some("application/pdf"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, start: &[u8], want: Kind) {
        assert_eq!(of(Path::new(name), start), want, "{name}");
    }

    #[test]
    fn texts_are_told_by_their_bytes() {
        check("a.rs", b"fn main() {}\n", Kind::Text);
        check("empty", b"", Kind::Text);
        check("umlaut.txt", "äöü".as_bytes(), Kind::Text);
        check("latin1.txt", b"\xe4\xf6\xfc", Kind::Text);
        check("ansi.log", b"\x1b[31mred\x1b[0m text", Kind::Text);
        check("pic.svg", b"<svg/>", Kind::Text);
        check("a.ipynb", b"{\"cells\": []}", Kind::Text);
        check("mark.txt", b"\xff\xfeh\0i\0", Kind::Text);
        check("plain.txt", b"h\0i\0\n\0", Kind::Text);
        check("big.txt", b"\0h\0i\0\n", Kind::Text);
    }

    #[test]
    fn binary_files_are_told_by_ending_or_bytes() {
        check("a.zip", b"text", Kind::Binary);
        check("A.ZIP", b"text", Kind::Binary);
        check("a.txt", b"a\0b", Kind::Binary);
        check("a.txt", b"\xff\xfe\0\0a\0\0\0", Kind::Binary);
        check("a.dat", b"\xff\xfeh\0i\0", Kind::Binary);
        check("a.txt", b"\x01\x02\x03abcdef", Kind::Binary);
        check("a.txt", b"\x01\x02\x03abcdefg", Kind::Text);
        check("a.bmp", b"BM\0\0", Kind::Binary);
        let mut late = vec![b'a'; SAMPLE];
        late.push(0);
        check("late.txt", &late, Kind::Text);
    }

    #[test]
    fn media_are_told_by_bytes_first() {
        check("noending", b"\x89PNG\r\n\x1a\nxx", Kind::Media("image/png"));
        check("a.txt", b"RIFFxxxxWEBP", Kind::Media("image/webp"));
        check("a.txt", b"RIFFxx", Kind::Text);
        check("fake.JPG", b"text", Kind::Media("image/jpeg"));
        check("doc", b"%PDF-1.4", Kind::Media("application/pdf"));
    }
}
