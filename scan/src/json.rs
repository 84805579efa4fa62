//! JSON text: escapes strings and recognizes numbers.

use std::ops::Range;

pub use crate::chars::is_simple;
use crate::{utf8, vector};

/// Escapes of the control characters below U+0020.
const ESCAPES: [&str; 32] = [
    "\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006", "\\u0007", "\\b",
    "\\t", "\\n", "\\u000b", "\\f", "\\r", "\\u000e", "\\u000f", "\\u0010", "\\u0011", "\\u0012",
    "\\u0013", "\\u0014", "\\u0015", "\\u0016", "\\u0017", "\\u0018", "\\u0019", "\\u001a",
    "\\u001b", "\\u001c", "\\u001d", "\\u001e", "\\u001f",
];

/// Bytes of pieces that are joined.
const JOINED: usize = 1024;

/// Bytes per step of the loop that the compiler vectorizes.
const BLOCK: usize = 32;
const WORD: usize = 8;
/// Fewer bytes are not worth a search by words.
const FEW: usize = 2 * WORD;
/// A word with 1 in every byte. `TOPS` has the highest bit of every byte.
const ONES: u64 = u64::MAX / 255;
const TOPS: u64 = ONES << 7;

/// Bytes that do not stand for themselves in a JSON string.
const SPECIAL: [bool; 256] = {
    let (mut special, mut byte) = ([false; 256], 0);
    while byte < 0x20 {
        special[byte] = true;
        byte += 1;
    }
    special[b'"' as usize] = true;
    special[b'\\' as usize] = true;
    special
};

/// Length of the prefix in which every byte stands for itself in a JSON string and is not `quote`.
///
/// ```
/// assert_eq!(toolglot_scan::json::plain(b"Leith\"}", b'"'), 5);
/// ```
pub fn plain(bytes: &[u8], quote: u8) -> usize {
    if bytes.len() < FEW {
        return few_plain(bytes, quote);
    }
    let special = |byte: u8| (byte < 0x20) | (byte == b'"') | (byte == b'\\') | (byte == quote);
    let mut at = 0;
    // No branch per byte, so that the compiler can vectorize the loop.
    for block in bytes.chunks_exact(BLOCK) {
        if block.iter().fold(false, |any, byte| any | special(*byte)) {
            break;
        }
        at += BLOCK;
    }
    // Then eight bytes per word. Only the lowest mark of a word is exact: a borrow may set higher ones.
    let quotes = ONES * u64::from(quote);
    while let Some(word) = bytes[at..].first_chunk::<WORD>() {
        let word = u64::from_le_bytes(*word);
        let zeros = |word: u64| word.wrapping_sub(ONES) & !word;
        let below = word.wrapping_sub(ONES * 0x20) & !word;
        let any = below
            | zeros(word ^ (ONES * u64::from(b'"')))
            | zeros(word ^ (ONES * u64::from(b'\\')))
            | zeros(word ^ quotes);
        if any & TOPS != 0 {
            return at + (any & TOPS).trailing_zeros() as usize / 8;
        }
        at += WORD;
    }
    at + few_plain(&bytes[at..], quote)
}

/// The same byte by byte.
#[inline]
fn few_plain(bytes: &[u8], quote: u8) -> usize {
    let special = |byte: &u8| SPECIAL[usize::from(*byte)] || *byte == quote;
    bytes.iter().position(special).unwrap_or(bytes.len())
}

/// Length of the prefix that the inside of a JSON string may have as it is, without `quote` outside an escape: [`plain`] bytes,
/// and whole escapes of one letter except `\/`, which Python has not.
///
/// ```
/// assert_eq!(toolglot_scan::json::verbatim(br#"a\n\"b" ..."#, b'"'), 6);
/// assert_eq!(toolglot_scan::json::verbatim(br"a\u00e9", b'"'), 1);
/// ```
pub fn verbatim(bytes: &[u8], quote: u8) -> usize {
    let (mut at, mut stopped) = (0, false);
    if bytes.len() >= vector::BLOCK {
        (at, stopped) = vector::verbatim(bytes, quote);
    }
    while !stopped && at < bytes.len() {
        at += match bytes.len() - at {
            ..FEW => few_plain(&bytes[at..], quote),
            _ => plain(&bytes[at..], quote),
        };
        let escape = bytes[at..].first_chunk::<2>();
        stopped = !escape.is_some_and(|[first, letter]| *first == b'\\' && is_simple(*letter));
        at += if stopped { 0 } else { 2 };
    }
    at
}

/// Escapes `text` for the inside of a JSON string and hands it over in pieces: slices of it, and escapes.
///
/// ```
/// let mut out = String::new();
/// toolglot_scan::json::escape("one\ntwo", |piece| out.push_str(piece));
/// assert_eq!(out, r"one\ntwo");
/// ```
pub fn escape(text: &str, mut piece: impl FnMut(&str)) {
    let mut rest = text;
    loop {
        let (clean, tail) = rest.split_at(plain(rest.as_bytes(), b'"'));
        if !clean.is_empty() {
            piece(clean);
        }
        let Some(byte) = tail.bytes().next() else {
            return;
        };
        piece(escaped(byte));
        rest = &tail[1..];
    }
}

/// The same in longer pieces: short ones are joined. Each comes with the part of `text` that it is made
/// from. Allocates nothing.
///
/// ```
/// let (text, mut pieces) = ("one line\n".repeat(10), vec![]);
/// toolglot_scan::json::escape_joined(&text, |piece, _| pieces.push(piece.to_owned()));
/// assert_eq!(pieces, [r"one line\n".repeat(10)]);
/// ```
pub fn escape_joined(text: &str, mut piece: impl FnMut(&str, Range<usize>)) {
    let bytes = text.as_bytes();
    // From where on nothing was handed over.
    let mut from = 0;
    match bytes.len() {
        ..FEW => return escape_few::<{ 6 * FEW }>(text, piece),
        FEW..vector::BLOCK => return escape_few::<{ 6 * vector::BLOCK }>(text, piece),
        _ => {}
    }
    let (mut joined, mut len, mut at) = ([0; JOINED], 0, 0);
    while at < bytes.len() {
        if bytes.len() - at >= vector::BLOCK {
            let (mut read, mut written) = vector::escape(&bytes[at..], &mut joined[len..]);
            while !text.is_char_boundary(at + read) {
                (read, written) = (read - 1, written - 1);
            }
            (at, len) = (at + read, len + written);
        }
        // What vectors left, up to the next bytes that they can take.
        let block = &bytes[at..bytes.len().min(at + vector::BLOCK)];
        let run = plain(block, b'"');
        let mut next = at + run;
        while !text.is_char_boundary(next) {
            next -= 1;
        }
        let part = match bytes.get(at).filter(|_| run == 0) {
            Some(byte) => {
                next += 1;
                escaped(*byte)
            }
            None => &text[at..next],
        };
        if part.len() > JOINED - len {
            // Only whole characters are joined, so the default is never used.
            piece(utf8::text(&joined[..len]).unwrap_or_default(), from..at);
            (from, len) = (at, 0);
        }
        joined[len..len + part.len()].copy_from_slice(part.as_bytes());
        (at, len) = (next, len + part.len());
    }
    if len > 0 {
        piece(utf8::text(&joined[..len]).unwrap_or_default(), from..at);
    }
}

/// The same in one piece, with room for all of it.
fn escape_few<const ROOM: usize>(text: &str, mut piece: impl FnMut(&str, Range<usize>)) {
    let (mut joined, mut len) = ([0; ROOM], 0);
    for byte in text.bytes() {
        if SPECIAL[usize::from(byte)] {
            let part = escaped(byte).as_bytes();
            joined[len..len + part.len()].copy_from_slice(part);
            len += part.len();
        } else {
            joined[len] = byte;
            len += 1;
        }
    }
    if len > 0 {
        // Whole characters stay whole, so the default is never used.
        piece(
            utf8::text(&joined[..len]).unwrap_or_default(),
            0..text.len(),
        );
    }
}

/// Writes the inside of a JSON string to the beginning of `to`, which has room for six times the text, and returns how many
/// bytes were written.
///
/// ```
/// let mut to = [0; 60];
/// let len = toolglot_scan::json::escape_into("two\n\"ways\"", &mut to);
/// assert_eq!(&to[..len], br#"two\n\"ways\""#);
/// ```
pub fn escape_into(text: &str, to: &mut [u8]) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut len) = (0, 0);
    while at < bytes.len() {
        if bytes.len() - at >= vector::BLOCK {
            let (read, written) = vector::escape(&bytes[at..], &mut to[len..]);
            (at, len) = (at + read, len + written);
        }
        // What vectors left, up to the next bytes that they can take.
        let block = &bytes[at..bytes.len().min(at + vector::BLOCK)];
        let (read, part) = match (plain(block, b'"'), block) {
            (0, []) => break,
            (0, [byte, ..]) => (1, escaped(*byte).as_bytes()),
            (run, _) => (run, &block[..run]),
        };
        to[len..len + part.len()].copy_from_slice(part);
        (at, len) = (at + read, len + part.len());
    }
    len
}

/// What a JSON string has for a byte that can't be in it.
fn escaped(byte: u8) -> &'static str {
    match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        low => ESCAPES[usize::from(low)],
    }
}

/// Appends a whole JSON string.
///
/// ```
/// let mut out = String::from("[");
/// toolglot_scan::json::string("say \"hi\"", &mut out);
/// assert_eq!(out, r#"["say \"hi\"""#);
/// ```
pub fn string(text: &str, out: &mut String) {
    out.push('"');
    escape(text, |piece| out.push_str(piece));
    out.push('"');
}

/// A JSON object of strings.
///
/// ```
/// let pairs = [("city".to_owned(), "Leith".to_owned())];
/// assert_eq!(toolglot_scan::json::object(&pairs), r#"{"city":"Leith"}"#);
/// ```
pub fn object(pairs: &[(String, String)]) -> String {
    let mut out = String::from("{");
    for (index, (key, value)) in pairs.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        string(key, &mut out);
        out.push(':');
        string(value, &mut out);
    }
    out.push('}');
    out
}

/// Whether `text` is a JSON number.
///
/// ```
/// use toolglot_scan::json::is_number;
///
/// assert!(is_number("-1.5e3"));
/// assert!(!is_number("007") && !is_number("0x1F"));
/// ```
pub fn is_number(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits(at);
    if whole == 0 || (whole > 1 && bytes[at] == b'0') {
        return false;
    }
    at += whole;
    if bytes.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if fraction == 0 {
            return false;
        }
        at += 1 + fraction;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        let exponent = digits(at);
        if exponent == 0 {
            return false;
        }
        at += exponent;
    }
    at == bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::random;

    #[test]
    fn plain_bytes_are_counted_as_one_by_one() {
        let mut seed = 1_u64;
        for round in 0..4000 {
            let mut bytes = vec![];
            for _ in 0..round % 90 {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let rare = seed >> 60 == 0;
                let any = (seed >> 40) as u8;
                bytes.push(if rare { any } else { any | 0x80 });
            }
            for quote in [b'"', b'\'', 0xE3] {
                let naive = bytes.iter().position(|byte| {
                    *byte < 0x20 || *byte == quote || matches!(byte, b'"' | b'\\')
                });
                assert_eq!(
                    plain(&bytes, quote),
                    naive.unwrap_or(bytes.len()),
                    "{bytes:?}"
                );
            }
        }
    }

    #[test]
    fn joined_pieces_are_the_same_text() {
        let odds = [
            "\n", "\"", "\\", "\u{1}", "\t", "\u{1f}", "中", "🌊", "é", "ab",
        ];
        let mut random = random(3);
        for round in 0..2000 {
            let odd = 1 + random(40);
            let text: String = (0..random(round + 1))
                .map(|_| {
                    if random(odd) == 0 {
                        odds[random(odds.len())]
                    } else {
                        "x"
                    }
                })
                .collect();
            let (mut pieces, mut joined) = (String::new(), String::new());
            escape(&text, |piece| pieces.push_str(piece));
            let mut end = 0;
            escape_joined(&text, |piece, from| {
                assert!(!piece.is_empty() && piece.len() <= JOINED && from.start == end);
                let mut own = String::new();
                escape(&text[from.clone()], |piece| own.push_str(piece));
                assert_eq!(piece, own);
                (end, joined) = (from.end, joined.clone() + piece);
            });
            assert_eq!(end, text.len());
            assert_eq!(joined, pieces);
            let mut to = vec![0; 6 * text.len()];
            let len = escape_into(&text, &mut to);
            assert_eq!(&to[..len], pieces.as_bytes());
        }
    }

    #[test]
    fn strings_read_back() {
        let text: String = (0..0x250_u32)
            .filter_map(char::from_u32)
            .chain("\u{2028}中🌊".chars())
            .collect();
        let mut out = String::new();
        string(&text, &mut out);
        assert_eq!(
            serde_json::from_str::<String>(&out).expect("valid JSON"),
            text
        );
    }

    #[test]
    fn numbers_are_those_of_json() {
        for text in [
            "0", "-0", "10", "1.0", "-1.5e+9", "1E5", "1e-7", "", "-", "01", "1.", ".5", "+1",
            "1e", "1e+", "0x1", "1a", "NaN",
        ] {
            let real = serde_json::from_str::<serde_json::Number>(text).is_ok();
            assert_eq!(is_number(text), real, "{text}");
        }
    }
}
