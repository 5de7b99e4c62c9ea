//! Counting line ends in large pieces of a text, as fast as memory gives them. Pure.
//!
//! A line ends with a line feed, a carriage return, or both.

use memchr::{memchr, memchr_iter, memchr2_iter};

/// How many lines end in `block`. A carriage return at its very end ends one; a line feed that follows it in the next
/// block is part of the same end.
pub(crate) fn count(block: &[u8]) -> usize {
    let feeds = memchr_iter(b'\n', block).count();
    if memchr(b'\r', block).is_none() { feeds } else { feeds + lone_returns(block) }
}

/// Carriage returns that no line feed follows.
fn lone_returns(block: &[u8]) -> usize {
    let follows = block.get(1..).unwrap_or_default();
    // Counted in bytes by small pieces, which the processor does many at a time.
    let pairs = block.chunks(128).zip(follows.chunks(128)).map(|(these, next)| {
        let lone = these.iter().zip(next).map(|(&this, &next)| u8::from(this == b'\r') & u8::from(next != b'\n'));
        usize::from(lone.sum::<u8>())
    });
    pairs.sum::<usize>() + usize::from(block.last() == Some(&b'\r'))
}

/// Where `wanted` lines have ended in `block`: how many bytes lie before. `None` where fewer end in it.
pub(crate) fn after(block: &[u8], wanted: usize) -> Option<usize> {
    let mut left = wanted;
    let mut ends = memchr2_iter(b'\n', b'\r', block).peekable();
    while let Some(at) = ends.next() {
        left -= 1;
        if left == 0 {
            return Some(at + 1);
        }
        if block[at] == b'\r' {
            ends.next_if(|&next| next == at + 1 && block[next] == b'\n');
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// The same, byte by byte.
    fn slowly(block: &[u8]) -> Vec<usize> {
        let end = |at: usize| block[at] == b'\r' || block[at] == b'\n' && (at == 0 || block[at - 1] != b'\r');
        (0..block.len()).filter(|&at| end(at)).map(|at| at + 1).collect()
    }

    #[track_caller]
    fn check(block: &[u8]) {
        let want = slowly(block);
        assert_eq!(count(block), want.len(), "{block:?}");
        for (at, end) in want.iter().enumerate() {
            assert_eq!(after(block, at + 1), Some(*end), "{} of {block:?}", at + 1);
        }
        assert_eq!(after(block, want.len() + 1), None, "{block:?}");
    }

    #[test]
    fn every_kind_of_end_counts_once() {
        for text in ["", "\n", "\r", "\r\n", "\n\r", "\r\r\n\n", "a\r\nb\rc\nd", "a\r"] {
            check(text.as_bytes());
        }
        check("0123456789\r\n".repeat(1000).as_bytes());
        check(&[b'\r'; 1000]);
        check(&[b'\n'; 1000]);
    }

    proptest! {
        #[test]
        fn it_counts_as_slow_counting_does(block in vec(prop::sample::select(b"\r\nab".to_vec()), 0..600)) {
            check(&block);
        }
    }
}
