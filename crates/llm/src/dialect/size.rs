//! How much an answer may hold of what is kept piece by piece. Pure.

use crate::Chunk;

/// Most blocks of words or thoughts, and things of the vendor's own. Each is kept for itself, so many that hold a letter
/// each weigh more than what they say.
const MAX_BLOCKS: usize = 10_000;

/// Longest block of words or thoughts, in bytes. It is stored again and again while it grows.
const MAX_BLOCK: usize = 4 * 1024 * 1024;

/// The size of an answer so far.
#[derive(Debug, Default)]
pub(super) struct Size {
    blocks: usize,
    /// Bytes of the block that is open.
    open: usize,
}

impl Size {
    /// Counts `chunk`. The error says how much there may be.
    pub(super) fn take(&mut self, chunk: &Chunk) -> Result<(), &'static str> {
        match chunk {
            Chunk::Text(text) | Chunk::Reasoning(text) => self.open += text.len(),
            Chunk::TextEnd { .. } | Chunk::ReasoningEnd { .. } | Chunk::Vendor(_) => {
                (self.blocks, self.open) = (self.blocks + 1, 0);
            }
            // Their number and size have bounds where they are read.
            Chunk::ToolInput { .. } | Chunk::ToolCall { .. } | Chunk::Usage(_) | Chunk::Finish(_) => {}
        }
        match (self.blocks > MAX_BLOCKS, self.open > MAX_BLOCK) {
            (true, _) => Err("an answer of at most 10,000 blocks"),
            (false, true) => Err("an answer with at most 4 MiB of words or thoughts in a row"),
            (false, false) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_their_length_have_a_bound() {
        let mut size = Size::default();
        for _ in 0..MAX_BLOCKS {
            size.take(&Chunk::Reasoning("x".to_owned())).unwrap();
            size.take(&Chunk::ReasoningEnd { item: None }).unwrap();
        }
        assert_eq!(size.take(&Chunk::TextEnd { item: None }), Err("an answer of at most 10,000 blocks"));
        let mut size = Size::default();
        for _ in 0..4 {
            size.take(&Chunk::Text("x".repeat(1024 * 1024))).unwrap();
        }
        let long = "an answer with at most 4 MiB of words or thoughts in a row";
        assert_eq!(size.take(&Chunk::Text("x".to_owned())), Err(long));
    }
}
