//! Beginnings of a reply that continue what the prompt has opened: `f` and a line with `{`, if the prompt ends with `>>>`.
//!
//! Some dialects read a reply with such a beginning as if it followed its opener. It is not a marker, and means nothing in the
//! middle of a text. So only the start of a text is checked, and what completes the beginning is broken before its last byte.
//! Nothing has to be held back for it.

use toolglot_scan::path::{Go, Hole, Walk};

use crate::dialect::{MAX_LEAD, Written};

/// The start of a text, while it may still be such a beginning.
#[derive(Clone, Debug)]
pub(super) struct Lead {
    /// A match in progress for each beginning that still fits.
    walks: Vec<Option<Walk>>,
    len: usize,
}

/// The effect of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    More,
    /// The byte completes a beginning.
    Whole,
    Over,
}

impl Lead {
    /// Returns `None` if there is nothing to look for.
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
