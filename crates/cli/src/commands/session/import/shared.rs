//! Sessions at addresses: exports, and what OpenCode's share pages are made of. Pure.

use haft_net::Url;
use serde_json::{Value, json};

/// Whether `name` is an address and no file.
pub(super) fn is_address(name: &str) -> bool {
    name.starts_with("http://") || name.starts_with("https://")
}

/// The address to ask for the session that stands at `name`: the data of a share page, else `name` itself.
pub(super) fn address(name: &str) -> String {
    let Ok(mut url) = Url::parse(name) else { return name.to_owned() };
    let path: Vec<&str> = url.path().trim_matches('/').split('/').collect();
    let ["s" | "share", id] = path[..] else { return name.to_owned() };
    let data = format!("/api/share/{id}/data");
    url.set_path(&data);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

/// The same session in the form of an export. A share page's data are a list of its pieces; what is an export already
/// stays as it is.
pub(super) fn session(value: Value) -> Value {
    let Value::Array(pieces) = value else { return value };
    let mut info = Value::Null;
    let mut messages: Vec<(Value, Vec<Value>)> = Vec::new();
    let mut parts = Vec::new();
    for mut piece in pieces {
        let data = piece.get_mut("data").map(Value::take).unwrap_or_default();
        match piece.get("type").and_then(Value::as_str) {
            Some("session") => info = data,
            Some("message") => messages.push((data, Vec::new())),
            Some("part") => parts.push(data),
            // Diffs and models are made anew.
            _ => {}
        }
    }
    for part in parts {
        let of = messages.iter_mut().find(|(message, _)| message["id"] == part["messageID"]);
        if let Some((_, own)) = of {
            own.push(part);
        }
    }
    let messages: Vec<Value> =
        messages.into_iter().map(|(info, parts)| json!({ "info": info, "parts": parts })).collect();
    json!({ "info": info, "messages": messages })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_page_is_asked_for_its_data() {
        let row = |name: &str, want: &str| assert_eq!(address(name), want);
        row("https://example.org/s/Ab12_-x", "https://example.org/api/share/Ab12_-x/data");
        row("https://example.org:8443/share/x/?a=1#b", "https://example.org:8443/api/share/x/data");
        row("https://example.org/exports/x.json?k=1", "https://example.org/exports/x.json?k=1");
        row("http://example.org/s/a/b", "http://example.org/s/a/b");
        row("https://", "https://");
        assert!(is_address("https://x") && is_address("http://x") && !is_address("s/x.json"));
    }

    #[test]
    fn the_pieces_of_a_share_page_are_put_together() {
        let pieces = json!([
            {"type": "session", "data": {"id": "ses_1"}},
            {"type": "message", "data": {"id": "msg_1"}},
            {"type": "part", "data": {"id": "prt_2", "messageID": "msg_2"}},
            {"type": "message", "data": {"id": "msg_2"}},
            {"type": "part", "data": {"id": "prt_1", "messageID": "msg_1"}},
            {"type": "part", "data": {"id": "prt_3", "messageID": "msg_9"}},
            {"type": "session_diff", "data": []},
            7,
        ]);
        let want = json!({"info": {"id": "ses_1"}, "messages": [
            {"info": {"id": "msg_1"}, "parts": [{"id": "prt_1", "messageID": "msg_1"}]},
            {"info": {"id": "msg_2"}, "parts": [{"id": "prt_2", "messageID": "msg_2"}]},
        ]});
        assert_eq!(session(pieces), want);
        let export = json!({"info": {}, "messages": []});
        assert_eq!(session(export.clone()), export);
    }
}
