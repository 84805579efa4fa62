//! The position of text on its line. Only preceding bytes decide.

use serde::{Deserialize, Serialize};

/// What precedes the current byte on its line.
///
/// ```
/// use toolglot_scan::Line;
///
/// let line = Line::default().after(b"Looking.\n  ");
/// assert_eq!(line, Line::Blanks(2));
/// assert!(line.begins() && !line.after(b"so").begins());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Line {
    /// Nothing.
    #[default]
    Start,
    /// This many blanks, at most three.
    Blanks(u8),
    /// Something else.
    Other,
    /// A block or reasoning ended right here, or up to three blanks ago; counts the blanks.
    Behind(u8),
}

impl Line {
    /// The line state after more text. Reads at most the last four bytes.
    pub fn after(self, text: &[u8]) -> Self {
        let tail = &text[text.len().saturating_sub(4)..];
        let blank = |b: &u8| matches!(b, b' ' | b'\t');
        if let Some(newline) = tail.iter().rposition(|b| *b == b'\n') {
            let rest = &tail[newline + 1..];
            return match rest.len() {
                0 => Self::Start,
                n if rest.iter().all(blank) => Self::Blanks(n as u8),
                _ => Self::Other,
            };
        }
        if text.len() > 3 || !tail.iter().all(blank) {
            return if text.is_empty() { self } else { Self::Other };
        }
        let more = text.len() as u8;
        match self {
            Self::Start if more == 0 => Self::Start,
            Self::Start => Self::Blanks(more),
            Self::Blanks(n) if n + more <= 3 => Self::Blanks(n + more),
            Self::Behind(n) if n + more <= 3 => Self::Behind(n + more),
            Self::Blanks(_) | Self::Behind(_) | Self::Other => Self::Other,
        }
    }

    /// Whether something that must start a line, or follow a block, may start here.
    pub fn begins(self) -> bool {
        self != Self::Other
    }
}
