//! What somebody may have meant who named a vendor or a model that is not there. Pure.

/// Most names that are suggested.
const MOST: usize = 3;
/// How alike names must be, from 0 to 1.
const ALIKE: f64 = 0.6;

/// Those of `names` that are most like `wanted`, the likest first, at most three.
pub(super) fn near<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let plain = bare(wanted);
    let mut near: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| (alike(&plain, &bare(name)), name))
        .filter(|(alike, _)| *alike >= ALIKE && !plain.is_empty())
        .collect();
    near.sort_by(|(a, one), (b, other)| b.total_cmp(a).then(one.len().cmp(&other.len())).then(one.cmp(other)));
    near.dedup_by(|(_, one), (_, other)| one == other);
    near.into_iter().take(MOST).map(|(_, name)| name.to_owned()).collect()
}

/// `; did you mean a, b or c?`, or nothing.
pub(super) fn question(near: &[String]) -> String {
    match near {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [first @ .., last] => format!("; did you mean {} or {last}?", first.join(", ")),
    }
}

fn alike(wanted: &str, name: &str) -> f64 {
    let distance = strsim::normalized_damerau_levenshtein(wanted, name);
    // Who leaves out a day, a region or a maker means the whole all the same.
    let shorter = wanted.len().min(name.len());
    let part = shorter >= 4 && (name.contains(wanted) || wanted.contains(name));
    #[expect(clippy::cast_precision_loss, reason = "names are short")]
    let covered = shorter as f64 / wanted.len().max(name.len()).max(1) as f64;
    if part { distance.max(0.7 + 0.3 * covered) } else { distance }
}

/// Small letters, with `-` for whatever stands between words.
fn bare(name: &str) -> String {
    let name = name.trim().to_lowercase();
    name.chars().map(|letter| if matches!(letter, '.' | '_' | ' ' | ':' | '@') { '-' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likest_names_are_suggested() {
        let names = ["claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "claude-opus-4-5", "gpt-5.1", "gpt-5.1-codex"];
        let row = |wanted: &str, want: &[&str]| assert_eq!(near(wanted, names), want, "{wanted}");
        row("claude-sonet-4-5", &["claude-sonnet-4-5", "claude-opus-4-5", "claude-sonnet-4-5-20250929"]);
        row("Claude Sonnet 4.5", &["claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "claude-opus-4-5"]);
        row("gpt-5-1", &["gpt-5.1", "gpt-5.1-codex"]);
        row("sonnet-4-5", &["claude-sonnet-4-5", "claude-sonnet-4-5-20250929"]);
        row("llama", &[]);
        row("", &[]);
    }

    #[test]
    fn a_question_names_them_all() {
        let row = |near: &[&str], want: &str| {
            let near: Vec<String> = near.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(question(&near), want);
        };
        row(&[], "");
        row(&["a"], "; did you mean a?");
        row(&["a", "b", "c"], "; did you mean a, b or c?");
    }
}
