//! Two words that are easier to say than an id.

use haft_protocol::{Id, SessionId};

const HOW: [&str; 32] = [
    "amber", "bold", "brisk", "calm", "clear", "crisp", "deft", "eager", "early", "fair", "fleet", "frank", "glad",
    "hardy", "keen", "kind", "light", "lucid", "merry", "neat", "nimble", "plain", "prime", "proud", "quick", "quiet",
    "ready", "sharp", "sound", "spry", "sturdy", "warm",
];
const WHAT: [&str; 32] = [
    "anvil", "awl", "beam", "bench", "bevel", "bolt", "brace", "chisel", "clamp", "file", "forge", "gauge", "gimlet",
    "hammer", "hinge", "jig", "joint", "lathe", "lever", "mallet", "mortise", "plane", "pulley", "rasp", "rivet",
    "saw", "spindle", "square", "tenon", "tongs", "vise", "wedge",
];

/// The words for `id`; always the same ones.
pub(crate) fn slug(id: &SessionId) -> String {
    // The end of an id is chance.
    let mut chance = id.as_str().bytes().rev();
    let mut pick = |words: &[&'static str; 32]| words[usize::from(chance.next().unwrap_or_default()) % 32];
    format!("{}-{}", pick(&HOW), pick(&WHAT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_protocol::Clock;
    use std::collections::HashSet;

    #[test]
    fn sessions_have_different_words() {
        let clock = Clock::scripted(1);
        let slugs: HashSet<String> = (0..100).map(|_| slug(&clock.mint())).collect();
        assert!(slugs.len() > 80, "{slugs:?}");
        assert!(slugs.iter().all(|slug| slug.split('-').count() == 2));
    }
}
