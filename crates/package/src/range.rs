//! Ranges of versions as npm writes them. Pure.

use semver::{Prerelease, Version};

/// Most alternatives of a range, and most bounds of one.
const MAX_PARTS: usize = 64;

/// Which versions are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Range(Vec<Vec<Bound>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Bound {
    is: Is,
    version: Version,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Is {
    Exactly,
    AtLeast,
    Above,
    AtMost,
    Below,
}

/// A version of which parts may be missing.
struct Partial {
    major: Option<u64>,
    minor: Option<u64>,
    patch: Option<u64>,
    pre: Prerelease,
}

impl Range {
    /// `None` where `text` is no range, as a tag is.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let all: Option<Vec<_>> = text.split("||").take(MAX_PARTS).map(|part| set(part.trim())).collect();
        all.map(Self)
    }

    /// Whether `version` is meant. One before a release is only where a bound names one before the same release.
    pub(crate) fn holds(&self, version: &Version) -> bool {
        self.0.iter().any(|bounds| {
            let within = bounds.iter().all(|bound| bound.holds(version));
            let same = |bound: &Bound| {
                let of = |version: &Version| (version.major, version.minor, version.patch);
                !bound.version.pre.is_empty() && of(&bound.version) == of(version)
            };
            within && (version.pre.is_empty() || bounds.iter().any(same))
        })
    }
}

impl Bound {
    fn holds(&self, version: &Version) -> bool {
        let order = version.cmp_precedence(&self.version);
        match self.is {
            Is::Exactly => order.is_eq(),
            Is::AtLeast => order.is_ge(),
            Is::Above => order.is_gt(),
            Is::AtMost => order.is_le(),
            Is::Below => order.is_lt(),
        }
    }
}

fn set(text: &str) -> Option<Vec<Bound>> {
    if let Some((from, to)) = text.split_once(" - ") {
        let (from, to) = (partial(from.trim())?, partial(to.trim())?);
        let mut bounds = vec![Bound { is: Is::AtLeast, version: from.lowest() }];
        bounds.extend(upper(Is::AtMost, &to));
        return Some(bounds);
    }
    // An operator may stand apart from its version.
    let mut joined = String::new();
    for word in text.split_whitespace() {
        if !joined.is_empty() && !joined.ends_with(['<', '>', '=', '^', '~']) {
            joined.push(' ');
        }
        joined.push_str(word);
    }
    if joined.is_empty() {
        return Some(Vec::new());
    }
    let mut bounds = Vec::new();
    for word in joined.split(' ').take(MAX_PARTS) {
        bounds.extend(comparator(word)?);
    }
    Some(bounds)
}

fn comparator(word: &str) -> Option<Vec<Bound>> {
    let start = word.find(|c: char| !"<>=^~".contains(c)).unwrap_or(word.len());
    let (sign, version) = word.split_at(start);
    let partial = partial(version)?;
    let Partial { major, minor, patch, .. } = &partial;
    let lowest = partial.lowest();
    let between = |to: Version| {
        vec![Bound { is: Is::AtLeast, version: partial.lowest() }, Bound { is: Is::Below, version: before(to) }]
    };
    let Some(major) = *major else {
        // Any version; and below or above any there is none.
        return match sign {
            "<" | ">" => Some(vec![Bound { is: Is::Below, version: before(Version::new(0, 0, 0)) }]),
            _ => Some(Vec::new()),
        };
    };
    Some(match sign {
        "^" => between(match (major, minor, patch) {
            (0, None, _) => Version::new(1, 0, 0),
            (0, Some(0), None) => Version::new(0, 1, 0),
            (0, Some(0), Some(patch)) => Version::new(0, 0, patch.checked_add(1)?),
            (0, Some(minor), _) => Version::new(0, minor.checked_add(1)?, 0),
            (major, ..) => Version::new(major.checked_add(1)?, 0, 0),
        }),
        "~" | "~>" => between(match minor {
            None => Version::new(major.checked_add(1)?, 0, 0),
            Some(minor) => Version::new(major, minor.checked_add(1)?, 0),
        }),
        "" | "=" | "==" => match (minor, patch) {
            (None, _) => between(Version::new(major.checked_add(1)?, 0, 0)),
            (Some(minor), None) => between(Version::new(major, minor.checked_add(1)?, 0)),
            (Some(_), Some(_)) => vec![Bound { is: Is::Exactly, version: lowest }],
        },
        ">=" => vec![Bound { is: Is::AtLeast, version: lowest }],
        "<" => vec![Bound { is: Is::Below, version: if patch.is_some() { lowest } else { before(lowest) } }],
        ">" => match (minor, patch) {
            (None, _) => vec![Bound { is: Is::AtLeast, version: Version::new(major.checked_add(1)?, 0, 0) }],
            (Some(minor), None) => {
                vec![Bound { is: Is::AtLeast, version: Version::new(major, minor.checked_add(1)?, 0) }]
            }
            (Some(_), Some(_)) => vec![Bound { is: Is::Above, version: lowest }],
        },
        "<=" => upper(Is::AtMost, &partial),
        _ => return None,
    })
}

/// The bound above that `to` is, where missing parts mean all of them.
fn upper(is: Is, to: &Partial) -> Vec<Bound> {
    let version = match (to.major, to.minor, to.patch) {
        (None, ..) => return Vec::new(),
        (Some(major), None, _) => Version::new(major.saturating_add(1), 0, 0),
        (Some(major), Some(minor), None) => Version::new(major, minor.saturating_add(1), 0),
        (Some(_), Some(_), Some(_)) => return vec![Bound { is, version: to.lowest() }],
    };
    vec![Bound { is: Is::Below, version: before(version) }]
}

/// What is below `version` and all that comes before its release.
fn before(version: Version) -> Version {
    Version { pre: Prerelease::new("0").unwrap_or(Prerelease::EMPTY), ..version }
}

impl Partial {
    fn lowest(&self) -> Version {
        let mut version = Version::new(self.major.unwrap_or(0), self.minor.unwrap_or(0), self.patch.unwrap_or(0));
        version.pre = self.pre.clone();
        version
    }
}

fn partial(text: &str) -> Option<Partial> {
    let text = text.trim_start_matches(['v', '=']);
    let text = text.split('+').next().unwrap_or(text);
    let (numbers, pre) = text.split_once('-').map_or((text, ""), |(numbers, pre)| (numbers, pre));
    let mut parts = numbers.split('.');
    let mut part = || match parts.next() {
        None | Some("" | "x" | "X" | "*") => Some(None),
        Some(number) => number.parse().ok().map(Some),
    };
    let (major, minor, patch) = (part()?, part()?, part()?);
    if parts.next().is_some() || (text.is_empty() && !numbers.is_empty()) {
        return None;
    }
    // Behind a part that is left open, nothing counts.
    let minor = major.and(minor);
    let patch = minor.and(patch);
    let pre = if patch.is_some() { Prerelease::new(pre).ok()? } else { Prerelease::EMPTY };
    Some(Partial { major, minor, patch, pre })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_mean_what_they_mean_to_npm() {
        let row = |range: &str, inside: &[&str], outside: &[&str]| {
            let parsed = Range::parse(range).unwrap_or_else(|| panic!("{range}"));
            let holds = |version: &str| parsed.holds(&Version::parse(version).unwrap());
            inside.iter().for_each(|version| assert!(holds(version), "{range} holds {version}"));
            outside.iter().for_each(|version| assert!(!holds(version), "{range} does not hold {version}"));
        };
        row("^1.2.3", &["1.2.3", "1.9.0"], &["1.2.2", "2.0.0", "2.0.0-rc.1", "1.3.0-beta"]);
        row("^0.2.3", &["0.2.3", "0.2.9"], &["0.3.0", "0.2.2"]);
        row("^0.0.3", &["0.0.3"], &["0.0.4"]);
        row("^0", &["0.9.9"], &["1.0.0"]);
        row("^1.0.0-rc.1", &["1.0.0-rc.2", "1.0.0", "1.4.0"], &["1.0.0-rc.0", "1.1.0-rc.2"]);
        row("~1.2", &["1.2.0", "1.2.9"], &["1.3.0"]);
        row("~1.2.3", &["1.2.3"], &["1.2.2", "1.3.0"]);
        row("1.2.x", &["1.2.7"], &["1.3.0"]);
        row("1", &["1.7.7"], &["2.0.0", "0.9.0"]);
        row("*", &["0.0.1", "9.9.9"], &["1.0.0-a"]);
        row("", &["3.1.4"], &[]);
        row(">=1.2 <2", &["1.2.0", "1.9.9"], &["2.0.0", "1.1.9", "2.0.0-a"]);
        row(">= 1.2.0", &["1.2.0", "7.0.0"], &["1.1.0"]);
        row(">1.2", &["1.3.0"], &["1.2.9"]);
        row("<=1.2", &["1.2.9"], &["1.3.0"]);
        row("1.2.3 - 2", &["1.2.3", "2.9.9"], &["3.0.0", "1.2.2"]);
        row("1.x || >=2.5.0 || 5.0.0 - 7.2.3", &["1.4.0", "2.5.1", "6.0.0"], &["2.4.0"]);
        row("=1.2.3", &["1.2.3"], &["1.2.4"]);
        row("v1.2.3", &["1.2.3"], &["1.2.4"]);
        row("1.0.85", &["1.0.85"], &["1.0.86"]);
        row("0.1.0-alpha.2", &["0.1.0-alpha.2"], &["0.1.0-alpha.3", "0.1.0"]);
    }

    #[test]
    fn a_tag_is_no_range() {
        for text in ["latest", "next", "1.2.3.4", ">", "^a", "1.99999999999999999999"] {
            let parsed = Range::parse(text);
            let none = parsed.is_none_or(|range| !range.holds(&Version::new(1, 2, 3)) || text == ">");
            assert!(none, "{text}");
        }
    }
}
