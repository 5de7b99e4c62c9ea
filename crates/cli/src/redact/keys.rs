//! What is a secret by what it looks like, whatever stands before it. Pure.

use super::span::Spot;

/// Shortest run of letters and digits in a row that counts as a key where nothing else says so.
const MIN_RANDOM: usize = 32;
/// Shortest word behind `Bearer` that is a key.
const MIN_BEARER: usize = 12;
/// What keys of vendors begin with, and how long they are at least.
const BEGINNINGS: [(&str, usize); 20] = [
    ("sk-", 16),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("pk_live_", 16),
    ("gsk_", 16),
    ("xai-", 16),
    ("hf_", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("eyJ", 30),
];

/// Keys and addresses of people in `text`.
pub(super) fn spots(text: &str) -> Vec<Spot> {
    let mut spots = of_addresses(text);
    spots.extend(private_keys(text));
    let (mut at, mut bearer) = (0, false);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let word = &rest[..rest.find(|letter| is_word(letter) != is_word(first)).unwrap_or(rest.len())];
        let range = at..at + word.len();
        at = range.end;
        if !is_word(first) {
            bearer &= word == " ";
            continue;
        }
        if is_mail(word) {
            spots.push(Spot { range, instead: "[mail]", spreads: false });
        } else if is_key(word)
            || (bearer && word.len() >= MIN_BEARER && word.contains(|letter: char| letter.is_ascii_digit()))
        {
            spots.push(Spot::key(range));
        }
        bearer = word.eq_ignore_ascii_case("bearer");
    }
    spots
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || "_-.+@/".contains(letter)
}

/// The names and passwords that addresses carry (`postgres://user:password@host`).
fn of_addresses(text: &str) -> Vec<Spot> {
    let mut spots = Vec::new();
    for (at, _) in text.match_indices("://") {
        let begin = at + "://".len();
        let ends = |letter: char| letter.is_whitespace() || "/?#\"'`<>\\".contains(letter);
        let authority = &text[begin..];
        let authority = &authority[..authority.find(ends).unwrap_or(authority.len())];
        let Some(end) = authority.rfind('@') else { continue };
        let Some(colon) = authority[..end].find(':') else { continue };
        spots.push(Spot::key(begin..begin + end).only_here());
        // The password alone may stand elsewhere.
        spots.push(Spot::key(begin + colon + 1..begin + end));
    }
    spots
}

fn private_keys(text: &str) -> Vec<Spot> {
    const HEAD: &str = "PRIVATE KEY-----";
    let (mut spots, mut at) = (Vec::new(), 0);
    while let Some(begin) = text[at..].find("-----BEGIN ").map(|begin| at + begin) {
        let Some(head) = text[begin..].find(HEAD).filter(|head| *head < 60) else {
            at = begin + "-----BEGIN ".len();
            continue;
        };
        let body = begin + head + HEAD.len();
        at = text[body..].find(HEAD).map_or(text.len(), |end| body + end + HEAD.len());
        spots.push(Spot::key(begin..at).only_here());
    }
    spots
}

fn is_mail(word: &str) -> bool {
    let Some((name, host)) = word.trim_end_matches('.').split_once('@') else { return false };
    !name.is_empty() && host.split_once('.').is_some_and(|(one, other)| !one.is_empty() && !other.is_empty())
}

/// Whether a word looks like a key.
fn is_key(word: &str) -> bool {
    let begins = BEGINNINGS.iter().any(|(begin, least)| word.starts_with(begin) && word.len() >= *least);
    begins || word.split(['/', '.', '@', '+']).any(is_random)
}

/// A long run of letters of both kinds and digits. Hashes, in one kind of letters, and ids of haft are none.
fn is_random(word: &str) -> bool {
    const IDS: [&str; 9] = ["ses_", "msg_", "prt_", "tool_", "task_", "per_", "que_", "job_", "evt_"];
    let has = |kind: fn(&u8) -> bool| word.as_bytes().iter().filter(|byte| kind(byte)).count() >= 3;
    word.len() >= MIN_RANDOM
        && !IDS.iter().any(|id| word.starts_with(id))
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
}
