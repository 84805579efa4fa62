//! Checks that all offsets of a state lie in the stream: one rule for every number as wide as an offset, wherever it
//! appears. It examines the serialized state, so that no field can be forgotten.

use std::fmt::{self, Display};

use serde::ser::{
    Error, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// Whether every number as wide as an offset is at most `most`. Linear in the size of the state.
pub(super) fn within<T: Serialize>(state: &T, most: u64) -> bool {
    state.serialize(Bounds(most)).is_ok()
}

/// The largest number allowed.
#[derive(Clone, Copy)]
struct Bounds(u64);

/// A number exceeds it.
#[derive(Debug)]
struct Beyond;

impl Display for Beyond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an offset lies beyond the stream")
    }
}

impl std::error::Error for Beyond {}

impl Error for Beyond {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
}

type Done = Result<(), Beyond>;

/// Values without offsets.
macro_rules! fine {
    ($($name:ident: $type:ty),*) => {
        $(fn $name(self, _: $type) -> Done {
            Ok(())
        })*
    };
}

impl Serializer for Bounds {
    type Ok = ();
    type Error = Beyond;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    fine! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u128: u128, serialize_f32: f32,
        serialize_f64: f64, serialize_char: char, serialize_str: &str, serialize_bytes: &[u8],
        serialize_unit_struct: &'static str
    }

    fn serialize_u64(self, number: u64) -> Done {
        if number > self.0 { Err(Beyond) } else { Ok(()) }
    }

    fn serialize_none(self) -> Done {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Done {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Done {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Done {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Done {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Beyond> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Beyond> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Beyond> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Beyond> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Beyond> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Beyond> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Beyond> {
        Ok(self)
    }
}

/// Values that contain others, each of which is checked.
macro_rules! holds {
    ($($name:ident :: $method:ident),*) => {
        $(impl $name for Bounds {
            type Ok = ();
            type Error = Beyond;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
                value.serialize(*self)
            }

            fn end(self) -> Done {
                Ok(())
            }
        })*
    };
}

holds! {
    SerializeSeq::serialize_element, SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field, SerializeTupleVariant::serialize_field
}

/// The same, with field names.
macro_rules! names {
    ($($name:ident),*) => {
        $(impl $name for Bounds {
            type Ok = ();
            type Error = Beyond;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &'static str, value: &T) -> Done {
                value.serialize(*self)
            }

            fn end(self) -> Done {
                Ok(())
            }
        })*
    };
}

names!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for Bounds {
    type Ok = ();
    type Error = Beyond;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Done {
        key.serialize(*self)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        value.serialize(*self)
    }

    fn end(self) -> Done {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Span;

    #[test]
    fn offsets_are_found_wherever_they_appear() {
        let spans = vec![("a", Some(Span::new(3, 9)))];
        assert!(within(&spans, 9));
        assert!(!within(&spans, 8));
        assert!(within(&(200_u32, "text", [255_u8; 3]), 1));
        assert!(!within(
            &std::collections::BTreeMap::from([(1_u8, 7_usize)]),
            6
        ));
    }
}
