//! Bounds of lookaheads that no dialect file sets. Shared by the parsers and by the code that computes how much a stream holds
//! back.

/// The maximum whitespace between an opener and the tag that must follow it.
pub(crate) const PROBE_BLANKS: u32 = 256;

/// How many bytes of JSON without a marker are examined for a call.
pub(crate) const BARE: u32 = 256;

/// The maximum whitespace before a key where a line is checked for one, and around its colon.
pub(crate) const LINE_BLANKS: u32 = 64;

/// The maximum whitespace in a closing tag after its name.
pub(crate) const CLOSER_BLANKS: u32 = 64;

/// How often the closing tag of a value may be repeated if what follows must confirm it.
pub(crate) const CLOSER_TWINS: u8 = 2;

/// How many markers may end the header of a message.
pub(crate) const MAX_ENDS: usize = 8;
