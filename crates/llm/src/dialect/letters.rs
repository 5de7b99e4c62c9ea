//! Halves of letters. JSON spells letters beyond the first 65,536 in two halves, and servers that cut a text between
//! them send each half by itself: no text can hold one, and a whole event would be lost for it.

/// Puts the sign for a lost letter in for each half of one in the JSON text `data`.
pub(super) fn mend(data: &mut String) {
    // Few events hold any.
    if !data.contains("\\ud") && !data.contains("\\uD") {
        return;
    }
    let mut mended = String::new();
    let mut kept = 0;
    let mut at = 0;
    while let Some(offset) = data[at..].find('\\') {
        let escape = at + offset;
        at = match (unit(data, escape), unit(data, escape + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => escape + 12,
            (Some(0xd800..=0xdfff), _) => {
                mended.push_str(&data[kept..escape]);
                mended.push_str("\\ufffd");
                kept = escape + 6;
                kept
            }
            (Some(_), _) => escape + 6,
            // Behind a backslash stands one letter, perhaps another backslash.
            (None, _) => escape + 1 + data[escape + 1..].chars().next().map_or(0, char::len_utf8),
        };
    }
    if kept > 0 {
        mended.push_str(&data[kept..]);
        *data = mended;
    }
}

/// The number that is spelled at byte `at`, if `\u` and four digits stand there.
fn unit(data: &str, at: usize) -> Option<u32> {
    let escape = data.get(at..at + 6)?;
    let digits = escape.strip_prefix("\\u").filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_half_becomes_a_sign_and_a_whole_stays() {
        let row = |given: &str, want: &str| {
            let mut got = given.to_owned();
            mend(&mut got);
            assert_eq!(got, want, "{given}");
        };
        row(r#""\ud83d\ude00""#, r#""\ud83d\ude00""#);
        row(r#""a\ud83d""#, r#""a\ufffd""#);
        row(r#""\uDE00b""#, r#""\ufffdb""#);
        row(r#""\ud83d\ud83d\ude00\ude00""#, r#""\ufffd\ud83d\ude00\ufffd""#);
        row(r#""\ud83d\u0041""#, r#""\ufffd\u0041""#);
        // An escaped backslash begins no letter.
        row(r#""\\ud83d""#, r#""\\ud83d""#);
        row(r#""\\\ud83d""#, r#""\\\ufffd""#);
        row(r#""\ud83""#, r#""\ud83""#);
        row("\\ud83é", "\\ud83é");
    }

    proptest! {
        #[test]
        fn what_was_json_but_for_halves_is_json(text in "(a|é|\\\\n|\\\\\\\\|\\\\ud83d|\\\\ude00|\\\\u00e9){0,12}") {
            let mut data = format!("\"{text}\"");
            mend(&mut data);
            prop_assert!(serde_json::from_str::<String>(&data).is_ok(), "{}", data);
        }

        #[test]
        fn anything_is_taken(mut text in "(\\\\|u|d|8|é|\"){0,20}") {
            mend(&mut text);
        }
    }
}
