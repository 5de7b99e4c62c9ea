//! Which signs the bytes of a page stand for. Pure.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

/// How far into a page it may say its encoding, in bytes.
const PRESCAN: usize = 4096;

/// The text that `bytes` are. A mark at their beginning decides, then `said`, the word of the header, then what the
/// page says itself, then a guess. Bytes that mean nothing become signs that say so.
pub(super) fn decode(bytes: &[u8], said: Option<&str>) -> String {
    let encoding = Encoding::for_bom(bytes)
        .map(|(encoding, _)| encoding)
        .or_else(|| said.and_then(|label| Encoding::for_label(label.as_bytes())))
        .or_else(|| std::str::from_utf8(bytes).is_ok().then_some(UTF_8))
        .or_else(|| within(bytes))
        .unwrap_or_else(|| guess(bytes));
    encoding.decode_with_bom_removal(bytes).0.into_owned()
}

/// What the page says itself, in a `meta` or at the top of an XML file.
fn within(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = &bytes[..bytes.len().min(PRESCAN)];
    let start: String = start.iter().map(|&byte| char::from(byte).to_ascii_lowercase()).collect();
    let xml = start.trim_start().starts_with("<?xml").then(|| label(&start, "encoding")).flatten();
    let meta = || start.split("<meta").skip(1).find_map(|tag| label(tag.split('>').next()?, "charset"));
    let encoding = Encoding::for_label(xml.or_else(meta)?.as_bytes())?;
    // The page could not say so in the encoding that it names.
    Some(match encoding {
        found if found == UTF_16LE || found == UTF_16BE => UTF_8,
        found if found == X_USER_DEFINED => WINDOWS_1252,
        found => found,
    })
}

/// The word after `name` and an equals sign.
fn label<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.split(name).skip(1).find_map(|rest| {
        let value = rest.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
        let end = value.find(|c: char| c.is_whitespace() || "\"';?>/".contains(c)).unwrap_or(value.len());
        Some(&value[..end]).filter(|label| !label.is_empty())
    })
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Allow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], said: Option<&str>, want: &str) {
        assert_eq!(decode(bytes, said), want);
    }

    #[test]
    fn the_mark_then_the_header_then_the_page_then_a_guess() {
        check(b"\xef\xbb\xbf\xc3\xa9", Some("latin1"), "é");
        check(b"\xff\xfea\0", None, "a");
        check(b"\xe9", Some("iso-8859-1"), "é");
        check(b"\xe9", Some("\"no such\""), "é");
        check("é".as_bytes(), None, "é");
        check(b"<meta charset=iso-8859-2>\xe8", None, "<meta charset=iso-8859-2>č");
        check(
            b"<META http-equiv=x content='text/html; charset=windows-1251'>\xff",
            None,
            "<META http-equiv=x content='text/html; charset=windows-1251'>я",
        );
        check(b"<?xml version='1.0' encoding='iso-8859-2'?>\xe8", None, "<?xml version='1.0' encoding='iso-8859-2'?>č");
        check(b"<meta charset=utf-16>\xe9", None, "<meta charset=utf-16>\u{fffd}");
        check(b"caf\xe9 \xe0 la carte, d\xe9j\xe0 vu, na\xefve", None, "café à la carte, déjà vu, naïve");
        check(b"a\xffb", Some("utf-8"), "a\u{fffd}b");
    }

    #[test]
    fn no_bytes_do_harm() {
        for bytes in [&b"<meta charset="[..], b"<?xml encoding", b"\xff\xfe", b"", b"<meta charset='>\xe9"] {
            decode(bytes, None);
        }
    }
}
