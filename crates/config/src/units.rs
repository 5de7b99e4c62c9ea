//! Sizes and times as people write them. Pure.

use std::time::Duration;

/// One day, in seconds.
const DAY: u64 = 24 * 60 * 60;

/// The bytes that `text` stands for: a number and `B`, `KB`, `KiB`, `MB`, `MiB`, `GB`, `GiB` or `TiB`, in letters of
/// either case. `None` when it is nothing of that kind, or more than can be counted.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let unit = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "kib" | "k" => 1 << 10,
        "mb" => 1_000_000,
        "mib" | "m" => 1 << 20,
        "gb" => 1_000_000_000,
        "gib" | "g" => 1 << 30,
        "tib" | "t" => 1 << 40,
        _ => return None,
    };
    number.checked_mul(unit)
}

/// The time that `text` stands for: a number and `s`, `m`, `h`, `d` or `w`; days without a unit. `None` when it is
/// nothing of that kind, or more than can be counted.
pub(crate) fn span(text: &str) -> Option<Duration> {
    let (number, unit) = split(text)?;
    let unit = match unit {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 60 * 60,
        "" | "d" => DAY,
        "w" => 7 * DAY,
        _ => return None,
    };
    number.checked_mul(unit).map(Duration::from_secs)
}

/// A number of days.
pub(crate) fn days(number: u64) -> Duration {
    Duration::from_secs(number.saturating_mul(DAY))
}

fn split(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let check = |text: &str, want: Option<u64>| assert_eq!(bytes(text), want, "{text}");
        check("512", Some(512));
        check("2 GiB", Some(2 << 30));
        check("10MB", Some(10_000_000));
        check(" 1 k ", Some(1024));
        for wrong in ["", "GiB", "1.5 GiB", "-1", "1 parsec", "99999999999999999999", "99999999999 TiB"] {
            check(wrong, None);
        }
    }

    #[test]
    fn times() {
        let check = |text: &str, want: Option<u64>| assert_eq!(span(text).map(|t| t.as_secs()), want, "{text}");
        check("7", Some(7 * DAY));
        check("12h", Some(12 * 3600));
        check("2 w", Some(14 * DAY));
        for wrong in ["", "d", "1y", "9999999999999999999d"] {
            check(wrong, None);
        }
        assert_eq!(days(2).as_secs(), 2 * DAY);
    }
}
