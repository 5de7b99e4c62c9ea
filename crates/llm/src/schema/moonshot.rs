//! Moonshot puts definitions in for their references before it looks, and refuses what stands beside one; all items of
//! a list have one schema.

use serde_json::{Map, Value};

use super::walk::below;

pub(super) fn plain(schema: &mut Value, depth: usize) {
    let (Value::Object(fields), Some(depth)) = (schema, depth.checked_sub(1)) else { return };
    if fields.get("$ref").is_some_and(Value::is_string) {
        fields.retain(|keyword, _| keyword == "$ref");
        return;
    }
    below(fields, |one| plain(one, depth));
    if let Some(items @ Value::Array(_)) = fields.get_mut("items") {
        let first = items.as_array_mut().and_then(|list| (!list.is_empty()).then(|| list.swap_remove(0)));
        *items = first.unwrap_or_else(|| Value::Object(Map::new()));
    }
}
