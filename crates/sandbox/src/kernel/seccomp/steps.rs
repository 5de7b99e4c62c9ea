//! Steps of a filter program that the library does not make, or makes too many of. Pure.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, sock_filter};

/// Takes the number of the call.
const NUMBER: sock_filter = sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 };
const ALLOW: sock_filter = answer(libc::SECCOMP_RET_ALLOW);
/// Goes on elsewhere, once it is known where.
const GO_ON: sock_filter = sock_filter { code: 0x05, jt: 0, jf: 0, k: u32::MAX };

const fn answer(with: u32) -> sock_filter {
    sock_filter { code: 0x06, jt: 0, jf: 0, k: with }
}

const fn errno(number: u32) -> sock_filter {
    answer(libc::SECCOMP_RET_ERRNO | number)
}

/// What becomes of the calls from a number on, up to the next range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Allowed,
    /// They fail with this.
    Error(u32),
    /// It depends on their arguments.
    Looked,
}

/// Most ranges of numbers in one program: a step can jump over 255 others.
const MAX_RANGES: usize = 256;
/// How many steps at the beginning of the library's programs end what makes calls of another processor's kind.
const OF_ONE_PROCESSOR: usize = 3;

/// One program that answers the calls in `lists` with their error, hands those in `looked` on to the program
/// `conditions`, and allows all others. It goes to the number of a call by halves: the kernel runs through it for every
/// number there is when it takes it on, and then for many a call.
///
/// # Errors
///
/// What is wrong with it.
pub(super) fn program(
    lists: &[(Vec<i64>, u32)],
    looked: impl Iterator<Item = i64>,
    conditions: BpfProgram,
) -> Result<BpfProgram, String> {
    let answers = lists.iter().flat_map(|(calls, error)| calls.iter().map(|&call| (call, Answer::Error(*error))));
    let answers = answers.chain(looked.map(|call| (call, Answer::Looked)));
    let answers: Result<BTreeMap<u32, Answer>, _> =
        answers.map(|(call, answer)| u32::try_from(call).map(|call| (call, answer))).collect();
    let ranges = ranges(&answers.map_err(|_| "a call has no number")?);
    if ranges.len() > MAX_RANGES {
        return Err(format!("it tells {} ranges of calls apart, and {MAX_RANGES} is the most", ranges.len()));
    }
    let mut numbers = halves(&ranges);
    // To what comes behind.
    let end = numbers.len();
    for (at, step) in numbers.iter_mut().enumerate().filter(|(_, step)| **step == GO_ON) {
        step.k = u32::try_from(end - at - 1).map_err(|_| "it is too long")?;
    }
    let processor = conditions.get(..OF_ONE_PROCESSOR).ok_or("it is empty")?.to_vec();
    Ok([only_one_kind_of_number(), processor, vec![NUMBER], numbers, conditions].concat())
}

/// The answers by number, as ranges from the first number on.
fn ranges(answers: &BTreeMap<u32, Answer>) -> Vec<(u32, Answer)> {
    let mut ranges = vec![(0, Answer::Allowed)];
    let mut add = |from: u32, answer: Answer| match ranges.last_mut() {
        Some((begin, last)) if *begin == from => *last = answer,
        _ => ranges.push((from, answer)),
    };
    for (&call, &answer) in answers {
        add(call, answer);
        add(call.saturating_add(1), Answer::Allowed);
    }
    ranges.dedup_by_key(|(_, answer)| *answer);
    ranges
}

/// Steps that find the answer for the number in at most as many jumps as `ranges` can be halved, at most [`MAX_RANGES`].
fn halves(ranges: &[(u32, Answer)]) -> BpfProgram {
    match ranges {
        [] => vec![ALLOW],
        [(_, answer)] => vec![match answer {
            Answer::Allowed => ALLOW,
            Answer::Error(error) => errno(*error),
            Answer::Looked => GO_ON,
        }],
        _ => {
            let (below, above) = ranges.split_at(ranges.len() / 2);
            let from = above.first().map_or(u32::MAX, |(from, _)| *from);
            let below = halves(below);
            // It fits, as there are not more ranges than said.
            let over = u8::try_from(below.len()).unwrap_or(u8::MAX);
            let or_more = sock_filter { code: 0x35, jt: over, jf: 0, k: from };
            [vec![or_more], below, halves(above)].concat()
        }
    }
}

/// Steps that refuse the second set of numbers (`x32`) that x86-64 has for the same calls.
#[cfg(target_arch = "x86_64")]
fn only_one_kind_of_number() -> BpfProgram {
    const IN_SECOND_SET: sock_filter = sock_filter { code: 0x35, jt: 0, jf: 1, k: 0x4000_0000 };
    vec![NUMBER, IN_SECOND_SET, errno(libc::ENOSYS.unsigned_abs())]
}

#[cfg(not(target_arch = "x86_64"))]
fn only_one_kind_of_number() -> BpfProgram {
    Vec::new()
}

/// What the kernel does with `program` when the call `number` is made.
///
/// # Panics
///
/// At a step that no program here has.
#[cfg(test)]
pub(super) fn run(program: &[sock_filter], number: u32, processor: u32, arguments: [u64; 6]) -> u32 {
    let word = |place: u32| match place {
        0 => number,
        4 => processor,
        // Each argument is two words, the lower one first.
        _ => {
            let place = (place - 16) as usize / 4;
            (arguments[place / 2] >> (32 * (place % 2))) as u32
        }
    };
    let (mut at, mut value) = (0, 0);
    loop {
        let sock_filter { code, jt, jf, k } = program[at];
        at += 1;
        let jump = |is: bool| usize::from(if is { jt } else { jf });
        match code {
            0x20 => value = word(k),
            0x54 => value &= k,
            0x05 => at += k as usize,
            0x15 => at += jump(value == k),
            0x25 => at += jump(value > k),
            0x35 => at += jump(value >= k),
            0x06 => return k,
            _ => panic!("step {code:#x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a program of the library's begins with, made up: it asks for the processor's kind.
    fn conditions() -> BpfProgram {
        let kind = sock_filter { code: 0x20, jt: 0, jf: 0, k: 4 };
        let same = sock_filter { code: 0x15, jt: 1, jf: 0, k: 62 };
        vec![kind, same, answer(1), answer(77)]
    }

    fn at(from: u32, answer: Answer) -> (u32, Answer) {
        (from, answer)
    }

    #[test]
    fn answers_become_ranges() {
        use Answer::{Allowed, Error, Looked};
        let answers = BTreeMap::from([(0, Error(1)), (1, Error(1)), (5, Looked), (6, Error(2))]);
        let want = [at(0, Error(1)), at(2, Allowed), at(5, Looked), at(6, Error(2)), at(7, Allowed)];
        assert_eq!(ranges(&answers), want);
        assert_eq!(ranges(&BTreeMap::new()), [at(0, Allowed)]);
    }

    #[test]
    fn each_number_is_found() {
        let lists = [(vec![7, 9, 11], 5), (vec![8, 300], 6)];
        let program = program(&lists, [10, 12].into_iter(), conditions()).unwrap();
        for number in 0..400 {
            let want = match number {
                7 | 9 | 11 => libc::SECCOMP_RET_ERRNO | 5,
                8 | 300 => libc::SECCOMP_RET_ERRNO | 6,
                10 | 12 => 77,
                _ => libc::SECCOMP_RET_ALLOW,
            };
            assert_eq!(run(&program, number, 62, [0; 6]), want, "{number}");
            assert_eq!(run(&program, number, 63, [0; 6]), 1, "{number} of another processor");
        }
    }

    #[test]
    fn a_program_has_a_most_of_ranges() {
        let calls = |count: i64| (0..count).map(|call| call * 2 + 1).collect::<Vec<_>>();
        let made = |count| program(&[(calls(count), 1)], std::iter::empty(), conditions());
        let most = made(127).unwrap();
        assert_eq!(run(&most, 253, 62, [0; 6]), errno(1).k);
        assert_eq!(run(&most, 252, 62, [0; 6]), ALLOW.k);
        assert!(made(128).is_err());
    }
}
