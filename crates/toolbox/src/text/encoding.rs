//! Which encoding the bytes of a text file are in, and the way there and back. Pure.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{EncoderResult, Encoding, GB18030, GBK, UTF_8, UTF_16BE, UTF_16LE};

/// How many bytes at the beginning of a file tell whether it is UTF-16, or binary.
pub(crate) const SAMPLE: usize = 4096;
/// How many bytes of a text in an older encoding are looked at to tell which.
const DETECTED: usize = 1024 * 1024;
/// Of so many bytes of a text in an older encoding one may be a control character.
const CONTROLS: usize = 100;

/// UTF-16 by the mark at the beginning, or by the zero bytes that every second byte of most texts is. `None` where the
/// bytes are neither; looks at [`SAMPLE`] bytes, so that a file's beginning tells the same as the whole of it.
pub(crate) fn sixteen(bytes: &[u8]) -> Option<&'static Encoding> {
    let sample = &bytes[..bytes.len().min(SAMPLE) & !1];
    match Encoding::for_bom(bytes) {
        // Zeros in it are another format that begins alike: UTF-32 for one.
        Some((encoding, _)) if encoding != UTF_8 => {
            units(encoding, sample, |c| c.is_some_and(|c| c != '\0')).then_some(encoding)
        }
        // Half a character is at the end of no text.
        None if bytes.len() > SAMPLE || bytes.len().is_multiple_of(2) => by_zeros(sample),
        Some(_) | None => None,
    }
}

/// UTF-16 without a mark: zeros at odd or at even places, hardly any at the others (a few signs have one there), and a
/// text that makes sense.
fn by_zeros(sample: &[u8]) -> Option<&'static Encoding> {
    let zeros = |parity: usize| sample.iter().skip(parity).step_by(2).filter(|&&byte| byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    let (encoding, zeros) = if even < odd { (UTF_16LE, odd) } else { (UTF_16BE, even) };
    if zeros == 0 || even.min(odd) * 20 > zeros {
        return None;
    }
    // A few zeros between plain text are separators. UTF-16 that is good UTF-8 by chance has many controls.
    let plain = |text: &str| text.chars().filter(|&c| is_odd(c)).count() * 16 < text.len();
    let separators = zeros * 5 < sample.len() && std::str::from_utf8(sample).is_ok_and(plain);
    let sensible = |c: Option<char>| c.is_some_and(|c| c != '\0' && !is_odd(c));
    (!separators && units(encoding, sample, sensible)).then_some(encoding)
}

/// Whether `holds` for all characters of the UTF-16 in `sample`, which may end within one; `None` is half of one.
fn units(encoding: &'static Encoding, sample: &[u8], holds: impl Fn(Option<char>) -> bool) -> bool {
    let mut units: Vec<u16> = sample.as_chunks().0.iter().map(|unit| of_bytes(encoding, *unit)).collect();
    units.pop_if(|last| (0xd800..0xdc00).contains(last));
    char::decode_utf16(units).all(|c| holds(c.ok()))
}

fn of_bytes(encoding: &'static Encoding, unit: [u8; 2]) -> u16 {
    if encoding == UTF_16LE { u16::from_le_bytes(unit) } else { u16::from_be_bytes(unit) }
}

/// What hardly occurs in texts: control characters apart from white space, backspace, escape and the end sign of DOS;
/// and what no standard gives a meaning to.
fn is_odd(c: char) -> bool {
    match c {
        '\0' | '\u{8}'..='\r' | '\u{1a}' | '\u{1b}' | '\u{85}' => false,
        '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{fffe}'.. => (c as u32) < 0x1_0000,
        _ => c.is_control(),
    }
}

/// The encoding that a text from before Unicode is most likely in. `None` where the bytes look like no text, or like
/// UTF-8 that was damaged.
///
/// The answer is a guess: only a text that comes out of it whole may be written back, see [`decode`] and [`encode`].
pub(crate) fn legacy(bytes: &[u8]) -> Option<&'static Encoding> {
    let control = |byte: u8| byte < 0x80 && is_odd(char::from(byte));
    let controls = bytes.iter().filter(|&&byte| control(byte)).count();
    if bytes.contains(&0) || controls * CONTROLS > bytes.len() || is_damaged_utf8(bytes) {
        return None;
    }
    // Seven-bit escapes would make a text of a log with colours.
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    let looked = &bytes[..bytes.len().min(DETECTED)];
    detector.feed(looked, looked.len() == bytes.len());
    Some(detector.guess(None, Utf8Detection::Deny))
}

/// Whether most of what is not ASCII is good UTF-8, which does not happen by chance.
fn is_damaged_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0usize, 0usize);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    good > 2 * bad
}

/// `bytes`, which have no mark, as text; `None` where something in them means nothing in `encoding`.
pub(crate) fn decode<'a>(encoding: &'static Encoding, bytes: &'a [u8]) -> Option<Cow<'a, str>> {
    encoding.decode_without_bom_handling_and_without_replacement(bytes)
}

/// The bytes of `text`, without a mark.
///
/// # Errors
///
/// Where in `text`, in bytes, something stands that `encoding` has no sign for.
pub(crate) fn encode(encoding: &'static Encoding, text: &str) -> Result<Vec<u8>, usize> {
    if encoding == UTF_8 {
        return Ok(text.as_bytes().to_owned());
    }
    if encoding == UTF_16LE {
        return Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect());
    }
    if encoding == UTF_16BE {
        return Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect());
    }
    let mut encoder = encoding.new_encoder();
    let mut bytes = Vec::with_capacity(text.len());
    let mut piece = [0; 16 * 1024];
    let mut done = 0;
    loop {
        let (result, read, written) = encoder.encode_from_utf8_without_replacement(&text[done..], &mut piece, true);
        done += read;
        bytes.extend_from_slice(&piece[..written]);
        match result {
            EncoderResult::InputEmpty => return Ok(bytes),
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(sign) => return Err(done - sign.len_utf8()),
        }
    }
}

/// The older encoding in which `bytes` are a text that can be written back as it was, and that text.
pub(crate) fn lossless(bytes: &[u8]) -> Option<(&'static Encoding, Cow<'_, str>)> {
    let guess = legacy(bytes)?;
    // The wider of the two has signs that the other cannot write.
    let wider = (guess == GBK).then_some(GB18030);
    [Some(guess), wider].into_iter().flatten().find_map(|encoding| {
        let text = decode(encoding, bytes)?;
        (encode(encoding, &text).as_deref() == Ok(bytes)).then_some((encoding, text))
    })
}

#[cfg(test)]
mod tests {
    use encoding_rs::{SHIFT_JIS, WINDOWS_1251, WINDOWS_1252};

    use super::*;

    fn le(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    fn be(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_be_bytes).collect()
    }

    #[test]
    fn utf_16_is_told_by_its_mark_or_its_zeros() {
        let row = |bytes: &[u8], want: Option<&'static Encoding>| {
            assert_eq!(sixteen(bytes), want, "{:?}", &bytes[..bytes.len().min(40)])
        };
        for text in
            ["plain", "grün\r\n", "Привет, мир\n", "日本語の文章です。\n次の行\n", "a smile 😀 and more of them"]
        {
            row(&le(&format!("\u{feff}{text}")), Some(UTF_16LE));
            row(&be(&format!("\u{feff}{text}")), Some(UTF_16BE));
            row(&le(text), Some(UTF_16LE));
            row(&be(text), Some(UTF_16BE));
            row(text.as_bytes(), None);
        }
        row(b"", None);
        row(b"\xff\xfe", Some(UTF_16LE));
        row(b"\xff\xfe\0\0a\0\0\0", None);
        row(b"\xff\xfb\x90\x64", None);
        row(b"src/main.rs\0src/lib.rs\0", None);
        row(b"name\0\0\0", None);
        row(b"a\0b", None);
        row(b"a file name\0", None);
        row(b"a\x1b[31mred\x1b[0m\x07b\r\nc\0d", None);
        // Small numbers, two bytes each.
        row(&[1, 0, 2, 0, 3, 0, 4, 0], None);
        row(&[0xd8, 0, 0x41, 0], Some(UTF_16LE));
        row(&[0, 0xd8, 0x41, 0, 0x41, 0], None);
        // A surrogate at the end of the sample has its other half behind it.
        row(&le(&format!("{}{}", "ab ".repeat(300), "😃".repeat(SAMPLE))), Some(UTF_16LE));
    }

    #[track_caller]
    fn comes_back(encoding: &'static Encoding, text: &str) {
        let bytes = encode(encoding, text).unwrap();
        let (found, decoded) = lossless(&bytes).expect("it is a text");
        assert_eq!((found.name(), decoded.as_ref()), (encoding.name(), text));
    }

    #[test]
    fn older_encodings_are_told_by_what_is_written_in_them() {
        comes_back(WINDOWS_1252, "// größer als üblich: für Müller & Söhne – „geprüft“ 50 €\n");
        comes_back(WINDOWS_1252, "caf\u{e9} au lait, d\u{e9}j\u{e0} vu\n");
        comes_back(WINDOWS_1251, "// Проверка того, что кодировка определяется верно\n");
        comes_back(SHIFT_JIS, "// これは日本語のコメントです。文字コードを調べます。\n");
        comes_back(GBK, "// 这是一个用来检查编码的中文注释，内容很普通。\n");
        comes_back(encoding_rs::BIG5, "// 這是一個用來檢查編碼的中文註解，內容很普通。\n");
        comes_back(encoding_rs::EUC_KR, "// 이것은 인코딩을 확인하기 위한 한국어 주석입니다.\n");
        comes_back(encoding_rs::ISO_8859_2, "// Zażółć gęślą jaźń, proszę bardzo\n");
    }

    #[test]
    fn what_is_no_text_or_was_utf_8_once_is_left_alone() {
        for bytes in [&b"\xff\0\xe4"[..], b"\x01\x02\x03\xe4", &["größer für Söhne\n".as_bytes(), b"\xff"].concat()]
        {
            assert_eq!(legacy(bytes), None, "{bytes:?}");
        }
        assert!(legacy(b"\x1b[31mgr\xfcn\x1b[0m\r\n\x1a").is_some());
    }

    #[test]
    fn a_sign_that_an_encoding_lacks_is_found() {
        assert_eq!(encode(WINDOWS_1252, "für → x"), Err("für ".len()));
        let long = format!("{}→", "ä".repeat(40_000));
        assert_eq!(encode(WINDOWS_1252, &long), Err(80_000));
        assert_eq!(encode(WINDOWS_1252, &long[..80_000]).unwrap().len(), 40_000);
    }
}
