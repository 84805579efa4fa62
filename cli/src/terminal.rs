//! What a model or a server wrote must not drive the terminal: it could clear the screen, hide a line or turn its direction
//! round.
//!
//! For people such characters are shown as pictures or replaced; in JSON they are written as escapes, which any reader takes
//! for the same text.

/// Whether a terminal does something at this character instead of showing it: controls of both sets, marks that turn the
/// direction of text, and line separators.
fn acts(c: char) -> bool {
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

/// A character as it can be shown. Line ends and tabs stay.
#[must_use]
pub fn shown(c: char) -> char {
    match c {
        '\n' | '\t' => c,
        '\u{0}'..='\u{1f}' => {
            char::from_u32(0x2400 + c as u32).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        '\u{7f}' => '␡',
        _ if acts(c) => char::REPLACEMENT_CHARACTER,
        _ => c,
    }
}

/// Text on one line.
#[must_use]
pub fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c == '\n' { '␊' } else { shown(c) })
        .collect()
}

/// Text with its lines.
#[must_use]
pub fn lines(text: &str) -> String {
    text.chars().map(shown).collect()
}

/// The same JSON text with escapes for what a terminal acts on. Outside strings JSON has no such character but blanks, which
/// stay.
#[must_use]
pub fn json(text: String) -> String {
    let raw = |c: char| acts(c) && !c.is_ascii_whitespace();
    // DEL and the first bytes of the others, which common text seldom has.
    let suspect = |byte: &u8| matches!(byte, 0x7f | 0xc2 | 0xd8 | 0xe2);
    if !text.as_bytes().iter().any(suspect) || !text.contains(raw) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_acts_on_is_left() {
        let all: String = (0..0x3000).filter_map(char::from_u32).collect();
        assert!(!one_line(&all).contains(|c| acts(c) && c != '\t'));
        assert!(!lines(&all).contains(|c| acts(c) && c != '\t' && c != '\n'));
        let text = serde_json::to_string(&all).expect("JSON");
        let safe = json(text);
        assert!(!safe.contains(acts));
        assert_eq!(serde_json::from_str::<String>(&safe).expect("JSON"), all);
    }

    #[test]
    fn other_text_stays() {
        for text in [
            "naïve café: 你好，世界 — “quoted” 🎉",
            "{\"a\": [1, \"b\\n\"]}",
        ] {
            assert_eq!(json(text.to_owned()), text);
            assert_eq!(lines(text), text);
        }
    }
}
