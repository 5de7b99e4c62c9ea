//! Enums whose variant is named by one of their fields, read in one pass.
//!
//! `serde` reads such an enum twice: it first takes the whole object into memory, because the field that names the
//! variant may stand last. Here it mostly stands first, and long sessions hold tens of thousands of such objects, each
//! with another one inside. What stands before the name is held back; what comes behind it is read as it comes.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::vec;

use serde::de::value::{CowStrDeserializer, MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, VariantAccess,
    Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::Value;

/// Declares an enum that is spelled with the name of its variant in the field `tag`, as `#[serde(tag = …)]` spells it.
macro_rules! tagged {
    (tag: $tag:literal, rename_all: $case:literal, $(#[$meta:meta])* $vis:vis enum $name:ident { $($body:tt)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        #[serde(tag = $tag, rename_all = $case)]
        $vis enum $name { $($body)* }

        const _: () = {
            type Read = $name;

            // The same once more, as an enum whose name is given from outside.
            #[derive(serde::Deserialize)]
            #[serde(remote = "Read", rename_all = $case)]
            enum Described { $($body)* }

            impl<'de> serde::Deserialize<'de> for $name {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    Described::deserialize($crate::tagged::Tagged { tag: $tag, deserializer })
                }
            }
        };
    };
}
pub(crate) use tagged;

/// Reads an enum out of an object whose field `tag` names the variant.
pub(crate) struct Tagged<D> {
    pub(crate) tag: &'static str,
    pub(crate) deserializer: D,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Tagged<D> {
    type Error = D::Error;

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.deserializer.deserialize_map(Object { tag: self.tag, visitor })
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.deserializer.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// Looks for the tag of an object.
struct Object<V> {
    tag: &'static str,
    visitor: V,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Object<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with the field `{}`", self.tag)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<V::Value, A::Error> {
        let mut held = Vec::new();
        while let Some(Text(key)) = map.next_key()? {
            if key == self.tag {
                let Text(name) = map.next_value()?;
                return self.visitor.visit_enum(Variant { name, rest: Rest::new(held, map) });
            }
            held.push((key, map.next_value()?));
        }
        Err(A::Error::missing_field(self.tag))
    }
}

/// A variant of which the name is known.
struct Variant<'de, A> {
    name: Cow<'de, str>,
    rest: Rest<'de, A>,
}

impl<'de, A: MapAccess<'de>> EnumAccess<'de> for Variant<'de, A> {
    type Error = A::Error;
    type Variant = Rest<'de, A>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Rest<'de, A>), A::Error> {
        Ok((seed.deserialize(CowStrDeserializer::new(self.name))?, self.rest))
    }
}

/// The fields of an object without its tag.
struct Rest<'de, A> {
    held: vec::IntoIter<(Cow<'de, str>, Held<'de>)>,
    /// The value of the key that was held back and read last.
    value: Option<Held<'de>>,
    map: A,
}

impl<'de, A> Rest<'de, A> {
    fn new(held: Vec<(Cow<'de, str>, Held<'de>)>, map: A) -> Self {
        Self { held: held.into_iter(), value: None, map }
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Rest<'de, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let Some((key, value)) = self.held.next() else { return self.map.next_key_seed(seed) };
        self.value = Some(value);
        seed.deserialize(CowStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        match self.value.take() {
            Some(Held::Text(text)) => seed.deserialize(Spelled(text, PhantomData)),
            Some(Held::Other(value)) => seed.deserialize(value).map_err(A::Error::custom),
            None => self.map.next_value_seed(seed),
        }
    }
}

impl<'de, A: MapAccess<'de>> VariantAccess<'de> for Rest<'de, A> {
    type Error = A::Error;

    fn unit_variant(mut self) -> Result<(), A::Error> {
        while self.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        seed.deserialize(MapAccessDeserializer::new(self))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, A::Error> {
        Err(A::Error::invalid_type(Unexpected::Map, &visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_map(self)
    }
}

/// A text, borrowed where it can be.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// A value that stands before the tag. Mostly a name, which is not copied.
enum Held<'de> {
    Text(Cow<'de, str>),
    Other(Value),
}

impl<'de> Deserialize<'de> for Held<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any(PhantomData))
    }
}

/// Reads a text that was held back, as JSON is read: also where none need be there.
struct Spelled<'de, E>(Cow<'de, str>, PhantomData<E>);

impl<'de, E: Error> Deserializer<'de> for Spelled<'de, E> {
    type Error = E;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match self.0 {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, E> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, E> {
        visitor.visit_enum(CowStrDeserializer::new(self.0))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct Any<'de>(PhantomData<&'de str>);

impl<'de> Visitor<'de> for Any<'de> {
    type Value = Held<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Held<'de>, E> {
        Ok(Held::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Held<'de>, E> {
        Ok(Held::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Held<'de>, E> {
        Ok(Held::Text(Cow::Owned(text)))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Held<'de>, E> {
        Ok(Held::Other(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Held<'de>, E> {
        Ok(Held::Other(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Held<'de>, E> {
        Ok(Held::Other(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Held<'de>, E> {
        Ok(Held::Other(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Held<'de>, E> {
        Ok(Held::Other(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Held<'de>, E> {
        Ok(Held::Other(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Held<'de>, D::Error> {
        Held::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Held<'de>, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(list)).map(Held::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Held<'de>, A::Error> {
        Value::deserialize(MapAccessDeserializer::new(map)).map(Held::Other)
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde_json::json;

    use super::*;

    tagged! {
        tag: "kind", rename_all: "kebab-case",
        /// Something.
        enum Thing {
            Plain {
                text: String,
                #[serde(default, skip_serializing_if = "Option::is_none")]
                more: Option<Value>,
            },
            Whole(Whole),
            Nothing,
        }
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Whole {
        count: i64,
        inner: Inner,
    }

    tagged! {
        tag: "name", rename_all: "lowercase",
        enum Inner {
            One { list: Vec<f64> },
            TwoWords {},
        }
    }

    #[track_caller]
    fn reads(spelled: &str, want: &Thing) {
        let read = |value: Value| serde_json::from_value::<Thing>(value).unwrap();
        assert_eq!(&serde_json::from_str::<Thing>(spelled).unwrap(), want);
        assert_eq!(&serde_json::from_reader::<_, Thing>(spelled.as_bytes()).unwrap(), want);
        assert_eq!(&read(serde_json::from_str(spelled).unwrap()), want);
        assert_eq!(&read(serde_json::to_value(want).unwrap()), want);
    }

    fn plain(text: &str, more: Option<Value>) -> Thing {
        Thing::Plain { text: text.to_owned(), more }
    }

    #[test]
    fn the_tag_may_stand_anywhere() {
        reads(r#"{"kind":"plain","text":"a"}"#, &plain("a", None));
        reads(r#"{"text":"a","kind":"plain"}"#, &plain("a", None));
        reads(r#"{"text":"\u00e9\n","\u006bind":"pl\u0061in","more":1}"#, &plain("é\n", Some(json!(1))));
        for more in [json!(-1), json!(1.5), json!(true), json!("a"), json!([1, {"a": "b"}]), json!({"kind": ["x", 2]})]
        {
            let want = plain("", Some(more.clone()));
            reads(&format!(r#"{{"more":{more},"text":"","kind":"plain"}}"#), &want);
            reads(&format!(r#"{{"other":[],"kind":"plain","more":{more},"text":""}}"#), &want);
        }
        reads(r#"{"more":null,"text":"","kind":"plain"}"#, &plain("", None));
        reads(r#"{"a":{"b":1},"kind":"nothing","c":[2]}"#, &Thing::Nothing);
    }

    #[test]
    fn one_may_stand_in_another() {
        let whole = |inner| Thing::Whole(Whole { count: 3, inner });
        reads(r#"{"kind":"whole","count":3,"inner":{"name":"twowords"}}"#, &whole(Inner::TwoWords {}));
        let one = whole(Inner::One { list: vec![1.0, 2.5] });
        reads(r#"{"inner":{"list":[1,2.5],"name":"one"},"count":3,"kind":"whole"}"#, &one);
    }

    #[test]
    fn it_is_spelled_with_the_tag_first() {
        let spelled = serde_json::to_string(&plain("a", Some(json!(1)))).unwrap();
        assert_eq!(spelled, r#"{"kind":"plain","text":"a","more":1}"#);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let row = |spelled: &str, want: &str| {
            let said = serde_json::from_str::<Thing>(spelled).unwrap_err().to_string();
            assert!(said.starts_with(want), "{said}");
        };
        row(r#"{"text":"a"}"#, "missing field `kind`");
        row(r#"{"kind":"other"}"#, "unknown variant `other`, expected one of `plain`, `whole`, `nothing`");
        row(r#"{"kind":"plain"}"#, "missing field `text`");
        row(r#"{"kind":7}"#, "invalid type: integer `7`, expected a string");
        row(r#"{"text":7,"kind":"plain"}"#, "invalid type: integer `7`, expected a string");
        row(r#"["plain"]"#, "invalid type: sequence, expected an object with the field `kind`");
    }
}
