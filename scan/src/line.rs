//! The position of text on its line. Only preceding bytes decide.

use memchr::memchr_iter;
use serde::{Deserialize, Serialize};

use crate::vector::{self, begins_plain};

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

/// Where the last line end of a text is, and whether `byte` occurs behind it, or anywhere if no line ends.
///
/// ```
/// assert_eq!(toolglot_scan::last_line(b"[a]\nb\nc", b'['), (Some(5), false));
/// ```
#[must_use]
pub fn last_line(text: &[u8], byte: u8) -> (Option<usize>, bool) {
    let (from, end, behind) = vector::last_line(text, byte);
    if end.is_some() {
        return (end, behind);
    }
    let before = &text[..from];
    let end = before.iter().rposition(|b| *b == b'\n');
    let last = &before[end.unwrap_or(0)..];
    (end, behind || last.contains(&byte))
}

/// Where the first line begins, after the first line end, that is not empty and begins neither with four blanks nor with fewer and a byte
/// that is `plain`. If there is none, where the last line begins; 0 if no line ends.
///
/// ```
/// let mut plain = [false; 256];
/// plain[usize::from(b'a')] = true;
/// assert_eq!(toolglot_scan::lines(b"- b\na\n    - b\n\n a\n- b\na", &plain), 18);
/// ```
#[must_use]
pub fn lines(text: &[u8], plain: &[bool; 256]) -> usize {
    vector::lines(text, plain).unwrap_or_else(|| {
        let mut line = 0;
        for end in memchr_iter(b'\n', text) {
            line = end + 1;
            if !begins_plain(&text[line..], plain) {
                break;
            }
        }
        line
    })
}

#[cfg(test)]
mod tests {
    use super::{Line, begins_plain, last_line, lines};
    use crate::random::random;

    #[test]
    fn lines_are_found_as_one_by_one() {
        let mut plain = [false; 256];
        b"xyz"
            .iter()
            .for_each(|byte| plain[usize::from(*byte)] = true);
        let mut random = random(5);
        for round in 0..20_000 {
            let odd = 1 + round % 40;
            let text: Vec<u8> = (0..random(300))
                .map(|_| match random(odd) {
                    0 => b"\n\n [-"[random(5)],
                    _ => b"xyz "[random(4)],
                })
                .collect();
            let ends: Vec<usize> = (0..text.len()).filter(|at| text[*at] == b'\n').collect();
            let last = ends.last().copied();
            let behind = text[last.unwrap_or(0)..].contains(&b'[');
            assert_eq!(last_line(&text, b'['), (last, behind), "{text:?}");
            let begins = || ends.iter().map(|end| end + 1);
            let first = begins().find(|at| !begins_plain(&text[*at..], &plain));
            let expected = first.or(begins().next_back()).unwrap_or(0);
            assert_eq!(lines(&text, &plain), expected, "{text:?}");
        }
    }

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
