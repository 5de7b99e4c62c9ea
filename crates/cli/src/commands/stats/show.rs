//! The sums as boxes of text. Pure.

use unicode_width::UnicodeWidthStr;

use super::{Sums, all};
use crate::render::clean;

/// Columns within a box.
const WIDTH: usize = 54;
/// Columns of the longest bar.
const BAR: usize = 20;

/// The lines to print.
pub(super) fn lines(sums: &Sums, tools: Option<usize>, models: Option<usize>) -> Vec<String> {
    let days = sums.days();
    let mut lines = boxed(
        "OVERVIEW",
        &[
            pair("Sessions", &sums.sessions.to_string()),
            pair("Messages", &sums.messages.to_string()),
            pair("Days", &days.to_string()),
        ],
    );
    let sessions = sums.sessions.max(1);
    let tokens = &sums.tokens;
    #[expect(clippy::cast_precision_loss, reason = "a day more or less in a million years")]
    let per_day = sums.cost / days.max(1) as f64;
    lines.extend(boxed(
        "COST & TOKENS",
        &[
            pair("Total Cost", &format!("${:.2}", sums.cost)),
            pair("Avg Cost/Day", &format!("${per_day:.2}")),
            pair("Avg Tokens/Session", &short(all(tokens) / sessions)),
            pair("Median Tokens/Session", &short(sums.median())),
            pair("Input", &short(tokens.input)),
            pair("Output", &short(tokens.output + tokens.reasoning)),
            pair("Cache Read", &short(tokens.cache.read)),
            pair("Cache Write", &short(tokens.cache.write)),
        ],
    ));
    if let Some(most) = models {
        let mut rows = Vec::new();
        for (name, used) in sums.models(most) {
            rows.push(clean(name).replace('\n', " "));
            rows.push(pair("  Messages", &used.messages.to_string()));
            rows.push(pair("  Input Tokens", &short(used.tokens.input)));
            rows.push(pair("  Output Tokens", &short(used.tokens.output + used.tokens.reasoning)));
            rows.push(pair("  Cache Read", &short(used.tokens.cache.read)));
            rows.push(pair("  Cache Write", &short(used.tokens.cache.write)));
            rows.push(pair("  Cost", &format!("${:.4}", used.cost)));
        }
        lines.extend(boxed("MODEL USAGE", &rows));
    }
    let sum: u64 = sums.tools.values().sum();
    if sum > 0 {
        let rows = sums.tools(tools);
        let most = rows.first().map_or(1, |(_, count)| *count).max(1);
        let rows: Vec<String> = rows.iter().map(|(name, count)| bar(name, *count, most, sum)).collect();
        lines.extend(boxed("TOOL USAGE", &rows));
    }
    lines
}

fn bar(name: &str, count: u64, most: u64, sum: u64) -> String {
    let name: String = clean(name).replace('\n', " ").chars().take(18).collect();
    let length = usize::try_from(count * BAR as u64 / most).unwrap_or(BAR).max(1);
    let tenths = count * 1000 / sum;
    let share = format!("{}.{}%", tenths / 10, tenths % 10);
    format!("{name:<18} {:<BAR$} {count:>5} ({share:>6})", "█".repeat(length))
}

fn pair(name: &str, value: &str) -> String {
    let space = WIDTH.saturating_sub(name.width() + value.width()).max(1);
    format!("{name}{}{value}", " ".repeat(space))
}

fn boxed(head: &str, rows: &[String]) -> Vec<String> {
    let line = |text: &str| {
        let space = WIDTH.saturating_sub(text.width());
        format!("│ {text}{} │", " ".repeat(space))
    };
    let rule = "─".repeat(WIDTH + 2);
    let centred = format!("{}{head}", " ".repeat((WIDTH - head.width()) / 2));
    let mut lines = vec![format!("┌{rule}┐"), line(&centred), format!("├{rule}┤")];
    lines.extend(rows.iter().map(|row| line(row)));
    lines.push(format!("└{rule}┘"));
    lines
}

/// A count as `150.8K`.
fn short(count: u64) -> String {
    let tenth = |unit: u64| format!("{}.{}", count / unit, count % unit * 10 / unit);
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}K", tenth(1_000)),
        _ => format!("{}M", tenth(1_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Used;
    use super::*;

    #[test]
    fn counts_are_short() {
        let row = |count: u64, want: &str| assert_eq!(short(count), want);
        row(0, "0");
        row(999, "999");
        row(1_000, "1.0K");
        row(150_849, "150.8K");
        row(2_350_000, "2.3M");
    }

    #[test]
    fn boxes_hold_the_sums() {
        let mut sums = Sums { sessions: 2, messages: 9, cost: 1.25, each: vec![100, 300], ..Sums::default() };
        sums.first = Some(0);
        sums.tokens.input = 1_500;
        sums.tokens.output = 20;
        sums.tools.insert("read".to_owned(), 3);
        sums.tools.insert("bash\u{1b}[2J".to_owned(), 1);
        sums.models.insert("v/m".to_owned(), Used { messages: 4, cost: 1.25, tokens: sums.tokens });
        let text = lines(&sums, None, Some(5)).join("\n");
        expect_test::expect![[]].assert_eq(&text);
    }
}
