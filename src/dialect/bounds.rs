//! How far is looked where no dialect file says it. Those who read and those who work out how much a stream holds back share
//! these.

/// So many blanks may stand between an opener and the tag that must follow it.
pub(crate) const PROBE_BLANKS: u32 = 256;

/// So many blanks may stand before a key where a line is looked at, and so many around its colon.
pub(crate) const LINE_BLANKS: u32 = 64;

/// Blanks in a closing tag after its name.
pub(crate) const CLOSER_BLANKS: u32 = 64;

/// So many times the closing tag of a value may stand once more where what follows must confirm it.
pub(crate) const CLOSER_TWINS: u8 = 2;

/// So many markers may end the header of a message.
pub(crate) const MAX_ENDS: usize = 8;
