//! Kinds of characters.

/// Whether a character ends a line, for any reader.
///
/// ```
/// assert!(toolglot_scan::breaks('\n') && toolglot_scan::breaks('\u{2028}'));
/// assert!(!toolglot_scan::breaks(' '));
/// ```
pub fn breaks(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Whether a character is invisible without being white space: Unicode's `Default_Ignorable_Code_Point`, and the blank
/// Braille pattern.
///
/// ```
/// assert!(toolglot_scan::unseen('\u{200B}')); // zero width space
/// assert!(!toolglot_scan::unseen(' '));
/// ```
pub fn unseen(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Whether a byte is too frequent in text to search for.
pub(crate) fn frequent(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || !byte.is_ascii()
}

/// The letters of escapes in JSON that mean the same in Python, and what they mean.
pub(crate) const LETTERS: [(u8, u8); 7] = [
    (b'"', b'"'),
    (b'\\', b'\\'),
    (b'b', 8),
    (b'f', 12),
    (b'n', b'\n'),
    (b'r', b'\r'),
    (b't', b'\t'),
];

/// Whether a backslash and this letter are an escape in JSON and in Python.
///
/// ```
/// assert!(toolglot_scan::json::is_simple(b'n') && !toolglot_scan::json::is_simple(b'u'));
/// ```
pub fn is_simple(letter: u8) -> bool {
    const SIMPLE: [bool; 256] = {
        let (mut simple, mut at) = ([false; 256], 0);
        while at < LETTERS.len() {
            simple[LETTERS[at].0 as usize] = true;
            at += 1;
        }
        simple
    };
    SIMPLE[usize::from(letter)]
}

/// The letter of the escape that means this byte, or 0.
#[cfg(any(target_arch = "x86_64", test))]
pub(crate) fn letter(byte: u8) -> u8 {
    const FOR: [u8; 256] = {
        let (mut letters, mut at) = ([0; 256], 0);
        while at < LETTERS.len() {
            letters[LETTERS[at].1 as usize] = LETTERS[at].0;
            at += 1;
        }
        letters
    };
    FOR[usize::from(byte)]
}

/// The places that a byte has among three, as bits.
#[inline(always)]
pub(crate) fn place_of(all: [u8; 3], byte: u8) -> u8 {
    let [one, two, three] = all.map(|have| u8::from(have == byte));
    one | two << 1 | three << 2
}
