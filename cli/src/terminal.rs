//! Text of a model or a server must not control the terminal: it could clear the screen, hide a line or reverse its direction.
//!
//! For people such characters are shown as pictures or replaced; in JSON they are escaped, which is equivalent for any
//! reader. Exact output is written byte for byte to files and pipes, and to a terminal in displayable form.

use std::io::{self, IsTerminal, StdoutLock, Write};

use toolglot_testkit::json::acts;

/// Returns a displayable form of a character. Line ends and tabs stay.
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

/// Text with its line ends.
#[must_use]
pub fn lines(text: &str) -> String {
    text.chars().map(shown).collect()
}

/// A writer for untrusted text: unchanged to a file or a pipe, in displayable form to a
/// terminal.
pub struct Screen<W: Write> {
    out: W,
    /// It is a terminal.
    shows: bool,
    /// The beginning of an incomplete character.
    part: Vec<u8>,
}

impl Screen<StdoutLock<'static>> {
    /// Standard output.
    #[must_use]
    pub fn stdout() -> Self {
        let out = io::stdout();
        let shows = out.is_terminal();
        Self::new(out.lock(), shows)
    }
}

impl<W: Write> Screen<W> {
    /// Wraps another output, which may be a terminal.
    pub const fn new(out: W, shows: bool) -> Self {
        Self {
            out,
            shows,
            part: Vec::new(),
        }
    }
}

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.shows {
            return self.out.write(bytes);
        }
        let text: String = chars(&mut self.part, bytes).chars().map(shown).collect();
        self.out.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The whole characters of `rest`, which is the beginning of one, and the bytes after it; what those end with becomes `rest`.
pub fn chars(rest: &mut Vec<u8>, bytes: &[u8]) -> String {
    rest.extend_from_slice(bytes);
    let all = std::mem::take(rest);
    let mut text = String::with_capacity(all.len());
    let mut chunks = all.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        text.push_str(chunk.valid());
        let bad = chunk.invalid();
        let cut = std::str::from_utf8(bad).is_err_and(|error| error.error_len().is_none());
        match chunks.peek().is_none() && cut {
            true => *rest = bad.to_vec(),
            false if !bad.is_empty() => text.push(char::REPLACEMENT_CHARACTER),
            false => {}
        }
    }
    text
}

impl<W: Write> Drop for Screen<W> {
    fn drop(&mut self) {
        if !self.part.is_empty() {
            let _ = self.out.write_all("\u{fffd}".as_bytes());
            let _ = self.out.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use toolglot_testkit::json::escaped;

    use super::*;

    /// Returns what a terminal would receive for these pieces.
    fn screen(pieces: &[&[u8]], shows: bool) -> Vec<u8> {
        let mut out = vec![];
        let mut screen = Screen::new(&mut out, shows);
        for piece in pieces {
            screen.write_all(piece).expect("a list takes all");
        }
        drop(screen);
        out
    }

    #[test]
    fn text_of_others_drives_no_terminal() {
        let text = "好\x1b[2J\u{9b}31m\u{202e}a\r\u{7}b\n\tc 🎉".as_bytes();
        assert_eq!(screen(&[text], false), text, "a pipe has every byte");
        let have = screen(&[text], true);
        assert_eq!(
            String::from_utf8_lossy(&have),
            "好␛[2J\u{fffd}31m\u{fffd}a␍␇b\n\tc 🎉"
        );
        for at in 0..=text.len() {
            assert_eq!(
                screen(&[&text[..at], b"", &text[at..]], true),
                have,
                "cut at {at}"
            );
        }
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(screen(&bytes, true), have);
        assert_eq!(
            screen(&[b"a\xff\x9bb\xe5\xa5"], true),
            "a\u{fffd}\u{fffd}b\u{fffd}".as_bytes()
        );
        assert_eq!(screen(&[b"a\xe5", b"b"], true), "a\u{fffd}b".as_bytes());
    }

    #[test]
    fn nothing_that_a_terminal_acts_on_is_left() {
        let all: String = (0..0x3000).filter_map(char::from_u32).collect();
        assert!(!one_line(&all).contains(|c| acts(c) && c != '\t'));
        assert!(!lines(&all).contains(|c| acts(c) && c != '\t' && c != '\n'));
        let text = serde_json::to_string(&all).expect("JSON");
        let safe = escaped(text);
        assert!(!safe.contains(acts));
        assert_eq!(serde_json::from_str::<String>(&safe).expect("JSON"), all);
    }

    #[test]
    fn other_text_stays() {
        for text in [
            "naïve café: 你好，世界 — “quoted” 🎉",
            "{\"a\": [1, \"b\\n\"]}",
        ] {
            assert_eq!(escaped(text.to_owned()), text);
            assert_eq!(lines(text), text);
        }
    }
}
