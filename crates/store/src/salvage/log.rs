//! The write-ahead log as bytes: which pages it holds for certain, and whether something in it is lost. Pure.

use std::collections::HashMap;

const HEADER: usize = 32;
const FRAME: usize = 24;

/// What a log holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Log {
    /// The latest version of each page that was committed: where it begins in the file.
    pub(crate) pages: HashMap<u32, usize>,
    /// The size of its pages in bytes.
    pub(crate) page_size: Option<usize>,
    /// Whether something in it cannot be read although it was written whole: its beginning, or a frame that others
    /// follow. A frame that is cut off at the end is what a killed process leaves, and was told to nobody.
    pub(crate) damaged: bool,
}

impl Log {
    /// Reads a log. One without bytes holds nothing and is whole.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        if bytes.is_empty() {
            return Self::default();
        }
        let lost = Self { damaged: true, ..Self::default() };
        let (Some(head), Some(magic)) = (bytes.get(..HEADER), number(bytes, 0)) else { return lost };
        let little = match magic {
            0x377f_0682 => true,
            0x377f_0683 => false,
            _ => return lost,
        };
        let (Some(size), Some(salt)) = (number(bytes, 8), bytes.get(16..24)) else { return lost };
        let page_size = if size == 1 { 65_536 } else { usize::try_from(size).unwrap_or(0) };
        let sums = sum((0, 0), head.get(..24).unwrap_or_default(), little);
        if !page_size.is_power_of_two() || !(512..=65_536).contains(&page_size) || written(bytes, 24) != Some(sums) {
            return lost;
        }
        let mut log = Self { page_size: Some(page_size), ..Self::default() };
        let (mut sums, mut open) = (sums, HashMap::new());
        let mut broken = false;
        for (index, frame) in bytes.get(HEADER..).unwrap_or_default().chunks_exact(FRAME + page_size).enumerate() {
            if frame.get(8..16) != Some(salt) {
                // What an earlier turn of the log left.
                break;
            }
            if broken {
                log.damaged = true;
                break;
            }
            let (head, page) = frame.split_at(FRAME);
            sums = sum(sum(sums, head.get(..8).unwrap_or_default(), little), page, little);
            if written(head, 16) != Some(sums) {
                broken = true;
                continue;
            }
            let (Some(page), Some(commits)) = (number(head, 0), number(head, 4)) else { break };
            open.insert(page, HEADER + index * (FRAME + page_size) + FRAME);
            if commits > 0 {
                log.pages.extend(open.drain());
            }
        }
        log
    }
}

/// SQLite's checksum over `bytes`, going on from `sums`.
fn sum((mut one, mut two): (u32, u32), bytes: &[u8], little: bool) -> (u32, u32) {
    for pair in bytes.chunks_exact(8) {
        let word = |at: usize| {
            let bytes = pair.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
            if little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
        };
        one = one.wrapping_add(word(0)).wrapping_add(two);
        two = two.wrapping_add(word(4)).wrapping_add(one);
    }
    (one, two)
}

fn written(bytes: &[u8], at: usize) -> Option<(u32, u32)> {
    Some((number(bytes, at)?, number(bytes, at + 4)?))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
