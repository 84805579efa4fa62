//! What stands inside a framed call: a parser that ends by itself.

use serde::{Deserialize, Serialize};

use super::{Opened, Out};
use crate::dialect::{Framed, spec};
use crate::error::{Kind, KindSet};

/// How far a payload came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It took everything.
    More,
    /// It is complete before the index.
    Done,
    /// It breaks its grammar at the index, which was reported.
    Malformed,
    /// A limit fired.
    Limit(Kind),
}

/// The state of an open payload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Payload {
    /// Nothing.
    Empty,
}

impl Payload {
    pub fn open(
        _out: &mut Out<'_>,
        _table: &Framed,
        _unit: &spec::Unit,
        _opened: &Opened<'_>,
        _kinds: KindSet,
    ) -> Result<Self, Kind> {
        Ok(Self::Empty)
    }

    pub fn feed(
        &mut self,
        _out: &mut Out<'_>,
        _table: &Framed,
        i: usize,
        _end: usize,
    ) -> (usize, Step) {
        (i, Step::Malformed)
    }

    pub fn stood(&self) -> u32 {
        0
    }

    pub fn abandon(&mut self, _out: &mut Out<'_>, _end: u64) {}

    pub fn finish(&mut self, _out: &mut Out<'_>, _table: &Framed, _end: u64) -> Option<u64> {
        None
    }

    pub fn fits(&self, _table: &Framed) -> bool {
        true
    }
}
