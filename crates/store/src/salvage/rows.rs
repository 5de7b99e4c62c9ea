//! Which row of ours the values of a row are. Pure.

use haft_protocol::{Id, MessageId, PartId, SessionId};

use super::pages::Value;

/// A row as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Row {
    Session { id: String, parent: Option<String>, directory: String, created: i64, updated: i64, data: String },
    Message { session: String, id: String, seq: i64, created: i64, data: String, rev: i64 },
    Part { session: String, message: String, id: String, seq: i64, created: i64, data: String, rev: i64 },
    Todo { session: String, data: String },
}

impl Row {
    /// What `values` are, if they are anything of ours. Columns that were added later may be missing.
    pub(crate) fn of(values: &[Value]) -> Option<Self> {
        let first = text(values.first()?)?;
        SessionId::parse(&first).ok()?;
        let rev = |at: usize| values.get(at).and_then(number).unwrap_or(0);
        match values {
            [_, data] => Some(Row::Todo { session: first, data: text(data)? }),
            [_, part, id, seq, created, data, ..] if is_id::<PartId>(id).is_some() => Some(Row::Part {
                session: first,
                message: is_id::<MessageId>(part)?,
                id: is_id::<PartId>(id)?,
                seq: number(seq)?,
                created: number(created)?,
                data: text(data)?,
                rev: rev(6),
            }),
            [_, id, seq, created, data, ..] if is_id::<MessageId>(id).is_some() => Some(Row::Message {
                session: first,
                id: is_id::<MessageId>(id)?,
                seq: number(seq)?,
                created: number(created)?,
                data: text(data)?,
                rev: rev(5),
            }),
            [_, parent, directory, created, updated, data, ..] => Some(Row::Session {
                id: first,
                parent: match parent {
                    Value::Null => None,
                    parent => Some(is_id::<SessionId>(parent)?),
                },
                directory: text(directory)?,
                created: number(created)?,
                updated: number(updated)?,
                data: text(data)?,
            }),
            _ => None,
        }
    }
}

fn is_id<T: Id>(value: &Value) -> Option<String> {
    text(value).filter(|text| T::parse(text).is_ok())
}

/// Broken bytes become signs that say so: the record is then reported as one that cannot be read.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Value::Null | Value::Number(_) | Value::Other => None,
    }
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => Some(*number),
        Value::Null | Value::Text(_) | Value::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_told_by_their_ids() {
        let text = |text: &str| Value::Text(text.as_bytes().to_vec());
        let n = Value::Number;
        let kind = |values: &[Value]| match Row::of(values) {
            Some(Row::Session { .. }) => "session",
            Some(Row::Message { .. }) => "message",
            Some(Row::Part { .. }) => "part",
            Some(Row::Todo { .. }) => "todo",
            None => "none",
        };
        let rows = [
            (vec![text("ses_1"), Value::Null, text("/p"), n(1), n(2), text("{}")], "session"),
            (vec![text("ses_1"), text("ses_2"), text("/p"), n(1), n(2), text("{}"), n(0)], "session"),
            (vec![text("ses_1"), text("msg_1"), n(1), n(2), text("{}")], "message"),
            (vec![text("ses_1"), text("msg_1"), n(1), n(2), text("{}"), n(7)], "message"),
            (vec![text("ses_1"), text("msg_1"), text("prt_1"), n(1), n(2), text("{}")], "part"),
            (vec![text("ses_1"), text("msg_1"), text("prt_1"), n(1), n(2), text("{}"), n(7)], "part"),
            (vec![text("ses_1"), text("[]")], "todo"),
            (vec![text("table"), text("part"), text("part"), n(4), text("CREATE …")], "none"),
            (vec![text("ses_/../x"), text("[]")], "none"),
            (vec![text("ses_1"), text("msg_1"), text("prt_1"), n(1), Value::Other, text("{}")], "none"),
            (vec![n(1)], "none"),
            (vec![], "none"),
        ];
        for (values, want) in rows {
            assert_eq!(kind(&values), want, "{values:?}");
        }
    }
}
