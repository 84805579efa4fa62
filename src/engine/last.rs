//! The last bytes of text: what a token or a marker follows.

use serde::{Deserialize, Serialize};
use toolglot_scan::{bracket_before, quote_before, quote_opening};

/// The last bytes of text, to find the quotation mark before a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tail(u32);

impl Tail {
    /// The tail after more text.
    #[inline]
    pub fn after(self, text: &[u8]) -> Self {
        if let Some(last) = text.last_chunk() {
            return Self(u32::from_be_bytes(*last));
        }
        let Self(tail) = self;
        let (len, text) = match *text {
            [a, b, c] => (3, [0, a, b, c]),
            [a, b] => (2, [0, 0, a, b]),
            [a] => (1, [0, 0, 0, a]),
            _ => return self,
        };
        Self(tail << (8 * len) | u32::from_be_bytes(text))
    }

    /// Whether one of the last four bytes is `byte`.
    #[inline]
    pub fn contains(self, byte: u8) -> bool {
        let zero = self.0 ^ u32::from_ne_bytes([byte; 4]);
        zero.wrapping_sub(0x0101_0101) & !zero & 0x8080_8080 != 0
    }

    /// Whether the text ends with a quotation mark.
    pub fn quoted(self) -> bool {
        self.quote().is_some()
    }

    /// The quotation mark that the text ends with, unless it closes what is before it.
    pub fn opening(self) -> Option<u8> {
        quote_opening(&self.0.to_be_bytes())
    }

    /// Whether the text ends in a sentence, after a blank or a mark.
    pub fn in_sentence(self) -> bool {
        const ENDS: [&str; 7] = [".", "!", "?", "。", "！", "？", "…"];
        let bytes = self.0.to_be_bytes();
        let text = bytes.trim_ascii_end();
        let ends = ENDS.iter().any(|end| text.ends_with(end.as_bytes()));
        let ends = ends && !(text.len() < bytes.len() && numbers(text));
        let glued = bytes.last().is_some_and(u8::is_ascii_alphanumeric);
        !(ends || glued) && text.last().is_some_and(|last| *last != 0)
    }

    /// Whether the text ends with a blank.
    pub fn ends_blank(self) -> bool {
        matches!(self.0.to_be_bytes(), [.., b' ' | b'\t'])
    }

    /// The quotation mark or bracket that the text ends with.
    pub fn bracket(self) -> Option<u8> {
        bracket_before(&self.0.to_be_bytes())
    }

    pub fn quote(self) -> Option<u8> {
        quote_before(&self.0.to_be_bytes())
    }
}

/// Whether text ends with the digit or the letter of a list's item at the start of its line: `1.`, `a.`
fn numbers(text: &[u8]) -> bool {
    matches!(text, [.., 0 | b'\n', one, b'.'] if one.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_has_its_last_four_bytes() {
        let bytes = [b'[', b'Z', b'{', 0, 1, 0x5A, 0x5C, 0x7F, 0x80, 0xDB, 0xFF];
        for a in bytes {
            for b in bytes {
                for c in bytes {
                    let tail = Tail::default().after(&[b'x', a]).after(&[b, c]);
                    assert_eq!(tail, Tail::default().after(&[0, 0, b'x', a, b, c]));
                    for byte in bytes {
                        let has = [b'x', a, b, c].contains(&byte);
                        assert_eq!(tail.contains(byte), has, "{a} {b} {c}: {byte}");
                    }
                }
            }
        }
    }
}
