//! The answers of models, in each dialect: any bytes end in one finish or one error, however they are cut.
#![no_main]

use haft_llm::Chunk;
use haft_llm::catalogue::Dialect;
use haft_llm::dialect::read_any;
use libfuzzer_sys::fuzz_target;

const ALL: [Dialect; 5] = [Dialect::Chat, Dialect::Responses, Dialect::Messages, Dialect::Gemini, Dialect::Converse];

fuzz_target!(|bytes: &[u8]| {
    // The first byte chooses.
    let Some((first, body)) = bytes.split_first() else { return };
    let dialect = ALL[usize::from(*first) % ALL.len()];
    let (chunks, error) = read_any(dialect, [body]);
    let ends = chunks.iter().filter(|chunk| matches!(chunk, Chunk::Finish(_))).count();
    assert_eq!(ends, usize::from(error.is_none()), "{dialect:?}: {chunks:?}");
    let whole = format!("{chunks:?} {error:?}");
    for size in [1, 2, 3, 7] {
        let (chunks, error) = read_any(dialect, body.chunks(size));
        assert_eq!(format!("{chunks:?} {error:?}"), whole, "{dialect:?} in pieces of {size}");
    }
});
