//! What a reply may begin with that the prompt has opened: `f` and a line with `{`, where the prompt ends with `>>>`.
//!
//! Some dialects read a reply that begins so as if its opener stood there. It is not a marker, and in the middle of a text it means
//! nothing; so only the start of a text is looked at, and what completes it there is broken before its last byte. Nothing has
//! to wait for that.

use toolglot_scan::path::{Go, Hole, Walk};

use crate::dialect::{MAX_LEAD, Written};

/// The start of a text, while it may be such a beginning.
#[derive(Clone, Debug)]
pub(super) struct Lead {
    /// A walk for each beginning that still fits.
    walks: Vec<Option<Walk>>,
    len: usize,
}

/// What a byte makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    More,
    /// The byte completes one.
    Whole,
    Over,
}

impl Lead {
    /// None where nothing is looked for.
    pub fn new(leads: &[Written]) -> Option<Self> {
        (!leads.is_empty()).then(|| Self {
            walks: leads.iter().map(|lead| Some(lead.paths.begin())).collect(),
            len: 0,
        })
    }

    pub fn step(&mut self, leads: &[Written], byte: u8) -> Step {
        let at = self.len as u64;
        self.len += 1;
        let mut step = Step::Over;
        for (slot, lead) in self.walks.iter_mut().zip(leads) {
            let Some(walk) = slot else { continue };
            match lead.paths.step(walk, byte, at, b"") {
                Go::Found { .. } => return Step::Whole,
                Go::More => step = Step::More,
                Go::None => *slot = None,
            }
        }
        match self.len < MAX_LEAD {
            true => step,
            false => Step::Over,
        }
    }

    /// Whether it is more than a name, with which any text may begin.
    pub fn tells(&self, leads: &[Written]) -> bool {
        let mut open = self.walks.iter().zip(leads);
        self.len > 0
            && open.any(|(walk, lead)| {
                walk.as_ref().is_some_and(|walk| {
                    !(lead.paths.in_hole(walk) && walk.span(Hole::Name).start == 0)
                })
            })
    }
}
