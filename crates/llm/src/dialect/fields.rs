//! The fields of a request body, ours and those of the settings laid over them.

use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::{Map, Value};

/// The fields of a body. `over` may replace one, remove it with `null`, and add others.
pub(super) struct Fields<'a, M> {
    map: M,
    over: &'a Map<String, Value>,
    written: Vec<&'static str>,
}

impl<'a, M: SerializeMap> Fields<'a, M> {
    pub(super) fn new(map: M, over: &'a Map<String, Value>) -> Self {
        Self { map, over, written: Vec::new() }
    }

    pub(super) fn field(&mut self, name: &'static str, ours: Option<impl Serialize>) -> Result<(), M::Error> {
        self.written.push(name);
        match (self.over.get(name), ours) {
            (Some(Value::Null), _) | (None, None) => Ok(()),
            (Some(theirs), _) => self.map.serialize_entry(name, theirs),
            (None, Some(ours)) => self.map.serialize_entry(name, &ours),
        }
    }

    /// A field that stays as it is: nothing but a stream can be read.
    pub(super) fn fixed(&mut self, name: &'static str, ours: impl Serialize) -> Result<(), M::Error> {
        self.written.push(name);
        self.map.serialize_entry(name, &ours)
    }

    pub(super) fn rest(mut self) -> Result<M::Ok, M::Error> {
        for (name, value) in self.over {
            if !value.is_null() && !self.written.contains(&name.as_str()) {
                self.map.serialize_entry(name, value)?;
            }
        }
        self.map.end()
    }
}
