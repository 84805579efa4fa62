//! Key-quote: fields between delimiters.

use serde::Deserialize;
use toolglot_scan::Case;

use super::{Fold, yes};

/// `key:「始」value「末」` between two markers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyQuote {
    pub open: Vec<String>,
    pub close: Vec<String>,
    #[serde(default)]
    pub case: Case,
    /// Bytes of this kind next to the block markers belong to them.
    #[serde(default)]
    pub extra: String,
    /// The key that names the tool.
    pub name: String,
    /// The key whose numbered forms (`command1`) make a chain.
    pub chain: Option<String>,
    /// What may separate a key from its number, besides nothing.
    #[serde(default)]
    pub chain_infix: String,
    /// Keys with this prefix are shared by all calls of a chain, under the rest of their name.
    #[serde(default)]
    pub shared_prefix: String,
    /// Keys (numbered or not) that are not arguments but metadata of the call.
    #[serde(default)]
    pub meta: Vec<String>,
    /// Ignored keys.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// The key and the value by which a step of a chain lets the next ones run even if it broke.
    #[serde(default)]
    pub go_on: Option<GoOn>,
    /// Keys with this prefix give the type of another parameter: `text` or `json`.
    #[serde(default)]
    pub type_prefix: String,
    pub colon: Vec<String>,
    pub separators: Vec<String>,
    /// Whether the writer puts the first separator between fields.
    #[serde(default = "yes")]
    pub separated: bool,
    pub quotes: Vec<Quote>,
    #[serde(default)]
    pub comment: Option<Comment>,
    #[serde(default)]
    pub fold: Vec<Fold>,
    #[serde(default)]
    pub trim: Trim,
    /// A line that starts with a key and a value's opener ends the open value.
    #[serde(default)]
    pub key_line_ends_value: bool,
    /// The format's document says that the last value of a repeated key wins.
    #[serde(default)]
    pub last_wins: bool,
}

/// How a step of a chain requests that the next ones run whatever its outcome.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoOn {
    pub key: String,
    pub value: String,
}

/// What encloses a value.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quote {
    pub open: Vec<String>,
    pub close: Vec<String>,
    /// Closers of other quotes that end the value only at the end of a line; reported.
    #[serde(default)]
    pub loose_close: Vec<String>,
    #[serde(default)]
    pub case: Case,
    /// Only its own closer ends it.
    #[serde(default)]
    pub protect: bool,
    /// Spellings inside the value that are replaced by others.
    #[serde(default)]
    pub restore: Vec<[String; 2]>,
}

impl Quote {
    /// Whether a field that begins with an opener of another pair is seen between these: between quotes that protect their text, openers
    /// of others are part of it.
    pub fn minds(&self, other: &Self) -> bool {
        self.open == other.open || !(self.protect || other.protect)
    }
}

/// Comments between fields, up to the end of the line.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comment {
    pub open: String,
    pub at: CommentAt,
}

/// Where a comment may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommentAt {
    LineStart,
    Anywhere,
}

/// What is trimmed from a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trim {
    #[default]
    None,
    Ends,
}
