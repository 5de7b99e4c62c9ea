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
    // FNV-1a: small, and stable between versions, which the standard library's hasher is not.
    let hash = id
        .as_str()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let pick = |words: &[&'static str; 32], bits: u64| words[usize::try_from(bits % 32).unwrap_or_default()];
    format!("{}-{}", pick(&HOW, hash >> 20), pick(&WHAT, hash >> 40))
}
