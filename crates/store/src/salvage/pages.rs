//! A SQLite file as bytes: every row of a table that can still be read, whatever became of the rest. Pure.
//!
//! Only the leaves of tables are looked at. The way to them, indexes and the schema may be lost.

use std::collections::HashSet;

/// Most bytes of one row. Beyond, its length is taken for damage.
const MAX_ROW: usize = 256 * 1024 * 1024;
/// What SQLite makes unless told otherwise.
const USUAL_SIZE: usize = 4096;
const LEAF: u8 = 0x0d;
const OTHER_KINDS: [u8; 3] = [0x02, 0x05, 0x0a];

/// A value of a row; numbers with a point and bytes are not told apart, because haft stores none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Number(i64),
    Text(Vec<u8>),
    Other,
}

/// Pages that can be read by their number, which begins at 1.
pub(crate) trait Source {
    /// How many there are.
    fn count(&self) -> u32;
    /// The size of each in bytes.
    fn size(&self) -> usize;
    /// One of them.
    fn page(&self, number: u32) -> Option<Vec<u8>>;
}

/// How much could not be read.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damage {
    /// Pages that are nothing that SQLite writes.
    pub(crate) pages: u64,
    /// Rows that are cut off or broken.
    pub(crate) rows: u64,
}

/// The size of pages that the first bytes of a file tell.
pub(crate) fn page_size(head: &[u8]) -> Option<usize> {
    if head.get(..16)? != b"SQLite format 3\0" {
        return None;
    }
    let size = usize::from(u16::from_be_bytes(head.get(16..18)?.try_into().ok()?));
    let size = if size == 1 { 65_536 } else { size };
    (size.is_power_of_two() && size >= 512).then_some(size)
}

/// The usual size, for a file that does not tell.
pub(crate) fn usual_size() -> usize {
    USUAL_SIZE
}

/// Calls `found` with each row that can be read.
pub(crate) fn rows<E>(source: &impl Source, mut found: impl FnMut(Vec<Value>) -> Result<(), E>) -> Result<Damage, E> {
    let (mut damage, mut used, mut strange) = (Damage::default(), HashSet::new(), Vec::new());
    let first = source.page(1).unwrap_or_default();
    let whole_head = page_size(&first).is_some();
    // Unused bytes at the end of each page.
    let spare = if whole_head { first.get(20).copied().map_or(0, usize::from) } else { 0 };
    let usable = source.size().saturating_sub(spare);
    let free = if whole_head { free_pages(source, &first, usable) } else { HashSet::new() };
    let claimed = if whole_head { number(&first, 28).unwrap_or(0) } else { 0 };
    damage.pages += u64::from(claimed.saturating_sub(source.count()));
    for index in 1..=source.count() {
        if free.contains(&index) {
            continue;
        }
        let Some(page) = source.page(index) else {
            damage.pages += 1;
            continue;
        };
        let start = if index == 1 && whole_head { 100 } else { 0 };
        match page.get(start) {
            Some(&LEAF) => {}
            Some(kind) if OTHER_KINDS.contains(kind) => continue,
            _ => {
                strange.push(index);
                continue;
            }
        }
        let cells = short(&page, start + 3).unwrap_or(0);
        for cell in 0..cells {
            let row = short(&page, start + 8 + 2 * cell).and_then(|at| row(source, &page, at, usable, &mut used));
            match row {
                Some(values) => found(values)?,
                None => damage.rows += 1,
            }
        }
    }
    damage.pages += strange.iter().filter(|&page| !used.contains(page)).fold(0, |sum, _| sum + 1);
    Ok(damage)
}

/// The pages that hold nothing any more.
fn free_pages(source: &impl Source, first: &[u8], usable: usize) -> HashSet<u32> {
    let mut free = HashSet::new();
    let mut trunk = number(first, 32).unwrap_or(0);
    while trunk != 0 && free.insert(trunk) {
        let Some(page) = source.page(trunk) else { break };
        let leaves = number(&page, 4).map_or(0, |count| usize::try_from(count).unwrap_or(0)).min(usable / 4);
        free.extend((0..leaves).filter_map(|leaf| number(&page, 8 + 4 * leaf)));
        trunk = number(&page, 0).unwrap_or(0);
    }
    free
}

/// The row at `at` of a leaf, with what of it stands on other pages.
fn row(source: &impl Source, page: &[u8], at: usize, usable: usize, used: &mut HashSet<u32>) -> Option<Vec<Value>> {
    let (length, at) = varint(page, at)?;
    let (_, at) = varint(page, at)?;
    let length = usize::try_from(length).ok().filter(|&length| length <= MAX_ROW)?;
    let most = usable.checked_sub(35)?;
    let local = if length <= most {
        length
    } else {
        let least = (usable.checked_sub(12)? * 32 / 255).checked_sub(23)?;
        let fit = least + (length - least) % (usable - 4);
        if fit <= most { fit } else { least }
    };
    let mut bytes = page.get(at..at.checked_add(local)?)?.to_vec();
    let mut next = if local < length { number(page, at + local)? } else { 0 };
    while bytes.len() < length {
        // A page belongs to one row alone; this also ends circles.
        if next == 0 || !used.insert(next) {
            return None;
        }
        let more = source.page(next)?;
        let wanted = (length - bytes.len()).min(usable - 4);
        bytes.extend_from_slice(more.get(4..4 + wanted)?);
        next = number(&more, 0)?;
    }
    record(&bytes)
}

/// The values of a row.
fn record(bytes: &[u8]) -> Option<Vec<Value>> {
    let (head, mut at) = varint(bytes, 0)?;
    let head = usize::try_from(head).ok().filter(|&head| head <= bytes.len())?;
    let (mut values, mut body) = (Vec::new(), head);
    while at < head {
        let (kind, next) = varint(bytes, at)?;
        at = next;
        let length = match kind {
            0 | 8 | 9 => 0,
            1..=4 => usize::try_from(kind).ok()?,
            5 => 6,
            6 | 7 => 8,
            10 | 11 => return None,
            _ => usize::try_from((kind - 12) / 2).ok()?,
        };
        let raw = bytes.get(body..body.checked_add(length)?)?;
        body += length;
        values.push(match kind {
            0 => Value::Null,
            8 => Value::Number(0),
            9 => Value::Number(1),
            1..=6 => Value::Number(signed(raw)),
            kind if kind >= 13 && kind % 2 == 1 => Value::Text(raw.to_vec()),
            _ => Value::Other,
        });
    }
    Some(values)
}

fn signed(raw: &[u8]) -> i64 {
    let start = if raw.first().is_some_and(|&byte| byte >= 0x80) { -1 } else { 0 };
    raw.iter().fold(start, |sum: i64, &byte| sum.wrapping_shl(8) | i64::from(byte))
}

/// SQLite's numbers of 1 to 9 bytes, and where the next one begins.
fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut sum = 0_u64;
    for place in 0..9 {
        let byte = *bytes.get(at.checked_add(place)?)?;
        if place == 8 {
            return Some((sum << 8 | u64::from(byte), at + 9));
        }
        sum = sum << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some((sum, at + place + 1));
        }
    }
    None
}

fn short(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_be_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?)))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length() {
        let row = |bytes: &[u8], want: Option<(u64, usize)>| assert_eq!(varint(bytes, 0), want, "{bytes:?}");
        row(&[0], Some((0, 1)));
        row(&[0x7f], Some((127, 1)));
        row(&[0x81, 0], Some((128, 2)));
        row(&[0xff; 9], Some((u64::MAX, 9)));
        row(&[0x81], None);
        row(&[], None);
    }

    #[test]
    fn records_of_every_kind_of_value_and_none_that_is_cut() {
        let row = |bytes: &[u8], want: Option<Vec<Value>>| assert_eq!(record(bytes), want, "{bytes:?}");
        let text = |text: &str| Value::Text(text.as_bytes().to_vec());
        row(&[4, 0, 1, 17, 0xff, b'h', b'i'], Some(vec![Value::Null, Value::Number(-1), text("hi")]));
        row(&[3, 8, 9], Some(vec![Value::Number(0), Value::Number(1)]));
        row(&[2, 2, 1, 0], Some(vec![Value::Number(256)]));
        row(&[2, 14, 7], Some(vec![Value::Other]));
        row(&[2, 17, b'h'], None);
        row(&[9, 1], None);
        row(&[2, 10], None);
        row(&[], None);
    }
}
