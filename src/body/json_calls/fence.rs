//! A code fence around a payload between markers.

use serde::{Deserialize, Serialize};

use crate::body::lexer::is_blank;
use crate::event::Span;

/// The opener of a code fence before a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Fence {
    /// It may come.
    Before,
    Ticks {
        start: u64,
        count: u8,
    },
    Label {
        start: u64,
    },
    /// It has come, or none will.
    Over,
}

/// What a byte is before a payload.
pub(super) enum Mark {
    /// White space, or a part of the fence.
    Fence,
    /// The payload begins with it.
    Payload,
    /// The payload begins with it, and this is the opener of its fence.
    Opened(Span),
    /// Neither a fence nor a payload.
    Broken,
}

impl Fence {
    /// Reads the next byte, as long as it is not over.
    pub fn read(&mut self, byte: u8, pos: u64) -> Mark {
        match (*self, byte) {
            (Self::Before, byte) if is_blank(byte) => return Mark::Fence,
            (Self::Label { .. }, byte) if byte.is_ascii_alphanumeric() => return Mark::Fence,
            (Self::Before, b'`') => {
                let (start, count) = (pos, 1);
                *self = Self::Ticks { start, count };
            }
            (Self::Ticks { start, count: 2 }, b'`') => *self = Self::Label { start },
            (Self::Ticks { start, count }, b'`') => {
                let count = count + 1;
                *self = Self::Ticks { start, count };
            }
            (Self::Ticks { .. }, _) => return Mark::Broken,
            (Self::Label { start }, _) => {
                *self = Self::Over;
                return Mark::Opened(Span::new(start, pos));
            }
            (Self::Before | Self::Over, _) => {
                *self = Self::Over;
                return Mark::Payload;
            }
        }
        Mark::Fence
    }
}
