//! Measured figures beside their limits, as a table. Pure.

use std::fmt::Write;

/// One line of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What was measured.
    pub what: String,
    /// The figure.
    pub measured: f64,
    /// What it may be at most; `None` where it only informs.
    pub limit: Option<f64>,
    /// The unit of both; `×` for a ratio.
    pub unit: &'static str,
}

impl Row {
    /// A figure with its limit.
    pub fn new(what: impl Into<String>, measured: f64, limit: impl Into<Option<f64>>, unit: &'static str) -> Self {
        Self { what: what.into(), measured, limit: limit.into(), unit }
    }

    /// Whether it is above its limit.
    pub fn over(&self) -> bool {
        self.limit.is_some_and(|limit| self.measured > limit)
    }
}

/// The rows, one a line.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let Row { what, measured, limit, unit } = row;
        let limit = limit.map(|limit| format!("limit {limit} {unit}")).unwrap_or_default();
        let mark = if row.over() { "  OVER" } else { "" };
        let _ = writeln!(text, "{what:56} {measured:9.2} {unit}  {limit}{mark}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_above_its_limit_is_marked() {
        let rows = [Row::new("a", 1.0, 2.0, "ms"), Row::new("b", 3.0, 2.0, "×"), Row::new("c", 9.0, None, "MB")];
        assert_eq!(rows.iter().map(Row::over).collect::<Vec<_>>(), [false, true, false]);
        let text = table(&rows);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with("1.00 ms  limit 2 ms"), "{text}");
        assert!(lines[1].ends_with("3.00 ×  limit 2 ×  OVER"), "{text}");
        assert!(lines[2].trim_end().ends_with("9.00 MB"), "{text}");
    }
}
