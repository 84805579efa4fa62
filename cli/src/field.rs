//! JSON pointers with wildcards.

use std::fmt;
use std::str::FromStr;

use toolglot::layer;

/// A JSON pointer in which `*` stands for each element of a list: `/messages/*/content`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub keys: Vec<String>,
}

impl FromStr for Field {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(keys) = text.strip_prefix('/') else {
            let why = format!("a JSON pointer begins with a slash and a key: `/{text}`");
            return Err(why);
        };
        Ok(Self {
            keys: keys.split('/').map(layer::key).collect(),
        })
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut keys = self.keys.iter();
        keys.try_for_each(|key| f.write_str(&layer::member("", key)))
    }
}

impl Field {
    /// The member of a record in which it begins.
    #[cfg(feature = "parquet")]
    pub fn member(&self) -> &str {
        self.keys.first().map_or("", String::as_str)
    }
}
