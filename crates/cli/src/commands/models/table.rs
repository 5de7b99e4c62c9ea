//! Models as a table for people. Pure.

use haft_llm::catalogue::{Model, Status};

use crate::models::Listed;
use crate::render;

/// The heads of the columns.
const HEADS: [&str; 8] = ["model", "context", "output", "in $/M", "out $/M", "cached", "can", "note"];

/// What stands between two columns.
const BETWEEN: &str = "  ";

/// The columns that are left out where there is no room for all, the first one first.
const LEAST: [usize; 5] = [2, 5, 7, 6, 1];

/// A line for each model below a line of heads, in `room` columns of a terminal where that can be; nothing for none.
pub(super) fn table(listed: &[Listed], room: usize) -> String {
    if listed.is_empty() {
        return String::new();
    }
    let rows: Vec<[String; 8]> = std::iter::once(HEADS.map(str::to_owned)).chain(listed.iter().map(row)).collect();
    let mut widths = [0; 8];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut shown = [true; 8];
    let taken = |shown: &[bool; 8]| -> usize {
        let widths = widths.iter().zip(shown).filter(|(_, shown)| **shown);
        widths.map(|(width, _)| width + BETWEEN.len()).sum::<usize>() - BETWEEN.len()
    };
    for column in LEAST {
        if taken(&shown) > room {
            shown[column] = false;
        }
    }
    let line = |row: &[String; 8]| {
        let cells = row.iter().zip(widths).enumerate().filter(|(at, _)| shown[*at]);
        let cells = cells.map(|(at, (cell, width))| match at {
            // Numbers stand under each other.
            1..=5 => format!("{cell:>width$}"),
            _ => format!("{cell:<width$}"),
        });
        cells.collect::<Vec<_>>().join(BETWEEN).trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn row(listed: &Listed) -> [String; 8] {
    let Listed { vendor, id, model, source, .. } = listed;
    let price = |price: fn(&haft_llm::catalogue::Prices) -> f64| match &model.cost {
        Some(cost) => dollars(price(&cost.usual)),
        None => String::new(),
    };
    let cached = model.cost.as_ref().filter(|cost| cost.usual.cache_read > 0.0);
    [
        render::clean(&format!("{vendor}/{id}")).into_owned(),
        tokens(model.limit.context),
        tokens(model.limit.output),
        price(|prices| prices.input),
        price(|prices| prices.output),
        cached.map(|cost| dollars(cost.usual.cache_read)).unwrap_or_default(),
        can(model),
        note(model, *source),
    ]
}

/// What an agent asks of a model. What is not known is not said.
fn can(model: &Model) -> String {
    let can = [
        (model.tool_call == Some(true), "tools"),
        (model.reasoning == Some(true), "thinks"),
        (model.reads("image") == Some(true), "images"),
        (model.reads("pdf") == Some(true), "pdf"),
    ];
    can.into_iter().filter_map(|(can, word)| can.then_some(word)).collect::<Vec<_>>().join(" ")
}

fn note(model: &Model, source: Option<&str>) -> String {
    let status = match model.status {
        Status::Alpha => "alpha",
        Status::Beta => "beta",
        Status::Deprecated => "deprecated",
        Status::Active => "",
    };
    let source = match source {
        None => "no key",
        Some("local") => "on this machine",
        Some("free") => "free",
        Some(_) => "",
    };
    let long = model.cost.as_ref().and_then(|cost| cost.long().first().copied());
    let long = long.map(|(size, _)| format!("dearer over {}", tokens(size))).unwrap_or_default();
    [status, source, &long].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

/// `200k`, `1.05M`; nothing for what is not known.
fn tokens(count: u64) -> String {
    match count {
        0 => String::new(),
        1..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", count / 1_000),
        _ => {
            let hundredths = count / 10_000;
            let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
            format!("{}M", text.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

fn dollars(price: f64) -> String {
    let text = format!("{price:.3}");
    match text.trim_end_matches('0').trim_end_matches('.') {
        "0" if price > 0.0 => "<0.001".to_owned(),
        text => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use haft_llm::catalogue::Catalogue;

    use super::*;

    fn listed(vendor: &str, id: &str, source: Option<&'static str>) -> Listed {
        let model = Catalogue::built_in().model(vendor, id).unwrap_or_default();
        let (vendor, id) = (vendor.to_owned(), id.to_owned());
        Listed { vendor, id, model, source, missing: None, record: serde_json::Value::Null }
    }

    #[test]
    fn the_columns_stand_under_each_other() {
        let list = [
            listed("anthropic", "claude-sonnet-4-5", Some("env")),
            listed("openai", "gpt-5.4", None),
            listed("opencode", "big-pickle", Some("free")),
            listed("own", "unknown\u{1b}[2J", Some("local")),
        ];
        expect![[r#"
            model                        context  output  in $/M  out $/M  cached  can                      note
            anthropic/claude-sonnet-4-5     200k     64k       3       15     0.3  tools thinks images pdf
            openai/gpt-5.4                 1.05M    128k     2.5       15    0.25  tools thinks images pdf  no key, dearer over 272k
            opencode/big-pickle             200k     32k       0        0          tools thinks             free
            own/unknown                                                                                     on this machine"#]].assert_eq(&table(&list, usize::MAX));
        assert_eq!(table(&[], usize::MAX), "");
        expect![[r#"
            model                        context  in $/M  out $/M
            anthropic/claude-sonnet-4-5     200k       3       15
            openai/gpt-5.4                 1.05M     2.5       15
            opencode/big-pickle             200k       0        0
            own/unknown"#]]
        .assert_eq(&table(&list, 60));
        assert!(table(&list, 1).starts_with("model                        in $/M  out $/M\n"));
    }

    #[test]
    fn numbers_are_short() {
        let row = |count, want: &str| assert_eq!(tokens(count), want);
        row(0, "");
        row(999, "999");
        row(200_000, "200k");
        row(1_000_000, "1M");
        row(1_048_576, "1.04M");
        row(1_050_000, "1.05M");
        let row = |price, want: &str| assert_eq!(dollars(price), want);
        row(0.0, "0");
        row(3.0, "3");
        row(0.132, "0.132");
        row(0.0001, "<0.001");
        row(150.0, "150");
    }
}
