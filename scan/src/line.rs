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
        let mut blanks = 0;
        for byte in text.iter().rev().take(4) {
            match byte {
                b' ' | b'\t' => blanks += 1,
                b'\n' if blanks == 0 => return Self::Start,
                b'\n' => return Self::Blanks(blanks),
                _ => return Self::Other,
            }
        }
        match self {
            same if blanks == 0 => same,
            Self::Start if blanks <= 3 => Self::Blanks(blanks),
            Self::Blanks(n) if n + blanks <= 3 => Self::Blanks(n + blanks),
            Self::Behind(n) if n + blanks <= 3 => Self::Behind(n + blanks),
            Self::Start | Self::Blanks(_) | Self::Behind(_) | Self::Other => Self::Other,
        }
    }

    /// Whether something that must start a line, or follow a block, may start here.
    pub fn begins(self) -> bool {
        self != Self::Other
    }
}

#[cfg(test)]
mod tests {
    use super::Line;

    /// Every text of up to six of these bytes.
    fn texts() -> Vec<Vec<u8>> {
        let mut all = vec![vec![]];
        let mut last = all.clone();
        for _ in 0..6 {
            let longer = |text: &Vec<u8>| b"a \t\n".map(|byte| [&text[..], &[byte]].concat());
            last = last.iter().flat_map(longer).collect();
            all.extend(last.clone());
        }
        all
    }

    #[test]
    fn the_state_does_not_depend_on_pieces() {
        let blanks = (0..=3).flat_map(|n| [Line::Blanks(n), Line::Behind(n)]);
        let states: Vec<Line> = blanks.chain([Line::Start, Line::Other]).collect();
        for text in texts() {
            for line in &states {
                let bytes = text.chunks(1).fold(*line, |line, byte| line.after(byte));
                assert_eq!(line.after(&text), bytes, "{line:?} {text:?}");
            }
        }
    }

    #[test]
    fn at_most_three_blanks_begin_a_line() {
        assert_eq!(Line::Other.after(b"a\n"), Line::Start);
        assert_eq!(Line::Other.after(b"\n \t "), Line::Blanks(3));
        assert_eq!(Line::Start.after(b"    "), Line::Other);
        assert_eq!(Line::Behind(1).after(b"  "), Line::Behind(3));
        assert_eq!(Line::Behind(1).after(b"   "), Line::Other);
        assert_eq!(Line::Blanks(2).after(b"a "), Line::Other);
        assert_eq!(Line::Behind(0).after(b""), Line::Behind(0));
    }
}
