//! JSON text: escaping strings and telling numbers.

/// Escapes of the characters below space, and of quote and backslash.
const ESCAPES: [&str; 32] = [
    "\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006", "\\u0007", "\\b",
    "\\t", "\\n", "\\u000b", "\\f", "\\r", "\\u000e", "\\u000f", "\\u0010", "\\u0011", "\\u0012",
    "\\u0013", "\\u0014", "\\u0015", "\\u0016", "\\u0017", "\\u0018", "\\u0019", "\\u001a",
    "\\u001b", "\\u001c", "\\u001d", "\\u001e", "\\u001f",
];

const fn needs_escape() -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 32 {
        table[byte] = true;
        byte += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table
}

static NEEDS_ESCAPE: [bool; 256] = needs_escape();

/// Hands over the inside of a JSON string that means `text`, in pieces: slices of it, and escapes.
pub(crate) fn escape(text: &str, mut piece: impl FnMut(&str)) {
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if !NEEDS_ESCAPE[usize::from(byte)] {
            continue;
        }
        if from < at {
            piece(&text[from..at]);
        }
        piece(match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            low => ESCAPES[usize::from(low)],
        });
        from = at + 1;
    }
    if from < text.len() {
        piece(&text[from..]);
    }
}

/// Appends a whole JSON string.
pub(crate) fn string(text: &str, out: &mut String) {
    out.push('"');
    escape(text, |piece| out.push_str(piece));
    out.push('"');
}

/// An object of strings.
pub(crate) fn object(pairs: &[(String, String)]) -> String {
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

/// Whether it is a number as JSON spells it.
pub(crate) fn is_number(text: &str) -> bool {
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

/// Whether it is a number without a fraction: digits, or digits and a fraction of zeros.
pub(crate) fn is_integer(text: &str) -> bool {
    is_number(text)
        && match text.split_once('.') {
            None => !text.contains(['e', 'E']),
            Some((_, fraction)) => fraction.bytes().all(|b| b == b'0'),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(is_integer("14.0") && !is_integer("1e3") && !is_integer("1.01"));
    }
}
