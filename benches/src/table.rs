//! Figures as people and programs read them. Pure.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::agent::Kind;

/// The unit of ratios.
pub const TIMES: &str = "×";

/// One thing that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its name in JSON.
    pub id: &'static str,
    /// Its name in a table.
    pub what: &'static str,
    /// What the figures count.
    pub unit: &'static str,
    /// For each agent, what was measured, or nothing where that failed.
    pub figures: Vec<Option<f64>>,
    /// What haft holds itself to.
    pub limit: Option<f64>,
}

impl Row {
    /// Whether haft, the first agent, is within the limit. Something that could not be measured is not. `None`
    /// without a limit.
    pub fn met(&self) -> Option<bool> {
        self.limit.map(|limit| self.ours().is_some_and(|ours| ours <= limit))
    }

    fn ours(&self) -> Option<f64> {
        self.figures.first().copied().flatten()
    }

    /// How many times ours the figure of another agent is. A figure that is a ratio already is given none.
    fn ratio(&self, at: usize) -> Option<f64> {
        if self.unit == TIMES {
            return None;
        }
        let ratio = self.figures.get(at).copied().flatten()? / self.ours()?;
        (at > 0 && ratio.is_finite()).then_some(ratio)
    }
}

/// Everything that was measured.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// What it was measured on.
    pub machine: String,
    /// The agents in the order of the figures, with their versions. haft is the first.
    pub agents: Vec<(Kind, String)>,
    /// The figures.
    pub rows: Vec<Row>,
    /// What could not be measured, and why.
    pub problems: Vec<String>,
}

impl Table {
    /// Whether all limits are met.
    pub fn met(&self) -> bool {
        self.rows.iter().all(|row| row.met() != Some(false))
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n{:50}", self.machine, "");
        for (kind, version) in &self.agents {
            let _ = write!(text, "{:>18}", format!("{} {version}", kind.name()));
        }
        text.push('\n');
        for row in &self.rows {
            let _ = write!(text, "{:50}", format!("{}, {}", row.what, row.unit));
            for (at, figure) in row.figures.iter().enumerate() {
                let mut cell = figure.map_or_else(|| "–".to_owned(), number);
                if let Some(ratio) = row.ratio(at) {
                    let _ = write!(cell, " ({}×)", number(ratio));
                }
                let _ = write!(text, "{cell:>18}");
            }
            if let Some(limit) = row.limit {
                let met = if row.met() == Some(true) { "met" } else { "NOT MET" };
                let _ = write!(text, "   limit {limit}: {met}");
            }
            text.push('\n');
        }
        for problem in &self.problems {
            let _ = writeln!(text, "not measured: {problem}");
        }
        text
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let named = |row: &Row, value: &dyn Fn(usize) -> Option<f64>| -> Map<String, Value> {
            let values = self.agents.iter().enumerate().take(row.figures.len());
            values.map(|(at, (kind, _))| (kind.name().to_owned(), json!(value(at)))).collect()
        };
        let rows = self.rows.iter().map(|row| {
            let mut ratios = named(row, &|at| row.ratio(at));
            ratios.retain(|_, ratio| !ratio.is_null());
            json!({
                "id": row.id,
                "what": row.what,
                "unit": row.unit,
                "figures": named(row, &|at| row.figures[at]),
                "ratios": ratios,
                "limit": row.limit,
                "met": row.met(),
            })
        });
        json!({
            "machine": self.machine,
            "agents": self.agents.iter().map(|(kind, version)| json!({"name": kind.name(), "version": version})).collect::<Vec<_>>(),
            "rows": rows.collect::<Vec<_>>(),
            "problems": self.problems,
        })
    }
}

/// Three digits that count.
fn number(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn table() -> Table {
        let row = |id, figures: &[Option<f64>], limit| Row {
            id,
            what: "a thing",
            unit: if id == "grown" { TIMES } else { "ms" },
            figures: figures.to_vec(),
            limit,
        };
        Table {
            machine: "one core".to_owned(),
            agents: vec![(Kind::Haft, "1.0".to_owned()), (Kind::Codex, "2.0".to_owned())],
            rows: vec![
                row("within", &[Some(2.0), Some(250.4)], Some(2.0)),
                row("over", &[Some(2.001), Some(1.0)], Some(2.0)),
                row("free", &[Some(0.0), Some(12.34)], None),
                row("failed", &[None, Some(12.34)], Some(15.0)),
                row("alone", &[Some(1.0), None], None),
                row("grown", &[Some(1.0), Some(2.0)], Some(1.2)),
            ],
            problems: vec!["haft, failed: it did not".to_owned()],
        }
    }

    #[test]
    fn a_limit_is_met_or_not() {
        let met: Vec<Option<bool>> = table().rows.iter().map(Row::met).collect();
        assert_eq!(met, [Some(true), Some(false), None, Some(false), None, Some(true)]);
        assert!(!table().met());
    }

    #[test]
    fn people_read_a_table() {
        expect![[r#"
            one core
                                                                        haft 1.0         codex 2.0
            a thing, ms                                                     2.00        250 (125×)   limit 2: met
            a thing, ms                                                     2.00     1.00 (0.500×)   limit 2: NOT MET
            a thing, ms                                                    0.000              12.3
            a thing, ms                                                        –              12.3   limit 15: NOT MET
            a thing, ms                                                     1.00                 –
            a thing, ×                                                      1.00              2.00   limit 1.2: met
            not measured: haft, failed: it did not
        "#]]
        .assert_eq(&table().text());
    }

    #[test]
    fn programs_read_json() {
        expect![[r#"{"machine":"one core","agents":[{"name":"haft","version":"1.0"},{"name":"codex","version":"2.0"}],"rows":[{"id":"within","what":"a thing","unit":"ms","figures":{"haft":2.0,"codex":250.4},"ratios":{"codex":125.2},"limit":2.0,"met":true},{"id":"over","what":"a thing","unit":"ms","figures":{"haft":2.001,"codex":1.0},"ratios":{"codex":0.49975012493753124},"limit":2.0,"met":false},{"id":"free","what":"a thing","unit":"ms","figures":{"haft":0.0,"codex":12.34},"ratios":{},"limit":null,"met":null},{"id":"failed","what":"a thing","unit":"ms","figures":{"haft":null,"codex":12.34},"ratios":{},"limit":15.0,"met":false},{"id":"alone","what":"a thing","unit":"ms","figures":{"haft":1.0,"codex":null},"ratios":{},"limit":null,"met":null},{"id":"grown","what":"a thing","unit":"×","figures":{"haft":1.0,"codex":2.0},"ratios":{},"limit":1.2,"met":true}],"problems":["haft, failed: it did not"]}"#]].assert_eq(&table().json().to_string());
    }
}
