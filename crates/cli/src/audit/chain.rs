//! The chain: each line carries the hash of the one before it, so none can be changed, taken out or moved unseen. Pure.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The form of a line.
const VERSION: u64 = 1;
/// Letters of a hash: SHA-256 in hexadecimal.
const HASH: usize = 64;
/// What stands between a line's body and its hash.
const MARK: &[u8] = b",\"hash\":\"";
/// What a line ends with.
const END: &[u8] = b"\"}";

/// Where a chain is: the number of an entry, and its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub n: u64,
    pub hash: String,
}

impl Link {
    /// Before the first entry.
    pub(super) fn start() -> Self {
        Self { n: 0, hash: "0".repeat(HASH) }
    }
}

/// What one entry says, without what the chain adds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    /// Unix milliseconds.
    pub time: u64,
    pub fields: Map<String, Value>,
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub link: Link,
    /// The hash of the entry before it.
    pub prev: String,
    pub value: Value,
}

/// Why a line is none of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bad {
    /// It is not a whole line of the log.
    Torn,
    /// Its hash does not fit what it says.
    Changed,
}

/// The line that follows `before`, with its line end, and where the chain is then.
pub(super) fn seal(before: &Link, entry: &Entry) -> (Vec<u8>, Link) {
    let n = before.n + 1;
    let mut body = Map::new();
    body.insert("v".to_owned(), VERSION.into());
    body.insert("n".to_owned(), n.into());
    body.insert("time".to_owned(), entry.time.into());
    body.insert("prev".to_owned(), before.hash.clone().into());
    body.extend(entry.fields.clone());
    let mut line = Value::Object(body).to_string().into_bytes();
    let hash = hash(&line);
    line.pop();
    line.extend_from_slice(MARK);
    line.extend_from_slice(hash.as_bytes());
    line.extend_from_slice(END);
    line.push(b'\n');
    (line, Link { n, hash })
}

/// Reads a line, without its line end.
///
/// # Errors
///
/// [`Bad`]; for a changed line with the place in the chain that it claims, for what stands behind it.
pub(super) fn open(line: &[u8]) -> Result<Line, (Bad, Option<Link>)> {
    let torn = (Bad::Torn, None);
    let rest = line.strip_suffix(END).ok_or(torn.clone())?;
    let (body, claimed) = rest.split_at_checked(rest.len().wrapping_sub(HASH)).ok_or(torn.clone())?;
    let body = body.strip_suffix(MARK).ok_or(torn.clone())?;
    let mut whole = body.to_vec();
    whole.push(b'}');
    let value: Value = serde_json::from_slice(&whole).map_err(|_| torn.clone())?;
    let claimed = std::str::from_utf8(claimed).map_err(|_| torn.clone())?.to_owned();
    let (Some(n), Some(prev)) = (value["n"].as_u64(), value["prev"].as_str()) else { return Err(torn) };
    let link = Link { n, hash: claimed };
    if hash(&whole) != link.hash {
        return Err((Bad::Changed, Some(link)));
    }
    Ok(Line { prev: prev.to_owned(), link, value })
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(text: &str) -> Entry {
        let Value::Object(fields) = json!({ "kind": "ask", "text": text }) else { unreachable!() };
        Entry { time: 5, fields }
    }

    #[test]
    fn a_line_is_read_as_it_was_sealed() {
        let (line, first) = seal(&Link::start(), &entry("a\"}\n\u{1b}é"));
        let line = line.strip_suffix(b"\n").unwrap();
        assert!(!line.contains(&b'\n'));
        let opened = open(line).unwrap();
        assert_eq!((&opened.link, opened.prev.as_str()), (&first, Link::start().hash.as_str()));
        assert_eq!(opened.value["text"], "a\"}\n\u{1b}é");
        let (second, link) = seal(&first, &entry("b"));
        let opened = open(second.strip_suffix(b"\n").unwrap()).unwrap();
        assert_eq!((opened.prev, link.n), (first.hash, 2));
    }

    #[test]
    fn a_hash_is_that_of_the_line_without_it() {
        let (line, link) = seal(&Link::start(), &entry("x"));
        let text = String::from_utf8(line).unwrap();
        let (body, _) = text.split_once(",\"hash\":").unwrap();
        assert_eq!(link.hash, hash(format!("{body}}}").as_bytes()));
        assert_eq!(hash(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }

    #[test]
    fn no_byte_can_be_changed_unseen() {
        let (line, _) = seal(&Link::start(), &entry("some text"));
        let line = line.strip_suffix(b"\n").unwrap();
        for at in 0..line.len() {
            let mut other = line.to_vec();
            other[at] ^= 1;
            assert!(open(&other).is_err(), "byte {at}");
            assert!(open(&line[..at]).is_err(), "cut at {at}");
        }
        for foreign in [&b""[..], b"{}", b"\"}", b"null", &[0xff; 80], "é".repeat(60).as_bytes()] {
            assert_eq!(open(foreign), Err((Bad::Torn, None)));
        }
    }
}
