//! Text of a JSON string that has not been read yet, for what must be known before its block opens.

/// The bytes that the text inside a JSON string stands for. What is no escape stays as it is.
pub(crate) fn unescaped(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let [byte, after @ ..] = rest {
        if *byte != b'\\' {
            out.push(*byte);
            rest = after;
            continue;
        }
        match escape(after) {
            Some((character, len)) => {
                let mut utf8 = [0; 4];
                out.extend_from_slice(character.encode_utf8(&mut utf8).as_bytes());
                rest = &after[len..];
            }
            None => {
                out.push(*byte);
                rest = after;
            }
        }
    }
    out
}

/// What the bytes behind a backslash stand for, and how many they are.
fn escape(after: &[u8]) -> Option<(char, usize)> {
    let letter = *after.first()?;
    let character = match letter {
        b'"' | b'\\' | b'/' => char::from(letter),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let first = unit(&after[1..])?;
            return match char::from_u32(first.into()) {
                Some(character) => Some((character, 5)),
                None => {
                    let second = unit(after[5..].strip_prefix(b"\\u")?)?;
                    let mut pair = char::decode_utf16([first, second]);
                    Some((pair.next()?.ok()?, 11))
                }
            };
        }
        _ => return None,
    };
    Some((character, 1))
}

/// The number of four digits.
fn unit(digits: &[u8]) -> Option<u16> {
    let digit = |digit: &u8| char::from(*digit).to_digit(16);
    let mut four = digits.get(..4)?.iter().map(digit);
    four.try_fold(0, |number, next| Some(number * 16 + next? as u16))
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    /// Whole texts are read as `serde_json` reads them.
    #[test]
    fn strings_are_read_as_elsewhere() {
        for raw in [
            "f",
            r"\u5de5\u5177",
            r#"a\"b\\c\/d"#,
            r"\b\f\n\r\t",
            r"\ud83d\ude00!",
            r"\u00e9\u0041z",
            "工具",
        ] {
            let read: String = serde_json::from_str(&format!("\"{raw}\"")).expect("JSON");
            assert_eq!(unescaped(raw.as_bytes()), read.into_bytes(), "{raw}");
        }
    }

    #[test]
    fn what_is_no_escape_stays() {
        for raw in [r"a\", r"a\u12", r"\q", r"\ud83d", r"\ud83dx", r"\u12g4"] {
            assert_eq!(unescaped(raw.as_bytes()), raw.as_bytes(), "{raw}");
        }
    }
}
