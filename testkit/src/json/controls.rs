//! Characters that terminals act on; JSON is written without them.

/// Whether a terminal acts on this character instead of showing it: controls of both sets, marks that change the text
/// direction, and line separators.
#[must_use]
pub fn acts(c: char) -> bool {
    matches!(
        c,
        '\u{0}'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
    )
}

/// The same JSON text, with escapes for what a terminal acts on. Outside strings the only such characters in JSON are white
/// space, which stays.
#[must_use]
pub fn escaped(text: String) -> String {
    let raw = |c: char| acts(c) && !c.is_ascii_whitespace();
    // DEL, and the first bytes of the others, which are rare in common text. A block is compared as a whole, so that the compiler
    // uses vectors.
    let suspect = |byte: &u8| matches!(byte, 0x7f | 0xc2 | 0xd8 | 0xe2);
    let rare = |block: &[u8]| block.iter().fold(false, |any, byte| any | suspect(byte));
    if !text.as_bytes().chunks(64).any(rare) || !text.contains(raw) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match raw(c) {
            true => out.push_str(&format!("\\u{:04x}", c as u32)),
            false => out.push(c),
        }
    }
    out
}
