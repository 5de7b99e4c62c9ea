//! Finding a run of lines among others, in linear time. Pure.

/// The places where `wanted` stands in `all`, in order; they may overlap. None where `wanted` is empty.
///
/// Takes time in proportion to the lengths of both, whatever is in them (the Knuth-Morris-Pratt automaton).
pub(crate) fn windows<T: PartialEq>(all: &[T], wanted: &[T]) -> Vec<usize> {
    let Some(last) = wanted.len().checked_sub(1) else { return Vec::new() };
    // For each length that fits: the next shorter one that then fits, too.
    let mut shorter = vec![0; wanted.len()];
    let mut fits = 0;
    for at in 1..wanted.len() {
        while fits > 0 && wanted[fits] != wanted[at] {
            fits = shorter[fits - 1];
        }
        fits += usize::from(wanted[fits] == wanted[at]);
        shorter[at] = fits;
    }
    let (mut found, mut fits) = (Vec::new(), 0);
    for (at, one) in all.iter().enumerate() {
        while fits > 0 && wanted[fits] != *one {
            fits = shorter[fits - 1];
        }
        fits += usize::from(wanted[fits] == *one);
        if fits > last {
            found.push(at - last);
            fits = shorter[last];
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn overlapping_places_count() {
        assert_eq!(windows(b"aaaa", b"aa"), [0, 1, 2]);
        assert_eq!(windows(b"abcabcab", b"abcab"), [0, 3]);
        assert_eq!(windows(b"abc", b"c"), [2]);
        assert!(windows(b"abc", b"").is_empty() && windows(b"", b"a").is_empty() && windows(b"a", b"ab").is_empty());
    }

    proptest! {
        #[test]
        fn finds_what_looking_everywhere_finds(all in "[ab]{0,40}", wanted in "[ab]{1,5}") {
            let (all, wanted) = (all.as_bytes(), wanted.as_bytes());
            let slow: Vec<usize> = (0..all.len()).filter(|&at| all[at..].starts_with(wanted)).collect();
            prop_assert_eq!(windows(all, wanted), slow);
        }
    }
}
