//! What most refuse. Vendors read schemas by the newest draft, in which a list of schemas is no `items`, and many want
//! to hear of what a list is. One such tool, of somebody else's making, and every request fails.

use serde_json::{Value, json};

use super::walk::{below, one_of_all};

/// `typed`: a schema that allows anything must name a type.
pub(super) fn sound(schema: &mut Value, typed: bool, depth: usize) {
    let (Value::Object(fields), Some(depth)) = (schema, depth.checked_sub(1)) else { return };
    below(fields, |one| sound(one, typed, depth));
    if let Some(items) = fields.get_mut("items")
        && let Value::Array(list) = items
    {
        *items = one_of_all(std::mem::take(list));
    }
    let lists = fields.get("type").is_some_and(|kind| kind == "array");
    if lists && !fields.contains_key("items") && !fields.contains_key("prefixItems") {
        fields.insert("items".to_owned(), if typed { json!({"type": "string"}) } else { json!({}) });
    }
}
