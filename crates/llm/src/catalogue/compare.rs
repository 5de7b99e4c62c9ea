//! What two lists of models differ in, for a person who has just taken the second.

use std::collections::BTreeMap;

use super::{Catalogue, Model};

/// What changed from one list to another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Vendors that are new.
    pub new_vendors: Vec<String>,
    /// Vendors that are gone.
    pub lost_vendors: Vec<String>,
    /// Models that are new, as `VENDOR/MODEL`; those of new vendors too.
    pub new: Vec<String>,
    /// Models that are gone.
    pub lost: Vec<String>,
    /// Models that cost something else.
    pub prices: Vec<String>,
    /// Models of which something else is other.
    pub other: usize,
}

/// What `new` has otherwise than `old`.
pub fn changes(old: &Catalogue, new: &Catalogue) -> Change {
    let mut change = Change::default();
    for vendor in old.vendors().iter().filter(|vendor| new.vendor(&vendor.id).is_none()) {
        change.lost_vendors.push(vendor.id.clone());
        change.lost.extend(old.models(&vendor.id).iter().map(|(id, _)| format!("{}/{id}", vendor.id)));
    }
    for vendor in new.vendors() {
        let named = |id: &str| format!("{}/{id}", vendor.id);
        if old.vendor(&vendor.id).is_none() {
            change.new_vendors.push(vendor.id.clone());
        }
        let mut before: BTreeMap<String, Model> = old.models(&vendor.id).into_iter().collect();
        for (id, model) in new.models(&vendor.id) {
            match before.remove(&id) {
                None => change.new.push(named(&id)),
                Some(old) if old.cost != model.cost => change.prices.push(named(&id)),
                Some(old) if old != model => change.other += 1,
                Some(_) => {}
            }
        }
        change.lost.extend(before.keys().map(|id| named(id)));
    }
    change
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn list(value: &Value) -> Catalogue {
        Catalogue::open(Catalogue::pack(value.to_string().as_bytes()).unwrap().into()).unwrap()
    }

    #[test]
    fn each_kind_of_change_is_told() {
        let model = |price: u64, name: &str| json!({"id": name, "name": name, "cost": {"input": price, "output": 1}});
        let vendor = |models: Value| json!({"npm": "x", "models": models});
        let old = list(&json!({
            "a": vendor(json!({"same": model(1, "s"), "dearer": model(1, "d"), "gone": model(1, "g"), "named": model(1, "n")})),
            "b": vendor(json!({"m": model(1, "m")})),
        }));
        let new = list(&json!({
            "a": vendor(json!({"same": model(1, "s"), "dearer": model(2, "d"), "fresh": model(1, "f"), "named": model(1, "N")})),
            "c": vendor(json!({"m": model(1, "m")})),
        }));
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let want = Change {
            new_vendors: names(&["c"]),
            lost_vendors: names(&["b"]),
            new: names(&["a/fresh", "c/m"]),
            lost: names(&["b/m", "a/gone"]),
            prices: names(&["a/dearer"]),
            other: 1,
        };
        assert_eq!(changes(&old, &new), want);
        assert_eq!(changes(&new, &new), Change::default());
    }
}
