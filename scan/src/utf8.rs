//! From bytes to text: whole characters only, U+FFFD for invalid UTF-8.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Span, vector};

/// The longest prefix that is UTF-8.
///
/// ```
/// assert_eq!(toolglot_scan::valid_prefix(b"Leith \xE4\xB8"), "Leith ");
/// ```
#[inline]
pub fn valid_prefix(bytes: &[u8]) -> &str {
    let good = |error: std::str::Utf8Error| text(&bytes[..error.valid_up_to()]).unwrap_or_default();
    text(bytes).unwrap_or_else(good)
}

/// The kinds of all bytes, which `table` gives, and the bytes as text if they are UTF-8.
///
/// ```
/// let mut table = [0; 256];
/// table[usize::from(b'L')] = 1;
/// assert_eq!(toolglot_scan::kinds(b"Leith", &table), (1, Some("Leith")));
/// ```
#[inline]
pub fn kinds<'b>(bytes: &'b [u8], table: &[u8; 256]) -> (u8, Option<&'b str>) {
    let (kinds, text) = vector::kinds(bytes, table);
    (kinds, text.or_else(|| std::str::from_utf8(bytes).ok()))
}

/// The states of [`is_whole`], as multiples of the bits that each takes: between characters, after what is in none, and before
/// one, two or three more bytes, the next of which may be any; then those in which the second byte has other limits.
const WHOLE: u8 = 0;
const BROKEN: u8 = 6;
const MORE: [u8; 3] = [12, 18, 24];
const AFTER_E0: u8 = 30;
const AFTER_ED: u8 = 36;
const AFTER_F0: u8 = 42;
const AFTER_F4: u8 = 48;

/// For each byte the state after it, for each state before it.
static STEPS: [u64; 256] = {
    let mut steps = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let next = match byte {
            0..=0x7F => WHOLE,
            0xC2..=0xDF => MORE[0],
            0xE0 => AFTER_E0,
            0xED => AFTER_ED,
            0xE1..=0xEF => MORE[1],
            0xF0 => AFTER_F0,
            0xF1..=0xF3 => MORE[2],
            0xF4 => AFTER_F4,
            _ => BROKEN,
        };
        let all = [
            (WHOLE, next, true),
            (MORE[0], WHOLE, 0x80 <= byte && byte < 0xC0),
            (MORE[1], MORE[0], 0x80 <= byte && byte < 0xC0),
            (MORE[2], MORE[1], 0x80 <= byte && byte < 0xC0),
            (AFTER_E0, MORE[0], 0xA0 <= byte && byte < 0xC0),
            (AFTER_ED, MORE[0], 0x80 <= byte && byte < 0xA0),
            (AFTER_F0, MORE[1], 0x90 <= byte && byte < 0xC0),
            (AFTER_F4, MORE[1], 0x80 <= byte && byte < 0x90),
            (BROKEN, BROKEN, true),
        ];
        let mut at = 0;
        while at < all.len() {
            let (before, after, goes) = all[at];
            steps[byte] |= (if goes { after } else { BROKEN } as u64) << before;
            at += 1;
        }
        byte += 1;
    }
    steps
};

/// Whether bytes are whole characters in UTF-8. For a few bytes faster than [`std::str::from_utf8`]: one look-up and one shift a byte.
///
/// ```
/// assert!(toolglot_scan::is_whole("天气 ok".as_bytes()));
/// assert!(!toolglot_scan::is_whole(&"天气".as_bytes()[..4]));
/// ```
#[inline]
pub fn is_whole(bytes: &[u8]) -> bool {
    let step = |state: u64, byte: &u8| STEPS[usize::from(*byte)] >> (state & 63);
    bytes.iter().fold(u64::from(WHOLE), step) & 63 == u64::from(WHOLE)
}

/// The bytes as text, as [`std::str::from_utf8`] does; faster for ASCII.
#[inline]
pub(crate) fn text(bytes: &[u8]) -> Result<&str, std::str::Utf8Error> {
    vector::ascii(bytes).map_or_else(|| std::str::from_utf8(bytes), Ok)
}

/// The bytes as text, with U+FFFD for what is invalid, as [`String::from_utf8_lossy`] does; faster for valid text, which is
/// the rule.
///
/// ```
/// assert_eq!(toolglot_scan::lossy("Leith 你".as_bytes()), "Leith 你");
/// assert_eq!(toolglot_scan::lossy(b"Leith \xE4\xB8!"), "Leith \u{FFFD}!");
/// ```
pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    text(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Holds an incomplete character: at most 3 bytes.
///
/// ```
/// use toolglot_scan::Gate;
///
/// let (mut gate, mut shown) = (Gate::default(), vec![]);
/// let (first, second) = "天气".as_bytes().split_at(4);
/// gate.push(first, 0, |text, span| shown.push((text.to_owned(), span.start)));
/// assert_eq!(gate.len(), 1); // the first byte of 气
/// gate.push(second, 4, |text, span| shown.push((text.to_owned(), span.start)));
/// assert_eq!(shown, [("天".to_owned(), 0), ("气".to_owned(), 3)]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Gate {
    bytes: [u8; 4],
    len: u8,
}

/// A gate as read from a snapshot.
#[derive(Deserialize)]
struct Written {
    bytes: [u8; 4],
    len: u8,
}

impl TryFrom<Written> for Gate {
    type Error = &'static str;

    fn try_from(Written { bytes, len }: Written) -> Result<Self, Self::Error> {
        let held = bytes.get(..usize::from(len)).unwrap_or(b"x");
        let whole =
            |error: std::str::Utf8Error| error.valid_up_to() > 0 || error.error_len().is_some();
        let begins = std::str::from_utf8(held).map_or_else(|error| !whole(error), str::is_empty);
        match begins {
            true => Ok(Self { bytes, len }),
            false => Err("not the beginning of a character"),
        }
    }
}

impl Gate {
    /// How many bytes are held.
    #[expect(clippy::len_without_is_empty, reason = "not needed")]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    fn held(&self) -> &[u8] {
        &self.bytes[..self.len()]
    }

    /// The length of the held character once it is complete.
    fn width(&self) -> usize {
        match self.bytes[0] {
            0xF0.. => 4,
            0xE0.. => 3,
            _ => 2,
        }
    }

    fn hold(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().take(self.bytes.len() - self.len()) {
            self.bytes[self.len()] = *byte;
            self.len += 1;
        }
    }

    fn clear(&mut self) {
        *self = Self::default();
    }

    /// Takes the bytes at offset `at` and hands over text with its spans. Each ill-formed part becomes one replacement
    /// character, as in `String::from_utf8_lossy`.
    pub fn push(&mut self, bytes: &[u8], at: u64, mut piece: impl FnMut(&str, Span)) {
        let mut rest = bytes;
        let mut at = at;
        let len = self.len();
        let missing = self.width().saturating_sub(len);
        // Mostly all that is missing has come.
        if let Some((head, tail)) = bytes.split_at_checked(missing).filter(|_| len > 0) {
            let mut all = self.bytes;
            all[len..len + missing].copy_from_slice(head);
            if let Ok(text) = std::str::from_utf8(&all[..len + missing]) {
                let start = at.saturating_sub(len as u64);
                at += missing as u64;
                piece(text, Span::new(start, at));
                self.clear();
                rest = tail;
            }
        }
        while self.len > 0 && !rest.is_empty() {
            let start = at.saturating_sub(self.len() as u64);
            self.hold(&rest[..1]);
            match std::str::from_utf8(self.held()) {
                Ok(text) => {
                    piece(text, Span::new(start, at + 1));
                    self.clear();
                }
                Err(error) if error.error_len().is_none() => {}
                Err(_) => {
                    // The new byte does not continue the character: the held bytes are ill-formed, and the byte begins a new
                    // one.
                    piece("\u{FFFD}", Span::new(start, at));
                    self.clear();
                    continue;
                }
            }
            rest = &rest[1..];
            at += 1;
        }
        loop {
            match text(rest) {
                Ok("") => return,
                Ok(text) => return piece(text, Span::new(at, at + text.len() as u64)),
                Err(error) => {
                    let (good, bad) = rest.split_at(error.valid_up_to());
                    // `good` was just found valid, so the default is never used.
                    let text = std::str::from_utf8(good).unwrap_or_default();
                    if !text.is_empty() {
                        piece(text, Span::new(at, at + text.len() as u64));
                    }
                    at += good.len() as u64;
                    match error.error_len() {
                        None => return self.hold(bad),
                        Some(len) => {
                            piece("\u{FFFD}", Span::new(at, at + len as u64));
                            at += len as u64;
                            rest = &bad[len..];
                        }
                    }
                }
            }
        }
    }

    /// Ends the stream: bytes held up to `at` are ill-formed.
    pub fn end(&mut self, at: u64, mut piece: impl FnMut(&str, Span)) {
        if self.len > 0 {
            piece(
                "\u{FFFD}",
                Span::new(at.saturating_sub(self.len() as u64), at),
            );
            self.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_characters_are_those_of_the_standard_library() {
        // Both sides of every limit.
        let ends = [
            0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1,
            0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
        ];
        let mut words = vec![vec![]];
        for _ in 0..4 {
            let longer = |word: &Vec<u8>| ends.map(|end| [word.as_slice(), &[end]].concat());
            words = words.iter().flat_map(longer).collect();
            for word in &words {
                for at in [
                    word.as_slice(),
                    &[b"a", word.as_slice(), "中".as_bytes()].concat(),
                ] {
                    assert_eq!(is_whole(at), std::str::from_utf8(at).is_ok(), "{at:x?}");
                }
            }
        }
        assert!(is_whole(b""));
    }

    #[test]
    fn any_split_equals_lossy_conversion() {
        let samples: [&[u8]; 8] = [
            "a中🌊b".as_bytes(),
            b"\xf0\x9f\x98",
            b"\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80",
            b"\x80\x80a\xe4\xb8a",
            b"\xe4\xb8\xf0\x9f\x8c\x8a",
            b"\xf0\x9f\xf0\x9f\x8c\x8a\xff",
            b"",
            b"\xe4\xe4\xe4\xb8\xad",
        ];
        for sample in samples {
            for cut in 0..=sample.len() {
                for second in cut..=sample.len() {
                    let mut gate = Gate::default();
                    let mut text = String::new();
                    let mut end = 0;
                    let mut take = |piece: &str, span: Span| {
                        assert_eq!(span.start, end);
                        end = span.end;
                        text.push_str(piece);
                    };
                    gate.push(&sample[..cut], 0, &mut take);
                    gate.push(&sample[cut..second], cut as u64, &mut take);
                    gate.push(&sample[second..], second as u64, &mut take);
                    gate.end(sample.len() as u64, &mut take);
                    assert_eq!(text, String::from_utf8_lossy(sample));
                    assert_eq!(end, sample.len() as u64);
                }
            }
        }
    }
}

/// Assembles characters from bytes. Invalid UTF-8 becomes U+FFFD.
///
/// ```
/// use toolglot_scan::Utf8;
///
/// let (mut utf8, mut text) = (Utf8::default(), String::new());
/// for byte in *b"caf\xC3\xA9 \xFF!" {
///     utf8.step(byte, |char| text.push(char));
/// }
/// assert_eq!(text, "café \u{FFFD}!");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Utf8 {
    bytes: [u8; 4],
    len: u8,
}

impl Utf8 {
    /// Consumes a byte and hands over the characters that end with it: one, or a U+FFFD and one.
    pub fn step(&mut self, byte: u8, mut char: impl FnMut(char)) {
        if self.len == 0 && byte < 0x80 {
            return char(byte.into());
        }
        // At most three bytes are held, so the fourth fits.
        self.bytes[usize::from(self.len & 3)] = byte;
        self.len = (self.len & 3) + 1;
        match std::str::from_utf8(&self.bytes[..usize::from(self.len)]) {
            Ok(text) => {
                text.chars().for_each(char);
                *self = Self::default();
            }
            Err(error) if error.error_len().is_none() => {}
            Err(_) => {
                let alone = self.len == 1;
                *self = Self::default();
                char('\u{FFFD}');
                if !alone {
                    self.step(byte, char);
                }
            }
        }
    }
}
