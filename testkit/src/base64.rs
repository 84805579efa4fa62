//! Standard base64 (RFC 4648, section 4). Decoding accepts missing padding and rejects white space.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const NONE: u8 = 0xff;

const fn values() -> [u8; 256] {
    let mut table = [NONE; 256];
    let mut value = 0;
    while value < ALPHABET.len() {
        table[ALPHABET[value] as usize] = value as u8;
        value += 1;
    }
    table
}

static VALUES: [u8; 256] = values();

/// Decodes `text`.
///
/// # Errors
/// Says which byte is invalid, or that the text is truncated.
pub fn decode(text: &str) -> Result<Vec<u8>, String> {
    let digits = text.trim_end_matches('=');
    if text.len() - digits.len() > 2 {
        return Err("there is more padding than base64 has".to_owned());
    }
    let mut out = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    let (mut bits, mut have) = (0_u32, 0);
    for (at, byte) in digits.bytes().enumerate() {
        let value = VALUES[usize::from(byte)];
        if value == NONE {
            return Err(format!("the byte at {at} is not base64"));
        }
        bits = (bits << 6) | u32::from(value);
        have += 6;
        if have >= 8 {
            have -= 8;
            out.push((bits >> have) as u8);
        }
    }
    match have {
        6 => Err("the last character is incomplete".to_owned()),
        _ => Ok(out),
    }
}

/// Encodes `bytes`, with padding.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |n: usize| u32::from(group.get(n).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4 {
            let value = bits >> (18 - 6 * digit) & 63;
            match digit <= group.len() {
                true => out.push(char::from(ALPHABET[value as usize])),
                false => out.push('='),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn the_examples_of_the_rfc() {
        let cases: [(&str, &[u8]); 8] = [
            ("", b""),
            ("Zg==", b"f"),
            ("Zm8=", b"fo"),
            ("Zm9v", b"foo"),
            ("Zm9vYg", b"foob"),
            ("Zm9vYmE=", b"fooba"),
            ("Zm9vYmFy", b"foobar"),
            ("//79", &[0xff, 0xfe, 0xfd]),
        ];
        for (text, bytes) in cases {
            assert_eq!(decode(text).as_deref(), Ok(bytes), "{text}");
            let whole = text.len().next_multiple_of(4);
            assert_eq!(encode(bytes), format!("{text:=<whole$}"));
        }
        for text in ["A", "Zm 9v", "Zm9v===", "Zm9%", "=Zg", "Zm9v始"] {
            assert!(decode(text).is_err(), "{text}");
        }
    }
}
